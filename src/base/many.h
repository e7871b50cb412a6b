/*
 * many.h: many texts looked for in one pass.  Layer: base.
 *
 * Each text is found by one window of its bytes, chosen where the other texts have fewest: a place
 * of what is searched costs one look at a filter of 8 KiB, whatever the number of texts.  Texts
 * and bytes may come from somebody who wants a search to be slow, so what is compared is counted,
 * and a search that has compared too much stops and says so.
 */
#ifndef WOPR_BASE_MANY_H
#define WOPR_BASE_MANY_H

#include "base/arena.h"

#define MANY_WINDOW_MAX 8u

struct many;
/* For texts of at least `window` bytes, 1 to MANY_WINDOW_MAX.  NULL: no memory. */
struct many *many_new(struct arena *a, unsigned window);
/* text is borrowed.  0 or WOPR_E_NO_MEMORY. */
MUST_CHECK int many_add(struct many *m, struct str text);
size_t many_nr(const struct many *m);

struct many_scan {
    const struct many *many;
    struct str in;
    size_t at;     /* of the window to be looked at next */
    uint32_t next; /* entry of that window */
    uint64_t work; /* that may still be done */
    bool spent;    /* it was all done: what follows was not searched */
};
/* work: bytes that may be compared, beside one look at each place. */
void many_begin(struct many_scan *s, const struct many *m, struct str in, uint64_t work);
/* The next occurrence: [*start, *start + n) holds one of the texts.  Each is reported, overlapping
 * ones too, by their windows.  false: there is no more, or s->spent. */
bool many_next(struct many_scan *s, size_t *start, size_t *n);

#endif
