/*
 * resolve.h: answers to interrupts (EVT-27, INT-14 to INT-34).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_RESOLVE_H
#define WOPR_ENGINE_RESOLVE_H

#include "engine/emit.h"

/* The host itself answers the open question i with a raw value (CONV-17, CONV-19). */
void resolve_by_host(struct step *st, struct intr_state *i, struct str value);
/* Answers cmd, or puts its effect into the plan. */
void resolve_apply(struct step *st, struct engine_cmd *cmd);
/* For a run that has ended, from its rows: fills cmd->result. */
void resolve_settled(struct engine *e, struct engine_cmd *cmd, int64_t run_no, struct arena *a);

#endif
