/* test_bounds.c: how large one run may become, by its nodes and by people (bounds.c). */
#include "engine/bounds.h"
#include "engine_world.h"

#include "codec/json.h"
#include "domain/interrupt.h"
#include "store/admin.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void up_small(void) {
    W.cfg.bounds.run_events_max = 12;
    world_up();
}
static void up_few_bytes(void) {
    W.cfg.bounds.run_bytes_max = 1000;
    W.cfg.bounds.run_state_bytes_max = 1000000;
    world_up();
}
static void up_small_state(void) {
    W.cfg.bounds.run_state_bytes_max = 4000;
    world_up();
}
TestSuite(engine_bounds, .init = world_up, .fini = world_down);

static struct str error_of(struct str run, const char *key) {
    return json_get(json_get(world_event(run, EV_RUN_FAILED, 1)->payload, "error"), key);
}

#define CHAIN                                                                                      \
    NODE("a", "core.noop", "", "")                                                                 \
    "," NODE("b", "core.noop", "", "") "," NODE("c", "core.noop", "", "") "," NODE(                \
        "d", "core.noop", "", "") "," NODE("e", "core.noop", "", "") "," NODE("f", "core.noop",    \
                                                                              "", "")
#define CHAIN_EDGES                                                                                \
    EDGE("1", "a", "b", "")                                                                        \
    "," EDGE("2", "b", "c", "") "," EDGE("3", "c", "d", "") "," EDGE("4", "d", "e", "") "," EDGE(  \
        "5", "e", "f", "")

static struct str chain_run(void) {
    return world_start(world_def("w", CHAIN, CHAIN_EDGES, 0, 0, 0), NULL);
}

Test(engine_bounds_log, a_run_whose_log_is_full_of_events_fails_and_says_why /* S7 */,
     .init = up_small, .fini = world_down) {
    struct str r = chain_run();
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect(str_eqc(error_of(r, "code"), "\"run_log_limit_exceeded\""));
    cr_expect(str_eqc(json_get(error_of(r, "details"), "limit"), "12"));
    cr_expect(str_eqc(json_get(error_of(r, "details"), "unit"), "\"events\""));
    cr_expect_eq(world_count(r, EV_CAP_BREACHED), 0u, "no kind of it fits (EVT-25)");
    world_check_log(r);
}

Test(engine_bounds_log, and_one_whose_log_is_full_of_bytes /* S7 */, .init = up_few_bytes,
     .fini = world_down) {
    struct str r = chain_run();
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect(str_eqc(json_get(error_of(r, "details"), "unit"), "\"bytes\""));
    world_check_log(r);
}

Test(engine_bounds_log, a_replay_follows_a_source_that_is_longer_than_the_bound /* S7, FORK-8 */) {
    world_up();
    struct str r = chain_run(), fork;
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    world_engine_stop();
    W.cfg.bounds.run_events_max = 6;
    world_engine_start();
    struct call c;
    call_init(&c, ENGINE_FORK, r);
    c.cmd.fork.mode = FORK_REPLAY;
    call_do(&c);
    cr_assert_eq(c.cmd.result.rc, 0, "%s", c.cmd.result.err.message);
    fork = arena_str(W.a, c.cmd.result.run_id);
    call_fini(&c);
    cr_expect_eq(world_wait_final(fork), RUN_COMPLETED);
    world_down();
}

/* --- values --- */

#define V1000(c)                                                                                   \
    "\"" c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c "\""
#define LONG "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct str vars_run(const char *second) {
    char nodes[8192];
    snprintf(nodes, sizeof nodes,
             NODE("a", "core.setVariable", "\"name\":\"x\",\"value\":%s",
                  "") "," NODE("b", "core.setVariable", "\"name\":\"%s\",\"value\":%s", ""),
             V1000(LONG LONG), second, V1000(LONG LONG));
    return world_start(world_def("w", nodes, EDGE("1", "a", "b", ""), 0, 0, 0), NULL);
}

Test(engine_bounds_state, values_beyond_the_bound_fail_their_node /* S6, S7 */,
     .init = up_small_state, .fini = world_down) {
    struct str r = vars_run("y");
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect(str_eqc(error_of(r, "code"), "\"run_state_limit_exceeded\""));
    world_check_log(r);
}

