/*
 * test_webhooks.c: webhooks of the real program to a receiver on loopback: order, signatures,
 * filters, a receiver that misbehaves, kills, two hosts, restarts, secrets (HOOK-1 to HOOK-18).
 */
#define _GNU_SOURCE /* memmem */
#include "client.h"
#include "codec/bytes.h"
#include "harness.h"
#include "receiver.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define SECRET "wh-5ecret-0123456789abcdef"

enum { RESTS_MS = 1500 }; /* at least, of --webhook-breaker-seconds */
static struct server sv;
static struct receiver *rx;
static const char *const ARGS[] = {"--egress-allow",
                                   "127.0.0.1",
                                   "--webhook-retry-ms",
                                   "40",
                                   "--webhook-timeout-ms",
                                   "400",
                                   "--webhook-breaker-seconds",
                                   "2",
                                   NULL};
static void up(void) {
    rx = receiver_start(0);
    server_start(&sv, ARGS);
}
static void down(void) {
    server_end(&sv);
    receiver_stop(rx);
}
TestSuite(webhooks, .init = up, .fini = down, .timeout = 300);

static struct reply hook_add(const char *rest) {
    const char *body = fmt("{\"url\":\"http://127.0.0.1:%d/hook\",%s}", receiver_port(rx), rest);
    return ask(&sv, "POST", "/v1/webhooks", body, NULL);
}

static const char *hook(const char *rest) {
    struct reply r = hook_add(rest);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    return fmt(STR_FMT, STR_ARG(text_at(r.body, "webhookId")));
}

static struct str shown(const char *id) {
    return ask(&sv, "GET", fmt("/v1/host/wopr/webhooks/%s", id), NULL, NULL).body;
}

static struct posted got(size_t i) {
    struct posted p = {.seq = -1};
    cr_assert(receiver_wait(rx, i + 1), "delivery %zu did not come", i);
    cr_assert(receiver_at(rx, i, &p));
    return p;
}

static const char *run_through(const char *extras) {
    const char *run = create_run(&sv, "conformance-noop", extras);
    wait_terminal(&sv, run);
    return run;
}

static void expect_signed(const struct posted *p, struct str secret) {
    char stamp[32], want[80], have[128], hex[65];
    posted_header(p, "X-openwop-Timestamp", stamp, sizeof stamp);
    struct str message = str_c(fmt("%s.%s", stamp, p->body));
    struct sha256 mac = hmac_sha256(secret, message);
    sha256_hex(&mac, hex);
    (void)snprintf(want, sizeof want, "sha256=%s", hex);
    cr_expect_str_eq(posted_header(p, "X-openwop-Signature", have, sizeof have), want);
    cr_expect_str_eq(posted_header(p, "X-openwop-Signature-Algorithm", have, sizeof have), "v1");
    cr_expect_str_eq(posted_header(p, "Content-Type", have, sizeof have), "application/json");
    cr_expect_str_eq(posted_header(p, "X-openwop-Event-Type", have, sizeof have), p->event);
    posted_header(p, "User-Agent", have, sizeof have);
    cr_expect(strncmp(have, "openwop-webhook-dispatcher/", 27) == 0, "%s", have);
}

Test(webhooks, a_subscription_is_delivered_in_order /* HOOK-7 HOOK-8 HOOK-9 HOOK-10 HOOK-11 */) {
    struct reply r = hook_add("\"events\":[\"run.started\",\"node.completed\",\"run.completed\"]");
    cr_assert_eq(r.status, 201);
    struct str secret = text_at(r.body, "secret");
    cr_expect_eq(secret.n, 64u);
    const char *run = run_through(NULL);
    static const char *const WANT[] = {"run.started", "node.completed", "run.completed"};
    struct json_elements log = elements_of(events_of(&sv, run));
    int64_t last = -1;
    for (size_t i = 0; i < 3; i++) {
        struct posted p = got(i);
        cr_expect_str_eq(p.event, WANT[i]);
        cr_expect_str_eq(p.run, run);
        cr_expect_gt(p.seq, last);
        last = p.seq;
        expect_signed(&p, secret);
        cr_expect(str_eq(json_get(str_c(p.body), "event"), log.v[p.seq]), "the document verbatim");
    }
}

Test(webhooks, tags_and_types_are_filters /* HOOK-7 */) {
    hook("\"events\":[\"run.completed\"],\"tags\":[\"blue\"],\"secret\":\"" SECRET "\"");
    run_through("\"tags\":[\"red\"]");
    const char *blue = run_through("\"tags\":[\"red\",\"blue\"]");
    struct posted p = got(0);
    cr_expect_str_eq(p.run, blue);
    cr_expect_str_eq(p.event, "run.completed");
    expect_signed(&p, STR(SECRET));
    cr_expect_eq(receiver_count(rx), 1u);
}

