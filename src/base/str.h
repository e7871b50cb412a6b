/*
 * str.h: borrowed byte spans.  Layer: base.
 * A struct str never owns; it lives as long as what it points into.  p may be NULL only when n ==
 * 0.
 */
#ifndef WOPR_BASE_STR_H
#define WOPR_BASE_STR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str {
    const char *p;
    size_t n;
};
#define STR(lit)   ((struct str){(lit), sizeof(lit) - 1})
#define STR_NONE   ((struct str){NULL, 0})
#define STR_FMT    "%.*s"
#define STR_ARG(s) (int)(s).n, (s).p

static inline struct str str_c(const char *z) { return (struct str){z, z ? strlen(z) : 0}; }
static inline struct str str_n(const char *p, size_t n) { return (struct str){p, n}; }
/* One past the last byte; defined for STR_NONE too (NULL + 0 is not). */
static inline const char *str_end(struct str s) { return s.n > 0 ? s.p + s.n : s.p; }
static inline bool str_eq(struct str a, struct str b) {
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool str_eqc(struct str a, const char *z) { return str_eq(a, str_c(z)); }
int str_cmp(struct str a, struct str b); /* bytewise, shorter first on a common prefix */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
bool str_eq_nocase(struct str a, struct str b); /* ASCII only */
struct str str_trim(struct str s);              /* ASCII blanks and tabs, both ends */
/* Split at the first sep: *head before it, *tail after it.  false when sep does not occur. */
bool str_cut(struct str s, char sep, struct str *head, struct str *tail);
bool str_cut_last(struct str s, char sep, struct str *head, struct str *tail);
/* Decimal digits only, no sign, no blanks; false on overflow or anything else. */
bool str_u64(struct str s, uint64_t *out);
bool str_i64(struct str s, int64_t *out); /* optional '-' */
uint64_t str_hash(struct str s, uint64_t seed);
/* Constant-time equality for secrets of equal length; unequal lengths answer false at once. */
bool str_eq_secret(struct str a, struct str b);

#endif
