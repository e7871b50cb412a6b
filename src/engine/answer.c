/*
 * answer.c: the outcome of a request, as text for the invocation log and as an executor reads it.
 * {"status":200,"contentType":"..","body":".."}, with bodyBase64 for bytes that are no text, or
 * {"error":"timeout","message":".."} when no answer came, "untouched":true if nothing was sent.
 */
#include "engine/answer.h"

#include "codec/bytes.h"
#include "codec/echo.h"
#include "codec/json.h"

#define ANSWER_TEXT_MAX (4u * 1024 * 1024)

static const char *error_code(int rc) {
    switch (rc) {
    case WOPR_E_EGRESS_REFUSED:
    case WOPR_E_VALIDATION:
        return "egress_refused";
    case WOPR_E_TIMEOUT:
        return "timeout";
    case WOPR_E_TOO_BIG:
        return "response_too_large";
    case WOPR_E_UNAVAILABLE:
        return "egress_busy";
    default:
        return "unreachable";
    }
}

/* A peer that repeats a credential of the host (in an error, say) does not get it recorded. */
static struct str text_without(struct str text, struct str secret, struct buf *b) {
    if (secret.n == 0 || text.n < secret.n) return text;
    echo_mask(text, secret, true, b);
    return buf_str(b);
}

void outcome_render(const struct egress_response *r, struct str secret, int64_t duration_ms,
                    struct buf *out) {
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    if (r->rc != 0) {
        jw_kstrz(&w, "error", error_code(r->rc));
        jw_kstrz(&w, "message", r->message ? r->message : "");
        if (r->untouched) jw_kbool(&w, "untouched", true);
        jw_end_object(&w);
        return;
    }
    jw_kint(&w, "status", r->status);
    jw_kint(&w, "durationMs", duration_ms);
    if (r->retry_after_s > 0 && r->retry_after_s < INT32_MAX)
        jw_kint(&w, "retryAfterMs", r->retry_after_s * 1000);
    struct buf clean;
    buf_init(&clean, ANSWER_TEXT_MAX);
    if (r->content_type.n > 0)
        jw_kstr(&w, "contentType", text_without(r->content_type, secret, &clean));
    buf_reset(&clean);
    if (r->kept.n > 0) jw_kstr(&w, "kept", text_without(r->kept, secret, &clean));
    buf_reset(&clean);
    struct str body = text_without(r->body, secret, &clean);
    if (buf_failed(&clean)) out->failed = true;
    if (utf8_valid(body)) {
        jw_kstr(&w, "body", body);
    } else {
        struct buf b;
        buf_init(&b, ANSWER_TEXT_MAX);
        base64_encode(&b, body);
        jw_kstr(&w, "bodyBase64", buf_str(&b));
        if (buf_failed(&b)) out->failed = true;
        buf_fini(&b);
    }
    buf_fini(&clean);
    jw_end_object(&w);
}

void outcome_refused(const char *code, const char *message, struct str secret, struct buf *out) {
    struct buf clean;
    struct jw w;
    buf_init(&clean, ANSWER_TEXT_MAX);
    jw_init(&w, out);
    jw_object(&w);
    jw_kstrz(&w, "error", code);
    jw_kstr(&w, "message", text_without(str_c(message), secret, &clean));
    jw_end_object(&w);
    if (buf_failed(&clean)) out->failed = true;
    buf_fini(&clean);
}

void outcome_unknown(struct buf *out) {
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_kstrz(&w, "error", "outcome_unknown");
    jw_kstrz(&w, "message",
             "it is not known whether the request was executed: its answer never came, and it is "
             "none that may be sent twice");
    jw_end_object(&w);
}

void outcome_parse(struct str outcome, struct arena *a, struct node_answer *out) {
    int64_t status = 0;
    struct str raw = json_get(outcome, "bodyBase64");
    out->error_code = json_string(json_get(outcome, "error"), a);
    out->error_message = json_string(json_get(outcome, "message"), a);
    (void)json_bool(json_get(outcome, "untouched"), &out->untouched);
    out->kept = json_string(json_get(outcome, "kept"), a);
    out->content_type = json_string(json_get(outcome, "contentType"), a);
    out->body_is_base64 = raw.n > 0;
    out->body = json_string(raw.n > 0 ? raw : json_get(outcome, "body"), a);
    if (json_int(json_get(outcome, "status"), &status)) out->status = (int)status;
    (void)json_int(json_get(outcome, "durationMs"), &out->duration_ms);
    (void)json_int(json_get(outcome, "retryAfterMs"), &out->retry_after_ms);
}

const struct node_answer *node_invoke(const struct node_call *call, struct node_result *out,
                                      unsigned ordinal, const struct node_request *req) {
    for (size_t i = 0; i < call->answers_nr; i++)
        if (call->answers[i].ordinal == ordinal) return &call->answers[i];
    if (ordinal >= NODE_INVOKES_MAX) {
        node_fail(out, "too_many_requests", "the node makes too many outgoing requests", false);
        return NULL;
    }
    out->outcome = NODE_OUT_CALL;
    out->request = *req;
    out->request_ordinal = ordinal;
    return NULL;
}
