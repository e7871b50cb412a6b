/*
 * webhooks.c: POST /v1/webhooks, DELETE /v1/webhooks/{webhookId} (E16, E17, RUN-44, RUN-45), and
 * how deliveries go (host extensions, docs/webhooks.md).
 */
#include "base/clock.h"
#include "base/mem.h"
#include "hooks/hooks.h"
#include "wire/v1/wire_int.h"

enum { LIST_BYTES_MAX = 16 * 1024 * 1024 };

static int hooks_off(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NOT_IMPLEMENTED,
                          "this host sends nothing out: webhooks need --egress");
}

/* CX-32, CX-34: a tenant that is named is the caller's. */
static int tenant_check(const struct http_call *c, struct str named, struct wopr_error *err) {
    if (!named.p || str_eq(named, c->who.tenant)) return 0;
    return wopr_error_set(err, WOPR_E_FORBIDDEN, "the webhook would belong to another tenant");
}

/* --- commands --- */

static void cmd_done(struct hook_cmd *cmd) { http_resume(cmd->ctx); }

static int cmd_answer(struct http_call *c, struct hook_cmd *cmd) {
    struct jobj o;
    c->user = NULL;
    if (cmd->rc == WOPR_E_QUOTA) { /* only the tenant can make room: no "try later" */
        cmd->err.code = WOPR_E_CONFLICT;
        jobj_details_int(&cmd->err, "webhooksMax", v1_of(c)->cfg.webhooks_max);
    }
    if (cmd->rc != 0) return wire_fail(c, &cmd->err);
    if (cmd->what == HOOK_CMD_REMOVE) {
        http_reply(c, 204, STR(""));
        return HTTP_DONE;
    }
    jobj_begin(&o, WIRE_BODY_SMALL);
    if (cmd->what == HOOK_CMD_ADD) {
        jw_kstr(&o.w, "webhookId", cmd->row.webhook_id);
        jw_kstr(&o.w, "secret", cmd->secret);
        jw_kstr(&o.w, "secretFingerprint", cmd->row.fingerprint);
        jw_kstrz(&o.w, "signatureAlgorithm", "v1");
    } else {
        jw_kstr(&o.w, "webhookId", cmd->webhook_id);
        jw_kint(&o.w, "queued", cmd->queued);
    }
    if (cmd->repeated) http_reply_replayed(c);
    return wire_reply_object(c, cmd->what == HOOK_CMD_ADD ? 201 : 200, &o);
}

static int cmd_submit(struct http_call *c, const struct hook_cmd *filled) {
    struct wopr_error err = {0};
    struct hooks *h = v1_of(c)->cfg.hooks;
    struct hook_cmd *cmd = ARENA_NEW(c->arena, struct hook_cmd);
    int rc = h ? 0 : hooks_off(&err);
    if (rc == 0 && !cmd) rc = wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for a webhook");
    if (rc != 0) return wire_fail(c, &err);
    *cmd = *filled;
    cmd->tenant = c->who.tenant;
    cmd->test_mode = c->who.test_mode;
    cmd->created_by = c->who.key_id;
    cmd->a = c->arena;
    cmd->major = 1;
    cmd->audit = wire_of(c)->audit ? ARENA_NEW(c->arena, struct plan_audit) : NULL;
    if (cmd->audit) http_audit_of(c, cmd->audit);
    cmd->done = cmd_done;
    cmd->ctx = c;
    c->user = cmd;
    rc = hooks_submit(h, cmd, &err);
    if (rc == 0) return HTTP_PENDING;
    c->user = NULL;
    return wire_fail(c, &err);
}

/* The answer holds the secret, so it is not stored like others: the subscription itself remembers
 * which request made it, and the answer is made again of it. */
static struct hook_idem idem_of(const struct http_call *c) {
    if (!c->has_idem) return (struct hook_idem){.has = false};
    return (struct hook_idem){.has = true,
                              .key = c->idem.key,
                              .digest = c->idem.key_no != 0 ? c->idem.keyed : c->idem.digest,
                              .until_ms = clock_wall_ms() + c->idem.keep_ms};
}

