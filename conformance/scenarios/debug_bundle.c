/* debug_bundle.c: public scenario debugBundle: the five tests on a bundle where it is advertised,
 * 404 where it is not.  Every bundle is also judged by the published schema (verify.c). */
#include "suite.h"

SCENARIO(debug_bundle);

static bool offered(void) {
    bool on = false;
    struct str raw = at(discovery(), "debugBundle.supported");
    return raw.p != NULL && json_bool(raw, &on) && on;
}

static void need_bundle(void) {
    need_fixture("conformance-noop");
    if (!offered()) cr_skip("debugBundle is not advertised");
}

static struct reply bundle_of(const char *run) {
    struct reply r = ask("GET", run_path(run, "/debug-bundle"), NULL, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_assert_not_null(r.json.p, "the bundle is no JSON");
    return r;
}

static const char *ended_run(const char *extras) {
    const char *run = create_run("conformance-noop", extras);
    (void)wait_terminal(run, lifecycle_ms());
    return run;
}

Test(debug_bundle, a_host_that_does_not_offer_it_answers_404) {
    if (offered()) cr_skip("debugBundle is advertised");
    const char *run = known_run();
    cr_expect_eq(ask("GET", run_path(run, "/debug-bundle"), NULL, NULL).status, 404);
    struct reply r =
        ask("GET", "/v1/runs/openwop-conformance-no-such-run/debug-bundle", NULL, NULL);
    cr_expect_eq(r.status, 404);
}

Test(debug_bundle, a_bundle_has_its_shape) {
    static const char *const TEXTS[] = {"bundleVersion", "generatedAt", "host.name",
                                        "host.version",  "run.runId",   "redactionMode"};
    need_bundle();
    const char *run = ended_run(NULL);
    struct reply r = bundle_of(run);
    for (size_t i = 0; i < COUNT(TEXTS); i++)
        cr_expect_gt(text_at(r.json, TEXTS[i]).n, 0u, "%s", TEXTS[i]);
    cr_expect(str_eqc(text_at(r.json, "run.runId"), run));
    cr_expect(is_type(r.json, "events", JSON_ARRAY));
    cr_expect(is_type(r.json, "redactionApplied", JSON_BOOL));
    cr_expect(has(header(&r, "Cache-Control"), "no-store"));
}

Test(debug_bundle, its_count_is_the_number_of_its_events) {
    need_bundle();
    struct reply r = bundle_of(ended_run(NULL));
    if (at(r.json, "metrics.eventCount").p == NULL) cr_skip("metrics.eventCount is optional");
    cr_expect_eq(int_at(r.json, "metrics.eventCount"), (int64_t)list_at(r.json, "events").n);
}

Test(debug_bundle, redaction_that_was_applied_has_a_mode) {
    need_bundle();
    struct reply r = bundle_of(ended_run(NULL));
    if (str_eqc(at(r.json, "redactionApplied"), "true"))
        cr_expect_not(str_eqc(text_at(r.json, "redactionMode"), "passthrough"));
}

Test(debug_bundle, it_has_as_many_events_as_a_poll) {
    need_bundle();
    const char *run = ended_run(NULL);
    cr_expect_eq(list_at(bundle_of(run).json, "events").n, poll_events(run, "").n);
}

Test(debug_bundle, it_holds_no_credential_that_was_sent_as_an_input) {
    need_bundle();
    const char *run = ended_run("\"inputs\":{\"userField\":\"" CANARY_CRED "\"}");
    expect_no_canary(bundle_of(run).body, "debug bundle");
}

Test(debug_bundle, of_a_run_that_is_not_there_is_none) {
    need_bundle();
    (void)bundle_of(ended_run(NULL));
    struct reply r =
        ask("GET", "/v1/runs/openwop-conformance-no-such-run/debug-bundle", NULL, NULL);
    cr_expect_eq(r.status, 404);
    expect_envelope(&r);
}
