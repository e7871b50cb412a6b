/*
 * test_protocol.c: whole sequences of calls on the workflow V-WF-4 (V-PR, V-LK, V-OUT-6).
 */
#include "rail.h"
#include "workrail/interpret.h"

static struct rail r;

static void up(void) {
    kit_up();
    rail_open(&r, kit_line("V-WF-4"));
}
static void down(void) {
    rail_close(&r);
    kit_down();
}

#define CONTROL(decision)                                                                          \
    ",\"output\":{\"notesMarkdown\":\"Decided.\",\"artifacts\":[{\"kind\":\"wr.loop_control\","    \
    "\"loopId\":\"investigation_pass\",\"decision\":\"" decision "\"}]}"

static void pending_is(const char *id, const char *step, const char *intent) {
    kit_same(id, rail_get(r.reply, "pending.stepId"), str_c(step));
    kit_same(id, rail_get(r.reply, "nextIntent"), str_c(intent));
}
static void appended(const char *id, const char *kinds) {
    cr_expect_str_eq(rail_kinds(&r), kinds, "%s appends %s", id, rail_kinds(&r));
}
static void fine(const char *id, enum wr_code code) {
    cr_assert_eq(code, WR_FINE, "%s: %s %s", id, wr_code_name(code), r.f.e.message);
}
static bool has(struct str text, const char *part) {
    return strstr(arena_cstr(kit_a, text), part) != NULL;
}

#define ADVANCED                                                                                   \
    "advance_recorded decision_trace_appended node_created edge_created node_output_appended"

Test(workrail_protocol, v_pr_1_to_4_start_rehydrate_advance_replay, .init = up, .fini = down) {
    rail_start(&r, NULL);
    appended("V-PR-1", "session_created run_started node_created preferences_changed");
    pending_is("V-PR-1", "triage", "perform_pending_then_continue");
    kit_same("V-PR-1", rail_get(r.reply, "nextCall.params.intent"), STR("advance"));
    struct str state0 = rail_get(r.reply, "stateToken"), ack0 = rail_get(r.reply, "ackToken");
    struct str first = r.reply;

    fine("V-PR-2", rail_continue(&r, state0, STR_NONE, ""));
    appended("V-PR-2", "");
    pending_is("V-PR-2", "triage", "rehydrate_only");
    cr_expect_not(str_eq(rail_get(r.reply, "ackToken"), ack0), "V-PR-2: a fresh ack");
    kit_same("V-PR-2", rail_get(r.reply, "stateToken"), state0);

    fine("V-PR-3", rail_continue(&r, state0, ack0, RAIL_NOTES));
    appended("V-PR-3", ADVANCED);
    pending_is("V-PR-3", "inspect", "perform_pending_then_continue");
    struct str third = r.reply;

    fine("V-PR-4", rail_continue(&r, state0, ack0, ",\"output\":{\"notesMarkdown\":\"Other.\"}"));
    appended("V-PR-4", "");
    kit_same("V-PR-4", r.reply, third);
    cr_expect(!has(first, "inspect") && !has(third, "decide"), "no later step is named (WR-226)");
}

static void to_decide(void) {
    rail_start(&r, NULL);
    fine("triage", rail_next(&r, RAIL_NOTES));
    fine("inspect", rail_next(&r, RAIL_NOTES));
}

Test(workrail_protocol, v_pr_5_to_6_blocked_and_its_retry, .init = up, .fini = down) {
    to_decide();
    fine("V-PR-5", rail_next(&r, RAIL_NOTES));
    appended("V-PR-5", "advance_recorded validation_performed node_created edge_created");
    kit_same("V-PR-5", rail_get(r.reply, "kind"), STR("blocked"));
    kit_same("V-PR-5", rail_get(r.reply, "retryAckToken"), rail_get(r.reply, "ackToken"));
    kit_same("V-PR-5", rail_get(r.reply, "blockers.blockers.0.code"),
             STR("MISSING_REQUIRED_OUTPUT"));
    kit_same("V-PR-5", rail_get(r.reply, "nextCall.params.ackToken"),
             rail_get(r.reply, "retryAckToken"));
    cr_expect_eq(rail_event(&r, WR_NODE_CREATED)->u.node.kind, WR_NODE_BLOCKED);
    struct str blocked = r.reply, state3 = rail_get(blocked, "stateToken");

    fine("rehydrated", rail_continue(&r, state3, STR_NONE, ""));
    kit_same("WR-126", rail_get(r.reply, "kind"), STR("blocked"));
    kit_same("WR-126", rail_get(r.reply, "retryAckToken"), rail_get(blocked, "retryAckToken"));

    fine("V-PR-6", rail_continue(&r, state3, rail_get(blocked, "retryAckToken"), CONTROL("stop")));
    appended("V-PR-6", "advance_recorded validation_performed decision_trace_appended node_created "
                       "edge_created node_output_appended node_output_appended");
    cr_expect(rail_event(&r, WR_VALIDATION_PERFORMED)->u.validation.valid);
    pending_is("V-PR-6", "report", "await_user_confirmation");
}

