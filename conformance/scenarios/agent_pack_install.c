/* agent_pack_install.c: public scenario agentPackInstall (AGT-45, FIX-35). */
#include "suite.h"

#include "verify.h"

#define FLOW "conformance-agent-pack-install"

SCENARIO(agent_pack_install);

Test(agent_pack_install, agents_of_installed_packs_are_listed) {
    char why[VERIFY_WHY] = "";
    bool named = false;
    size_t agents = 0;
    need_flag("agents.supported");
    need_fixture(FLOW);
    struct reply r = ask("GET", "/v1/packs", NULL, NULL);
    if (r.status == 404 || r.status == 501) cr_skip_test("the host lists no packs");
    cr_assert_eq(r.status, 200);
    struct json_elements packs = list_at(r.json, "packs");
    for (size_t i = 0; i < packs.n; i++) {
        struct json_elements l = list_at(packs.v[i], "agents");
        named = named || str_eqc(text_at(packs.v[i], "name"), "core.conformance.agent-pack");
        for (size_t k = 0; k < l.n; k++, agents++) {
            cr_expect_geq(text_at(l.v[k], "agentId").n, 3u);
            cr_expect(verify_against("agent-manifest.schema.json", l.v[k], why), "%s", why);
        }
    }
    cr_expect_gt(agents, 0u);
    cr_expect(named, "FIX-35");
    (void)run_to_end(FLOW, NULL, "completed");
}
