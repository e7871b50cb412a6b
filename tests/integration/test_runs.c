/*
 * test_runs.c: what runs do.  Public scenarios: runs-lifecycle, failure-path, identity-passthrough,
 * multi-node-ordering, eventOrdering, append-ordering, cap-breach, runtime-capabilities,
 * configurable-schema, channel-ttl, cancellation, pause-resume, version-negotiation, redaction
 * (groups B, C).
 */
#include "harness.h"

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(runs, .init = up, .fini = down, .timeout = 300);

static void expect_types(const char *run, const char *want) {
    struct str got = types_of(events_of(&sv, run));
    cr_expect(str_eqc(got, want), "\n got " STR_FMT "\nwant %s", STR_ARG(got), want);
}

Test(runs, noop_lifecycle /* RUN-4, EVT-20, NODE-11, suite runs-lifecycle and eventOrdering */) {
    struct reply r = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", NULL);
    cr_assert_eq(r.status, 201);
    cr_expect(str_eqc(text_at(r.body, "status"), "pending"));
    const char *run = text_at(r.body, "runId").p;
    cr_expect(str_eqc(text_at(r.body, "eventsUrl"), fmt("%s/v1/runs/%s/events", sv.base, run)));
    cr_expect(str_eqc(text_at(r.body, "statusUrl"), fmt("%s/v1/runs/%s", sv.base, run)));
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"));
    cr_expect(str_eqc(text_at(snap, "runId"), run));
    cr_expect(str_eqc(text_at(snap, "engineVersion"), "1"), "VER-12");
    cr_expect_eq(int_at(snap, "eventLogSchemaVersion"), 2);
    cr_expect(str_eqc(text_at(snap, "nodeStates.noop.status"), "completed"));
    expect_types(run, "run.started node.started:noop node.completed:noop run.completed");
    struct str a = events_of(&sv, run), b = events_of(&sv, run);
    cr_expect(str_eq(a, b), "repeated polls of an ended run are identical (SSE-40)");
    for (int i = 0; i < 4; i++) {
        struct str e = at(a, fmt("%d", i));
        cr_expect_eq(int_at(e, "sequence"), i);
        cr_expect_eq(int_at(e, "schemaVersion"), 1);
        cr_expect(str_eqc(text_at(e, "runId"), run));
        cr_expect(text_at(e, "eventId").n >= 16);
        cr_expect_eq(text_at(e, "timestamp").n, 24u);
        cr_expect_eq(json_type_of(at(e, "payload")), JSON_OBJECT);
    }
}

Test(runs, the_json_form_of_events_answers_at_once /* SSE-3, HTTP-20 */) {
    const char *run = create_run(&sv, "conformance-cancellable", NULL);
    wait_status(&sv, run, "running");
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s/events", run), NULL, NULL);
    cr_assert_eq(r.status, 200);
    cr_expect(str_eqc(header(&r, "Content-Type"), "application/json"));
    cr_expect(str_eqc(at(r.body, "isComplete"), "false"));
    cr_expect(str_eqc(types_of(at(r.body, "events")), "run.started node.started:wait"));
}

Test(runs, failure_path /* EVT-22, RUN-18, NODE-35 */) {
    const char *run = create_run(&sv, "conformance-failure", NULL);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "failed"));
    cr_expect(str_eqc(text_at(snap, "error.code"), "conformance_test_failure"));
    cr_expect(str_eqc(text_at(snap, "error.message"), "Intentional conformance failure"));
    expect_types(run, "run.started node.started:fail node.failed:fail run.failed");
}

