/* agent_pack_export.c: public scenario agentPackExport (AGT-40, AGT-41, AGT-45, E31, FIX-36). */
#include "suite.h"

#include <string.h>

#define FLOW "conformance-agent-pack-export"

SCENARIO(agent_pack_export);

static bool is_word(struct str text, const char *const *words) {
    for (; *words; words++)
        if (str_eqc(text, *words)) return true;
    return false;
}

Test(agent_pack_export, agents_of_the_workspace_are_exported_as_manifests) {
    static const char *const CLASSES[] = {"reasoning",      "writing", "coding", "research",
                                          "classification", "general", NULL};
    need_fixture(FLOW);
    struct reply r = ask("GET", "/v1/packs/export", NULL, NULL);
    if (r.status == 404 || r.status == 501) cr_skip_test("the host exports no agents");
    cr_assert_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    struct json_elements l = list_at(r.body, "manifests");
    cr_assert_gt(l.n, 0u, "AGT-45: there is one at least");
    for (size_t i = 0; i < l.n; i++) {
        struct str m = l.v[i];
        cr_expect_geq(text_at(m, "agentId").n, 3u);
        cr_expect_geq(text_at(m, "persona").n, 1u);
        cr_expect(is_word(text_at(m, "modelClass"), CLASSES), STR_FMT, STR_ARG(m));
        bool text = at(m, "systemPrompt").p != NULL, file = at(m, "systemPromptRef").p != NULL;
        cr_expect(text != file, "AGT-40: one of the two: " STR_FMT, STR_ARG(m));
        cr_expect_null(at(m, "sourceManifestId").p, "X-52");
    }
    wait_status(create_run(FLOW, NULL), "completed", lifecycle_ms());
}

Test(agent_pack_export, nobody_reads_it_without_a_key) {
    static const char *const NO_KEY[] = {"Authorization:", NULL};
    need_fixture(FLOW);
    struct reply r = ask("GET", "/v1/packs/export", NULL, NO_KEY);
    if (r.status == 404 || r.status == 501) cr_skip_test("the host exports no agents");
    cr_expect_eq(r.status, 401, "%ld", r.status);
}
