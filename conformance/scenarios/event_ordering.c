/* event_ordering.c: public scenario eventOrdering (EVT-2, EVT-20, SSE-36, SSE-40). */
#include "suite.h"

SCENARIO(event_ordering);

static const char *ended_run(void) {
    need_fixture("conformance-noop");
    const char *run = create_run("conformance-noop", NULL);
    wait_terminal(run, lifecycle_ms());
    return run;
}

static bool is_end(struct str type) {
    return str_eqc(type, "run.completed") || str_eqc(type, "run.failed") ||
           str_eqc(type, "run.cancelled");
}

Test(event_ordering, sequences_rise_by_one_from_zero) {
    struct json_elements ev = poll_events(ended_run(), "");
    cr_assert_gt(ev.n, 0u);
    for (size_t i = 0; i < ev.n; i++) cr_expect_eq(int_at(ev.v[i], "sequence"), (int64_t)i);
}

Test(event_ordering, two_polls_of_an_ended_run_are_equal) {
    const char *run = ended_run();
    struct json_elements a = poll_events(run, ""), b = poll_events(run, "");
    cr_assert_gt(a.n, 0u);
    cr_assert_eq(a.n, b.n);
    for (size_t i = 0; i < a.n; i++) cr_expect(json_equal(a.v[i], b.v[i], test_arena()));
}

Test(event_ordering, a_run_ends_once) {
    struct json_elements ev = poll_events(ended_run(), "");
    size_t ends = 0;
    for (size_t i = 0; i < ev.n; i++) ends += is_end(text_at(ev.v[i], "type"));
    cr_expect_eq(ends, 1u);
}

Test(event_ordering, nothing_follows_the_end) {
    struct json_elements ev = poll_events(ended_run(), "");
    cr_assert_gt(ev.n, 0u);
    cr_expect(is_end(text_at(ev.v[ev.n - 1], "type")));
}

Test(event_ordering, a_poll_of_an_ended_run_does_not_wait) {
    const char *run = ended_run();
    int64_t start = now_ms();
    poll_events(run, "");
    cr_expect_lt(now_ms() - start, 10000, "the default wait of 30 s was sat out");
}
