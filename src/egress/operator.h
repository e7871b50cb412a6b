/*
 * operator.h: one request of the command line to the host its user named.  Layer: egress.  Not for
 * the serving host: the address guard does not apply, because the operator typed the address.  The
 * proxy variables of the environment are not used, redirects are not followed (they could send the
 * key elsewhere), TLS is verified.
 */
#ifndef WOPR_EGRESS_OPERATOR_H
#define WOPR_EGRESS_OPERATOR_H

#include "base/arena.h"
#include "base/buf.h"

struct operator_request {
    const char *base;            /* "http://127.0.0.1:8080", no slash at the end */
    const char *key;             /* API key, NULL = none */
    const char *method;          /* "GET", "POST" */
    struct str path;             /* "/v1/...", escaped */
    struct str body;             /* p NULL = none */
    const char *content_type;    /* of the body; NULL = application/json */
    const char *const *headers;  /* "Name: value" lines, NULL-terminated; NULL = none */
    const char *idempotency_key; /* NULL = none */
    int timeout_ms;
};
struct operator_answer {
    int status;
    struct str body; /* in the arena */
};
/* 0 when the host answered, with whatever status; IO (unreachable or timed out; the message names
 * the address), TOO_BIG, CONFIG (an address that is no URL), NO_MEMORY. */
MUST_CHECK int operator_ask(const struct operator_request *r, struct arena *a,
                            struct operator_answer *out, struct wopr_error *err);

#endif
