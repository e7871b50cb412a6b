/*
 * interrupt_token.h: access to one interrupt without a credential (INT-35 to INT-40, AUTH-14): who
 * gets a token, and what it authorises.  Layer: wire/common.
 */
#ifndef WOPR_WIRE_COMMON_INTERRUPT_TOKEN_H
#define WOPR_WIRE_COMMON_INTERRUPT_TOKEN_H

#include "store/interrupts.h"
#include "wire/common/wire.h"

/* The authorize function of OP_TOKEN operations; ctx is the adapter.  Checks the token, then its
 * interrupt, and leaves that in c->user for the handler.  INTERRUPT_NOT_FOUND, INTERRUPT_EXPIRED,
 * FORBIDDEN (INT-40). */
int wire_token_authorize(void *ctx, struct http_call *c, struct wopr_error *err);
/* The interrupt that wire_token_authorize found.  Clears c->user, so the handler may use it. */
const struct interrupt_row *wire_token_row_take(struct http_call *c);
/* May this interrupt have a token? No for the auth-required profile (INT-40) and for interrupts
 * that name their approvers: a token is not on that list (INT-27). */
MUST_CHECK int wire_token_allowed(struct wire *w, const struct interrupt_row *row, struct arena *a,
                                  bool *out, struct wopr_error *err);
/* A new token for an open interrupt, in a. */
MUST_CHECK int wire_token_mint(struct wire *w, const struct interrupt_row *row, int64_t now_ms,
                               struct arena *a, struct str *out, struct wopr_error *err);

#endif
