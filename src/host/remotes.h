/*
 * remotes.h: the table of systems that nodes may speak to by name (MCP-3, A2A-3), from the settings
 * mcp-servers, a2a-agents and remotes-file.  Layer: host.
 */
#ifndef WOPR_HOST_REMOTES_H
#define WOPR_HOST_REMOTES_H

#include "egress/egress.h"
#include "egress/remotes.h"
#include "host/config.h"

/* All texts live in a.  allow: what requests may reach; NULL: the host sends none, and the table
 * must be empty.  CONFIG names setting, place and remedy, and quotes no credential. */
MUST_CHECK int host_remotes_load(const struct config *cfg, const struct egress_allow *allow,
                                 struct arena *a, struct remotes *out, struct wopr_error *err);
/* What everybody may see of one kind: URLs of those that are for all tenants, NULL-terminated; NULL
 * when there are none. */
const char *const *host_remotes_shown(const struct remotes *r, enum remote_kind kind,
                                      struct arena *a);

#endif
