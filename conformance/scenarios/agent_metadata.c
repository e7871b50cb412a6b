/* agent_metadata.c: public scenario agentMetadata (AGT-5..7, FIX-31). */
#include "suite.h"

#define FLOW "conformance-agent-identity"

SCENARIO(agent_metadata);

Test(agent_metadata, the_agent_of_a_node_stays_on_the_run) {
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    struct str snap = wait_status(run, "completed", lifecycle_ms());
    cr_expect(str_eqc(text_at(snap, "agent.agentId"), "core.conformance.identity-agent"));
    cr_expect(str_eqc(text_at(snap, "agent.modelClass"), "chat"), "AGT-6: the whole pin");
    struct json_elements ev = json_events(run);
    for (size_t i = 0; i < ev.n; i++)
        if (str_eqc(text_at(ev.v[i], "type"), "node.started"))
            cr_expect(str_eqc(text_at(ev.v[i], "payload.agent.agentId"),
                              "core.conformance.identity-agent"));
}
