/*
 * test_answers.c: every operation of a live host, answered well and refused, against the OpenAPI
 * document that the same host serves: status listed, headers there, body valid (RUN-47, ERR-1).
 */
#include "codec/schema.h"
#include "interrupt_kit.h"
#include "pack_kit.h"

#include <ctype.h>
#include <stdlib.h>
#include <time.h>

#define OTHER_TENANT "answers"

static struct server sv;
static struct str doc; /* the served document */
static struct schema_set *set;
static struct buf answered; /* "createRun " of every operation that gave its success */

static void up(void) {
    static const char *const ARGS[] = {"--cors-origins",
                                       "http://app.example",
                                       "--audit-log",
                                       "all",
                                       "--address-rate",
                                       "10000",
                                       "--session-workflows",
                                       WOPR_SOURCE_DIR "/docs/examples/workrail",
                                       NULL};
    struct wopr_error err = {0};
    server_start(&sv, ARGS);
    struct reply r = ask(&sv, "GET", "/v1/openapi.json", NULL, NULL);
    cr_assert_eq(r.status, 200);
    doc = r.body;
    set = schema_set_new(true);
    cr_assert_eq(schema_set_add(set, STR("doc"), doc, &err), 0, "%s", err.message);
    buf_init(&answered, 65536);
}
static void down(void) {
    schema_set_free(set);
    buf_fini(&answered);
    server_end(&sv);
}
TestSuite(answers, .init = up, .fini = down, .timeout = 300);

static struct json_members members(struct str object) {
    struct json_members m = {0};
    if (object.p) cr_assert_eq(json_members(object, test_arena(), &m, NULL), 0);
    return m;
}

static struct json_elements elements(struct str array) {
    struct json_elements e = {0};
    if (array.p) cr_assert_eq(json_elements(array, test_arena(), &e, NULL), 0);
    return e;
}

/* --- the document --- */

enum { OPS_MAX = 256 };

struct op {
    const char *id, *method, *path; /* as in the document, method in lower case */
    struct str doc;
};

static size_t ops_read(struct op *out, size_t max) {
    struct json_members paths = members(at(doc, "paths"));
    size_t n = 0;
    for (size_t i = 0; i < paths.n; i++) {
        struct json_members m = members(paths.v[i].raw);
        for (size_t k = 0; k < m.n; k++) {
            cr_assert_lt(n, max, "more operations than OPS_MAX");
            out[n++] = (struct op){text_at(m.v[k].raw, "operationId").p,
                                   arena_cstr(test_arena(), m.v[k].key),
                                   arena_cstr(test_arena(), paths.v[i].key), m.v[k].raw};
        }
    }
    return n;
}

static struct op op_find(const char *id) {
    struct op all[OPS_MAX];
    size_t n = ops_read(all, OPS_MAX);
    for (size_t i = 0; i < n; i++)
        if (strcmp(all[i].id, id) == 0) return all[i];
    cr_assert_fail("the document has no operation %s", id);
    return all[0];
}

static struct str deref(struct str raw) {
    struct str ref = json_get(raw, "$ref");
    if (!ref.p) return raw;
    struct str text = json_string(ref, test_arena());
    return json_pointer_get(doc, str_n(text.p + 1, text.n - 1), test_arena());
}

/* --- one answer against it --- */

static void expect_body(const char *where, struct str content, const struct reply *r) {
    struct str ref = json_get(json_get(json_get(content, "application/json"), "schema"), "$ref");
    struct wopr_error err = {0};
    struct schema_issue issue = {{0}, {0}, {0}};
    const struct schema *schema = NULL;
    cr_assert_not_null(ref.p, "%s: its answer names no schema", where);
    struct str uri = str_c(fmt("doc" STR_FMT, STR_ARG(json_string(ref, test_arena()))));
    cr_assert_eq(schema_compile(set, uri, &schema, &err), 0, "%s: %s", uri.p, err.message);
    cr_assert_eq(json_check(r->body, &JSON_LIMITS_STORED, &err), 0, "%s: " STR_FMT, where,
                 STR_ARG(r->body));
    cr_expect_eq(schema_validate_text(schema, r->body, &issue), 0, "%s: %s at %s (%s): " STR_FMT,
                 where, issue.reason, issue.instance, issue.keyword, STR_ARG(r->body));
}

static bool may_be_absent(struct str name) {
    return str_eqc(name, "OpenWOP-Version") || str_eqc(name, "Retry-After") ||
           str_eqc(name, "openwop-Idempotent-Replay") || str_eqc(name, "WWW-Authenticate");
}

static void expect_described(const struct op *op, const struct reply *r) {
    const char *where = fmt("%s %ld", op->id, r->status);
    struct str response = deref(json_get(json_get(op->doc, "responses"), fmt("%ld", r->status)));
    cr_assert_not_null(response.p, "%s: the document does not list it: " STR_FMT, where,
                       STR_ARG(r->body));
    struct json_members headers = members(json_get(response, "headers"));
    for (size_t i = 0; i < headers.n; i++)
        cr_expect(may_be_absent(headers.v[i].key) ||
                      header(r, arena_cstr(test_arena(), headers.v[i].key)).p,
                  "%s: no header " STR_FMT, where, STR_ARG(headers.v[i].key));
    cr_expect_eq(header(r, "OpenWOP-Version").p != NULL, strncmp(op->path, "/v1", 3) == 0, "%s",
                 where);
    struct str type = header(r, "Content-Type"), content = json_get(response, "content");
    if (r->status == 304 || r->status == 204) cr_expect_eq(r->body.n, 0u, "%s", where);
    else if (str_starts(type, STR("text/event-stream")))
        cr_expect_not_null(json_get(content, "text/event-stream").p, "%s", where);
    else expect_body(where, content, r);
}

