/*
 * echo.c: a secret that a peer repeats, see echo.h.  At worst the time is the product of the bytes
 * of the text and of the secret.
 */
#include "codec/echo.h"

#include <string.h>

#define ESCAPES_MAX 15u /* backslashes before one byte: JSON in JSON in JSON in JSON */
#define HEX         4u  /* digits of a \u */
#define PARTIAL     SIZE_MAX

static int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* What is behind the u of a \u: 1 this byte, 0 another, -1 not all there. */
static int unicode_is(struct str at, char c) {
    unsigned v = 0;
    for (size_t i = 0; i < HEX; i++) {
        if (i == at.n) return -1;
        int d = hex_value(at.p[i]);
        if (d < 0) return 0;
        v = v << 4 | (unsigned)d;
    }
    return v == (unsigned char)c;
}

/* Bytes with which at begins and that spell the byte c; 0: none, PARTIAL: it may with more. */
static size_t byte_spelled(struct str at, char c) {
    size_t n = 0;
    while (n < at.n && n <= ESCAPES_MAX && at.p[n] == '\\') n++;
    if (n > ESCAPES_MAX) return 0;
    if (c == '\\' && n > 0) return n;
    if (n == at.n) return PARTIAL;
    if (n > 0 && at.p[n] == 'u') {
        int is = unicode_is(str_n(at.p + n + 1, at.n - n - 1), c);
        if (is != 0) return is > 0 ? n + 1 + HEX : PARTIAL;
    }
    return at.p[n] == c ? n + 1 : 0;
}

static size_t echo_spelled(struct str at, struct str secret) {
    size_t n = 0;
    for (size_t i = 0; i < secret.n; i++) {
        if (i > 0 && secret.p[i] == '\\' && secret.p[i - 1] == '\\') continue;
        size_t k = byte_spelled(str_n(at.p + n, at.n - n), secret.p[i]);
        if (k == 0 || k == PARTIAL) return k;
        n += k;
    }
    return n;
}

size_t echo_mask(struct str text, struct str secret, bool end, struct buf *out) {
    size_t from = 0, i = 0; /* from: what is not passed on yet */
    while (secret.n > 0 && i < text.n) {
        if (text.p[i] != secret.p[0] && text.p[i] != '\\') {
            i++;
            continue;
        }
        size_t k = echo_spelled(str_n(text.p + i, text.n - i), secret);
        if (k == PARTIAL && !end) break;
        if (k == 0 || k == PARTIAL) {
            i++;
            continue;
        }
        buf_add(out, text.p + from, i - from);
        buf_addz(out, "[REDACTED]");
        i += k;
        from = i;
    }
    size_t to = secret.n > 0 ? i : text.n;
    buf_add(out, text.p + from, to - from);
    return text.n - to;
}
