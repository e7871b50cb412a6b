/*
 * test_purge.c: retention in slices (STORE-44): a long run goes in several transactions, unseen
 * from the first on, and a crash in between changes nothing; short runs go many at a time.
 */
#include "kit.h"

#include "base/clock.h"
#include "store/run_lists.h"
#include "store/runs.h"
#include "store/sqlite/query.h"
#include "store/upkeep.h"

#include <unistd.h>

enum { LONG_EVENTS = 3 * STORE_PURGE_ROWS, ROUNDS_MAX = 10000 };

static const int64_t ENDED = 1700000000500, DAY = 86400000;
static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(purge, .init = up, .fini = down, .timeout = 300);

static int64_t long_run(const char *id) {
    int64_t no = kit_run(&w, id, 1), seq = 1;
    for (; seq < LONG_EVENTS - 1; seq += 1000) {
        size_t n = LONG_EVENTS - 1 - seq < 1000 ? (size_t)(LONG_EVENTS - 1 - seq) : 1000;
        cr_assert_eq(kit_apply(&w, kit_append(no, seq, n, false)), 0);
    }
    cr_assert_eq(kit_apply(&w, kit_append(no, LONG_EVENTS - 1, 1, true)), 0);
    return no;
}

static int64_t short_run(const char *id) {
    int64_t no = kit_run(&w, id, 3);
    cr_assert_eq(kit_apply(&w, kit_append(no, 3, 1, true)), 0);
    return no;
}

static int64_t slice(bool *more) {
    int64_t n = -1;
    int rc = store_purge_runs(w.s, ENDED + 1, ENDED + DAY, 1000000, &n, more, &w.err);
    cr_assert_eq(rc, 0, "%s", w.err.message);
    return n;
}

static int64_t rounds_until_done(void) {
    bool more = true;
    int64_t gone = 0;
    for (unsigned i = 0; more; i++) {
        cr_assert_lt(i, ROUNDS_MAX);
        gone += slice(&more);
    }
    return gone;
}

static void expect_unseen(const char *id) {
    struct run_head h;
    struct run_list l;
    struct run_filter all = {.any_tenant = true, .any_mode = true, .status = -1, .max = 1000},
                      tag = {.tenant = KIT_TENANT, .status = -1, .tag = STR("blue"), .max = 1000};
    cr_expect_eq(store_run_head(w.s, KIT_TENANT, false, str_c(id), w.a, &h, &w.err),
                 WOPR_E_EXPIRED);
    cr_assert_eq(store_run_list(w.s, &all, w.a, &l, &w.err), 0);
    for (size_t i = 0; i < l.n; i++) cr_expect_not(str_eqc(l.v[i].head.run_id, id));
    cr_assert_eq(store_run_list(w.s, &tag, w.a, &l, &w.err), 0);
    for (size_t i = 0; i < l.n; i++) cr_expect_not(str_eqc(l.v[i].head.run_id, id));
}

Test(purge, a_long_run_goes_in_slices_that_nobody_sees /* STORE-44, S14 */) {
    bool more;
    struct store_counts c;
    int64_t no = long_run("run_1"), other = kit_run(&w, "run_2", 3);
    cr_expect_eq(slice(&more), 0);
    cr_expect(more);
    expect_unseen("run_1");
    cr_expect_gt(kit_count_events(&w, no), 0, "one transaction did not take all");
    cr_expect_geq(kit_count_events(&w, no), LONG_EVENTS - STORE_PURGE_ROWS - 256);
    cr_expect_eq(kit_verify(&w), 0, "a run that is being removed is no finding");
    cr_assert_eq(kit_apply(&w, kit_append(other, 3, 1, false)), 0); /* commits go on in between */
    cr_expect_eq(rounds_until_done(), 1);
    expect_unseen("run_1");
    cr_expect_eq(kit_count_events(&w, no), 0);
    cr_expect_eq(kit_verify(&w), 0);
    cr_assert_eq(store_count(w.s, &c, &w.err), 0);
    cr_expect(c.runs == 1 && c.runs_open == 1 && c.events == 4);
}

