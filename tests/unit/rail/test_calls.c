/* Calls on a stored session: the sequences V-PR by their ids, and the runs that show them. */
#include "rail/rail_int.h"
#include "unit/rail/calls.h"

static struct calls c;
static bool damaged; /* the test has changed the schema */
static void up(void) { calls_up(&c); }
static void down(void) {
    if (!damaged) cr_expect_eq(kit_verify(&c.k), 0, "the database is as it should be");
    calls_down(&c);
}
#define CALLS(name) Test(rail_calls, name, .init = up, .fini = down)

#define ADVANCED                                                                                   \
    "advance_recorded decision_trace_appended node_created edge_created node_output_appended"
#define ASKED "node.started interrupt.requested node.suspended"

static void expect_kinds(const char *id, struct str session, size_t from, const char *want) {
    struct str has = calls_kinds(&c, session, from);
    cr_expect(str_eqc(has, want), "%s appends " STR_FMT, id, STR_ARG(has));
}

static void expect_step(const char *id, const char *step, const char *intent) {
    cr_expect(str_eqc(calls_get(&c, "pending.stepId"), step), "%s: " STR_FMT, id, STR_ARG(c.reply));
    cr_expect(str_eqc(calls_get(&c, "nextIntent"), intent), "%s: " STR_FMT, id, STR_ARG(c.reply));
}

CALLS(v_pr_1_to_4_start_rehydrate_advance_replay) {
    calls_fine(&c, "V-PR-1", calls_start(&c, ""));
    struct str session = calls_get(&c, "session.sessionId"), run = calls_get(&c, "session.runId");
    struct str state0 = calls_get(&c, "stateToken"), ack0 = calls_get(&c, "ackToken");
    expect_kinds("V-PR-1", session, 0,
                 "session_created run_started node_created preferences_changed");
    expect_step("V-PR-1", "triage", "perform_pending_then_continue");
    cr_expect(str_eqc(calls_log(&c, run), "run.started log.appended " ASKED), STR_FMT,
              STR_ARG(calls_log(&c, run)));
    cr_expect_eq(calls_run(&c, run).status, RUN_WAITING_INPUT);

    calls_fine(&c, "V-PR-2", calls_continue(&c, state0, STR_NONE, ""));
    expect_kinds("V-PR-2", session, 4, "");
    expect_step("V-PR-2", "triage", "rehydrate_only");

    calls_fine(&c, "V-PR-3", calls_continue(&c, state0, ack0, CALLS_NOTES));
    expect_kinds("V-PR-3", session, 4, ADVANCED);
    expect_step("V-PR-3", "inspect", "perform_pending_then_continue");
    struct str third = c.reply;
    int64_t seq = calls_run(&c, run).next_seq;

    calls_fine(&c, "V-PR-4",
               calls_continue(&c, state0, ack0, ",\"output\":{\"notesMarkdown\":\"Other.\"}"));
    expect_kinds("V-PR-4", session, 9, "");
    cr_expect(str_eq(c.reply, third), "V-PR-4: the same bytes");
    cr_expect_eq(calls_run(&c, run).next_seq, seq, "V-PR-4: no event of the run");
    cr_expect_eq(calls_replays(&c, session), 1);
}

static void workflow_add(const char *source) {
    cr_assert_eq(rail_workflow_add(c.rail, str_c(source), WR_PROJECT, STR("x.json"), &c.f), 0, "%s",
                 c.f.e.message);
}

CALLS(what_is_complete_at_once_is_a_session_all_the_same /* WR-120 */) {
    workflow_add(
        "{\"id\":\"project.none\",\"steps\":[{\"id\":\"s1\",\"title\":\"T\",\"prompt\":\"P\","
        "\"runCondition\":{\"var\":\"x\",\"gt\":1}}]}");
    calls_fine(&c, "WR-120",
               calls_tool(&c, WR_TOOL_START, STR("{\"workflowId\":\"project.none\"}")));
    struct str session = calls_get(&c, "session.sessionId"), run = calls_get(&c, "session.runId");
    cr_expect(str_eqc(calls_get(&c, "isComplete"), "true"), STR_FMT, STR_ARG(c.reply));
    cr_expect_null(calls_get(&c, "ackToken").p);
    cr_expect_eq(calls_run(&c, run).status, RUN_COMPLETED);
    cr_expect(str_eqc(calls_log(&c, run), "run.started log.appended run.completed"), STR_FMT,
              STR_ARG(calls_log(&c, run)));
    cr_expect_eq(calls_replays(&c, session), 1);
    calls_fine(&c, "rehydrate", calls_continue(&c, calls_get(&c, "stateToken"), STR_NONE, ""));
    calls_fine(&c, "with it",
               calls_tool(&c, WR_TOOL_START,
                          STR("{\"workflowId\":\"project.none\",\"context\":{\"x\":2}}")));
    expect_step("with it", "s1", "perform_pending_then_continue");
}

