/* provider_policy.c: public scenario providerPolicyEnforcement, what it asks beyond policies, and
 * what discovery says of providers (CAP-20). */
#include "suite.h"

SCENARIO(provider_policy);

Test(provider_policy, document_restricted_comes_with_optional) {
    struct str modes = need_member("aiProviders.policies.modes");
    document();
    if (!list_has(modes, "restricted")) cr_skip("the mode restricted is not advertised");
    cr_expect(list_has(modes, "optional"));
}

Test(provider_policy, a_run_may_name_the_providers_of_discovery_and_no_other) {
    struct str supported = need_member("aiProviders.supported");
    struct json_elements l = list_at(document(), "aiProviders.supported");
    need_fixture("conformance-noop");
    cr_expect_gt(supported.n, 0u);
    for (size_t i = 0; i < l.n; i++)
        wait_terminal(create_run("conformance-noop",
                                 fmt("\"configurable\":{\"ai\":{\"provider\":" STR_FMT "}}",
                                     STR_ARG(l.v[i]))),
                      30000);
    struct reply r = ask("POST", "/v1/runs",
                         "{\"workflowId\":\"conformance-noop\",\"configurable\":"
                         "{\"ai\":{\"provider\":\"nobody-has-this-one\"}}}",
                         NULL);
    cr_expect_eq(r.status, 400);
    expect_envelope(&r);
}

Test(provider_policy, a_reference_is_for_providers_that_take_one) {
    struct json_elements all = list_at(document(), "aiProviders.supported");
    struct str byok = need_member("aiProviders.byok");
    need_fixture("conformance-noop");
    for (size_t i = 0; i < all.n; i++) {
        const char *body = fmt("{\"workflowId\":\"conformance-noop\",\"configurable\":{\"ai\":"
                               "{\"provider\":" STR_FMT ",\"credentialRef\":\"any-reference\"}}}",
                               STR_ARG(all.v[i]));
        struct reply r = ask("POST", "/v1/runs", body, NULL);
        bool takes = list_has(byok, fmt(STR_FMT, STR_ARG(json_string(all.v[i], test_arena()))));
        cr_expect_eq(r.status, takes ? 201 : 403, "%s: %ld", body, (long)r.status);
        if (!takes) cr_expect(str_eqc(text_at(r.json, "error"), "credential_forbidden"));
    }
}
