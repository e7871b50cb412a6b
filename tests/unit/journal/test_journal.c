/*
 * The committer and the live readers (STORE-5, SSE-14, SSE-24, SSE-25, SSE-39; log.h L1 to L3).
 */
#include "base/fault.h"
#include "base/log.h"
#include "base/mem.h"
#include "journal/journal.h"
#include "store/leases.h"
#include "store/runs.h"
#include "unit/store/kit.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

struct world {
    struct kit k;
    struct journal *j;
};
static struct world w;
enum { VIEWS_NR = 4 }; /* more than the tests use */

static void log_up(const struct journal_config *cfg, bool start) {
    unsigned first;
    cr_assert_eq(journal_new(w.k.s, cfg, &w.j, &w.k.err), 0);
    cr_assert_eq(journal_views_add(w.j, VIEWS_NR, &first, &w.k.err), 0);
    if (start) cr_assert_eq(journal_start(w.j, &w.k.err), 0);
}
static void up(void) {
    kit_up(&w.k);
    log_up(NULL, true);
}
static void down(void) {
    journal_stop(w.j);
    journal_free(w.j);
    kit_down(&w.k);
}
TestSuite(log, .init = up, .fini = down, .timeout = 300);

/* A place to wait for wakes and completions. */
struct bell {
    pthread_mutex_t lock;
    pthread_cond_t rung;
    int rings, rc;
    int64_t run_no;
};
#define BELL                                                                                       \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0, 0 }
static void ring(void *ctx) {
    struct bell *b = ctx;
    pthread_mutex_lock(&b->lock);
    b->rings++;
    pthread_cond_signal(&b->rung);
    pthread_mutex_unlock(&b->lock);
}
static void await(struct bell *b) { /* one ring, taken */
    pthread_mutex_lock(&b->lock);
    while (b->rings == 0) pthread_cond_wait(&b->rung, &b->lock);
    b->rings = 0;
    pthread_mutex_unlock(&b->lock);
}
static void on_done(void *ctx, struct plan *p, int rc) {
    struct bell *b = ctx;
    pthread_mutex_lock(&b->lock);
    b->rc = rc;
    b->run_no = p->run_no;
    pthread_mutex_unlock(&b->lock);
    plan_unref(p);
    ring(b);
}
static int append(struct plan *p, int64_t *run_no) {
    struct bell b = BELL;
    int rc = journal_append(w.j, p, on_done, &b);
    cr_assert_eq(rc, 0);
    await(&b);
    if (run_no) *run_no = b.run_no;
    return b.rc;
}
static int64_t fresh(const char *id, size_t events) {
    int64_t no = 0;
    cr_assert_eq(append(kit_create(id, events), &no), 0);
    return no;
}

/* "<run>:<seq>\n" for events with even sequence: a view that filters. */
static atomic_int renders;
static void render_even(const void *ctx, struct str run_id, const struct event *e,
                        struct buf *out) {
    (void)ctx;
    atomic_fetch_add(&renders, 1);
    if (e->seq % 2 == 0) buf_addf(out, STR_FMT ":%lld\n", STR_ARG(run_id), (long long)e->seq);
}
static const struct journal_view EVEN = {.id = 3, .render = render_even};

/* Check a piece against the cursor before it; the number of events. */
static size_t check_piece(const struct journal_piece *p, int64_t before, bool even) {
    size_t at = 0;
    char want[64];
    for (size_t i = 0; i < p->events_nr; i++) {
        cr_assert_eq(p->events[i].seq, before + 1 + (int64_t)i, "no gap, no repeat");
        if (!even) continue;
        int n = 0;
        if (p->events[i].seq % 2 == 0)
            n = snprintf(want, sizeof want, "run_1:%lld\n", (long long)p->events[i].seq);
        cr_assert_eq(p->ends[i], at + (size_t)n);
        cr_assert(n == 0 || memcmp(p->p + at, want, (size_t)n) == 0);
        at = p->ends[i];
    }
    cr_assert_eq(at, p->n);
    return p->events_nr;
}
static struct journal_reader *reader(int64_t no, int64_t after, const struct journal_view *v,
                                     struct bell *b) {
    struct journal_reader *r = NULL;
    int rc = journal_reader_open(
        w.j, (&(struct journal_cursor){no, STR("run_1"), after, v, ring, b}), &r, &w.k.err);
    cr_assert_eq(rc, 0, "%s", w.k.err.message);
    return r;
}
/* Read what is there now. */
static size_t drain(struct journal_reader *r, bool even) {
    struct journal_piece p;
    size_t n = 0;
    int rc;
    for (int64_t at = journal_reader_cursor(r); (rc = journal_reader_next(r, &p, &w.k.err)) == 1;
         at = journal_reader_cursor(r))
        n += check_piece(&p, at, even);
    cr_assert(rc == 0 || rc == WOPR_E_CLOSED, "%s", w.k.err.message);
    return n;
}

