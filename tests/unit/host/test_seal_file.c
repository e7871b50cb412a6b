/*
 * test_seal_file.c: the file with the key of the installation: who may read it (OBS-71).
 */
#include "host/seal_file.h"

#include "store/peers.h"
#include "store/sqlite/sqlite.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[128], path[288], key[288];
static struct store *store;
static struct config cfg;
static struct wopr_error err;

static void up(void) {
    cr_assert(folder_make(dir, sizeof dir, "seal"));
    snprintf(path, sizeof path, "%s/t.db", dir);
    snprintf(key, sizeof key, "%s/t.db.key", dir);
    const struct store_config sc = {.path = path, .sync = STORE_SYNC_OFF, .host_lock = true};
    cr_assert_eq(store_open(&sc, &store, &err), 0, "%s", err.message);
    cfg.store_path = path;
    cfg.host_seal_key_file = "";
}

static void down(void) {
    char cmd[160];
    store_close(store);
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    cr_expect_eq(system(cmd), 0);
}
TestSuite(seal_file, .init = up, .fini = down);

static int open_rc(void) {
    struct seal_file f;
    int rc = seal_file_open(&cfg, store, &f, &err);
    seal_file_forget(&f);
    return rc;
}

Test(seal_file, the_one_that_is_made_is_private) {
    struct stat st;
    cr_assert_eq(open_rc(), 0, "%s", err.message);
    cr_assert_eq(stat(key, &st), 0);
    cr_expect_eq(st.st_mode & 0777, 0600);
    cr_expect_eq(open_rc(), 0);
}

Test(seal_file, one_that_others_may_read_or_change_is_refused) {
    static const struct {
        mode_t mode;
        bool ok;
    } rows[] = {{0600, true},  {0400, true},  {0640, false}, {0604, false},
                {0660, false}, {0602, false}, {0644, false}, {0700, true}};
    cr_assert_eq(open_rc(), 0, "%s", err.message);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert_eq(chmod(key, rows[i].mode), 0);
        cr_expect_eq(open_rc(), rows[i].ok ? 0 : WOPR_E_CONFIG, "%o", (unsigned)rows[i].mode);
        if (!rows[i].ok)
            cr_expect(strstr(err.message, "chmod 600") && strstr(err.message, key), "%s",
                      err.message);
    }
}

Test(seal_file, one_of_another_user_is_refused) {
    if (geteuid() != 0) cr_skip("needs root to give the file away");
    cr_assert_eq(open_rc(), 0, "%s", err.message);
    cr_assert_eq(chown(key, 12345, 12345), 0);
    cr_expect_eq(open_rc(), WOPR_E_CONFIG);
    cr_expect_not_null(strstr(err.message, "another user"), "%s", err.message);
}

/* Root's commands on the database of a service: the service goes on with what they leave. */
Test(seal_file, root_rotates_the_key_of_a_service_and_it_stays_the_services) {
    char id[VAULT_KEK_ID_LEN + 1], lock[512];
    struct stat st;
    if (geteuid() != 0) cr_skip("needs root to give the files away");
    (void)snprintf(lock, sizeof lock, "%s.lock", key);
    cr_assert_eq(open_rc(), 0, "%s", err.message);
    cr_assert_eq(chown(key, 12345, 12345), 0);
    cr_assert_eq(chown(dir, 12345, 12345), 0);
    cr_assert_eq(seal_rotate(&cfg, store, id, &err), 0, "%s", err.message);
    cr_assert_eq(stat(key, &st), 0);
    cr_expect_eq(st.st_uid, 12345u);
    cr_assert_eq(stat(lock, &st), 0);
    cr_expect_eq(st.st_uid, 12345u);
}

/* It was made for this start, and fits nothing. */
Test(seal_file, one_that_does_not_fit_is_not_left_behind) {
    struct vault *v = NULL;
    int64_t no, last;
    struct store *other;
    const struct store_config sc = {.path = path, .sync = STORE_SYNC_OFF, .host_lock = true};
    cr_assert_eq(seal_vault(&cfg, store, &v, &err), 0, "%s", err.message);
    vault_free(v);
    cr_assert_eq(unlink(key), 0);
    cr_assert_eq(store_join(store, STR("a"), 2000, 99, &no, &last, &err), 0);
    cr_assert_eq(store_open(&sc, &other, &err), 0);
    cr_expect_eq(seal_vault(&cfg, other, &v, &err), WOPR_E_CONFIG);
    cr_expect_neq(access(key, F_OK), 0);
    store_close(other);
}

