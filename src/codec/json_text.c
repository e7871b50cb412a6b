/*
 * json_text.c: the text inside strings: UTF-8, and the bytes that content with escapes stands for.
 */
#include "codec/json_scan.h"

/* --- UTF-8 --- */

size_t utf8_sequence(const char *p, size_t n) {
    const unsigned char *z = (const unsigned char *)p;
    if (n == 0) return 0;
    if (z[0] < 0x80) return 1;
    if (z[0] < 0xC2 || z[0] > 0xF4) return 0; /* continuation, overlong, beyond U+10FFFF */
    size_t need = z[0] < 0xE0 ? 2 : z[0] < 0xF0 ? 3 : 4;
    if (n < need) return 0;
    unsigned char min = 0x80, max = 0xBF;
    if (z[0] == 0xE0) min = 0xA0;
    if (z[0] == 0xED) max = 0x9F; /* surrogates */
    if (z[0] == 0xF0) min = 0x90;
    if (z[0] == 0xF4) max = 0x8F;
    if (z[1] < min || z[1] > max) return 0;
    for (size_t i = 2; i < need; i++)
        if ((z[i] & 0xC0) != 0x80) return 0;
    return need;
}

/* Eight bytes of ASCII. */
static bool text_is_ascii8(const char *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return (v & 0x8080808080808080u) == 0;
}

bool utf8_valid(struct str s) {
    for (size_t i = 0, n; i < s.n; i += n) {
        while (s.n - i >= 8 && text_is_ascii8(s.p + i)) i += 8;
        if (i == s.n) break;
        n = utf8_sequence(s.p + i, s.n - i);
        if (n == 0) return false;
    }
    return true;
}

size_t utf8_count(struct str s) {
    size_t count = 0;
    for (size_t i = 0; i < s.n; i++) count += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    return count;
}

static size_t utf8_put(unsigned cp, char out[4]) {
    if (cp < 0x80) {
        out[0] = (char)cp;
        return 1;
    }
    if (cp < 0x800) {
        out[0] = (char)(0xC0 | cp >> 6);
        out[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        out[0] = (char)(0xE0 | cp >> 12);
        out[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        out[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | cp >> 18);
    out[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    out[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    out[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

/* --- strings --- */

static bool hex4_read(const char *p, const char *end, unsigned *out) {
    unsigned v = 0;
    if (end - p < 4) return false;
    for (int i = 0; i < 4; i++) {
        unsigned c = (unsigned char)p[i];
        unsigned d = c - '0' <= 9 ? c - '0' : (c | 0x20) - 'a' <= 5 ? (c | 0x20) - 'a' + 10 : 16;
        if (d > 15) return false;
        v = v << 4 | d;
    }
    *out = v;
    return true;
}

static size_t unescape_u(const char **p, const char *end, char out[4]) {
    unsigned hi, lo;
    const char *q = *p + 2;
    if (!hex4_read(q, end, &hi)) return 0;
    q += 4;
    if (hi >= 0xD800 && hi <= 0xDFFF) {
        bool pair = hi <= 0xDBFF && end - q >= 6 && q[0] == '\\' && q[1] == 'u' &&
                    hex4_read(q + 2, end, &lo) && lo >= 0xDC00 && lo <= 0xDFFF;
        if (!pair) return 0;
        hi = 0x10000 + ((hi - 0xD800) << 10) + (lo - 0xDC00);
        q += 6;
    }
    *p = q;
    return utf8_put(hi, out);
}

size_t json_unescape(const char **p, const char *end, char out[4]) {
    static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
    const char *q = *p;
    if (q >= end) return 0;
    if (*q != '\\') {
        out[0] = *q;
        *p = q + 1;
        return 1;
    }
    if (end - q < 2) return 0;
    if (q[1] == 'u') return unescape_u(p, end, out);
    const char *hit = q[1] ? strchr(FROM, q[1]) : NULL;
    if (!hit) return 0;
    out[0] = TO[hit - FROM];
    *p = q + 2;
    return 1;
}

bool json_content_eq(struct str content, bool escaped, struct str plain) {
    if (!escaped) return str_eq(content, plain);
    if (content.n < plain.n) return false; /* escapes are never shorter than what they mean */
    const char *p = content.p, *end = p + content.n;
    size_t at = 0;
    char u[4];
    for (size_t n; (n = json_unescape(&p, end, u)) > 0; at += n)
        if (n > plain.n - at || memcmp(u, plain.p + at, n) != 0) return false;
    return at == plain.n && p == end;
}

/* Unescape into out, which has room for content.n bytes. */
static size_t unescape_all(struct str content, char *out) {
    const char *p = content.p, *end = p + content.n;
    size_t len = 0;
    char u[4];
    while (p < end) {
        const char *escape = memchr(p, '\\', (size_t)(end - p));
        size_t run = (size_t)((escape ? escape : end) - p);
        memcpy(out + len, p, run);
        len += run;
        p += run;
        size_t n = json_unescape(&p, end, u);
        if (n == 0) break;
        memcpy(out + len, u, n);
        len += n;
    }
    return len;
}

struct str json_content(struct str content, bool escaped, struct arena *a) {
    if (!escaped) return content;
    char *out = arena_alloc(a, content.n + 1);
    return out ? (struct str){out, unescape_all(content, out)} : STR_NONE;
}
