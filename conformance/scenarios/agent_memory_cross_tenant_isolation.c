/* agent_memory_cross_tenant_isolation.c: public scenario agentMemoryCrossTenantIsolation (MEM-7,
 * MEM-31, FIX-39).  The fixture puts an entry of another tenant under the ref that it asks for. */
#include "memory_kit.h"

SCENARIO(agent_memory_cross_tenant_isolation);

static const char *const FLOW = "conformance-agent-memory-cross-tenant";

Test(agent_memory_cross_tenant_isolation, the_ref_of_another_tenant_is_empty) {
    need_memory(FLOW);
    for (int i = 0; i < 2; i++) { /* also when an entry was put before */
        struct str snap = wait_terminal(create_run(FLOW, NULL), 30000);
        struct str got = variable_of(snap, "crossTenantProbe");
        cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
        cr_expect(str_eqc(got, "[]"), STR_FMT, STR_ARG(got));
    }
}

Test(agent_memory_cross_tenant_isolation, no_event_shows_an_entry_of_another_tenant) {
    need_memory(FLOW);
    const char *run = create_run(FLOW, NULL);
    wait_terminal(run, 30000);
    struct json_elements ev = json_events(run);
    for (size_t i = 0; i < ev.n; i++)
        cr_expect_null(strstr(fmt(STR_FMT, STR_ARG(ev.v[i])), "of another tenant"), STR_FMT,
                       STR_ARG(ev.v[i]));
}
