/*
 * bounds.h: the bounds of bounds.def as constants.  Layer: domain (pure).
 */
#ifndef WOPR_DOMAIN_BOUNDS_H
#define WOPR_DOMAIN_BOUNDS_H

#include <stddef.h>
#include <stdint.h>

#define BOUND(name, type, value, unit, asked, what, beyond) static const type name = (value);
#include "domain/bounds.def"
#undef BOUND

enum bound_asked { BOUND_BY_REGISTER, BOUND_BY_CALLER, BOUND_BY_NODE, BOUND_BY_FOLD };
struct bound_row {
    const char *name;
    int64_t value;
    enum bound_asked asked;
};
extern const struct bound_row BOUND_ROWS[]; /* ends with a NULL name; tests walk it */

#endif
