/*
 * fold.c: see fold.h.
 */
#include "codec/fold.h"

#include "base/buf.h"
#include "codec/json.h"

#include <unicase.h>
#include <uninorm.h>

enum { NAME_BYTES_MAX = 1024, FOLDED_BYTES_MAX = 16 * NAME_BYTES_MAX };

static bool is_ascii(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] >= 0x80) return false;
    return true;
}

static struct str ascii_lower(struct str s, struct arena *a) {
    char *p = arena_alloc(a, s.n);
    if (!p) return STR_NONE;
    for (size_t i = 0; i < s.n; i++)
        p[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
    return str_n(p, s.n);
}

struct str fold_name(struct str name, struct arena *a) {
    if (name.n == 0 || name.n > NAME_BYTES_MAX || !utf8_valid(name)) return STR_NONE;
    if (is_ascii(name)) return ascii_lower(name, a);
    uint8_t out[FOLDED_BYTES_MAX]; /* the library takes memory of its own only beyond that */
    size_t n = sizeof out;
    uint8_t *p = u8_casefold((const uint8_t *)name.p, name.n, NULL, UNINORM_NFC, out, &n);
    if (p != out) return STR_NONE;
    return arena_str(a, str_n((const char *)p, n));
}

enum { PIECE_BYTES_MAX = 1024, WIDE_BYTES_MAX = 12 * PIECE_BYTES_MAX, LOW_BYTES_MAX = 24 * 1024 };

/* A piece that ends before an ASCII character, which never composes with what is before it; or,
 * where there is none, before any character. */
static size_t piece_bytes(struct str s) {
    size_t n = s.n < PIECE_BYTES_MAX ? s.n : PIECE_BYTES_MAX, ascii = n;
    if (n == s.n) return n;
    while (ascii > 0 && (unsigned char)s.p[ascii] >= 0x80) ascii--;
    if (ascii > 0) return ascii;
    while (((unsigned char)s.p[n] & 0xC0) == 0x80) n--;
    return n;
}

/* NFKC may not be lower case, and lower case not NFKC (WR-180): normalised first.  No character
 * grows beyond elevenfold, so the library takes no memory of its own. */
static bool piece_fold(struct str s, struct buf *out) {
    uint8_t wide[WIDE_BYTES_MAX], low[LOW_BYTES_MAX];
    size_t n = sizeof wide, low_n = sizeof low;
    if (u8_normalize(UNINORM_NFKC, (const uint8_t *)s.p, s.n, wide, &n) != wide) return false;
    if (n == 0) return true;
    if (u8_tolower(wide, n, NULL, NULL, low, &low_n) != low) return false;
    buf_add(out, low, low_n);
    return true;
}

struct str fold_search(struct str text, struct arena *a) {
    struct buf b;
    if (!utf8_valid(text)) return STR_NONE;
    if (is_ascii(text)) return ascii_lower(text, a);
    buf_init(&b, 16 * text.n + 1);
    bool good = true;
    while (good && text.n > 0) {
        size_t n = piece_bytes(text);
        good = piece_fold(str_n(text.p, n), &b);
        text = str_n(text.p + n, text.n - n);
    }
    struct str out = good && !buf_failed(&b) ? arena_str(a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    return out;
}
