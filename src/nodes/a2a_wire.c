/*
 * a2a_wire.c: exchanges with an A2A agent in the HTTP+JSON binding of A2A-4, and what its answers
 * say.  Readers are generous in spelling (proto names, other cases, a task inside its envelope) and
 * take nothing for granted.
 */
#include "codec/jobj.h"
#include "nodes/a2a.h"
#include "nodes/template.h"

#define A2A_ANSWER_MAX  (256u * 1024)
#define A2A_TIMEOUT_MS  10000
#define A2A_ID_MAX      256u
#define A2A_TEXT_MAX    (512u * 1024)
#define A2A_CARD_SKILLS 1000u

/* --- exchanges --- */

static void headers_of(struct a2a *t, struct node_request *r, bool own) {
    r->headers[r->headers_nr++] = (struct egress_header){STR("Accept"), STR("application/json")};
    if (r->body.n > 0)
        r->headers[r->headers_nr++] =
            (struct egress_header){STR("Content-Type"), STR("application/json")};
    if (own && t->agent->credential.n > 0)
        r->headers[r->headers_nr++] =
            (struct egress_header){t->agent->header, t->agent->credential};
}

const struct node_answer *a2a_ask(struct a2a *t, unsigned ordinal, struct str url, struct str body,
                                  bool once) {
    bool post = body.p != NULL, card = str_eq(url, t->agent->url);
    struct node_request r = {.caller = EGRESS_CALLER_A2A,
                             .method = post ? STR("POST") : STR("GET"),
                             .url = url,
                             .body = body,
                             .timeout_ms = A2A_TIMEOUT_MS,
                             .response_max = A2A_ANSWER_MAX,
                             .keyed = post,
                             .once = once && !t->repeatable};
    r.provider_key = arena_printf(t->call->a, "a2a:" STR_FMT ":%s", STR_ARG(t->agent->name),
                                  card   ? "card"
                                  : post ? "post"
                                         : "get");
    r.headers = ARENA_ARRAY(t->call->a, struct egress_header, 4);
    if (!r.provider_key.p || !r.headers || !url.p) {
        node_no_memory(t->out);
        return NULL;
    }
    headers_of(t, &r, card || t->own);
    return node_invoke(t->call, t->out, ordinal, &r);
}

const char *a2a_answer_wrong(const struct node_answer *ans, bool *again) {
    *again = false;
    if (ans->status == 0) {
        *again = !str_eqc(ans->error_code, "egress_refused") &&
                 !str_eqc(ans->error_code, "response_too_large") &&
                 !str_eqc(ans->error_code, "outcome_unknown");
        return ans->error_message.n > 0 ? ans->error_message.p : "no answer";
    }
    *again = ans->status >= 500 || ans->status == 429 || ans->status == 408;
    if (ans->status == 401 || ans->status == 403)
        return "the operator's credential for it is missing or refused";
    if (ans->status == 404) return "it does not know what was asked for (status 404)";
    if (ans->status >= 300) return "it answered with an error status";
    const struct json_limits lim = {A2A_ANSWER_MAX, 64};
    return !ans->body_is_base64 && json_check(ans->body, &lim, NULL) == 0
               ? NULL
               : "its answer is no JSON, or nested too deeply";
}

/* --- the card (A2A-4, A2A-5) --- */

static struct str origin_of(struct str url) {
    size_t i = str_starts(url, STR("https://")) ? 8 : str_starts(url, STR("http://")) ? 7 : 0;
    while (i < url.n && !strchr("/?#", url.p[i])) i++;
    return str_n(url.p, i);
}

static bool has_skill(struct str card, struct str skill, struct arena *a) {
    struct str list = json_get(card, "skills");
    struct json_elements l = {0};
    if (list.n == 0 || json_type_of(list) != JSON_ARRAY || json_elements(list, a, &l, NULL) != 0)
        return false;
    for (size_t i = 0; i < l.n && i < A2A_CARD_SKILLS; i++)
        if (str_eq(json_string(json_get(l.v[i], "id"), a), skill)) return true;
    return false;
}

const char *a2a_card_read(struct a2a *t, struct str card) {
    struct arena *a = t->call->a;
    if (json_type_of(card) != JSON_OBJECT) return "its card is no object";
    if (t->signed_card)
        return "a signed card is asked for, and this host has no key to verify one with";
    if (!has_skill(card, t->skill, a)) return "its card has no skill of this name";
    struct str url = json_string(json_get(card, "url"), a), at = t->agent->url, head, tail;
    if (url.n == 0) {
        if (str_cut(at, '?', &head, &tail)) at = head;
        url = str_cut_last(at, '/', &head, &tail) && head.n > origin_of(at).n - 1 ? head
                                                                                  : origin_of(at);
    }
    while (url.n > 0 && url.p[url.n - 1] == '/') url.n--;
    if (url.n == 0 || url.n > EGRESS_URL_MAX || memchr(url.p, '?', url.n) ||
        memchr(url.p, '#', url.n))
        return "the url in its card is none that tasks can be sent to";
    t->base = url;
    t->own = str_eq_nocase(origin_of(url), origin_of(t->agent->url));
    return NULL;
}

/* --- tasks --- */

