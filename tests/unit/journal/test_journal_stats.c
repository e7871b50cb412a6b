/*
 * What the log counts, and the warnings about slow commits, a full queue and slow readers.  Time is
 * virtual: nothing is slow by accident.
 */
#include "base/log.h"
#include "journal/journal.h"
#include "support/capture.h"
#include "unit/store/kit.h"

#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

static struct kit k;
static struct journal *j;
static atomic_uint_fast64_t now_ns, step_ns; /* every look at the clock takes step_ns */

static uint64_t mono(void *ctx) {
    (void)ctx;
    return atomic_fetch_add(&now_ns, atomic_load(&step_ns));
}

static void up(void) {
    static const struct sys_ops ops = {.mono_ns = mono};
    kit_up(&k);
    sys_set(&ops);
    cr_assert(capture_begin());
}

static void down(void) {
    journal_stop(j);
    journal_free(j);
    capture_end();
    sys_set(NULL);
    kit_down(&k);
}
TestSuite(journal_stats, .init = up, .fini = down, .timeout = 300);

static void begin(const struct journal_config *cfg, bool start) {
    unsigned first;
    cr_assert_eq(journal_new(k.s, cfg, &j, &k.err), 0);
    cr_assert_eq(journal_views_add(j, 3, &first, &k.err), 0);
    if (start) cr_assert_eq(journal_start(j, &k.err), 0);
}

struct done {
    sem_t sem;
    int64_t run_no;
    int rc;
};
static void on_done(void *ctx, struct plan *p, int rc) {
    struct done *d = ctx;
    d->run_no = p->run_no;
    d->rc = rc;
    plan_unref(p);
    sem_post(&d->sem);
}
static void on_side(void *ctx, struct store *s) {
    (void)s;
    sem_post(&((struct done *)ctx)->sem);
}

/* Append and wait until the committer is past whatever it says about that batch. */
static int append(struct plan *p, int64_t *run_no) {
    struct done d;
    sem_init(&d.sem, 0, 0);
    cr_assert_eq(journal_append(j, p, on_done, &d), 0);
    while (sem_wait(&d.sem) != 0) continue;
    cr_assert_eq(journal_side(j, on_side, &d), 0);
    while (sem_wait(&d.sem) != 0) continue;
    sem_destroy(&d.sem);
    if (run_no) *run_no = d.run_no;
    return d.rc;
}

Test(journal_stats, a_slow_commit_is_told_once_per_period) {
    char text[16384];
    int64_t no;
    struct journal_stats s;
    begin(&(struct journal_config){.slow_commit_ms = 1000}, true);
    atomic_store(&step_ns, 1000000); /* a look takes a millisecond: far below the threshold */
    cr_assert_eq(append(kit_create("run_1", 1), &no), 0);
    capture_take(text, sizeof text);
    cr_expect_str_eq(text, "", "nothing was slow");
    atomic_store(&step_ns, UINT64_C(2000000000));
    cr_assert_eq(append(kit_append(no, 1, 2, false), NULL), 0);
    atomic_store(&step_ns, 0);
    capture_take(text, sizeof text);
    cr_expect_eq(capture_count(text, "\"msg\":\"slow commit\""), 1, "%s", text);
    cr_expect_not_null(strstr(text, "\"plans\":\"1\",\"events\":\"2\",\"notTold\":\"0\""), "%s",
                       text);
    journal_stats(j, &s);
    cr_expect_eq(s.slow_commits, 1);
    cr_expect_eq(s.commit_ns.count, 2);
    cr_expect_eq(s.batch_plans.count, 2);
    cr_expect_eq(s.batch_plans.sum, 2);
    cr_expect_geq(s.commit_ns.sum, UINT64_C(2000000000));
}

