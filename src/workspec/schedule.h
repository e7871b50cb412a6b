/*
 * schedule.h: which step of a plan is next when tasks can slip (WS-63, WS-64, WS-112, WS-118).
 * Layer: workspec.  Pure: the caller brings the instants.  With the virtual clock and nobody to
 * wait for it gives the steps of ws_next_step, in the same order.
 */
#ifndef WOPR_WORKSPEC_SCHEDULE_H
#define WOPR_WORKSPEC_SCHEDULE_H

#include "workspec/plan.h"

enum ws_clock { WS_VIRTUAL, WS_REAL };
enum ws_next {
    WS_NEXT_STEP,    /* *out is to be done now, and counts as done */
    WS_NEXT_LATER,   /* real clock: nothing before the instant out->vt */
    WS_NEXT_BLOCKED, /* only an answer helps; virtual clock: that of out->task */
    WS_NEXT_DONE
};
struct ws_schedule;
/* asks: by task, whether its completion waits for an answer; NULL: none does.  The plan and asks
 * outlive the schedule, which is of a.  NULL: no memory. */
struct ws_schedule *ws_schedule_new(const struct ws_plan *p, const bool *asks, enum ws_clock clock,
                                    struct arena *a);
/* now: the virtual instant that the real clock shows; the virtual clock does not ask for it.  When
 * several steps are due, they come one by one. */
enum ws_next ws_schedule_next(struct ws_schedule *s, int64_t now, struct ws_step *out);
/* The answer for a task that has started; false: it waits for none.  Real clock: it ends at this
 * instant; virtual clock: it may end as planned. */
bool ws_schedule_answer(struct ws_schedule *s, uint32_t task, int64_t at);

#endif