Test(workrail_protocol, v_pr_7_an_older_node_forks, .init = up, .fini = down) {
    rail_start(&r, NULL);
    struct str state0 = rail_get(r.reply, "stateToken"), ack0 = rail_get(r.reply, "ackToken");
    fine("fresh", rail_continue(&r, state0, STR_NONE, ""));
    struct str fresh = rail_get(r.reply, "ackToken");
    fine("first", rail_continue(&r, state0, ack0, RAIL_NOTES));
    fine("V-PR-7", rail_continue(&r, state0, fresh, RAIL_NOTES));
    appended("V-PR-7", ADVANCED);
    const struct wr_event *trace = rail_event(&r, WR_DECISION_TRACE_APPENDED);
    cr_expect_eq(trace->u.trace.entries.v[0].kind, WR_T_NON_TIP);
    cr_expect_eq(rail_event(&r, WR_EDGE_CREATED)->u.edge.cause, WR_NON_TIP_ADVANCE);
    pending_is("V-PR-7", "inspect", "perform_pending_then_continue");
    const struct wr_event *recap = rail_event(&r, WR_NODE_OUTPUT_APPENDED);
    cr_expect(recap->u.output.supersedes.p != NULL, "one current recap on a node (V-OUT-4)");
}

Test(workrail_protocol, v_pr_8_to_9_checkpoint_and_scope, .init = up, .fini = down) {
    rail_start(&r, NULL);
    struct str state0 = rail_get(r.reply, "stateToken");
    fine("triage", rail_next(&r, RAIL_NOTES));
    struct str reply1 = r.reply, chk = rail_get(reply1, "checkpointToken");
    fine("V-PR-8", rail_checkpoint(&r, chk, ""));
    appended("V-PR-8", "node_created edge_created");
    struct str once = r.reply;
    kit_same("V-PR-8", rail_get(once, "stateToken"), rail_get(reply1, "stateToken"));
    fine("V-PR-8", rail_checkpoint(&r, chk, ""));
    appended("V-PR-8", "");
    kit_same("V-PR-8", r.reply, once);
    cr_expect_eq(rail_continue(&r, state0, rail_get(reply1, "ackToken"), RAIL_NOTES),
                 WR_TOKEN_SCOPE_MISMATCH, "V-PR-9");
    appended("V-PR-9", "");
    fine("both once each (WR-145)", rail_continue(&r, rail_get(reply1, "stateToken"),
                                                  rail_get(reply1, "ackToken"), RAIL_NOTES));
    cr_expect_eq(rail_event(&r, WR_EDGE_CREATED)->u.edge.cause, WR_INTENTIONAL_FORK, "WR-30");
}

static enum wr_code located(struct str token, struct str hash) {
    struct wr_token t;
    struct wr_fault f = {.code = WR_FINE};
    size_t run, node;
    enum wr_token_kind kind = token.p[0] == 's' ? WR_TOKEN_STATE : WR_TOKEN_ACK;
    cr_assert_eq(wr_token_read(&r.keys, token, kind, "stateToken", kit_a, &t, &f), 0);
    if (hash.p != NULL) t.workflow_hash = hash;
    (void)!wr_token_locate(r.s, &t, "stateToken", &run, &node, &f);
    return f.code;
}

Test(workrail_protocol, v_tk_n12_to_n13_a_step_that_is_not_known_and_another_hash, .init = up,
     .fini = down) {
    rail_start(&r, NULL);
    struct str state = rail_get(r.reply, "stateToken");
    kit_same("V-TK-N12", str_c(wr_code_name(located(kit_line("V-TK-1 token"), STR_NONE))),
             kit_code("V-TK-N12", 1, 0));
    kit_same("V-TK-N12", str_c(wr_code_name(located(kit_line("V-TK-2 token"), STR_NONE))),
             kit_code("V-TK-N12", 1, 0));
    cr_expect_eq(located(state, STR_NONE), WR_FINE);
    struct wr_digest other = wr_digest_of(STR("another"));
    kit_same("V-TK-N13", str_c(wr_code_name(located(state, wr_digest_str(&other)))),
             kit_code("V-TK-N13", 1, 0));
}

Test(workrail_protocol, a_checkpoint_with_notes_leaves_the_ack_usable_wr_145_wr_146, .init = up,
     .fini = down) {
    rail_start(&r, NULL);
    struct str first = r.reply;
    fine("checkpoint", rail_checkpoint(&r, rail_get(first, "checkpointToken"), RAIL_NOTES));
    appended("WR-146", "node_created edge_created node_output_appended");
    fine("advance",
         rail_continue(&r, rail_get(first, "stateToken"), rail_get(first, "ackToken"), RAIL_NOTES));
    appended("WR-145", ADVANCED);
}

Test(workrail_protocol, v_pr_12_13_keys_rotated_and_rehydrate_with_output, .init = up,
     .fini = down) {
    uint8_t key[WR_KEY_BYTES] = {9};
    rail_start(&r, NULL);
    struct str state0 = rail_get(r.reply, "stateToken"), ack0 = rail_get(r.reply, "ackToken");
    fine("V-PR-3", rail_continue(&r, state0, ack0, RAIL_NOTES));
    struct str before = r.reply;
    wr_keyring_rotate(&r.keys, key);
    fine("V-PR-12", rail_continue(&r, state0, ack0, RAIL_NOTES));
    appended("V-PR-12", "");
    kit_same("V-PR-12", rail_get(r.reply, "pending"), rail_get(before, "pending"));
    cr_expect_not(str_eq(rail_get(r.reply, "stateToken"), rail_get(before, "stateToken")));
    cr_expect_eq(rail_continue(&r, state0, STR_NONE, RAIL_NOTES), WR_VALIDATION_ERROR, "V-PR-13");
    appended("V-PR-13", "");
}

