/*
 * guess.c: failed credentials are throttled by the client's address.
 *
 * Each failure takes a token from the bucket of its address; a success takes none.  While the
 * bucket is empty, a failure is answered 429, and a credential is looked up in the store only when
 * it was valid before (part of its hash is remembered).  So clients that share an attacker's
 * address keep working with keys already in use.  A key that this process has not seen yet must
 * wait for the next token, at the latest until the attack is over.
 */
#include "http/ratelimit.h"
#include "http/request.h"
#include "http/server.h"

static uint64_t hash_part(const struct sha256 *h, size_t at) {
    uint64_t v;
    memcpy(&v, h->b + at, sizeof v);
    return v;
}

static atomic_uint_fast64_t *known_place(struct guesses *g, const struct sha256 *h) {
    return &g->known[hash_part(h, 0) % GUESS_KNOWN];
}

void guess_known(struct http_server *s, const struct sha256 *hash) {
    if (!s->guesses.limiter) return;
    atomic_uint_fast64_t *p = known_place(&s->guesses, hash);
    uint64_t v = hash_part(hash, sizeof v);
    if (atomic_load_explicit(p, memory_order_relaxed) != v)
        atomic_store_explicit(p, v, memory_order_relaxed);
}

static bool key_is_known(struct http_server *s, struct str credential) {
    struct sha256 h = hmac_key_of(s->pepper, credential);
    return atomic_load_explicit(known_place(&s->guesses, &h), memory_order_relaxed) ==
           hash_part(&h, sizeof(uint64_t));
}

static int guess_refuse(struct exchange *x, const struct limit_state *st, struct wopr_error *err) {
    x->refusal = REFUSED_GUESSES;
    return limiter_refuse(st, "route", NULL, err);
}

int guess_admit(struct exchange *x, struct str credential, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    struct limit_state st = {0};
    char who[LIMIT_WHO_BYTES];
    if (!s->guesses.limiter) return 0;
    if (limiter_peek(s->guesses.limiter, limit_address(x, who), &st)) return 0;
    return key_is_known(s, credential) ? 0 : guess_refuse(x, &st, err);
}

int guess_result(struct exchange *x, int rc, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    struct limit_state st = {0};
    char who[LIMIT_WHO_BYTES];
    bool failed =
        rc == WOPR_E_UNAUTHENTICATED || rc == WOPR_E_KEY_EXPIRED || rc == WOPR_E_KEY_REVOKED;
    x->guessed = failed && (!s->guesses.limiter ||
                            limiter_take(s->guesses.limiter, limit_address(x, who), &st));
    if (!failed || x->guessed) return rc;
    return guess_refuse(x, &st, err);
}
