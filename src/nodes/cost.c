/*
 * cost.c: conformance.cost.emit (NODE-64), a node that costs what its configuration says.  What is
 * no cost attribute does not get past the engine (OBS-13).
 */
#include "nodes/nodes.h"

void exec_cost_emit(const struct node_call *call, struct node_result *out) {
    struct str attrs = node_arg(call, "attrs");
    if (attrs.n == 0 || json_type_of(attrs) != JSON_OBJECT) {
        node_invalid(out, "attrs of a cost is not an object");
        return;
    }
    out->cost = attrs;
    out->outcome = NODE_OUT_DONE;
}
