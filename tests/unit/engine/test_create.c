/* test_create.c: the plan that creates a run carries its first step (RUN-4, RUN-7, IDEM-12). */
#include "engine_world.h"
#include "store/admin.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

/* What the first step does, and not what a busy machine lets it do within a moment. */
enum { PATIENT_MS = 600000 };

static void up_patient(void) {
    W.cfg.create_ms_max = PATIENT_MS;
    world_up();
}
TestSuite(engine_create, .init = up_patient, .fini = world_down);

static void up_virtual(void) {
    world_virtual_time();
    up_patient();
}
static void up_one_worker(void) {
    W.cfg.workers = 1;
    up_virtual();
}
TestSuite(engine_create_time, .init = up_virtual, .fini = world_down);

static void create_init(struct call *c, struct workflow *wf) {
    struct wopr_error err;
    call_init(c, ENGINE_CREATE, STR_NONE);
    c->cmd.create.wf = wf;
    c->cmd.create.inputs_accepted = STR("{}");
    cr_assert_eq(run_options_load(STR_NONE, STR_NONE, STR_NONE, &RUN_LIMITS_DEFAULT, c->cmd.arena,
                                  &c->cmd.create.options, &err),
                 0);
}

static struct workflow *noop(void) {
    return world_put(world_def("w", NODE("n", "core.noop", "", ""), 0, 0, 0, 0));
}

static struct store_counts counts(void) {
    struct store_counts n;
    struct wopr_error err;
    cr_assert_eq(store_count(W.store, &n, &err), 0);
    return n;
}

static struct engine_stats stats(void) {
    struct engine_stats st;
    engine_stats(W.engine, &st);
    return st;
}

static uint64_t plans(void) {
    struct journal_stats ls;
    journal_stats(W.journal, &ls);
    return ls.plans;
}

/* The worker drops a run after it has answered. */
static void wait_idle(void) {
    while (stats().runs_active > 0) sched_yield();
}

Test(engine_create, a_run_that_ends_at_once_is_one_plan /* RUN-4, STORE-2 */) {
    struct workflow *wf = noop();
    struct call c;
    uint64_t before = plans();
    create_init(&c, wf);
    call_do(&c);
    cr_expect_eq(c.cmd.result.rc, 0);
    cr_expect_eq(c.cmd.result.status, RUN_PENDING);
    cr_expect_eq(c.responds, 1);
    struct str r = arena_str(W.a, c.cmd.result.run_id);
    cr_expect_eq(world_head(r).status, RUN_COMPLETED, "ended when the answer came");
    EXPECT_STR(world_story(r), "run.started node.started(n) node.completed(n) run.completed");
    world_check_log(r);
    struct run_view v = world_view(r);
    cr_expect_eq(v.nodes_nr, 1);
    cr_expect_eq(v.created_ms, c.cmd.result.at_ms);
    cr_expect(v.started_ms >= v.created_ms && v.completed_ms >= v.started_ms);
    cr_expect(str_eqc(v.outputs, "{\"n\":{}}"));
    wait_idle();
    cr_expect_eq(plans(), before + 1);
    cr_expect_eq(counts().runs, 1);
    cr_expect_eq(counts().runs_open, 0);
    cr_expect_eq(counts().events, 4);
    struct engine_stats st = stats();
    cr_expect(st.runs_created == 1 && st.runs_completed == 1 && st.nodes_completed == 1);
    call_fini(&c);
    workflow_unref(wf);
}

Test(engine_create, a_keyed_creation_that_ends_at_once_is_replayed /* IDEM-5, IDEM-12 */) {
    struct workflow *wf = noop();
    struct call c[3];
    for (int i = 0; i < 3; i++) {
        create_init(&c[i], wf);
        call_key(&c[i], "k", i < 2 ? "{}" : "{\"x\":1}");
        call_do(&c[i]);
        cr_expect_eq(c[i].cmd.replayed, i == 1);
    }
    cr_expect(str_eq(c[0].cmd.response.body, c[1].cmd.response.body));
    cr_expect_eq(c[2].cmd.result.rc, WOPR_E_IDEM_CONFLICT);
    wait_idle();
    struct engine_stats st = stats(); /* what was refused has not happened, nor been counted */
    cr_expect(st.runs_created == 1 && st.runs_completed == 1 && st.nodes_completed == 1);
    cr_expect_eq(counts().runs, 1);
    cr_expect_eq(counts().events, 4);
    for (int i = 0; i < 3; i++) call_fini(&c[i]);
    workflow_unref(wf);
}

static int create_scoped(struct workflow *wf, struct str *run_id) {
    struct call c;
    create_init(&c, wf);
    c.cmd.create.scope_id = STR("s");
    c.cmd.create.dedup_enforce = true;
    call_do(&c);
    int rc = c.cmd.result.rc;
    if (rc == 0) *run_id = arena_str(W.a, c.cmd.result.run_id);
    call_fini(&c);
    return rc;
}

