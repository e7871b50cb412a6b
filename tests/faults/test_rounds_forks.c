/*
 * test_rounds_forks.c: the nth call fails while forks of forks are removed, their names and the
 * events that others show included (FORK-18, FORK-24, STORE-44).  Whatever failed: a code, no event
 * of a fork that is there is lost, and a retry comes to the same rows, table by table.
 */
#include "faults/rounds.h"

#include "base/clock.h"
#include "base/fault.h"
#include "store/append.h"
#include "store/events.h"
#include "store/runs.h"
#include "store/upkeep.h"

#include <sqlite3.h>
#include <stdio.h>

TestSuite(rounds_forks, .init = world_up, .fini = world_down, .timeout = 600);

/* ------------------------------------------------------------------------------ rows, compared */
enum { TABLES_MAX = 128 };
static struct rows {
    size_t n;
    struct {
        char name[48];
        uint64_t hash; /* of all rows, in no order */
        int64_t rows;
    } v[TABLES_MAX];
} wanted;

static uint64_t row_hash(sqlite3_stmt *st) {
    uint64_t h = UINT64_C(14695981039346656037);
    for (int c = 0; c < sqlite3_column_count(st); c++) {
        const unsigned char *p = sqlite3_column_blob(st, c);
        int n = sqlite3_column_bytes(st, c);
        h = (h ^ (uint64_t)sqlite3_column_type(st, c)) * UINT64_C(1099511628211);
        for (int i = 0; i < n; i++) h = (h ^ p[i]) * UINT64_C(1099511628211);
    }
    return h;
}

static sqlite3_stmt *statement(sqlite3 *db, const char *sql) {
    sqlite3_stmt *st = NULL;
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK, "%s: %s", sql,
                 sqlite3_errmsg(db));
    return st;
}

