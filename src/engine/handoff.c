/*
 * handoff.c: a node that is pinned to an agent gets what the agent takes and gives what it returns,
 * whoever executes it.  The agents of vendor.wopr.agent judge their answer themselves, where the
 * model can still mend it.
 */
#include "engine/handoff.h"

#include "domain/agent_manifest.h"
#include "domain/traits.h"

static bool handoff_fits(struct step *st, const struct agent *g, bool task, struct str value,
                         struct failure *f) {
    struct str schema = task ? g->task_schema : g->return_schema;
    bool judged = true;
    if (schema.n == 0) return true;
    const char *why = agent_schema_wrong(schema, value, st->scratch, &judged);
    if (!why) return true;
    *f =
        (struct failure){.code = task ? STR("handoff_task_invalid") : STR("handoff_return_invalid"),
                         .message = arena_printf(
                             st->scratch, "the %s of the node do not fit the %s of its agent: %s",
                             task ? "inputs" : "outputs",
                             task ? "handoff.taskSchemaRef" : "handoff.returnSchemaRef", why)};
    return false;
}

static bool agent_of(struct step *st, int node, struct agent *g) {
    return agent_find(st->state->meta.agents, st->state->wf->nodes[node].agent, st->scratch, g);
}

bool handoff_takes(struct step *st, int node, struct str inputs, struct failure *f) {
    struct agent g;
    return !agent_of(st, node, &g) || handoff_fits(st, &g, true, inputs, f);
}

bool handoff_gives(struct step *st, int node, struct str outputs, struct failure *f) {
    struct agent g;
    bool itself = (st->state->wf->nodes[node].traits & NODE_IS_AGENT) != 0;
    return itself || !agent_of(st, node, &g) || handoff_fits(st, &g, false, outputs, f);
}
