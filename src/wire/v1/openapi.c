/*
 * openapi.c: GET /v1/openapi.json (E2, RUN-47), built once from the operation table, so that it
 * describes exactly the routes that are mounted.  Schemas come from the embedded api/schemas; their
 * own $id makes references among them resolve.
 */
#include "base/embed.h"
#include "wire/v1/wire_int.h"

#include <stdio.h>

enum { OPENAPI_MAX = 4 * 1024 * 1024 };

enum param_bit {
    P_IDEM = 1,
    P_DEDUP = 2,
    P_FORCE = 4,
    P_MODE = 8,
    P_BUFFER = 16,
    P_LAST_EVENT = 32,
    P_LAST_EVENT_QUERY = 64,
    P_TICKET = 128,
    P_LAST_SEQUENCE = 256,
    P_TIMEOUT = 512,
    P_LIST = 1024,
    P_IF_NONE_MATCH = 2048,
    P_PENDING = 4096
};
static const struct {
    unsigned bit;
    const char *in, *name, *schema, *text;
} PARAMS[] = {
    {P_IDEM, "header", "Idempotency-Key", "{\"type\":\"string\",\"minLength\":1,\"maxLength\":255}",
     "Repeats with the same key and body get the first answer again."},
    {P_DEDUP, "header", "X-Dedup", "{\"type\":\"string\",\"enum\":[\"enforce\"]}",
     "Refuse the run while another active run holds the same scopeId."},
    {P_FORCE, "header", "X-Force-Engine-Version", "{\"type\":\"integer\",\"minimum\":0}",
     "Test keys only: the engine version that the run shows."},
    {P_MODE, "query", "streamMode",
     "{\"type\":\"string\",\"default\":\"updates\",\"pattern\":"
     "\"^(values|updates|messages|debug)(,(values|updates|messages|debug))*$\"}",
     "One mode, or several separated by commas; values stands alone."},
    {P_BUFFER, "query", "bufferMs",
     "{\"type\":\"integer\",\"minimum\":0,\"maximum\":5000,\"default\":0}",
     "Collect events for this many milliseconds and send them as batches."},
    {P_LAST_EVENT, "header", "Last-Event-ID", "{\"type\":\"string\"}",
     "Resume after this sequence or event id."},
    {P_LAST_EVENT_QUERY, "query", "lastEventId", "{\"type\":\"string\"}",
     "Host extension: as Last-Event-ID, for clients that cannot set headers."},
    {P_TICKET, "query", "ticket", "{\"type\":\"string\"}",
     "Host extension: a stream ticket instead of the credential."},
    {P_LAST_SEQUENCE, "query", "lastSequence", "{\"type\":\"integer\",\"minimum\":0}",
     "Return events with a greater sequence; absent = all."},
    {P_TIMEOUT, "query", "timeout",
     "{\"type\":\"integer\",\"minimum\":1,\"maximum\":60,\"default\":30}",
     "Seconds to wait for new events."},
    {P_LIST, "query", "tag", "{\"type\":\"string\"}", "Only runs with this tag."},
    {P_LIST, "query", "status", "{\"type\":\"string\"}", "Only runs with this status."},
    {P_LIST, "query", "workflowId", "{\"type\":\"string\"}", "Only runs of this workflow."},
    {P_LIST, "query", "forkOf", "{\"type\":\"string\"}", "Only forks of this run."},
    {P_LIST, "query", "parentRunId", "{\"type\":\"string\"}",
     "Only runs that nodes of this run started."},
    {P_LIST, "query", "limit",
     "{\"type\":\"integer\",\"minimum\":1,\"maximum\":200,\"default\":50}", "Runs per page."},
    {P_LIST, "query", "before", "{\"type\":\"string\"}",
     "Runs older than this run: nextBefore of the page before."},
    {P_PENDING, "query", "kind", "{\"type\":\"string\"}", "Only interrupts of this kind."},
    {P_PENDING, "query", "runId", "{\"type\":\"string\"}", "Only interrupts of this run."},
    {P_PENDING, "query", "ownerUserId", "{\"type\":\"string\"}",
     "Only interrupts of runs that this subject created."},
    {P_PENDING, "query", "limit",
     "{\"type\":\"integer\",\"minimum\":1,\"maximum\":200,\"default\":50}", "Interrupts per page."},
    {P_PENDING, "query", "cursor", "{\"type\":\"string\"}", "nextCursor of the page before."},
    {P_IF_NONE_MATCH, "header", "If-None-Match", "{\"type\":\"string\"}",
     "Answer 304 when the document is unchanged."},
};

