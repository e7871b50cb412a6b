/* test_parked.c: a cancel ends a parked run completely, although its log does not fold: nothing of
 * it waits or asks any more, its children are cancelled, its parent is told (RUN-20, INT-42). */
#include "fork_kit.h"
#include "log_kit.h"

#include "codec/json.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void up(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_parked, .init = up, .fini = world_down, .timeout = 300);

#define ASKS                 "\"actions\":[\"accept\"],\"timeoutMs\":3600000"
#define GATE                 NODE("g", "core.approvalGate", ASKS, "")
#define DELAY                NODE("d", "core.delay", "\"ms\":3600000", "")
#define SUB(of)              NODE("s", "core.subWorkflow", "\"workflowId\":\"" of "\"", "")
#define SUB_OF(id, of, more) NODE(id, "core.subWorkflow", "\"workflowId\":\"" of "\"" more, "")

static int64_t rows(const char *table, struct str run, const char *also) {
    char q[256];
    snprintf(q, sizeof q, "SELECT count(*) FROM %s WHERE run_no = %lld%s", table,
             (long long)world_head(run).run_no, also);
    return world_sql_number(q);
}

static void broken(struct str run) {
    world_engine_crash();
    log_break(run);
    world_engine_start();
}

static void cancelled(struct str run) {
    enum run_status st;
    cr_assert_gt(rows("timers", run, ""), 0);
    cr_assert_gt(rows("interrupts", run, " AND state = 0"), 0);
    int rc = world_op(ENGINE_CANCEL, run, &st);
    cr_assert_eq(rc, 0, "%s", wopr_err_name(rc));
    cr_expect_eq(st, RUN_CANCELLED);
    cr_expect_eq(rows("timers", run, ""), 0);
    cr_expect_eq(rows("interrupts", run, " AND state = 0"), 0);
    cr_expect_eq(rows("interrupts", run, " AND state = 2 AND cause = 'run-cancelled'"), 1);
    cr_expect_eq(world_count(run, EV_NODE_CANCELLED), 0u, "its log was not read");
}

/* A run with a gate, a delay, and a child that asks; itself a child. */
static struct str family(struct str *top) {
    workflow_unref(world_put(world_def("asker", GATE, 0, 0, 0, 0)));
    workflow_unref(world_put(world_def(
        "mid",
        GATE "," DELAY "," SUB("asker") "," SUB_OF("x", "asker", ",\"detached\":true") "," SUB_OF(
            "y", "asker", ",\"waitForCompletion\":false"),
        0, 0, 0, 0)));
    *top = world_start(world_def("top", SUB("mid"), 0, 0, 0, 0), NULL);
    struct str mid = child_of(*top);
    world_wait_status(*top, RUN_WAITING_APPROVAL);
    while (children_of(mid).n < 3) log_rest();
    for (size_t i = 0; i < 3; i++)
        world_wait_status(children_of(mid).v[i].run_id, RUN_WAITING_APPROVAL);
    return mid;
}

Test(engine_parked, a_forced_cancel_ends_the_run_and_its_kin /* INT-41, INT-42 */) {
    struct str top, mid = family(&top);
    broken(mid);
    cancelled(mid);
    struct child_row_list l = children_of(mid);
    for (size_t i = 0; i < l.n; i++) {
        bool detached = (l.v[i].flags & CHILD_DETACHED) != 0;
        if (detached) continue;
        cr_expect_eq(world_wait_final(l.v[i].run_id), RUN_CANCELLED);
        const struct event *e = world_event(l.v[i].run_id, EV_RUN_CANCELLED, 1);
        cr_expect(str_eqc(json_get(e->payload, "reason"), "\"parent-cancelled\""));
    }
    cr_expect_eq(world_wait_final(top), RUN_FAILED, "%s", world_story(top));
    cr_expect_eq(world_count(top, EV_NODE_FAILED), 1u, "its child was cancelled");
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].flags & CHILD_DETACHED)
            cr_expect_eq(world_head(l.v[i].run_id).status, RUN_WAITING_APPROVAL);
    struct engine_stats st;
    engine_stats(W.engine, &st);
    cr_expect_geq(st.runs_cancelled, 1u, "it is counted");
}

