/*
 * http.c: vendor.wopr.http, a node that does something outside: one HTTP request, made once
 * (STORE-42, IDEM-16..19).  config or inputs: url, method (POST), headers (object of strings), body
 * (a string goes out as it is, anything else as JSON), timeoutMs (30000), idempotencyKey (true).
 * Outputs: status, contentType, body (parsed when the answer is JSON).
 */
#include "codec/jobj.h"
#include "nodes/nodes.h"

#include <stdio.h>

#define HTTP_TIMEOUT_MS     30000
#define HTTP_TIMEOUT_MS_MAX 600000

static bool has_header(const struct node_request *r, const char *name) {
    for (size_t i = 0; i < r->headers_nr; i++)
        if (str_eq_nocase(r->headers[i].name, str_c(name))) return true;
    return false;
}

static bool read_headers(const struct node_call *call, struct node_request *r,
                         struct node_result *out) {
    struct str raw = node_arg(call, "headers");
    struct json_members m = {0};
    if (raw.n > 0 &&
        (json_type_of(raw) != JSON_OBJECT || json_members(raw, call->a, &m, NULL) != 0)) {
        node_invalid(out, "headers of an HTTP request is not an object");
        return false;
    }
    if (m.n >= EGRESS_HEADERS_MAX - 2) {
        node_invalid(out, "an HTTP request has too many headers");
        return false;
    }
    r->headers = ARENA_ARRAY(call->a, struct egress_header, m.n + 1);
    if (!r->headers) return false;
    for (size_t i = 0; i < m.n; i++) {
        if (json_type_of(m.v[i].raw) != JSON_STRING) {
            node_invalid(out, "a header of an HTTP request is not a string");
            return false;
        }
        r->headers[r->headers_nr++] =
            (struct egress_header){m.v[i].key, json_string(m.v[i].raw, call->a)};
    }
    return true;
}

static bool read_body(const struct node_call *call, struct node_request *r) {
    struct str raw = node_arg(call, "body");
    if (raw.n == 0) return true;
    bool text = json_type_of(raw) == JSON_STRING;
    r->body = text ? json_string(raw, call->a) : raw;
    if (!has_header(r, "content-type"))
        r->headers[r->headers_nr++] = (struct egress_header){
            STR("Content-Type"), text ? STR("text/plain; charset=utf-8") : STR("application/json")};
    return true;
}

static bool read_request(const struct node_call *call, struct node_request *r,
                         struct node_result *out) {
    struct str raw = node_arg(call, "timeoutMs");
    int64_t ms = HTTP_TIMEOUT_MS;
    r->method = STR("POST");
    r->keyed = true;
    if (!node_arg_string(call, "url", &r->url)) {
        node_invalid(out, "an HTTP request needs a url");
        return false;
    }
    if (node_arg(call, "method").n > 0 && !node_arg_string(call, "method", &r->method)) {
        node_invalid(out, "the method of an HTTP request is not a string");
        return false;
    }
    if (raw.n > 0 && (!json_int(raw, &ms) || ms < 1 || ms > HTTP_TIMEOUT_MS_MAX)) {
        node_invalid(out, "timeoutMs of an HTTP request is not a whole number from 1 to 600000");
        return false;
    }
    raw = node_arg(call, "idempotencyKey");
    if (raw.n > 0 && !json_bool(raw, &r->keyed)) {
        node_invalid(out, "idempotencyKey of an HTTP request is not true or false");
        return false;
    }
    r->timeout_ms = (int)ms;
    r->response_max = NODE_ANSWER_MAX;
    r->provider_key = arena_printf(call->a, "http:" STR_FMT, STR_ARG(r->method));
    return read_headers(call, r, out) && read_body(call, r);
}

static struct str answer_json(const struct node_call *call, const struct node_answer *ans) {
    struct jobj o;
    bool json = !ans->body_is_base64 && ans->body.n > 0 &&
                json_check(ans->body, &JSON_LIMITS_DEFAULT, NULL) == 0;
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    jw_kint(&o.w, "status", ans->status);
    jw_kstr_opt(&o.w, "contentType", ans->content_type);
    if (json) jw_kraw(&o.w, "body", ans->body);
    else jw_kstr(&o.w, ans->body_is_base64 ? "bodyBase64" : "body", ans->body);
    return jobj_end(&o, call->a);
}

void exec_http(const struct node_call *call, struct node_result *out) {
    struct node_request r = {0};
    if (!read_request(call, &r, out)) return;
    const struct node_answer *ans = node_invoke(call, out, 0, &r);
    if (!ans) return;
    if (ans->status == 0) {
        bool retry = !str_eqc(ans->error_code, "egress_refused") &&
                     !str_eqc(ans->error_code, "response_too_large");
        const char *code = ans->error_code.n > 0 ? arena_cstr(call->a, ans->error_code) : NULL;
        node_fail(out, code ? code : "unreachable", "the HTTP request had no answer", retry);
        if (ans->error_message.n > 0)
            out->error_message = arena_printf(call->a, "the HTTP request had no answer: " STR_FMT,
                                              STR_ARG(ans->error_message));
        return;
    }
    struct str text = answer_json(call, ans);
    if (text.n == 0) {
        node_fail(out, "out_of_memory", "the answer to an HTTP request is too large", true);
        return;
    }
    if (ans->status >= 400) {
        bool retry = ans->status >= 500 || ans->status == 429 || ans->status == 408;
        node_fail(out, "http_status", "the HTTP request was answered with an error status", retry);
        out->error_details = jobj_of_int(call->a, "status", ans->status);
        return;
    }
    out->outcome = NODE_OUT_DONE;
    out->outputs = text;
}