/* --- rotation and races --- */

static char text[1024];

static const char *file_text(void) {
    FILE *f = fopen(key, "re");
    cr_assert_not_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    (void)fclose(f);
    return text;
}

static void first_text(sqlite3 *db, const char *sql, char *out, size_t size) {
    sqlite3_stmt *st;
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(st), SQLITE_ROW, "%s", sql);
    (void)snprintf(out, size, "%s", (const char *)sqlite3_column_text(st, 0));
    (void)sqlite3_finalize(st);
}

/* The new key is written beside the old one first: until the data keys are wrapped again, only the
 * old one opens them. */
Test(seal_file, a_rotation_that_fails_leaves_the_key_that_opens) {
    char id[VAULT_KEK_ID_LEN + 1], kek[128], sql[300], old[1024];
    struct vault *v = NULL;
    sqlite3 *db;
    cr_assert_eq(seal_vault(&cfg, store, &v, &err), 0, "%s", err.message);
    vault_free(v);
    cr_assert_eq(sqlite3_open(path, &db), SQLITE_OK);
    first_text(db, "SELECT kek FROM seal_keys", kek, sizeof kek);
    (void)snprintf(sql, sizeof sql,
                   "CREATE INDEX refuse ON seal_keys (abs(iif(kek <> '%s', "
                   "-9223372036854775808, 0)))",
                   kek);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    (void)snprintf(old, sizeof old, "%s", file_text());
    char *line = strrchr(old, '\n');
    *line = '\0'; /* the key is the last line */
    line = strrchr(old, '\n') + 1;
    cr_assert_neq(seal_rotate(&cfg, store, id, &err), 0);
    cr_expect_not_null(strstr(file_text(), line), "the old key is gone");
    cr_assert_eq(sqlite3_exec(db, "DROP INDEX refuse", NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
    cr_assert_eq(seal_vault(&cfg, store, &v, &err), 0, "%s", err.message);
    vault_free(v);
    cr_assert_eq(seal_rotate(&cfg, store, id, &err), 0, "%s", err.message);
    cr_expect_null(strstr(file_text(), line), "the old key stays");
}

enum { OPENERS = 4, RACES = 8 };
struct opened {
    int rc;
    bool made;
    struct seal_secret kek;
};

/* A host's start up to its key, once the others are there too. */
static void opener_main(int go, int say) {
    const struct store_config sc = {.path = path, .sync = STORE_SYNC_OFF, .host_lock = true};
    struct opened o = {.rc = 1};
    struct store *own;
    struct seal_file f;
    char none;
    if (store_open(&sc, &own, &err) == 0 && write(say, "", 1) == 1 && read(go, &none, 1) == 0) {
        o.rc = seal_file_open(&cfg, own, &f, &err);
        o.made = f.made;
        o.kek = f.keks[0];
    }
    _exit(write(say, &o, sizeof o) == sizeof o ? 0 : 1);
}

static void openers_start(int go[2], int say[2], pid_t pids[OPENERS]) {
    char ready;
    cr_assert_eq(pipe(go), 0);
    cr_assert_eq(pipe(say), 0);
    for (int i = 0; i < OPENERS; i++) {
        pids[i] = fork();
        cr_assert_geq(pids[i], 0);
        if (pids[i] > 0) continue;
        (void)close(go[1]);
        opener_main(go[0], say[1]);
    }
    for (int i = 0; i < OPENERS; i++) cr_assert_eq(read(say[0], &ready, 1), 1);
    (void)close(go[1]); /* all at once */
}

Test(seal_file, of_hosts_that_start_together_one_makes_it_and_all_have_it) {
    for (int n = 0; n < RACES; n++) {
        int go[2], say[2], made = 0;
        pid_t pids[OPENERS];
        struct opened o[OPENERS];
        openers_start(go, say, pids);
        for (int i = 0; i < OPENERS; i++) {
            cr_assert_eq(read(say[0], &o[i], sizeof o[i]), (ssize_t)sizeof o[i]);
            cr_expect_eq(o[i].rc, 0);
            cr_expect_eq(memcmp(&o[i].kek, &o[0].kek, sizeof o[i].kek), 0, "two keys");
            made += o[i].made;
        }
        cr_expect_eq(made, 1, "%d made it", made);
        for (int i = 0; i < OPENERS; i++) (void)waitpid(pids[i], NULL, 0);
        (void)close(go[0]);
        (void)close(say[0]);
        (void)close(say[1]);
        cr_expect_eq(unlink(key), 0);
    }
}
