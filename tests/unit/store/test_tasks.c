/*
 * Tasks of workers: the guard of a plan, claims among many, leases that run out (WRK-11 to WRK-14).
 */
#include "base/clock.h"
#include "store/leases.h"
#include "store/seals.h"
#include "store/tasks.h"
#include "support/cpu_time.h"
#include "unit/store/kit.h"

#include <stdio.h>

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(store_tasks, .init = up, .fini = down, .timeout = 300);

static struct plan *with_task(int64_t run_no, int64_t base, unsigned n, const char *type) {
    struct plan *p = kit_append(run_no, base, 1, false);
    for (unsigned i = 0; i < n; i++) {
        char id[64], node[32];
        snprintf(id, sizeof id, "task_%lld_%lld_%u", (long long)run_no, (long long)base, i);
        snprintf(node, sizeof node, "n%lld_%u", (long long)base, i);
        plan_task(p, &(struct plan_task){.op = TASK_ROW_OPEN,
                                         .task_id = str_c(id),
                                         .node_id = str_c(node),
                                         .type_id = str_c(type),
                                         .invocation_id = STR("inv"),
                                         .body = STR("{}"),
                                         .bytes = 2,
                                         .at_ms = 1000 + i});
    }
    return p;
}

static struct task_row_list claim(const char *type, size_t max, int64_t now_ms) {
    const struct str types[] = {str_c(type)};
    struct task_op op = {.what = TASK_OP_CLAIM,
                         .a = w.a,
                         .lease_ms = 1000,
                         .max = max,
                         .queue = {KIT_TENANT, false, types, 1}};
    store_task_ops(w.s, &op, now_ms);
    cr_assert_eq(op.rc, 0, "%s", op.err.message);
    return op.claimed;
}

