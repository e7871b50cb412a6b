/*
 * test_outside.c: what a node does outside is done once, whatever happens to the host.  STORE-42,
 * IDEM-16, IDEM-17, IDEM-19, D55, HOOK-16, HOOK-17.
 */
#include "base/clock.h"
#include "codec/bytes.h"
#include "harness.h"
#include "peer.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct server sv;
static struct peer *peer;
static const char *const ALLOW[] = {"--egress-allow", "127.0.0.1", NULL};

static void put_workflow(void) {
    static const char *const put[] = {"workflow", "put",
                                      WOPR_SOURCE_DIR "/tests/integration/outside.json", NULL};
    struct str out = STR_NONE, err = STR_NONE;
    cr_assert_eq(program(&sv, put, &out, &err), 0, STR_FMT, STR_ARG(err));
}
static void up(void) {
    peer = peer_start();
    server_start(&sv, ALLOW);
    put_workflow();
}
static void down(void) {
    peer_hold(peer, false);
    server_end(&sv);
    peer_stop(peer);
}
TestSuite(outside, .init = up, .fini = down, .timeout = 400);

static const char *order(void) {
    return create_run(&sv, "outside",
                      fmt("\"inputs\":{\"url\":\"http://127.0.0.1:%d/orders\"}", peer_port(peer)));
}

/* The formula of IDEM-16, written out again. */
static struct str invocation_id(const char *run, int attempt) {
    char hex[65];
    struct sha256 d = sha256_of(str_c(fmt("%s:order:%d:http:POST", run, attempt)));
    sha256_hex(&d, hex);
    return str_c(fmt("%s", hex));
}

Test(outside, a_request_carries_its_invocation_id_and_its_answer_is_the_output /* IDEM-19 */) {
    const char *run = order();
    struct str snap = wait_terminal(&sv, run);
    struct peer_request r;
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_expect_eq(int_at(snap, "nodeStates.order.outputs.status"), 200);
    cr_expect(str_eqc(at(snap, "nodeStates.order.outputs.body"), "{\"ok\":true}"));
    cr_assert_eq(peer_count(peer), 1u);
    cr_assert(peer_request_at(peer, 0, &r));
    cr_expect_str_eq(r.method, "POST");
    cr_expect_str_eq(r.body, "{ \"item\": \"pen\" }", "spliced, not reformatted");
    cr_expect_str_eq(r.content_type, "application/json");
    cr_expect(str_eqc(invocation_id(run, 0), r.key), "%s", r.key);
}

Test(outside, a_kill_while_the_answer_is_out_repeats_the_request_under_the_same_id) {
    struct peer_request first, second;
    peer_hold(peer, true);
    const char *run = order();
    cr_assert(peer_wait(peer, 1));
    server_kill(&sv);
    peer_hold(peer, false);
    server_again(&sv);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_assert_eq(peer_count(peer), 2u, "the outcome of the first was nowhere recorded");
    cr_assert(peer_request_at(peer, 0, &first) && peer_request_at(peer, 1, &second));
    cr_expect_str_eq(first.key, second.key, "so that the peer can tell (IDEM-19)");
    cr_expect(str_eqc(invocation_id(run, 0), second.key));
    struct str types = types_of(events_of(&sv, run));
    cr_expect_null(strstr(types.p, "node.retried"), "STORE-39: the same attempt");
}

Test(outside, a_recorded_answer_is_never_asked_for_again /* STORE-42: kills at any moment */) {
    enum { RUNS = 60, KILLS = 5 };
    const char *ids[RUNS];
    for (int i = 0; i < RUNS; i++) {
        ids[i] = order();
        if (i % (RUNS / KILLS) == RUNS / KILLS - 1) {
            server_kill(&sv);
            server_again(&sv);
        }
    }
    for (int i = 0; i < RUNS; i++) {
        struct str snap = wait_terminal(&sv, ids[i]);
        cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    }
    /* Repetitions are those of requests under way at a kill, and carry the id of the first. */
    size_t n = peer_count(peer), repeated = 0;
    for (size_t i = 0; i < n; i++) {
        struct peer_request a, b;
        bool seen = false;
        cr_assert(peer_request_at(peer, i, &a));
        for (size_t k = 0; k < i && !seen; k++)
            seen = peer_request_at(peer, k, &b) && strcmp(a.key, b.key) == 0;
        repeated += seen;
    }
    cr_expect_eq(n - repeated, (size_t)RUNS, "%zu requests, %zu repeated", n, repeated);
}

Test(outside, a_failed_answer_is_tried_again_as_another_invocation /* IDEM-16, IDEM-17 */) {
    struct peer_request r;
    peer_answer(peer, 1, 503);
    const char *run = order();
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_assert_eq(peer_count(peer), 2u);
    cr_assert(peer_request_at(peer, 1, &r));
    cr_expect(str_eqc(invocation_id(run, 1), r.key), "the attempt is part of the id");
}

Test(outside, a_refusal_of_the_peer_is_not_tried_again) {
    peer_answer(peer, 1, 422);
    struct str snap = wait_terminal(&sv, order());
    cr_expect(str_eqc(text_at(snap, "status"), "failed"));
    cr_expect(str_eqc(text_at(snap, "error.code"), "http_status"), STR_FMT, STR_ARG(snap));
    cr_expect_eq(int_at(snap, "error.details.status"), 422);
    cr_expect_eq(peer_count(peer), 1u);
}

