/* test_runs.c: orderings of complete runs (EVT-20..25, 34, 40; 30-nodes 2). */
#include "engine_world.h"

#include "codec/json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(engine_runs, .init = world_up, .fini = world_down);

Test(engine_runs, one_noop_tells_four_events /* EVT-20, FIX-10 */) {
    struct str r = world_start(world_def("w", NODE("n", "core.noop", "", ""), 0, 0, 0, 0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), "run.started node.started(n) node.completed(n) run.completed");
    world_check_log(r);
}

Test(engine_runs, a_chain_runs_in_order /* EVT-21 */) {
    struct str r =
        world_start(world_def("w",
                              NODE("c", "core.noop", "", "") "," NODE(
                                  "b", "core.noop", "", "") "," NODE("a", "core.noop", "", ""),
                              EDGE("e1", "a", "b", "") "," EDGE("e2", "b", "c", ""), 0, 0, 0),
                    NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r),
               "run.started node.started(a) node.completed(a) node.started(b) node.completed(b) "
               "node.started(c) node.completed(c) run.completed");
}

Test(engine_runs, identity_keeps_every_byte /* NODE-31, WF-18, D32 */) {
    const char *in = "{\"payload\":{\"b\":[1,2.50,1e3,null,\"\\u00e9\\ud83d\\ude00\"],\"a\":{}}}";
    struct str r = world_start(
        world_def("w",
                  NODE("echo", "core.identity", "",
                       "\"payload\":{\"type\":\"variable\",\"variableName\":\"payload\"}"),
                  0, "{\"name\":\"payload\",\"type\":\"object\",\"required\":true}", 0, 0),
        in);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    struct str want = json_get(str_c(in), "payload");
    struct str outputs = json_get(world_event(r, EV_NODE_COMPLETED, 1)->payload, "outputs");
    cr_expect(str_eq(json_get(outputs, "payload"), want));
    cr_expect(str_eq(world_var(r, "payload"), want));
    struct str started = json_get(world_event(r, EV_RUN_STARTED, 1)->payload, "inputs");
    cr_expect(str_eq(json_get(started, "payload"), want)); /* EVT-11 */
}

