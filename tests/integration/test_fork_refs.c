/*
 * test_fork_refs.c: readers of forks, which hold none of the events that they inherit: streams and
 * polls on both sides of the cut, values, two hosts, retention in between, files of older versions.
 * FORK-8, FORK-9, FORK-24, SSE-26, SSE-27, STORE-15, STORE-44.
 */
#include "harness.h"
#include "interrupt_kit.h"
#include "store/sqlite/sqlite.h"
#include "store/upkeep.h"

#include <stdio.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(fork_refs, .init = up, .fini = down, .timeout = 300);

static void clean(void) {
    static const char *const args[] = {"verify", NULL};
    struct str out = STR_NONE, err = STR_NONE;
    cr_expect_eq(program(&sv, args, &out, &err), 0, STR_FMT STR_FMT, STR_ARG(out), STR_ARG(err));
}

static void expect_prefix(const struct server *s, const char *run, const char *fork, size_t n) {
    struct json_elements a = elements_of(events_of(s, run)), b = elements_of(events_of(s, fork));
    cr_assert(a.n >= n && b.n >= n, "%zu and %zu of %zu", a.n, b.n, n);
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(int_at(b.v[i], "sequence"), (int64_t)i);
        cr_expect(str_eq(at(a.v[i], "payload"), at(b.v[i], "payload")));
        cr_expect(str_eqc(text_at(b.v[i], "runId"), fork));
    }
}

static struct stream debug_from(const struct server *s, const char *run, int64_t seq,
                                size_t limit) {
    const char *const h[] = {fmt("Last-Event-ID: %lld", (long long)seq), NULL};
    return stream(s, fmt("/v1/runs/%s/events?streamMode=debug", run), seq < 0 ? NULL : h, WAIT_MS,
                  limit);
}

static const char *stream_run(void) {
    const char *run = create_run(
        &sv, "conformance-stream-text",
        "\"configurable\":{\"mockProvider\":{\"id\":\"stream-text\",\"config\":{\"tokens\":["
        "\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\"],\"delayMsPerToken\":1}}}");
    (void)wait_terminal(&sv, run);
    return run;
}

Test(fork_refs, a_stream_resumes_on_either_side_of_each_cut /* SSE-26 */) {
    const char *run = stream_run(), *chain[4] = {run};
    for (int i = 1; i < 4; i++) {
        chain[i] = fork_run(&sv, chain[i - 1], "branch", 3 * i);
        (void)wait_terminal(&sv, chain[i]);
        expect_prefix(&sv, chain[i - 1], chain[i], (size_t)(3 * i));
    }
    for (int i = 1; i < 4; i++) {
        struct stream all = debug_from(&sv, chain[i], -1, 0);
        cr_assert_gt(all.n, 10u);
        for (size_t from = 0; from < all.n; from++) {
            struct stream st = debug_from(&sv, chain[i], (int64_t)from, 0);
            cr_expect(st.closed_by_server);
            cr_assert_eq(st.n, all.n - 1 - from, "fork %d from %zu: %zu", i, from, st.n);
            for (size_t k = 0; k < st.n; k++)
                cr_expect(str_eq(st.v[k].data, all.v[from + 1 + k].data));
            struct reply p =
                ask(&sv, "GET",
                    fmt("/v1/runs/%s/events/poll?lastSequence=%zu&timeout=1", chain[i], from), NULL,
                    NULL);
            cr_expect_eq(elements_of(at(p.body, "events")).n, st.n, STR_FMT, STR_ARG(p.body));
        }
    }
    clean();
}

