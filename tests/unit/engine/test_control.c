/* test_control.c: cancel, pause, resume, time limits, idempotency (10-http-core 5.4, 5.5, 7.1;
 * WF-23, WF-44). */
#include "engine_world.h"

#include "codec/json.h"
#include "store/admin.h"
#include "support/capture.h"

#include <criterion/criterion.h>

static void up_virtual(void) {
    world_virtual_time();
    world_up();
}
static void up_one_worker(void) {
    W.cfg.workers = 1;
    world_up();
}
TestSuite(engine_control, .init = world_up, .fini = world_down);
TestSuite(engine_time, .init = up_virtual, .fini = world_down);
TestSuite(engine_one_worker, .init = up_one_worker, .fini = world_down);

static struct str delay_def(const char *settings) {
    return world_def("w", NODE("d", "core.delay", "\"ms\":60000", ""), 0, 0, settings, 0);
}

/* In the delay for sure. */
static struct str delayed_run(const char *settings) {
    struct str r = world_start(delay_def(settings), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    return r;
}

/* --- cancel --- */

Test(engine_control, cancel_ends_a_wait_at_once /* RUN-20, EVT-30, FIX-18 */) {
    enum run_status status;
    struct str r = delayed_run(NULL);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, &status), 0);
    cr_expect_eq(status, RUN_CANCELLED);
    EXPECT_STR(world_story(r), "run.started node.started(d) node.cancelled(d) run.cancelled");
    struct str p = world_event(r, EV_RUN_CANCELLED, 1)->payload;
    cr_expect(str_eqc(json_get(p, "reason"), "\"because\""));
    cr_expect(str_eqc(json_get(p, "cancelledBy"), "\"s1\""));
    world_check_log(r);
    struct timer_row_list rows;
    struct wopr_error err;
    cr_assert_eq(store_timers(W.store, world_head(r).run_no, W.a, &rows, &err), 0);
    cr_expect_eq(rows.n, 0);
}

Test(engine_control, cancel_of_an_ended_run_tells_its_status /* RUN-21 */) {
    enum run_status status;
    struct str r = world_start(world_def("w", NODE("n", "core.noop", "", ""), 0, 0, 0, 0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, &status), 0);
    cr_expect_eq(status, RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_RUN_CANCELLED), 0);
    cr_expect_eq(world_op(ENGINE_PAUSE, r, &status), WOPR_E_CONFLICT);
    cr_expect_eq(status, RUN_COMPLETED);
}

Test(engine_control, two_cancels_agree /* RUN-21, RUN-22 */) {
    struct call c[2];
    struct str r = delayed_run(NULL);
    for (int i = 0; i < 2; i++) call_init(&c[i], ENGINE_CANCEL, r);
    for (int i = 0; i < 2; i++) call_send(&c[i]);
    for (int i = 0; i < 2; i++) {
        call_wait(&c[i]);
        cr_expect_eq(c[i].cmd.result.rc, 0);
        cr_expect_eq(c[i].cmd.result.status, RUN_CANCELLED);
        call_fini(&c[i]);
    }
    cr_expect_eq(world_count(r, EV_RUN_CANCELLED), 1);
}

Test(engine_control, an_unknown_run_is_not_found_before_its_state /* RUN-30, AUTH-8 */) {
    struct str r = delayed_run(NULL);
    cr_expect_eq(world_op(ENGINE_RESUME, STR("run_nope"), NULL), WOPR_E_NOT_FOUND);
    cr_expect_eq(world_op(ENGINE_CANCEL, STR(""), NULL), WOPR_E_NOT_FOUND);
    struct call c;
    call_init(&c, ENGINE_CANCEL, r);
    c.cmd.tenant = STR("t2");
    call_do(&c);
    cr_expect_eq(c.cmd.result.rc, WOPR_E_NOT_FOUND);
    call_fini(&c);
    call_init(&c, ENGINE_CANCEL, r);
    c.cmd.test_mode = false;
    call_do(&c);
    cr_expect_eq(c.cmd.result.rc, WOPR_E_NOT_FOUND);
    call_fini(&c);
    cr_expect_eq(world_head(r).status, RUN_RUNNING);
}

/* --- pause and resume --- */