Test(engine_bounds_state, a_value_that_takes_the_place_of_another_fits /* S7 */,
     .init = up_small_state, .fini = world_down) {
    struct str r = vars_run("x");
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

Test(engine_bounds, what_a_log_counts_for_is_the_sum_of_its_events /* S7 */) {
    struct str r = chain_run();
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    struct event_list l = world_events(r);
    int64_t sum = 0;
    for (size_t i = 0; i < l.n; i++) sum += event_bytes(&l.v[i]);
    cr_expect_eq(world_head(r).log_bytes, sum);
}

/* --- people --- */

static int ask(struct str run, const char *question, struct wopr_error *err) {
    struct str value = arena_printf(W.a, "{\"action\":\"ask\",\"question\":\"%s\"}", question);
    return world_answer(run, "g", arena_cstr(W.a, value), err);
}

static struct str gate_run(void) {
    struct str r = world_start(
        world_def("w", NODE("g", "core.approvalGate", "\"actions\":[\"accept\",\"ask\"]", ""), 0, 0,
                  0, 0),
        NULL);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    return r;
}

static void decide(struct str run) {
    struct call c;
    call_init(&c, ENGINE_RESOLVE, run);
    c.cmd.resolve.node_id = STR("g");
    c.cmd.resolve.value = STR("{\"action\":\"accept\"}");
    call_do(&c);
    cr_expect_eq(c.cmd.result.rc, 0, "%s", c.cmd.result.err.message);
    call_fini(&c);
    cr_expect_eq(world_wait_final(run), RUN_COMPLETED);
}

Test(engine_bounds, questions_to_an_interrupt_have_an_end_and_it_can_still_be_decided /* S7 */) {
    struct str r = gate_run();
    struct wopr_error err;
    int asked = 0;
    while (asked <= INTR_ASKS_MAX && ask(r, "why?", &err) == 0) asked++;
    cr_expect_eq(asked, INTR_ASKS_MAX);
    cr_expect_eq(err.code, WOPR_E_CONFLICT);
    cr_expect_not_null(strstr(err.message, "100 questions"), "%s", err.message);
    world_engine_crash(); /* the count is that of the log */
    world_engine_start();
    cr_expect_eq(ask(r, "why?", &err), WOPR_E_CONFLICT);
    decide(r);
}

Test(engine_bounds, questions_to_an_interrupt_are_bounded_by_bytes /* S7 */) {
    struct str r = gate_run();
    struct wopr_error err;
    char *big = arena_alloc(W.a, 300001);
    memset(big, 'q', 300000);
    big[300000] = '\0';
    for (int i = 0; i < 3; i++) cr_expect_eq(ask(r, big, &err), 0, "%s", err.message);
    cr_expect_eq(ask(r, big, &err), WOPR_E_CONFLICT);
    cr_expect_eq(ask(r, "short?", &err), 0, "%s", err.message);
    decide(r);
}

Test(engine_bounds, a_run_is_paused_so_often_and_no_more /* S7 */) {
    struct str r = world_start(
        world_def("w", NODE("d", "core.delay", "\"delayMs\":600000", ""), 0, 0, 0, 0), NULL);
    world_wait_event(r, EV_NODE_STARTED, 1);
    for (int i = 0; i < RUN_PAUSES_MAX; i++) {
        cr_assert_eq(world_pause(r, DRAIN_IMMEDIATE), 0, "pause %d", i);
        cr_assert_eq(world_op(ENGINE_RESUME, r, NULL), 0);
    }
    int64_t before = world_head(r).next_seq;
    cr_expect_eq(world_pause(r, DRAIN_IMMEDIATE), WOPR_E_CONFLICT);
    cr_expect_eq(world_head(r).next_seq, before);
    world_engine_crash();
    world_engine_start();
    cr_expect_eq(world_pause(r, DRAIN_IMMEDIATE), WOPR_E_CONFLICT);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, NULL), 0);
}

/* --- tenants --- */

static void up_poor(void) {
    W.cfg.bounds.tenant_bytes_max = 5000;
    world_up();
}

static int fork_of(struct str run, struct wopr_error *err) {
    struct call c;
    call_init(&c, ENGINE_FORK, run);
    c.cmd.fork.mode = FORK_BRANCH;
    c.cmd.fork.from_seq = world_head(run).next_seq - 1;
    call_do(&c);
    int rc = c.cmd.result.rc;
    *err = c.cmd.result.err;
    call_fini(&c);
    return rc;
}

Test(engine_bounds_tenant, forks_and_creations_end_where_the_bytes_of_the_tenant_do /* S7 */,
     .init = up_poor, .fini = world_down) {
    struct str r = chain_run();
    struct wopr_error err = {0};
    struct tenant_usage u;
    int forks = 0;
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    while (forks < 100 && fork_of(r, &err) == 0) forks++;
    cr_expect(forks > 0 && forks < 100, "%d forks", forks);
    cr_expect_eq(err.code, WOPR_E_QUOTA);
    cr_expect_not_null(strstr(err.message, "tenant-bytes-max"), "%s", err.message);
    cr_expect_not_null(strstr(err.details, "\"scope\":\"tenant\""), "%s", err.details);
    cr_assert_eq(store_tenant_usage(W.store, STR("t1"), &u, &err), 0);
    cr_expect_leq(u.bytes, 5000 + 2000, "a fork that was let in ends its run");
    world_engine_crash(); /* nothing is counted in memory */
    world_engine_start();
    cr_expect_eq(fork_of(r, &err), WOPR_E_QUOTA);
}
