/*
 * test_idempotency.c: layer 1.  Public scenarios: idempotency, idempotencyRetry, highConcurrency.
 */
#include "harness.h"

#include <stdio.h>

#include <pthread.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(idempotency, .init = up, .fini = down, .timeout = 300);

static struct reply keyed(const char *key, const char *method, const char *path, const char *body) {
    const char *const h[] = {fmt("Idempotency-Key: %s", key), NULL};
    return ask(&sv, method, path, body, h);
}
static bool is_replay(const struct reply *r) {
    return str_eqc(header(r, "openwop-Idempotent-Replay"), "true");
}

Test(idempotency, same_key_same_body_is_answered_once /* IDEM-4, IDEM-5, IDEM-10 */) {
    const char *body = "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"a\"}}";
    struct reply first = keyed("openwop-conformance-1", "POST", "/v1/runs", body);
    cr_assert_eq(first.status, 201);
    cr_expect(str_eqc(header(&first, "openwop-Idempotent-Replay"), "false"));
    for (int i = 0; i < 5; i++) {
        struct reply again = keyed("openwop-conformance-1", "POST", "/v1/runs", body);
        cr_expect_eq(again.status, 201);
        cr_expect(is_replay(&again));
        cr_expect(str_eq(again.body, first.body));
    }
    struct reply same = keyed(
        "openwop-conformance-1", "POST", "/v1/runs",
        " { \"inputs\": {\"nonce\":\"\\u0061\"}, \"workflowId\":\"conformance-idempotent\" }");
    cr_expect_eq(same.status, 201, "white space, order and escapes do not matter");
    cr_expect(is_replay(&same));
    struct reply other =
        keyed("openwop-conformance-1", "POST", "/v1/runs",
              "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"b\"}}");
    expect_error(&other, 409, "idempotency_key_conflict");
    struct reply r = ask(&sv, "POST", "/v1/runs", body, NULL);
    cr_expect_null(header(&r, "openwop-Idempotent-Replay").p, "absent without a key");
}

Test(idempotency, refusals_are_not_cached_but_conflicts_are /* IDEM-3, IDEM-8, RUN-28 */) {
    struct reply r = keyed("k-400", "POST", "/v1/runs", "{\"workflowId\":\"no-such-workflow\"}");
    expect_error(&r, 400, "validation_error");
    r = keyed("k-400", "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}");
    cr_expect_eq(r.status, 201, "a 400 releases the key: " STR_FMT, STR_ARG(r.body));
    r = keyed("bad key with blanks", "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}");
    expect_error(&r, 400, "validation_error");
    char big[300];
    memset(big, 'k', 256);
    big[256] = '\0';
    r = keyed(big, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}");
    expect_error(&r, 400, "validation_error");
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":20000}");
    wait_status(&sv, run, "running");
    const char *path = fmt("/v1/runs/%s:pause", run);
    r = keyed("k-pause", "POST", path, "{}");
    cr_assert_eq(r.status, 202);
    struct reply again = keyed("k-pause", "POST", path, "{}");
    cr_expect_eq(again.status, 202);
    cr_expect(is_replay(&again));
    cr_expect(str_eq(again.body, r.body));
    r = keyed("k-pause-2", "POST", path, "{}");
    expect_error(&r, 409, "conflict");
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s:resume", run), "{}", NULL).status, 202);
    again = keyed("k-pause-2", "POST", path, "{}");
    cr_expect_eq(again.status, 409, "the stored answer, although a pause would work now");
    cr_expect(is_replay(&again));
    r = keyed("k-pause", "POST", fmt("/v1/runs/%s/cancel", run), "{}");
    cr_expect_eq(r.status, 200, "the same key on another endpoint is another key (IDEM-2)");
    cr_expect_not(is_replay(&r));
}

Test(idempotency, the_answer_survives_a_crash /* IDEM-12, production-profile Durability */) {
    const char *body =
        "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"crash\"}}";
    struct reply first = keyed("k-crash", "POST", "/v1/runs", body);
    cr_assert_eq(first.status, 201);
    server_kill(&sv);
    server_again(&sv);
    struct reply again = keyed("k-crash", "POST", "/v1/runs", body);
    cr_expect_eq(again.status, 201);
    cr_expect(is_replay(&again));
    cr_expect(str_eq(text_at(again.body, "runId"), text_at(first.body, "runId")));
}

/* The one host is killed, the other one is there, and the first comes back: one run, one answer. */
Test(idempotency, the_answer_is_the_same_at_another_host /* IDEM-12, IDEM-13 */) {
    const char *body = "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"h\"}}";
    const char *other = "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"o\"}}";
    const char *const h[] = {"Idempotency-Key: k-hosts", NULL};
    struct server b;
    struct reply first = keyed("k-hosts", "POST", "/v1/runs", body);
    cr_assert_eq(first.status, 201, STR_FMT, STR_ARG(first.body));
    server_beside(&b, &sv, NULL);
    for (int round = 0; round < 3; round++) {
        struct reply again = ask(&b, "POST", "/v1/runs", body, h);
        cr_expect_eq(again.status, 201, STR_FMT, STR_ARG(again.body));
        cr_expect(is_replay(&again));
        cr_expect(str_eq(again.body, first.body));
        again = ask(&b, "POST", "/v1/runs", other, h);
        expect_error(&again, 409, "idempotency_key_conflict");
        if (round == 0) server_kill(&sv);
        if (round == 1) {
            server_again(&sv);
            again = keyed("k-hosts", "POST", "/v1/runs", body);
            cr_expect(is_replay(&again) && str_eq(again.body, first.body), STR_FMT,
                      STR_ARG(again.body));
        }
    }
    cr_assert_eq(server_stop(&b), 0);
    struct reply list =
        ask(&sv, "GET", "/v1/runs?workflowId=conformance-idempotent&limit=100", NULL, NULL);
    struct json_elements l;
    cr_assert_eq(json_elements(at(list.body, "runs"), test_arena(), &l, NULL), 0);
    cr_expect_eq(l.n, 1u, "%zu runs exist", l.n);
}

