/*
 * seal_old.h: clear values that older programs kept in the database are sealed at the first start,
 * or, of runs that have ended, removed (OBS-71).  Layer: host.
 */
#ifndef WOPR_HOST_SEAL_OLD_H
#define WOPR_HOST_SEAL_OLD_H

#include "store/vault.h"

/* Before the engine starts.  Safe beside other hosts and after a crash: each run is one
 * transaction, and a run that is done has nothing clear any more. */
MUST_CHECK int seal_old_values(struct store *s, struct vault *v, struct wopr_error *err);

#endif