#define REF(name) "{\"$ref\":\"#/components/schemas/" name "\"}"
#define EVENTS_SCHEMA                                                                              \
    "{\"type\":\"object\",\"required\":[\"events\",\"isComplete\"],\"properties\":{\"events\":{"   \
    "\"type\":\"array\","                                                                          \
    "\"items\":" REF("RunEventDoc") "},\"isComplete\":{\"type\":\"boolean\"}}}"
#define CREATE_SCHEMA                                                                              \
    "{\"type\":\"object\",\"required\":[\"workflowId\"],\"additionalProperties\":false,"           \
    "\"properties\":{"                                                                             \
    "\"workflowId\":{\"type\":\"string\",\"minLength\":1},\"inputs\":{\"type\":\"object\"},"       \
    "\"tenantId\":{\"type\":\"string\"},\"scopeId\":{\"type\":\"string\",\"minLength\":1,"         \
    "\"maxLength\":256},"                                                                          \
    "\"callbackUrl\":{\"type\":\"string\",\"format\":\"uri\"},\"configurable\":{\"type\":"         \
    "\"object\"},"                                                                                 \
    "\"tags\":{\"type\":\"array\",\"maxItems\":100,\"items\":{\"type\":\"string\",\"minLength\":"  \
    "1,"                                                                                           \
    "\"maxLength\":256}},\"metadata\":{\"type\":\"object\"}}}"
#define CREATED_SCHEMA                                                                             \
    "{\"type\":\"object\",\"required\":[\"runId\",\"status\",\"eventsUrl\"],\"properties\":{"      \
    "\"runId\":{\"type\":\"string\"},\"status\":{\"type\":\"string\",\"enum\":[\"pending\","       \
    "\"running\","                                                                                 \
    "\"waiting-approval\",\"waiting-input\"]},\"eventsUrl\":{\"type\":\"string\",\"format\":"      \
    "\"uri\"},"                                                                                    \
    "\"statusUrl\":{\"type\":\"string\",\"format\":\"uri\"}}}"
#define LIST_SCHEMA                                                                                \
    "{\"type\":\"object\",\"required\":[\"runs\"],\"properties\":{\"runs\":{\"type\":\"array\","   \
    "\"items\":{"                                                                                  \
    "\"type\":\"object\",\"required\":[\"runId\",\"workflowId\",\"status\"]}},"                    \
    "\"nextBefore\":{\"type\":\"string\"}}}"
#define CONTROLLED_SCHEMA(status, at)                                                              \
    "{\"type\":\"object\",\"required\":[\"runId\",\"status\"],\"properties\":{\"runId\":{"         \
    "\"type\":\"string\"},"                                                                        \
    "\"status\":{\"type\":\"string\"" status "}" at "}}"
#define AT(name)      ",\"" name "\":{\"type\":\"string\",\"format\":\"date-time\"}"
#define REASON_SCHEMA "{\"type\":\"object\",\"properties\":{\"reason\":{\"type\":\"string\"}}}"
#define RESUME_SCHEMA                                                                              \
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"reason\":{\"type\":"    \
    "\"string\"}}}"
#define PAUSE_SCHEMA                                                                               \
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"reason\":{\"type\":"    \
    "\"string\"},"                                                                                 \
    "\"drainPolicy\":{\"type\":\"string\",\"enum\":[\"immediate\",\"drain-current-node\"],"        \
    "\"default\":\"drain-current-node\"}}}"
#define RESOLVE_SCHEMA                                                                             \
    "{\"type\":\"object\",\"required\":[\"resumeValue\"],\"additionalProperties\":false,"          \
    "\"properties\":{\"resumeValue\":{}}}"
#define RESOLVED_SCHEMA                                                                            \
    "{\"type\":\"object\",\"required\":[\"runId\",\"nodeId\",\"status\"],\"properties\":{"         \
    "\"runId\":"                                                                                   \
    "{\"type\":\"string\"},\"nodeId\":{\"type\":\"string\"},\"interruptId\":{\"type\":\"string\"}" \
    ","                                                                                            \
    "\"status\":{\"type\":\"string\"}}}"
