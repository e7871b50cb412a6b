/* test_recovery.c: what a killed, stopped, fenced or failing host leaves behind (EVT-32,
 * STORE-30..40). */
#include "engine/upkeep.h"
#include "engine_world.h"
#include "log_kit.h"

#include "base/clock.h"
#include "base/fault.h"
#include "codec/json.h"
#include "store/admin.h"
#include "store/leases.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void up_virtual(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_recovery, .init = up_virtual, .fini = world_down);

static struct str delayed_run(void) {
    struct str r =
        world_start(world_def("w", NODE("d", "core.delay", "\"ms\":60000", ""), 0, 0, 0, 0), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    return r;
}

Test(engine_recovery,
     a_killed_host_leaves_a_delay_that_waits_the_rest /* STORE-38, STORE-39, EVT-32 */) {
    struct str r = delayed_run();
    world_time_skip(50000);
    world_engine_crash();
    world_engine_start();
    world_wait_event(r, EV_RUN_RESUMED, 1);
    EXPECT_STR(world_story(r), "run.started node.started(d) lease.lost lease.acquired "
                               "workflow.restored run.resumed");
    world_time_skip(5000);
    cr_expect_eq(world_head(r).status, RUN_RUNNING);
    world_time_skip(6000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 1);
    world_check_log(r);
    cr_expect_eq(world_head(r).epoch, 2); /* STORE-31 */
}

Test(engine_recovery, a_taken_over_run_still_sees_its_sensitive_variables /* OBS-71 */) {
    static const char *const nodes =
        NODE("s", "core.setVariable", "\"name\":\"v\",\"value\":\"hush\"",
             "") "," NODE("d", "core.delay", "\"ms\":60000",
                          "") "," NODE("c", "test.measure", "",
                                       "\"v\":{\"type\":\"variable\",\"variableName\":\"v\"}");
    struct str r =
        world_start(world_def("w", nodes, EDGE("e", "s", "d", "") "," EDGE("f", "d", "c", ""),
                              "{\"name\":\"v\",\"type\":\"string\",\"sensitive\":true}", 0, 0),
                    NULL);
    world_wait_event(r, EV_NODE_STARTED, 2);
    world_engine_crash();
    world_engine_start();
    world_wait_event(r, EV_RUN_RESUMED, 1);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect(
        str_eqc(json_get(world_event(r, EV_NODE_COMPLETED, 3)->payload, "outputs"), "{\"n\":4}"));
    cr_expect(str_eqc(world_var(r, "v"), "\"[REDACTED]\""));
}

Test(engine_recovery, a_stopped_host_gives_its_leases_back /* STORE-36, STORE-40 */) {
    struct str r = delayed_run();
    world_engine_stop();
    world_engine_start();
    world_wait_event(r, EV_RUN_RESUMED, 1);
    EXPECT_STR(world_story(r),
               "run.started node.started(d) lease.handed-off lease.acquired workflow.restored "
               "run.resumed");
}

Test(engine_recovery, a_stream_goes_on_where_the_log_ends /* STORE-39, EVT-34 */) {
    struct str r = world_start(world_def("w", NODE("s", "test.stepper", "", ""), 0, 0, 0, 0), NULL);
    world_wait_event(r, EV_OUTPUT_CHUNK, 2);
    world_engine_crash();
    world_engine_start();
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_OUTPUT_CHUNK), 4);
    for (unsigned i = 0; i < 4; i++) {
        char want[16];
        snprintf(want, sizeof want, "\"piece-%u\"", i);
        cr_expect(
            str_eqc(json_get(world_event(r, EV_OUTPUT_CHUNK, i + 1)->payload, "chunk"), want));
    }
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 1);
}

Test(engine_recovery, a_retry_survives /* WF-24 */) {
    struct str r = world_start(
        world_def("w",
                  "{\"id\":\"f\",\"typeId\":\"test.flaky\",\"name\":\"f\",\"position\":{\"x\":0,"
                  "\"y\":0},\"config\":{\"failures\":1},\"inputs\":{},\"settings\":{\"maxRetries\":"
                  "1,\"retryDelayMs\":60000}}",
                  0, 0, 0, 0),
        NULL);
    world_wait_event(r, EV_NODE_RETRIED, 1);
    world_engine_crash();
    world_engine_start();
    world_wait_event(r, EV_RUN_RESUMED, 1);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 1);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect(str_eqc(json_get(world_event(r, EV_NODE_STARTED, 2)->payload, "attempt"), "1"));
}

