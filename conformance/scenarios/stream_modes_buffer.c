/* stream_modes_buffer.c: public scenario stream-modes-buffer (SSE-31 to SSE-35). */
#include "suite.h"

SCENARIO(stream_modes_buffer);

static const char *delayed_run(void) {
    need_fixture("conformance-delay");
    return create_run("conformance-delay", NULL);
}

Test(stream_modes_buffer, batches_are_arrays_of_events) {
    struct stream st = stream(delayed_run(), "?streamMode=updates&bufferMs=200", NULL, 30000);
    size_t batches = 0;
    cr_assert_eq(st.status, 200);
    cr_expect(st.closed_by_server);
    for (size_t i = 0; i < st.n; i++) {
        if (!str_eqc(st.v[i].event, "batch")) continue;
        struct json_elements l = list_at(st.v[i].data, "");
        cr_assert_gt(l.n, 0u, "an empty batch");
        cr_expect(str_eqc(st.v[i].id, fmt("%lld", (long long)int_at(l.v[l.n - 1], "sequence"))),
                  "the id of a batch is its highest sequence (SSE-32)");
        batches++;
    }
    cr_expect_gt(batches, 0u);
}

Test(stream_modes_buffer, a_window_above_the_maximum_is_refused) {
    const char *run = delayed_run();
    struct stream st = stream(run, "?bufferMs=99999", NULL, 10000);
    cr_expect_eq(st.status, 400, "%ld", st.status);
    wait_terminal(run, 10000);
}

Test(stream_modes_buffer, the_end_of_the_run_flushes_at_once) {
    struct stream st = stream(delayed_run(), "?bufferMs=4000", NULL, 15000);
    bool ended = false;
    for (size_t i = 0; i < st.n; i++)
        ended =
            ended || (str_eqc(st.v[i].event, "batch") && has(st.v[i].data, "\"run.completed\""));
    cr_expect(ended, "no batch holds the end of the run");
    cr_expect(st.closed_by_server);
    cr_expect_lt(st.took_ms, 3900, "the delay of 1000 ms, not the window of 4000 ms");
}

Test(stream_modes_buffer, no_window_no_batch) {
    struct stream st = stream(delayed_run(), "?bufferMs=0", NULL, 15000);
    cr_assert_eq(st.status, 200);
    cr_expect_not(stream_names(&st, "batch"));
    cr_expect(stream_names(&st, "run.completed"));
}
