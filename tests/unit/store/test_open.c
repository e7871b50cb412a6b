/*
 * Opening, migrating, refusing (STORE-11, STORE-15, STORE-37).
 */
#include "base/embed.h"
#include "store/keys.h"
#include "store/leases.h"
#include "store/sqlite/sql.h"
#include "unit/store/kit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void raw(struct kit *k, const char *sql) {
    sqlite3 *db;
    char *msg = NULL;
    cr_assert_eq(sqlite3_open(k->path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, &msg), SQLITE_OK, "%s", msg);
    sqlite3_close(db);
}
static int reopen(struct kit *k) {
    struct store_config cfg = kit_config(k);
    struct store *s = NULL;
    int rc = store_open(&cfg, &s, &k->err);
    cr_assert_eq(rc == 0, s != NULL);
    store_close(s);
    return rc;
}

Test(open, makes_its_folder_and_migrates_once /* STORE-15 */) {
    struct kit k;
    struct stat st;
    kit_dir(&k);
    snprintf(k.path, sizeof k.path, "%s/sub/w.db", k.dir);
    kit_open(&k);
    cr_assert_eq(stat(k.path, &st), 0);
    cr_assert_eq(st.st_mode & 077, 0, "the file is private");
    kit_close(&k);
    cr_assert_eq(reopen(&k), 0, "%s", k.err.message);
    kit_open(&k);
    cr_assert_eq(kit_verify(&k), 0);
    kit_close(&k);
    unlink(k.path);
    snprintf(k.path, sizeof k.path, "%s/sub", k.dir);
    rmdir(k.path);
    kit_down(&k);
}

/* A command of root's that comes before the first start of a service. */
Test(open, a_database_that_root_makes_belongs_to_the_owner_of_its_folder) {
    static const char *const SUFFIXES[] = {"", "-wal", "-shm", ".lock"};
    struct kit k;
    struct stat st;
    if (geteuid() != 0) cr_skip("needs root to give the folder away");
    kit_dir(&k);
    cr_assert_eq(chown(k.dir, 12345, 12345), 0);
    struct store_config cfg = kit_config(&k);
    cfg.host_lock = true;
    cr_assert_eq(store_open(&cfg, &k.s, &k.err), 0, "%s", k.err.message);
    for (size_t i = 0; i < sizeof SUFFIXES / sizeof *SUFFIXES; i++) {
        char name[320];
        (void)snprintf(name, sizeof name, "%s%s", k.path, SUFFIXES[i]);
        cr_assert_eq(stat(name, &st), 0, "%s", name);
        cr_expect_eq(st.st_uid, 12345u, "%s", name);
    }
    kit_close(&k);
    kit_down(&k);
}

static const char *migration_text(const char *name) {
    for (const struct embed_file *f = EMBED_FILES; f->name; f++)
        if (strstr(f->name, name)) return f->data;
    return NULL;
}

/* Every migration in turn, as on a file that was there before the last of them. */
static sqlite3 *migrated(void) {
    sqlite3 *db;
    cr_assert_eq(sqlite3_open(":memory:", &db), SQLITE_OK);
    for (const struct embed_file *f = EMBED_FILES; f->name; f++)
        if (strncmp(f->name, "migrations/sqlite/", 18) == 0)
            cr_assert_eq(sqlite3_exec(db, f->data, NULL, NULL, NULL), SQLITE_OK, "%s: %s", f->name,
                         sqlite3_errmsg(db));
    return db;
}

/* The first number that the statement gives. */
static int64_t number_of(sqlite3 *db, const char *sql) {
    sqlite3_stmt *st;
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK, "%s: %s", sql,
                 sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(st), SQLITE_ROW, "%s", sql);
    int64_t n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    return n;
}

/* What one has and the other has not, both ways. */
static int64_t differences(sqlite3 *db, const char *mine, const char *theirs) {
    char sql[2048];
    (void)snprintf(sql, sizeof sql,
                   "SELECT (SELECT count(*) FROM (%s EXCEPT %s)) +"
                   " (SELECT count(*) FROM (%s EXCEPT %s))",
                   mine, theirs, theirs, mine);
    return number_of(db, sql);
}

