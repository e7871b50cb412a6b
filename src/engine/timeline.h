/*
 * timeline.h: what leads a run that does not go by the clock and by its own outcomes alone.
 * Layer: engine, not for others.
 *
 * A replay (replay.c) is such a run: its source's log is its timeline.  An exec without one
 * (exec.timeline NULL) goes by the wall clock; the functions below then say so.
 */
#ifndef WOPR_ENGINE_TIMELINE_H
#define WOPR_ENGINE_TIMELINE_H

#include "base/clock.h"
#include "engine/outcome.h"

struct timeline_ops {
    void (*close)(struct run_exec *re);
    /* --- time --- */
    int64_t (*now_ms)(struct step *st);
    bool (*leads)(struct step *st);
    bool (*holds_timers)(struct step *st);
    bool (*run_over)(struct step *st); /* its next event says that the run took too long */
    /* --- around each event of a plan: the time, and what differs (FORK-18 to FORK-20) --- */
    void (*before)(struct step *st, enum ev_kind kind, struct str payload);
    void (*after)(struct step *st, int64_t seq, int node);
    /* --- what comes next --- */
    bool (*guide)(struct step *st);
    bool (*force)(struct step *st);
    bool (*defers)(struct step *st, int node);
    bool (*shows_child)(struct step *st, int node);
    bool (*serves)(struct step *st, int node); /* while it leads: a worker had the node's type */
    /* --- the outside --- */
    void (*call)(struct step *st, int node, struct node_call *call);
    struct str (*ids)(struct step *st, int node);
    bool (*effect)(struct step *st, int node, struct failure *f);
};
struct timeline {
    const struct timeline_ops *ops;
};

static inline const struct timeline_ops *timeline_of(const struct step *st) {
    return st->exec->timeline ? st->exec->timeline->ops : NULL;
}

/* The timeline has a next event. */
static inline bool timeline_leads(struct step *st) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->leads(st);
}
/* It leads, and does not only wait. */
static inline bool timeline_holds_timers(struct step *st) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->holds_timers(st);
}
/* The time of its next event, else the wall clock (FORK-14). */
static inline int64_t timeline_now_ms(struct step *st) {
    const struct timeline_ops *t = timeline_of(st);
    return t ? t->now_ms(st) : clock_wall_ms();
}
/* The executor of a node that was just started is not entered before the timeline's next event is
 * one of that node: it waited for something. */
static inline bool timeline_defers(struct step *st, int node) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->defers(st, node);
}
/* The next event shows the suspension of the node's child; it was emitted (EVT-39). */
static inline bool timeline_shows_child(struct step *st, int node) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->shows_child(st, node);
}
/* Fills its part of the call. */
static inline void timeline_call(struct step *st, int node, struct node_call *call) {
    const struct timeline_ops *t = timeline_of(st);
    if (t) t->call(st, node, call);
}
/* The run whose id the ids of this node are made of (FORK-14): of a replay the run that made them
 * first, else the run itself. */
static inline struct str timeline_ids(struct step *st, int node) {
    const struct timeline_ops *t = timeline_of(st);
    return t ? t->ids(st, node) : str_c(st->exec->run_id);
}
/* Asked before a request leaves the host.  true: nothing may leave (D57), the attempt fails with f:
 * as it did in the source, or for want of a record. */
static inline bool timeline_effect(struct step *st, int node, struct failure *f) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->effect(st, node, f);
}

#endif
