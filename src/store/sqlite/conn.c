/*
 * conn.c: connections, statements, and the one place where SQLite codes become neutral.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "store/sqlite/sql.h"

#include <stdio.h>

enum { BUSY_SLEEP_MS = 1, BUSY_AGAIN_MS = 100 };

const struct stmt_row STMTS[SQL_NR] = {
#define STMT(id, flags, text) {#id, flags, text},
#include "store/sqlite/stmts.def"
#undef STMT
};

int sql_neutral(int sqlite_code) {
    switch (sqlite_code) { /* extended codes that differ from their family */
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC:
        return WOPR_E_SYNC_FAILED;
    case SQLITE_IOERR_NOMEM:
        return WOPR_E_NO_MEMORY;
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
        return WOPR_E_EXISTS;
    case SQLITE_CONSTRAINT_TRIGGER:
        return WOPR_E_CONFLICT;
    default:
        break;
    }
    switch (sqlite_code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return 0;
    case SQLITE_FULL:
        return WOPR_E_DISK_FULL;
    case SQLITE_NOMEM:
        mem_refused_by_library();
        return WOPR_E_NO_MEMORY;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
    case SQLITE_SCHEMA: /* these three: cut off by what another statement did */
    case SQLITE_ABORT:
    case SQLITE_INTERRUPT:
        return WOPR_E_BUSY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return WOPR_E_CORRUPT;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return WOPR_E_IO;
    case SQLITE_TOOBIG:
        return WOPR_E_TOO_BIG;
    default:
        return WOPR_E_INTERNAL;
    }
}

static const char *code_remedy(int code) {
    switch (code) {
    case WOPR_E_SYNC_FAILED:
        return "check the disk, then restart: the log is read back from it";
    case WOPR_E_DISK_FULL:
        return "free space on its volume";
    case WOPR_E_NO_MEMORY:
        return "give the process more memory";
    case WOPR_E_BUSY:
        return "another process holds it; try again";
    case WOPR_E_CORRUPT:
        return "keep a copy and restore a backup";
    case WOPR_E_IO:
        return "check that the file and its folder are there and writable";
    default:
        return "see the process log";
    }
}

int conn_fail(struct conn *c, int sqlite_code, struct wopr_error *err) {
    int code = sql_neutral(sqlite_code);
    if (code == 0) code = WOPR_E_INTERNAL;
    if (code == WOPR_E_SYNC_FAILED) atomic_store(&c->store->poisoned, true);
    const char *what = c->db && sqlite3_extended_errcode(c->db) == sqlite_code
                           ? sqlite3_errmsg(c->db)
                           : sqlite3_errstr(sqlite_code);
    return wopr_error_set(err, code, "database %s: %s (SQLite %d); %s", c->store->path, what,
                          sqlite_code, code_remedy(code));
}

int store_alive(struct store *s, struct wopr_error *err) {
    if (!atomic_load_explicit(&s->poisoned, memory_order_relaxed)) return 0;
    return wopr_error_set(err, WOPR_E_SYNC_FAILED, "database %s: a sync failed earlier; %s",
                          s->path, code_remedy(WOPR_E_SYNC_FAILED));
}

static int on_wal(void *ctx, sqlite3 *db, const char *name, int pages) {
    struct store *s = ctx;
    (void)name;
    if (s->writer && db == s->writer->db) s->own_pages = pages;
    atomic_store_explicit(&s->wal_pages, pages, memory_order_relaxed);
    return SQLITE_OK;
}

/* Another process writes.  Its transactions are short, and SQLite's own waits, which grow to a
 * tenth of a second, would starve this host beside a busy one.  Whoever keeps the lock for longer
 * is frozen or dead to us: those who queue behind a wait that was in vain wait in vain too, so
 * they give up soon, or the last of them would be told after a multiple of the time. */
static int on_busy(void *ctx, int times) {
    struct conn *c = ctx;
    const uint64_t now = clock_mono_ms(), whole = (uint64_t)c->store->cfg.busy_timeout_ms;
    if (times == 0) {
        const bool in_vain = c->given_up != 0 && now < c->given_up + whole;
        c->wait_end = now + (in_vain && whole > BUSY_AGAIN_MS ? BUSY_AGAIN_MS : whole);
    }
    if (now >= c->wait_end) {
        c->given_up = now;
        return 0;
    }
    sqlite3_sleep(BUSY_SLEEP_MS);
    return 1;
}

/* A new file is switched by whoever comes first.  Two that both read it and now want to write would
 * wait for each other, so SQLite refuses one of them at once, without asking on_busy. */