static const char *method_of(const struct op *op) {
    char *upper = arena_cstr(test_arena(), str_c(op->method));
    for (char *p = upper; *p; p++) *p = (char)(*p - 'a' + 'A');
    return upper;
}

/* Ask, and hold the answer against the document. */
static struct reply say(const char *id, const char *path, const char *body,
                        const char *const *headers, long want) {
    struct op op = op_find(id);
    struct reply r = ask(&sv, method_of(&op), path, body, headers);
    cr_assert_eq(r.status, want, "%s %s: %ld " STR_FMT, id, path, r.status, STR_ARG(r.body));
    expect_described(&op, &r);
    if (r.status < 300) buf_addf(&answered, "%s ", id);
    return r;
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* --- successes, one chapter each --- */

static void documents(void) {
    say("getIndex", "/", NULL, NO_BEARER, 200);
    struct reply r = say("getCapabilities", "/.well-known/openwop", NULL, NO_BEARER, 200);
    const char *tag = fmt("If-None-Match: " STR_FMT, STR_ARG(header(&r, "ETag")));
    say("getCapabilities", "/.well-known/openwop", NULL, LINES(tag), 304);
    r = say("getOpenApiSpec", "/v1/openapi.json", NULL, NO_BEARER, 200);
    tag = fmt("If-None-Match: " STR_FMT, STR_ARG(header(&r, "ETag")));
    say("getOpenApiSpec", "/v1/openapi.json", NULL, LINES(tag), 304);
    struct json_elements l = elements(
        at(say("getCapabilities", "/.well-known/openwop", NULL, NULL, 200).body, "fixtures"));
    for (size_t i = 0; i < l.n; i++) {
        struct str id = json_string(l.v[i], test_arena());
        say("getWorkflow", fmt("/v1/workflows/" STR_FMT, STR_ARG(id)), NULL, NULL, 200);
    }
}

static void definitions(void) {
    struct str text = say("getWorkflow", "/v1/workflows/conformance-noop", NULL, NULL, 200).body;
    const char *body = arena_cstr(test_arena(), text), *path = "/v1/host/wopr/workflows";
    const char *own = fmt("%s/conformance-noop", path);
    say("getCaller", "/v1/host/wopr/caller", NULL, NULL, 200);
    say("listWorkflows", fmt("%s?limit=2", path), NULL, NULL, 200);
    say("listWorkflows", fmt("%s?limit=x", path), NULL, NULL, 400);
    say("checkWorkflow", fmt("%s:check", path), body, NULL, 200);
    say("checkWorkflow", fmt("%s:check", path), "{\"nodes\":[{\"id\":1}]}", NULL, 200);
    say("deleteWorkflow", own, NULL, NULL, 403);
    say("putWorkflow", own, body, NULL, 200);
    say("putWorkflow", own, "{\"id\":\"conformance-noop\"}", NULL, 400);
    say("listWorkflowVersions", fmt("%s/versions", own), NULL, NULL, 200);
    say("getWorkflowVersion", fmt("%s/versions/1", own), NULL, NULL, 200);
    say("getWorkflowVersion", fmt("%s/versions/2", own), NULL, NULL, 404);
    say("deleteWorkflow", own, NULL, NULL, 200);
    say("listNodeTypes", "/v1/host/wopr/nodes", NULL, NULL, 200);
    say("getNodeType", "/v1/host/wopr/nodes/core.delay", NULL, NULL, 200);
}

static void agents(void) {
    const char *path = "/v1/host/wopr/agents", *own = fmt("%s/local.desk.clerk", path);
    const char *body = "{\"manifest\":{\"agentId\":\"local.desk.clerk\",\"persona\":\"Clerk\","
                       "\"modelClass\":\"general\",\"systemPrompt\":\"Be kind.\"}}";
    say("checkAgent", fmt("%s:check", path), body, NULL, 200);
    say("checkAgent", fmt("%s:check", path), "{\"manifest\":{\"persona\":1}}", NULL, 200);
    say("putAgent", own, body, NULL, 200);
    say("putAgent", own, "{\"manifest\":{}}", NULL, 400);
    say("putAgent", fmt("%s?ifRevision=99", own),
        "{\"manifest\":{\"agentId\":\"local.desk.clerk\",\"persona\":\"Other\",\"modelClass\":"
        "\"general\",\"systemPrompt\":\"S\"}}",
        NULL, 409);
    say("listAgents", fmt("%s?limit=1", path), NULL, NULL, 200);
    say("listAgents", fmt("%s?after=", path), NULL, NULL, 400);
    say("getAgent", own, NULL, NULL, 200);
    say("exportAgents", "/v1/packs/export", NULL, NULL, 200);
    say("deleteAgent", own, NULL, NULL, 200);
    say("getAgent", own, NULL, NULL, 404);
    say("deleteAgent", own, NULL, NULL, 404);
}

static const char *begin(const char *workflow, const char *extras) {
    const char *body = fmt("{\"workflowId\":\"%s\"%s}", workflow, extras);
    struct reply r = say("createRun", "/v1/runs", body, NULL, 201);
    return text_at(r.body, "runId").p;
}

static void read_all(const char *run) {
    say("getRun", fmt("/v1/runs/%s", run), NULL, NULL, 200);
    say("getRunDefinition", fmt("/v1/host/wopr/runs/%s/definition", run), NULL, NULL, 200);
    say("getOperations", "/v1/host/wopr/operations", NULL, NULL, 200);
    say("getRunAgents", fmt("/v1/host/wopr/runs/%s/agents", run), NULL, NULL, 200);
    say("getDebugBundle", fmt("/v1/runs/%s/debug-bundle", run), NULL, NULL, 200);
    say("listRunCallbacks", fmt("/v1/host/wopr/runs/%s/callbacks", run), NULL, NULL, 200);
    say("pollRunEvents", fmt("/v1/runs/%s/events/poll?timeout=1", run), NULL, NULL, 200);
    say("streamRunEvents", fmt("/v1/runs/%s/events", run), NULL, LINES("Accept: application/json"),
        200);
}

static void ended(const char *run) {
    wait_terminal(&sv, run);
    read_all(run);
    say("streamRunEvents", fmt("/v1/runs/%s/events", run), NULL, LINES("Accept: text/event-stream"),
        200);
}

#define WORKSPEC_DOCUMENT                                                                          \
    "{\"simulation\":{\"schema_version\":\"2.0\",\"meta\":{\"title\":\"T\",\"description\":\"D\"," \
    "\"domain\":\"M\"},\"config\":{\"time_unit\":\"minutes\",\"start_time\":\"08:00\","            \
    "\"end_time\":\"09:00\",\"currency\":\"EUR\",\"locale\":\"en-IE\"},\"world\":{\"objects\":["   \
    "{\"id\":\"a\",\"type\":\"actor\",\"name\":\"A\",\"properties\":{\"state\":\"free\"}}]},"      \
    "\"process\":{\"tasks\":[{\"id\":\"t\",\"actor_id\":\"a\",\"start\":\"08:00\","                \
    "\"duration\":5}]}}}"

static void workspec(void) {
    const char *path = "/v1/workspec", *own = fmt("%s/documents/wspec", path);
    const char *bad = "{\"simulation\":{}}";
    say("getWorkspecSchema", fmt("%s/schema", path), NULL, NULL, 200);
    say("validateWorkspec", fmt("%s/validate", path), WORKSPEC_DOCUMENT, NULL, 200);
    say("validateWorkspec", fmt("%s/validate?profile=reference", path), bad, NULL, 200);
    say("validateWorkspec", fmt("%s/validate?profile=x", path), bad, NULL, 400);
    say("validateWorkspec", fmt("%s/validate", path), "{", NULL, 400);
    say("planWorkspec", fmt("%s/plan", path), WORKSPEC_DOCUMENT, NULL, 200);
    say("planWorkspec", fmt("%s/plan", path), bad, NULL, 422);
    say("putWorkspecDocument", own, WORKSPEC_DOCUMENT, NULL, 201);
    say("putWorkspecDocument", own, WORKSPEC_DOCUMENT, NULL, 200);
    say("putWorkspecDocument", own, bad, NULL, 422);
    say("getWorkspecDocument", own, NULL, NULL, 200);
    say("getWorkspecDocument", fmt("%s/documents/conformance-noop", path), NULL, NULL, 404);
    say("getWorkspecPlan", fmt("%s/plan", own), NULL, NULL, 200);
    say("getWorkflow", "/v1/workflows/wspec", NULL, NULL, 200);
    say("getWorkflowVersion", "/v1/host/wopr/workflows/wspec/versions/1", NULL, NULL, 200);
    ended(begin("wspec", ""));
    say("getRunDefinition", fmt("/v1/host/wopr/runs/%s/definition", begin("wspec", "")), NULL, NULL,
        200);
    say("deleteWorkspecDocument", own, NULL, NULL, 200);
    say("deleteWorkspecDocument", own, NULL, NULL, 404);
}

static void runs(void) {
    ended(begin("conformance-noop",
                ",\"inputs\":{\"undeclared\":1},\"tags\":[\"a\"],\"metadata\":{\"k\":1}"));
    ended(begin("conformance-failure", ""));
    ended(begin("conformance-multi-node", ""));
    ended(begin("conformance-channel-ttl", ""));
    ended(begin("conformance-subworkflow-parent", ""));
    ended(begin("conformance-stream-text",
                ",\"configurable\":{\"mockProvider\":{\"id\":\"stream-text\"}}"));
    say("listRuns", "/v1/runs?limit=2&status=completed", NULL, NULL, 200);
    const char *keyed = "Idempotency-Key: answers-1",
               *body = "{\"workflowId\":\"conformance-noop\"}";
    say("createRun", "/v1/runs", body, LINES(keyed), 201);
    struct reply r = say("createRun", "/v1/runs", body, LINES(keyed), 201);
    cr_expect(str_eqc(header(&r, "openwop-Idempotent-Replay"), "true"));
    say("createRun", "/v1/runs", "{\"workflowId\":\"conformance-failure\"}", LINES(keyed), 409);
}

static void control(void) {
    const char *delay = ",\"inputs\":{\"delayMs\":20000}";
    const char *run = begin("conformance-cancellable", delay);
    wait_status(&sv, run, "running");
    say("pauseRun", fmt("/v1/runs/%s:pause", run), "{\"drainPolicy\":\"immediate\"}", NULL, 202);
    wait_status(&sv, run, "paused");
    read_all(run);
    say("pauseRun", fmt("/v1/runs/%s:pause", run), NULL, NULL, 409);
    say("resumeRun", fmt("/v1/runs/%s:resume", run), "{\"reason\":\"go on\"}", NULL, 202);
    say("mintStreamTicket", fmt("/v1/host/wopr/runs/%s/stream-ticket", run), "{}", NULL, 200);
    say("cancelRun", fmt("/v1/runs/%s/cancel", run), "{\"reason\":\"enough\"}", NULL, 200);
    ended(run);
    say("cancelRunAlias", fmt("/v1/runs/%s:cancel", run), NULL, NULL, 200);
    say("resumeRun", fmt("/v1/runs/%s:resume", run), NULL, NULL, 409);
}

static void forks(void) {
    const char *run = begin("conformance-noop", "");
    wait_terminal(&sv, run);
    const char *path = fmt("/v1/runs/%s:fork", run);
    struct reply r = say("forkRun", path, "{\"mode\":\"replay\",\"fromSeq\":0}", NULL, 201);
    ended(text_at(r.body, "runId").p);
    r = say("forkRun", path, "{\"mode\":\"branch\"}", NULL, 201);
    ended(text_at(r.body, "runId").p);
    say("listRuns", fmt("/v1/runs?forkOf=%s", run), NULL, NULL, 200);
    say("forkRun", path, "{\"mode\":\"branch\",\"fromSeq\":999}", NULL, 422);
}

static void questions(void) {
    struct str snap;
    const char *run = waiting(&sv, "conformance-approval", "waiting-approval", &snap);
    const char *node = text_at(snap, "interrupt.nodeId").p;
    const char *path = fmt("/v1/runs/%s/interrupts/%s", run, node);
    read_all(run);
    say("listInterrupts", "/v1/host/wopr/interrupts?limit=1", NULL, NULL, 200);
    say("resolveInterruptByRun", path, "{\"resumeValue\":{\"action\":\"no-such\"}}", NULL, 400);
    say("resolveInterruptByRun", path, ACCEPT, NULL, 200);
    say("resolveInterruptByRun", path, REJECT, NULL, 409);
    ended(run);
    run = waiting(&sv, "conformance-approval", "waiting-approval", NULL);
    path = fmt("/v1/runs/%s/approvals/%s", run, node);
    say("resolveApprovalAlias", path, "{\"action\":\"accept\"}", NULL, 200);
    ended(run);
}

static void tokens(void) {
    struct str snap;
    const char *run =
        waiting(&sv, "conformance-interrupt-external-event", "waiting-external", &snap);
    const char *path =
        fmt("/v1/interrupts/" STR_FMT, STR_ARG(text_at(snap, "interrupt.interruptToken")));
    read_all(run);
    say("inspectInterruptByToken", path, NULL, NO_BEARER, 200);
    say("resolveInterruptByToken", path, ORDER("another-order"), NO_BEARER, 422);
    say("resolveInterruptByToken", path, THE_ORDER, NO_BEARER, 200);
    ended(run);
    say("inspectInterruptByToken", path, NULL, NO_BEARER, 409);
}

/* No node type writes artifacts yet. */
static void artifacts(void) {
    const char *run = begin("conformance-noop", "");
    wait_terminal(&sv, run);
    cr_assert_eq(
        system(fmt("sqlite3 -cmd '.timeout 5000' '%s' \"INSERT INTO artifacts SELECT run_no,"
                   " 'art-1', 'report', 'n', '2', NULL, '{\\\"a\\\":[1]}', 1, 0 FROM runs"
                   " WHERE run_id = '%s'\"",
                   sv.db, run)),
        0);
    say("getArtifact", fmt("/v1/runs/%s/artifacts/art-1", run), NULL, NULL, 200);
}

static struct str task_claimed(void) {
    struct reply r = say("claimTasks", "/v1/host/wopr/tasks:claim",
                         "{\"types\":[\"answers.work\"],\"waitMs\":10000}", NULL, 200);
    struct json_elements l = elements(at(r.body, "tasks"));
    cr_assert_eq(l.n, 1u);
    return l.v[0];
}

static void task_say(const char *id, struct str task, const char *verb, const char *more,
                     long want) {
    const char *path =
        fmt("/v1/host/wopr/tasks/" STR_FMT ":%s", STR_ARG(text_at(task, "taskId")), verb);
    say(id, path, fmt("{\"epoch\":%lld%s}", (long long)int_at(task, "epoch"), more), NULL, want);
}

static void worker_put(void) {
    const char *path = fmt("%s/answers-work.json", sv.dir);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs("{\"id\":\"answers-work\",\"name\":\"W\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\","
          "\"typeId\":\"answers.work\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},"
          "\"config\":{},\"inputs\":{}}],\"edges\":[],\"triggers\":[],\"variables\":[],"
          "\"metadata\":{},\"settings\":{}}",
          f);
    fclose(f);
    (void)wopr(&sv, LINES("workflow", "put", path));
}

static void workers(void) {
    static const char TYPES[] = "/v1/host/wopr/worker-types";
    say("registerWorkerType", TYPES,
        "{\"typeId\":\"answers.work\",\"inputSchema\":{},\"description\":\"d\"}", NULL, 200);
    say("registerWorkerType", TYPES, "{\"typeId\":\"core.noop\"}", NULL, 409);
    say("listWorkerTypes", TYPES, NULL, NULL, 200);
    worker_put();
    const char *run = begin("answers-work", "");
    struct str t = task_claimed();
    task_say("heartbeatTask", t, "heartbeat", "", 200);
    say("listTasks", "/v1/host/wopr/tasks?type=answers.work&status=leased", NULL, NULL, 200);
    say("listTasks", "/v1/host/wopr/tasks?status=completed", NULL, NULL, 400);
    say("getTask", fmt("/v1/host/wopr/tasks/" STR_FMT, STR_ARG(text_at(t, "taskId"))), NULL, NULL,
        200);
    say("getTask", "/v1/host/wopr/tasks/none", NULL, NULL, 404);
    say("listWorkerTypes", TYPES, NULL, NULL, 200);
    task_say("emitTask", t, "emit", ",\"chunks\":[{\"text\":\"a\"}],\"progress\":{\"percent\":5}",
             200);
    task_say("askTask", t, "ask",
             ",\"kind\":\"custom\",\"data\":{\"customKind\":\"acme.q\",\"payload\":{}}", 200);
    task_say("askTask", t, "ask",
             ",\"kind\":\"custom\",\"data\":{\"customKind\":\"acme.q\",\"payload\":{}}", 200);
    task_say("askTask", t, "ask", ",\"kind\":\"custom\"", 409);
    task_say("heartbeatTask", t, "heartbeat", "", 409);
    cr_assert_eq(resolve(&sv, run, "n", "{\"resumeValue\":1}").status, 200);
    t = task_claimed();
    task_say("completeTask", t, "complete", ",\"output\":{\"a\":1}", 200);
    task_say("completeTask", t, "complete", "", 409);
    task_say("failTask", t, "fail", ",\"error\":{\"code\":\"c\",\"message\":\"m\"}", 409);
    ended(run);
    run = begin("answers-work", "");
    task_say("failTask", task_claimed(), "fail", ",\"error\":{\"code\":\"c\",\"message\":\"m\"}",
             200);
    ended(run);
    say("removeWorkerType", fmt("%s/answers.work:remove", TYPES), "{}", NULL, 200);
    say("claimTasks", "/v1/host/wopr/tasks:claim", "{\"types\":[\"answers.work\"],\"waitMs\":0}",
        NULL, 200);
}

static void webhooks(void) {
    static const char ALL[] = "/v1/host/wopr/webhooks", URL[] = "https://subscriber.invalid/hook";
    const char *body = fmt("{\"url\":\"%s\",\"events\":[\"run.completed\"],\"tags\":[\"a\"],"
                           "\"secret\":\"0123456789abcdef\",\"tenantId\":\"default\"}",
                           URL);
    struct reply r = say("registerWebhook", "/v1/webhooks", body, NULL, 201);
    const char *one = fmt("%s/" STR_FMT, ALL, STR_ARG(text_at(r.body, "webhookId")));
    say("registerWebhook", "/v1/webhooks",
        "{\"url\":\"not-a-valid-url\",\"events\":[\"run.completed\"]}", NULL, 400);
    say("listWebhooks", ALL, NULL, NULL, 200);
    say("getWebhook", one, NULL, NULL, 200);
    say("listWebhookDeadLetters", fmt("%s/dead-letters", one), NULL, NULL, 200);
    say("retryWebhook", fmt("%s:retry", one), "{}", NULL, 200);
    const char *mine = fmt("/v1/webhooks/" STR_FMT, STR_ARG(text_at(r.body, "webhookId")));
    say("unregisterWebhook", fmt("%s?tenantId=other", mine), NULL, NULL, 403);
    say("unregisterWebhook", fmt("%s?tenantId=default", mine), NULL, NULL, 204);
    say("unregisterWebhook", mine, NULL, NULL, 404);
}

static void over_mcp(void) {
    static const char PING[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    say("callMcp", "/v1/mcp", PING, NULL, 200);
    say("callMcp", "/v1/mcp", "{\"jsonrpc\":\"2.0\",\"id\":1}", NULL, 400);
    say("callMcp", "/v1/mcp", PING, LINES("Mcp-Session-Id: none"), 404);
    say("callMcp", "/v1/mcp", PING, LINES("Origin: http://elsewhere.example"), 403);
    say("getResourceMetadata", "/.well-known/oauth-protected-resource/v1/mcp", NULL, NO_BEARER,
        200);
    say("getHostResourceMetadata", "/.well-known/oauth-protected-resource", NULL, NO_BEARER, 200);
}

/* What only the agent's tools do says so, and with which tool (WR-263, WR-265). */
static void session_refusals(const char *workflow, const char *run) {
    struct reply r =
        say("createRun", "/v1/runs", fmt("{\"workflowId\":\"%s\"}", workflow), NULL, 400);
    const char *text = arena_cstr(test_arena(), r.body);
    cr_expect(strstr(text, "\"session_workflow\"") && strstr(text, "start_workflow"), "%s", text);
    const char *fork_path = fmt("/v1/runs/%s:fork", run);
    r = say("forkRun", fork_path, "{\"fromSeq\":1,\"mode\":\"branch\"}", NULL, 409);
    cr_expect(str_eqc(text_at(r.body, "details.reason"), "workrail_run"));
    text = arena_cstr(test_arena(), r.body);
    cr_expect_not_null(strstr(text, "stateToken"), "%s", text);
    r = say("forkRun", fork_path, "{\"fromSeq\":1,\"mode\":\"replay\"}", NULL, 409);
    cr_expect(str_eqc(text_at(r.body, "details.tool"), "continue_workflow"));
    r = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL);
    struct str told = at(r.body, "extensions.x-workrail");
    cr_expect(str_eqc(text_at(told, "sessions"), "/v1/x-workrail/sessions"), STR_FMT,
              STR_ARG(told));
}

static void sessions(void) {
    const char *path = "/v1/x-workrail", *flows = fmt("%s/workflows", path);
    struct reply r = say("listSessionWorkflows", flows, NULL, NULL, 200);
    struct str id = json_string(json_path_get(r.body, STR("workflows.0.workflowId"), test_arena()),
                                test_arena());
    const char *one = fmt("%s/" STR_FMT, flows, STR_ARG(id));
    say("getSessionWorkflow", one, NULL, NULL, 200);
    say("getSessionWorkflow", fmt("%s?view=source", one), NULL, NULL, 200);
    say("getSessionWorkflow", fmt("%s/project.none", flows), NULL, NULL, 404);
    say("listSessionBuiltins", fmt("%s/builtins", path), NULL, NULL, 200);
    r = say("getSessionConfig", fmt("%s/config", path), NULL, NULL, 200);
    cr_expect(str_eqc(text_at(r.body, "applied.tools.0"), "list_workflows"), STR_FMT,
              STR_ARG(r.body));
    cr_expect(str_eqc(at(r.body, "restartRequired"), "false"), STR_FMT, STR_ARG(r.body));
    cr_expect(str_eq(at(r.body, "desired"), at(r.body, "applied")), STR_FMT, STR_ARG(r.body));
    say("listSessions", fmt("%s/sessions?status=nosuch", path), NULL, NULL, 400);
    say("listSessions", fmt("%s/sessions?health=nosuch", path), NULL, NULL, 400);
    say("listSessions", fmt("%s/sessions?status=blocked&health=healthy", path), NULL, NULL, 200);
    say("importSession", fmt("%s/bundles?rename=maybe", path), "{}", NULL, 400);
    cr_expect(str_eq(text_at(r.body, "applied.workflows.0.workflowId"), id));
    struct sha256 applied = sha256_of(at(r.body, "applied"));
    char hex[65];
    sha256_hex(&applied, hex);
    cr_expect(str_eqc(text_at(r.body, "appliedConfigHash"), fmt("sha256:%s", hex)), STR_FMT,
              STR_ARG(r.body)); /* WR-252 */
    const char *start =
        fmt("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
            "\"name\":\"start_workflow\",\"arguments\":{\"workflowId\":\"" STR_FMT "\"}}}",
            STR_ARG(id));
    r = say("callMcp", "/v1/mcp", start, NULL, 200);
    struct str session = json_string(
        json_path_get(r.body, STR("result.structuredContent.session.sessionId"), test_arena()),
        test_arena());
    cr_assert_gt(session.n, 0, STR_FMT, STR_ARG(r.body));
    const char *own = fmt("%s/sessions/" STR_FMT, path, STR_ARG(session));
    say("listSessions", fmt("%s/sessions?limit=1", path), NULL, NULL, 200);
    say("listSessions", fmt("%s/sessions?limit=0", path), NULL, NULL, 400);
    r = say("getSession", own, NULL, NULL, 200);
    struct str node = json_string(json_path_get(r.body, STR("runs.0.nodes.0.nodeId"), test_arena()),
                                  test_arena());
    say("getSession", fmt("%s/sessions/sess_none", path), NULL, NULL, 404);
    session_refusals(arena_cstr(test_arena(), id),
                     arena_cstr(test_arena(), text_at(at(r.body, "runs.0"), "runId")));
    say("getSessionNode", fmt("%s/nodes/" STR_FMT, own, STR_ARG(node)), NULL, NULL, 200);
    say("getSessionNode", fmt("%s/nodes/node_none", own), NULL, NULL, 404);
    r = say("exportSession", fmt("%s/bundle", own), NULL, NULL, 200);
    const char *bundle = arena_cstr(test_arena(), r.body);
    say("importSession", fmt("%s/bundles", path), bundle, NULL, 201);
    say("importSession", fmt("%s/bundles", path), "{\"bundleSchemaVersion\":2}", NULL, 400);
}

static void packs(void) {
    static const char NAME[] = "vendor.answers.tools";
    const char *all = fmt("/v1/packs/%s/-", NAME), *one = fmt("%s/1.0.0", all);
    struct op op = op_find("publishPack");
    struct ed25519_key k, next;
    struct buf key, next_key;
    uint8_t secret[32] = {1}, sig[64];
    struct str bytes = pack_tarball(NAME, "1.0.0", "");
    cr_assert_eq(ed25519_from_secret(secret, &k, NULL), 0);
    secret[0] = 2;
    cr_assert_eq(ed25519_from_secret(secret, &next, NULL), 0);
    cr_assert_eq(ed25519_sign(&k, bytes, sig, NULL), 0);
    buf_init(&key, 4096);
    buf_init(&next_key, 4096);
    pack_key_text(k.pub, &key);
    pack_key_text(next.pub, &next_key);
    struct buf text;
    buf_init(&text, 4096);
    base64_encode(&text, str_n((const char *)sig, sizeof sig));
    const char *lines = fmt(AS_GZIP "X-Pack-Signing-Method: manual\r\nX-Pack-Signature: %s\r\n"
                                    "X-Pack-Public-Key: %s\r\n",
                            text.p, key.p);
    struct reply r = pack_put(&sv, TEST_KEY, NAME, "1.0.0.tgz", bytes, lines);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    expect_described(&op, &r);
    r = pack_put(&sv, TEST_KEY, NAME, "1.0.0.tgz", bytes, lines);
    expect_described(&op, &r);
    buf_addz(&answered, "publishPack ");
    say("getPack", fmt("/v1/packs/%s", NAME), NULL, NO_BEARER, 200);
    say("getPackIndex", fmt("/v1/packs/%s/index.json", NAME), NULL, NO_BEARER, 200);
    say("getPackFile", fmt("%s/1.0.0.json", all), NULL, NO_BEARER, 200);
    say("searchPacks", "/v1/packs/-/search?q=demo&limit=1", NULL, NO_BEARER, 200);
    say("searchPacks", "/v1/packs/-/search?limit=x", NULL, NO_BEARER, 400);
    say("getPackKeychain", fmt("%s/keychain", all), NULL, NO_BEARER, 200);
    char from[sizeof "2026-01-01T00:00:00Z"];
    const time_t tomorrow = time(NULL) + 24 * 3600;
    struct tm day;
    cr_assert(strftime(from, sizeof from, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&tomorrow, &day)) > 0);
    const char *signs = fmt("n%s%s", next_key.p, from);
    cr_assert_eq(ed25519_sign(&k, str_c(signs), sig, NULL), 0);
    buf_reset(&text);
    base64_encode(&text, str_n((const char *)sig, sizeof sig));
    say("rotatePackKey", fmt("%s/keychain/rotate", all),
        fmt("{\"kid\":\"n\",\"publicKey\":\"%s\",\"validFrom\":\"%s\",\"rotationProof\":\"%s\"}",
            next_key.p, from, text.p),
        NULL, 200);
    say("deprecatePack", fmt("%s/deprecate", one), "{\"reason\":\"r\"}", NULL, 200);
    say("undeprecatePack", fmt("%s/deprecate", one), NULL, NULL, 200);
    say("yankPack", fmt("%s/yank", one), "{\"reason\":\"r\"}", NULL, 200);
    say("unyankPack", fmt("%s/yank", one), NULL, NULL, 200);
    say("listPacks", "/v1/packs", NULL, NULL, 200);
    say("unpublishPack", one, NULL, NULL, 200);
    buf_fini(&text);
    buf_fini(&key);
    buf_fini(&next_key);
}