Test(workrail_protocol, v_pr_14_the_breaker_wr_137, .init = up, .fini = down) {
    to_decide();
    for (int i = 0; i < 10; i++) fine("V-PR-14", rail_next(&r, RAIL_NOTES));
    kit_same("V-PR-14", rail_get(r.reply, "kind"), STR("blocked"));
    cr_expect_eq(rail_next(&r, RAIL_NOTES), WR_PRECONDITION_FAILED, "V-PR-14");
    appended("V-PR-14", "");
}

/* --- V-LK --- */

static struct str completed(const struct wr_state *s) {
    struct buf b;
    buf_init(&b, 4096);
    for (size_t i = 0; i < s->completed.nr; i++)
        buf_addf(&b, "%s" STR_FMT, i > 0 ? " " : "", STR_ARG(s->completed.v[i]));
    struct str out = arena_str(kit_a, buf_str(&b));
    buf_fini(&b);
    return out;
}
static const char *trace_kinds(void) {
    static const char *const NAMES[] = {"selected", "evaluated", "entered", "exited", "non_tip"};
    const struct wr_event *e = rail_event(&r, WR_DECISION_TRACE_APPENDED);
    struct buf b;
    buf_init(&b, 1024);
    for (size_t i = 0; e != NULL && i < e->u.trace.entries.nr; i++)
        buf_addf(&b, "%s%s", i > 0 ? " " : "", NAMES[e->u.trace.entries.v[i].kind]);
    const char *out = arena_cstr(kit_a, buf_str(&b));
    buf_fini(&b);
    return out;
}
static void frame_is(const char *id, const struct wr_state *s, int64_t iteration, int64_t body) {
    cr_assert_eq(s->stack.nr, 1, "%s", id);
    cr_expect(s->stack.v[0].iteration == iteration && s->stack.v[0].body_index == body, "%s: %d %d",
              id, (int)s->stack.v[0].iteration, (int)s->stack.v[0].body_index);
}

Test(workrail_protocol, v_lk_1_to_4_a_loop_wr_95, .init = up, .fini = down) {
    rail_start(&r, NULL);
    fine("V-LK-1", rail_next(&r, RAIL_NOTES));
    struct wr_state s = rail_state(&r);
    frame_is("V-LK-1", &s, 0, 0);
    cr_expect_str_eq(trace_kinds(), "entered evaluated selected", "V-LK-1: %s", trace_kinds());
    fine("V-LK-2", rail_next(&r, RAIL_NOTES));
    s = rail_state(&r);
    frame_is("V-LK-2", &s, 0, 1);
    kit_same("V-LK-2", s.step.step_id, STR("decide"));
    fine("V-LK-3", rail_next(&r, CONTROL("continue")));
    s = rail_state(&r);
    frame_is("V-LK-3", &s, 1, 0);
    kit_same("V-LK-3", completed(&s),
             STR("investigation_pass@0::decide investigation_pass@0::inspect triage"));
    fine("inspect", rail_next(&r, RAIL_NOTES));
    fine("V-LK-4", rail_next(&r, CONTROL("stop")));
    s = rail_state(&r);
    cr_expect_eq(s.stack.nr, 0, "V-LK-4");
    kit_same("V-LK-4", completed(&s),
             STR("investigation_pass investigation_pass@0::decide investigation_pass@0::inspect "
                 "investigation_pass@1::decide investigation_pass@1::inspect triage"));
    kit_same("V-LK-4", s.step.step_id, STR("report"));
    cr_expect_str_eq(trace_kinds(), "evaluated exited selected", "V-LK-4: %s", trace_kinds());
}

Test(workrail_protocol, v_lk_5_the_limit_wr_102, .init = up, .fini = down) {
    rail_start(&r, NULL);
    fine("triage", rail_next(&r, RAIL_NOTES));
    for (int pass = 0; pass < 3; pass++) {
        fine("inspect", rail_next(&r, RAIL_NOTES));
        fine("decide", rail_next(&r, CONTROL("continue")));
    }
    kit_same("V-LK-5", rail_get(r.reply, "pending.stepId"), STR("report"));
    const struct wr_event *gap = rail_event(&r, WR_GAP_RECORDED);
    cr_assert_not_null(gap, "V-LK-5: no gap");
    cr_expect(gap->u.gap.severity == WR_WARNING && gap->u.gap.category == WR_UNEXPECTED);
    cr_expect(has(gap->u.gap.summary, "investigation_pass"));
    kit_same("V-LK-5", rail_get(r.reply, "warnings.0"), gap->u.gap.summary);
}

