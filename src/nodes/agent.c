/*
 * agent.c: see agent.h.
 */
#include "nodes/agent.h"

#include "codec/ident.h"
#include "codec/jobj.h"
#include "domain/reasoning.h"

#include <math.h>
#include <stdio.h>

#define AGENT_TEXT_MAX    (1024u * 1024)
#define CALL_ID_DOMAIN    "wopr/agent-call/1"
#define THRESHOLD_DEFAULT "0.7" /* AGT-31 */
/* As JSON; said twice, as reasoning and as trace, it fits its event. */
#define REASONING_FULL_MAX (AGENT_TEXT_MAX / 2 - 4096u)

static bool effect_put(const struct node_call *call, struct node_result *out,
                       enum node_effect_kind kind, struct str name, struct str value) {
    struct node_effect *x = value.p ? node_effect_add(call, out, kind) : NULL;
    if (!x) node_no_memory(out);
    else {
        x->name = name;
        x->value = value;
    }
    return x != NULL;
}

bool agent_manifest_of(const struct node_call *call, struct agent *g) {
    return agent_find(call->run->meta.agents, call->def->agent, call->a, g);
}

/* --- reasoning --- */

static size_t json_bytes(struct str text) { /* at most */
    size_t n = text.n;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] == '"' || text.p[i] == '\\') n++;
        else if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f) n += 5;
    return n;
}

bool agent_withholds(const struct node_call *call) {
    const struct run_state *run = call->run;
    if (run->options.credential_ref.n > 0) return true;
    for (size_t i = 0; i < run->wf->nodes_nr; i++)
        if (run->wf->nodes[i].credentials_ref.n > 0) return true;
    return false;
}

bool agent_reason(const struct node_call *call, struct node_result *out, struct str text) {
    struct str wish = json_get(call->run->meta.configurable, "reasoningVerbosity"); /* AGT-14 */
    bool full = str_eqc(wish, "\"full\"") && !agent_withholds(call) &&
                json_bytes(text) <= REASONING_FULL_MAX;
    int64_t tokens = 0;
    struct jobj o;
    if (str_eqc(wish, "\"off\"")) return true;
    struct str shown =
        full ? reasoning_words(text, INT64_MAX, &tokens) : reasoning_summary(text, &tokens);
    jobj_begin(&o, AGENT_TEXT_MAX);
    jw_kstr(&o.w, "reasoning", full ? text : shown);
    jw_kstrz(&o.w, "verbosity", full ? "full" : "summary");
    jw_kint(&o.w, "tokenCount", tokens);
    if (full) jw_kstr(&o.w, "trace", text);
    return effect_put(call, out, EFFECT_REASONED, STR_NONE, jobj_end(&o, call->a));
}

/* --- tools --- */

/* Unique in the run (AGT-25), and the same in its forks: it holds no id of a run. */
static struct str call_id(const struct node_call *call, unsigned nth) {
    char hex[65];
    struct str text =
        arena_printf(call->a, CALL_ID_DOMAIN "/" STR_FMT "/%d/%d/%u", STR_ARG(call->def->id),
                     (int)call->run->nodes[call->node].activation, call->attempt, nth);
    if (!text.p) return STR_NONE;
    struct sha256 h = sha256_of(text);
    sha256_hex(&h, hex);
    return arena_str(call->a, str_n(hex, 32));
}

static bool tool_put(const struct node_call *call, struct node_result *out,
                     enum node_effect_kind kind, unsigned nth, struct str tool, const char *member,
                     struct str value) {
    struct jobj o;
    jobj_begin(&o, AGENT_TEXT_MAX);
    jw_kstr(&o.w, "toolName", tool);
    jw_kstr(&o.w, "callId", call_id(call, nth));
    jw_kraw(&o.w, member, value);
    return effect_put(call, out, kind, STR_NONE, jobj_end(&o, call->a));
}

bool agent_tool_called(const struct node_call *call, struct node_result *out, unsigned nth,
                       struct str tool, struct str inputs) {
    return tool_put(call, out, EFFECT_TOOL_CALLED, nth, tool, "inputs", inputs);
}

bool agent_tool_returned(const struct node_call *call, struct node_result *out, unsigned nth,
                         struct str tool, struct str outcome) {
    return tool_put(call, out, EFFECT_TOOL_RETURNED, nth, tool, "outcome", outcome);
}