Test(answers,
     every_operation_succeeds_as_the_served_document_says /* RUN-47 CAP-1 RUN-10 EVT-3 */) {
    struct op all[OPS_MAX];
    size_t n = ops_read(all, OPS_MAX);
    documents();
    say("verifyAuditLog", "/v1/audit/verify", NULL, NULL, 200);
    definitions();
    workspec();
    agents();
    runs();
    control();
    forks();
    questions();
    tokens();
    artifacts();
    workers();
    webhooks();
    packs();
    over_mcp();
    sessions();
    buf_addc(&answered, '\0');
    for (size_t i = 0; i < n; i++)
        cr_expect_not_null(strstr(answered.p, fmt("%s ", all[i].id)),
                           "%s was not asked: say() it in one of the chapters above", all[i].id);
}

/* --- refusals, for every operation alike --- */

static const char *path_of(const struct op *op) { /* names nothing */
    struct buf b;
    buf_init(&b, 512);
    for (const char *p = op->path; *p; p++) {
        if (*p != '{') {
            buf_addc(&b, *p);
            continue;
        }
        buf_addz(&b, strncmp(p, "{name}", 6) == 0     ? "vendor.none.none"
                     : strncmp(p, "{file}", 6) != 0   ? "none"
                     : strcmp(op->method, "get") == 0 ? "1.0.0.json"
                                                      : "1.0.0");
        p = strchr(p, '}');
    }
    const char *out = fmt(STR_FMT, STR_ARG(buf_str(&b)));
    buf_fini(&b);
    return out;
}

