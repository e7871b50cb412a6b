/*
 * test_children_fork.c: sub-workflows in forks and replays (FORK-14, DISP-14, ORCH-13), with a real
 * gate in the child: a replay looks at the children of its source, a branch has its own.
 */
#include "engine_world.h"
#include "fork_kit.h"
#include "log_kit.h"

#include "codec/json.h"
#include "store/admin.h"

#include <criterion/criterion.h>

TestSuite(engine_children_fork, .init = world_up, .fini = world_down);

#define SUB(id, config) NODE(id, "core.subWorkflow", config, "")

static void approve(struct str run) {
    struct wopr_error err = {0};
    world_wait_status(run, RUN_WAITING_APPROVAL);
    int rc = world_answer(run, "g", "{\"action\":\"accept\"}", &err);
    cr_assert_eq(rc, 0, "%s", err.message);
}

static struct str start(const char *child_nodes) {
    workflow_unref(
        world_put(world_def("child", child_nodes, 0,
                            "{\"name\":\"v\",\"type\":\"string\",\"defaultValue\":\"x\"}", 0, 0)));
    return world_start(
        world_def("parent",
                  SUB("s", "\"workflowId\":\"child\",\"outputMapping\":{\"a\":\"v\"}") "," NODE(
                      "e", "core.noop", "", ""),
                  EDGE("x", "s", "e", ""), 0, 0, 0),
        NULL);
}

/* A parent whose child was asked, and answered. */
static struct str asked_parent(void) {
    struct str p = start(
        NODE("g", "core.approvalGate", "\"title\":\"t\",\"actions\":[\"accept\",\"reject\"]", ""));
    world_wait_status(p, RUN_WAITING_APPROVAL);
    approve(children_of(p).v[0].run_id);
    cr_assert_eq(world_wait_final(p), RUN_COMPLETED, "%s", world_story(p));
    EXPECT_STR(world_story(p),
               "run.started node.started(s) node.suspended(s) node.resumed(s) variable.changed(s)"
               " node.completed(s) node.started(e) node.completed(e) run.completed");
    return p;
}

Test(engine_children_fork, a_replay_starts_no_children /* FORK-14, DISP-14 */) {
    struct str p = start(NODE("c", "core.noop", "", ""));
    cr_assert_eq(world_wait_final(p), RUN_COMPLETED);
    int64_t n = world_head(p).next_seq;
    for (int64_t from = 0; from < n; from++) fork_replays_equal(p, from, RUN_COMPLETED);
    struct store_counts counts;
    cr_assert_eq(store_count(W.store, &counts, NULL), 0);
    cr_expect_eq(counts.runs, 2 + 2 * n, "parent, child, and two replays from each sequence");
}

Test(engine_children_fork, a_replay_repeats_what_its_children_waited_for /* EVT-39 */) {
    struct str p = asked_parent();
    for (int64_t from = 0; from < world_head(p).next_seq; from++)
        fork_replays_equal(p, from, RUN_COMPLETED);
    cr_expect_eq(children_of(p).n, 1);
}

Test(engine_children_fork, a_failed_child_fails_the_replay_too) {
    struct str p = start(NODE("f", "core.fail", "", ""));
    cr_assert_eq(world_wait_final(p), RUN_FAILED);
    fork_replays_equal(p, 0, RUN_FAILED);
    cr_expect_eq(children_of(p).n, 1);
}

Test(engine_children_fork, a_branch_has_children_of_its_own /* FORK-11 */) {
    struct str p = asked_parent();
    struct str first = children_of(p).v[0].run_id;
    for (int64_t from = 0; from <= 4; from++) { /* before the child, and at each turn of its wait */
        struct str b = fork_run(p, FORK_BRANCH, from);
        struct child_row_list l;
        world_wait_event(b, EV_NODE_SUSPENDED, from > 2 ? 2 : 1);
        while ((l = children_of(b)).n == 0) cr_assert(!run_status_final(world_head(b).status));
        cr_assert_eq(l.n, 1, "from %d", (int)from);
        cr_expect_not(str_eq(l.v[0].run_id, first));
        approve(l.v[0].run_id);
        cr_expect_eq(world_wait_final(b), RUN_COMPLETED, "from %d: %s", (int)from, world_story(b));
        cr_expect(str_eqc(world_var(b, "a"), "\"x\""));
        world_check_log(b);
    }
    cr_expect_eq(children_of(p).n, 1);
}

