/*
 * test_children.c: sub-workflows (WF-45..51, NODE-48..53, INT-41..43, EVT-39): waiting, policies,
 * bounds, cascades, and what crashes leave behind.
 */
#include "engine/cascade.h"
#include "engine/children.h"
#include "engine_world.h"
#include "log_kit.h"

#include "base/clock.h"
#include "codec/json.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void up_virtual(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_children, .init = up_virtual, .fini = world_down);

#define SUB(id, config) NODE(id, "core.subWorkflow", config, "")
#define QUICK           NODE("c1", "core.noop", "", "") "," NODE("c2", "core.noop", "", "")
#define SLOW            NODE("d", "core.delay", "\"ms\":60000", "")

static void put(const char *id, const char *nodes, const char *edges, const char *vars) {
    workflow_unref(world_put(world_def(id, nodes, edges, vars, 0, 0)));
}

static void put_child(const char *nodes) { put("child", nodes, 0, 0); }

static struct str start_parent(const char *nodes) {
    return world_start(world_def("parent", nodes, 0, 0, 0, 0), NULL);
}

static struct str error_of(struct str run) { return world_view(run).error; }

static struct str payload(struct str run, enum ev_kind kind, unsigned n) {
    const struct event *e = world_event(run, kind, n);
    cr_assert_not_null(e, "%s", world_story(run));
    return e->payload;
}

static struct str output(struct str run, const char *key) {
    return json_get(json_get(payload(run, EV_NODE_COMPLETED, 1), "outputs"), key);
}

/* --- waiting --- */

Test(engine_children, a_parent_waits_for_its_child_and_maps_its_variables /* WF-45, NODE-51 */) {
    put("child", QUICK, EDGE("e", "c1", "c2", ""),
        "{\"name\":\"answer\",\"type\":\"number\",\"defaultValue\":42},"
        "{\"name\":\"unset\",\"type\":\"string\"}");
    struct str p = start_parent(
        SUB("s", "\"workflowId\":\"child\",\"outputMapping\":{\"a\":\"answer\",\"u\":\"unset\"}"));
    cr_assert_eq(world_wait_final(p), RUN_COMPLETED, "%s", world_story(p));
    struct str c = child_of(p);
    EXPECT_STR(world_story(p), "run.started node.started(s) variable.changed(s) node.completed(s)"
                               " run.completed");
    EXPECT_STR(world_story(c), "run.started node.started(c1) node.completed(c1) node.started(c2)"
                               " node.completed(c2) run.completed"); /* WF-47 */
    cr_expect(str_eqc(world_var(p, "a"), "42"));
    cr_expect_eq(world_var(p, "u").n, 0);
    cr_expect(str_eqc(output(p, "childStatus"), "\"completed\""));
    cr_expect(str_eq(json_string(output(p, "childRunId"), W.a), c));
    cr_expect(str_eqc(json_get(output(p, "result"), "answer"), "42"));
    struct run_view v = world_view(c);
    cr_expect(str_eq(v.parent_run_id, p) && str_eqc(v.parent_node_id, "s")); /* WF-46 */
    cr_expect_eq(v.child_depth, 1);
    world_check_log(p);
    world_check_log(c);
}

Test(engine_children, a_child_inherits_and_gets_inputs_in_three_ways /* NODE-48, NODE-49 */) {
    put("child", QUICK, EDGE("e", "c1", "c2", ""),
        "{\"name\":\"x\",\"type\":\"number\"},{\"name\":\"y\",\"type\":\"number\"},"
        "{\"name\":\"z\",\"type\":\"number\"}");
    struct str p = world_start(
        world_def("parent",
                  NODE("s", "core.control.subWorkflow",
                       "\"workflowId\":\"child\",\"inputs\":{\"x\":1,\"y\":1,\"z\":1,\"w\":9},"
                       "\"inputMapping\":{\"y\":\"two\",\"z\":\"two\",\"x\":\"absent\"}",
                       "\"z\":{\"type\":\"static\",\"value\":3}"),
                  0, "{\"name\":\"two\",\"type\":\"number\",\"defaultValue\":2}", 0, 0),
        NULL);
    cr_assert_eq(world_wait_final(p), RUN_COMPLETED, "%s", error_of(p).p);
    struct str c = child_of(p);
    cr_expect(str_eqc(world_var(c, "y"), "2"));
    cr_expect(str_eqc(world_var(c, "z"), "3"));
    cr_expect_eq(world_var(c, "w").n, 0); /* RUN-3: not declared */
    struct run_origin po, co;
    cr_assert_eq(store_run_origin(W.store, world_head(p).run_no, W.a, &po, NULL), 0);
    cr_assert_eq(store_run_origin(W.store, world_head(c).run_no, W.a, &co, NULL), 0);
    cr_expect(str_eq(po.meta.workspace, co.meta.workspace) &&
              str_eq(po.meta.subject, co.meta.subject));
    cr_expect_eq(co.meta.test_mode, po.meta.test_mode);
    cr_expect_eq(co.child_flags, (uint32_t)CHILD_AWAITED);
}

