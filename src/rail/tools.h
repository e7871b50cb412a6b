/*
 * tools.h: the calls of rail.h as tools of MCP (section 9).  Layer: rail.
 */
#ifndef WOPR_RAIL_TOOLS_H
#define WOPR_RAIL_TOOLS_H

#include "mcp/tool.h"
#include "rail/rail.h"

/* Rows for a server: those that the flags of r allow (WR-213).  Lives as long as r. */
const struct mcp_set *rail_tools(struct rail *r);
/* Their names, as one JSON array. */
struct jw;
void rail_tools_write(const struct rail *r, struct jw *w);
/* All rows, whatever the flags, with nothing behind them: to be described. */
extern const struct mcp_set RAIL_TOOLS_DESCRIBED;

#endif