Test(runs, identity_keeps_json_types /* NODE-31, WF-18, D33 */) {
    const char *payload = "{\"s\":\"h\\u00e9llo "
                          "\\ud83d\\ude00\",\"i\":42,\"f\":1.50,\"b\":true,\"n\":null,\"mixed\":[1,"
                          "\"two\",{\"three\":[3.0,-0.0,1e400]}],"
                          "\"deep\":{\"a\":{\"b\":{\"c\":12345678901234567890}}}}";
    const char *run = create_run(
        &sv, "conformance-identity",
        fmt("\"inputs\":{\"payload\":%s,\"undeclared\":\"sk-not-stored-0123456789abcdef\"}",
            payload));
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"));
    cr_expect(str_eqc(at(snap, "variables.payload"), payload), "byte for byte: " STR_FMT,
              STR_ARG(at(snap, "variables.payload")));
    cr_expect_null(strstr(snap.p, "undeclared"), "RUN-3");
    cr_expect_null(strstr(events_of(&sv, run).p, "sk-not-stored"), "EVT-11");
}

Test(runs, multi_node_order_and_fan_out /* EVT-21, WF-14 */) {
    const char *run = create_run(&sv, "conformance-multi-node", NULL);
    wait_terminal(&sv, run);
    expect_types(run, "run.started node.started:a node.completed:a node.started:b node.completed:b "
                      "node.started:c node.completed:c run.completed");
}

Test(runs, conditions_route_and_skip /* WF-7, WF-9 */) {
    const char *run = create_run(&sv, "router", "\"inputs\":{\"amount\":250}");
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_expect(str_eqc(text_at(snap, "variables.lane"), "review"));
    cr_expect(str_eqc(text_at(snap, "nodeStates.small.status"), "skipped"));
}

Test(runs, append_channel_keeps_every_write_in_order /* CHAN-14, CHAN-15 */) {
    const char *run = create_run(&sv, "conformance-append-ordering", NULL);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(
        json_equal(at(snap, "channels.log"), STR("[1,{\"n\":2},\"three\",[4]]"), test_arena()),
        STR_FMT, STR_ARG(snap));
    cr_expect_not_null(
        strstr(types_of(events_of(&sv, run)).p,
               "node.started:w1 channel.written:w1 node.completed:w1 node.started:w2"));
}

Test(runs, declared_channels_show_before_the_first_write /* SSE-18 */) {
    static const char *const put[] = {"workflow", "put",
                                      WOPR_SOURCE_DIR "/tests/integration/channels.json", NULL};
    struct str out = STR_NONE;
    cr_assert_eq(program(&sv, put, &out, NULL), 0, STR_FMT, STR_ARG(out));
    const char *run = create_run(&sv, "channels", NULL);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(json_equal(at(snap, "channels"),
                         STR("{\"count\":0,\"first\":\"none\",\"log\":[],\"merged\":{}}"),
                         test_arena()),
              STR_FMT, STR_ARG(snap));
    static const char *const verify[] = {"verify", NULL};
    cr_expect_eq(program(&sv, verify, &out, NULL), 0, "the projection equals the fold: " STR_FMT,
                 STR_ARG(out));
}

Test(runs, channel_ttl_drops_old_entries_at_write_time /* CHAN-16, CHAN-27, CHAN-28 */) {
    const char *run = create_run(&sv, "conformance-channel-ttl", NULL);
    struct str snap = wait_terminal(&sv, run), events = at(snap, "variables.events");
    struct json_elements l;
    cr_assert_eq(json_elements(events, test_arena(), &l, NULL), 0);
    cr_assert_eq(l.n, 1u, STR_FMT, STR_ARG(events));
    cr_expect(str_eqc(text_at(l.v[0], "value"), "d"));
    cr_expect(int_at(l.v[0], "_ts") > 0);
}

