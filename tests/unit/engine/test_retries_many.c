/* test_retries_many.c: many nodes that wait for their retries together cost no square (WF-24). */
#include "engine_world.h"

#include "base/buf.h"
#include "support/growth.h"

#include <criterion/criterion.h>

enum { FEW = 1500, MANY = 4 * FEW };

static void up_executions(void) {
    W.cfg.limits.max_node_executions = 3 * MANY;
    world_up();
}

TestSuite(engine_retries, .init = up_executions, .fini = world_down);

/* Microseconds of all threads for a run whose nodes all wait for one retry, four of them in each
 * millisecond. */
static uint64_t retries(void *ctx, unsigned nr) {
    struct buf n;
    (void)ctx;
    buf_init(&n, 1 << 21);
    for (unsigned i = 0; i < nr; i++)
        buf_addf(&n,
                 "%s{\"id\":\"n%u\",\"typeId\":\"test.flaky\",\"name\":\"n\",\"position\":{"
                 "\"x\":0,\"y\":0},\"config\":{\"failures\":1},\"inputs\":{},"
                 "\"settings\":{\"maxRetries\":1,\"retryDelayMs\":%u}}",
                 i ? "," : "", i, 500 + i / 4);
    uint64_t began = cpu_time_all_us();
    struct workflow *wf = world_put(world_def("w", n.p, 0, 0, 0, 0));
    struct str r = world_create(wf, NULL, "{}");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%.600s", world_story(r));
    cr_expect_eq(world_head(r).next_seq, 2 + 4 * (int64_t)nr);
    uint64_t us = cpu_time_all_us() - began;
    workflow_unref(wf);
    buf_fini(&n);
    return us;
}

Test(engine_retries, retries_that_wait_together_cost_no_square /* WF-24 */) {
    const struct growth g = {retries, NULL, FEW, MANY, 10, 200000}; /* a square takes 16 times */
    char told[512];
    cr_expect(growth_holds(&g, told, sizeof told), "%s", told);
}