static int wal_enter(struct conn *c, struct wopr_error *err) {
    const uint64_t end = clock_mono_ms() + (uint64_t)c->store->cfg.busy_timeout_ms;
    int rc;
    while ((rc = conn_exec(c, "PRAGMA journal_mode = WAL", err)) == WOPR_E_BUSY &&
           clock_mono_ms() < end)
        sqlite3_sleep(BUSY_SLEEP_MS);
    return rc;
}

static int conn_setup(struct conn *c, bool write, struct wopr_error *err) {
    static const char *const syncs[] = {"FULL", "NORMAL", "OFF"};
    const struct store *s = c->store;
    char sql[512];
    sqlite3_extended_result_codes(c->db, 1);
    sqlite3_busy_handler(c->db, on_busy, c);
    (void)sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    int n;
    if (!write)
        n = snprintf(sql, sizeof sql,
                     "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF; PRAGMA cache_size = -%d;"
                     " PRAGMA temp_store = MEMORY;",
                     STORE_READER_CACHE_KB);
    else
        n = snprintf(sql, sizeof sql,
                     "PRAGMA synchronous = %s; PRAGMA foreign_keys = ON;"
                     " PRAGMA trusted_schema = OFF; PRAGMA recursive_triggers = ON;"
                     " PRAGMA cache_size = -%d; PRAGMA journal_size_limit = %d;"
                     " PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON;",
                     syncs[s->cfg.sync], STORE_WRITER_CACHE_KB, STORE_WAL_KEEP_BYTES);
    ASSERT(n > 0 && (size_t)n < sizeof sql);
    int rc = write ? wal_enter(c, err) : 0;
    if (rc == 0) rc = conn_exec(c, sql, err);
    if (rc != 0 || !write) return rc;
    /* Replaces the automatic checkpoint, which would sit inside the commit (store_checkpoint). */
    sqlite3_wal_hook(c->db, on_wal, c->store);
    /* The triggers of the file guard it against other programs.  This connection's own statements
     * make the same comparisons (run_move, plan_sane) at a third of the cost. */
    (void)sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    return 0;
}

