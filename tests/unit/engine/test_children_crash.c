/*
 * test_children_crash.c: a host with sub-workflows dies before each of its commits, one after the
 * other; whatever is left then, the next host brings everything to an end, without a second child
 * and without an orphan (WF-45, INT-41, STORE-38, STORE-39, DISP-12).
 */
#include "engine_world.h"

#include "codec/json.h"
#include "store/run_lists.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEATH           9
#define COMMITS_MAX     60
#define SUB(id, config) NODE(id, "core.subWorkflow", config, "")

/* --- dying: the committer reads the wall clock once per batch, before it writes --- */

static _Atomic int COMMITS_LEFT; /* 0 = for ever */

static void count_down(void) {
    char name[16] = "";
    (void)prctl(PR_GET_NAME, name);
    if (strcmp(name, "wopr-commit") == 0 && COMMITS_LEFT > 0 && --COMMITS_LEFT == 0) _exit(DEATH);
}

static void put(const char *id, const char *nodes, const char *edges, const char *vars) {
    workflow_unref(world_put(world_def(id, nodes, edges, vars, 0, 0)));
}

/* --- what was left --- */

static struct run_list all_runs(void) {
    struct wopr_error err = {0};
    struct run_list l;
    struct run_filter f = {.tenant = STR("t1"), .test_mode = true, .status = -1, .max = 1000};
    cr_assert_eq(store_run_list(W.store, &f, W.a, &l, &err), 0, "%s", err.message);
    return l;
}

static struct str root_run(void) {
    struct run_list l = all_runs();
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].parent_run_id.n == 0) return l.v[i].head.run_id;
    return STR_NONE;
}

/* Children may appear while their parents are waited for. */
static void wait_all(void) {
    size_t seen;
    do {
        struct run_list l = all_runs();
        seen = l.n;
        for (size_t i = 0; i < l.n; i++) (void)world_wait_final(l.v[i].head.run_id);
    } while (all_runs().n != seen);
    struct run_list l = all_runs();
    for (size_t i = 0; i < l.n; i++) world_check_log(l.v[i].head.run_id);
}

/* --- the loop --- */

struct story {
    void (*live)(void);              /* in the process that dies */
    void (*check)(struct str root);  /* after the next one brought all to an end */
    void (*revive)(struct str root); /* before that; may be NULL */
    int deaths_min;
};

static void live_and_die(const struct story *s, int n) {
    world_virtual_time();
    WORLD_ON_WALL = count_down;
    world_up();
    put("leaf", NODE("l", "core.delay", "\"ms\":3", ""), 0,
        "{\"name\":\"v\",\"type\":\"string\",\"defaultValue\":\"x\"}");
    put("middle", SUB("m", "\"workflowId\":\"leaf\",\"outputMapping\":{\"v\":\"v\"}"), 0, 0);
    put("slow", NODE("d", "core.delay", "\"ms\":600000", ""), 0, 0);
    put("above", SUB("a", "\"workflowId\":\"slow\""), 0, 0);
    COMMITS_LEFT = n;
    s->live();
    world_leave();
    _exit(0);
}

static void every_commit(const struct story *s) {
    int code = DEATH, n;
    for (n = 1; code == DEATH; n++) {
        int status;
        cr_assert(n < COMMITS_MAX, "the story does not end");
        cr_assert(folder_make(W.dir, sizeof W.dir, "crash"));
        pid_t pid = fork();
        if (pid == 0) live_and_die(s, n);
        cr_assert_eq(waitpid(pid, &status, 0), pid);
        cr_assert(WIFEXITED(status), "died before commit %d of signal %d", n, WTERMSIG(status));
        code = WEXITSTATUS(status);
        cr_assert(code == DEATH || code == 0, "%d before commit %d", code, n);
        world_virtual_time();
        world_up();
        struct str root = root_run();
        if (root.n > 0 && s->revive) s->revive(root);
        wait_all();
        if (root.n > 0) s->check(root);
        world_down();
        memset(&W, 0, sizeof W);
    }
    cr_expect(n - 2 >= s->deaths_min, "died %d times only", n - 2);
}

/* --- a child that is waited for, two levels deep --- */

static void live_waiting(void) {
    (void)world_wait_final(world_start(
        world_def("root", SUB("r", "\"workflowId\":\"middle\",\"outputMapping\":{\"v\":\"v\"}"), 0,
                  0, 0, 0),
        NULL));
}

static void check_waiting(struct str root) {
    cr_expect_eq(world_head(root).status, RUN_COMPLETED, "%s", world_story(root));
    cr_expect(str_eqc(world_var(root, "v"), "\"x\""));
    cr_expect_eq(all_runs().n, 3, "no child twice");
    cr_expect_eq(world_count(root, EV_NODE_STARTED), 1);
    cr_expect_eq(world_count(root, EV_VARIABLE_CHANGED), 1);
}

