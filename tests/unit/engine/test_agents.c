/*
 * test_agents.c: agents, supervisors and dispatchers in runs: who works, what is refused, what is
 * caused by what (AGT-5, AGT-8, AGT-30, ORCH-3..9, DISP-4..11).
 */
#include "engine_world.h"

#include "codec/json.h"
#include "nodes/nodes.h"

#include <criterion/criterion.h>

TestSuite(engine_agents, .init = world_up, .fini = world_down, .timeout = 120);

#define PINNED(id, type, agent, config)                                                            \
    "{\"id\":\"" id "\",\"typeId\":\"" type "\",\"name\":\"" id                                    \
    "\",\"position\":{\"x\":0,\"y\":0},\"config\":{" config                                        \
    "},\"inputs\":{},\"agent\":{\"agentId\":\"" agent "\"}}"
#define SUPERVISOR(config) NODE("s", "core.orchestrator.supervisor", config, "")
#define DECIDES(list)      SUPERVISOR("\"mockDecisions\":[" list "]")
#define DISPATCH(config)   NODE("d", "core.dispatch", config, "")
#define LOOP               EDGE("e", "s", "d", "") "," EDGE("l", "d", "s", "")
#define NEXT(ids)          "{\"kind\":\"next-worker\",\"nextWorkerIds\":[" ids "]}"
#define ENOUGH             "{\"kind\":\"terminate\",\"reason\":\"enough\"}"

static struct str ended(const char *nodes, const char *edges) {
    struct str run = world_start(world_def("w", nodes, edges, 0, 0, 0), NULL);
    (void)world_wait_final(run);
    world_check_log(run);
    return run;
}

static void workers_put(void) {
    workflow_unref(world_put(world_def("good", NODE("n", "core.noop", "", ""), 0, 0, 0, 0)));
    workflow_unref(world_put(world_def("bad", NODE("n", "core.fail", "", ""), 0, 0, 0, 0)));
}

static const struct event *event_of(struct str run, enum ev_kind kind, size_t nth) {
    struct event_list l = world_events(run);
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].kind == kind && nth-- == 0) return &l.v[i];
    cr_assert_fail("no such event: %s", world_story(run));
    return NULL;
}

static void fails_with(const char *nodes, const char *edges, const char *code) {
    struct str run = ended(nodes, edges);
    cr_expect_eq(world_head(run).status, RUN_FAILED, "%s: %s", code, world_story(run));
    struct run_view v = world_view(run);
    struct str is = json_string(json_get(v.error, "code"), W.a);
    cr_expect(str_eqc(is, code), "%s: " STR_FMT, code, STR_ARG(v.error));
}

Test(engine_agents, work_is_handed_over_before_it_begins /* AGT-5, AGT-8, AGT-23 */) {
    struct str run = ended(PINNED("a", "core.noop", "core.test.one",
                                  "") "," PINNED("b", "core.noop", "core.test.two", ""),
                           EDGE("e", "a", "b", ""));
    const struct event *h = event_of(run, EV_AGENT_HANDOFF, 0);
    cr_expect_lt(h->seq, event_of(run, EV_NODE_STARTED, 1)->seq);
    cr_expect(str_eqc(json_get(h->payload, "agentId"), "\"core.test.one\""));
    cr_expect(str_eqc(json_get(h->payload, "toAgentId"), "\"core.test.two\""));
    cr_expect(str_eqc(world_view(run).agent, "{\"agentId\":\"core.test.two\"}"));
}

Test(engine_agents, a_supervisor_leads_and_is_no_worker /* AGT-5, ORCH-5 */) {
    struct str run = ended(PINNED("a", "core.noop", "core.test.one", "") "," PINNED(
                               "s", "core.orchestrator.supervisor", "core.test.lead",
                               "\"mockDecisions\":[" ENOUGH "]") "," DISPATCH(""),
                           EDGE("i", "a", "s", "") "," LOOP);
    struct run_view v = world_view(run);
    cr_expect(str_eqc(v.agent, "{\"agentId\":\"core.test.one\"}"), STR_FMT, STR_ARG(v.agent));
    cr_expect(str_eqc(v.orchestrator, "{\"agentId\":\"core.test.lead\"}"));
    cr_expect_eq(world_count(run, EV_AGENT_HANDOFF), 0);
}

Test(engine_agents, a_confidence_that_is_none_is_no_signal /* AGT-30 */) {
    static const char *const odd[] = {
        PINNED("a", "core.identity", "core.test.one", "\"mockConfidence\":-1"),
        PINNED("a", "core.identity", "core.test.one", "\"mockConfidence\":\"low\"")};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct str run = ended(odd[i], 0);
        cr_expect_eq(world_head(run).status, RUN_COMPLETED, "%s", world_story(run));
        cr_expect_eq(world_count(run, EV_LOG_APPENDED), 1, "and the log says so");
        cr_expect(json_get(event_of(run, EV_AGENT_DECIDED, 0)->payload, "confidence").n == 0);
    }
}

