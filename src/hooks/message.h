/*
 * message.h: the body of a delivery and its signature (HOOK-8 to HOOK-10).  Layer: hooks (pure).
 */
#ifndef WOPR_HOOKS_MESSAGE_H
#define WOPR_HOOKS_MESSAGE_H

#include "base/buf.h"
#include "codec/bytes.h"
#include "domain/event.h"

/* Appends RunEventDoc, the same bytes as on a stream. */
typedef void hook_render_fn(struct str run_id, const struct event *e, struct buf *out);

/* out: "<seconds>." and the body, which begins at *body_at; together they are what is signed.  out
 * has failed when the event is too large for its bound. */
void hook_message(hook_render_fn *render, struct str run_id, struct str tenant,
                  const struct event *e, int64_t now_s, struct buf *out, size_t *body_at);
/* The body of a callback: that of a delivery, and beside the event its question as the wire shows
 * it (RUN-1). */
void hook_call_body(hook_render_fn *render, struct str run_id, struct str tenant,
                    const struct event *e, struct str question, struct buf *out);
/* "sha256=" and 64 lower-case digits.  The key is the text of the secret, not what it may spell in
 * hexadecimal. */
#define HOOK_SIGNATURE_SIZE (7 + 64 + 1)
void hook_sign(struct str secret, struct str message, char out[HOOK_SIGNATURE_SIZE]);
/* First 8 digits of SHA-256 of the secret's text (HOOK-5). */
#define HOOK_FINGERPRINT_LEN 8
void hook_fingerprint(struct str secret, char out[HOOK_FINGERPRINT_LEN + 1]);

#endif
