/*
 * pattern.h: one regular expression of ECMA-262, outside of a schema.  Layer: codec.
 * The same reader and the same bounds as patterns of schemas (schema_pattern.c, schema_regex.c).
 */
#ifndef WOPR_CODEC_PATTERN_H
#define WOPR_CODEC_PATTERN_H

#include "base/error.h"
#include "base/str.h"

struct pattern;
#define PATTERN_STEPS_MAX UINT64_C(1000000) /* what one validation of a schema may take, too */
/* flags: any of i, m, s, u, each once.  VALIDATION with a sentence about the pattern, NO_MEMORY. */
MUST_CHECK int pattern_new(struct str src, struct str flags, struct pattern **out,
                           struct wopr_error *err);
void pattern_free(struct pattern *p); /* takes NULL */
/* Whether it occurs in subject.  TOO_BIG: steps are spent; NO_MEMORY.  Thread-safe. */
MUST_CHECK int pattern_match(const struct pattern *p, struct str subject, uint64_t *steps,
                             bool *matches);

#endif
