/*
 * interrupt_token.c: mints and judges interrupt tokens.  Reads the secrets from the store each
 * time, so that a rotation takes effect with the next token (D46).
 */
#include "wire/common/interrupt_token.h"
#include "base/clock.h"
#include "codec/json.h"
#include "domain/interrupt.h"
#include "domain/token.h"
#include "store/keys.h"
#include "wire/common/fold.h"

static int token_unknown(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_INTERRUPT_NOT_FOUND, "no interrupt is open for this token");
}

/* INT-37: all defects of a token give the same answer; only an authentic one may learn that it has
 * expired. */
static int token_check(struct wire *w, struct str text, struct arena *a, struct token_claims *out,
                       struct wopr_error *err) {
    struct token_parts parts;
    struct token_secret secret;
    if (!token_cut(text, &parts)) return token_unknown(err);
    int rc = store_token_secret_find(w->store, parts.kid, a, &secret, err);
    if (rc == WOPR_E_NOT_FOUND) return token_unknown(err);
    return rc != 0 ? rc : token_verify(&parts, secret.secret, clock_wall_ms(), a, out, err);
}

/* INT-39: judged by the definition the run was created with. */
static int node_demands_bearer(struct wire *w, const struct interrupt_row *row, struct arena *a,
                               bool *out, struct wopr_error *err) {
    struct run_origin origin;
    struct workflow *wf = NULL;
    bool demands = false;
    int rc = store_run_origin(w->store, row->run_no, a, &origin, err);
    if (rc == 0) rc = wire_workflow_of(w, &origin, false, a, &wf, err);
    if (rc != 0) return rc;
    int node = workflow_node_index(wf, row->node_id);
    if (node >= 0) demands = intr_auth_required(&wf->nodes[node]);
    workflow_unref(wf);
    *out = demands;
    return 0;
}

/* The whole host, or this node, accepts no tokens. */
static int bearer_only(struct wire *w, const struct interrupt_row *row, struct arena *a, bool *out,
                       struct wopr_error *err) {
    if (!w->interrupt_auth_required) return node_demands_bearer(w, row, a, out, err);
    *out = true;
    return 0;
}

int wire_token_authorize(void *ctx, struct http_call *c, struct wopr_error *err) {
    struct wire *w = ctx;
    struct token_claims claims;
    struct interrupt_row *row = ARENA_NEW(c->arena, struct interrupt_row);
    bool refuse = false;
    if (!row) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a token");
    int rc = token_check(w, http_param(c, "token"), c->arena, &claims, err);
    if (rc != 0) return rc;
    rc = store_interrupt_get(w->store, STR_NONE, false, claims.interrupt_id, c->arena, row, err);
    if (rc != 0) return rc;
    if (!str_eq(row->tenant, claims.tenant) || !str_eq(row->run_id, claims.run_id) ||
        !str_eq(row->node_id, claims.node_id))
        return token_unknown(err);
    rc = bearer_only(w, row, c->arena, &refuse, err);
    if (rc != 0) return rc;
    if (refuse) /* INT-40 */
        return wopr_error_set(err, WOPR_E_FORBIDDEN,
                              "this interrupt takes a bearer credential with approvals:respond, "
                              "not a token");
    struct str subject = arena_printf(c->arena, "token:" STR_FMT, STR_ARG(row->interrupt_id));
    if (!subject.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a token");
    c->who = (struct principal){.tenant = row->tenant,
                                .test_mode = row->test_mode,
                                .subject_issuer = STR("wopr:interrupt-token"),
                                .subject_id = subject}; /* INT-23 */
    c->user = row;
    return 0;
}

const struct interrupt_row *wire_token_row_take(struct http_call *c) {
    const struct interrupt_row *row = c->user;
    c->user = NULL;
    return row;
}

int wire_token_allowed(struct wire *w, const struct interrupt_row *row, struct arena *a, bool *out,
                       struct wopr_error *err) {
    struct json_elements approvers = {0};
    struct str list = json_get(json_get(row->payload, "data"), "approversList");
    bool refuse = true;
    int rc = 0;
    if (list.p && json_type_of(list) == JSON_ARRAY) rc = json_elements(list, a, &approvers, err);
    if (rc == 0 && approvers.n == 0) rc = bearer_only(w, row, a, &refuse, err);
    if (rc == 0) *out = !refuse;
    return rc;
}

int wire_token_mint(struct wire *w, const struct interrupt_row *row, int64_t now_ms,
                    struct arena *a, struct str *out, struct wopr_error *err) {
    struct token_secret secret;
    struct token_claims claims = {
        .run_id = row->run_id,
        .node_id = row->node_id,
        .interrupt_id = row->interrupt_id,
        .tenant = row->tenant,
        .expires_ms = token_expiry(now_ms, w->interrupt_token_ms, row->timeout_at_ms)};
    struct buf b;
    int rc = store_token_secret_current(w->store, a, &secret, err);
    if (rc != 0) return rc;
    buf_init(&b, TOKEN_BYTES_MAX);
    rc = token_encode(&claims, secret.kid, secret.secret, &b, err);
    struct str text = rc == 0 ? arena_str(a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (rc != 0) return rc;
    if (!text.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a token");
    *out = text;
    return 0;
}
