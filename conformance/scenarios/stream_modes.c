/* stream_modes.c: public scenario stream-modes (SSE-5 to SSE-7, SSE-16, SSE-17, SSE-21). */
#include "suite.h"

SCENARIO(stream_modes);

static const char *delayed_run(void) {
    need_fixture("conformance-delay");
    return create_run("conformance-delay", "\"inputs\":{\"delayMs\":1000}");
}

Test(stream_modes, updates_start_at_the_first_event_and_end_with_the_run) {
    struct stream st = stream(delayed_run(), "?streamMode=updates", NULL, 15000);
    cr_assert_eq(st.status, 200);
    cr_expect(st.closed_by_server);
    cr_expect(stream_names(&st, "run.started") && stream_names(&st, "run.completed"));
    cr_expect_not(stream_names(&st, "node.started"), "updates do not carry node.started");
}

Test(stream_modes, an_unknown_mode_is_refused_with_the_known_ones) {
    struct reply r =
        ask("GET", run_path(delayed_run(), "/events?streamMode=does-not-exist"), NULL, NULL);
    cr_assert_eq(r.status, 400, "%ld", r.status);
    cr_expect(str_eqc(text_at(r.json, "error"), "unsupported_stream_mode"));
    cr_expect(list_has(at(r.json, "details.supported"), "updates"));
}

Test(stream_modes, values_are_snapshots) {
    struct stream st = stream(delayed_run(), "?streamMode=values", NULL, 15000);
    cr_assert_eq(st.status, 200);
    cr_expect(st.closed_by_server);
    cr_assert_gt(st.n, 0u);
    for (size_t i = 0; i < st.n; i++) cr_expect(str_eqc(st.v[i].event, "state.snapshot"));
    cr_expect(str_eqc(text_at(st.v[st.n - 1].data, "status"), "completed"));
}

Test(stream_modes, debug_has_at_least_what_updates_has) {
    struct stream a = stream(delayed_run(), "?streamMode=updates", NULL, 15000),
                  b = stream(delayed_run(), "?streamMode=debug", NULL, 15000);
    cr_expect(b.closed_by_server);
    cr_expect_geq(b.n, a.n);
    cr_expect_gt(a.n, 0u);
}
