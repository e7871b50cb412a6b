/*
 * find.h: one text looked for in others (Knuth-Morris-Pratt).  Layer: base.
 * Linear in both, whatever they hold: foreign bytes meet foreign bytes here.
 */
#ifndef WOPR_BASE_FIND_H
#define WOPR_BASE_FIND_H

#include "base/arena.h"

struct needle {
    struct str text; /* borrowed, not empty */
    size_t *border;  /* per prefix: length of its longest own prefix that is also its end */
};
/* Memory is taken from a: 8 bytes per byte of text.  0 or WOPR_E_NO_MEMORY. */
MUST_CHECK int needle_make(struct needle *n, struct str text, struct arena *a);

/* All occurrences in one text, overlapping ones too, in one pass. */
struct finder {
    const struct needle *needle;
    struct str in;
    size_t at;      /* bytes of `in` read so far */
    size_t matched; /* of the needle, at the end of these */
    size_t start;   /* of the last occurrence found */
    bool found;     /* there is one */
};
/* Both are borrowed until the last finder_next; `in` may grow meanwhile. */
void finder_begin(struct finder *f, const struct needle *n, struct str in);
/* Start of the first occurrence at or after `from`, in.n when there is none.  `from` never moves
 * back between two calls. */
size_t finder_next(struct finder *f, size_t from);

#endif