Test(engine_time,
     a_drained_delay_waits_the_rest_after_the_resume /* WF-44, RUN-25, RUN-26, RUN-29 */) {
    struct str r = delayed_run(NULL);
    world_time_skip(50000);
    struct call c;
    call_init(&c, ENGINE_PAUSE, r);
    c.cmd.control.reason = STR("lunch");
    call_do(&c);
    cr_expect_eq(c.cmd.result.rc, 0);
    cr_expect_eq(c.cmd.result.status, RUN_PAUSED);
    cr_expect_eq(world_head(r).paused_ms, c.cmd.result.at_ms); /* RUN-27 */
    call_fini(&c);
    EXPECT_STR(world_story(r), "run.started node.started(d) node.suspended(d) run.paused");
    struct str p = world_event(r, EV_RUN_PAUSED, 1)->payload;
    cr_expect(str_eqc(p, "{\"reason\":\"lunch\",\"drainPolicy\":\"drain-current-node\"}"), STR_FMT,
              STR_ARG(p));
    cr_expect(str_eqc(json_get(world_event(r, EV_NODE_SUSPENDED, 1)->payload, "reason"),
                      "\"pause-drain\""));
    world_time_skip(600000); /* does not count */
    cr_expect_eq(world_head(r).status, RUN_PAUSED);
    cr_expect_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    EXPECT_STR(world_story(r), "run.started node.started(d) node.suspended(d) run.paused "
                               "run.resumed node.resumed(d)");
    world_time_skip(5000);
    cr_expect_eq(world_head(r).status, RUN_RUNNING);
    world_time_skip(6000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 1);
    world_check_log(r);
}

Test(engine_time, an_immediate_pause_keeps_the_remaining_time /* RUN-25 */) {
    struct str r = delayed_run(NULL);
    world_time_skip(50000);
    cr_expect_eq(world_pause(r, DRAIN_IMMEDIATE), 0);
    EXPECT_STR(world_story(r), "run.started node.started(d) run.paused");
    world_time_skip(600000);
    cr_expect_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    world_time_skip(5000);
    cr_expect_eq(world_head(r).status, RUN_RUNNING);
    world_time_skip(6000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), "run.started node.started(d) run.paused run.resumed "
                               "node.completed(d) run.completed");
}

Test(engine_time, a_retry_delay_is_stopped_by_a_pause /* WF-24, WF-44 */) {
    struct str r = world_start(
        world_def("w",
                  "{\"id\":\"f\",\"typeId\":\"test.flaky\",\"name\":\"f\",\"position\":{\"x\":0,"
                  "\"y\":0},\"config\":{\"failures\":1},\"inputs\":{},\"settings\":{\"maxRetries\":"
                  "1,\"retryDelayMs\":60000}}",
                  0, 0, 0, 0),
        NULL);
    world_wait_event(r, EV_NODE_RETRIED, 1);
    world_time_skip(50000);
    cr_expect_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    world_time_skip(600000);
    cr_expect_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    world_time_skip(5000);
    cr_expect_eq(world_count(r, EV_NODE_STARTED), 1);
    world_time_skip(6000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), "run.started node.started(f) node.retried(f) run.paused run.resumed "
                               "node.started(f) node.completed(f) run.completed");
}

Test(engine_control, conflicts_say_why /* RUN-27, RUN-29 */) {
    struct str r = delayed_run(NULL);
    enum run_status status;
    cr_expect_eq(world_op(ENGINE_RESUME, r, &status), WOPR_E_CONFLICT);
    cr_expect_eq(status, RUN_RUNNING);
    cr_expect_eq(world_pause(r, DRAIN_IMMEDIATE), 0);
    struct call c;
    call_init(&c, ENGINE_PAUSE, r);
    call_do(&c);
    cr_expect_eq(c.cmd.result.rc, WOPR_E_CONFLICT);
    cr_expect_eq(c.cmd.result.status, RUN_PAUSED);
    cr_expect_eq(c.cmd.result.at_ms, world_head(r).paused_ms);
    cr_expect_neq(c.cmd.result.at_ms, 0);
    call_fini(&c);
}

Test(engine_control, a_paused_run_can_be_cancelled /* RUN-17, WF-53 */) {
    struct str r = delayed_run(NULL);
    cr_expect_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, NULL), 0);
    EXPECT_STR(world_story(r), "run.started node.started(d) node.suspended(d) run.paused "
                               "node.cancelled(d) run.cancelled");
}

