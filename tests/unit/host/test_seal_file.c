/*
 * test_seal_file.c: the file with the key of the installation: who may read it (OBS-71).
 */
#include "host/seal_file.h"

#include "store/peers.h"
#include "store/sqlite/sqlite.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[64], path[96], key[96];
static struct store *store;
static struct config cfg;
static struct wopr_error err;

static void up(void) {
    snprintf(dir, sizeof dir, "/tmp/wopr-seal-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/t.db", dir);
    snprintf(key, sizeof key, "%s/t.db.key", dir);
    const struct store_config sc = {.path = path, .sync = STORE_SYNC_OFF, .host_lock = true};
    cr_assert_eq(store_open(&sc, &store, &err), 0, "%s", err.message);
    cfg.store_path = path;
    cfg.host_seal_key_file = "";
}

static void down(void) {
    char cmd[128];
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
