/*
 * agent_script.c: what core.identity does for the conformance fixtures: the conduct of an agent
 * without a model, on the machinery that models use (NODE-32, MSG-6, AGT-28).
 */
#include "codec/jobj.h"
#include "nodes/agent.h"

#define TOOL      STR("openwop:echo")
#define TOOL_DATA STR("{\"x\":1}")

static bool agent_script_flag(const struct node_call *call, const char *key) {
    bool is = false;
    struct str raw = json_get(call->config, key);
    return raw.n > 0 && json_bool(raw, &is) && is;
}

static bool fixture_ended(struct node_result *out, const struct node_call *call) {
    out->outcome = NODE_OUT_DONE;
    out->outputs = call->inputs;
    return true;
}

/* The first message of this activation that the log holds: a fork goes on with its ids. */
static struct str ids_begin(const struct node_call *call, const struct chan_state *c) {
    for (size_t i = 0; c && i < c->n; i++) {
        if (c->v[i].seq <= call->run->nodes[call->node].started_seq) continue;
        struct str id = json_string(json_get(text_str(&c->v[i].value), "messageId"), call->a);
        if (id.n > 2) return str_n(id.p, id.n - 2); /* without its "-1" */
    }
    return call->ids_run_id.n > 0 ? call->ids_run_id : call->run->meta.run_id;
}

static bool message_put(const struct node_call *call, struct node_result *out, struct str channel,
                        struct str begin, int nth, const char *content) {
    struct node_effect *x = node_effect_add(call, out, EFFECT_CHANNEL);
    struct jobj o;
    jobj_begin(&o, EVENT_PAYLOAD_MAX);
    jw_kstr(&o.w, "messageId", arena_printf(call->a, STR_FMT "-%d", STR_ARG(begin), nth));
    jw_kstrz(&o.w, "role", "assistant");
    jw_kstrz(&o.w, "content", content);
    struct str value = jobj_end(&o, call->a);
    if (!x || !value.p) {
        node_no_memory(out);
        return false;
    }
    x->name = channel;
    x->value = value;
    x->reducer = RED_MESSAGE;
    return true;
}

/* MSG-6: the second write repeats the id of the first. */
static void messages_put(const struct node_call *call, struct node_result *out) {
    const struct workflow *wf = call->run->wf;
    const struct chan_state *c = NULL;
    size_t k = 0;
    while (k < wf->channels_nr && wf->channels[k].reducer != RED_MESSAGE) k++;
    if (k == wf->channels_nr) {
        node_invalid(out, "emitDuplicateMessageId needs a channel whose reducer is message");
        return;
    }
    for (size_t i = 0; i < call->run->channels.n; i++)
        if (call->run->channels.v[i].decl == &wf->channels[k]) c = &call->run->channels.v[i];
    struct str begin = ids_begin(call, c), name = wf->channels[k].name;
    if (message_put(call, out, name, begin, 1, "first") &&
        message_put(call, out, name, begin, 1, "repeated") &&
        message_put(call, out, name, begin, 2, "second"))
        (void)fixture_ended(out, call);
}

static void trace_put(const struct node_call *call, struct node_result *out) {
    const struct agent_decision d = {.decision = STR("{\"next\":\"done\"}"),
                                     .confidence = STR("1")};
    struct str settled;
    if (agent_reason(call, out, STR("Decomposed the request and chose one tool.")) &&
        agent_tool_called(call, out, 0, TOOL, TOOL_DATA) &&
        agent_tool_returned(call, out, 0, TOOL, TOOL_DATA) &&
        agent_hand_off(call, out, STR("core.conformance.handoff-target"), "specialist routing") &&
        agent_settle(call, out, &d, &settled))
        (void)fixture_ended(out, call);
}

bool agent_script(const struct node_call *call, struct node_result *out) {
    struct str confidence = json_get(call->config, "mockConfidence"), settled;
    struct str action = json_get(call->config, "memoryAction");
    if (!call->conformance) return false;
    if (action.n > 0) {
        agent_memory(call, out, action);
        return true;
    }
    if (agent_script_flag(call, "emitDuplicateMessageId")) {
        messages_put(call, out);
        return true;
    }
    if (node_agent_id(call->def).n == 0) return false; /* NODE-32: flags count with a pin */
    if (agent_script_flag(call, "emitReasoningTrace")) {
        trace_put(call, out);
        return true;
    }
    if (confidence.n == 0) return false;
    const struct agent_decision d = {.decision = STR("{\"next\":\"done\"}"),
                                     .confidence = confidence};
    if (agent_settle(call, out, &d, &settled)) (void)fixture_ended(out, call);
    return true;
}