Test(runs, node_execution_cap /* EVT-25, CAP-34, CON-12 */) {
    const char *run =
        create_run(&sv, "conformance-cap-breach", "\"configurable\":{\"recursionLimit\":3}");
    struct str snap = wait_terminal(&sv, run), ev = events_of(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "failed"));
    cr_expect(str_eqc(text_at(snap, "error.code"), "recursion_limit_exceeded"));
    expect_types(run, "run.started node.started:n1 node.completed:n1 node.started:n2 "
                      "node.completed:n2 node.started:n3 node.completed:n3 "
                      "cap.breached:n4 run.failed");
    struct str cap = at(ev, "7.payload");
    cr_expect(
        str_eqc(cap, "{\"kind\":\"node-executions\",\"limit\":3,\"observed\":4,\"nodeId\":\"n4\"}"),
        STR_FMT, STR_ARG(cap));
    cr_expect(str_eq(text_at(ev, "8.causationId"), text_at(ev, "7.eventId")), "EVT-4");
    run = create_run(&sv, "conformance-cap-breach", NULL);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    struct reply r =
        ask(&sv, "POST", "/v1/runs",
            "{\"workflowId\":\"conformance-noop\",\"configurable\":{\"recursionLimit\":0}}", NULL);
    expect_error(&r, 400, "validation_error");
}

Test(runs, missing_runtime_capability /* EVT-24, CAP-18 */) {
    const char *run = create_run(&sv, "conformance-capability-missing", NULL);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "error.code"), "capability_not_provided"));
    cr_expect_not_null(strstr(text_at(snap, "error.message").p, "conformance.never-provided"));
    expect_types(run, "run.started node.failed:n1 run.failed");
}

Test(runs, configurable_schema_is_enforced /* OPT-5, WF-2 */) {
    struct reply r = ask(&sv, "POST", "/v1/runs",
                         "{\"workflowId\":\"conformance-configurable-schema\",\"configurable\":{\"_"
                         "_conformance_invalid_key__\":{\"unexpected\":true}}}",
                         NULL);
    expect_error(&r, 400, "validation_error");
    wait_terminal(&sv, create_run(&sv, "conformance-configurable-schema",
                                  "\"configurable\":{\"recursionLimit\":5}"));
    r = ask(&sv, "GET", "/v1/workflows/conformance-configurable-schema", NULL, NULL);
    cr_expect_eq(json_type_of(at(r.body, "configurableSchema")), JSON_OBJECT);
}

Test(runs, cancel /* RUN-20, RUN-21, EVT-30 */) {
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":10000}");
    wait_status(&sv, run, "running");
    struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run),
                         "{\"reason\":\"conformance-cancellation-test\"}", NULL);
    cr_assert_eq(r.status, 200);
    cr_expect(str_eqc(text_at(r.body, "status"), "cancelled"), STR_FMT, STR_ARG(r.body));
    wait_status(&sv, run, "cancelled");
    expect_types(run, "run.started node.started:wait node.cancelled:wait run.cancelled");
    cr_expect(
        str_eqc(text_at(events_of(&sv, run), "3.payload.reason"), "conformance-cancellation-test"));
    r = ask(&sv, "POST", fmt("/v1/runs/%s:cancel", run), "{}", NULL);
    cr_expect_eq(r.status, 200);
    cr_expect(str_eqc(text_at(r.body, "status"), "cancelled"));
    const char *done = create_run(&sv, "conformance-noop", NULL);
    wait_terminal(&sv, done);
    r = ask(&sv, "POST", fmt("/v1/runs/%s/cancel", done), NULL, NULL);
    cr_expect_eq(r.status, 200);
    cr_expect(str_eqc(text_at(r.body, "status"), "completed"), "an ended run keeps its status");
    r = ask(&sv, "POST", "/v1/runs/openwop-conformance-no-such-run/cancel", "{}", NULL);
    expect_error(&r, 404, "not_found");
}

