/*
 * wfcache.h: compiled workflows by hash.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_WFCACHE_H
#define WOPR_ENGINE_WFCACHE_H

#include "engine/core.h"

struct wf_entry {
    struct workflow *wf;
    bool types_known; /* NODE-3 checked */
    bool workers;     /* some types are those of workers: asked for again with each creation */
};
/* For existing runs; *out has a reference for the caller. */
MUST_CHECK int wfcache_by_hash(struct engine *e, const struct sha256 *hash, struct arena *a,
                               struct workflow **out, struct wopr_error *err);
void wfcache_free(struct engine *e);

#endif