static struct reply refusal(const struct op *op, const char *query, const char *body,
                            const char *const *headers) {
    struct reply r = ask(&sv, method_of(op), fmt("%s%s", path_of(op), query), body, headers);
    expect_described(op, &r);
    return r;
}

static void expect_status(const struct op *op, const struct reply *r, long want, const char *what) {
    cr_expect_eq(r->status, want, "%s %s: %ld " STR_FMT, op->id, what, r->status, STR_ARG(r->body));
}

static const char *valid_body(const struct op *op) {
    if (!json_get(op->doc, "requestBody").p) return NULL;
    if (strncmp(op->id, "resolve", 7) == 0) return ACCEPT;
    if (strcmp(op->id, "registerWorkerType") == 0) return "{\"typeId\":\"Not One\"}";
    if (strcmp(op->id, "claimTasks") == 0) return "{\"types\":[\"none\"],\"waitMs\":0}";
    if (strcmp(op->id, "failTask") == 0)
        return "{\"epoch\":1,\"error\":{\"code\":\"c\",\"message\":\"m\"}}";
    if (strcmp(op->id, "askTask") == 0) return "{\"epoch\":1,\"kind\":\"custom\"}";
    if (strcmp(op->id, "emitTask") == 0) return "{\"epoch\":1,\"chunks\":[{\"text\":\"x\"}]}";
    if (strstr(op->id, "Task") != NULL && strcmp(op->method, "post") == 0) return "{\"epoch\":1}";
    if (strcmp(op->id, "yankPack") == 0 || strcmp(op->id, "deprecatePack") == 0)
        return "{\"reason\":\"r\"}";
    if (strcmp(op->id, "forkRun") == 0) return "{\"mode\":\"replay\"}";
    return strcmp(op->id, "createRun") == 0 ? "{\"workflowId\":\"none\"}" : "{}";
}