Test(engine_parked, a_cancel_from_above_reaches_it_and_goes_on /* INT-42 */) {
    struct str top, mid = family(&top);
    broken(mid);
    enum run_status st;
    cr_expect_eq(world_op(ENGINE_CANCEL, top, &st), 0);
    cr_expect_eq(st, RUN_CANCELLED);
    cr_expect_eq(world_wait_final(mid), RUN_CANCELLED);
    cr_expect_eq(rows("interrupts", mid, " AND cause = 'parent-cancelled'"), 1);
    struct child_row_list l = children_of(mid);
    for (size_t i = 0; i < l.n; i++)
        if (!(l.v[i].flags & CHILD_DETACHED))
            cr_expect_eq(world_wait_final(l.v[i].run_id), RUN_CANCELLED);
}

Test(engine_parked, so_does_that_of_a_fork_and_of_its_source /* FORK-10 */) {
    struct str r = world_start(world_def("w", GATE "," DELAY, 0, 0, 0, 0), NULL);
    world_wait_event(r, EV_INTERRUPT_REQUESTED, 1);
    world_wait_event(r, EV_NODE_STARTED, 2);
    struct str b = fork_run(r, FORK_BRANCH, world_head(r).next_seq - 1);
    world_wait_event(b, EV_NODE_STARTED, 2);
    struct str c = fork_run(b, FORK_BRANCH, world_head(b).next_seq - 1);
    world_wait_event(c, EV_NODE_STARTED, 2);
    broken(b);
    cancelled(b);
    cr_expect_eq(world_head(r).status, RUN_WAITING_APPROVAL, "its source goes on");
    broken(r);
    cancelled(r);
    cr_expect_eq(world_head(c).status, RUN_WAITING_APPROVAL, "and so does its fork");
    enum run_status st;
    cr_expect_eq(world_op(ENGINE_CANCEL, c, &st), 0);
    cr_expect_eq(world_count(c, EV_NODE_CANCELLED), 2u, "whose log folds");
    world_check_log(c);
}

Test(engine_parked, no_fork_of_it_is_an_error_of_the_host /* FORK-4 */) {
    struct str r = world_start(world_def("w", GATE "," DELAY, 0, 0, 0, 0), NULL), id;
    struct wopr_error err;
    world_wait_event(r, EV_INTERRUPT_REQUESTED, 1);
    world_wait_event(r, EV_NODE_STARTED, 2);
    broken(r);
    int64_t n = world_head(r).next_seq;
    cr_expect_eq(world_pause(r, DRAIN_IMMEDIATE), WOPR_E_CONFLICT);
    for (int i = 0; i < 2; i++) {
        int rc = fork_try(r, FORK_BRANCH, n, (struct fork_overlay){0}, &id, &err);
        /* At first either may be seen first: that it is parked, or that the log is shorter. */
        cr_expect(rc == WOPR_E_CONFLICT || (i == 0 && rc == WOPR_E_SEQUENCE_NOT_FOUND), "%s",
                  err.message);
        if (i == 0) cancelled(r); /* the log is one event longer */
    }
    struct str whole = fork_run(r, FORK_BRANCH, n - 1); /* before what breaks it */
    world_wait_event(whole, EV_NODE_STARTED, 2);
}

#define HANDED                                                                                     \
    "{\"id\":\"a\",\"typeId\":\"core.noop\",\"name\":\"a\",\"position\":{\"x\":0,\"y\":0},"        \
    "\"config\":{},\"inputs\":{},\"agent\":{\"agentId\":\"agent.one\"}}"

/* Its log says when it was started, and who worked on it; so does its row, before and after. */
Test(engine_parked, a_forced_cancel_leaves_what_its_row_knew /* RUN-20, NODE-72 */) {
    struct str r = world_start(
        world_def("w", HANDED "," GATE "," DELAY, EDGE("e", "a", "g", ""), 0, 0, 0), NULL);
    world_wait_event(r, EV_INTERRUPT_REQUESTED, 1);
    world_wait_event(r, EV_NODE_STARTED, 3);
    log_rest();
    struct run_view was = world_view(r);
    cr_assert(was.started_ms > 0 && was.agent.n > 0 && was.current_node.n > 0);
    broken(r);
    cancelled(r);
    struct run_view is = world_view(r);
    const struct event *e = world_event(r, EV_RUN_CANCELLED, 1);
    cr_expect_eq(is.started_ms, was.started_ms, "%lld", (long long)is.started_ms);
    cr_expect_eq(is.completed_ms, e->ts_ms);
    cr_expect(str_eq(is.agent, was.agent), STR_FMT, STR_ARG(is.agent));
    cr_expect_eq(is.head.paused_ms, 0);
    cr_expect_eq(is.current_node.n, 0);
    cr_expect_eq(is.error.n + is.outputs.n, 0u);
    cr_expect_eq(world_sql_number("SELECT runs_open FROM tenant_usage WHERE tenant = ''"), 0);
}
