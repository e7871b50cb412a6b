/* agent_memory_ttl_expiry.c: public scenario agentMemoryTtlExpiry (MEM-12, MEM-33, FIX-41). */
#include "memory_kit.h"

#include "base/clock.h"

SCENARIO(agent_memory_ttl_expiry);

static const char *const FLOW = "conformance-agent-memory-ttl";

Test(agent_memory_ttl_expiry, what_has_expired_is_not_listed) {
    need_memory(FLOW);
    struct str snap = run_to_end(FLOW, NULL, "completed");
    struct json_elements e = list_at(snap, "variables.memoryList");
    int64_t wall_ms = clock_wall_ms(), expires_ms = 0;
    cr_assert_geq(e.n, 1u, STR_FMT, STR_ARG(snap));
    for (size_t i = 0; i < e.n; i++) {
        entry_check(e.v[i]);
        if (at(e.v[i], "expiresAt").n == 0) continue;
        cr_assert(time_parse(text_at(e.v[i], "expiresAt"), &expires_ms));
        cr_expect_gt(expires_ms, wall_ms, STR_FMT, STR_ARG(e.v[i]));
    }
    cr_expect_neq(expires_ms, 0, "the entry that lasts for an hour is there");
}
