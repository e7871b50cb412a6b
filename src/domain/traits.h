/*
 * traits.h: how the scheduler treats node types apart.  Layer: domain (pure).  Code asks for
 * traits; only traits.c compares ids of types.  A compiled workflow holds the traits of each node
 * (wf_node.traits).
 */
#ifndef WOPR_DOMAIN_TRAITS_H
#define WOPR_DOMAIN_TRAITS_H

#include "base/str.h"

enum node_trait {
    NODE_IS_START = 1 << 0,        /* if there are any, the run begins at these nodes only */
    NODE_IS_END = 1 << 1,          /* the run completes with the first of these */
    NODE_IS_DISPATCHER = 1 << 2,   /* starts workers as a supervisor decides; its loops have no
                                  * default bound, and none fires after it decided to terminate */
    NODE_IS_SUPERVISOR = 1 << 3,   /* decides for dispatchers; its loops have no default bound */
    NODE_IS_ROUTER = 1 << 4,       /* its outgoing edges decide by its output */
    NODE_IS_PARENT = 1 << 5,       /* runs the workflow named in config.workflowId as a child */
    NODE_IS_DECLARING = 1 << 6,    /* config.name makes a variable that need not be declared */
    NODE_IS_LOOP = 1 << 7,         /* its output says when its rounds are done */
    NODE_IS_AGENT = 1 << 8,        /* acts as an agent, also without a pin */
    NODE_IS_CONVERSATION = 1 << 9, /* holds conversations, or has a turn in one */
};
/* The bits of a type, 0 for types that the protocol does not know. */
unsigned node_traits(struct str type_id);

#endif