Test(outside, a_peer_that_is_not_there_fails_the_node_after_its_retries) {
    const char *run = create_run(&sv, "outside", "\"inputs\":{\"url\":\"http://127.0.0.1:9/x\"}");
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "error.code"), "unreachable"), STR_FMT, STR_ARG(snap));
    struct str types = types_of(events_of(&sv, run));
    cr_expect_not_null(strstr(types.p, "node.retried"), STR_FMT, STR_ARG(types));
}

Test(outside, a_cancel_does_not_wait_for_the_answer /* RUN-20 */) {
    peer_hold(peer, true);
    const char *run = order();
    cr_assert(peer_wait(peer, 1));
    struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run), "{}", NULL);
    cr_expect_eq(r.status, 200);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "cancelled"));
    peer_hold(peer, false);
}

static double metric(const char *name) {
    struct server ops = sv;
    snprintf(ops.base, sizeof ops.base, "http://127.0.0.1:%d", sv.ops_port);
    struct str text =
        ask(&ops, "GET", "/metrics", NULL, (const char *const[]){"Authorization:", NULL}).body;
    const char *at = strstr(text.p, fmt("\n%s ", name));
    cr_assert_not_null(at, "%s", name);
    return strtod(at + strlen(name) + 2, NULL);
}

/* The peer stays silent and the request has a quarter of a minute: nobody waits for that. */
Test(outside, a_cancel_reaches_the_transfer /* RUN-20 X10 */) {
    peer_hold(peer, true);
    const char *run = order();
    cr_assert(peer_wait(peer, 1));
    cr_expect_eq(metric("wopr_egress_active"), 1.0);
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run), "{}", NULL).status, 200);
    uint64_t began_ms = clock_mono_ms();
    while (metric("wopr_egress_active") > 0 && clock_mono_ms() - began_ms < 60000) nap_ms(20);
    cr_expect_lt(clock_mono_ms() - began_ms, 60000u);
    cr_expect_eq(metric("wopr_egress_failed_total{caller=\"node\"}"), 1.0);
    peer_hold(peer, false);
}

Test(outside, a_pause_keeps_the_answer_for_later /* WF-44 */) {
    peer_hold(peer, true);
    const char *run = order();
    cr_assert(peer_wait(peer, 1));
    cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s:pause", run), "{}", NULL).status, 202);
    wait_status(&sv, run, "paused");
    peer_hold(peer, false);
    server_kill(&sv); /* and the answer may be lost: asked again under the same id, or kept */
    server_again(&sv);
    cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s:resume", run), "{}", NULL).status, 202);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    struct peer_request a, b;
    cr_assert(peer_request_at(peer, 0, &a) && peer_request_at(peer, peer_count(peer) - 1, &b));
    cr_expect_str_eq(a.key, b.key);
}

Test(outside, private_addresses_are_refused_unless_listed /* HOOK-16, HOOK-17 */) {
    static const char *const urls[] = {
        "http://127.0.0.2/x",
        "https://10.0.0.1/x",
        "https://169.254.169.254/latest",
        "https://[::1]/x",
        "https://[::ffff:10.0.0.1]/",
        "https://user:pw@example.org/",
        "ftp://127.0.0.1/x",
        "https://2130706434/",
        "https://metadata.google.internal/",
        "http://example.org:81/x",
        "https://0x7f000002/",
        "not a url",
    };
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        const char *run = create_run(&sv, "outside", fmt("\"inputs\":{\"url\":\"%s\"}", urls[i]));
        struct str snap = wait_terminal(&sv, run);
        struct str code = text_at(snap, "error.code");
        bool name = i == 9; /* refused when it does not resolve, or resolves to the internet */
        cr_expect(str_eqc(code, "egress_refused") || (name && str_eqc(code, "unreachable")),
                  "%s: " STR_FMT, urls[i], STR_ARG(snap));
    }
    cr_expect_eq(peer_count(peer), 0u);
}

struct pauser {
    const struct server *s;
    char request[512], answer[4096];
    long status;
};
static void *pause_it(void *ctx) {
    struct pauser *p = ctx;
    p->status = exchange(p->s, p->request, strlen(p->request), p->answer, sizeof p->answer);
    return NULL;
}

/* STORE-40, STORE-42: a command that reaches another host does not repeat what is under way. */
Test(outside, a_run_with_a_request_under_way_is_handed_over_after_its_answer) {
    struct server other;
    static struct pauser p;
    pthread_t thread;
    server_beside(&other, &sv, ALLOW);
    peer_hold(peer, true);
    const char *run = order();
    cr_assert(peer_wait(peer, 1));
    p.s = &other;
    snprintf(p.request, sizeof p.request,
             "POST /v1/runs/%s:pause HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
             "Content-Type: application/json\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
             run, TEST_KEY);
    cr_assert_eq(pthread_create(&thread, NULL, pause_it, &p), 0);
    peer_hold(peer, false);
    pthread_join(thread, NULL);
    cr_assert(p.status == 200 || p.status == 202 || p.status == 409, "%s", p.answer);
    if (p.status != 409) /* else it had ended before */
        (void)ask(&sv, "POST", fmt("/v1/runs/%s:resume", run), "{}", NULL);
    struct str snap = wait_terminal(&other, run);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_expect_eq(peer_count(peer), 1u);
    cr_expect_eq(server_stop(&other), 0);
}