Test(engine_recovery, a_paused_run_is_left_alone_until_it_is_resumed /* STORE-35, RUN-29 */) {
    struct str r = delayed_run();
    world_time_skip(50000);
    cr_expect_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    int64_t paused_ms = world_head(r).paused_ms;
    world_engine_crash();
    world_engine_start();
    struct call c;
    call_init(&c, ENGINE_PAUSE, r); /* answered from the row */
    call_do(&c);
    cr_expect_eq(c.cmd.result.rc, WOPR_E_CONFLICT);
    cr_expect_eq(c.cmd.result.at_ms, paused_ms);
    call_fini(&c);
    cr_expect_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    EXPECT_STR(world_story(r), "run.started node.started(d) node.suspended(d) run.paused "
                               "run.resumed node.resumed(d)");
    world_time_skip(11000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

Test(engine_recovery, a_cancel_finds_a_paused_run_of_an_earlier_host /* RUN-17 */) {
    struct str r = delayed_run();
    cr_expect_eq(world_pause(r, DRAIN_IMMEDIATE), 0);
    world_engine_crash();
    world_engine_start();
    cr_expect_eq(world_op(ENGINE_CANCEL, r, NULL), 0);
    EXPECT_STR(world_story(r),
               "run.started node.started(d) run.paused node.cancelled(d) run.cancelled");
}

/* A run row without a log, as a host leaves it that dies after the 201. */
Test(engine_recovery, a_run_with_an_empty_log_just_starts /* EVT-20, RUN-4 */) {
    struct workflow *wf = world_put(world_def("w", NODE("n", "core.noop", "", ""), 0, 0, 0, 0));
    world_engine_crash();
    struct plan *p = plan_new();
    p->what = PLAN_CREATE;
    p->run_id = arena_str(p->arena, STR("run_orphan"));
    p->epoch = 1;
    p->create = ARENA_NEW(p->arena, struct run_row_new);
    p->create->meta = (struct run_meta){.run_id = p->run_id,
                                        .workflow_id = STR("w"),
                                        .tenant = STR("t1"),
                                        .workspace = STR("w1"),
                                        .subject = STR("{}"),
                                        .inputs = STR("{}"),
                                        .transport = STR("rest"),
                                        .test_mode = true,
                                        .shown_engine_version = 1,
                                        .created_ms = clock_wall_ms(),
                                        .recursion_limit = 100};
    p->create->workflow_hash = wf->hash;
    p->create->holder = STR("gone");
    p->create->lease_until_ms = clock_wall_ms() + 30000;
    log_append(p);
    workflow_unref(wf);
    world_engine_start();
    cr_expect_eq(world_wait_final(STR("run_orphan")), RUN_COMPLETED);
    EXPECT_STR(world_story(STR("run_orphan")),
               "run.started node.started(n) node.completed(n) run.completed");
}

Test(engine_recovery, a_damaged_log_parks_its_run_and_no_other /* GEN-5, E7 */) {
    struct str bad = delayed_run(), good = delayed_run();
    world_engine_crash();
    struct run_head h = world_head(bad);
    struct plan *p = plan_new();
    p->what = PLAN_RUN;
    p->run_id = arena_str(p->arena, bad);
    p->run_no = h.run_no;
    p->base_seq = h.next_seq;
    p->epoch = h.epoch;
    /* A node that is running is told to have resumed: no state has such an edge. */
    (void)plan_event(p, W.rules, NULL, EV_NODE_RESUMED, STR("d"), -1, clock_wall_ms(),
                     pay_node_resumed(p->arena, STR("d"), STR("x"), STR_NONE));
    log_append(p);
    world_engine_start();
    world_wait_event(good, EV_RUN_RESUMED, 1);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(good), RUN_COMPLETED);
    cr_expect_eq(world_pause(bad, DRAIN_IMMEDIATE), WOPR_E_CONFLICT, "no 500 for ever");
    world_engine_stop(); /* the committer has done what it was asked */
    cr_expect_neq(world_head(bad).parked.n, 0);
    cr_expect_eq(world_head(bad).status, RUN_RUNNING);
    world_engine_start();
    enum run_status st; /* RUN-20: although its log does not fold */
    cr_expect_eq(world_op(ENGINE_CANCEL, bad, &st), 0);
    cr_expect_eq(st, RUN_CANCELLED);
    cr_expect_eq(world_head(bad).status, RUN_CANCELLED);
    cr_expect_eq(world_head(bad).parked.n, 0);
    struct event_list l = world_events(bad);
    cr_expect_eq(l.v[l.n - 1].kind, EV_RUN_CANCELLED);
    cr_expect_eq(l.v[l.n - 2].kind, EV_NODE_RESUMED, "nothing else was made up");
    cr_expect_eq(world_op(ENGINE_CANCEL, bad, &st), 0, "again");
    cr_expect_eq(world_pause(bad, DRAIN_IMMEDIATE), WOPR_E_CONFLICT);
}

static void steal_now(void *ctx, struct store *s) {
    void **x = ctx;
    struct wopr_error err;
    int64_t epoch;
    const struct lease_claim c = {.run_no = *(int64_t *)x[0],
                                  .holder = STR("thief"),
                                  .until_ms = clock_wall_ms() + 30000,
                                  .epoch = LEASE_ANY,
                                  .beat = LEASE_ANY};
    cr_assert_eq(store_lease_claim(s, &c, &epoch, &err), 0);
    sem_post(x[1]);
}

Test(engine_recovery, a_fenced_host_falls_silent /* STORE-33 */) {
    struct str r = delayed_run();
    struct run_head h = world_head(r);
    sem_t done;
    void *ctx[] = {&h.run_no, &done};
    sem_init(&done, 0, 0);
    cr_assert_eq(journal_side(W.journal, steal_now, ctx), 0);
    while (sem_wait(&done) != 0) {
    }
    sem_destroy(&done);
    /* The command is refused with the old epoch, then finds the run through a fresh load. */
    cr_expect_eq(world_op(ENGINE_CANCEL, r, NULL), 0);
    EXPECT_STR(world_story(r), "run.started node.started(d) lease.lost lease.acquired "
                               "workflow.restored run.resumed node.cancelled(d) run.cancelled");
    cr_expect_eq(world_head(r).epoch, 3);
}

static void up_many_hosts(void) {
    world_virtual_time();
    world_up();
    world_engine_stop();
    W.cfg.sole_host = false;
    world_engine_start();
}

Test(engine_hosts, a_living_holder_is_left_alone_until_its_lease_ends /* STORE-30, STORE-31 */,
     .init = up_many_hosts, .fini = world_down) {
    struct str r = delayed_run(), other = delayed_run();
    struct call c;
    world_engine_crash();
    world_engine_start();
    call_init(&c, ENGINE_CANCEL, other);
    call_send(&c); /* waits for a holder that does not answer */
    world_time_skip(20000);
    cr_expect_eq(world_head(r).epoch, 1);
    cr_expect_eq(c.responds, 0u);
    world_time_skip(11000); /* past the lease, not past what a command waits */
    call_wait(&c);
    cr_expect_eq(c.cmd.result.rc, 0);
    call_fini(&c);
    world_time_skip(15000); /* and the next sweep */
    world_wait_event(r, EV_RUN_RESUMED, 1);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

/* --- a store that fails --- */

static void room_on_disk(bool room) {
    struct rlimit l;
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = room ? l.rlim_max : 1;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &l), 0);
}

