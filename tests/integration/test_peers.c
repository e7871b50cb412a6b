/*
 * test_peers.c: several hosts on one database file (STORE-16, STORE-30 to STORE-40, EVT-32, IDEM-5,
 * scenario staleClaim).
 */
#include "interrupt_kit.h"

#include <pthread.h>

enum { TTL_MS = 2000, PAIRS = 24, ANSWER_MAX = 16384 };

static const char *const ARGS[] = {"--claim-ttl-ms", "2000", "--heartbeat-ms", "500", NULL};
static struct server a, b;
static void up(void) {
    server_start(&a, ARGS);
    server_beside(&b, &a, ARGS);
}
static void down(void) {
    server_stop(&b);
    server_end(&a);
}
TestSuite(peers, .init = up, .fini = down, .timeout = 300);

static unsigned count(struct str types, const char *what) {
    unsigned n = 0;
    struct str word, rest = types;
    while (rest.n > 0) {
        if (!str_cut(rest, ' ', &word, &rest)) word = rest, rest = STR_NONE;
        n += str_eqc(word, what);
    }
    return n;
}

static struct str story(const struct server *s, const char *run) {
    return types_of(events_of(s, run));
}

static const char *waiting_run(const struct server *s, int ms) {
    const char *run =
        create_run(s, "conformance-cancellable", fmt("\"inputs\":{\"delayMs\":%d}", ms));
    wait_status(s, run, "running");
    return run;
}

