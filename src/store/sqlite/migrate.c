/*
 * migrate.c: numbered, forward-only schema changes (STORE-15), embedded in the binary.
 * Each runs in its own transaction together with its row in schema_migrations; a text that changed
 * after it was applied, or a version we do not know, stops the start.
 *
 * A database that is new takes, in one transaction, what all of them lead to (tools/schema.py works
 * it out when the program is built): a sixth of the work, and one sync of the disk instead of one
 * for each.
 */
#include "base/clock.h"
#include "base/embed.h"
#include "store/sqlite/sql.h"

#include <stdio.h>

#define MIGRATION_DIR "migrations/sqlite/"
#define SCHEMA_FILE   "schema/sqlite.sql" /* what all of them lead to */
#define TEXT_OF_(x)   #x
#define TEXT_OF(x)    TEXT_OF_(x)
enum { MIGRATION_DIGITS = 4 };

/* Version and short name of an embedded file; false when it is no migration. */
static bool migration_of(const struct embed_file *f, uint64_t *version, struct str *name) {
    struct str s = str_c(f->name);
    if (!str_starts(s, STR(MIGRATION_DIR)) || !str_ends(s, STR(".sql"))) return false;
    s.p += sizeof MIGRATION_DIR - 1;
    s.n -= sizeof MIGRATION_DIR - 1;
    if (s.n <= MIGRATION_DIGITS || !str_u64(str_n(s.p, MIGRATION_DIGITS), version)) return false;
    *name = s;
    return true;
}

static int number_read(struct conn *c, const char *sql, int64_t *out, struct wopr_error *err) {
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) *out = sqlite3_column_int64(st, 0);
    int code = rc == SQLITE_ROW ? 0 : conn_fail(c, rc, err);
    sqlite3_finalize(st);
    return code;
}

/* A row of schema_migrations must be one of ours, unchanged. */
static int applied_row_check(const struct store *s, int64_t version, const void *sha, int sha_n,
                             struct wopr_error *err) {
    for (const struct embed_file *f = EMBED_FILES; f->name; f++) {
        uint64_t v;
        struct str name;
        if (!migration_of(f, &v, &name) || (int64_t)v != version) continue;
        struct sha256 want = sha256_of(embed_text(f));
        if (sha_n == (int)sizeof want.b && memcmp(sha, want.b, sizeof want.b) == 0) return 0;
        return wopr_error_set(err, WOPR_E_CORRUPT,
                              "database %s: migration %d was applied with another text than this"
                              " program carries; use the program that made the database, or restore"
                              " a backup",
                              s->path, (int)version);
    }
    return wopr_error_set(err, WOPR_E_SCHEMA_NEWER,
                          "database %s has schema version %lld, which this program does not know;"
                          " use the newer program that wrote it",
                          s->path, (long long)version);
}

/* *applied: highest version recorded, 0 for a database that holds nothing yet. */
static int applied_check(struct conn *c, int64_t *applied, struct wopr_error *err) {
    int64_t objects = 0, ours = 0, app_id = 0;
    int rc = number_read(c, "SELECT count(*) FROM sqlite_schema", &objects, err);
    if (rc == 0) rc = number_read(c, "PRAGMA application_id", &app_id, err);
    if (rc == 0)
        rc = number_read(c, "SELECT count(*) FROM sqlite_schema WHERE name = 'schema_migrations'",
                         &ours, err);
    if (rc != 0) return rc;
    *applied = 0;
    if (objects == 0) return 0;
    if (!ours || app_id != STORE_APPLICATION_ID)
        return wopr_error_set(err, WOPR_E_CORRUPT,
                              "%s is a database of another program; name another file",
                              c->store->path);
    sqlite3_stmt *st = NULL;
    int src = sqlite3_prepare_v2(
        c->db, "SELECT version, sha256 FROM schema_migrations ORDER BY version", -1, &st, NULL);
    while (src == SQLITE_OK && rc == 0 && (src = sqlite3_step(st)) == SQLITE_ROW) {
        *applied = sqlite3_column_int64(st, 0);
        rc = applied_row_check(c->store, *applied, sqlite3_column_blob(st, 1),
                               sqlite3_column_bytes(st, 1), err);
        src = SQLITE_OK;
    }
    if (rc == 0 && src != SQLITE_DONE) rc = conn_fail(c, src, err);
    sqlite3_finalize(st);
    return rc;
}

