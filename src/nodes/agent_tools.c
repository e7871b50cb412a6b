/*
 * agent_tools.c: the tools of an agent (AGT-9, AGT-21, AGT-22, AGT-26): those of MCP servers, node
 * types of this host, and people.  What a tool does wrong is told to the model, which may find
 * another way; only a bound, and a host without memory, end the node.
 */
#include "codec/jobj.h"
#include "nodes/agent_loop.h"
#include "nodes/mcp.h"
#include "nodes/untrusted.h"

#define TOOL_TEXT_MAX  (64u * 1024) /* of one result, for the model */
#define TOOL_SAID_MAX  (192u * 1024)
#define TOOL_EVENT_MAX (512u * 1024)
#define LIST_PAGES_MAX 13u

/* --- where requests stand in the log: 1024 places, see NODE_INVOKES_MAX --- */
enum {
    PLACE_CALLS = AGENT_TURNS_MAX,                      /* one each, the same in each attempt */
    PLACE_LISTS = PLACE_CALLS + AGENT_CALLS_MAX,        /* 2 attempts of 16 for each server */
    PLACE_HANDS = PLACE_LISTS + AGENT_SERVERS_MAX * 32, /* 3 attempts of 3 for each call */
    PLACE_END = PLACE_HANDS + AGENT_CALLS_MAX * 9
};
_Static_assert(PLACE_END <= NODE_INVOKES_MAX, "an activation has no more requests");

static unsigned list_place(const struct mcp *m, unsigned step) {
    unsigned base = PLACE_LISTS + m->nth * 32 + (unsigned)(m->call->attempt % 2) * 16;
    if (step == MCP_OPEN) return base;
    if (step == MCP_OPENED) return base + 1;
    return step == MCP_CLOSE ? base + 2 : base + 3 + (step - MCP_LIST);
}

static unsigned call_place(const struct mcp *m, unsigned step) {
    unsigned base = PLACE_HANDS + m->nth * 9 + (unsigned)(m->call->attempt % 3) * 3;
    if (step == MCP_CALL) return PLACE_CALLS + m->nth;
    return step == MCP_OPEN ? base : step == MCP_OPENED ? base + 1 : base + 2;
}

int64_t agent_answer_ms(const struct node_call *call, unsigned ordinal) {
    for (size_t i = 0; i < call->answers_nr; i++)
        if (call->answers[i].ordinal == ordinal) return call->answers[i].duration_ms;
    return 0;
}

/* --- what there is --- */

static bool fail_at(struct agent_desk *d, const struct agent_tool *t, const char *code,
                    const char *why) {
    node_fail(d->out, code, why, false);
    struct str m = arena_printf(d->call->a, "the tool \"" STR_FMT "\" of the agent: %s",
                                STR_ARG(t->name), why);
    if (m.p) d->out->error_message = m;
    return false;
}

static bool server_of(struct agent_desk *d, struct agent_tool *t) {
    struct str tenant = d->call->run->meta.tenant;
    unsigned i = 0;
    t->remote = remote_find(d->call->remotes, REMOTE_MCP, t->server, tenant);
    if (!t->remote)
        return fail_at(d, t, "capability_not_provided",
                       "its operator has named no such MCP server (--mcp-servers) that this "
                       "tenant may use");
    if (!remote_has_tool(t->remote, t->tool))
        return fail_at(d, t, "tool_not_allowed",
                       "it is none of those that the operator allows at its MCP server");
    while (i < d->servers_nr && d->servers[i] != t->remote) i++;
    if (i == AGENT_SERVERS_MAX)
        return fail_at(d, t, "validation_error", "the tools of an agent are at 8 servers at most");
    d->servers[i] = t->remote;
    if (i == d->servers_nr) d->servers_nr++;
    t->server_nth = i;
    return true;
}

