/*
 * data.c: values, variables, channels, log lines (NODE-31, NODE-56..58, 30-nodes 2.4).
 */
#include "codec/jobj.h"
#include "nodes/agent.h"

void exec_identity(const struct node_call *call, struct node_result *out) {
    if (agent_script(call, out)) return;
    out->outcome = NODE_OUT_DONE;
    out->outputs = call->inputs; /* the same bytes: numbers and key order survive */
}

static bool variable_name(const struct node_call *call, struct node_result *out, struct str *name) {
    if (node_arg_string(call, "name", name) && name->n > 0) return true;
    node_invalid(out, "the name of a variable is missing");
    return false;
}

void exec_set_variable(const struct node_call *call, struct node_result *out) {
    struct str name, value = node_arg(call, "value");
    if (!variable_name(call, out, &name)) return;
    if (value.n == 0) {
        node_invalid(out, "the value for the variable is missing");
        return;
    }
    struct node_effect *x = node_effect_add(call, out, EFFECT_VARIABLE);
    if (!x) {
        node_no_memory(out);
        return;
    }
    x->name = name;
    x->value = value;
    out->outcome = NODE_OUT_DONE;
}

static bool channel_folded(const struct node_call *call, const struct chan_state *c,
                           struct str *value) {
    struct buf b;
    buf_init(&b, PLAN_BYTES_MAX);
    bool ok = chan_value(c, call->now_ms, &b) == 0;
    struct str text = ok ? arena_str(call->a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (text.p) *value = text;
    return text.p != NULL;
}

void exec_get_variable(const struct node_call *call, struct node_result *out) {
    struct str name, value = STR("null");
    if (!variable_name(call, out, &name)) return;
    for (size_t i = 0; i < call->run->variables.n; i++) {
        const struct var_state *v = &call->run->variables.v[i];
        if (str_eq(text_str(&v->name), name) && v->value.n > 0) value = text_str(&v->value);
    }
    for (size_t i = 0; i < call->run->channels.n; i++) { /* CHAN-28: shown under variables */
        const struct chan_state *c = &call->run->channels.v[i];
        if (c->decl || c->n == 0 || !str_eq(text_str(&c->name), name)) continue;
        if (!channel_folded(call, c, &value)) {
            node_no_memory(out);
            return;
        }
    }
    struct str outputs = jobj_of(call->a, "value", value);
    if (!outputs.p) {
        node_no_memory(out);
        return;
    }
    out->outcome = NODE_OUT_DONE;
    out->outputs = outputs;
}

/* Config or ports: level (info), message, fields. */
void exec_log(const struct node_call *call, struct node_result *out) {
    static const char *const LEVELS[] = {"debug", "info", "warn", "error"};
    struct str level = STR("info"), message, fields = node_arg(call, "fields");
    bool known = false;
    if (node_arg(call, "level").n > 0 && !node_arg_string(call, "level", &level)) level = STR("?");
    for (size_t i = 0; i < sizeof LEVELS / sizeof LEVELS[0]; i++)
        known = known || str_eqc(level, LEVELS[i]);
    if (!known) {
        node_invalid(out, "the level of a log line is debug, info, warn or error");
        return;
    }
    if (!node_arg_string(call, "message", &message)) {
        node_invalid(out, "the message of a log line is missing");
        return;
    }
    if (fields.n > 0 && json_type_of(fields) != JSON_OBJECT) {
        node_invalid(out, "the fields of a log line are not an object");
        return;
    }
    struct node_effect *x = node_effect_add(call, out, EFFECT_LOG);
    if (!x) {
        node_no_memory(out);
        return;
    }
    x->name = level;
    x->value = message;
    x->extra = fields;
    out->outcome = NODE_OUT_DONE;
}

/* NODE-56: only append in this version; a declared channel is written with its own reducer
 * (CHAN-7). */
static bool reducer_fits(const struct node_call *call, struct str channel) {
    struct str asked;
    if (node_arg(call, "reducer").n == 0) return true;
    if (!node_arg_string(call, "reducer", &asked)) return false;
    const struct wf_channel *d = workflow_channel(call->run->wf, channel);
    return str_eqc(asked, "append") || (d && str_eq(asked, d->reducer_name));
}

void exec_channel_write(const struct node_call *call, struct node_result *out) {
    struct str name, value = node_arg(call, "value"), ttl = json_get(call->config, "ttlMs");
    int64_t ttl_ms = 0;
    if (!node_arg_string(call, "channelName", &name) || name.n == 0) {
        node_invalid(out, "the name of the channel is missing");
        return;
    }
    if (!reducer_fits(call, name)) {
        node_invalid(out, "core.channelWrite writes with the reducer append");
        return;
    }
    if (ttl.n > 0 && (!json_int(ttl, &ttl_ms) || ttl_ms < 0)) {
        node_invalid(out, "ttlMs of a channel write is not a whole number of milliseconds");
        return;
    }
    if (value.n == 0) {
        node_invalid(out, "the value to write is missing");
        return;
    }
    struct node_effect *x = node_effect_add(call, out, EFFECT_CHANNEL);
    if (!x) {
        node_no_memory(out);
        return;
    }
    x->name = name;
    x->value = value;
    x->reducer = RED_APPEND;
    x->ttl_ms = ttl_ms;
    out->outcome = NODE_OUT_DONE;
}
