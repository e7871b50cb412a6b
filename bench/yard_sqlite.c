/*
 * yard_sqlite.c: the bare loop WOPR is compared with: the rows of one empty run, by the same
 * statements, under the same migrations and pragmas, from prepared statements and one thread, with
 * nothing else around.  A batch is one transaction over n runs; each run is inserted as it ends.
 */
#include "bench.h"

#include "store/sqlite/sql.h"

#include <unistd.h>

enum { BATCH_MAX = 8192, PROBE_MS = 700 };

static const char PAY_STARTED[] = "{\"workflowId\":\"conformance-noop\",\"inputs\":{},"
                                  "\"transport\":\"rest\",\"engineVersion\":\"1\"}";
static const char PAY_NODE[] = "{\"nodeId\":\"noop\",\"typeId\":\"core.noop\",\"attempt\":0}";
static const char PAY_DONE[] = "{\"nodeId\":\"noop\",\"outputs\":{},\"durationMs\":0}";
static const char PAY_END[] = "{\"outputs\":{\"noop\":{}},\"durationMs\":0}";
static const char SUBJECT[] =
    "{\"issuer\":\"wopr:api-key\",\"subjectId\":\"cfgad8cba54433d3df4801321e2\","
    "\"tenant\":\"default\",\"lane\":\"api-key\",\"kind\":\"user\"}";
static const char NODE_STATE[] =
    "{\"status\":\"completed\",\"attempt\":0,\"startedAt\":\"2026-01-01T00:00:00.000Z\","
    "\"completedAt\":\"2026-01-01T00:00:00.000Z\",\"outputs\":{}}";

struct yard {
    sqlite3 *db;
    sqlite3_stmt *st[SQL_NR];
    uint64_t serial;
    int wal_pages;
    int at; /* parameter being bound */
};

static bool ok(struct yard *y, int rc) {
    if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW) return true;
    fprintf(stderr, "wopr-bench: SQLite: %s\n", sqlite3_errmsg(y->db));
    return false;
}

static sqlite3_stmt *stmt(struct yard *y, enum stmt_id id) {
    if (!y->st[id])
        (void)ok(y, sqlite3_prepare_v3(y->db, STMTS[id].text, -1, SQLITE_PREPARE_PERSISTENT,
                                       &y->st[id], NULL));
    y->at = 0;
    return y->st[id];
}

static void text(struct yard *y, sqlite3_stmt *st, const char *z) {
    (void)(z ? sqlite3_bind_text(st, ++y->at, z, -1, SQLITE_STATIC)
             : sqlite3_bind_null(st, ++y->at));
}
static void num(struct yard *y, sqlite3_stmt *st, int64_t v) {
    (void)sqlite3_bind_int64(st, ++y->at, v);
}
static bool go(struct yard *y, sqlite3_stmt *st) {
    bool good = ok(y, sqlite3_step(st));
    (void)sqlite3_reset(st);
    return good;
}

/* status, current node, started, completed, paused, error, outputs, agent */
static void run_columns(struct yard *y, sqlite3_stmt *st, int64_t now) {
    num(y, st, STORE_FINAL_STATUS);
    text(y, st, NULL);
    num(y, st, now);
    num(y, st, now);
    text(y, st, NULL);
    text(y, st, NULL);
    text(y, st, "{\"noop\":{}}");
    text(y, st, NULL);
}

static bool put_run(struct yard *y, int64_t now, int64_t *run_no) {
    static const char hash[32] = "benchbenchbenchbenchbenchbenchb";
    char id[40];
    sqlite3_stmt *st = stmt(y, SQL_RUN_INSERT);
    (void)snprintf(id, sizeof id, "run_01BENCH%08llX%012llX",
                   (unsigned long long)(uint32_t)getpid(), (unsigned long long)y->serial++);
    text(y, st, id);
    text(y, st, "default");
    num(y, st, 0);
    text(y, st, "conformance-noop");
    text(y, st, NULL);
    num(y, st, 2);
    num(y, st, 1);
    num(y, st, 1);
    num(y, st, now);
    num(y, st, 1);
    num(y, st, 1);
    num(y, st, 4); /* the next sequence, and the bytes of the log so far */
    num(y, st, 0);
    run_columns(y, st, now);
    if (!go(y, st)) return false;
    *run_no = sqlite3_last_insert_rowid(y->db);
    st = stmt(y, SQL_ORIGIN_INSERT);
    num(y, st, *run_no);
    text(y, st, "default");
    text(y, st, SUBJECT);
    (void)sqlite3_bind_blob(st, ++y->at, hash, sizeof hash, SQLITE_STATIC);
    text(y, st, "{}");
    for (int i = 0; i < 3; i++) text(y, st, NULL);
    text(y, st, "rest");
    for (int i = 0; i < 2; i++) text(y, st, NULL);
    num(y, st, 100);
    for (int i = 0; i < 2; i++) text(y, st, NULL);
    for (int i = 0; i < 2; i++) num(y, st, 0);
    return go(y, st);
}

static bool tell_run(struct yard *y, int64_t now, int64_t run_no) {
    static const struct {
        int kind;
        const char *node, *payload;
    } events[] = {{EV_RUN_STARTED, NULL, PAY_STARTED},
                  {EV_NODE_STARTED, "noop", PAY_NODE},
                  {EV_NODE_COMPLETED, "noop", PAY_DONE},
                  {EV_RUN_COMPLETED, NULL, PAY_END}};
    sqlite3_stmt *st = stmt(y, SQL_EVENT_INSERT_4);
    for (int i = 0; i < 4; i++) {
        num(y, st, run_no);
        num(y, st, i);
        num(y, st, events[i].kind);
        num(y, st, now);
        text(y, st, events[i].node);
        text(y, st, NULL);
        num(y, st, 1);
        num(y, st, 1);
        num(y, st, 0);
        text(y, st, events[i].payload);
    }
    if (!go(y, st)) return false;
    st = stmt(y, SQL_NODE_PUT);
    num(y, st, run_no);
    text(y, st, "noop");
    text(y, st, NODE_STATE);
    return go(y, st);
}

