/*
 * test_webhooks_hosts.c: webhooks of several hosts on one file: a frozen host, wishes at another
 * one, keys that rotate; and that no sensitive value is in a delivery (HOOK-6 to HOOK-15, OBS-71,
 * STORE-30 to STORE-36, D60, D66).
 */
#define _GNU_SOURCE /* memmem */
#include "client.h"
#include "harness.h"
#include "receiver.h"

#include <stdio.h>

#define CANARY "c4n4ry-0f-a-w3bh00k"

static struct server a, b; /* a delivers: it was first */
static struct receiver *rx;
static const char *const ARGS[] = {"--egress-allow",
                                   "127.0.0.1",
                                   "--webhook-retry-ms",
                                   "40",
                                   "--webhook-timeout-ms",
                                   "400",
                                   "--claim-ttl-ms",
                                   "2000",
                                   "--heartbeat-ms",
                                   "500",
                                   NULL};
static void up(void) {
    rx = receiver_start(0);
    server_start(&a, ARGS);
}
static void down(void) {
    server_end(&a);
    receiver_stop(rx);
}
TestSuite(webhooks_hosts, .init = up, .fini = down, .timeout = 300);

#define EVENTS "\"events\":[\"run.started\",\"node.completed\",\"run.completed\"]"

static const char *hook_at(const struct server *s, const char *rest) {
    struct reply r =
        ask(s, "POST", "/v1/webhooks",
            fmt("{\"url\":\"http://127.0.0.1:%d/hook\",%s}", receiver_port(rx), rest), NULL);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    return fmt(STR_FMT, STR_ARG(text_at(r.body, "webhookId")));
}

static struct str shown(const struct server *s, const char *id) {
    return ask(s, "GET", fmt("/v1/host/wopr/webhooks/%s", id), NULL, NULL).body;
}

static const char *through(const struct server *s) {
    const char *run = create_run(s, "conformance-noop", NULL);
    wait_terminal(s, run);
    return run;
}

/* Until a run.completed of the run came; how many deliveries there are then. */
static size_t wait_completed(const char *run) {
    struct posted p;
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(5))
        for (size_t i = 0; receiver_at(rx, i, &p); i++)
            if (strcmp(p.run, run) == 0 && strcmp(p.event, "run.completed") == 0) return i;
    cr_assert_fail("%s is not delivered", run);
    return 0;
}

/* First deliveries: runs in their order, and of each run the sequences in theirs. */
static void expect_first_in_order(const char *const *runs, size_t n) {
    size_t at = 0;
    int64_t last = -1;
    struct posted p;
    for (size_t i = 0; receiver_at(rx, i, &p); i++) {
        size_t of = 0;
        while (of < n && strcmp(runs[of], p.run) != 0) of++;
        cr_assert_lt(of, n, "%s", p.run);
        if (of < at || (of == at && p.seq <= last)) continue; /* again */
        cr_assert_leq(of, at + 1, "delivery %zu: run %zu after run %zu", i, of, at);
        if (of > at) last = -1;
        at = of;
        last = p.seq;
    }
    cr_expect_eq(at, n - 1, "up to the last");
}

Test(webhooks_hosts, a_frozen_host_is_replaced_and_does_not_deliver_when_it_thaws /* STORE-31 */) {
    enum { BEFORE = 3, FROZEN = 5, AFTER = 6, ALL = BEFORE + FROZEN + AFTER };
    const char *runs[ALL];
    size_t n = 0;
    const char *id = hook_at(&a, EVENTS);
    server_beside(&b, &a, ARGS);
    for (int i = 0; i < BEFORE - 1; i++) runs[n++] = through(&b);
    (void)wait_completed(runs[n - 1]);
    receiver_act(rx, 1, ACT_SLOW); /* it freezes with a delivery under way */
    runs[n++] = through(&b);
    cr_assert(receiver_wait(rx, 3 * (BEFORE - 1) + 1));
    server_freeze(&a);
    for (int i = 0; i < FROZEN; i++) runs[n++] = through(&b);
    (void)wait_completed(runs[n - 1]);
    server_thaw(&a);
    for (int i = 0; i < AFTER; i++) runs[n++] = through(i % 2 ? &a : &b);
    (void)wait_completed(runs[n - 1]);
    expect_first_in_order(runs, n);
    size_t settled = receiver_count(rx);
    const char *last = through(&a);
    (void)wait_completed(last);
    cr_expect_eq(receiver_count(rx), settled + 3, "one of them delivers");
    for (int64_t end = now_ms() + WAIT_MS; int_at(shown(&b, id), "pending") > 0 && now_ms() < end;)
        nap_ms(20);
    struct str now = shown(&b, id);
    cr_expect_eq(int_at(now, "pending"), 0, STR_FMT, STR_ARG(now));
    cr_expect_eq(int_at(now, "deadLetters"), 0, STR_FMT, STR_ARG(now));
    cr_expect_eq(int_at(now, "dropped"), 0, STR_FMT, STR_ARG(now));
    server_stop(&b);
}