/* A run that two hosts may have worked on: nothing twice, one end, the same everywhere. */
static void expect_whole(const char *run, const char *status) {
    struct str sa = story(&a, run), sb = story(&b, run);
    cr_expect(str_eq(sa, sb), "a: " STR_FMT "\nb: " STR_FMT, STR_ARG(sa), STR_ARG(sb));
    cr_expect_eq(count(sa, "node.started:wait"), 1u, STR_FMT, STR_ARG(sa));
    cr_expect_leq(count(sa, "node.completed:wait"), 1u, STR_FMT, STR_ARG(sa));
    cr_expect_eq(count(sa, "run.completed") + count(sa, "run.failed") + count(sa, "run.cancelled"),
                 1u, STR_FMT, STR_ARG(sa));
    struct reply r = ask(&b, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    cr_expect(str_eqc(text_at(r.body, "status"), status), STR_FMT, STR_ARG(r.body));
}

static struct reply post(const struct server *s, const char *run, const char *verb) {
    return ask(s, "POST", fmt("/v1/runs/%s%s", run, verb), "{}", NULL);
}

/* ------------------------------------------------------------------------------ following */
Test(peers, a_host_that_does_not_execute_a_run_serves_it /* STORE-16, HTTP-15 */) {
    const char *run = create_run(&a, "conformance-multi-node", NULL);
    struct reply r = ask(&b, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    cr_expect_eq(r.status, 200, "visible everywhere once it is acknowledged");
    wait_terminal(&b, run);
    cr_expect(str_eq(events_of(&a, run), events_of(&b, run)));
}

Test(peers, a_follower_streams_live_and_resumes /* STORE-16, SSE-14, SSE-27 */) {
    const char *run = waiting_run(&a, 700);
    struct stream s = stream(&b, fmt("/v1/runs/%s/events?streamMode=debug", run), NULL, WAIT_MS, 0);
    cr_assert_eq(s.status, 200);
    cr_assert(s.closed_by_server, "it ends with the run");
    cr_assert_geq(s.n, 4u);
    cr_expect(str_eqc(s.v[s.n - 1].event, "run.completed"), STR_FMT, STR_ARG(s.raw));
    const char *last[] = {fmt("Last-Event-ID: " STR_FMT, STR_ARG(s.v[1].id)), NULL};
    struct stream rest =
        stream(&b, fmt("/v1/runs/%s/events?streamMode=debug", run), last, WAIT_MS, 0);
    cr_assert_eq(rest.n, s.n - 2);
    for (size_t i = 0; i < rest.n; i++) cr_expect(str_eq(rest.v[i].data, s.v[i + 2].data));
    struct stream own =
        stream(&a, fmt("/v1/runs/%s/events?streamMode=debug", run), NULL, WAIT_MS, 0);
    cr_assert_eq(own.n, s.n);
    for (size_t i = 0; i < s.n; i++) cr_expect(str_eq(own.v[i].data, s.v[i].data), "STORE-7");
}

Test(peers, a_key_revoked_beside_two_hosts_is_refused_by_both /* AUTH-11 */) {
    static const char *const mint[] = {"keys",     "create",    "--test", "--no-expiry",
                                       "--scopes", "runs:read", NULL};
    const char *run = create_run(&a, "conformance-noop", NULL);
    struct str out;
    char key[128], id[128];
    cr_assert_eq(program(&a, mint, &out, NULL), 0);
    const char *shown = strstr(out.p, "hk_test_");
    cr_assert_not_null(shown, STR_FMT, STR_ARG(out));
    cr_assert_eq(sscanf(shown, "%127[A-Za-z0-9_-]", key), 1);
    cr_assert_eq(sscanf(key, "hk_test_%127[^_]", id), 1);
    const char *auth[] = {fmt("Authorization: Bearer %s", key), NULL};
    cr_expect_eq(ask(&a, "GET", fmt("/v1/runs/%s", run), NULL, auth).status, 200);
    cr_expect_eq(ask(&b, "GET", fmt("/v1/runs/%s", run), NULL, auth).status, 200);
    const char *const revoke[] = {"keys", "revoke", id, NULL};
    cr_assert_eq(program(&a, revoke, &out, NULL), 0, "%s %s", key, id);
    cr_expect_eq(ask(&a, "GET", fmt("/v1/runs/%s", run), NULL, auth).status, 401);
    cr_expect_eq(ask(&b, "GET", fmt("/v1/runs/%s", run), NULL, auth).status, 401);
}

/* ------------------------------------------------------------------------------ takeover */
Test(peers, a_killed_holder_is_taken_over /* STORE-30, STORE-38, STORE-39, EVT-32 */) {
    const char *run = waiting_run(&a, 1500);
    server_kill(&a);
    cr_expect(str_eqc(text_at(wait_terminal(&b, run), "status"), "completed"));
    server_again(&a);
    expect_whole(run, "completed");
    struct str s = story(&b, run);
    cr_expect_not_null(strstr(arena_cstr(test_arena(), s),
                              "lease.lost lease.acquired workflow.restored run.resumed"),
                       STR_FMT, STR_ARG(s));
}

Test(peers, a_stopping_holder_hands_over /* STORE-36, STORE-40 */) {
    const char *run = waiting_run(&a, 1500);
    cr_expect_eq(server_stop(&a), 0);
    cr_expect(str_eqc(text_at(wait_terminal(&b, run), "status"), "completed"));
    server_again(&a);
    expect_whole(run, "completed");
    struct str s = story(&b, run);
    cr_expect_eq(count(s, "lease.lost"), 0u, STR_FMT, STR_ARG(s));
    cr_expect_eq(count(s, "lease.handed-off"), 1u, STR_FMT, STR_ARG(s));
}

Test(peers, a_frozen_holder_is_taken_over_and_then_fenced /* STORE-31, STORE-33, STORE-34 */) {
    const char *run = waiting_run(&a, 500);
    server_freeze(&a);
    cr_expect(str_eqc(text_at(wait_terminal(&b, run), "status"), "completed"));
    server_thaw(&a);
    const char *next = create_run(&a, "conformance-noop", NULL); /* it goes on with its own work */
    wait_terminal(&a, next);
    struct reply r = post(&a, run, ":pause");
    cr_expect_eq(r.status, 409, "it knows that the run has ended: " STR_FMT, STR_ARG(r.body));
    expect_whole(run, "completed");
    cr_expect_eq(count(story(&a, run), "lease.lost"), 1u);
}

Test(peers, three_hosts_take_over_once /* STORE-30 */) {
    struct server c;
    server_beside(&c, &a, ARGS);
    const char *runs[8];
    for (int i = 0; i < 8; i++)
        runs[i] = create_run(&c, "conformance-cancellable",
                             fmt("\"inputs\":{\"delayMs\":%d}", 600 + 50 * i));
    server_kill(&c);
    for (int i = 0; i < 8; i++) wait_terminal(&a, runs[i]);
    for (int i = 0; i < 8; i++) {
        expect_whole(runs[i], "completed");
        cr_expect_leq(count(story(&a, runs[i]), "lease.acquired"), 1u);
    }
}

/* ------------------------------------------------------------------------------ commands */
Test(peers, a_run_is_cancelled_from_another_host /* RUN-20, STORE-40 */) {
    const char *run = waiting_run(&a, 20000);
    struct reply r = post(&b, run, "/cancel");
    cr_expect_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.body, "status"), "cancelled"), STR_FMT, STR_ARG(r.body));
    expect_whole(run, "cancelled");
    struct str s = story(&a, run);
    cr_expect_eq(count(s, "lease.handed-off"), 1u, STR_FMT, STR_ARG(s));
    cr_expect_eq(count(s, "lease.lost"), 0u, STR_FMT, STR_ARG(s));
}

