/*
 * test_lists.c: lists cost what they show, and pages of any filter add up to the whole (S14, RUN-3,
 * INT-47); a database of before migration 0010 is brought along.
 */
#include "kit.h"
#include "kit_old.h"

#include "store/interrupts.h"
#include "store/run_lists.h"
#include "store/sqlite/sql.h"

enum { RUNS = 3600, STEPS_FREE = 3000, STEPS_EXAMINED = 100000, STEP = 100 };

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(lists, .init = up, .fini = down, .timeout = 300);

/* --- a world of runs --- */

static const char *const TENANTS[] = {"tenant-a", "tenant-b"};
static const char *const FLOWS[] = {"wf", "flow-2", "flow-3"};
static const char *const TAGS[] = {"[\"blue\",\"t2\"]", "[\"red\",\"red\"]", "", "[\"t2\"]"};

static struct plan *run_plan(unsigned i) {
    char id[32];
    snprintf(id, sizeof id, "run_%u", i);
    struct plan *p = kit_create(id, 1);
    p->create->meta.tenant = str_c(TENANTS[i % 5 == 0]);
    p->create->meta.test_mode = i % 7 == 0;
    p->create->meta.workflow_id = str_c(FLOWS[i % 3]);
    p->create->meta.tags = str_c(TAGS[i % 4]);
    if (i % 11 == 1) p->create->parent_run_id = STR("run_1");
    return p;
}

static void runs_make(unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++) {
        struct plan *p = plan_ref(run_plan(i));
        cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
        int64_t no = p->run_no;
        plan_unref(p);
        if (i % 2 == 0) cr_assert_eq(kit_apply(&w, kit_append(no, 1, 1, true)), 0);
    }
}

static bool tagged(unsigned i, const char *tag) {
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\"", tag);
    return strstr(TAGS[i % 4], quoted) != NULL;
}

static bool belongs(unsigned i, const struct run_filter *f) {
    enum run_status status = i % 2 == 0 ? RUN_COMPLETED : RUN_PENDING;
    return str_eqc(f->tenant, TENANTS[i % 5 == 0]) && f->test_mode == (i % 7 == 0) &&
           (f->status < 0 || f->status == (int)status) &&
           (f->workflow_id.n == 0 || str_eqc(f->workflow_id, FLOWS[i % 3])) &&
           (f->tag.n == 0 || tagged(i, f->tag.p)) &&
           (f->parent_run_id.n == 0 || (i % 11 == 1 && str_eqc(f->parent_run_id, "run_1")));
}

static int64_t run_no_of(struct str id, const struct run_filter *f) {
    struct run_head h;
    int rc = store_run_head(w.s, f->tenant, f->test_mode, id, w.a, &h, &w.err);
    cr_assert_eq(rc, 0, "a cursor names a run of the caller: %s", w.err.message);
    return h.run_no;
}

/* All pages of a filter against the runs that belong to it, newest first. */
static void pages_agree(struct run_filter f) {
    unsigned i = RUNS, pages = 0;
    for (bool more = true; more; pages++) {
        struct run_list l;
        arena_reset(w.a);
        cr_assert_eq(store_run_list(w.s, &f, w.a, &l, &w.err), 0);
        cr_assert(l.n == f.max || l.next.n > 0 || l.n < f.max);
        for (size_t k = 0; k < l.n; k++) {
            char want[32];
            do cr_assert_gt(i, 0u);
            while (!belongs(--i, &f));
            snprintf(want, sizeof want, "run_%u", i);
            cr_assert(str_eqc(l.v[k].head.run_id, want), STR_FMT " instead of %s",
                      STR_ARG(l.v[k].head.run_id), want);
        }
        more = l.n == f.max || l.next.n > 0;
        if (l.next.n > 0) f.before_run_no = run_no_of(l.next, &f);
        else if (more) f.before_run_no = l.v[l.n - 1].head.run_no;
        cr_assert_lt(pages, 1000u);
    }
    while (i > 0) cr_assert_not(belongs(--i, &f), "run_%u is missing", i);
}

