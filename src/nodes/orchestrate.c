/*
 * orchestrate.c: core.orchestrator.supervisor and core.dispatch (ORCH-1..14, DISP-1..14).  The
 * supervisor records a decision, the dispatcher carries out the one that it found when it started.
 * A decision comes from the port decision (a node before it asked a model, a worker or a person),
 * or from the script of a conformance fixture.
 */
#include "codec/jobj.h"
#include "domain/interrupt.h"
#include "nodes/agent.h"

#define ORCH_TEXT_MAX (1024u * 1024)
#define WORKER_ID_MAX 256u

/* --- decisions --- */

static bool text_within(struct str raw, size_t max, struct arena *a) {
    struct str s = json_type_of(raw) == JSON_STRING ? json_string(raw, a) : STR_NONE;
    return s.n >= 1 && s.n <= max;
}

static const char *workers_wrong(struct str raw, struct arena *a) {
    struct json_elements l;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, a, &l, NULL) != 0 || l.n == 0)
        return "a decision for next-worker has a list nextWorkerIds";
    if (l.n > NODE_CHILD_ORDINAL_MAX + 1) return "a decision names at most 64 workers";
    for (size_t i = 0; i < l.n; i++)
        if (!text_within(l.v[i], WORKER_ID_MAX, a))
            return "the id of a worker is a string of 1 to 256 bytes";
    return NULL;
}

const char *decision_wrong(struct str raw, struct arena *a) {
    struct json_members m;
    if (json_type_of(raw) != JSON_OBJECT || json_members(raw, a, &m, NULL) != 0)
        return "a decision is an object";
    struct str kind = json_get(raw, "kind"), more = STR_NONE;
    const char *member = str_eqc(kind, "\"next-worker\"") ? "nextWorkerIds"
                         : str_eqc(kind, "\"ask-user\"")  ? "prompt"
                         : str_eqc(kind, "\"terminate\"") ? "reason"
                                                          : NULL;
    if (!member) return "the kind of a decision is next-worker, ask-user or terminate";
    more = json_get(raw, member);
    if (m.n != (more.n > 0 ? 2u : 1u)) return "a decision has a member that is none of its kind";
    if (*member == 'n') return workers_wrong(more, a);
    if (more.n == 0) return *member == 'r' ? NULL : "a decision for ask-user has a prompt";
    return text_within(more, ORCH_TEXT_MAX, a) ? NULL : "prompt and reason of a decision are texts";
}

/* --- the supervisor --- */

static bool cap_read(struct str config, int64_t *cap) {
    struct str raw = json_get(config, "iterationCap");
    *cap = INT64_MAX;
    return raw.n == 0 || (json_int(raw, cap) && *cap >= 1);
}

#define CAP_WRONG "iterationCap is a whole number from 1 on"

const char *supervisor_config_wrong(struct str config) {
    struct str id = json_get(config, "agentId");
    int64_t cap;
    /* Without escapes the length of the text is that of its bytes. */
    if (id.n > 0 &&
        (json_type_of(id) != JSON_STRING || id.n < 5 || id.n > 258 || memchr(id.p, '\\', id.n)))
        return "agentId of a supervisor is a string of 3 to 256 characters";
    return cap_read(config, &cap) ? NULL : CAP_WRONG;
}

/* ORCH-11: the script of a fixture for its nth visit; empty: there is none. */
static struct str orchestrate_scripted(const struct node_call *call, int64_t visit,
                                       struct str *confidence) {
    struct str list = json_get(call->config, "mockDecisions");
    struct str pending = json_get(call->config, "mockPendingDecision");
    struct json_elements l;
    bool fixture = str_starts(call->run->meta.workflow_id, STR("conformance-"));
    if (!call->conformance) return STR_NONE;
    if (visit == 0 && pending.n > 0) {
        *confidence = json_get(call->config, "mockConfidence");
        return pending;
    }
    if (list.n > 0 && json_type_of(list) == JSON_ARRAY &&
        json_elements(list, call->a, &l, NULL) == 0 && (size_t)visit < l.n)
        return l.v[visit];
    if (list.n > 0 || pending.n > 0)
        return STR("{\"kind\":\"terminate\",\"reason\":\"max-iterations\"}");
    if (!fixture) return STR_NONE;
    return visit == 0 ? STR("{\"kind\":\"next-worker\",\"nextWorkerIds\":[\"conformance-noop\"]}")
                      : STR("{\"kind\":\"terminate\",\"reason\":\"goal-reached\"}");
}

