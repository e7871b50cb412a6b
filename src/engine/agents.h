/*
 * agents.h: what agents do, as events (AGT-20..25, ORCH-4..8).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_AGENTS_H
#define WOPR_ENGINE_AGENTS_H

#include "engine/outcome.h"

/* One effect of an agent becomes its event.  Not 0: *f says why the node fails, nothing was
 * emitted. */
int agent_effect(struct step *st, int node, const struct node_effect *x, struct failure *f);
/* AGT-8: the node's agent takes over from the one that worked before; emitted before the node
 * starts. */
void agent_handoff(struct step *st, int node);

#endif
