/*
 * interrupt_view.c: what a waiting run shows of its interrupt (INT-13, NODE-72), and the operator's
 * list of all that is pending (INT-47, STORE-9; a host extension, docs/api-extensions.md).
 */
#include "base/clock.h"
#include "codec/bytes.h"
#include "domain/interrupt.h"
#include "wire/common/cursor.h"
#include "wire/v1/wire_int.h"

enum { VIEW_BYTES_MAX = 16 * 1024 };

int v1_interrupt_render(const struct wire_interrupt *i, struct arena *a, struct str *out,
                        struct wopr_error *err) {
    struct jobj o;
    jobj_begin(&o, VIEW_BYTES_MAX + i->data.n);
    jw_kstr(&o.w, "interruptId", i->interrupt_id);
    jw_kstr(&o.w, "nodeId", i->node_id);
    jw_kstr(&o.w, "kind", i->kind);
    jw_kstr(&o.w, "key", i->key);
    if (i->data.n > 0) jw_kraw(&o.w, "data", i->data);             /* NODE-72 */
    if (str_eqc(json_get(i->data, "contextType"), "\"a2a-auth\"")) /* A2A-7 */
        jw_kraw(&o.w, "metadata", STR("{\"subkind\":\"auth\"}"));
    v1_time_member(&o.w, "requestedAt", i->requested_ms);
    v1_time_member(&o.w, "expiresAt", i->expires_ms);
    if (i->token.n > 0) {
        struct str url = arena_printf(a, STR_FMT "/v1/interrupts/" STR_FMT, STR_ARG(i->base_url),
                                      STR_ARG(i->token));
        jw_kstr(&o.w, "interruptToken", i->token);
        jw_kstr(&o.w, "callbackUrl", url);
    }
    struct str text = jobj_end(&o, a);
    if (!text.p || arena_failed(a))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an interrupt");
    *out = text;
    return 0;
}

int v1_interrupt_of(struct store *s, struct run_view *view, struct arena *a,
                    struct wopr_error *err) {
    struct interrupt_row row;
    bool found;
    int rc = wire_interrupt_current(s, view, a, &row, &found, err);
    if (rc != 0 || !found) return rc;
    struct wire_interrupt shown = wire_interrupt_of_row(&row);
    return v1_interrupt_render(&shown, a, &view->interrupt, err);
}

int v1_interrupt_show(struct http_call *c, struct run_view *view, struct wopr_error *err) {
    struct interrupt_row row;
    struct wire_interrupt shown;
    bool found;
    int rc = wire_interrupt_current(wire_of(c)->store, view, c->arena, &row, &found, err);
    if (rc != 0 || !found) return rc;
    rc = wire_interrupt_for(c, &row, &shown, err);
    return rc != 0 ? rc : v1_interrupt_render(&shown, c->arena, &view->interrupt, err);
}

/* The event that is sent with it has the question's data. */
int v1_question_render(struct v1 *v, const struct interrupt_row *row, bool answers, struct str base,
                       struct arena *a, struct str *out, struct wopr_error *err) {
    struct wire_interrupt shown;
    int rc = wire_interrupt_seen(&v->shared, row, answers, a, &shown, err);
    if (rc != 0) return rc;
    shown.base_url = base;
    shown.data = STR_NONE;
    return v1_interrupt_render(&shown, a, out, err);
}

/* --- GET /v1/host/wopr/interrupts --- */

static int cursor_read(const struct http_call *c, struct interrupt_filter *f,
                       struct wopr_error *err) {
    bool given;
    struct str text = http_query(c, "cursor", &given);
    if (!given || wire_interrupt_cursor(text, &f->after_ms, &f->after_id)) return 0;
    return wire_param_error(err, "cursor", "cursor must be nextCursor of an answer");
}

static int filter_read(const struct http_call *c, struct interrupt_filter *f,
                       struct wopr_error *err) {
    enum intr_kind kind;
    bool given;
    f->kind = http_query(c, "kind", &given);
    if (given && !intr_kind_of(f->kind, &kind))
        return wire_param_error(err, "kind", "kind must be a kind of interrupt");
    f->run_id = http_query(c, "runId", &given);
    if (given && (f->run_id.n == 0 || f->run_id.n > WIRE_ID_CHARS))
        return wire_param_error(err, "runId", "runId must be the id of a run");
    f->owner_user_id = http_query(c, "ownerUserId", &given);
    if (given && (f->owner_user_id.n == 0 || f->owner_user_id.n > V1_SCOPE_ID_CHARS))
        return wire_param_error(err, "ownerUserId", "ownerUserId must have 1 to 256 characters");
    return cursor_read(c, f, err);
}

static void pending_render(struct jw *w, const struct interrupt_row *r, struct str base,
                           int64_t now_ms, struct arena *a) {
    struct str run =
        arena_printf(a, STR_FMT "/v1/runs/" STR_FMT, STR_ARG(base), STR_ARG(r->run_id));
    struct buf url;
    buf_init(&url, VIEW_BYTES_MAX);
    buf_adds(&url, run);
    buf_addz(&url, "/interrupts/");
    percent_encode(&url, r->node_id);
    jw_object(w);
    jw_kstr(w, "interruptId", r->interrupt_id);
    jw_kstr(w, "runId", r->run_id);
    jw_kstr(w, "workflowId", r->workflow_id);
    jw_kstr(w, "nodeId", r->node_id);
    jw_kstr(w, "kind", r->kind);
    jw_kstr(w, "key", r->key);
    v1_time_member(w, "requestedAt", r->requested_ms);
    jw_kint(w, "ageMs", now_ms > r->requested_ms ? now_ms - r->requested_ms : 0);
    v1_time_member(w, "expiresAt", r->timeout_at_ms);
    jw_kstr(w, "statusUrl", run);
    jw_kstr(w, "resolveUrl", buf_str(&url));
    jw_end_object(w);
    buf_fini(&url);
}

static void cursor_render(struct jw *w, int64_t ms, struct str id, struct arena *a) {
    jw_kstr(w, "nextCursor", wire_interrupt_cursor_format(ms, id, a));
}

int v1_list_interrupts(struct http_call *c) {
    struct wopr_error err = {0};
    struct interrupt_filter f = {.tenant = c->who.tenant, .test_mode = c->who.test_mode};
    struct interrupt_list l;
    int64_t limit = 0, now = clock_wall_ms();
    int rc = wire_int_param(c, "limit", 1, V1_LIST_MAX, V1_LIST_DEFAULT, &limit, &err);
    if (rc == 0) rc = filter_read(c, &f, &err);
    f.max = (unsigned)limit + 1; /* one more shows whether a next page exists */
    if (rc == 0) rc = store_interrupts_pending(wire_of(c)->store, &f, c->arena, &l, &err);
    if (rc != 0) return wire_fail(c, &err);
    size_t n = l.n > (size_t)limit ? (size_t)limit : l.n;
    struct jobj o;
    jobj_begin(&o, WIRE_SNAPSHOT_MAX);
    jw_key(&o.w, "interrupts");
    jw_array(&o.w);
    for (size_t i = 0; i < n; i++) pending_render(&o.w, &l.v[i], http_base_url(c), now, c->arena);
    jw_end_array(&o.w);
    if (l.n > n) cursor_render(&o.w, l.v[n - 1].requested_ms, l.v[n - 1].interrupt_id, c->arena);
    else if (l.next_id.n > 0) cursor_render(&o.w, l.next_ms, l.next_id, c->arena);
    return wire_reply_object(c, 200, &o);
}