Test(log, a_reader_of_an_ended_run_stands_in_no_topic /* SSE-24 */) {
    struct journal_reader *r = NULL;
    struct journal_stats st;
    int64_t no = fresh("run_1", 600); /* three pages */
    cr_assert_eq(append(kit_append(no, 600, 1, true), NULL), 0);
    cr_assert_eq(
        journal_reader_open(w.j, (&(struct journal_cursor){no, STR("run_1"), 9, &EVEN, NULL, NULL}),
                            &r, &w.k.err),
        0);
    journal_stats(w.j, &st);
    cr_expect_eq(st.readers, 1u);
    cr_expect_eq(st.topics, 0u);
    cr_expect_eq(drain(r, true), 591u);
    cr_expect_eq(drain(r, true), 0u, "the end stays the end");
    journal_reader_close(r);
    journal_stats(w.j, &st);
    cr_expect_eq(st.readers, 0u);
    cr_expect_eq(st.behind, 0u);
}

Test(log, a_reader_goes_from_backfill_to_live /* STORE-5, SSE-14 */) {
    struct bell b = BELL;
    int64_t no = fresh("run_1", 5);
    struct journal_reader *r = reader(no, -1, &EVEN, &b);
    cr_assert_eq(drain(r, true), 5);
    cr_assert_eq(append(kit_append(no, 5, 4, false), NULL), 0);
    await(&b);
    cr_assert_eq(drain(r, true), 4);
    cr_assert_eq(journal_reader_cursor(r), 8);
    cr_assert_eq(append(kit_append(no, 9, 1, true), NULL), 0);
    await(&b);
    cr_assert_eq(drain(r, true), 1);
    journal_reader_close(r);
}

Test(log, every_resume_point_gives_the_suffix /* SSE-26, 20-runtime 14 check 4 */) {
    struct bell b = BELL;
    int64_t no = fresh("run_1", 20);
    for (int64_t after = -1; after < 20; after++) {
        struct journal_reader *r = reader(no, after, &EVEN, &b);
        cr_assert_eq(drain(r, true), (size_t)(19 - after));
        journal_reader_close(r);
    }
}

Test(log, a_cursor_inside_a_commit_or_beyond_the_tail /* SSE-28 */) {
    struct bell b = BELL;
    int64_t no = fresh("run_1", 2);
    struct journal_reader *in = reader(no, 4, &EVEN, &b), *beyond = reader(no, 9, NULL, &b);
    cr_assert_eq(drain(in, true) + drain(beyond, false), 0);
    cr_assert_eq(append(kit_append(no, 2, 6, false), NULL), 0); /* 2..7 */
    await(&b);
    cr_assert_eq(drain(in, true), 3);
    cr_assert_eq(drain(beyond, false), 0);
    cr_assert_eq(append(kit_append(no, 8, 4, true), NULL), 0); /* 8..11 */
    while (drain(beyond, false) == 0) await(&b);
    cr_assert_eq(journal_reader_cursor(beyond), 11);
    cr_assert_eq(drain(in, true), 4);
    journal_reader_close(in);
    journal_reader_close(beyond);
}

Test(log, a_finished_run_is_read_to_its_end_and_no_further /* SSE-24, SSE-29 */) {
    struct bell b = BELL;
    struct journal_piece p;
    int64_t no = fresh("run_1", 3);
    cr_assert_eq(append(kit_append(no, 3, 2, true), NULL), 0);
    struct journal_reader *r = reader(no, 1, NULL, &b);
    cr_assert_eq(journal_reader_next(r, &p, &w.k.err), 1);
    cr_assert(p.events_nr == 3 && p.n == 0 && event_is_terminal(p.events[2].kind));
    cr_assert_eq(journal_reader_next(r, &p, &w.k.err), 0);
    journal_reader_close(r);
    r = reader(no, 4, NULL, &b);
    cr_assert_eq(journal_reader_next(r, &p, &w.k.err), 0);
    journal_reader_close(r);
}

