/*
 * pack_agents.h: agents of installed packs, as the engine asks for them when a run is created
 * (AGT-40, AGT-46, PACK-17).  Layer: nodes; for the host.
 *
 * An agent's id is the name of its pack and one word, so the pack is known from the id.  Of several
 * installed versions the pin of the workflow chooses, else the highest is taken.  What a run got is
 * kept with it, so neither an update nor a removal changes it; here, definitions are kept by the
 * digest of their pack, in bounded memory.
 *
 * Threads: any.  The first look at a pack reads its tarball: milliseconds.
 */
#ifndef WOPR_NODES_PACK_AGENTS_H
#define WOPR_NODES_PACK_AGENTS_H

#include "engine/engine.h"

struct pack_agents;
/* store is borrowed.  NO_MEMORY. */
MUST_CHECK int pack_agents_new(struct store *store, struct pack_agents **out,
                               struct wopr_error *err);
void pack_agents_free(struct pack_agents *p); /* takes NULL; after the engine */
/* For struct engine_config. */
struct engine_agents pack_agents_hook(struct pack_agents *p);

#endif