Test(engine_create_time, an_enforced_scope_is_free_after_a_run_that_ended_at_once /* RUN-7 */) {
    struct workflow *wf = noop();
    struct workflow *slow = world_put(world_def(
        "slow", NODE("n", "core.noop", "", "") "," NODE("d", "core.delay", "\"ms\":1000", ""),
        EDGE("e", "n", "d", ""), 0, 0, 0));
    struct str r = STR_NONE;
    for (int i = 0; i < 3; i++) cr_expect_eq(create_scoped(wf, &r), 0);
    cr_expect_eq(create_scoped(slow, &r), 0);
    uint64_t nodes = stats().nodes_completed, timers = stats().timers;
    cr_expect_eq(create_scoped(slow, &r), WOPR_E_RUN_ALREADY_ACTIVE);
    cr_expect_eq(create_scoped(wf, &r), WOPR_E_RUN_ALREADY_ACTIVE);
    while (stats().runs_active > 1) sched_yield();
    cr_expect_eq(stats().nodes_completed, nodes, "a refused run has executed nothing");
    cr_expect_eq(stats().timers, timers, "and waits for nothing");
    cr_expect_eq(counts().runs, 4);
    world_time_skip(2000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(create_scoped(slow, &r), 0);
    workflow_unref(wf);
    workflow_unref(slow);
}

Test(engine_create, an_executor_with_effects_waits_for_the_commit /* STORE-2 */) {
    struct workflow *wf =
        world_put(world_def("w", NODE("a", "core.noop", "", "") "," NODE("h", "test.hold", "", ""),
                            EDGE("e", "a", "h", ""), 0, 0, 0));
    struct str r = STR_NONE, none = STR_NONE;
    cr_expect_eq(create_scoped(wf, &r), 0, "answered while the executor cannot end");
    while (sem_wait(&HOLD_HELD) != 0) {
    }
    EXPECT_STR(world_story(r), "run.started node.started(a) node.completed(a)");
    cr_expect_eq(create_scoped(wf, &none), WOPR_E_RUN_ALREADY_ACTIVE);
    cr_expect_eq(SPY_CALLS, 1, "not entered for a run that is refused");
    sem_post(&HOLD_GO);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(SPY_CALLS, 1);
    world_check_log(r);
    workflow_unref(wf);
}

static struct str delayed(void) {
    return world_start(
        world_def("w",
                  NODE("s", "core.setVariable", "\"name\":\"v\",\"value\":7",
                       "") "," NODE("d", "core.delay", "\"ms\":60000",
                                    "") "," NODE("c", "core.channelWrite",
                                                 "\"channelName\":\"log\",\"value\":1", ""),
                  EDGE("e", "s", "d", "") "," EDGE("f", "d", "c", ""),
                  "{\"name\":\"v\",\"type\":\"number\",\"defaultValue\":1},"
                  "{\"name\":\"x\",\"type\":\"string\",\"sensitive\":true,"
                  "\"defaultValue\":\"hush\"}",
                  0, ",\"channels\":{\"log\":{\"reducer\":\"append\"}}"),
        NULL);
}

Test(engine_create_time, the_creating_plan_holds_rows_and_timers /* EVT-44, STORE-38 */) {
    uint64_t before = plans();
    struct str r = delayed();
    cr_expect_eq(plans(), before + 1);
    EXPECT_STR(world_story(r), "run.started node.started(s) variable.changed(s) node.completed(s) "
                               "node.started(d)");
    cr_expect_eq(world_head(r).status, RUN_RUNNING);
    cr_expect(str_eqc(world_var(r, "v"), "7"), "the value after the step, not the default");
    cr_expect(str_eqc(world_var(r, "x"), "\"[REDACTED]\"")); /* OBS-72 */
    cr_expect(str_eqc(world_var(r, "log"), "[]"), STR_FMT, STR_ARG(world_var(r, "log")));
    world_engine_crash(); /* all of it is in the file */
    world_engine_start();
    world_wait_event(r, EV_RUN_RESUMED, 1);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 3);
    cr_expect(str_eqc(world_var(r, "log"), "[1]"));
    world_check_log(r);
}

Test(engine_create_time, a_run_timeout_counts_from_the_creating_plan /* WF-23 */) {
    struct str r = world_start(
        world_def("w", NODE("d", "core.delay", "\"ms\":60000", ""), 0, 0, "\"timeout\":1000", 0),
        NULL);
    world_time_skip(2000);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_STR(world_story(r), "run.started node.started(d) node.cancelled(d) run.failed");
}

static void room_on_disk(bool room) {
    struct rlimit l;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = room ? l.rlim_max : 1;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &l), 0);
}

Test(engine_create, a_creation_that_cannot_be_written_leaves_nothing /* STORE-2, STORE-17 */) {
    signal(SIGXFSZ, SIG_IGN);
    struct workflow *wf = noop();
    struct call c;
    create_init(&c, wf);
    room_on_disk(false);
    call_do(&c);
    room_on_disk(true);
    cr_expect_neq(c.cmd.result.rc, 0);
    cr_expect_eq(c.cmd.result.run_id.n, 0);
    cr_expect_eq(c.responds, 2);
    wait_idle();
    cr_expect_eq(stats().runs_created + stats().nodes_completed + stats().runs_completed, 0);
    cr_expect_eq(counts().runs, 0);
    call_fini(&c);
    cr_expect_eq(world_wait_final(world_create(wf, NULL, NULL)), RUN_COMPLETED);
    workflow_unref(wf);
}

