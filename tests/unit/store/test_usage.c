/* test_usage.c: what tenants take moves with their runs, and creations beyond it are refused. */
#include "kit.h"
#include "kit_old.h"
#include "store/upkeep.h"

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(store_usage, .init = up, .fini = down);

static struct tenant_usage usage(struct str tenant) {
    struct tenant_usage u;
    cr_assert_eq(store_tenant_usage(w.s, tenant, &u, &w.err), 0, "%s", w.err.message);
    return u;
}

static int64_t bytes_of(const struct plan *p) {
    int64_t sum = 0;
    for (size_t i = 0; i < p->events_nr; i++) sum += event_bytes(&p->events[i]);
    return sum;
}

Test(store_usage, what_a_tenant_takes_is_the_sum_of_its_runs /* S7 */) {
    struct plan *p = kit_create("run_a", 3), *q = kit_create("run_b", 2), *more;
    q->create->meta.tenant = STR("tenant-b");
    int64_t a = bytes_of(p), b = bytes_of(q);
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_eq(kit_apply(&w, q), 0);
    more = kit_append(1, 3, 5, true);
    a += bytes_of(more);
    cr_assert_eq(kit_apply(&w, more), 0);
    cr_expect_eq(kit_apply(&w, kit_append(2, 7, 5, false)), WOPR_E_STALE, "counts nothing");
    cr_expect(usage(KIT_TENANT).bytes == a && usage(KIT_TENANT).runs_open == 0);
    cr_expect(usage(STR("tenant-b")).bytes == b && usage(STR("tenant-b")).runs_open == 1);
    cr_expect_eq(usage(STR("nobody")).runs, 0);
    kit_close(&w);
    kit_open(&w);
    cr_expect_eq(usage(KIT_TENANT).bytes, a);
    cr_expect_eq(kit_verify(&w), 0);
    int64_t later = 1700000000500 + 1000;
    cr_assert_eq(kit_purge(&w, later, later, 10), 1);
    cr_expect(usage(KIT_TENANT).bytes == 0 && usage(KIT_TENANT).runs == 0);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_usage, creations_beyond_the_bytes_of_a_tenant_are_refused_in_the_batch /* S7 */) {
    enum { N = 6 };
    struct plan *v[N];
    int rcs[N];
    for (int i = 0; i < N; i++) {
        char id[16];
        snprintf(id, sizeof id, "run_%d", i);
        v[i] = kit_create(id, 2);
        v[i]->create->tenant_bytes_max = 3 * bytes_of(v[i]);
    }
    v[N - 1]->create->meta.tenant = STR("tenant-b");
    cr_assert_eq(store_apply(w.s, v, N, rcs, &w.err), 0);
    for (int i = 0; i < N; i++)
        cr_expect_eq(rcs[i], i < 3 || i == N - 1 ? 0 : WOPR_E_QUOTA, "plan %d", i);
    cr_expect_eq(v[4]->tenant_bytes, v[4]->create->tenant_bytes_max);
    for (int i = 0; i < N; i++) plan_unref(v[i]);
    cr_expect_eq(usage(KIT_TENANT).runs, 3);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_usage, a_wrong_count_is_found /* STORE-44 */) {
    cr_assert_eq(kit_apply(&w, kit_create("run_a", 3)), 0);
    cr_expect_eq(kit_verify(&w), 0);
    cr_assert_eq(kit_foreign(&w, "UPDATE tenant_usage SET bytes = bytes + 1"), 0);
    cr_expect_eq(kit_verify(&w), 2); /* of the tenant, and of the whole */
    cr_assert_eq(kit_foreign(&w, "DELETE FROM tenant_usage"), 0);
    cr_expect_eq(kit_verify(&w), 2);
}

Test(store_usage, a_file_of_an_older_version_is_counted_when_it_is_opened /* STORE-15 */) {
    struct plan *p = kit_create("run_a", 3), *q = kit_create("run_b", 2);
    q->create->meta.tenant = STR("tenant-b");
    const struct plan_artifact art = {
        .artifact_id = STR("x"), .artifact_type = STR("t"), .body = STR("{\"a\":\"0123456789\"}")};
    plan_artifact(q, &art);
    int64_t a = bytes_of(p), b = bytes_of(q) + (int64_t)art.body.n;
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_eq(kit_apply(&w, q), 0);
    cr_expect_eq(usage(STR("tenant-b")).bytes, b);
    kit_close(&w);
    kit_old(&w, 10);
    kit_open(&w);
    cr_expect_eq(usage(KIT_TENANT).bytes, a);
    cr_expect_eq(usage(STR("tenant-b")).bytes, b);
    cr_expect_eq(usage(STR("tenant-b")).runs_open, 1);
    cr_expect_eq(kit_verify(&w), 0);
}
