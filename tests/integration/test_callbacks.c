/*
 * test_callbacks.c: what people are asked is sent to the callback URL of the run: what it says, to
 * whom it gives a token, retries with a bound, kills, two hosts, addresses (RUN-1, RUN-12, INT-13,
 * D57, HOOK-16).
 */
#include "client.h"
#include "interrupt_kit.h"
#include "receiver.h"

#include <stdio.h>

static struct server sv;
static struct receiver *rx;
static const char *const ARGS[] = {"--egress-allow",
                                   "127.0.0.1",
                                   "--webhook-retry-ms",
                                   "40",
                                   "--webhook-timeout-ms",
                                   "400",
                                   "--callback-attempts",
                                   "4",
                                   NULL};
static void up(void) {
    rx = receiver_start(0);
    server_start(&sv, ARGS);
}
static void down(void) {
    server_end(&sv);
    receiver_stop(rx);
}
TestSuite(callbacks, .init = up, .fini = down, .timeout = 300);

static const char *url_extra(void) {
    return fmt("\"callbackUrl\":\"http://127.0.0.1:%d/asked\"", receiver_port(rx));
}
static const char *asks(const struct server *s, const char *workflow) {
    return create_run(s, workflow, url_extra());
}
static struct posted got(size_t i) {
    struct posted p = {.seq = -1};
    cr_assert(receiver_wait(rx, i + 1), "callback %zu did not come", i);
    cr_assert(receiver_at(rx, i, &p));
    return p;
}
static struct str callbacks_of(const char *run) {
    struct reply r = ask(&sv, "GET", fmt("/v1/host/wopr/runs/%s/callbacks", run), NULL, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    return json_get(r.body, "callbacks");
}
/* The only callback of the run, when it is in this state. */
static struct str wait_state(const char *run, const char *state) {
    struct str one = STR_NONE;
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(20)) {
        struct json_elements l = elements_of(callbacks_of(run));
        cr_assert_leq(l.n, 1u);
        one = l.n == 1 ? l.v[0] : STR_NONE;
        if (l.n == 1 && str_eqc(text_at(one, "state"), state)) return one;
    }
    cr_assert_fail("not %s: " STR_FMT, state, STR_ARG(one));
    return one;
}

Test(callbacks, a_question_comes_with_its_event_and_a_token_that_answers_it /* RUN-1 INT-13 */) {
    const char *run = asks(&sv, "conformance-approval");
    struct posted p = got(0);
    char have[128];
    struct str body = str_c(p.body), snap = wait_status(&sv, run, "waiting-approval");
    cr_expect_str_eq(p.path, "/asked");
    cr_expect_str_eq(p.run, run);
    cr_expect_str_eq(p.event, "interrupt.requested");
    cr_expect(str_eq(json_get(body, "event"), elements_of(events_of(&sv, run)).v[p.seq]),
              "the document verbatim");
    cr_expect(
        str_eq(text_at(body, "interrupt.interruptId"), text_at(snap, "interrupt.interruptId")));
    cr_expect(str_eq(text_at(body, "interrupt.nodeId"), text_at(snap, "interrupt.nodeId")));
    cr_expect_str_eq(posted_header(&p, "Content-Type", have, sizeof have), "application/json");
    cr_expect_str_eq(posted_header(&p, "X-openwop-Event-Type", have, sizeof have),
                     "interrupt.requested");
    posted_header(&p, "Idempotency-Key", have, sizeof have);
    cr_expect(str_eqc(text_at(body, "interrupt.interruptId"), have), "%s", have);
    struct str token = text_at(body, "interrupt.interruptToken");
    struct str url = text_at(body, "interrupt.callbackUrl");
    cr_expect(str_eqc(url, fmt("%s/v1/interrupts/" STR_FMT, sv.base, STR_ARG(token))), STR_FMT,
              STR_ARG(url));
    struct str one = wait_state(run, "sent");
    cr_expect_eq(int_at(one, "lastStatus"), 204);
    cr_expect_eq(int_at(one, "attempts"), 1);
    cr_expect_eq(by_token(&sv, "POST", token, ACCEPT).status, 200);
    wait_terminal(&sv, run);
    cr_expect_eq(receiver_count(rx), 1u);
}

