/*
 * test_task_races.c: words of workers that meet another commit on their way (WRK-14, WRK-17).
 */
#include "engine/job.h"
#include "worker_kit.h"

#include <criterion/criterion.h>
#include <unistd.h>

#define TYPE "acme.race"

static sem_t held, go;

static void up(void) {
    sem_init(&held, 0, 0);
    sem_init(&go, 0, 0);
    world_up();
}
static void down(void) {
    world_down();
    sem_destroy(&held);
    sem_destroy(&go);
}
TestSuite(engine_task_races, .init = up, .fini = down, .timeout = 60);

static struct task_row task_leased(struct str *run) {
    worker_type_put(TYPE);
    *run = world_start(world_def("w", NODE("n", TYPE, "", "") "," NODE("d", "core.noop", "", ""),
                                 EDGE("e", "n", "d", ""), 0, 0, 0),
                       NULL);
    world_wait_event(*run, EV_NODE_STARTED, 1);
    struct task_row_list l = worker_claim(TYPE, 1, 30000);
    cr_assert_eq(l.n, 1u);
    return l.v[0];
}

/* On the committer, ahead of the plan that waits behind it. */
static void leases_end(struct engine *e, struct store *s, void *args) {
    struct task_lapse_list l = {0};
    struct wopr_error err;
    struct arena *a = arena_new(1u << 20);
    (void)e, (void)args;
    sem_post(&held);
    sem_wait(&go);
    cr_expect(a && store_tasks_expire(s, INT64_MAX / 2, 10, a, &l, &err) == 0 && l.n == 1);
    arena_free(a);
}

static void plan_waits(void) {
    struct journal_stats s = {0};
    for (int i = 0; i < 20000 && s.queue_len == 0; i++) {
        usleep(1000);
        journal_stats(W.journal, &s);
    }
    cr_assert_gt(s.queue_len, 0u);
}

Test(engine_task_races, a_lease_that_ends_before_the_commit_is_told_as_any_other /* WRK-14 */) {
    struct call c;
    struct str run;
    struct task_row t = task_leased(&run);
    cr_assert(job_post(W.engine, leases_end, NULL, 0));
    cr_assert_eq(world_wait_sem(&held), 0);
    call_init(&c, ENGINE_TASK, run);
    c.cmd.task = (struct cmd_task){.task_id = t.task_id,
                                   .epoch = t.epoch,
                                   .says = {.verb = TASK_COMPLETE, .output = STR("{}")}};
    call_send(&c);
    plan_waits();
    sem_post(&go);
    call_wait(&c);
    const struct engine_result *r = &c.cmd.result;
    cr_expect_eq(r->rc, WOPR_E_TASK_LOST, "%s", wopr_err_name(r->rc));
    cr_expect_not_null(strstr(r->err.details, "\"state\":\"ready\""), "%s", r->err.details);
    cr_expect_not_null(strstr(r->err.details, "\"epoch\":1"), "%s", r->err.details);
    cr_expect_eq(r->retry_after_s, 0, "nothing gives the lease back");
    call_fini(&c);
    cr_assert_eq(worker_claim(TYPE, 1, 30000).n, 1u, "and another worker has it");
    cr_expect_eq(world_count(run, EV_NODE_COMPLETED), 0u);
}

Test(engine_task_races, a_forged_epoch_is_told_as_one /* WRK-14 */) {
    struct str run;
    struct task_row t = task_leased(&run);
    const struct task_says done = {.verb = TASK_COMPLETE, .output = STR("{}")};
    struct wopr_error err;
    t.epoch = 7;
    cr_expect_eq(worker_say(&t, &done, &err), WOPR_E_TASK_LOST);
    cr_expect_not_null(strstr(err.message, "no claim has had this epoch"), "%s", err.message);
    cr_expect_not_null(strstr(err.details, "\"epoch\":1"), "%s", err.details);
    t.epoch = 1;
    cr_expect_eq(worker_say(&t, &done, &err), 0, "%s", err.message);
}