static enum a2a_state state_of(struct str word) {
    static const struct {
        const char *word;
        enum a2a_state state;
    } WORDS[] = {{"SUBMITTED", A2A_SUBMITTED},
                 {"UNSPECIFIED", A2A_SUBMITTED},
                 {"WORKING", A2A_WORKING},
                 {"INPUT_REQUIRED", A2A_INPUT_REQUIRED},
                 {"AUTH_REQUIRED", A2A_AUTH_REQUIRED},
                 {"COMPLETED", A2A_COMPLETED},
                 {"FAILED", A2A_FAILED},
                 {"CANCELED", A2A_CANCELED},
                 {"CANCELLED", A2A_CANCELED},
                 {"REJECTED", A2A_REJECTED}};
    char plain[24];
    if (word.n > 11 && str_eq_nocase(str_n(word.p, 11), STR("TASK_STATE_")))
        word = str_n(word.p + 11, word.n - 11);
    if (word.n == 0 || word.n >= sizeof plain) return A2A_UNKNOWN;
    for (size_t i = 0; i < word.n; i++) plain[i] = word.p[i] == '-' ? '_' : word.p[i];
    for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++)
        if (str_eq_nocase(str_n(plain, word.n), str_c(WORDS[i].word))) return WORDS[i].state;
    return A2A_UNKNOWN;
}

static void text_join(struct buf *b, struct str text) {
    if (text.n == 0) return;
    if (b->len > 0) buf_addc(b, '\n');
    buf_adds(b, text);
}

/* A message or an artifact: a text, or an object with text, content or parts of such. */
static void texts_of(struct str m, struct arena *a, struct buf *b) {
    static const char *const PLAIN[] = {"text", "content"};
    struct json_elements l = {0};
    struct str parts;
    if (m.n == 0) return;
    if (json_type_of(m) == JSON_STRING) text_join(b, json_string(m, a));
    if (json_type_of(m) != JSON_OBJECT) return;
    for (size_t i = 0; i < sizeof PLAIN / sizeof *PLAIN; i++) {
        struct str raw = json_get(m, PLAIN[i]);
        if (raw.n > 0 && json_type_of(raw) == JSON_STRING) text_join(b, json_string(raw, a));
    }
    parts = json_get(m, "parts");
    if (parts.n == 0 || json_type_of(parts) != JSON_ARRAY || json_elements(parts, a, &l, NULL) != 0)
        return;
    for (size_t i = 0; i < l.n; i++) {
        struct str raw = json_get(l.v[i], "text");
        if (raw.n > 0 && json_type_of(raw) == JSON_STRING) text_join(b, json_string(raw, a));
    }
}

static struct str texts_in(struct str list, bool last, struct arena *a) {
    struct json_elements l = {0};
    struct buf b;
    if (list.n == 0 || json_type_of(list) != JSON_ARRAY || json_elements(list, a, &l, NULL) != 0)
        return STR_NONE;
    buf_init(&b, A2A_TEXT_MAX);
    for (size_t i = last && l.n > 0 ? l.n - 1 : 0; i < l.n; i++) texts_of(l.v[i], a, &b);
    struct str text = arena_str(a, buf_str(&b));
    buf_fini(&b);
    return text;
}

static bool id_ok(struct str id) {
    for (size_t i = 0; i < id.n; i++)
        if ((unsigned char)id.p[i] < 0x20) return false;
    return id.n > 0 && id.n <= A2A_ID_MAX && !str_eqc(id, ".") && !str_eqc(id, "..");
}

bool a2a_task_read(struct str body, struct arena *a, struct a2a_task *out) {
    struct str inner = json_get(body, "task"), status, raw;
    if (json_type_of(body) != JSON_OBJECT) return false;
    if (inner.n > 0 && json_type_of(inner) == JSON_OBJECT) body = inner;
    status = json_get(body, "status");
    raw = json_get(body, "state");
    if (raw.n == 0) raw = json_get(status, "state");
    *out = (struct a2a_task){.state = state_of(json_string(raw, a))};
    raw = json_get(body, "taskId");
    out->id = json_string(raw.n > 0 ? raw : json_get(body, "id"), a);
    out->messages = json_get(body, "messages");
    if (out->messages.n > 0 && json_type_of(out->messages) != JSON_ARRAY) out->messages = STR_NONE;
    out->artifacts = json_get(body, "artifacts");
    if (out->artifacts.n > 0 && json_type_of(out->artifacts) != JSON_ARRAY)
        out->artifacts = STR_NONE;
    out->text = texts_in(out->messages, false, a);
    out->last = texts_in(out->messages, true, a);
    if (out->text.n == 0) out->text = texts_in(out->artifacts, false, a);
    return out->state != A2A_UNKNOWN && id_ok(out->id) && !arena_failed(a);
}

/* The id is text of the agent: it fills one segment of the path. */
struct str a2a_task_url(struct a2a *t, const char *more) {
    struct buf b;
    buf_init(&b, EGRESS_URL_MAX);
    buf_adds(&b, t->base);
    buf_addz(&b, "/tasks");
    if (t->task_id.n > 0) {
        buf_addc(&b, '/');
        template_encode(t->task_id, &b);
    }
    buf_addz(&b, more);
    struct str url = buf_failed(&b) ? STR_NONE : arena_str(t->call->a, buf_str(&b));
    buf_fini(&b);
    return url;
}
