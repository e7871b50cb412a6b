/*
 * echo.h: a secret that a peer repeats, also where JSON spells it: "\/", "\u0041", and both once
 * more in JSON that is a text of JSON.  Layer: codec.
 */
#ifndef WOPR_CODEC_ECHO_H
#define WOPR_CODEC_ECHO_H

#include "base/buf.h"

/* Appends the text with [REDACTED] for each spelling of the secret.  Unless it is the end, returns
 * how many last bytes were kept back, because a spelling may begin there. */
size_t echo_mask(struct str text, struct str secret, bool end, struct buf *out);

#endif
