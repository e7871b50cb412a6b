/* provider_policy.c: public scenario providerPolicyEnforcement, what it asks beyond policies. */
#include "suite.h"

SCENARIO(provider_policy);

Test(provider_policy, document_restricted_comes_with_optional) {
    struct str modes = need_member("aiProviders.policies.modes");
    document();
    if (!list_has(modes, "restricted")) cr_skip("the mode restricted is not advertised");
    cr_expect(list_has(modes, "optional"));
}
