/*
 * canary.h: the credential that conformance runs resolve (NODE-63).  Layer: host.
 */
#ifndef WOPR_HOST_CANARY_H
#define WOPR_HOST_CANARY_H

#include "store/credentials.h"

/* A random one for live and for test runs of the tenant, unless it is there: it is not known before
 * and protects nothing. */
MUST_CHECK int canary_provide(struct store *s, struct vault *v, struct str tenant,
                              struct wopr_error *err);

#endif
