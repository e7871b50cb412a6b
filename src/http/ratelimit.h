/*
 * ratelimit.h: token buckets in a fixed table.  Layer: http.  From any thread.
 */
#ifndef WOPR_HTTP_RATELIMIT_H
#define WOPR_HTTP_RATELIMIT_H

#include "base/error.h"
#include "base/str.h"

struct limiter;
struct limit_state {
    int64_t retry_ms; /* until the next token */
    unsigned limit, observed;
};
MUST_CHECK int limiter_new(unsigned rate, unsigned burst,
                           struct limiter **out); /* rate 0: *out = NULL */
void limiter_free(struct limiter *l);             /* takes NULL */
/* Takes a token; true when l is NULL. */
bool limiter_take(struct limiter *l, struct str who, struct limit_state *st);
/* Takes n as soon as there is one: what is missing must be refilled before the next. */
bool limiter_spend(struct limiter *l, struct str who, size_t n, struct limit_state *st);
/* n tokens are gone, whether there were as many or not: what was admitted is paid for. */
void limiter_charge(struct limiter *l, struct str who, size_t n);
/* Would limiter_take succeed? */
bool limiter_peek(struct limiter *l, struct str who, struct limit_state *st);
/* why: the sentence for the caller, or NULL. */
int limiter_refuse(const struct limit_state *st, const char *scope, const char *why,
                   struct wopr_error *err);

#endif
