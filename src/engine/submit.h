/*
 * submit.h: takes commands in.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_SUBMIT_H
#define WOPR_ENGINE_SUBMIT_H

#include "engine/core.h"

/* Prepare cmd; false: the engine takes no commands now and has answered cmd. */
bool submit_admit(struct engine *e, struct engine_cmd *cmd);
/* Any thread, never blocks on the disk: engine_submit for all operations but FORK. */
void submit_command(struct engine *e, struct engine_cmd *cmd);

#endif
