/* test_interrupt_rows.c: the suspension store: rows with their events, one close each, lists,
 * deadlines, runs that are let go (STORE-8..10, STORE-35, INT-47). */
#include "kit.h"
#include "store/interrupts.h"
#include "store/leases.h"
#include "store/run_lists.h"
#include "store/runs.h"

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(intr_rows, .init = up, .fini = down);

static struct plan *waiting(int64_t no, int64_t base, bool lets_go) {
    struct plan *p = kit_append(no, base, 1, false);
    p->has_update = true;
    p->update = (struct run_row_update){
        .status = RUN_WAITING_APPROVAL, .current_node = STR("n1"), .started_ms = 5};
    p->lets_go = lets_go;
    return p;
}
static void open_row(struct plan *p, const char *id, const char *key, const char *kind,
                     int64_t at_ms) {
    struct plan_interrupt i = {.op = INTR_ROW_OPEN,
                               .interrupt_id = str_c(id),
                               .node_id = STR("n1"),
                               .key = str_c(key),
                               .kind = str_c(kind),
                               .payload = STR("{\"kind\":\"approval\"}"),
                               .resume_schema = STR("{}"),
                               .requested_ms = at_ms,
                               .requested_seq = p->base_seq,
                               .timeout_at_ms = at_ms + 10};
    plan_interrupt(p, &i);
}
static void close_row(struct plan *p, const char *id, enum interrupt_row_state state) {
    struct plan_interrupt i = {.op = INTR_ROW_CLOSE,
                               .interrupt_id = str_c(id),
                               .state = state,
                               .resolved_ms = 99,
                               .resolved_seq = p->base_seq,
                               .resume_value = STR("{\"action\":\"accept\"}"),
                               .resolved_by = STR("ann"),
                               .action = STR("accept"),
                               .cause = STR("event-1")};
    plan_interrupt(p, &i);
}
/* A run that waits for one interrupt; its number. */
static int64_t waiting_run(const char *run_id, const char *id, const char *kind, int64_t at_ms) {
    int64_t no = kit_run(&w, run_id, 2);
    struct plan *p = waiting(no, 2, true);
    open_row(p, id, "k", kind, at_ms);
    cr_assert_eq(kit_apply(&w, p), 0);
    return no;
}
static struct interrupt_row get(const char *id) {
    struct interrupt_row r = {0};
    cr_assert_eq(store_interrupt_get(w.s, STR_NONE, false, str_c(id), w.a, &r, &w.err), 0, "%s",
                 w.err.message);
    return r;
}

Test(intr_rows, come_back_as_they_went /* STORE-8, D44 */) {
    int64_t no = waiting_run("run_1", "int_1", "approval", 7);
    struct interrupt_row r = get("int_1");
    cr_expect_eq(r.run_no, no);
    cr_expect_eq(r.state, IROW_PENDING);
    cr_expect_eq(r.run_status, RUN_WAITING_APPROVAL);
    cr_expect(str_eqc(r.run_id, "run_1") && str_eqc(r.node_id, "n1") && str_eqc(r.key, "k"));
    cr_expect(str_eqc(r.kind, "approval") && str_eqc(r.payload, "{\"kind\":\"approval\"}"));
    cr_expect(str_eqc(r.resume_schema, "{}") && str_eq(r.tenant, KIT_TENANT));
    cr_expect_eq(r.requested_ms, 7);
    cr_expect_eq(r.timeout_at_ms, 17);
    cr_expect_eq(r.requested_seq, 2);
    cr_expect_eq(r.resolved_ms, 0);
    struct plan *p = waiting(no, 3, false);
    close_row(p, "int_1", IROW_RESUMED);
    cr_assert_eq(kit_apply(&w, p), 0);
    r = get("int_1");
    cr_expect_eq(r.state, IROW_RESUMED);
    cr_expect_eq(r.resolved_ms, 99);
    cr_expect(str_eqc(r.resume_value, "{\"action\":\"accept\"}") && str_eqc(r.action, "accept"));
    cr_expect(str_eqc(r.resolved_by, "ann") && str_eqc(r.cause, "event-1"));
}

