/* test_interrupts.c: asking, answering, votes, deadlines, races and crashes (INT-*, EVT-26..30,
 * STORE-8..10, STORE-35). */
#include "engine_world.h"

#include "codec/json.h"
#include "domain/interrupt.h"
#include "store/interrupts.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void up_virtual(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_interrupts, .init = world_up, .fini = world_down);
TestSuite(engine_deadlines, .init = up_virtual, .fini = world_down);

#define ACCEPT "{\"action\":\"accept\"}"
#define REJECT "{\"action\":\"reject\"}"

static struct str gate_def(const char *config) {
    char node[1024];
    snprintf(node, sizeof node, NODE("g", "core.approvalGate", "%s", ""), config);
    return world_def("w", node, 0, 0, 0, 0);
}

static struct str gate_run(const char *config) {
    struct str r = world_start(gate_def(config), NULL);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    return r;
}

/* Result code; *c keeps the rest until call_fini. */
static int resolve(struct call *c, struct str run, const char *node, const char *value) {
    call_init(c, ENGINE_RESOLVE, run);
    c->cmd.resolve.node_id = str_c(node);
    c->cmd.resolve.value = str_c(value);
    call_do(c);
    return c->cmd.result.rc;
}
static int resolve_rc(struct str run, const char *node, const char *value) {
    struct call c;
    int rc = resolve(&c, run, node, value);
    call_fini(&c);
    return rc;
}

static struct interrupt_row row_of(struct str run) {
    struct interrupt_list l;
    struct wopr_error err;
    cr_assert_eq(
        store_interrupts_of_run(W.store, world_head(run).run_no, STR_NONE, false, W.a, &l, &err),
        0);
    cr_assert_geq(l.n, 1u);
    return l.v[l.n - 1];
}

static struct str payload(struct str run, enum ev_kind kind) {
    return world_event(run, kind, 1)->payload;
}

/* --- asking --- */

Test(engine_interrupts, an_approval_asks_and_the_answer_completes_the_node /* EVT-26, EVT-27 */) {
    struct str r = gate_run("\"title\":\"Ship it?\",\"actions\":[\"accept\",\"edit-accept\"]");
    EXPECT_STR(world_story(r), "run.started node.started(g) interrupt.requested(g) "
                               "approval.requested(g) node.suspended(g)");
    struct interrupt_row row = row_of(r);
    cr_expect_eq(row.state, IROW_PENDING);
    cr_expect(str_eqc(row.kind, "approval"));
    char key[128];
    snprintf(key, sizeof key, STR_FMT ":g:0", STR_ARG(r));
    cr_expect(str_eqc(row.key, key), "INT-3");
    struct str asked = payload(r, EV_APPROVAL_REQUESTED), sus = payload(r, EV_NODE_SUSPENDED);
    cr_expect(str_eqc(json_get(asked, "actions"), "[\"accept\",\"edit\"]"), "CX-16");
    cr_expect(str_eq(json_string(json_get(sus, "interruptId"), W.a), row.interrupt_id), "INT-9");
    cr_expect(str_eqc(world_view(r).current_node, "g"), "EVT-43");
    struct call c;
    cr_assert_eq(resolve(&c, r, "g", ACCEPT), 0, "%s", c.cmd.result.err.message);
    cr_expect_eq(c.cmd.result.status, RUN_RUNNING);
    cr_expect(str_eq(c.cmd.result.interrupt_id, row.interrupt_id));
    call_fini(&c);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r),
               "run.started node.started(g) interrupt.requested(g) approval.requested(g) "
               "node.suspended(g) interrupt.resolved(g) approval.received(g) node.resumed(g) "
               "node.completed(g) run.completed");
    cr_expect(str_eqc(json_get(payload(r, EV_APPROVAL_RECEIVED), "decidedBy"), "\"s1\""), "INT-23");
    struct str out = json_get(payload(r, EV_NODE_COMPLETED), "outputs");
    cr_expect(str_eqc(json_get(out, "action"), "\"accept\""), "INT-25");
    row = row_of(r);
    cr_expect_eq(row.state, IROW_RESUMED);
    cr_expect(str_eqc(row.action, "accept"));
    world_check_log(r);
}

