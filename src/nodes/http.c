/*
 * http.c: vendor.wopr.http, a node that does something outside: one HTTP request, made once
 * (STORE-42, IDEM-16..19).  What it asks: http_request.c.  Outputs: status, contentType and body
 * (parsed when the answer is JSON), or in place of the body what config.outputs takes from it.
 */
#include "codec/jobj.h"
#include "nodes/http_request.h"
#include "nodes/template.h"

static bool answer_is_json(const struct node_answer *ans) {
    return !ans->body_is_base64 && ans->body.n > 0 &&
           json_check(ans->body, &JSON_LIMITS_DEFAULT, NULL) == 0;
}

static void body_write(const struct node_answer *ans, struct jw *w) {
    if (answer_is_json(ans)) jw_kraw(w, "body", ans->body);
    else jw_kstr(w, ans->body_is_base64 ? "bodyBase64" : "body", ans->body);
}

/* One output of config.outputs.  false: the answer has nothing there. */
static bool mapped_write(const struct node_call *call, const struct node_answer *ans,
                         struct str name, struct str path, struct jw *w) {
    struct str value = STR_NONE;
    bool json = answer_is_json(ans);
    jw_key_str(w, name);
    if (str_eqc(path, "status")) {
        jw_int(w, ans->status);
    } else if (str_eqc(path, "contentType")) {
        jw_str(w, ans->content_type);
    } else if (str_eqc(path, "body") && !json) {
        jw_str(w, ans->body);
    } else {
        struct str at = path.n > 5 ? str_n(path.p + 5, path.n - 5) : STR_NONE;
        value = json ? template_at(ans->body, at, call->a) : STR_NONE;
        jw_raw(w, value.n > 0 ? value : STR("null"));
        return value.n > 0;
    }
    return true;
}

/* STR_NONE: *lacking names the output without a value, or memory is short. */
static struct str answer_json(const struct node_call *call, const struct node_answer *ans,
                              struct str *lacking) {
    struct str map = node_arg(call, "outputs");
    struct json_members m = {0};
    struct jobj o;
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    bool mapped =
        map.n > 0 && json_type_of(map) == JSON_OBJECT && json_members(map, call->a, &m, NULL) == 0;
    if (!mapped) {
        jw_kint(&o.w, "status", ans->status);
        jw_kstr_opt(&o.w, "contentType", ans->content_type);
        body_write(ans, &o.w);
    }
    for (size_t i = 0; mapped && lacking->n == 0 && i < m.n; i++)
        if (!mapped_write(call, ans, m.v[i].key, json_string(m.v[i].raw, call->a), &o.w))
            *lacking = m.v[i].key;
    if (lacking->n == 0) return jobj_end(&o, call->a);
    jobj_drop(&o);
    return STR_NONE;
}

static bool status_wanted(const struct node_call *call, int status) {
    struct str raw = node_arg(call, "success");
    struct json_elements l = {0};
    int from, to;
    if (raw.n == 0 || json_type_of(raw) != JSON_ARRAY || json_elements(raw, call->a, &l, NULL) != 0)
        return status < 400;
    for (size_t i = 0; i < l.n; i++)
        if (http_status_class(json_string(l.v[i], call->a), &from, &to) && status >= from &&
            status <= to)
            return true;
    return false;
}

static void no_answer(const struct node_call *call, const struct node_answer *ans,
                      struct node_result *out) {
    bool retry = !str_eqc(ans->error_code, "egress_refused") &&
                 !str_eqc(ans->error_code, "response_too_large");
    const char *code = ans->error_code.n > 0 ? arena_cstr(call->a, ans->error_code) : NULL;
    node_fail(out, code ? code : "unreachable", "the HTTP request had no answer", retry);
    if (ans->error_message.n > 0)
        out->error_message = arena_printf(call->a, "the HTTP request had no answer: " STR_FMT,
                                          STR_ARG(ans->error_message));
}

static void answer_take(const struct node_call *call, const struct node_answer *ans,
                        struct node_result *out) {
    struct str lacking = STR_NONE, text = answer_json(call, ans, &lacking);
    if (lacking.n > 0) {
        node_fail(out, "response_mismatch", "the answer to an HTTP request lacks an output", false);
        out->error_message = arena_printf(
            call->a,
            "the answer to an HTTP request has nothing where output \"" STR_FMT "\" is taken from",
            STR_ARG(lacking));
        return;
    }
    if (text.n == 0) {
        node_fail(out, "out_of_memory", "the answer to an HTTP request is too large", true);
        return;
    }
    out->outcome = NODE_OUT_DONE;
    out->outputs = text;
}

void exec_http(const struct node_call *call, struct node_result *out) {
    struct node_request r = {0};
    if (!http_request_read(call, &r, out)) return;
    const struct node_answer *ans = node_invoke(call, out, 0, &r);
    if (!ans) return;
    if (ans->status == 0) {
        no_answer(call, ans, out);
    } else if (status_wanted(call, ans->status)) {
        answer_take(call, ans, out);
    } else { /* one below 400 is kept (STORE-42): another attempt would see it again */
        bool retry = ans->status >= 500 || ans->status == 429 || ans->status == 408;
        node_fail(out, "http_status", "the HTTP request was answered with an error status", retry);
        out->error_details = jobj_of_int(call->a, "status", ans->status);
    }
}