Test(log, a_frame_is_rendered_once_for_all_readers /* STORE-7 */) {
    enum { N = 40 };
    struct bell b[N];
    struct journal_reader *r[N];
    int64_t no = fresh("run_1", 0);
    for (int i = 0; i < N; i++) {
        b[i] = (struct bell)BELL;
        r[i] = reader(no, -1, &EVEN, &b[i]);
        cr_assert_eq(drain(r[i], true), 0);
    }
    atomic_store(&renders, 0);
    cr_assert_eq(append(kit_append(no, 0, 6, false), NULL), 0);
    for (int i = 0; i < N; i++) {
        await(&b[i]);
        cr_assert_eq(drain(r[i], true), 6);
    }
    cr_assert_eq(atomic_load(&renders), 6);
    for (int i = 0; i < N; i++) journal_reader_close(r[i]);
}

Test(log, views_get_numbers_of_their_own_up_to_a_bound) {
    unsigned first = 0, second = 0;
    cr_assert_eq(journal_views_add(w.j, 14, &first, &w.k.err), 0);
    cr_assert_eq(journal_views_add(w.j, 2, &second, &w.k.err), 0);
    cr_expect_eq(first, VIEWS_NR);
    cr_expect_eq(second, first + 14);
    cr_expect_eq(journal_views_add(w.j, JOURNAL_VIEWS_MAX - second - 1, &first, &w.k.err),
                 WOPR_E_CONFIG);
    cr_expect_not_null(strstr(w.k.err.message, "kinds of streams"));
    cr_expect_eq(journal_views_add(w.j, JOURNAL_VIEWS_MAX - second - 2, &first, &w.k.err), 0);
    struct journal_view last = {.id = JOURNAL_VIEWS_MAX - 1, .render = render_even};
    struct bell b = BELL;
    int64_t no = fresh("run_1", 0);
    struct journal_reader *r = reader(no, -1, &last, &b);
    cr_assert_eq(drain(r, true), 0);
    cr_assert_eq(append(kit_append(no, 0, 6, false), NULL), 0);
    await(&b);
    cr_expect_eq(drain(r, true), 6);
    journal_reader_close(r);
}

Test(log, wake_comes_only_after_nothing_now) {
    struct bell b = BELL, other = BELL;
    int64_t no = fresh("run_1", 1);
    struct journal_reader *r = reader(no, 0, NULL, &b), *second = reader(no, 0, NULL, &other);
    cr_assert_eq(drain(second, false), 0); /* armed */
    cr_assert_eq(append(kit_append(no, 1, 1, false), NULL), 0);
    await(&other);
    cr_assert_eq(b.rings, 0, "it never said: nothing now");
    cr_assert_eq(drain(r, false), 1);
    cr_assert_eq(drain(second, false), 1);
    journal_reader_close(second);
    journal_reader_close(r);
    struct journal_stats s;
    journal_stats(w.j, &s);
    cr_assert(s.readers == 0 && s.commits >= 2 && s.plans == 2 && s.events == 2 &&
              s.plans_refused == 0);
}

Test(log, refusals_come_back_and_are_not_told) {
    struct bell b = BELL;
    int64_t no = fresh("run_1", 1);
    struct journal_reader *r = reader(no, -1, NULL, &b);
    cr_assert_eq(drain(r, false), 1);
    cr_assert_eq(append(kit_append(no, 7, 1, false), NULL), WOPR_E_STALE);
    cr_assert_eq(append(kit_append(no, 1, 1, false), NULL), 0);
    await(&b);
    cr_assert_eq(drain(r, false), 1);
    struct plan *p = kit_append(no, 2, 1, false);
    plan_fail(p, WOPR_E_TOO_BIG, "too big");
    cr_assert_eq(journal_append(w.j, p, on_done, &b), WOPR_E_TOO_BIG);
    plan_unref(p);
    journal_reader_close(r);
}

static void side_park(void *ctx, struct store *s) {
    struct bell *b = ctx;
    b->rc = store_run_park(s, b->run_no, LEASE_ANY, STR("by side"), NULL);
    ring(b);
}
Test(log, side_jobs_keep_their_place_in_the_queue) {
    struct bell b = BELL;
    b.run_no = fresh("run_1", 1);
    cr_assert_eq(journal_append(w.j, kit_append(b.run_no, 1, 1, false), NULL, NULL), 0);
    cr_assert_eq(journal_side(w.j, side_park, &b), 0);
    int rc = append(kit_append(b.run_no, 2, 1, false), NULL);
    cr_assert_eq(rc, WOPR_E_CORRUPT, "parked before it");
    cr_assert_eq(b.rc, 0);
    cr_assert_eq(kit_count_events(&w.k, b.run_no), 2);
}