Test(webhooks, a_receiver_that_misbehaves_gets_it_again /* HOOK-11 D61 D63 */) {
    static const int ACTS[] = {500, 410, 302, ACT_RESET, ACT_SLOW, ACT_SHORT};
    const char *id = hook("\"events\":[\"run.completed\"]");
    size_t n = 0;
    for (size_t i = 0; i < sizeof ACTS / sizeof *ACTS; i++) {
        receiver_act(rx, 2, ACTS[i]);
        run_through(NULL);
        struct posted first = got(n), second = got(n + 1), third = got(n + 2);
        cr_expect_str_eq(first.body, third.body, "act %d", ACTS[i]);
        cr_expect_geq(third.at_ms - second.at_ms, 80, "act %d: the second gap is the longer one",
                      ACTS[i]);
        cr_expect_str_eq(third.path, "/hook", "no redirect is followed");
        n += 3;
    }
    cr_expect_eq(receiver_count(rx), n);
    struct str now = shown(id);
    cr_expect_eq(int_at(now, "deadLetters"), 0, STR_FMT, STR_ARG(now));
}

Test(webhooks, a_long_answer_is_not_read_and_counts_by_its_status /* HOOK-11 */) {
    hook("\"events\":[\"run.completed\"]");
    receiver_act(rx, 1, ACT_ENDLESS);
    run_through(NULL);
    const char *next = run_through(NULL);
    struct posted p = got(1);
    cr_expect_str_eq(p.run, next, "the first one was taken");
}

static struct str out, err;

#define WEBHOOKS(...)                                                                              \
    program_on(&sv, "webhooks", (const char *const[]){__VA_ARGS__, NULL}, &out, &err)

Test(webhooks, what_is_given_up_is_a_dead_letter_and_comes_back /* D66 */) {
    const char *id = hook("\"events\":[\"run.completed\"]");
    const char *path = fmt("/v1/host/wopr/webhooks/%s", id);
    receiver_act(rx, 5, 500);
    const char *run = run_through(NULL);
    (void)got(4);
    struct str dead = STR_NONE;
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(20)) {
        dead = ask(&sv, "GET", fmt("%s/dead-letters", path), NULL, NULL).body;
        if (elements_of(json_get(dead, "deliveries")).n == 1) break;
    }
    struct str one = elements_of(json_get(dead, "deliveries")).v[0];
    cr_expect(str_eqc(text_at(one, "runId"), run));
    cr_expect_eq(int_at(one, "attempts"), 5);
    cr_expect_eq(int_at(one, "lastStatus"), 500);
    cr_expect_null(strstr(dead.p, "secret"));
    cr_assert_eq(WEBHOOKS("dead-letters", id), 0, STR_FMT, STR_ARG(err));
    cr_expect(strstr(out.p, run) && strstr(out.p, "run.completed"), STR_FMT, STR_ARG(out));
    struct reply r = ask(&sv, "POST", fmt("%s:retry", path), "{}", NULL);
    cr_expect_eq(int_at(r.body, "queued"), 1);
    struct posted p = got(5);
    cr_expect_str_eq(p.run, run);
}

Test(webhooks, unregistering_ends_a_retry /* HOOK-6 */) {
    const char *id = hook("\"events\":[\"run.started\",\"run.completed\"]");
    receiver_act(rx, -1, 500);
    run_through(NULL);
    (void)got(1);
    cr_assert_eq(ask(&sv, "DELETE", fmt("/v1/webhooks/%s", id), NULL, NULL).status, 204);
    nap_ms(100); /* the attempt that was under way */
    size_t n = receiver_count(rx);
    run_through(NULL);
    nap_ms(800); /* longer than all of its waits */
    cr_expect_eq(receiver_count(rx), n);
    cr_expect_eq(
        ask(&sv, "GET", fmt("/v1/host/wopr/webhooks/%s/dead-letters", id), NULL, NULL).status, 404);
}

