/* agent_pack_export.c: public scenario agentPackExport (AGT-45, FIX-36, X-52). */
#include "suite.h"

#include "verify.h"

#define FLOW "conformance-agent-pack-export"

SCENARIO(agent_pack_export);

Test(agent_pack_export, agents_of_the_workspace_are_manifests) {
    char why[VERIFY_WHY] = "";
    need_flag("agents.supported");
    need_fixture(FLOW);
    struct reply r = ask("GET", "/v1/packs/export", NULL, NULL);
    if (r.status == 404 || r.status == 501) cr_skip_test("the host exports no agents");
    cr_assert_eq(r.status, 200);
    struct json_elements l = list_at(r.json, "manifests");
    cr_expect_gt(l.n, 0u);
    for (size_t i = 0; i < l.n; i++) {
        cr_expect_gt(text_at(l.v[i], "agentId").n, 0u);
        cr_expect(verify_against("agent-manifest.schema.json", l.v[i], why), "%s", why);
    }
}
