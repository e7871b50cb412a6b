/*
 * mcp_route.c: tools and resources whose answer is that of an operation of the API: the call goes
 * on as a request of it (http_go_on), so that rules, idempotency and audit are the same however it
 * was asked for.
 */
#include "codec/jobj.h"
#include "domain/event.h"
#include "store/events.h"
#include "wire/v1/mcp.h"

enum {
    QUERY_MAX = 6,
    BODY_BYTES_MAX = 16 * 1024 * 1024,
    EVENTS_DEFAULT = 50,
    EVENTS_BYTES = MCP_RESULT_BYTES_MAX / 2 /* after which a page ends */
};

/* Where an argument goes; name NULL: the same name. */
enum place { TO_PATH, TO_QUERY, TO_BODY };
struct part {
    const char *argument;
    enum place place;
    const char *name;
};
static const struct route {
    const char *of; /* name of the tool, or URI of the resource */
    const char *op_id;
    struct part parts[8];
    const char *limit; /* query of a resource, which has no arguments */
} ROUTES[] = {
    {"run_list_workflows",
     "listWorkflows",
     {{"limit", TO_QUERY, NULL}, {"after", TO_QUERY, NULL}},
     NULL},
    {"run_describe_workflow", "getWorkflow", {{"workflowId", TO_PATH, NULL}}, NULL},
    {"run_start",
     "createRun",
     {{"workflowId", TO_BODY, NULL},
      {"inputs", TO_BODY, NULL},
      {"tags", TO_BODY, NULL},
      {"metadata", TO_BODY, NULL},
      {"configurable", TO_BODY, NULL},
      {"scopeId", TO_BODY, NULL}},
     NULL},
    {"run_status", "getRun", {{"runId", TO_PATH, NULL}}, NULL},
    {"run_list",
     "listRuns",
     {{"status", TO_QUERY, NULL},
      {"workflowId", TO_QUERY, NULL},
      {"tag", TO_QUERY, NULL},
      {"before", TO_QUERY, NULL},
      {"limit", TO_QUERY, NULL}},
     NULL},
    {"run_cancel", "cancelRun", {{"runId", TO_PATH, NULL}, {"reason", TO_BODY, NULL}}, NULL},
    {"run_list_interrupts",
     "listInterrupts",
     {{"kind", TO_QUERY, NULL},
      {"runId", TO_QUERY, NULL},
      {"cursor", TO_QUERY, NULL},
      {"limit", TO_QUERY, NULL}},
     NULL},
    {"run_resolve_interrupt",
     "resolveInterruptByRun",
     {{"runId", TO_PATH, NULL},
      {"nodeId", TO_PATH, NULL},
      {"interruptId", TO_QUERY, NULL},
      {"value", TO_BODY, "resumeValue"}},
     NULL},
    {"wopr://workflows", "listWorkflows", {{NULL, TO_PATH, NULL}}, "200"},
    {"wopr://workflows/{workflowId}", "getWorkflow", {{"workflowId", TO_PATH, NULL}}, NULL},
    {"wopr://runs", "listRuns", {{NULL, TO_PATH, NULL}}, "50"},
    {"wopr://runs/{runId}", "getRun", {{"runId", TO_PATH, NULL}}, NULL},
    {"wopr://interrupts", "listInterrupts", {{NULL, TO_PATH, NULL}}, "50"},
};

static const struct route *route_of(const struct mcp_call *call) {
    const char *of = call->tool ? call->tool->name : call->resource->uri;
    for (size_t i = 0; i < sizeof ROUTES / sizeof ROUTES[0]; i++)
        if (strcmp(ROUTES[i].of, of) == 0) return &ROUTES[i];
    ASSERT(!"every row with this handler has a route");
    return NULL;
}

/* A string decoded, anything else as it is spelled; p NULL: absent. */
static struct str value_of(const struct mcp_call *call, const char *name) {
    if (call->resource) return mcp_param(call, name);
    struct str raw = json_get(call->arguments, name);
    if (raw.n == 0) return STR_NONE;
    return json_type_of(raw) == JSON_STRING ? json_string(raw, call->arena) : raw;
}

static void param_add(struct http_param *list, size_t *n, const struct part *p, struct str value) {
    list[(*n)++] = (struct http_param){str_c(p->name ? p->name : p->argument), value};
}

static bool request_fill(struct mcp_call *call, const struct route *r, struct http_as *as) {
    struct jobj body;
    as->query = ARENA_ARRAY(call->arena, struct http_param, QUERY_MAX);
    if (!as->query) return false;
    jobj_begin(&body, BODY_BYTES_MAX);
    for (const struct part *p = r->parts; p->argument; p++) {
        struct str value = value_of(call, p->argument);
        if (!value.p) continue;
        if (p->place == TO_PATH) param_add(as->params, &as->params_nr, p, value);
        else if (p->place == TO_QUERY) param_add(as->query, &as->query_nr, p, value);
        else
            jw_kraw(&body.w, p->name ? p->name : p->argument,
                    json_get(call->arguments, p->argument));
    }
    if (r->limit) as->query[as->query_nr++] = (struct http_param){STR("limit"), str_c(r->limit)};
    as->body = jobj_end(&body, call->arena);
    as->idempotency_key = value_of(call, "idempotencyKey");
    return as->body.p != NULL && !arena_failed(call->arena);
}

