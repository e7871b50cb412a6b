/*
 * Appending: sequences, refusals, the terminal rule, races (EVT-2, EVT-7, STORE-1, STORE-2,
 * STORE-6, STORE-13).
 */
#include "base/mem.h"
#include "store/leases.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"
#include "unit/store/kit.h"

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(append, .init = up, .fini = down);

static void head(const char *run_id, struct run_head *h) {
    int rc = store_run_head(w.s, KIT_TENANT, false, str_c(run_id), w.a, h, &w.err);
    cr_assert_eq(rc, 0, "%s", w.err.message);
}

Test(append, a_plan_is_written_whole /* STORE-2 */) {
    struct run_head h;
    int64_t no = kit_run(&w, "run_1", 2);
    cr_assert_eq(kit_apply(&w, kit_append(no, 2, 3, false)), 0);
    head("run_1", &h);
    cr_assert_eq(h.next_seq, 5);
    cr_assert_eq(h.run_no, no);
    cr_assert_eq(h.status, RUN_PENDING);
    cr_assert(str_eqc(h.holder, "host-1"));
    cr_assert_eq(h.lease_until_ms, 1000);
    cr_assert_eq(kit_count_events(&w, no), 5);
    cr_assert_eq(kit_verify(&w), 0);
}

Test(append, an_event_comes_back_as_it_went /* STORE-3, STORE-7 */) {
    int64_t no = kit_run(&w, "run_1", 0);
    struct plan *p = kit_append(no, 0, 2, false);
    p->events[0].node_id = STR_NONE;
    p->events[1].causation_seq = 0;
    p->events[1].flags = EVENT_INHERITED;
    p->events[1].engine_version = 7;
    p->events[1].payload = STR("{\"z\":1.50,\"a\":\"\xc3\xa9\\u0000\"}");
    plan_ref(p);
    cr_assert_eq(kit_apply(&w, p), 0);
    struct event_list l;
    cr_assert_eq(store_events(w.s, no, 0, 10, 1 << 20, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct event *x = &l.v[i], *y = &p->events[i];
        cr_assert(x->seq == y->seq && x->kind == y->kind && x->ts_ms == y->ts_ms &&
                  x->causation_seq == y->causation_seq && x->flags == y->flags &&
                  x->schema_version == y->schema_version && x->engine_version == y->engine_version);
        cr_assert(str_eq(x->payload, y->payload) && str_eq(x->node_id, y->node_id));
        cr_assert(str_eqc(x->type, "log.appended"));
    }
    plan_unref(p);
}

Test(append, a_page_is_bounded_by_rows_and_bytes_but_never_empty) {
    struct event_list l;
    int64_t no = kit_run(&w, "run_1", 10);
    cr_assert_eq(store_events(w.s, no, 4, 3, 1 << 20, w.a, &l, &w.err), 0);
    cr_assert(l.n == 3 && l.v[0].seq == 4);
    cr_assert_eq(store_events(w.s, no, 0, 100, 1, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 1);
    cr_assert_eq(store_events(w.s, no, 10, 100, 1 << 20, w.a, &l, &w.err), 0);
    cr_assert_eq(l.n, 0);
}

Test(append, refusals_write_nothing_and_say_why /* STORE-33, D38 */) {
    int64_t no = kit_run(&w, "run_1", 2);
    cr_assert_eq(kit_apply(&w, kit_append(no, 1, 1, false)), WOPR_E_STALE);
    cr_assert_eq(kit_apply(&w, kit_append(no, 3, 1, false)), WOPR_E_STALE);
    cr_assert_eq(kit_apply(&w, kit_append(no + 1, 2, 1, false)), WOPR_E_NOT_FOUND);
    struct plan *p = kit_append(no, 2, 1, false);
    p->epoch = 2;
    cr_assert_eq(kit_apply(&w, p), WOPR_E_FENCED);
    cr_assert_eq(kit_apply(&w, kit_create("run_1", 1)), WOPR_E_EXISTS);
    cr_assert_eq(store_run_park(w.s, no, LEASE_ANY, STR("broken"), &w.err), 0);
    cr_assert_eq(kit_apply(&w, kit_append(no, 2, 1, false)), WOPR_E_CORRUPT);
    cr_assert_eq(store_run_park(w.s, no, LEASE_ANY, STR_NONE, &w.err), 0);
    cr_assert_eq(kit_count_events(&w, no), 2);
    cr_assert_eq(kit_apply(&w, kit_append(no, 2, 2, true)), 0);
    p = plan_ref(kit_append(no, 4, 1, false));
    cr_assert_eq(kit_apply(&w, p), WOPR_E_RUN_TERMINAL);
    cr_assert_eq(p->found_status, RUN_COMPLETED);
    plan_unref(p);
    p = kit_append(no, 2, 1, false);
    plan_fail(p, WOPR_E_TOO_BIG, "too big");
    cr_assert_eq(kit_apply(&w, p), WOPR_E_TOO_BIG);
    cr_assert_eq(kit_verify(&w), 0);
}

Test(append, a_plan_that_breaks_the_log_is_not_written /* EVT-7 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    struct plan *p = kit_append(no, 1, 2, true);
    p->has_update = false; /* a terminal event without a final status */
    cr_assert_eq(kit_apply(&w, p), WOPR_E_INTERNAL);
    p = kit_append(no, 1, 3, true);
    p->events[0].kind = EV_RUN_FAILED;
    cr_assert_eq(kit_apply(&w, p), WOPR_E_INTERNAL);
    p = kit_append(no, 1, 2, false);
    p->events[1].seq = 5;
    cr_assert_eq(kit_apply(&w, p), WOPR_E_INTERNAL);
    cr_assert_eq(kit_count_events(&w, no), 1);
}

/* A run whose nodes finish at once: created, told and ended by one plan. */
static struct plan *whole_run(const char *id, size_t events) {
    struct plan *p = kit_create(id, 0);
    kit_events(p, events, true, 40);
    p->has_update = true;
    p->update = (struct run_row_update){.status = RUN_COMPLETED,
                                        .started_ms = 5,
                                        .completed_ms = 1700000000500,
                                        .outputs = STR("{\"n\":{}}")};
    return p;
}

Test(append, a_run_may_end_in_the_plan_that_creates_it /* STORE-2, STORE-13, RUN-7 */) {
    struct run_head h;
    struct store_counts n;
    for (int i = 0; i < 2; i++) { /* the second finds the scope free again */
        struct plan *p = plan_ref(whole_run(i == 0 ? "run_1" : "run_2", 6));
        p->create->meta.scope_id = STR("s");
        p->create->dedup_enforce = true;
        cr_assert_eq(kit_apply(&w, p), 0, "%s", w.err.message);
        cr_expect_eq(kit_apply(&w, kit_append(p->run_no, 6, 1, false)), WOPR_E_RUN_TERMINAL);
        plan_unref(p);
    }
    head("run_1", &h);
    cr_expect_eq(h.status, RUN_COMPLETED);
    cr_expect_eq(h.next_seq, 6);
    cr_assert_eq(store_count(w.s, &n, &w.err), 0);
    cr_expect(n.runs == 2 && n.runs_open == 0 && n.events == 12);
    struct plan *p = whole_run("run_3", 2); /* one status without the other is our mistake */
    p->has_update = false;
    cr_expect_eq(kit_apply(&w, p), WOPR_E_INTERNAL);
    p = whole_run("run_3", 2);
    p->events[1].kind = EV_LOG_APPENDED;
    cr_expect_eq(kit_apply(&w, p), WOPR_E_INTERNAL);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(append, refused_plans_do_not_touch_their_batch) {
    int64_t no = kit_run(&w, "run_1", 1);
    struct plan *v[4] = {kit_append(no, 1, 1, false), kit_append(no, 1, 1, false),
                         kit_append(no, 2, 1, false), kit_create("run_2", 2)};
    int rcs[4];
    cr_assert_eq(store_apply(w.s, v, 4, rcs, &w.err), 0);
    cr_assert(rcs[0] == 0 && rcs[1] == WOPR_E_STALE && rcs[2] == 0 && rcs[3] == 0);
    cr_assert_eq(kit_count_events(&w, no), 3);
    cr_assert_eq(kit_count_events(&w, v[3]->run_no), 2);
    for (int i = 0; i < 4; i++) plan_unref(v[i]);
    cr_assert_eq(kit_verify(&w), 0);
}

static int sql(const char *text) { return sqlite3_exec(w.s->writer->db, text, NULL, NULL, NULL); }

Test(append, the_database_itself_keeps_the_rules /* STORE-13, EVT-2, EVT-7 */) {
    int64_t no = kit_run(&w, "run_1", 1);
    int64_t open = kit_run(&w, "run_2", 1);
    cr_assert_eq(kit_apply(&w, kit_append(no, 1, 1, true)), 0);
    const char *const bad[] = {
        "UPDATE events SET payload = '{}' WHERE run_no = 1",
        "DELETE FROM events WHERE run_no = 1",
        "DELETE FROM runs WHERE run_no = 1",
        "UPDATE runs SET status = 1 WHERE run_no = 1",
        "UPDATE runs SET next_seq = 9 WHERE run_no = 1",
        "UPDATE runs SET next_seq = 0 WHERE run_no = 2",
        "INSERT INTO events VALUES (1, 2, 27, 0, NULL, NULL, 1, 1, 0, NULL, '{}')",
        "INSERT INTO events VALUES (1, 2, 2, 0, NULL, NULL, 1, 1, 0, NULL, '{}')",
        "INSERT INTO events VALUES (2, 1, 27, 0, NULL, NULL, 1, 1, 0, NULL, '{}')",
        "INSERT INTO events VALUES (2, -1, 27, 0, NULL, NULL, 1, 1, 0, NULL, '{}')",
        "INSERT INTO events VALUES (99, 0, 27, 0, NULL, NULL, 1, 1, 0, NULL, '{}')",
        "INSERT OR REPLACE INTO events VALUES (2, 0, 27, 0, NULL, NULL, 1, 1, 0, NULL, '{}')",
        "BEGIN; UPDATE runs SET next_seq = 3 WHERE run_no = 2;"
        "INSERT INTO events VALUES (2, 1, 1, 0, NULL, NULL, 1, 1, 0, NULL, '{}');"
        "INSERT INTO events VALUES (2, 2, 2, 0, NULL, NULL, 1, 1, 0, NULL, '{}')",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int rc = kit_foreign(&w, bad[i]);
        cr_expect_eq(rc & 0xff, SQLITE_CONSTRAINT, "%d for %s", rc, bad[i]);
    }
    cr_assert_eq(kit_count_events(&w, no), 2);
    cr_assert_eq(kit_count_events(&w, open), 1);
    cr_assert_eq(kit_foreign(&w, "INSERT INTO audit_entries VALUES (0, 1, NULL, 'x', NULL, '{}')"),
                 SQLITE_OK);
    cr_assert_eq(kit_foreign(&w, "UPDATE audit_entries SET type = 'y'") & 0xff, SQLITE_CONSTRAINT);
    cr_assert_eq(kit_foreign(&w, "DELETE FROM audit_entries") & 0xff, SQLITE_CONSTRAINT);
    cr_assert_eq(kit_verify(&w), 0);
}

Test(append, verification_finds_what_was_bent) {
    int64_t no = kit_run(&w, "run_1", 4);
    kit_run(&w, "run_2", 2);
    cr_assert_eq(no, 1);
    cr_assert_eq(sql("DROP TRIGGER events_stay; DELETE FROM events WHERE run_no = 1 AND seq = 2;"
                     "UPDATE runs SET next_seq = 5 WHERE run_no = 2"),
                 SQLITE_OK);
    cr_assert_eq(kit_verify(&w), 4); /* trigger, hole, next_seq, counters */
}

/* ------------------------------------------------------------------------------ race */
enum { RACERS = 16, RACES = 500 };
static int64_t race_no;
static atomic_int race_stale;

static void *racer(void *arg) {
    struct arena *a = arena_new(1 << 20);
    struct wopr_error err;
    (void)arg;
    for (int done = 0; done < RACES;) {
        struct run_head h;
        arena_reset(a);
        cr_assert_eq(store_run_head(w.s, KIT_TENANT, false, STR("run_1"), a, &h, &err), 0);
        struct plan *p = kit_append(race_no, h.next_seq, 1 + (size_t)(done % 3), false);
        int rc = -1;
        int all = store_apply(w.s, &p, 1, &rc, &err);
        cr_assert(all == 0 && (rc == 0 || rc == WOPR_E_STALE), "%s", err.message);
        if (rc == 0) done++;
        else atomic_fetch_add(&race_stale, 1);
        plan_unref(p);
    }
    arena_free(a);
    return NULL;
}

Test(append, sixteen_writers_leave_no_gap /* EVT-2, 20-runtime 14 check 1 */, .timeout = 300) {
    pthread_t t[RACERS];
    race_no = kit_run(&w, "run_1", 0);
    for (int i = 0; i < RACERS; i++) cr_assert_eq(pthread_create(&t[i], NULL, racer, NULL), 0);
    for (int i = 0; i < RACERS; i++) pthread_join(t[i], NULL);
    int64_t per = 0;
    for (int i = 0; i < RACES; i++) per += 1 + i % 3;
    int64_t n = per * RACERS;
    cr_assert_eq(kit_count_events(&w, race_no), n);
    cr_assert_eq(kit_apply(&w, kit_append(race_no, n, 1, true)), 0);
    cr_assert_eq(kit_apply(&w, kit_append(race_no, n + 1, 1, false)), WOPR_E_RUN_TERMINAL);
    cr_assert_eq(kit_verify(&w), 0);
}

/* ------------------------------------------------------------------------------ idempotency,
 * X-Dedup */
static struct plan *with_key(struct plan *p, const char *key, const char *body, int status) {
    p->has_idem = true;
    p->idem = (struct idem_key){.tenant = KIT_TENANT,
                                .operation_id = STR("createRun"),
                                .key = sha256_of(str_c(key)),
                                .digest = sha256_of(str_c(body))};
    p->idem_response =
        (struct idem_response){.status = status, .body = arena_str(p->arena, str_c(body))};
    return p;
}

Test(append, a_retry_gets_the_stored_answer /* IDEM-5, IDEM-10, IDEM-12 */) {
    struct plan *p = with_key(kit_create("run_1", 1), "k", "{\"one\":1}", 201);
    cr_assert_eq(kit_apply(&w, p), 0);
    p = plan_ref(with_key(kit_create("run_2", 1), "k", "{\"one\":1}", 299));
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert(p->idem_hit && p->idem_response.status == 201 && p->run_no == 0);
    cr_assert(str_eqc(p->idem_response.body, "{\"one\":1}"));
    plan_unref(p);
    p = with_key(kit_create("run_3", 1), "k", "{\"two\":2}", 201);
    cr_assert_eq(kit_apply(&w, p), WOPR_E_IDEM_CONFLICT);
    struct store_counts c;
    cr_assert_eq(store_count(w.s, &c, &w.err), 0);
    cr_assert(c.runs == 1 && c.runs_open == 1 && c.events == 1 && c.bytes > 0);
    struct idem_response r;
    struct idem_key key = {.tenant = KIT_TENANT,
                           .operation_id = STR("createRun"),
                           .key = sha256_of(STR("k")),
                           .digest = sha256_of(STR("{\"one\":1}"))};
    cr_assert_eq(store_idem_find(w.s, &key, clock_wall_ms(), w.a, &r, &w.err), 0);
    cr_assert_eq(r.status, 201);
    key.digest = sha256_of(STR("other"));
    cr_assert_eq(store_idem_find(w.s, &key, clock_wall_ms(), w.a, &r, &w.err),
                 WOPR_E_IDEM_CONFLICT);
    key.tenant = STR("tenant-b");
    cr_assert_eq(store_idem_find(w.s, &key, clock_wall_ms(), w.a, &r, &w.err), WOPR_E_NOT_FOUND);
}

Test(append, a_refused_plan_stores_no_answer) {
    int64_t no = kit_run(&w, "run_1", 1);
    cr_assert_eq(kit_apply(&w, with_key(kit_append(no, 9, 1, false), "k", "b", 200)), WOPR_E_STALE);
    struct plan *p = plan_ref(with_key(kit_append(no, 1, 1, false), "k", "b", 200));
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_not(p->idem_hit);
    plan_unref(p);
}

Test(append, a_transient_answer_gives_way /* IDEM-9 */) {
    struct plan *p = plan_new();
    p->what = PLAN_SIDE;
    with_key(p, "k", "b", 503);
    p->idem_response.retry_after_s = 2;
    p->idem_response.transient_until_ms = clock_wall_ms() + 3600000;
    cr_assert_eq(kit_apply(&w, p), 0);
    p = plan_ref(with_key(kit_create("run_1", 1), "k", "b", 201));
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert(p->idem_hit && p->idem_response.status == 503 && p->idem_response.retry_after_s == 2);
    plan_unref(p);
    cr_assert_eq(sql("UPDATE idempotency SET transient_until_ms = 1"), SQLITE_OK);
    p = plan_ref(with_key(kit_create("run_1", 1), "k", "b", 201));
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_not(p->idem_hit);
    plan_unref(p);
    p = plan_ref(with_key(kit_create("run_2", 1), "k", "b", 201));
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert(p->idem_hit && p->idem_response.status == 201);
    plan_unref(p);
    int64_t n;
    cr_assert_eq(store_purge_idempotency(w.s, clock_wall_ms(), 10, &n, NULL, &w.err), 0);
    cr_assert_eq(n, 0, "kept for a day (IDEM-6)");
    cr_assert_eq(store_purge_idempotency(w.s, clock_wall_ms() + 90000000, 10, &n, NULL, &w.err), 0);
    cr_assert_eq(n, 1);
}

static struct plan *scoped(const char *id, const char *scope, bool enforce) {
    struct plan *p = kit_create(id, 1);
    p->create->meta.scope_id = arena_str(p->arena, str_c(scope));
    p->create->dedup_enforce = enforce;
    return p;
}

Test(append, one_active_run_per_scope_when_asked /* RUN-7 */) {
    struct plan *p = plan_ref(scoped("run_1", "s", false));
    cr_assert_eq(kit_apply(&w, p), 0);
    int64_t no = p->run_no;
    plan_unref(p);
    p = plan_ref(scoped("run_2", "s", true));
    cr_assert_eq(kit_apply(&w, p), WOPR_E_RUN_ALREADY_ACTIVE);
    cr_assert(str_eqc(p->active_run_id, "run_1"));
    cr_assert_eq(p->active_until_ms, 1000);
    plan_unref(p);
    cr_assert_eq(kit_apply(&w, scoped("run_3", "other", true)), 0);
    p = scoped("run_4", "s", true);
    p->create->meta.tenant = STR("tenant-b");
    cr_assert_eq(kit_apply(&w, p), 0);
    p = scoped("run_5", "s", true);
    p->create->meta.test_mode = true;
    cr_assert_eq(kit_apply(&w, p), 0, "modes do not see each other (AUTH-9)");
    cr_assert_eq(kit_apply(&w, scoped("run_6", "s", false)), 0, "only those who ask collide");
    cr_assert_eq(kit_apply(&w, kit_append(no, 1, 1, true)), 0);
    cr_assert_eq(sql("UPDATE runs SET status = 7, completed_ms = 1 WHERE run_id = 'run_6'"),
                 SQLITE_OK);
    cr_assert_eq(kit_apply(&w, scoped("run_7", "s", true)), 0, "finished runs free the scope");
}

struct walked {
    int64_t next, stop_at;
    int calls;
};

static int walked_take(void *ctx, const struct event *e, struct wopr_error *err) {
    struct walked *x = ctx;
    (void)err;
    x->calls++;
    cr_expect_eq(e->seq, x->next++);
    if (e->seq != x->stop_at) return 0;
    return x->stop_at == 5 ? WOPR_E_CORRUPT : 1;
}

static int walk(int64_t run_no, int64_t from, int64_t until, struct walked *x) {
    const struct log_range range = {
        .run_no = run_no, .from = from, .until = until, .page_events = 3, .page_bytes = 1u << 20};
    x->calls = 0;
    x->next = from > 0 ? from : 0;
    return store_walk(w.s, &range, w.a, walked_take, x, &w.err);
}

Test(append, a_walk_takes_each_event_once) {
    int64_t no = kit_run(&w, "run_1", 10);
    struct walked x = {.stop_at = -1};
    cr_expect(walk(no, -1, INT64_MAX, &x) == 0 && x.calls == 10);
    cr_expect(walk(no, 2, 9, &x) == 0 && x.calls == 7);
    cr_expect(walk(no, 3, 6, &x) == 0 && x.calls == 3); /* a whole page */
    cr_expect(walk(no, 10, INT64_MAX, &x) == 0 && x.calls == 0);
    cr_expect(walk(no, 4, 4, &x) == 0 && x.calls == 0);
    cr_expect(walk(no + 1, 0, INT64_MAX, &x) == 0 && x.calls == 0);
    x.stop_at = 4; /* its taker ends it */
    cr_expect(walk(no, 0, INT64_MAX, &x) == 0 && x.calls == 5);
    x.stop_at = 5; /* its taker fails */
    cr_expect(walk(no, 0, INT64_MAX, &x) == WOPR_E_CORRUPT && x.calls == 6);
}
