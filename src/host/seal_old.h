/*
 * seal_old.h: at the first start, seals the clear values that older programs kept in the database,
 * and removes those of ended runs (OBS-71).  Layer: host.
 */
#ifndef WOPR_HOST_SEAL_OLD_H
#define WOPR_HOST_SEAL_OLD_H

#include "store/vault.h"

/* Call it before the engine starts.  Safe beside other hosts and after a crash: each run is one
 * transaction, after which it holds no clear value. */
MUST_CHECK int seal_old_values(struct store *s, struct vault *v, struct wopr_error *err);

#endif