Test(engine_runs, a_failing_node_fails_the_run /* EVT-22, NODE-35, EVT-4 */) {
    struct str r = world_start(
        world_def("w", NODE("f", "core.fail", "", ""), 0, 0, "\"maxRetries\":3", 0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_STR(world_story(r), "run.started node.started(f) node.failed(f) run.failed");
    const struct event *end = world_event(r, EV_RUN_FAILED, 1);
    cr_expect_eq(end->causation_seq, 2);
    cr_expect(
        str_eqc(json_get(json_get(end->payload, "error"), "code"), "\"conformance_test_failure\""));
    struct run_view v = world_view(r);
    cr_expect(str_eqc(v.error, "{\"code\":\"conformance_test_failure\",\"message\":\"Intentional "
                               "conformance failure\"}"),
              STR_FMT, STR_ARG(v.error));
}

Test(engine_runs, a_failure_stops_siblings_and_skips_the_rest /* WF-8, EVT-22 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("slow", "core.delay", "\"ms\":60000", "") "," NODE(
                      "after", "core.noop", "", "") "," NODE("bad", "core.fail", "", ""),
                  EDGE("e", "slow", "after", ""), 0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_STR(world_story(r), "run.started node.started(slow) node.started(bad) node.failed(bad) "
                               "node.cancelled(slow) node.skipped(after) run.failed");
}

Test(engine_runs, a_handled_failure_lets_the_run_complete /* WF-7, WF-8 */) {
    struct str r = world_start(
        world_def("w", NODE("bad", "core.fail", "", "") "," NODE("mend", "core.noop", "", ""),
                  EDGE("e", "bad", "mend", ",\"triggerRule\":\"any_failed\""), 0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), "run.started node.started(bad) node.failed(bad) node.started(mend) "
                               "node.completed(mend) run.completed");
}

Test(engine_runs, branches_run_side_by_side /* WF-14 */) {
    struct str r =
        world_start(world_def("w",
                              NODE("s", "core.parallel", "", "") "," NODE(
                                  "a", "core.delay", "\"ms\":20",
                                  "") "," NODE("b", "core.delay", "\"ms\":20",
                                               "") "," NODE("m", "core.merge", "", ""),
                              EDGE("e1", "s", "a", "") "," EDGE("e2", "s", "b", "") "," EDGE(
                                  "e3", "a", "m", "") "," EDGE("e4", "b", "m", ""),
                              0, 0, 0),
                    NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    const char *s = world_story(r);
    cr_expect_eq(strstr(s, "run.started node.started(s) node.completed(s) node.started(a) "
                           "node.started(b)"),
                 s, "%s", s);
    cr_expect_not_null(strstr(s, "node.started(m) node.completed(m) run.completed"));
}

Test(engine_runs, the_cap_stops_before_the_start /* EVT-25, CAP-33, CAP-34, FIX-20 */) {
    struct workflow *wf = world_put(
        world_def("w", NODE("n1", "core.noop", "", "") "," NODE("n2", "core.noop", "", ""),
                  EDGE("e", "n1", "n2", ""), 0, 0, 0));
    struct str r = world_create(wf, NULL, "{\"recursionLimit\":1}");
    workflow_unref(wf);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_STR(world_story(r),
               "run.started node.started(n1) node.completed(n1) cap.breached(n2) run.failed");
    const struct event *cap = world_event(r, EV_CAP_BREACHED, 1);
    cr_expect(str_eqc(cap->payload, "{\"kind\":\"node-executions\",\"limit\":1,\"observed\":2,"
                                    "\"nodeId\":\"n2\"}"),
              STR_FMT, STR_ARG(cap->payload));
    cr_expect_eq(world_event(r, EV_RUN_FAILED, 1)->causation_seq, cap->seq);
}

Test(engine_runs, a_missing_capability_refuses_without_a_start /* EVT-24, NODE-4, FIX-19 */) {
    struct str r = world_start(world_def("w", NODE("n", "conformance.requiresMissing", "", ""), 0,
                                         0, "\"maxRetries\":2", 0),
                               NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_STR(world_story(r), "run.started node.failed(n) run.failed");
    struct str error = json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error");
    cr_expect(str_eqc(json_get(error, "code"), "\"capability_not_provided\""));
    cr_expect(str_eqc(json_get(json_get(error, "details"), "capability"),
                      "\"conformance.never-provided\""));
    struct str message = json_get(error, "message");
    cr_expect_not_null(strstr(arena_cstr(W.a, message), "conformance.never-provided"));
}

Test(engine_runs, an_unknown_type_fails_at_its_node /* NODE-3 */) {
    struct str r =
        world_start(world_def("w", NODE("n", "vendor.acme.gone", "", ""), 0, 0, 0, 0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    EXPECT_STR(world_story(r), "run.started node.failed(n) run.failed");
}

Test(engine_runs, an_input_that_cannot_be_resolved_fails_its_node /* NODE-6, WF-4 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("a", "core.noop", "", "") "," NODE(
                      "b", "core.identity", "",
                      "\"x\":{\"type\":\"connection\",\"nodeId\":\"a\",\"outputKey\":\"nope\"}"),
                  EDGE("e", "a", "b", ""), 0, "\"maxRetries\":2", 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    struct str error = json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error");
    cr_expect(str_eqc(json_get(error, "code"), "\"input_unresolved\""));
    cr_expect_eq(world_count(r, EV_NODE_RETRIED), 0); /* NODE-18 */
}

Test(engine_runs, a_flaky_node_is_tried_again /* EVT-23, WF-24 */) {
    struct str r = world_start(
        world_def("w",
                  "{\"id\":\"f\",\"typeId\":\"test.flaky\",\"name\":\"f\",\"position\":{\"x\":0,"
                  "\"y\":0},\"config\":{\"failures\":2},\"inputs\":{},\"settings\":{\"maxRetries\":"
                  "2,\"retryDelayMs\":5}}",
                  0, 0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r),
               "run.started node.started(f) node.retried(f) node.started(f) node.retried(f) "
               "node.started(f) node.completed(f) run.completed");
    cr_expect(str_eqc(json_get(world_event(r, EV_NODE_STARTED, 3)->payload, "attempt"), "2"));
    struct str retried = world_event(r, EV_NODE_RETRIED, 1)->payload;
    cr_expect(str_eqc(json_get(retried, "attempt"), "1"));
    cr_expect(str_eqc(json_get(retried, "delayMs"), "5"));
    const struct event *e = world_event(r, EV_NODE_RETRIED, 1);
    cr_expect(world_event(r, EV_NODE_STARTED, 2)->ts_ms >= e->ts_ms + 5);
}

Test(engine_runs, retries_end /* EVT-23, NODE-18 */) {
    struct str r = world_start(
        world_def("w",
                  "{\"id\":\"f\",\"typeId\":\"test.flaky\",\"name\":\"f\",\"position\":{\"x\":0,"
                  "\"y\":0},\"config\":{\"failures\":9},\"inputs\":{},\"settings\":{\"maxRetries\":"
                  "1,\"retryDelayMs\":0}}",
                  0, 0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect_eq(SPY_CALLS, 2);
    cr_expect(str_eqc(json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "attempts"), "2"));
}

Test(engine_runs, some_codes_are_never_tried_again /* NODE-18 */) {
    struct str r = world_start(
        world_def("w", NODE("f", "test.flaky", "\"failures\":9,\"code\":\"validation_error\"", ""),
                  0, 0, "\"maxRetries\":5", 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect_eq(SPY_CALLS, 1);
}

Test(engine_runs, a_refused_payload_fails_the_node_not_the_host /* EVT-12 */) {
    static const char *const TYPES[] = {"test.badOutput", "test.brokenJson", "test.badEffect",
                                        "test.badError"};
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        char node[256], id[8];
        snprintf(node, sizeof node,
                 "{\"id\":\"n\",\"typeId\":\"%s\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"
                 "\"config\":{},\"inputs\":{}}",
                 TYPES[i]);
        snprintf(id, sizeof id, "w%zu", i);
        struct str r = world_start(world_def(id, node, 0, 0, 0, 0), NULL);
        cr_expect_eq(world_wait_final(r), RUN_FAILED);
        EXPECT_STR(world_story(r), "run.started node.started(n) node.failed(n) run.failed");
        struct str error = json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error");
        cr_expect(str_eqc(json_get(error, "code"), "\"event_payload_invalid\""), "%s", TYPES[i]);
        world_check_log(r);
    }
}

Test(engine_runs, an_artifact_is_told_and_kept) {
    struct wopr_error err = {0};
    struct plan_artifact art;
    struct str r =
        world_start(world_def("w", NODE("n", "test.artifact", "", ""), 0, 0, 0, 0), NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    EXPECT_STR(world_story(r), "run.started node.started(n) artifact.created(n) node.completed(n) "
                               "run.completed");
    cr_assert_eq(store_artifact_get(W.store, STR("t1"), true, r, STR("art-1"), W.a, &art, &err), 0);
    cr_expect(str_eqc(art.body, "{\"hello\":1}"));
}

Test(engine_runs, variables_are_set_and_read /* 30-nodes 2.4, WF-19 */) {
    struct str r =
        world_start(world_def("w",
                              NODE("s", "core.setVariable", "\"name\":\"v\",\"value\":{\"x\":1}",
                                   "") "," NODE("g", "core.getVariable", "\"name\":\"v\"", ""),
                              EDGE("e", "s", "g", ""), 0, 0, 0),
                    NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect(str_eqc(json_get(world_event(r, EV_NODE_COMPLETED, 2)->payload, "outputs"),
                      "{\"value\":{\"x\":1}}"));
    cr_expect(str_eqc(world_var(r, "v"), "{\"x\":1}"));
}

Test(engine_runs, sensitive_values_are_masked_in_the_log_and_clear_inside /* OBS-71, NODE-20 */) {
    struct str r = world_start(
        world_def(
            "w",
            NODE(
                "s", "core.setVariable", "\"name\":\"v\",\"value\":\"hush\"",
                "") ","
                    "{\"id\":\"i\",\"typeId\":\"core.identity\",\"name\":\"i\",\"position\":{\"x\":"
                    "0,"
                    "\"y\":0},\"config\":{},\"inputs\":{\"p\":{\"type\":\"variable\","
                    "\"variableName\":"
                    "\"v\"}},\"outputSensitivity\":{\"p\":true}}," NODE(
                        "c", "test.measure", "",
                        "\"v\":{\"type\":\"connection\",\"nodeId\":\"i\",\"outputKey\":\"p\"}"),
            EDGE("e", "s", "i", "") "," EDGE("f", "i", "c", ""),
            "{\"name\":\"v\",\"type\":\"string\",\"sensitive\":true}", 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect(str_eqc(json_get(world_event(r, EV_VARIABLE_CHANGED, 1)->payload, "next"),
                      "\"[REDACTED]\""));
    cr_expect(str_eqc(json_get(world_event(r, EV_NODE_COMPLETED, 2)->payload, "outputs"),
                      "{\"p\":\"[REDACTED]\"}"));
    cr_expect(str_eqc(world_var(r, "v"), "\"[REDACTED]\""));
    cr_expect(
        str_eqc(json_get(world_event(r, EV_NODE_COMPLETED, 3)->payload, "outputs"), "{\"n\":4}"));
}

Test(engine_runs,
     a_declared_channel_refuses_what_its_declaration_refuses /* CHAN-4, 6, 12, 13, 22 */) {
    static const struct {
        const char *channels, *node, *code;
    } CASES[] = {
        {"\"c\":{\"reducer\":\"append\",\"access\":\"private\"}",
         NODE("n", "core.channelWrite", "\"channelName\":\"c\",\"value\":1", ""),
         "\"channel_access_denied\""},
        {"\"c\":{\"reducer\":\"append\",\"access\":{\"writers\":[\"other\"]}}",
         NODE("n", "core.channelWrite", "\"channelName\":\"c\",\"value\":1", ""),
         "\"channel_access_denied\""},
        {"\"c\":{\"reducer\":\"append\",\"schema\":{\"type\":\"string\"}}",
         NODE("n", "core.channelWrite", "\"channelName\":\"c\",\"value\":1", ""),
         "\"validation_error\""},
        {"\"c\":{\"reducer\":\"append\",\"schema\":{\"type\":\"array\",\"items\":{\"type\":"
         "\"string\"}}}",
         NODE("n", "core.channelWrite", "\"channelName\":\"c\",\"value\":1", ""),
         "\"validation_error\""},
        {"\"c\":{\"reducer\":\"merge\"}",
         NODE("n", "core.channelWrite", "\"channelName\":\"c\",\"value\":1", ""),
         "\"validation_error\""},
        {"\"c\":{\"reducer\":\"counter\"}",
         NODE("n", "core.channelWrite", "\"channelName\":\"c\",\"value\":\"x\"", ""),
         "\"validation_error\""},
        {"\"c\":{\"reducer\":\"merge\",\"maxSize\":1}",
         NODE("n", "core.channelWrite", "\"channelName\":\"c\",\"value\":{\"a\":1,\"b\":2}", ""),
         "\"validation_error\""},
        {"\"c\":{\"reducer\":\"append\"}",
         NODE("n", "core.setVariable", "\"name\":\"c\",\"value\":1", ""), "\"validation_error\""},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char id[8], more[512];
        snprintf(id, sizeof id, "w%zu", i);
        snprintf(more, sizeof more, ",\"channels\":{%s}", CASES[i].channels);
        struct str r = world_start(world_def(id, CASES[i].node, 0, 0, 0, more), NULL);
        cr_expect_eq(world_wait_final(r), RUN_FAILED, "case %zu", i);
        EXPECT_STR(world_story(r), "run.started node.started(n) node.failed(n) run.failed");
        struct str error = json_get(world_event(r, EV_NODE_FAILED, 1)->payload, "error");
        cr_expect(str_eqc(json_get(error, "code"), CASES[i].code), "case %zu", i);
    }
}

Test(engine_runs, a_declared_channel_takes_what_fits /* CHAN-7, CHAN-5 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("n", "core.channelWrite", "\"channelName\":\"c\",\"value\":{\"a\":1}", ""),
                  0, 0, 0,
                  ",\"channels\":{\"c\":{\"reducer\":\"append\",\"schemaVersion\":3,\"schema\":"
                  "{\"type\":\"array\"},\"access\":{\"writers\":[\"core.*\"]}}}"),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED);
    struct str p = world_event(r, EV_CHANNEL_WRITTEN, 1)->payload;
    cr_expect(str_eqc(json_get(p, "value"), "{\"a\":1}"));
    cr_expect(str_eqc(json_get(p, "schemaVersion"), "3"));
    cr_expect(str_eqc(world_var(r, "c"), "[{\"a\":1}]"), STR_FMT, STR_ARG(world_var(r, "c")));
}

Test(engine_runs, a_loop_visits_its_items /* 30-nodes 2.4, WF-11..13 */) {
    struct str r = world_start(
        world_def("w",
                  NODE("l", "core.loop", "\"items\":[\"x\",\"y\"]",
                       "") "," NODE("body", "core.channelWrite", "\"channelName\":\"seen\"",
                                    "\"value\":{\"type\":\"connection\",\"nodeId\":\"l\","
                                    "\"outputKey\":\"item\"}") "," NODE("end", "core.noop", "", ""),
                  EDGE("e1", "l", "body",
                       ",\"condition\":{\"type\":\"equals\",\"left\":\"output.done\",\"right\":"
                       "false}") "," EDGE("e2", "body", "l",
                                          "") "," EDGE("e3", "l", "end",
                                                       ",\"condition\":{\"type\":\"equals\","
                                                       "\"left\":\"output.done\",\"right\":true}"),
                  0, 0, 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    cr_expect_eq(world_count(r, EV_CHANNEL_WRITTEN), 2, "%s", world_story(r));
    cr_expect_not_null(strstr(world_story(r), "node.completed(end) run.completed"));
}

Test(engine_runs, a_loop_without_an_end_meets_its_limit /* EVT-40, WF-12 */) {
    struct str r = world_start(
        world_def("w", NODE("a", "core.noop", "", "") "," NODE("b", "core.noop", "", ""),
                  EDGE("e1", "a", "b", "") "," EDGE("e2", "b", "a", ""), 0,
                  "\"maxLoopbackIterations\":2", 0),
        NULL);
    cr_expect_eq(world_wait_final(r), RUN_FAILED);
    cr_expect_eq(world_count(r, EV_LOOPBACK_LIMIT), 1);
    const char *s = world_story(r);
    cr_expect_not_null(strstr(s, "workflow.loopback-limit(a) node.failed(a)"), "%s", s);
    cr_expect(str_eqc(json_get(world_event(r, EV_LOOPBACK_LIMIT, 1)->payload, "limit"), "2"));
}

Test(engine_runs, text_is_streamed_by_the_mock /* EVT-34, WF-34, FIX-23 */) {
    struct workflow *wf =
        world_put(world_def("w", NODE("ai", "core.ai.callPrompt", "", ""), 0, 0, 0, 0));
    struct str r = world_create(
        wf, NULL,
        "{\"mockProvider\":{\"id\":\"stream-text\",\"config\":{\"tokens\":[\"Hello\",\" "
        "\",\"world\","
        "\"!\"],\"delayMsPerToken\":2,\"finishReason\":\"stop\",\"usage\":{\"promptTokens\":5,"
        "\"completionTokens\":4,\"totalTokens\":9}}}}");
    workflow_unref(wf);
    cr_expect_eq(world_wait_final(r), RUN_COMPLETED, "%s", world_story(r));
    EXPECT_STR(world_story(r),
               "run.started node.started(ai) output.chunk(ai) output.chunk(ai) "
               "output.chunk(ai) output.chunk(ai) node.completed(ai) run.completed");
    struct str first = world_event(r, EV_OUTPUT_CHUNK, 1)->payload;
    struct str last = world_event(r, EV_OUTPUT_CHUNK, 4)->payload;
    cr_expect(str_eqc(json_get(first, "chunk"), "\"Hello\""));
    cr_expect_eq(json_get(first, "isLast").n, 0);
    cr_expect(str_eqc(json_get(last, "isLast"), "true"));
    cr_expect(str_eqc(json_path_get(last, STR("meta.usage.completionTokens"), W.a), "4"));
    cr_expect(str_eqc(
        json_get(json_get(world_event(r, EV_NODE_COMPLETED, 1)->payload, "outputs"), "text"),
        "\"Hello world!\""));
}

Test(engine_runs, the_other_mocks_do_as_configured /* OPT-9 */) {
    static const struct {
        const char *options, *story;
    } CASES[] = {
        {"{\"mockProvider\":{\"id\":\"usage-only\"}}",
         "run.started node.started(ai) output.chunk(ai) node.completed(ai) run.completed"},
        {"{\"mockProvider\":{\"id\":\"tool-calls\"}}",
         "run.started node.started(ai) output.chunk(ai) node.completed(ai) run.completed"},
        {"{\"mockProvider\":{\"id\":\"error\",\"config\":{\"code\":\"boom\",\"failAfterMs\":2}}}",
         "run.started node.started(ai) node.failed(ai) run.failed"},
        {"{}", "run.started node.started(ai) node.failed(ai) run.failed"},
    };
    struct workflow *wf =
        world_put(world_def("w", NODE("ai", "core.ai.callPrompt", "", ""), 0, 0, 0, 0));
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct str r = world_create(wf, NULL, CASES[i].options);
        (void)world_wait_final(r);
        EXPECT_STR(world_story(r), CASES[i].story);
    }
    workflow_unref(wf);
}

Test(engine_runs, a_thousand_runs_complete_without_holes /* EVT-2, EVT-7 */, .timeout = 300) {
    enum { RUNS = 1000 };
    struct workflow *wf = world_put(
        world_def("w", NODE("a", "core.noop", "", "") "," NODE("b", "core.delay", "\"ms\":1", ""),
                  EDGE("e", "a", "b", ""), 0, 0, 0));
    struct call *calls = calloc(RUNS, sizeof *calls);
    struct wopr_error err;
    for (int i = 0; i < RUNS; i++) {
        call_init(&calls[i], ENGINE_CREATE, STR_NONE);
        calls[i].cmd.create.wf = wf;
        calls[i].cmd.create.inputs_accepted = STR("{}");
        cr_assert_eq(run_options_load(STR_NONE, STR_NONE, STR_NONE, &RUN_LIMITS_DEFAULT,
                                      calls[i].cmd.arena, &calls[i].cmd.create.options, &err),
                     0);
        call_send(&calls[i]);
    }
    for (int i = 0; i < RUNS; i++) {
        call_wait(&calls[i]);
        cr_assert_eq(calls[i].cmd.result.rc, 0, "%s", calls[i].cmd.result.err.message);
        struct str id = arena_str(W.a, calls[i].cmd.result.run_id);
        cr_assert_eq(world_wait_final(id), RUN_COMPLETED);
        world_check_log(id);
        call_fini(&calls[i]);
    }
    free(calls);
    workflow_unref(wf);
    struct engine_stats st;
    engine_stats(W.engine, &st);
    cr_expect_eq(st.runs_created, RUNS);
}
