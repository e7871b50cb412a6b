/* idempotency.c: public scenario idempotency (IDEM-4, IDEM-5, IDEM-10). */
#include "suite.h"

SCENARIO(idempotency);

#define BODY(nonce)                                                                                \
    "{\"workflowId\":\"conformance-idempotent\",\"inputs\":{\"nonce\":\"" nonce "\"}}"

static const char *new_key(const char *what) {
    need_fixture("conformance-idempotent");
    return fmt("openwop-conformance-%s-%lld", what, (long long)now_ms());
}

Test(idempotency, the_same_request_again_gives_the_same_run) {
    const char *key = new_key("same");
    struct reply a = ask_keyed(key, "/v1/runs", BODY("one")),
                 b = ask_keyed(key, "/v1/runs", BODY("one"));
    cr_assert_eq(a.status, 201, "%ld " STR_FMT, a.status, STR_ARG(a.body));
    cr_assert(b.status == 200 || b.status == 201, "%ld", b.status);
    cr_expect(str_eq(text_at(a.json, "runId"), text_at(b.json, "runId")));
    cr_expect(header(&b, "openwop-Idempotent-Replay").n > 0);
}

Test(idempotency, another_request_under_the_same_key_is_a_conflict) {
    const char *key = new_key("other");
    cr_assert_eq(ask_keyed(key, "/v1/runs", BODY("one")).status, 201);
    struct reply r = ask_keyed(key, "/v1/runs", BODY("two"));
    cr_expect_eq(r.status, 409, "%ld " STR_FMT, r.status, STR_ARG(r.body));
}