Test(engine_children, without_waiting_the_parent_goes_on_at_once /* WF-48, NODE-52 */) {
    put_child(SLOW);
    struct str p = start_parent(SUB(
        "s",
        "\"workflowId\":\"child\",\"waitForCompletion\":false,\"outputMapping\":{\"a\":\"b\"}"));
    cr_assert_eq(world_wait_final(p), RUN_COMPLETED, "%s", world_story(p));
    struct str c = child_of(p);
    cr_expect(str_eqc(output(p, "childStatus"), "\"running\""));
    cr_expect(str_eq(json_string(output(p, "childRunId"), W.a), c));
    cr_expect(!run_status_final(world_head(c).status));
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(c), RUN_COMPLETED);
}

Test(engine_children, every_round_of_a_loop_has_a_child_of_its_own /* WF-13, DISP-12 */) {
    put_child(NODE("c1", "core.noop", "", ""));
    struct str p = world_start(
        world_def("parent",
                  NODE("head", "core.loop", "\"maxIterations\":3", "") "," SUB(
                      "s", "\"workflowId\":\"child\"") "," NODE("out", "core.noop", "", ""),
                  EDGE("e1", "head", "s",
                       ",\"condition\":{\"type\":\"equals\",\"left\":\"output.done\",\"right\":"
                       "false}") "," EDGE("e2", "s", "head",
                                          "") "," EDGE("e3", "head", "out",
                                                       ",\"condition\":{\"type\":\"equals\","
                                                       "\"left\":\"output.done\",\"right\":"
                                                       "true}"),
                  0, 0, 0),
        NULL);
    cr_assert_eq(world_wait_final(p), RUN_COMPLETED, "%s", world_story(p));
    cr_expect_eq(children_of(p).n, 3);
}

Test(engine_children, sensitive_values_stay_in_sensitive_variables /* OBS-71 */) {
    put("child", NODE("c1", "core.noop", "", ""), 0,
        "{\"name\":\"key\",\"type\":\"string\",\"sensitive\":true,\"defaultValue\":\"hush\"}");
    struct str p = world_start(
        world_def("parent",
                  SUB("s", "\"workflowId\":\"child\",\"outputMapping\":{\"mine\":\"key\",\"open\":"
                           "\"key\"}") "," NODE("c", "test.measure", "",
                                                "\"v\":{\"type\":\"variable\",\"variableName\":"
                                                "\"open\",\"optional\":true}"),
                  EDGE("e", "s", "c", ""),
                  "{\"name\":\"mine\",\"type\":\"string\",\"sensitive\":true}", 0, 0),
        NULL);
    cr_assert_eq(world_wait_final(p), RUN_COMPLETED, "%s", world_story(p));
    cr_expect(str_eqc(world_var(p, "mine"), "\"[REDACTED]\""));
    cr_expect(str_eqc(world_var(p, "open"), "\"[REDACTED]\""));
    cr_expect(
        str_eqc(json_get(world_event(p, EV_NODE_COMPLETED, 2)->payload, "outputs"), "{\"n\":4}"),
        "clear inside, masked outside");
}

/* --- what the child's end does to the parent --- */