Test(engine_interrupts, a_rejection_fails_the_run /* INT-25, NODE-40 */) {
    struct str r = gate_run("");
    cr_expect_eq(resolve_rc(r, "g", REJECT), 0);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect(str_eqc(json_get(json_get(payload(r, EV_RUN_FAILED), "error"), "code"),
                      "\"approval_rejected\""));
}

Test(engine_interrupts, an_author_may_route_by_the_decision /* INT-25 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("g", "core.approvalGate", "",
                       "") "," NODE("y", "core.noop", "", "") "," NODE("n", "core.noop", "", ""),
                  EDGE("e1", "g", "y",
                       ",\"condition\":{\"type\":\"equals\",\"left\":\"output.action\",\"right\":"
                       "\"accept\"}") "," EDGE("e2", "g", "n",
                                               ",\"condition\":{\"type\":\"equals\",\"left\":"
                                               "\"output.action\","
                                               "\"right\":\"reject\"}"),
                  0, 0, 0),
        NULL);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    cr_expect_eq(resolve_rc(r, "g", REJECT), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_not_null(strstr(world_story(r), "node.completed(n)"), "%s", world_story(r));
    cr_expect_not_null(strstr(world_story(r), "node.skipped(y)"));
}

Test(engine_interrupts, a_refused_answer_leaves_everything_as_it_was /* INT-20, INT-22 */) {
    static const char *const bad[] = {"{}",
                                      "{\"action\":\"refine\"}",
                                      "{\"action\":1}",
                                      "[]",
                                      "null",
                                      "{\"decision\":\"timeout\"}",
                                      "{\"action\":\"accept\",\"comment\":5}",
                                      "{\"action\":\"accept\",\"decidedAt\":\"soon\"}"};
    struct str r = gate_run("");
    int64_t before = world_head(r).next_seq;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(resolve_rc(r, "g", bad[i]), WOPR_E_VALIDATION, "%s", bad[i]);
    cr_expect_eq(resolve_rc(r, "h", ACCEPT), WOPR_E_INTERRUPT_NOT_FOUND);
    cr_expect_eq(world_head(r).next_seq, before);
    cr_expect_eq(row_of(r).state, IROW_PENDING);
    cr_expect_eq(resolve_rc(r, "g", "{\"decision\":\"approved\"}"), 0, "INT-24");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(resolve_rc(r, "g", ACCEPT), WOPR_E_INTERRUPT_RESOLVED, "INT-19");
}

Test(engine_interrupts, approvers_are_enforced /* INT-27, D49 */) {
    struct str r = gate_run("\"approversList\":[\"somebody\"]");
    cr_expect_eq(resolve_rc(r, "g", ACCEPT), WOPR_E_FORBIDDEN);
    struct str q = gate_run("\"approversList\":[\"x\",\"s1\"]");
    cr_expect_eq(resolve_rc(q, "g", ACCEPT), 0);
}