Test(lists, pages_of_every_filter_add_up_to_the_whole /* RUN-3, S14 */) {
    static const int STATUSES[] = {-1, RUN_PENDING, RUN_COMPLETED, RUN_FAILED};
    static const char *const SOME_FLOWS[] = {"", "flow-2", "none"}, *const SOME_TAGS[] = {
                                                                        "", "red", "t2", "none"};
    runs_make(0, RUNS);
    for (unsigned i = 0; i < 4 * 3 * 4 * 2 * 2; i++) {
        struct run_filter f = {.tenant = KIT_TENANT, .max = 37 + 400 * (i % 2)};
        f.status = STATUSES[i % 4];
        f.workflow_id = str_c(SOME_FLOWS[i / 4 % 3]);
        f.tag = str_c(SOME_TAGS[i / 12 % 4]);
        f.test_mode = i / 48 % 2;
        if (i / 96 % 2) f.parent_run_id = STR("run_1");
        pages_agree(f);
    }
    cr_expect_eq(kit_verify(&w), 0);
}

/* --- what an answer costs, in steps of SQLite's machine --- */

static unsigned steps;
static int on_steps(void *ctx) {
    (void)ctx;
    steps += STEP;
    return 0;
}

static void count_steps(void) {
    struct conn *c;
    cr_assert_eq(conn_reader(w.s, &c, &w.err), 0);
    sqlite3_progress_handler(c->db, STEP, on_steps, NULL);
    steps = 0;
}

static unsigned cost(const struct run_filter *f, size_t *n, bool *more) {
    struct run_list l;
    count_steps();
    cr_assert_eq(store_run_list(w.s, f, w.a, &l, &w.err), 0);
    *n = l.n;
    *more = l.next.n > 0;
    return steps;
}

Test(lists, an_answer_without_runs_costs_nothing /* S14 */) {
    static const struct run_filter EMPTY[] = {
        {.status = -1, .tag = {"none", 4}},
        {.status = -1, .workflow_id = {"none", 4}},
        {.status = -1, .fork_of = {"run_0", 5}},
        {.status = -1, .parent_run_id = {"run_9", 5}},
        {.status = RUN_FAILED},
    };
    size_t n;
    bool more;
    runs_make(0, RUNS);
    for (size_t i = 0; i < sizeof EMPTY / sizeof *EMPTY; i++) {
        struct run_filter f = EMPTY[i];
        f.tenant = KIT_TENANT;
        f.max = 50;
        cr_expect_leq(cost(&f, &n, &more), STEPS_FREE, "filter %zu", i);
        cr_expect(n == 0 && !more);
    }
    struct run_filter other = {.tenant = STR("tenant-c"), .status = -1, .max = 50};
    cr_expect_leq(cost(&other, &n, &more), STEPS_FREE);
}

Test(lists, a_page_examines_a_bounded_number_of_runs /* S14 */) {
    struct run_filter f = {.tenant = KIT_TENANT, .status = RUN_WAITING_INPUT, .max = 50};
    size_t n;
    bool more;
    runs_make(0, RUNS);
    cr_expect_leq(cost(&f, &n, &more), STEPS_EXAMINED);
    cr_expect(n == 0 && more, "it goes on behind the last run that was compared");
    f.whole = true;
    (void)cost(&f, &n, &more);
    cr_expect(n == 0 && !more, "tools compare all");
}

/* --- what waits --- */