static void refuse_credentials(const struct op *op, const char *poor) {
    const char *body = valid_body(op);
    struct reply r = refusal(op, "", body, NO_BEARER);
    expect_status(op, &r, 401, "without a key");
    cr_expect_not_null(header(&r, "WWW-Authenticate").p);
    if (strcmp(op->id, "callMcp") == 0) return;   /* each tool has its own */
    if (strcmp(op->id, "getCaller") == 0) return; /* any key may ask what it is */
    r = refusal(op, "", body, LINES(poor));
    expect_status(op, &r, 403, "without the scope");
}

static const char *large_body(void) {
    enum { BYTES = 1100 * 1024 };
    static char text[BYTES + 32];
    snprintf(text, sizeof text, "{\"reason\":\"%*s\"}", BYTES, "x");
    return text;
}

static void refuse_bodies(const struct op *op) {
    bool token = strstr(op->path, "{token}") != NULL; /* judged before the body is read */
    const char *large = large_body();
    struct reply r = refusal(op, "", "{}", LINES("Content-Type: text/plain"));
    expect_status(op, &r, token ? 404 : 415, "text/plain");
    r = refusal(op, "", "{}", LINES("Content-Type: foo+json"));
    expect_status(op, &r, token ? 404 : 415, "a type without a subtype (HTTP-8)");
    r = refusal(op, "", "[]", NULL);
    bool judged = strstr(op->path, "/v1/workspec/") != NULL; /* says what is wrong with any JSON */
    expect_status(op, &r,
                  token                          ? 404
                  : !judged                      ? 400
                  : strstr(op->path, "validate") ? 200
                                                 : 422,
                  "an array");
    r = refusal(op, "", large, LINES("Expect: 100-continue"));
    expect_status(op, &r, token ? 404 : 413, "a large body");
}