static bool rows_read(struct agent_desk *d, unsigned nth) {
    struct mcp m = {.call = d->call,
                    .out = d->out,
                    .server = d->servers[nth],
                    .timeout_ms = MCP_TIMEOUT_MS,
                    .place = list_place,
                    .nth = nth,
                    .pages_max = LIST_PAGES_MAX};
    if (!mcp_open(&m)) return false;
    for (size_t i = 0; i < d->config->tools_nr; i++) {
        struct agent_tool *t = &d->config->tools[i];
        struct str row;
        if (!t->allowed || t->kind != AGENT_TOOL_MCP || t->server_nth != nth) continue;
        m.tool = t->tool;
        if (!mcp_tool_find(&m, &row)) return false;
        struct str schema = json_get(row, "inputSchema");
        if (t->parameters.n == 0 && schema.n > 0 && json_type_of(schema) == JSON_OBJECT)
            t->parameters = schema;
        if (t->description.n == 0)
            (void)ai_text(json_get(row, "description"), d->call->a, &t->description);
    }
    return mcp_close(&m);
}

bool agent_tools_open(struct agent_desk *d) {
    for (size_t i = 0; i < d->config->tools_nr; i++) {
        struct agent_tool *t = &d->config->tools[i];
        if (t->allowed && t->kind == AGENT_TOOL_MCP && !server_of(d, t)) return false;
    }
    for (unsigned s = 0; s < d->servers_nr; s++)
        if (!rows_read(d, s)) return false;
    return true;
}

/* --- one call --- */

struct tool_call {
    struct agent_desk *d;
    const struct agent_tool *t;
    unsigned nth;
    struct str arguments; /* checked */
    struct str outcome;   /* raw, for the event; or */
    struct str code, message;
    struct str said; /* for the model */
};

static struct str text_cut(struct str s, size_t max) {
    if (s.n <= max) return s;
    while (max > 0 && ((unsigned char)s.p[max] & 0xc0) == 0x80) max--;
    return str_n(s.p, max);
}

/* more: of somebody else, or empty. */
static void went_wrong(struct tool_call *w, struct str code, struct str message, struct str more) {
    struct jobj o;
    struct buf b;
    w->code = code;
    w->message = message;
    buf_init(&b, TOOL_SAID_MAX);
    if (more.n > 0) untrusted_render(&b, "tool", w->t->name, text_cut(more, TOOL_TEXT_MAX));
    jobj_begin(&o, 2 * TOOL_SAID_MAX);
    jw_kstr(&o.w, "error", code);
    jw_kstr(&o.w, "message", message);
    if (b.len > 0) jw_kstr(&o.w, "text", buf_str(&b));
    if (buf_failed(&b)) jobj_fail(&o);
    buf_fini(&b);
    w->said = jobj_end(&o, w->d->call->a);
}

static bool request_take(struct tool_call *w, const struct node_result *r) {
    struct node_result *out = w->d->out;
    out->outcome = NODE_OUT_CALL;
    out->request = r->request;
    out->request_ordinal = r->request_ordinal;
    return false;
}

static void mcp_said(struct tool_call *w, struct str outputs) {
    struct arena *a = w->d->call->a;
    struct str text = json_string(json_get(outputs, "text"), a), structured;
    struct buf b;
    struct jobj o;
    structured = json_get(outputs, "structuredContent");
    buf_init(&b, TOOL_SAID_MAX);
    struct str show = text.n == 0 && structured.n > 0 ? structured : text;
    untrusted_render(&b, "tool", w->t->name, text_cut(show, TOOL_TEXT_MAX));
    if (show.n > TOOL_TEXT_MAX) buf_addz(&b, "\n(cut after 64 KiB)");
    w->said = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    jobj_begin(&o, TOOL_EVENT_MAX);
    jw_kstr(&o.w, "text", text_cut(text, TOOL_TEXT_MAX));
    if (structured.n <= TOOL_TEXT_MAX) jw_kraw_opt(&o.w, "structuredContent", structured);
    jw_kstrz(&o.w, "trust", "untrusted");
    w->outcome = jobj_end(&o, a);
}