/* What people may answer to a decision that is held: one of its kinds, or a word about it. */
#define RATIFIED                                                                                   \
    "{\"anyOf\":[{\"type\":\"object\",\"required\":[\"action\"],\"properties\":{\"action\":"       \
    "{\"enum\":[\"accept\",\"reject\"]}},\"additionalProperties\":false},"                         \
    "{\"type\":\"object\",\"required\":[\"kind\",\"nextWorkerIds\"],\"properties\":{\"kind\":"     \
    "{\"const\":\"next-worker\"},\"nextWorkerIds\":{\"type\":\"array\",\"minItems\":1,"            \
    "\"maxItems\":64,\"items\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":256}}},"         \
    "\"additionalProperties\":false},"                                                             \
    "{\"type\":\"object\",\"required\":[\"kind\",\"prompt\"],\"properties\":{\"kind\":"            \
    "{\"const\":\"ask-user\"},\"prompt\":{\"type\":\"string\",\"minLength\":1}},"                  \
    "\"additionalProperties\":false},"                                                             \
    "{\"type\":\"object\",\"required\":[\"kind\"],\"properties\":{\"kind\":"                       \
    "{\"const\":\"terminate\"},\"reason\":{\"type\":\"string\",\"minLength\":1}},"                 \
    "\"additionalProperties\":false}]}"

static void node_cap(struct node_result *out, enum cap_kind kind, int64_t limit, int64_t observed) {
    node_fail(out, "iteration_cap_exceeded", "the bound on iterations was met", false);
    out->cap = (struct run_cap){.kind = kind, .limit = limit, .observed = observed};
}

void exec_supervisor(const struct node_call *call, struct node_result *out) {
    int64_t visit = call->run->nodes[call->node].orch.mark, cap;
    struct agent_decision d = {.resume_schema = STR(RATIFIED), .silent = true};
    struct str settled;
    if (!cap_read(call->config, &cap)) {
        node_invalid(out, CAP_WRONG);
        return;
    }
    if (visit >= cap) { /* ORCH-9 */
        node_cap(out, CAP_ORCHESTRATOR, cap, visit + 1);
        return;
    }
    d.decision = json_get(call->inputs, "decision");
    d.confidence = json_get(call->inputs, "confidence");
    if (d.decision.n == 0) d.decision = orchestrate_scripted(call, visit, &d.confidence);
    if (d.decision.n == 0) {
        node_fail(out, "orchestrator_not_configured",
                  "the supervisor has no port decision to decide by", false);
        return;
    }
    const char *wrong = decision_wrong(d.decision, call->a);
    if (!wrong && !agent_settle(call, out, &d, &settled)) return;
    if (!wrong) wrong = decision_wrong(settled, call->a); /* a person may have said it */
    if (wrong) {
        node_invalid(out, wrong);
        return;
    }
    struct node_effect *x = node_effect_add(call, out, EFFECT_ORCHESTRATED);
    struct str outputs = jobj_of(call->a, "decision", settled);
    if (!x || !outputs.p) {
        node_no_memory(out);
        return;
    }
    x->value = settled;
    out->outcome = NODE_OUT_DONE;
    out->outputs = outputs;
}

/* --- the dispatcher --- */

const char *dispatch_config_wrong(struct str config) { /* DISP-2, DISP-3 */
    static const struct {
        const char *name, *words[4], *why;
    } MEMBERS[] = {
        {"askUserRouting",
         {"\"conversation\"", "\"clarification\"", "\"auto\"", NULL},
         "askUserRouting is conversation, clarification or auto"},
        {"workerDispatchModel", {"\"child-run\"", NULL}, "workerDispatchModel is child-run"},
        {"fanOutPolicy",
         {"\"sequential\"", "\"reject\"", NULL},
         "fanOutPolicy is sequential or reject"},
    };
    int64_t cap;
    size_t known = json_get(config, "iterationCap").n > 0;
    if (!cap_read(config, &cap)) return CAP_WRONG;
    for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++) {
        struct str raw = json_get(config, MEMBERS[i].name);
        const char *const *word = MEMBERS[i].words;
        if (raw.n == 0) continue;
        while (*word && !str_eqc(raw, *word)) word++;
        if (!*word) return MEMBERS[i].why;
        known++;
    }
    struct json_members m = {0};
    struct arena *a = arena_new(ORCH_TEXT_MAX);
    bool closed = a && (config.n == 0 || (json_members(config, a, &m, NULL) == 0 && m.n == known));
    arena_free(a);
    return closed ? NULL : "the configuration of a dispatcher has a member that is none of its own";
}

/* What the node's events say of the last child. */
static struct str child_said(const struct node_call *call) {
    const struct node_child_end *c = call->child;
    struct jobj o;
    jobj_begin(&o, ORCH_TEXT_MAX);
    jw_kstr(&o.w, "childRunId", c->run_id);
    jw_kstrz(&o.w, "childStatus", run_status_name(c->status));
    jw_kraw_opt(&o.w, "childError", c->error);
    return jobj_end(&o, call->a);
}

