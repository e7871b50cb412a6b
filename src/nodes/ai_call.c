/*
 * ai_call.c: a prompt is one request to the provider of the operator, made once (STORE-42); what
 * the provider answers becomes outputs, or an error that says whether to try again.
 */
#include "nodes/ai.h"

#define ERROR_TEXT_MAX 400u /* bytes of a provider's message that are shown */

static bool header_add(const struct node_call *call, struct node_request *r, const char *name,
                       const char *prefix, struct str value) {
    struct str text = arena_printf(call->a, "%s" STR_FMT, prefix, STR_ARG(value));
    r->headers[r->headers_nr++] = (struct egress_header){str_c(name), text};
    return text.p != NULL;
}

/* The credential that is sent; a copy of a run's own is overwritten after use. */
static bool key_add(const struct node_call *call, const struct ai_prompt *p, struct str key,
                    struct node_request *r) {
    const struct ai_style *style = p->provider->style;
    if (key.n == 0) return true;
    r->secret = key;
    if (!header_add(call, r, style->key_header, style->key_prefix, key)) return false;
    return key.p == p->provider->key.p ||
           node_credential_copied(call, r->headers[r->headers_nr - 1].value);
}

static bool request_build(const struct node_call *call, const struct ai_prompt *p, struct str key,
                          struct node_request *r, struct node_result *out) {
    const struct ai_provider *v = p->provider;
    struct buf b;
    struct jw w;
    buf_init(&b, EGRESS_BODY_MAX);
    jw_init(&w, &b);
    v->style->body(p, call->a, &w);
    bool over = buf_over(&b), failed = buf_failed(&b);
    r->body = failed ? STR_NONE : arena_str(call->a, buf_str(&b));
    buf_fini(&b);
    if (over) {
        node_invalid(out, "the prompt is too large: at most 4 MiB leave the host");
        return false;
    }
    r->method = STR("POST");
    r->url = arena_printf(call->a, STR_FMT "%s", STR_ARG(v->url), v->style->path);
    r->provider_key = str_c(v->style->provider_key);
    r->caller = EGRESS_CALLER_MODEL;
    r->timeout_ms = (int)p->timeout_ms;
    r->stream = p->stream ? v->style->stream : NULL;
    r->model = p->model;
    r->bounded = p->bounded;
    r->keyed = true;
    r->headers = ARENA_ARRAY(call->a, struct egress_header, 4);
    bool ok = r->body.p && r->url.p && r->headers;
    if (ok) ok = header_add(call, r, "Content-Type", "", STR("application/json"));
    if (ok && v->style->extra_header)
        ok = header_add(call, r, v->style->extra_header, "", str_c(v->style->extra_value));
    ok = ok && key_add(call, p, key, r);
    if (!ok) node_no_memory(out);
    return ok;
}

/* --- errors --- */

static void fail_with(const struct node_call *call, struct node_result *out, const char *code,
                      struct str message, bool retry) {
    node_fail(out, code, "the AI provider gave no answer", retry);
    if (message.p) out->error_message = message;
    (void)call;
}

static void no_answer(const struct node_call *call, const struct ai_prompt *p,
                      const struct node_answer *ans, struct node_result *out) {
    bool retry = !str_eqc(ans->error_code, "egress_refused") &&
                 !str_eqc(ans->error_code, "response_too_large") &&
                 !str_eqc(ans->error_code, "ai_response_invalid") &&
                 !str_eqc(ans->error_code, "ai_request_rejected");
    const char *code = ans->error_code.n > 0 ? arena_cstr(call->a, ans->error_code) : NULL;
    fail_with(call, out, code ? code : "unreachable",
              arena_printf(call->a, "the AI provider " STR_FMT " gave no answer: " STR_FMT,
                           STR_ARG(p->provider->name), STR_ARG(ans->error_message)),
              retry);
}

/* What each class of status means; the first row that fits. */
static const struct status_row {
    int from, to;
    const char *code, *remedy;
    bool retry;
} STATUSES[] = {
    {401, 401, "credential_unavailable", "the credential is not accepted: see keyFile or keyEnv",
     false},
    {403, 403, "credential_unavailable", "the credential does not permit this", false},
    {408, 408, "ai_provider_unavailable", "it may be tried again", true},
    {409, 409, "ai_provider_unavailable", "it may be tried again", true},
    {425, 425, "ai_provider_unavailable", "it may be tried again", true},
    {429, 429, "ai_rate_limited",
     "the provider's limit is reached; retries wait for its Retry-After", true},
    {500, 599, "ai_provider_unavailable", "it may be tried again", true},
    {404, 404, "ai_request_rejected", "check the url of the provider and the name of the model",
     false},
    {0, 999, "ai_request_rejected", "the same request would be refused again", false},
};

static struct str cut_text(struct str s) {
    size_t n = s.n < ERROR_TEXT_MAX ? s.n : ERROR_TEXT_MAX;
    while (n > 0 && n < s.n && ((unsigned char)s.p[n] & 0xc0) == 0x80) n--;
    return str_n(s.p, n);
}