Test(fork_refs, values_are_those_of_the_whole_log /* SSE-17, SSE-27 */) {
    const char *run = create_run(&sv, "conformance-channel-ttl", NULL);
    (void)wait_terminal(&sv, run);
    size_t n = elements_of(events_of(&sv, run)).n;
    const char *path = "/v1/runs/%s/events?streamMode=values";
    struct stream want = stream(&sv, fmt(path, run), NULL, WAIT_MS, 0);
    for (size_t cut = 1; cut < n; cut++) {
        const char *fork = fork_run(&sv, run, "replay", (int64_t)cut);
        (void)wait_terminal(&sv, fork);
        struct stream got = stream(&sv, fmt(path, fork), NULL, WAIT_MS, 0);
        cr_assert_eq(got.n, want.n, "cut %zu: %zu frames, not %zu", cut, got.n, want.n);
        for (size_t i = 0; i < got.n; i++) {
            cr_expect(str_eq(got.v[i].id, want.v[i].id));
            cr_expect(str_eq(at(got.v[i].data, "channels"), at(want.v[i].data, "channels")));
            cr_expect(str_eq(at(got.v[i].data, "variables"), at(want.v[i].data, "variables")));
        }
    }
}

Test(fork_refs, two_hosts_see_the_same_fork_and_either_goes_on_with_it /* STORE-30 */) {
    struct server b = {0};
    const char *run = waiting(&sv, "conformance-approval", "waiting-approval", NULL);
    server_beside(&b, &sv, NULL);
    size_t n = elements_of(events_of(&sv, run)).n;
    const char *fork = fork_run(&sv, run, "branch", (int64_t)n - 1);
    (void)wait_status(&sv, fork, "waiting-approval");
    const char *second = fork_run(&b, fork, "branch", (int64_t)n - 2);
    expect_prefix(&b, run, fork, n - 1);
    expect_prefix(&sv, run, second, n - 2);
    server_kill(&sv);
    for (int i = 0; i < 2; i++) {
        const char *id = i == 0 ? fork : second;
        struct str snap = wait_status(&b, id, "waiting-approval");
        struct reply r =
            ask(&b, "POST",
                fmt("/v1/runs/%s/interrupts/" STR_FMT, id, STR_ARG(text_at(snap, "currentNodeId"))),
                ACCEPT, NULL);
        cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
        cr_expect(str_eqc(text_at(wait_terminal(&b, id), "status"), "completed"));
        cr_expect_eq(debug_from(&b, id, (int64_t)n - 3, 0).n,
                     elements_of(events_of(&b, id)).n - n + 2);
    }
    cr_expect_eq(server_stop(&b), 0);
    server_again(&sv);
    clean();
}

static void purge(void) { /* what a host does once a minute, at any time */
    struct store_config cfg = {.path = sv.db, .busy_timeout_ms = 5000};
    struct wopr_error err = {0};
    struct store *s;
    bool more = true;
    int64_t n;
    cr_assert_eq(store_open(&cfg, &s, &err), 0, "%s", err.message);
    while (more)
        cr_assert_eq(store_purge_runs(s, INT64_MAX, now_ms(), 1000, &n, &more, &err), 0, "%s",
                     err.message);
    store_close(s);
}