Test(open, a_new_file_is_what_the_migrations_lead_to /* STORE-15 */) {
    static const char objects[] = "SELECT type, name, tbl_name, sql FROM %s.sqlite_schema"
                                  " WHERE name <> 'schema_migrations'";
    struct kit k;
    char sql[400], mine[300], theirs[300];
    sqlite3_stmt *tables;
    int64_t migrations = 0;
    kit_dir(&k);
    cr_assert_eq(reopen(&k), 0, "%s", k.err.message);
    sqlite3 *db = migrated();
    (void)snprintf(sql, sizeof sql, "ATTACH '%s' AS made", k.path);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    (void)snprintf(mine, sizeof mine, objects, "main");
    (void)snprintf(theirs, sizeof theirs, objects, "made");
    cr_expect_eq(differences(db, mine, theirs), 0);
    cr_expect_gt(number_of(db, "SELECT count(*) FROM made.sqlite_schema"), 100);
    cr_assert_eq(sqlite3_prepare_v2(db, "SELECT name FROM main.sqlite_schema WHERE type = 'table'",
                                    -1, &tables, NULL),
                 SQLITE_OK);
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        (void)snprintf(mine, sizeof mine, "SELECT * FROM main.\"%s\"", name);
        (void)snprintf(theirs, sizeof theirs, "SELECT * FROM made.\"%s\"", name);
        cr_expect_eq(differences(db, mine, theirs), 0, "rows of %s", name);
    }
    sqlite3_finalize(tables);
    for (const struct embed_file *f = EMBED_FILES; f->name; f++)
        if (strncmp(f->name, "migrations/sqlite/", 18) == 0) migrations++;
    cr_expect_eq(number_of(db, "SELECT count(*) FROM made.schema_migrations"), migrations);
    sqlite3_close(db);
    kit_down(&k);
}