Test(engine_control, a_pause_on_the_last_node_stops_before_the_end /* RUN-25 */) {
    struct str r = world_start(world_def("w", NODE("h", "test.hold", "", ""), 0, 0, 0, 0), NULL);
    struct call c;
    sem_wait(&HOLD_HELD);
    call_init(&c, ENGINE_PAUSE, r);
    call_send(&c);
    sem_post(&HOLD_GO);
    call_wait(&c);
    cr_expect_eq(c.cmd.result.rc, 0);
    call_fini(&c);
    EXPECT_STR(world_story(r), "run.started node.started(h) node.completed(h) run.paused");
    cr_expect_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), "run.started node.started(h) node.completed(h) run.paused "
                               "run.resumed run.completed");
}

/* A created run whose first step waits behind a worker that is held. */
static struct str pending_run(struct call *create, struct workflow *wf) {
    struct wopr_error err;
    call_init(create, ENGINE_CREATE, STR_NONE);
    create->cmd.create.wf = wf;
    create->cmd.create.inputs_accepted = STR("{}");
    cr_assert_eq(run_options_load(STR_NONE, STR_NONE, STR_NONE, &RUN_LIMITS_DEFAULT,
                                  create->cmd.arena, &create->cmd.create.options, &err),
                 0);
    call_send(create);
    return arena_str(W.a, create->cmd.result.run_id);
}

static void while_pending(enum engine_op op, struct str *run) {
    struct str holder =
        world_start(world_def("hold", NODE("h", "test.hold", "", ""), 0, 0, 0, 0), NULL);
    struct workflow *wf = world_put(world_def("w", NODE("n", "core.noop", "", ""), 0, 0, 0, 0));
    struct call create, c;
    sem_wait(&HOLD_HELD);
    *run = pending_run(&create, wf);
    call_init(&c, op, *run);
    call_send(&c);
    sem_post(&HOLD_GO);
    call_wait(&create);
    call_wait(&c);
    cr_expect_eq(create.cmd.result.rc, 0);
    cr_expect_eq(create.cmd.result.status, RUN_PENDING); /* RUN-4 */
    cr_expect_eq(c.cmd.result.rc, 0);
    call_fini(&create);
    call_fini(&c);
    workflow_unref(wf);
    cr_expect_eq(world_wait_final(holder), RUN_COMPLETED);
}

Test(engine_one_worker, a_pending_run_can_be_paused /* RUN-27 */) {
    struct str r;
    while_pending(ENGINE_PAUSE, &r);
    EXPECT_STR(world_story(r), "run.started run.paused"); /* F19 */
    cr_expect_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), "run.started run.paused run.resumed node.started(n) "
                               "node.completed(n) run.completed");
}

Test(engine_one_worker, a_pending_run_can_be_cancelled /* 10-http-core 5.3 */) {
    struct str r;
    while_pending(ENGINE_CANCEL, &r);
    EXPECT_STR(world_story(r), "run.started run.cancelled"); /* F19 */
    cr_expect_eq(world_head(r).status, RUN_CANCELLED);
}

/* --- time limits --- */

Test(engine_time, a_run_ends_at_its_timeout /* WF-23 */) {
    struct str r = delayed_run("\"timeout\":1000");
    cr_expect_eq(world_pause(r, DRAIN_IMMEDIATE), 0);
    world_time_skip(100000); /* paused time does not count */
    cr_expect_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    cr_expect_eq(world_head(r).status, RUN_RUNNING);
    world_time_skip(2000);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_STR(world_story(r), "run.started node.started(d) run.paused run.resumed "
                               "node.cancelled(d) run.failed");
    struct str error = json_get(world_event(r, EV_RUN_FAILED, 1)->payload, "error");
    cr_expect(str_eqc(json_get(error, "code"), "\"run_timeout\""));
}

