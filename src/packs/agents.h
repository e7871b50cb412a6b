/*
 * agents.h: the agents of a tarball as definitions (AGT-40, PACK-17).  Layer: packs (pure).
 */
#ifndef WOPR_PACKS_AGENTS_H
#define WOPR_PACKS_AGENTS_H

#include "base/arena.h"
#include "base/error.h"

/* The definition (domain/agent_manifest.h) of an agent of a tarball that was judged: its manifest
 * and the files that it names.  NOT_FOUND, TOO_BIG, PACK_LOAD: a file is none, or no text;
 * NO_MEMORY. */
MUST_CHECK int pack_agent_definition(struct str tarball, struct str manifest, struct arena *a,
                                     struct str *out, struct wopr_error *err);
/* Of the raw array of a manifest, the agent of this id; empty: there is none. */
MUST_CHECK int pack_agent_find(struct str agents, struct str id, struct arena *a, struct str *out,
                               struct wopr_error *err);

#endif
