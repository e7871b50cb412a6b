/* test_stuck.c: what the store refuses for good is not tried for ever.  Indexes stand for rules of
 * the store that the engine does not know of. */
#include "engine_world.h"

#include "codec/json.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>

static void up(void) {
    world_virtual_time();
    world_up();
}
TestSuite(engine_stuck, .init = up, .fini = world_down, .timeout = 300);

#define ART(id)   NODE(id, "test.artifact", "", "")
#define NOOP(id)  NODE(id, "core.noop", "", "")
#define DELAY(id) NODE(id, "core.delay", "\"ms\":5", "")
#define GATE(id)  NODE(id, "core.approvalGate", "\"actions\":[\"accept\"]", "")
#define SET(id)   NODE(id, "core.setVariable", "\"name\":\"v\",\"value\":1", "")
#define V         "{\"name\":\"v\",\"type\":\"number\"}"

/* No row of the table where it holds can be written: an index of it cannot be. */
#define REFUSE(table, when)                                                                        \
    "CREATE INDEX refuse_" table " ON " table " (abs(iif(" when ", -9223372036854775808, 0)))"

static struct str start(const char *nodes, const char *edges) {
    return world_start(world_def("w", nodes, edges, V, 0, 0), NULL);
}

static struct str error_of(const struct event *e, const char *member) {
    return json_string(json_get(json_get(e->payload, "error"), member), W.a);
}

static void failed_so(struct str run, const char *node, const char *code) {
    cr_assert_eq(world_wait_final(run), RUN_FAILED, "%s", world_story(run));
    cr_assert_eq(world_count(run, EV_NODE_FAILED), 1u, "%s", world_story(run));
    const struct event *e = world_event(run, EV_NODE_FAILED, 1);
    cr_expect(str_eqc(e->node_id, node), "%s", world_story(run));
    cr_expect(str_eqc(error_of(e, "code"), code), STR_FMT, STR_ARG(e->payload));
    world_check_log(run);
}

static void says(struct str run, const char *part) {
    const struct event *e = world_event(run, EV_NODE_FAILED, 1);
    cr_expect(strstr(arena_cstr(W.a, e->payload), part), STR_FMT, STR_ARG(e->payload));
}

/* --- artifacts --- */

Test(engine_stuck, an_artifact_id_is_given_once /* RUN-43 */) {
    struct str r = start(ART("a") "," ART("b"), EDGE("e", "a", "b", ""));
    failed_so(r, "b", "validation_error"); /* in one plan */
    says(r, "art-1");
    struct str q = start(ART("a") "," DELAY("d") "," ART("b"),
                         EDGE("e", "a", "d", "") "," EDGE("f", "d", "b", ""));
    failed_so(q, "b", "validation_error"); /* the first is in the store */
    cr_expect_eq(world_count(q, EV_ARTIFACT_CREATED), 1u);
}

Test(engine_stuck, a_node_that_was_cut_off_finds_its_own_artifact /* STORE-39 */) {
    struct str r =
        start(ART("a") "," NODE("h", "core.delay", "\"ms\":3600000", ""), EDGE("e", "a", "h", ""));
    world_wait_event(r, EV_NODE_STARTED, 2);
    world_engine_crash();
    world_engine_start();
    world_wait_event(r, EV_LEASE_ACQUIRED, 1);
    world_time_skip(3601000);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
}

/* --- verdicts of the store --- */

Test(engine_stuck, what_the_store_never_takes_fails_its_node /* G5 */) {
    world_sql(REFUSE("artifacts", "1"));
    struct str r = start(NOOP("n") "," ART("a") "," NOOP("z"), EDGE("e", "n", "a", ""));
    failed_so(r, "a", "step_limit_exceeded");
    says(r, "the store refuses it");
    cr_expect_eq(world_count(r, EV_NODE_COMPLETED), 1u, "what it shared a plan with: %s",
                 world_story(r));
    const struct event *e = world_event(r, EV_NODE_FAILED, 1);
    cr_expect_null(strstr(arena_cstr(W.a, e->payload), W.dir), "no path of the host");
}

Test(engine_stuck, what_breaks_a_constraint_of_the_store_fails_its_node) {
    world_sql("CREATE UNIQUE INDEX once ON artifacts (artifact_type)");
    struct str first = start(ART("a"), ""), r = start(ART("a"), "");
    cr_expect(world_wait_final(first) != world_wait_final(r));
    failed_so(world_head(first).status == RUN_FAILED ? first : r, "a", "step_limit_exceeded");
}

Test(engine_stuck, a_first_step_that_the_store_never_takes_is_not_the_creations /* RUN-4 */) {
    world_sql(REFUSE("run_vars", "shown = '1'"));
    struct str r = start(SET("s"), "");
    failed_so(r, "s", "step_limit_exceeded");
}

Test(engine_stuck, a_node_that_cannot_even_fail_fails_its_run) {
    char text[512];
    snprintf(text, sizeof text, REFUSE("artifacts", "1") ";" REFUSE("events", "kind = %d"),
             EV_NODE_FAILED);
    world_sql(text);
    struct str r = start(ART("a"), "");
    cr_assert_eq(world_wait_final(r), RUN_FAILED, "%s", world_story(r));
    cr_expect(str_eqc(error_of(world_event(r, EV_RUN_FAILED, 1), "code"), "step_limit_exceeded"));
    world_check_log(r);
}

Test(engine_stuck, a_run_that_cannot_even_fail_is_parked_and_cancelled /* RUN-20 */) {
    char text[512];
    snprintf(text, sizeof text,
             REFUSE("artifacts", "1") ";" REFUSE("events", "kind IN (%d, %d, %d)"), EV_NODE_FAILED,
             EV_RUN_FAILED, EV_NODE_CANCELLED);
    world_sql(text);
    struct str r = start(ART("a"), "");
    while (world_head(r).parked.n == 0) sched_yield();
    enum run_status st;
    int rc = world_op(ENGINE_CANCEL, r, &st);
    cr_expect_eq(rc, 0, "%s", wopr_err_name(rc));
    cr_expect_eq(st, RUN_CANCELLED);
    cr_expect_eq(world_count(r, EV_RUN_CANCELLED), 1u);
    world_check_log(r);
}

Test(engine_stuck, an_answer_that_the_store_never_takes_is_refused /* INT-20 */) {
    struct str r = start(GATE("g"), "");
    world_wait_status(r, RUN_WAITING_APPROVAL);
    world_sql(REFUSE("interrupts", "state = 1"));
    struct wopr_error err;
    cr_expect_eq(world_answer(r, "g", "{\"action\":\"accept\"}", &err), WOPR_E_VALIDATION);
    cr_expect(strstr(err.message, "the store refuses it"), "%s", err.message);
    cr_expect_eq(world_head(r).status, RUN_WAITING_APPROVAL, "and it waits on");
    enum run_status st;
    cr_expect_eq(world_op(ENGINE_CANCEL, r, &st), 0);
    cr_expect_eq(st, RUN_CANCELLED);
}
