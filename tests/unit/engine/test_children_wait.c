/*
 * test_children_wait.c: parents of children that are suspended (EVT-39, INT-12, NODE-50).  The
 * suspension is written into the child's log while no engine runs, as any gate node would leave it.
 */
#include "engine_world.h"
#include "log_kit.h"

#include "base/clock.h"
#include "codec/json.h"

#include <criterion/criterion.h>

static void up_virtual(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_children_wait, .init = up_virtual, .fini = world_down);

#define SUB(id, config) NODE(id, "core.subWorkflow", config, "")
#define GATE            "int-1"

static struct workflow *CHILD; /* one delay node d */

static struct str started(const char *nodes) {
    CHILD = world_put(world_def("child", NODE("d", "core.delay", "\"ms\":60000", ""), 0, 0, 0, 0));
    return world_start(world_def("parent", nodes, 0, 0, 0, 0), NULL);
}

/* The child of a run, once its node runs. */
static struct str running_child(struct str run) {
    struct str c = child_of(run);
    world_wait_event(c, EV_NODE_STARTED, 1);
    return c;
}

static void landed(void *ctx, struct plan *p, int rc) {
    cr_assert_eq(rc, 0, "%d", rc);
    plan_unref(p);
    sem_post(ctx);
}

/* Events for node d of the child, folded and projected as a host would. */
static void write_child(struct str run, const enum ev_kind *kinds, size_t n) {
    struct wopr_error err = {0};
    struct run_origin o;
    struct run_state *s = NULL;
    struct event_list l = world_events(run);
    sem_t done;
    cr_assert_eq(store_run_origin(W.store, world_head(run).run_no, W.a, &o, &err), 0);
    cr_assert_eq(run_state_new(CHILD, &o.meta, &RUN_LIMITS_DEFAULT, &s, &err), 0);
    for (size_t i = 0; i < l.n; i++)
        cr_assert_eq(run_state_apply(s, &l.v[i], &err), 0, "%s", err.message);
    struct plan *p = plan_new();
    p->what = PLAN_RUN;
    p->run_id = arena_str(p->arena, run);
    p->run_no = o.head.run_no;
    p->base_seq = s->next_seq;
    p->epoch = o.head.epoch;
    for (size_t i = 0; i < n; i++) {
        struct str d = STR("d"), payload = STR("{}");
        if (kinds[i] == EV_NODE_SUSPENDED)
            payload = pay_node_suspended(p->arena, d, STR(GATE), "approval", NULL);
        if (kinds[i] == EV_NODE_RESUMED)
            payload = pay_node_resumed(p->arena, d, STR(GATE), STR_NONE);
        if (kinds[i] == EV_NODE_COMPLETED) payload = pay_node_completed(p->arena, d, STR("{}"), 1);
        if (kinds[i] == EV_RUN_COMPLETED) payload = pay_run_completed(p->arena, STR("{}"), 1);
        bool of_run = kinds[i] == EV_RUN_COMPLETED;
        (void)plan_event(p, W.rules, s, kinds[i], of_run ? STR_NONE : d, -1, clock_wall_ms(),
                         payload);
    }
    plan_project(p, s, 0);
    sem_init(&done, 0, 0);
    cr_assert_eq(p->failed, 0, "%s", p->error.message);
    cr_assert_eq(journal_append(W.journal, p, landed, &done), 0);
    while (sem_wait(&done) != 0) {
    }
    sem_destroy(&done);
    run_state_free(s);
}

static void suspend_child(struct str run) {
    static const enum ev_kind kinds[] = {EV_NODE_SUSPENDED};
    world_engine_crash();
    write_child(run, kinds, 1);
    world_engine_start();
}

static void end_child(struct str run) {
    static const enum ev_kind kinds[] = {EV_NODE_RESUMED, EV_NODE_COMPLETED, EV_RUN_COMPLETED};
    world_engine_crash();
    write_child(run, kinds, 3);
    world_engine_start();
}

static struct str payload(struct str run, enum ev_kind kind, unsigned n) {
    const struct event *e = world_event(run, kind, n);
    cr_assert_not_null(e, "%s", world_story(run));
    return e->payload;
}

