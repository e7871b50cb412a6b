/*
 * resolved.h: credentials that a run was given, so that what it writes into memory can be cleared
 * of them (MEM-10).  Layer: engine, not for others.  They are in memory only, until the run leaves
 * it.
 */
#ifndef WOPR_ENGINE_RESOLVED_H
#define WOPR_ENGINE_RESOLVED_H

#include "base/str.h"

#define RESOLVED_MAX 64u /* different values of one run; a rotated one is another */

struct resolved { /* of a run */
    struct resolved *next;
    size_t name_n, n;
    char text[]; /* the name, then the value */
};
struct resolved_list {
    struct resolved *first;
    size_t nr;
    bool lost; /* one could not be kept: nothing more may be written into memory */
};
void resolved_note(struct resolved_list *l, struct str name, struct str value);
void resolved_free(struct resolved_list *l); /* overwrites them */

#endif
