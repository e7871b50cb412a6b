/*
 * state_orch.c: what supervisors decided and which decision a dispatcher acts on (ORCH-4 to ORCH-8,
 * DISP-4, DISP-8, DISP-11).  A node takes both at its start: whatever other nodes of the run do
 * meanwhile, an executor that is entered again finds what it found at first.
 */
#include "codec/jobj.h"
#include "codec/json.h"
#include "domain/state_internal.h"
#include "domain/traits.h"

static const char *const CAP_NAMES[CAP_KIND_NR] = {"node-executions", "orchestrator-iterations",
                                                   "dispatch-iterations", "wasm-memory",
                                                   "wasm-execution-time"};

const char *cap_kind_name(enum cap_kind k) { return CAP_NAMES[k]; }

struct str node_agent_id(const struct wf_node *n) {
    struct str id = n->agent.n > 0 ? json_get(n->agent, "agentId") : STR_NONE;
    if (id.n > 0 || (n->traits & (NODE_IS_SUPERVISOR | NODE_IS_AGENT)) == 0) return id;
    if ((n->traits & NODE_IS_AGENT) != 0) return STR("\"host:agent\"");
    if (n->config.n > 0) id = json_get(n->config, "agentId");
    return id.n > 0 ? id : STR("\"host:orchestrator\"");
}

int64_t orch_cause(const struct run_state *s, int node) {
    if (node < 0 || (s->wf->nodes[node].traits & NODE_IS_DISPATCHER) == 0) return -1;
    return s->nodes[node].orch.seq > 0 ? s->nodes[node].orch.seq : -1;
}

int fold_cap_breached(struct fold *f) {
    struct run_cap *c = &f->run->cap;
    struct str kind = json_get(f->event->payload, "kind");
    f->run->cap_breached = true;
    *c = (struct run_cap){.kind = CAP_NODE_EXECUTIONS};
    for (int k = 0; k < CAP_KIND_NR && kind.n > 2; k++)
        if (str_eqc(str_n(kind.p + 1, kind.n - 2), CAP_NAMES[k])) c->kind = (enum cap_kind)k;
    (void)json_int(json_get(f->event->payload, "limit"), &c->limit);
    (void)json_int(json_get(f->event->payload, "observed"), &c->observed);
    if (c->limit < 0 || c->observed < 0) return fold_corrupt(f, "a number is out of range");
    return 0;
}

/* AGT-5: the first supervisor stays; one without a pin is known by its id. */
static int orchestrator_set(struct fold *f, struct str pin, struct str id) {
    struct run_orch *o = &f->run->orch;
    struct jobj ref;
    if (o->agent.n > 0) return 0;
    if (pin.n > 0) return text_set(&o->agent, pin) == 0 ? 0 : fold_no_memory(f);
    jobj_begin(&ref, EVENT_ERROR_MAX);
    jw_kraw(&ref.w, "agentId", id);
    o->agent.p = jobj_take(&ref, &o->agent.n);
    return o->agent.p ? 0 : fold_no_memory(f);
}

int fold_orchestrator_decided(struct fold *f) {
    struct run_orch *o = &f->run->orch;
    struct str decision = json_get(f->event->payload, "decision"), pin = STR_NONE;
    struct str id = json_get(f->event->payload, "agentId");
    if (decision.n == 0 || json_type_of(id) != JSON_STRING)
        return fold_corrupt(f, "names no agent or no decision");
    if (f->node >= 0) pin = f->run->wf->nodes[f->node].agent;
    int rc = orchestrator_set(f, pin, id);
    if (rc != 0) return rc;
    if (run_state_text_set(f->run, &o->decision, decision) != 0) return fold_no_memory(f);
    o->seq = f->event->seq;
    o->decisions++;
    return 0;
}

int orch_node_started(struct fold *f, bool again) {
    struct run_state *s = f->run;
    const struct wf_node *def = &s->wf->nodes[f->node];
    struct node_orch *n = &s->nodes[f->node].orch;
    if ((def->traits & NODE_IS_SUPERVISOR) != 0) {
        n->mark = s->orch.decisions;
        return orchestrator_set(f, def->agent, node_agent_id(def));
    }
    if ((def->traits & NODE_IS_DISPATCHER) == 0) return 0;
    if (!again) s->orch.dispatches++;
    n->mark = s->orch.dispatches;
    n->seq = s->orch.seq;
    struct str decision = text_str(&s->orch.decision);
    return run_state_text_set(s, &n->decision, decision) == 0 ? 0 : fold_no_memory(f);
}

void orch_node_completed(struct fold *f) {
    struct run_state *s = f->run;
    struct str kind = json_get(text_str(&s->nodes[f->node].orch.decision), "kind");
    if ((s->wf->nodes[f->node].traits & NODE_IS_DISPATCHER) == 0 || s->orch.ended_by != 0) return;
    if (str_eqc(kind, "\"terminate\"")) s->orch.ended_by = f->node + 1;
}