Test(engine_children, a_failed_child_fails_its_node /* WF-49, NODE-51 */) {
    put("child", NODE("f", "core.fail", "", ""), 0,
        "{\"name\":\"v\",\"type\":\"string\",\"defaultValue\":\"x\"}");
    struct str p =
        start_parent(SUB("s", "\"workflowId\":\"child\",\"outputMapping\":{\"a\":\"v\"}"));
    cr_assert_eq(world_wait_final(p), RUN_FAILED);
    struct str details = json_get(error_of(p), "details");
    cr_expect(str_eqc(json_get(error_of(p), "code"), "\"child_failed\""));
    cr_expect(str_eq(json_string(json_get(details, "childRunId"), W.a), child_of(p)));
    cr_expect(str_eqc(json_get(details, "childStatus"), "\"failed\""));
    cr_expect(
        str_eqc(json_get(json_get(details, "childError"), "code"), "\"conformance_test_failure\""));
    cr_expect_eq(world_var(p, "a").n, 0);
}

Test(engine_children, a_failure_may_be_absorbed /* WF-48, NODE-48 */) {
    static const char *const policies[] = {"continue", "absorb"};
    put_child(NODE("f", "core.fail", "", ""));
    for (size_t i = 0; i < 2; i++) {
        struct str nodes = arena_printf(
            W.a, SUB("s", "\"workflowId\":\"child\",\"onChildFailure\":\"%s\""), policies[i]);
        struct str p = start_parent(nodes.p);
        cr_assert_eq(world_wait_final(p), RUN_COMPLETED, "%s", world_story(p));
        cr_expect(str_eqc(output(p, "childStatus"), "\"failed\""));
    }
}

Test(engine_children, a_child_that_is_cancelled_fails_its_node /* INT-43, WF-50 */) {
    put_child(SLOW);
    struct str p = start_parent(SUB("s", "\"workflowId\":\"child\""));
    struct str c = child_of(p);
    cr_assert_eq(world_op(ENGINE_CANCEL, c, NULL), 0);
    cr_assert_eq(world_wait_final(p), RUN_FAILED);
    cr_expect(str_eqc(json_get(error_of(p), "code"), "\"child_cancelled\""));
    p = start_parent(SUB("s", "\"workflowId\":\"child\",\"onChildFailure\":\"continue\""));
    cr_assert_eq(world_op(ENGINE_CANCEL, child_of(p), NULL), 0);
    cr_assert_eq(world_wait_final(p), RUN_COMPLETED);
    cr_expect(str_eqc(output(p, "childStatus"), "\"cancelled\""));
}

Test(engine_children, a_retry_starts_another_child /* WF-24 */) {
    put_child(NODE("f", "core.fail", "", ""));
    struct str p = start_parent(
        "{\"id\":\"s\",\"typeId\":\"core.subWorkflow\",\"name\":\"s\",\"position\":{\"x\":0,\"y\":"
        "0},\"config\":{\"workflowId\":\"child\"},\"inputs\":{},\"settings\":{\"maxRetries\":2,"
        "\"retryDelayMs\":1}}");
    world_wait_event(p, EV_NODE_RETRIED, 1);
    world_time_skip(10);
    world_wait_event(p, EV_NODE_RETRIED, 2);
    world_time_skip(10);
    cr_assert_eq(world_wait_final(p), RUN_FAILED);
    struct child_row_list l = children_of(p);
    cr_assert_eq(l.n, 3);
    for (size_t i = 0; i < 3; i++) cr_expect_eq(l.v[i].status, RUN_FAILED);
}

Test(engine_children, what_cannot_be_started_says_why /* NODE-48, RUN-3 */) {
    static const struct {
        const char *config, *code;
    } rows[] = {
        {"\"workflowId\":\"nobody\"", "\"unknown_child_workflow\""},
        {"\"workflowId\":\"off\"", "\"unknown_child_workflow\""},
        {"\"workflowId\":7", "\"validation_error\""},
        {"", "\"validation_error\""},
        {"\"workflowId\":\"child\",\"inputs\":{\"n\":\"text\"}", "\"validation_error\""},
        {"\"workflowId\":\"child\",\"inputs\":[]", "\"validation_error\""},
        {"\"workflowId\":\"child\",\"onChildFailure\":\"shrug\"", "\"validation_error\""},
        {"\"workflowId\":\"child\",\"waitForCompletion\":\"no\"", "\"validation_error\""},
        {"\"workflowId\":\"child\",\"propagateCancellation\":1", "\"validation_error\""},
        {"\"workflowId\":\"child\",\"outputMapping\":{\"a\":1}", "\"validation_error\""},
        {"\"workflowId\":\"child\",\"inputMapping\":{\"a\":\"\"}", "\"validation_error\""},
        {"\"workflowId\":\"child\",\"configurable\":{\"recursionLimit\":0}",
         "\"validation_error\""},
    };
    put("child", QUICK, EDGE("e", "c1", "c2", ""), "{\"name\":\"n\",\"type\":\"number\"}");
    workflow_unref(world_put(
        world_def("off", NODE("c1", "core.noop", "", ""), 0, 0, 0, ",\"isActive\":false")));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct str nodes = arena_printf(W.a, SUB("s", "%s"), rows[i].config);
        struct str p = start_parent(nodes.p);
        cr_assert_eq(world_wait_final(p), RUN_FAILED, "%s", rows[i].config);
        cr_expect(str_eqc(json_get(error_of(p), "code"), rows[i].code), "%s: " STR_FMT,
                  rows[i].config, STR_ARG(error_of(p)));
        cr_expect_eq(children_of(p).n, 0);
    }
}