CALLS(an_unknown_workflow_is_told_with_those_near_it /* WR-222 */) {
    cr_expect_eq(calls_tool(&c, WR_TOOL_INSPECT, STR("{\"workflowId\":\"project.auth_revue\"}")),
                 WR_NOT_FOUND);
    cr_expect_not_null(strstr(c.f.e.message, "did you mean project.auth_review?"), "%s",
                       c.f.e.message);
    cr_expect_not_null(strstr(c.f.e.details, "\"near\":[\"project.auth_review\"]"), "%s",
                       c.f.e.details);
    cr_expect_not_null(strstr(c.f.e.details, "\"suggestion\":"), "WR-231: %s", c.f.e.details);
    cr_expect_eq(calls_tool(&c, WR_TOOL_START, STR("{\"workflowId\":\"none\"}")), WR_NOT_FOUND);
    cr_expect_not_null(strstr(c.f.e.details, "list_workflows"), "%s", c.f.e.details);
    cr_expect_eq(calls_tool(&c, WR_TOOL_START, STR("{}")), WR_VALIDATION_ERROR);
    cr_expect_not_null(strstr(c.f.e.details, "\"suggestion\":"), "WR-219: %s", c.f.e.details);
}

CALLS(a_preview_has_the_prompt_as_an_agent_reads_it /* WR-222 */) {
    workflow_add(
        "{\"id\":\"project.p\",\"agentRole\":\"You are strict.\",\"conditions\":[{"
        "\"conditionId\":\"c\",\"kind\":\"always_true\"}],\"steps\":[{\"type\":\"loop\","
        "\"loopId\":\"l\",\"while\":{\"kind\":\"condition_ref\",\"conditionId\":\"c\"},"
        "\"maxIterations\":1,\"body\":[{\"id\":\"s1\",\"title\":\"T\",\"prompt\":\"Look.\","
        "\"validationCriteria\":{\"type\":\"length\",\"min\":7}}]}]}");
    calls_fine(&c, "inspect",
               calls_tool(&c, WR_TOOL_INSPECT, STR("{\"workflowId\":\"project.p\"}")));
    struct str shown = calls_get(&c, "firstStep.prompt");
    calls_fine(&c, "start", calls_tool(&c, WR_TOOL_START, STR("{\"workflowId\":\"project.p\"}")));
    cr_expect_gt(shown.n, 0);
    cr_expect(str_eq(shown, calls_get(&c, "pending.prompt")), STR_FMT, STR_ARG(shown));
    calls_fine(&c, "metadata",
               calls_tool(&c, WR_TOOL_INSPECT,
                          STR("{\"workflowId\":\"project.p\",\"mode\":\"metadata\"}")));
    cr_expect_null(calls_get(&c, "firstStep").p);
}

static void to_decide(void) {
    calls_fine(&c, "start", calls_start(&c, ""));
    calls_fine(&c, "triage", calls_next(&c, CALLS_NOTES));
    calls_fine(&c, "inspect", calls_next(&c, CALLS_NOTES));
}

CALLS(v_pr_5_to_6_blocked_retried_and_the_end) {
    to_decide();
    struct str session = calls_get(&c, "session.sessionId"), run = calls_get(&c, "session.runId");
    size_t n = calls_events(&c, session);
    calls_fine(&c, "V-PR-5", calls_next(&c, CALLS_NOTES));
    expect_kinds("V-PR-5", session, n,
                 "advance_recorded validation_performed node_created edge_created");
    cr_expect(str_eqc(calls_get(&c, "kind"), "blocked"));
    cr_expect(str_eq(calls_get(&c, "retryAckToken"), calls_get(&c, "ackToken")));
    cr_expect_eq(calls_run(&c, run).status, RUN_WAITING_INPUT);
    n = calls_events(&c, session);
    calls_fine(&c, "V-PR-6", calls_next(&c, CALLS_CONTROL("stop")));
    expect_step("V-PR-6", "report", "await_user_confirmation");
    cr_expect_eq(calls_run(&c, run).status, RUN_WAITING_APPROVAL, "WR-259");
    calls_fine(&c, "report", calls_next(&c, CALLS_REPORT));
    cr_expect(str_eqc(calls_get(&c, "nextIntent"), "complete"));
    cr_expect_eq(calls_run(&c, run).status, RUN_COMPLETED);
    cr_expect_eq(calls_replays(&c, session), 1);
    struct plan_artifact art;
    struct rail_session s = calls_session(&c, session);
    for (size_t i = 0; i < s.events_nr; i++)
        if (s.events[i].kind == WR_NODE_OUTPUT_APPENDED &&
            s.events[i].u.output.channel == WR_ARTIFACT)
            cr_expect_eq(store_artifact_get(c.k.s, KIT_TENANT, false, run,
                                            s.events[i].u.output.output_id, c.a, &art, &c.k.err),
                         0, "%s", c.k.err.message);
    rail_session_fini(&s);
}