static bool batch(struct yard *y, unsigned n) {
    int64_t now = clock_wall_ms(), run_no = 0;
    bool good = go(y, stmt(y, SQL_BEGIN_WRITE));
    for (unsigned i = 0; good && i < n; i++)
        good = put_run(y, now, &run_no) && tell_run(y, now, run_no);
    if (good) {
        sqlite3_stmt *st = stmt(y, SQL_COUNTERS_ADD);
        num(y, st, n);
        num(y, st, 0);
        num(y, st, (int64_t)n * 4);
        good = go(y, st) && go(y, stmt(y, SQL_COMMIT));
    }
    if (good && y->wal_pages >= STORE_WAL_CHECKPOINT_PAGES) { /* WOPR's policy, see open.c */
        good = ok(y, sqlite3_wal_checkpoint_v2(y->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL));
        y->wal_pages = 0;
    }
    return good;
}

static int on_wal(void *ctx, sqlite3 *db, const char *name, int pages) {
    (void)db, (void)name;
    ((struct yard *)ctx)->wal_pages = pages;
    return SQLITE_OK;
}

static int yard_open(struct yard *y, const char *path, const char *sync) {
    struct store_config cfg = {.path = path};
    struct store *s;
    struct wopr_error err = {0};
    char sql[256];
    memset(y, 0, sizeof *y);
    if (store_open(&cfg, &s, &err) != 0) { /* makes the file and runs the real migrations */
        fprintf(stderr, "wopr-bench: %s\n", err.message);
        return 1;
    }
    store_close(s);
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE;
    if (sqlite3_open_v2(path, &y->db, flags, NULL) != SQLITE_OK) return 1;
    (void)snprintf(sql, sizeof sql,
                   "PRAGMA journal_mode = WAL; PRAGMA synchronous = %s; PRAGMA foreign_keys = ON;"
                   "PRAGMA recursive_triggers = ON; PRAGMA cache_size = -%d;"
                   "PRAGMA journal_size_limit = %d;"
                   "INSERT OR IGNORE INTO holders (holder_no, name, until_ms)"
                   " VALUES (1, 'bench', 0)",
                   sync, STORE_WRITER_CACHE_KB, STORE_WAL_KEEP_BYTES);
    if (!ok(y, sqlite3_exec(y->db, sql, NULL, NULL, NULL))) return 1;
    sqlite3_wal_hook(y->db, on_wal, y);
    (void)sqlite3_db_config(y->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL); /* as conn.c does */
    return 0;
}

static void yard_close(struct yard *y) {
    for (int i = 0; i < SQL_NR; i++) sqlite3_finalize(y->st[i]);
    sqlite3_close(y->db);
}

/* Runs per second with batches of n; -1 on failure. */
static double measure(struct yard *y, unsigned n, double seconds) {
    uint64_t t0 = clock_mono_ns(), end = t0 + (uint64_t)(seconds * 1e9), runs = 0;
    do {
        if (!batch(y, n)) return -1;
        runs += n;
    } while (clock_mono_ns() < end);
    return (double)runs * 1e9 / (double)(clock_mono_ns() - t0);
}

int cmd_sqlite(const struct options *o) {
    static const unsigned sizes[] = {1, 16, 64, 256, 1024, 4096};
    struct yard y;
    struct report r;
    unsigned best = 1;
    double top = 0;
    char name[64];
    if (!o->db || yard_open(&y, o->db, o->sync) != 0) return 1;
    report_begin(&r, "bare-sqlite", o);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        double rate = measure(&y, sizes[i], PROBE_MS / 1e3);
        (void)snprintf(name, sizeof name, "runs_per_s_batch_%u", sizes[i]);
        report_value(&r, name, rate, "1/s");
        if (rate <= top) continue;
        top = rate;
        best = sizes[i];
    }
    double rate = measure(&y, best, o->seconds);
    report_value(&r, "best_batch", best, "runs");
    report_value(&r, "runs_per_s", rate, "1/s");
    yard_close(&y);
    return report_end(&r) != 0 || rate <= 0 ? 1 : 0;
}

int cmd_fill(const struct options *o) {
    struct yard y;
    bool good = true;
    int64_t pages = 0, size = 4096;
    if (!o->db || yard_open(&y, o->db, "OFF") != 0) return 1;
    uint64_t runs = 0;
    while (good && pages * size < o->bytes && runs < BENCH_RUNS_MAX) {
        sqlite3_stmt *st = NULL;
        good = batch(&y, BATCH_MAX);
        runs += BATCH_MAX;
        good = good && ok(&y, sqlite3_prepare_v2(y.db, "PRAGMA page_count", -1, &st, NULL));
        if (good && sqlite3_step(st) == SQLITE_ROW) pages = sqlite3_column_int64(st, 0);
        sqlite3_finalize(st);
    }
    yard_close(&y);
    printf("%s: %llu runs, %.0f MiB\n", o->db, (unsigned long long)runs,
           (double)(pages * size) / 1048576.0);
    return good ? 0 : 1;
}