/* --- bounds --- */

Test(engine_children, a_workflow_that_calls_itself_ends_at_the_depth_limit /* WF-48 */) {
    struct str p = start_parent(SUB("s", "\"workflowId\":\"parent\""));
    cr_assert_eq(world_wait_final(p), RUN_FAILED);
    struct str run = p;
    for (int depth = 0; depth <= ENGINE_CHILD_DEPTH_MAX; depth++) {
        bool last = depth == ENGINE_CHILD_DEPTH_MAX;
        cr_expect_eq(world_view(run).child_depth, depth);
        cr_expect(str_eqc(json_get(error_of(run), "code"),
                          last ? "\"subworkflow_depth_exceeded\"" : "\"child_failed\""),
                  "depth %d: " STR_FMT, depth, STR_ARG(error_of(run)));
        cr_assert_eq(children_of(run).n, last ? 0 : 1);
        if (!last) run = child_of(run);
    }
}

static void up_two(void) {
    W.cfg.children_open_max = 2;
    up_virtual();
}

TestSuite(engine_children_fan, .init = up_two, .fini = world_down);
Test(engine_children_fan, a_wide_one_is_throttled_told_and_finished /* WF-51 */) {
    put_child(SLOW);
    struct buf nodes;
    buf_init(&nodes, 1u << 20);
    for (int i = 0; i < 5; i++)
        buf_addf(&nodes, "%s" SUB("s%d", "\"workflowId\":\"child\""), i ? "," : "", i, i);
    struct str p = start_parent(buf_str(&nodes).p);
    buf_fini(&nodes);
    world_wait_event(p, EV_WORKFLOW_STALLED, 1);
    for (size_t done = 0; done < 5; done += 2) {
        while (children_of(p).n < (done + 2 < 5 ? done + 2 : 5)) log_rest();
        struct child_row_list l = children_of(p);
        cr_expect(l.n <= done + 2);
        for (size_t i = done; i < l.n; i++) world_wait_event(l.v[i].run_id, EV_NODE_STARTED, 1);
        world_time_skip(61000);
        for (size_t i = done; i < l.n; i++)
            cr_expect_eq(world_wait_final(l.v[i].run_id), RUN_COMPLETED);
    }
    cr_expect_eq(world_wait_final(p), RUN_COMPLETED);
    cr_expect_eq(world_count(p, EV_NODE_STARTED), 5);
    cr_expect_eq(world_count(p, EV_CAP_BREACHED), 0);
}

Test(engine_children, waiting_parents_do_nothing) {
    put_child(SLOW);
    struct workflow *wf =
        world_put(world_def("parent", SUB("s", "\"workflowId\":\"child\""), 0, 0, 0, 0));
    struct str c = STR_NONE;
    for (int i = 0; i < 50; i++) {
        c = child_of(world_create(wf, NULL, NULL));
        world_wait_event(c, EV_NODE_STARTED, 1);
    }
    workflow_unref(wf);
    struct engine_stats st;
    engine_stats(W.engine, &st);
    cr_expect_eq(st.runs_active, 100);
    /* Per pair: the delay, and the host's limit for the duration of a run on both. */
    cr_expect(st.timers <= 150, "%d timers", (int)st.timers);
}

/* --- ends that go down --- */

