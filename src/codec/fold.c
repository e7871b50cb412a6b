/*
 * fold.c: see fold.h.
 */
#include "codec/fold.h"
#include "codec/json.h"

#include <stdlib.h>
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

/* NFKC may not be lower case, and lower case not NFKC (WR-180): normalised first. */
struct str fold_search(struct str text, struct arena *a) {
    size_t n = 0;
    if (!utf8_valid(text)) return STR_NONE;
    if (is_ascii(text)) return ascii_lower(text, a);
    uint8_t *wide = u8_normalize(UNINORM_NFKC, (const uint8_t *)text.p, text.n, NULL, &n);
    if (wide == NULL) return STR_NONE;
    size_t low_n = 0;
    uint8_t *low = u8_tolower(wide, n, NULL, NULL, NULL, &low_n);
    struct str out = low != NULL ? arena_str(a, str_n((const char *)low, low_n)) : STR_NONE;
    free(low);
    free(wide);
    return out;
}
