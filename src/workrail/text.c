/*
 * text.c: see text.h.
 */
#include "workrail/text.h"

#include <math.h>
#include <stdlib.h>

static const char OVERFLOWN[] = "[TRUNCATED]";
enum { CANONICAL_GROWTH = 8, NUMBER_SIZE = 32 };

int wr_canonical(struct str text, const struct json_limits *lim, struct arena *a, struct str *out,
                 struct wr_fault *f) {
    struct wr_fault own;
    struct buf b;
    if (f == NULL) f = &own;
    int rc = json_check(text, lim, &f->e);
    if (rc != 0) return wr_fail_as(f, WR_CANONICAL_JSON_UNSUPPORTED_VALUE, rc);
    /* An escape that becomes a character is shorter; a number grows to at most 25 bytes. */
    buf_init(&b, CANONICAL_GROWTH * text.n + NUMBER_SIZE);
    rc = json_canonical(text, &b, &f->e);
    if (rc == 0) {
        *out = arena_str(a, buf_str(&b));
        if (out->p == NULL) rc = WOPR_E_NO_MEMORY;
    }
    buf_fini(&b);
    return wr_fail_as(f, WR_CANONICAL_JSON_NON_FINITE_NUMBER, rc);
}

int wr_canonical_number(double v, struct buf *b, struct wr_fault *f) {
    char out[NUMBER_SIZE];
    if (!isfinite(v))
        return wr_fail(f, WR_CANONICAL_JSON_NON_FINITE_NUMBER, "",
                       "a number is not finite; leave it out");
    buf_add(b, out, json_number_format(v, out));
    return 0;
}

int wr_is_canonical(struct str text, bool *is, struct wr_fault *f) {
    struct wr_fault own;
    struct buf b;
    if (f == NULL) f = &own;
    buf_init(&b, CANONICAL_GROWTH * text.n + NUMBER_SIZE);
    int rc = json_canonical(text, &b, &f->e);
    *is = rc == 0 && str_eq(buf_str(&b), text);
    buf_fini(&b);
    return rc == WOPR_E_NO_MEMORY ? wr_no_memory(f) : 0;
}

/* --- truncation --- */

size_t wr_fit_bytes(struct str text, size_t budget, bool *cut) {
    const size_t marker = WR_MARKER.n;
    *cut = text.n > budget;
    if (!*cut) return text.n;
    size_t n = budget > marker ? budget - marker : 0;
    while (n > 0 && ((unsigned char)text.p[n] & 0xC0) == 0x80) n--; /* not inside a character */
    return n;
}

struct str wr_fit(struct str text, size_t budget, struct arena *a) {
    bool cut;
    size_t n = wr_fit_bytes(text, budget, &cut);
    if (!cut) return arena_str(a, text);
    char *p = arena_alloc(a, n + WR_MARKER.n + 1);
    if (p == NULL) return STR_NONE;
    if (n > 0) memcpy(p, text.p, n);
    memcpy(p + n, WR_MARKER.p, WR_MARKER.n);
    return str_n(p, n + WR_MARKER.n);
}

static int by_bytes(const void *x, const void *y) {
    return str_cmp(*(const struct str *)x, *(const struct str *)y);
}

size_t wr_sort_unique(struct str *v, size_t nr) {
    size_t kept = 0;
    if (nr > 1) qsort(v, nr, sizeof *v, by_bytes);
    for (size_t i = 0; i < nr; i++)
        if (kept == 0 || !str_eq(v[kept - 1], v[i])) v[kept++] = v[i];
    return kept;
}

int wr_issues_fit(const struct wr_texts *in, size_t each_max, struct arena *a,
                  struct wr_texts *out) {
    const size_t room = WR_ISSUES_MAX - (sizeof OVERFLOWN - 1);
    struct str *v = ARENA_ARRAY(a, struct str, in->nr + 1);
    size_t sum = 0, nr;
    if (v == NULL) return WOPR_E_NO_MEMORY;
    if (in->nr > 0) memcpy(v, in->v, in->nr * sizeof *v);
    nr = wr_sort_unique(v, in->nr);
    for (size_t i = 0; i < nr; i++) {
        v[i] = wr_fit(v[i], each_max, a);
        if (v[i].p == NULL) return WOPR_E_NO_MEMORY;
        if (sum + v[i].n > room) {
            v[i] = STR(OVERFLOWN);
            nr = i + 1;
            break;
        }
        sum += v[i].n;
    }
    *out = (struct wr_texts){v, nr};
    return 0;
}

size_t wr_utf16_units(struct str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        n += (c & 0xC0) != 0x80;
        n += c >= 0xF0;
    }
    return n;
}