#define PENDING_SCHEMA                                                                             \
    "{\"type\":\"object\",\"required\":[\"interrupts\"],\"properties\":{\"interrupts\":{\"type\":" \
    "\"array\",\"items\":{\"type\":\"object\",\"required\":[\"interruptId\",\"runId\",\"nodeId\"," \
    "\"kind\",\"requestedAt\",\"ageMs\",\"resolveUrl\"]}},\"nextCursor\":{\"type\":\"string\"}}}"
#define FORK_SCHEMA                                                                                \
    "{\"type\":\"object\",\"required\":[\"mode\"],\"additionalProperties\":false,"                 \
    "\"properties\":{\"fromSeq\":{\"type\":\"integer\",\"minimum\":0,\"default\":0},"              \
    "\"mode\":{\"type\":\"string\",\"enum\":[\"replay\",\"branch\"]},\"runOptionsOverlay\":{"      \
    "\"type\":\"object\",\"additionalProperties\":false,\"properties\":{\"inputs\":{\"type\":"     \
    "\"object\"},\"configurable\":{\"type\":\"object\"},\"tags\":{\"type\":\"array\",\"items\":{"  \
    "\"type\":\"string\"}},\"metadata\":{\"type\":\"object\"}}}}}"
#define FORKED_SCHEMA                                                                              \
    "{\"type\":\"object\",\"required\":[\"runId\",\"sourceRunId\",\"fromSeq\",\"mode\","           \
    "\"status\","                                                                                  \
    "\"eventsUrl\"],\"properties\":{\"runId\":{\"type\":\"string\"},\"sourceRunId\":{\"type\":"    \
    "\"string\"},\"fromSeq\":{\"type\":\"integer\",\"minimum\":0},\"mode\":{\"type\":\"string\","  \
    "\"enum\":[\"replay\",\"branch\"]},\"status\":{\"type\":\"string\"},\"eventsUrl\":{\"type\":"  \
    "\"string\",\"format\":\"uri\"}}}"
#define EMPTY_SCHEMA "{\"type\":\"object\",\"maxProperties\":0}"
#define TICKET_SCHEMA                                                                              \
    "{\"type\":\"object\",\"required\":[\"ticket\",\"expiresAt\",\"eventsUrl\"],\"properties\":{"  \
    "\"ticket\":{\"type\":\"string\"},\"expiresAt\":{\"type\":\"string\",\"format\":\"date-"       \
    "time\"},"                                                                                     \
    "\"eventsUrl\":{\"type\":\"string\",\"format\":\"uri\"}}}"

