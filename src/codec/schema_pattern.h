/*
 * schema_pattern.h: patterns: schema_pattern.c translates them, schema_regex.c runs them on PCRE2.
 * Layer: codec, private to schema*.c.
 */
#ifndef WOPR_CODEC_SCHEMA_PATTERN_H
#define WOPR_CODEC_SCHEMA_PATTERN_H

#include "codec/schema_internal.h"

struct schema_pattern_cost {
    size_t fixed; /* bytes a start may scan before the first callout counts it */
    bool backrefs;
    bool dot_all; /* in: "." takes line ends too */
};
/* ECMA-262 (unicode mode, lenient on needless escapes) to PCRE2.  0, WOPR_E_VALIDATION with *why a
 * static sentence, or WOPR_E_NO_MEMORY / WOPR_E_TOO_BIG. */
int schema_pattern_translate(struct str src, struct buf *out, struct schema_pattern_cost *cost,
                             const char **why);
/* Compiled once per text in a set. */
int schema_pattern_get(struct schema_set *s, struct str src, const struct schema_pattern **out,
                       const char **why);
void schema_pattern_list_free(struct schema_pattern *list);
bool schema_pattern_valid(struct str src);
/* 0 with *matches set, WOPR_E_TOO_BIG when *steps is spent, WOPR_E_NO_MEMORY. */
int schema_pattern_match(const struct schema_pattern *p, struct str subject, uint64_t *steps,
                         bool *matches);

#endif
