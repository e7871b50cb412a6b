/* idempotency_retry.c: public scenario idempotencyRetry (IDEM-5, IDEM-11). */
#include "suite.h"

SCENARIO(idempotency_retry);

static struct reply create(const char *key) {
    return ask_keyed(
        key, "/v1/runs",
        "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"retry\"}}");
}

Test(idempotency_retry, the_replay_header_is_true_on_a_retry) {
    need_fixture("conformance-idempotent");
    const char *key = fmt("openwop-conformance-retry-%lld", (long long)now_ms());
    struct reply a = create(key), b = create(key);
    struct str first = header(&a, "openwop-Idempotent-Replay");
    cr_assert_eq(a.status, 201, "%ld " STR_FMT, a.status, STR_ARG(a.body));
    cr_expect(first.p == NULL || str_eqc(first, "true") || str_eqc(first, "false"));
    cr_assert(b.status == 200 || b.status == 201, "%ld", b.status);
    cr_expect(str_eqc(header(&b, "openwop-Idempotent-Replay"), "true"));
}

Test(idempotency_retry, five_retries_make_one_run) {
    need_fixture("conformance-idempotent");
    const char *key = fmt("openwop-conformance-five-%lld", (long long)now_ms());
    struct str id = STR_NONE;
    for (int i = 0; i < 5; i++, nap_ms(100)) {
        struct reply r = create(key);
        cr_assert(r.status == 200 || r.status == 201, "%ld", r.status);
        if (i == 0) id = text_at(r.json, "runId");
        cr_expect(str_eq(text_at(r.json, "runId"), id));
    }
}

Test(idempotency_retry, document_acknowledgement_timeout_is_sane) {
    struct str doc = document();
    if (at(doc, "limits.idempotencyAckTimeoutSec").p == NULL)
        cr_skip("limits.idempotencyAckTimeoutSec is absent, as the closed schema of limits wants");
    cr_expect(int_at(doc, "limits.idempotencyAckTimeoutSec") >= 5);
}
