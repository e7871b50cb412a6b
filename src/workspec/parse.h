/*
 * parse.h: text to the tree of a document (WS-4 to WS-9).  Layer: workspec.
 *
 * JSON is read strictly; of a name that occurs twice the last value counts, at the place of the
 * first.  YAML is read as the JSON it spells: plain scalars are null, true, false, JSON
 * numbers, or
 * strings; what JSON has no counterpart for is refused (anchors, aliases, tags, merge keys, names
 * that occur twice, keys that are no scalars, directives, second documents).  Nothing recurses.
 */
#ifndef WOPR_WORKSPEC_PARSE_H
#define WOPR_WORKSPEC_PARSE_H

#include "codec/bytes.h"
#include "workspec/value.h"

/* WS-9: how much there may be; beyond it H18.  values bounds memory: everything in a document
 * that
 * is not a name. */
struct ws_limits {
    size_t bytes, depth, values;
    size_t objects, tasks, task_interactions, interactions, changes, dependencies, locations;
};
extern const struct ws_limits WS_LIMITS_DEFAULT;
/* What a document within the default limits, its problems, plan and world need at most. */
#define WS_ARENA_BYTES_MAX ((size_t)768 * 1024 * 1024)

enum ws_format { WS_JSON, WS_YAML };
struct ws_excess { /* which limit was met; limit NULL: none */
    const char *limit;
    uint64_t maximum, observed;
};
struct ws_doc {
    const struct ws_value *root; /* NULL when a limit was met */
    struct ws_excess excess;
    struct sha256 digest; /* of the bytes as they came */
};
/* The tree is of a and does not borrow text.  Errors: SYNTAX (not JSON, not YAML; the message has
 * line, column and remedy), NO_MEMORY.  Size, depth and number of values that are beyond their
 * limits are no error but out->excess. */
MUST_CHECK int ws_parse(struct str text, enum ws_format format, const struct ws_limits *limits,
                        struct arena *a, struct ws_doc *out, struct wopr_error *err);
/* By the ending of a file's name: .yaml and .yml are YAML, all else is JSON. */
enum ws_format ws_format_of(struct str name);
/* Whether s is a number by the grammar of JSON, and one that a finite double holds. */
enum ws_numeral { WS_NO_NUMERAL, WS_NUMERAL, WS_NUMERAL_TOO_LARGE };
enum ws_numeral ws_number_of(struct str s, double *out);

#endif
