/*
 * test_edge_bounds.c: what one client may hold, against the real program: settings, credentials,
 * long reads (PROF-14, AUTH-12, RUN-41).
 */
#include "harness.h"

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(edge_bounds, .init = up, .fini = down, .timeout = 300);

/* A run that goes on, with some 220 events. */
static const char *long_run(void) {
    const char *run = create_run(&sv, "conformance-cancellable",
                                 "\"inputs\":{\"delayMs\":600000,\"delaySeconds\":600}");
    wait_status(&sv, run, "running");
    for (int i = 0; i < 110; i++) {
        cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s:pause", run), "{}", NULL).status, 202);
        cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s:resume", run), "{}", NULL).status, 202);
    }
    return run;
}

/* Pages of an answer that stays on the connection's thread, and the whole from another one. */
Test(edge_bounds, a_long_range_of_events_is_the_same_from_a_reader_thread /* RUN-41, SSE-40 */) {
    static const char *const json[] = {"Accept: application/json", NULL};
    const char *run = long_run();
    struct json_elements whole, tail;
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s/events/poll?timeout=1", run), NULL, NULL);
    cr_assert_eq(r.status, 200);
    cr_assert_eq(json_elements(at(r.body, "events"), test_arena(), &whole, NULL), 0);
    cr_assert_gt(whole.n, 220);
    size_t from = whole.n - 150; /* few enough to stay */
    struct reply s =
        ask(&sv, "GET", fmt("/v1/runs/%s/events/poll?timeout=1&lastSequence=%zu", run, from - 1),
            NULL, NULL);
    cr_assert_eq(json_elements(at(s.body, "events"), test_arena(), &tail, NULL), 0);
    cr_assert_eq(tail.n, whole.n - from);
    for (size_t i = 0; i < tail.n; i++) cr_expect(str_eq(tail.v[i], whole.v[from + i]));
    s = ask(&sv, "GET", fmt("/v1/runs/%s/events", run), NULL, json);
    cr_expect(str_eq(at(s.body, "events"), at(r.body, "events")));
    s = ask(&sv, "GET", "/v1/runs/no-such-run/events/poll?timeout=1", NULL, NULL);
    expect_error(&s, 404, "not_found");
}

/* A cursor far into the log: the fold up to it is made on another thread, its snapshot comes first.
 */
Test(edge_bounds, values_from_a_late_cursor_are_those_from_the_start /* SSE-17, SSE-27 */) {
    const char *run = long_run();
    cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run), "{}", NULL).status, 200);
    wait_terminal(&sv, run);
    struct stream all =
        stream(&sv, fmt("/v1/runs/%s/events?streamMode=values", run), NULL, WAIT_MS, 0);
    cr_assert_gt(all.n, 210);
    struct frame *from = &all.v[205];
    struct stream late = stream(
        &sv,
        fmt("/v1/runs/%s/events?streamMode=values&lastEventId=" STR_FMT, run, STR_ARG(from->id)),
        NULL, WAIT_MS, 0);
    cr_assert_eq(late.n, all.n - 205);
    for (size_t i = 0; i < late.n; i++) {
        cr_expect(str_eq(late.v[i].id, from[i].id));
        cr_expect(str_eq(late.v[i].data, from[i].data));
    }
}

/* A run with long values is read on another thread, into the same snapshot (S6). */
Test(edge_bounds, a_large_snapshot_is_as_whole_as_a_small_one /* RUN-10 */) {
    enum { LARGE = 200 * 1000 };
    char *text = arena_alloc(test_arena(), LARGE + 1);
    memset(text, 'x', LARGE);
    struct buf extras;
    buf_init(&extras, 2 * LARGE);
    buf_addf(&extras, "\"inputs\":{\"payload\":{\"t\":\"%s\"}}", text);
    const char *run = create_run(&sv, "conformance-identity", extras.p);
    buf_fini(&extras);
    struct str snapshot = wait_terminal(&sv, run);
    cr_expect_str_eq(arena_cstr(test_arena(), text_at(snapshot, "status")), "completed");
    struct str payload = text_at(snapshot, "variables.payload.t");
    cr_expect(str_eq(payload, str_c(text)), "%zu bytes", payload.n);
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    cr_expect(str_eq(r.body, snapshot));
}

Test(edge_bounds, filtered_lists_answer_and_refuse_as_before /* E35 */) {
    const char *run = create_run(&sv, "conformance-noop", "\"tags\":[\"blue\"]");
    create_run(&sv, "conformance-noop", NULL);
    wait_terminal(&sv, run);
    struct json_elements runs;
    struct reply r = ask(&sv, "GET", "/v1/runs?tag=blue", NULL, NULL);
    cr_assert_eq(r.status, 200);
    cr_assert_eq(json_elements(at(r.body, "runs"), test_arena(), &runs, NULL), 0);
    cr_expect_eq(runs.n, 1u);
    cr_expect(str_eqc(text_at(r.body, "runs.0.runId"), run));
    r = ask(&sv, "GET", "/v1/runs?status=purple", NULL, NULL);
    expect_error(&r, 400, "validation_error");
    r = ask(&sv, "GET", "/v1/runs?tag=blue&limit=0", NULL, NULL);
    expect_error(&r, 400, "validation_error");
}

Test(edge_bounds, guesses_of_one_address_are_limited_by_default /* AUTH-12 */) {
    size_t limited = 0;
    struct reply r = {0};
    cr_assert_eq(ask(&sv, "GET", "/v1/runs", NULL, NULL).status, 200);
    for (int i = 0; i < 5000 && limited == 0; i++) {
        const char *const wrong[] = {fmt("Authorization: Bearer hk_%026d_x", i), NULL};
        r = ask(&sv, "GET", "/v1/runs", NULL, wrong);
        limited += r.status == 429;
    }
    expect_error(&r, 429, "rate_limited");
    cr_expect(header(&r, "Retry-After").p != NULL);
    cr_expect_eq(ask(&sv, "GET", "/v1/runs", NULL, NULL).status, 200, "the key in use");
}

Test(edge_bounds, settings_out_of_range_are_refused_by_name) {
    static const struct {
        const char *flag, *value;
    } rows[] = {{"--polls-max", "0"},        {"--key-polls-max", "5000"},
                {"--reserve-percent", "51"}, {"--memory-bytes", "100000"},
                {"--read-threads", "0"},     {"--auth-failure-rate", "-1"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const args[] = {"serve", "--port", "0", rows[i].flag, rows[i].value, NULL};
        struct str out, err;
        cr_expect_neq(program(&sv, args, &out, &err), 0, "%s", rows[i].flag);
        cr_expect(err.n > 0 && strstr(err.p, rows[i].flag + 2), "%s: " STR_FMT, rows[i].flag,
                  STR_ARG(err));
    }
}