Test(engine_children, a_cancel_goes_down_to_the_leaves_first /* INT-41, INT-42, NODE-53 */) {
    put("leaf", SLOW, 0, 0);
    put("middle", SUB("m", "\"workflowId\":\"leaf\""), 0, 0);
    struct str root = start_parent(SUB("s", "\"workflowId\":\"middle\""));
    struct str middle = child_of(root), leaf = child_of(middle);
    world_wait_event(leaf, EV_NODE_STARTED, 1);
    enum run_status status;
    cr_expect_eq(world_op(ENGINE_CANCEL, root, &status), 0);
    cr_expect_eq(status, RUN_CANCELLED);
    cr_expect_eq(world_head(leaf).status, RUN_CANCELLED); /* before the answer */
    cr_expect_eq(world_head(middle).status, RUN_CANCELLED);
    EXPECT_STR(world_story(root), "run.started node.started(s) node.cancelled(s) run.cancelled");
    EXPECT_STR(world_story(leaf), "run.started node.started(d) node.cancelled(d) run.cancelled");
    struct str why = payload(leaf, EV_RUN_CANCELLED, 1);
    cr_expect(str_eqc(json_get(why, "reason"), "\"parent-cancelled\""));
    cr_expect(str_eq(json_string(json_get(why, "cancelledBy"), W.a),
                     arena_printf(W.a, "run:" STR_FMT, STR_ARG(root))),
              "whose cancel it is, at every depth");
    cr_expect(str_eqc(json_get(payload(root, EV_RUN_CANCELLED, 1), "reason"), "\"because\""));
    cr_expect(world_event(leaf, EV_RUN_CANCELLED, 1)->ts_ms <=
              world_event(middle, EV_RUN_CANCELLED, 1)->ts_ms);
    cr_expect(world_event(middle, EV_RUN_CANCELLED, 1)->ts_ms <=
              world_event(root, EV_RUN_CANCELLED, 1)->ts_ms);
    cr_expect_eq(world_op(ENGINE_CANCEL, root, &status), 0); /* idempotent */
    cr_expect_eq(world_op(ENGINE_CANCEL, leaf, &status), 0);
    cr_expect_eq(status, RUN_CANCELLED);
}

Test(engine_children, a_detached_child_survives_the_cancel /* INT-42 */) {
    put_child(SLOW);
    struct str p =
        start_parent(SUB("s", "\"workflowId\":\"child\",\"propagateCancellation\":false"));
    struct str c = child_of(p);
    world_wait_event(c, EV_NODE_STARTED, 1);
    cr_expect_eq(world_op(ENGINE_CANCEL, p, NULL), 0);
    cr_expect_eq(world_head(p).status, RUN_CANCELLED);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(c), RUN_COMPLETED);
}

Test(engine_children, children_nobody_waits_for_go_down_with_a_cancel_only /* INT-41 */) {
    static const char *const nodes =
        SUB("s", "\"workflowId\":\"child\",\"waitForCompletion\":false") "," SLOW;
    put_child(SLOW);
    const char *edge = EDGE("e", "s", "d", "");
    struct str p = world_start(world_def("parent", nodes, edge, 0, 0, 0), NULL);
    struct str c = child_of(p);
    world_wait_event(p, EV_NODE_STARTED, 2);
    cr_expect_eq(world_op(ENGINE_CANCEL, p, NULL), 0);
    cr_expect_eq(world_head(c).status, RUN_CANCELLED);
    p = world_start(
        world_def("other",
                  SUB("s", "\"workflowId\":\"child\",\"waitForCompletion\":false") "," NODE(
                      "d", "core.fail", "", ""),
                  edge, 0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(p), RUN_FAILED);
    c = child_of(p);
    world_wait_event(c, EV_NODE_STARTED, 1);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(c), RUN_COMPLETED);
}

