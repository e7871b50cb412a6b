/*
 * mcp.c: POST /v1/mcp, the carrier of MCP over HTTP, and the metadata of that resource (RFC 9728).
 *
 *   callMcp ── mcp_begin ──► an answer, or nothing (202), or a row's call:
 *                              here; on a thread for long work (MCP_MAY_BLOCK);
 *                              later (MCP_PENDING, mcp_resume is http_resume);
 *                              by an operation of the API, or as a stream (MCP_CARRIED)
 *
 * A batch (2025-03-26) is that for each of its messages, in their order, on a thread for long work.
 * Where an operation answers one of them, the call goes on as a request of it, and then back.
 */
#include "wire/v1/mcp.h"
#include "codec/jobj.h"

enum {
    ANSWER_BYTES_MAX = 8 * MCP_RESULT_BYTES_MAX, /* an object, and the same as text with escapes */
    METADATA_BYTES_MAX = 16 * 1024,
    BATCH_BYTES_MAX = 4 * 1024 * 1024, /* of answers, after which no further message is looked at */
    BODY_THAT_MAY_WAIT = 64 * 1024     /* larger ones are on a thread for long work */
};

/* --- the answer --- */

static int status_of(const struct mcp_visit *v) {
    switch (v->x.verdict) {
    case MCP_ACCEPTED:
        return 202;
    case MCP_MALFORMED:
        return 400;
    case MCP_NO_METHOD:
    case MCP_NO_SESSION:
        return 404;
    default:
        return 200;
    }
}

/* The handler's own is given up before the answer takes its place. */
static void own_free(void *visit) {
    struct mcp_visit *v = visit;
    if (v->x.call.user_free) v->x.call.user_free(v->x.call.user);
    v->x.call.user_free = NULL;
    v->x.call.user = NULL;
}

static void visit_leave(struct http_call *c) {
    if (c->user_free) c->user_free(c->user);
    c->user = NULL;
    c->user_free = NULL;
}

static void visit_enter(struct mcp_visit *v) {
    visit_leave(v->call);
    v->call->user = v;
    v->call->user_free = own_free;
}

static int batch_add(struct mcp_visit *v);

int v1_mcp_reply(struct mcp_visit *v) {
    struct http_call *c = v->call;
    struct buf b;
    if (v->batch) return batch_add(v);
    buf_init(&b, ANSWER_BYTES_MAX);
    mcp_write(&v->x, &b);
    visit_leave(c);
    c->content_type = "application/json";
    return wire_reply_buf(c, status_of(v), &b);
}

/* The wire's code in the case of MCP's; the seconds of Retry-After, which the envelope repeats. */
int v1_mcp_fail_as(struct mcp_visit *v, struct str envelope, int status) {
    struct mcp_call *call = &v->x.call;
    struct str details = json_get(envelope, "details");
    struct str code = json_string(json_get(envelope, "error"), call->arena);
    int64_t s = 0;
    char name[64] = "INTERNAL_ERROR";
    if (code.n > 0 && code.n < sizeof name) {
        for (size_t i = 0; i < code.n; i++)
            name[i] =
                code.p[i] >= 'a' && code.p[i] <= 'z' ? (char)(code.p[i] - 'a' + 'A') : code.p[i];
        name[code.n] = '\0';
    }
    if (!json_int(json_get(details, "retryAfter"), &s))
        (void)json_int(json_get(details, "retryAfterSeconds"), &s);
    enum mcp_retry retry = s > 0           ? MCP_RETRY_AFTER
                           : status >= 500 ? MCP_RETRY_AT_ONCE
                                           : MCP_RETRY_NOT;
    const char *copy = arena_cstr(call->arena, str_c(name));
    return mcp_fail_with(call, copy ? copy : "INTERNAL_ERROR",
                         json_string(json_get(envelope, "message"), call->arena), retry, s * 1000,
                         details);
}

/* A credential that has gone meanwhile stays a matter of HTTP. */
void v1_mcp_answered(struct http_call *c, void *visit) {
    struct mcp_visit *v = visit;
    if (c->status == 401) return;
    bool fits = c->reply.n <= MCP_RESULT_BYTES_MAX;
    struct str text = fits ? arena_str(c->arena, c->reply) : STR_NONE; /* it goes with its owner */
    if (!fits) (void)mcp_fail_too_large(&v->x.call);
    else if (c->status >= 400) (void)v1_mcp_fail_as(v, text, c->status);
    else if (text.p) (void)mcp_answer(&v->x.call, text);
    else (void)mcp_fail(&v->x.call, STR_NONE);
    c->headers_nr = 0;
    (void)v1_mcp_reply(v);
    if (!v->batch) return;
    visit_enter(v); /* what was the operation's own is gone with its answer */
    http_go_back(c);
}

/* --- the call --- */

static void visit_resume(struct mcp_call *call) { http_resume(visit_of(call)->call); }

