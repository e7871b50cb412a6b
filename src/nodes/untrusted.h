/*
 * untrusted.h: text of other systems, marked for whoever reads it next (MCP-7, MCP-8, A2A-8).
 * Layer: nodes.
 */
#ifndef WOPR_NODES_UNTRUSTED_H
#define WOPR_NODES_UNTRUSTED_H

#include "base/buf.h"

/* <UNTRUSTED what="name">text</UNTRUSTED>: the text cannot end the mark or open one, whatever its
 * case and blanks, and the name cannot leave its quotes. */
void untrusted_render(struct buf *b, const char *what, struct str name, struct str text);

#endif