Test(engine_children, a_busy_child_does_not_hold_up_a_cancel_for_ever /* RUN-20 */) {
    put_child(NODE("h", "test.hold", "", ""));
    struct str p = start_parent(SUB("s", "\"workflowId\":\"child\""));
    while (sem_wait(&HOLD_HELD) != 0) {
    }
    struct str c = child_of(p);
    struct call cancel;
    call_init(&cancel, ENGINE_CANCEL, p);
    call_send(&cancel);
    for (int i = 0; i < 20; i++) log_rest();
    cr_expect(!run_status_final(world_head(p).status), "children first");
    world_time_skip(ENGINE_CASCADE_MS + 1);
    call_wait(&cancel);
    cr_expect_eq(cancel.cmd.result.rc, 0);
    call_fini(&cancel);
    cr_expect_eq(world_wait_final(p), RUN_CANCELLED);
    cr_expect(!run_status_final(world_head(c).status));
    sem_post(&HOLD_GO);
    cr_expect_eq(world_wait_final(c), RUN_CANCELLED);
}

Test(engine_children, a_failing_sibling_takes_the_child_along /* WF-8 */) {
    put_child(SLOW);
    struct str p = start_parent(SUB("s", "\"workflowId\":\"child\"") "," NODE(
        "d", "core.delay", "\"ms\":1000", "") "," NODE("x", "core.noop", "", ""));
    struct str c = child_of(p);
    world_wait_event(c, EV_NODE_STARTED, 1);
    cr_expect_eq(world_op(ENGINE_CANCEL, p, NULL), 0);
    p = world_start(
        world_def("other",
                  SUB("s", "\"workflowId\":\"child\"") "," NODE(
                      "d", "core.delay", "\"ms\":1000", "") "," NODE("x", "core.fail", "", ""),
                  EDGE("e", "d", "x", ""), 0, 0, 0),
        NULL);
    c = child_of(p);
    world_wait_event(c, EV_NODE_STARTED, 1);
    world_time_skip(1100);
    cr_expect_eq(world_wait_final(p), RUN_FAILED);
    cr_expect_eq(world_head(c).status, RUN_CANCELLED);
    cr_expect(str_eqc(json_get(payload(c, EV_RUN_CANCELLED, 1), "reason"), "\"parent-failed\""));
    EXPECT_STR(world_story(p), "run.started node.started(s) node.started(d) node.completed(d)"
                               " node.started(x) node.failed(x) node.cancelled(s) run.failed");
}

Test(engine_children, a_run_timeout_takes_the_children_along /* WF-23 */) {
    put_child(SLOW);
    struct str p = world_start(
        world_def("parent", SUB("s", "\"workflowId\":\"child\""), 0, 0, "\"timeout\":1000", 0),
        NULL);
    struct str c = child_of(p);
    world_wait_event(c, EV_NODE_STARTED, 1);
    world_time_skip(1500);
    cr_expect_eq(world_wait_final(p), RUN_FAILED);
    cr_expect(str_eqc(json_get(error_of(p), "code"), "\"run_timeout\""));
    cr_expect_eq(world_head(c).status, RUN_CANCELLED);
    cr_expect(str_eqc(json_get(payload(c, EV_RUN_CANCELLED, 1), "reason"), "\"parent-timeout\""));
}

#define TIMED_SUB(retries)                                                                         \
    "{\"id\":\"s\",\"typeId\":\"core.subWorkflow\",\"name\":\"s\",\"position\":{\"x\":0,\"y\":0}," \
    "\"config\":{\"workflowId\":\"child\"},\"inputs\":{},\"settings\":{\"timeoutMs\":1000,"        \
    "\"retryDelayMs\":1,\"maxRetries\":" #retries "}}"

Test(engine_children, a_node_timeout_ends_the_child_of_its_attempt /* WF-24 */) {
    put_child(SLOW);
    struct str p = start_parent(TIMED_SUB(1));
    struct str c = child_of(p);
    world_wait_event(c, EV_NODE_STARTED, 1);
    world_time_skip(1500);
    cr_expect_eq(world_wait_final(c), RUN_CANCELLED);
    world_wait_event(p, EV_NODE_RETRIED, 1);
    world_time_skip(10);
    while (children_of(p).n < 2) log_rest();
    struct str second = children_of(p).v[1].run_id;
    world_wait_event(second, EV_NODE_STARTED, 1);
    world_time_skip(1500);
    cr_expect_eq(world_wait_final(p), RUN_FAILED);
    cr_expect(str_eqc(json_get(error_of(p), "code"), "\"node_timeout\""));
    cr_expect_eq(world_head(second).status, RUN_CANCELLED);
}

/* --- pause --- */

