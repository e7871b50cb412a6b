/*
 * breaker.h: when a delivery is tried again, and when a subscription rests (HOOK-11, HOOK-15, D61,
 * D63).  Layer: hooks (pure).
 *
 *            4 failures in a row                      breaker_ms over: the next one is a probe
 *   closed -------------------> open ------------------------> half-open
 *      ^                               ^ '-- the probe fails <---------------'|
 *      '-------------------------------------- a delivery succeeds <----------'
 *
 * A *failure* is an event that was given up after attempts_max attempts, or a failed probe: an
 * attempt that a later one makes good is none.  While the breaker is open nothing is sent and
 * nothing is skipped; what is due waits (D61).
 */
#ifndef WOPR_HOOKS_BREAKER_H
#define WOPR_HOOKS_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum { HOOK_FAILURES_OPEN = 4 };
struct hook_policy {
    int64_t attempts_max; /* of one event; then it is a dead letter */
    int64_t retry_ms;     /* before the second attempt; doubles with each further one */
    int64_t breaker_ms;
};
struct hook_pulse {        /* of one subscription; times of the wall clock */
    int64_t attempts;      /* of the event that is next */
    int64_t failures;      /* in a row */
    int64_t open_until_ms; /* 0 = closed; past: half-open */
    int64_t next_ms;       /* no attempt before it */
};
/* An attempt succeeded: counts start again, the breaker is closed. */
void hook_pulse_success(struct hook_pulse *p);
/* An attempt failed at now_ms.  true: the event is given up.  dither: random, a tenth is added to
 * the wait at most.  *counts: this is a failure in the sense above. */
bool hook_pulse_failure(struct hook_pulse *p, const struct hook_policy *policy, int64_t now_ms,
                        uint32_t dither, bool *counts);
/* Somebody asked to try again at once: nothing waits; the attempts of the event still count. */
void hook_pulse_wake(struct hook_pulse *p);
/* The same during an attempt that failed: the event begins anew. */
void hook_pulse_again(struct hook_pulse *p);
/* Give the event up whatever is left of its attempts: it can never be sent. */
void hook_pulse_skip(struct hook_pulse *p);

#endif
