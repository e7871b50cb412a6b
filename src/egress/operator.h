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

#include <stdatomic.h>

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

/* --- a link: many requests, one after the other, whose answers come in pieces --- */
/* Keeps its connection.  One thread sends; operator_link_wake may come from any. */
struct operator_link;
struct operator_sink {
    /* status and, whether the answer is an event stream, before the first piece of each answer that
     * has a body */
    void (*head)(void *ctx, int status, bool events);
    bool (*take)(void *ctx, struct str bytes); /* false: enough, which is no failure */
    void *ctx;
    const atomic_bool *stop; /* true: give the request up, after operator_link_wake at once */
};
MUST_CHECK int operator_link_new(struct operator_link **out, struct wopr_error *err);
void operator_link_free(struct operator_link *l); /* takes NULL */
/* timeout_ms of r is without meaning: an answer may take as long as something is heard every
 * OPERATOR_SILENCE_S.  0: it is complete, or enough; CLOSED: stopped; else as operator_ask. */
enum { OPERATOR_SILENCE_S = 120 };
MUST_CHECK int operator_link_send(struct operator_link *l, const struct operator_request *r,
                                  const struct operator_sink *sink, int *status,
                                  struct wopr_error *err);
void operator_link_wake(struct operator_link *l);

#endif
