/*
 * mcp.c: config.mcp of core.ai.callPrompt (NODE-59): one tool of an MCP server is called, without a
 * model (MCP-3 to MCP-10).  Which server: the operator's table; which tool and what arguments: the
 * author's configuration, with values of ports in it.
 */
#include "nodes/mcp.h"

#include "codec/jobj.h"
#include "nodes/template.h"

#define ARGUMENTS_MAX (1024u * 1024)

static bool mcp_refuse(struct mcp *m, const char *message) {
    node_invalid(m->out, message);
    return false;
}

static bool arguments_fill(struct mcp *m, struct str raw) {
    struct buf b;
    struct jw w;
    buf_init(&b, ARGUMENTS_MAX);
    jw_init(&w, &b);
    const char *why = template_fill_json(raw, m->call->inputs, m->call->a, &w);
    bool over = buf_over(&b);
    m->arguments = !why && !buf_failed(&b) ? arena_str(m->call->a, buf_str(&b)) : STR_NONE;
    buf_fini(&b);
    if (why) return mcp_refuse(m, why);
    if (over) return mcp_refuse(m, "the arguments of the tool are longer than 1 MiB");
    if (!m->arguments.p) node_no_memory(m->out);
    return m->arguments.p != NULL;
}

/* An input port named arguments is data and wins; those of the configuration are templates. */
static bool arguments_read(struct mcp *m, struct str config) {
    struct str port = json_get(m->call->inputs, "arguments"), raw = json_get(config, "arguments");
    bool templates = true;
    (void)json_bool(json_get(config, "templates"), &templates);
    m->arguments = port.n > 0 ? port : raw.n > 0 ? raw : STR("{}");
    if (json_type_of(m->arguments) != JSON_OBJECT)
        return mcp_refuse(m, "the arguments of an MCP tool are not an object");
    return port.n > 0 || !templates || arguments_fill(m, m->arguments);
}

static bool config_read(struct mcp *m, struct str config, struct str *server) {
    struct str name = json_get(config, "server"), ms = json_get(config, "timeoutMs");
    int64_t timeout_ms = MCP_TIMEOUT_MS;
    const char *why = mcp_config_wrong(m->call->config);
    if (why) return mcp_refuse(m, why);
    (void)json_bool(json_get(config, "repeatable"), &m->repeatable);
    if (ms.n > 0) (void)json_int(ms, &timeout_ms);
    m->timeout_ms = (int)timeout_ms;
    m->tool = json_string(json_get(config, "tool"), m->call->a);
    *server = name.n > 0 ? json_string(name, m->call->a) : STR_NONE;
    if (!arena_failed(m->call->a)) return arguments_read(m, config);
    node_no_memory(m->out);
    return false;
}

/* MCP-9.  Which servers there are is told to those who may use them. */
void mcp_no_server(struct mcp *m, struct str asked) {
    const struct remotes *all = m->call->remotes;
    struct buf names;
    buf_init(&names, 2048);
    for (size_t i = 0; all && i < all->n; i++)
        if (all->v[i].kind == REMOTE_MCP && remote_for(&all->v[i], m->call->run->meta.tenant))
            buf_addf(&names, "%s" STR_FMT, names.len > 0 ? ", " : "", STR_ARG(all->v[i].name));
    node_fail(m->out, "capability_not_provided",
              "the host does not provide the capability mcp: its operator has named no MCP server "
              "(--mcp-servers) that this tenant may use",
              false);
    if (asked.n > 0 && names.len > 0 && !buf_failed(&names))
        m->out->error_message = arena_printf(
            m->call->a,
            "the host does not provide the capability mcp at the server that the node names; those "
            "that this tenant may use are " STR_FMT,
            STR_ARG(buf_str(&names)));
    m->out->error_details = STR("{\"capability\":\"mcp\"}");
    buf_fini(&names);
}

static bool mcp_tool_allowed(struct mcp *m) {
    if (remote_has_tool(m->server, m->tool)) return true;
    node_fail(m->out, "tool_not_allowed",
              "the tool is none of those that the operator allows at this MCP server", false);
    return false;
}

/* MCP-6. */
static bool arguments_fit(struct mcp *m, struct str row) {
    bool no_memory = false;
    const char *why =
        mcp_schema_wrong(json_get(row, "inputSchema"), m->arguments, m->call->a, &no_memory);
    if (no_memory) node_no_memory(m->out);
    if (!why) return !no_memory;
    node_fail(m->out, "tool_not_allowed",
              "the arguments do not fit the schema that the MCP server gives for the tool", false);
    m->out->error_message =
        arena_printf(m->call->a, "the arguments of the tool do not fit its schema: %s", why);
    return false;
}

