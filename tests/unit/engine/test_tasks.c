/* test_tasks.c: nodes that workers execute: claims, leases, outcomes, questions, pauses, crashes,
 * replays (WRK-*). */
#include "engine_world.h"

#include "base/mem.h"
#include "codec/json.h"
#include "domain/bounds.h"
#include "engine/workers.h"
#include "fork_kit.h"
#include "store/admin.h"
#include "worker_kit.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#define TYPE "acme.resize"

static void up_virtual(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_tasks, .init = world_up, .fini = world_down, .timeout = 300);
TestSuite(engine_task_times, .init = up_virtual, .fini = world_down, .timeout = 300);

/* --- a worker --- */

static size_t claim(size_t max, int64_t lease_ms, struct task_row *first) {
    const struct str type = STR(TYPE);
    struct task_row_list l = worker_claim_of(&type, 1, max, lease_ms);
    if (l.n > 0 && first) *first = l.v[0];
    return l.n;
}

static struct task_row claim_one(void) {
    struct task_row t = {0};
    cr_assert_eq(claim(1, 30000, &t), 1u, "nothing is ready");
    return t;
}

static int beat(const struct task_row *t, int64_t lease_ms, struct task_row *now) {
    struct engine_task_op o = {
        .op = {
            .what = TASK_OP_BEAT, .task_id = t->task_id, .epoch = t->epoch, .lease_ms = lease_ms}};
    int rc = worker_op(&o);
    if (now) *now = o.op.row;
    return rc;
}

static struct wopr_error SAID; /* of the last say() */
static const char *SAID_STATE;
static char SAID_ID[64];

static int say(const struct task_row *t, struct task_says s) {
    struct call c;
    call_init(&c, ENGINE_TASK, t->run_id);
    c.cmd.task = (struct cmd_task){.task_id = t->task_id, .epoch = t->epoch, .says = s};
    call_do(&c);
    int rc = c.cmd.result.rc;
    SAID = c.cmd.result.err;
    SAID_STATE = c.cmd.result.task_state;
    snprintf(SAID_ID, sizeof SAID_ID, STR_FMT, STR_ARG(c.cmd.result.interrupt_id));
    call_fini(&c);
    return rc;
}

static int complete(const struct task_row *t, const char *output) {
    return say(t, (struct task_says){.verb = TASK_COMPLETE, .output = str_c(output)});
}

static int fail(const struct task_row *t, const char *code, bool retryable) {
    return say(t, (struct task_says){.verb = TASK_FAIL,
                                     .code = str_c(code),
                                     .message = STR("no"),
                                     .retryable = retryable});
}

/* --- runs --- */

static struct str worker_def(const char *settings) {
    return world_def("w", NODE("n", TYPE, "\"size\":7", "") "," NODE("d", "core.noop", "", ""),
                     EDGE("e", "n", "d", ""), 0, settings, 0);
}

static struct str worker_run(void) {
    cr_assert_eq(worker_type_try(TYPE, NULL, NULL, NULL), 0);
    struct str r = world_start(worker_def(0), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    return r;
}

static struct task_row row_now(const struct task_row *t) {
    struct task_row now;
    struct wopr_error err;
    cr_assert_eq(store_task_get(W.store, STR("t1"), true, t->task_id, W.a, &now, &err), 0);
    return now;
}

#define WHOLE_STORY                                                                                \
    "run.started node.started(n) node.completed(n) node.started(d) node.completed(d) "             \
    "run.completed"

Test(engine_tasks, a_worker_executes_a_node /* WRK-10, WRK-11, WRK-16 */) {
    struct str r = worker_run();
    struct task_row t = claim_one();
    cr_expect(str_eq(t.run_id, r));
    cr_expect(str_eqc(t.node_id, "n"));
    cr_expect_eq(t.epoch, 1);
    cr_expect_eq(t.attempt, 0);
    cr_expect_eq(t.invocation_id.n, 64u);
    cr_expect(str_eqc(json_get(json_get(t.body, "config"), "size"), "7"));
    cr_expect_eq(claim(1, 1000, NULL), 0u, "a task is given to one worker");
    cr_assert_eq(complete(&t, "{\"width\":3}"), 0, "%s", SAID.message);
    EXPECT_STR(SAID_STATE, "completed");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), WHOLE_STORY);
    struct str out = json_get(world_event(r, EV_NODE_COMPLETED, 1)->payload, "outputs");
    cr_expect(str_eqc(out, "{\"width\":3}"), STR_FMT, STR_ARG(out));
    world_check_log(r);
}

