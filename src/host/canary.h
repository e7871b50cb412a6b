/*
 * canary.h: the credentials that conformance runs resolve (NODE-63, MEM-32).  Layer: host.
 */
#ifndef WOPR_HOST_CANARY_H
#define WOPR_HOST_CANARY_H

#include "store/credentials.h"

/* Random ones for live and for test runs of the tenant, unless they are there: they are not known
 * before and protect nothing. */
MUST_CHECK int canary_provide(struct store *s, struct vault *v, struct str tenant,
                              struct wopr_error *err);

#endif