Test(engine_children_crash, waiting_for_children, .timeout = 300) {
    every_commit(&(struct story){live_waiting, check_waiting, NULL, 5});
}

/* --- workers of a supervisor (DISP-12, ORCH-6) --- */

static void live_dispatching(void) {
    static const char *const nodes =
        NODE("s", "core.orchestrator.supervisor",
             "\"mockDecisions\":[{\"kind\":\"next-worker\",\"nextWorkerIds\":[\"leaf\",\"leaf\"]},{"
             "\"kind\":\"terminate\",\"reason\":\"enough\"}]",
             "") "," NODE("d", "core.dispatch", "", "");
    (void)world_wait_final(world_start(
        world_def("root", nodes, EDGE("e", "s", "d", "") "," EDGE("l", "d", "s", ""), 0, 0, 0),
        NULL));
}

static void check_dispatching(struct str root) {
    cr_expect_eq(world_head(root).status, RUN_COMPLETED, "%s", world_story(root));
    cr_expect_eq(all_runs().n, 3, "no worker twice");
    cr_expect_eq(world_count(root, EV_ORCHESTRATOR_DECIDED), 2, "%s", world_story(root));
    cr_expect_eq(world_count(root, EV_NODE_STARTED), 4);
}

Test(engine_children_crash, workers_of_a_supervisor /* DISP-12 */, .timeout = 300) {
    every_commit(&(struct story){live_dispatching, check_dispatching, NULL, 5});
}

/* --- fire and forget --- */

static void live_forgetting(void) {
    struct str r = world_start(
        world_def("root", SUB("r", "\"workflowId\":\"leaf\",\"waitForCompletion\":false"), 0, 0, 0,
                  0),
        NULL);
    (void)world_wait_final(r);
    wait_all();
}

static void check_forgetting(struct str root) {
    cr_expect_eq(world_head(root).status, RUN_COMPLETED);
    struct run_list l = all_runs();
    cr_expect_eq(l.n, 2);
    for (size_t i = 0; i < l.n; i++) cr_expect_eq(l.v[i].head.status, RUN_COMPLETED);
}

Test(engine_children_crash, not_waiting_for_a_child, .timeout = 300) {
    every_commit(&(struct story){live_forgetting, check_forgetting, NULL, 2});
}

/* --- a cancel on its way down --- */

static void live_cancelled(void) {
    struct str r =
        world_start(world_def("root", SUB("r", "\"workflowId\":\"above\""), 0, 0, 0, 0), NULL);
    while (all_runs().n < 3) { /* bounded by the death that the loop has planned, or by the end */
        struct run_head h = world_head(r);
        (void)h;
    }
    struct run_list l = all_runs();
    world_wait_event(l.v[0].head.run_id, EV_NODE_STARTED, 1);
    cr_assert_eq(world_op(ENGINE_CANCEL, r, NULL), 0);
}

/* Who asked got no answer, and asks again. */
static void cancel_again(struct str root) { cr_assert_eq(world_op(ENGINE_CANCEL, root, NULL), 0); }

static void check_cancelled(struct str root) {
    enum run_status ended = world_head(root).status;
    struct run_list l = all_runs();
    cr_expect(l.n <= 3);
    cr_expect_eq(ended, RUN_CANCELLED, "%s", world_story(root));
    for (size_t i = 0; i < l.n; i++)
        cr_expect_neq(l.v[i].head.status, RUN_COMPLETED, "%s", world_story(l.v[i].head.run_id));
}

Test(engine_children_crash, a_cancel_on_its_way_down, .timeout = 300) {
    every_commit(&(struct story){live_cancelled, check_cancelled, cancel_again, 5});
}

/* --- a node timeout that leaves a child behind --- */

static void live_timed(void) {
    struct str r = world_start(
        world_def("root",
                  "{\"id\":\"s\",\"typeId\":\"core.subWorkflow\",\"name\":\"s\",\"position\":{"
                  "\"x\":0,\"y\":0},\"config\":{\"workflowId\":\"slow\"},\"inputs\":{},"
                  "\"settings\":{\"timeoutMs\":20}}",
                  0, 0, 0, 0),
        NULL);
    (void)world_wait_final(r);
    wait_all();
}

static void check_timed(struct str root) {
    cr_expect_eq(world_head(root).status, RUN_FAILED);
    struct run_list l = all_runs();
    cr_expect(l.n <= 2);
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].parent_run_id.n > 0) cr_expect_eq(l.v[i].head.status, RUN_CANCELLED);
}

Test(engine_children_crash, a_timeout_that_leaves_a_child, .timeout = 300) {
    every_commit(&(struct story){live_timed, check_timed, NULL, 1});
}
