/*
 * test_breaker.c: retries and circuit breaker with a clock of the test (HOOK-15, D61, D63).
 */
#include "hooks/breaker.h"

#include <criterion/criterion.h>

static const struct hook_policy POLICY = {
    .attempts_max = 5, .retry_ms = 500, .breaker_ms = 3600000};

static bool fail(struct hook_pulse *p, int64_t now_ms, bool *counts) {
    return hook_pulse_failure(p, &POLICY, now_ms, 0, counts);
}

/* Fails the event that is next until it is given up; returns when that was. */
static int64_t give_up(struct hook_pulse *p, int64_t now_ms) {
    bool counts = false;
    while (!fail(p, now_ms, &counts)) now_ms = p->next_ms;
    cr_expect(counts);
    return now_ms;
}

Test(hook_breaker, gaps_between_attempts_grow_by_a_quarter_at_least /* D63 */) {
    for (uint32_t dither = 0; dither < 4096; dither += 97) {
        struct hook_pulse p = {.attempts = 0};
        int64_t now = 1000000, gap = 0;
        bool counts = true;
        for (int i = 1; i < POLICY.attempts_max; i++) {
            cr_expect_not(hook_pulse_failure(&p, &POLICY, now, dither, &counts));
            cr_expect_not(counts, "a later attempt may make it good");
            if (i > 1) cr_expect_geq((p.next_ms - now) * 4, gap * 5);
            gap = p.next_ms - now;
            now = p.next_ms;
        }
        cr_expect(hook_pulse_failure(&p, &POLICY, now, dither, &counts));
        cr_expect_lt(now - 1000000, 90000, "exhaustion is near");
        cr_expect_eq(p.attempts, 0, "the next event begins anew");
    }
}

Test(hook_breaker, four_failures_in_a_row_open_it_for_its_time /* HOOK-15 */) {
    struct hook_pulse p = {.attempts = 0};
    int64_t now = 5000;
    for (int i = 1; i <= 3; i++) {
        now = give_up(&p, now);
        cr_expect_eq(p.open_until_ms, 0, "closed after %d", i);
        cr_expect_leq(p.next_ms, now, "the next event is sent at once");
    }
    now = give_up(&p, now);
    cr_expect_eq(p.open_until_ms, now + POLICY.breaker_ms);
    cr_expect_eq(p.next_ms, p.open_until_ms, "nothing is sent before");
}

Test(hook_breaker, a_success_resets_the_count_and_closes_it /* HOOK-15 */) {
    struct hook_pulse p = {.attempts = 0};
    int64_t now = 5000;
    for (int i = 0; i < 3; i++) now = give_up(&p, now);
    hook_pulse_success(&p);
    for (int i = 0; i < 3; i++) now = give_up(&p, now);
    cr_expect_eq(p.open_until_ms, 0);
    now = give_up(&p, now);
    cr_expect_neq(p.open_until_ms, 0);
    hook_pulse_success(&p); /* the probe */
    cr_expect_eq(p.open_until_ms, 0);
    cr_expect_eq(p.failures, 0);
}

Test(hook_breaker, a_failed_probe_opens_it_again_and_costs_one_attempt /* HOOK-15 D61 */) {
    struct hook_pulse p = {.attempts = 0};
    int64_t now = 5000;
    bool counts = false;
    for (int i = 0; i < 4; i++) now = give_up(&p, now);
    for (int i = 1; i < POLICY.attempts_max; i++) {
        now = p.next_ms;
        cr_expect_not(fail(&p, now, &counts), "the event waits, it is not skipped");
        cr_expect(counts);
        cr_expect_eq(p.next_ms, now + POLICY.breaker_ms);
        cr_expect_eq(p.attempts, i);
    }
    cr_expect(fail(&p, p.next_ms, &counts), "an event that nobody takes does not stay for ever");
}

Test(hook_breaker, one_event_that_is_never_taken_does_not_rest_the_others) {
    struct hook_pulse p = {.attempts = 0};
    int64_t now = 5000;
    for (int i = 0; i < 50; i++) {
        now = give_up(&p, now);
        hook_pulse_success(&p); /* the one after it */
        cr_expect_eq(p.open_until_ms, 0);
    }
}

Test(hook_breaker, waits_stay_below_the_rest_of_a_breaker) {
    const struct hook_policy many = {
        .attempts_max = 100, .retry_ms = 3600000, .breaker_ms = 3600000};
    struct hook_pulse p = {.attempts = 0};
    int64_t now = 0;
    bool counts;
    for (int i = 0; i < 99; i++) {
        cr_assert_not(hook_pulse_failure(&p, &many, now, UINT32_MAX, &counts));
        cr_expect_leq(p.next_ms - now, many.breaker_ms + many.breaker_ms / 10);
        now = p.next_ms;
    }
}
