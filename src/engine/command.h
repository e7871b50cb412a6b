/*
 * command.h: how commands are answered.  Layer: engine, not for others.
 * A command is answered by a worker (or, when no worker can, by the thread that submits it), never
 * before the commit that makes its answer true.
 */
#ifndef WOPR_ENGINE_COMMAND_H
#define WOPR_ENGINE_COMMAND_H

#include "engine/core.h"

/* For a command without effect on any run: render, store the answer if there is a key, answer. */
void cmd_settle(struct engine *e, struct engine_cmd *cmd);
void cmd_fail(struct engine *e, struct engine_cmd *cmd, int rc, const char *why);
/* Renders cmd->result into the plan that makes it true. */
void cmd_attach(struct engine_cmd *cmd, struct plan *p);
void cmd_committed(struct engine_cmd *cmd, const struct plan *p); /* answers the command */
/* Fill the answer of an operation that changes nothing in this status; false: it has work to do. */
bool cmd_needs_no_effect(struct engine_cmd *cmd, enum run_status status, int64_t paused_ms);

#endif
