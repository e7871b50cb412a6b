/*
 * Runs that other runs started: listing, views, retention, and the parents that a crash left
 * waiting (WF-45..50).
 */
#include "store/run_lists.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"
#include "unit/store/kit.h"

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(store_children, .init = up, .fini = down);

static int64_t child_run(const char *id, const char *parent, uint32_t flags) {
    struct plan *p = plan_ref(kit_create(id, 1));
    p->create->parent_run_id = str_c(parent);
    p->create->parent_node_id = STR("n1");
    p->create->child_depth = 3;
    p->create->child_flags = flags;
    cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
    int64_t no = p->run_no;
    plan_unref(p);
    return no;
}

static void end_run(int64_t no) { cr_assert_eq(kit_apply(&w, kit_append(no, 1, 1, true)), 0); }

static void set_status(int64_t no, enum run_status status) {
    struct plan *p = kit_append(no, 1, 1, false);
    p->has_update = true;
    p->update = (struct run_row_update){.status = status, .current_node = STR("n1")};
    cr_assert_eq(kit_apply(&w, p), 0);
}

static size_t listed(const char *parent, bool open, unsigned max) {
    struct child_row_list l;
    cr_assert_eq(store_children(w.s, str_c(parent), open, max, w.a, &l, &w.err), 0);
    return l.n;
}

