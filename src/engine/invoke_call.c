/*
 * invoke_call.c: one request of a node on its way out, or a module of a pack on its way into the
 * sandbox, and what comes back (STORE-42, IDEM-16..19).  On its way it belongs to the engine, so
 * that its run may be reloaded meanwhile.
 */
#include "engine/invoke_call.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/json.h"
#include "engine/answer.h"
#include "engine/exec.h"
#include "engine/timeline.h"

#define INVOKE_REQUEST_MAX (8u * 1024 * 1024)

/* Its credential does not stay in freed memory. */
static void call_forget(struct invoke_call *c) {
    struct str s = c->secret;
    if (s.n == 0) return;
    for (size_t i = 0; i < c->request.headers_nr; i++) {
        struct str v = c->request.headers[i].value;
        if (v.n >= s.n && memcmp(v.p + v.n - s.n, s.p, s.n) == 0)
            mem_wipe((void *)(uintptr_t)(v.p + v.n - s.n), s.n);
    }
    mem_wipe((void *)(uintptr_t)s.p, s.n);
}

void invoke_call_free(struct invoke_call *c) {
    if (!c) return;
    call_forget(c);
    text_clear(&c->outcome);
    if (c->rpc) rpc_reader_fini(c->rpc);
    mem_free(c->rpc);
    if (c->reader) c->stream->free(c->reader);
    buf_fini(&c->fresh);
    buf_fini(&c->text);
    arena_free(c->a);
    mem_free(c);
}

void invoke_calls_free(struct invoke_call *c) {
    while (c) {
        struct invoke_call *next = c->next;
        invoke_call_free(c);
        c = next;
    }
}

/* --- the request --- */

static bool has_header(const struct node_request *r, struct str name) {
    for (size_t i = 0; i < r->headers_nr; i++)
        if (str_eq_nocase(r->headers[i].name, name)) return true;
    return false;
}

/* The trace of the run (OBS-1, OBS-2), unless the node says something of its own; how many. */
static size_t trace_headers(struct step *st, struct invoke_call *c, const struct node_request *r,
                            struct egress_header out[2]) {
    const struct run_meta *m = &st->state->meta;
    uint8_t span[SPAN_ID_BYTES];
    struct traceparent t;
    if (!st->engine->cfg.trace.on && m->traceparent.n == 0) return 0;
    if (has_header(r, STR("traceparent"))) return 0;
    trace_span_request(c->invocation_id, span);
    if (!trace_onward(&st->engine->cfg.trace, m->traceparent, m->run_id, span, &t)) return 0;
    out[0] = (struct egress_header){STR("traceparent"), arena_str(c->a, str_c(t.text))};
    struct str state = trace_state(m->traceparent);
    if (state.n == 0 || has_header(r, STR("tracestate"))) return 1;
    out[1] = (struct egress_header){STR("tracestate"), arena_str(c->a, state)};
    return 2;
}

/* On the egress thread: into the call's text; its run looks at it now and then. */
static enum egress_took call_stream(void *ctx, int status, struct str bytes) {
    struct invoke_call *c = ctx;
    struct engine *e = c->e;
    int rc = c->stream->take(c->reader, status, bytes, &c->fresh);
    c->read_rc = buf_failed(&c->fresh) ? WOPR_E_NO_MEMORY : rc;
    if (c->read_rc < 0) return EGRESS_STOP;
    if (c->fresh.len > 0) {
        pthread_mutex_lock(&e->mu);
        struct run_exec *re = map_get(e->runs.by_id, str_c(c->run_id));
        buf_adds(&c->text, buf_str(&c->fresh));
        if (re && !re->requests.pieces_held && !re->requests.has_pieces) {
            re->requests.has_pieces = true;
            exec_wake_locked(re);
        }
        pthread_mutex_unlock(&e->mu);
        buf_reset(&c->fresh);
    }
    return rc == 0 ? EGRESS_TAKEN : EGRESS_ENOUGH;
}

/* On the egress thread. */
static enum egress_took call_piece(void *ctx, int status, struct str bytes) {
    struct invoke_call *c = ctx;
    (void)status; /* a refusal may have a JSON-RPC body, too */
    int rc = rpc_reader_take(c->rpc, bytes);
    return rc < 0 ? EGRESS_STOP : rc == 0 ? EGRESS_TAKEN : EGRESS_ENOUGH;
}

