/* rows.h: what the rows of the table run; one line each in table.c, the code by subject. */
#ifndef WOPR_TESTS_ATTACK_ROWS_H
#define WOPR_TESTS_ATTACK_ROWS_H

#include "attack.h"

/* rows_slots.c: connections and slots, mostly without a credential */
void attack_burst(struct world *w);
void attack_head_trickle(struct world *w);
void attack_half_closed(struct world *w);
void attack_anonymous_bodies(struct world *w);
void attack_ops_idle(struct world *w);
void attack_closed_polls(struct world *w);
void attack_late_streams(struct world *w);
/* rows_heads.c: what stands in a head, and how a message ends */
void attack_parameters(struct world *w);
void attack_cookies(struct world *w);
void attack_near_limit(struct world *w);
void attack_half_close(struct world *w);
void attack_refused_bodies(struct world *w);
void attack_framing(struct world *w);
/* rows_work.c: texts that cost time, and work on the threads of all */
void attack_redactor(struct world *w);
void attack_known(struct world *w);
void attack_overlay(struct world *w);
void attack_run_flood(struct world *w);
void attack_tag_listing(struct world *w);
void attack_foreign_interrupts(struct world *w);
void attack_values_openers(struct world *w);
void attack_costly_conditions(struct world *w);
void attack_costly_values(struct world *w);
void attack_purge(struct world *w);
void attack_cancelled_replays(struct world *w);
void attack_hanging_transfers(struct world *w);
void attack_hanging_names(struct world *w);
/* rows_modules.c: modules of packs */
void attack_modules(struct world *w);
/* rows_bytes.c: memory and disk */
void attack_unread_snapshots(struct world *w);
void attack_unread_polls(struct world *w);
void attack_unread_values(struct world *w);
void attack_sleeping_runs(struct world *w);
void attack_pause_growth(struct world *w);
void attack_fork_storm(struct world *w);
void attack_ask_flood(struct world *w);

#endif
