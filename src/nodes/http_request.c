/*
 * http_request.c: ports and config of vendor.wopr.http to a request.  A port is data and goes out
 * as it is; texts of the config are templates over the ports (template.h).  A value fills a place
 * in a path, a query, a header or a body, and never makes another: scheme and host of a templated
 * URL are written out, values in it are encoded, and none of them steps up in the path.
 */
#include "nodes/http_request.h"

#include "nodes/template.h"

#include <stdio.h>

#define HTTP_TIMEOUT_MS     30000
#define HTTP_TIMEOUT_MS_MAX 600000
#define HEADER_BYTES_MAX    8192u
#define REDIRECTS_MAX       5

struct reader {
    const struct node_call *call;
    struct node_request *r;
    struct node_result *out;
    bool templates;
};

static bool http_request_wrong(struct reader *x, const char *message) {
    node_invalid(x->out, message);
    return false;
}

/* NULL when it is the author's text, and not a port's. */
static bool from_config(const struct reader *x, const char *key) {
    return x->templates && json_get(x->call->inputs, key).n == 0;
}

/* Text with its values, in the arena of the call. */
static bool http_request_fill(struct reader *x, struct str text, enum template_form form,
                              size_t max, struct str *out) {
    struct buf b;
    buf_init(&b, max);
    const char *why = template_fill(text, x->call->inputs, form, x->call->a, &b);
    bool over = buf_over(&b);
    *out = !why && !buf_failed(&b) ? arena_str(x->call->a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (why) return http_request_wrong(x, why);
    if (over) return http_request_wrong(x, "the URL or a header of an HTTP request is too long");
    if (!out->p) node_no_memory(x->out);
    return out->p != NULL;
}

/* --- URL --- */

/* Where path, query or fragment begin. */
static size_t authority_end(struct str url) {
    size_t i = str_starts(url, STR("https://")) ? 8 : str_starts(url, STR("http://")) ? 7 : 0;
    while (i < url.n && !strchr("/?#", url.p[i])) i++;
    return i;
}

/* A segment that values made ".." would lead to another place than the author wrote. */
static bool steps_up(struct str url) {
    size_t i = authority_end(url);
    while (i < url.n && url.p[i] == '/') {
        size_t from = ++i;
        while (i < url.n && !strchr("/?#", url.p[i])) i++;
        struct str s = str_n(url.p + from, i - from);
        if (str_eqc(s, ".") || str_eqc(s, "..")) return true;
    }
    return false;
}

static const char *url_template_wrong(struct str url) {
    if (!str_starts(url, STR("https://")) && !str_starts(url, STR("http://")))
        return "the url of an HTTP request begins with https:// (or http:// for addresses of "
               "--egress-allow), also when the rest is a template";
    if (template_has(str_n(url.p, authority_end(url))))
        return "the host of an HTTP request is written out; a template may only stand in the path "
               "and the query (or the whole URL comes from an input port named url)";
    return template_wrong(url);
}

static void query_sign(struct buf *b, struct str url, bool *has) {
    if (!*has) *has = memchr(url.p, '?', url.n) != NULL;
    buf_addc(b, *has ? '&' : '?');
    *has = true;
}

static bool query_add(struct reader *x, const struct json_member *m, bool templates,
                      struct buf *b) {
    enum json_type type = json_type_of(m->raw);
    struct str text = type == JSON_STRING ? json_string(m->raw, x->call->a) : m->raw;
    if (type == JSON_OBJECT || type == JSON_ARRAY || type == JSON_NULL)
        return http_request_wrong(
            x, "a member of query of an HTTP request is no string, number or boolean");
    template_encode(m->key, b);
    buf_addc(b, '=');
    const char *why = NULL;
    if (templates && type == JSON_STRING)
        why = template_fill(text, x->call->inputs, TEMPLATE_URL, x->call->a, b);
    else template_encode(text, b);
    return why ? http_request_wrong(x, why) : true;
}

static bool read_query(struct reader *x) {
    struct str raw = node_arg(x->call, "query"), url = x->r->url;
    struct json_members m;
    struct buf b;
    bool has = false;
    if (raw.n == 0) return true;
    if (json_type_of(raw) != JSON_OBJECT || json_members(raw, x->call->a, &m, NULL) != 0)
        return http_request_wrong(x, "query of an HTTP request is not an object");
    if (memchr(url.p, '#', url.n))
        return http_request_wrong(x, "the url of an HTTP request has a fragment");
    buf_init(&b, EGRESS_URL_MAX);
    buf_adds(&b, url);
    bool ok = true;
    for (size_t i = 0; ok && i < m.n; i++) {
        query_sign(&b, url, &has);
        ok = query_add(x, &m.v[i], from_config(x, "query"), &b);
    }
    bool over = buf_over(&b);
    x->r->url = buf_failed(&b) ? STR_NONE : arena_str(x->call->a, buf_str(&b));
    buf_fini(&b);
    if (ok && over)
        return http_request_wrong(x, "the url of an HTTP request is longer than 2048 bytes");
    if (ok && !x->r->url.p) node_no_memory(x->out);
    return ok && x->r->url.p;
}

static bool read_url(struct reader *x) {
    if (!node_arg_string(x->call, "url", &x->r->url))
        return http_request_wrong(x, "an HTTP request needs a url");
    if (from_config(x, "url") && template_has(x->r->url)) {
        const char *why = url_template_wrong(x->r->url);
        if (why) return http_request_wrong(x, why);
        if (!http_request_fill(x, x->r->url, TEMPLATE_URL, EGRESS_URL_MAX, &x->r->url))
            return false;
        if (steps_up(x->r->url))
            return http_request_wrong(x, "a value makes a segment of the URL's path . or ..");
    }
    return read_query(x);
}

/* --- headers and body --- */

static bool has_header(const struct node_request *r, const char *name) {
    for (size_t i = 0; i < r->headers_nr; i++)
        if (str_eq_nocase(r->headers[i].name, str_c(name))) return true;
    return false;
}

static bool header_add(struct reader *x, const struct json_member *m) {
    struct str value = json_string(m->raw, x->call->a);
    if (json_type_of(m->raw) != JSON_STRING)
        return http_request_wrong(x, "a header of an HTTP request is not a string");
    if (!value.p) {
        node_no_memory(x->out);
        return false;
    }
    if (from_config(x, "headers") &&
        !http_request_fill(x, value, TEMPLATE_TEXT, HEADER_BYTES_MAX, &value))
        return false;
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < 0x20 || value.p[i] == 0x7f)
            return http_request_wrong(
                x, "a header of an HTTP request has control characters, such as a line "
                   "break, in its value");
    x->r->headers[x->r->headers_nr++] = (struct egress_header){m->key, value};
    return true;
}

