/*
 * cascade.h: commands between parents and children.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_CASCADE_H
#define WOPR_ENGINE_CASCADE_H

#include "engine/emit.h"

#define ENGINE_CASCADE_MS   4000 /* patience with children: cancel ends within 5 s (RUN-20) */
#define RUN_COMMAND_PENDING 1
/* A command from a run to another (or to itself). */
struct run_command {
    _Atomic int refs;
    _Atomic int rc; /* RUN_COMMAND_PENDING, then what the engine answered */
    struct engine *e;
    char asker[RUN_ID_MAX + 1]; /* woken by the answer, if still in memory */
    struct arena *arena;
    struct workflow *wf; /* CREATE */
    struct engine_cmd cmd;
};
struct run_command *run_command_new(struct step *st, enum engine_op op, struct str run_id,
                                    const char *reason); /* NULL: no memory */
void run_command_send(struct run_command *c);            /* again is allowed once it was answered */
void run_command_free(struct run_command *c); /* drops the caller's reference; takes NULL */
/* Send and forget. */
void run_command_post(struct step *st, enum engine_op op, struct str run_id, const char *reason);

enum cascade_cause { CASCADE_CANCEL, CASCADE_TIMEOUT, CASCADE_FAILURE, CASCADE_LEFT };
/* Are all children down that may not outlive this end of the run (INT-41, INT-42)?  false: they are
 * being cancelled, the run is woken when that moves on, and after ENGINE_CASCADE_MS it is true
 * whatever they do. */
bool cascade_down(struct step *st, enum cascade_cause why);
/* Cancels the same children without a word about them: this run has ended already. */
void cascade_cancel_all(struct step *st);
bool cascade_ends(const struct step *st); /* the run will fail as soon as its children are down */
bool cascade_sleeps(struct step *st);     /* true: nothing else is to be armed */
void cascade_pause(struct step *st, enum drain_policy drain);
void cascade_resume(struct step *st);
bool cascade_paused(struct step *st, int64_t run_no); /* paused by its parent's pause? */
void cascade_check_parent(struct step *st);           /* of a run just taken over */
/* by: cancelledBy of a child that ended with parent-cancelled.  true: the cancel of this run, or of
 * one above it, was cut off by a crash after it had reached the child, and goes on. */
bool cascade_goes_on(struct step *st, struct str by);
void cascade_forget(struct run_exec *re);
/* Committed: the parent learns of what matters to it; it is loaded when it is not in memory. */
void parent_notify(struct step *st, const struct plan *p);

#endif
