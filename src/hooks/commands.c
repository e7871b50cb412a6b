/*
 * commands.c: subscriptions are added, removed and woken (HOOK-1 to HOOK-6, HOOK-16).  Checks on
 * the caller's thread, writes on the committer's.
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/ident.h"
#include "codec/jobj.h"
#include "egress/egress.h"
#include "hooks/hooks_int.h"
#include "hooks/wanted.h"
#include "store/vault.h"

#include <stdio.h>

enum { SECRET_BYTES = 32, RETRY_MAX = 1000, SEAL_TRIES = 2, EFFECT_BYTES_MAX = 1024 };

static int url_check(const struct hooks *h, struct hook_cmd *c, struct wopr_error *err) {
    struct wopr_error why = {0};
    if (!c->url.p || c->url.n == 0)
        return wopr_error_at(err, WOPR_E_VALIDATION, "/url", "url is required");
    int rc = egress_url_check(c->url, egress_allowed(h->cfg.egress), &why);
    return rc == 0 ? 0 : wopr_error_at(err, rc, "/url", "url: %s", why.message);
}

int hooks_call_check(const struct hooks *h, struct str url, struct wopr_error *err) {
    return egress_url_check(url, egress_allowed(h->cfg.egress), err);
}

static int secret_make(struct hook_cmd *c, struct wopr_error *err) {
    uint8_t bytes[SECRET_BYTES];
    struct buf hex;
    rng_bytes(bytes, sizeof bytes);
    buf_init(&hex, 2 * SECRET_BYTES + 1);
    hex_encode(&hex, str_n((const char *)bytes, sizeof bytes));
    c->secret = buf_failed(&hex) ? STR_NONE : arena_str(c->a, buf_str(&hex));
    buf_fini(&hex);
    return c->secret.p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a secret");
}

static int add_check(const struct hooks *h, struct hook_cmd *c, struct wopr_error *err) {
    char id[ULID_LEN + 1], mark[HOOK_FINGERPRINT_LEN + 1];
    int rc = url_check(h, c, err);
    if (rc == 0) rc = hook_events_parse(c->events, c->a, &c->row.kinds, &c->row.events, err);
    if (rc == 0) rc = hook_tags_parse(c->tags, c->a, &c->row.tags, err);
    if (rc == 0) rc = c->secret.p ? hook_secret_check(c->secret, err) : secret_make(c, err);
    if (rc != 0) return rc;
    ulid_new(id);
    hook_fingerprint(c->secret, mark);
    c->row.webhook_id = arena_printf(c->a, "wh_%s", id);
    c->row.fingerprint = arena_str(c->a, str_c(mark));
    c->row.url = c->url;
    c->row.tenant = c->tenant;
    c->row.test_mode = c->test_mode;
    c->row.created_by = c->created_by;
    c->row.created_major = c->major;
    c->row.created_ms = clock_wall_ms();
    if (arena_failed(c->a)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a webhook");
    return 0;
}

/* --- on the committer's thread --- */

static struct seal_place place_of(struct str webhook_id) {
    return (struct seal_place){.scope = webhook_id, .at = HOOK_SECRET_AT};
}

int hook_secret_open(struct vault *v, struct str webhook_id, const struct plan_sealed *row,
                     struct arena *a, struct str *secret, struct wopr_error *err) {
    const struct seal_place place = place_of(webhook_id);
    return vault_open(v, &place, row, a, secret, err);
}

/* What the entry of an audited file says of the effect (AUD-3). */
static const struct plan_audit *effect_of(struct hook_cmd *c) {
    struct plan_audit *row = c->audit;
    bool added = c->what == HOOK_CMD_ADD;
    struct jobj o;
    if (!row) return NULL;
    row->type = added ? STR("webhook.registered") : STR("webhook.removed");
    row->at_ms = clock_wall_ms();
    jobj_begin(&o, EFFECT_BYTES_MAX);
    jw_kstr(&o.w, "webhookId", added ? c->row.webhook_id : c->webhook_id);
    if (added) jw_kstr(&o.w, "secretFingerprint", c->row.fingerprint);
    row->details = jobj_end(&o, c->a);
    return row;
}

static int add_now(struct hook_cmd *c, struct store *s) {
    struct vault *v = c->hooks->cfg.vault;
    const struct seal_place place = place_of(c->row.webhook_id);
    int rc = WOPR_E_UNAVAILABLE;
    /* The data key may have been replaced since; the second one is the new one (vault.h, V2). */
    for (int i = 0; rc == WOPR_E_UNAVAILABLE && i < SEAL_TRIES; i++) {
        rc = vault_seal(v, &place, c->secret, c->a, &c->row.secret, &c->err);
        if (rc == 0)
            rc = store_hook_add(s, &c->row, &c->idem, effect_of(c), c->hooks->cfg.per_tenant_max,
                                clock_wall_ms(), c->a, &c->repeated, &c->err);
    }
    if (rc == 0 && c->repeated)
        rc = hook_secret_open(v, c->row.webhook_id, &c->row.secret, c->a, &c->secret, &c->err);
    return rc;
}

static void cmd_log(const struct hook_cmd *c) {
    static const char *const DONE[] = {[HOOK_CMD_ADD] = "a webhook was registered",
                                       [HOOK_CMD_REMOVE] = "a webhook was unregistered",
                                       [HOOK_CMD_RETRY] = "a webhook was woken"};
    char id[64], mark[16];
    struct str of = c->what == HOOK_CMD_ADD ? c->row.webhook_id : c->webhook_id;
    (void)snprintf(id, sizeof id, STR_FMT, STR_ARG(of));
    (void)snprintf(mark, sizeof mark, STR_FMT, STR_ARG(c->row.fingerprint));
    if (c->rc == 0 && !c->repeated) log_info(DONE[c->what], "webhook", id, "fingerprint", mark);
}

static void cmd_now(void *ctx, struct store *s) {
    struct hook_cmd *c = ctx;
    int64_t now_ms = clock_wall_ms();
    struct hooks *h = c->hooks;
    if (c->what == HOOK_CMD_ADD) c->rc = add_now(c, s);
    else if (c->what == HOOK_CMD_REMOVE)
        c->rc = store_hook_remove(s, c->tenant, c->test_mode, c->webhook_id, effect_of(c), &c->err);
    else
        c->rc = store_hook_retry(s, c->tenant, c->test_mode, c->webhook_id, RETRY_MAX, now_ms,
                                 &c->queued, &c->err);
    cmd_log(c);
    if (c->rc == 0) hooks_kick(h);
    c->done(c);
}

int hooks_submit(struct hooks *h, struct hook_cmd *c, struct wopr_error *err) {
    c->hooks = h;
    c->repeated = false;
    c->row = (struct hook_row){.hook_no = 0};
    int rc = c->what == HOOK_CMD_ADD ? add_check(h, c, err) : 0;
    if (rc != 0) return rc;
    rc = journal_side(h->journal, cmd_now, c);
    return rc == 0 ? 0 : wopr_error_set(err, rc, "the host cannot take the webhook now");
}
