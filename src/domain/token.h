/*
 * token.h: signed interrupt tokens (INT-35 to INT-38, D45 to D47).  Layer: domain.  Pure: secrets
 * and the time are given.
 *
 * token   = "ow2.hs256." kid "." base64url(payload) "." base64url(mac)
 * payload = {"runId","nodeId","interruptId","expiresAt","intent":"resolve","tenant"}
 * mac     = HMAC-SHA256(secret of kid, every byte before the last dot)
 *
 * Base64url has no padding; expiresAt is a date-time (GEN-2).  The token is the authority: its
 * bearer may read and resolve that one interrupt until it expires.  Never logged or stored.
 */
#ifndef WOPR_DOMAIN_TOKEN_H
#define WOPR_DOMAIN_TOKEN_H

#include "base/arena.h"
#include "base/buf.h"

enum {
    TOKEN_SECRET_BYTES = 32,
    TOKEN_KID_CHARS = 64, /* [A-Za-z0-9_-] */
    TOKEN_BYTES_MAX = 2048
};

struct token_claims {
    struct str run_id, node_id, interrupt_id, tenant;
    int64_t expires_ms;
};
/* The parts of a token, before anything is verified. */
struct token_parts {
    struct str kid, payload, mac, signed_bytes; /* spans of the text; payload and mac encoded */
};

/* Append the token to out.  VALIDATION when kid or an id is empty or too long,
 * TOO_BIG, NO_MEMORY. */
MUST_CHECK int token_encode(const struct token_claims *c, struct str kid,
                            const uint8_t secret[TOKEN_SECRET_BYTES], struct buf *out,
                            struct wopr_error *err);
/* Cut a text into its parts; false when it does not have the shape of a token. */
bool token_cut(struct str text, struct token_parts *out);
/* 0 and *out (texts in a) for an authentic token; INTERRUPT_NOT_FOUND for anything else, in the
 * same words whatever is wrong (INT-37: no oracle); INTERRUPT_EXPIRED when authentic and now_ms >=
 * expiresAt; NO_MEMORY.  The MAC is compared in constant time, before the payload is parsed. */
MUST_CHECK int token_verify(const struct token_parts *t, const uint8_t secret[TOKEN_SECRET_BYTES],
                            int64_t now_ms, struct arena *a, struct token_claims *out,
                            struct wopr_error *err);
/* The expiry of a token minted now (INT-37): the interrupt's own deadline (deadline_ms > 0), else
 * now plus lifetime_ms. */
int64_t token_expiry(int64_t now_ms, int64_t lifetime_ms, int64_t deadline_ms);

#endif
