/* errors.c: public scenario errors (ERR-1, ERR-3). */
#include "suite.h"

SCENARIO(errors);

static void expect_correlation_in_details(const struct reply *r) {
    struct str id = at(r->json, "details.correlationId");
    if (id.p == NULL) return;
    cr_expect(json_string(id, test_arena()).n > 0, "details.correlationId is no text");
}

Test(errors, a_run_that_does_not_exist_is_not_found) {
    known_run();
    struct reply r =
        ask("GET", "/v1/runs/openwop-conformance-this-run-id-does-not-exist", NULL, NULL);
    cr_expect(r.status == 404 || r.status == 403, "%ld", r.status);
    expect_envelope(&r);
}

Test(errors, a_create_without_workflow_is_refused) {
    known_run();
    struct reply r = ask("POST", "/v1/runs", "{}", NULL);
    cr_expect(r.status >= 400 && r.status < 500, "%ld", r.status);
    expect_envelope(&r);
}

Test(errors, a_correlation_id_lives_in_details) {
    known_run();
    const char *path =
        fmt("/v1/runs/openwop-conformance-correlation-probe-%lld", (long long)now_ms());
    struct reply r = ask("GET", path, NULL, NULL);
    cr_expect(r.status == 400 || r.status == 403 || r.status == 404, "%ld", r.status);
    expect_envelope(&r);
    expect_correlation_in_details(&r);
}