static int visit_step(struct http_call *c) {
    struct mcp_visit *v = c->user;
    int rc = mcp_run(&v->x);
    if (rc == MCP_PENDING) return HTTP_PENDING;
    return rc == MCP_CARRIED ? v->carried_rc : v1_mcp_reply(v);
}

static int visit_run(struct http_call *c) {
    struct mcp_visit *v = c->user;
    bool answered = v->x.call.answer.kind != MCP_NO_ANSWER;
    if (!answered && mcp_may_block(&v->x)) return http_offload_command(c, visit_step);
    return visit_step(c);
}

static bool takes_stream(const struct http_call *c) {
    static const char TYPE[] = "text/event-stream";
    struct str accept = http_header(c, "Accept");
    for (size_t i = 0; i + sizeof TYPE - 1 <= accept.n; i++)
        if (str_eq_nocase(str_n(accept.p + i, sizeof TYPE - 1), STR(TYPE))) return true;
    return false;
}

static bool type_is_json(const struct http_call *c) {
    struct str type = http_header(c, "Content-Type"), rest;
    if (!str_cut(type, ';', &type, &rest)) type = http_header(c, "Content-Type");
    return str_eq_nocase(str_trim(type), STR("application/json"));
}

static struct mcp_visit *visit_new(struct http_call *c) {
    struct mcp_visit *v = ARENA_NEW(c->arena, struct mcp_visit);
    if (!v) return NULL;
    v->call = c;
    v->streams = takes_stream(c);
    v->large = c->body.n > BODY_THAT_MAY_WAIT;
    visit_enter(v);
    return v;
}

/* Of a batch all that it calls. */
static void audit_name(struct http_call *c, const struct mcp_call *call) {
    if (!call->tool && !call->resource) return;
    struct str name = str_c(call->tool ? call->tool->name : call->resource->uri);
    c->audit_of = c->audit_of.n == 0 ? name
                                     : arena_printf(c->arena, STR_FMT " " STR_FMT,
                                                    STR_ARG(c->audit_of), STR_ARG(name));
}

static enum mcp_step visit_begin(struct mcp_visit *v, struct str message) {
    static const struct mcp_carrier CARRIER = {visit_resume};
    struct http_call *c = v->call;
    bool found = false;
    const struct mcp_headers headers = {.version = http_header(c, "MCP-Protocol-Version"),
                                        .method = http_header(c, "Mcp-Method"),
                                        .name = http_header(c, "Mcp-Name"),
                                        .session = http_header(c, "Mcp-Session-Id")};
    const struct mcp_origin from = {.who = {.tenant = c->who.tenant,
                                            .workspace = c->who.workspace,
                                            .key_id = c->who.key_id,
                                            .subject_issuer = c->who.subject_issuer,
                                            .subject_id = c->who.subject_id,
                                            .scopes = c->who.scopes,
                                            .test_mode = c->who.test_mode},
                                    .arena = c->arena,
                                    .carrier = &CARRIER,
                                    .carried = v,
                                    .wants_text = str_eqc(http_query(c, "render", &found), "text"),
                                    .in_batch = v->batch != NULL};
    enum mcp_step step = mcp_begin(v1_of(c)->mcp, &v->x, message, &headers, &from);
    audit_name(c, &v->x.call);
    return step;
}

static int call_refuse(struct http_call *c, int code, const char *why) {
    struct wopr_error err = {0};
    (void)wopr_error_set(&err, code, "%s", why);
    return wire_fail(c, &err);
}

/* --- batches --- */

static void batch_keep(struct mcp_batch *b, struct str answer) {
    /* Only memory can be short here, and without an answer the client would wait for one. */
    if (!answer.p)
        answer =
            STR("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"the "
                "host is short of memory\"}}");
    b->answers[b->answers_nr++] = answer;
    b->bytes += answer.n;
    b->under_way = false;
    b->at++;
}

static int batch_add(struct mcp_visit *v) {
    struct buf b;
    buf_init(&b, ANSWER_BYTES_MAX);
    mcp_write(&v->x, &b);
    batch_keep(v->batch, buf_failed(&b) ? STR_NONE : arena_str(v->call->arena, buf_str(&b)));
    buf_fini(&b);
    return HTTP_DONE;
}

static int batch_end(struct mcp_visit *v) {
    struct http_call *c = v->call;
    const struct mcp_batch *all = v->batch;
    struct buf b;
    visit_leave(c);
    if (all->answers_nr == 0) {
        http_reply(c, 202, STR(""));
        return HTTP_DONE;
    }
    buf_init(&b, BATCH_BYTES_MAX + ANSWER_BYTES_MAX + all->messages.n);
    for (size_t i = 0; i < all->answers_nr; i++) {
        buf_addc(&b, i > 0 ? ',' : '[');
        buf_adds(&b, all->answers[i]);
    }
    buf_addc(&b, ']');
    c->content_type = "application/json";
    return wire_reply_buf(c, 200, &b);
}