Test(engine_interrupts, a_question_does_not_end_the_wait /* EVT-28, INT-21 */) {
    struct str r = gate_run("\"actions\":[\"accept\",\"ask\"]");
    struct call c;
    cr_expect_eq(resolve(&c, r, "g", "{\"action\":\"ask\",\"question\":\"why?\"}"), 0);
    cr_expect_eq(c.cmd.result.status, RUN_WAITING_APPROVAL);
    call_fini(&c);
    cr_expect_eq(world_count(r, EV_INTERRUPT_RESOLVED), 0u);
    struct str asked = payload(r, EV_CHANNEL_WRITTEN);
    cr_expect(str_eqc(json_get(asked, "channel"), "\"_askExchanges:g\""));
    cr_expect_eq(resolve_rc(r, "g", ACCEPT), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

Test(engine_interrupts, answers_are_kept_as_a_map /* INT-26 */) {
    struct str node = STR(NODE("c", "core.clarificationGate",
                               "\"questions\":[{\"id\":\"q1\",\"question\":\"Color?\"},{\"id\":"
                               "\"q2\",\"question\":\"How many?\",\"schema\":{\"type\":"
                               "\"integer\"}}]",
                               ""));
    struct str r = world_start(world_def("w", node.p, 0, 0, 0, 0), NULL);
    world_wait_status(r, RUN_WAITING_INPUT);
    cr_expect_eq(resolve_rc(r, "c", "{\"answers\":{\"q1\":\"blue\"}}"), WOPR_E_VALIDATION);
    cr_expect_eq(resolve_rc(r, "c", "{\"answers\":{\"q1\":\"blue\",\"q2\":\"two\"}}"),
                 WOPR_E_VALIDATION);
    cr_expect_eq(resolve_rc(r, "c", "{\"answers\":{\"q1\":\"a\",\"q2\":2,\"q3\":1}}"),
                 WOPR_E_VALIDATION);
    cr_expect_eq(resolve_rc(r, "c",
                            "{\"answers\":[{\"id\":\"q2\",\"answer\":2},{\"id\":\"q1\",\"answer\":"
                            "\"blue\"}]}"),
                 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect(str_eqc(json_get(payload(r, EV_CLARIFICATION_RESOLVED), "answers"),
                      "{\"q1\":\"blue\",\"q2\":2}"));
    world_check_log(r);
}

/* --- votes --- */

static int vote(struct str run, const char *who, const char *action, enum run_status *status) {
    struct call c;
    char value[128];
    snprintf(value, sizeof value, "{\"action\":\"%s\",\"voter\":\"%s\"}", action, who);
    call_init(&c, ENGINE_RESOLVE, run);
    c.cmd.resolve.node_id = STR("g");
    c.cmd.resolve.may_delegate = true;
    c.cmd.resolve.value = str_c(value);
    call_do(&c);
    int rc = c.cmd.result.rc;
    *status = c.cmd.result.status;
    call_fini(&c);
    return rc;
}

Test(engine_interrupts, a_quorum_counts_voters_once /* INT-28, INT-30 */) {
    enum run_status st;
    struct str r = gate_run("\"requiredApprovals\":3,\"rejectionPolicy\":\"majority\"");
    cr_expect_eq(vote(r, "a", "accept", &st), 0);
    cr_expect_eq(st, RUN_WAITING_APPROVAL, "RUN-36");
    cr_expect_eq(vote(r, "a", "accept", &st), 0, "again");
    cr_expect_eq(vote(r, "b", "reject", &st), 0, "one of two needed");
    cr_expect_eq(vote(r, "b", "accept", &st), 0, "changed his mind");
    cr_expect_eq(st, RUN_WAITING_APPROVAL);
    cr_expect_eq(world_count(r, EV_INTERRUPT_RESOLVED), 0u);
    cr_expect_eq(vote(r, "c", "accept", &st), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_INTERRUPT_RESOLVED), 1u);
    cr_expect(
        str_eqc(json_get(payload(r, EV_APPROVAL_RECEIVED), "decidedBy"), "\"quorum:3-of-3\""));
    world_check_log(r);
}

Test(engine_interrupts, a_vote_that_is_changed_after_a_crash_replaces_its_row /* CHAN-11 */) {
    enum run_status st;
    struct json_elements l;
    struct str r = gate_run("\"requiredApprovals\":3"), votes = STR_NONE;
    cr_expect_eq(vote(r, "a", "accept", &st), 0);
    world_engine_crash();
    world_engine_start();
    cr_expect_eq(vote(r, "a", "accept", &st), 0);
    struct run_view v = world_view(r);
    for (size_t i = 0; i < v.chans_nr; i++)
        if (str_eqc(v.chans[i].name, "_approvalVotes:g")) votes = v.chans[i].value;
    cr_assert_eq(json_elements(votes, W.a, &l, NULL), 0);
    cr_expect_eq(l.n, 1u, STR_FMT, STR_ARG(votes));
}

Test(engine_interrupts, a_majority_rejects /* INT-29 */) {
    enum run_status st;
    struct str r = gate_run("\"requiredApprovals\":3,\"rejectionPolicy\":\"majority\"");
    cr_expect_eq(vote(r, "a", "reject", &st), 0);
    cr_expect_eq(st, RUN_WAITING_APPROVAL);
    cr_expect_eq(vote(r, "b", "reject", &st), 0);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    struct str q = gate_run("\"requiredApprovals\":3");
    cr_expect_eq(vote(q, "a", "reject", &st), 0, "single veto");
    cr_expect_eq(world_wait_final(q), RUN_FAILED);
}

/* --- external events, custom --- */

Test(engine_interrupts, an_event_must_match_what_is_waited_for /* INT-32, INT-33 */) {
    struct str r =
        world_start(world_def("w",
                              NODE("x", "core.interrupt",
                                   "\"kind\":\"external-event\",\"data\":{\"eventType\":\"paid\","
                                   "\"correlation\":{\"order\":7,\"who\":{\"a\":[1]}}}",
                                   ""),
                              0, 0, 0, 0),
                    NULL);
    world_wait_status(r, RUN_WAITING_EXTERNAL);
    struct call c;
    cr_expect_eq(resolve(&c, r, "x", "{\"order\":8,\"who\":{\"a\":[1]}}"),
                 WOPR_E_CORRELATION_MISMATCH);
    cr_expect_str_eq(c.cmd.result.err.details, "{\"mismatchedKeys\":[\"order\"]}");
    call_fini(&c);
    const char *event = "{\"order\":7.0,\"who\":{\"a\":[1]},\"extra\":true}";
    cr_expect_eq(resolve_rc(r, "x", event), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(resolve_rc(r, "x", event), 0, "delivered twice, one resume");
    cr_expect_eq(resolve_rc(r, "x", "{\"order\":7,\"who\":{\"a\":[1]}}"), WOPR_E_INTERRUPT_RESOLVED,
                 "another event");
    cr_expect_eq(world_count(r, EV_NODE_RESUMED), 1u);
    cr_expect(str_eqc(json_get(json_get(payload(r, EV_NODE_COMPLETED), "outputs"), "eventPayload"),
                      event));
}

Test(engine_interrupts, a_resume_schema_is_checked_and_a_key_is_asked_once /* INT-2, INT-14 */) {
    const char *ask = "\"kind\":\"custom\",\"key\":\"k\",\"data\":{\"customKind\":\"c\"},"
                      "\"resumeSchema\":{\"type\":\"integer\"}";
    char nodes[2048];
    snprintf(nodes, sizeof nodes,
             NODE("x", "core.interrupt", "%s", "") "," NODE("y", "core.interrupt", "%s", ""), ask,
             ask);
    struct str r = world_start(world_def("w", nodes, EDGE("e", "x", "y", ""), 0, 0, 0), NULL);
    world_wait_status(r, RUN_WAITING_INPUT);
    cr_expect_eq(resolve_rc(r, "x", "\"no\""), WOPR_E_VALIDATION);
    cr_expect_eq(resolve_rc(r, "x", "5"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_INTERRUPT_REQUESTED), 1u, "%s", world_story(r));
    cr_expect(str_eqc(
        json_get(json_get(world_event(r, EV_NODE_COMPLETED, 2)->payload, "outputs"), "resumeValue"),
        "5"));
}

/* The key of the question is data of the run, the approval is not. */
Test(engine_interrupts, nobodys_answer_approves_for_another_node /* INT-2, INT-28 */) {
    struct str r = world_start(
        world_def(
            "w",
            NODE(
                "note", "core.interrupt",
                "\"kind\":\"custom\",\"key\":\"pay\",\"data\":{\"customKind\":\"c\"}",
                "") "," NODE("pay", "core.interrupt",
                             "\"kind\":\"approval\",\"key\":\"pay\",\"data\":{\"artifactId\":\"a\","
                             "\"artifactType\":\"t\",\"title\":\"Pay?\",\"actions\":[\"accept\","
                             "\"reject\"],"
                             "\"requiredApprovals\":2,\"approversList\":[\"alice\",\"bob\"]}",
                             ""),
            EDGE("e", "note", "pay", ""), 0, 0, 0),
        NULL);
    world_wait_status(r, RUN_WAITING_INPUT);
    cr_expect_eq(resolve_rc(r, "note", "{\"action\":\"accept\"}"), 0);
    cr_expect_eq(world_wait_final(r), RUN_FAILED, "%s", world_story(r));
    cr_expect_eq(world_count(r, EV_NODE_COMPLETED), 1u, "%s", world_story(r));
    cr_expect_eq(world_count(r, EV_NODE_SUSPEND_FAILED), 1u, "%s", world_story(r));
}

Test(engine_interrupts, data_that_breaks_its_kind_fails_the_node /* INT-4, INT-7, INT-6 */) {
    static const char *const bad[] = {
        "\"kind\":\"custom\",\"data\":{}",
        "\"kind\":\"clarification\",\"data\":{\"questions\":[]}",
        "\"kind\":\"approval\",\"data\":{\"customKind\":\"x\"}",
        "\"kind\":\"external-event\",\"data\":{\"eventType\":\"e\"}",
        "\"kind\":\"conversation.start\",\"data\":{\"conversationId\":\"c\"}",
        "\"kind\":\"custom\",\"data\":{\"customKind\":\"x\",\"more\":1}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char node[512];
        snprintf(node, sizeof node, NODE("x", "core.interrupt", "%s", ""), bad[i]);
        struct str r = world_start(world_def("w", node, 0, 0, 0, 0), NULL);
        cr_expect_eq(world_wait_final(r), RUN_FAILED, "%s", bad[i]);
        cr_expect_eq(world_count(r, EV_INTERRUPT_REQUESTED), 0u);
        cr_expect(str_eqc(json_get(json_get(payload(r, EV_RUN_FAILED), "error"), "code"),
                          "\"validation_error\""),
                  "%s", bad[i]);
    }
}

/* --- cancel, races, crashes --- */

Test(engine_interrupts, a_cancel_closes_what_was_asked /* EVT-30, INT-17 */) {
    enum run_status st;
    struct str r = gate_run("");
    cr_expect_eq(world_op(ENGINE_PAUSE, r, &st), WOPR_E_CONFLICT, "WF-52");
    cr_expect_eq(world_op(ENGINE_CANCEL, r, &st), 0);
    cr_expect_eq(st, RUN_CANCELLED);
    cr_expect_eq(row_of(r).state, IROW_REJECTED);
    cr_expect(str_eqc(row_of(r).cause, "run-cancelled"));
    cr_expect_eq(resolve_rc(r, "g", ACCEPT), WOPR_E_INTERRUPT_CANCELLED);
    cr_expect_null(strstr(world_story(r), "interrupt.resolved"));
    world_check_log(r);
}

Test(engine_interrupts, of_many_answers_one_wins /* INT-18 */) {
    enum { N = 24 };
    struct str r = gate_run("");
    struct call c[N];
    unsigned won = 0, lost = 0, cancelled = 0;
    for (int i = 0; i < N; i++) {
        call_init(&c[i], i % 8 == 7 ? ENGINE_CANCEL : ENGINE_RESOLVE, r);
        if (c[i].cmd.op == ENGINE_RESOLVE) {
            c[i].cmd.resolve.node_id = STR("g");
            c[i].cmd.resolve.value = i % 2 ? STR(REJECT) : STR(ACCEPT);
        }
        call_send(&c[i]);
    }
    for (int i = 0; i < N; i++) {
        call_wait(&c[i]);
        if (c[i].cmd.op == ENGINE_CANCEL) continue;
        won += c[i].cmd.result.rc == 0;
        lost += c[i].cmd.result.rc == WOPR_E_INTERRUPT_RESOLVED;
        cancelled += c[i].cmd.result.rc == WOPR_E_INTERRUPT_CANCELLED;
    }
    for (int i = 0; i < N; i++) call_fini(&c[i]);
    enum run_status st = world_wait_final(r);
    cr_expect_leq(won, 1u);
    cr_expect_eq(won + lost + cancelled, (unsigned)(N - N / 8));
    cr_expect_eq(world_count(r, EV_INTERRUPT_RESOLVED), won);
    cr_expect(won == 1 || st == RUN_CANCELLED);
    world_check_log(r);
}

Test(engine_deadlines, nobody_answers_in_time /* EVT-29, INT-34 */) {
    struct str r = gate_run("\"timeoutMs\":60000");
    cr_expect_eq(row_of(r).timeout_at_ms, row_of(r).requested_ms + 60000);
    world_time_skip(59000);
    cr_expect_eq(world_head(r).status, RUN_WAITING_APPROVAL);
    world_time_skip(2000);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_STR(world_story(r),
               "run.started node.started(g) interrupt.requested(g) approval.requested(g) "
               "node.suspended(g) approval.received(g) node.failed(g) run.failed");
    cr_expect(str_eqc(json_get(payload(r, EV_APPROVAL_RECEIVED), "action"), "\"timeout\""));
    cr_expect_eq(row_of(r).state, IROW_TIMED_OUT);
    cr_expect_eq(resolve_rc(r, "g", ACCEPT), WOPR_E_INTERRUPT_EXPIRED);
    world_check_log(r);
}

Test(engine_deadlines, a_deadline_outlives_the_host /* STORE-9, STORE-35 */) {
    struct str r = gate_run("\"timeoutMs\":60000");
    world_engine_crash();
    world_engine_start();
    world_time_skip(61000); /* nobody loaded the run before: its deadline is found in the store */
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect_eq(row_of(r).state, IROW_TIMED_OUT);
}

Test(engine_deadlines, an_answer_finds_the_run_after_a_crash /* INT-2, STORE-35 */) {
    struct str r = gate_run("");
    world_engine_crash();
    world_engine_start();
    cr_expect_eq(resolve_rc(r, "g", ACCEPT), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_INTERRUPT_REQUESTED), 1u, "%s", world_story(r));
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 1u);
    cr_expect_eq(world_count(r, EV_LEASE_LOST), 0u, "nobody needed the lease while it waited");
    world_check_log(r);
}

Test(engine_deadlines, waiting_does_not_count_as_running /* WF-23 */) {
    struct str r = world_start(
        world_def("w", NODE("g", "core.approvalGate", "", ""), 0, 0, "\"timeout\":15000", 0), NULL);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    world_time_skip(3600000);
    cr_expect_eq(resolve_rc(r, "g", ACCEPT), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

Test(engine_interrupts, two_gates_show_the_first_and_answer_apart /* INT-12 */) {
    struct str r =
        world_start(world_def("w",
                              NODE("a", "core.approvalGate", "", "") "," NODE(
                                  "b", "core.interrupt",
                                  "\"kind\":\"custom\",\"data\":{\"customKind\":\"c\"}", ""),
                              0, 0, 0, 0),
                    NULL);
    world_wait_event(r, EV_NODE_SUSPENDED, 2);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    cr_expect(str_eqc(world_view(r).current_node, "a"));
    cr_expect_eq(resolve_rc(r, "a", ACCEPT), 0);
    world_wait_status(r, RUN_WAITING_INPUT);
    cr_expect_eq(resolve_rc(r, "b", "null"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    world_check_log(r);
}

Test(engine_interrupts, what_waits_is_listed_oldest_first /* INT-47, STORE-9 */) {
    struct str a = gate_run(""), b = gate_run("");
    struct interrupt_list l;
    struct wopr_error err;
    struct interrupt_filter f = {.any_tenant = true, .any_mode = true, .max = 10};
    cr_assert_eq(store_interrupts_pending(W.store, &f, W.a, &l, &err), 0);
    cr_assert_eq(l.n, 2u);
    cr_expect(str_eq(l.v[0].run_id, a) || l.v[0].requested_ms == l.v[1].requested_ms);
    f.after_ms = l.v[0].requested_ms;
    f.after_id = l.v[0].interrupt_id;
    cr_assert_eq(store_interrupts_pending(W.store, &f, W.a, &l, &err), 0);
    cr_expect_eq(l.n, 1u);
    f = (struct interrupt_filter){.any_tenant = true, .any_mode = true, .run_id = b, .max = 10};
    cr_assert_eq(store_interrupts_pending(W.store, &f, W.a, &l, &err), 0);
    cr_expect_eq(l.n, 1u);
    f.kind = STR("clarification");
    cr_assert_eq(store_interrupts_pending(W.store, &f, W.a, &l, &err), 0);
    cr_expect_eq(l.n, 0u);
}