static struct rows rows_read(void) {
    struct rows r = {.n = 0};
    sqlite3 *db = NULL;
    cr_assert_eq(sqlite3_open_v2(W.path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    sqlite3_stmt *names = statement(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND"
                                        " name <> 'sqlite_stat1' ORDER BY name");
    while (sqlite3_step(names) == SQLITE_ROW) {
        char sql[80];
        const char *name = (const char *)sqlite3_column_text(names, 0);
        cr_assert_lt(r.n, (size_t)TABLES_MAX);
        snprintf(r.v[r.n].name, sizeof r.v[r.n].name, "%s", name);
        snprintf(sql, sizeof sql, "SELECT * FROM %s", name);
        sqlite3_stmt *st = statement(db, sql);
        for (; sqlite3_step(st) == SQLITE_ROW; r.v[r.n].rows++) r.v[r.n].hash += row_hash(st);
        sqlite3_finalize(st);
        r.n++;
    }
    sqlite3_finalize(names);
    sqlite3_close(db);
    return r;
}

static void rows_same(void) {
    struct rows r = rows_read();
    cr_assert_eq(r.n, wanted.n);
    for (size_t i = 0; i < r.n; i++)
        cr_assert(r.v[i].hash == wanted.v[i].hash && r.v[i].rows == wanted.v[i].rows,
                  "%s: %d rows, not the %d that come of it without a fault", r.v[i].name,
                  (int)r.v[i].rows, (int)wanted.v[i].rows);
}

static int64_t rows_of(const struct rows *r, const char *table) {
    size_t i = 0;
    while (i < r->n && strcmp(r->v[i].name, table) != 0) i++;
    cr_assert_lt(i, r->n, "no table %s", table);
    return r->v[i].rows;
}

/* ------------------------------------------------------------------------------ the forest */
/* 0 is no fork; 2 shows events that 1 appended, 3 and 4 those of 0 alone.  4 goes on. */
enum { REMOVED = 3, LAST = 4, ALL = 5 };
static int64_t numbers[ALL], later_ms;
static struct world_run last;

static void end_run(struct world_run *r) {
    while (r->done < STEPS) cr_assert_eq(world_apply(r), 0, "%s", W.err.message);
    numbers[r - W.runs] = r->run_no;
}

static void forest_grow(void) {
    static const int CUT[ALL] = {0, 4, 5, 3, 2};
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    cr_assert_eq(world_workflow(), 0, "%s", W.err.message);
    world_runs(1, 2);
    end_run(&W.runs[0]);
    for (int i = 1; i < ALL; i++) {
        struct world_run *r = world_fork(&W.runs[i - 1], CUT[i]);
        cr_assert_not_null(r, "%s", W.err.message);
        cr_assert_eq(world_apply(r), 0, "%s", W.err.message);
        if (i < LAST) end_run(r);
        else numbers[i] = r->run_no;
    }
    later_ms = clock_wall_ms() + 30LL * 3600 * 1000;
}

/* The ledger keeps the fork that goes on; retention may take the others. */
static void ledger_keep_last(void) {
    for (size_t i = 0; i < W.runs_nr; i++) {
        run_state_free(W.runs[i].state);
        W.runs[i].state = NULL;
    }
    last = W.runs[LAST];
    W.runs[0] = last;
    W.runs_nr = 1;
}

/* Run by run, so that a fault falls into the first transaction as into the last. */
static int remove_all(void) {
    bool more = true;
    while (more) {
        int64_t n;
        int rc = store_purge_runs(W.store, later_ms, later_ms, 1, &n, &more, &W.err);
        if (rc != 0) return rc;
    }
    return 0;
}

static void events_there(int64_t run_no, int64_t least) {
    struct event_list l;
    cr_assert_eq(store_events(W.store, run_no, 0, 100, 1u << 30, W.a, &l, &W.err), 0);
    cr_assert_geq((int64_t)l.n, least);
    for (size_t i = 0; i < l.n; i++) cr_assert_eq(l.v[i].seq, (int64_t)i);
}

/* A removed fork is named as long as one leads to it, so that its ids can be told (FORK-18). */
static void names_there(void) {
    for (int i = LAST; i > 0; i--) {
        struct run_link l;
        cr_assert_eq(store_run_link(W.store, numbers[i], W.a, &l, &W.err), 0, "fork %d: %s", i,
                     W.err.message);
        cr_assert(l.fork.mode == FORK_BRANCH && l.fork.source_run_no == numbers[i - 1]);
    }
}

/* What comes of it without a fault. */
static void wanted_find(void) {
    cr_assert_eq(remove_all(), 0, "%s", W.err.message);
    wanted = rows_read();
    world_close();
}

/* ------------------------------------------------------------------------------ scenes */
static bool open_forest(void) {
    if (world_open() != 0) return false;
    ledger_keep_last();
    return true;
}

static void sources_gone(int rc) {
    events_there(numbers[LAST], 6);
    names_there();
    if (rc != 0) cr_assert_eq(remove_all(), 0, "a retry: %s", W.err.message);
    rows_same();
    events_there(numbers[LAST], 6);
    names_there();
    cr_assert_eq(world_findings(true), 0);
}

Test(rounds_forks, the_sources_of_a_fork_are_removed_or_a_retry_removes_them /* FORK-18 */) {
    static const struct scene sc = {.name = "sources",
                                    .opened = open_forest,
                                    .act = remove_all,
                                    .check = sources_gone,
                                    .stride = 12,
                                    .writes_are_many = true,
                                    .every = 19};
    forest_grow();
    world_save();
    ledger_keep_last();
    wanted_find();
    cr_assert_eq(rows_of(&wanted, "run_lineages"), REMOVED);
    cr_assert_eq(rows_of(&wanted, "run_burials"), 1, "of the root, which is shown");
    scene_play(&sc);
}

/* The last fork has ended as well: it, the names of all above it and what it showed go. */
static bool open_names(void) {
    if (world_open() != 0) return false;
    W.runs_nr = 0;
    return true;
}

static const char *const EMPTY[] = {"runs",         "run_origins",  "events",
                                    "run_prefixes", "run_lineages", "run_burials"};

static void all_gone(int rc) {
    if (rc != 0) cr_assert_eq(remove_all(), 0, "a retry: %s", W.err.message);
    rows_same();
    cr_assert_eq(world_findings(true), 0);
}

Test(rounds_forks, names_of_removed_forks_go_with_the_last_or_a_retry_removes_them /* FORK-18 */) {
    static const struct scene sc = {.name = "names",
                                    .opened = open_names,
                                    .act = remove_all,
                                    .check = all_gone,
                                    .stride = 12,
                                    .writes_are_many = true,
                                    .every = 19};
    forest_grow();
    cr_assert_eq(remove_all(), 0, "%s", W.err.message);
    while (W.runs[LAST].done < STEPS)
        cr_assert_eq(world_apply(&W.runs[LAST]), 0, "%s", W.err.message);
    world_save();
    for (size_t i = 0; i < W.runs_nr; i++) run_state_free(W.runs[i].state);
    W.runs_nr = 0;
    wanted_find();
    for (size_t i = 0; i < sizeof EMPTY / sizeof *EMPTY; i++)
        cr_assert_eq(rows_of(&wanted, EMPTY[i]), 0, "%s", EMPTY[i]);
    scene_play(&sc);
}

/* A fork whose owner is hidden and whose sources have only names. */
static struct plan *fork_plan;
static struct world_run *young;

static bool open_late_fork(void) {
    if (!open_forest()) return false;
    young = &W.runs[W.runs_nr++];
    memset(young, 0, sizeof *young);
    snprintf(young->id, sizeof young->id, "run_%026u", 77u);
    fork_plan = world_fork_plan(young, &W.runs[0], 2);
    return true;
}

static void drop_late_fork(void) {
    plan_unref(fork_plan);
    fork_plan = NULL;
}

static int apply_late_fork(void) {
    int rc = WOPR_E_INTERNAL, all = store_apply(W.store, &fork_plan, 1, &rc, &W.err);
    world_fork_settle(young, rc);
    drop_late_fork();
    return all != 0 ? all : rc;
}

static void late_fork_there(int rc) {
    if (rc != 0 && young->done == 0) {
        fork_plan = world_fork_plan(young, &W.runs[0], 2);
        cr_assert_eq(apply_late_fork(), 0, "a retry: %s", W.err.message);
    }
    world_check("a late fork");
    events_there(young->run_no, 2);
    for (size_t i = 0; i < W.runs_nr; i++)
        while (W.runs[i].done < STEPS)
            cr_assert_eq(world_apply(&W.runs[i]), 0, "%s", W.err.message);
    events_there(young->run_no, 14);
    names_there();
    cr_assert_eq(remove_all(), 0, "%s", W.err.message);
    struct rows left = rows_read();
    for (size_t i = 0; i < sizeof EMPTY / sizeof *EMPTY; i++)
        cr_assert_eq(rows_of(&left, EMPTY[i]), 0, "%s", EMPTY[i]);
    cr_assert_eq(world_findings(true), 0);
}

Test(rounds_forks, a_fork_under_names_of_removed_ones_is_all_or_nothing /* FORK-9, FORK-18 */) {
    static const struct scene sc = {.name = "late fork",
                                    .opened = open_late_fork,
                                    .dropped = drop_late_fork,
                                    .act = apply_late_fork,
                                    .check = late_fork_there,
                                    .stride = 12,
                                    .writes_are_many = true,
                                    .every = 19};
    forest_grow();
    cr_assert_eq(remove_all(), 0, "%s", W.err.message);
    world_close();
    world_save();
    scene_play(&sc);
}