/* false: a request is asked for. */
static bool mcp_call(struct tool_call *w) {
    const struct node_call *call = w->d->call;
    struct node_result r = {0};
    struct rpc_response answer = {0};
    struct mcp m = {.call = call,
                    .out = &r,
                    .server = w->t->remote,
                    .tool = w->t->tool,
                    .arguments = w->arguments,
                    .timeout_ms = (int)w->t->timeout_ms,
                    .repeatable = w->t->repeatable,
                    .place = call_place,
                    .nth = w->nth};
    struct jobj o;
    jobj_begin(&o, TOOL_EVENT_MAX);
    jw_kstr(&o.w, "name", m.tool);
    jw_kraw(&o.w, "arguments", m.arguments);
    struct str params = jobj_end(&o, call->a);
    if (!params.p) node_no_memory(&r);
    else if (mcp_open(&m) && mcp_ask(&m, MCP_CALL, "tools/call", params, &answer) &&
             mcp_close(&m)) {
        if (answer.result.n > 0) mcp_result_take(&m, STR("{}"), answer.result);
        else {
            node_fail(&r, "mcp_tool_error", "the MCP server refused the call of the tool", false);
            r.error_details = jobj_of(call->a, "text", STR("\"\""));
            went_wrong(w, r.error_code, r.error_message, answer.message);
            return true;
        }
    }
    if (r.outcome == NODE_OUT_CALL) return request_take(w, &r);
    for (unsigned s = MCP_CALL; s <= MCP_OPENED; s++)
        w->d->ms += agent_answer_ms(call, call_place(&m, s));
    if (r.outcome == NODE_OUT_DONE) mcp_said(w, r.outputs);
    else
        went_wrong(w, r.error_code, r.error_message,
                   json_string(json_get(r.error_details, "text"), call->a));
    return true;
}

/* false: a person is asked. */
static bool person_ask(struct tool_call *w) {
    struct agent_desk *d = w->d;
    struct node_prompt q = {.kind = "clarification", .timeout_ms = w->t->timeout_ms};
    struct node_reply r;
    struct jobj o;
    struct str question = json_get(w->arguments, "question");
    if (question.n <= 2 || json_type_of(question) != JSON_STRING) {
        went_wrong(w, STR("tool_arguments_invalid"), STR("question is a text"), STR_NONE);
        return true;
    }
    jobj_begin(&o, TOOL_EVENT_MAX);
    jw_key(&o.w, "questions");
    jw_array(&o.w);
    jw_object(&o.w);
    jw_kstrz(&o.w, "id", "answer");
    jw_kraw(&o.w, "question", question);
    jw_end_object(&o.w);
    jw_end_array(&o.w);
    q.data = jobj_end(&o, d->call->a);
    if (!q.data.p) {
        went_wrong(w, STR("tool_arguments_invalid"), STR("the question is too long"), STR_NONE);
        return true;
    }
    if (!node_interrupt(d->call, d->out, d->asked++, &q, &r)) return false;
    struct str answers = json_get(r.value, "answers"), answer = json_get(answers, "answer");
    if (answer.n == 0) answer = answers.n > 0 ? answers : r.value;
    w->outcome = answer;
    w->said = json_type_of(answer) == JSON_STRING ? json_string(answer, d->call->a) : answer;
    if (w->said.n == 0) w->said = STR("(no answer)");
    return true;
}

static void node_run(struct tool_call *w) {
    struct agent_desk *d = w->d;
    struct node_call inner = *d->call;
    struct node_result r = {0};
    inner.inputs = w->arguments;
    inner.config = w->t->config;
    inner.conformance = false;
    inner.answers_nr = 0;
    nodes_local_tool(w->t->type_id)(&inner, &r);
    if (r.outcome != NODE_OUT_DONE) {
        went_wrong(w, r.error_code.n > 0 ? r.error_code : STR("tool_failed"), r.error_message,
                   STR_NONE);
        return;
    }
    for (size_t i = 0; i < r.effects_nr; i++) {
        struct node_effect *x = node_effect_add(d->call, d->out, r.effects[i].kind);
        if (!x) {
            w->said = STR_NONE;
            return;
        }
        *x = r.effects[i];
    }
    w->outcome = r.outputs.n > 0 ? r.outputs : STR("{}");
    w->said = text_cut(w->outcome, TOOL_TEXT_MAX);
}