Test(peers, pause_and_resume_wander_between_hosts /* RUN-25 to RUN-30 */) {
    const char *run = waiting_run(&a, 1200);
    for (int i = 0; i < 3; i++) {
        struct reply r = post(i % 2 == 0 ? &b : &a, run, ":pause");
        cr_assert(r.status == 200 || r.status == 202, STR_FMT, STR_ARG(r.body));
        r = post(i % 2 == 0 ? &a : &b, run, ":resume");
        cr_assert(r.status == 200 || r.status == 202, STR_FMT, STR_ARG(r.body));
    }
    cr_expect(str_eqc(text_at(wait_terminal(&a, run), "status"), "completed"));
    struct str s = story(&b, run);
    expect_whole(run, "completed");
    cr_expect_eq(count(s, "run.paused"), 3u, STR_FMT, STR_ARG(s));
    cr_expect_eq(count(s, "run.resumed"), 3u, "nothing was recovered: " STR_FMT, STR_ARG(s));
}

Test(peers, a_command_waits_no_longer_than_the_lease_of_a_frozen_holder /* STORE-31 */) {
    const char *run = waiting_run(&a, 30000);
    server_freeze(&a);
    struct reply r = post(&b, run, "/cancel");
    server_thaw(&a);
    cr_expect_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    expect_whole(run, "cancelled");
}

Test(peers, a_command_survives_the_death_of_the_holder_it_asks /* STORE-30 */) {
    const char *run = waiting_run(&a, 30000);
    server_freeze(&a); /* it will never answer */
    server_kill(&a);
    struct reply r = post(&b, run, "/cancel");
    cr_expect_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    server_again(&a);
    expect_whole(run, "cancelled");
}

/* ------------------------------------------------------------------------------ idempotency */
struct caller {
    const struct server *s;
    char request[1024], answer[ANSWER_MAX];
    long status;
};

static void *call(void *ctx) {
    struct caller *c = ctx;
    c->status = exchange(c->s, c->request, strlen(c->request), c->answer, sizeof c->answer);
    return NULL;
}

static void prepare(struct caller *c, const struct server *s, const char *path, const char *key,
                    const char *body) {
    c->s = s;
    snprintf(c->request, sizeof c->request,
             "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nIdempotency-Key: %s\r\n"
             "Content-Type: application/json\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n%s",
             path, TEST_KEY, key, strlen(body), body);
}

static const char *body_of(const struct caller *c) {
    const char *cut = strstr(c->answer, "\r\n\r\n");
    return cut ? cut + 4 : "";
}

static void both_at_once(struct caller c[2], const char *path, const char *key, const char *body) {
    pthread_t t[2];
    prepare(&c[0], &a, path, key, body);
    prepare(&c[1], &b, path, key, body);
    for (int i = 0; i < 2; i++) cr_assert_eq(pthread_create(&t[i], NULL, call, &c[i]), 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
}

Test(peers, one_key_on_two_hosts_has_one_effect /* IDEM-5, IDEM-12 */) {
    static struct caller c[2];
    for (int i = 0; i < PAIRS; i++) {
        both_at_once(c, "/v1/runs", fmt("pair-%d", i), "{\"workflowId\":\"conformance-noop\"}");
        cr_assert_eq(c[0].status, 201, "%s", c[0].answer);
        cr_assert_eq(c[1].status, 201, "%s", c[1].answer);
        cr_expect_str_eq(body_of(&c[0]), body_of(&c[1]));
        int replays = (strstr(c[0].answer, "Idempotent-Replay: true") != NULL) +
                      (strstr(c[1].answer, "Idempotent-Replay: true") != NULL);
        cr_expect_eq(replays, 1, "one of the two is the repetition");
    }
    static const char *const list[] = {"runs", "list", NULL};
    struct str out;
    unsigned runs = 0;
    cr_assert_eq(program(&a, list, &out, NULL), 0);
    for (const char *p = out.p; (p = strstr(p, "run_")) != NULL; p++) runs++;
    cr_expect_eq(runs, (unsigned)PAIRS, STR_FMT, STR_ARG(out));
}

Test(peers, one_cancel_on_two_hosts_is_one_cancel /* IDEM-5, RUN-21 */) {
    static struct caller c[2];
    for (int i = 0; i < 4; i++) {
        const char *run = waiting_run(i % 2 ? &a : &b, 20000);
        both_at_once(c, fmt("/v1/runs/%s/cancel", run), fmt("cancel-%d", i), "{}");
        cr_assert_eq(c[0].status, 200, "%s", c[0].answer);
        cr_assert_eq(c[1].status, 200, "%s", c[1].answer);
        cr_expect_str_eq(body_of(&c[0]), body_of(&c[1]));
        expect_whole(run, "cancelled");
    }
}

/* ------------------------------------------------------------------------------ interrupts */
Test(peers, an_approval_is_answered_anywhere /* EVT-27, INT-9 */) {
    const char *run = approval(&a);
    struct reply r = resolve(&b, run, "gate", ACCEPT);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(wait_terminal(&a, run), "status"), "completed"));
    struct str s = story(&a, run);
    cr_expect(str_eqc(s, "run.started node.started:gate interrupt.requested:gate "
                         "approval.requested:gate node.suspended:gate interrupt.resolved:gate "
                         "approval.received:gate node.resumed:gate node.completed:gate "
                         "run.completed"),
              "a waiting run is handed over without a word: " STR_FMT, STR_ARG(s));
}