Test(callbacks, who_may_not_answer_gets_the_question_without_a_token /* RUN-12 INT-13 */) {
    const char *const line[] = {key_with(&sv, "runs:create,runs:read", "default"), NULL};
    struct reply r = ask(&sv, "POST", "/v1/runs",
                         fmt("{\"workflowId\":\"conformance-approval\",%s}", url_extra()), line);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    struct posted p = got(0);
    struct str asked = json_get(str_c(p.body), "interrupt");
    cr_expect_gt(text_at(asked, "interruptId").n, 0u);
    cr_expect_null(json_get(asked, "interruptToken").p, STR_FMT, STR_ARG(asked));
    cr_expect_null(json_get(asked, "callbackUrl").p);
}

Test(callbacks, a_receiver_that_misbehaves_gets_it_again_and_is_given_up /* D57 D63 */) {
    static const int ACTS[] = {500, 302, ACT_RESET, ACT_SLOW, ACT_SHORT};
    size_t n = 0;
    for (size_t i = 0; i < sizeof ACTS / sizeof *ACTS; i++) {
        receiver_act(rx, 2, ACTS[i]);
        const char *run = asks(&sv, "conformance-approval");
        struct posted first = got(n), third = got(n + 2);
        cr_expect_str_eq(first.run, third.run, "act %d", ACTS[i]);
        cr_expect_str_eq(third.path, "/asked", "no redirect is followed");
        cr_expect_eq(int_at(wait_state(run, "sent"), "attempts"), 3, "act %d", ACTS[i]);
        n += 3;
    }
    receiver_act(rx, -1, 500);
    const char *run = asks(&sv, "conformance-approval");
    struct str one = wait_state(run, "given-up");
    cr_expect_eq(int_at(one, "attempts"), 4);
    cr_expect_eq(int_at(one, "lastStatus"), 500);
    cr_expect_null(json_get(one, "nextAttemptAt").p);
    cr_expect_eq(receiver_count(rx), n + 4);
    cr_expect(str_eqc(text_at(snapshot_of(&sv, run), "status"), "waiting-approval"),
              "the question is still open");
}

Test(callbacks, a_long_answer_is_not_read_and_counts_by_its_status /* HOOK-11 */) {
    receiver_act(rx, 1, ACT_ENDLESS);
    cr_expect_eq(int_at(wait_state(asks(&sv, "conformance-approval"), "sent"), "attempts"), 1);
}

Test(callbacks, an_answered_question_is_not_sent_again /* RUN-1 */) {
    receiver_act(rx, -1, 500);
    const char *run = asks(&sv, "conformance-approval");
    (void)got(0);
    wait_status(&sv, run, "waiting-approval");
    cr_expect_eq(resolve(&sv, run, "gate", ACCEPT).status, 200);
    struct str one = wait_state(run, "answered");
    size_t n = receiver_count(rx);
    cr_expect_lt(int_at(one, "attempts"), 4);
    nap_ms(500);
    cr_expect_eq(receiver_count(rx), n);
}

Test(callbacks, every_question_survives_kills /* D31: kill -9 between commit and delivery */) {
    enum { KILLS = 4, RUNS = 5 };
    uint64_t seed = client_number("WOPR_SEED", 20261124), rng = seed;
    const char *runs[KILLS * RUNS];
    size_t n = 0;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < KILLS; i++) {
        for (int k = 0; k < RUNS; k++) runs[n++] = asks(&sv, "conformance-approval");
        nap_ms((int)client_chance(&rng, 30));
        server_kill(&sv);
        server_again(&sv);
    }
    for (size_t i = 0; i < n; i++) {
        bool came = false;
        struct posted p;
        wait_status(&sv, runs[i], "waiting-approval");
        cr_expect_eq(int_at(wait_state(runs[i], "sent"), "lastStatus"), 204);
        for (size_t k = 0; !came && receiver_at(rx, k, &p); k++) came = strcmp(p.run, runs[i]) == 0;
        cr_expect(came, "%s", runs[i]);
    }
}

Test(callbacks, the_second_host_sends_when_the_first_dies /* STORE-30 */) {
    static struct server other;
    server_beside(&other, &sv, ARGS);
    receiver_act(rx, 1, 500);
    const char *run = asks(&sv, "conformance-approval");
    (void)got(0);
    server_kill(&sv);
    struct posted p = got(1);
    cr_expect_str_eq(p.run, run);
    const char *next = asks(&other, "conformance-approval");
    for (size_t i = 2; strcmp(p.run, next) != 0; i++) p = got(i);
    server_again(&sv);
    server_stop(&other);
}

