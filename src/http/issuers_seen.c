/*
 * issuers_seen.c: signatures of tokens that were verified a short while ago (AUTH-23); see
 * issuers.h.  A set of keys that was replaced has another number, so a rotation forgets what the
 * old one verified.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "http/issuers.h"

#include <stdatomic.h>

uint64_t issuer_keys_number(void) {
    static atomic_uint_fast64_t last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

/* The two places that a token may have. */
static struct issuer_seen *places_of(struct http_issuers *s, const struct sha256 *token) {
    uint32_t at;
    memcpy(&at, token->b, sizeof at);
    return &s->seen[(at % (ISSUER_SEEN_NR / 2)) * 2];
}

bool issuers_seen(struct http_issuers *s, const struct sha256 *token, uint64_t keys_no) {
    bool found = false;
    uint64_t now_ms = clock_mono_ms();
    pthread_mutex_lock(&s->seen_mu);
    struct issuer_seen *p = s->seen ? places_of(s, token) : NULL;
    for (size_t i = 0; p && i < 2; i++)
        found = found || (p[i].keys_no == keys_no && now_ms < p[i].until_ms &&
                          sha256_eq(&p[i].token, token));
    pthread_mutex_unlock(&s->seen_mu);
    return found;
}

void issuers_seen_put(struct http_issuers *s, const struct sha256 *token, uint64_t keys_no,
                      int64_t left_ms) {
    if (left_ms <= 0) return;
    if (left_ms > ISSUER_SEEN_MS) left_ms = ISSUER_SEEN_MS;
    pthread_mutex_lock(&s->seen_mu);
    if (!s->seen) s->seen = mem_array(ISSUER_SEEN_NR, sizeof *s->seen);
    struct issuer_seen *p = s->seen ? places_of(s, token) : NULL; /* no memory: verified again */
    if (p && (sha256_eq(&p[1].token, token) ||
              (!sha256_eq(&p[0].token, token) && p[1].until_ms < p[0].until_ms)))
        p++;
    if (p)
        *p = (struct issuer_seen){
            .token = *token, .keys_no = keys_no, .until_ms = clock_mono_ms() + (uint64_t)left_ms};
    pthread_mutex_unlock(&s->seen_mu);
}
