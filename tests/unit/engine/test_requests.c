/* test_requests.c: requests of nodes and the life of their run (STORE-42). */
#include "outside_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

enum { WAIT_S = 60 };

TestSuite(engine_requests, .init = outside_up, .fini = outside_down, .timeout = 200);

static struct str asking(void) {
    struct str node =
        arena_printf(W.a,
                     "{\"id\":\"n\",\"typeId\":\"vendor.wopr.http\",\"name\":\"n\","
                     "\"position\":{\"x\":0,\"y\":0},\"inputs\":{},\"config\":{\"method\":\"POST\","
                     "\"timeoutMs\":600000,\"url\":\"http://127.0.0.1:%d/\"}}",
                     outside_port());
    struct str run = world_start(world_def("w", arena_cstr(W.a, node), 0, 0, 0, 0), NULL);
    for (int i = 0; i < WAIT_S * 1000 && atomic_load(&OUTSIDE_ASKED) == 0; i++) usleep(1000);
    cr_assert_eq(atomic_load(&OUTSIDE_ASKED), 1u);
    return run;
}

static void ends_with(struct str run) {
    cr_expect_eq(outside_under_way(), 1u);
    cr_expect_eq(world_op(ENGINE_CANCEL, run, NULL), 0);
    for (int i = 0; i < WAIT_S * 1000 && outside_under_way() > 0; i++) usleep(1000);
    cr_expect_eq(outside_under_way(), 0u, "nobody waits for it, and its place is taken");
}

Test(engine_requests, a_cancel_ends_the_request_of_its_run) { ends_with(asking()); }

/* A plan that the store refused: the run is folded again, and finds its request under way. */
Test(engine_requests, a_cancel_ends_a_request_that_was_sent_before_the_last_fold) {
    struct str run = asking();
    const char *refuse =
        arena_cstr(/* no such event can be written: an index of it cannot be */
                   W.a, arena_printf(W.a,
                                     "CREATE INDEX refuse ON events (abs(iif(kind = %d, "
                                     "-9223372036854775808, 0)))",
                                     (int)EV_RUN_PAUSED));
    world_sql(refuse);
    cr_expect_eq(world_pause(run, DRAIN_IMMEDIATE), WOPR_E_CONFLICT);
    world_sql("DROP INDEX refuse");
    ends_with(run);
}