int v1_register_webhook(struct http_call *c) {
    struct wopr_error err = {0};
    struct v1_webhook_request b = {0};
    if (c->user) return cmd_answer(c, c->user);
    int rc = wire_body_parse(c->body, &V1_WEBHOOK_REQUEST, c->arena, &b, &err);
    if (rc == 0 && !b.url.p) rc = wire_field_error(&err, "url", "required", "url is required");
    if (rc == 0 && !b.events.p)
        rc = wire_field_error(&err, "events", "required", "events is required");
    if (rc == 0) rc = tenant_check(c, b.tenant_id, &err);
    if (rc != 0) return wire_fail(c, &err);
    const struct hook_cmd cmd = {.what = HOOK_CMD_ADD,
                                 .url = b.url,
                                 .events = b.events,
                                 .tags = b.tags,
                                 .secret = b.secret,
                                 .idem = idem_of(c)};
    return cmd_submit(c, &cmd);
}

int v1_unregister_webhook(struct http_call *c) {
    struct wopr_error err = {0};
    bool named = false;
    if (c->user) return cmd_answer(c, c->user);
    struct str tenant = http_query(c, "tenantId", &named);
    int rc = named ? tenant_check(c, tenant, &err) : 0;
    if (rc != 0) return wire_fail(c, &err);
    const struct hook_cmd cmd = {.what = HOOK_CMD_REMOVE, .webhook_id = http_param(c, "webhookId")};
    return cmd_submit(c, &cmd);
}

int v1_retry_webhook(struct http_call *c) {
    struct wopr_error err = {0};
    if (c->user) return cmd_answer(c, c->user);
    if (wire_body_parse(c->body, &V1_WEBHOOK_RETRY, c->arena, NULL, &err) != 0)
        return wire_fail(c, &err);
    const struct hook_cmd cmd = {.what = HOOK_CMD_RETRY, .webhook_id = http_param(c, "webhookId")};
    return cmd_submit(c, &cmd);
}

/* --- reading --- */

static const char *state_name(const struct hook_item *h, int64_t now_ms) {
    if (h->row.stopped) return "failed";
    if (h->state.open_until_ms == 0) return "closed";
    return h->state.open_until_ms > now_ms ? "open" : "half-open";
}

static int hook_render(struct http_call *c, struct jw *w, const struct hook_item *h,
                       struct wopr_error *err) {
    int64_t now_ms = clock_wall_ms(), pending = 0, since_ms = 0;
    const struct hook_state *s = &h->state;
    int rc = h->row.stopped
                 ? 0
                 : store_hook_backlog(wire_of(c)->store, h, INT64_MAX, &pending, &since_ms, err);
    if (rc != 0) return rc;
    jw_kstr(w, "webhookId", h->row.webhook_id);
    jw_kstr(w, "url", h->row.url);
    jw_kraw(w, "events", h->row.events);
    jw_kraw_opt(w, "tags", h->row.tags);
    jw_kstr(w, "secretFingerprint", h->row.fingerprint);
    jw_kstrz(w, "state", state_name(h, now_ms));
    v1_time_member(w, "openUntil", s->open_until_ms);
    jw_kint(w, "delivered", s->delivered);
    jw_kint(w, "deadLetters", s->dead);
    jw_kint(w, "dropped", s->dropped);
    jw_kint(w, "pending", pending);
    v1_time_member(w, "pendingSince", since_ms);
    if (s->attempts > 0) jw_kint(w, "attempts", s->attempts);
    v1_time_member(w, "nextAttemptAt", s->next_attempt_ms);
    if (s->last_status > 0) jw_kint(w, "lastStatus", s->last_status);
    jw_kstr_opt(w, "lastError", s->last_error);
    v1_time_member(w, "lastAttemptAt", s->last_ms);
    v1_time_member(w, "createdAt", h->row.created_ms);
    jw_kstr_opt(w, "createdBy", h->row.created_by);
    return 0;
}