static void ai_call_refused(const struct node_call *call, const struct ai_prompt *p,
                            const struct node_answer *ans, struct node_result *out) {
    const struct status_row *row = STATUSES;
    struct str said = STR_NONE;
    while (ans->status < row->from || ans->status > row->to) row++;
    if (!ans->body_is_base64 && json_check(ans->body, &JSON_LIMITS_DEFAULT, NULL) == 0) {
        struct str e = json_get(ans->body, "error");
        struct str raw =
            json_type_of(e.n > 0 ? e : STR("null")) == JSON_STRING ? e : json_get(e, "message");
        said = cut_text(json_string(raw, call->a));
    }
    fail_with(call, out, row->code,
              arena_printf(call->a, "the AI provider " STR_FMT " answered %d; %s%s" STR_FMT,
                           STR_ARG(p->provider->name), ans->status, row->remedy,
                           said.n > 0 ? "; it says: " : "", STR_ARG(said)),
              row->retry);
    out->retry_after_ms = row->retry ? ans->retry_after_ms : 0;
    struct jobj o;
    jobj_begin(&o, JSON_LIMITS_DEFAULT.bytes_max);
    jw_kstr(&o.w, "provider", p->provider->name);
    jw_kint(&o.w, "status", ans->status);
    out->error_details = jobj_end(&o, call->a);
}

/* --- answers --- */

static void answer_invalid(const struct node_call *call, const struct ai_prompt *p, const char *why,
                           struct node_result *out) {
    fail_with(call, out, "ai_response_invalid",
              arena_printf(call->a, "the answer of the AI provider " STR_FMT " cannot be used: %s",
                           STR_ARG(p->provider->name), why),
              false);
}

static size_t answer_bytes(const struct ai_answer *ans) {
    size_t n = ans->text.n;
    for (size_t i = 0; i < ans->calls_nr; i++)
        n += ans->calls[i].id.n + ans->calls[i].name.n + ans->calls[i].arguments.n;
    return n;
}

/* NULL: out says why not. */
static struct ai_answer *answer_read(const struct node_call *call, const struct ai_prompt *p,
                                     const struct node_answer *raw, struct node_result *out) {
    struct ai_answer *ans = ARENA_NEW(call->a, struct ai_answer);
    const char *why = NULL;
    if (!ans) {
        node_no_memory(out);
        return NULL;
    }
    if (raw->body_is_base64 || json_check(raw->body, &JSON_LIMITS_DEFAULT, NULL) != 0 ||
        json_type_of(raw->body) != JSON_OBJECT)
        why = "it is no JSON object";
    if (!why)
        why = p->stream && ai_is_recorded(raw->body)
                  ? ai_recorded_read(raw->body, call->a, ans)
                  : p->provider->style->read(raw->body, call->a, ans);
    if (!why && answer_bytes(ans) > AI_TEXT_MAX) why = "it is longer than 384 KiB";
    if (!why) return ans;
    answer_invalid(call, p, why, out);
    return NULL;
}

bool ai_ask(const struct node_call *call, const struct ai_providers *all, const struct ai_prompt *p,
            unsigned ordinal, const struct node_answer **raw, struct ai_answer **ans,
            struct node_result *out) {
    struct node_request r = {0};
    struct str key;
    if (!ai_access(call, all, p, ordinal, &key, out)) return false;
    if (!request_build(call, p, key, &r, out)) return false;
    *raw = node_invoke(call, out, ordinal, &r);
    if (!*raw) return false;
    if ((*raw)->status == 0) no_answer(call, p, *raw, out);
    else if ((*raw)->status < 200 || (*raw)->status >= 300) ai_call_refused(call, p, *raw, out);
    else return (*ans = answer_read(call, p, *raw, out)) != NULL;
    return false;
}

bool ai_chunk_put(const struct node_call *call, const struct node_answer *raw,
                  const struct ai_answer *ans, struct node_result *out) {
    struct node_effect *x = node_effect_add(call, out, EFFECT_CHUNK);
    if (!x) return false;
    size_t shown = raw->streamed < ans->text.n ? raw->streamed : ans->text.n;
    bool restarted = shown == 0 && (raw->restarted || call->attempt > 0);
    x->value = str_n(ans->text.p + shown, ans->text.n - shown);
    x->is_last = 1;
    x->extra = ai_meta(call, ans, restarted);
    return x->extra.p != NULL;
}

void ai_call(const struct node_call *call, struct node_result *out) {
    struct ai_prompt p;
    const struct node_answer *raw;
    struct ai_answer *ans;
    if (!ai_prompt_read(call, call->type_ctx, &p, out)) return;
    if (!ai_ask(call, call->type_ctx, &p, 0, &raw, &ans, out)) return;
    out->continues = true; /* after the chunks of its stream */
    out->outcome = NODE_OUT_DONE;
    out->outputs = ai_outputs(call, &p, ans);
    out->cost = ai_cost(call, &p, ans, raw->duration_ms);
    if (!out->outputs.p || !ai_chunk_put(call, raw, ans, out)) node_no_memory(out);
}