CALLS(a_branch_has_rows_of_all_that_it_inherits) {
    calls_fine(&c, "start", calls_start(&c, ",\"context\":{\"goal\":\"X\",\"tries\":1}"));
    struct str session = calls_get(&c, "session.sessionId");
    calls_fine(&c, "triage", calls_next(&c, CALLS_NOTES));
    struct str state = calls_get(&c, "stateToken"), ack;
    calls_fine(&c, "inspect", calls_next(&c, ",\"context\":{\"tries\":2}" CALLS_NOTES));
    calls_fine(&c, "inspect is looked at", calls_continue(&c, state, STR_NONE, ""));
    ack = calls_get(&c, "ackToken");
    calls_fine(&c, "inspect, otherwise",
               calls_continue(&c, state, ack, ",\"context\":{\"tries\":3}" CALLS_NOTES));
    cr_expect_eq(calls_replays(&c, session), 2);
}

CALLS(v_pr_7_an_older_node_makes_a_branch_and_a_run_of_its_own) {
    calls_fine(&c, "start", calls_start(&c, ",\"context\":{\"goal\":\"Fix\",\"n\":1}"));
    struct str session = calls_get(&c, "session.sessionId"), run = calls_get(&c, "session.runId");
    struct str state0 = calls_get(&c, "stateToken"), ack0 = calls_get(&c, "ackToken");
    calls_fine(&c, "V-PR-2", calls_continue(&c, state0, STR_NONE, ""));
    struct str fresh = calls_get(&c, "ackToken");
    calls_fine(&c, "first", calls_continue(&c, state0, ack0, CALLS_NOTES));
    size_t n = calls_events(&c, session);
    calls_fine(&c, "V-PR-7", calls_continue(&c, state0, fresh, CALLS_NOTES));
    expect_kinds("V-PR-7", session, n, ADVANCED);
    expect_step("V-PR-7", "inspect", "perform_pending_then_continue");
    struct str again = c.reply;
    cr_expect_eq(calls_replays(&c, session), 2, "WR-262: a run for the branch");
    calls_fine(&c, "again", calls_continue(&c, state0, fresh, CALLS_NOTES));
    cr_expect(str_eq(again, c.reply));

    /* The branch goes on in its own run, the first one where it was. */
    int64_t seq = calls_run(&c, run).next_seq;
    calls_fine(&c, "branch", calls_next(&c, CALLS_NOTES));
    cr_expect_eq(calls_run(&c, run).next_seq, seq);
    cr_expect_eq(calls_replays(&c, session), 2);

    const struct run_filter forks = {.tenant = KIT_TENANT, .status = -1, .fork_of = run, .max = 10};
    struct run_list l;
    cr_assert_eq(store_run_list(c.k.s, &forks, c.a, &l, &c.k.err), 0);
    cr_assert_eq(l.n, 1);
    cr_expect_eq(l.v[0].fork.mode, FORK_BRANCH);
}

CALLS(v_pr_8_9_checkpoint_and_scope) {
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str session = calls_get(&c, "session.sessionId"), run = calls_get(&c, "session.runId");
    struct str state0 = calls_get(&c, "stateToken"), ack0 = calls_get(&c, "ackToken");
    struct str chk = arena_printf(c.a, "{\"checkpointToken\":\"" STR_FMT "\"" CALLS_NOTES "}",
                                  STR_ARG(calls_get(&c, "checkpointToken")));
    calls_fine(&c, "V-PR-8", calls_tool(&c, WR_TOOL_CHECKPOINT, chk));
    struct str first = c.reply;
    expect_kinds("V-PR-8", session, 4, "node_created edge_created node_output_appended");
    cr_expect(str_eq(calls_get(&c, "stateToken"), state0), "V-PR-8: work goes on there");
    calls_fine(&c, "V-PR-8", calls_tool(&c, WR_TOOL_CHECKPOINT, chk));
    cr_expect(str_eq(c.reply, first));
    expect_kinds("V-PR-8", session, 7, "");
    cr_expect(str_ends(calls_log(&c, run), STR("node.started node.completed")));
    cr_expect_eq(calls_run(&c, run).status, RUN_WAITING_INPUT, "it asks as before");

    calls_fine(&c, "advance", calls_continue(&c, state0, ack0, CALLS_NOTES));
    cr_expect_eq(calls_replays(&c, session), 1, "a checkpoint is no fork (WR-30)");
    struct str ack1 = calls_get(&c, "ackToken");
    cr_expect_eq(calls_continue(&c, state0, ack1, ""), WR_TOKEN_SCOPE_MISMATCH, "V-PR-9");
    cr_expect_eq(calls_continue(&c, state0, STR_NONE, CALLS_NOTES), WR_VALIDATION_ERROR, "V-PR-13");
}