Test(store_children, are_listed_oldest_first_and_shown_with_their_parent /* WF-46 */) {
    kit_run(&w, "run_p", 1);
    int64_t a = child_run("run_a", "run_p", CHILD_AWAITED);
    child_run("run_b", "run_p", CHILD_AWAITED | CHILD_DETACHED);
    child_run("run_x", "run_b", 0);
    end_run(a);
    struct child_row_list l;
    cr_assert_eq(store_children(w.s, STR("run_p"), false, 10, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 2);
    cr_expect(str_eqc(l.v[0].run_id, "run_a") && str_eqc(l.v[1].run_id, "run_b"));
    cr_expect_eq(l.v[0].status, RUN_COMPLETED);
    cr_expect_eq(l.v[1].flags, (uint32_t)(CHILD_AWAITED | CHILD_DETACHED));
    cr_expect(str_eqc(l.v[1].node_id, "n1"));
    cr_expect_eq(listed("run_p", true, 10), 1);
    cr_expect_eq(listed("run_p", false, 1), 1);
    cr_expect_eq(listed("run_a", false, 10), 0);
    struct run_view v;
    cr_assert_eq(store_run_view(w.s, KIT_TENANT, false, STR("run_b"), w.a, &v, &w.err), 0);
    cr_expect(str_eqc(v.parent_run_id, "run_p") && v.child_depth == 3 && v.children.n == 1);
    struct run_origin o;
    cr_assert_eq(store_run_origin(w.s, v.head.run_no, w.a, &o, &w.err), 0);
    cr_expect_eq(o.child_depth, 3);
    cr_expect_eq(o.child_flags, (uint32_t)(CHILD_AWAITED | CHILD_DETACHED));
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_children, can_be_filtered_for_in_a_list) {
    kit_run(&w, "run_p", 1);
    end_run(child_run("run_a", "run_p", CHILD_AWAITED));
    child_run("run_b", "run_p", CHILD_AWAITED);
    struct run_filter f = {
        .tenant = KIT_TENANT, .status = -1, .max = 10, .parent_run_id = STR("run_p")};
    struct run_list l;
    cr_assert_eq(store_run_list(w.s, &f, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 2);
    cr_expect(str_eqc(l.v[0].head.run_id, "run_b"));
    cr_expect(str_eqc(l.v[0].parent_run_id, "run_p"));
    f.status = RUN_COMPLETED;
    cr_assert_eq(store_run_list(w.s, &f, w.a, &l, &w.err), 0);
    cr_expect(l.n == 1 && str_eqc(l.v[0].head.run_id, "run_a"));
    f.tenant = STR("tenant-b");
    f.status = -1;
    cr_assert_eq(store_run_list(w.s, &f, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 0);
}

Test(store_children, outlive_retention_while_their_parent_may_ask /* STORE-44 */) {
    const int64_t ended = 1700000000500;
    int64_t p = kit_run(&w, "run_p", 1);
    end_run(child_run("run_a", "run_p", CHILD_AWAITED));
    cr_expect_eq(kit_purge(&w, ended + 1, ended + 2, 10), 0);
    end_run(p);
    cr_expect_eq(kit_purge(&w, ended + 1, ended + 2, 10), 2);
}

Test(store_children, a_parent_that_waits_in_vain_is_found) {
    struct run_no_list l;
    int64_t p = kit_run(&w, "run_p", 1), q = kit_run(&w, "run_q", 1), r = kit_run(&w, "run_r", 1);
    int64_t a = child_run("run_a", "run_p", CHILD_AWAITED);
    set_status(child_run("run_b", "run_q", CHILD_AWAITED), RUN_WAITING_INPUT);
    child_run("run_c", "run_r", 0);
    set_status(a, RUN_WAITING_APPROVAL);
    set_status(p, RUN_WAITING_APPROVAL);
    set_status(q, RUN_WAITING_INPUT);
    set_status(r, RUN_WAITING_EXTERNAL);
    cr_assert_eq(store_parents_waiting(w.s, 0, 10, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 0);
    cr_assert_eq(kit_apply(&w, kit_append(a, 2, 1, true)), 0);
    cr_assert_eq(store_parents_waiting(w.s, 0, 10, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 1);
    cr_expect_eq(l.v[0], p);
    cr_assert_eq(store_parents_waiting(w.s, p, 10, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 0);
}

Test(store_children, the_last_event_of_a_kind_is_found) {
    int64_t no = kit_run(&w, "run_p", 1);
    struct plan *p = kit_append(no, 1, 3, false);
    for (size_t i = 0; i < 3; i++) {
        p->events[i].kind = EV_NODE_SUSPENDED;
        p->events[i].node_id = i == 1 ? STR("n2") : i == 2 ? STR("n3") : STR("n1");
        p->events[i].payload = arena_printf(p->arena, "{\"i\":%zu}", i);
    }
    p->has_update = true;
    p->update = (struct run_row_update){.status = RUN_WAITING_INPUT, .current_node = STR("n2")};
    cr_assert_eq(kit_apply(&w, p), 0);
    struct event last;
    const struct {
        const char *node, *payload;
    } rows[] = {{"n1", "{\"i\":0}"}, {"", "{\"i\":1}"}, {"n3", "{\"i\":2}"}};
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(
            store_event_last(w.s, no, EV_NODE_SUSPENDED, str_c(rows[i].node), w.a, &last, &w.err),
            0);
        cr_expect(str_eqc(last.payload, rows[i].payload), "%s: " STR_FMT, rows[i].node,
                  STR_ARG(last.payload));
    }
    cr_expect_eq(store_event_last(w.s, no, EV_RUN_PAUSED, STR_NONE, w.a, &last, &w.err),
                 WOPR_E_NOT_FOUND);
}

static struct run_view shown(const char *run) {
    struct run_view v;
    cr_assert_eq(store_run_view(w.s, KIT_TENANT, false, str_c(run), w.a, &v, &w.err), 0);
    return v;
}

Test(store_children, a_parent_shows_the_oldest_and_that_there_are_more /* F21 */) {
    char id[32];
    kit_run(&w, "run_p", 1);
    for (unsigned i = 0; i < STORE_VIEW_CHILDREN_MAX; i++) {
        snprintf(id, sizeof id, "run_c%u", i);
        child_run(id, "run_p", CHILD_AWAITED);
    }
    cr_expect_eq(shown("run_p").children.n, (size_t)STORE_VIEW_CHILDREN_MAX);
    cr_expect_not(shown("run_p").more_children, "these are all");
    child_run("run_last", "run_p", CHILD_AWAITED);
    cr_expect_eq(shown("run_p").children.n, (size_t)STORE_VIEW_CHILDREN_MAX);
    cr_expect(shown("run_p").more_children);
    cr_expect(str_eqc(shown("run_p").children.v[0].run_id, "run_c0"));
}
