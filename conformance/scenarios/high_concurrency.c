/* high_concurrency.c: public scenario highConcurrency (IDEM-5, IDEM-11, PROF-18). */
#include "suite.h"

SCENARIO(high_concurrency);

enum { PARALLEL = 10 };

static void up(void) {
    if (env("OPENWOP_SKIP_SCALE_PRODUCTION") != NULL)
        cr_skip("OPENWOP_SKIP_SCALE_PRODUCTION is set");
    need_fixture("conformance-idempotent");
}

static bool made(const struct reply *r) { return r->status == 200 || r->status == 201; }

static void expect_retry_after(const struct reply *r) {
    struct str h = header(r, "Retry-After"), d = at(r->json, "details.retryAfter");
    double in_body = 0;
    uint64_t in_header = 0;
    if (h.p != NULL) cr_expect(str_u64(h, &in_header) && in_header > 0, "Retry-After");
    if (d.p != NULL) cr_expect(json_double(d, &in_body) && in_body > 0, "details.retryAfter");
    cr_expect(h.p != NULL || d.p != NULL, "%ld without a time to retry", r->status);
}

static void send(struct reply r[PARALLEL], const char *body, const char *key, bool one_key) {
    const char *bodies[PARALLEL], *keys[PARALLEL];
    for (int i = 0; i < PARALLEL; i++) {
        bodies[i] = body;
        keys[i] = one_key ? key : fmt("%s-%d", key, i);
    }
    ask_parallel(PARALLEL, "/v1/runs", bodies, keys, r);
}

Test(high_concurrency, parallel_equal_requests_make_one_run) {
    struct reply r[PARALLEL];
    struct str id = STR_NONE;
    up();
    send(r, "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"parallel-1\"}}",
         fmt("openwop-conformance-par-%lld", (long long)now_ms()), true);
    for (int i = 0; i < PARALLEL; i++) {
        cr_assert(made(&r[i]) || r[i].status == 409, "%ld " STR_FMT, r[i].status,
                  STR_ARG(r[i].body));
        if (!made(&r[i])) {
            cr_expect(str_eqc(text_at(r[i].json, "error"), "idempotency_in_flight"));
            expect_retry_after(&r[i]);
            continue;
        }
        if (id.p == NULL) id = text_at(r[i].json, "runId");
        cr_expect(str_eq(text_at(r[i].json, "runId"), id), "two runs for one key");
    }
    cr_expect_not_null(id.p, "nobody succeeded");
}

Test(high_concurrency, parallel_requests_with_different_keys_make_different_runs) {
    struct reply r[PARALLEL];
    size_t n = 0;
    up();
    send(r, "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"parallel-2\"}}",
         fmt("openwop-conformance-dif-%lld", (long long)now_ms()), false);
    for (int i = 0; i < PARALLEL; i++) {
        cr_assert(made(&r[i]) || r[i].status == 429 || r[i].status == 503, "%ld", r[i].status);
        if (!made(&r[i])) {
            expect_retry_after(&r[i]);
            continue;
        }
        n++;
        for (int k = 0; k < i; k++)
            if (made(&r[k]))
                cr_expect_not(str_eq(text_at(r[i].json, "runId"), text_at(r[k].json, "runId")));
    }
    cr_expect_gt(n, 0u, "nobody succeeded");
}

Test(high_concurrency, repeats_are_marked_as_replays) {
    const char *key = fmt("openwop-conformance-rep-%lld", (long long)now_ms());
    struct str id = STR_NONE;
    bool marked = false;
    up();
    for (int i = 0; i < 5; i++, nap_ms(100)) {
        struct reply r = ask_keyed(
            key, "/v1/runs",
            "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"repeat\"}}");
        cr_assert(made(&r), "%ld " STR_FMT, r.status, STR_ARG(r.body));
        bool replay = str_eqc(header(&r, "openwop-Idempotent-Replay"), "true");
        if (i == 0) {
            id = text_at(r.json, "runId");
            cr_expect_not(replay, "the first answer is no replay");
        }
        cr_expect(str_eq(text_at(r.json, "runId"), id));
        marked = marked || (i > 0 && replay);
    }
    cr_expect(marked, "no repeat was marked");
}

Test(high_concurrency, document_acknowledgement_timeout_is_sane) {
    struct str doc = document();
    struct str v = at(doc, "limits.idempotencyAckTimeoutSec");
    if (v.p == NULL)
        cr_skip("limits.idempotencyAckTimeoutSec is absent, as the closed schema of limits wants");
    cr_expect(int_at(doc, "limits.idempotencyAckTimeoutSec") >= 5);
}
