/*
 * fork_info.h: facts of a fork about its cut.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_FORK_INFO_H
#define WOPR_ENGINE_FORK_INFO_H

#include "engine/exec.h"

struct fork_info { /* of a run that is a fork; texts of link follow it in memory */
    struct run_fork link;
    int64_t gap_ms;        /* between the last inherited event and the fork, not running time */
    enum ev_kind cut_kind; /* the last inherited event of the run itself, and its node or -1 */
    int cut_node;
    bool masked; /* inherited events mask values that only the source had (OBS-71) */
    char source_run_id[RUN_ID_MAX + 1];
};

/* Store the link that the store has; does nothing for other runs. 0 or NO_MEMORY. */
MUST_CHECK int fork_set(struct run_exec *re, const struct run_fork *f);
/* Call it after each folded event: it notes the facts at the cut. */
void fork_passed(struct run_exec *re, const struct event *e, struct arena *a);
/* An event that no execution of the run emitted: a lease, a pause, a divergence. */
bool fork_inserted(const struct event *e);
int64_t fork_gap_ms(const struct run_exec *re, int64_t now_ms); /* to subtract from running time */
/* No event of its own was appended yet: such a fork is woken whatever its status. */
bool fork_is_fresh(const struct run_fork *f, int64_t next_seq);
/* Id of the row of an interrupt: an inherited one has one of its own in each fork. */
struct str fork_interrupt_id(const struct run_exec *re, const struct intr_state *i,
                             struct arena *a);
/* How much later than in the source an inherited interrupt ends. */
int64_t fork_shift_ms(const struct run_exec *re, int64_t requested_seq);

#endif
