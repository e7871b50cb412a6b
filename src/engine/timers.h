/*
 * timers.h: deadlines of runs.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_TIMERS_H
#define WOPR_ENGINE_TIMERS_H

#include "engine/emit.h"

/* In-memory timers beside the durable kinds of domain/plan.h. */
enum {
    TIMER_STALL = 100,
    TIMER_BACKOFF = 101,
    TIMER_ASK = 102,
    TIMER_TRIGGER = 103,
    TIMER_DOZE = 104,
    TIMER_PIECES = 105,
    TIMER_PROGRAM = 106,
    TIMER_CHILD = 110,
    TIMER_CASCADE = 111
};
struct exec_timer {
    struct heap_node heap; /* (mu) key: monotonic milliseconds; of a fired one: fire_at_ms */
    struct list link;      /* in exec.timers */
    struct run_exec *re;
    struct exec_timer *next_of; /* of the same node, when they are indexed */
    int kind;                   /* enum timer_kind or TIMER_* above */
    int node;                   /* index, -1 = the run's */
    int64_t fire_at_ms;         /* wall clock, as stored */
    int64_t remaining_ms;       /* while stopped; its full length when restored */
    bool restored;              /* from its row */
    bool durable;               /* has a row */
    bool stopped;               /* by a pause: not in the heap */
    bool fired;                 /* (mu) its time came: not in the engine's heap */
};

/* fire_at_ms: wall clock.  There may be one of a kind and node: an armed one is set anew.
 * NO_MEMORY. */
MUST_CHECK int timer_arm(struct run_exec *re, int kind, int node, int64_t fire_at_ms, bool durable);
/* Restores a timer from its row, running or paused. */
MUST_CHECK int timer_restore(struct run_exec *re, const struct timer_row *row, int node);
struct exec_timer *timer_find(struct run_exec *re, int kind, int node);
void timer_drop(struct run_exec *re, int kind, int node);
MUST_CHECK int timers_load(struct step *st, struct wopr_error *err); /* after the fold */
void timers_drop_all(struct run_exec *re);
bool timer_take_fired(struct run_exec *re, struct exec_timer *t); /* fired since the last call? */
/* The first fired timer that was not taken yet, NULL = none. */
struct exec_timer *timer_first_fired(struct run_exec *re);
void timers_fire_due_locked(struct engine *e, uint64_t now_ms);

/* --- with the row in the plan --- */
void step_timer_set(struct step *st, enum timer_kind kind, int node, int64_t delay_ms);
void step_timer_clear(struct step *st, enum timer_kind kind, int node);
void step_timeout_arm(struct step *st, int node); /* timeoutMs of a node that begins to wait */
void step_timers_stop(struct step *st);           /* pause */
void step_timers_resume(struct step *st);
void step_timers_clear(struct step *st); /* the run ended */

#endif