bool agent_tool_failed(const struct node_call *call, struct node_result *out, unsigned nth,
                       struct str tool, struct str code, struct str message) {
    struct jobj o;
    jobj_begin(&o, AGENT_TEXT_MAX);
    jw_kstr(&o.w, "code", code);
    jw_kstr(&o.w, "message", message);
    return tool_put(call, out, EFFECT_TOOL_RETURNED, nth, tool, "error", jobj_end(&o, call->a));
}

bool agent_hand_off(const struct node_call *call, struct node_result *out, struct str to,
                    const char *reason) {
    struct jobj o;
    jobj_begin(&o, AGENT_TEXT_MAX);
    jw_kstrz_opt(&o.w, "reason", reason);
    return effect_put(call, out, EFFECT_HANDOFF, to, jobj_end(&o, call->a));
}

/* --- decisions --- */

static bool decided_put(const struct node_call *call, struct node_result *out, struct str decision,
                        struct str confidence) {
    struct jobj o;
    jobj_begin(&o, AGENT_TEXT_MAX);
    jw_kraw(&o.w, "decision", decision);
    jw_kraw_opt(&o.w, "confidence", confidence);
    return effect_put(call, out, EFFECT_DECIDED, STR_NONE, jobj_end(&o, call->a));
}

/* AGT-30: what is no number from 0 to 1 is no signal; the log of the run says so. */
static bool confidence_read(const struct node_call *call, struct node_result *out, struct str raw,
                            double *value, bool *is) {
    *is = raw.n > 0 && json_type_of(raw) == JSON_NUMBER && json_double(raw, value) &&
          isfinite(*value) && *value >= 0 && *value <= 1;
    if (*is || raw.n == 0) return true;
    if (!effect_put(call, out, EFFECT_LOG, STR("warn"),
                    STR("a confidence that is no number from 0 to 1 was ignored")))
        return false;
    return true;
}

static struct str doubt_data(const struct node_call *call, const struct agent_decision *d,
                             struct str threshold) {
    struct jobj o;
    jobj_begin(&o, AGENT_TEXT_MAX);
    jw_kraw(&o.w, "agentId", node_agent_id(call->def));
    jw_kraw(&o.w, "threshold", threshold);
    jw_kraw(&o.w, "observed", d->confidence);
    jw_kraw(&o.w, "decision", d->decision);
    return jobj_end(&o, call->a);
}

/* AGT-33: {"action":"accept"} and {"action":"reject"} mean the decision that was asked about. */
static struct str answer_action(struct str value, struct arena *a) {
    struct json_members m;
    if (json_type_of(value) != JSON_OBJECT || json_members(value, a, &m, NULL) != 0 || m.n != 1)
        return STR_NONE;
    return str_eqc(m.v[0].key, "action") ? m.v[0].raw : STR_NONE;
}

bool agent_settle(const struct node_call *call, struct node_result *out,
                  const struct agent_decision *d, struct str *settled) {
    struct str threshold = json_get(call->run->meta.configurable, "escalationThreshold");
    struct agent g;
    struct node_prompt q = {.kind = "low-confidence", .resume_schema = d->resume_schema};
    struct node_reply r;
    double confidence = 1, least = 0;
    bool is = false;
    if (node_agent_id(call->def).n == 0) {
        node_invalid(out, "a node that decides needs an agent");
        return false;
    }
    if (threshold.n == 0 && agent_manifest_of(call, &g)) threshold = g.threshold; /* AGT-31 */
    if (threshold.n == 0) threshold = STR(THRESHOLD_DEFAULT);
    if (!confidence_read(call, out, d->confidence, &confidence, &is)) return false;
    bool low = is && json_double(threshold, &least) && confidence < least;
    if ((low || !d->silent) && !decided_put(call, out, d->decision, is ? d->confidence : STR_NONE))
        return false;
    *settled = d->decision;
    if (!low) return true;
    q.data = doubt_data(call, d, threshold);
    if (!q.data.p) {
        node_no_memory(out);
        return false;
    }
    if (!node_interrupt(call, out, d->asked, &q, &r)) return false;
    struct str action = answer_action(r.value, call->a);
    if (str_eqc(action, "\"reject\"")) {
        node_fail(out, "decision_rejected", "the decision of the agent was rejected", false);
        return false;
    }
    if (!str_eqc(action, "\"accept\"")) *settled = r.value;
    return d->silent || decided_put(call, out, *settled, STR_NONE);
}
