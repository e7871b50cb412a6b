/* stream_modes_mixed.c: public scenario stream-modes-mixed (SSE-6, SSE-11, SSE-22). */
#include "suite.h"

SCENARIO(stream_modes_mixed);

static const char *delayed_run(const char *ms) {
    need_fixture("conformance-delay");
    return create_run("conformance-delay", fmt("\"inputs\":{\"delayMs\":%s}", ms));
}

Test(stream_modes_mixed, frames_keep_the_name_of_their_event) {
    struct stream st = stream(delayed_run("500"), "?streamMode=updates,messages", NULL, 15000);
    cr_assert_eq(st.status, 200);
    cr_expect(st.closed_by_server);
    cr_expect(stream_names(&st, "run.completed"));
}

Test(stream_modes_mixed, values_cannot_be_mixed) {
    const char *run = delayed_run("100");
    struct reply r = ask("GET", run_path(run, "/events?streamMode=values,updates"), NULL, NULL);
    cr_assert_eq(r.status, 400, "%ld", r.status);
    cr_expect(str_eqc(text_at(r.json, "error"), "unsupported_stream_mode"));
    cr_expect(is_type(r.json, "details.supported", JSON_ARRAY));
    wait_terminal(run, 10000);
}

Test(stream_modes_mixed, one_unknown_mode_spoils_the_list) {
    const char *run = delayed_run("100");
    struct reply r = ask("GET", run_path(run, "/events?streamMode=updates,bogus"), NULL, NULL);
    cr_expect_eq(r.status, 400, "%ld", r.status);
    wait_terminal(run, 10000);
}

Test(stream_modes_mixed, adding_debug_takes_nothing_away) {
    struct stream a = stream(delayed_run("500"), "?streamMode=updates", NULL, 15000),
                  b = stream(delayed_run("500"), "?streamMode=updates,debug", NULL, 15000);
    cr_assert_gt(a.n, 0u);
    for (size_t i = 0; i < a.n; i++)
        cr_expect(stream_names(&b, arena_cstr(test_arena(), a.v[i].event)), STR_FMT " is missing",
                  STR_ARG(a.v[i].event));
    for (size_t i = 1; i < b.n; i++) { /* one event, one frame */
        uint64_t x = 0, y = 0;
        cr_expect(str_u64(b.v[i - 1].id, &x) && str_u64(b.v[i].id, &y) && x < y,
                  "ids do not rise: " STR_FMT, STR_ARG(b.raw));
    }
}
