/*
 * args.c: arguments of a node: its input ports first, then its config (NODE-6).
 */
#include "codec/json.h"
#include "nodes/nodes.h"

struct str node_arg(const struct node_call *call, const char *key) {
    struct str v = json_get(call->inputs, key);
    return v.n > 0 ? v : json_get(call->config, key);
}

bool node_arg_string(const struct node_call *call, const char *key, struct str *out) {
    struct str raw = node_arg(call, key);
    if (raw.n == 0 || json_type_of(raw) != JSON_STRING) return false;
    struct str s = json_string(raw, call->a);
    if (!s.p) return false;
    *out = s;
    return true;
}

void node_invalid(struct node_result *out, const char *message) {
    node_fail(out, "validation_error", message, false);
}

void node_no_memory(struct node_result *out) {
    node_fail(out, "out_of_memory", "the node needs more memory", true);
}