static const struct op_doc {
    const char *id, *tag, *summary;
    unsigned params;
    const char *body;   /* schema of the request body or NULL */
    const char *status; /* of success */
    const char *schema; /* of its JSON body */
    const char
        *errors; /* further statuses, blank-separated; 401, 403, 429, 503 follow from the flags */
} DOCS[] = {
    {"getCapabilities", "discovery", "Capability declaration.", P_IF_NONE_MATCH, NULL, "200",
     REF("Capabilities"), "304"},
    {"getOpenApiSpec", "discovery", "This document.", P_IF_NONE_MATCH, NULL, "200",
     "{\"type\":\"object\"}", "304"},
    {"getWorkflow", "workflows", "Read a workflow definition.", 0, NULL, "200",
     REF("WorkflowDefinition"), "404"},
    {"createRun", "runs", "Create a run.", P_IDEM | P_DEDUP | P_FORCE, CREATE_SCHEMA, "201",
     CREATED_SCHEMA, "400 409 413 415"},
    {"listRuns", "runs", "List runs, newest first (host extension).", P_LIST, NULL, "200",
     LIST_SCHEMA, "400"},
    {"getRun", "runs", "Read the state of a run.", 0, NULL, "200", REF("RunSnapshot"),
     "404 409 410"},
    {"streamRunEvents", "runs", "Stream the events of a run; JSON when only that is accepted.",
     P_MODE | P_BUFFER | P_LAST_EVENT | P_LAST_EVENT_QUERY | P_TICKET, NULL, "200", EVENTS_SCHEMA,
     "400 404 409 410"},
    {"pollRunEvents", "runs", "Long-poll the events of a run.", P_LAST_SEQUENCE | P_TIMEOUT, NULL,
     "200", EVENTS_SCHEMA, "400 404 409 410"},
    {"cancelRun", "runs", "Cancel a run.", P_IDEM, REASON_SCHEMA, "200", CONTROLLED_SCHEMA("", ""),
     "400 404 409 410"},
    {"cancelRunAlias", "runs", "Cancel a run (alias).", P_IDEM, REASON_SCHEMA, "200",
     CONTROLLED_SCHEMA("", ""), "400 404 409 410"},
    {"pauseRun", "runs", "Pause a run.", P_IDEM, PAUSE_SCHEMA, "202",
     CONTROLLED_SCHEMA(",\"enum\":[\"paused\"]", AT("pausedAt")), "400 404 409 410"},
    {"resumeRun", "runs", "Resume a paused run.", P_IDEM, RESUME_SCHEMA, "202",
     CONTROLLED_SCHEMA(",\"enum\":[\"running\"]", AT("resumedAt")), "400 404 409 410"},
    {"forkRun", "runs", "Fork a run: replay it from a sequence on, or branch off.", P_IDEM,
     FORK_SCHEMA, "201", FORKED_SCHEMA, "400 404 409 410 413 415 422"},
    {"getArtifact", "artifacts", "Read an artifact of a run.", 0, NULL, "200",
     "{\"type\":\"object\"}", "404 410"},
    {"resolveInterruptByRun", "hitl", "Resolve the open interrupt of a node.", P_IDEM,
     RESOLVE_SCHEMA, "200", RESOLVED_SCHEMA, "400 404 409 410 413 415 422"},
    {"resolveApprovalAlias", "hitl",
     "Resolve the open interrupt of a node (alias; the body may be the resume value itself).",
     P_IDEM, "{\"type\":\"object\"}", "200", RESOLVED_SCHEMA, "400 404 409 413 415"},
    {"inspectInterruptByToken", "hitl", "Look at an interrupt without resolving it.", 0, NULL,
     "200", REF("InterruptPayload"), "403 404 409 410 422"},
    {"resolveInterruptByToken", "hitl", "Resolve an interrupt; the token is the authority.", P_IDEM,
     RESOLVE_SCHEMA, "200", RESOLVED_SCHEMA, "400 403 404 409 410 413 415 422"},
    {"listInterrupts", "host", "List pending interrupts, oldest first (host extension).", P_PENDING,
     NULL, "200", PENDING_SCHEMA, "400"},
    {"mintStreamTicket", "host", "Mint a ticket for one run's stream (host extension).", 0,
     EMPTY_SCHEMA, "200", TICKET_SCHEMA, "400 404 410"},
};
static const struct {
    const char *status, *text;
} STATUSES[] = {{"304", "Not modified."},
                {"400", "The request is not valid."},
                {"401", "Missing or invalid credential."},
                {"403", "The credential lacks a scope or a gate refuses it."},
                {"404", "No such resource, or not visible."},
                {"409", "The state does not allow this, or a conflict with another request."},
                {"410", "Removed by retention, or the token or interrupt is over."},
                {"413", "The body is too large."},
                {"415", "The body is not JSON."},
                {"422", "The run was cancelled, or the event does not match."},
                {"429", "Too many requests."},
                {"503", "At capacity or shutting down."}};
static const struct {
    const char *name, *file;
} SCHEMAS[] = {{"AgentRef", "api/schemas/agent-ref.schema.json"},
               {"Capabilities", "api/schemas/capabilities.schema.json"},
               {"InterruptPayload", "api/schemas/suspend-request.schema.json"},
               {"ErrorEnvelope", "api/schemas/error-envelope.schema.json"},
               {"RunEventDoc", "api/schemas/run-event.schema.json"},
               {"RunOptions", "api/schemas/run-options.schema.json"},
               {"RunSnapshot", "api/schemas/run-snapshot.schema.json"},
               {"WorkflowDefinition", "api/schemas/workflow-definition.schema.json"}};
#define COUNT(t) (sizeof(t) / sizeof(t)[0])

static const struct op_doc *doc_of(const char *id) {
    for (size_t i = 0; i < COUNT(DOCS); i++)
        if (strcmp(DOCS[i].id, id) == 0) return &DOCS[i];
    return NULL;
}

static void param_render(struct jw *w, const char *in, struct str name, const char *schema,
                         const char *text) {
    jw_object(w);
    jw_kstrz(w, "in", in);
    jw_kstr(w, "name", name);
    if (strcmp(in, "path") == 0) jw_kbool(w, "required", true);
    if (text) jw_kstrz(w, "description", text);
    jw_kraw(w, "schema", str_c(schema));
    jw_end_object(w);
}