int conn_open(struct store *s, bool write, struct conn **out, struct wopr_error *err) {
    struct conn *c = MEM_NEW(struct conn);
    if (!c) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a database connection");
    c->store = s;
    list_init(&c->link);
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE |
                (write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY);
    int rc = sqlite3_open_v2(s->path, &c->db, flags, s->vfs);
    if (rc == SQLITE_OK) rc = conn_setup(c, write, err);
    else rc = conn_fail(c, rc, err);
    if (rc != 0) {
        conn_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void conn_close(struct conn *c) {
    if (!c) return;
    for (int i = 0; i < SQL_NR; i++) sqlite3_finalize(c->st[i]);
    sqlite3_close(c->db);
    memo_free(c);
    mem_free(c);
}

int conn_reader(struct store *s, struct conn **out, struct wopr_error *err) {
    int rc = store_alive(s, err);
    if (rc != 0) return rc;
    struct conn *c = pthread_getspecific(s->reader_key);
    if (!c) {
        rc = conn_open(s, false, &c, err);
        if (rc != 0) return rc;
        if (pthread_setspecific(s->reader_key, c) != 0) {
            conn_close(c);
            return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a reader of this thread");
        }
        pthread_mutex_lock(&s->readers_lock);
        list_add_tail(&s->readers, &c->link);
        pthread_mutex_unlock(&s->readers_lock);
    }
    *out = c;
    return 0;
}

int conn_exec(struct conn *c, const char *sql, struct wopr_error *err) {
    int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : conn_fail(c, rc, err);
}

/* ------------------------------------------------------------------------------ statements */
void query_begin(struct query *q, struct conn *c, enum stmt_id id) {
    *q = (struct query){.c = c};
    if (!c->st[id])
        q->rc = sqlite3_prepare_v3(c->db, STMTS[id].text, -1, SQLITE_PREPARE_PERSISTENT, &c->st[id],
                                   NULL);
    q->st = c->st[id];
}

static void query_bound(struct query *q, int rc) {
    if (q->rc == SQLITE_OK) q->rc = rc;
}

void bind_text(struct query *q, struct str s) {
    const char *p = s.p ? s.p : "";
    query_bound(q, sqlite3_bind_text64(q->st, ++q->at, p, s.n, SQLITE_STATIC, SQLITE_UTF8));
}

void bind_null(struct query *q) { query_bound(q, sqlite3_bind_null(q->st, ++q->at)); }

void bind_opt(struct query *q, struct str s) {
    if (s.n > 0) bind_text(q, s);
    else bind_null(q);
}

void bind_int(struct query *q, int64_t v) { query_bound(q, sqlite3_bind_int64(q->st, ++q->at, v)); }

void bind_int_opt(struct query *q, int64_t v, int64_t null_when) {
    if (v != null_when) bind_int(q, v);
    else query_bound(q, sqlite3_bind_null(q->st, ++q->at));
}

void bind_hash(struct query *q, const struct sha256 *d) {
    query_bound(q, sqlite3_bind_blob(q->st, ++q->at, d->b, sizeof d->b, SQLITE_STATIC));
}

void bind_bytes(struct query *q, const void *p, size_t n) {
    query_bound(q, sqlite3_bind_blob64(q->st, ++q->at, p, n, SQLITE_STATIC));
}

void query_end(struct query *q) {
    if (q->st) sqlite3_reset(q->st);
}

int query_step(struct query *q, struct wopr_error *err) {
    int rc = q->rc != SQLITE_OK ? q->rc : sqlite3_step(q->st);
    if (rc == SQLITE_ROW) return 1;
    int code = rc == SQLITE_DONE ? 0 : conn_fail(q->c, rc, err);
    query_end(q);
    return code;
}

int query_run(struct query *q, struct wopr_error *err) {
    int rc;
    while ((rc = query_step(q, err)) == 1) continue;
    return rc;
}

struct str col_view(struct query *q, int i) {
    const char *p = sqlite3_column_blob(q->st, i);
    int n = sqlite3_column_bytes(q->st, i);
    return p && n > 0 ? str_n(p, (size_t)n) : STR_NONE;
}

struct str col_str(struct query *q, int i, struct arena *a) {
    struct str s = col_view(q, i);
    return s.n > 0 ? arena_str(a, s) : STR_NONE;
}

int64_t col_int(struct query *q, int i) { return sqlite3_column_int64(q->st, i); }
bool col_null(struct query *q, int i) { return sqlite3_column_type(q->st, i) == SQLITE_NULL; }

bool col_hash(struct query *q, int i, struct sha256 *out) {
    const void *p = sqlite3_column_blob(q->st, i);
    if (!p || sqlite3_column_bytes(q->st, i) != (int)sizeof out->b) return false;
    memcpy(out->b, p, sizeof out->b);
    return true;
}

/* ------------------------------------------------------------------------------ transactions */
/* The level holds until the next transaction asks for another: a switch that fails fails that
 * transaction before it has begun, and never leaves a commit unsynced that has to be. */
static int sync_set(struct conn *c, bool relaxed, struct wopr_error *err) {
    if (c->store->cfg.sync != STORE_SYNC_FULL || c->relaxed == relaxed) return 0;
    int rc =
        conn_exec(c, relaxed ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL", err);
    if (rc == 0) c->relaxed = relaxed;
    return rc;
}

static int tx_begin_at(struct conn *c, bool relaxed, struct wopr_error *err) {
    struct query q;
    int rc = sync_set(c, relaxed, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_BEGIN_WRITE);
    rc = query_run(&q, err);
    if (rc == 0) c->given_up = 0; /* the lock goes round again */
    return rc;
}

int tx_begin(struct conn *c, struct wopr_error *err) { return tx_begin_at(c, false, err); }

int tx_end(struct conn *c, int rc, struct wopr_error *err) {
    struct query q;
    if (rc == 0) {
        query_begin(&q, c, SQL_COMMIT);
        uint64_t t0 = clock_mono_ns();
        rc = query_run(&q, err);
        metric_observe(&c->store->sync_ns, &METRIC_DURATION, clock_mono_ns() - t0);
        if (rc == 0) return 0;
    }
    if (!sqlite3_get_autocommit(c->db)) { /* SQLite itself may have rolled back already */
        query_begin(&q, c, SQL_ROLLBACK);
        int rc2 = query_run(&q, NULL);
        if (rc2 == WOPR_E_SYNC_FAILED) rc = rc2;
    }
    return rc;
}

static int write_begin_at(struct store *s, bool relaxed, struct wopr_error *err) {
    if (!s->writer)
        return wopr_error_set(err, WOPR_E_CONFIG, "database %s was opened read-only", s->path);
    pthread_mutex_lock(&s->write_lock);
    int rc = store_alive(s, err);
    if (rc == 0) rc = tx_begin_at(s->writer, relaxed, err);
    if (rc != 0) pthread_mutex_unlock(&s->write_lock);
    return rc;
}

int write_begin(struct store *s, struct wopr_error *err) { return write_begin_at(s, false, err); }

int write_begin_relaxed(struct store *s, struct wopr_error *err) {
    return write_begin_at(s, true, err);
}

int write_end(struct store *s, int rc, struct wopr_error *err) {
    rc = tx_end(s->writer, rc, err);
    if (rc != 0) holder_forget(s);
    pthread_mutex_unlock(&s->write_lock);
    return rc;
}