Test(engine_recovery, a_commit_that_fails_leaves_nothing_half_done /* STORE-2, E16 */) {
    signal(SIGXFSZ, SIG_IGN);
    struct workflow *wf = world_put(world_def("w2", NODE("n", "core.noop", "", ""), 0, 0, 0, 0));
    struct str r = delayed_run();
    room_on_disk(false);
    cr_expect_neq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    struct call c;
    struct wopr_error err;
    call_init(&c, ENGINE_CREATE, STR_NONE);
    c.cmd.create.wf = wf;
    c.cmd.create.inputs_accepted = STR("{}");
    cr_assert_eq(run_options_load(STR_NONE, STR_NONE, STR_NONE, &RUN_LIMITS_DEFAULT, c.cmd.arena,
                                  &c.cmd.create.options, &err),
                 0);
    call_do(&c);
    cr_expect_neq(c.cmd.result.rc, 0);
    cr_expect_eq(c.responds, 2); /* as a success before the commit, then as what it became */
    call_fini(&c);
    room_on_disk(true);
    EXPECT_STR(world_story(r), "run.started node.started(d)");
    struct store_counts n;
    cr_assert_eq(store_count(W.store, &n, &err), 0);
    cr_expect_eq(n.runs, 1);
    /* The run was folded again and goes on. */
    world_time_skip(10000);
    cr_expect_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    cr_expect_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    world_time_skip(61000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 1);
    world_check_log(r);
    workflow_unref(wf);
}

Test(engine_recovery, a_step_that_cannot_be_written_is_tried_again /* STORE-17 */) {
    signal(SIGXFSZ, SIG_IGN);
    struct str r = delayed_run();
    struct engine_stats st;
    room_on_disk(false);
    world_time_skip(61000);
    struct journal_stats ls;
    do journal_stats(W.journal, &ls); /* the refused plan has been through the committer */
    while (ls.plans_refused == 0);
    cr_expect_eq(world_head(r).status, RUN_RUNNING);
    room_on_disk(true);
    world_time_skip(10000); /* past the backoff */
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), "run.started node.started(d) node.completed(d) run.completed");
    engine_stats(W.engine, &st);
    cr_expect_not(st.store_failed);
}