Test(workrail_protocol, v_lk_6_to_9_missing_invalid_and_last_decision, .init = up, .fini = down) {
    to_decide();
    struct str at = r.reply, state = rail_get(at, "stateToken");
    fine("V-LK-6", rail_next(&r, RAIL_NOTES));
    kit_same("V-LK-6", rail_get(r.reply, "blockers.blockers.0.code"),
             STR("MISSING_REQUIRED_OUTPUT"));
    kit_same("V-LK-6", rail_get(r.reply, "pending.stepId"), STR("decide"));
    fine("fresh", rail_continue(&r, state, STR_NONE, ""));
    fine("V-LK-7", rail_continue(&r, state, rail_get(r.reply, "ackToken"), CONTROL("maybe")));
    kit_same("V-LK-7", rail_get(r.reply, "blockers.blockers.0.code"),
             STR("INVALID_REQUIRED_OUTPUT"));
    cr_expect(rail_get(r.reply, "validation.issues.0").n > 0, "V-LK-7");
    fine("fresh", rail_continue(&r, state, STR_NONE, ""));
    fine("V-LK-9", rail_continue(&r, state, rail_get(r.reply, "ackToken"),
                                 ",\"output\":{\"artifacts\":["
                                 "{\"kind\":\"wr.loop_control\",\"decision\":\"continue\"},"
                                 "{\"kind\":\"wr.loop_control\",\"decision\":\"stop\"}]}"));
    kit_same("V-LK-9", rail_get(r.reply, "pending.stepId"), STR("report"));
}

Test(workrail_protocol, v_lk_8_never_stop_goes_on_with_a_gap, .init = up, .fini = down) {
    to_decide();
    fine("V-LK-8",
         rail_next(&r, RAIL_NOTES ",\"preferences\":{\"autonomy\":\"full_auto_never_stop\"}"));
    kit_same("V-LK-8", rail_get(r.reply, "pending.stepId"), STR("report"));
    const struct wr_event *gap = rail_event(&r, WR_GAP_RECORDED);
    cr_assert_not_null(gap, "V-LK-8");
    cr_expect(gap->u.gap.severity == WR_CRITICAL &&
              gap->u.gap.detail == WR_D_MISSING_REQUIRED_OUTPUT);
    kit_same("V-LK-8", rail_get(r.reply, "preferences.autonomy"), STR("full_auto_never_stop"));
    pending_is("WR-228", "report", "perform_pending_then_continue");
}

static struct str changed(const char *what, const char *with) {
    struct str line = kit_line("V-WF-4");
    const char *at = strstr(line.p, what);
    cr_assert_not_null(at);
    return arena_printf(kit_a, "%.*s%s%s", (int)(at - line.p), line.p, with, at + strlen(what));
}

Test(workrail_protocol, v_lk_10_to_11_no_pass_and_a_state_beyond, .init = up, .fini = down) {
    rail_close(&r);
    rail_open(&r,
              changed("{\"conditionId\":\"more_work\",\"continueWhen\":\"continue\","
                      "\"contractRef\":\"wr.contracts.loop_control\",\"kind\":\"loop_control\"}",
                      "{\"conditionId\":\"more_work\",\"kind\":\"always_false\"}"));
    rail_start(&r, NULL);
    fine("V-LK-10", rail_next(&r, RAIL_NOTES));
    kit_same("V-LK-10", rail_get(r.reply, "pending.stepId"), STR("report"));
    struct wr_state s = rail_state(&r);
    kit_same("V-LK-10", completed(&s), STR("investigation_pass triage"));
    cr_expect_str_eq(trace_kinds(), "evaluated exited selected", "V-LK-10: %s", trace_kinds());

    struct wr_workflow w;
    struct wr_next next;
    struct wr_fault f = {0};
    struct wr_frame beyond = {STR("investigation_pass"), 3, 0};
    cr_assert_eq(wr_workflow_read(kit_line("V-WF-4"), kit_a, &w, &f), 0);
    s = (struct wr_state){.kind = WR_S_RUNNING, .pending = 1, .stack = {&beyond, 1}};
    s.step.step_id = STR("inspect");
    s.step.path.v = &beyond;
    s.step.path.nr = 1;
    cr_expect_neq(wr_interpret(&w, &s, STR_NONE, NULL, kit_a, &next, &f), 0);
    cr_expect_eq(f.code, WR_LOOP_INVALID_STATE, "V-LK-11: %s", wr_code_name(f.code));
}

Test(workrail_protocol, v_lk_12_to_13_the_last_step, .init = up, .fini = down) {
    to_decide();
    fine("decide", rail_next(&r, CONTROL("stop")));
    struct str at = r.reply, state = rail_get(at, "stateToken");
    fine("V-LK-13", rail_next(&r, ",\"output\":{\"notesMarkdown\":\"short\"}"));
    kit_same("V-LK-13", rail_get(r.reply, "blockers.blockers.0.code"),
             STR("INVALID_REQUIRED_OUTPUT"));
    kit_same("V-LK-13", rail_get(r.reply, "blockers.blockers.0.pointer.contractRef"),
             STR("wr.validationCriteria"));
    cr_expect(rail_get(r.reply, "validation.issues.1").n > 0, "V-LK-13: two issues");
    cr_expect(rail_get(r.reply, "validation.issues.2").p == NULL, "V-LK-13: two issues");
    fine("fresh", rail_continue(&r, state, STR_NONE, ""));
    fine("V-LK-12", rail_continue(&r, state, rail_get(r.reply, "ackToken"),
                                  ",\"output\":{\"notesMarkdown\":\"## Findings\\nEverything that "
                                  "was looked at is in order.\"}"));
    kit_same("V-LK-12", rail_get(r.reply, "isComplete"), STR("true"));
    cr_expect(rail_get(r.reply, "ackToken").p == NULL, "V-LK-12: no ack");
    const struct wr_event *node = rail_event(&r, WR_NODE_CREATED);
    kit_same("V-LK-12", str_n(node->u.node.snapshot_ref.p + 7, 64), kit_code("V-SN-2", 1, 0));
    cr_expect_eq(rail_continue(&r, rail_get(r.reply, "stateToken"), STR_NONE, ""), WR_FINE);
    pending_is("complete", "", "complete");
}