/* ------------------------------------------------------------------------------ limits */
static void swap_log(const struct journal_config *cfg, bool start) {
    journal_stop(w.j);
    journal_free(w.j);
    log_up(cfg, start);
}

static int queue_for(struct str tenant, struct bell *b, size_t payload) {
    static int n;
    char id[24];
    snprintf(id, sizeof id, "run_q%d", n++);
    struct plan *p = kit_create(id, 0);
    p->create->meta.tenant = tenant;
    kit_events(p, 1, false, payload);
    int rc = journal_append(w.j, p, on_done, b);
    if (rc != 0) plan_unref(p);
    return rc;
}

struct whole { /* a side job that commits several plans as one */
    struct bell bell;
    struct plan *v[2];
    int rc, seen;
};
static void whole_do(void *ctx, struct store *s) {
    struct whole *x = ctx;
    struct wopr_error err;
    (void)s;
    x->rc = journal_commit_whole(w.j, x->v, 2, &err);
    ring(&x->bell);
}
static void whole_seen(void *ctx, struct plan *const *v, const int *rcs, size_t n) {
    struct whole *x = ctx;
    for (size_t i = 0; i < n; i++) x->seen += rcs[i] == 0 && v[i]->run_no > 0;
}

Test(log, what_a_side_job_commits_as_a_whole_is_published_like_a_batch) {
    struct whole x = {.bell = BELL};
    struct bell woken = BELL;
    struct journal_reader *r;
    struct journal_piece p;
    struct journal_stats before, after;
    journal_on_commit(w.j, whole_seen, &x);
    int64_t no = fresh("run_a", 2);
    const struct journal_cursor at = {
        .run_no = no, .run_id = STR("run_a"), .after_seq = 1, .wake = ring, .ctx = &woken};
    cr_assert_eq(journal_reader_open(w.j, &at, &r, &w.k.err), 0);
    cr_assert_eq(journal_reader_next(r, &p, &w.k.err), 0, "nothing now");
    journal_stats(w.j, &before);
    x.seen = 0;
    x.v[0] = kit_append(no, 2, 3, false);
    x.v[1] = kit_create("run_b", 4);
    cr_assert_eq(journal_side(w.j, whole_do, &x), 0);
    await(&x.bell);
    cr_assert_eq(x.rc, 0);
    await(&woken);
    cr_assert_eq(journal_reader_next(r, &p, &w.k.err), 1);
    cr_expect_eq(p.events_nr, 3u);
    journal_reader_close(r);
    cr_expect_eq(x.seen, 2, "telemetry is shown both");
    journal_stats(w.j, &after);
    cr_expect_eq(after.events - before.events, 7u);
    cr_expect_eq(after.plans - before.plans, 2u);

    /* a refusal of one: nothing of it is written, seen or published */
    plan_unref(x.v[0]);
    x.v[0] = kit_append(no, 5, 1, false);
    cr_assert_eq(journal_side(w.j, whole_do, &x), 0);
    await(&x.bell);
    cr_expect_eq(x.rc, WOPR_E_EXISTS, "run_b is there");
    cr_expect_eq(x.seen, 2);
    cr_expect_eq(kit_number(&w.k, "SELECT count(*) FROM events WHERE seq = 5"), 0);
    plan_unref(x.v[0]);
    plan_unref(x.v[1]);
    journal_on_commit(w.j, NULL, NULL);
}

Test(log, the_flood_of_one_tenant_leaves_room_in_the_queue_for_others /* S7, root 3 */) {
    struct bell b = BELL;
    swap_log(&(struct journal_config){.queue_max = 16}, false);
    for (int i = 0; i < 12; i++) cr_assert_eq(queue_for(STR("a"), &b, 40), 0);
    cr_expect_eq(queue_for(STR("a"), &b, 40), WOPR_E_UNAVAILABLE);
    for (int i = 0; i < 3; i++) cr_expect_eq(queue_for(STR("b"), &b, 40), 0);
    cr_expect_eq(journal_side(w.j, side_park, &b), 0, "leases too");
    cr_expect_eq(queue_for(STR("b"), &b, 40), WOPR_E_UNAVAILABLE);
    cr_assert_eq(journal_start(w.j, &w.k.err), 0);
    journal_stop(w.j);
    cr_expect_eq(b.rings, 16);
}

