/*
 * subflow.c: core.subWorkflow, alias core.control.subWorkflow (WF-45..50, NODE-48..52, X-1).  Asks
 * for one child run, and makes the node's outcome out of the child's.
 */
#include "codec/jobj.h"
#include "nodes/nodes.h"

#define RESULT_BYTES_MAX (256u * 1024) /* variables and outputs of the child in our outputs */

struct sub {
    const struct node_call *call;
    struct node_result *out;
    struct str workflow_id;
    bool wait, absorb, propagate;
    struct str inputs, input_mapping, output_mapping, configurable; /* raw objects or empty */
};

/* --- config --- */

static bool config_flag(const struct sub *s, const char *key, bool absent, bool *out) {
    struct str raw = json_get(s->call->config, key);
    *out = absent;
    return raw.n == 0 || json_bool(raw, out);
}

static bool config_object(const struct sub *s, const char *key, struct str *out) {
    *out = json_get(s->call->config, key);
    return out->n == 0 || json_type_of(*out) == JSON_OBJECT;
}

static bool names_only(const struct sub *s, struct str mapping) {
    struct json_members m;
    if (mapping.n == 0) return true;
    if (json_members(mapping, s->call->a, &m, NULL) != 0) return false;
    for (size_t i = 0; i < m.n; i++)
        if (json_type_of(m.v[i].raw) != JSON_STRING || m.v[i].raw.n <= 2) return false;
    return true;
}

/* "continue" of WF-48 and "absorb" of NODE-48 are the same. */
static bool failure_policy(struct sub *s) {
    struct str policy, raw = json_get(s->call->config, "onChildFailure");
    s->absorb = false;
    if (raw.n == 0) return true;
    if (json_type_of(raw) != JSON_STRING) return false;
    policy = json_string(raw, s->call->a);
    s->absorb = str_eqc(policy, "continue") || str_eqc(policy, "absorb");
    return s->absorb || str_eqc(policy, "fail-parent");
}

static bool config_read(struct sub *s) {
    const char *wrong = NULL;
    if (!node_arg_string(s->call, "workflowId", &s->workflow_id) || s->workflow_id.n == 0)
        wrong = "workflowId of the sub-workflow is missing";
    else if (!config_flag(s, "waitForCompletion", true, &s->wait))
        wrong = "waitForCompletion of a sub-workflow is true or false";
    else if (!config_flag(s, "propagateCancellation", true, &s->propagate))
        wrong = "propagateCancellation of a sub-workflow is true or false";
    else if (!failure_policy(s))
        wrong = "onChildFailure of a sub-workflow is fail-parent, continue or absorb";
    else if (!config_object(s, "inputs", &s->inputs) ||
             !config_object(s, "configurable", &s->configurable))
        wrong = "inputs and configurable of a sub-workflow are objects";
    else if (!config_object(s, "inputMapping", &s->input_mapping) ||
             !names_only(s, s->input_mapping))
        wrong = "inputMapping of a sub-workflow maps inputs of the child to variables";
    else if (!config_object(s, "outputMapping", &s->output_mapping) ||
             !names_only(s, s->output_mapping))
        wrong = "outputMapping of a sub-workflow maps variables to variables of the child";
    if (wrong) node_invalid(s->out, wrong);
    return wrong == NULL;
}

/* --- before: what the child is given --- */

static const struct var_state *variable_find(const struct run_state *run, struct str name) {
    for (size_t i = 0; i < run->variables.n; i++)
        if (str_eq(text_str(&run->variables.v[i].name), name)) return &run->variables.v[i];
    return NULL;
}

static bool members_have(const struct json_members *m, struct str key) {
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->v[i].key, key)) return true;
    return false;
}

/* Members of one source that no later one has.  mapped: values name variables of this run. */
static void members_add(const struct sub *s, const struct json_members *from, bool mapped,
                        const struct json_members *later, size_t later_nr, struct jw *w) {
    for (size_t i = 0; i < from->n; i++) {
        struct str raw = from->v[i].raw;
        bool hidden = false;
        for (size_t k = 0; k < later_nr && !hidden; k++)
            hidden = members_have(&later[k], from->v[i].key);
        if (mapped) {
            const struct var_state *v = variable_find(s->call->run, json_string(raw, s->call->a));
            raw = v ? text_str(&v->value) : STR_NONE;
        }
        if (hidden || raw.n == 0) continue;
        jw_key_str(w, from->v[i].key);
        jw_raw(w, raw);
    }
}