int v1_get_webhook(struct http_call *c) {
    struct wopr_error err = {0};
    struct hook_item item;
    struct jobj o;
    int rc = store_hook_get(wire_of(c)->store, c->who.tenant, c->who.test_mode,
                            http_param(c, "webhookId"), c->arena, &item, &err);
    if (rc != 0) return wire_fail(c, &err);
    jobj_begin(&o, LIST_BYTES_MAX);
    rc = hook_render(c, &o.w, &item, &err);
    if (rc == 0) return wire_reply_object(c, 200, &o);
    jobj_drop(&o);
    return wire_fail(c, &err);
}

static void list_answer(struct http_call *c) {
    struct wopr_error err = {0};
    struct hook_list l = {.n = 0};
    int64_t limit, after;
    struct jobj o;
    int rc = wire_int_param(c, "limit", 1, V1_LIST_MAX, V1_LIST_DEFAULT, &limit, &err);
    if (rc == 0) rc = wire_int_param(c, "after", 1, INT64_MAX, 0, &after, &err);
    if (rc == 0)
        rc = store_hooks(wire_of(c)->store, c->who.tenant, c->who.test_mode, after,
                         (unsigned)limit + 1, c->arena, &l, &err);
    if (rc != 0) {
        http_fail(c, &err);
        return;
    }
    size_t n = l.n > (size_t)limit ? (size_t)limit : l.n;
    jobj_begin(&o, LIST_BYTES_MAX);
    jw_key(&o.w, "webhooks");
    jw_array(&o.w);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        jw_object(&o.w);
        rc = hook_render(c, &o.w, &l.v[i], &err);
        jw_end_object(&o.w);
    }
    jw_end_array(&o.w);
    if (l.n > n) jw_kint(&o.w, "nextAfter", l.v[n - 1].row.hook_no);
    if (rc == 0) (void)wire_reply_object(c, 200, &o);
    else {
        jobj_drop(&o);
        http_fail(c, &err);
    }
}

/* It counts what each of them has still to be sent. */
int v1_list_webhooks(struct http_call *c) { return http_offload(c, list_answer); }

static void dead_render(struct jw *w, const struct hook_dead *d) {
    jw_object(w);
    jw_kstr_opt(w, "runId", d->run_id);
    jw_kint(w, "sequence", d->seq);
    if (d->until_seq > d->seq + 1) jw_kint(w, "untilSequence", d->until_seq);
    jw_kstr_opt(w, "eventType", d->event_type);
    jw_kint(w, "attempts", d->attempts);
    if (d->status > 0) jw_kint(w, "lastStatus", d->status);
    jw_kstr(w, "reason", d->reason);
    v1_time_member(w, "deadLetteredAt", d->dead_ms);
    v1_time_member(w, "expiresAt", d->expires_ms);
    jw_end_object(w);
}

int v1_list_webhook_dead_letters(struct http_call *c) {
    struct wopr_error err = {0};
    struct hook_dead_list l = {.n = 0};
    struct hook_item item;
    int64_t limit, below;
    struct jobj o;
    int rc = wire_int_param(c, "limit", 1, V1_LIST_MAX, V1_LIST_DEFAULT, &limit, &err);
    if (rc == 0) rc = wire_int_param(c, "below", 1, INT64_MAX, INT64_MAX, &below, &err);
    if (rc == 0)
        rc = store_hook_get(wire_of(c)->store, c->who.tenant, c->who.test_mode,
                            http_param(c, "webhookId"), c->arena, &item, &err);
    if (rc == 0)
        rc = store_hook_dead(wire_of(c)->store, item.row.hook_no, below, (unsigned)limit + 1,
                             c->arena, &l, &err);
    if (rc != 0) return wire_fail(c, &err);
    size_t n = l.n > (size_t)limit ? (size_t)limit : l.n;
    jobj_begin(&o, LIST_BYTES_MAX);
    jw_key(&o.w, "deliveries");
    jw_array(&o.w);
    for (size_t i = 0; i < n; i++) dead_render(&o.w, &l.v[i]);
    jw_end_array(&o.w);
    if (l.n > n) jw_kint(&o.w, "nextBelow", l.v[n - 1].dead_no);
    return wire_reply_object(c, 200, &o);
}