Test(log, the_queue_is_bounded_by_bytes_but_takes_any_plan_when_it_is_empty /* S6, root 3 */) {
    struct bell b = BELL;
    struct journal_stats s;
    swap_log(&(struct journal_config){.queue_bytes_max = 100000}, false);
    cr_assert_eq(queue_for(STR("a"), &b, 200000), 0);
    cr_expect_eq(queue_for(STR("b"), &b, 40), WOPR_E_UNAVAILABLE);
    journal_stats(w.j, &s);
    cr_expect(s.queue_bytes > 200000 && s.queue_bytes_max == 100000);
    cr_assert_eq(journal_start(w.j, &w.k.err), 0);
    journal_stop(w.j);
    journal_stats(w.j, &s);
    cr_expect_eq(s.queue_bytes, 0u);
}

Test(log, a_full_queue_refuses_and_loses_nothing) {
    struct bell b = BELL;
    int64_t no = fresh("run_1", 0);
    swap_log(&(struct journal_config){.queue_max = 3}, false);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(journal_append(w.j, kit_append(no, i, 1, false), on_done, &b), 0);
    struct plan *p = kit_append(no, 3, 1, false);
    cr_assert_eq(journal_append(w.j, p, on_done, &b), WOPR_E_UNAVAILABLE);
    cr_assert_eq(journal_side(w.j, side_park, &b), WOPR_E_UNAVAILABLE);
    cr_assert_eq(journal_start(w.j, &w.k.err), 0);
    journal_stop(w.j); /* commits what is queued */
    cr_assert_eq(b.rings, 3);
    cr_assert_eq(kit_count_events(&w.k, no), 3);
    cr_assert_eq(journal_append(w.j, p, on_done, &b), WOPR_E_CLOSED);
    plan_unref(p);
}

/* What came back by journal_append_to, in order. */
struct basket {
    int calls, rcs[8];
    void *ctx[8];
    size_t n;
};
static void on_landed(void *owner, const struct journal_result *v, size_t n) {
    struct basket *k = owner;
    k->calls++;
    for (size_t i = 0; i < n && k->n < 8; i++, k->n++) {
        k->rcs[k->n] = v[i].rc;
        k->ctx[k->n] = v[i].ctx;
        plan_unref(v[i].plan);
    }
}

Test(log, the_plans_of_a_batch_come_back_together) {
    int64_t no = fresh("run_1", 0);
    for (int started = 0; started < 2; started++) {
        static const int64_t base[] = {0, 1, 2, 99, 3, 4};
        static const int order[] = {0, 2, 3, 5};
        struct basket one = {0}, two = {0};
        struct bell b = BELL;
        char mark[6];
        swap_log(NULL, false); /* what is queued before the start is one batch */
        for (int i = 0; i < 6; i++) {
            struct plan *p = kit_append(no, base[i], 1, false);
            int rc = i == 4 ? journal_append(w.j, p, on_done, &b)
                            : journal_append_to(w.j, p, on_landed, i == 1 ? &two : &one, &mark[i]);
            cr_assert_eq(rc, 0);
        }
        if (started) cr_assert_eq(journal_start(w.j, &w.k.err), 0);
        journal_stop(w.j);
        cr_assert(one.n == 4 && one.calls == 3, "%zu in %d", one.n, one.calls);
        cr_assert(two.n == 1 && two.calls == 1 && two.ctx[0] == &mark[1]);
        for (int i = 0; i < 4; i++) {
            cr_assert_eq(one.ctx[i], &mark[order[i]]);
            int want = i == 2 ? WOPR_E_STALE : 0;
            cr_assert_eq(one.rcs[i], started ? want : WOPR_E_CLOSED);
        }
        cr_assert(b.rings == 1 && b.rc == (started ? 0 : WOPR_E_CLOSED));
    }
    cr_assert_eq(kit_count_events(&w.k, no), 5);
}

Test(log, what_never_started_gives_its_plans_back) {
    struct bell b = BELL;
    int64_t no = fresh("run_1", 0);
    swap_log(NULL, false);
    cr_assert_eq(journal_append(w.j, kit_append(no, 0, 1, false), on_done, &b), 0);
    journal_stop(w.j);
    cr_assert(b.rings == 1 && b.rc == WOPR_E_CLOSED);
    cr_assert_eq(kit_count_events(&w.k, no), 0);
}

