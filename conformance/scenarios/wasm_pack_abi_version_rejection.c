/* wasm_pack_abi_version_rejection.c: public scenario wasm-pack-abi-version-rejection (WASM-1). */
#include "suite.h"

#define WASM "capabilities.nodePackRuntimes.wasm"

SCENARIO(wasm_pack_abi_version_rejection);

Test(wasm_pack_abi_version_rejection, document_names_the_versions_that_are_taken) {
    bool one = false;
    int64_t v;
    need_flag(WASM ".supported");
    struct json_elements l = list_at(document(), WASM ".abiVersions");
    cr_assert_gt(l.n, 0u);
    for (size_t i = 0; i < l.n; i++) {
        cr_assert(json_int(l.v[i], &v) && v > 0);
        one = one || v == 1;
    }
    cr_expect(one);
}
