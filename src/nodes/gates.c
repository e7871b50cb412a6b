/*
 * gates.c: nodes that wait for people and systems: core.approvalGate, core.clarificationGate,
 * core.interrupt (NODE-36 to NODE-47, WF-33, INT-8, INT-25).
 */
#include "codec/jobj.h"
#include "nodes/nodes.h"

#define GATE_TEXT_MAX (1024u * 1024)

static bool read_timeout(const struct node_call *call, struct node_prompt *q,
                         struct node_result *out) {
    struct str raw = node_arg(call, "timeoutMs");
    if (raw.n == 0 || (json_int(raw, &q->timeout_ms) && q->timeout_ms >= 0)) return true;
    node_invalid(out, "timeoutMs of an interrupt is not a whole number of milliseconds");
    return false;
}

/* --- approval --- */

/* INT-8: fixtures name neither an artifact nor, sometimes, a title. */
static struct str approval_data(const struct node_call *call) {
    static const char *const rest[] = {"description",       "artifactData",  "actions",
                                       "requiredApprovals", "approversList", "rejectionPolicy"};
    struct str id = node_arg(call, "artifactId"), type = node_arg(call, "artifactType"),
               title = node_arg(call, "title");
    struct jobj o;
    jobj_begin(&o, GATE_TEXT_MAX);
    if (id.n > 0) jw_kraw(&o.w, "artifactId", id);
    else
        jw_kstr(&o.w, "artifactId",
                arena_printf(call->a, STR_FMT ":" STR_FMT, STR_ARG(call->run->meta.run_id),
                             STR_ARG(call->def->id)));
    jw_kraw(&o.w, "artifactType", type.n > 0 ? type : STR("\"approval\""));
    if (title.n > 0) jw_kraw(&o.w, "title", title);
    else jw_kstr(&o.w, "title", call->def->name.n > 0 ? call->def->name : call->def->id);
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        struct str raw = node_arg(call, rest[i]);
        if (raw.n == 0 && str_eqc(str_c(rest[i]), "actions")) raw = STR("[\"accept\",\"reject\"]");
        jw_kraw_opt(&o.w, rest[i], raw);
    }
    return jobj_end(&o, call->a);
}

/* INT-25: an author who routes by the decision gets it as output; otherwise a rejection fails the
 * node, and any_failed edges see it. */
static bool routes_by_decision(const struct node_call *call) {
    const struct workflow *wf = call->run->wf;
    for (size_t i = 0; i < call->def->out_nr; i++)
        if (wf->edges[call->def->out_edges[i]].cond.kind != COND_NONE) return true;
    return false;
}

static void approval_done(const struct node_call *call, struct node_result *out,
                          const struct node_reply *r) {
    if (str_eqc(r->action, "reject") && !routes_by_decision(call)) {
        node_fail(out, "approval_rejected", "the approval was rejected", false);
        return;
    }
    out->outcome = NODE_OUT_DONE;
    out->outputs = r->value;
}

static void ask_approval(const struct node_call *call, struct node_result *out, struct str data,
                         struct str key) {
    struct node_prompt q = {.kind = "approval",
                            .data = data,
                            .key = key,
                            .resume_schema = node_arg(call, "resumeSchema")};
    struct node_reply r;
    if (data.n == 0) {
        node_fail(out, "out_of_memory", "the approval is too large", true);
        return;
    }
    if (!read_timeout(call, &q, out)) return;
    if (node_interrupt(call, out, 0, &q, &r)) approval_done(call, out, &r);
}

void exec_approval_gate(const struct node_call *call, struct node_result *out) {
    ask_approval(call, out, approval_data(call), STR_NONE);
}

/* --- clarification --- */

void exec_clarification_gate(const struct node_call *call, struct node_result *out) {
    struct str questions = node_arg(call, "questions"), context = node_arg(call, "contextType");
    struct node_prompt q = {.kind = "clarification"};
    struct node_reply r;
    struct jobj o;
    jobj_begin(&o, GATE_TEXT_MAX);
    jw_kraw_opt(&o.w, "questions", questions);
    jw_kraw_opt(&o.w, "contextType", context);
    q.data = jobj_end(&o, call->a);
    if (!read_timeout(call, &q, out) || !node_interrupt(call, out, 0, &q, &r)) return;
    out->outcome = NODE_OUT_DONE;
    out->outputs = r.value; /* {"answers":{..}} */
}

/* --- any --- */

static const char *const KINDS[] = {"approval", "clarification", "external-event", "custom"};
#define KIND_WRONG                                                                                 \
    "the kind of an interrupt is none of approval, clarification, external-event and custom"

/* The kind of a known word, NULL for others, conversations among them (INT-6). */
static const char *known_kind(struct str word) {
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (str_eqc(word, KINDS[i])) return KINDS[i];
    return NULL;
}

bool interrupt_prompt(const struct node_call *call, struct node_result *out, struct str payload,
                      struct node_prompt *q) {
    struct str kind = json_get(payload, "kind"), key = json_get(payload, "key"),
               ms = json_get(payload, "timeoutMs"), data = json_get(payload, "data");
    bool texts = kind.n > 0 && json_type_of(kind) == JSON_STRING &&
                 (key.n == 0 || json_type_of(key) == JSON_STRING);
    *q = (struct node_prompt){.data = data.n > 0 ? data : STR("{}"),
                              .resume_schema = json_get(payload, "resumeSchema")};
    if (texts) q->kind = known_kind(json_string(kind, call->a));
    if (!q->kind) {
        node_invalid(out, KIND_WRONG);
        return false;
    }
    if (json_type_of(q->data) != JSON_OBJECT) {
        node_invalid(out, "data of an interrupt is not an object");
        return false;
    }
    if (key.n > 0) q->key = json_string(key, call->a);
    if (ms.n > 0 && (!json_int(ms, &q->timeout_ms) || q->timeout_ms < 0)) {
        node_invalid(out, "timeoutMs of an interrupt is not a whole number of milliseconds");
        return false;
    }
    return true;
}

const char *interrupt_config_wrong(struct str config) {
    struct str kind = json_get(config, "kind");
    if (kind.n < 2) return NULL; /* a port may give it */
    bool plain = json_type_of(kind) == JSON_STRING && !memchr(kind.p, '\\', kind.n);
    return plain && known_kind(str_n(kind.p + 1, kind.n - 2)) ? NULL : KIND_WRONG;
}

void exec_interrupt(const struct node_call *call, struct node_result *out) {
    struct str kind, key = STR_NONE;
    struct node_prompt q = {.data = node_arg(call, "data"),
                            .resume_schema = node_arg(call, "resumeSchema")};
    struct node_reply r;
    if (!node_arg_string(call, "kind", &kind)) {
        node_invalid(out, "an interrupt needs a kind");
        return;
    }
    q.kind = known_kind(kind);
    if (!q.kind) {
        node_invalid(out, KIND_WRONG);
        return;
    }
    if (node_arg(call, "key").n > 0 && !node_arg_string(call, "key", &key)) {
        node_invalid(out, "the key of an interrupt is not a string");
        return;
    }
    if (str_eqc(kind, "approval")) {
        ask_approval(call, out, q.data.n > 0 ? q.data : approval_data(call), key);
        return;
    }
    q.key = key;
    if (!read_timeout(call, &q, out) || !node_interrupt(call, out, 0, &q, &r)) return;
    out->outcome = NODE_OUT_DONE;
    if (str_eqc(kind, "clarification")) out->outputs = r.value;
    else
        out->outputs =
            jobj_of(call->a, str_eqc(kind, "custom") ? "resumeValue" : "eventPayload", r.value);
}