Test(store_tasks, a_plan_for_a_lease_that_is_over_writes_nothing /* WRK-14 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    struct task_lapse_list l;
    cr_assert_eq(kit_apply(&w, with_task(no, 1, 1, "a.b")), 0);
    struct task_row_list first = claim("a.b", 1, 5000);
    cr_assert_eq(first.n, 1u);
    cr_assert_eq(store_tasks_expire(w.s, 6001, 10, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 1u);
    struct task_row_list second = claim("a.b", 1, 7000);
    cr_assert_eq(second.v[0].epoch, 2);
    struct plan *late = kit_append(no, 2, 1, false);
    late->guard = (struct plan_task_guard){arena_str(late->arena, first.v[0].task_id), 1};
    cr_expect_eq(kit_apply(&w, late), WOPR_E_TASK_LOST);
    struct plan *now = kit_append(no, 2, 1, false);
    now->guard = (struct plan_task_guard){arena_str(now->arena, first.v[0].task_id), 2};
    cr_expect_eq(kit_apply(&w, now), 0, "its sequence is free: nothing was written");
    cr_expect_eq(kit_count_events(&w, no), 3);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_tasks, a_lease_runs_out_once_and_is_lost_at_the_last /* WRK-12 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    struct task_lapse_list l;
    bool any;
    cr_assert_eq(kit_apply(&w, with_task(no, 1, 1, "a.b")), 0);
    for (int i = 1; i <= 3; i++) {
        int64_t now_ms = 10000 * i;
        cr_assert_eq(claim("a.b", 1, now_ms).n, 1u);
        cr_assert_eq(store_tasks_lapsed(w.s, now_ms + 999, &any, &w.err), 0);
        cr_expect_not(any);
        cr_assert_eq(store_tasks_expire(w.s, now_ms + 1000, 3, w.a, &l, &w.err), 0);
        cr_assert_eq(l.n, 1u);
        cr_expect_eq(l.v[0].state, i < 3 ? TROW_READY : TROW_LOST);
    }
    cr_expect_eq(claim("a.b", 1, 90000).n, 0u);
    struct task_row_list lost;
    cr_assert_eq(store_tasks_lost(w.s, 0, 10, w.a, &lost, &w.err), 0);
    cr_expect_eq(lost.n, 1u);
}

Test(store_tasks, a_clock_that_was_set_back_keeps_no_lease_for_ever /* WRK-12 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    struct task_lapse_list l;
    cr_assert_eq(kit_apply(&w, with_task(no, 1, 1, "a.b")), 0);
    cr_assert_eq(claim("a.b", 1, 1000000000).n, 1u);
    cr_assert_eq(store_tasks_clamp(w.s, 5000, &w.err), 0); /* an age earlier */
    cr_assert_eq(store_tasks_expire(w.s, 5999, 10, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 0u);
    cr_assert_eq(store_tasks_expire(w.s, 6001, 10, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 1u);
}

/* The cheapest hundred of three hundred claims, in microseconds. */
static uint64_t claims_us(void) {
    uint64_t least = UINT64_MAX;
    for (int round = 0; round < 3; round++) {
        uint64_t began = cpu_time_us();
        for (int i = 0; i < 100; i++) cr_assert_eq(claim("a.many", 1, 5000 + i).n, 1u);
        uint64_t us = cpu_time_us() - began;
        if (us < least) least = us;
    }
    return least;
}

Test(store_tasks, a_claim_costs_the_same_however_many_wait /* WRK-24 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    cr_assert_eq(kit_apply(&w, with_task(no, 1, 1000, "a.many")), 0);
    uint64_t few_us = claims_us();
    for (int i = 0; i < 50; i++)
        cr_assert_eq(kit_apply(&w, with_task(no, 2 + i, 2000, "a.many")), 0);
    uint64_t many_us = claims_us();
    cr_expect_lt(many_us, 10 * few_us + 100000, "few %u us, 100,000: %u us", (unsigned)few_us,
                 (unsigned)many_us);
}

/* --- what operators scrape --- */

static struct task_depth depth_of(const char *type) {
    struct task_depth_list l;
    cr_assert_eq(store_tasks_depths(w.s, 100, w.a, &l, &w.err), 0, "%s", w.err.message);
    for (size_t i = 0; i < l.n; i++)
        if (str_eqc(l.v[i].type_id, type)) return l.v[i];
    return (struct task_depth){0};
}

static void expect_depth(const char *type, int64_t ready, int64_t leased, int64_t oldest_ms) {
    struct task_depth d = depth_of(type);
    cr_expect(d.ready == ready && d.leased == leased && d.oldest_ms == oldest_ms,
              "%s: %lld ready, %lld leased, since %lld", type, (long long)d.ready,
              (long long)d.leased, (long long)d.oldest_ms);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_tasks, what_waits_is_counted_wherever_it_goes /* WRK-24 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    struct task_lapse_list l;
    cr_assert_eq(kit_apply(&w, with_task(no, 1, 3, "a.b")), 0);
    cr_assert_eq(kit_apply(&w, with_task(no, 2, 1, "a.c")), 0);
    expect_depth("a.b", 3, 0, 1000);
    cr_assert_eq(claim("a.b", 1, 5000).n, 1u);
    expect_depth("a.b", 2, 1, 1001);
    expect_depth("a.c", 1, 0, 1000);
    cr_assert_eq(store_tasks_expire(w.s, 6001, 10, w.a, &l, &w.err), 0);
    expect_depth("a.b", 3, 0, 1000);
    struct plan *hold = kit_append(no, 3, 1, false);
    plan_task(hold, &(struct plan_task){.op = TASK_ROW_HOLD});
    cr_assert_eq(kit_apply(&w, hold), 0);
    expect_depth("a.b", 0, 0, 0);
    struct plan *close = kit_append(no, 4, 1, false);
    plan_task(close, &(struct plan_task){.op = TASK_ROW_RELEASE});
    plan_task(close, &(struct plan_task){
                         .op = TASK_ROW_CLOSE, .node_id = STR("n1_0"), .state = TROW_COMPLETED});
    cr_assert_eq(kit_apply(&w, close), 0);
    expect_depth("a.b", 2, 0, 1001);
    struct plan *end = kit_append(no, 5, 1, true);
    plan_task(end, &(struct plan_task){.op = TASK_ROW_CLOSE_ALL, .state = TROW_CANCELLED});
    cr_assert_eq(kit_apply(&w, end), 0);
    expect_depth("a.b", 0, 0, 0);
    expect_depth("a.c", 0, 0, 0);
    cr_assert_eq(kit_apply(&w, with_task(kit_run(&w, "run_2", 1), 1, 1, "a.b")), 0);
    cr_assert_eq(kit_foreign(&w, "UPDATE task_counts SET ready = 9"), 0);
    cr_expect_eq(kit_verify(&w), 1, "what is miscounted is found");
}

static uint64_t depths_ms(void) {
    uint64_t began_ms = cpu_time_ms();
    for (int i = 0; i < 500; i++) (void)depth_of("a.many");
    return cpu_time_ms() - began_ms;
}

Test(store_tasks, a_scrape_costs_the_same_however_many_wait /* WRK-24 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    bool same = false;
    cr_assert_eq(kit_apply(&w, with_task(no, 1, 100, "a.many")), 0);
    uint64_t few_ms = depths_ms();
    for (int i = 0; i < 10; i++)
        cr_assert_eq(kit_apply(&w, with_task(no, 2 + i, 2000, "a.many")), 0);
    for (int i = 0; !same && i < 5; i++) same = depths_ms() < 5 * few_ms + 20;
    cr_expect(same, "100: %u ms", (unsigned)few_ms);
    cr_expect_eq(depth_of("a.many").ready, 20100);
}

/* --- runs that do not move --- */

Test(store_tasks, a_parked_run_gives_out_no_task /* WRK-13 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    struct task_lapse_list l;
    cr_assert_eq(kit_apply(&w, with_task(no, 1, 2, "a.b")), 0);
    cr_assert_eq(claim("a.b", 1, 5000).n, 1u);
    cr_assert_eq(store_run_park(w.s, no, LEASE_ANY, STR("damaged"), &w.err), 0);
    cr_expect_eq(claim("a.b", 1, 5001).n, 0u, "nobody could complete it");
    cr_assert_eq(store_tasks_expire(w.s, 9000, 10, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 1u);
    cr_expect_eq(l.v[0].state, TROW_HELD);
    cr_expect_eq(claim("a.b", 1, 9001).n, 0u);
}

/* --- what is sealed --- */

static struct plan *with_sealed_task(int64_t run_no, int64_t base, bool ends) {
    struct plan *p = kit_append(run_no, base, 1, false);
    const struct plan_sealed box = {.seq = SEALED_TASKS, .key_no = 1, .box = STR("secret")};
    struct plan_task t = {.op = TASK_ROW_OPEN,
                          .task_id = STR("task_1"),
                          .node_id = STR("n"),
                          .type_id = STR("a.b"),
                          .invocation_id = STR("inv"),
                          .sealed_at = SEALED_TASKS,
                          .bytes = 6};
    plan_task(p, &t);
    plan_sealed(p, &box);
    t.op = TASK_ROW_CLOSE;
    t.state = TROW_CANCELLED;
    if (ends) plan_task(p, &t);
    return p;
}

static size_t sealed_nr(int64_t run_no) {
    struct sealed_list l;
    cr_assert_eq(store_sealed(w.s, run_no, INT64_MIN, INT64_MAX, w.a, &l, &w.err), 0);
    return l.n;
}

Test(store_tasks, a_task_that_ends_where_it_began_leaves_nothing_sealed /* OBS-71 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    cr_assert_eq(kit_foreign(&w, "INSERT INTO seal_keys (key_no, kek, wrapped, created_ms)"
                                 " VALUES (1, 'k', x'00', 1)"),
                 0);
    cr_assert_eq(kit_apply(&w, with_sealed_task(no, 1, true)), 0, "%s", w.err.message);
    cr_expect_eq(sealed_nr(no), 0u, "its run goes on, and nobody will take it away");
    cr_assert_eq(kit_apply(&w, with_sealed_task(no, 2, false)), 0, "%s", w.err.message);
    cr_expect_eq(sealed_nr(no), 1u);
}

/* --- types --- */

static int type_put(const char *id, size_t schema_bytes, struct types_room max) {
    char *schema = arena_alloc(w.a, schema_bytes + 1);
    bool changed;
    struct worker_type t = {.tenant = STR("t1"), .type_id = str_c(id), .updated_ms = 1};
    cr_assert_not_null(schema);
    memset(schema, ' ', schema_bytes);
    t.input_schema = str_n(schema, schema_bytes);
    return store_worker_type_put(w.s, &t, &max, w.a, &changed, &w.err);
}

Test(store_tasks, types_are_bounded_by_number_and_by_bytes /* WRK-2 */) {
    const struct types_room room = {3, 1000};
    cr_expect_eq(type_put("a.b", 900, room), 0);
    cr_expect_eq(type_put("a.c", 101, room), WOPR_E_QUOTA);
    cr_expect_eq(type_put("a.c", 100, room), 0);
    cr_expect_eq(type_put("a.b", 901, room), WOPR_E_QUOTA, "also when it is replaced");
    cr_expect_eq(type_put("a.b", 10, room), 0);
    cr_expect_eq(type_put("a.d", 10, room), 0);
    cr_expect_eq(type_put("a.e", 10, room), WOPR_E_QUOTA);
}