static int migration_record(struct conn *c, uint64_t version, struct str name,
                            const struct embed_file *f, struct wopr_error *err) {
    struct sha256 sha = sha256_of(embed_text(f));
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(c->db, "INSERT INTO schema_migrations VALUES (?, ?, ?, ?)", -1, &st,
                                NULL);
    struct query q = {.c = c, .st = st, .rc = rc};
    bind_int(&q, (int64_t)version);
    bind_text(&q, name);
    bind_hash(&q, &sha);
    bind_int(&q, clock_wall_ms());
    rc = query_run(&q, err);
    sqlite3_finalize(st);
    return rc;
}

/* Programs may open a new file at the same time (desktop clients start all their servers at once):
 * whether something is still to be done is asked again once the file is ours to write. */
static int change_begin(struct conn *c, const char *left_sql, int64_t *left,
                        struct wopr_error *err) {
    int rc = conn_exec(c, "BEGIN IMMEDIATE", err);
    return rc == 0 ? number_read(c, left_sql, left, err) : rc;
}

static int change_end(struct conn *c, int rc, struct wopr_error *err) {
    if (rc == 0) rc = conn_exec(c, "COMMIT", err);
    if (rc != 0 && !sqlite3_get_autocommit(c->db))
        (void)sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

static int migration_apply(struct conn *c, uint64_t version, struct str name,
                           const struct embed_file *f, struct wopr_error *err) {
    char sql[96];
    int64_t left = 0;
    (void)snprintf(sql, sizeof sql, "SELECT count(*) = 0 FROM schema_migrations WHERE version = %d",
                   (int)version);
    int rc = change_begin(c, sql, &left, err);
    if (rc == 0 && left) rc = conn_exec(c, f->data, err);
    if (rc == 0 && left) rc = migration_record(c, version, name, f, err);
    return change_end(c, rc, err);
}

static int all_record(struct conn *c, struct wopr_error *err) {
    int rc = 0;
    for (const struct embed_file *f = EMBED_FILES; rc == 0 && f->name; f++) {
        uint64_t version;
        struct str name;
        if (migration_of(f, &version, &name)) rc = migration_record(c, version, name, f, err);
    }
    return rc;
}

/* All of a new file, or nothing of it. */
static int file_prepare(struct conn *c, struct wopr_error *err) {
    int64_t left = 0;
    int rc = change_begin(
        c, "SELECT count(*) = 0 FROM sqlite_schema WHERE name = 'schema_migrations'", &left, err);
    if (rc == 0 && left)
        rc = conn_exec(c,
                       "PRAGMA application_id = " TEXT_OF(
                           STORE_APPLICATION_ID) "; CREATE TABLE schema_migrations (version"
                                                 " INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                                                 " sha256 BLOB NOT NULL, applied_ms INTEGER NOT"
                                                 " NULL) STRICT",
                       err);
    if (rc == 0 && left) rc = conn_exec(c, embed_find(SCHEMA_FILE)->data, err);
    if (rc == 0 && left) rc = all_record(c, err);
    return change_end(c, rc, err);
}

int migrate(struct conn *c, bool may_write, struct wopr_error *err) {
    int64_t applied = 0;
    bool changed = false;
    int rc = applied_check(c, &applied, err);
    if (rc == 0 && may_write && applied == 0) {
        rc = file_prepare(c, err);
        if (rc == 0) rc = applied_check(c, &applied, err); /* its maker may know fewer or more */
    }
    for (const struct embed_file *f = EMBED_FILES; rc == 0 && f->name; f++) {
        uint64_t version;
        struct str name;
        if (!migration_of(f, &version, &name) || (int64_t)version <= applied) continue;
        if (!may_write)
            return wopr_error_set(err, WOPR_E_CONFIG,
                                  "database %s has schema version %lld and lacks %d; start the host"
                                  " on it once",
                                  c->store->path, (long long)applied, (int)version);
        rc = migration_apply(c, version, name, f, err);
        changed = true;
    }
    /* What another program applied meanwhile must be ours, too. */
    return rc == 0 && changed ? applied_check(c, &applied, err) : rc;
}

int schema_create(sqlite3 *db, struct wopr_error *err) {
    int rc = sqlite3_exec(db, embed_find(SCHEMA_FILE)->data, NULL, NULL, NULL);
    if (rc == SQLITE_OK) return 0;
    return wopr_error_set(err, sql_neutral(rc), "the schema: %s", sqlite3_errmsg(db));
}