/* Ports win over config, but what the author of a tool has set is not for the model (AGT-9). */
static const char *author_wrong(const struct tool_call *w) {
    struct arena *a = w->d->call->a;
    struct json_members set, said;
    if (w->t->kind != AGENT_TOOL_NODE || !w->t->allowed) return NULL;
    if (json_members(w->t->config, a, &set, NULL) != 0 ||
        json_members(w->arguments, a, &said, NULL) != 0)
        return "they cannot be read";
    for (size_t i = 0; i < said.n; i++)
        for (size_t k = 0; k < set.n; k++)
            if (str_eq(said.v[i].key, set.v[k].key))
                return "they have a member that the author of the tool has set";
    return NULL;
}

/* NULL: as the schema has them, or it cannot be judged and the tool itself will. */
static const char *arguments_wrong(struct tool_call *w, struct str raw) {
    bool judged = true;
    w->arguments = STR("{}");
    if (raw.n == 0) raw = STR("{}");
    if (raw.n > TOOL_EVENT_MAX / 2 || json_check(raw, &JSON_LIMITS_DEFAULT, NULL) != 0 ||
        json_type_of(raw) != JSON_OBJECT)
        return "they are no JSON object";
    w->arguments = raw;
    const char *taken = author_wrong(w);
    if (taken) return taken;
    if (w->t->parameters.n == 0 || w->t->parameters.n > AGENT_SCHEMA_MAX) return NULL;
    const char *why = agent_schema_wrong(w->t->parameters, raw, w->d->call->a, &judged);
    return judged ? why : NULL;
}

static const struct agent_tool *tool_find(const struct agent_config *c, struct str name) {
    for (size_t i = 0; i < c->tools_nr; i++)
        if (str_eq(c->tools[i].name, name)) return &c->tools[i];
    return NULL;
}

/* A tool that may not be called is not, and the log shows that the model wanted it (AGT-9). */
static bool call_decide(struct tool_call *w, const char *wrong) {
    if (!w->t->allowed) {
        went_wrong(w, STR("tool_not_allowed"),
                   STR("the agent has no such tool, or its allow-list does not name it"), STR_NONE);
        return true;
    }
    if (wrong) {
        struct str m = arena_printf(w->d->call->a, "the arguments do not fit the tool: %s", wrong);
        went_wrong(w, STR("tool_arguments_invalid"), m, STR_NONE);
        return true;
    }
    switch (w->t->kind) {
    case AGENT_TOOL_MCP:
        return mcp_call(w);
    case AGENT_TOOL_ASK:
        return person_ask(w);
    default:
        node_run(w);
        return true;
    }
}

/* What the model said it wants, for the event. */
static struct str inputs_shown(struct tool_call *w, const struct ai_tool_call *c,
                               const char *wrong) {
    struct jobj o;
    if (!wrong) return w->arguments;
    jobj_begin(&o, TOOL_EVENT_MAX);
    jw_kstr(&o.w, "malformed", text_cut(c->arguments, TOOL_TEXT_MAX));
    return jobj_end(&o, w->d->call->a);
}

bool agent_tool_call(struct agent_desk *d, const struct ai_tool_call *c, struct str *said) {
    struct tool_call w = {.d = d, .t = tool_find(d->config, c->name), .nth = d->calls++};
    struct agent_tool none = {.name = text_cut(c->name, AI_NAME_MAX)};
    if (!w.t) {
        none.shown = arena_printf(d->call->a, "unknown:" STR_FMT, STR_ARG(none.name));
        w.t = &none;
    }
    const char *wrong = arguments_wrong(&w, c->arguments);
    if (!agent_tool_called(d->call, d->out, w.nth, w.t->shown, inputs_shown(&w, c, wrong)))
        return false;
    if (!call_decide(&w, wrong)) return false;
    *said = w.said;
    if (!w.said.p) {
        node_no_memory(d->out);
        return false;
    }
    return w.code.n > 0 ? agent_tool_failed(d->call, d->out, w.nth, w.t->shown, w.code, w.message)
                        : agent_tool_returned(d->call, d->out, w.nth, w.t->shown, w.outcome);
}