Test(workrail_protocol, v_out_6_order_of_outputs_wr_40, .init = up, .fini = down) {
    to_decide();
    fine("V-OUT-6",
         rail_next(&r, ",\"output\":{\"notesMarkdown\":\"n\",\"artifacts\":[{\"kind\":"
                       "\"wr.loop_control\",\"loopId\":\"investigation_pass\",\"decision\":"
                       "\"continue\"},{\"kind\":\"wr.loop_control\",\"decision\":\"stop\"}]}"));
    const struct wr_event *last = r.events[r.events_nr - 1], *mid = r.events[r.events_nr - 2],
                          *first = r.events[r.events_nr - 3];
    cr_expect(first->u.output.channel == WR_RECAP);
    cr_expect(str_ends(mid->u.output.output_id, STR("_1")) &&
                  str_ends(last->u.output.output_id, STR("_0")),
              "V-OUT-6");
    kit_same("V-OUT-6", str_n(mid->u.output.sha256.p + 7, 64), kit_code("V-JCS-12", 3, 0));
    kit_same("V-OUT-6", str_n(last->u.output.sha256.p + 7, 64), kit_code("V-JCS-11", 3, 0));
}

/* --- what blocks beside the output (WR-148), and what is disclosed --- */

static void open_source(const char *source) {
    struct wr_workflow w;
    struct wr_problems problems;
    struct wr_fault f;
    cr_assert_eq(wr_compile(str_c(source), WR_PROJECT, kit_a, &w, &problems, &f), 0, "%s",
                 f.e.message);
    rail_close(&r);
    rail_open(&r, w.bytes);
    rail_start(&r, NULL);
}
#define OBSERVED(status)                                                                           \
    ",\"output\":{\"notesMarkdown\":\"n\",\"artifacts\":[{\"kind\":\"wr.capability_observation\"," \
    "\"capability\":\"web_browsing\",\"status\":\"" status "\",\"attempted\":true}]}"
#define WEB                                                                                        \
    "{\"id\":\"project.web\",\"recommendedAutonomy\":\"guided\",\"capabilities\":{"                \
    "\"web_browsing\":\"required\"},\"steps\":[{\"id\":\"s\",\"title\":\"S\",\"prompt\":\"p\"},{"  \
    "\"id\":\"e\",\"title\":\"E\",\"prompt\":\"p\"}]}"

Test(workrail_protocol, a_required_capability_is_probed_and_blocks_wr_169_wr_202, .init = up,
     .fini = down) {
    open_source(WEB);
    pending_is("WR-202", "wr_probe_web_browsing", "perform_pending_then_continue");
    struct str state = rail_get(r.reply, "stateToken");
    fine("unavailable", rail_next(&r, OBSERVED("unavailable")));
    kit_same("WR-148", rail_get(r.reply, "blockers.blockers.0.code"),
             STR("REQUIRED_CAPABILITY_UNAVAILABLE"));
    kit_same("WR-138", rail_get(r.reply, "nextCall"), STR("null"));
    cr_expect(rail_get(r.reply, "retryAckToken").p == NULL, "WR-138");
    cr_expect_eq(rail_next(&r, OBSERVED("available")), WR_TOKEN_SCOPE_MISMATCH, "WR-114, 17");
    fine("fresh", rail_continue(&r, state, STR_NONE, ""));
    fine("available", rail_next(&r, OBSERVED("available")));
    pending_is("WR-202", "s", "perform_pending_then_continue");
    const struct wr_event *e = rail_event(&r, WR_CAPABILITY_OBSERVED);
    cr_assert_not_null(e);
    cr_expect(e->u.capability.provenance == WR_PROBE_STEP && e->u.capability.result == 0);
    fine("strong evidence to the contrary", rail_next(&r, OBSERVED("unknown")));
    kit_same("WR-148", rail_get(r.reply, "blockers.blockers.0.code"),
             STR("REQUIRED_CAPABILITY_UNKNOWN"));
}