static void pause_and_resume(const char *policy, const char *suspended) {
    const char *run = create_run(&sv, "conformance-cancellable",
                                 "\"inputs\":{\"delayMs\":1500,\"delaySeconds\":30}");
    wait_status(&sv, run, "running");
    struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s:pause", run),
                         fmt("{\"reason\":\"test\",\"drainPolicy\":\"%s\"}", policy), NULL);
    cr_assert_eq(r.status, 202, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.body, "status"), "paused"));
    cr_expect_eq(text_at(r.body, "pausedAt").n, 24u);
    wait_status(&sv, run, "paused");
    r = ask(&sv, "POST", fmt("/v1/runs/%s:pause", run), "{}", NULL);
    expect_error(&r, 409, "conflict");
    cr_expect(str_eqc(text_at(r.body, "details.runStatus"), "paused"));
    cr_expect(text_at(r.body, "details.pausedAt").n == 24);
    nap_ms(1700); /* longer than what is left of the delay: a paused timer must not fire */
    cr_expect(str_eqc(text_at(wait_status(&sv, run, "paused"), "status"), "paused"));
    r = ask(&sv, "POST", fmt("/v1/runs/%s:resume", run), "{\"reason\":\"go\"}", NULL);
    cr_assert_eq(r.status, 202, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.body, "status"), "running"));
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    struct str got = types_of(events_of(&sv, run));
    cr_expect_eq(strstr(got.p, suspended) != NULL, true, STR_FMT, STR_ARG(got));
    cr_expect_not_null(strstr(got.p, "run.paused run.resumed"), "RUN-29: " STR_FMT, STR_ARG(got));
}

Test(runs, pause_drains_a_delay_and_resumes_it /* RUN-24..29, WF-44 */) {
    pause_and_resume("drain-current-node", "node.started:wait node.suspended:wait run.paused "
                                           "run.resumed node.resumed:wait node.completed:wait");
}

Test(runs, immediate_pause /* RUN-25 */) {
    pause_and_resume("immediate", "node.started:wait run.paused run.resumed");
}

Test(runs, pause_and_resume_in_wrong_states /* RUN-27, RUN-29, RUN-30 */) {
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":20000}");
    wait_status(&sv, run, "running");
    struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s:resume", run), "{}", NULL);
    expect_error(&r, 409, "conflict");
    cr_expect(str_eqc(text_at(r.body, "details.runStatus"), "running"));
    r = ask(&sv, "POST", fmt("/v1/runs/%s:pause", run), "{\"unknown\":1}", NULL);
    expect_error(&r, 400, "validation_error");
    r = ask(&sv, "POST", fmt("/v1/runs/%s:pause", run), "{\"drainPolicy\":\"sometimes\"}", NULL);
    expect_error(&r, 400, "validation_error");
    r = ask(&sv, "POST", "/v1/runs/no-such-run:pause", "{}", NULL);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "POST", fmt("/v1/runs/%s%%3Apause", run), NULL, NULL); /* HTTP-6 */
    cr_expect_eq(r.status, 202, STR_FMT, STR_ARG(r.body));
    wait_status(&sv, run, "paused");
    r = ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run), "{}", NULL);
    cr_expect_eq(r.status, 200, "cancel from paused is allowed");
    wait_status(&sv, run, "cancelled");
    r = ask(&sv, "POST", fmt("/v1/runs/%s:pause", run), "{}", NULL);
    expect_error(&r, 409, "conflict");
    cr_expect(str_eqc(text_at(r.body, "details.runStatus"), "cancelled"));
}