Test(engine_time, an_attempt_ends_at_its_timeout_and_is_tried_again /* WF-24 */) {
    struct str r = world_start(
        world_def("w",
                  "{\"id\":\"d\",\"typeId\":\"core.delay\",\"name\":\"d\",\"position\":{\"x\":0,"
                  "\"y\":0},\"config\":{\"ms\":60000},\"inputs\":{},\"settings\":{\"maxRetries\":1,"
                  "\"retryDelayMs\":0,\"timeoutMs\":1000}}",
                  0, 0, 0, 0),
        NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    world_time_skip(1100);
    world_wait_event(r, EV_NODE_STARTED, 2);
    world_time_skip(1100);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_STR(world_story(r), "run.started node.started(d) node.retried(d) node.started(d) "
                               "node.failed(d) run.failed");
    struct str error = json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error");
    cr_expect(str_eqc(json_get(error, "code"), "\"node_timeout\""));
}

Test(engine_time, channel_entries_age_by_event_time /* CHAN-17, NODE-58, FIX-21 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("a", "core.channelWrite",
                       "\"channelName\":\"events\",\"reducer\":\"append\",\"ttlMs\":200,\"value\":"
                       "\"a\"",
                       "") "," NODE("t", "core.delay", "\"ms\":300",
                                    "") "," NODE("d", "core.channelWrite",
                                                 "\"channelName\":\"events\",\"reducer\":"
                                                 "\"append\",\"ttlMs\":200,\"value\":"
                                                 "\"d\"",
                                                 ""),
                  EDGE("e1", "a", "t", "") "," EDGE("e2", "t", "d", ""), 0, 0, 0),
        NULL);
    world_wait_event(r, EV_NODE_STARTED, 2);
    world_time_skip(301);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    struct str v = world_var(r, "events");
    struct json_elements list;
    struct wopr_error err;
    cr_assert_eq(json_elements(v, W.a, &list, &err), 0);
    cr_expect_eq(list.n, 1);
    cr_expect(str_eqc(json_get(list.v[0], "value"), "\"d\""));
}

/* --- admission and idempotency --- */

static int create_keyed(struct workflow *wf, const char *key, const char *body, struct str *text,
                        bool *replayed) {
    struct call c;
    struct wopr_error err;
    call_init(&c, ENGINE_CREATE, STR_NONE);
    c.cmd.create.wf = wf;
    c.cmd.create.inputs_accepted = STR("{}");
    cr_assert_eq(run_options_load(STR_NONE, STR_NONE, STR_NONE, &RUN_LIMITS_DEFAULT, c.cmd.arena,
                                  &c.cmd.create.options, &err),
                 0);
    call_key(&c, key, body);
    call_do(&c);
    *text = arena_str(W.a, c.cmd.response.body);
    *replayed = c.cmd.replayed;
    int rc = c.cmd.result.rc;
    call_fini(&c);
    return rc;
}

static int64_t runs_stored(void) {
    struct store_counts n;
    struct wopr_error err;
    cr_assert_eq(store_count(W.store, &n, &err), 0);
    return n.runs;
}

Test(engine_control, a_keyed_creation_happens_once /* IDEM-5, IDEM-10, IDEM-12 */) {
    struct workflow *wf = world_put(world_def("w", NODE("n", "core.noop", "", ""), 0, 0, 0, 0));
    struct str first, second, third;
    bool replayed;
    cr_expect_eq(create_keyed(wf, "k", "{}", &first, &replayed), 0);
    cr_expect_not(replayed);
    cr_expect_eq(create_keyed(wf, "k", "{}", &second, &replayed), 0);
    cr_expect(replayed);
    cr_expect(str_eq(first, second));
    cr_expect_eq(create_keyed(wf, "k", "{\"x\":1}", &third, &replayed), WOPR_E_IDEM_CONFLICT);
    cr_expect_eq(runs_stored(), 1);
    workflow_unref(wf);
}

Test(engine_control, a_keyed_pause_is_replayed_and_does_nothing_more /* RUN-28 */) {
    struct str r = delayed_run(NULL), first = STR_NONE;
    for (int i = 0; i < 3; i++) {
        struct call c;
        call_init(&c, ENGINE_PAUSE, r);
        call_key(&c, "p", "{}");
        call_do(&c);
        cr_expect_eq(c.cmd.response.status, 200);
        cr_expect_eq(c.cmd.replayed, i > 0);
        if (i == 0) first = arena_str(W.a, c.cmd.response.body);
        else cr_expect(str_eq(first, c.cmd.response.body));
        call_fini(&c);
        /* The third one meets a run that could be paused again: the key alone must hold it back. */
        if (i == 1) cr_expect_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    }
    cr_expect_eq(world_count(r, EV_RUN_PAUSED), 1);
    cr_expect_eq(world_head(r).status, RUN_RUNNING);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, NULL), 0); /* the reloaded run still obeys */
    world_check_log(r);
}

