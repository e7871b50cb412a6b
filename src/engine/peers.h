/*
 * peers.h: other hosts on the same file: ended leases, requests for runs, transfers.  Layer:
 * engine, not for others.
 */
#ifndef WOPR_ENGINE_PEERS_H
#define WOPR_ENGINE_PEERS_H

#include "engine/emit.h"

/* --- life --- */
MUST_CHECK int peers_new(struct engine *e, struct wopr_error *err);
MUST_CHECK int peers_join(struct engine *e, struct wopr_error *err); /* before any run is taken */
MUST_CHECK int peers_start(struct engine *e, struct wopr_error *err);
void peers_stop(struct engine *e);
void peers_free(struct engine *e);
void peers_kick_locked(struct engine *e); /* look at the other hosts now */

/* --- whose lease has ended --- */
/* May the run's lease be claimed?  *beat is for the claim. */
bool peers_lease_free(struct engine *e, const struct run_head *h, int64_t *beat);
/* A sweep meets an unfinished run of this holder: is that a living host other than us? */
bool peers_holds(struct engine *e, int64_t holder_no);
void peers_sweep_begins(struct engine *e);
/* After a whole sweep: number of a dead host that holds no run, each once; 0 = no more. */
int64_t peers_next_dead(struct engine *e);

/* --- asking and giving --- */
/* Ask the living holder of the run and look again soon; false: asked long enough, or no memory. */
bool peers_ask(struct step *st, const struct run_head *h);
enum turn peers_ask_landed(struct step *st, int rc);
void peers_ask_again(struct run_exec *re); /* the claim came too late: try again soon */
/* Transfer the run, unless something here must finish first. */
enum turn peers_give(struct step *st);
enum turn peers_give_landed(struct step *st, int rc);

/* --- still ours? --- */
/* Is a suspect run still ours? */
enum turn peers_check(struct step *st);
void peers_suspect_locked(struct engine *e); /* our beat was late: every run is suspect */

#endif
