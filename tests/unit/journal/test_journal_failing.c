/*
 * test_journal_failing.c: commits that fail are counted until one does not, and logged once per
 * period.
 */
#include "base/log.h"
#include "store/sqlite/sql.h"
#include "support/capture.h"
#include "unit/journal/append_kit.h"

enum { REFUSED = 5 };
static struct kit k;
static struct journal *j;

static void up(void) {
    kit_up(&k);
    cr_assert(capture_begin());
    cr_assert_eq(journal_new(k.s, NULL, &j, &k.err), 0);
    cr_assert_eq(journal_start(j, &k.err), 0);
}
static void down(void) {
    journal_stop(j);
    journal_free(j);
    capture_end();
    kit_down(&k);
}
TestSuite(journal_failing, .init = up, .fini = down, .timeout = 300);
static struct journal_stats stats(void) {
    struct journal_stats s;
    journal_stats(j, &s);
    return s;
}
static void pages(const char *most) {
    cr_assert_eq(sqlite3_exec(k.s->writer->db, most, NULL, NULL, NULL), 0);
}

static unsigned times(const char *text, const char *what) {
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, what)) != NULL; p++) n++;
    return n;
}

Test(journal_failing, commits_on_a_full_disk_are_counted_and_logged_once) {
    char text[16384];
    char id[16];
    pages("PRAGMA max_page_count = 1");
    for (int i = 0; i < REFUSED; i++) {
        (void)snprintf(id, sizeof id, "run_%d", i);
        cr_expect_eq(append(j, kit_create(id, 4000)), WOPR_E_DISK_FULL);
    }
    struct journal_stats s = stats();
    cr_expect_eq(s.failing, REFUSED);
    cr_expect_gt(s.failed_ms, 0u);
    capture_take(text, sizeof text);
    cr_expect_eq(times(text, "commit failed"), 1u, "%s", text);
    pages("PRAGMA max_page_count = 100000");
    cr_expect_eq(append(j, kit_create("run_ok", 1)), 0);
    cr_expect_eq(stats().failing, 0u, "one that succeeds ends it");
}