Test(engine_control, an_answer_that_cannot_be_kept_is_not_given /* IDEM-5 */) {
    struct str r = delayed_run(NULL);
    journal_stop(W.journal);
    for (int keyed = 0; keyed < 2; keyed++) {
        struct call c;
        call_init(&c, ENGINE_RESUME, r); /* it runs */
        if (keyed) call_key(&c, "r", "{}");
        call_do(&c);
        cr_expect_eq(c.cmd.result.rc, keyed ? WOPR_E_UNAVAILABLE : WOPR_E_CONFLICT);
        call_fini(&c);
    }
}

Test(engine_control, an_answer_without_an_effect_is_kept_too /* IDEM-4 */) {
    struct str r = delayed_run(NULL);
    for (int i = 0; i < 2; i++) {
        struct call c;
        call_init(&c, ENGINE_RESUME, r);
        call_key(&c, "r", "{}");
        call_do(&c);
        cr_expect_eq(c.cmd.response.status, 500 - WOPR_E_CONFLICT);
        cr_expect_eq(c.cmd.replayed, i > 0);
        call_fini(&c);
        if (i == 0) cr_expect_eq(world_pause(r, DRAIN_IMMEDIATE), 0);
    }
    cr_expect_eq(world_head(r).status, RUN_PAUSED);
}

Test(engine_control, an_enforced_scope_holds_one_active_run /* RUN-7 */) {
    struct workflow *wf = world_put(delay_def(NULL));
    struct call c[2];
    struct wopr_error err;
    for (int i = 0; i < 2; i++) {
        call_init(&c[i], ENGINE_CREATE, STR_NONE);
        c[i].cmd.create.wf = wf;
        c[i].cmd.create.inputs_accepted = STR("{}");
        c[i].cmd.create.scope_id = STR("s");
        c[i].cmd.create.dedup_enforce = true;
        cr_assert_eq(run_options_load(STR_NONE, STR_NONE, STR_NONE, &RUN_LIMITS_DEFAULT,
                                      c[i].cmd.arena, &c[i].cmd.create.options, &err),
                     0);
        call_do(&c[i]);
    }
    cr_expect_eq(c[0].cmd.result.rc, 0);
    cr_expect_eq(c[1].cmd.result.rc, WOPR_E_RUN_ALREADY_ACTIVE);
    cr_expect(str_eq(c[1].cmd.result.active_run_id, c[0].cmd.result.run_id));
    cr_expect(c[1].cmd.result.retry_after_s >= 1);
    for (int i = 0; i < 2; i++) call_fini(&c[i]);
    workflow_unref(wf);
}

static void up_full(void) {
    W.cfg.runs_active_max = 1;
    world_up();
}

Test(engine_full, beyond_its_room_a_host_says_so /* ERR-9 */, .init = up_full, .fini = world_down) {
    struct str r = delayed_run(NULL);
    struct workflow *wf = world_put(delay_def(NULL));
    char text[4096];
    struct engine_stats st;
    cr_assert(capture_begin());
    for (int i = 0; i < 3; i++) {
        struct call c;
        pending_run(&c, wf);
        call_wait(&c);
        cr_expect_eq(c.cmd.result.rc, WOPR_E_UNAVAILABLE);
        cr_expect(c.cmd.result.retry_after_s > 0);
        call_fini(&c);
    }
    capture_take(text, sizeof text);
    capture_end();
    cr_expect_eq(runs_stored(), 1);
    cr_expect_eq(capture_count(text, "backpressure"), 1, "told once, not per request: %s", text);
    cr_expect_not_null(strstr(text, "\"runsActiveMax\":\"1\""), "%s", text);
    engine_stats(W.engine, &st);
    cr_expect(st.refused[-WOPR_E_UNAVAILABLE] == 3 && st.runs_active_max == 1);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, NULL), 0);
    workflow_unref(wf);
}

Test(engine_control, a_stopped_engine_answers_everybody /* HTTP drain */) {
    struct str r = delayed_run(NULL);
    engine_stop(W.engine);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, NULL), WOPR_E_UNAVAILABLE);
    cr_expect_eq(world_head(r).lease_until_ms, 0); /* STORE-36 */
    cr_expect_eq(world_head(r).status, RUN_RUNNING);
}
