/* test_retries_many.c: many nodes that wait for their retries together cost no square (WF-24). */
#include "engine_world.h"

#include "base/buf.h"

#include <criterion/criterion.h>
#include <time.h>

enum { FEW = 1500, MANY = 4 * FEW };

static void up_executions(void) {
    W.cfg.limits.max_node_executions = 3 * MANY;
    world_up();
}

TestSuite(engine_retries, .init = up_executions, .fini = world_down);

/* Returns the milliseconds of all threads for a run whose nodes all wait for one retry, four of
 * them in each millisecond. */
static unsigned retries(unsigned nr) {
    struct buf n;
    buf_init(&n, 1 << 21);
    for (unsigned i = 0; i < nr; i++)
        buf_addf(&n,
                 "%s{\"id\":\"n%u\",\"typeId\":\"test.flaky\",\"name\":\"n\",\"position\":{"
                 "\"x\":0,\"y\":0},\"config\":{\"failures\":1},\"inputs\":{},"
                 "\"settings\":{\"maxRetries\":1,\"retryDelayMs\":%u}}",
                 i ? "," : "", i, 500 + i / 4);
    clock_t began = clock();
    struct workflow *wf = world_put(world_def("w", n.p, 0, 0, 0, 0));
    struct str r = world_create(wf, NULL, "{}");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%.600s", world_story(r));
    cr_expect_eq(world_head(r).next_seq, 2 + 4 * (int64_t)nr);
    unsigned ms = (unsigned)((clock() - began) * 1000 / CLOCKS_PER_SEC);
    workflow_unref(wf);
    buf_fini(&n);
    return ms;
}

Test(engine_retries, retries_that_wait_together_cost_no_square /* WF-24 */) {
    unsigned few = retries(FEW), many = retries(MANY); /* a square takes 16 times as long */
    cr_expect_lt(many, 10 * few + 200, "%u ms, %u ms", few, many);
}