static void params_render(struct jw *w, const struct http_op *op, const struct op_doc *doc) {
    const char *p = op->pattern;
    jw_key(w, "parameters");
    jw_array(w);
    while ((p = strchr(p, '{')) != NULL) {
        const char *end = strchr(p, '}');
        struct str name = str_n(p + 1, (size_t)(end - p - 1));
        param_render(w, "path", name,
                     str_eqc(name, "token")
                         ? "{\"type\":\"string\",\"minLength\":1,\"maxLength\":2048}"
                         : "{\"type\":\"string\",\"minLength\":1,\"maxLength\":128}",
                     NULL);
        p = end;
    }
    for (size_t i = 0; i < COUNT(PARAMS); i++)
        if (doc->params & PARAMS[i].bit)
            param_render(w, PARAMS[i].in, str_c(PARAMS[i].name), PARAMS[i].schema, PARAMS[i].text);
    jw_end_array(w);
}

static void content_render(struct jw *w, const char *media, const char *schema) {
    jw_key(w, media);
    jw_object(w);
    jw_kraw(w, "schema", str_c(schema));
    jw_end_object(w);
}

static void success_render(struct jw *w, const struct http_op *op, const struct op_doc *doc) {
    jw_key(w, doc->status);
    jw_object(w);
    jw_kstrz(w, "description", doc->summary);
    if (op->flags & OP_IDEMPOTENT) {
        jw_key(w, "headers");
        jw_raw(w, STR("{\"openwop-Idempotent-Replay\":{\"schema\":{\"type\":\"boolean\"}}}"));
    }
    jw_key(w, "content");
    jw_object(w);
    content_render(w, "application/json", doc->schema);
    if (doc->params & P_MODE) content_render(w, "text/event-stream", "{\"type\":\"string\"}");
    jw_end_object(w);
    jw_end_object(w);
}

static void error_ref(struct jw *w, const char *status) {
    char ref[48];
    snprintf(ref, sizeof ref, "#/components/responses/Status%s", status);
    jw_key(w, status);
    jw_object(w);
    jw_kstrz(w, "$ref", ref);
    jw_end_object(w);
}

static void responses_render(struct jw *w, const struct http_op *op, const struct op_doc *doc) {
    jw_key(w, "responses");
    jw_object(w);
    success_render(w, op, doc);
    for (size_t i = 0; i < COUNT(STATUSES); i++) {
        const char *s = STATUSES[i].status;
        bool authenticated =
            !(op->flags & OP_PUBLIC) && (strcmp(s, "401") == 0 || strcmp(s, "403") == 0);
        if (authenticated || strstr(doc->errors, s) || strcmp(s, "429") == 0 ||
            strcmp(s, "503") == 0)
            error_ref(w, s);
    }
    jw_end_object(w);
}

static void security_render(struct jw *w, const struct http_op *op) {
    if (op->flags & OP_PUBLIC) {
        jw_kraw(w, "security", STR("[]"));
        return;
    }
    jw_key(w, "x-openwop-scopes");
    jw_array(w);
    for (unsigned i = 0; i < SCOPE_NR; i++)
        if (op->scopes & (1u << i)) jw_strz(w, scope_name(i));
    jw_end_array(w);
}

static void operation_render(struct jw *w, const struct http_op *op, const struct op_doc *doc) {
    jw_key(w, strcmp(op->method, "GET") == 0 ? "get" : "post");
    jw_object(w);
    jw_kstrz(w, "operationId", op->id);
    jw_kstrz(w, "summary", doc->summary);
    jw_key(w, "tags");
    jw_array(w);
    jw_strz(w, doc->tag);
    jw_end_array(w);
    security_render(w, op);
    params_render(w, op, doc);
    if (doc->body) {
        jw_key(w, "requestBody");
        jw_object(w);
        jw_kbool(w, "required", !(op->flags & OP_BODY_OPTIONAL));
        jw_key(w, "content");
        jw_object(w);
        content_render(w, "application/json", doc->body);
        jw_end_object(w);
        jw_end_object(w);
    }
    responses_render(w, op, doc);
    jw_end_object(w);
}