Test(workrail_protocol, never_stop_tells_of_a_capability_once_wr_139_wr_151_wr_152, .init = up,
     .fini = down) {
    open_source(WEB);
    fine("probe", rail_next(&r, ",\"output\":{\"notesMarkdown\":\"n\",\"artifacts\":[{\"kind\":"
                                "\"wr.capability_observation\",\"capability\":\"web_browsing\","
                                "\"status\":\"unavailable\",\"attempted\":true}]},\"preferences\":"
                                "{\"autonomy\":\"full_auto_never_stop\"}"));
    kit_same("WR-139", rail_get(r.reply, "kind"), STR("ok"));
    cr_expect(has(rail_get(r.reply, "warnings.0"), "web_browsing"));
    cr_expect(has(rail_get(r.reply, "warnings.1"), "recommends"), "WR-152");
    fine("next", rail_next(&r, RAIL_NOTES));
    for (size_t i = r.before; i < r.events_nr; i++)
        cr_expect(r.events[i]->kind != WR_GAP_RECORDED ||
                      r.events[i]->u.gap.category != WR_CAPABILITY_MISSING,
                  "told twice on a path");
    fine("last", rail_next(&r, RAIL_NOTES));
    kit_same("end", rail_get(r.reply, "isComplete"), STR("true"));
    enum wr_run_status status;
    cr_assert_eq(wr_run_status(r.s, 0, r.s->nodes_nr - 1, WR_S_COMPLETE, &status, &r.f), 0);
    cr_expect_eq(status, WR_COMPLETE_WITH_GAPS);
}

Test(workrail_protocol, a_session_begins_with_the_preferences_that_were_wished_wr_153, .init = up,
     .fini = down) {
    open_source(WEB);
    rail_close(&r);
    rail_open(&r, r.w.bytes);
    rail_start_as(&r, NULL, WR_NEVER_STOP, -1);
    appended("WR-50", "session_created run_started node_created preferences_changed "
                      "preferences_changed gap_recorded");
    kit_same("WR-168", rail_get(r.reply, "preferences.autonomy"), STR("full_auto_never_stop"));
    kit_same("WR-168", rail_get(r.reply, "preferences.riskPolicy"), STR("conservative"));
    cr_expect(has(rail_get(r.reply, "warnings.0"), "recommends"), "WR-152");
    fine("its first step takes preferences, too, and warns of them no second time",
         rail_next(&r, OBSERVED("available") ",\"preferences\":{\"riskPolicy\":\"balanced\"}"));
    kit_same("child", rail_get(r.reply, "preferences.autonomy"), STR("full_auto_never_stop"));
    kit_same("child", rail_get(r.reply, "preferences.riskPolicy"), STR("balanced"));
    for (size_t i = r.before; i < r.events_nr; i++)
        cr_expect_neq(r.events[i]->kind, WR_GAP_RECORDED, "WR-152: once for a node");
    fine("without notes", rail_next(&r, ""));
    kit_same("WR-139", rail_get(r.reply, "kind"), STR("ok"));
}

Test(workrail_protocol, preferences_of_a_refused_attempt_hold_for_its_block_wr_52_wr_153,
     .init = up, .fini = down) {
    open_source(WEB);
    fine("never-stop", rail_next(&r, RAIL_NOTES ",\"preferences\":{\"autonomy\":"
                                                "\"full_auto_never_stop\"}"));
    struct str state = rail_get(r.reply, "stateToken"), ack = rail_get(r.reply, "ackToken");
    fine("guided", rail_continue(&r, state, ack, ",\"preferences\":{\"autonomy\":\"guided\"}"));
    kit_same("blocked", rail_get(r.reply, "kind"), STR("blocked"));
    kit_same("by what it says", rail_get(r.reply, "preferences.autonomy"), STR("guided"));
    appended("WR-52", "advance_recorded preferences_changed validation_performed node_created "
                      "edge_created");
    struct str first = r.reply;
    fine("WR-140", rail_continue(&r, state, ack, ""));
    kit_same("WR-140", r.reply, first);
    fine("the retry", rail_next(&r, ",\"preferences\":{\"riskPolicy\":\"balanced\"}"));
    kit_same("goes by it", rail_get(r.reply, "kind"), STR("blocked"));
    enum wr_run_status status;
    cr_assert_eq(wr_run_status(r.s, 0, r.s->nodes_nr - 1, WR_S_BLOCKED, &status, &r.f), 0);
    cr_expect_eq(status, WR_STATUS_BLOCKED, "WR-163");
}

Test(workrail_protocol, a_retry_attempt_belongs_to_its_blocked_node_alone_wr_126, .init = up,
     .fini = down) {
    enum wr_run_status status;
    rail_start(&r, NULL);
    fine("blocked", rail_next(&r, ""));
    struct str blocked = rail_get(r.reply, "stateToken"),
               retry = rail_get(r.reply, "retryAckToken");
    fine("saved", rail_checkpoint(&r, rail_get(r.reply, "checkpointToken"), RAIL_NOTES));
    size_t kept = r.s->nodes_nr - 1;
    cr_assert_eq(wr_run_status(r.s, 0, kept, WR_S_BLOCKED, &status, &r.f), 0);
    cr_expect_eq(status, WR_STATUS_BLOCKED, "WR-163: it stands for the node that it was made of");
    fine("the checkpoint", rail_continue(&r, wr_state_token(&r.o, r.s, kept), STR_NONE, ""));
    kit_same("shows the block", rail_get(r.reply, "kind"), STR("blocked"));
    cr_expect_not(str_eq(rail_get(r.reply, "retryAckToken"), retry));
    fine("from there", rail_next(&r, RAIL_NOTES));
    kit_same("from there", rail_get(r.reply, "kind"), STR("ok"));
    fine("the block itself", rail_continue(&r, blocked, retry, RAIL_NOTES));
    kit_same("the block itself", rail_get(r.reply, "kind"), STR("ok"));
    fine("used", rail_continue(&r, blocked, STR_NONE, ""));
    cr_expect_not(str_eq(rail_get(r.reply, "retryAckToken"), retry));
}