/* config.inputs, over which inputMapping wins, over which input ports win (NODE-48). */
static bool inputs_merge(const struct sub *s, struct str *merged) {
    const struct str text[] = {s->inputs, s->input_mapping, s->call->inputs};
    struct json_members m[3] = {{0}, {0}, {0}};
    struct jobj o;
    for (size_t i = 0; i < 3; i++)
        if (text[i].n > 0 && json_members(text[i], s->call->a, &m[i], NULL) != 0) return false;
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    for (size_t i = 0; i < 3; i++) members_add(s, &m[i], i == 1, &m[i + 1], 2 - i, &o.w);
    *merged = jobj_end(&o, s->call->a);
    return merged->p != NULL;
}

static void child_ask(struct sub *s) {
    struct node_child *c = &s->out->child;
    if (!inputs_merge(s, &c->inputs)) {
        node_no_memory(s->out);
        return;
    }
    c->workflow_id = s->workflow_id;
    c->configurable = s->configurable;
    c->wait = s->wait;
    c->detached = !s->propagate;
    c->ordinal = 0;
    s->out->outcome = NODE_OUT_CHILD;
}

/* --- after: what the parent takes from it --- */

/* NODE-51: what the child did not set stays as it is here. */
static bool outputs_map(const struct sub *s) {
    const struct node_child_end *c = s->call->child;
    struct json_members m = {0};
    if (s->output_mapping.n > 0 && json_members(s->output_mapping, s->call->a, &m, NULL) != 0)
        return false;
    for (size_t i = 0; i < m.n; i++) {
        struct str from = json_string(m.v[i].raw, s->call->a);
        for (size_t k = 0; k < c->vars_nr; k++) {
            if (!str_eq(c->vars[k].name, from)) continue;
            /* OBS-71: clear inside; whatever variable it goes into shows it masked */
            struct str value = c->vars[k].clear.n > 0 ? c->vars[k].clear : c->vars[k].shown;
            if (value.n == 0) continue;
            struct node_effect *x = node_effect_add(s->call, s->out, EFFECT_VARIABLE);
            if (!x) return false;
            x->name = m.v[i].key;
            x->value = value;
            x->sensitive = c->vars[k].clear.n > 0;
            x->from_run = c->run_id; /* the name may be that of a channel (CHAN-19) */
        }
    }
    return true;
}

static void result_render(const struct node_child_end *c, struct jw *w) {
    size_t bytes = c->outputs.n;
    for (size_t i = 0; i < c->vars_nr; i++) bytes += c->vars[i].name.n + c->vars[i].shown.n;
    if (bytes > RESULT_BYTES_MAX) { /* the child's snapshot has it all */
        jw_kbool(w, "resultOmitted", true);
        return;
    }
    jw_key(w, "result");
    jw_object(w);
    for (size_t i = 0; i < c->vars_nr; i++) {
        if (c->vars[i].shown.n == 0) continue;
        jw_key_str(w, c->vars[i].name);
        jw_raw(w, c->vars[i].shown);
    }
    jw_end_object(w);
    jw_kraw_opt(w, "childOutputs", c->outputs);
}

/* {"childRunId","childStatus", ...}; details are those of a failed node. */
static struct str child_report(const struct sub *s, bool details) {
    const struct node_child_end *c = s->call->child;
    struct jobj o;
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    jw_kstr(&o.w, "childRunId", c->run_id);
    jw_kstrz(&o.w, "childStatus", s->wait ? run_status_name(c->status) : "running");
    if (s->wait) jw_kraw_opt(&o.w, "childError", c->error);
    if (s->wait && !details && c->status == RUN_COMPLETED) result_render(c, &o.w);
    return jobj_end(&o, s->call->a);
}

static void child_take(struct sub *s) {
    const struct node_child_end *c = s->call->child;
    bool good = !s->wait || c->status == RUN_COMPLETED;
    struct str text = child_report(s, !good && !s->absorb);
    if (!text.p || (s->wait && good && !outputs_map(s))) {
        s->out->effects_nr = 0;
        node_no_memory(s->out);
    } else if (good || s->absorb) {
        s->out->outcome = NODE_OUT_DONE;
        s->out->outputs = text;
    } else if (c->status == RUN_CANCELLED) { /* WF-50 */
        node_fail(s->out, "child_cancelled", "the child run was cancelled", false);
        s->out->error_details = text;
    } else {
        node_fail(s->out, "child_failed", "the child run failed", true);
        s->out->error_details = text;
    }
}

void exec_sub_workflow(const struct node_call *call, struct node_result *out) {
    struct sub s = {.call = call, .out = out};
    if (!config_read(&s)) return;
    if (call->child) child_take(&s);
    else child_ask(&s);
}
