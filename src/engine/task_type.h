/*
 * task_type.h: types that workers serve (WRK-1 to WRK-9).  Layer: engine, not for others.
 *
 * A type is known when this program has an executor for it, or when the tenant of the run has
 * registered it.  All registered types share one executor, which gives its inputs to a task.
 */
#ifndef WOPR_ENGINE_TASK_TYPE_H
#define WOPR_ENGINE_TASK_TYPE_H

#include "engine/emit.h"
#include "store/tasks.h"

/* The executor of the node's type: built in, or that of workers.  NULL: nobody serves it; or the
 * plan has failed, because the store could not be asked. */
const struct node_type *task_type_of(struct step *st, int node);
bool task_type_is(const struct step *st, int node); /* no built-in one serves it */
/* The same for a definition.  *known; not 0: the store could not be asked. */
MUST_CHECK int task_type_known(struct engine *e, struct str tenant, bool test_mode,
                               struct str type_id, bool *known, struct wopr_error *err);

/* Is value valid against the schema (empty: anything is)?  VALIDATION with err->pointer below
 * member, a literal like "/input".  Schemas are compiled once. */
MUST_CHECK int task_schema_check(struct engine *e, struct str schema, struct str value,
                                 const char *member, struct wopr_error *err);
MUST_CHECK int task_types_init(struct engine *e);
void task_types_fini(struct engine *e);

#endif