Test(engine_children_fork,
     a_replay_does_not_wait_for_a_child_that_still_waits /* FORK-5, FORK-14 */) {
    struct str p = start(NODE("g", "core.approvalGate", "", ""));
    world_wait_status(p, RUN_WAITING_APPROVAL);
    struct str before = fork_run(p, FORK_REPLAY, 2);
    cr_expect_eq(world_wait_final(before), RUN_FAILED, "%s", world_story(before));
    struct str e = json_get(world_event(before, EV_RUN_FAILED, 1)->payload, "error");
    cr_expect(str_eqc(json_get(e, "code"), "\"replay_source_missing\""), STR_FMT, STR_ARG(e));
    approve(children_of(p).v[0].run_id);
    cr_expect_eq(world_wait_final(p), RUN_COMPLETED);
    world_check_log(before);
}

/* --- workers of a supervisor --- */

#define LED                                                                                        \
    NODE("s", "core.orchestrator.supervisor",                                                      \
         "\"mockDecisions\":[{\"kind\":\"next-worker\",\"nextWorkerIds\":[\"child\"]},{\"kind\":"  \
         "\"terminate\",\"reason\":\"enough\"}]",                                                  \
         "")                                                                                       \
    "," NODE("d", "core.dispatch", "", "")
#define ROUND EDGE("e", "s", "d", "") "," EDGE("l", "d", "s", "")

static struct str led(void) {
    workflow_unref(world_put(world_def("child", NODE("c", "core.noop", "", ""), 0, 0, 0, 0)));
    struct str p = world_start(world_def("led", LED, ROUND, 0, 0, 0), NULL);
    cr_assert_eq(world_wait_final(p), RUN_COMPLETED, "%s", world_story(p));
    cr_assert_eq(children_of(p).n, 1);
    return p;
}

/* What the worker is called is told by the log of its run; its workflow is not asked for. */
Test(engine_children_fork, a_replay_needs_no_workflow_of_a_worker /* ORCH-13, DISP-14 */) {
    struct str p = led();
    world_sql("DELETE FROM workflows WHERE workflow_id = 'child'");
    for (int64_t from = 0; from < world_head(p).next_seq; from++)
        fork_replays_equal(p, from, RUN_COMPLETED);
    struct store_counts counts;
    cr_assert_eq(store_count(W.store, &counts, NULL), 0);
    cr_expect_eq(counts.runs, 2 + 2 * world_head(p).next_seq, "no second worker");
    struct str b = fork_run(p, FORK_BRANCH, 0); /* runs it, and so misses it */
    cr_expect_eq(world_wait_final(b), RUN_FAILED, "%s", world_story(b));
    struct str e = json_get(world_event(b, EV_RUN_FAILED, 1)->payload, "error");
    cr_expect(str_eqc(json_get(e, "code"), "\"unknown_child_workflow\""), STR_FMT, STR_ARG(e));
}

/* The decision is that of the log, and what it led to is gone: the replay says so where it differs,
 * decides nothing else, and ends. */
Test(engine_children_fork, a_replay_without_the_run_of_a_worker_diverges /* ORCH-13, FORK-18 */) {
    struct str p = led();
    int64_t at = world_event(p, EV_NODE_STARTED, 2)->seq; /* the dispatcher's */
    log_purge_run(children_of(p).v[0].run_id);
    for (int64_t from = 0; from <= at + 1; from++) {
        struct str r = fork_run(p, FORK_REPLAY, from);
        cr_assert_eq(world_wait_final(r), RUN_FAILED, "at %d: %s", (int)from, world_story(r));
        const struct event *d = world_event(r, EV_REPLAY_DIVERGED, 1);
        int64_t seq = -1;
        cr_expect(json_int(json_get(d->payload, "atSequence"), &seq));
        cr_expect_eq(seq, at + 1, "at %d: %s", (int)from, world_story(r));
        cr_expect(str_eqc(json_get(d->payload, "divergenceKind"), "\"type-mismatch\""));
        cr_expect_eq(world_count(r, EV_ORCHESTRATOR_DECIDED), 1, "%s", world_story(r));
        cr_expect_eq(children_of(r).n, 0);
        world_check_log(r);
    }
    for (int64_t from = at + 2; from < world_head(p).next_seq; from++) /* needs it no more */
        fork_replays_equal(p, from, RUN_COMPLETED);
}
