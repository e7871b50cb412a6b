/*
 * packs_seed.h: the packs that the fixtures of conformance ask for (FIX-35, FIX-37), built from the
 * files that the program carries, published and installed.  Layer: host.
 */
#ifndef WOPR_HOST_PACKS_SEED_H
#define WOPR_HOST_PACKS_SEED_H

#include "store/packs.h"

/* Writes only what is not there.  A version that is there with other bytes, of another program,
 * stays, with a word in the log.  NO_MEMORY, and what the store returns. */
MUST_CHECK int seed_packs(struct store *s, struct wopr_error *err);
/* Is a pack of this name installed for all tenants? */
bool pack_is_shared(struct store *s, struct str name);

#endif