Test(answers,
     every_operation_refuses_as_the_served_document_says /* RUN-47 ERR-1 HTTP-8 HTTP-9 */) {
    struct op all[OPS_MAX];
    size_t n = ops_read(all, OPS_MAX);
    const char *poor = key_with(&sv, "approvals:delegate", OTHER_TENANT);
    for (size_t i = 0; i < n; i++) {
        const struct op *op = &all[i];
        bool is_public = str_eqc(json_get(op->doc, "security"), "[]");
        struct reply r = refusal(op, "", valid_body(op), LINES("OpenWOP-Version: 9"));
        expect_status(op, &r, 406, "another major");
        r = refusal(op, "", valid_body(op), LINES("OpenWOP-Version: one"));
        expect_status(op, &r, 400, "a malformed version");
        r = refusal(op, "?%zz", valid_body(op), NULL);
        expect_status(op, &r, strstr(op->path, "{token}") ? 404 : 400, "a malformed query");
        if (strchr(op->path, '{') && strcmp(op->method, "put") != 0) {
            r = refusal(op, "", valid_body(op), NULL);
            expect_status(op, &r, 404, "an unknown id");
        }
        if (!is_public) refuse_credentials(op, poor);
        bool bytes = strcmp(op->id, "publishPack") == 0; /* of any type: test_packs.c */
        if (json_get(op->doc, "requestBody").p && !bytes) refuse_bodies(op);
    }
}

