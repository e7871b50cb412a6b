/* test_waiting.c: runs that wait for people: out of memory and without a holder (STORE-35), taken
 * up by an answer, a deadline or a crash; loops, retries and several questions (INT-2, INT-3). */
#include "engine_world.h"

#include "base/clock.h"
#include "codec/json.h"
#include "nodes/nodes.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>

#define ACCEPT     "{\"action\":\"accept\"}"
#define GATE(id)   NODE(id, "core.approvalGate", "", "")
#define DELAY(id)  NODE(id, "core.delay", "\"ms\":60000", "")
#define WAIT_MS    60000
#define CRASHES_NR 9

static void up_virtual(void) {
    world_virtual_time();
    world_up();
}
TestSuite(waiting_runs, .init = up_virtual, .fini = world_down);

static struct str start(const char *nodes, const char *edges, const char *settings) {
    struct str r = world_start(world_def("w", nodes, edges, 0, settings, 0), NULL);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    return r;
}

static int answer(struct str run, const char *node, const char *value, const char *voter) {
    struct call c;
    call_init(&c, ENGINE_RESOLVE, run);
    c.cmd.resolve.node_id = str_c(node);
    c.cmd.resolve.value = str_c(value);
    if (voter) c.cmd.principal = str_c(voter);
    call_do(&c);
    int rc = c.cmd.result.rc;
    call_fini(&c);
    return rc;
}

/* Nobody says when a run left memory: look until it did. */
static void memory_empty(void) {
    struct engine_stats s;
    uint64_t until_ms = clock_mono_ms() + WAIT_MS;
    do {
        engine_stats(W.engine, &s);
        sched_yield();
    } while (s.runs_active > 0 && clock_mono_ms() < until_ms);
    cr_assert_eq(s.runs_active, 0u);
    cr_expect_eq(s.timers, 0u);
}

Test(waiting_runs, one_that_only_waits_is_in_nobodys_memory /* STORE-35 */) {
    struct str r = start(GATE("g"), 0, 0);
    cr_expect_eq(world_head(r).holder.n, 0u, "let go by the commit that made it wait");
    memory_empty();
    cr_expect_eq(answer(r, "g", "{\"action\":\"maybe\"}", NULL), WOPR_E_VALIDATION);
    memory_empty(); /* a refused answer does not keep it */
    cr_expect_eq(world_head(r).holder.n, 0u);
    cr_expect_eq(answer(r, "g", ACCEPT, NULL), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r),
               "run.started node.started(g) interrupt.requested(g) approval.requested(g) "
               "node.suspended(g) interrupt.resolved(g) approval.received(g) node.resumed(g) "
               "node.completed(g) run.completed");
    world_check_log(r);
}

Test(waiting_runs, may_be_more_than_there_is_room_for /* ERR-9 */) {
    struct str r[12];
    memory_empty();
    world_engine_stop();
    W.cfg.runs_active_max = 2;
    world_engine_start();
    for (size_t i = 0; i < 12; i++) {
        r[i] = start(GATE("g"), 0, 0);
        memory_empty();
    }
    for (size_t i = 0; i < 12; i++) {
        cr_expect_eq(answer(r[i], "g", ACCEPT, NULL), 0);
        cr_expect_eq(world_wait_final(r[i]), RUN_COMPLETED);
    }
}

Test(waiting_runs, with_a_node_at_work_stay_and_are_recovered /* STORE-35, STORE-39 */) {
    struct str r = start(GATE("g") "," DELAY("d"), 0, 0);
    world_wait_event(r, EV_NODE_STARTED, 2);
    cr_expect_gt(world_head(r).holder.n, 0u, "the delay needs somebody");
    world_engine_crash();
    world_engine_start();
    world_time_skip(61000); /* no command comes: the sweep takes it */
    world_wait_event(r, EV_NODE_COMPLETED, 1);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    memory_empty();
    cr_expect_eq(world_head(r).holder.n, 0u);
    cr_expect_eq(answer(r, "g", ACCEPT, NULL), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 2u);
    world_check_log(r);
}