Test(log, a_shortage_of_memory_loses_no_event_and_no_wake /* L2 */) {
    struct bell b = BELL, done = BELL;
    int64_t no = fresh("run_1", 1), tail = 1;
    struct journal_reader *r = reader(no, 0, &EVEN, &b);
    bool clean = false;
    logger_level((enum log_level)(LOG_ERROR + 1)); /* what is logged below is wanted */
    for (unsigned nth = 1; nth < 300 && !clean; nth++) {
        while (drain(r, true) > 0) continue;
        b.rings = 0;
        struct plan *p = kit_append(no, tail, 2, false);
        cr_assert(fault_arm(1u << FAULT_MALLOC, nth) || nth > 1);
        cr_assert_eq(journal_append(w.j, p, on_done, &done), 0);
        await(&done);
        if (done.rc == 0) {
            await(&b); /* whatever failed, it is told */
            tail += 2;
        } else {
            cr_assert_eq(done.rc, WOPR_E_NO_MEMORY);
        }
        clean = !fault_fired();
        fault_disarm();
        cr_assert_eq(drain(r, true), done.rc == 0 ? 2 : 0);
    }
    cr_assert(clean);
    journal_reader_close(r);
    cr_assert_eq(kit_count_events(&w.k, no), tail);
}

Test(log, a_lagging_reader_misses_nothing /* L3, SSE-25 */) {
    struct bell b = BELL, b2 = BELL;
    struct journal_piece p;
    struct journal_stats s;
    int64_t no = fresh("run_1", 1);
    swap_log(&(struct journal_config){.topic_bytes_max = 40000}, true);
    struct journal_reader *slow = reader(no, -1, &EVEN, &b), *quick = reader(no, -1, &EVEN, &b2);
    cr_assert_eq(drain(slow, true), 1);
    cr_assert_eq(drain(quick, true), 1);
    cr_assert_eq(append(kit_append(no, 1, 2, false), NULL), 0);
    await(&b);
    cr_assert_eq(journal_reader_next(slow, &p, &w.k.err), 1);
    const char first = p.p[0]; /* held over everything that follows */
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(append(kit_append(no, 3 + i, 1, false), NULL), 0);
        while (journal_reader_cursor(quick) < 3 + i) {
            if (drain(quick, true) == 0) await(&b2);
        }
    }
    journal_stats(w.j, &s);
    cr_assert_eq(s.lagged, 0);
    cr_assert_eq(first, 'r');
    check_piece(&p, 0, true);
    cr_assert_eq(drain(slow, true), 100);
    journal_stats(w.j, &s);
    cr_assert(s.lagged == 1 && s.topics == 1 && s.readers == 2);
    cr_assert_eq(append(kit_append(no, 103, 1, false), NULL), 0);
    await(&b);
    cr_assert_eq(drain(slow, true), 1, "live again");
    journal_reader_close(slow);
    journal_reader_close(quick);
}

Test(log, stop_ends_readers_and_waiters /* SSE-25 */) {
    struct bell b = BELL, b2 = BELL;
    struct journal_piece p;
    struct journal_waiter *wt = NULL, *late = NULL;
    struct journal_reader *r2 = NULL;
    int64_t no = fresh("run_1", 1);
    struct journal_reader *r = reader(no, -1, NULL, &b);
    cr_assert_eq(drain(r, false), 1);
    cr_assert_eq(journal_wait(w.j, no, 0, ring, &b2, &wt, &w.k.err), 0);
    cr_assert_eq(journal_append(w.j, kit_append(no, 1, 1, false), NULL, NULL), 0);
    journal_stop(w.j);
    await(&b);
    await(&b2);
    cr_assert_eq(journal_reader_next(r, &p, &w.k.err), 1, "what was committed is still delivered");
    cr_assert_eq(journal_reader_next(r, &p, &w.k.err), WOPR_E_CLOSED);
    journal_reader_close(r);
    journal_wait_cancel(wt);
    cr_assert_eq(journal_wait(w.j, no, 5, ring, &b2, &late, &w.k.err), WOPR_E_CLOSED);
    cr_assert_eq(
        journal_reader_open(w.j, (&(struct journal_cursor){no, STR("run_1"), -1, NULL, ring, &b}),
                            &r2, &w.k.err),
        WOPR_E_CLOSED);
}