static void call_refused(struct mcp *m, const struct rpc_response *r) {
    struct jobj o;
    node_fail(m->out, "mcp_tool_error", "the MCP server refused the call of the tool", false);
    jobj_begin(&o, 8192);
    jw_kstr(&o.w, "tool", m->tool);
    jw_kstr(&o.w, "server", m->server->name);
    jw_kstrz(&o.w, "reason", "rpc_error");
    jw_kint(&o.w, "code", r->code);
    if (r->message.n > 0 && r->message.n <= 1000) jw_kstr(&o.w, "message", r->message);
    m->out->error_details = jobj_end(&o, m->call->a);
}

static struct str call_params(struct mcp *m) {
    struct jobj o;
    jobj_begin(&o, 2 * ARGUMENTS_MAX);
    jw_kstr(&o.w, "name", m->tool);
    jw_kraw(&o.w, "arguments", m->arguments);
    return jobj_end(&o, m->call->a);
}

bool mcp_asked(const struct node_call *call) { return json_get(call->config, "mcp").n > 0; }

void mcp_tool_call(struct mcp *m) {
    struct rpc_response r = {0};
    struct str row = STR_NONE;
    if (!mcp_tool_allowed(m) || !mcp_open(m) || !mcp_tool_find(m, &row) || !arguments_fit(m, row))
        return;
    if (!mcp_ask(m, MCP_CALL, "tools/call", call_params(m), &r) || !mcp_close(m)) return;
    if (r.result.n > 0) mcp_result_take(m, row, r.result);
    else call_refused(m, &r);
}

void exec_mcp(const struct node_call *call, struct node_result *out) {
    struct mcp m = {.call = call, .out = out};
    struct str asked = STR_NONE;
    if (!config_read(&m, json_get(call->config, "mcp"), &asked)) return;
    m.server = remote_find(call->remotes, REMOTE_MCP, asked, call->run->meta.tenant);
    if (m.server) mcp_tool_call(&m);
    else mcp_no_server(&m, asked);
}

/* --- before any run --- */

static bool word_in(struct str key, const char *const *words) {
    for (; *words; words++)
        if (str_eqc(key, *words)) return true;
    return false;
}

static const char *numbers_wrong(struct str mcp) {
    struct str ms = json_get(mcp, "timeoutMs"), r = json_get(mcp, "repeatable"),
               t = json_get(mcp, "templates");
    int64_t n = 1;
    bool b;
    if (ms.n > 0 && (!json_int(ms, &n) || n < 1 || n > MCP_TIMEOUT_MS_MAX))
        return "mcp.timeoutMs is no whole number from 1 to 600000";
    if ((r.n > 0 && !json_bool(r, &b)) || (t.n > 0 && !json_bool(t, &b)))
        return "mcp.repeatable and mcp.templates are true or false";
    return NULL;
}

static const char *mcp_wrong(struct str mcp, struct arena *a) {
    static const char *const KEYS[] = {"tool",       "arguments", "server", "timeoutMs",
                                       "repeatable", "templates", NULL};
    struct str tool = json_get(mcp, "tool"), args = json_get(mcp, "arguments"),
               server = json_get(mcp, "server");
    struct json_members m;
    if (json_type_of(mcp) != JSON_OBJECT || json_members(mcp, a, &m, NULL) != 0)
        return "mcp is not an object";
    for (size_t i = 0; i < m.n; i++)
        if (!word_in(m.v[i].key, KEYS))
            return "mcp has tool, arguments, server, timeoutMs, repeatable and templates, and "
                   "nothing else";
    if (tool.n <= 2 || json_type_of(tool) != JSON_STRING)
        return "mcp.tool is not the name of a tool";
    if (args.n > 0 && json_type_of(args) != JSON_OBJECT) return "mcp.arguments is not an object";
    if (server.n > 0 && (server.n <= 2 || json_type_of(server) != JSON_STRING))
        return "mcp.server is not the name of a server";
    return numbers_wrong(mcp);
}

const char *mcp_config_wrong(struct str config) {
    struct str mcp = json_get(config, "mcp");
    struct arena *a = mcp.n > 0 ? arena_new(4 * config.n + 65536) : NULL;
    if (!a) return NULL; /* no such member; or the run will tell */
    const char *why = mcp_wrong(mcp, a);
    arena_free(a);
    return why;
}
