/* policies.c: public scenario policies (CAP: aiProviders.policies). */
#include "suite.h"

SCENARIO(policies);

Test(policies, document_modes_are_known_and_distinct) {
    need_member("aiProviders.policies");
    struct json_elements l = list_at(document(), "aiProviders.policies.modes");
    for (size_t i = 0; i < l.n; i++) {
        struct str m = json_string(l.v[i], test_arena());
        cr_expect(str_eqc(m, "disabled") || str_eqc(m, "optional") || str_eqc(m, "required") ||
                      str_eqc(m, "restricted"),
                  STR_FMT, STR_ARG(l.v[i]));
        for (size_t k = 0; k < i; k++) cr_expect_not(str_eq(l.v[i], l.v[k]));
    }
}

Test(policies, document_scopes_are_distinct_texts) {
    need_member("aiProviders.policies.scopes");
    struct json_elements l = list_at(document(), "aiProviders.policies.scopes");
    for (size_t i = 0; i < l.n; i++) {
        cr_expect(json_string(l.v[i], test_arena()).n > 0);
        for (size_t k = 0; k < i; k++) cr_expect_not(str_eq(l.v[i], l.v[k]));
    }
}

Test(policies, document_error_code_is_a_text) {
    need_member("aiProviders.policies.errorCode");
    cr_expect(text_at(document(), "aiProviders.policies.errorCode").n > 0);
}
