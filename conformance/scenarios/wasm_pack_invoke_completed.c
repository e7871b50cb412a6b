/* wasm_pack_invoke_completed.c: public scenario wasm-pack-invoke-completed (FIX-52, WASM-11). */
#include "suite.h"

#define FLOW "conformance-wasm-pack-roundtrip"

SCENARIO(wasm_pack_invoke_completed);

Test(wasm_pack_invoke_completed, the_module_greets_by_the_runs_input) {
    need_flag("capabilities.nodePackRuntimes.wasm.supported");
    need_fixture(FLOW);
    const char *run = create_run(FLOW, "\"inputs\":{\"name\":\"openwop\"}");
    cr_assert_str_eq(text_at(wait_terminal(run, 15000), "status").p, "completed");
    struct str done = first_of(json_events(run), "node.completed");
    cr_assert_not_null(done.p);
    cr_expect(str_eqc(text_at(done, "payload.outputs.greeting"), "Hello, openwop!"));
}

/* Plus: what the name holds is data, whatever it looks like. */
Test(wasm_pack_invoke_completed, a_hostile_name_is_a_name) {
    need_flag("capabilities.nodePackRuntimes.wasm.supported");
    need_fixture(FLOW);
    const char *run =
        create_run(FLOW, "\"inputs\":{\"name\":\"\\\"},\\\"outcome\\\":\\\"failed\\\\ \\u0001\"}");
    cr_assert_str_eq(text_at(wait_terminal(run, 15000), "status").p, "completed");
    struct str done = first_of(json_events(run), "node.completed");
    cr_expect(str_eqc(text_at(done, "payload.outputs.greeting"),
                      "Hello, \"},\"outcome\":\"failed\\ \001!"));
}
