/*
 * breaker.c: retries that grow, and the circuit breaker; see breaker.h.
 */
#include "hooks/breaker.h"

enum { DOUBLINGS_MAX = 20 };

void hook_pulse_success(struct hook_pulse *p) { *p = (struct hook_pulse){.attempts = 0}; }

void hook_pulse_skip(struct hook_pulse *p) {
    p->attempts = 0;
    p->next_ms = p->open_until_ms;
}

static int64_t wait_of(const struct hook_policy *policy, int64_t attempts, uint32_t dither) {
    int64_t doublings = attempts - 1 < DOUBLINGS_MAX ? attempts - 1 : DOUBLINGS_MAX;
    int64_t ms = policy->retry_ms << doublings;
    if (ms > policy->breaker_ms) ms = policy->breaker_ms;
    return ms + ms / 10 * (int64_t)(dither % 1024) / 1024;
}

bool hook_pulse_failure(struct hook_pulse *p, const struct hook_policy *policy, int64_t now_ms,
                        uint32_t dither, bool *counts) {
    bool probe = p->open_until_ms != 0;
    bool given_up = ++p->attempts >= policy->attempts_max;
    int64_t wait_ms = given_up ? 0 : wait_of(policy, p->attempts, dither);
    *counts = probe || given_up;
    if (*counts) p->failures++;
    if (probe || p->failures >= HOOK_FAILURES_OPEN) {
        p->open_until_ms = now_ms + policy->breaker_ms;
        wait_ms = policy->breaker_ms;
    }
    if (given_up) p->attempts = 0;
    p->next_ms = now_ms + wait_ms;
    return given_up;
}

void hook_pulse_wake(struct hook_pulse *p) { p->open_until_ms = p->failures = p->next_ms = 0; }

void hook_pulse_again(struct hook_pulse *p) {
    hook_pulse_wake(p);
    p->attempts = 0;
}