static void workers_run(const struct node_call *call, struct node_result *out, struct str ids) {
    struct json_elements l;
    struct str policy = json_get(call->config, "fanOutPolicy");
    const struct node_child_end *c = call->child;
    size_t next = c ? (size_t)c->ordinal + 1 : 0;
    if (json_elements(ids, call->a, &l, NULL) != 0) {
        node_no_memory(out);
        return;
    }
    if (l.n > 1 && str_eqc(policy, "\"reject\"")) { /* DISP-6 */
        node_fail(out, "fan_out_unsupported", "the decision names more than one worker", false);
        return;
    }
    if (c && c->status != RUN_COMPLETED) {
        node_fail(out, "child_failed", "the run of a worker did not complete", false);
        out->error_details = child_said(call);
        return;
    }
    if (next >= l.n) {
        out->outputs = c ? child_said(call) : STR_NONE;
        out->outcome = NODE_OUT_DONE;
        if (!out->outputs.p) node_no_memory(out);
        return;
    }
    out->child = (struct node_child){.workflow_id = json_string(l.v[next], call->a),
                                     .inputs = call->inputs,
                                     .wait = true,
                                     .ordinal = (int)next};
    out->outcome = NODE_OUT_CHILD;
}

static void user_converse(const struct node_call *call, struct node_result *out,
                          struct str prompt) {
    struct arena *a = call->a;
    struct str agent = json_get(text_str(&call->run->orch.agent), "agentId"), said = STR_NONE;
    struct jobj o;
    agent = agent.n > 0 ? json_string(agent, a) : STR_NONE;
    if (!conversation_once(call, out, json_string(prompt, a), agent, &said)) return;
    struct str id = json_get(out->outputs, "conversationId");
    jobj_begin(&o, ORCH_TEXT_MAX);
    jw_kraw(&o.w, "answer", said.n > 0 ? said : STR("null"));
    jw_kraw_opt(&o.w, "conversationId", id);
    out->outputs = jobj_end(&o, a);
    if (!out->outputs.p) node_no_memory(out);
}

static void user_ask(const struct node_call *call, struct node_result *out, struct str prompt) {
    struct node_prompt q = {.kind = "clarification"};
    struct node_reply r;
    struct jobj o;
    jobj_begin(&o, ORCH_TEXT_MAX);
    jw_key(&o.w, "questions");
    jw_array(&o.w);
    jw_object(&o.w);
    jw_kstrz(&o.w, "id", "answer");
    jw_kraw(&o.w, "question", prompt);
    jw_end_object(&o.w);
    jw_end_array(&o.w);
    q.data = jobj_end(&o, call->a);
    if (!q.data.p) node_no_memory(out);
    else if (node_interrupt(call, out, 0, &q, &r)) {
        out->outcome = NODE_OUT_DONE;
        out->outputs = json_get(r.value, "answers");
    }
}

static void run_terminate(const struct node_call *call, struct node_result *out,
                          struct str decision) {
    struct jobj o;
    jobj_begin(&o, ORCH_TEXT_MAX);
    jw_kstrz(&o.w, "decision", "terminate");
    jw_kraw_opt(&o.w, "reason", json_get(decision, "reason"));
    out->outputs = jobj_end(&o, call->a);
    out->outcome = NODE_OUT_DONE;
    if (!out->outputs.p) node_no_memory(out);
}

/* DISP-7.  One that was asked when this host held no conversations goes on as it began. */
static bool routes_to_conversation(const struct node_call *call, bool talks) {
    struct str routing = json_get(call->config, "askUserRouting");
    if (str_eqc(routing, "\"clarification\"")) return false;
    if (str_eqc(routing, "\"conversation\"")) return true;
    struct str key = intr_key_of(call->run, call->node, 0, call->a);
    const struct intr_state *i = run_state_intr(call->run, key);
    return talks && !(i && i->node == call->node && i->kind == INTR_CLARIFICATION);
}

static void orchestrate_dispatch(const struct node_call *call, struct node_result *out,
                                 bool talks) {
    const struct node_orch *o = &call->run->nodes[call->node].orch;
    struct str decision = text_str(&o->decision), kind = json_get(decision, "kind");
    int64_t cap;
    if (decision.n == 0) { /* DISP-4 */
        node_fail(out, "no_pending_decision", "no supervisor of the run has decided yet", false);
        return;
    }
    if (!cap_read(call->config, &cap)) {
        node_invalid(out, CAP_WRONG);
        return;
    }
    if (o->mark > cap) { /* DISP-11 */
        node_cap(out, CAP_DISPATCH, cap, o->mark);
        return;
    }
    if (str_eqc(kind, "\"next-worker\""))
        workers_run(call, out, json_get(decision, "nextWorkerIds"));
    else if (str_eqc(kind, "\"ask-user\""))
        (routes_to_conversation(call, talks) ? user_converse
                                             : user_ask)(call, out, json_get(decision, "prompt"));
    else if (str_eqc(kind, "\"terminate\"")) run_terminate(call, out, decision);
    else
        node_fail(out, "unsupported_decision_kind", "the dispatcher does not know the decision",
                  false);
}

void exec_dispatch(const struct node_call *call, struct node_result *out) {
    orchestrate_dispatch(call, out, true);
}

void exec_dispatch_silent(const struct node_call *call, struct node_result *out) {
    orchestrate_dispatch(call, out, false);
}
