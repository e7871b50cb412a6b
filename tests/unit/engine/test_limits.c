/* test_limits.c: what meets a bound fails its node or its request, never the host: nothing is tried
 * for ever (bounds.def, stuck.c). */
#include "engine_world.h"
#include "fork_kit.h"
#include "log_kit.h"

#include "codec/json.h"
#include "domain/interrupt.h"
#include "store/leases.h"
#include "support/sampled.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void up(void) {
    W.cfg.limits = RUN_LIMITS_DEFAULT;
    W.cfg.limits.max_node_executions = 20000;
    world_virtual_time();
    world_up();
}
TestSuite(engine_limits, .init = up, .fini = world_down, .timeout = 300);

static struct str built(struct buf *b) {
    cr_assert(!buf_failed(b));
    struct str s = arena_str(W.a, buf_str(b));
    buf_fini(b);
    return s;
}

static const char *many(const char *fmt, unsigned n) {
    struct buf b;
    buf_init(&b, 8u << 20);
    for (unsigned i = 0; i < n; i++) {
        if (i > 0) buf_addc(&b, ',');
        buf_addf(&b, fmt, i, i, i);
    }
    return built(&b).p;
}

/* A JSON string of n bytes and its quotes. */
static struct str filler(size_t n) {
    struct buf b;
    buf_init(&b, n + 2);
    buf_addc(&b, '"');
    for (size_t i = 0; i < n; i++) buf_addc(&b, 'a');
    buf_addc(&b, '"');
    return built(&b);
}

static struct str def_of(const char *nodes, const char *edges, const char *variables,
                         const char *more) {
    struct buf b;
    buf_init(&b, 8u << 20);
    buf_addf(&b, "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"nodes\":[");
    buf_addz(&b, nodes);
    buf_addz(&b, "],\"edges\":[");
    buf_addz(&b, edges);
    buf_addz(&b, "],\"triggers\":[],\"metadata\":{},\"settings\":{},\"variables\":[");
    buf_addz(&b, variables);
    buf_addf(&b, "]%s}", more);
    return built(&b);
}

static struct str error_code(struct str run, enum ev_kind kind) {
    cr_assert_geq(world_count(run, kind), 1u, "%s", world_story(run));
    return json_get(json_get(world_event(run, kind, 1)->payload, "error"), "code");
}

#define EXPECT_CODE(run, kind, want)                                                               \
    do {                                                                                           \
        struct str code_ = error_code(run, kind);                                                  \
        cr_expect(str_eqc(code_, "\"" want "\""), STR_FMT, STR_ARG(code_));                        \
    } while (0)

/* --- F8 --- */

Test(engine_limits, retry_delay_of_years /* WF-3, WF-24, RUN-20 */) {
    static const char *const node =
        "{\"id\":\"n\",\"typeId\":\"test.flaky\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"
        "\"config\":{\"failures\":1},\"inputs\":{},\"settings\":{\"maxRetries\":1,"
        "\"retryDelayMs\":31536000001}}";
    W.accepted = true; /* registered by a host that took ten years */
    struct str r = world_start(def_of(node, "", "", ""), NULL);
    world_wait_event(r, EV_NODE_RETRIED, 1);
    enum run_status st;
    cr_expect_eq(world_op(ENGINE_CANCEL, r, &st), 0);
    cr_expect_eq(st, RUN_CANCELLED);
    struct str q = world_start(def_of(node, "", "", ""), NULL);
    world_wait_event(q, EV_NODE_RETRIED, 1);
    world_time_skip(31536000000 + 1000);
    cr_expect_eq(world_wait_final(q), RUN_COMPLETED, "a year is as long as it gets");
}

/* --- F17, F18 --- */

#define CHAN_FMT "\"c%u\":{\"reducer\":\"append\"}"
#define VAR_FMT  "{\"name\":\"v%u\",\"type\":\"number\",\"defaultValue\":1}"

static const char *channels(unsigned n) {
    return arena_cstr(W.a, arena_printf(W.a, ",\"channels\":{%s}", many(CHAN_FMT, n)));
}

