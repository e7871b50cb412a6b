/*
 * test_fork.c: forks refer to what they inherit (FORK-8, FORK-9): one plan whatever the length,
 * logs read through chains of owners, in pages and by kind, at a cost that does not grow with the
 * depth.
 */
#include "domain/plan.h"
#include "store/run_lists.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"
#include "unit/store/kit_forks.h"
#include "unit/store/kit_steps.h"

enum { SOURCE_EVENTS = 40 };
static struct kit w;
static int64_t source;
static void up(void) {
    kit_up(&w);
    source = kit_run(&w, "run_source", SOURCE_EVENTS);
}
static void down(void) { kit_down(&w); }
TestSuite(store_fork, .init = up, .fini = down, .timeout = 300);

static struct plan *fork_at(const char *id, int64_t cut) {
    struct plan *p = kit_fork(id, source, "run_source", cut);
    p->create->fork->link.base_seq = SOURCE_EVENTS;
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

static int64_t rows_of(int64_t run_no) {
    char sql[80];
    sqlite3_stmt *st = NULL;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM events WHERE run_no = %lld", (long long)run_no);
    cr_assert_eq(sqlite3_prepare_v2(w.s->writer->db, sql, -1, &st, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_step(st), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

static void shows_prefix(int64_t no, int64_t n) {
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

Test(store_fork, a_fork_refers_to_its_prefix /* FORK-9 */) {
    struct run_head h;
    struct run_origin o;
    struct run_view v;
    int64_t no = put(fork_at("run_f", 7));
    cr_assert_gt(no, 0);
    cr_assert_eq(head("run_f", &h), 0);
    cr_expect_eq(h.next_seq, 7);
    cr_expect_eq(h.status, RUN_RUNNING);
    cr_expect_gt(h.log_bytes, 0, "what a reader meets");
    cr_expect_eq(rows_of(no), 0, "nothing is copied");
    shows_prefix(no, 7);
    cr_assert_eq(store_run_origin(w.s, no, w.a, &o, &w.err), 0);
    cr_expect_eq(o.head.log_bytes, 0, "what it pays for");
    cr_expect_eq(o.fork.mode, FORK_REPLAY);
    cr_expect(str_eqc(o.fork.source_run_id, "run_source"));
    cr_expect_eq(o.fork.source_run_no, source);
    cr_expect_eq(o.fork.from_seq, 7);
    cr_expect_eq(o.fork.base_seq, SOURCE_EVENTS);
    cr_expect_eq(o.fork.cut_ms, 77);
    cr_assert_eq(store_run_view(w.s, KIT_TENANT, false, STR("run_f"), w.a, &v, &w.err), 0);
    cr_expect_eq(v.head.log_bytes, 700, "readers learn the length of the whole log");
    cr_expect_eq(kit_verify(&w), 0);
    cr_assert_eq(kit_apply(&w, kit_append(no, 7, 3, true)), 0);
    cr_expect_eq(rows_of(no), 3);
    cr_expect_eq(kit_count_events(&w, no), 10);
    cr_expect_eq(kit_count_events(&w, source), SOURCE_EVENTS);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_fork, what_does_not_fit_writes_nothing) {
    struct run_head h;
    cr_assert_gt(put(fork_at("run_f", 5)), 0);
    cr_expect_eq(put(fork_at("run_g", SOURCE_EVENTS + 1)), WOPR_E_EXPIRED);
    struct plan *p = fork_at("run_g", 5);
    p->create->fork->link.source_run_no = 99;
    cr_expect_eq(put(p), WOPR_E_EXPIRED, "the source is gone");
    p = fork_at("run_g", 5);
    p->base_seq = 4;
    cr_expect_eq(put(p), WOPR_E_INTERNAL, "a plan of ours that says two things");
    p = fork_at("run_g", 5);
    p->has_update = false;
    cr_expect_eq(put(p), WOPR_E_INTERNAL);
    cr_expect_eq(put(fork_at("run_f", 5)), WOPR_E_EXISTS);
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
        struct plan *p = fork_at(i == 0 ? "run_f" : "run_g", 3);
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

Test(store_fork, an_old_run_replayed_today_is_kept_as_long_as_others /* STORE-44 */) {
    int64_t no = put(fork_at("run_f", 5));
    struct plan *p = kit_append(no, 5, 1, true);
    p->update.completed_ms = 1000; /* the source's time */
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_expect_eq(kit_purge(&w, 2000, 2000, 10), 0);
    cr_expect_eq(kit_purge(&w, 1700000000001, 2000, 10), 1);
}

Test(store_fork, artifacts_told_before_the_cut_are_copied) {
    struct plan *p = kit_append(source, SOURCE_EVENTS, 4, false);
    for (int64_t i = 0; i < 4; i++) {
        char id[8];
        snprintf(id, sizeof id, "a%d", (int)i);
        const struct plan_artifact art = {.artifact_id = str_c(id),
                                          .artifact_type = STR("t"),
                                          .body = STR("{\"a\":\"0123456789\"}"),
                                          .seq = SOURCE_EVENTS + i};
        plan_artifact(p, &art);
    }
    cr_assert_eq(kit_apply(&w, p), 0);
    int64_t no = put(kit_fork("run_f", source, "run_source", SOURCE_EVENTS + 2));
    int64_t again = put(kit_fork("run_g", no, "run_f", SOURCE_EVENTS + 1));
    cr_assert(no > 0 && again > 0);
    static const char *const ids[] = {"a0", "a1", "a2", "a3"};
    struct plan_artifact art;
    struct run_origin o;
    for (size_t i = 0; i < 4; i++) {
        cr_expect_eq(store_artifact_get(w.s, KIT_TENANT, false, STR("run_f"), str_c(ids[i]), w.a,
                                        &art, &w.err),
                     i < 2 ? 0 : WOPR_E_NOT_FOUND);
        cr_expect_eq(store_artifact_get(w.s, KIT_TENANT, false, STR("run_g"), str_c(ids[i]), w.a,
                                        &art, &w.err),
                     i < 1 ? 0 : WOPR_E_NOT_FOUND);
    }
    cr_assert_eq(store_run_origin(w.s, no, w.a, &o, &w.err), 0);
    cr_expect_eq(o.head.log_bytes, 2 * 18, "a fork pays for its copies");
    cr_expect_eq(kit_verify(&w), 0);
}

/* Operations of SQLite's machine and microseconds that a fork costs. */
static int64_t fork_ops(const char *id, int64_t no, int64_t cut) {
    int64_t least = INT64_MAX;
    for (int i = 0; i < 3; i++) { /* the first one prepares statements */
        char name[40];
        snprintf(name, sizeof name, "%s_%d", id, i);
        struct plan *p = kit_fork(name, no, id, cut);
        uint64_t t0 = clock_mono_ns();
        kit_steps_begin(&w);
        cr_assert_gt(put(p), 0);
        int64_t ops = kit_steps_end(&w);
        if (getenv("WOPR_TEST_EVENTS"))
            fprintf(stderr, "fork at %lld: %lld operations, %lld us\n", (long long)cut,
                    (long long)ops, (long long)(clock_mono_ns() - t0) / 1000);
        if (ops < least) least = ops;
    }
    return least;
}

/* WOPR_TEST_EVENTS: of the long source, for a look at the time. */
Test(store_fork, the_length_of_the_prefix_costs_nothing /* FORK-9 */) {
    const char *asked = getenv("WOPR_TEST_EVENTS");
    int64_t n = asked ? strtoll(asked, NULL, 10) : 30000, no = kit_run(&w, "run_long", 1000);
    for (int64_t at = 1000; at < n; at += 1000)
        cr_assert_eq(kit_apply(&w, kit_append(no, at, 1000, false)), 0);
    int64_t little = fork_ops("run_source", source, 10), much = fork_ops("run_long", no, n);
    cr_expect_leq(much, little + little / 10, "%lld and %lld", (long long)little, (long long)much);
    cr_expect_eq(kit_verify(&w), 0);
}

/* --- chains of owners, against a model --- */

static void check_kind(int run, int64_t from, int64_t until) {
    struct event_list l;
    const struct model *m = &model[run];
    const struct log_range range = {m->no, from, until, STORE_LIST_MAX, 1 << 20};
    size_t n = 0;
    arena_reset(w.a);
    cr_assert_eq(store_events_of_kind(w.s, &range, EV_NODE_STARTED, w.a, &l, &w.err), 0);
    for (int64_t i = from; i < until && i < m->n; i++) {
        if (m->kind[i] != EV_NODE_STARTED) continue;
        cr_assert_lt(n, l.n);
        cr_assert(l.v[n].seq == i && model_has(&l.v[n], run));
        n++;
    }
    cr_expect_eq(n, l.n);
}

static void check_last(int run, int owner) {
    struct event payload;
    char name[16];
    const struct model *m = &model[run];
    bool there = false;
    for (int64_t i = 0; i < m->n; i++)
        there = there || (m->owner[i] == owner && m->kind[i] == EV_NODE_STARTED);
    snprintf(name, sizeof name, "r%d", owner);
    cr_expect_eq(store_event_last(w.s, m->no, EV_NODE_STARTED, str_c(name), w.a, &payload, &w.err),
                 there ? 0 : WOPR_E_NOT_FOUND, "run %d, node of run %d", run, owner);
}

Test(store_fork, any_page_of_any_fork_of_forks_is_right /* FORK-8, STORE-3 */) {
    model_seed(20261122);
    model_make(&w, 0, -1, 0);
    model_grow(&w, 0, 5);
    for (int i = 1; i < MODEL_RUNS; i++) {
        int from = model_some(3) == 0 ? (int)model_some(i) : i - 1; /* deep, with branches */
        int64_t cut = model[from].n - model_some(MODEL_GROWTH_MAX);
        model_make(&w, i, from, cut < 0 ? 0 : cut);
        if (model_some(6) > 0) model_grow(&w, i, 1 + model_some(MODEL_GROWTH_MAX - 1));
        if (model_some(4) == 0) model_grow(&w, from, 1); /* sources go on */
    }
    for (int i = 0; i < 3000; i++) {
        int run = (int)model_some(MODEL_RUNS);
        int64_t from = model_some(model[run].n + 2);
        model_check(&w, run, from, 1 + (unsigned)model_some(40));
        check_kind(run, from, from + model_some(60));
        check_last(run, (int)model_some(MODEL_RUNS));
    }
    for (int i = 0; i < MODEL_RUNS; i++) model_check(&w, i, 0, STORE_LIST_MAX);
    cr_expect_eq(kit_verify(&w), 0);
}

static int lookups(struct conn *c) {
    return sqlite3_stmt_status(c->st[SQL_PREFIX_GET], SQLITE_STMTSTATUS_RUN, 1);
}

Test(store_fork, the_depth_costs_a_logarithm) {
    enum { DEPTH = 1000, ENOUGH = 4 * 10 };
    struct conn *c;
    struct event_list l;
    int64_t no = source, n = SOURCE_EVENTS;
    char id[2][16] = {"run_source", ""};
    (void)put(fork_at("run_warm", 1));
    (void)lookups(w.s->writer);
    for (int i = 0; i < DEPTH; i++, n++) {
        snprintf(id[(i + 1) % 2], sizeof id[0], "run_d%d", i);
        no = put(kit_fork(id[(i + 1) % 2], no, id[i % 2], n));
        cr_assert_gt(no, 0);
        cr_expect_leq(lookups(w.s->writer), 8, "depth %d", i);
        cr_assert_eq(kit_apply(&w, kit_append(no, n, 1, false)), 0);
    }
    cr_assert_eq(conn_reader(w.s, &c, &w.err), 0);
    for (int64_t seq = 0; seq < n; seq += 7) {
        arena_reset(w.a);
        cr_assert_eq(store_events(w.s, no, seq, 1, 1, w.a, &l, &w.err), 0);
        cr_assert(l.n == 1 && l.v[0].seq == seq);
        cr_expect_leq(lookups(c), ENOUGH, "at %d", (int)seq);
    }
    cr_assert_eq(store_events(w.s, source, 0, 10, 1 << 20, w.a, &l, &w.err), 0);
    cr_expect_eq(lookups(c), 0, "a run that is no fork looks for nothing");
    cr_expect_eq(kit_count_events(&w, no), n);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(store_fork, a_chain_that_goes_in_circles_is_damage_and_ends) {
    struct event_list l;
    int64_t no = put(fork_at("run_f", 5)), again = put(kit_fork("run_g", no, "run_f", 5));
    cr_assert(no > 0 && again > 0);
    char sql[160];
    snprintf(sql, sizeof sql,
             "DROP TRIGGER run_prefixes_stay_same;"
             "UPDATE run_prefixes SET owner_no = %lld, jump_no = %lld",
             (long long)again, (long long)no);
    cr_assert_eq(kit_foreign(&w, sql), SQLITE_OK);
    cr_expect_eq(store_events(w.s, again, 0, 10, 1 << 20, w.a, &l, &w.err), WOPR_E_CORRUPT);
    cr_expect_gt(kit_verify(&w), 0);
}