/* Nothing else would ever remove them (F12). */
Test(open, timers_of_ended_runs_are_removed_by_a_migration /* STORE-15 */) {
    static const char *const rows =
        "INSERT INTO runs (run_no, run_id, tenant, test_mode, workflow_id, era, engine_version,"
        " shown_engine_version, created_ms, lease_epoch, status, next_seq) VALUES"
        " (7, 'a', 't', 0, 'w', 2, 1, 1, 0, 1, 7, 1), (8, 'b', 't', 0, 'w', 2, 1, 1, 0, 1, 2, 1);"
        "INSERT INTO timers VALUES (7, 1, 'n', 5, 5), (8, 1, 'n', 5, 5);";
    sqlite3_stmt *st;
    sqlite3 *db = migrated();
    cr_assert_eq(sqlite3_exec(db, rows, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_exec(db, migration_text("0016_"), NULL, NULL, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, "SELECT run_no FROM timers", -1, &st, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_step(st), SQLITE_ROW);
    cr_expect_eq(sqlite3_column_int64(st, 0), 8);
    cr_expect_eq(sqlite3_step(st), SQLITE_DONE);
    sqlite3_finalize(st);
    sqlite3_close(db);
}

struct opening {
    struct store_config cfg;
    struct store *s;
    struct wopr_error err;
    pthread_barrier_t *all;
    int rc;
};
static void *open_one(void *ctx) {
    struct opening *o = ctx;
    (void)pthread_barrier_wait(o->all);
    o->rc = store_open(&o->cfg, &o->s, &o->err);
    return NULL;
}

/* Desktop clients start all their servers at once. */
Test(open, several_programs_may_make_the_file_at_once /* STORE-15 */) {
    enum { PROGRAMS = 4, ROUNDS = 5 };
    for (int round = 0; round < ROUNDS; round++) {
        struct kit k;
        struct opening o[PROGRAMS];
        pthread_t t[PROGRAMS];
        pthread_barrier_t all;
        kit_dir(&k);
        cr_assert_eq(pthread_barrier_init(&all, NULL, PROGRAMS), 0);
        for (int i = 0; i < PROGRAMS; i++) {
            o[i] = (struct opening){.cfg = kit_config(&k), .all = &all};
            cr_assert_eq(pthread_create(&t[i], NULL, open_one, &o[i]), 0);
        }
        for (int i = 0; i < PROGRAMS; i++) {
            cr_assert_eq(pthread_join(t[i], NULL), 0);
            cr_expect_eq(o[i].rc, 0, "%s", o[i].err.message);
            if (o[i].rc == 0) store_close(o[i].s);
        }
        (void)pthread_barrier_destroy(&all);
        kit_down(&k);
    }
}

Test(open, makes_a_folder_below_the_working_directory) {
    struct kit k;
    kit_dir(&k);
    cr_assert_eq(chdir(k.dir), 0);
    snprintf(k.path, sizeof k.path, "one/two/w.db");
    kit_open(&k);
    kit_close(&k);
    cr_assert(unlink("one/two/w.db") == 0 && rmdir("one/two") == 0 && rmdir("one") == 0);
    kit_down(&k);
}

Test(open, refuses_a_newer_schema) {
    struct kit k;
    kit_up(&k);
    kit_close(&k);
    raw(&k, "INSERT INTO schema_migrations VALUES (9999, '9999_x.sql', zeroblob(32), 0)");
    cr_assert_eq(reopen(&k), WOPR_E_SCHEMA_NEWER);
    cr_assert_not_null(strstr(k.err.message, k.path));
    cr_assert_not_null(strstr(k.err.message, "9999"));
    kit_down(&k);
}

Test(open, refuses_a_changed_migration) {
    struct kit k;
    kit_up(&k);
    kit_close(&k);
    raw(&k, "UPDATE schema_migrations SET sha256 = zeroblob(32) WHERE version = 2");
    cr_assert_eq(reopen(&k), WOPR_E_CORRUPT);
    cr_assert_not_null(strstr(k.err.message, "migration 2"));
    kit_down(&k);
}

Test(open, refuses_what_is_no_database) {
    struct kit k;
    kit_dir(&k);
    FILE *f = fopen(k.path, "w");
    for (int i = 0; i < 500; i++) fputs("this is not a database at all\n", f);
    fclose(f);
    cr_assert_eq(reopen(&k), WOPR_E_CORRUPT);
    cr_assert_not_null(strstr(k.err.message, k.path));
    kit_down(&k);
}

Test(open, refuses_a_database_of_another_program) {
    struct kit k;
    kit_dir(&k);
    raw(&k, "CREATE TABLE bookmarks (url TEXT)");
    cr_assert_eq(reopen(&k), WOPR_E_CORRUPT);
    cr_assert_not_null(strstr(k.err.message, "another program"));
    kit_down(&k);
}

Test(open, reports_a_damaged_page_in_verify) {
    struct kit k;
    char junk[2048];
    kit_up(&k);
    for (int i = 0; i < 50; i++) {
        char id[32];
        snprintf(id, sizeof id, "run_%d", i);
        kit_run(&k, id, 200);
    }
    kit_close(&k);
    memset(junk, 0xa5, sizeof junk);
    int fd = open(k.path, O_WRONLY);
    struct stat st;
    cr_assert_eq(fstat(fd, &st), 0);
    for (off_t at = st.st_size / 4096 / 2 * 4096; at < st.st_size; at += 4096 * 5)
        cr_assert_eq(pwrite(fd, junk, sizeof junk, at), (ssize_t)sizeof junk);
    close(fd);
    kit_open(&k); /* the start does not read the whole file */
    cr_assert_gt(kit_verify(&k), 0);
    kit_down(&k);
}

Test(open, refuses_a_folder_it_may_not_write) {
    struct kit k;
    kit_dir(&k);
    snprintf(k.path, sizeof k.path, "/proc/wopr-cannot-be/w.db");
    cr_assert_eq(reopen(&k), WOPR_E_IO);
    cr_assert_not_null(strstr(k.err.message, "/proc/wopr-cannot-be"));
    kit_down(&k);
}

Test(open, one_host_alone_on_its_file) {
    struct kit k;
    int up[2], down[2];
    char c;
    kit_dir(&k);
    cr_assert(pipe(up) == 0 && pipe(down) == 0);
    struct store_config cfg = kit_config(&k);
    cfg.host_lock = cfg.exclusive = true;
    pid_t pid = fork();
    if (pid == 0) {
        struct store *s = NULL;
        close(down[1]);
        if (store_open(&cfg, &s, NULL) != 0 || write(up[1], "x", 1) != 1) _exit(1);
        (void)!read(down[0], &c, 1);
        _exit(0); /* dies with the lock */
    }
    close(up[1]);
    close(down[0]);
    cr_assert_eq(read(up[0], &c, 1), 1);
    cr_assert_eq(store_open(&cfg, &k.s, &k.err), WOPR_E_LOCKED);
    char want[32];
    snprintf(want, sizeof want, "process %ld", (long)pid);
    cr_assert_not_null(strstr(k.err.message, want), "%s", k.err.message);
    cfg.host_lock = cfg.exclusive = false; /* a tool may work beside the host */
    cr_assert_eq(store_open(&cfg, &k.s, &k.err), 0);
    kit_close(&k);
    close(down[1]);
    waitpid(pid, NULL, 0);
    cfg.host_lock = cfg.exclusive = true;
    cr_assert_eq(store_open(&cfg, &k.s, &k.err), 0, "the lock dies with its process");
    close(up[0]);
    kit_down(&k);
}

Test(open, read_only_reads_and_writes_nothing) {
    struct kit k;
    kit_up(&k);
    int64_t no = kit_run(&k, "run_1", 3);
    kit_close(&k);
    struct store_config cfg = kit_config(&k);
    cfg.read_only = true;
    cr_assert_eq(store_open(&cfg, &k.s, &k.err), 0, "%s", k.err.message);
    cr_assert_eq(kit_count_events(&k, no), 3);
    cr_assert_eq(kit_apply(&k, kit_append(no, 3, 1, false)), WOPR_E_CONFIG);
    cr_assert_eq(store_run_park(k.s, no, LEASE_ANY, STR("x"), &k.err), WOPR_E_CONFIG);
    kit_down(&k);
}

Test(open, secrets_are_made_once) {
    struct kit k;
    uint8_t x[32], y[32], z[32];
    kit_up(&k);
    cr_assert_eq(store_secret(k.s, "pepper", x, &k.err), 0);
    cr_assert_eq(store_secret(k.s, "token", z, &k.err), 0);
    kit_close(&k);
    kit_open(&k);
    cr_assert_eq(store_secret(k.s, "pepper", y, &k.err), 0);
    cr_assert_arr_eq(x, y, 32);
    cr_assert_neq(memcmp(x, z, 32), 0);
    kit_down(&k);
}

/* The plan of a statement: its steps, each in a line. */
static void plan_of(struct kit *k, int stmt, char *out, size_t max) {
    char sql[8192];
    sqlite3_stmt *st = NULL;
    snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", STMTS[stmt].text);
    int rc = sqlite3_prepare_v2(k->s->writer->db, sql, -1, &st, NULL);
    cr_assert_eq(rc, SQLITE_OK, "%s: %s", STMTS[stmt].name, sqlite3_errmsg(k->s->writer->db));
    for (size_t n = 0; n < max && sqlite3_step(st) == SQLITE_ROW;)
        n += (size_t)snprintf(out + n, max - n, "%s\n", sqlite3_column_text(st, 3));
    sqlite3_finalize(st);
}

/* The planner finds these without being told, in whatever dialect. */
Test(statements, each_list_and_look_uses_its_index) {
    static const struct {
        enum stmt_id id;
        const char *index;
        bool sorts; /* rows of one answer, or of a tool */
    } USES[] = {
        {SQL_RUN_ACTIVE_IN_SCOPE, "runs_by_scope", false},
        {SQL_PENDING_TENANT, "interrupts_of_tenant", false},
        {SQL_RUNS_TIMER_DUE, "timers_interrupts", true},
        {SQL_IDEM_PURGE, "idempotency_by_expiry", false},
        {SQL_HOLDER_BURY, "runs_open", false},
        {SQL_HOLDER_RUNS, "runs_open", false},
        {SQL_RUNS_ENDED_BEFORE, "runs_ended", false},
        {SQL_TOMBSTONE_PURGE, "run_tombstones_by_time", false},
        {SQL_BURIAL_NEXT, "run_burials_due", false},
        {SQL_LINEAGE_NEXT, "run_lineages_due", false},
        {SQL_LINEAGE_WAKE, "run_lineages_by_fork", false},
        {SQL_WF_PAGE, "workflows_by_tenant", true},
        {SQL_RUNS_UNFINISHED, "runs_open", false},
        {SQL_RUN_LIST_TENANT, "runs_by_tenant", false},
        {SQL_RUN_LIST_WORKFLOW, "runs_by_workflow", false},
        {SQL_RUN_LIST_GOING, "runs_going", false},
        {SQL_RUN_LIST_MISSED, "runs_missed", false},
        {SQL_RUN_LIST_FORKS, "run_origins_by_fork", false},
        {SQL_RUN_LIST_CHILDREN, "run_origins_by_parent", false},
        {SQL_PARENTS_WAITING, "runs_open", false},
        {SQL_OLD_CLEAR_NEXT, "run_vars_clear", false},
    };
    struct kit k;
    char plan[4096];
    kit_up(&k);
    for (size_t i = 0; i < sizeof USES / sizeof *USES; i++) {
        plan_of(&k, USES[i].id, plan, sizeof plan);
        cr_expect_not_null(strstr(plan, USES[i].index), "%s: %s", STMTS[USES[i].id].name, plan);
        cr_expect(USES[i].sorts || !strstr(plan, "TEMP B-TREE"), "%s: %s", STMTS[USES[i].id].name,
                  plan);
    }
    kit_down(&k);
}

/* What PostgreSQL says otherwise stands here: a backend of its own brings its own texts for these
 * (store/DESIGN.md). */
Test(statements, they_are_written_as_sqlite_and_postgresql_both_speak) {
    static const char *const OURS_ALONE[] = {
        "INDEXED BY", "CROSS JOIN", "iif(",  "ifnull(",  "INSERT OR", "ON CONFLICT DO UPDATE",
        "PRAGMA",     "pragma_",    "json_", " -> ",     " ->> ",     "sqlite_",
        "AS BLOB",    "IMMEDIATE",  " GLOB", "& 1 AND ", "rowid"};
    static const char *const KNOWN[] = {
        "BEGIN_WRITE",  "DATA_VERSION",   "COUNT",          "VERIFY_NUMBERS", /* of this file */
        "VERIFY_HOOKS", "TAGS_PUT",       "TAGS_DROP",      "VERIFY_ORPHANS", /* members of JSON */
        "PENDING_ALL",  "PENDING_TENANT", "PENDING_RUN",    "FORK_SOURCE",
        "BURIAL_PUT",   "SLICE_EVENTS",   "VERIFY_BURIALS",              /* bytes of texts */
        "VERIFY_TASKS", "OLD_CLEAR_ANY",  "OLD_CLEAR",      "OLD_SHOWN", /* older files */
    };
    for (int i = 0; i < SQL_NR; i++) {
        bool known = false;
        for (size_t n = 0; n < sizeof KNOWN / sizeof *KNOWN; n++)
            known = known || strcmp(KNOWN[n], STMTS[i].name) == 0;
        const char *says = NULL;
        for (size_t n = 0; n < sizeof OURS_ALONE / sizeof *OURS_ALONE; n++)
            if (strstr(STMTS[i].text, OURS_ALONE[n])) says = OURS_ALONE[n];
        cr_expect_eq(says != NULL, known, "%s: %s", STMTS[i].name, says ? says : "portable now");
    }
}

Test(statements, no_hot_statement_scans_a_table /* E14 */) {
    struct kit k;
    kit_up(&k);
    for (int i = 0; i < SQL_NR; i++) {
        char sql[4096];
        sqlite3_stmt *st = NULL;
        snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", STMTS[i].text);
        int rc = sqlite3_prepare_v2(k.s->writer->db, sql, -1, &st, NULL);
        cr_assert_eq(rc, SQLITE_OK, "%s: %s", STMTS[i].name, sqlite3_errmsg(k.s->writer->db));
        while ((STMTS[i].flags & ST_HOT) && sqlite3_step(st) == SQLITE_ROW) {
            const char *text = (const char *)sqlite3_column_text(st, 3);
            cr_expect(strncmp(text, "SCAN", 4) != 0 || strstr(text, "json_each") ||
                          strstr(text, " j ") || strstr(text, " CONSTANT ROW"),
                      "%s: %s", STMTS[i].name, text);
        }
        sqlite3_finalize(st);
    }
    kit_down(&k);
}