Test(engine_create, a_first_step_longer_than_a_plan_goes_on_in_the_next /* ENGINE_STEP_* */) {
    struct buf nodes, edges;
    buf_init(&nodes, 1u << 20);
    buf_init(&edges, 1u << 20);
    enum { CHAIN = 95 }; /* three events each */
    for (int i = 0; i < CHAIN; i++) {
        if (i > 0) buf_addz(&nodes, ",");
        buf_addf(
            &nodes,
            "{\"id\":\"n%d\",\"typeId\":\"vendor.wopr.log\",\"name\":\"n\",\"position\":{\"x\":0,"
            "\"y\":0},\"config\":{\"message\":\"m\"},\"inputs\":{}}",
            i);
        if (i > 1) buf_addz(&edges, ",");
        if (i > 0)
            buf_addf(&edges, "{\"id\":\"e%d\",\"sourceNodeId\":\"n%d\",\"targetNodeId\":\"n%d\"}",
                     i, i - 1, i);
    }
    uint64_t before = plans();
    struct str r = world_start(
        world_def("w", arena_cstr(W.a, buf_str(&nodes)), arena_cstr(W.a, buf_str(&edges)), 0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_COMPLETED), CHAIN);
    cr_expect(plans() >= before + 2);
    world_check_log(r);
    wait_idle();
    cr_expect_eq(stats().nodes_completed, CHAIN);
    buf_fini(&nodes);
    buf_fini(&edges);
}

/* With one worker, held: creations and woken runs are served by turns once it is free. */
Test(engine_create_order, creations_and_runs_take_turns /* G2 */, .init = up_one_worker,
     .fini = world_down) {
    enum { RUNS = 3, FRESH = 3 };
    struct call c[FRESH];
    struct workflow *fresh =
        world_put(world_def("fresh", NODE("n", "test.noteAtOnce", "", ""), 0, 0, 0, 0));
    struct workflow *old = world_put(world_def(
        "old", NODE("d", "core.delay", "\"ms\":1000", "") "," NODE("n", "test.note", "", ""),
        EDGE("e", "d", "n", ""), 0, 0, 0));
    for (int i = 0; i < RUNS; i++) (void)world_create(old, NULL, NULL);
    struct str holder =
        world_start(world_def("hold", NODE("h", "test.hold", "", ""), 0, 0, 0, 0), NULL);
    while (sem_wait(&HOLD_HELD) != 0) {
    }
    world_time_skip(2000);
    while (stats().ready_len < RUNS) sched_yield();
    for (int i = 0; i < FRESH; i++) {
        create_init(&c[i], fresh);
        call_send(&c[i]);
    }
    cr_expect_eq(stats().ready_len, RUNS + FRESH);
    sem_post(&HOLD_GO);
    for (int i = 0; i < FRESH; i++) {
        call_wait(&c[i]);
        cr_expect_eq(c[i].cmd.result.rc, 0);
        call_fini(&c[i]);
    }
    cr_expect_eq(world_wait_final(holder), RUN_COMPLETED);
    wait_idle();
    EXPECT_STR(SPY_NOTES, "+-+-+-");
    workflow_unref(fresh);
    workflow_unref(old);
}

static void *stop_engine(void *arg) {
    engine_stop(W.engine);
    return arg;
}

Test(engine_create_order, a_creation_in_the_queue_is_answered_at_the_stop /* HTTP drain */,
     .init = up_one_worker, .fini = world_down) {
    struct workflow *wf = noop();
    struct call c;
    pthread_t t;
    (void)world_start(world_def("hold", NODE("h", "test.hold", "", ""), 0, 0, 0, 0), NULL);
    while (sem_wait(&HOLD_HELD) != 0) {
    }
    create_init(&c, wf);
    call_send(&c);
    cr_assert_eq(pthread_create(&t, NULL, stop_engine, NULL), 0);
    while (!engine_is_stopping(W.engine)) sched_yield();
    sem_post(&HOLD_GO);
    call_wait(&c);
    pthread_join(t, NULL);
    cr_expect_eq(c.cmd.result.rc, WOPR_E_UNAVAILABLE);
    cr_expect_eq(counts().runs, 1, "only the one that holds");
    call_fini(&c);
    workflow_unref(wf);
}

Test(engine_create, a_creation_on_its_way_at_the_stop_is_answered /* HTTP drain */) {
    struct workflow *wf = noop();
    int64_t made = 0;
    for (int i = 0; i < 60; i++) {
        struct call c;
        create_init(&c, wf);
        call_send(&c);
        world_engine_crash();
        call_wait(&c);
        cr_expect(c.cmd.result.rc == 0 || c.cmd.result.rc == WOPR_E_UNAVAILABLE);
        made += c.cmd.result.rc == 0;
        call_fini(&c);
        world_engine_start();
    }
    cr_expect_eq(counts().runs, made);
    workflow_unref(wf);
}
