/*
 * registry.h: what a workflow may refer to: contracts, features, templates, snippets of text.
 * Closed: they are part of the program (WR-198, WR-199).  Layer: workrail.  Pure.
 */
#ifndef WOPR_WORKRAIL_REGISTRY_H
#define WOPR_WORKRAIL_REGISTRY_H

#include "codec/json.h"

struct wr_builtin_contract {
    const char *ref, *artifact_kind;
    const char *schema, *example; /* canonical JSON */
    const char *requirements[4];  /* lines of prompts, NULL at the end */
};
struct wr_builtin_feature { /* adds one constraint to each authored step */
    const char *id, *title, *constraint;
};
struct wr_builtin_ref {
    const char *id, *text;
};
struct wr_builtin_template {
    const char *id, *title, *params; /* params: a JSON Schema */
};
#define WR_LOOP_CONTROL_REF "wr.contracts.loop_control"
#define WR_CAPABILITY_REF   "wr.contracts.capability_observation"
#define WR_USER_REF         "wr.contracts.user_only_dependency"
#define WR_DIVERGENCE_REF   "wr.contracts.workflow_divergence"
#define WR_PROBE_TEMPLATE   "wr.templates.capability_probe"

/* NULL: unknown. */
const struct wr_builtin_contract *wr_builtin_contract(struct str ref);
const struct wr_builtin_feature *wr_builtin_feature(struct str id);
const struct wr_builtin_ref *wr_builtin_ref(struct str id);
const struct wr_builtin_template *wr_builtin_template(struct str id);
/* The known name that is near, as "; did you mean X?" or "". */
const char *wr_builtin_hint(struct str unknown, char *out, size_t n);
/* The catalog of WR-254 as members of one object, canonical. */
void wr_builtins_write(struct jw *w);

#endif