static void waiting_run(unsigned i, const char *tenant, const char *kind) {
    char id[32], intr[32];
    snprintf(id, sizeof id, "run_w%u", i);
    snprintf(intr, sizeof intr, "int_%06u", i);
    struct plan *p = plan_ref(kit_create(id, 1));
    p->create->meta.tenant = str_c(tenant);
    cr_assert_eq(kit_apply(&w, p), 0);
    int64_t no = p->run_no;
    plan_unref(p);
    p = kit_append(no, 1, 1, false);
    p->has_update = true;
    p->update = (struct run_row_update){.status = RUN_WAITING_APPROVAL, .started_ms = 5};
    struct plan_interrupt row = {.op = INTR_ROW_OPEN,
                                 .interrupt_id = str_c(intr),
                                 .node_id = STR("n1"),
                                 .key = STR("k"),
                                 .kind = str_c(kind),
                                 .payload = STR("{}"),
                                 .requested_ms = 1000 + i / 3,
                                 .requested_seq = 1};
    plan_interrupt(p, &row);
    cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
}

static size_t pending(struct interrupt_filter f, unsigned *pages, unsigned *dearest) {
    size_t n = 0;
    *dearest = 0;
    for (*pages = 1;; ++*pages) {
        struct interrupt_list l;
        arena_reset(w.a);
        count_steps();
        cr_assert_eq(store_interrupts_pending(w.s, &f, w.a, &l, &w.err), 0);
        if (steps > *dearest) *dearest = steps;
        n += l.n;
        if (l.n < f.max && l.next_id.n == 0) return n;
        struct str id = l.next_id.n > 0 ? l.next_id : l.v[l.n - 1].interrupt_id;
        f.after_ms = l.next_id.n > 0 ? l.next_ms : l.v[l.n - 1].requested_ms;
        static char kept[64];
        snprintf(kept, sizeof kept, STR_FMT, STR_ARG(id));
        f.after_id = str_c(kept);
    }
}

Test(lists, what_waits_for_one_tenant_is_found_without_the_others /* INT-47, S14 */) {
    unsigned pages, dearest;
    for (unsigned i = 0; i < 3000; i++)
        waiting_run(i, i % 1000 == 7 ? "tenant-b" : "tenant-a", i % 100 ? "approval" : "custom");
    struct interrupt_filter b = {.tenant = STR("tenant-b"), .max = 50},
                            c = {.tenant = STR("tenant-c"), .max = 50},
                            rare = {.tenant = KIT_TENANT, .kind = STR("custom"), .max = 50},
                            run = {.tenant = KIT_TENANT, .run_id = STR("run_w5"), .max = 50},
                            foreign = {
                                .tenant = STR("tenant-b"), .run_id = STR("run_w5"), .max = 5};
    cr_expect_eq(pending(b, &pages, &dearest), 3u);
    cr_expect_leq(dearest, STEPS_FREE);
    cr_expect_eq(pending(c, &pages, &dearest), 0u);
    cr_expect_leq(dearest, STEPS_FREE);
    cr_expect_eq(pending(run, &pages, &dearest), 1u);
    cr_expect_leq(dearest, STEPS_FREE);
    cr_expect_eq(pending(foreign, &pages, &dearest), 0u);
    cr_expect_eq(pending(rare, &pages, &dearest), 30u);
    cr_expect_gt(pages, 1u);
    cr_expect_leq(dearest, STEPS_EXAMINED);
}

/* --- a database of before --- */

Test(lists, migration_0010_fills_what_it_adds /* STORE-15 */) {
    unsigned pages, dearest;
    runs_make(0, 200);
    waiting_run(1, "tenant-b", "approval");
    kit_close(&w);
    kit_old(&w, 9);
    kit_open(&w);
    cr_expect_eq(kit_verify(&w), 0);
    struct run_filter f = {.tenant = KIT_TENANT, .status = -1, .tag = STR("blue"), .max = 500};
    struct run_list l;
    cr_assert_eq(store_run_list(w.s, &f, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 34u); /* multiples of 4 below 200, without those of 5 and 7 */
    struct interrupt_filter b = {.tenant = STR("tenant-b"), .max = 5};
    cr_expect_eq(pending(b, &pages, &dearest), 1u);
}