/* From the wish to the delivery, for one that was just woken. */
static int64_t wake_again_ms(const char *id) {
    size_t n = receiver_count(rx);
    int64_t begin = now_ms();
    struct reply r = ask(&b, "POST", fmt("/v1/host/wopr/webhooks/%s:retry", id), "{}", NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_assert(receiver_wait(rx, n + 1));
    return now_ms() - begin;
}

Test(webhooks_hosts, a_wish_at_another_host_is_heard_without_waiting_for_a_look /* D66 */) {
    static const char *const SLOW[] = {"--egress-allow",
                                       "127.0.0.1",
                                       "--webhook-retry-ms",
                                       "3600000", /* only a wish brings a second attempt ... */
                                       "--webhook-attempts",
                                       "100",
                                       NULL}; /* ... and no event becomes a dead letter meanwhile */
    int64_t least = INT64_MAX;
    size_t woken = 2;
    server_kill(&a);
    a.args = SLOW;
    server_again(&a);
    const char *id = hook_at(&a, "\"events\":[\"run.completed\"]");
    server_beside(&b, &a, SLOW);
    receiver_act(rx, -1, 500);
    through(&b);
    cr_assert(receiver_wait(rx, 1));
    (void)wake_again_ms(id); /* the first may find the table due anyway */
    for (int i = 0; i < 5 || (i < 20 && least >= 600); i++, woken++) {
        int64_t ms = wake_again_ms(id);
        if (ms < least) least = ms;
    }
    cr_expect_lt(least, 600, "a hearing in a tenth of a second, %lld ms", (long long)least);
    cr_expect_eq(receiver_count(rx), woken);
    server_stop(&b);
}

Test(webhooks_hosts, secrets_are_delivered_with_before_and_after_the_keys_rotate /* HOOK-5 */) {
    static const char *const ROTATE[] = {"seal", "rotate", NULL};
    struct str out, err;
    const char *ids[3] = {hook_at(&a, "\"events\":[\"run.completed\"]")};
    cr_assert_eq(program(&a, ROTATE, &out, &err), 0, STR_FMT, STR_ARG(err));
    (void)wait_completed(through(&a));
    cr_expect_eq(receiver_count(rx), 1u, "sealed with the key before");
    server_beside(&b, &a, ARGS);
    ids[1] = hook_at(&b, "\"events\":[\"run.completed\"]"); /* a has not the key of this one */
    const char *run = through(&b);
    cr_assert(receiver_wait(rx, 2));
    server_kill(&a);
    cr_assert(receiver_wait(rx, 3), "the other host has it");
    ids[2] = hook_at(&b, "\"events\":[\"run.completed\"]");
    (void)wait_completed(through(&b));
    cr_assert(receiver_wait(rx, 6));
    for (int i = 0; i < 3; i++) {
        struct str now = shown(&b, ids[i]);
        cr_expect_eq(int_at(now, "deadLetters"), 0, "%d: " STR_FMT, i, STR_ARG(now));
    }
    (void)run;
    server_stop(&b);
    server_again(&a);
}

Test(webhooks_hosts, a_sensitive_value_is_in_no_delivery /* OBS-71 SSE-17 */) {
    static const char *const GATE = "{\"resumeValue\":{\"action\":\"accept\",\"comment\":\"x\"}}";
    const char *path = WOPR_SOURCE_DIR "/tests/chaos/workflows/chaos-secret.json";
    const char *const put[] = {"workflow", "put", path, NULL};
    struct str out, err;
    struct posted p;
    size_t masked = 0;
    hook_at(&a, "\"events\":[\"run.started\",\"node.started\",\"node.completed\",\"run.completed\","
                "\"variable.changed\",\"channel.written\",\"node.suspended\",\"run.resumed\","
                "\"approval.requested\",\"approval.received\",\"node.failed\",\"run.failed\"]");
    cr_assert_eq(program(&a, put, &out, &err), 0, STR_FMT, STR_ARG(err));
    const char *run = create_run(&a, "chaos-secret", "\"inputs\":{\"token\":\"" CANARY "-12345\"}");
    (void)wait_status(&a, run, "waiting-approval");
    struct reply r = ask(&a, "POST", fmt("/v1/runs/%s/interrupts/gate", run), GATE, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    struct str end = wait_terminal(&a, run);
    cr_assert(str_eqc(text_at(end, "status"), "completed"), STR_FMT, STR_ARG(end));
    (void)wait_completed(run);
    struct json_elements log = elements_of(events_of(&a, run));
    for (size_t i = 0; receiver_at(rx, i, &p); i++) {
        cr_expect_null(memmem(p.head, sizeof p.head, CANARY, strlen(CANARY)), "%s", p.event);
        cr_expect_null(strstr(p.body, CANARY), "%s: %s", p.event, p.body);
        cr_expect(str_eq(json_get(str_c(p.body), "event"), log.v[p.seq]), "as streams show it");
        masked += strcmp(p.event, "variable.changed") == 0 || strcmp(p.event, "run.started") == 0;
    }
    cr_expect_gt(masked, 1u, "events that had it were delivered");
}
