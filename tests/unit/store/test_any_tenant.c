/*
 * test_any_tenant.c: lists over all tenants are asked for by a flag; an empty tenant is one that
 * nobody has.
 */
#include "store/interrupts.h"
#include "store/run_lists.h"
#include "unit/store/kit.h"

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(any_tenant, .init = up, .fini = down);

static void fork_and_wait(void) {
    int64_t source = kit_run(&w, "run_source", 3);
    struct plan *p = kit_fork("run_fork", source, "run_source", 3);
    cr_assert_eq(kit_apply(&w, p), 0);
    p = kit_append(source, 3, 1, false);
    struct plan_interrupt i = {.op = INTR_ROW_OPEN,
                               .interrupt_id = STR("int_1"),
                               .node_id = STR("n1"),
                               .key = STR("k"),
                               .kind = STR("approval"),
                               .payload = STR("{}"),
                               .resume_schema = STR("{}"),
                               .requested_ms = 7,
                               .requested_seq = 3};
    plan_interrupt(p, &i);
    cr_assert_eq(kit_apply(&w, p), 0);
}

static size_t interrupts(struct str tenant, bool any) {
    struct interrupt_filter f = {.tenant = tenant, .any_tenant = any, .any_mode = true, .max = 10};
    struct interrupt_list l;
    cr_assert_eq(store_interrupts_pending(w.s, &f, w.a, &l, &w.err), 0, "%s", w.err.message);
    return l.n;
}

static size_t runs(struct str tenant, bool any, const char *fork_of) {
    struct run_filter f = {.tenant = tenant,
                           .any_tenant = any,
                           .any_mode = true,
                           .status = -1,
                           .fork_of = str_c(fork_of),
                           .max = 10};
    struct run_list l;
    cr_assert_eq(store_run_list(w.s, &f, w.a, &l, &w.err), 0, "%s", w.err.message);
    return l.n;
}

Test(any_tenant, an_empty_tenant_sees_nothing) {
    fork_and_wait();
    cr_expect_eq(interrupts(KIT_TENANT, false), 1u);
    cr_expect_eq(interrupts(STR(""), true), 1u);
    cr_expect_eq(interrupts(STR(""), false), 0u);
    cr_expect_eq(interrupts(STR("other"), false), 0u);
    cr_expect_eq(runs(KIT_TENANT, false, "run_source"), 1u);
    cr_expect_eq(runs(STR(""), true, "run_source"), 1u);
    cr_expect_eq(runs(STR(""), false, "run_source"), 0u);
    cr_expect_eq(runs(KIT_TENANT, false, NULL), 2u);
    cr_expect_eq(runs(STR(""), true, NULL), 2u);
    cr_expect_eq(runs(STR(""), false, NULL), 0u);
}
