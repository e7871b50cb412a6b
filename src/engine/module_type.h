/*
 * module_type.h: node types of installed packs (PACK-63, PACK-64, WASM-2).  Layer: engine, not for
 * others.
 *
 * Which pack a type means is resolved once, when a run is created, and kept with it: an install, an
 * update or a removal changes nothing for a run that has begun, nor for its forks.  A run is
 * created with a pack or a worker for each of its types, or not at all.
 */
#ifndef WOPR_ENGINE_MODULE_TYPE_H
#define WOPR_ENGINE_MODULE_TYPE_H

#include "engine/emit.h"

/* Does a pack of the tenant have this type?  anew: as is installed at this moment.  Not 0: the
 * store could not be asked, or the pack cannot be loaded (PACK_LOAD, PACK_RUNTIME). */
MUST_CHECK int module_type_known(struct engine *e, struct str tenant, struct str type_id, bool anew,
                                 bool *known, struct wopr_error *err);
/* Have workers of the tenant registered this type?  Not 0: the store could not be asked. */
MUST_CHECK int worker_type_known(struct engine *e, struct str tenant, bool test_mode,
                                 struct str type_id, bool *known, struct wopr_error *err);
/* For a new run: its types of packs, in the scratch memory of the step; empty without any, which
 * costs nothing.  What was seen before the creation may have been removed since.  VALIDATION: a
 * type that neither a pack has nor workers serve (NODE-3). */
MUST_CHECK int module_types_resolve(struct step *st, const struct engine_cmd *cmd, struct str *out,
                                    struct wopr_error *err);
/* The executor of a node by the run's packs.  NULL: its type is none of theirs; or the plan has
 * failed, because the pack could not be read. */
const struct node_type *module_type_of(struct step *st, int node);
/* Is it one of theirs? */
bool module_type_is(const struct step *st, int node);

#endif
