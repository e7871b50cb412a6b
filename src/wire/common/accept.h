/*
 * accept.h: which form of the event route a client accepts.  Layer: wire/common.
 */
#ifndef WOPR_WIRE_COMMON_ACCEPT_H
#define WOPR_WIRE_COMMON_ACCEPT_H

#include "base/str.h"

/* An Accept header that names application/json and not text/event-stream (HTTP-20, SSE-3); a type
 * with q=0 is not named. */
bool wire_accept_json(struct str accept);

#endif
