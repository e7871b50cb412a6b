/*
 * wait_timer.c: nodes that wait for a time; the deadline is a durable timer.
 */
#include "engine/wait_timer.h"

#include "engine/attempt.h"
#include "engine/timeline.h"
#include "engine/timers.h"

/* The deadline counts from the logical clock, so that a replay comes to the same one.  A deadline
 * that has passed (the host was down) becomes now: one entry catches up, not one per period. */
static void wait_claim(struct step *st, int node, const struct node_result *r) {
    int64_t ms = r->wait_ms > 0 ? r->wait_ms : 0;
    if (ms > RUN_WAIT_MS_MAX) ms = RUN_WAIT_MS_MAX;
    int64_t left_ms = step_logical_ms(st, node) + ms - st->now_ms;
    step_timer_set(st, TIMER_NODE_WAIT, node, left_ms > 0 || timeline_leads(st) ? left_ms : 0);
    step_timeout_arm(st, node);
}

static bool wait_holds(struct run_exec *re, int node) {
    return timer_find(re, TIMER_NODE_WAIT, node) != NULL;
}

static void wait_over(struct step *st, int node) {
    if (st->state->nodes[node].status == NODE_RUNNING) attempt_run(st, node, true);
}

const struct wait_kind WAIT_TIMER = {.name = "timer",
                                     .outcome = NODE_OUT_WAIT,
                                     .timer = TIMER_NODE_WAIT,
                                     .claim = wait_claim,
                                     .holds = wait_holds,
                                     .on_timer = wait_over,
                                     .load = timers_load,
                                     .forget = timers_drop_all};
