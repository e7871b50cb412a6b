/* test_retries_many.c: many nodes that wait for their retries together cost no square (WF-24). */
#include "engine_world.h"

#include "base/buf.h"

#include <criterion/criterion.h>
#include <time.h>

enum { MANY = 6000 };

TestSuite(engine_retries, .init = world_up, .fini = world_down);

Test(engine_retries, retries_that_wait_together_cost_no_square /* WF-24 */) {
    struct buf n;
    world_engine_stop();
    W.cfg.limits.max_node_executions = 3 * MANY;
    world_engine_start();
    buf_init(&n, 1 << 20);
    for (unsigned i = 0; i < MANY; i++)
        buf_addf(&n,
                 "%s{\"id\":\"n%u\",\"typeId\":\"test.flaky\",\"name\":\"n\",\"position\":{"
                 "\"x\":0,\"y\":0},\"config\":{\"failures\":1},\"inputs\":{},"
                 "\"settings\":{\"maxRetries\":1,\"retryDelayMs\":%u}}",
                 i ? "," : "", i, 500 + i / 4);
    clock_t began = clock(); /* of all threads */
    struct str def = world_def("w", n.p, 0, 0, 0, 0);
    struct workflow *wf = world_put(def);
    struct str r = world_create(wf, NULL, "{}");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%.600s", world_story(r));
    cr_expect_eq(world_head(r).next_seq, 2 + 4 * MANY);
    unsigned ms = (unsigned)((clock() - began) * 1000 / CLOCKS_PER_SEC);
    (void)ms;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    cr_expect_lt(ms, 1200u, "%u ms", ms);
#endif
    workflow_unref(wf);
    buf_fini(&n);
}
