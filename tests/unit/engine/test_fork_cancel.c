/*
 * test_fork_cancel.c: a replay that is cancelled before, while and after it begins (FORK-18,
 * FORK-20, RUN-17).
 */
#include "engine_world.h"
#include "fork_kit.h"

#include <criterion/criterion.h>

enum { ROUNDS = 300 };

static void up(void) {
    W.cfg.workers = 1;
    world_up();
}
TestSuite(engine_fork_cancel, .init = up, .fini = world_down, .timeout = 300);

static struct str source_that_waits(void) {
    struct str r =
        world_start(world_def("w", NODE("d", "core.delay", "\"ms\":600000", ""), 0, 0, 0, 0), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    return r;
}

/* Whichever comes first, the command or the first step: the cancel is done, and the log is whole.
 */
Test(engine_fork_cancel, a_cancel_races_with_the_first_step_of_a_replay /* S11 */) {
    struct str source = source_that_waits();
    unsigned before = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct str f = fork_run(source, FORK_REPLAY, 0);
        cr_assert_eq(world_op(ENGINE_CANCEL, f, NULL), 0, "round %u", i);
        cr_assert_eq(world_head(f).status, RUN_CANCELLED, "round %u", i);
        if (world_count(f, EV_NODE_STARTED) > 0) continue;
        before++; /* nothing ran, nothing differs */
        cr_expect_str_eq(world_story(f), "run.started run.cancelled");
    }
    cr_expect_gt(before, 0u, "no cancel came before the first step: the test proves nothing");
}

Test(engine_fork_cancel, a_replay_that_has_begun_is_cancelled /* S11, FORK-20 */) {
    struct str source = source_that_waits();
    for (unsigned i = 0; i < ROUNDS / 10; i++) {
        struct str f = fork_run(source, FORK_REPLAY, 0);
        world_wait_event(f, EV_NODE_STARTED, 1);
        cr_assert_eq(world_op(ENGINE_CANCEL, f, NULL), 0);
        cr_assert_eq(world_head(f).status, RUN_CANCELLED);
        world_check_log(f);
    }
}

Test(engine_fork_cancel, a_replay_that_was_paused_before_it_began_is_cancelled /* S11 */) {
    struct str source = source_that_waits();
    for (unsigned i = 0; i < ROUNDS / 3; i++) {
        struct str f = fork_run(source, FORK_REPLAY, 0);
        cr_assert_eq(world_pause(f, DRAIN_IMMEDIATE), 0);
        cr_assert_eq(world_op(ENGINE_CANCEL, f, NULL), 0);
        cr_assert_eq(world_head(f).status, RUN_CANCELLED);
        world_check_log(f);
    }
}