Test(log, a_waiter_is_woken_once_for_something_newer /* SSE-39 */) {
    struct bell b = BELL, b2 = BELL;
    struct journal_waiter *x = NULL, *y = NULL;
    int64_t no = fresh("run_1", 3);
    cr_assert_eq(journal_wait(w.j, no, 1, ring, &b, &x, &w.k.err), 0);
    await(&b); /* event 2 is there already */
    journal_wait_cancel(x);
    cr_assert_eq(journal_wait(w.j, no, 2, ring, &b, &x, &w.k.err), 0);
    cr_assert_eq(journal_wait(w.j, no, 3, ring, &b2, &y, &w.k.err), 0);
    cr_assert_eq(append(kit_append(no, 3, 1, false), NULL), 0);
    await(&b);
    cr_assert_eq(append(kit_append(no, 4, 1, false), NULL), 0);
    await(&b2);
    journal_wait_cancel(x);
    journal_wait_cancel(y);
    cr_assert(b.rings == 0 && b2.rings == 0);
    cr_assert_eq(journal_wait(w.j, no, 4, ring, &b, &x, &w.k.err), 0);
    journal_wait_cancel(x); /* without a wake */
    cr_assert_eq(b.rings, 0);
    journal_wait_cancel(NULL);
    journal_reader_close(NULL);
}

/* ------------------------------------------------------------------------------ load */
enum { READERS = 50, COMMITS = 1500 };
static int64_t load_no;
static struct sha256 load_want;

static void render_all(const void *ctx, struct str run_id, const struct event *e, struct buf *out) {
    (void)ctx, (void)run_id;
    buf_addf(out, "%lld %s ", (long long)e->seq, event_name(e->kind));
    buf_adds(out, e->payload);
}

static void *load_reader(void *arg) {
    size_t me = (size_t)arg;
    struct bell b = BELL;
    struct wopr_error err;
    struct journal_reader *r = NULL;
    struct buf all;
    struct journal_view v = {.id = 1 + (unsigned)(me % 2), .render = render_all};
    bool over = false;
    buf_init(&all, 64u << 20);
    cr_assert_eq(
        journal_reader_open(
            w.j, (&(struct journal_cursor){load_no, STR("run_1"), -1, &v, ring, &b}), &r, &err),
        0);
    while (!over) {
        struct journal_piece p;
        int64_t before = journal_reader_cursor(r);
        int rc = journal_reader_next(r, &p, &err);
        cr_assert_geq(rc, 0, "%s", err.message);
        if (rc == 0) {
            await(&b);
            continue;
        }
        for (size_t i = 0; i < p.events_nr; i++)
            cr_assert_eq(p.events[i].seq, before + 1 + (int64_t)i);
        buf_add(&all, p.p, p.n);
        over = event_is_terminal(p.events[p.events_nr - 1].kind);
        if (me % 5 == 4 && !over) { /* leaves and comes back */
            int64_t at = journal_reader_cursor(r);
            journal_reader_close(r);
            cr_assert_eq(journal_reader_open(
                             w.j,
                             (&(struct journal_cursor){load_no, STR("run_1"), at, &v, ring, &b}),
                             &r, &err),
                         0);
        }
    }
    journal_reader_close(r);
    struct sha256 got = sha256_of(buf_str(&all));
    buf_fini(&all);
    return sha256_eq(&got, &load_want) ? NULL : arg;
}

static void load_expect(int64_t events) { /* what each reader must have seen, computed beforehand */
    struct buf b;
    buf_init(&b, 64u << 20);
    for (int64_t at = 0; at < events;) {
        struct plan *p =
            kit_append(load_no, at, at + 3 >= events ? (size_t)(events - at) : 3, at + 3 >= events);
        for (size_t i = 0; i < p->events_nr; i++) render_all(NULL, STR_NONE, &p->events[i], &b);
        at += (int64_t)p->events_nr;
        plan_unref(p);
    }
    load_want = sha256_of(buf_str(&b));
    buf_fini(&b);
}

Test(log, the_seam_holds_under_load /* SSE-14, 20-runtime 14 check 4 */) {
    pthread_t t[READERS];
    swap_log(&(struct journal_config){.topic_bytes_max = 300000}, true);
    load_no = fresh("run_1", 0);
    load_expect(COMMITS * 3);
    for (size_t i = 0; i < READERS / 2; i++)
        cr_assert_eq(pthread_create(&t[i], NULL, load_reader, (void *)(i + 1)), 0);
    for (int i = 0; i < COMMITS; i++) {
        if (i == COMMITS / 3)
            for (size_t j = READERS / 2; j < READERS; j++)
                cr_assert_eq(pthread_create(&t[j], NULL, load_reader, (void *)(j + 1)), 0);
        struct plan *p = kit_append(load_no, 3 * i, 3, i + 1 == COMMITS);
        int rc;
        while ((rc = journal_append(w.j, p, NULL, NULL)) == WOPR_E_UNAVAILABLE) continue;
        cr_assert_eq(rc, 0);
    }
    for (size_t i = 0; i < READERS; i++) {
        void *bad = NULL;
        pthread_join(t[i], &bad);
        cr_assert_null(bad, "reader %zu saw another log than the store", i);
    }
    struct journal_stats s;
    journal_stats(w.j, &s);
    cr_assert(s.readers == 0 && s.events == COMMITS * 3);
    cr_assert_eq(kit_count_events(&w.k, load_no), COMMITS * 3);
}

