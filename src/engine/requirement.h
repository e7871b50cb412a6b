/*
 * requirement.h: credentials that a type of nodes requires (requiresSecrets: NODE-5, CAP-36,
 * EVT-24).  Layer: engine, not for others.
 *
 * They are looked for before each attempt begins, without being opened: an executor gets no value,
 * at most a reference.  A replay asks its source and no store.
 */
#ifndef WOPR_ENGINE_REQUIREMENT_H
#define WOPR_ENGINE_REQUIREMENT_H

#include "engine/outcome.h"

/* true: one is not there, and *f says so: credential_unavailable, credential_required.  Also when
 * the store cannot be read: then the plan has failed. */
bool requirement_lacks(struct step *st, int node, const struct node_type *type, struct failure *f);
/* Is it one of these two? */
bool requirement_code(struct str code);

#endif