Test(workrail_protocol, a_retry_that_goes_on_with_gaps_is_used_up_wr_126, .init = up,
     .fini = down) {
    rail_start(&r, NULL);
    fine("blocked", rail_next(&r, ""));
    struct str blocked = rail_get(r.reply, "stateToken"),
               retry = rail_get(r.reply, "retryAckToken");
    fine("with a gap", rail_next(&r, ",\"preferences\":{\"autonomy\":\"full_auto_never_stop\"}"));
    kit_same("with a gap", rail_get(r.reply, "kind"), STR("ok"));
    fine("again", rail_continue(&r, blocked, STR_NONE, ""));
    cr_expect_not(str_eq(rail_get(r.reply, "retryAckToken"), retry));
}

Test(workrail_protocol, what_only_the_user_can_do_blocks_for_good_q_4, .init = up, .fini = down) {
    rail_start(&r, NULL);
    fine("user", rail_next(&r, ",\"output\":{\"notesMarkdown\":\"n\",\"artifacts\":[{\"kind\":"
                               "\"wr.user_only_dependency\",\"reason\":\"needs_user_approval\","
                               "\"summary\":\"Sign it.\"}]}"));
    kit_same("Q-4", rail_get(r.reply, "blockers.blockers.0.code"), STR("USER_ONLY_DEPENDENCY"));
    kit_same("Q-4", rail_get(r.reply, "retryable"), STR("false"));
    cr_expect(has(rail_get(r.reply, "blockers.blockers.0.message"), "Sign it."));
    cr_expect_eq(rail_state(&r).block.reason.detail, WR_D_NEEDS_USER_APPROVAL);
}

Test(workrail_protocol, a_report_that_fits_no_form_is_told_and_loses_nothing, .init = up,
     .fini = down) {
    rail_start(&r, NULL);
    struct str state = rail_get(r.reply, "stateToken"), ack = rail_get(r.reply, "ackToken");
    cr_expect_eq(rail_continue(&r, state, ack,
                               ",\"output\":{\"notesMarkdown\":\"n\",\"artifacts\":[{\"kind\":"
                               "\"wr.user_only_dependency\",\"reason\":\"because\"}]}"),
                 WR_VALIDATION_ERROR);
    cr_expect_str_eq(r.f.e.pointer, "output.artifacts[0]");
    appended("refused", "");
    fine("the attempt is as good as before", rail_continue(&r, state, ack, RAIL_NOTES));
    appended("accepted", ADVANCED);
}

Test(workrail_protocol, a_branch_has_its_own_context_q_11, .init = up, .fini = down) {
    rail_start(&r, "{\"x\":1,\"gone\":null}");
    appended("start", "session_created run_started node_created preferences_changed context_set");
    kit_same("WR-172", wr_node_context(r.s, 0), STR("{\"x\":1}"));
    struct str state = rail_get(r.reply, "stateToken");
    fine("one", rail_next(&r, RAIL_NOTES ",\"context\":{\"y\":2}"));
    fine("fresh", rail_continue(&r, state, STR_NONE, ""));
    fine("two", rail_next(&r, RAIL_NOTES ",\"context\":{\"z\":3,\"x\":null}"));
    kit_same("Q-11", wr_node_context(r.s, 1), STR("{\"x\":1,\"y\":2}"));
    kit_same("Q-11", wr_node_context(r.s, 2), STR("{\"z\":3}"));
    fine("same again", rail_next(&r, RAIL_NOTES ",\"context\":{\"z\":3}"));
    cr_expect_null(rail_event(&r, WR_CONTEXT_SET), "no change, no event (V-CX-5)");
}

Test(workrail_protocol, a_resumed_agent_reads_what_was_done_wr_208, .init = up, .fini = down) {
    rail_start(&r, NULL);
    struct str state0 = rail_get(r.reply, "stateToken");
    fine("triage", rail_next(&r, ",\"output\":{\"notesMarkdown\":\"The risk is in the cookie.\"}"));
    struct str state1 = rail_get(r.reply, "stateToken");
    cr_expect_not(has(r.reply, "Recovery Context"), "not after an advance");
    fine("tip", rail_continue(&r, state1, STR_NONE, ""));
    struct str prompt = rail_get(r.reply, "pending.prompt");
    cr_expect(
        has(prompt, "## Recovery Context\n\n### Ancestry Recap\n\nThe risk is in the cookie."),
        STR_FMT, STR_ARG(prompt));
    fine("an older node", rail_continue(&r, state0, STR_NONE, ""));
    prompt = rail_get(r.reply, "pending.prompt");
    cr_expect(has(prompt, "### Branch Summary\n\n- node_"), STR_FMT, STR_ARG(prompt));
    cr_expect(has(prompt, "### Downstream Recap (Preferred Branch)\n\nThe risk is"), STR_FMT,
              STR_ARG(prompt));
}