Test(answers, browsers_are_sent_to_the_dashboard_and_clients_are_not) {
    static const char *const OFF[] = {"--ui", "off", NULL};
    const char *const *browser = LINES("Accept: text/html,application/xhtml+xml,*/*;q=0.8");
    static struct server none;
    struct reply r = ask(&sv, "GET", "/", NULL, browser);
    cr_expect_eq(r.status, 302);
    cr_expect(str_eqc(header(&r, "Location"), "/ui/"));
    r = ask(&sv, "GET", "/", NULL, LINES("Accept: application/json, text/html"));
    cr_expect_eq(r.status, 200);
    r = ask(&sv, "GET", "/ui/", NULL, browser);
    cr_expect_eq(r.status, 200);
    server_start(&none, OFF);
    r = ask(&none, "GET", "/", NULL, browser);
    cr_expect_eq(r.status, 200);
    cr_expect(str_starts(header(&r, "Content-Type"), STR("application/json")));
    r = ask(&none, "GET", "/ui/", NULL, browser);
    cr_expect_eq(r.status, 400, "a path of no version: " STR_FMT, STR_ARG(r.body));
    server_end(&none);
}

Test(answers, limits_of_rate_are_described_too /* RUN-47 ERR-8 */) {
    static const char *const ARGS[] = {"--address-rate", "1", "--address-burst", "1", NULL};
    struct op op = op_find("getCapabilities");
    static struct server tight;
    struct reply r;
    server_start(&tight, ARGS);
    for (int i = 0; i < 20; i++) {
        r = ask(&tight, "GET", "/.well-known/openwop", NULL, NULL);
        if (r.status == 429) break;
    }
    cr_expect_eq(r.status, 429);
    cr_expect_not_null(header(&r, "Retry-After").p);
    expect_described(&op, &r);
    server_end(&tight);
}