Test(journal_stats, many_slow_commits_do_not_flood) {
    char text[16384];
    int64_t no;
    struct journal_stats s;
    begin(&(struct journal_config){.slow_commit_ms = 10}, true);
    atomic_store(&now_ns, UINT64_C(1000000000));
    cr_assert_eq(append(kit_create("run_1", 1), &no), 0);
    atomic_store(&step_ns, UINT64_C(50000000)); /* 50 ms; the gate opens after 10 s */
    for (int i = 0; i < 10; i++) cr_assert_eq(append(kit_append(no, 1 + i, 1, false), NULL), 0);
    capture_take(text, sizeof text);
    cr_expect_eq(capture_count(text, "slow commit"), 1, "%s", text);
    atomic_fetch_add(&now_ns, UINT64_C(1000000) * LOG_GATE_MS);
    cr_assert_eq(append(kit_append(no, 11, 1, false), NULL), 0);
    atomic_store(&step_ns, 0);
    capture_take(text, sizeof text);
    cr_expect_eq(capture_count(text, "slow commit"), 1, "%s", text);
    cr_expect_not_null(strstr(text, "\"notTold\":\"9\""), "%s", text);
    journal_stats(j, &s);
    cr_expect_eq(s.slow_commits, 11);
}

Test(journal_stats, without_a_threshold_nothing_is_slow) {
    char text[4096];
    struct journal_stats s;
    begin(NULL, true);
    atomic_store(&step_ns, UINT64_C(2000000000));
    cr_assert_eq(append(kit_create("run_1", 1), NULL), 0);
    atomic_store(&step_ns, 0);
    capture_take(text, sizeof text);
    cr_expect_str_eq(text, "");
    journal_stats(j, &s);
    cr_expect_eq(s.slow_commits, 0);
}

Test(journal_stats, a_full_queue_is_told_and_counted) {
    char text[4096];
    struct journal_stats s;
    begin(&(struct journal_config){.queue_max = 2}, false);
    struct plan *p[5];
    for (int i = 0; i < 5; i++) {
        p[i] = kit_create(i % 2 == 0 ? "run_1" : "run_2", 1);
        int rc = journal_append(j, p[i], NULL, NULL);
        cr_assert_eq(rc, i < 2 ? 0 : WOPR_E_UNAVAILABLE);
        if (rc != 0) plan_unref(p[i]);
    }
    capture_take(text, sizeof text);
    cr_expect_eq(capture_count(text, "the queue of the committer is full"), 1, "%s", text);
    cr_expect_not_null(strstr(text, "\"queue\":\"2\""), "%s", text);
    journal_stats(j, &s);
    cr_expect_eq(s.queue_refused, 3);
    cr_expect_eq(s.queue_len, 2);
    cr_expect_eq(s.queue_max, 2);
    cr_expect_eq(s.queue_max_seen, 2);
}

Test(journal_stats, refusals_are_counted_by_code) {
    int64_t no;
    struct journal_stats s;
    begin(NULL, true);
    cr_assert_eq(append(kit_create("run_1", 1), &no), 0);
    cr_assert_eq(append(kit_append(no, 7, 1, false), NULL), WOPR_E_STALE);
    cr_assert_eq(append(kit_append(no, 1, 1, true), NULL), 0);
    cr_assert_eq(append(kit_append(no, 2, 1, false), NULL), WOPR_E_RUN_TERMINAL);
    journal_stats(j, &s);
    cr_expect_eq(s.refused[-WOPR_E_STALE], 1);
    cr_expect_eq(s.refused[-WOPR_E_RUN_TERMINAL], 1);
    cr_expect_eq(s.plans_refused, 2);
    cr_expect_eq(s.events, 2);
    cr_expect_eq(s.plans, 4);
}

static void ring(void *ctx) { sem_post(ctx); }
static void render(const void *ctx, struct str run_id, const struct event *e, struct buf *out) {
    (void)ctx, (void)run_id;
    if (e->seq % 2 == 0) buf_addc(out, 'x');
}

static size_t drain(struct journal_reader *r, size_t *frames) {
    struct journal_piece p;
    size_t n = 0;
    while (journal_reader_next(r, &p, &k.err) == 1) {
        n += p.events_nr;
        *frames += p.frames_nr;
    }
    return n;
}

