/*
 * str.c: comparing, cutting, reading and hashing byte spans.
 */
#include "base/str.h"

int str_cmp(struct str a, struct str b) {
    size_t n = a.n < b.n ? a.n : b.n;
    int d = n > 0 ? memcmp(a.p, b.p, n) : 0;
    if (d != 0) return d;
    return (a.n > b.n) - (a.n < b.n);
}

bool str_starts(struct str s, struct str prefix) {
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

bool str_ends(struct str s, struct str suffix) {
    return s.n >= suffix.n &&
           (suffix.n == 0 || memcmp(s.p + (s.n - suffix.n), suffix.p, suffix.n) == 0);
}

static unsigned char char_lower(char c) {
    unsigned char u = (unsigned char)c;
    return u >= 'A' && u <= 'Z' ? (unsigned char)(u + ('a' - 'A')) : u;
}

bool str_eq_nocase(struct str a, struct str b) {
    if (a.n != b.n) return false;
    for (size_t i = 0; i < a.n; i++)
        if (char_lower(a.p[i]) != char_lower(b.p[i])) return false;
    return true;
}

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

struct str str_trim(struct str s) {
    while (s.n > 0 && is_blank(s.p[0])) s.p++, s.n--;
    while (s.n > 0 && is_blank(s.p[s.n - 1])) s.n--;
    return s;
}

static bool cut_at(struct str s, const char *at, struct str *head, struct str *tail) {
    if (!at) return false;
    size_t i = (size_t)(at - s.p);
    *head = (struct str){s.p, i};
    *tail = (struct str){at + 1, s.n - i - 1};
    return true;
}

bool str_cut(struct str s, char sep, struct str *head, struct str *tail) {
    return cut_at(s, s.n > 0 ? memchr(s.p, sep, s.n) : NULL, head, tail);
}

bool str_cut_last(struct str s, char sep, struct str *head, struct str *tail) {
    const char *at = NULL;
    for (size_t i = s.n; i > 0 && !at; i--)
        if (s.p[i - 1] == sep) at = s.p + i - 1;
    return cut_at(s, at, head, tail);
}

bool str_u64(struct str s, uint64_t *out) {
    uint64_t v = 0;
    if (s.n == 0) return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned d = (unsigned)(unsigned char)s.p[i] - '0';
        if (d > 9 || v > (UINT64_MAX - d) / 10) return false;
        v = v * 10 + d;
    }
    *out = v;
    return true;
}

bool str_i64(struct str s, int64_t *out) {
    bool minus = s.n > 0 && s.p[0] == '-';
    uint64_t v;
    if (!str_u64(minus ? (struct str){s.p + 1, s.n - 1} : s, &v)) return false;
    if (v > (uint64_t)INT64_MAX + (minus ? 1 : 0)) return false;
    *out = !minus ? (int64_t)v : v > (uint64_t)INT64_MAX ? INT64_MIN : -(int64_t)v;
    return true;
}

/* --- SipHash-1-3; the 64-bit seed is spread over the two key halves --- */

static uint64_t rotate_left(uint64_t x, unsigned b) { return (x << b) | (x >> (64 - b)); }

static inline __attribute__((always_inline)) void sip_round(uint64_t v[4]) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate_left(v[1], 13) ^ v[0];
    v[3] = rotate_left(v[3], 16) ^ v[2];
    v[0] = rotate_left(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate_left(v[1], 17) ^ v[2];
    v[3] = rotate_left(v[3], 21) ^ v[0];
    v[2] = rotate_left(v[2], 32);
}

/* Fewer than eight bytes: most names are shorter, and calling memcpy would be the dearest part. */
static uint64_t last_bytes(const char *p, size_t n) {
    uint64_t m = 0;
    for (size_t i = 0; i < n; i++) m |= (uint64_t)(unsigned char)p[i] << 8 * i;
    return m;
}

uint64_t str_hash(struct str s, uint64_t seed) {
    uint64_t k0 = seed, k1 = rotate_left(seed * 0x9E3779B97F4A7C15u + 0x632BE59BD9B4E019u, 29);
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                     k1 ^ 0x7465646279746573u};
    size_t i = 0;
    for (; s.n - i >= 8; i += 8) {
        uint64_t m;
        memcpy(&m, s.p + i, 8); /* host order: no value leaves this kind of machine */
        v[3] ^= m;
        sip_round(v);
        v[0] ^= m;
    }
    uint64_t last = last_bytes(i > 0 ? s.p + i : s.p, s.n - i) ^ (uint64_t)s.n << 56;
    v[3] ^= last;
    sip_round(v);
    v[0] ^= last;
    v[2] ^= 0xff;
    for (int r = 0; r < 3; r++) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

bool str_eq_secret(struct str a, struct str b) {
    if (a.n != b.n) return false;
    volatile unsigned char diff = 0;
    for (size_t i = 0; i < a.n; i++) diff = (unsigned char)(diff | (a.p[i] ^ b.p[i]));
    return diff == 0;
}
