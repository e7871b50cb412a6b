/*
 * agent_set.h: the agents that a run goes by (AGT-46).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_AGENT_SET_H
#define WOPR_ENGINE_AGENT_SET_H

#include "domain/agent_manifest.h"
#include "engine/emit.h"

/* Those that the pins of a new run mean now, in the scratch memory of the step; empty without
 * pins, which costs no read.  VALIDATION: one cannot be but an agent of the workspace, and is not
 * there; TOO_BIG, CONFLICT: more than a run, or the tenant's runs, may hold. */
MUST_CHECK int agent_set_resolve(struct step *st, const struct engine_cmd *cmd,
                                 struct agent_set *out, struct wopr_error *err);
/* Fill meta->agents with the set of a stored run, in a.  CORRUPT: it is gone. */
MUST_CHECK int agent_set_load(struct engine *e, int64_t agents_no, struct arena *a,
                              struct run_meta *meta, struct wopr_error *err);

#endif