Test(webhooks, operators_have_a_command /* HOOK-1 HOOK-6 D66 */) {
    const char *url = fmt("http://127.0.0.1:%d/hook", receiver_port(rx));
    cr_assert_eq(WEBHOOKS("add", url, "run.started", "run.completed", "--tag", "red"), 0, STR_FMT,
                 STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "secret:  "), STR_FMT, STR_ARG(out));
    cr_expect_not_null(strstr(err.p, "not shown again"), STR_FMT, STR_ARG(err));
    const char *id = fmt("%.*s", (int)strcspn(out.p + 9, "\n"), out.p + 9);
    cr_assert_eq(WEBHOOKS("show", id), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "\"tags\":[\"red\"]"), STR_FMT, STR_ARG(out));
    cr_expect_null(strstr(out.p, "\"secret\""));
    const char *other = hook("\"events\":[\"run.failed\"]");
    cr_assert_eq(WEBHOOKS("list"), 0, STR_FMT, STR_ARG(err));
    cr_expect(strstr(out.p, id) && strstr(out.p, other) && strstr(out.p, "DELIVERED"), STR_FMT,
              STR_ARG(out));
    cr_assert_eq(WEBHOOKS("list", "--limit", "1", "--json"), 0, STR_FMT, STR_ARG(err));
    cr_expect(str_eqc(text_at(str_n(out.p, out.n - 1), "webhookId"), id), STR_FMT, STR_ARG(out));
    cr_assert_eq(WEBHOOKS("dead-letters", id), 0, STR_FMT, STR_ARG(err));
    cr_assert_eq(WEBHOOKS("retry", id), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "0 to deliver again"), STR_FMT, STR_ARG(out));
    cr_assert_eq(WEBHOOKS("remove", id), 0, STR_FMT, STR_ARG(err));
    cr_expect_eq(WEBHOOKS("remove", id), 1);
    cr_expect_not_null(strstr(err.p, "not_found"), STR_FMT, STR_ARG(err));
    cr_expect_eq(WEBHOOKS("add", url, "run.complted"), 1);
    cr_expect_not_null(strstr(err.p, "events"), "names the field: " STR_FMT, STR_ARG(err));
    cr_expect_eq(WEBHOOKS("add", url), 2);
    cr_expect_eq(WEBHOOKS("lst"), 2);
    cr_expect_not_null(strstr(err.p, "did you mean list?"), STR_FMT, STR_ARG(err));
}

static bool wait_state(const char *id, const char *state) {
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(20))
        if (str_eqc(text_at(shown(id), "state"), state)) return true;
    return false;
}

Test(webhooks, an_open_breaker_survives_a_restart /* HOOK-15 */) {
    const char *id = hook("\"events\":[\"run.completed\"]");
    receiver_act(rx, -1, 500);
    for (int i = 0; i < 5; i++) run_through(NULL);
    cr_assert(wait_state(id, "open"));
    size_t n = receiver_count(rx);
    cr_expect_eq(n, 20u, "four events, five attempts each");
    struct posted fourth = got(n - 1);
    server_kill(&sv);
    server_again(&sv);
    const char *state = arena_cstr(test_arena(), text_at(shown(id), "state"));
    if (now_ms() - fourth.at_ms < RESTS_MS) cr_expect_str_eq(state, "open");
    else cr_expect_str_neq(state, "closed", "a restart that took as long as its rest");
    receiver_act(rx, 0, 0);
    cr_expect_geq(got(n).at_ms - fourth.at_ms, RESTS_MS, "it rested");
    cr_assert(wait_state(id, "closed"));
}

/* Every event once at least, and for each run in order when repetitions are left out. */
static void expect_all(const char *const *runs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct json_elements log = elements_of(events_of(&sv, runs[i]));
        for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(20)) {
            int64_t next = 0;
            struct posted p;
            for (size_t k = 0; receiver_at(rx, k, &p); k++) {
                if (strcmp(p.run, runs[i]) != 0 || p.seq < next) continue;
                if (p.seq == next) next++;
                else if (p.seq > next && strcmp(p.event, "run.started") != 0) break;
            }
            if (next == (int64_t)log.n) break;
            cr_assert_lt(now_ms() + 100, end, "%s: %lld of %zu events", runs[i], (long long)next,
                         log.n);
        }
    }
}

#define ALL_EVENTS                                                                                 \
    "\"events\":[\"run.started\",\"run.completed\",\"run.failed\",\"run.resumed\","                \
    "\"node.started\",\"node.completed\",\"variable.changed\",\"lease.lost\",\"lease.acquired\","  \
    "\"workflow.restored\",\"node.retried\",\"log.appended\"]"