CALLS(v_pr_12_a_rotated_keyring_signs_the_same_facts) {
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str state0 = calls_get(&c, "stateToken"), ack0 = calls_get(&c, "ackToken");
    calls_fine(&c, "V-PR-3", calls_continue(&c, state0, ack0, CALLS_NOTES));
    struct str first = calls_get(&c, "pending.prompt"), token = calls_get(&c, "stateToken");
    cr_assert_eq(rail_keyring_rotate(c.rail, &c.f), 0, "%s", c.f.e.message);
    calls_fine(&c, "V-PR-12", calls_continue(&c, state0, ack0, CALLS_NOTES));
    cr_expect(str_eq(calls_get(&c, "pending.prompt"), first));
    cr_expect_not(str_eq(calls_get(&c, "stateToken"), token), "V-PR-12: signed by the new key");
    cr_assert_eq(rail_keyring_rotate(c.rail, &c.f), 0);
    cr_expect_eq(calls_continue(&c, state0, ack0, CALLS_NOTES), WR_TOKEN_BAD_SIGNATURE,
                 "after two rotations a token is void (WR-112)");
}

CALLS(v_pr_14_ten_blocked_retries_are_the_last) {
    to_decide();
    struct str session = calls_get(&c, "session.sessionId");
    for (int i = 0; i < 10; i++) calls_fine(&c, "retry", calls_next(&c, CALLS_NOTES));
    size_t n = calls_events(&c, session);
    cr_expect_eq(calls_next(&c, CALLS_NOTES), WR_PRECONDITION_FAILED, "V-PR-14");
    cr_expect_eq(calls_events(&c, session), n);
    cr_expect_eq(calls_replays(&c, session), 1);
}

CALLS(tokens_of_others_say_nothing /* WR-116, WR-268 */) {
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str state = calls_get(&c, "stateToken");
    c.who.tenant = STR("tenant-b");
    cr_expect_eq(calls_continue(&c, state, STR_NONE, ""), WR_TOKEN_UNKNOWN_NODE);
    struct str theirs = arena_str(c.a, str_c(c.f.e.message));
    c.who.tenant = KIT_TENANT;
    c.who.test_mode = true;
    cr_expect_eq(calls_continue(&c, state, STR_NONE, ""), WR_TOKEN_UNKNOWN_NODE);
    cr_expect(str_eqc(theirs, c.f.e.message));
    c.who.test_mode = false;
    for (size_t at = state.n - 60; at < state.n; at += 7) {
        char *flipped = arena_cstr(c.a, state);
        flipped[at] = flipped[at] == 'A' ? 'B' : 'A';
        enum wr_code code = calls_continue(&c, str_c(flipped), STR_NONE, "");
        cr_expect(code == WR_TOKEN_BAD_SIGNATURE || code == WR_TOKEN_INVALID_FORMAT, "%s",
                  wr_code_name(code));
        cr_expect_null(strstr(c.f.e.message, flipped), "a token is never repeated");
    }
}

CALLS(two_processes_on_one_session /* V-PR-10, WR-59 */) {
    struct store *other = kit_other(&c.k);
    struct rail *theirs, *mine = c.rail;
    calls_rail(&c, other, &theirs);
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str session = calls_get(&c, "session.sessionId");
    struct str state0 = calls_get(&c, "stateToken"), ack0 = calls_get(&c, "ackToken");
    calls_fine(&c, "first", calls_continue(&c, state0, ack0, CALLS_NOTES));
    struct str first = c.reply;
    c.rail = theirs;
    calls_fine(&c, "V-PR-10", calls_continue(&c, state0, ack0, CALLS_NOTES));
    cr_expect(str_eq(c.reply, first), "V-PR-10: the other's reply, by replay");
    cr_expect_eq(calls_events(&c, session), 9);
    c.rail = mine;
    rail_free(theirs);
    store_close(other);
}