Test(engine_tasks, an_answer_that_was_lost_is_given_again /* WRK-17 */) {
    struct str r = worker_run();
    struct task_row t = claim_one();
    cr_assert_eq(complete(&t, "{}"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    int64_t length = world_head(r).next_seq;
    cr_expect_eq(complete(&t, "{}"), 0, "the same lease says the same");
    EXPECT_STR(SAID_STATE, "completed");
    cr_expect_eq(fail(&t, "x", true), WOPR_E_TASK_LOST, "and nothing else");
    cr_expect_not_null(strstr(SAID.details, "\"state\":\"completed\""), "%s", SAID.details);
    cr_expect_eq(world_head(r).next_seq, length);
}

Test(engine_task_times, a_lease_that_runs_out_gives_the_task_to_another /* WRK-12, WRK-14 */) {
    struct str r = worker_run();
    struct task_row late = claim_one(), other = {0};
    world_time_skip(29000);
    cr_expect_eq(claim(1, 30000, NULL), 0u);
    for (int i = 0; i < 60000 && claim(1, 30000, &other) == 0; i++) {
        world_time_skip(100);
        usleep(200);
    }
    cr_assert(str_eq(other.task_id, late.task_id));
    cr_expect_eq(other.epoch, 2);
    cr_expect(str_eq(other.invocation_id, late.invocation_id), "the same effect");
    cr_expect_eq(complete(&late, "{\"by\":\"late\"}"), WOPR_E_TASK_LOST);
    cr_expect_not_null(strstr(SAID.details, "\"epoch\":2"), "%s", SAID.details);
    struct task_row now;
    cr_expect_eq(beat(&late, 30000, &now), WOPR_E_TASK_LOST);
    cr_assert_eq(complete(&other, "{\"by\":\"other\"}"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), WHOLE_STORY);
    struct engine_task_stats s;
    engine_task_stats(W.engine, &s);
    cr_expect_eq(s.leases_lost, 1u);
    cr_expect_eq(s.late_answers, 2u);
}

Test(engine_task_times, a_heartbeat_keeps_the_lease /* WRK-15 */) {
    struct str r = worker_run();
    struct task_row t = claim_one(), now;
    for (int i = 0; i < 5; i++) {
        world_time_skip(20000);
        cr_assert_eq(beat(&t, 30000, &now), 0);
        cr_expect_eq(now.state, TROW_LEASED);
    }
    cr_assert_eq(complete(&t, "{}"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(beat(&t, 30000, &now), WOPR_E_TASK_LOST);
    cr_expect_eq(now.state, TROW_COMPLETED);
}

Test(engine_task_times, a_task_that_kills_its_workers_fails_in_the_end /* WRK-12 */) {
    struct str r = worker_run();
    struct task_row t = {0};
    int claims = 0;
    for (int i = 0; i < 60000 && !run_status_final(world_head(r).status); i++) {
        claims += (int)claim(1, 1000, &t);
        world_time_skip(200);
        usleep(500);
    }
    cr_expect_eq(claims, 10);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    struct str error = json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error");
    cr_expect(str_eqc(json_get(error, "code"), "\"worker_lost\""));
    cr_expect_eq(row_now(&t).state, TROW_FAILED);
}

Test(engine_tasks, a_failure_follows_the_retry_policy_of_its_node /* WRK-18 */) {
    cr_assert_eq(worker_type_try(TYPE, NULL, NULL, NULL), 0);
    struct str def = world_def("w",
                               "{\"id\":\"n\",\"typeId\":\"" TYPE
                               "\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":{},"
                               "\"inputs\":{},\"settings\":{\"maxRetries\":2,\"retryDelayMs\":1}}",
                               0, 0, 0, 0);
    struct str r = world_start(def, NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    struct task_row first = claim_one(), second, third;
    cr_assert_eq(fail(&first, "busy", true), 0);
    EXPECT_STR(SAID_STATE, "failed");
    cr_expect_eq(fail(&first, "busy", true), 0, "said again");
    world_wait_event(r, EV_NODE_STARTED, 2);
    second = claim_one();
    cr_expect_eq(second.attempt, 1);
    cr_expect_not(str_eq(second.task_id, first.task_id));
    cr_expect_not(str_eq(second.invocation_id, first.invocation_id), "IDEM-16");
    cr_assert_eq(fail(&second, "bad_input", true), 0);
    world_wait_event(r, EV_NODE_STARTED, 3);
    third = claim_one();
    cr_assert_eq(fail(&third, "bad_input", false), 0);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_STR(world_story(r),
               "run.started node.started(n) node.retried(n) node.started(n) node.retried(n) "
               "node.started(n) node.failed(n) run.failed");
    struct str error = json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error");
    cr_expect(str_eqc(json_get(error, "code"), "\"bad_input\""));
}

/* --- types --- */

Test(engine_tasks, types_are_registered_and_checked /* WRK-1, WRK-2, WRK-3 */) {
    struct worker_type t;
    cr_expect_eq(worker_type_try("Bad Id", NULL, NULL, NULL), WOPR_E_VALIDATION);
    cr_expect_eq(worker_type_try("core.noop", NULL, NULL, NULL), WOPR_E_CONFLICT);
    cr_expect_eq(worker_type_try(TYPE, "{\"type\":7}", NULL, NULL), WOPR_E_VALIDATION);
    cr_assert_eq(worker_type_try(TYPE, "{\"type\":\"object\"}", NULL, &t), 0);
    cr_expect_eq(t.revision, 1);
    cr_assert_eq(worker_type_try(TYPE, "{\"type\":\"object\"}", NULL, &t), 0);
    cr_expect_eq(t.revision, 1, "the same again changes nothing");
    cr_assert_eq(worker_type_try(TYPE, NULL, NULL, &t), 0);
    cr_expect_eq(t.revision, 2);
}

/* An object schema of so many bytes. */
static char *schema_of(size_t bytes) {
    static const char HEAD[] = "{\"type\":\"object\",\"description\":\"", TAIL[] = "\"}";
    char *p = mem_alloc(bytes + 1);
    cr_assert_not_null(p);
    memcpy(p, HEAD, sizeof HEAD - 1);
    memset(p + sizeof HEAD - 1, 'x', bytes - (sizeof HEAD - 1));
    memcpy(p + bytes - (sizeof TAIL - 1), TAIL, sizeof TAIL);
    return p;
}

Test(engine_tasks, types_are_bounded_by_number_and_by_bytes /* WRK-2, S7 */) {
    char id[32], *whole = schema_of(WORKER_TYPE_SCHEMA_MAX),
                 *more = schema_of(WORKER_TYPE_SCHEMA_MAX + 1);
    const size_t fit = (size_t)WORKER_TYPES_BYTES_MAX / WORKER_TYPE_SCHEMA_MAX;
    size_t n = 0;
    int rc = 0;
    cr_expect_eq(worker_type_try("acme.more", more, NULL, NULL), WOPR_E_VALIDATION);
    for (; rc == 0 && n <= fit; n += rc == 0) {
        snprintf(id, sizeof id, "acme.b%zu", n);
        rc = worker_type_try(id, whole, NULL, NULL);
    }
    cr_expect_eq(rc, WOPR_E_QUOTA);
    cr_expect(n == fit || n + 1 == fit, "%zu of %zu", n, fit);
    cr_expect_eq(worker_type_try("acme.b0", NULL, NULL, NULL), 0, "one that is there may shrink");
    for (rc = 0; rc == 0 && n <= WORKER_TYPES_MAX; n += rc == 0) {
        snprintf(id, sizeof id, "acme.n%zu", n);
        rc = worker_type_try(id, NULL, NULL, NULL);
    }
    cr_expect_eq(rc, WOPR_E_QUOTA);
    cr_expect_eq(n, (size_t)WORKER_TYPES_MAX);
    mem_free(whole);
    mem_free(more);
}

/* TASK_BODY_MAX: five ports of one variable. */
Test(engine_tasks, an_input_that_no_worker_is_given_fails_its_node /* WRK-9, S7 */) {
#define PORT(name) "\"" name "\":{\"type\":\"expression\",\"expression\":\"inputs.x\"}"
    enum { VALUE = 900000 };
    char *inputs = mem_alloc(VALUE + 16);
    cr_assert_not_null(inputs);
    cr_assert_eq(worker_type_try(TYPE, NULL, NULL, NULL), 0);
    memcpy(inputs, "{\"x\":\"", 6);
    memset(inputs + 6, 'x', VALUE);
    memcpy(inputs + 6 + VALUE, "\"}", 3);
    struct str r = world_start(
        world_def(
            "w",
            NODE("n", TYPE, "", PORT("a") "," PORT("b") "," PORT("c") "," PORT("d") "," PORT("e")),
            0, "{\"name\":\"x\",\"type\":\"string\"}", 0, 0),
        inputs);
    mem_free(inputs);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    struct str error = json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error");
    cr_expect(str_eqc(json_get(error, "code"), "\"task_input_too_large\""), STR_FMT,
              STR_ARG(error));
}

static int wf_rc(struct str text) {
    struct workflow *wf = world_put(text), *out = NULL;
    struct wopr_error err = {0};
    workflow_unref(wf);
    int rc = engine_workflow(W.engine, STR("t1"), true, STR("w"), &out, &err);
    workflow_unref(out);
    if (rc != 0) cr_expect_not_null(strstr(err.pointer, "/nodes/0/typeId"), "%s", err.pointer);
    return rc;
}

Test(engine_tasks, a_type_that_nobody_serves_is_refused_until_it_is_registered /* WRK-4 */) {
    cr_expect_eq(wf_rc(worker_def(0)), WOPR_E_VALIDATION);
    cr_assert_eq(worker_type_try(TYPE, NULL, NULL, NULL), 0);
    cr_expect_eq(wf_rc(worker_def(0)), 0);
    cr_expect_eq(worker_type_remove(TYPE), 0);
    cr_expect_eq(wf_rc(worker_def(0)), WOPR_E_VALIDATION);
}

Test(engine_tasks, schemas_name_the_field /* WRK-5, WRK-6 */) {
    cr_assert_eq(worker_type_try(
                     TYPE, "{\"properties\":{\"w\":{\"type\":\"integer\"}},\"required\":[\"w\"]}",
                     "{\"properties\":{\"url\":{\"type\":\"string\"}}}", NULL),
                 0);
    struct str r = world_start(worker_def(0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    struct str error = json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error");
    cr_expect(str_eqc(json_get(error, "code"), "\"validation_error\""));
    cr_expect(str_eqc(json_get(json_get(error, "details"), "field"), "\"input\""), STR_FMT,
              STR_ARG(error));
    cr_assert_eq(
        worker_type_try(TYPE, NULL, "{\"properties\":{\"url\":{\"type\":\"string\"}}}", NULL), 0);
    r = world_start(worker_def(0), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    struct task_row t = claim_one();
    cr_expect_eq(complete(&t, "{\"url\":5}"), WOPR_E_VALIDATION);
    EXPECT_STR(SAID.pointer, "/output/url");
    cr_expect_eq(row_now(&t).state, TROW_LEASED, "the lease goes on");
    cr_assert_eq(complete(&t, "{\"url\":\"u\"}"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

/* --- cancel, timeout, pause --- */

Test(engine_tasks, a_cancel_reaches_the_worker /* WRK-20 */) {
    struct str r = worker_run();
    struct task_row t = claim_one(), now;
    cr_assert_eq(world_op(ENGINE_CANCEL, r, NULL), 0);
    cr_expect_eq(beat(&t, 30000, &now), WOPR_E_TASK_LOST);
    cr_expect_eq(now.state, TROW_CANCELLED);
    cr_expect(str_eqc(now.reason, "run-cancelled"));
    cr_expect_eq(complete(&t, "{}"), WOPR_E_TASK_LOST);
    cr_expect_not_null(strstr(SAID.details, "run-cancelled"), "%s", SAID.details);
    cr_expect_eq(now.body.n, 0u, "its body is gone");
}

Test(engine_task_times, the_timeout_of_a_node_ends_its_task /* WRK-20 */) {
    cr_assert_eq(worker_type_try(TYPE, NULL, NULL, NULL), 0);
    struct str def = world_def("w",
                               "{\"id\":\"n\",\"typeId\":\"" TYPE
                               "\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":{},"
                               "\"inputs\":{},\"settings\":{\"timeoutMs\":5000}}",
                               0, 0, 0, 0);
    struct str r = world_start(def, NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    struct task_row t = claim_one();
    world_time_skip(6000);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect_eq(row_now(&t).state, TROW_CANCELLED);
    cr_expect(str_eqc(row_now(&t).reason, "node-timeout"));
    cr_expect_eq(complete(&t, "{}"), WOPR_E_TASK_LOST);
}

Test(engine_tasks, a_paused_run_gives_out_no_task_and_keeps_what_comes_back /* WRK-13 */) {
    struct str r = worker_run();
    cr_assert_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    cr_expect_eq(claim(1, 30000, NULL), 0u);
    cr_assert_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    struct task_row t = claim_one();
    cr_assert_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    cr_assert_eq(complete(&t, "{\"kept\":true}"), 0, "%s", SAID.message);
    cr_expect_eq(row_now(&t).state, TROW_ANSWERED);
    cr_expect_eq(complete(&t, "{\"kept\":true}"), 0, "said again");
    EXPECT_STR(SAID_STATE, "completed");
    cr_expect_eq(complete(&t, "{\"kept\":2}"), WOPR_E_TASK_LOST, "another output");
    cr_expect_eq(fail(&t, "x", true), WOPR_E_TASK_LOST, "another word (WRK-17)");
    cr_expect_not_null(strstr(SAID.details, "\"state\":\"answered\""), "%s", SAID.details);
    cr_expect_eq(world_head(r).status, RUN_PAUSED);
    world_engine_crash();
    world_engine_start();
    cr_assert_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    struct str out = json_get(world_event(r, EV_NODE_COMPLETED, 1)->payload, "outputs");
    cr_expect(str_eqc(out, "{\"kept\":true}"), STR_FMT, STR_ARG(out));
    cr_expect_eq(row_now(&t).state, TROW_COMPLETED);
    cr_expect_eq(complete(&t, "{\"kept\":true}"), 0, "and afterwards");
    cr_expect_eq(complete(&t, "{\"kept\":2}"), WOPR_E_TASK_LOST);
}

static int64_t usage_bytes(void) {
    struct tenant_usage u;
    struct wopr_error err;
    cr_assert_eq(store_tenant_usage(W.store, STR("t1"), &u, &err), 0);
    return u.bytes;
}

static int64_t log_bytes(void) { return world_sql_number("SELECT sum(log_bytes) FROM runs"); }

Test(engine_tasks, what_open_tasks_hold_counts_for_their_tenant /* WRK-25 */) {
    enum { BIG = 100000 };
    char *inputs = arena_alloc(W.a, BIG + 32);
    snprintf(inputs, BIG + 32, "{\"v\":\"%0*d\"}", BIG, 7);
    cr_assert_eq(worker_type_try(TYPE, NULL, NULL, NULL), 0);
    struct str def =
        world_def("w", NODE("n", TYPE, "", "\"x\":{\"type\":\"variable\",\"variableName\":\"v\"}"),
                  0, "{\"name\":\"v\",\"type\":\"string\"}", 0, 0);
    struct str r = world_start(def, inputs);
    world_wait_event(r, EV_NODE_STARTED, 1);
    cr_expect_gt(usage_bytes(), log_bytes() + BIG, "the body of an open task");
    struct task_row t = claim_one();
    cr_assert_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    cr_assert_eq(complete(&t, "{\"kept\":true}"), 0);
    int64_t held = usage_bytes() - log_bytes();
    cr_expect(held > 10 && held < 1000, "an outcome that waits: %lld", (long long)held);
    cr_assert_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(usage_bytes(), log_bytes(), "nothing is held any more");
    r = world_start(def, inputs);
    world_wait_event(r, EV_NODE_STARTED, 1);
    cr_assert_eq(world_op(ENGINE_CANCEL, r, NULL), 0);
    cr_expect_eq(usage_bytes(), log_bytes(), "nor after a cancel");
}

static int64_t sealed_nr(void) { /* of tasks */
    return world_sql_number("SELECT count(*) FROM sealed WHERE seq <= -16");
}

Test(engine_tasks, what_is_sealed_for_a_task_goes_with_it /* WRK-9, OBS-71 */) {
    cr_assert_eq(worker_type_try(TYPE, NULL, NULL, NULL), 0);
    struct str def = world_def(
        "w",
        NODE("n", TYPE, "", "\"x\":{\"type\":\"variable\",\"variableName\":\"v\"}") "," NODE(
            "g", "core.approvalGate", "", ""),
        EDGE("e", "n", "g", ""), "{\"name\":\"v\",\"type\":\"string\",\"sensitive\":true}", 0, 0);
    struct str r = world_start(def, "{\"v\":\"hidden-value\"}");
    world_wait_event(r, EV_NODE_STARTED, 1);
    cr_expect_eq(sealed_nr(), 1);
    struct task_row t = claim_one();
    struct str body;
    struct wopr_error err;
    cr_expect_eq(t.body.n, 0u);
    world_sql("DELETE FROM sealed"); /* as when its task ends before it is opened */
    cr_assert_eq(engine_task_body(W.engine, &t, W.a, &body, &err), 0, "%s", err.message);
    cr_expect(str_eqc(json_get(json_get(body, "input"), "x"), "\"hidden-value\""), STR_FMT,
              STR_ARG(body));
    cr_assert_eq(world_pause(r, DRAIN_CURRENT_NODE), 0);
    cr_assert_eq(complete(&t, "{\"kept\":true}"), 0);
    cr_expect_eq(sealed_nr(), 1, "its outcome");
    cr_assert_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    world_wait_event(r, EV_NODE_COMPLETED, 1);
    cr_expect_eq(sealed_nr(), 0, "the run goes on, and nothing of the task is left");
    cr_expect_eq(usage_bytes(), log_bytes());
}

Test(engine_tasks, a_row_that_its_node_left_behind_is_closed /* WRK-20 */) {
    cr_assert_eq(worker_type_try(TYPE, NULL, NULL, NULL), 0);
    struct str def =
        world_def("w", NODE("n", TYPE, "", "") "," NODE("g", "core.approvalGate", "", ""),
                  EDGE("e", "n", "g", ""), 0, 0, 0);
    struct str r = world_start(def, NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    struct task_row t = claim_one();
    cr_assert_eq(complete(&t, "{}"), 0);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    world_engine_stop();
    world_sql("UPDATE worker_tasks SET state = 0, ended_ms = NULL");
    world_engine_start();
    struct task_row again = claim_one();
    cr_expect_eq(complete(&again, "{\"late\":1}"), WOPR_E_TASK_LOST);
    for (int i = 0; i < 60000 && row_now(&t).state != TROW_CANCELLED; i++) usleep(1000);
    cr_expect_eq(row_now(&t).state, TROW_CANCELLED, "it is given to nobody any more");
    cr_expect(str_eqc(row_now(&t).reason, "node-ended"));
}

/* --- crashes --- */

Test(engine_tasks, a_crash_forgets_no_task /* WRK-10 */) {
    struct str ready = worker_run(), taken = worker_run();
    struct task_row first = claim_one();
    world_engine_crash();
    world_engine_start();
    world_wait_event(taken, EV_RUN_RESUMED, 1);
    struct str other = str_eq(first.run_id, ready) ? taken : ready;
    cr_assert_eq(complete(&first, "{}"), 0, "a lease outlives the host");
    struct task_row second = claim_one();
    cr_expect(str_eq(second.run_id, other));
    cr_assert_eq(complete(&second, "{}"), 0);
    cr_expect_eq(world_wait_final(ready), RUN_COMPLETED);
    cr_expect_eq(world_wait_final(taken), RUN_COMPLETED);
    cr_expect_eq(world_count(ready, EV_NODE_STARTED), 2u);
    world_check_log(ready);
    world_check_log(taken);
}

/* --- questions, chunks --- */

Test(engine_tasks, a_worker_asks_a_person_and_is_entered_again /* WRK-19 */) {
    struct str r = worker_run();
    struct task_row t = claim_one();
    cr_expect_eq(say(&t, (struct task_says){.verb = TASK_ASK, .kind = STR("nonsense")}),
                 WOPR_E_VALIDATION);
    cr_assert_eq(
        say(&t, (struct task_says){.verb = TASK_ASK,
                                   .kind = STR("approval"),
                                   .data = STR("{\"artifactId\":\"a\",\"artifactType\":\"x\","
                                               "\"title\":\"?\",\"actions\":[\"accept\","
                                               "\"reject\"]}")}),
        0, "%s", SAID.message);
    EXPECT_STR(SAID_STATE, "asked");
    cr_expect_eq(strncmp(SAID_ID, "int_", 4), 0);
    cr_expect_eq(world_head(r).status, RUN_WAITING_APPROVAL);
    cr_expect_eq(claim(1, 30000, NULL), 0u);
    cr_expect_eq(complete(&t, "{}"), WOPR_E_TASK_LOST);
    struct call c;
    call_init(&c, ENGINE_RESOLVE, r);
    c.cmd.resolve.node_id = STR("n");
    c.cmd.resolve.value = STR("{\"action\":\"accept\"}");
    call_do(&c);
    cr_assert_eq(c.cmd.result.rc, 0);
    call_fini(&c);
    world_wait_event(r, EV_NODE_RESUMED, 1);
    struct task_row again = {0};
    for (int i = 0; i < 60000 && claim(1, 30000, &again) == 0; i++) usleep(1000);
    cr_expect_not(str_eq(again.task_id, t.task_id));
    cr_expect(str_eq(again.invocation_id, t.invocation_id), "the same attempt");
    struct json_elements l;
    cr_assert_eq(json_elements(json_get(again.body, "answers"), W.a, &l, NULL), 0);
    cr_assert_eq(l.n, 1u);
    cr_expect(str_eqc(json_get(l.v[0], "action"), "\"accept\""));
    cr_assert_eq(complete(&again, "{}"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    fork_replays_equal(r, 0, RUN_COMPLETED);
}

static int emit(const struct task_row *t) {
    const struct task_chunk chunks[] = {{.text = STR("one"), .is_last = -1},
                                        {.text = STR("two"), .is_last = 1}};
    return say(t, (struct task_says){.verb = TASK_EMIT,
                                     .chunks = chunks,
                                     .chunks_nr = 2,
                                     .progress = STR("{\"percent\":40}"),
                                     .progress_message = STR("halfway")});
}

Test(engine_tasks, chunks_and_progress_are_events /* WRK-21 */) {
    struct str r = worker_run();
    struct task_row t = claim_one();
    cr_assert_eq(emit(&t), 0, "%s", SAID.message);
    cr_expect_eq(world_count(r, EV_OUTPUT_CHUNK), 2u);
    cr_expect_eq(world_count(r, EV_LOG_APPENDED), 1u);
    cr_assert_eq(complete(&t, "{}"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(emit(&t), WOPR_E_TASK_LOST);
    fork_replays_equal(r, 0, RUN_COMPLETED);
}

/* Emits that all wait before the run is looked at again: the committer stands still meanwhile. */
enum { FLOOD = 200, FLOOD_HEARD_MAX = 8 };
static sem_t STUCK, GO;

static void stand_still(void *ctx, struct store *s) {
    (void)ctx, (void)s;
    sem_post(&STUCK);
    while (sem_wait(&GO) != 0) continue;
}

static struct call *flood_send(const struct task_row *t) {
    struct task_chunk *chunk = ARENA_NEW(W.a, struct task_chunk);
    struct call *c = ARENA_ARRAY(W.a, struct call, FLOOD);
    cr_assert(c && chunk);
    *chunk = (struct task_chunk){.text = STR("x"), .is_last = -1};
    sem_init(&STUCK, 0, 0);
    sem_init(&GO, 0, 0);
    cr_assert_eq(journal_side(W.journal, stand_still, NULL), 0);
    while (sem_wait(&STUCK) != 0) continue;
    for (int i = 0; i < FLOOD; i++) {
        call_init(&c[i], ENGINE_TASK, t->run_id);
        c[i].cmd.task =
            (struct cmd_task){.task_id = t->task_id,
                              .epoch = t->epoch,
                              .says = {.verb = TASK_EMIT, .chunks = chunk, .chunks_nr = 1}};
        call_send(&c[i]);
    }
    return c;
}

static unsigned flood_wait(struct call *c) {
    unsigned heard = 0;
    for (int i = 0; i < FLOOD; i++) {
        call_wait(&c[i]);
        int rc = c[i].cmd.result.rc;
        heard += rc == 0;
        cr_expect(rc == 0 || rc == WOPR_E_TASK_LOST, "%s", wopr_err_name(rc));
        call_fini(&c[i]);
    }
    return heard;
}

Test(engine_tasks, a_cancel_does_not_wait_behind_a_flood_of_emits /* RUN-25 */) {
    struct str r = worker_run();
    struct task_row t = claim_one();
    struct call *emits = flood_send(&t), cancel;
    call_init(&cancel, ENGINE_CANCEL, r);
    call_send(&cancel);
    sem_post(&GO);
    call_wait(&cancel);
    cr_expect_eq(cancel.cmd.result.rc, 0);
    call_fini(&cancel);
    unsigned heard = flood_wait(emits);
    cr_expect_leq(heard, FLOOD_HEARD_MAX, "%u of %d emits were heard first", heard, FLOOD);
    cr_expect_eq(world_count(r, EV_OUTPUT_CHUNK), heard);
    world_check_log(r);
}

Test(engine_task_times, a_timeout_does_not_wait_behind_a_flood_of_emits /* WRK-20 */) {
    cr_assert_eq(worker_type_try(TYPE, NULL, NULL, NULL), 0);
    struct str def = world_def("w",
                               "{\"id\":\"n\",\"typeId\":\"" TYPE
                               "\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":{},"
                               "\"inputs\":{},\"settings\":{\"timeoutMs\":5000}}",
                               0, 0, 0, 0);
    struct str r = world_start(def, NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    struct task_row t = claim_one();
    struct call *emits = flood_send(&t);
    world_time_skip(6000);
    sem_post(&GO);
    unsigned heard = flood_wait(emits);
    cr_expect_leq(heard, FLOOD_HEARD_MAX, "%u of %d emits were heard first", heard, FLOOD);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect(str_eqc(row_now(&t).reason, "node-timeout"));
    world_check_log(r);
}

static int emit_number(const struct task_row *t, const char *text, int64_t number) {
    const struct task_chunk chunk = {.text = str_c(text), .is_last = -1};
    return say(t, (struct task_says){
                      .verb = TASK_EMIT, .chunks = &chunk, .chunks_nr = 1, .number = number});
}

Test(engine_task_times, an_emit_with_a_number_is_taken_once /* WRK-21 */) {
    struct str r = worker_run();
    struct task_row t = claim_one(), other = {0};
    cr_assert_eq(emit_number(&t, "a", 1), 0);
    cr_assert_eq(emit_number(&t, "a", 1), 0, "given again");
    cr_assert_eq(emit_number(&t, "b", 3), 0);
    cr_assert_eq(emit_number(&t, "late", 2), 0);
    cr_expect_eq(world_count(r, EV_OUTPUT_CHUNK), 2u);
    cr_assert_eq(emit_number(&t, "c", 0), 0, "without one");
    cr_expect_eq(world_count(r, EV_OUTPUT_CHUNK), 3u);
    for (int i = 0; i < 60000 && claim(1, 30000, &other) == 0; i++) {
        world_time_skip(100);
        usleep(200);
    }
    cr_assert_eq(other.epoch, 2);
    cr_assert_eq(emit_number(&other, "again", 1), 0, "another lease counts anew");
    cr_expect_eq(world_count(r, EV_OUTPUT_CHUNK), 4u);
}

Test(engine_tasks, an_emit_is_taken_in_whole_or_not_at_all /* WRK-21 */) {
    struct str r = worker_run();
    struct task_row t = claim_one();
    char *long_text = arena_alloc(W.a, 2u << 20);
    memset(long_text, 'x', 2u << 20);
    const struct task_chunk chunks[] = {{.text = STR("one"), .is_last = -1},
                                        {.text = {long_text, 2u << 20}, .is_last = -1}};
    struct task_says s = {.verb = TASK_EMIT, .chunks = chunks, .chunks_nr = 2};
    cr_expect_eq(say(&t, s), WOPR_E_VALIDATION);
    EXPECT_STR(SAID.pointer, "/chunks/1");
    s.chunks_nr = 1;
    s.progress_message = chunks[1].text;
    cr_expect_eq(say(&t, s), WOPR_E_VALIDATION);
    EXPECT_STR(SAID.pointer, "/progress");
    cr_expect_eq(world_count(r, EV_OUTPUT_CHUNK), 0u, "nothing of what was refused");
    cr_assert_eq(complete(&t, "{}"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

static void up_short_log(void) {
    W.cfg.bounds.run_events_max = 8;
    world_up();
}

Test(engine_tasks, a_run_that_emits_beyond_its_log_ends, .init = up_short_log /* WRK-21 */) {
    struct str r = worker_run();
    struct task_row t = claim_one();
    int said = 0;
    while (said < 8 && emit(&t) == 0) said++;
    cr_expect(said > 0 && said < 8, "%d", said);
    cr_expect_eq(world_count(r, EV_OUTPUT_CHUNK), 2u * (size_t)said, "nothing of a refused one");
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect_eq(complete(&t, "{}"), WOPR_E_TASK_LOST);
}

/* --- forks --- */

Test(engine_tasks, a_replay_calls_no_worker_and_a_branch_does /* WRK-22 */) {
    struct str r = worker_run();
    struct task_row t = claim_one();
    cr_assert_eq(complete(&t, "{\"x\":1}"), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    int64_t length = world_head(r).next_seq;
    for (int64_t from = 0; from < length; from++) fork_replays_equal(r, from, RUN_COMPLETED);
    cr_expect_eq(claim(1, 30000, NULL), 0u);
    struct str branch = fork_run(r, FORK_BRANCH, 2); /* behind node.started(n) */
    struct task_row own = {0};
    for (int i = 0; i < 60000 && claim(1, 30000, &own) == 0; i++) usleep(1000);
    cr_expect(str_eq(own.run_id, branch));
    cr_expect_not(str_eq(own.invocation_id, t.invocation_id));
    cr_assert_eq(complete(&own, "{\"x\":2}"), 0);
    cr_expect_eq(world_wait_final(branch), RUN_COMPLETED);
}

Test(engine_tasks, failures_and_timeouts_are_replayed /* WRK-22 */) {
    cr_assert_eq(worker_type_try(TYPE, NULL, NULL, NULL), 0);
    struct str r = world_start(worker_def(0), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    struct task_row t = claim_one();
    cr_assert_eq(fail(&t, "bad_input", false), 0);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    fork_replays_equal(r, 0, RUN_FAILED);
}

/* --- fairness --- */

Test(engine_tasks, types_take_turns_in_one_claim /* WRK-24 */) {
    const struct str types[] = {STR("acme.many"), STR("acme.few")};
    cr_assert_eq(worker_type_try("acme.many", NULL, NULL, NULL), 0);
    cr_assert_eq(worker_type_try("acme.few", NULL, NULL, NULL), 0);
    for (int i = 0; i < 12; i++) {
        struct str r =
            world_start(world_def("m", NODE("n", "acme.many", "", ""), 0, 0, 0, 0), NULL);
        world_wait_event(r, EV_NODE_STARTED, 1);
    }
    struct str r = world_start(world_def("f", NODE("n", "acme.few", "", ""), 0, 0, 0, 0), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    struct task_row_list l = worker_claim_of(types, 2, 4, 30000);
    size_t few = 0;
    for (size_t i = 0; i < l.n; i++) few += str_eqc(l.v[i].type_id, "acme.few");
    cr_expect_eq(l.n, 4u, "what one type leaves, the other takes");
    cr_expect_eq(few, 1u, "a long queue does not keep out a short one");
}

static void woken(void *ctx) { sem_post(ctx); }

Test(engine_tasks, a_claim_that_waits_is_woken_by_a_task /* WRK-11 */) {
    const struct str type = STR(TYPE);
    const struct task_queue q = {STR("t1"), true, &type, 1};
    const struct task_queue foreign = {STR("t2"), true, &type, 1};
    struct task_wait *mine, *theirs;
    struct wopr_error err;
    sem_t bell, other;
    sem_init(&bell, 0, 0);
    sem_init(&other, 0, 0);
    cr_assert_eq(task_wait_new(W.engine, &q, &mine, &err), 0);
    cr_assert_eq(task_wait_new(W.engine, &foreign, &theirs, &err), 0);
    task_wait_arm(mine, woken, &bell);
    task_wait_arm(theirs, woken, &other);
    (void)worker_run();
    cr_expect_eq(world_wait_sem(&bell), 0);
    cr_expect(task_wait_woken(mine));
    cr_expect_not(task_wait_woken(theirs), "another tenant's");
    task_wait_free(mine);
    task_wait_free(theirs);
}

Test(engine_tasks, one_that_leaves_passes_the_wake_on /* WRK-11 */) {
    const struct str type = STR(TYPE);
    const struct task_queue q = {STR("t1"), true, &type, 1};
    struct task_wait *first, *second;
    struct wopr_error err;
    sem_t bell;
    sem_init(&bell, 0, 0);
    cr_assert_eq(task_wait_new(W.engine, &q, &first, &err), 0);
    cr_assert_eq(task_wait_new(W.engine, &q, &second, &err), 0);
    task_wait_arm(first, woken, &bell);
    (void)worker_run();
    cr_expect_eq(world_wait_sem(&bell), 0);
    task_wait_free(first);
    cr_expect(task_wait_woken(second));
    task_wait_free(second);
}
