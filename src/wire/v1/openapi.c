/*
 * openapi.c: GET /v1/openapi.json (E2, RUN-47), built once from the operation table, so that it
 * describes exactly the routes that are mounted.  Texts, parameters and shapes come from
 * api/host/openapi.json; which of them an operation has follows from its row in the table.
 */
#include "base/embed.h"
#include "wire/v1/openapi_int.h"

#include <string.h>

enum { OPENAPI_MAX = 4 * 1024 * 1024, OPENAPI_ARENA_MAX = 16 * 1024 * 1024 };
#define SOURCE "api/host/openapi.json"

/* What can be said of an operation by its row alone. */
enum trait {
    T_ANY = 1,
    T_CREDENTIAL = 2, /* bearer key */
    T_ID = 4,         /* a path parameter that may name nothing */
    T_RUN = 8,        /* ... a run: it may be gone, or a newer engine's */
    T_BODY = 16,
    T_KEYED = 32,
    T_TOKEN = 64
};
/* Statuses that follow from traits; further ones stand with the operation in SOURCE. */
static const struct {
    const char *status;
    unsigned traits;
} IMPLIED[] = {
    {"400", T_ANY},
    {"401", T_CREDENTIAL},
    {"403", T_CREDENTIAL | T_TOKEN},
    {"404", T_ID},
    {"406", T_ANY},
    {"408", T_ANY},
    {"409", T_RUN | T_KEYED | T_TOKEN},
    {"410", T_RUN | T_TOKEN},
    {"413", T_BODY},
    {"414", T_ANY},
    {"415", T_BODY},
    {"422", T_TOKEN},
    {"429", T_ANY},
    {"431", T_ANY},
    {"500", T_ANY},
    {"501", T_ANY},
    {"503", T_ANY},
    {"505", T_ANY},
};
/* Headers of every answer (HTTP-12, D3). */
static const char *const COMMON_HEADERS[] = {"X-Request-Id", "traceparent", "OpenWOP-Version"};
static const char *const COMMON_PARAMETERS[] = {"version", "traceparent"};
#define COUNT(t) (sizeof(t) / sizeof(t)[0])

static unsigned traits_of(const struct http_op *op) {
    unsigned t = T_ANY;
    if ((op->flags & OP_PUBLIC) == 0) t |= T_CREDENTIAL;
    if (strchr(op->pattern, '{')) t |= T_ID;
    if (strstr(op->pattern, "{runId}")) t |= T_RUN;
    if (op->body_max > 0) t |= T_BODY;
    if (op->flags & OP_IDEMPOTENT) t |= T_KEYED;
    if (op->flags & OP_TOKEN) t |= T_TOKEN;
    return t;
}

int doc_missing(struct doc *d, const char *what, struct str name) {
    return wopr_error_set(d->err, WOPR_E_INTERNAL, SOURCE " has no %s " STR_FMT, what,
                          STR_ARG(name));
}

/* The raw value of name in one part of the source. */
static int part_get(struct doc *d, const char *part, struct str name, struct str *out) {
    const char *key = arena_cstr(d->a, name);
    if (!key) return wopr_error_set(d->err, WOPR_E_NO_MEMORY, "no memory for the OpenAPI document");
    *out = json_get(json_get(d->source, part), key);
    return out->p ? 0 : doc_missing(d, part, name);
}

static int splice(struct doc *d, const char *part, struct str name) {
    struct str raw;
    int rc = part_get(d, part, name, &raw);
    return rc != 0 ? rc : doc_copy(d, raw);
}

/* Names in a list of the operation, each spliced from one part of the source. */
static int splice_list(struct doc *d, struct str list, const char *part) {
    struct json_elements el = {0};
    int rc = list.p ? json_elements(list, d->a, &el, d->err) : 0;
    for (size_t i = 0; i < el.n && rc == 0; i++) rc = splice(d, part, json_string(el.v[i], d->a));
    return rc;
}

static void ref_render(struct doc *d, const char *kind, struct str name) {
    jw_object(&d->w);
    jw_kstr(&d->w, "$ref", arena_printf(d->a, "#/components/%s/" STR_FMT, kind, STR_ARG(name)));
    jw_end_object(&d->w);
}

static int params_render(struct doc *d, const struct http_op *op, struct str o) {
    int rc = 0;
    jw_key(&d->w, "parameters");
    jw_array(&d->w);
    for (const char *p = op->pattern; rc == 0 && (p = strchr(p, '{')) != NULL; p++)
        rc = splice(d, "path", str_n(p + 1, strcspn(p + 1, "}")));
    if (rc == 0 && (op->flags & OP_IDEMPOTENT)) rc = splice(d, "parameters", STR("idempotencyKey"));
    if (rc == 0) rc = splice_list(d, json_get(o, "parameters"), "parameters");
    for (size_t i = 0; rc == 0 && i < COUNT(COMMON_PARAMETERS); i++)
        rc = splice(d, "parameters", str_c(COMMON_PARAMETERS[i]));
    jw_end_array(&d->w);
    return rc;
}

