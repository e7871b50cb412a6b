/*
 * flow.c: types that only shape the graph (NODE-30, NODE-35, 30-nodes 2.4).  The routing itself is
 * done by edges, their conditions and trigger rules (domain/sched.c).
 */
#include "codec/jobj.h"
#include "nodes/nodes.h"

#define LOOP_ROUNDS_MAX 1000000

void exec_noop(const struct node_call *call, struct node_result *out) {
    (void)call;
    out->outcome = NODE_OUT_DONE;
}

/* Inputs become outputs, so that conditions of the outgoing edges can see them. */
void exec_pass(const struct node_call *call, struct node_result *out) {
    out->outcome = NODE_OUT_DONE;
    out->outputs = call->inputs;
}

void exec_fail(const struct node_call *call, struct node_result *out) {
    (void)call;
    node_fail(out, "conformance_test_failure", "Intentional conformance failure", false);
}

/* Requested rounds: the items, at most maxIterations of them; false when neither is well formed. */
static bool loop_rounds(const struct node_call *call, struct json_elements *items, int64_t *rounds,
                        struct node_result *out) {
    struct str list = node_arg(call, "items"), max = node_arg(call, "maxIterations");
    int64_t most = LOOP_ROUNDS_MAX;
    bool has_items = list.n > 0 && json_type_of(list) != JSON_NULL;
    *items = (struct json_elements){0};
    if (!has_items && max.n == 0) {
        node_invalid(out, "a loop needs items or maxIterations");
        return false;
    }
    if (max.n > 0 && (!json_int(max, &most) || most < 0 || most > LOOP_ROUNDS_MAX)) {
        node_invalid(out, "maxIterations of a loop is not a whole number from 0 to 1000000");
        return false;
    }
    if (has_items &&
        (json_type_of(list) != JSON_ARRAY || json_elements(list, call->a, items, NULL) != 0)) {
        node_invalid(out, "items of a loop is not an array");
        return false;
    }
    *rounds = has_items && (int64_t)items->n < most ? (int64_t)items->n : most;
    return true;
}

/*
 * The head of a loop that the author closes with a loopback edge: body edges leave it with the
 * condition output.done == false, the exit with output.done == true.  The round is that of the
 * node's entry, which the log tells: a re-executed attempt has the same result, and a loop that is
 * entered again (by an outer loop, a refinement, a trigger) begins with its first item.  Bounded by
 * maxLoopbackIterations and the execution cap (NODE-15, NODE-16).
 */
void exec_loop(const struct node_call *call, struct node_result *out) {
    struct json_elements items;
    int64_t rounds, round = call->run->nodes[call->node].sched.round;
    struct jobj o;
    if (!loop_rounds(call, &items, &rounds, out)) return;
    bool over = round >= rounds;
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    jw_kbool(&o.w, "done", over);
    jw_kint(&o.w, "index", over ? rounds : round);
    if (!over && items.n > 0) jw_kraw(&o.w, "item", items.v[round]);
    out->outcome = NODE_OUT_DONE;
    out->outputs = jobj_end(&o, call->a);
    if (!out->outputs.p) node_fail(out, "out_of_memory", "the item of a loop is too large", true);
}