Test(fork_refs, retention_takes_a_source_while_its_fork_is_read /* STORE-44, FORK-24 */) {
    const char *run = waiting(&sv, "conformance-approval", "waiting-approval", NULL);
    int64_t n = (int64_t)elements_of(events_of(&sv, run)).n;
    const char *fork = fork_run(&sv, run, "branch", n - 1);
    struct str snap = wait_status(&sv, fork, "waiting-approval");
    const char *node = fmt(STR_FMT, STR_ARG(text_at(snap, "currentNodeId")));
    struct json_elements before = elements_of(events_of(&sv, fork));
    cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s/interrupts/%s", run, node), ACCEPT, NULL).status,
                 200);
    (void)wait_terminal(&sv, run);
    purge();
    struct reply gone = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    expect_error(&gone, 410, "run_expired");
    struct reply late =
        ask(&sv, "POST", fmt("/v1/runs/%s:fork", run), "{\"mode\":\"branch\",\"fromSeq\":1}", NULL);
    expect_error(&late, 410, "events_expired");
    struct json_elements after = elements_of(events_of(&sv, fork));
    cr_assert_eq(after.n, before.n);
    for (size_t i = 0; i < after.n; i++) cr_expect(str_eq(after.v[i], before.v[i]));
    clean();
    server_kill(&sv); /* the next host folds what only the hidden run holds */
    server_again(&sv);
    const char *again = fork_run(&sv, fork, "branch", n - 2);
    cr_assert_eq(
        ask(&sv, "POST", fmt("/v1/runs/%s/interrupts/%s", fork, node), ACCEPT, NULL).status, 200);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, fork), "status"), "completed"));
    struct stream st = debug_from(&sv, fork, 0, 0);
    cr_expect_eq(st.n + 1, elements_of(events_of(&sv, fork)).n);
    purge();
    (void)wait_status(&sv, again, "waiting-approval");
    cr_expect_geq((int64_t)elements_of(events_of(&sv, again)).n, n - 2);
    clean();
    cr_assert_eq(
        ask(&sv, "POST", fmt("/v1/runs/%s/interrupts/%s", again, node), ACCEPT, NULL).status, 200);
    (void)wait_terminal(&sv, again);
    purge();
    cr_expect_eq(ask(&sv, "GET", fmt("/v1/runs/%s", again), NULL, NULL).status, 410);
    clean();
}

/* --- files of older versions --- */

/* tests/integration/old: made by a program of schema version 12, whose forks are copies. */
Test(fork_refs, forks_of_an_older_version_are_read_as_they_are /* STORE-15 */) {
    static const char *const args[] = {"--retention-days", "3650", NULL};
    enum { RUNS = 10, ENDED = 7, SOURCE_EVENTS = 14 };
    cr_assert_eq(server_stop(&sv), 0);
    server_restore(&sv, "forks-0012.sql");
    sv.args = args;
    server_again(&sv);
    clean();
    struct reply r = ask(&sv, "GET", "/v1/runs?limit=100", NULL, NULL);
    struct json_elements runs = elements_of(at(r.body, "runs"));
    cr_assert_eq(runs.n, RUNS);
    int ended = 0;
    for (size_t i = 0; i < runs.n; i++) {
        const char *id = fmt(STR_FMT, STR_ARG(text_at(runs.v[i], "runId")));
        bool done = str_eqc(text_at(runs.v[i], "status"), "completed");
        struct str from = at(runs.v[i], "fork.sourceRunId");
        if (from.p)
            expect_prefix(&sv, fmt(STR_FMT, STR_ARG(text_at(runs.v[i], "fork.sourceRunId"))), id,
                          (size_t)int_at(runs.v[i], "fork.fromSeq"));
        if (!done) continue;
        ended++;
        cr_expect_eq(elements_of(events_of(&sv, id)).n, SOURCE_EVENTS);
        for (int64_t cut = 0; cut < SOURCE_EVENTS; cut += 3) {
            const char *replay = fork_run(&sv, id, "replay", cut);
            cr_expect(str_eqc(text_at(wait_terminal(&sv, replay), "status"), "completed"));
            expect_prefix(&sv, id, replay, (size_t)cut);
            cr_expect_null(strstr(types_of(events_of(&sv, replay)).p, "replay.diverged"));
        }
    }
    cr_expect_eq(ended, ENDED);
    for (size_t i = 0; i < runs.n; i++) { /* those that waited go on */
        const char *id = fmt(STR_FMT, STR_ARG(text_at(runs.v[i], "runId")));
        if (str_eqc(text_at(runs.v[i], "status"), "completed")) continue;
        cr_expect_eq(
            ask(&sv, "POST", fmt("/v1/runs/%s/interrupts/approve", id), ACCEPT, NULL).status, 200);
        cr_expect(str_eqc(text_at(wait_terminal(&sv, id), "status"), "completed"));
    }
    clean();
}