Test(runs, poll /* RUN-41, SSE-36..40 */) {
    const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":700}");
    wait_status(&sv, run, "running");
    struct reply r =
        ask(&sv, "GET", fmt("/v1/runs/%s/events/poll?lastSequence=1&timeout=20", run), NULL, NULL);
    cr_expect(str_eqc(types_of(at(r.body, "events")), "node.completed:wait run.completed"),
              "held until the append: " STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(at(r.body, "isComplete"), "true"));
    r = ask(&sv, "GET", fmt("/v1/runs/%s/events/poll?lastSequence=0&timeout=1", run), NULL, NULL);
    cr_expect(str_eqc(types_of(at(r.body, "events")),
                      "node.started:wait node.completed:wait run.completed"),
              "exclusive");
    r = ask(&sv, "GET", fmt("/v1/runs/%s/events/poll?lastSequence=99999&timeout=1", run), NULL,
            NULL);
    cr_expect_eq(r.status, 200);
    cr_expect(str_eqc(at(r.body, "events"), "[]"));
    static const char *const bad[] = {"lastSequence=-1", "lastSequence=x", "timeout=0",
                                      "timeout=61", "timeout=1.5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        r = ask(&sv, "GET", fmt("/v1/runs/%s/events/poll?%s", run, bad[i]), NULL, NULL);
        expect_error(&r, 400, "validation_error");
    }
    run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":20000}");
    wait_status(&sv, run, "running");
    r = ask(&sv, "GET", fmt("/v1/runs/%s/events/poll?lastSequence=1&timeout=1", run), NULL, NULL);
    cr_expect(str_eqc(r.body, "{\"events\":[],\"isComplete\":false}"), STR_FMT, STR_ARG(r.body));
}

Test(runs, forced_engine_versions /* VER-10, VER-11 */) {
    for (int v = 0; v <= 2; v++) {
        const char *const h[] = {fmt("X-Force-Engine-Version: %d", v), NULL};
        struct reply r =
            ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"conformance-version-fold\"}", h);
        cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
        const char *run = text_at(r.body, "runId").p;
        struct str snap = wait_terminal(&sv, run);
        cr_expect(str_eqc(text_at(snap, "engineVersion"), fmt("%d", v)));
        cr_expect(str_eqc(text_at(events_of(&sv, run), "0.engineVersion"), fmt("%d", v)));
    }
    static const struct {
        const char *h, *code;
        long status;
    } bad[] = {{"X-Force-Engine-Version: 3", "unsupported_force_engine_version", 400},
               {"X-Force-Engine-Version: -1", "validation_error", 400},
               {"X-Force-Engine-Version: one", "validation_error", 400}};
    for (size_t i = 0; i < 3; i++) {
        const char *const h[] = {bad[i].h, NULL};
        struct reply r = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", h);
        expect_error(&r, bad[i].status, bad[i].code);
    }
}

Test(runs, x_dedup /* RUN-7, RUN-8 */) {
    static const char *const enforce[] = {"X-Dedup: enforce", NULL}, *const odd[] = {
                                                                         "X-Dedup: maybe", NULL};
    const char *body = "{\"workflowId\":\"conformance-cancellable\",\"scopeId\":\"chat-1\","
                       "\"inputs\":{\"delayMs\":20000}}";
    struct reply r = ask(&sv, "POST", "/v1/runs", body, enforce);
    cr_assert_eq(r.status, 201);
    const char *first = text_at(r.body, "runId").p;
    r = ask(&sv, "POST", "/v1/runs", body, enforce);
    expect_error(&r, 409, "run_already_active");
    cr_expect(str_eqc(text_at(r.body, "details.activeRunId"), first));
    cr_expect(str_eqc(text_at(r.body, "details.activeHost"), "cloud"));
    cr_expect(str_eqc(header(&r, "Retry-After"),
                      fmt("%lld", (long long)int_at(r.body, "details.retryAfter"))));
    r = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\",\"scopeId\":\"other\"}",
            enforce);
    cr_expect_eq(r.status, 201);
    r = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", enforce);
    expect_error(&r, 400, "validation_error");
    r = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\",\"scopeId\":\"x\"}",
            odd);
    expect_error(&r, 400, "validation_error");
    ask(&sv, "POST", fmt("/v1/runs/%s/cancel", first), "{}", NULL);
    cr_expect_eq(ask(&sv, "POST", "/v1/runs", body, enforce).status, 201, "free after the end");
}