int v1_mcp_route(struct mcp_call *call) {
    struct mcp_visit *v = visit_of(call);
    const struct route *r = route_of(call);
    struct http_as as = {.op_id = r->op_id, .answered = v1_mcp_answered, .of = v};
    /* Who may respond is shown tokens of interrupts: nothing for a model's context. */
    if (!call->tool || (call->tool->scopes & SCOPE_APPROVALS_RESPOND) == 0)
        as.without = SCOPE_APPROVALS_RESPOND;
    if (!request_fill(call, r, &as)) return mcp_fail(call, STR_NONE);
    v->carried_rc = http_go_on(v->call, &as);
    return MCP_CARRIED;
}

/* --- run_events: a page that a model can read, not the 10,000 of the poll --- */

struct page {
    struct str run_id;
    struct buf b;
    int64_t left, last;
    bool terminal;
};

static int page_take(void *ctx, const struct event *e, struct wopr_error *err) {
    struct page *p = ctx;
    (void)err;
    size_t before = p->b.len;
    if (p->left == 0 || p->b.len >= EVENTS_BYTES) return 1;
    if (before > 0) buf_addc(&p->b, ',');
    v1_event_render(p->run_id, e, &p->b);
    p->left--;
    p->last = e->seq;
    p->terminal = event_is_terminal(e->kind);
    return 0;
}

static int page_answer(struct mcp_call *call, struct page *p, const struct run_head *head) {
    struct jobj o;
    bool complete =
        p->terminal || (run_status_final(head->status) && p->last + 1 >= head->next_seq);
    jobj_begin(&o, 2 * MCP_RESULT_BYTES_MAX);
    if (buf_failed(&p->b)) jobj_fail(&o);
    jw_key(&o.w, "events");
    jw_array(&o.w);
    if (p->b.len > 0) jw_raw(&o.w, buf_str(&p->b));
    jw_end_array(&o.w);
    jw_kint(&o.w, "lastSequence", p->last);
    jw_kbool(&o.w, "isComplete", complete);
    return mcp_answer(call, jobj_end(&o, call->arena));
}

static int64_t integer_of(const struct mcp_call *call, const char *name, int64_t absent) {
    int64_t v;
    return json_int(json_get(call->arguments, name), &v) ? v : absent;
}

int v1_mcp_fail(struct mcp_call *call, const struct wopr_error *err) {
    struct mcp_visit *v = visit_of(call);
    http_fail(v->call, err);
    struct str envelope = v->call->reply;
    int status = v->call->status;
    v->call->status = 0;
    v->call->headers_nr = 0;
    return v1_mcp_fail_as(v, envelope, status);
}

/* At least one event is in a page, however large. */
int v1_mcp_events(struct mcp_call *call) {
    struct mcp_visit *v = visit_of(call);
    struct wopr_error err = {0};
    struct run_head head;
    int rc = v1_mcp_run_of(call, &head, &err);
    if (rc != 0) return v1_mcp_fail(call, &err);
    struct page p = {.run_id = head.run_id, .left = integer_of(call, "limit", EVENTS_DEFAULT)};
    p.last = integer_of(call, "afterSequence", -1);
    const struct log_range range = {.run_no = head.run_no,
                                    .from = p.last + 1,
                                    .until = INT64_MAX,
                                    .page_events = WIRE_PAGE_EVENTS,
                                    .page_bytes = WIRE_PAGE_BYTES};
    struct arena *a = arena_new(WIRE_ARENA_MAX);
    if (!a) return mcp_fail(call, STR_NONE);
    buf_init(&p.b, WIRE_SNAPSHOT_MAX);
    rc = store_walk(v1_of(v->call)->shared.store, &range, a, page_take, &p, &err);
    arena_free(a);
    int done = rc == 0 ? page_answer(call, &p, &head) : v1_mcp_fail(call, &err);
    buf_fini(&p.b);
    return done;
}

int v1_mcp_run_of(struct mcp_call *call, struct run_head *out, struct wopr_error *err) {
    struct mcp_visit *v = visit_of(call);
    struct str id = value_of(call, "runId");
    if (id.n == 0 || id.n > WIRE_ID_CHARS)
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such run");
    int rc = store_run_head(v1_of(v->call)->shared.store, call->who.tenant, call->who.test_mode, id,
                            call->arena, out, err);
    return rc != 0 ? rc : wire_head_check(out, err);
}