/* --- browsers --- */

static bool in_list(struct str list, struct str name) {
    struct str one, rest = list;
    for (bool more = true; more;) {
        more = str_cut(rest, ',', &one, &rest);
        if (str_eq_nocase(str_trim(more ? one : rest), name)) return true;
    }
    return false;
}

Test(answers, pages_may_send_and_read_every_header_of_the_document /* HTTP-18 table 2.1, F14 */) {
    static const char *const PREFLIGHT[] = {"Origin: http://app.example",
                                            "Access-Control-Request-Method: POST", NULL};
    struct reply r = ask(&sv, "OPTIONS", "/v1/runs", NULL, PREFLIGHT);
    struct str sent = header(&r, "Access-Control-Allow-Headers");
    struct str shown = header(&r, "Access-Control-Expose-Headers");
    struct json_members headers = members(at(doc, "components.headers"));
    struct op all[OPS_MAX];
    size_t n = ops_read(all, OPS_MAX);
    cr_assert(sent.p && shown.p);
    for (size_t i = 0; i < headers.n; i++)
        cr_expect(in_list(shown, headers.v[i].key), STR_FMT, STR_ARG(headers.v[i].key));
    for (size_t i = 0; i < n; i++) {
        struct json_elements p = elements(json_get(all[i].doc, "parameters"));
        for (size_t k = 0; k < p.n; k++)
            if (str_eqc(text_at(p.v[k], "in"), "header"))
                cr_expect(in_list(sent, text_at(p.v[k], "name")), STR_FMT, STR_ARG(p.v[k]));
    }
}