/* {"application/json":{"schema":{"$ref":...}}}, for streams another type beside it */
static void content_render(struct doc *d, struct str schema, bool stream) {
    jw_key(&d->w, "content");
    jw_object(&d->w);
    jw_key(&d->w, "application/json");
    jw_object(&d->w);
    jw_key(&d->w, "schema");
    ref_render(d, "schemas", schema);
    jw_end_object(&d->w);
    if (stream) jw_kraw(&d->w, "text/event-stream", STR("{\"schema\":{\"type\":\"string\"}}"));
    jw_end_object(&d->w);
}

/* A member of "operations" that names a schema of ours or a published one. */
static struct str schema_name(struct doc *d, struct str o, const char *member) {
    return json_string(json_get(o, member), d->a);
}

static void header_render(struct doc *d, struct str name) {
    jw_key_str(&d->w, name);
    ref_render(d, "headers", name);
}

static int headers_render(struct doc *d, struct str more, bool keyed) {
    struct json_elements el = {0};
    int rc = more.p ? json_elements(more, d->a, &el, d->err) : 0;
    jw_key(&d->w, "headers");
    jw_object(&d->w);
    for (size_t i = 0; i < COUNT(COMMON_HEADERS); i++) header_render(d, str_c(COMMON_HEADERS[i]));
    if (keyed) header_render(d, STR("openwop-Idempotent-Replay"));
    for (size_t i = 0; i < el.n; i++) header_render(d, json_string(el.v[i], d->a));
    jw_end_object(&d->w);
    return rc;
}

static int success_render(struct doc *d, const struct http_op *op, struct str o) {
    struct str answer = schema_name(d, o, "answer"), status = schema_name(d, o, "status");
    if (!answer.p || !status.p) return doc_missing(d, "answer of", str_c(op->id));
    jw_key_str(&d->w, status);
    jw_object(&d->w);
    jw_kraw(&d->w, "description", json_get(o, "summary"));
    int rc = headers_render(d, json_get(o, "headers"), (op->flags & OP_IDEMPOTENT) != 0);
    content_render(d, answer, (op->flags & OP_TICKET) != 0);
    jw_end_object(&d->w);
    return rc;
}

static void error_render(struct doc *d, struct str status) {
    jw_key_str(&d->w, status);
    ref_render(d, "responses", arena_printf(d->a, "Status" STR_FMT, STR_ARG(status)));
}

static int responses_render(struct doc *d, const struct http_op *op, struct str o) {
    struct json_elements more = {0};
    struct str errors = json_get(o, "errors");
    unsigned traits = traits_of(op);
    jw_key(&d->w, "responses");
    jw_object(&d->w);
    int rc = success_render(d, op, o);
    if (rc == 0 && errors.p) rc = json_elements(errors, d->a, &more, d->err);
    for (size_t i = 0; i < more.n; i++) error_render(d, json_string(more.v[i], d->a));
    for (size_t i = 0; i < COUNT(IMPLIED); i++)
        if (IMPLIED[i].traits & traits) error_render(d, str_c(IMPLIED[i].status));
    jw_end_object(&d->w);
    return rc;
}

static void security_render(struct doc *d, const struct http_op *op) {
    if (op->flags & OP_PUBLIC) {
        jw_kraw(&d->w, "security", STR("[]"));
        return;
    }
    if (op->flags & OP_TICKET)
        jw_kraw(&d->w, "security", STR("[{\"ApiKeyAuth\":[]},{\"StreamTicket\":[]}]"));
    jw_key(&d->w, "x-openwop-scopes");
    jw_array(&d->w);
    for (unsigned i = 0; i < SCOPE_NR; i++)
        if (op->scopes & (1u << i)) jw_strz(&d->w, scope_name(i));
    jw_end_array(&d->w);
}

static int body_render(struct doc *d, const struct http_op *op, struct str o) {
    struct str body = schema_name(d, o, "body");
    if (op->body_max == 0) return 0;
    if (!body.p) return doc_missing(d, "body of", str_c(op->id));
    jw_key(&d->w, "requestBody");
    jw_object(&d->w);
    jw_kbool(&d->w, "required", !(op->flags & OP_BODY_OPTIONAL));
    content_render(d, body, false);
    jw_end_object(&d->w);
    return 0;
}

