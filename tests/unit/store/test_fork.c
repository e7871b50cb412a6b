/*
 * test_fork.c: copies of a prefix: at once, in slices that nobody sees before the last, and their
 * removal when nobody makes them any more (FORK-9).
 */
#include "store/run_lists.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"
#include "unit/store/kit.h"

enum { SOURCE_EVENTS = 40 };
static struct kit w;
static int64_t source;
static void up(void) {
    kit_up(&w);
    source = kit_run(&w, "run_source", SOURCE_EVENTS);
}
static void down(void) { kit_down(&w); }
TestSuite(store_fork, .init = up, .fini = down);

static struct plan *slice(const char *id, int64_t run_no, int64_t from, int64_t to, int64_t seq) {
    struct plan *p = kit_create(id, 0);
    struct plan_fork *f = p->create->fork = ARENA_NEW(p->arena, struct plan_fork);
    *f = (struct plan_fork){.link = {.mode = FORK_REPLAY,
                                     .source_run_id = STR("run_source"),
                                     .source_run_no = source,
                                     .from_seq = seq,
                                     .base_seq = SOURCE_EVENTS,
                                     .cut_ms = 77},
                            .run_no = run_no,
                            .copy_from = from,
                            .first = run_no == 0,
                            .last = to == seq};
    p->base_seq = to;
    p->has_update = f->last;
    p->update.status = RUN_RUNNING;
    p->update.started_ms = 5;
    return p;
}

/* Applied; the number of the run, or the refusal. */
static int64_t put(struct plan *p) {
    plan_ref(p);
    int rc = kit_apply(&w, p);
    int64_t no = p->run_no;
    plan_unref(p);
    return rc == 0 ? no : rc;
}

static int head(const char *id, struct run_head *h) {
    return store_run_head(w.s, KIT_TENANT, false, str_c(id), w.a, h, &w.err);
}

static void is_copy(int64_t no, int64_t n) {
    struct event_list a, b;
    cr_assert_eq(store_events(w.s, source, 0, 100, 1 << 20, w.a, &a, &w.err), 0);
    cr_assert_eq(store_events(w.s, no, 0, 100, 1 << 20, w.a, &b, &w.err), 0);
    cr_assert_eq((int64_t)b.n, n);
    for (int64_t i = 0; i < n; i++) {
        cr_expect(a.v[i].seq == b.v[i].seq && a.v[i].kind == b.v[i].kind &&
                  a.v[i].ts_ms == b.v[i].ts_ms);
        cr_expect(str_eq(a.v[i].payload, b.v[i].payload) && str_eq(a.v[i].node_id, b.v[i].node_id));
        cr_expect_eq(b.v[i].flags, EVENT_INHERITED);
    }
}

Test(store_fork, a_short_prefix_is_one_plan) {
    struct run_head h;
    struct run_origin o;
    int64_t no = put(slice("run_f", 0, 0, 7, 7));
    cr_assert_gt(no, 0);
    cr_assert_eq(head("run_f", &h), 0);
    cr_expect_eq(h.next_seq, 7);
    cr_expect_eq(h.status, RUN_RUNNING);
    is_copy(no, 7);
    cr_assert_eq(store_run_origin(w.s, no, w.a, &o, &w.err), 0);
    cr_expect_eq(o.fork.mode, FORK_REPLAY);
    cr_expect(str_eqc(o.fork.source_run_id, "run_source"));
    cr_expect_eq(o.fork.source_run_no, source);
    cr_expect_eq(o.fork.from_seq, 7);
    cr_expect_eq(o.fork.base_seq, SOURCE_EVENTS);
    cr_expect_eq(o.fork.cut_ms, 77);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_fork, slices_are_seen_after_the_last_only) {
    struct run_head h;
    struct run_list l;
    struct run_filter all = {.any_tenant = true, .any_mode = true, .status = -1, .max = 10};
    struct run_filter forks = all;
    forks.fork_of = STR("run_source");
    int64_t no = put(slice("run_f", 0, 0, 10, 30));
    cr_assert_gt(no, 0);
    cr_assert_eq(put(slice("run_f", no, 10, 20, 30)), no);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(head("run_f", &h), i == 0 ? WOPR_E_NOT_FOUND : 0);
        cr_assert_eq(store_run_list(w.s, &all, w.a, &l, &w.err), 0);
        cr_expect_eq(l.n, i == 0 ? 1u : 2u);
        cr_assert_eq(store_run_list(w.s, &forks, w.a, &l, &w.err), 0);
        cr_expect_eq(l.n, i == 0 ? 0u : 1u);
        cr_expect_eq(kit_verify(&w), 0);
        if (i == 0) cr_assert_eq(put(slice("run_f", no, 20, 30, 30)), no);
    }
    is_copy(no, 30);
    cr_expect_eq(h.next_seq, 30);
    /* The run is an ordinary one now. */
    cr_expect_eq(kit_apply(&w, kit_append(no, 30, 2, true)), 0);
    cr_expect_eq(put(slice("run_f", no, 30, 30, 30)), WOPR_E_STALE);
}

