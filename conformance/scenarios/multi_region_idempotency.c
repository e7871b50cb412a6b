/* multi_region_idempotency.c: public scenario multi-region-idempotency (IDEM: crossRegion). */
#include "suite.h"

SCENARIO(multi_region_idempotency);

Test(multi_region_idempotency, document_cross_region_promise_is_known) {
    static const char *const retention[] = {"capabilities.idempotency.layer1RetentionSeconds",
                                            "capabilities.idempotency.layer2RetentionSeconds"};
    need_member("capabilities.idempotency.crossRegion");
    struct str doc = document(), v = text_at(doc, "capabilities.idempotency.crossRegion");
    cr_expect(str_eqc(v, "single-region") || str_eqc(v, "best-effort") || str_eqc(v, "strict"),
              STR_FMT, STR_ARG(v));
    for (size_t i = 0; i < COUNT(retention); i++)
        if (at(doc, retention[i]).p != NULL) cr_expect_gt(int_at(doc, retention[i]), 0);
}
