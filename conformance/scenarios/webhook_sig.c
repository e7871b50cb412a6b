/* webhook_sig.c: public scenario webhook-sig-algorithm. */
#include "suite.h"

SCENARIO(webhook_sig);

Test(webhook_sig, document_offers_the_first_signature_algorithm) {
    need_flag("capabilities.webhooks.supported");
    struct str doc = document();
    struct json_elements l = list_at(doc, "capabilities.webhooks.signatureAlgorithms");
    cr_expect(list_has(at(doc, "capabilities.webhooks.signatureAlgorithms"), "v1"));
    for (size_t i = 0; i < l.n; i++) cr_expect(json_string(l.v[i], test_arena()).n > 0);
}