/* ------------------------------------------------------------------------------ race through the
 * queue */
enum { WRITERS = 16, WRITES = 100 };

static void *queue_writer(void *arg) {
    struct arena *a = arena_new(1 << 20);
    (void)arg;
    for (int done = 0; done < WRITES;) {
        struct run_head h;
        arena_reset(a);
        cr_assert_eq(store_run_head(w.k.s, KIT_TENANT, false, STR("run_1"), a, &h, NULL), 0);
        int rc = append(kit_append(load_no, h.next_seq, 2, false), NULL);
        cr_assert(rc == 0 || rc == WOPR_E_STALE);
        done += rc == 0;
    }
    arena_free(a);
    return NULL;
}

Test(log, writers_on_one_run_leave_no_gap_and_readers_see_all /* EVT-2 */) {
    pthread_t t[WRITERS];
    struct bell b = BELL;
    load_no = fresh("run_1", 0);
    struct journal_reader *r = reader(load_no, -1, NULL, &b);
    for (int i = 0; i < WRITERS; i++)
        cr_assert_eq(pthread_create(&t[i], NULL, queue_writer, NULL), 0);
    for (size_t n = 0; n < 2 * WRITERS * WRITES;) {
        size_t got = drain(r, false);
        n += got;
        if (got == 0) await(&b);
    }
    for (int i = 0; i < WRITERS; i++) pthread_join(t[i], NULL);
    cr_assert_eq(drain(r, false), 0);
    journal_reader_close(r);
    cr_assert_eq(kit_count_events(&w.k, load_no), 2 * WRITERS * WRITES);
}

Test(log, ten_thousand_readers_share_each_frame_and_all_arrive) {
    enum { MANY = 10000, EVENTS = 20 };
    struct journal_reader **r = mem_array(MANY, sizeof(struct journal_reader *));
    struct bell any = BELL; /* rung for whichever reader */
    int64_t no = fresh("run_1", 1);
    for (int i = 0; i < MANY; i++) {
        r[i] = reader(no, 0, &EVEN, &any);
        cr_assert_eq(drain(r[i], true), 0);
    }
    atomic_store(&renders, 0);
    for (int i = 0; i < EVENTS; i++) cr_assert_eq(append(kit_append(no, 1 + i, 1, false), NULL), 0);
    for (int i = 0; i < MANY; i++)
        for (size_t n = drain(r[i], true); n < EVENTS; n += drain(r[i], true)) await(&any);
    cr_assert_eq(atomic_load(&renders), EVENTS);
    for (int i = 0; i < MANY; i++) journal_reader_close(r[i]);
    mem_free(r);
}

static struct bell gate = BELL; /* opened by the test */
static atomic_int held;
static void wake_slowly(void *ctx) { /* a wake that is not over before the gate opens */
    (void)ctx;
    atomic_store(&held, 1);
    await(&gate);
}
Test(log, waking_does_not_hold_up_the_committer /* L3 */) {
    struct journal_piece p;
    struct journal_reader *r = NULL;
    int64_t no = fresh("run_1", 1);
    cr_assert_eq(journal_reader_open(
                     w.j, (&(struct journal_cursor){no, STR("run_1"), 0, NULL, wake_slowly, NULL}),
                     &r, &w.k.err),
                 0);
    cr_assert_eq(journal_reader_next(r, &p, &w.k.err), 0);
    for (int i = 0; i < 50; i++) cr_assert_eq(append(kit_append(no, 1 + i, 1, false), NULL), 0);
    while (atomic_load(&held) == 0) sched_yield();
    cr_assert_eq(append(kit_append(no, 51, 1, false), NULL), 0, "committed while the hub is stuck");
    ring(&gate);
    journal_reader_close(r); /* waits for the wake in progress */
}
