/* agent_memory_round_trip.c: public scenario agentMemoryRoundTrip (MEM-4, MEM-30, FIX-38). */
#include "memory_kit.h"

SCENARIO(agent_memory_round_trip);

static const char *const FLOW = "conformance-agent-memory-roundtrip";

Test(agent_memory_round_trip, what_is_written_is_read_back) {
    need_memory(FLOW);
    struct str e = variable_of(run_to_end(FLOW, NULL, "completed"), "memoryReadback");
    entry_check(e);
    cr_expect_gt(text_at(e, "content").n, 0u);
}

Test(agent_memory_round_trip, a_run_reads_its_own_entry_and_not_that_of_an_earlier_run) {
    need_memory(FLOW);
    struct str one = variable_of(run_to_end(FLOW, NULL, "completed"), "memoryReadback");
    struct str two = variable_of(run_to_end(FLOW, NULL, "completed"), "memoryReadback");
    cr_expect(!str_eq(text_at(one, "id"), text_at(two, "id")), "MEM-14: " STR_FMT, STR_ARG(two));
}

Test(agent_memory_round_trip, a_replay_reads_what_its_source_read /* MEM-9 */) {
    need_memory(FLOW);
    const char *run = create_run(FLOW, NULL);
    struct str was = variable_of(wait_terminal(run, 30000), "memoryReadback");
    struct reply r =
        ask("POST", run_path(run, ":fork"), "{\"mode\":\"replay\",\"fromSeq\":0}", NULL);
    cr_assert_eq(r.status, 201, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    const char *replay = fmt(STR_FMT, STR_ARG(text_at(r.body, "runId")));
    struct str is = variable_of(wait_status(replay, "completed", 30000), "memoryReadback");
    cr_expect(was.n > 0 && str_eq(is, was), STR_FMT " and " STR_FMT, STR_ARG(is), STR_ARG(was));
}
