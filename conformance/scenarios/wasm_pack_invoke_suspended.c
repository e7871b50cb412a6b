/* wasm_pack_invoke_suspended.c: public scenario wasm-pack-invoke-suspended (WASM-15). */
#include "suite.h"

#define FLOW "conformance-wasm-pack-roundtrip"

SCENARIO(wasm_pack_invoke_suspended);

Test(wasm_pack_invoke_suspended, a_module_that_may_suspend_comes_to_an_end) {
    need_flag("capabilities.nodePackRuntimes.wasm.supported");
    need_fixture(FLOW);
    const char *run = create_run(FLOW, "\"inputs\":{\"name\":\"suspend-probe\"}");
    struct str end = wait_terminal(run, 15000);
    if (str_eqc(text_at(end, "status"), "completed")) return;
    cr_assert(str_eqc(text_at(end, "status"), "failed"));
    struct str failed = first_of(json_events(run), "node.failed");
    cr_assert(has(failed, "wasm_suspend_not_implemented") || has(failed, "suspend_not_supported"));
}
