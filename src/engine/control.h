/*
 * control.h: commands on a live run, and the marks of a takeover.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_CONTROL_H
#define WOPR_ENGINE_CONTROL_H

#include "engine/emit.h"

/* Answers the command or puts its effect into the plan. */
void control_apply(struct step *st, struct engine_cmd *cmd);
void control_take_over(struct step *st);
void control_unpause(struct step *st); /* ends a pause that a fork inherited */

#endif
