/*
 * farewell.c: the last word to another system when a run ends before it did (A2A: a task that
 * nobody waits for any more is cancelled).  What to say follows from the invocation log alone, so
 * it does not matter which process began the task.
 */
#include "engine/farewell.h"

#include "base/log.h"
#include "engine/invoke.h"
#include "engine/timeline.h"

#define FAREWELLS_MAX 64u /* of one run */

static void farewell_sent(void *ctx, const struct egress_response *r) { /* on the egress thread */
    (void)ctx;
    (void)r;
}

static void farewell_submit(struct step *st, const struct node_request *r) {
    const struct egress_request q = {.caller = r->caller != EGRESS_CALLER_NONE ? r->caller
                                                                               : EGRESS_CALLER_NODE,
                                     .tenant = st->state->meta.tenant,
                                     .method = r->method,
                                     .url = r->url,
                                     .headers = r->headers,
                                     .headers_nr = r->headers_nr,
                                     .body = r->body,
                                     .timeout_ms = r->timeout_ms,
                                     .response_max = r->response_max};
    struct wopr_error err = {0};
    int rc = egress_submit(st->engine->cfg.egress, &q, farewell_sent, NULL, &err);
    if (rc != 0)
        log_warn("another system was not told that its work is no longer wanted", "run",
                 st->exec->run_id, "why", err.message);
}

/* true: something was asked for. */
static bool farewell_of(struct step *st, int node, const struct node_type *type) {
    const struct wf_node *def = &st->state->wf->nodes[node];
    struct node_result r = {0};
    struct node_call call = {.a = st->scratch,
                             .run = st->state,
                             .node = node,
                             .def = def,
                             .inputs = STR("{}"),
                             .config = def->config.n > 0 ? def->config : STR("{}"),
                             .attempt = st->state->nodes[node].attempt,
                             .remotes = st->engine->cfg.remotes,
                             .ended = true,
                             .type_ctx = type->ctx};
    invoke_answers(st, node, &call);
    if (call.answers_nr == 0) return false;
    type->fn(&call, &r);
    if (r.outcome != NODE_OUT_CALL || arena_failed(st->scratch)) return false;
    farewell_submit(st, &r.request);
    return true;
}

void farewell_send(struct step *st) {
    unsigned said = 0;
    st->state = st->exec->state; /* no step is under way */
    if (!st->engine->cfg.egress || timeline_of(st)) return;
    for (size_t i = 0; i < st->state->wf->nodes_nr && said < FAREWELLS_MAX; i++) {
        enum node_status s = st->state->nodes[i].status;
        const struct node_type *type =
            node_registry_find(st->engine->types, st->state->wf->nodes[i].type_id);
        if (type && (type->flags & NODE_FAREWELL) && (s == NODE_CANCELLED || s == NODE_FAILED))
            said += farewell_of(st, (int)i, type);
    }
}
