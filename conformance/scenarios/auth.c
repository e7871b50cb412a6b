/* auth.c: public scenario auth (AUTH-2, AUTH-15). */
#include "suite.h"

SCENARIO(auth);

static void expect_unauthenticated(const char *const *headers) {
    known_run(); /* the key itself is good, so a refusal is about the credential */
    struct reply r = ask("POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", headers);
    cr_assert_eq(r.status, 401, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    cr_expect(text_at(r.json, "error").n > 0 && text_at(r.json, "message").n > 0);
}

Test(auth, no_credential_is_unauthenticated) { expect_unauthenticated(NO_AUTH); }

Test(auth, an_unknown_key_is_unauthenticated) {
    static const char *const h[] = {"Authorization: Bearer hk_definitely_not_a_real_key_12345",
                                    NULL};
    expect_unauthenticated(h);
}