static bool read_headers(struct reader *x) {
    struct str raw = node_arg(x->call, "headers");
    struct json_members m = {0};
    if (raw.n > 0 &&
        (json_type_of(raw) != JSON_OBJECT || json_members(raw, x->call->a, &m, NULL) != 0))
        return http_request_wrong(x, "headers of an HTTP request is not an object");
    if (m.n >= EGRESS_HEADERS_MAX - 3) /* ours: content type, key, trace */
        return http_request_wrong(x, "an HTTP request has too many headers");
    x->r->headers = ARENA_ARRAY(x->call->a, struct egress_header, m.n + 1);
    if (!x->r->headers) node_no_memory(x->out);
    bool ok = x->r->headers != NULL;
    for (size_t i = 0; ok && i < m.n; i++) ok = header_add(x, &m.v[i]);
    return ok;
}

static bool fill_body(struct reader *x, struct str raw, struct str *out) {
    struct jw w;
    struct buf b;
    buf_init(&b, EGRESS_BODY_MAX);
    jw_init(&w, &b);
    const char *why = template_fill_json(raw, x->call->inputs, x->call->a, &w);
    bool over = buf_over(&b);
    *out = !why && !buf_failed(&b) ? arena_str(x->call->a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (why) return http_request_wrong(x, why);
    if (over) return http_request_wrong(x, "the body of an HTTP request is too large");
    if (!out->p) node_no_memory(x->out);
    return out->p != NULL;
}

static bool read_body(struct reader *x) {
    struct str raw = node_arg(x->call, "body");
    if (raw.n == 0) return true;
    if (from_config(x, "body") && !fill_body(x, raw, &raw)) return false;
    bool text = json_type_of(raw) == JSON_STRING;
    x->r->body = text ? json_string(raw, x->call->a) : raw;
    if (!has_header(x->r, "content-type"))
        x->r->headers[x->r->headers_nr++] = (struct egress_header){
            STR("Content-Type"), text ? STR("text/plain; charset=utf-8") : STR("application/json")};
    return true;
}

/* --- the rest --- */

static bool read_number(struct reader *x, const char *key, int64_t min, int64_t max, int64_t *out) {
    struct str raw = node_arg(x->call, key);
    if (raw.n == 0 || (json_int(raw, out) && *out >= min && *out <= max)) return true;
    struct str m =
        arena_printf(x->call->a, "%s of an HTTP request is not a whole number from %lld to %lld",
                     key, (long long)min, (long long)max);
    return http_request_wrong(x, m.p ? m.p : "a number of an HTTP request is out of range");
}

static bool read_flag(struct reader *x, const char *key, const char *why, bool *out) {
    struct str raw = node_arg(x->call, key);
    return raw.n == 0 || json_bool(raw, out) || http_request_wrong(x, why);
}

static bool read_bounds(struct reader *x) {
    int64_t ms = HTTP_TIMEOUT_MS, redirects = 0, bytes = NODE_ANSWER_MAX;
    if (!read_number(x, "timeoutMs", 1, HTTP_TIMEOUT_MS_MAX, &ms) ||
        !read_number(x, "redirects", 0, REDIRECTS_MAX, &redirects) ||
        !read_number(x, "maxResponseBytes", 1, NODE_ANSWER_MAX, &bytes) ||
        !read_flag(x, "idempotencyKey", "idempotencyKey of an HTTP request is not true or false",
                   &x->r->keyed) ||
        !read_flag(x, "templates", "templates of an HTTP request is not true or false",
                   &x->templates))
        return false;
    x->r->timeout_ms = (int)ms;
    x->r->redirects_max = (unsigned)redirects;
    x->r->response_max = (size_t)bytes;
    return true;
}

bool http_request_read(const struct node_call *call, struct node_request *r,
                       struct node_result *out) {
    struct reader x = {call, r, out, true};
    r->method = STR("POST");
    r->keyed = true;
    if (node_arg(call, "method").n > 0 && !node_arg_string(call, "method", &r->method))
        return http_request_wrong(&x, "the method of an HTTP request is not a string");
    if (!read_bounds(&x) || !read_url(&x) || !read_headers(&x) || !read_body(&x)) return false;
    r->provider_key = arena_printf(call->a, "http:" STR_FMT, STR_ARG(r->method));
    return true;
}

/* --- what no run could do --- */

bool http_status_class(struct str s, int *from, int *to) {
    uint64_t n;
    bool class = s.n == 3 && s.p[0] >= '2' && s.p[0] <= '5' && s.p[1] == 'x' && s.p[2] == 'x';
    if (!class && (s.n != 3 || !str_u64(s, &n) || n < 200 || n > 599)) return false;
    *from = class ? (s.p[0] - '0') * 100 : (int)n;
    *to = class ? *from + 99 : *from;
    return true;
}

static const char *success_wrong(struct str raw, struct arena *a) {
    static const char WHY[] = "success of an HTTP request is a list of statuses such as \"2xx\" or "
                              "\"404\"";
    struct json_elements l;
    int from, to;
    if (raw.n == 0) return NULL;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, a, &l, NULL) != 0 || l.n == 0)
        return WHY;
    for (size_t i = 0; i < l.n; i++)
        if (!http_status_class(json_string(l.v[i], a), &from, &to)) return WHY;
    return NULL;
}