Test(purge, it_goes_on_after_a_crash /* STORE-44, S14 */) {
    bool more;
    int64_t no = long_run("run_1");
    cr_expect_eq(slice(&more), 0);
    kit_close(&w);
    kit_open(&w);
    expect_unseen("run_1");
    int64_t before = kit_count_events(&w, no), n;
    /* whatever the retention is now: it has begun */
    cr_assert_eq(store_purge_runs(w.s, 0, ENDED + DAY, 10, &n, &more, &w.err), 0);
    cr_expect_lt(kit_count_events(&w, no), before);
    (void)rounds_until_done();
    cr_expect_eq(kit_count_events(&w, no), 0);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(purge, a_source_that_is_being_removed_cannot_be_forked /* FORK-24 */) {
    bool more;
    int64_t no = long_run("run_1");
    cr_expect_eq(slice(&more), 0);
    cr_expect_eq(kit_apply(&w, kit_fork("run_f", no, "run_1", 5)), WOPR_E_EXPIRED);
}

/* A monotonic clock that goes on by so much whenever it is read. */
static uint64_t mono_ns, tick_ns;
static int64_t ticking_wall(void *ctx) { return (void)ctx, ENDED; }
static uint64_t ticking_mono(void *ctx) { return (void)ctx, mono_ns += tick_ns; }
static void ticking_random(void *ctx, void *out, size_t n) {
    (void)ctx;
    cr_assert_eq(getentropy(out, n), 0);
}
static void tick(uint64_t ms) {
    static const struct sys_ops ops = {ticking_wall, ticking_mono, ticking_random, NULL};
    tick_ns = ms * 1000000u;
    sys_set(&ops);
}

static void short_runs(int n) {
    char id[32];
    for (int i = 0; i < n; i++) {
        snprintf(id, sizeof id, "run_%d", i);
        short_run(id);
    }
}

Test(purge, a_slice_ends_with_its_time /* STORE-44, S7 */) {
    bool more = false;
    short_runs(20);
    tick(STORE_PURGE_MS);
    cr_expect_lt(slice(&more), 20);
    cr_expect(more);
}

Test(purge, however_slow_the_store_each_slice_gets_on /* STORE-44 */) {
    int64_t no = long_run("run_long");
    short_runs(3);
    tick(STORE_PURGE_MS); /* the time of a slice is over as soon as it looks */
    cr_expect_eq(rounds_until_done(), 4);
    cr_expect_eq(kit_count_events(&w, no), 0);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(purge, short_runs_go_many_at_a_time /* STORE-44, S7 */) {
    bool more;
    short_runs(300);
    tick(0);
    int64_t n = slice(&more); /* by rows and time, not by a count of runs */
    cr_expect_gt(n, 20);
    cr_expect_eq(n + (more ? rounds_until_done() : 0), 300);
    cr_expect_eq(kit_verify(&w), 0);
}

Test(purge, what_belongs_to_a_long_run_goes_with_it /* STORE-44 */) {
    int64_t no = long_run("run_1");
    char sql[512];
    snprintf(sql, sizeof sql,
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
             " INSERT INTO artifacts (run_no, artifact_id, artifact_type, body, created_ms)"
             " SELECT %lld, 'a' || i, 't', '{}', 1 FROM n",
             (long long)no);
    cr_assert_eq(kit_foreign(&w, sql), SQLITE_OK);
    snprintf(sql, sizeof sql,
             "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
             " INSERT INTO run_channels (run_no, name, seq, declared, is_list, ts, value)"
             " SELECT %lld, 'c', i, 1, 1, 1, '{}' FROM n",
             (long long)no);
    cr_assert_eq(kit_foreign(&w, sql), SQLITE_OK);
    cr_expect_eq(rounds_until_done(), 1);
    cr_expect_eq(kit_verify(&w), 0);
}

static bool is_deleted_from(const char *table) {
    char says[128];
    snprintf(says, sizeof says, "DELETE FROM %s ", table);
    for (size_t i = 0; i < SQL_NR; i++)
        if (strstr(STMTS[i].text, says)) return true;
    return false;
}

/* A table of runs that no statement empties would keep what retention promises to remove. */
Test(purge, leaves_no_table_of_a_run_out /* STORE-44 */) {
    static const char TABLES[] =
        "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'run_no'"
        " WHERE m.type = 'table' AND NOT EXISTS (SELECT 1 FROM pragma_foreign_key_list(m.name) f"
        " WHERE f.\"table\" = 'runs' AND f.on_delete = 'CASCADE')";
    sqlite3 *db;
    sqlite3_stmt *st;
    unsigned n = 0;
    cr_assert_eq(sqlite3_open(w.path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, TABLES, -1, &st, NULL), SQLITE_OK);
    for (; sqlite3_step(st) == SQLITE_ROW; n++) {
        const char *table = (const char *)sqlite3_column_text(st, 0);
        cr_expect(is_deleted_from(table),
                  "%s has rows of runs that no purge removes: give it a foreign key to runs, or a "
                  "line of RUN_TABLES or LONG_TABLES in stmts.def",
                  table);
    }
    (void)sqlite3_finalize(st);
    (void)sqlite3_close(db);
    cr_expect_geq(n, 10u);
}
