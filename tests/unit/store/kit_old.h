/*
 * kit_old.h: a database as a program of an earlier schema version left it, whatever migrations came
 * since.  The first migrations run on a new file; the rows of today's file move there, the columns
 * that both know.  Then the old file takes the place of the new one.
 */
#ifndef WOPR_TESTS_STORE_KIT_OLD_H
#define WOPR_TESTS_STORE_KIT_OLD_H

#include "base/embed.h"
#include "unit/store/kit.h"

static void old_exec(sqlite3 *db, const char *sql) {
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s: %s", sql,
                 sqlite3_errmsg(db));
}

static void old_record(sqlite3 *db, int64_t version, const struct embed_file *f) {
    const struct sha256 sha = sha256_of(embed_text(f));
    sqlite3_stmt *st = NULL;
    cr_assert_eq(
        sqlite3_prepare_v2(db, "INSERT INTO schema_migrations VALUES (?, ?, ?, 0)", -1, &st, NULL),
        SQLITE_OK);
    sqlite3_bind_int64(st, 1, version);
    sqlite3_bind_text(st, 2, f->name, -1, SQLITE_STATIC);
    sqlite3_bind_blob(st, 3, sha.b, sizeof sha.b, SQLITE_STATIC);
    cr_assert_eq(sqlite3_step(st), SQLITE_DONE);
    sqlite3_finalize(st);
}

/* The schema as migration `version` leaves it. */
static void old_schema(sqlite3 *db, int version) {
    static const char dir[] = "migrations/sqlite/";
    int n = 0;
    old_exec(db, "PRAGMA journal_mode = WAL; PRAGMA application_id = 1464815698;"
                 "CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                 " sha256 BLOB NOT NULL, applied_ms INTEGER NOT NULL) STRICT");
    for (const struct embed_file *f = EMBED_FILES; f->name; f++) {
        if (strncmp(f->name, dir, sizeof dir - 1) != 0) continue;
        int64_t at = 0;
        cr_assert(str_i64(str_n(f->name + sizeof dir - 1, 4), &at));
        if (at > version) continue;
        old_exec(db, f->data);
        old_record(db, at, f);
        n++;
    }
    cr_assert_gt(n, 0);
}

/* One statement for each table: its rows, in the columns that both have. */
#define OLD_MOVES                                                                                  \
    "SELECT 'DELETE FROM main.' || t.name || '; INSERT INTO main.' || t.name || ' (' || c.names"   \
    " || ') SELECT ' || c.names || ' FROM today.' || t.name FROM (SELECT rowid AS at, name"        \
    "  FROM main.sqlite_schema WHERE type = 'table' AND name <> 'schema_migrations') t,"           \
    " (SELECT s.name, (SELECT group_concat(a.name, ', ')"                                          \
    "  FROM pragma_table_info(s.name, 'main') a"                                                   \
    "  JOIN pragma_table_info(s.name, 'today') b ON b.name = a.name) AS names"                     \
    "  FROM main.sqlite_schema s JOIN today.sqlite_schema n ON n.name = s.name"                    \
    "  AND n.type = 'table' WHERE s.type = 'table') c ON c.name = t.name"                          \
    " ORDER BY t.name = 'sqlite_sequence', t.at"

static void old_rows_move(sqlite3 *db, const char *today) {
    char *attach = sqlite3_mprintf("ATTACH %Q AS today", today);
    sqlite3_stmt *st = NULL;
    old_exec(db, attach);
    sqlite3_free(attach);
    cr_assert_eq(sqlite3_prepare_v2(db, OLD_MOVES, -1, &st, NULL), SQLITE_OK, "%s",
                 sqlite3_errmsg(db));
    int rc;
    while ((rc = sqlite3_step(st)) == SQLITE_ROW)
        old_exec(db, (const char *)sqlite3_column_text(st, 0));
    cr_assert_eq(rc, SQLITE_DONE, "%s", sqlite3_errmsg(db));
    sqlite3_finalize(st);
}

/* Until migration 0035 the whole database was counted in a table of its own. */
static void old_counts_move(sqlite3 *db, int version) {
    enum { USAGE_SINCE = 11, COUNTERS_UNTIL = 34 };
    if (version > COUNTERS_UNTIL) return;
    old_exec(db, "UPDATE main.counters SET (runs, runs_open, events) ="
                 " (SELECT runs, runs_open, events FROM today.tenant_usage WHERE tenant = '')");
    if (version >= USAGE_SINCE) old_exec(db, "DELETE FROM main.tenant_usage WHERE tenant = ''");
}

/* The closed database of k goes back to a schema version. */
static void kit_old(struct kit *k, int version) {
    char path[320];
    sqlite3 *db = NULL;
    cr_assert_null(k->s, "the store is closed first");
    snprintf(path, sizeof path, "%s.old", k->path);
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    old_schema(db, version);
    old_rows_move(db, k->path);
    old_counts_move(db, version);
    old_exec(db, "DETACH today");
    cr_assert_eq(sqlite3_close(db), SQLITE_OK);
    cr_assert_eq(rename(path, k->path), 0);
}

#endif
