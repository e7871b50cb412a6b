/* agent_pack_provenance.c: public scenario agentPackProvenance (AGT-6, FIX-37). */
#include "suite.h"

#define FLOW   "conformance-agent-pack-provenance"
#define SOURCE "core.conformance.agent-pack.installed-agent"

SCENARIO(agent_pack_provenance);

Test(agent_pack_provenance, the_pin_says_where_its_agent_came_from) {
    need_flag("agents.supported");
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    struct str snap = wait_status(run, "completed", lifecycle_ms());
    struct str agent = text_or_none(snap, "agent.sourceManifestId");
    struct str orchestrator = text_or_none(snap, "runOrchestrator.sourceManifestId");
    cr_expect(agent.n > 0 || orchestrator.n > 0);
    cr_expect(str_eqc(agent, SOURCE), "AGT-6: the pin verbatim");
    struct json_elements ev = json_events(run);
    for (size_t i = 0; i < ev.n; i++)
        if (str_eqc(text_at(ev.v[i], "type"), "node.started"))
            cr_expect(str_eqc(text_at(ev.v[i], "payload.agent.sourceManifestId"), SOURCE));
}
