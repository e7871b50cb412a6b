/*
 * message.c: the body of a delivery and its signature; see message.h.
 */
#include "hooks/message.h"

#include "codec/json.h"

#include <string.h>

static void body_open(hook_render_fn *render, struct str run_id, struct str tenant,
                      const struct event *e, struct buf *out) {
    buf_addz(out, "{\"runId\":");
    json_quote(out, run_id);
    buf_addz(out, ",\"workspaceId\":");
    json_quote(out, tenant);
    buf_addz(out, ",\"event\":");
    render(run_id, e, out);
}

void hook_message(hook_render_fn *render, struct str run_id, struct str tenant,
                  const struct event *e, int64_t now_s, struct buf *out, size_t *body_at) {
    buf_add_i64(out, now_s);
    buf_addc(out, '.');
    *body_at = out->len;
    body_open(render, run_id, tenant, e, out);
    buf_addc(out, '}');
}

void hook_call_body(hook_render_fn *render, struct str run_id, struct str tenant,
                    const struct event *e, struct str question, struct buf *out) {
    body_open(render, run_id, tenant, e, out);
    buf_addz(out, ",\"interrupt\":");
    buf_adds(out, question);
    buf_addc(out, '}');
}

void hook_sign(struct str secret, struct str message, char out[HOOK_SIGNATURE_SIZE]) {
    struct sha256 mac = hmac_sha256(secret, message);
    memcpy(out, "sha256=", 7);
    sha256_hex(&mac, out + 7);
}

void hook_fingerprint(struct str secret, char out[HOOK_FINGERPRINT_LEN + 1]) {
    char hex[65];
    struct sha256 d = sha256_of(secret);
    sha256_hex(&d, hex);
    memcpy(out, hex, HOOK_FINGERPRINT_LEN);
    out[HOOK_FINGERPRINT_LEN] = '\0';
}