Test(intr_rows, are_those_of_their_tenant /* AUTH-8, AUTH-9 */) {
    struct interrupt_row r;
    waiting_run("run_1", "int_1", "approval", 7);
    cr_expect_eq(store_interrupt_get(w.s, KIT_TENANT, false, STR("int_1"), w.a, &r, &w.err), 0);
    cr_expect_eq(store_interrupt_get(w.s, STR("other"), false, STR("int_1"), w.a, &r, &w.err),
                 WOPR_E_INTERRUPT_NOT_FOUND);
    cr_expect_eq(store_interrupt_get(w.s, KIT_TENANT, true, STR("int_1"), w.a, &r, &w.err),
                 WOPR_E_INTERRUPT_NOT_FOUND);
    cr_expect_eq(store_interrupt_get(w.s, STR_NONE, false, STR("int_2"), w.a, &r, &w.err),
                 WOPR_E_INTERRUPT_NOT_FOUND);
}

Test(intr_rows, are_closed_once_and_with_their_plan /* STORE-10 */) {
    int64_t no = waiting_run("run_1", "int_1", "approval", 7);
    struct plan *p = waiting(no, 3, false);
    close_row(p, "int_1", IROW_TIMED_OUT);
    cr_assert_eq(kit_apply(&w, p), 0);
    p = waiting(no, 4, false);
    close_row(p, "int_1", IROW_RESUMED);
    struct plan *neighbour = kit_create("run_2", 1);
    struct plan *both[] = {p, neighbour};
    int rcs[2] = {1, 1};
    cr_expect_eq(store_apply(w.s, both, 2, rcs, &w.err), 0);
    cr_expect_neq(rcs[0], 0, "somebody was faster");
    cr_expect_eq(rcs[1], 0, "which is nothing to others");
    plan_unref(p);
    plan_unref(neighbour);
    cr_expect_eq(get("int_1").state, IROW_TIMED_OUT);
    struct run_head h;
    cr_assert_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), w.a, &h, &w.err), 0);
    cr_expect_eq(h.next_seq, 4, "none of its events was written");
    p = waiting(no, 2, false); /* a plan behind the log opens nothing either */
    open_row(p, "int_2", "k2", "custom", 1);
    cr_expect_eq(kit_apply(&w, p), WOPR_E_STALE);
    struct interrupt_list l;
    cr_assert_eq(store_interrupts_of_run(w.s, no, STR_NONE, false, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 1u);
}

Test(intr_rows, a_key_is_opened_once_per_run /* INT-2 */) {
    int64_t no = waiting_run("run_1", "int_1", "approval", 7);
    struct plan *p = waiting(no, 3, false);
    open_row(p, "int_2", "k", "custom", 1);
    cr_expect_neq(kit_apply(&w, p), 0);
    waiting_run("run_2", "int_3", "approval", 7); /* of another run it is another key */
}