Test(runs, secrets_never_come_back /* GEN-6, OPT-8, OBS-76, suite redaction */) {
    const char *canary = "cred_CANARY-openwop-CONFORMANCE-NEVER-SECRET-abc";
    const char *const h[] = {
        fmt("Authorization: Bearer sk-CANARY-openwop-CONFORMANCE-NEVER-SECRET"), NULL};
    struct reply r = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", h);
    cr_expect_eq(r.status, 401);
    cr_expect_null(strstr(r.body.p, "CANARY"));
    r = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"sk-CANARY-openwop\"}", NULL);
    expect_error(&r, 400, "validation_error");
    cr_expect_null(strstr(r.body.p, "CANARY"));
    const char *run =
        create_run(&sv, "conformance-noop",
                   fmt("\"configurable\":{\"ai\":{\"credentialRef\":\"%s\"}}", canary));
    struct str snap = wait_terminal(&sv, run);
    cr_expect_null(strstr(snap.p, "CANARY"), STR_FMT, STR_ARG(snap));
    cr_expect_not_null(strstr(snap.p, "[REDACTED]"));
    cr_expect_null(strstr(events_of(&sv, run).p, "CANARY"));
}

Test(runs, options_round_trip /* OPT-1, OPT-11, OPT-12, D33 */) {
    const char *opts = "\"tags\":[\"a "
                       "b\",\"\xf0\x9f\x98\x80/"
                       "x\"],\"metadata\":{\"vendor.x\":{\"n\":[null,1.0]}},\"configurable\":{"
                       "\"temperature\":0.5,\"acme.flag\":true}";
    struct str snap = wait_terminal(&sv, create_run(&sv, "conformance-noop", opts));
    cr_expect(str_eqc(at(snap, "tags"), "[\"a b\",\"\xf0\x9f\x98\x80/x\"]"));
    cr_expect(str_eqc(at(snap, "metadata"), "{\"vendor.x\":{\"n\":[null,1.0]}}"));
    cr_expect(json_equal(at(snap, "configurable"), STR("{\"temperature\":0.5,\"acme.flag\":true}"),
                         test_arena()));
}

Test(runs, mock_stream_text_in_messages_mode /* OPT-9, WF-34, SSE-19, FIX-23 */) {
    const char *cfg = "\"configurable\":{\"mockProvider\":{\"id\":\"stream-text\",\"config\":{"
                      "\"tokens\":[\"Hello\",\" \",\"world\",\"!\"],\"delayMsPerToken\":10,"
                      "\"finishReason\":\"stop\",\"usage\":{\"promptTokens\":5,"
                      "\"completionTokens\":4,\"totalTokens\":9}}}}";
    const char *run = create_run(&sv, "conformance-stream-text", cfg);
    struct stream st =
        stream(&sv, fmt("/v1/runs/%s/events?streamMode=messages", run), NULL, WAIT_MS, 0);
    cr_assert_eq(st.status, 200);
    cr_expect(st.closed_by_server);
    cr_assert_eq(st.n, 4u, STR_FMT, STR_ARG(st.raw));
    for (size_t i = 0; i < 4; i++) cr_expect(str_eqc(st.v[i].event, "ai.message.chunk"));
    cr_expect(str_eqc(text_at(st.v[0].data, "chunk"), "Hello"));
    cr_expect(str_eqc(at(st.v[0].data, "isLast"), "false"));
    cr_expect(str_eqc(at(st.v[3].data, "isLast"), "true"));
    cr_expect(str_eqc(text_at(st.v[3].data, "meta.finishReason"), "stop"));
    cr_expect_eq(int_at(st.v[3].data, "meta.usage.completionTokens"), 4);
    struct reply r = ask(&sv, "POST", "/v1/runs",
                         "{\"workflowId\":\"conformance-stream-text\",\"configurable\":{"
                         "\"mockProvider\":{\"id\":\"nope\"}}}",
                         NULL);
    expect_error(&r, 400, "unsupported_mock_provider");
}
