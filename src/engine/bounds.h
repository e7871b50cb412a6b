/*
 * bounds.h: how large a run may become, and how much a tenant may use.  Layer: engine, not for
 * others.
 */
#ifndef WOPR_ENGINE_BOUNDS_H
#define WOPR_ENGINE_BOUNDS_H

#include "engine/outcome.h"

/* What is 0 becomes its default; runs_active_max is that of the engine. */
void bounds_default(struct engine_bounds *b, size_t runs_active_max);

/* --- of a run, caused by its nodes --- */
bool bound_log_over(const struct step *st);
bool bound_error_room(const struct step *st, size_t bytes); /* else keep only its code */
/* Is there room for a value that replaces old_bytes?  Otherwise f is filled. */
bool bound_state_room(struct step *st, size_t old_bytes, size_t new_bytes, struct failure *f);

/* --- of a tenant: each fills err with QUOTA --- */
void bound_tenant_runs(struct engine *e, struct wopr_error *err);
void bound_tenant_forks(struct wopr_error *err);
void bound_tenant_bytes(struct engine *e, const struct plan *p, struct wopr_error *err);

/* --- of a run, caused by people: may the command lengthen the log? false: it was refused and
 * answered --- */
bool bound_pause(struct step *st, struct engine_cmd *cmd);
bool bound_note(struct step *st, struct engine_cmd *cmd, const struct intr_state *i, bool vote,
                size_t bytes);

#endif