Test(engine_recovery, after_a_failed_sync_nothing_is_promised /* STORE-11 */) {
    struct str r = delayed_run();
    struct engine_stats st;
    engine_break(W.engine, "test");
    engine_stats(W.engine, &st);
    cr_expect(st.store_failed);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, NULL), WOPR_E_SYNC_FAILED);
    world_time_skip(61000);
    cr_expect_eq(world_head(r).status, RUN_RUNNING);
    world_engine_crash();
    world_engine_start();
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

/* --- leftovers --- */

static void purge_check(void *ctx, struct store *s) {
    (void)s;
    sem_post(ctx);
}

Test(engine_recovery, ended_runs_go_after_their_retention /* STORE-44 */) {
    world_engine_stop();
    W.cfg.retention_ms = 1000;
    world_engine_start();
    struct wopr_error err;
    struct run_head h;
    struct str r = world_start(world_def("w", NODE("n", "core.noop", "", ""), 0, 0, 0, 0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    world_time_skip(ENGINE_PURGE_MS + 2000);
    int rc = 0;
    for (int i = 0; i < 200000 && rc == 0; i++) { /* each round waits for the committer */
        sem_t done;
        sem_init(&done, 0, 0);
        world_time_skip(0);
        cr_assert_eq(journal_side(W.journal, purge_check, &done), 0);
        while (sem_wait(&done) != 0) {
        }
        sem_destroy(&done);
        rc = store_run_head(W.store, STR("t1"), true, r, W.a, &h, &err);
    }
    cr_expect_eq(rc, WOPR_E_EXPIRED);
}

/* --- memory --- */

static void settle(void) {
    struct engine_stats st;
    for (;;) {
        engine_stats(W.engine, &st);
        if (st.runs_active == 0) return;
        world_time_skip(ENGINE_BACKOFF_MS_MAX); /* whoever backs off tries again now */
    }
}

/* All or nothing at every allocation of a run's life: refused, or created and completed. */
Test(engine_recovery, a_run_survives_any_single_allocation_failure /* E16 */, .timeout = 300) {
    struct workflow *wf = world_put(
        world_def("w",
                  NODE("a", "core.setVariable", "\"name\":\"v\",\"value\":1",
                       "") "," NODE("b", "core.delay", "\"ms\":1000",
                                    "") "," NODE("c", "core.getVariable", "\"name\":\"v\"", ""),
                  EDGE("e1", "a", "b", "") "," EDGE("e2", "b", "c", ""), 0, 0, 0));
    struct wopr_error err;
    unsigned refused = 0, n = 1;
    for (; n < 250; n++) {
        struct call c;
        call_init(&c, ENGINE_CREATE, STR_NONE);
        c.cmd.create.wf = wf;
        c.cmd.create.inputs_accepted = STR("{}");
        cr_assert_eq(run_options_load(STR_NONE, STR_NONE, STR_NONE, &RUN_LIMITS_DEFAULT,
                                      c.cmd.arena, &c.cmd.create.options, &err),
                     0);
        (void)fault_arm(1u << FAULT_MALLOC, n);
        call_do(&c);
        settle();
        bool fired = fault_fired();
        fault_disarm();
        if (c.cmd.result.rc == 0) {
            struct str id = arena_str(W.a, c.cmd.result.run_id);
            cr_assert_eq(world_wait_final(id), RUN_COMPLETED, "allocation %u: %s", n,
                         world_story(id));
            world_check_log(id);
            cr_assert_eq(world_count(id, EV_NODE_STARTED), 3, "allocation %u", n);
        } else {
            refused++;
        }
        call_fini(&c);
        if (!fired) break;
    }
    cr_expect(n > 20, "%u allocations", n);
    cr_expect(refused > 0 && refused < n);
    workflow_unref(wf);
}

/* The delay was executing though the run showed that it waits for a person (F20). */
Test(engine_recovery, work_beside_a_question_is_taken_over /* EVT-32, STORE-38 */) {
    struct str r = world_start(world_def("w",
                                         NODE("g", "core.approvalGate", "",
                                              "") "," NODE("d", "core.delay", "\"ms\":3600000", ""),
                                         0, 0, 0, 0),
                               NULL);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    world_wait_event(r, EV_NODE_STARTED, 2);
    world_engine_crash();
    world_engine_start();
    world_wait_event(r, EV_RUN_RESUMED, 1);
    cr_expect_not_null(strstr(world_story(r), "lease.lost lease.acquired workflow.restored "
                                              "run.resumed"),
                       "%s", world_story(r));
    cr_expect_eq(world_head(r).status, RUN_WAITING_APPROVAL);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, NULL), 0);
    world_check_log(r);
}