Test(workrail_protocol, recovery_stays_within_its_budget_wr_209, .init = up, .fini = down) {
    rail_start(&r, NULL);
    struct str state0 = rail_get(r.reply, "stateToken"), notes = kit_repeat("\xC3\xA9", 2048, "");
    const char *big = arena_printf(kit_a,
                                   ",\"output\":{\"notesMarkdown\":\"" STR_FMT
                                   "\",\"artifacts\":[{\"kind\":\"wr.loop_control\","
                                   "\"decision\":\"continue\"}]}",
                                   STR_ARG(notes))
                          .p;
    const char *plain =
        arena_printf(kit_a, ",\"output\":{\"notesMarkdown\":\"" STR_FMT "\"}", STR_ARG(notes)).p;
    fine("triage", rail_next(&r, plain));
    for (int i = 0; i < 3; i++) {
        fine("inspect", rail_next(&r, plain));
        fine("decide", rail_next(&r, big));
    }
    fine("tip", rail_continue(&r, rail_get(r.reply, "stateToken"), STR_NONE, ""));
    struct str prompt = rail_get(r.reply, "pending.prompt");
    cr_expect(prompt.n < WR_RECOVERY_MAX + 400 && prompt.n > WR_RECOVERY_MAX - 100, "%zu",
              prompt.n);
    cr_expect(has(prompt, "\n\n[TRUNCATED]\n(1 sections left out)"), STR_FMT, STR_ARG(prompt));
    cr_expect(utf8_valid(prompt));
    fine("root", rail_continue(&r, state0, STR_NONE, ""));
    cr_expect(rail_get(r.reply, "pending.prompt").n < WR_RECOVERY_MAX + 400);
}

Test(workrail_protocol, arguments_are_checked_wr_216_wr_219, .init = up, .fini = down) {
    struct wr_call call;
    struct wr_fault f = {.code = WR_FINE};
    cr_expect_neq(wr_call_read(WR_TOOL_START, STR("{\"workflowID\":\"a.b\"}"), kit_a, &call, &f),
                  0);
    cr_expect(strstr(f.e.message, "did you mean workflowId") != NULL, "%s", f.e.message);
    cr_expect(strstr(f.e.details, "\"template\"") != NULL, "%s", f.e.details);
    cr_expect_neq(wr_call_read(WR_TOOL_CONTINUE,
                               STR("{\"stateToken\":\"s\",\"intent\":\"advance\"}"), kit_a, &call,
                               &f),
                  0);
    cr_expect_str_eq(f.e.pointer, "ackToken");
    cr_expect_neq(wr_call_read(WR_TOOL_CONTINUE,
                               STR("{\"stateToken\":\"s\",\"ackToken\":\"a\","
                                   "\"intent\":\"rehydrate\"}"),
                               kit_a, &call, &f),
                  0);
    cr_expect_neq(wr_call_read(WR_TOOL_RESUME, STR("{\"gitHeadSha\":\"xyz\"}"), kit_a, &call, &f),
                  0);
    cr_expect_eq(
        wr_call_read(WR_TOOL_RESUME, STR("{\"query\":\"\",\"gitHeadSha\":\"\"}"), kit_a, &call, &f),
        0, "empty is not given (WR-178)");
    cr_expect_neq(wr_call_read(WR_TOOL_CHECKPOINT,
                               STR("{\"checkpointToken\":\"c\",\"output\":{"
                                   "\"artifacts\":[1]}}"),
                               kit_a, &call, &f),
                  0);
    cr_expect_str_eq(f.e.pointer, "output.artifacts[0]");
}

Test(workrail_protocol, a_run_has_an_end_whatever_its_loops_say, .init = up, .fini = down) {
    struct wr_workflow w;
    struct wr_next next = {.state = {.kind = WR_S_RUNNING}};
    struct wr_fault f = {.code = WR_FINE};
    cr_assert_eq(wr_workflow_read(changed("\"maxIterations\":3", "\"maxIterations\":2000000000"),
                                  kit_a, &w, &f),
                 0);
    struct str *v = ARENA_ARRAY(kit_a, struct str, WR_COMPLETED_MAX);
    for (size_t i = 0; i < WR_COMPLETED_MAX; i++)
        v[i] = arena_printf(kit_a, "investigation_pass@%05zu::inspect", i);
    struct wr_frame at = {STR("investigation_pass"), 1000000, 0};
    struct wr_state s = {.kind = WR_S_RUNNING,
                         .completed = {v, WR_COMPLETED_MAX - 1},
                         .stack = {&at, 1},
                         .pending = 1};
    s.step.step_id = STR("inspect");
    s.step.path.v = &at;
    s.step.path.nr = 1;
    cr_expect_eq(wr_interpret(&w, &s, STR_NONE, NULL, kit_a, &next, &f), 0, "%s", f.e.message);
    s.completed.nr = WR_COMPLETED_MAX;
    cr_expect_neq(wr_interpret(&w, &s, STR_NONE, NULL, kit_a, &next, &f), 0);
    cr_expect_eq(f.code, WR_PRECONDITION_FAILED, "%s", wr_code_name(f.code));
}
