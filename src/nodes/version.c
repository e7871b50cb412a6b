/*
 * version.c: vendor.wopr.version, getVersion for authors of workflows (VER-7, EVT-33).  Arguments:
 * changeId, min (-1), max (0); the output version decides edges.  The pin of the run answers, so a
 * branch stays chosen however often the node runs.
 */
#include "codec/jobj.h"
#include "nodes/nodes.h"

static bool arg_whole(const struct node_call *call, const char *key, int64_t *out) {
    struct str raw = node_arg(call, key);
    return raw.n == 0 || json_int(raw, out);
}

void exec_version(const struct node_call *call, struct node_result *out) {
    struct str change_id;
    int64_t min = -1, max = 0, version;
    if (!node_arg_string(call, "changeId", &change_id)) {
        node_invalid(out, "the id of the change is missing");
        return;
    }
    if (!arg_whole(call, "min", &min) || !arg_whole(call, "max", &max)) {
        node_invalid(out, "min and max of a version are whole numbers");
        return;
    }
    if (node_version(call, out, change_id, min, max, &version) != 0) return;
    out->outputs = jobj_of_int(call->a, "version", version);
    if (!out->outputs.p) node_no_memory(out);
    else out->outcome = NODE_OUT_DONE;
}