/* One path item per distinct pattern, at its first row. */
static int paths_render(struct jw *w, const struct http_op *ops, size_t n, struct wopr_error *err) {
    jw_key(w, "paths");
    jw_object(w);
    for (size_t i = 0; i < n; i++) {
        size_t first = 0;
        while (strcmp(ops[first].pattern, ops[i].pattern) != 0) first++;
        if (first < i) continue;
        jw_key(w, ops[i].pattern);
        jw_object(w);
        for (size_t k = i; k < n; k++) {
            if (strcmp(ops[k].pattern, ops[i].pattern) != 0) continue;
            const struct op_doc *doc = doc_of(ops[k].id);
            if (!doc)
                return wopr_error_set(err, WOPR_E_INTERNAL, "operation %s is not documented",
                                      ops[k].id);
            operation_render(w, &ops[k], doc);
        }
        jw_end_object(w);
    }
    jw_end_object(w);
    return 0;
}

static int schemas_render(struct jw *w, struct wopr_error *err) {
    jw_key(w, "schemas");
    jw_object(w);
    for (size_t i = 0; i < COUNT(SCHEMAS); i++) {
        const struct embed_file *f = embed_find(SCHEMAS[i].file);
        struct buf compact;
        if (!f) return wopr_error_set(err, WOPR_E_INTERNAL, "%s is not embedded", SCHEMAS[i].file);
        buf_init(&compact, OPENAPI_MAX);
        int rc = json_canonical(embed_text(f), &compact, err);
        if (rc == 0) jw_kraw(w, SCHEMAS[i].name, buf_str(&compact));
        buf_fini(&compact);
        if (rc != 0) return rc;
    }
    jw_end_object(w);
    return 0;
}

static int components_render(struct jw *w, struct wopr_error *err) {
    jw_key(w, "components");
    jw_object(w);
    jw_kraw(w, "securitySchemes",
            STR("{\"ApiKeyAuth\":{\"type\":\"http\",\"scheme\":\"bearer\",\"bearerFormat\":\"API "
                "key\"}}"));
    jw_key(w, "responses");
    jw_object(w);
    for (size_t i = 0; i < COUNT(STATUSES); i++) {
        char name[16];
        snprintf(name, sizeof name, "Status%s", STATUSES[i].status);
        jw_key(w, name);
        jw_object(w);
        jw_kstrz(w, "description", STATUSES[i].text);
        if (STATUSES[i].status[0] != '3') {
            jw_key(w, "content");
            jw_object(w);
            content_render(w, "application/json", REF("ErrorEnvelope"));
            jw_end_object(w);
        }
        jw_end_object(w);
    }
    jw_end_object(w);
    int rc = schemas_render(w, err);
    if (rc == 0) jw_end_object(w);
    return rc;
}

static int document_render(const struct v1 *v, struct buf *out, struct wopr_error *err) {
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstrz(&w, "openapi", "3.1.0");
    jw_key(&w, "info");
    jw_object(&w);
    jw_kstrz(&w, "title", "OpenWOP host WOPR");
    jw_kstrz(&w, "version", V1_PROTOCOL_VERSION);
    jw_kstrz(&w, "description", "The routes that this host mounts.");
    jw_end_object(&w);
    jw_kraw(&w, "servers", STR("[{\"url\":\"/\"}]")); /* paths carry /v1 themselves (HTTP-4) */
    jw_kraw(&w, "security", STR("[{\"ApiKeyAuth\":[]}]"));
    int rc = paths_render(&w, v->wire.ops, v->wire.ops_nr, err);
    if (rc == 0) rc = components_render(&w, err);
    if (rc == 0) jw_end_object(&w);
    return rc;
}

int v1_openapi_build(struct v1 *v, struct wopr_error *err) {
    struct buf b;
    buf_init(&b, OPENAPI_MAX);
    int rc = document_render(v, &b, err);
    if (rc == 0) {
        v->openapi = buf_failed(&b) ? STR_NONE : arena_str(v->arena, buf_str(&b));
        v->openapi_etag = v->openapi.p ? v1_etag_of(v->openapi, v->arena) : STR_NONE;
        if (!v->openapi_etag.p)
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the OpenAPI document");
    }
    buf_fini(&b);
    return rc;
}

int v1_get_openapi(struct http_call *c) {
    struct v1 *v = v1_of(c);
    return v1_reply_document(c, v->openapi, v->openapi_etag, V1_DISCOVERY_CACHE);
}
