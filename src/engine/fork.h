/*
 * fork.h: runs made out of the first events of another one.  Layer: engine, not for others.
 * A branch is an ordinary run once it exists; a replay is led along the log of its source
 * (replay.h).
 */
#ifndef WOPR_ENGINE_FORK_H
#define WOPR_ENGINE_FORK_H

#include "engine/emit.h"

struct fork_info { /* of a run that is a fork; texts of link stand behind it */
    struct run_fork link;
    int64_t gap_ms;        /* between the last inherited event and the fork, not running time */
    enum ev_kind cut_kind; /* the last inherited event: its kind, and its node or -1 */
    int cut_node;
    bool masked; /* inherited events hold values that only the source knew (OBS-71) */
    char source_run_id[RUN_ID_MAX + 1];
};

void fork_submit(struct engine *e, struct engine_cmd *cmd); /* ENGINE_FORK */
/* Turn of an exec in EXEC_FORKING; TURN_GO_ON: it is a live run now. */
enum turn fork_turn(struct step *st, int flight_rc);
/* On the committer: takes away what a dead host, or a refused request, left half done. */
MUST_CHECK int fork_sweep(struct engine *e, struct store *s, bool *more, struct wopr_error *err);
void fork_free(struct run_exec *re);
/* Remembers what the store says; nothing for a run that is no fork.  0 or NO_MEMORY. */
MUST_CHECK int fork_set(struct run_exec *re, const struct run_fork *f);
/* To be called after each folded event: notes what holds at the cut. */
void fork_passed(struct run_exec *re, const struct event *e, struct arena *a);
int64_t fork_gap_ms(const struct run_exec *re, int64_t now_ms); /* to be taken from running time */
/* Nothing of its own was appended yet: such a fork is woken whatever its status. */
bool fork_is_fresh(const struct run_fork *f, int64_t next_seq);
void fork_begin(struct step *st); /* first thing of a step */

#endif