Test(waiting_runs, meet_a_far_deadline /* EVT-29, STORE-9 */) {
    struct str r = start(NODE("g", "core.approvalGate", "\"timeoutMs\":86400000", ""), 0, 0);
    memory_empty();
    world_time_skip(86000000);
    cr_expect_eq(world_head(r).status, RUN_WAITING_APPROVAL);
    world_time_skip(500000);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect(
        str_eqc(json_get(json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error"), "code"),
                "\"interrupt_timeout\""));
    world_check_log(r);
}

Test(waiting_runs, give_one_answer_however_fast_it_comes /* INT-18 */) {
    for (int i = 0; i < 30; i++) { /* while the run is leaving memory */
        struct str r = start(GATE("g"), 0, 0);
        struct call c[3];
        unsigned won = 0;
        for (int k = 0; k < 3; k++) {
            call_init(&c[k], ENGINE_RESOLVE, r);
            c[k].cmd.resolve.node_id = STR("g");
            c[k].cmd.resolve.value = STR(ACCEPT);
            call_send(&c[k]);
        }
        for (int k = 0; k < 3; k++) {
            call_wait(&c[k]);
            int rc = c[k].cmd.result.rc;
            won += rc == 0;
            cr_expect(rc == 0 || rc == WOPR_E_INTERRUPT_RESOLVED, "%s", wopr_err_name(rc));
            call_fini(&c[k]);
        }
        cr_expect_eq(won, 1u);
        cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
        world_check_log(r);
    }
}

Test(waiting_runs, survive_a_kill_at_every_event /* INT-2, STORE-38, STORE-39 */) {
    static const char *const nodes = NODE("a", "core.noop", "", "") "," GATE("g") "," NODE(
        "c", "core.clarificationGate", "\"questions\":[{\"id\":\"q\",\"question\":\"why\"}]", "");
    static const char *const edges = EDGE("e", "a", "g", "") "," EDGE("f", "g", "c", "");
    for (unsigned n = 1; n <= CRASHES_NR; n++) {
        struct str r = world_start(world_def("w", nodes, edges, 0, 0, 0), NULL);
        for (enum run_status st; st = world_head(r).status, !run_status_final(st);) {
            if (world_head(r).next_seq >= (int64_t)n * 2) {
                world_engine_crash();
                world_engine_start();
                break;
            }
            if (st == RUN_WAITING_APPROVAL) cr_expect_eq(answer(r, "g", ACCEPT, NULL), 0);
            sched_yield();
            if (st == RUN_WAITING_INPUT) break;
        }
        int rc = answer(r, "g", ACCEPT, NULL);
        while (rc == WOPR_E_INTERRUPT_NOT_FOUND) rc = answer(r, "g", ACCEPT, NULL);
        cr_expect(rc == 0 || rc == WOPR_E_INTERRUPT_RESOLVED, "%s", wopr_err_name(rc));
        world_wait_status(r, RUN_WAITING_INPUT);
        cr_expect_eq(answer(r, "c", "{\"answers\":{\"q\":\"so\"}}", NULL), 0);
        cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%u", n);
        cr_expect_eq(world_count(r, EV_INTERRUPT_REQUESTED), 2u);
        cr_expect_eq(world_count(r, EV_INTERRUPT_RESOLVED), 2u);
        cr_expect_eq(world_count(r, EV_NODE_STARTED), 3u);
        world_check_log(r);
    }
}

Test(waiting_runs, keep_their_votes_through_crashes /* INT-28, NODE-74 */) {
    static const char *const voters[] = {"ann", "bob", "cleo"};
    struct str r = start(NODE("g", "core.approvalGate", "\"requiredApprovals\":3", ""), 0, 0);
    for (size_t i = 0; i < 3; i++) {
        cr_expect_eq(answer(r, "g", ACCEPT, voters[i]), 0);
        cr_expect_eq(world_count(r, EV_INTERRUPT_RESOLVED), i == 2);
        world_engine_crash();
        world_engine_start();
    }
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_CHANNEL_WRITTEN), 3u);
    world_check_log(r);
}