Test(engine_agents, what_a_dispatcher_does_is_caused_by_a_decision /* DISP-8, DISP-10 */) {
    workers_put();
    struct str run = ended(DECIDES(NEXT("\"good\"") "," ENOUGH) "," DISPATCH("") "," NODE(
                               "w", "core.delay", "\"ms\":600000", ""),
                           LOOP);
    const struct event *end = event_of(run, EV_RUN_COMPLETED, 0);
    const struct event *last = event_of(run, EV_ORCHESTRATOR_DECIDED, 1);
    cr_expect_eq(end->causation_seq, last->seq, "%s", world_story(run));
    cr_expect(str_eqc(json_get(end->payload, "reason"), "\"enough\""));
    cr_expect_eq(world_count(run, EV_NODE_CANCELLED), 1, "a sibling is not waited for");
    struct event_list l = world_events(run);
    size_t n = 0;
    for (size_t i = 0; i < l.n; i++)
        if (l.v[i].kind == EV_NODE_COMPLETED && str_eqc(l.v[i].node_id, "d"))
            cr_expect_eq(l.v[i].causation_seq, event_of(run, EV_ORCHESTRATOR_DECIDED, n++)->seq);
    cr_expect_eq(n, 2u);
}

Test(engine_agents, a_supervisor_decides_what_its_port_says /* ORCH-3, ORCH-12 */) {
    struct str run =
        ended(NODE("s", "core.orchestrator.supervisor", "",
                   "\"decision\":{\"type\":\"static\",\"value\":" ENOUGH "}") "," DISPATCH(""),
              LOOP);
    cr_expect_eq(world_head(run).status, RUN_COMPLETED, "%s", world_story(run));
    cr_expect_eq(world_count(run, EV_ORCHESTRATOR_DECIDED), 1);
}

Test(engine_agents, decisions_that_are_none_fail_the_supervisor /* ORCH-3, ORCH-7, ORCH-11 */) {
    static const char *const none[] = {
        DECIDES("{\"kind\":\"next-worker\",\"nextWorkerIds\":[]}") "," DISPATCH(""),
        DECIDES("{\"kind\":\"next-worker\",\"nextWorkerIds\":[7]}") "," DISPATCH(""),
        DECIDES("{\"kind\":\"ask-user\"}") "," DISPATCH(""),
        DECIDES("{\"kind\":\"terminate\",\"reason\":\"\"}") "," DISPATCH(""),
        DECIDES("{\"kind\":\"terminate\",\"confidence\":1}") "," DISPATCH(""),
        DECIDES("{\"kind\":\"wait\"}") "," DISPATCH(""),
        DECIDES("7") "," DISPATCH("")};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        fails_with(none[i], LOOP, "validation_error");
    fails_with(SUPERVISOR("") "," DISPATCH(""), LOOP, "orchestrator_not_configured");
    fails_with(DECIDES(NEXT("\"x\"")) "," NODE(
                   "t", "core.orchestrator.supervisor",
                   "\"agentId\":\"another\",\"mockDecisions\":[" ENOUGH "," ENOUGH "]", ""),
               EDGE("e", "s", "t", ""), "validation_error");
}

Test(engine_agents, what_a_dispatcher_refuses /* DISP-4..6, DISP-11, ORCH-9 */) {
    workers_put();
    fails_with(DECIDES(ENOUGH) "," DISPATCH(""), EDGE("e", "d", "s", ""), "no_pending_decision");
    fails_with(DECIDES(NEXT("\"none\"")) "," DISPATCH(""), LOOP, "unknown_child_workflow");
    fails_with(DECIDES(NEXT("\"good\",\"bad\"")) "," DISPATCH(""), LOOP, "child_failed");
    fails_with(DECIDES(NEXT("\"good\",\"good\"")) "," DISPATCH("\"fanOutPolicy\":\"reject\""), LOOP,
               "fan_out_unsupported");
    fails_with(DECIDES(NEXT("\"good\"") "," NEXT("\"good\"")) "," DISPATCH("\"iterationCap\":1"),
               LOOP, "dispatch_iteration_cap_exceeded");
    fails_with(
        SUPERVISOR("\"iterationCap\":1,\"mockDecisions\":[" NEXT("\"good\"") "]") "," DISPATCH(""),
        LOOP, "orchestrator_iteration_cap_exceeded");
}

Test(engine_agents, configurations_that_no_run_could_follow /* DISP-2, DISP-3, ORCH-5 */) {
    static const char *const bad[] = {
        "{\"askUserRouting\":\"person\"}", "{\"workerDispatchModel\":\"node\"}",
        "{\"fanOutPolicy\":\"parallel\"}", "{\"iterationCap\":0}",
        "{\"iterationCap\":1.5}",          "{\"more\":1}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_not_null(nodes_config_wrong(STR("core.dispatch"), str_c(bad[i])), "%s", bad[i]);
    struct str talks = STR("{\"askUserRouting\":\"conversation\"}"); /* DISP-3 */
    cr_expect_null(nodes_config_wrong(STR("core.dispatch"), talks));
    cr_expect_not_null(nodes_config_wrong_silent(STR("core.dispatch"), talks));
    cr_expect_not_null(nodes_config_wrong_silent(STR("core.dispatch"), STR("{\"more\":1}")));
    cr_expect_null(nodes_config_wrong_silent(STR("core.dispatch"), STR("{}")));
    cr_expect_null(nodes_config_wrong(STR("core.dispatch"), STR("{}")));
    cr_expect_null(nodes_config_wrong(
        STR("core.dispatch"), STR("{\"askUserRouting\":\"auto\",\"fanOutPolicy\":\"reject\","
                                  "\"workerDispatchModel\":\"child-run\",\"iterationCap\":3}")));
    cr_expect_not_null(
        nodes_config_wrong(STR("core.orchestrator.supervisor"), STR("{\"agentId\":\"ab\"}")));
}