CALLS(a_gate_is_good_while_it_is_held /* WR-58 */) {
    struct rail_gate g, again, old;
    struct str id = STR("sess_a");
    cr_assert_eq(rail_gate_enter(c.rail, id, &g, &c.f), 0);
    cr_expect_eq(rail_gate_check(&g, id, &c.f), 0);
    cr_expect_neq(rail_gate_check(&g, STR("sess_b"), &c.f), 0, "of this session alone");
    cr_expect_neq(rail_gate_enter(c.rail, id, &again, &c.f), 0);
    cr_expect_eq(c.f.code, WR_SESSION_LOCK_REENTRANT);
    old = g;
    rail_gate_leave(&g);
    cr_expect_neq(rail_gate_check(&old, id, &c.f), 0, "after it was given back");
    cr_assert_eq(rail_gate_enter(c.rail, id, &again, &c.f), 0);
    cr_expect_neq(rail_gate_check(&old, id, &c.f), 0, "also while another has the session");
    cr_expect_eq(c.f.code, WR_SESSION_STORE_INVARIANT_VIOLATION);
    rail_gate_leave(&again);
    rail_gate_leave(&again);
}

CALLS(what_is_cancelled_takes_no_more /* WR-264 */) {
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str run = calls_get(&c, "session.runId"), state = calls_get(&c, "stateToken");
    struct plan *p = plan_new();
    struct run_head h = calls_run(&c, run);
    p->what = PLAN_RUN;
    p->run_no = h.run_no;
    p->base_seq = h.next_seq;
    p->epoch = h.epoch;
    p->has_update = true;
    p->update = (struct run_row_update){
        .status = RUN_CANCELLED, .unread = true, .completed_ms = clock_wall_ms()};
    (void)plan_event(p, c.rules, NULL, EV_RUN_CANCELLED, STR_NONE, -1, clock_wall_ms(),
                     pay_run_cancelled(p->arena, STR_NONE, STR("me"), 1));
    plan_interrupt(p, &(struct plan_interrupt){.op = INTR_ROW_CLOSE_ALL,
                                               .state = IROW_REJECTED,
                                               .resolved_ms = 1,
                                               .resolved_seq = -1,
                                               .cause = STR("run-cancelled")});
    cr_assert_eq(kit_apply(&c.k, p), 0, "%s", c.k.err.message);
    cr_expect_eq(calls_next(&c, CALLS_NOTES), WR_PRECONDITION_FAILED);
    calls_fine(&c, "reads go on", calls_continue(&c, state, STR_NONE, ""));
}

CALLS(an_attested_log_with_events_after_it_takes_no_more /* WR-71 */) {
    damaged = true;
    calls_fine(&c, "start", calls_start(&c, ""));
    cr_assert_eq(kit_foreign(&c.k,
                             "PRAGMA recursive_triggers = OFF; DROP TRIGGER wr_event_reserved;"
                             " INSERT INTO wr_event SELECT session_no, 4, 'evt_x', kind,"
                             " run_id, node_id, 'x', bytes FROM wr_event WHERE event_index = 1"),
                 SQLITE_OK);
    cr_expect_eq(calls_next(&c, CALLS_NOTES), WR_SESSION_STORE_CORRUPTION_DETECTED);
    cr_assert_eq(kit_foreign(&c.k,
                             "UPDATE meta SET value = 1 WHERE name = 'retention'; DELETE FROM"
                             " wr_event WHERE event_index = 4; UPDATE meta SET value = 0 WHERE"
                             " name = 'retention'; CREATE TRIGGER wr_event_reserved BEFORE"
                             " INSERT ON wr_event\nWHEN 0 BEGIN SELECT 1; END;"),
                 SQLITE_OK);
    calls_fine(&c, "mended", calls_next(&c, CALLS_NOTES));
    cr_assert_eq(kit_foreign(&c.k, "DROP TRIGGER wr_event_reserved"), SQLITE_OK);
}

CALLS(other_programs_cannot_change_a_log /* WR-70 */) {
    calls_fine(&c, "start", calls_start(&c, ""));
    cr_expect_neq(kit_foreign(&c.k, "UPDATE wr_event SET bytes = '{}'"), SQLITE_OK);
    cr_expect_neq(kit_foreign(&c.k, "DELETE FROM wr_event"), SQLITE_OK);
    cr_expect_neq(kit_foreign(&c.k, "DELETE FROM wr_manifest"), SQLITE_OK);
    cr_expect_neq(kit_foreign(&c.k, "INSERT INTO wr_event SELECT session_no, 9, 'evt_x', kind,"
                                    " run_id, node_id, 'x', bytes FROM wr_event LIMIT 1"),
                  SQLITE_OK);
}