static bool request_copy(struct step *st, struct invoke_call *c, const struct node_request *r) {
    struct egress_header *h = ARENA_ARRAY(c->a, struct egress_header, r->headers_nr + 3);
    size_t n = r->headers_nr;
    if (!h) return false;
    for (size_t i = 0; i < r->headers_nr; i++)
        h[i] = (struct egress_header){arena_str(c->a, r->headers[i].name),
                                      arena_str(c->a, r->headers[i].value)};
    if (r->keyed) h[n++] = (struct egress_header){STR("Idempotency-Key"), c->invocation_id};
    if (n + 1 < EGRESS_HEADERS_MAX) n += trace_headers(st, c, r, &h[n]);
    size_t max = r->response_max > 0 && r->response_max < NODE_ANSWER_MAX ? r->response_max
                                                                          : NODE_ANSWER_MAX;
    c->secret = r->secret.n > 0 ? arena_str(c->a, r->secret) : STR_NONE;
    c->request = (struct egress_request){
        .caller = r->caller != EGRESS_CALLER_NONE ? r->caller : EGRESS_CALLER_NODE,
        .replaying = timeline_of(st) != NULL, /* D57: a second guard */
        .tenant = arena_str(c->a, st->state->meta.tenant),
        .method = arena_str(c->a, r->method),
        .url = arena_str(c->a, r->url),
        .headers = h,
        .headers_nr = n,
        .body = r->body.n > 0 ? arena_str(c->a, r->body) : STR_NONE,
        .timeout_ms = r->timeout_ms,
        .redirects_max = r->redirects_max,
        .response_max = max,
        .keep = r->keep,
    };
    if (r->module.digest) {
        c->module = arena_cstr(c->a, str_c(r->module.digest));
        c->module_node = arena_str(c->a, r->module.node);
        c->module_memory = r->module.memory_max;
    }
    if (r->rpc_id > 0) {
        c->rpc = MEM_NEW(struct rpc_reader);
        if (!c->rpc) return false;
        rpc_reader_init(c->rpc, r->rpc_id, max);
        c->request.chunk = call_piece;
        c->request.response_max = NODE_ANSWER_MAX; /* of a stream: all that comes before, too */
    }
    if (r->stream) {
        c->stream = r->stream;
        c->reader = r->stream->open(c->secret);
        if (!c->reader) return false;
        c->model = arena_str(c->a, r->model);
        c->bounded = r->bounded;
        c->request.chunk = call_stream;
        c->request.response_max = 0; /* that of the caller: most of a stream is not text */
    }
    return !arena_failed(c->a);
}

struct invoke_call *invoke_call_new(struct step *st, int node, int64_t ordinal,
                                    struct str invocation_id, const struct node_request *r) {
    struct invoke_call *c = MEM_NEW(struct invoke_call);
    if (c) c->a = arena_new(INVOKE_REQUEST_MAX);
    if (c && c->a) {
        list_init(&c->link);
        buf_init(&c->fresh, NODE_ANSWER_MAX);
        buf_init(&c->text, NODE_ANSWER_MAX);
        c->e = st->engine;
        memcpy(c->run_id, st->exec->run_id,
               strlen(st->exec->run_id)); /* zeroed, RUN_ID_MAX at most */
        c->node = node;
        c->ordinal = ordinal;
        c->invocation_id = arena_str(c->a, invocation_id);
        if (request_copy(st, c, r)) return c;
    }
    invoke_call_free(c);
    return NULL;
}

/* --- sending and answers --- */

static void call_came_back(struct invoke_call *c) { /* c is no longer in e->requests */
    struct engine *e = c->e;
    pthread_mutex_lock(&e->mu);
    struct run_exec *re = map_get(e->runs.by_id, str_c(c->run_id));
    if (re) {
        c->next = re->requests.answers;
        re->requests.answers = c;
        re->requests.has_answers = true;
        exec_wake_locked(re);
    }
    pthread_mutex_unlock(&e->mu);
    if (!re) invoke_call_free(c); /* the run ended or moved to another host */
}

/* What its reader made of the answer. */
static void answer_read(const struct invoke_call *c, struct egress_response *r) {
    if (c->rpc && c->rpc->rc < 0) {
        r->rc = c->rpc->rc;
        r->message = r->rc == WOPR_E_TOO_BIG ? "its answer is longer than the request allows" : "";
    }
    if (c->rpc && r->rc == 0) r->body = rpc_reader_body(c->rpc);
}

