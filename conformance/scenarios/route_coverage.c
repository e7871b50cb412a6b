/* route_coverage.c: public scenario route-coverage (RUN-42, RUN-43, ERR-1). */
#include "suite.h"

SCENARIO(route_coverage);

static void known_workflow(void) {
    need_fixture("conformance-noop");
    struct reply r = ask("GET", "/v1/workflows/conformance-noop", NULL, NULL);
    cr_assert_eq(r.status, 200, "%ld", r.status);
    cr_expect(str_eqc(text_at(r.json, "id"), "conformance-noop"));
    cr_expect(is_type(r.json, "nodes", JSON_ARRAY));
}

static void expect_missing(const char *method, const char *path) {
    struct reply r = ask(method, path, NULL, NULL);
    cr_expect(r.status == 404 || r.status == 403, "%s %s: %ld", method, path, r.status);
    expect_envelope(&r);
}

Test(route_coverage, a_workflow_is_served) { known_workflow(); }

Test(route_coverage, a_missing_workflow_is_not_found) {
    known_workflow();
    expect_missing("GET", "/v1/workflows/openwop-conformance-missing-workflow");
}

Test(route_coverage, a_missing_artifact_is_not_found) {
    const char *run = known_run();
    expect_missing("GET", "/v1/runs/openwop-conformance-missing-run/artifacts/"
                          "openwop-conformance-missing-artifact");
    expect_missing("GET", run_path(run, "/artifacts/openwop-conformance-missing-artifact"));
}

Test(route_coverage, a_webhook_without_a_url_is_refused) {
    known_run();
    struct reply r = ask("POST", "/v1/webhooks",
                         "{\"url\":\"not-a-valid-url\",\"events\":[\"run.completed\"]}", NULL);
    cr_expect(r.status >= 400 && r.status < 500, "%ld", r.status);
    expect_envelope(&r);
}

Test(route_coverage, a_missing_webhook_is_not_found) {
    known_run();
    struct reply r = ask("DELETE", "/v1/webhooks/openwop-conformance-missing-webhook", NULL, NULL);
    cr_expect(r.status == 204 || r.status == 403 || r.status == 404, "%ld", r.status);
    if (r.status != 204) expect_envelope(&r);
}
