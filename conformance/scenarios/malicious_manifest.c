/* malicious_manifest.c: public scenario maliciousManifest (pack read routes), where they exist. */
#include "suite.h"

SCENARIO(malicious_manifest);

/* A host without the routes answers 404 to anything below them, which proves nothing. */
static void need_packs(void) {
    struct reply r = ask_unjudged("/v1/packs/-/search?q=", NO_AUTH); /* text is allowed here */
    if (r.status != 200) cr_skip("GET /v1/packs/-/search answers %ld: no pack routes", r.status);
    cr_assert(is_type(r.json, "results", JSON_ARRAY));
}

Test(malicious_manifest, bad_names_and_versions_are_refused) {
    static const char *const paths[] = {"Bad%20Name/-/1.0.json",
                                        "name%20with%20spaces/-/1.0.json",
                                        "a/-/1.0.json",
                                        "community.test/-/not-semver.json",
                                        "community.test/-/1.json",
                                        "community.test/-/v1.0.json",
                                        "community.test/-/1.0.0.json"};
    need_packs();
    for (size_t i = 0; i < COUNT(paths); i++) {
        struct reply r = ask("GET", fmt("/v1/packs/%s", paths[i]), NULL, NULL);
        cr_expect(r.status == 400 || r.status == 404, "%s: %ld", paths[i], r.status);
    }
}

Test(malicious_manifest, a_signature_that_is_not_held_is_404) {
    need_packs();
    struct reply r = ask("GET", "/v1/packs/community.no-such-pack/-/1.0.sig", NULL, NULL);
    cr_expect_eq(r.status, 404);
}
