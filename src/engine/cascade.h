/*
 * cascade.h: commands between parents and children.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_CASCADE_H
#define WOPR_ENGINE_CASCADE_H

#include "engine/emit.h"

#define ENGINE_CASCADE_MS   4000 /* wait for children: a cancel ends within 5 s (RUN-20) */
#define RUN_COMMAND_PENDING 1
/* A command from a run to another (or to itself). */
struct run_command {
    _Atomic int refs;
    _Atomic int rc; /* RUN_COMMAND_PENDING, then what the engine answered */
    struct engine *e;
    char asker[RUN_ID_MAX + 1]; /* the run that the answer wakes, if still in memory */
    struct arena *arena;
    struct workflow *wf; /* CREATE */
    struct engine_cmd cmd;
};
struct run_command *run_command_new(struct step *st, enum engine_op op, struct str run_id,
                                    const char *reason); /* NULL: no memory */
void run_command_send(struct run_command *c);            /* may be sent again once answered */
void run_command_free(struct run_command *c); /* drops the caller's reference; takes NULL */
/* Send without waiting for the answer. */
void run_command_post(struct step *st, enum engine_op op, struct str run_id, const char *reason);

enum cascade_cause { CASCADE_CANCEL, CASCADE_TIMEOUT, CASCADE_FAILURE, CASCADE_LEFT };
/* Have all children ended that may not outlive this end of the run (INT-41, INT-42)? false: they
 * are being cancelled and wake the run; after ENGINE_CASCADE_MS it is true in any case. */
bool cascade_down(struct step *st, enum cascade_cause why);
/* Cancels the same children without a word about them: this run has ended already. */
void cascade_cancel_all(struct step *st);
bool cascade_ends(const struct step *st); /* the run will fail as soon as its children are down */
bool cascade_sleeps(struct step *st);     /* true: nothing else is to be armed */
void cascade_pause(struct step *st, enum drain_policy drain);
void cascade_resume(struct step *st);
bool cascade_paused(struct step *st, int64_t run_no); /* paused by its parent's pause? */
void cascade_check_parent(struct step *st);           /* of a run that was just taken over */
/* by: cancelledBy of a child that ended with parent-cancelled. true: a crash interrupted the cancel
 * of this run, or of one above it, after it had reached the child; it continues. */
bool cascade_goes_on(struct step *st, struct str by);
void cascade_forget(struct run_exec *re);
/* The plan is committed: wake the parent if there is news for it, loading it if necessary. */
void parent_notify(struct step *st, const struct plan *p);

#endif
