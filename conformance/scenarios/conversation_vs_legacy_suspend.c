/* conversation_vs_legacy_suspend.c: public scenario conversationVsLegacySuspend (CONV-16, FIX-43).
 */
#include "suite.h"

#define FLOW "conformance-conversation-vs-clarification"

SCENARIO(conversation_vs_legacy_suspend);

Test(conversation_vs_legacy_suspend, a_turn_is_neither_a_clarification_nor_an_approval) {
    size_t conversation = 0;
    need_flag("conversationPrimitive");
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    wait_status(run, "completed", lifecycle_ms());
    struct json_elements ev = json_events(run);
    for (size_t i = 0; i < ev.n; i++) {
        struct str type = text_at(ev.v[i], "type");
        conversation += str_starts(type, STR("conversation."));
        cr_expect_not(str_starts(type, STR("clarification.")), STR_FMT, STR_ARG(type));
        cr_expect_not(str_starts(type, STR("approval.")), STR_FMT, STR_ARG(type));
    }
    cr_expect_gt(conversation, 0u);
    cr_expect_eq(count_of(ev, "channel.written"), 0u, "no channel is declared");
}
