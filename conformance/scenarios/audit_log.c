/* audit_log.c: public scenario audit-log-integrity, for hosts that claim the profile. */
#include "suite.h"

SCENARIO(audit_log);

#define BLOCK "capabilities.auth.auditLogIntegrity"

static void need_profile(void) {
    struct str profiles = need_member("capabilities.auth.profiles");
    if (!list_has(profiles, "openwop-audit-log-integrity"))
        cr_skip("openwop-audit-log-integrity is not claimed");
}

Test(audit_log, document_says_how_the_log_is_signed) {
    need_profile();
    cr_expect(str_eqc(at(discovery(), BLOCK ".hashChain"), "true"));
    cr_expect_gt(text_at(discovery(), BLOCK ".checkpointSignatureAlgorithm").n, 0u);
    cr_expect_gt(text_at(discovery(), BLOCK ".checkpointPublicKey").n, 0u);
}

Test(audit_log, the_chain_is_valid) {
    need_profile();
    (void)known_run();
    struct reply r = ask("GET", "/v1/audit/verify?fromSeq=0&toSeq=100", NULL, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(at(r.json, "chainValid"), "true"), STR_FMT, STR_ARG(r.body));
    cr_expect_eq(list_at(r.json, "anomalies").n, 0u);
    cr_expect_eq(int_at(r.json, "fromSeq"), 0);
    struct json_elements l = list_at(r.json, "checkpoints");
    for (size_t i = 0; i < l.n; i++) {
        cr_expect_gt(text_at(l.v[i], "signature").n, 0u);
        cr_expect_gt(text_at(l.v[i], "checkpoint").n, 0u);
        cr_expect_eq(text_at(l.v[i], "merkleRoot").n, 64u);
    }
}

Test(audit_log, needs_the_scope_of_an_auditor) {
    need_profile();
    (void)known_run();
    cr_expect_eq(ask("GET", "/v1/audit/verify", NULL, NO_AUTH).status, 401);
}