Test(callbacks, a_replay_and_a_branch_call_nobody /* D57 FORK-13 */) {
    const char *run = asks(&sv, "conformance-approval");
    (void)got(0);
    wait_status(&sv, run, "waiting-approval");
    cr_expect_eq(resolve(&sv, run, "gate", ACCEPT).status, 200);
    wait_terminal(&sv, run);
    static const char *const MODES[] = {"replay", "branch"};
    for (size_t i = 0; i < 2; i++) {
        struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s:fork", run),
                             fmt("{\"fromSeq\":0,\"mode\":\"%s\"}", MODES[i]), NULL);
        cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
        const char *fork = fmt(STR_FMT, STR_ARG(text_at(r.body, "runId")));
        if (i == 0) wait_terminal(&sv, fork);
        else wait_status(&sv, fork, "waiting-approval");
        cr_expect_eq(elements_of(callbacks_of(fork)).n, 0u, "%s", MODES[i]);
    }
    nap_ms(300);
    cr_expect_eq(receiver_count(rx), 1u);
}

Test(callbacks, what_a_child_asks_is_sent_for_its_parent /* RUN-1 INT-51 */) {
    const char *run = asks(&sv, "conformance-interrupt-parent-child-cancel");
    struct posted p = got(0);
    struct str token = text_at(str_c(p.body), "interrupt.interruptToken");
    cr_expect_str_neq(p.run, run, "the child's own id");
    cr_expect_eq(by_token(&sv, "POST", token, ACCEPT).status, 200);
    wait_terminal(&sv, run);
    wait_state(p.run, "sent");
    cr_expect_eq(elements_of(callbacks_of(run)).n, 0u, "the parent itself asked nothing");
}

Test(callbacks, one_dead_receiver_delays_no_other /* HOOK-11: fairness within a tenant */) {
    struct receiver *dead = receiver_start(0);
    receiver_act(dead, -1, ACT_SLOW);
    for (int i = 0; i < 12; i++)
        create_run(&sv, "conformance-approval",
                   fmt("\"callbackUrl\":\"http://127.0.0.1:%d/asked\"", receiver_port(dead)));
    const char *run = asks(&sv, "conformance-approval");
    struct posted p = got(0);
    cr_expect_str_eq(p.run, run);
    receiver_stop(dead);
}

Test(callbacks, addresses_are_judged_when_the_run_is_asked_for /* HOOK-16 D64 */) {
    static const char *const BAD[] = {"http://a.example/x",        "https://localhost/x",
                                      "https://10.1.2.3/x",        "https://[::1]/x",
                                      "https://169.254.169.254/x", "https://user@a.example/x",
                                      "https://a.example:8443/x",  "https://a.example:0/x"};
    static struct server strict, mute;
    static const char *const OFF[] = {"--egress=false", NULL};
    server_start(&strict, NULL);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct reply r =
            ask(&strict, "POST", "/v1/runs",
                fmt("{\"workflowId\":\"conformance-noop\",\"callbackUrl\":\"%s\"}", BAD[i]), NULL);
        expect_error(&r, 400, "validation_error");
        cr_expect_not_null(strstr(r.body.p, "\"path\":\"callbackUrl\""), "%s: " STR_FMT, BAD[i],
                           STR_ARG(r.body));
    }
    create_run(&strict, "conformance-noop", "\"callbackUrl\":\"https://callback.invalid/x\"");
    server_end(&strict);
    server_start(&mute, OFF);
    struct reply r =
        ask(&mute, "POST", "/v1/runs",
            "{\"workflowId\":\"conformance-noop\",\"callbackUrl\":\"https://a.example/x\"}", NULL);
    expect_error(&r, 400, "validation_error");
    struct str told = ask(&mute, "GET", "/.well-known/openwop", NULL, NULL).body;
    cr_expect(str_eqc(at(told, "extensions.interrupts.callbackDelivery"), "false"));
    told = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL).body;
    cr_expect(str_eqc(at(told, "extensions.interrupts.callbackDelivery"), "true"));
    server_end(&mute);
}
