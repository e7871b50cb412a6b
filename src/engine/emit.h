/*
 * emit.h: struct step, a turn of a worker, and how its events get into its plan.  Layer: engine,
 * not for others.
 */
#ifndef WOPR_ENGINE_EMIT_H
#define WOPR_ENGINE_EMIT_H

#include "engine/exec.h"

struct step {
    struct engine *engine;
    struct run_exec *exec;
    struct run_state *state;     /* of exec */
    const struct run_meta *meta; /* without a state: of the run (parked.c) */
    struct plan *plan;
    struct arena *scratch; /* reset per turn */
    int64_t now_ms;        /* wall clock, not before the timers that brought us here */
    int64_t floor_ms;      /* now_ms is not before it */
    int64_t wait_over_ms;  /* deadline of the node's wait that is being answered, else 0 */
    int node_at;           /* the node at work, or the last one; plus one, 0 = none */
    uint64_t began_ms;     /* monotonic */
    bool creates;          /* plan creates the run */
    bool awaits_children;  /* the first command waits for the cascade; nothing else may happen */
    bool deaf;             /* commands wait for the next turn */
    bool mail_left;        /* and there are some that no event will bring back to mind */
    const struct node_child_end *child_end; /* for the executor that is entered now */
    struct secrets *secrets;                /* secret.c */
    struct engine_cmd *cmd;                 /* its effect is in plan */
    struct str cascade_from; /* of the current cancel: the run above that began it, or empty */
};

static inline const struct run_meta *step_meta(const struct step *st) {
    return st->state ? &st->state->meta : st->meta;
}

enum {
    EMIT_BROKEN = -1, /* the plan is lost */
    EMIT_REFUSED = -2 /* the payload is invalid: nothing was appended (EVT-12) */
};
/* Appends an event to the plan; node -1 = the run's.  Returns its sequence, or EMIT_*. */
int64_t step_emit(struct step *st, enum ev_kind kind, int node, int64_t cause, struct str payload);
/* The same for an event that shows values masked: clear, an object of the values as nodes read
 * them, is sealed beside the event (clear.h).  Empty: as step_emit. */
int64_t step_emit_masked(struct step *st, enum ev_kind kind, int node, int64_t cause,
                         struct str payload, struct str clear);
/* Would it be appended?  (The plan may fail for want of memory.) */
bool step_admits(struct step *st, enum ev_kind kind, struct str payload);
void step_now(struct step *st); /* reads the clock into now_ms; it never goes back */
/* The time that a repeated execution also sees (FORK-14): that of events, or of the deadline of a
 * finished wait, which its timer's row holds until the outcome is committed. */
int64_t step_logical_ms(const struct step *st, int node);
bool step_lost(const struct step *st); /* the plan has failed */
/* Time to send: the plan holds enough, or a command or another host waits (RUN-25). */
bool step_full(const struct step *st);
/* Evaluates the conditions that the last event left (run_state_finish).  false: not all of them,
 * and the turn is over; or the plan is lost. */
bool step_settled(struct step *st);
struct run_pace step_pace(struct step *st); /* of the conditions of a turn */
bool step_moves(const struct step *st);     /* the run may act without a command */

#endif
