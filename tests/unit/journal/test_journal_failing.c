/*
 * test_log_failing.c: commits that fail are counted until one does not, and logged once per period.
 */
#include "base/log.h"
#include "journal/journal.h"
#include "store/sqlite/sql.h"
#include "support/capture.h"
#include "unit/store/kit.h"

#include <semaphore.h>

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
TestSuite(log_failing, .init = up, .fini = down, .timeout = 120);

struct done {
    sem_t sem;
    int rc;
};
static void on_done(void *ctx, struct plan *p, int rc) {
    struct done *d = ctx;
    d->rc = rc;
    plan_unref(p);
    sem_post(&d->sem);
}
static int append(struct plan *p) {
    struct done d;
    sem_init(&d.sem, 0, 0);
    cr_assert_eq(journal_append(j, p, on_done, &d), 0);
    while (sem_wait(&d.sem) != 0) continue;
    sem_destroy(&d.sem);
    return d.rc;
}
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

Test(log_failing, commits_on_a_full_disk_are_counted_and_logged_once) {
    char text[16384];
    char id[16];
    pages("PRAGMA max_page_count = 1");
    for (int i = 0; i < REFUSED; i++) {
        (void)snprintf(id, sizeof id, "run_%d", i);
        cr_expect_eq(append(kit_create(id, 4000)), WOPR_E_DISK_FULL);
    }
    struct journal_stats s = stats();
    cr_expect_eq(s.failing, REFUSED);
    cr_expect_gt(s.failed_ms, 0u);
    capture_take(text, sizeof text);
    cr_expect_eq(times(text, "commit failed"), 1u, "%s", text);
    pages("PRAGMA max_page_count = 100000");
    cr_expect_eq(append(kit_create("run_ok", 1)), 0);
    cr_expect_eq(stats().failing, 0u, "one that succeeds ends it");
}