/* The hub rings within its visit of a topic, which lasts until that visit ends. */
static void topics_end(void) {
    struct journal_stats s;
    do {
        sched_yield();
        journal_stats(j, &s);
    } while (s.topics > 0);
}

/* A commit is told before the hub has given its events out, in the order of commits: what was
 * committed before reaches no reader that opens after this. */
static void hub_await(void) {
    static const struct journal_view view = {.id = 2, .render = render};
    struct journal_reader *r;
    size_t frames = 0;
    int64_t no;
    sem_t bell;
    sem_init(&bell, 0, 0);
    cr_assert_eq(append(kit_create("run_await", 1), &no), 0);
    cr_assert_eq(journal_reader_open(
                     j, (&(struct journal_cursor){no, STR("run_await"), -1, &view, ring, &bell}),
                     &r, &k.err),
                 0);
    cr_assert_eq(drain(r, &frames), 1);
    cr_assert_eq(append(kit_append(no, 1, 1, false), NULL), 0);
    while (sem_wait(&bell) != 0) continue;
    journal_reader_close(r);
    sem_destroy(&bell);
    topics_end();
}

Test(journal_stats, lag_is_seen_while_it_lasts) {
    char text[4096];
    static const struct journal_view view = {.id = 2, .render = render};
    sem_t bell;
    int64_t no;
    size_t frames = 0;
    struct journal_reader *r;
    struct journal_stats s, before;
    sem_init(&bell, 0, 0);
    begin(&(struct journal_config){.topic_bytes_max = 40000}, true);
    cr_assert_eq(append(kit_create("run_1", 1), &no), 0);
    hub_await();
    journal_stats(j, &before);
    cr_assert_eq(
        journal_reader_open(j, (&(struct journal_cursor){no, STR("run_1"), -1, &view, ring, &bell}),
                            &r, &k.err),
        0);
    journal_stats(j, &s);
    cr_expect(s.readers == 1 && s.topics == 1 && s.behind == 1, "a backlog is behind");
    cr_assert_eq(drain(r, &frames), 1);
    journal_stats(j, &s);
    cr_expect_eq(s.behind, 0);
    cr_assert_eq(append(kit_append(no, 1, 1, false), NULL), 0);
    while (sem_wait(&bell) != 0) continue; /* the hub has put it into the ring */
    journal_stats(j, &s);
    cr_expect_gt(s.backlog_bytes, 0);
    cr_assert_eq(drain(r, &frames), 1);
    journal_stats(j, &s);
    cr_expect_eq(s.backlog_bytes, 0);
    cr_expect_eq(s.delivery_ns.count - before.delivery_ns.count, 1);
    cr_expect_eq(s.wakes - before.wakes, 1);
    capture_take(text, sizeof text);
    cr_expect_str_eq(text, "");
    for (int i = 0; i < 40; i++) cr_assert_eq(append(kit_append(no, 2 + i, 1, false), NULL), 0);
    while (sem_wait(&bell) != 0) continue;
    do journal_stats(j, &s); /* until the hub has taken all: the ring is cut at its limit */
    while (s.backlog_bytes < 32000);
    while (drain(r, &frames) > 0 || journal_reader_cursor(r) < 41) continue;
    capture_take(text, sizeof text);
    cr_expect_eq(capture_count(text, "a slow stream reader fell behind"), 1, "%s", text);
    cr_expect_not_null(strstr(text, "\"runId\":\"run_1\""), "%s", text);
    journal_stats(j, &s);
    cr_expect_geq(s.lagged, 1);
    cr_expect(s.behind == 0 && s.backlog_bytes == 0);
    cr_expect_eq(frames, 21, "even sequences of 0..41");
    journal_reader_close(r);
    topics_end();
    journal_stats(j, &s);
    cr_expect_eq(s.readers, 0);
    sem_destroy(&bell);
}