struct racer {
    pthread_t thread;
    const struct server *host;
    char key[64], body[128], run_id[160];
    long status;
    bool in_flight;
};

static void *
race(void *ctx) { /* the test arena is not for threads: curl's own buffers and a raw socket only */
    struct racer *r = ctx;
    char request[1024], answer[8192];
    int n = snprintf(request, sizeof request,
                     "POST /v1/runs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: "
                     "Bearer %s\r\nIdempotency-Key: %s\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     sv.key, r->key, strlen(r->body), r->body);
    r->status = exchange(r->host ? r->host : &sv, request, (size_t)n, answer, sizeof answer);
    const char *id = strstr(answer, "\"runId\":\"");
    if (id != NULL) sscanf(id + 9, "%150[^\"]", r->run_id);
    r->in_flight = strstr(answer, "idempotency_in_flight") != NULL;
    return NULL;
}

static void run_race(struct racer *v, size_t n) {
    for (size_t i = 0; i < n; i++) cr_assert_eq(pthread_create(&v[i].thread, NULL, race, &v[i]), 0);
    for (size_t i = 0; i < n; i++) pthread_join(v[i].thread, NULL);
}

Test(idempotency, parallel_equal_keys_make_one_run /* IDEM-11, PROF-18 */) {
    enum { N = 10, ROUNDS = 10 };
    for (int round = 0; round < ROUNDS; round++) {
        struct racer v[N] = {0};
        const char *id = NULL;
        for (int i = 0; i < N; i++) {
            snprintf(v[i].key, sizeof v[i].key, "parallel-%d", round);
            snprintf(v[i].body, sizeof v[i].body,
                     "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"p\"}}");
        }
        run_race(v, N);
        for (int i = 0; i < N; i++) {
            cr_expect(v[i].status == 201 || (v[i].status == 409 && v[i].in_flight), "%ld",
                      v[i].status);
            if (v[i].status != 201) continue;
            if (id == NULL) id = v[i].run_id;
            cr_expect_str_eq(v[i].run_id, id);
        }
        cr_expect_not_null(id);
    }
    struct reply list =
        ask(&sv, "GET", "/v1/runs?workflowId=conformance-idempotent&limit=100", NULL, NULL);
    cr_assert_eq(list.status, 200, STR_FMT, STR_ARG(list.body));
    struct json_elements l;
    cr_assert_eq(json_elements(at(list.body, "runs"), test_arena(), &l, NULL), 0);
    cr_expect_eq(l.n, (size_t)ROUNDS, "%zu runs exist", l.n);
}

Test(idempotency, parallel_equal_keys_at_two_hosts_make_one_run /* IDEM-11, IDEM-13 */) {
    enum { N = 8, ROUNDS = 8 };
    struct server b;
    server_beside(&b, &sv, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        struct racer v[N] = {0};
        const char *id = NULL;
        for (int i = 0; i < N; i++) {
            v[i].host = i % 2 ? &b : &sv;
            snprintf(v[i].key, sizeof v[i].key, "hosts-%d", round);
            snprintf(v[i].body, sizeof v[i].body,
                     "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"p\"}}");
        }
        run_race(v, N);
        for (int i = 0; i < N; i++) {
            cr_expect(v[i].status == 201 || (v[i].status == 409 && v[i].in_flight), "%ld",
                      v[i].status);
            if (v[i].status != 201) continue;
            if (id == NULL) id = v[i].run_id;
            cr_expect_str_eq(v[i].run_id, id);
        }
        cr_expect_not_null(id);
    }
    cr_assert_eq(server_stop(&b), 0);
    struct reply list =
        ask(&sv, "GET", "/v1/runs?workflowId=conformance-idempotent&limit=100", NULL, NULL);
    struct json_elements l;
    cr_assert_eq(json_elements(at(list.body, "runs"), test_arena(), &l, NULL), 0);
    cr_expect_eq(l.n, (size_t)ROUNDS, "%zu runs exist", l.n);
}

Test(idempotency, parallel_distinct_keys_make_distinct_runs /* PROF-18 */) {
    enum { N = 10 };
    struct racer v[N] = {0};
    for (int i = 0; i < N; i++) {
        snprintf(v[i].key, sizeof v[i].key, "distinct-%d", i);
        snprintf(v[i].body, sizeof v[i].body,
                 "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"%d\"}}", i);
    }
    run_race(v, N);
    for (int i = 0; i < N; i++) {
        cr_expect_eq(v[i].status, 201);
        for (int j = 0; j < i; j++) cr_expect_str_neq(v[i].run_id, v[j].run_id);
    }
}
