/*
 * test_journal_queue.c: in which order the committer takes what waits for it.
 */
#include "journal/journal.h"
#include "store/sqlite/sql.h"
#include "unit/store/kit.h"

#include <semaphore.h>

enum { LARGE = 3000, SMALL = 2, MOST = 64 };
static struct kit k;
static struct journal *j;
static sem_t stuck, go, landed;
static char order[MOST][16]; /* run ids as they were committed; "side" for a side job */
static size_t committed;     /* the committer's; read after `landed` */

static void note(const char *what) {
    snprintf(order[committed++], sizeof order[0], "%s", what);
    sem_post(&landed);
}
static void on_done(void *ctx, struct plan *p, int rc) {
    cr_assert_eq(rc, 0);
    note(ctx);
    plan_unref(p);
}
static void on_side(void *ctx, struct store *s) {
    (void)s;
    note(ctx);
}
static void stand_still(void *ctx, struct store *s) {
    (void)ctx, (void)s;
    sem_post(&stuck);
    while (sem_wait(&go) != 0) continue;
}

/* The committer stands still: what is queued now gathers. */
static void up(void) {
    kit_up(&k);
    sem_init(&stuck, 0, 0);
    sem_init(&go, 0, 0);
    sem_init(&landed, 0, 0);
    committed = 0;
    cr_assert_eq(journal_new(k.s, NULL, &j, &k.err), 0);
    cr_assert_eq(journal_start(j, &k.err), 0);
    cr_assert_eq(journal_side(j, stand_still, NULL), 0);
    while (sem_wait(&stuck) != 0) continue;
}
static void down(void) {
    journal_stop(j);
    journal_free(j);
    kit_down(&k);
}
TestSuite(journal_queue, .init = up, .fini = down, .timeout = 300);

static void queue(const char *tenant, const char *id, size_t events) {
    struct plan *p = kit_create(id, events);
    p->create->meta.tenant = str_c(tenant);
    cr_assert_eq(journal_append(j, p, on_done, (void *)id), 0);
}
static void expect_order(const char *want) {
    char got[MOST * 16] = "";
    size_t n = 1;
    for (const char *c = want; *c; c++) n += *c == ' ';
    sem_post(&go);
    for (size_t i = 0; i < n; i++)
        while (sem_wait(&landed) != 0) continue;
    for (size_t i = 0; i < n; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", i > 0 ? " " : "", order[i]);
    cr_expect_str_eq(got, want);
}

Test(journal_queue, other_tenants_go_before_a_large_plan) {
    queue("alpha", "A1", LARGE);
    queue("alpha", "a2", SMALL);
    queue("beta", "b1", SMALL);
    queue("alpha", "A3", LARGE);
    queue("beta", "b2", SMALL);
    queue("gamma", "c1", SMALL);
    expect_order("b1 b2 c1 A1 a2 A3");
}

Test(journal_queue, a_large_plan_is_committed_alone) {
    struct journal_stats before, after;
    journal_stats(j, &before);
    queue("alpha", "A1", LARGE);
    queue("alpha", "A2", LARGE);
    queue("beta", "B1", LARGE);
    expect_order("A1 A2 B1");
    journal_stats(j, &after);
    cr_expect_eq(after.commits - before.commits, 3u);
}

Test(journal_queue, nothing_passes_a_side_job) {
    queue("alpha", "A1", LARGE);
    cr_assert_eq(journal_side(j, on_side, "side"), 0);
    queue("beta", "b1", SMALL);
    expect_order("A1 side b1");
}

static void one_more(void *ctx, struct plan *p, int rc) { /* as long as the large one waits */
    static const char *const ids[] = {"b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7",
                                      "b8", "b9", "ba", "bb", "bc", "bd", "be", "bf"};
    static size_t next;
    on_done(ctx, p, rc);
    if (next == sizeof ids / sizeof *ids) return;
    struct plan *more = kit_create(ids[next], SMALL);
    more->create->meta.tenant = STR("beta");
    cr_assert_eq(journal_append(j, more, one_more, (void *)ids[next++]), 0);
}

Test(journal_queue, a_large_plan_does_not_wait_for_ever) {
    struct plan *p = kit_create("b", SMALL);
    p->create->meta.tenant = STR("beta");
    queue("alpha", "A1", LARGE);
    cr_assert_eq(journal_append(j, p, one_more, (void *)"b"), 0);
    sem_post(&go);
    for (size_t i = 0; i < 18; i++)
        while (sem_wait(&landed) != 0) continue;
    size_t at = 0;
    while (strcmp(order[at], "A1") != 0) at++;
    cr_expect_eq(at, 8u, "after as many batches");
}
