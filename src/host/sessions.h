/*
 * sessions.h: the sessions of agents that are led, as this host has them.  Layer: host.
 */
#ifndef WOPR_HOST_SESSIONS_H
#define WOPR_HOST_SESSIONS_H

#include "host/config.h"
#include "rail/tools.h"

/* With the workflows of the folder that the setting session-workflows names.  CONFIG: a file does
 * not compile; the message names file, place and remedy. */
MUST_CHECK int host_sessions_new(const struct config *cfg, const struct rail_config *rc,
                                 struct rail **out, struct wopr_error *err);
/* The same folder as it is now, into a rail made afresh: rail_config.reread.  ctx: a struct config.
 */
int host_sessions_reread(void *ctx, struct rail *into, struct wopr_error *err);

#endif
