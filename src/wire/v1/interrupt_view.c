/*
 * interrupt_view.c: what a waiting run shows of its interrupt (INT-13), and the operator's list of
 * all that is pending (INT-47, STORE-9; a host extension, docs/api-extensions.md).
 */
#include "base/clock.h"
#include "codec/bytes.h"
#include "codec/ident.h"
#include "domain/interrupt.h"
#include "wire/v1/wire_int.h"

enum { VIEW_BYTES_MAX = 16 * 1024, CURSOR_BYTES_MAX = 160 };

int v1_interrupt_render(const struct v1_interrupt_view *i, struct arena *a, struct str *out,
                        struct wopr_error *err) {
    struct buf b;
    struct jw w;
    buf_init(&b, VIEW_BYTES_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_kstr(&w, "interruptId", i->interrupt_id);
    jw_kstr(&w, "nodeId", i->node_id);
    jw_kstr(&w, "kind", i->kind);
    jw_kstr(&w, "key", i->key);
    v1_time_member(&w, "requestedAt", i->requested_ms);
    v1_time_member(&w, "expiresAt", i->expires_ms);
    if (i->token.n > 0) {
        struct str url = arena_printf(a, STR_FMT "/v1/interrupts/" STR_FMT, STR_ARG(i->base_url),
                                      STR_ARG(i->token));
        jw_kstr(&w, "interruptToken", i->token);
        jw_kstr(&w, "callbackUrl", url);
    }
    jw_end_object(&w);
    struct str text = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    if (!text.p || arena_failed(a))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an interrupt");
    *out = text;
    return 0;
}

static bool waits(enum run_status s) {
    return s == RUN_WAITING_APPROVAL || s == RUN_WAITING_INPUT || s == RUN_WAITING_EXTERNAL;
}

/* The open interrupt of the node the run shows; *found false: it waits for a child (INT-51). */
static int current(struct store *s, const struct run_view *view, struct arena *a,
                   struct interrupt_row *out, bool *found, struct wopr_error *err) {
    struct interrupt_list l;
    *found = false;
    if (!waits(view->head.status) || view->current_node.n == 0) return 0;
    int rc = store_interrupts_of_run(s, view->head.run_no, view->current_node, true, a, &l, err);
    if (rc != 0 || l.n == 0) return rc;
    *out = l.v[0];
    *found = true;
    return 0;
}

static struct v1_interrupt_view view_of(const struct interrupt_row *r) {
    return (struct v1_interrupt_view){.interrupt_id = r->interrupt_id,
                                      .node_id = r->node_id,
                                      .kind = r->kind,
                                      .key = r->key,
                                      .requested_ms = r->requested_ms,
                                      .expires_ms = r->timeout_at_ms};
}

int v1_interrupt_of(struct store *s, struct run_view *view, struct arena *a,
                    struct wopr_error *err) {
    struct interrupt_row row;
    bool found;
    int rc = current(s, view, a, &row, &found, err);
    if (rc != 0 || !found) return rc;
    struct v1_interrupt_view shown = view_of(&row);
    return v1_interrupt_render(&shown, a, &view->interrupt, err);
}

/* INT-13, RUN-12: external events always, other kinds when callbacks are on; to responders only. */
static bool token_due(const struct http_call *c, const struct interrupt_row *row) {
    if ((c->who.scopes & SCOPE_APPROVALS_RESPOND) == 0) return false;
    return v1_of(c)->cfg.interrupt_callbacks || str_eqc(row->kind, intr_kind_name(INTR_EXTERNAL));
}

int v1_interrupt_show(struct http_call *c, struct run_view *view, struct wopr_error *err) {
    struct v1 *v = v1_of(c);
    struct interrupt_row row;
    bool found, allowed = false;
    int rc = current(v->store, view, c->arena, &row, &found, err);
    if (rc != 0 || !found) return rc;
    struct v1_interrupt_view shown = view_of(&row);
    if (token_due(c, &row)) rc = v1_token_allowed(v, &row, c->arena, &allowed, err);
    if (rc == 0 && allowed)
        rc = v1_token_mint(v, &row, clock_wall_ms(), c->arena, &shown.token, err);
    if (rc != 0) return rc;
    shown.base_url = http_base_url(c);
    return v1_interrupt_render(&shown, c->arena, &view->interrupt, err);
}

/* --- GET /v1/host/wopr/interrupts --- */

static int param_error(struct wopr_error *err, const char *name, const char *message) {
    int rc = wopr_error_set(err, WOPR_E_VALIDATION, "%s", message);
    wopr_error_details(err, "{\"parameter\":\"%s\"}", name);
    return rc;
}

/* "<requested ms>-<interrupt id>": the last row of the page before. */
static int cursor_read(const struct http_call *c, struct interrupt_filter *f,
                       struct wopr_error *err) {
    struct str at, id;
    uint64_t ms;
    bool given;
    struct str text = http_query(c, "cursor", &given);
    if (!given) return 0;
    if (text.n > CURSOR_BYTES_MAX || !str_cut(text, '-', &at, &id) || !str_u64(at, &ms) ||
        ms > INT64_MAX || !id_opaque_valid(id))
        return param_error(err, "cursor", "cursor must be nextCursor of an answer");
    f->after_ms = (int64_t)ms;
    f->after_id = id;
    return 0;
}

static int filter_read(const struct http_call *c, struct interrupt_filter *f,
                       struct wopr_error *err) {
    enum intr_kind kind;
    bool given;
    f->kind = http_query(c, "kind", &given);
    if (given && !intr_kind_of(f->kind, &kind))
        return param_error(err, "kind", "kind must be a kind of interrupt");
    f->run_id = http_query(c, "runId", &given);
    if (given && (f->run_id.n == 0 || f->run_id.n > V1_ID_CHARS))
        return param_error(err, "runId", "runId must be the id of a run");
    f->owner_user_id = http_query(c, "ownerUserId", &given);
    if (given && (f->owner_user_id.n == 0 || f->owner_user_id.n > V1_SCOPE_ID_CHARS))
        return param_error(err, "ownerUserId", "ownerUserId must have 1 to 256 characters");
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
    jw_kstr(w, "nextCursor", arena_printf(a, "%lld-" STR_FMT, (long long)ms, STR_ARG(id)));
}

int v1_list_interrupts(struct http_call *c) {
    struct wopr_error err = {0};
    struct interrupt_filter f = {.tenant = c->who.tenant, .test_mode = c->who.test_mode};
    struct interrupt_list l;
    int64_t limit = 0, now = clock_wall_ms();
    int rc = v1_int_param(c, "limit", 1, V1_LIST_MAX, V1_LIST_DEFAULT, &limit, &err);
    if (rc == 0) rc = filter_read(c, &f, &err);
    f.max = (unsigned)limit + 1; /* one more tells whether a next page exists */
    if (rc == 0) rc = store_interrupts_pending(v1_of(c)->store, &f, c->arena, &l, &err);
    if (rc != 0) return v1_fail(c, &err);
    size_t n = l.n > (size_t)limit ? (size_t)limit : l.n;
    struct buf b;
    struct jw w;
    buf_init(&b, V1_SNAPSHOT_MAX);
    jw_init(&w, &b);
    jw_object(&w);
    jw_key(&w, "interrupts");
    jw_array(&w);
    for (size_t i = 0; i < n; i++) pending_render(&w, &l.v[i], http_base_url(c), now, c->arena);
    jw_end_array(&w);
    if (l.n > n) cursor_render(&w, l.v[n - 1].requested_ms, l.v[n - 1].interrupt_id, c->arena);
    else if (l.next_id.n > 0) cursor_render(&w, l.next_ms, l.next_id, c->arena);
    jw_end_object(&w);
    return v1_reply_buf(c, 200, &b);
}
