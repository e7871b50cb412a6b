/*
 * timeline.h: what directs a run that does not follow the clock and its own outcomes alone.  Layer:
 * engine, not for others.
 *
 * A replay (replay.c) is such a run: its source's log is its timeline.  An exec without one
 * (exec.timeline NULL) follows the wall clock; the functions below handle both.
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
    bool (*run_over)(struct step *st); /* its next event is the run's timeout */
    const struct event *(*leader)(struct step *st); /* its next event, or NULL */
    /* --- around each event of a plan: its time, and differences (FORK-18 to FORK-20) --- */
    void (*before)(struct step *st, enum ev_kind kind, struct str payload);
    void (*after)(struct step *st, int64_t seq, int node);
    /* --- what comes next --- */
    bool (*guide)(struct step *st);
    bool (*force)(struct step *st);
    bool (*defers)(struct step *st, int node);
    bool (*shows_child)(struct step *st, int node);
    bool (*answers)(struct step *st); /* its next event goes on with a question that is open */
    bool (*answered)(struct step *st, const struct intr_state *i); /* it has the answer to it */
    bool (*goes_on)(struct step *st, int node);                    /* it leads nowhere else */
    bool (*serves)(struct step *st, int node); /* while it leads: a worker had the node's type */
    /* While it leads: the node lacked a credential, as *f says, and did not begin. */
    bool (*refused)(struct step *st, int node, struct failure *f);
    /* --- the outside --- */
    void (*call)(struct step *st, int node, struct node_call *call);
    struct str (*ids)(struct step *st, int node);
    bool (*effect)(struct step *st, int node, struct failure *f);
    bool (*lacked)(struct step *st, int node, struct failure *f);
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
/* It has a next event, and does not merely wait for it. */
static inline bool timeline_holds_timers(struct step *st) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->holds_timers(st);
}
/* That event, valid until the next one is emitted; NULL: none. */
static inline const struct event *timeline_leader(struct step *st) {
    const struct timeline_ops *t = timeline_of(st);
    return t ? t->leader(st) : NULL;
}
/* The time of its next event, else the wall clock (FORK-14). */
static inline int64_t timeline_now_ms(struct step *st) {
    const struct timeline_ops *t = timeline_of(st);
    return t ? t->now_ms(st) : clock_wall_ms();
}
/* Do not enter the executor of a node just started before the timeline's next event is that node's:
 * it waited for something. */
static inline bool timeline_defers(struct step *st, int node) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->defers(st, node);
}
/* True if the next event shows the suspension of the node's child; it is emitted (EVT-39). */
static inline bool timeline_shows_child(struct step *st, int node) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->shows_child(st, node);
}
/* The timeline's next event belongs to an open question: the plan that asks answers as well, and no
 * reader sees the run wait. */
static inline bool timeline_answers(struct step *st) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->answers(st);
}
/* It has the answer to this question; a person's is not taken. */
static inline bool timeline_answered(struct step *st, const struct intr_state *i) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->answered(st, i);
}
/* Whether what an executor does next is next in the timeline, too: false, and the timeline goes on
 * with another node, and enters this one again later.  Pieces of a stream that come first are
 * emitted. */
static inline bool timeline_goes_on(struct step *st, int node) {
    const struct timeline_ops *t = timeline_of(st);
    return !t || t->goes_on(st, node);
}
/* Fill the timeline's part of the call. */
static inline void timeline_call(struct step *st, int node, struct node_call *call) {
    const struct timeline_ops *t = timeline_of(st);
    if (t) t->call(st, node, call);
}
/* The run from whose id the ids of this node derive (FORK-14): in a replay the run that made them
 * first, else the run itself. */
static inline struct str timeline_ids(struct step *st, int node) {
    const struct timeline_ops *t = timeline_of(st);
    return t ? t->ids(st, node) : str_c(st->exec->run_id);
}
/* Asked before a request is sent. true: nothing may be sent (D57), and the attempt fails with f: as
 * it did in the source, or because the source has no record. */
static inline bool timeline_effect(struct step *st, int node, struct failure *f) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->effect(st, node, f);
}
/* Asked before a child is looked up.  true: the attempt fails with f, because the source, a replay
 * as well, found no end of that child; it may have ended since. */
static inline bool timeline_lacked(struct step *st, int node, struct failure *f) {
    const struct timeline_ops *t = timeline_of(st);
    return t && t->lacked(st, node, f);
}

#endif