Test(engine_children_wait, a_parent_shows_what_its_child_waits_for /* EVT-39, INT-12 */) {
    struct str p = started(SUB("s", "\"workflowId\":\"child\"")), c = running_child(p);
    suspend_child(c);
    world_wait_status(p, RUN_WAITING_APPROVAL);
    struct str sus = payload(p, EV_NODE_SUSPENDED, 1);
    cr_expect(str_eqc(json_get(sus, "interruptId"), "\"" GATE "\""), STR_FMT, STR_ARG(sus));
    cr_expect(str_eqc(json_get(sus, "kind"), "\"approval\""));
    cr_expect(str_eqc(json_get(sus, "reason"), "\"child-suspended\""));
    cr_expect(str_eq(json_string(json_get(sus, "childRunId"), W.a), c));
    cr_expect(str_eqc(world_view(p).current_node, "s"));
    cr_expect_eq(world_head(c).status, RUN_WAITING_APPROVAL);
    end_child(c); /* no command comes for the parent: the sweep finds it */
    cr_expect_eq(world_wait_final(p), RUN_COMPLETED);
    EXPECT_STR(world_story(p),
               "run.started node.started(s) lease.lost lease.acquired workflow.restored"
               " run.resumed node.suspended(s) node.resumed(s) node.completed(s) run.completed");
    world_check_log(p);
    workflow_unref(CHILD);
}

Test(engine_children_wait, the_end_of_a_waiting_child_loads_its_parent /* INT-43 */) {
    struct str p = started(SUB("s", "\"workflowId\":\"child\"")), c = running_child(p);
    suspend_child(c);
    world_wait_status(p, RUN_WAITING_APPROVAL);
    world_engine_crash();
    world_engine_start(); /* both wait: neither is in memory */
    cr_expect_eq(world_op(ENGINE_CANCEL, c, NULL), 0);
    cr_expect_eq(world_wait_final(p), RUN_FAILED);
    cr_expect(str_eqc(json_get(world_view(p).error, "code"), "\"child_cancelled\""));
    cr_expect_eq(world_count(p, EV_NODE_RESUMED), 1);
    workflow_unref(CHILD);
}

Test(engine_children_wait, a_waiting_parent_is_cancelled_with_its_child /* INT-41, NODE-53 */) {
    struct str p = started(SUB("s", "\"workflowId\":\"child\"")), c = running_child(p);
    suspend_child(c);
    world_wait_status(p, RUN_WAITING_APPROVAL);
    for (int i = 0; i < 2; i++) { /* the second time it was cancelled already */
        enum run_status status;
        cr_expect_eq(world_op(ENGINE_CANCEL, p, &status), 0);
        cr_expect_eq(status, RUN_CANCELLED);
    }
    cr_expect_eq(world_head(c).status, RUN_CANCELLED);
    cr_expect(str_eqc(json_get(payload(c, EV_RUN_CANCELLED, 1), "reason"), "\"parent-cancelled\""));
    workflow_unref(CHILD);
}

Test(engine_children_wait, every_ancestor_shows_it) {
    CHILD = world_put(world_def("child", NODE("d", "core.delay", "\"ms\":60000", ""), 0, 0, 0, 0));
    workflow_unref(
        world_put(world_def("middle", SUB("m", "\"workflowId\":\"child\""), 0, 0, 0, 0)));
    struct str root =
        world_start(world_def("root", SUB("r", "\"workflowId\":\"middle\""), 0, 0, 0, 0), NULL);
    struct str middle = running_child(root), c = running_child(middle);
    suspend_child(c);
    world_wait_status(middle, RUN_WAITING_APPROVAL);
    world_wait_status(root, RUN_WAITING_APPROVAL);
    struct str sus = payload(root, EV_NODE_SUSPENDED, 1);
    cr_expect(str_eqc(json_get(sus, "interruptId"), "\"" GATE "\""));
    cr_expect(str_eq(json_string(json_get(sus, "childRunId"), W.a), middle));
    end_child(c);
    cr_expect_eq(world_wait_final(root), RUN_COMPLETED, "%s", world_story(root));
    workflow_unref(CHILD);
}

Test(engine_children_wait, the_node_timeout_counts_while_the_child_waits /* WF-24 */) {
    struct str p = started(
        "{\"id\":\"s\",\"typeId\":\"core.subWorkflow\",\"name\":\"s\",\"position\":{\"x\":0,\"y\":"
        "0},\"config\":{\"workflowId\":\"child\"},\"inputs\":{},\"settings\":{\"timeoutMs\":5000}"
        "}");
    struct str c = running_child(p);
    suspend_child(c);
    world_wait_status(p, RUN_WAITING_APPROVAL);
    world_time_skip(6000);
    cr_expect_eq(world_wait_final(p), RUN_FAILED);
    cr_expect(str_eqc(json_get(world_view(p).error, "code"), "\"node_timeout\""));
    cr_expect_eq(world_head(c).status, RUN_CANCELLED);
    workflow_unref(CHILD);
}
