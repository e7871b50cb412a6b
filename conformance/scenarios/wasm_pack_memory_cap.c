/* wasm_pack_memory_cap.c: public scenario wasm-pack-memory-cap (WASM-1, WASM-13). */
#include "suite.h"

#define WASM "capabilities.nodePackRuntimes.wasm"

SCENARIO(wasm_pack_memory_cap);

Test(wasm_pack_memory_cap, document_bounds_the_memory_of_a_module) {
    need_flag(WASM ".supported");
    int64_t most = int_at(document(), WASM ".maxMemoryBytes");
    cr_expect_geq(most, INT64_C(1048576));
    cr_expect_leq(most, INT64_C(8589934592));
}
