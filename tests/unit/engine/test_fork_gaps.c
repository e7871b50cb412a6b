/* test_fork_gaps.c: the running time of forks of forks leaves out the time between each cut and the
 * making of the fork (WF-23, FORK-9), however they are loaded. */
#include "engine_world.h"
#include "fork_kit.h"
#include "log_kit.h"

#include <criterion/criterion.h>

enum { GAP_MS = 60000 };

static void up(void) {
    world_virtual_time();
    world_up();
}

TestSuite(engine_fork_gaps, .init = up, .fini = world_down);

/* A chain of short waits that may run for five seconds. */
static struct str chain(void) {
    return world_start(world_def("w",
                                 NODE("a", "core.delay", "\"ms\":20", "") "," NODE(
                                     "b", "core.delay", "\"ms\":20",
                                     "") "," NODE("c", "core.delay", "\"ms\":20",
                                                  "") "," NODE("d", "core.delay", "\"ms\":20", ""),
                                 EDGE("e1", "a", "b", "") "," EDGE("e2", "b", "c",
                                                                   "") "," EDGE("e3", "c", "d", ""),
                                 0, "\"timeout\":5000", 0),
                       NULL);
}

/* A branch, made long after its source, from behind the n-th node that ended. */
static struct str branch_late(struct str source, unsigned n) {
    world_time_skip(GAP_MS);
    return fork_run(source, FORK_BRANCH, world_event(source, EV_NODE_COMPLETED, n)->seq + 1);
}

static void completes(struct str run, const char *what) {
    cr_expect_eq(world_wait_final(run), RUN_COMPLETED, "%s: %s", what, world_story(run));
    cr_expect_eq(world_count(run, EV_NODE_COMPLETED), 4, "%s: %s", what, world_story(run));
    world_check_log(run);
}

Test(engine_fork_gaps, the_time_before_each_fork_is_not_running_time /* WF-23 */) {
    struct str r = chain();
    completes(r, "run");
    struct str one = branch_late(r, 1);
    completes(one, "branch");
    struct str two = branch_late(one, 2);
    completes(two, "branch of a branch");
    struct str three = branch_late(two, 3);
    completes(three, "branch of that");
    completes(branch_late(three, 1), "branch from before all cuts");
    completes(branch_late(three, 2), "branch from between them");
}

Test(engine_fork_gaps, a_host_that_takes_such_a_fork_over_knows_them_too /* STORE-39 */) {
    struct str r = chain();
    completes(r, "run");
    struct str one = branch_late(r, 1);
    completes(one, "branch");
    struct str two = branch_late(one, 2);
    world_engine_crash();
    world_engine_start();
    completes(two, "branch of a branch");
}

/* A branch from 0 shows nothing of its source, which retention removes whole. */
Test(engine_fork_gaps, a_source_that_is_gone_has_no_gap /* FORK-24, STORE-39, STORE-44 */) {
    struct str gate =
        world_def("g", NODE("g", "core.approvalGate", "", ""), 0, 0, "\"timeout\":5000", 0);
    struct str r = world_start(gate, NULL);
    world_wait_settled(r);
    cr_assert_eq(world_answer(r, "g", "{\"action\":\"accept\"}", NULL), 0);
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    struct str b = fork_run(r, FORK_BRANCH, 0);
    world_wait_settled(b);
    int64_t n = world_head(b).next_seq;
    log_purge_run(r);
    cr_assert_eq(world_sql_number("SELECT count(*) FROM runs"), 1, "nothing of it is left");
    world_time_skip(GAP_MS);
    world_engine_crash();
    world_engine_start();
    struct str c = fork_run(b, FORK_BRANCH, n - 1), d = fork_run(b, FORK_REPLAY, 1);
    const struct str all[] = {b, c, d};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct wopr_error err = {0};
        world_wait_settled(all[i]);
        int rc = world_answer(all[i], "g", "{\"action\":\"accept\"}", &err);
        cr_expect_eq(rc, 0, "%zu: %s", i, err.message);
        cr_expect_eq(world_wait_final(all[i]), RUN_COMPLETED, "%s", world_story(all[i]));
    }
}