Test(engine_limits, vote_at_the_channel_limit /* INT-20, INT-30 */) {
    struct str r =
        world_start(def_of(NODE("g", "core.approvalGate",
                                "\"requiredApprovals\":2,\"actions\":[\"accept\",\"ask\"]", ""),
                           "", "", channels((unsigned)WF_CHANS_MAX)),
                    NULL);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    cr_expect_eq(world_answer(r, "g", "{\"action\":\"ask\",\"question\":\"why\"}", NULL), 0);
    cr_expect_eq(world_answer(r, "g", "{\"action\":\"accept\",\"voter\":\"a\"}", NULL), 0);
    world_engine_crash(); /* and it folds */
    world_engine_start();
    cr_expect_eq(world_answer(r, "g", "{\"action\":\"accept\",\"voter\":\"b\"}", NULL), 0);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

Test(engine_limits, too_many_channels /* CHAN-1, WF-3 */) {
    struct str r =
        world_start(def_of(NODE("n", "core.channelWrite", "\"channelName\":\"x\",\"value\":1", ""),
                           "", "", channels((unsigned)WF_CHANS_MAX)),
                    NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_CODE(r, EV_NODE_FAILED, "validation_error");
    struct str q =
        world_start(def_of(NODE("n", "core.setVariable", "\"name\":\"x\",\"value\":1", ""), "",
                           many(VAR_FMT, (unsigned)WF_VARS_MAX), ""),
                    NULL);
    cr_expect_eq(world_wait_final(q), RUN_FAILED);
    EXPECT_CODE(q, EV_NODE_FAILED, "validation_error");
    struct str s =
        world_start(def_of(NODE("n", "core.setVariable", "\"name\":\"v7\",\"value\":2", ""), "",
                           many(VAR_FMT, (unsigned)WF_VARS_MAX), ""),
                    NULL);
    cr_expect_eq(world_wait_final(s), RUN_COMPLETED, "a variable that is there may change");
}

/* --- F5 --- */

#define BIG_VAR "{\"name\":\"b\",\"type\":\"string\"}"

static struct str with_big_input(const char *ports) {
    struct str in = arena_printf(W.a, "{\"b\":" STR_FMT "}", STR_ARG(filler(900000)));
    char head[256];
    snprintf(head, sizeof head, "%s",
             "{\"id\":\"n\",\"typeId\":\"core.noop\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"
             "\"config\":{},\"inputs\":{");
    struct str node = arena_printf(W.a, "%s%s}}", head, ports);
    return world_start(def_of(node.p, "", BIG_VAR, ""), in.p);
}

Test(engine_limits, expression_beyond_memory /* WF-10, STORE-39 */) {
    struct buf b;
    buf_init(&b, 4096);
    buf_addz(&b, "\"p\":{\"type\":\"expression\",\"expression\":\"size(variables.b");
    for (int i = 0; i < 11; i++) buf_addz(&b, "+variables.b");
    buf_addz(&b, ")\"}");
    struct str r = with_big_input(built(&b).p);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_CODE(r, EV_NODE_FAILED, "input_unresolved");
}

Test(engine_limits, many_large_ports /* WF-10 */) {
    struct str r =
        with_big_input(many("\"p%u\":{\"type\":\"variable\",\"variableName\":\"b\"}", 40));
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_CODE(r, EV_NODE_FAILED, "input_unresolved");
    struct str q =
        with_big_input(many("\"p%u\":{\"type\":\"variable\",\"variableName\":\"b\"}", 20));
    cr_expect_eq(world_wait_final(q), RUN_COMPLETED);
}

/* Nodes of one step do not take each other's memory. */
Test(engine_limits, many_large_nodes) {
    struct str in = arena_printf(W.a, "{\"b\":" STR_FMT "}", STR_ARG(filler(900000)));
    const char *nodes =
        many("{\"id\":\"n%u\",\"typeId\":\"core.noop\",\"name\":\"n\",\"position\":{\"x\":0,"
             "\"y\":0},\"config\":{},\"inputs\":{\"p\":{\"type\":\"variable\",\"variableName\":"
             "\"b\"},\"q\":{\"type\":\"variable\",\"variableName\":\"b\"}}}",
             90);
    struct str r = world_start(def_of(nodes, "", BIG_VAR, ""), in.p);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
}

/* A fork that meets a bound of the host's memory is not "try again". */
Test(engine_limits, overlay_beyond_memory /* FORK-23 */) {
    struct fork_overlay over = {
        .inputs = arena_printf(W.a, "{\"b\":" STR_FMT "}", STR_ARG(filler(40u << 20)))};
    struct str id, r = world_start(def_of(NODE("n", "core.noop", "", ""), "", BIG_VAR, ""), NULL);
    struct wopr_error err;
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(fork_try(r, FORK_BRANCH, 0, over, &id, &err), WOPR_E_TOO_BIG, "%s", err.message);
}

/* --- F16 --- */

Test(engine_limits, large_merge /* CHAN-12, CHAN-13 */) {
    static const char *const ports = "\"channelName\":{\"type\":\"static\",\"value\":\"m\"},"
                                     "\"value\":{\"type\":\"variable\",\"variableName\":\"v%u\"}";
    char fmt[512];
    snprintf(fmt, sizeof fmt,
             "{\"id\":\"n%%u\",\"typeId\":\"core.channelWrite\",\"name\":\"n\",\"position\":{\"x\":"
             "0,\"y\":0},\"config\":{},\"inputs\":{%s}}",
             ports);
    struct buf b;
    buf_init(&b, 8u << 20);
    buf_addc(&b, '{');
    for (unsigned v = 0; v < 7; v++) {
        buf_addf(&b, "%s\"v%u\":{", v ? "," : "", v);
        for (unsigned k = 0; k < sampled(80000); k++)
            buf_addf(&b, "%s\"%u%05x\":1", k ? "," : "", v, k);
        buf_addc(&b, '}');
    }
    buf_addc(&b, '}');
    struct str r = world_start(def_of(many(fmt, 7),
                                      many("{\"id\":\"e%u\",\"sourceNodeId\":\"n%u\","
                                           "\"targetNodeId\":\"n0\"}",
                                           0),
                                      many("{\"name\":\"v%u\",\"type\":\"object\"}", 7),
                                      ",\"channels\":{\"m\":{\"reducer\":\"merge\"}}"),
                               built(&b).p);
    enum run_status st = world_wait_final(r);
    cr_expect(st == RUN_COMPLETED || st == RUN_FAILED);
    if (st == RUN_FAILED) {
        struct str code = error_code(r, EV_NODE_FAILED);
        cr_expect(str_eqc(code, "\"validation_error\"") ||
                      str_eqc(code, "\"run_state_limit_exceeded\""),
                  STR_FMT, STR_ARG(code));
    }
    world_check_log(r);
}

/* --- questions that are too large --- */

Test(engine_limits, a_question_that_fits_no_event_fails_its_node /* INT-4, EVT-12 */) {
    struct str in = arena_printf(W.a, "{\"b\":" STR_FMT "}", STR_ARG(filler(1040000)));
    struct str r = world_start(
        def_of("{\"id\":\"g\",\"typeId\":\"core.interrupt\",\"name\":\"g\",\"position\":{\"x\":0,"
               "\"y\":0},\"config\":{\"kind\":\"custom\"},\"inputs\":{\"data\":{\"type\":"
               "\"expression\",\"expression\":\"variables\"}}}",
               "", BIG_VAR, ""),
        in.p);
    cr_expect_eq(world_wait_final(r), RUN_FAILED, "%s", world_story(r));
    world_check_log(r);
}

/* --- runs of many nodes end in one commit --- */

#define GATE_FMT                                                                                   \
    "{\"id\":\"g%u\",\"typeId\":\"core.approvalGate\",\"name\":\"g\",\"position\":{\"x\":0,\"y\":" \
    "0},"                                                                                          \
    "\"config\":{},\"inputs\":{}}"

Test(engine_limits, thousands_of_open_gates_are_cancelled /* RUN-20, EVT-30 */) {
    const unsigned n = 4200; /* more than one commit held */
    struct workflow *wf = world_put(def_of(many(GATE_FMT, n), "", "", ""));
    struct str r = world_create(wf, NULL, "{\"recursionLimit\":10000}");
    workflow_unref(wf);
    struct run_head h = world_head(r); /* four events of each gate, after run.started */
    for (; h.next_seq < 1 + 4 * n; h = world_head(r)) world_wait_more(&h);
    enum run_status st;
    cr_expect_eq(world_op(ENGINE_CANCEL, r, &st), 0);
    cr_expect_eq(st, RUN_CANCELLED);
    cr_expect_eq(world_head(r).next_seq, 1 + 4 * n + n + 1, "every gate, and the run");
}

/* --- parked runs --- */

Test(engine_limits, a_parked_run_can_be_cancelled /* RUN-20 */) {
    enum run_status st;
    struct str r = world_start(def_of(NODE("g", "core.approvalGate", "", ""), "", "", ""), NULL);
    world_wait_status(r, RUN_WAITING_APPROVAL);
    world_engine_stop();
    log_park(r);
    world_engine_start();
    cr_expect_eq(world_answer(r, "g", "{\"action\":\"accept\"}", NULL), WOPR_E_CONFLICT, "no 500");
    cr_expect_eq(world_pause(r, DRAIN_IMMEDIATE), WOPR_E_CONFLICT);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, &st), 0);
    cr_expect_eq(st, RUN_CANCELLED);
    cr_expect_eq(world_count(r, EV_NODE_CANCELLED), 1u, "its log folds: it ends as any other");
    cr_expect_eq(world_head(r).parked.n, 0u);
    world_check_log(r);
    cr_expect_eq(world_op(ENGINE_CANCEL, r, &st), 0, "again");
}