/* --- the same node asks again --- */

#define REFINE_AGAIN                                                                               \
    ",\"condition\":{\"type\":\"equals\",\"left\":\"output.action\",\"right\":\"refine\"}"

Test(waiting_runs, refine_runs_the_loop_and_asks_anew /* INT-3, INT-25, NODE-41 */) {
    static const char *const refine = "{\"action\":\"refine\",\"refineFeedback\":{\"scope\":"
                                      "\"whole\",\"text\":\"more\"}}";
    struct str r = start(NODE("a", "core.noop", "", "") "," NODE(
                             "g", "core.approvalGate",
                             "\"actions\":[\"accept\",\"refine\"],\"requiredApprovals\":2", ""),
                         EDGE("e", "a", "g", "") "," EDGE("back", "g", "a", REFINE_AGAIN), 0);
    cr_expect_eq(answer(r, "g", ACCEPT, "ann"), 0); /* void after the refinement */
    cr_expect_eq(answer(r, "g", refine, "bob"), 0);
    world_wait_event(r, EV_INTERRUPT_REQUESTED, 2);
    cr_expect_eq(answer(r, "g", ACCEPT, "bob"), 0);
    cr_expect_eq(world_head(r).status, RUN_WAITING_APPROVAL, "ann is asked again");
    cr_expect_eq(answer(r, "g", ACCEPT, "ann"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    for (unsigned i = 0; i < 2; i++) {
        struct str key = json_string(
            json_get(world_event(r, EV_INTERRUPT_REQUESTED, i + 1)->payload, "key"), W.a);
        cr_expect(str_eq(key, arena_printf(W.a, STR_FMT ":g:%u", STR_ARG(r), i)), STR_FMT,
                  STR_ARG(key));
    }
    cr_expect_eq(world_count(r, EV_INTERRUPT_RESOLVED), 2u);
    world_check_log(r);
}

/* Asks twice, then fails its first attempt. */
static void exec_asker(const struct node_call *call, struct node_result *out) {
    struct node_prompt q = {.kind = "custom", .data = STR("{\"customKind\":\"number\"}")};
    struct node_reply one, two;
    if (!node_interrupt(call, out, 0, &q, &one) || !node_interrupt(call, out, 1, &q, &two)) return;
    if (call->attempt == 0) {
        node_fail(out, "flaky", "not yet", true);
        return;
    }
    out->outputs = arena_printf(call->a, "{\"one\":" STR_FMT ",\"two\":" STR_FMT "}",
                                STR_ARG(one.value), STR_ARG(two.value));
}

Test(waiting_runs, a_retry_uses_the_answers_it_has /* INT-2 */) {
    static const struct node_type asker = {.type_id = "test.asker", .fn = exec_asker};
    struct wopr_error err;
    world_engine_stop();
    cr_assert_eq(node_registry_add(W.types, &asker, &err), 0);
    world_engine_start();
    struct str r = world_start(
        world_def("w",
                  "{\"id\":\"x\",\"typeId\":\"test.asker\",\"name\":\"x\",\"position\":{\"x\":0,"
                  "\"y\":0},\"config\":{},\"inputs\":{},\"settings\":{\"maxRetries\":1,"
                  "\"retryDelayMs\":0}}",
                  0, 0, 0, 0),
        NULL);
    world_wait_event(r, EV_NODE_SUSPENDED, 1);
    cr_expect_eq(answer(r, "x", "1", NULL), 0);
    world_wait_event(r, EV_NODE_SUSPENDED, 2);
    cr_expect_eq(answer(r, "x", "2", NULL), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect(str_eqc(json_get(world_event(r, EV_NODE_COMPLETED, 1)->payload, "outputs"),
                      "{\"one\":1,\"two\":2}"));
    cr_expect_eq(world_count(r, EV_NODE_RETRIED), 1u);
    cr_expect_eq(world_count(r, EV_INTERRUPT_REQUESTED), 2u);
    world_check_log(r);
}

/* --- how a wait may end --- */

Test(waiting_runs, a_timeout_can_be_handled_and_is_not_retried /* EVT-29, WF-8 */) {
    struct str r =
        start("{\"id\":\"g\",\"typeId\":\"core.approvalGate\",\"name\":\"g\",\"position\":{\"x\":"
              "0,\"y\":0},\"config\":{\"timeoutMs\":1000},\"inputs\":{},\"settings\":{"
              "\"maxRetries\":3}}," NODE("m", "core.noop", "", ""),
              EDGE("e", "g", "m", ",\"triggerRule\":\"any_failed\""), 0);
    world_time_skip(2000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_RETRIED), 0u);
    cr_expect_eq(world_count(r, EV_INTERRUPT_RESOLVED), 0u);
    cr_expect_eq(answer(r, "g", ACCEPT, NULL), WOPR_E_INTERRUPT_EXPIRED);
    world_check_log(r);
}

Test(waiting_runs, a_schema_that_cannot_be_used_is_not_asked /* INT-4 */) {
    struct str r = world_start(world_def("w",
                                         NODE("x", "core.interrupt",
                                              "\"kind\":\"custom\",\"data\":{\"customKind\":\"k\"},"
                                              "\"resumeSchema\":{\"type\":\"nothing\"}",
                                              ""),
                                         0, 0, 0, 0),
                               NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_STR(world_story(r),
               "run.started node.started(x) node.suspend-failed(x) node.failed(x) run.failed");
}

Test(waiting_runs, an_edit_may_complete_a_quorum /* NODE-41, INT-28 */) {
    struct str r =
        start(NODE("g", "core.approvalGate",
                   "\"actions\":[\"accept\",\"edit-accept\"],\"requiredApprovals\":2", ""),
              0, 0);
    cr_expect_eq(answer(r, "g", ACCEPT, "ann"), 0);
    cr_expect_eq(
        answer(r, "g", "{\"action\":\"edit-accept\",\"editedArtifactData\":{\"t\":2}}", "bob"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    struct str out = json_get(world_event(r, EV_NODE_COMPLETED, 1)->payload, "outputs");
    cr_expect(str_eqc(json_get(out, "editedArtifactData"), "{\"t\":2}"), STR_FMT, STR_ARG(out));
    cr_expect(str_eqc(json_get(world_event(r, EV_APPROVAL_RECEIVED, 1)->payload, "action"),
                      "\"edit-accept\""));
}

Test(waiting_runs, conversations_are_refused_before_there_is_a_run /* INT-6, CONV-2 */) {
    static const struct wf_env env = {.config_wrong = nodes_config_wrong};
    static const char *const kinds[] = {"conversation.start",
                                        "conversation.exchange",
                                        "conversation.close",
                                        "low-confidence",
                                        "",
                                        "appr\\u006fval",
                                        "approval",
                                        "custom"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char node[256];
        struct wopr_error err = {0};
        struct workflow *wf = NULL;
        snprintf(node, sizeof node, NODE("x", "core.interrupt", "\"kind\":\"%s\"", ""), kinds[i]);
        int rc = workflow_compile(world_def("w", node, 0, 0, 0, 0), &env, &wf, &err);
        cr_expect_eq(rc, i < 6 ? WOPR_E_VALIDATION : 0, "%s", kinds[i]);
        if (rc != 0) EXPECT_STR(err.pointer, "/nodes/0/config");
        workflow_unref(wf);
    }
    struct workflow *wf = NULL; /* a port may bring the kind */
    cr_expect_eq(workflow_compile(world_def("w", NODE("x", "core.interrupt", "", ""), 0, 0, 0, 0),
                                  &env, &wf, NULL),
                 0);
    workflow_unref(wf);
}
