/*
 * interrupt_token.h: interrupts without a credential (INT-35 to INT-40, AUTH-14): who gets a token,
 * and what it authorises.  Layer: wire/common.
 */
#ifndef WOPR_WIRE_COMMON_INTERRUPT_TOKEN_H
#define WOPR_WIRE_COMMON_INTERRUPT_TOKEN_H

#include "store/interrupts.h"
#include "wire/common/wire.h"

/* The authorize function of OP_TOKEN operations; ctx is the adapter.  Judges the token itself, then
 * its interrupt, which is left in c->user for the handler.  INTERRUPT_NOT_FOUND, INTERRUPT_EXPIRED,
 * FORBIDDEN (INT-40). */
int wire_token_authorize(void *ctx, struct http_call *c, struct wopr_error *err);
/* The interrupt that wire_token_authorize left; c->user is free again. */
const struct interrupt_row *wire_token_row_take(struct http_call *c);
/* May a token open this interrupt?  No for the auth-required profile (INT-40) and for interrupts
 * that name their approvers: a token is not on that list (INT-27). */
MUST_CHECK int wire_token_allowed(struct wire *w, const struct interrupt_row *row, struct arena *a,
                                  bool *out, struct wopr_error *err);
/* A fresh token for an open interrupt, in a. */
MUST_CHECK int wire_token_mint(struct wire *w, const struct interrupt_row *row, int64_t now_ms,
                               struct arena *a, struct str *out, struct wopr_error *err);

#endif
