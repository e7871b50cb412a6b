/* conversation_capability_negotiation.c: public scenario conversationCapabilityNegotiation (CONV-2,
 * RUN-6, FIX-45).  Asks the host of OPENWOP_PLAIN_BASE_URL where that names one. */
#include "suite.h"

#define FLOW "conformance-conversation-capability-negotiation"

SCENARIO(conversation_capability_negotiation);

Test(conversation_capability_negotiation, a_host_without_conversations_refuses_the_run) {
    const char *plain = env("OPENWOP_PLAIN_BASE_URL");
    const char *base = plain != NULL ? plain : env("OPENWOP_BASE_URL");
    struct reply d = ask_base(base, "GET", "/.well-known/openwop", NULL, NULL);
    cr_assert_eq(d.status, 200);
    if (str_eqc(at(d.json, "conversationPrimitive"), "true"))
        cr_skip_test("the host offers conversations");
    if (!list_has(at(d.json, "fixtures"), FLOW)) cr_skip_test("the host lacks " FLOW);
    struct reply r = ask_base(base, "POST", "/v1/runs", "{\"workflowId\":\"" FLOW "\"}", NULL);
    cr_expect(r.status == 400 || r.status == 404 || r.status == 422, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.json, "error"), "validation_error"), STR_FMT, STR_ARG(r.body));
}
