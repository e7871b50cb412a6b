/*
 * resolve.h: which version of a pack is meant (PACK-5, PACK-46).  Layer: packs (pure).
 */
#ifndef WOPR_PACKS_RESOLVE_H
#define WOPR_PACKS_RESOLVE_H

#include "packs/semver.h"
#include "store/packs.h"

/* The highest version that is neither a prerelease nor yanked, of those not deprecated when there
 * is one; NULL: none is. */
const struct pack_release *pack_latest(const struct pack_releases *all);
/* What a range or a version means.  A version is found although it is yanked; a range finds the
 * highest that is not.  VALIDATION: neither; PACK_NOT_FOUND: nothing satisfies it. */
MUST_CHECK int pack_resolve(const struct pack_releases *all, struct str wanted,
                            const struct pack_release **out, struct wopr_error *err);

#endif
