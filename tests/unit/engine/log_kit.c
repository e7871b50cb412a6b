/* log_kit.c: see log_kit.h. */
#include "log_kit.h"

#include "base/clock.h"
#include "store/leases.h"
#include "store/upkeep.h"

#include <criterion/criterion.h>

struct side {
    void (*job)(void *ctx, struct store *s);
    void *ctx;
    sem_t done;
};

static void side_now(void *ctx, struct store *s) {
    struct side *x = ctx;
    if (x->job) x->job(x->ctx, s);
    sem_post(&x->done);
}

static void sem_await(sem_t *done) {
    while (sem_wait(done) != 0) {
    }
    sem_destroy(done);
}

void log_side(void (*job)(void *ctx, struct store *s), void *ctx) {
    struct side x = {.job = job, .ctx = ctx};
    sem_init(&x.done, 0, 0);
    cr_assert_eq(journal_side(W.journal, side_now, &x), 0);
    sem_await(&x.done);
}

void log_rest(void) { log_side(NULL, NULL); }

static void plan_back(void *ctx, struct plan *p, int rc) {
    cr_assert_eq(rc, 0);
    plan_unref(p);
    sem_post(ctx);
}

void log_append(struct plan *p) {
    sem_t done;
    sem_init(&done, 0, 0);
    cr_assert_eq(journal_append(W.journal, p, plan_back, &done), 0);
    sem_await(&done);
}

void log_break(struct str run) {
    struct run_head h = world_head(run);
    struct plan *p = plan_new();
    p->what = PLAN_RUN;
    p->run_id = arena_str(p->arena, run);
    p->run_no = h.run_no;
    p->base_seq = h.next_seq;
    p->epoch = h.epoch;
    /* The run begins once more. */
    (void)plan_event(p, W.rules, NULL, EV_RUN_STARTED, STR_NONE, -1, clock_wall_ms(),
                     STR("{\"workflowId\":\"w\"}"));
    log_append(p);
}

static void park_now(void *ctx, struct store *s) {
    struct wopr_error err;
    cr_assert_eq(store_run_park(s, *(int64_t *)ctx, LEASE_ANY, STR("for a test"), &err), 0);
}

void log_park(struct str run) {
    int64_t no = world_head(run).run_no;
    log_side(park_now, &no);
}

static void purge_now(void *ctx, struct store *s) {
    struct wopr_error err = {0};
    bool more = true;
    (void)ctx;
    for (int64_t n; more;)
        cr_assert_eq(store_purge_runs(s, INT64_MAX / 2, clock_wall_ms(), 1000, &n, &more, &err), 0,
                     "%s", err.message);
}

void log_purge_ended(void) { log_side(purge_now, NULL); }

static void purge_first(void *ctx, struct store *s) {
    struct wopr_error err = {0};
    int64_t n;
    (void)ctx;
    cr_assert_eq(store_purge_runs(s, INT64_MAX / 2, clock_wall_ms(), 1, &n, NULL, &err), 0, "%s",
                 err.message);
}

void log_purge_run(struct str run) {
    world_sql(
        arena_cstr(W.a, arena_printf(W.a, "UPDATE runs SET completed_ms = 1 WHERE run_no = %lld",
                                     (long long)world_head(run).run_no)));
    log_side(purge_first, NULL); /* those that ended first go first */
    struct run_head h;
    struct wopr_error err;
    cr_assert_eq(store_run_head(W.store, STR("t1"), true, run, W.a, &h, &err), WOPR_E_EXPIRED);
}

struct child_row_list children_of(struct str run) {
    struct wopr_error err = {0};
    struct child_row_list l;
    cr_assert_eq(store_children(W.store, run, false, 100, W.a, &l, &err), 0, "%s", err.message);
    return l;
}

struct str child_of(struct str run) {
    for (;;) {
        struct child_row_list l = children_of(run);
        if (l.n > 0) return l.v[0].run_id;
        cr_assert(!run_status_final(world_head(run).status), "%s", world_story(run));
        log_rest();
    }
}
