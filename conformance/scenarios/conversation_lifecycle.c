/* conversation_lifecycle.c: public scenario conversationLifecycle (CONV-4 to CONV-7, CONV-14,
 * CONV-15, EVT-38, FIX-42). */
#include "suite.h"

#define FLOW "conformance-conversation-lifecycle"

SCENARIO(conversation_lifecycle);

static bool is(struct str event, const char *type) { return str_eqc(text_at(event, "type"), type); }

/* the turn is right by the second published schema, too. */
static void expect_turn(struct str turn, int64_t index) {
    cr_expect_eq(int_at(turn, "turnIndex"), index, STR_FMT, STR_ARG(turn));
    cr_expect_gt(text_at(turn, "messageId").n, 0);
    cr_expect_gt(text_at(turn, "from").n, 0);
    cr_expect_geq(int_at(turn, "ts"), 0);
    cr_expect(at(turn, "content").p != NULL);
    struct str role = text_at(turn, "role");
    cr_expect(str_eqc(role, "user") || str_eqc(role, "agent") || str_eqc(role, "system"));
}

Test(conversation_lifecycle, it_opens_exchanges_and_closes_under_one_id) {
    need_flag("conversationPrimitive");
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    wait_status(run, "completed", lifecycle_ms());
    struct json_elements ev = json_events(run);
    cr_assert_eq(count_of(ev, "conversation.opened"), 1u);
    cr_assert_eq(count_of(ev, "conversation.closed"), 1u);
    struct str opened = first_of(ev, "conversation.opened");
    struct str id = text_at(opened, "payload.conversationId");
    bool closed = false;
    for (size_t i = 0; i < ev.n; i++) {
        if (!str_starts(text_at(ev.v[i], "type"), STR("conversation."))) continue;
        cr_expect(str_eq(text_at(ev.v[i], "payload.conversationId"), id));
        cr_expect_not(closed, "a turn after the close");
        closed = is(ev.v[i], "conversation.closed");
    }
}

Test(conversation_lifecycle, turns_are_counted_and_follow_from_each_other) {
    need_flag("conversationPrimitive");
    need_fixture(FLOW);
    const char *run = create_run(FLOW, NULL);
    struct str snap = wait_status(run, "completed", lifecycle_ms());
    struct json_elements ev = json_events(run);
    struct str last = STR_NONE, suspended = STR_NONE;
    int64_t turns = 0;
    for (size_t i = 0; i < ev.n; i++) {
        struct str e = ev.v[i];
        if (is(e, "node.suspended")) suspended = text_at(e, "eventId");
        if (!str_starts(text_at(e, "type"), STR("conversation."))) continue;
        struct str cause = text_or_none(e, "causationId");
        cr_expect(str_eq(cause, turns == 0 ? suspended : last), STR_FMT, STR_ARG(e));
        if (turns == 0) expect_turn(at(e, "payload.initialTurn"), 0);
        else cr_expect_eq(int_at(e, "payload.turnIndex"), turns);
        if (is(e, "conversation.exchanged")) expect_turn(at(e, "payload.turn"), turns);
        if (is(e, "conversation.closed")) expect_turn(at(e, "payload.finalTurn"), turns);
        last = text_at(e, "eventId");
        turns++;
    }
    cr_expect_geq(turns, 3);
    cr_expect_eq(list_at(snap, "channels.conversation").n, (size_t)turns, "CONV-15");
}
