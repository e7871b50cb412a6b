/* test_sched_rounds.c: rounds of loops whose bodies or heads fail, and logs of older rounds
 * (30-nodes 2.4, WF-8, WF-12, EVT-41). */
#include "sched_world.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(sched_rounds, the_next_item_follows_a_failed_body /* 30-nodes 2.4, WF-8 */) {
    static const char *const FAILING[] = {"any_failed", "all_complete"};
    for (int k = 0; k < 2; k++) {
        struct world x;
        char edges[512];
        snprintf(edges, sizeof edges, "%s," ER("b", "l", "%s"), E("l", "b"), FAILING[k],
                 FAILING[k]);
        world_up(&x, NT("l", "core.loop") "," N("b"), edges, NULL, NULL);
        event(&x, EV_RUN_STARTED, -1, "{}");
        for (int round = 0; round < 3; round++) {
            cr_expect_eq(x.s->nodes[0].sched.round, round);
            cr_assert(step(&x, S({"l", "{\"done\":false}"})));
            cr_assert(step(&x, S({"b", "fail"})));
        }
        cr_expect_eq(x.s->nodes[0].sched.round, 3);
        world_down(&x);
    }
}

Test(sched_rounds, a_head_that_fails_has_its_round_again /* 30-nodes 2.4 */) {
    struct world x; /* l fails in its second round: f leads back to it */
    world_up(
        &x, NT("l", "core.loop") "," N("b") "," N("f"),
        E("l", "b") "," E("b", "l") "," ER("l", "f", "any_failed") "," ER("f", "l", "all_complete"),
        NULL, NULL);
    event(&x, EV_RUN_STARTED, -1, "{}");
    static const char *const L[] = {"{\"done\":false}", "fail", "fail", "{\"done\":false}"};
    static const int ROUND[] = {0, 1, 1, 1};
    for (size_t k = 0; k < 4; k++) {
        while (next(&x).node != 0) cr_assert(step(&x, NULL));
        cr_expect_eq(x.s->nodes[0].sched.round, ROUND[k], "%zu: %d", k, x.s->nodes[0].sched.round);
        cr_assert(step(&x, S({"l", L[k]})));
    }
    world_down(&x);
}

/* Older programs counted the rounds of an inner loop on, so that it was done at once when
 * the outer one entered it again.  Their logs say so: at each of their sequences they ask for what
 * they did next, and a fork of one iterates from the next entry on. */
Test(sched_rounds, logs_of_the_rounds_before_fold_as_they_are /* EVT-41, FORK-15 */) {
    static const struct {
        const char *node, *outputs;
    } LOG[] = {
        {"o", "{\"done\":false,\"index\":0}"},
        {"i", "{\"done\":false,\"index\":0}"},
        {"b", "{}"},
        {"i", "{\"done\":false,\"index\":1}"},
        {"b", "{}"},
        {"i", "{\"done\":true,\"index\":2}"},
        {"o", "{\"done\":false,\"index\":1}"},
        {"i", "{\"done\":true,\"index\":2}"},
        {"o", "{\"done\":true,\"index\":2}"},
        {"z", "{}"},
    };
    struct world x;
    world_up(&x, NT("o", "core.loop") "," NT("i", "core.loop") "," N("b") "," N("z"),
             EC("o", "i", "output.done == false") "," EC("i", "b", "output.done == false") "," E(
                 "b", "i") "," EC("i", "o", "output.done == true") "," EC("o", "z",
                                                                          "output.done == true"),
             NULL, NULL);
    event(&x, EV_RUN_STARTED, -1, "{}");
    for (size_t k = 0; k < sizeof LOG / sizeof *LOG; k++) {
        struct sched_action a = next(&x);
        int node = at(&x, LOG[k].node);
        for (; a.what == SCHED_SKIP; a = next(&x)) cr_assert(step(&x, NULL));
        cr_assert(a.what == SCHED_START && a.node == node, "%zu: %d of %d", k, (int)a.what, a.node);
        if (k == 7) cr_expect_eq(x.s->nodes[node].sched.round, 0); /* what it would do now */
        cr_assert(step(&x, S({LOG[k].node, LOG[k].outputs})));
    }
    cr_expect(next(&x).what == SCHED_COMPLETE, "%s", x.trace.p);
    world_down(&x);
}