Test(peers, two_answers_on_two_hosts_and_one_counts /* STORE-10, INT-17 */) {
    static struct caller c[2];
    for (int i = 0; i < 6; i++) {
        const char *run = approval(i % 2 ? &a : &b);
        const char *path = fmt("/v1/runs/%s/interrupts/gate", run);
        pthread_t t[2];
        prepare(&c[0], &a, path, fmt("yes-%d", i), ACCEPT);
        prepare(&c[1], &b, path, fmt("no-%d", i), REJECT);
        for (int k = 0; k < 2; k++) cr_assert_eq(pthread_create(&t[k], NULL, call, &c[k]), 0);
        for (int k = 0; k < 2; k++) pthread_join(t[k], NULL);
        long low = c[0].status < c[1].status ? c[0].status : c[1].status;
        long high = c[0].status < c[1].status ? c[1].status : c[0].status;
        cr_expect(low == 200 && high >= 400 && high < 500, "%s\n%s", c[0].answer, c[1].answer);
        struct str end = text_at(wait_terminal(&a, run), "status");
        cr_expect_eq(str_eqc(end, "completed"), c[0].status == 200, STR_FMT, STR_ARG(end));
        cr_expect_eq(count(story(&b, run), "interrupt.resolved:gate"), 1u);
    }
}

/* ------------------------------------------------------------------------------ clocks */
Test(peers, no_wall_clock_ends_or_keeps_a_lease /* STORE-31, STORE-33 */) {
    struct test_clock clock;
    struct server c;
    clock_make(&clock, a.dir);
    const char *const args[] = {"--claim-ttl-ms", "2000", "--heartbeat-ms", "500", "--clock-file",
                                clock.path,       NULL};
    server_beside(&c, &a, args);
    const char *run = waiting_run(&a, 3000);
    *clock.offset_ms = 10 * 1000; /* c would take every lease for ended */
    const char *ahead = waiting_run(&c, 600);
    wait_terminal(&b, run);
    wait_terminal(&b, ahead);
    expect_whole(run, "completed");
    cr_expect_eq(count(story(&a, run), "lease.lost"), 0u);
    run = waiting_run(&c, 1000);
    *clock.offset_ms = -10 * 1000; /* and now back, with a run of its own */
    const char *back = waiting_run(&c, 30000);
    server_freeze(&c);
    wait_terminal(&b, run); /* its lease ends long from now, it says; its silence counts */
    cr_expect_eq(post(&b, back, "/cancel").status, 200);
    server_thaw(&c);
    expect_whole(run, "completed");
    expect_whole(back, "cancelled");
    cr_expect_eq(server_stop(&c), 0);
}

/* ------------------------------------------------------------------------------ staleClaim */
Test(peers, a_host_with_another_key_finishes_an_orphan /* CT:staleClaim, STORE-37 */) {
    server_kill(&a);
    server_kill(&b);
    a.key = "openwop-stale-claim-A";
    server_again(&a);
    const char *run = waiting_run(&a, 5000);
    server_kill(&a);
    a.key = "openwop-stale-claim-B";
    server_again(&a);
    cr_expect(str_eqc(text_at(wait_terminal(&a, run), "status"), "completed"));
    cr_expect_eq(count(story(&a, run), "run.resumed"), 1u);
}