/* What its stream reader made of the answer.  true: it is none, and *code and *message say why. */
static bool stream_read(struct invoke_call *c, struct egress_response *r, struct buf *body,
                        const char **code, const char **message) {
    if (!c->reader || (r->rc != 0 && c->read_rc >= 0)) return false;
    *code = "out_of_memory";
    *message = "";
    if (r->rc == 0) /* an answer without a body has a status, too */
        (void)c->stream->take(c->reader, r->status, STR(""), &c->fresh);
    if (!c->stream->end(c->reader, body, code, message) || buf_failed(body)) return true;
    r->rc = 0;
    r->body = buf_str(body);
    return false;
}

static void call_answered(void *ctx, const struct egress_response *as_came) { /* egress thread */
    struct invoke_call *c = ctx;
    struct engine *e = c->e;
    struct egress_response read = *as_came, *r = &read;
    const char *code, *message;
    struct buf b, body;
    buf_init(&body, INVOKE_OUTCOME_MAX);
    answer_read(c, r);
    bool refused = stream_read(c, r, &body, &code, &message);
    pthread_mutex_lock(&e->mu);
    list_del(&c->link);
    pthread_mutex_unlock(&e->mu);
    if (!refused && (r->rc == WOPR_E_CLOSED || r->rc == WOPR_E_NO_MEMORY)) {
        buf_fini(&body); /* stopping: keep the claim */
        invoke_call_free(c);
        return;
    }
    buf_init(&b, INVOKE_OUTCOME_MAX);
    if (refused) outcome_refused(code, message, c->secret, &b);
    else outcome_render(r, c->secret, (int64_t)(clock_mono_ms() - c->sent_ms), &b);
    c->state = r->rc == 0 && !refused ? INVOCATION_COMPLETED
               : r->untouched         ? INVOCATION_RELEASED
                                      : INVOCATION_ESCAPED;
    bool kept = !buf_failed(&b) && text_set(&c->outcome, buf_str(&b)) == 0;
    buf_fini(&b);
    buf_fini(&body);
    if (kept) {
        call_came_back(c);
    } else { /* as if the answer were lost: the run's timers or the next start continue */
        log_error("the answer to a request was lost for want of memory", "run", c->run_id);
        invoke_call_free(c);
    }
}

static void call_not_sent(struct invoke_call *c, int rc, const struct wopr_error *err) {
    struct egress_response r = {.rc = rc, .untouched = true, .message = err->message};
    struct buf b;
    pthread_mutex_lock(&c->e->mu);
    list_del(&c->link);
    pthread_mutex_unlock(&c->e->mu);
    buf_init(&b, INVOKE_OUTCOME_MAX);
    outcome_render(&r, STR_NONE, 0, &b);
    c->state = INVOCATION_RELEASED;
    bool kept = !buf_failed(&b) && text_set(&c->outcome, buf_str(&b)) == 0;
    buf_fini(&b);
    if (kept) call_came_back(c);
    else invoke_call_free(c);
}

/* On a thread of the sandbox.  A report is an answer; without one nothing has happened. */
static void call_reported(void *ctx, const struct sandbox_report *r) {
    struct egress_response as = {.rc = r->rc == WOPR_E_UNAVAILABLE ? WOPR_E_UNREACHABLE : r->rc,
                                 .untouched = r->rc != 0,
                                 .status = r->rc == 0 ? 200 : 0,
                                 .body = r->text,
                                 .message = r->message};
    call_answered(ctx, &as);
}

static int call_submit(struct invoke_call *c, struct wopr_error *err) {
    struct engine *e = c->e;
    c->request.id = &c->egress_id;
    if (!c->module) return egress_submit(e->cfg.egress, &c->request, call_answered, c, err);
    const struct sandbox_request r = {.tenant = c->request.tenant,
                                      .module = str_c(c->module),
                                      .node = c->module_node,
                                      .message = c->request.body,
                                      .memory_max = c->module_memory,
                                      .time_ms = c->request.timeout_ms,
                                      .id = &c->egress_id};
    return sandbox_submit(e->cfg.sandbox, &r, call_reported, c, err);
}

void invoke_call_send(struct invoke_call *c) {
    struct wopr_error err;
    pthread_mutex_lock(&c->e->mu);
    list_add_tail(&c->e->requests, &c->link);
    pthread_mutex_unlock(&c->e->mu);
    c->sent_ms = clock_mono_ms();
    int rc = call_submit(c, &err);
    if (rc != 0) call_not_sent(c, rc, &err);
}
