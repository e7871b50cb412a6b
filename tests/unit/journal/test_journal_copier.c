/*
 * test_journal_copier.c: checkpoints beside the commits: the WAL begins anew under a steady load,
 * nothing is lost by it, and one that fails ends nothing.
 */
#include "store/sqlite/sql.h"
#include "store/upkeep.h"
#include "unit/journal/append_kit.h"

#include <sys/stat.h>

enum { RUNS = 400, EVENTS = 2000, WAL_MOST = 4 * 16 << 20, LOOKS = 2000 };
static struct kit k;
static struct journal *j;

static void up(void) {
    kit_up(&k);
    cr_assert_eq(journal_new(k.s, NULL, &j, &k.err), 0);
    cr_assert_eq(journal_start(j, &k.err), 0);
}
static void down(void) {
    journal_stop(j);
    journal_free(j);
    kit_down(&k);
}
TestSuite(journal_copier, .init = up, .fini = down, .timeout = 300);

static struct sqlite_stats stats(void) {
    struct sqlite_stats s;
    sqlite_stats(k.s, &s);
    return s;
}

static off_t wal_bytes(void) {
    char path[512];
    struct stat st;
    snprintf(path, sizeof path, "%s-wal", k.path);
    return stat(path, &st) == 0 ? st.st_size : 0;
}

Test(journal_copier, the_wal_begins_anew_under_a_steady_load) {
    off_t most = 0;
    for (int i = 0; i < RUNS; i++) {
        char id[16];
        snprintf(id, sizeof id, "run_%d", i);
        cr_assert_eq(append(j, kit_create(id, EVENTS)), 0);
        if (wal_bytes() > most) most = wal_bytes();
    }
    struct sqlite_stats s = stats();
    cr_expect_geq(s.checkpoints, 2u);
    cr_expect_eq(s.checkpoints_failed, 0u);
    cr_expect_lt(most, (off_t)WAL_MOST, "%lld bytes", (long long)most);
    cr_expect_eq(kit_verify(&k), 0);
}

Test(journal_copier, commits_wait_for_a_short_rest_only /* S6, root 4 */) {
    int left = -1;
    for (int i = 0; i < RUNS && !store_checkpoint_due(k.s); i++) {
        char id[16];
        snprintf(id, sizeof id, "run_%d", i);
        (void)kit_run(&k, id, EVENTS);
    }
    cr_assert_eq(store_checkpoint(k.s, &k.err), 0);
    cr_expect_eq(stats().checkpoints, 0u, "all of it is left, for the copier");
    cr_assert_eq(store_checkpoint_beside(k.s, &left, &k.err), 0);
    cr_expect_eq(left, 0);
    (void)kit_run(&k, "run_more", 2); /* nothing was left: the WAL begins anew */
    cr_expect(!store_checkpoint_due(k.s));
    atomic_store(&k.s->wal_pages, 2 * STORE_WAL_CHECKPOINT_PAGES);
    atomic_store(&k.s->copied_pages, 2 * STORE_WAL_CHECKPOINT_PAGES - STORE_WAL_REST_PAGES);
    cr_assert_eq(store_checkpoint(k.s, &k.err), 0);
    cr_expect_eq(stats().checkpoints, 2u, "a short rest");
    cr_expect_eq(kit_verify(&k), 0);
}

Test(journal_copier, what_a_snapshot_keeps_from_being_copied_is_copied_later) {
    sqlite3 *other;
    cr_assert_eq(sqlite3_open(k.path, &other), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(other, "BEGIN; SELECT count(*) FROM runs", NULL, NULL, NULL),
                 SQLITE_OK); /* frames after this snapshot cannot be copied */
    for (int i = 0; i < 40; i++) {
        char id[16];
        snprintf(id, sizeof id, "run_%d", i);
        cr_assert_eq(append(j, kit_create(id, EVENTS)), 0);
    }
    cr_expect_gt(wal_bytes(), 0);
    cr_assert_eq(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(other);
    uint64_t before = stats().checkpoints;
    atomic_store(&k.s->wal_pages, 2 * STORE_WAL_CHECKPOINT_PAGES);
    for (int i = 0; i < LOOKS && stats().checkpoints < before + 2; i++) {
        char id[16];
        snprintf(id, sizeof id, "more_%d", i);
        cr_assert_eq(append(j, kit_create(id, 1)), 0);
        atomic_store(&k.s->wal_pages, 2 * STORE_WAL_CHECKPOINT_PAGES);
    }
    cr_expect_geq(stats().checkpoints, before + 2);
    cr_expect_eq(stats().checkpoints_failed, 0u);
    cr_expect_eq(kit_verify(&k), 0);
}
