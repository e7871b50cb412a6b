/* stream_reconnect.c: public scenario streamReconnect (SSE-25, SSE-26, SSE-28, SSE-29). */
#include "suite.h"

SCENARIO(stream_reconnect);

/* H: the numeric id, else the sequence in the document; fails when there is none. */
static int64_t sequence_of(const struct frame *f) {
    uint64_t id = 0;
    if (f->id.p != NULL && str_u64(f->id, &id)) return (int64_t)id;
    return int_at(f->data, "sequence");
}

Test(stream_reconnect, a_cut_reader_goes_on_where_it_stopped) {
    need_fixture("conformance-cancellable");
    const char *run = create_run("conformance-cancellable", "\"inputs\":{\"delayMs\":2000}");
    struct stream a = stream(run, "", NULL, 1000);
    cr_assert_eq(a.status, 200);
    cr_assert_gt(a.n, 0u, "no event within the first second, so nothing to go on from");
    int64_t last = sequence_of(&a.v[a.n - 1]);
    struct stream b = stream(run, "", fmt("%lld", (long long)last), 10000);
    cr_assert_eq(b.status, 200);
    for (size_t i = 0; i < b.n; i++)
        cr_expect_gt(sequence_of(&b.v[i]), last, "event %lld came twice",
                     (long long)sequence_of(&b.v[i]));
    cr_expect(stream_names(&b, "run.completed"));
    wait_terminal(run, 10000);
}

Test(stream_reconnect, nothing_follows_the_last_event) {
    need_fixture("conformance-noop");
    const char *run = create_run("conformance-noop", NULL);
    struct stream a = stream(run, "", NULL, 5000);
    cr_assert_eq(a.status, 200);
    cr_assert(stream_names(&a, "run.completed"), "the stream does not reach the end of the run");
    int64_t last = sequence_of(&a.v[a.n - 1]);
    struct stream b = stream(run, "", fmt("%lld", (long long)last), 5000);
    cr_expect_eq(b.status, 200);
    for (size_t i = 0; i < b.n; i++) cr_expect_leq(sequence_of(&b.v[i]), last);
    cr_expect(b.closed_by_server, "nothing can follow, so the server should close");
}

/* Ours: whatever the place, the rest is the suffix. */
Test(stream_reconnect, every_place_gives_the_suffix) {
    need_fixture("conformance-multi-node");
    const char *run = create_run("conformance-multi-node", NULL);
    wait_terminal(run, lifecycle_ms());
    struct stream all = stream(run, "", NULL, 15000);
    cr_assert_gt(all.n, 2u);
    for (size_t i = 0; i < all.n; i++) {
        struct stream st = stream(run, "", fmt("%lld", (long long)sequence_of(&all.v[i])), 15000);
        cr_assert_eq(st.n, all.n - 1 - i, "after event %zu", i);
        for (size_t k = 0; k < st.n; k++)
            cr_expect(json_equal(st.v[k].data, all.v[i + 1 + k].data, test_arena()));
    }
}