static const char *outputs_wrong(struct str raw, struct arena *a) {
    static const char WHY[] =
        "outputs of an HTTP request maps names to \"body\", \"body.member.0\", "
        "\"status\" or \"contentType\"";
    struct json_members m;
    if (raw.n == 0) return NULL;
    if (json_type_of(raw) != JSON_OBJECT || json_members(raw, a, &m, NULL) != 0) return WHY;
    for (size_t i = 0; i < m.n; i++) {
        struct str path = json_string(m.v[i].raw, a);
        if (!str_eqc(path, "body") && !str_starts(path, STR("body.")) && !str_eqc(path, "status") &&
            !str_eqc(path, "contentType"))
            return WHY;
    }
    return NULL;
}

static const char *method_wrong(struct str raw, struct arena *a) {
    static const char *const KNOWN[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    struct str m = json_string(raw, a);
    bool ok = raw.n == 0;
    for (size_t i = 0; !ok && i < sizeof KNOWN / sizeof *KNOWN; i++) ok = str_eqc(m, KNOWN[i]);
    return ok ? NULL : "the method of an HTTP request is none of GET, POST, PUT, PATCH and DELETE";
}

/* All strings of a JSON value. */
static const char *marks_wrong(struct str json, struct arena *a) {
    const char *why = NULL;
    struct json_members m;
    struct json_elements l;
    if (json.n > 0 && json_type_of(json) == JSON_STRING) why = template_wrong(json_string(json, a));
    if (json.n > 0 && json_type_of(json) == JSON_OBJECT && json_members(json, a, &m, NULL) == 0)
        for (size_t i = 0; !why && i < m.n; i++)
            if (json_type_of(m.v[i].raw) == JSON_STRING)
                why = template_wrong(json_string(m.v[i].raw, a));
    if (json.n > 0 && json_type_of(json) == JSON_ARRAY && json_elements(json, a, &l, NULL) == 0)
        for (size_t i = 0; !why && i < l.n; i++)
            if (json_type_of(l.v[i]) == JSON_STRING) why = template_wrong(json_string(l.v[i], a));
    return why;
}

static const char *templates_wrong(struct str config, struct arena *a) {
    struct str url = json_string(json_get(config, "url"), a);
    bool on = true;
    (void)json_bool(json_get(config, "templates"), &on);
    if (!on) return NULL;
    const char *why = url.n > 0 && template_has(url) ? url_template_wrong(url) : NULL;
    if (!why) why = marks_wrong(json_get(config, "query"), a);
    if (!why) why = marks_wrong(json_get(config, "headers"), a);
    return why ? why : marks_wrong(json_get(config, "body"), a);
}

const char *http_config_wrong(struct str config) {
    struct arena *a = arena_new(4 * config.n + 65536);
    if (!a) return NULL; /* the run will tell */
    const char *why = method_wrong(json_get(config, "method"), a);
    if (!why) why = success_wrong(json_get(config, "success"), a);
    if (!why) why = outputs_wrong(json_get(config, "outputs"), a);
    if (!why) why = templates_wrong(config, a);
    arena_free(a);
    return why;
}