Test(engine_children, a_pause_goes_down_and_a_resume_takes_back_only_that /* EVT-31, WF-52 */) {
    put_child(SLOW);
    struct str p =
        start_parent(SUB("s", "\"workflowId\":\"child\"") "," SUB("t", "\"workflowId\":\"child\""));
    while (children_of(p).n < 2) log_rest();
    struct str one = children_of(p).v[0].run_id, two = children_of(p).v[1].run_id;
    world_wait_event(one, EV_NODE_STARTED, 1);
    world_wait_event(two, EV_NODE_STARTED, 1);
    cr_assert_eq(world_pause(two, DRAIN_IMMEDIATE), 0); /* by hand */
    cr_assert_eq(world_pause(p, DRAIN_CURRENT_NODE), 0);
    world_wait_status(one, RUN_PAUSED);
    cr_expect(str_eqc(json_get(payload(one, EV_RUN_PAUSED, 1), "reason"), "\"parent-paused\""));
    world_time_skip(3600000);
    cr_assert_eq(world_op(ENGINE_RESUME, p, NULL), 0);
    world_wait_event(one, EV_RUN_RESUMED, 1);
    cr_expect_eq(world_head(two).status, RUN_PAUSED);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(one), RUN_COMPLETED);
    cr_assert_eq(world_op(ENGINE_RESUME, two, NULL), 0);
    world_wait_event(two, EV_RUN_RESUMED, 1);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(p), RUN_COMPLETED);
    world_check_log(p);
    world_check_log(one);
}

Test(engine_children, a_child_that_ends_while_its_parent_is_paused_is_taken_in_later) {
    put_child(SLOW);
    struct str p = start_parent(SUB("s", "\"workflowId\":\"child\""));
    struct str c = child_of(p);
    world_wait_event(c, EV_NODE_STARTED, 1);
    cr_assert_eq(world_pause(p, DRAIN_IMMEDIATE), 0);
    world_wait_status(c, RUN_PAUSED);
    cr_assert_eq(world_op(ENGINE_RESUME, c, NULL), 0);
    world_wait_event(c, EV_RUN_RESUMED, 1);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(c), RUN_COMPLETED);
    cr_expect_eq(world_head(p).status, RUN_PAUSED);
    cr_assert_eq(world_op(ENGINE_RESUME, p, NULL), 0);
    cr_expect_eq(world_wait_final(p), RUN_COMPLETED);
}

Test(engine_children, a_paused_parent_can_be_cancelled_with_its_children /* RUN-17 */) {
    put_child(SLOW);
    struct str p = start_parent(SUB("s", "\"workflowId\":\"child\""));
    struct str c = child_of(p);
    world_wait_event(c, EV_NODE_STARTED, 1);
    cr_assert_eq(world_pause(p, DRAIN_CURRENT_NODE), 0);
    world_wait_status(c, RUN_PAUSED);
    cr_expect_eq(world_op(ENGINE_CANCEL, p, NULL), 0);
    cr_expect_eq(world_head(c).status, RUN_CANCELLED);
    cr_expect_eq(world_head(p).status, RUN_CANCELLED);
}

/* --- restarts --- */

Test(engine_children, a_restart_in_the_middle_changes_nothing /* STORE-38, STORE-39 */) {
    put("child", SLOW, 0, "{\"name\":\"v\",\"type\":\"string\",\"defaultValue\":\"x\"}");
    struct str p =
        start_parent(SUB("s", "\"workflowId\":\"child\",\"outputMapping\":{\"a\":\"v\"}"));
    struct str c = child_of(p);
    world_wait_event(c, EV_NODE_STARTED, 1);
    world_engine_crash();
    world_engine_start();
    world_wait_event(c, EV_RUN_RESUMED, 1);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(p), RUN_COMPLETED);
    cr_expect_eq(children_of(p).n, 1);
    cr_expect_eq(world_count(p, EV_NODE_STARTED), 1);
    cr_expect(str_eqc(world_var(p, "a"), "\"x\""));
    world_check_log(p);
    world_check_log(c);
}

