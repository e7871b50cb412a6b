/*
 * Tasks of workers: the guard of a plan, claims among many, leases that run out (WRK-11 to WRK-14).
 */
#include "base/clock.h"
#include "store/tasks.h"
#include "unit/store/kit.h"

#include <stdio.h>

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(store_tasks, .init = up, .fini = down, .timeout = 120);

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

/* Milliseconds of 200 claims. */
static uint64_t claims_ms(void) {
    uint64_t began_ms = clock_mono_ms();
    for (int i = 0; i < 200; i++) cr_assert_eq(claim("a.many", 1, 5000 + i).n, 1u);
    return clock_mono_ms() - began_ms;
}

Test(store_tasks, a_claim_costs_the_same_however_many_wait /* WRK-24 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    cr_assert_eq(kit_apply(&w, with_task(no, 1, 1000, "a.many")), 0);
    uint64_t few_ms = claims_ms();
    for (int i = 0; i < 50; i++)
        cr_assert_eq(kit_apply(&w, with_task(no, 2 + i, 2000, "a.many")), 0);
    uint64_t many_ms = claims_ms();
    cr_expect_lt(many_ms, 10 * few_ms + 500, "few %u ms, 100,000: %u ms", (unsigned)few_ms,
                 (unsigned)many_ms);
}

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