Test(webhooks, deliveries_survive_kills /* D31: kill -9 between append and delivery */) {
    enum { KILLS = 5, RUNS = 6 };
    uint64_t seed = client_number("WOPR_SEED", 20261122), rng = seed;
    const char *runs[KILLS * RUNS];
    size_t n = 0;
    printf("seed %llu\n", (unsigned long long)seed);
    hook(ALL_EVENTS);
    for (int i = 0; i < KILLS; i++) {
        for (int k = 0; k < RUNS; k++) runs[n++] = create_run(&sv, "conformance-noop", NULL);
        nap_ms((int)client_chance(&rng, 30));
        server_kill(&sv);
        server_again(&sv);
    }
    for (size_t i = 0; i < n; i++) wait_terminal(&sv, runs[i]);
    expect_all(runs, n);
}

Test(webhooks, the_second_host_delivers_when_the_first_dies /* STORE-30 */) {
    static struct server other;
    hook("\"events\":[\"run.completed\"]");
    server_beside(&other, &sv, ARGS);
    struct server *both[] = {&sv, &other};
    for (int i = 0; i < 10; i++)
        wait_terminal(both[i % 2], create_run(both[i % 2], "conformance-noop", NULL));
    cr_assert(receiver_wait(rx, 10));
    nap_ms(300);
    cr_expect_eq(receiver_count(rx), 10u, "one of them delivers");
    server_kill(&sv);
    const char *run = create_run(&other, "conformance-noop", NULL);
    struct posted p = {.seq = -1};
    for (size_t i = 10; strcmp(p.run, run) != 0; i++) p = got(i);
    server_again(&sv);
    server_stop(&other);
}

static bool file_holds(const char *path, const char *text) {
    static char all[32 << 20];
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    size_t n = fread(all, 1, sizeof all, f);
    fclose(f);
    return memmem(all, n, text, strlen(text)) != NULL;
}

Test(webhooks, a_secret_is_nowhere /* HOOK-5 HOOK-18 */) {
    static const char *const KEY[] = {"Idempotency-Key: once", NULL};
    const char *body = fmt("{\"url\":\"http://127.0.0.1:%d/hook\",\"events\":[\"run.completed\"],"
                           "\"secret\":\"" SECRET "\"}",
                           receiver_port(rx));
    struct reply r = ask(&sv, "POST", "/v1/webhooks", body, KEY);
    cr_assert_eq(r.status, 201);
    struct reply again = ask(&sv, "POST", "/v1/webhooks", body, KEY);
    cr_expect(str_eq(r.body, again.body), "the same request has the same answer");
    struct str made = text_at(ask(&sv, "POST", "/v1/webhooks",
                                  fmt("{\"url\":\"http://127.0.0.1:%d/hook\","
                                      "\"events\":[\"run.completed\"]}",
                                      receiver_port(rx)),
                                  NULL)
                                  .body,
                              "secret");
    receiver_act(rx, 3, 500);
    run_through(NULL);
    (void)got(3);
    const char *id = fmt(STR_FMT, STR_ARG(text_at(r.body, "webhookId")));
    struct str said[] = {shown(id), ask(&sv, "GET", "/v1/host/wopr/webhooks", NULL, NULL).body,
                         STR_NONE};
    DIR *d = opendir(sv.dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        const char *path = fmt("%s/%s", sv.dir, e->d_name);
        cr_expect_not(file_holds(path, SECRET), "%s", path);
        cr_expect_not(file_holds(path, arena_cstr(test_arena(), made)), "%s", path);
    }
    if (d) closedir(d);
    said[2] = server_log(&sv);
    for (size_t i = 0; i < 3; i++) {
        cr_expect_null(memmem(said[i].p, said[i].n, SECRET, strlen(SECRET)));
        cr_expect_null(memmem(said[i].p, said[i].n, made.p, made.n));
    }
}

Test(webhooks, addresses_that_are_not_public_are_refused_at_registration /* HOOK-16 D64 */) {
    static const char *const BAD[] = {"http://a.example/x",  "https://localhost/x",
                                      "https://metadata/x",  "https://10.1.2.3/x",
                                      "https://[::1]/x",     "https://169.254.169.254/x",
                                      "https://[fe80::1]/x", "https://user@a.example/x",
                                      "not-a-valid-url",     "ftp://a.example/x"};
    static struct server strict;
    server_start(&strict, NULL);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct reply r = ask(&strict, "POST", "/v1/webhooks",
                             fmt("{\"url\":\"%s\",\"events\":[\"run.completed\"]}", BAD[i]), NULL);
        expect_error(&r, 400, "validation_error");
    }
    struct reply r = ask(&strict, "POST", "/v1/webhooks",
                         "{\"url\":\"https://subscriber.invalid/hook\","
                         "\"events\":[\"run.completed\"]}",
                         NULL);
    cr_expect_eq(r.status, 201, "a name needs no address yet");
    server_end(&strict);
}
