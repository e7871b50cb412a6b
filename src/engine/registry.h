/*
 * registry.h: node types, beyond what node.h offers to all.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_REGISTRY_H
#define WOPR_ENGINE_REGISTRY_H

#include "engine/node.h"

/* The first capability that the type needs and the host lacks, NULL = none (NODE-4). */
const char *registry_missing(const struct node_type *t, const char *const *have);
/* A definition cannot be executed: its node has a type that no one serves (NODE-3).  VALIDATION. */
int registry_unserved(size_t node, struct str type_id, struct wopr_error *err);

#endif
