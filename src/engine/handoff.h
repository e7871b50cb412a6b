/*
 * handoff.h: what is handed to an agent and what it hands back fit the schemas of its manifest
 * (AGT-40).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_HANDOFF_H
#define WOPR_ENGINE_HANDOFF_H

#include "engine/outcome.h"

/* The inputs of a node before it is executed, its outputs before they are recorded.  false: they do
 * not fit, and *f says why.  Nodes whose pin names no manifest of the run's set take anything. */
bool handoff_takes(struct step *st, int node, struct str inputs, struct failure *f);
bool handoff_gives(struct step *st, int node, struct str outputs, struct failure *f);

#endif
