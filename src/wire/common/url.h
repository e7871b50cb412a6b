/*
 * url.h: which callback URLs a host takes (RUN-1).  Layer: wire/common.
 */
#ifndef WOPR_WIRE_COMMON_URL_H
#define WOPR_WIRE_COMMON_URL_H

#include "base/str.h"

#define WIRE_URL_BYTES 2048u
/* An absolute http or https URI (RFC 3986) without user information, of at most WIRE_URL_BYTES. */
bool wire_callback_url_valid(struct str url);

#endif