Test(store_fork, what_does_not_fit_writes_nothing) {
    struct run_head h;
    int64_t no = put(slice("run_f", 0, 0, 10, 30));
    cr_expect_eq(put(slice("run_f", no, 5, 20, 30)), WOPR_E_STALE, "another tail");
    cr_expect_eq(put(slice("run_g", 0, 0, SOURCE_EVENTS + 1, SOURCE_EVENTS + 1)), WOPR_E_EXPIRED);
    struct plan *p = slice("run_g", 0, 0, 5, 5);
    p->create->fork->link.source_run_no = 99;
    cr_expect_eq(put(p), WOPR_E_EXPIRED, "the source is gone");
    p = slice("run_g", 0, 0, 5, 9);
    p->has_update = true;
    cr_expect_eq(put(p), WOPR_E_INTERNAL, "a plan of ours that says two things");
    cr_expect_eq(put(slice("run_f", 0, 0, 5, 5)), WOPR_E_EXISTS);
    cr_expect_eq(head("run_g", &h), WOPR_E_NOT_FOUND);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_fork, a_refused_key_leaves_no_fork /* FORK-1 */) {
    struct idem_key key = {.tenant = KIT_TENANT, .operation_id = STR("forkRun")};
    struct run_list l;
    struct run_filter forks = {.any_tenant = true,
                               .any_mode = true,
                               .status = -1,
                               .max = 10,
                               .fork_of = STR("run_source")};
    for (int i = 0; i < 2; i++) {
        struct plan *p = slice(i == 0 ? "run_f" : "run_g", 0, 0, 3, 3);
        p->has_idem = true;
        p->idem = key;
        p->idem_response = (struct idem_response){.status = 201, .body = STR("{}")};
        plan_ref(p);
        cr_expect_eq(kit_apply(&w, p), 0);
        cr_expect_eq(p->idem_hit, i == 1);
        plan_unref(p);
    }
    cr_assert_eq(store_run_list(w.s, &forks, w.a, &l, &w.err), 0);
    cr_expect_eq(l.n, 1);
}

Test(store_fork, what_nobody_makes_any_more_goes_in_bounded_steps) {
    int64_t no = put(slice("run_f", 0, 0, 35, 38)), found = 0;
    bool gone = false;
    cr_assert_eq(store_fork_hidden(w.s, 0, &found, &w.err), 0);
    cr_assert_eq(found, no);
    cr_expect_eq(store_fork_remove(w.s, no, 2, 10, &gone, &w.err), WOPR_E_FENCED);
    for (int i = 0; i < 4; i++) {
        cr_expect_not(gone);
        cr_assert_eq(store_fork_remove(w.s, no, 1, 10, &gone, &w.err), 0);
        cr_expect_eq(put(slice("run_f", no, 35, 38, 38)), WOPR_E_STALE, "taken away");
        cr_expect_eq(kit_verify(&w), 0);
    }
    cr_expect(gone);
    cr_assert_eq(store_fork_hidden(w.s, 0, &found, &w.err), 0);
    cr_expect_eq(found, 0);
    cr_expect_eq(store_fork_remove(w.s, source, 1, 10, &gone, &w.err), WOPR_E_FENCED,
                 "a run that is seen stays");
    cr_expect_eq(kit_count_events(&w, source), SOURCE_EVENTS);
}

Test(store_fork, an_old_run_replayed_today_is_kept_as_long_as_others /* STORE-44 */) {
    int64_t deleted = -1, no = put(slice("run_f", 0, 0, 5, 5));
    struct plan *p = kit_append(no, 5, 1, true);
    p->update.completed_ms = 1000; /* the source's time */
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_eq(store_purge_runs(w.s, 2000, 2000, 10, &deleted, NULL, &w.err), 0);
    cr_expect_eq(deleted, 0);
    cr_assert_eq(store_purge_runs(w.s, 1700000000001, 2000, 10, &deleted, NULL, &w.err), 0);
    cr_expect_eq(deleted, 1);
}