/* A message after those whose answers fill the batch has no effect: it can be sent again. */
static enum mcp_step batch_begin(struct mcp_visit *v) {
    struct mcp_batch *b = v->batch;
    own_free(v);
    memset(&v->x, 0, sizeof v->x);
    b->under_way = true;
    if (b->bytes < BATCH_BYTES_MAX) return visit_begin(v, b->messages.v[b->at]);
    struct mcp_error full = {.code = 0};
    if (mcp_message_read(b->messages.v[b->at], v->call->arena, &v->x.message, &full) == 0 &&
        v->x.message.kind != MCP_REQUEST)
        return MCP_NOTHING;
    (void)mcp_error_set(&v->x.error, MCP_INTERNAL_ERROR, MCP_FINE,
                        "the answers before this one fill the batch; nothing was done, send it "
                        "again in another request");
    return MCP_REPLY;
}

/* On a thread for long work: handlers that block do it here. */
static int batch_run(struct http_call *c) {
    struct mcp_visit *v = c->user;
    struct mcp_batch *b = v->batch;
    while (b->at < b->messages.n) {
        enum mcp_step step = b->under_way ? MCP_CALL : batch_begin(v);
        int rc = step == MCP_CALL ? mcp_run(&v->x) : MCP_DONE;
        if (rc == MCP_PENDING) return HTTP_PENDING;
        if (rc == MCP_CARRIED) return v->carried_rc;
        if (step != MCP_NOTHING) (void)batch_add(v);
        else b->at++, b->under_way = false;
    }
    return batch_end(v);
}

/* Each message costs as much as if it had come alone. */
static int batch_take(struct mcp_visit *v, const struct json_elements *messages) {
    struct http_call *c = v->call;
    struct mcp_batch *b = ARENA_NEW(c->arena, struct mcp_batch);
    if (!b || !(b->answers = ARENA_ARRAY(c->arena, struct str, messages->n)))
        return call_refuse(c, WOPR_E_NO_MEMORY, "no memory for the messages");
    b->messages = *messages;
    v->batch = b;
    v->streams = false; /* the answers are one array */
    http_charge(c, messages->n - 1);
    return http_offload_command(c, batch_run);
}

/* false: the body is one message; else *rc is what the handler returns. */
static bool batch_begins(struct mcp_visit *v, int *rc) {
    struct http_call *c = v->call;
    struct json_elements messages;
    int code = mcp_batch_read(c->body, http_header(c, "MCP-Protocol-Version"), c->arena, &messages,
                              &v->x.error);
    if (code == 0) return false;
    v->x.verdict = v->x.error.verdict;
    *rc = code == 1 ? batch_take(v, &messages) : v1_mcp_reply(v);
    return true;
}

int v1_call_mcp(struct http_call *c) {
    struct mcp_visit *v = c->user;
    if (c->phase > 0) return v->batch ? http_offload_command(c, batch_run) : visit_run(c);
    if (!v1_of(c)->mcp)
        return call_refuse(c, WOPR_E_NOT_IMPLEMENTED, "this host serves no MCP: see --mcp");
    if (!type_is_json(c))
        return call_refuse(c, WOPR_E_MEDIA_TYPE, "the body must be sent as application/json");
    v = visit_new(c);
    if (!v) return call_refuse(c, WOPR_E_NO_MEMORY, "no memory for the message");
    int rc;
    if (batch_begins(v, &rc)) return rc;
    enum mcp_step step = visit_begin(v, c->body);
    if (step == MCP_CALL) return visit_run(c);
    if (step == MCP_REPLY) return v1_mcp_reply(v);
    visit_leave(c);
    http_reply(c, status_of(v), STR(""));
    return HTTP_DONE;
}

/* --- GET /.well-known/oauth-protected-resource/v1/mcp --- */

static void issuers_write(const struct v1_config *cfg, struct jw *w) {
    struct http_issuer_shown is;
    if (!http_issuer_at(cfg->issuers, 0, &is)) return;
    jw_key(w, "authorization_servers");
    jw_array(w);
    for (size_t i = 0; http_issuer_at(cfg->issuers, i, &is); i++) jw_str(w, is.url);
    jw_end_array(w);
}

int v1_get_resource_metadata(struct http_call *c) {
    struct v1 *v = v1_of(c);
    struct jobj o;
    if (!v->mcp)
        return call_refuse(c, WOPR_E_NOT_IMPLEMENTED, "this host serves no MCP: see --mcp");
    struct str base = http_base_url(c);
    jobj_begin(&o, METADATA_BYTES_MAX);
    jw_kstr(&o.w, "resource", arena_printf(c->arena, STR_FMT "/v1/mcp", STR_ARG(base)));
    jw_kstrz(&o.w, "resource_name", "WOPR");
    issuers_write(&v->cfg, &o.w);
    jw_kraw(&o.w, "bearer_methods_supported", STR("[\"header\"]"));
    jw_key(&o.w, "scopes_supported");
    jw_array(&o.w);
    for (unsigned i = 0; i < SCOPE_NR; i++) jw_strz(&o.w, scope_name(i));
    jw_end_array(&o.w);
    return wire_reply_object(c, 200, &o);
}