Test(intr_rows, of_a_run_in_the_order_they_were_asked /* INT-17 */) {
    int64_t no = waiting_run("run_1", "int_z", "approval", 7);
    struct plan *p = waiting(no, 3, false);
    open_row(p, "int_a", "k2", "custom", 1);
    cr_assert_eq(kit_apply(&w, p), 0);
    struct interrupt_list l;
    cr_assert_eq(store_interrupts_of_run(w.s, no, STR_NONE, true, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 2u);
    cr_expect(str_eqc(l.v[0].interrupt_id, "int_z") && str_eqc(l.v[1].interrupt_id, "int_a"));
    p = waiting(no, 4, false);
    struct plan_interrupt all = {.op = INTR_ROW_CLOSE_ALL,
                                 .state = IROW_REJECTED,
                                 .resolved_ms = 3,
                                 .cause = STR("run-cancelled")};
    close_row(p, "int_z", IROW_RESUMED);
    plan_interrupt(p, &all);
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_expect_eq(get("int_z").state, IROW_RESUMED, "what was answered stays so");
    cr_expect_eq(get("int_a").state, IROW_REJECTED);
    cr_expect(str_eqc(get("int_a").cause, "run-cancelled"));
    cr_assert_eq(store_interrupts_of_run(w.s, no, STR("n1"), true, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 0u);
    cr_assert_eq(store_interrupts_of_run(w.s, no, STR("n2"), false, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 0u);
}

Test(intr_rows, pending_ones_in_pages /* STORE-9, INT-47 */) {
    char run[16], id[16];
    for (int i = 0; i < 9; i++) { /* three at each time, so that pages end inside one */
        snprintf(run, sizeof run, "run_%d", i);
        snprintf(id, sizeof id, "int_%d", i);
        waiting_run(run, id, i % 2 ? "custom" : "approval", 100 + i / 3);
    }
    struct interrupt_filter f = {.tenant = KIT_TENANT, .max = 2};
    struct interrupt_list l;
    int seen = 0;
    do {
        cr_assert_eq(store_interrupts_pending(w.s, &f, w.a, &l, &w.err), 0);
        for (size_t i = 0; i < l.n; i++, seen++) {
            snprintf(id, sizeof id, "int_%d", seen);
            cr_expect(str_eqc(l.v[i].interrupt_id, id), STR_FMT, STR_ARG(l.v[i].interrupt_id));
            f.after_ms = l.v[i].requested_ms;
            f.after_id = l.v[i].interrupt_id;
        }
    } while (l.n > 0);
    cr_expect_eq(seen, 9);
    struct interrupt_filter kind = {
        .any_tenant = true, .any_mode = true, .kind = STR("custom"), .max = 100};
    cr_assert_eq(store_interrupts_pending(w.s, &kind, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 4u);
    struct interrupt_filter one = {.tenant = KIT_TENANT, .run_id = STR("run_3"), .max = 100};
    cr_assert_eq(store_interrupts_pending(w.s, &one, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 1u);
    struct interrupt_filter foreign = {.tenant = STR("other"), .max = 100};
    cr_assert_eq(store_interrupts_pending(w.s, &foreign, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 0u);
}

static size_t unfinished(void) {
    struct open_run_list u;
    cr_assert_eq(store_runs_unfinished(w.s, 0, 100, w.a, &u, &w.err), 0);
    return u.n;
}

Test(intr_rows, a_run_that_is_let_go_needs_nobody_until_its_deadline /* STORE-35 */) {
    struct run_no_list due;
    struct run_head h;
    int64_t no = kit_run(&w, "run_1", 2);
    cr_expect_eq(unfinished(), 1u);
    struct plan *p = waiting(no, 2, false);
    plan_timer_set(p, TIMER_INTERRUPT, STR("n1"), 5000, 1000);
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_expect_eq(unfinished(), 1u, "it waits and is held: other nodes are at work");
    cr_assert_eq(kit_apply(&w, waiting(no, 3, true)), 0);
    cr_expect_eq(unfinished(), 0u);
    cr_assert_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), w.a, &h, &w.err), 0);
    cr_expect_eq(h.holder.n, 0u);
    cr_assert_eq(store_runs_with_timer_due(w.s, 4999, 10, w.a, &due, &w.err), 0);
    cr_expect_eq(due.n, 0u);
    cr_assert_eq(store_runs_with_timer_due(w.s, 5000, 10, w.a, &due, &w.err), 0);
    cr_assert_eq(due.n, 1u);
    cr_expect_eq(due.v[0], no);
    const struct lease_claim c = {
        .run_no = no, .holder = STR("host-2"), .until_ms = 1000, .epoch = 1, .beat = LEASE_NO_BEAT};
    int64_t epoch = 0;
    cr_assert_eq(store_lease_claim(w.s, &c, &epoch, &w.err), 0);
    cr_expect_eq(epoch, 2, "whoever takes it fences the one before");
    cr_expect_eq(kit_apply(&w, waiting(no, 4, false)), WOPR_E_FENCED);
}
