/* wasm_pack_load.c: public scenario wasm-pack-load (WASM-1, WASM-2). */
#include "suite.h"

#define FLOW "conformance-wasm-pack-roundtrip"
#define WASM "capabilities.nodePackRuntimes.wasm"

SCENARIO(wasm_pack_load);

Test(wasm_pack_load, document_says_the_same_at_the_root) { /* NODE-80 */
    need_flag(WASM ".supported");
    struct str doc = document();
    cr_expect(str_eq(at(doc, WASM), at(doc, "nodePackRuntimes.wasm")));
    cr_expect_gt(text_at(doc, WASM ".engine").n, 0u);
    cr_expect_gt(text_at(doc, WASM ".engineVersion").n, 0u);
    cr_expect_gt(int_at(doc, WASM ".maxExecutionMs"), 0);
}

Test(wasm_pack_load, a_run_with_a_type_of_a_pack_is_taken) {
    need_flag(WASM ".supported");
    need_fixture(FLOW);
    const char *run = create_run(FLOW, "\"inputs\":{\"name\":\"world\"}");
    (void)ask("POST", run_path(run, "/cancel"), "{\"reason\":\"enough\"}", NULL);
    (void)wait_terminal(run, 15000);
}