static int operation_render(struct doc *d, const struct http_op *op) {
    struct str o;
    int rc = part_get(d, "operations", str_c(op->id), &o);
    if (rc != 0) return rc;
    jw_key(&d->w, strcmp(op->method, "GET") == 0 ? "get" : "post");
    jw_object(&d->w);
    jw_kstrz(&d->w, "operationId", op->id);
    jw_kraw(&d->w, "summary", json_get(o, "summary"));
    jw_key(&d->w, "tags");
    jw_array(&d->w);
    jw_raw(&d->w, json_get(o, "tag"));
    jw_end_array(&d->w);
    security_render(d, op);
    rc = params_render(d, op, o);
    if (rc == 0) rc = body_render(d, op, o);
    if (rc == 0) rc = responses_render(d, op, o);
    jw_end_object(&d->w);
    return rc;
}

/* One path item per distinct pattern, at its first row. */
static int paths_render(struct doc *d, const struct http_op *ops, size_t n) {
    int rc = 0;
    jw_key(&d->w, "paths");
    jw_object(&d->w);
    for (size_t i = 0; i < n && rc == 0; i++) {
        size_t first = 0;
        while (strcmp(ops[first].pattern, ops[i].pattern) != 0) first++;
        if (first < i) continue;
        jw_key(&d->w, ops[i].pattern);
        jw_object(&d->w);
        for (size_t k = i; k < n && rc == 0; k++)
            if (strcmp(ops[k].pattern, ops[i].pattern) == 0) rc = operation_render(d, &ops[k]);
        jw_end_object(&d->w);
    }
    jw_end_object(&d->w);
    return rc;
}

/* The answers that operations share; those of 400 and more have the envelope (ERR-1). */
static int statuses_render(struct doc *d) {
    struct json_members m;
    int rc = json_members(json_get(d->source, "statuses"), d->a, &m, d->err);
    if (rc != 0) return rc;
    jw_key(&d->w, "responses");
    jw_object(&d->w);
    for (size_t i = 0; i < m.n && rc == 0; i++) {
        jw_key_str(&d->w, arena_printf(d->a, "Status" STR_FMT, STR_ARG(m.v[i].key)));
        jw_object(&d->w);
        jw_kraw(&d->w, "description", json_get(m.v[i].raw, "description"));
        rc = headers_render(d, json_get(m.v[i].raw, "headers"), false);
        if (m.v[i].key.p[0] >= '4') content_render(d, STR("ErrorEnvelope"), false);
        jw_end_object(&d->w);
    }
    jw_end_object(&d->w);
    return rc;
}

static int components_render(struct doc *d) {
    static const char *const AS_THEY_ARE[] = {"securitySchemes", "headers"};
    int rc = 0;
    jw_key(&d->w, "components");
    jw_object(&d->w);
    for (size_t i = 0; i < COUNT(AS_THEY_ARE) && rc == 0; i++) {
        jw_key(&d->w, AS_THEY_ARE[i]);
        rc = doc_copy(d, json_get(d->source, AS_THEY_ARE[i]));
    }
    if (rc == 0) rc = statuses_render(d);
    if (rc == 0) rc = doc_schemas(d);
    jw_end_object(&d->w);
    return rc;
}

static int document_render(struct doc *d, const struct v1 *v) {
    struct json_members head;
    int rc = json_members(json_get(d->source, "document"), d->a, &head, d->err);
    jw_object(&d->w);
    for (size_t i = 0; rc == 0 && i < head.n; i++) {
        jw_key_str(&d->w, head.v[i].key);
        rc = doc_copy(d, head.v[i].raw);
    }
    if (rc == 0) rc = paths_render(d, v->wire.ops, v->wire.ops_nr);
    if (rc == 0) rc = components_render(d);
    if (rc == 0) jw_end_object(&d->w);
    return rc;
}

static int source_open(struct doc *d) {
    const struct embed_file *f = embed_find(SOURCE);
    if (!f) return wopr_error_set(d->err, WOPR_E_INTERNAL, SOURCE " is not embedded");
    d->source = embed_text(f);
    return json_check(d->source, &JSON_LIMITS_STORED, d->err);
}

int v1_openapi_build(struct v1 *v, struct wopr_error *err) {
    struct buf b;
    struct doc d = {.a = arena_new(OPENAPI_ARENA_MAX), .err = err};
    if (!d.a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the OpenAPI document");
    buf_init(&b, OPENAPI_MAX);
    jw_init(&d.w, &b);
    int rc = source_open(&d);
    if (rc == 0) rc = document_render(&d, v);
    if (rc == 0) {
        bool whole = !buf_failed(&b) && !arena_failed(d.a);
        v->openapi = whole ? arena_str(v->arena, buf_str(&b)) : STR_NONE;
        v->openapi_etag = v->openapi.p ? v1_etag_of(v->openapi, v->arena) : STR_NONE;
        if (!v->openapi_etag.p)
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the OpenAPI document");
    }
    buf_fini(&b);
    arena_free(d.a);
    return rc;
}

int v1_get_openapi(struct http_call *c) {
    struct v1 *v = v1_of(c);
    return v1_reply_document(c, v->openapi, v->openapi_etag, V1_DISCOVERY_CACHE);
}