Test(engine_children, a_pause_survives_a_restart_on_both_levels) {
    put_child(SLOW);
    struct str p = start_parent(SUB("s", "\"workflowId\":\"child\""));
    struct str c = child_of(p);
    world_wait_event(c, EV_NODE_STARTED, 1);
    cr_assert_eq(world_pause(p, DRAIN_CURRENT_NODE), 0);
    world_wait_status(c, RUN_PAUSED);
    world_engine_crash();
    world_engine_start();
    cr_assert_eq(world_op(ENGINE_RESUME, p, NULL), 0);
    world_wait_event(c, EV_RUN_RESUMED, 1);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(p), RUN_COMPLETED);
}

/* --- a caller resumes the child of a paused parent --- */

Test(engine_children, a_childs_resume_holds_though_its_parent_is_paused /* RUN-29, INT-41 */) {
    put_child(SLOW);
    struct str p = start_parent(SUB("s", "\"workflowId\":\"child\"")), c = child_of(p);
    world_wait_event(c, EV_NODE_STARTED, 1);
    cr_assert_eq(world_pause(p, DRAIN_CURRENT_NODE), 0);
    world_wait_status(c, RUN_PAUSED);
    cr_assert_eq(world_op(ENGINE_RESUME, c, NULL), 0);
    cr_expect_eq(world_head(c).status, RUN_RUNNING);
    for (unsigned i = 1; i <= 2; i++) { /* the next host hears of the pause, and of the resume */
        world_engine_crash();
        world_engine_start();
        world_wait_event(c, EV_WORKFLOW_RESTORED, i);
        cr_expect_eq(world_op(ENGINE_RESUME, c, NULL), WOPR_E_CONFLICT, "it runs");
        cr_expect_eq(world_head(c).status, RUN_RUNNING, "%s", world_story(c));
    }
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(c), RUN_COMPLETED);
    cr_expect_eq(world_head(p).status, RUN_PAUSED);
    cr_assert_eq(world_op(ENGINE_RESUME, p, NULL), 0);
    cr_expect_eq(world_wait_final(p), RUN_COMPLETED);
    world_check_log(c);
}

/* --- channels of the parent (CHAN-19) --- */

#define CHANNELS                                                                                   \
    ",\"channels\":{\"sum\":{\"reducer\":\"counter\"},\"last\":{\"reducer\":\"replace\"}}"

static struct str channel_parent(const char *mapping) {
    put("child", QUICK, EDGE("e", "c1", "c2", ""),
        "{\"name\":\"answer\",\"type\":\"number\",\"defaultValue\":42}");
    struct str node =
        arena_printf(W.a, SUB("s", "\"workflowId\":\"child\",\"outputMapping\":{%s}"), mapping);
    return world_start(world_def("parent", node.p, 0, 0, 0, CHANNELS), NULL);
}

Test(engine_children, a_child_adds_to_a_channel_of_its_parent /* CHAN-19 */) {
    struct str p = channel_parent("\"sum\":\"answer\"");
    cr_assert_eq(world_wait_final(p), RUN_COMPLETED, "%s", world_story(p));
    struct str w = payload(p, EV_CHANNEL_WRITTEN, 1);
    cr_expect(str_eq(json_string(json_get(w, "sourceRunId"), W.a), child_of(p)), STR_FMT,
              STR_ARG(w));
    cr_expect(str_eqc(json_string(json_get(w, "sourceEngineId"), W.a), W.holder), STR_FMT,
              STR_ARG(w));
    cr_expect(str_eqc(world_var(p, "sum"), "42"));
    world_check_log(p);
}

Test(engine_children, a_child_replaces_nothing_in_a_channel_of_its_parent /* CHAN-19 */) {
    struct str p = channel_parent("\"last\":\"answer\"");
    cr_assert_eq(world_wait_final(p), RUN_FAILED, "%s", world_story(p));
    cr_expect_eq(world_count(p, EV_CHANNEL_WRITTEN), 0u);
    struct str error = error_of(p), details = json_get(error, "details");
    cr_expect(str_eqc(json_get(error, "code"), "\"channel_cross_engine_write_forbidden\""), STR_FMT,
              STR_ARG(error));
    cr_expect(str_eqc(json_get(details, "channel"), "\"last\""));
    cr_expect(str_eqc(json_get(details, "reducer"), "\"replace\""));
    cr_expect(str_eq(json_string(json_get(details, "sourceRunId"), W.a), child_of(p)));
    cr_expect(str_eqc(json_string(json_get(details, "sourceEngineId"), W.a), W.holder));
}
