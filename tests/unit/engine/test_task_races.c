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
TestSuite(engine_task_races, .init = up, .fini = down, .timeout = 300);

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

static uint64_t plans_waiting(void) {
    struct journal_stats s;
    journal_stats(W.journal, &s);
    return s.queue_len;
}

static void plan_waits(uint64_t before) {
    for (int i = 0; i < 20000 && plans_waiting() <= before; i++) usleep(1000);
    cr_assert_gt(plans_waiting(), before);
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
    uint64_t before = plans_waiting();
    call_send(&c);
    plan_waits(before);
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

/* --- many claims at once --- */

enum { CLAIMS = 200, CLAIM_MAX = 64, CLAIMS_AHEAD = 8 };

struct many {
    struct engine_task_op o[CLAIMS + 1];
    unsigned done, other_after, run_after; /* how many were done when the other was, and the run */
    sem_t all;
};
static struct many *many;

static void many_done(struct engine_task_op *o) { /* on the committer */
    if (o == &many->o[CLAIMS]) many->other_after = many->done;
    if (many->run_after == 0 && world_sql_number("SELECT count(*) FROM runs") > 0)
        many->run_after = many->done;
    if (++many->done == CLAIMS + 1) sem_post(&many->all);
}

static void committer_held(struct engine *e, struct store *s, void *args) {
    (void)e, (void)s, (void)args;
    sem_post(&held);
    sem_wait(&go);
}

static void claim_many(const struct str *type) {
    for (unsigned i = 0; i <= CLAIMS; i++) {
        struct engine_task_op *o = &many->o[i];
        o->done = many_done;
        o->op =
            (struct task_op){.what = TASK_OP_CLAIM, .a = W.a, .max = CLAIM_MAX, .lease_ms = 30000};
        o->op.queue = (struct task_queue){i < CLAIMS ? STR("t1") : STR("t2"), true, type, 1};
        engine_task_op(W.engine, o);
    }
}

Test(engine_task_races, many_claims_of_one_tenant_keep_nobody_waiting /* WRK-24 */) {
    const struct str type = STR(TYPE);
    struct call c;
    struct wopr_error err;
    many = arena_alloc(W.a, sizeof *many);
    memset(many, 0, sizeof *many);
    sem_init(&many->all, 0, 0);
    struct workflow *wf = world_put(world_def("w", NODE("d", "core.noop", "", ""), 0, 0, 0, 0));
    cr_assert(job_post(W.engine, committer_held, NULL, 0));
    cr_assert_eq(world_wait_sem(&held), 0);
    claim_many(&type);
    call_init(&c, ENGINE_CREATE, STR_NONE);
    c.cmd.create.wf = wf;
    c.cmd.create.inputs_accepted = STR("{}");
    cr_assert_eq(run_options_load(STR_NONE, STR_NONE, STR_NONE, &RUN_LIMITS_DEFAULT, c.cmd.arena,
                                  &c.cmd.create.options, &err),
                 0);
    uint64_t before = plans_waiting();
    call_send(&c);
    plan_waits(before);
    sem_post(&go);
    cr_assert_eq(world_wait_sem(&many->all), 0);
    call_wait(&c);
    cr_expect_eq(c.cmd.result.rc, 0, "%s", c.cmd.result.err.message);
    cr_expect_leq(many->other_after, CLAIMS_AHEAD, "another tenant's claim was after %u",
                  many->other_after);
    cr_expect_leq(many->run_after, CLAIMS_AHEAD, "a run was created after %u", many->run_after);
    cr_expect_gt(many->run_after, 0u);
    call_fini(&c);
    workflow_unref(wf);
    sem_destroy(&many->all);
}
