/*
 * rpc.c: the answer to one JSON-RPC 2.0 request.
 */
#include "codec/rpc.h"

#define RPC_DEPTH_MAX 64u

/* --- the response --- */

static bool id_is(struct str message, int64_t id) {
    int64_t got;
    struct str raw = json_get(message, "id");
    return raw.n > 0 && json_type_of(raw) == JSON_NUMBER && json_int(raw, &got) && got == id;
}

static bool id_is_none(struct str message) {
    struct str raw = json_get(message, "id");
    return raw.n == 0 || json_type_of(raw) == JSON_NULL;
}

static bool is_response(struct str message) {
    return json_type_of(message) == JSON_OBJECT && json_get(message, "method").n == 0 &&
           (json_get(message, "result").n > 0) != (json_get(message, "error").n > 0);
}

/* The response to id in checked text: itself, or one of an array.  lone: nothing else was asked in
 * this exchange, so an error for nobody is for us. */
static struct str response_find(struct str text, int64_t id, bool lone, struct arena *a) {
    struct json_elements l;
    if (json_type_of(text) == JSON_OBJECT)
        return is_response(text) && (id_is(text, id) ||
                                     (lone && id_is_none(text) && json_get(text, "error").n > 0))
                   ? text
                   : STR_NONE;
    if (json_type_of(text) != JSON_ARRAY || json_elements(text, a, &l, NULL) != 0) return STR_NONE;
    for (size_t i = 0; i < l.n; i++)
        if (is_response(l.v[i]) && id_is(l.v[i], id)) return l.v[i];
    return STR_NONE;
}

static bool text_ok(struct str text) {
    const struct json_limits lim = {text.n, RPC_DEPTH_MAX};
    return text.n > 0 && json_check(text, &lim, NULL) == 0;
}

const char *rpc_response_read(struct str body, int64_t id, struct arena *a,
                              struct rpc_response *out) {
    if (body.n == 0) return "its answer is empty, or a stream that ended without one";
    if (!text_ok(body)) return "its answer is no JSON, or nested too deeply";
    struct str r = response_find(body, id, true, a), error, code;
    if (r.n == 0) return "its answer is not the JSON-RPC response to the request";
    if (!str_eqc(json_string(json_get(r, "jsonrpc"), a), "2.0"))
        return "its answer is not of JSON-RPC 2.0";
    *out = (struct rpc_response){.result = json_get(r, "result")};
    if (out->result.n > 0) return NULL;
    error = json_get(r, "error");
    code = json_get(error, "code");
    out->message = json_string(json_get(error, "message"), a);
    out->data = json_get(error, "data");
    return json_type_of(error) == JSON_OBJECT && code.n > 0 && json_int(code, &out->code)
               ? NULL
               : "the error in its answer has no code";
}

/* --- while the body comes --- */

void rpc_reader_init(struct rpc_reader *r, int64_t id, size_t max) {
    *r = (struct rpc_reader){.id = id};
    sse_reader_init(&r->stream, max);
    buf_init(&r->body, max);
}

void rpc_reader_fini(struct rpc_reader *r) {
    sse_reader_fini(&r->stream);
    buf_fini(&r->body);
}

/* Lines of a stream begin with a letter, a colon or a byte order mark. */
static enum rpc_form form_of(struct str *bytes) {
    while (bytes->n > 0 && strchr(" \t\r\n", bytes->p[0]) && bytes->p[0] != '\0')
        *bytes = str_n(bytes->p + 1, bytes->n - 1);
    if (bytes->n == 0) return RPC_UNKNOWN;
    return strchr("{[<\"", bytes->p[0]) && bytes->p[0] != '\0' ? RPC_TEXT : RPC_STREAM;
}

static int event_take(struct rpc_reader *r, const struct sse_event *e) {
    struct arena *a;
    if (!text_ok(e->data)) return 0;
    a = arena_new(e->data.n * 32 + 4096); /* the spans of an array */
    if (!a) return WOPR_E_NO_MEMORY;
    struct str found = response_find(e->data, r->id, false, a);
    bool short_of = arena_failed(a);
    if (found.n > 0) buf_adds(&r->body, found);
    arena_free(a);
    r->found = found.n > 0;
    return short_of || buf_failed(&r->body) ? WOPR_E_NO_MEMORY : r->found;
}

static int stream_take(struct rpc_reader *r, struct str bytes) {
    struct sse_event e;
    int rc;
    while ((rc = sse_reader_next(&r->stream, &bytes, &e)) == 1)
        if ((rc = event_take(r, &e)) != 0) return rc;
    return rc;
}

int rpc_reader_take(struct rpc_reader *r, struct str bytes) {
    if (r->rc != 0) return r->rc;
    if (r->form == RPC_UNKNOWN) r->form = form_of(&bytes);
    int rc = 0;
    if (r->form == RPC_STREAM) {
        rc = stream_take(r, bytes);
    } else if (bytes.n > 0) {
        buf_adds(&r->body, bytes);
        if (buf_failed(&r->body)) rc = buf_over(&r->body) ? WOPR_E_TOO_BIG : WOPR_E_NO_MEMORY;
    }
    if (rc != 0) r->rc = rc;
    return rc;
}

struct str rpc_reader_body(const struct rpc_reader *r) {
    return buf_str(&r->body);
}
