/*
 * scope.h: the scope vocabulary (AUTH-5, AUTH-6: no implication between scopes).  Layer: domain.
 */
#ifndef WOPR_DOMAIN_SCOPE_H
#define WOPR_DOMAIN_SCOPE_H

#include "base/buf.h"

enum scope_no {
#define SCOPE(id, name) SCOPE_NO_##id,
#include "domain/scope.def"
#undef SCOPE
    SCOPE_NR
};
enum scope_bit {
#define SCOPE(id, name) SCOPE_##id = 1 << SCOPE_NO_##id,
#include "domain/scope.def"
#undef SCOPE
    SCOPE_ALL = (1 << SCOPE_NR) - 1,
    SCOPE_TENANT = SCOPE_ALL & ~SCOPE_HOST_READ /* all that concerns one tenant */
};
const char *scope_name(unsigned no);    /* "runs:read"; NULL out of range */
unsigned scope_bit_of(struct str name); /* 0 when unknown */
/* Names, and "all" for those of one tenant, separated by commas -> bits; false (and *bad set) at
 * the first unknown name. */
bool scopes_parse(struct str list, unsigned *bits, struct str *bad);
void scopes_format(unsigned bits, struct buf *out); /* comma-separated */

#endif
