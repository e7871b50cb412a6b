/* version_fold.c: ours, on the fixture conformance-version-fold: runs forced to other engine
 * versions are read as well as any (VER-10, VER-11). */
#include "suite.h"

SCENARIO(version_fold);

Test(version_fold, every_forceable_engine_version_folds) {
    need_fixture("conformance-version-fold");
    need_member("testing.forceEngineVersionRange");
    struct str doc = document();
    int64_t min = int_at(doc, "testing.forceEngineVersionRange.min"),
            max = int_at(doc, "testing.forceEngineVersionRange.max");
    cr_assert(min <= max && max - min < 16, "a range of %lld versions", (long long)(max - min));
    for (int64_t v = min; v <= max; v++) {
        const char *const h[] = {fmt("X-Force-Engine-Version: %lld", (long long)v), NULL};
        struct reply r =
            ask("POST", "/v1/runs", "{\"workflowId\":\"conformance-version-fold\"}", h);
        cr_assert_eq(r.status, 201, "version %lld: %ld " STR_FMT, (long long)v, r.status,
                     STR_ARG(r.body));
        const char *run = arena_cstr(test_arena(), text_at(r.json, "runId"));
        struct str snap = wait_terminal(run, lifecycle_ms());
        cr_expect(str_eqc(text_at(snap, "status"), "completed"));
        cr_expect(str_eqc(text_at(snap, "engineVersion"), fmt("%lld", (long long)v)));
        cr_expect_gt(poll_events(run, "?timeout=1").n, 0u);
    }
}

Test(version_fold, a_version_outside_the_range_is_refused) {
    need_member("testing.forceEngineVersionRange");
    known_run();
    int64_t max = int_at(document(), "testing.forceEngineVersionRange.max");
    const char *const h[] = {fmt("X-Force-Engine-Version: %lld", (long long)max + 1), NULL};
    struct reply r = ask("POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", h);
    cr_assert_eq(r.status, 400, "%ld", r.status);
    cr_expect(str_eqc(text_at(r.json, "error"), "unsupported_force_engine_version"));
}
