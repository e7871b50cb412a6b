/*
 * agent_config.c: the configuration of vendor.wopr.agent.  Tools, bounds and the allow-list are the
 * author's alone: no port, which may hold what somebody else wrote, can widen them (AGT-9).
 */
#include "codec/jobj.h"
#include "nodes/agent_loop.h"
#include "nodes/mcp.h"

#include <math.h>

#define TOOL_NAME_MAX   64u
#define TURNS_DEFAULT   16
#define CALLS_DEFAULT   32
#define ROUNDS_DEFAULT  2
#define TOKENS_MAX      INT64_C(1000000000)
#define MS_MAX          (INT64_C(86400) * 1000)
#define ASK_TIMEOUT_MAX (INT64_C(365) * 86400 * 1000)
#define ALLOW_MAX       256u
#define ASK_TOOL        "wopr.host:ask"
#define ASK_DESCRIPTION "Ask a person, and wait for the answer."
#define ASK_PARAMETERS                                                                             \
    "{\"type\":\"object\",\"properties\":{\"question\":{\"type\":\"string\",\"minLength\":1}},"    \
    "\"required\":[\"question\"],\"additionalProperties\":false}"

struct reading {
    struct arena *a;
    struct agent_config *c;
};

static const char *at_tool(const struct reading *x, size_t i, const char *why) {
    struct str m = arena_printf(x->a, "tools[%zu]%s", i, why);
    return m.p ? m.p : why;
}

static bool text_of(struct str raw, size_t max, struct arena *a, struct str *out) {
    *out = raw.n > 0 && json_type_of(raw) == JSON_STRING ? json_string(raw, a) : STR_NONE;
    return out->n >= 1 && out->n <= max;
}

/* --- members --- */

static bool word_in(struct str key, const char *const *words) {
    for (; *words; words++)
        if (str_eqc(key, *words)) return true;
    return false;
}

/* The first member that is none of the words, or empty. */
static struct str agent_config_stranger(struct str object, const char *const *words,
                                        struct arena *a) {
    struct json_members m;
    if (json_members(object, a, &m, NULL) != 0) return STR("?");
    for (size_t i = 0; i < m.n; i++)
        if (!word_in(m.v[i].key, words)) return m.v[i].key;
    return STR_NONE;
}

static bool whole_of(struct str config, const char *key, int64_t min, int64_t max, int64_t absent,
                     int64_t *out) {
    struct str raw = json_get(config, key);
    *out = absent;
    return raw.n == 0 || (json_int(raw, out) && *out >= min && *out <= max);
}

/* --- tools --- */

bool agent_tool_name_fits(struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
        if (!ok) return false;
    }
    return s.n >= 1 && s.n <= TOOL_NAME_MAX;
}

static const char *mcp_read(struct reading *x, size_t i, struct str raw, struct agent_tool *t) {
    static const char *const KEYS[] = {"tool", "server", "timeoutMs", "repeatable", NULL};
    struct str server = json_get(raw, "server"), again = json_get(raw, "repeatable");
    t->kind = AGENT_TOOL_MCP;
    if (json_type_of(raw) != JSON_OBJECT || agent_config_stranger(raw, KEYS, x->a).n > 0)
        return at_tool(x, i, ".mcp has tool, server, timeoutMs and repeatable, and nothing else");
    if (!text_of(json_get(raw, "tool"), AI_NAME_MAX, x->a, &t->tool))
        return at_tool(x, i, ".mcp.tool is not the name of a tool, of 1 to 128 bytes");
    if (server.n > 0 && !text_of(server, 2048, x->a, &t->server))
        return at_tool(x, i, ".mcp.server is not the name of a server");
    if (again.n > 0 && !json_bool(again, &t->repeatable))
        return at_tool(x, i, ".mcp.repeatable is true or false");
    if (!whole_of(raw, "timeoutMs", 1, MCP_TIMEOUT_MS_MAX, MCP_TIMEOUT_MS, &t->timeout_ms))
        return at_tool(x, i, ".mcp.timeoutMs is no whole number from 1 to 600000");
    t->shown = arena_printf(x->a, "mcp:" STR_FMT, STR_ARG(t->tool));
    if (t->name.n == 0) t->name = t->tool;
    return NULL;
}

static const char *ask_read(struct reading *x, size_t i, struct str raw, struct agent_tool *t) {
    static const char *const KEYS[] = {"timeoutMs", NULL};
    t->kind = AGENT_TOOL_ASK;
    t->shown = STR(ASK_TOOL);
    if (json_type_of(raw) != JSON_OBJECT || agent_config_stranger(raw, KEYS, x->a).n > 0)
        return at_tool(x, i, ".ask has timeoutMs, and nothing else");
    if (!whole_of(raw, "timeoutMs", 1, ASK_TIMEOUT_MAX, 0, &t->timeout_ms))
        return at_tool(x, i, ".ask.timeoutMs is no whole number from 1 on, of at most a year");
    if (t->parameters.n > 0) return at_tool(x, i, ".parameters is not for ask");
    t->parameters = STR(ASK_PARAMETERS);
    if (t->description.n == 0) t->description = STR(ASK_DESCRIPTION);
    if (t->name.n == 0) t->name = STR("ask");
    return NULL;
}

static const char *node_read(struct reading *x, size_t i, struct str raw, struct agent_tool *t) {
    static const char *const KEYS[] = {"typeId", "config", NULL};
    t->kind = AGENT_TOOL_NODE;
    if (json_type_of(raw) != JSON_OBJECT || agent_config_stranger(raw, KEYS, x->a).n > 0)
        return at_tool(x, i, ".node has typeId and config, and nothing else");
    if (!text_of(json_get(raw, "typeId"), AI_NAME_MAX, x->a, &t->type_id) ||
        !nodes_local_tool(t->type_id))
        return at_tool(x, i,
                       ".node.typeId is none of core.identity, core.noop, core.fail, "
                       "core.setVariable, core.channelWrite and vendor.wopr.log");
    t->config = json_get(raw, "config");
    if (t->config.n == 0) t->config = STR("{}");
    if (json_type_of(t->config) != JSON_OBJECT)
        return at_tool(x, i, ".node.config is not an object");
    if (nodes_config_wrong(t->type_id, t->config))
        return at_tool(x, i, ".node.config is none of this type");
    if (t->name.n == 0) return at_tool(x, i, ".name is missing");
    if (t->parameters.n == 0) t->parameters = STR("{\"type\":\"object\"}");
    t->shown = arena_printf(x->a, "openwop:" STR_FMT, STR_ARG(t->type_id));
    return NULL;
}

static const char *tool_read(struct reading *x, size_t i, struct str raw, struct agent_tool *t) {
    static const char *const KEYS[] = {"name", "description", "parameters", "mcp",
                                       "ask",  "node",        NULL};
    struct str name = json_get(raw, "name"), mcp, ask, node, params;
    const char *why = NULL;
    *t = (struct agent_tool){.allowed = true};
    if (json_type_of(raw) != JSON_OBJECT) return at_tool(x, i, " is not an object");
    if (agent_config_stranger(raw, KEYS, x->a).n > 0)
        return at_tool(x, i,
                       " has name, description, parameters and one of mcp, ask and node, and "
                       "nothing else");
    mcp = json_get(raw, "mcp");
    ask = json_get(raw, "ask");
    node = json_get(raw, "node");
    if ((mcp.n > 0) + (ask.n > 0) + (node.n > 0) != 1)
        return at_tool(x, i, " has exactly one of mcp, ask and node");
    if (name.n > 0 && !text_of(name, TOOL_NAME_MAX, x->a, &t->name))
        return at_tool(x, i, ".name is a text of at most 64 bytes");
    if (!ai_text(json_get(raw, "description"), x->a, &t->description))
        return at_tool(x, i, ".description is a text");
    params = json_get(raw, "parameters");
    if (params.n > 0 && (json_type_of(params) != JSON_OBJECT || params.n > AGENT_SCHEMA_MAX))
        return at_tool(x, i, ".parameters is a JSON Schema of at most 64 KiB");
    t->parameters = params;
    why = mcp.n > 0   ? mcp_read(x, i, mcp, t)
          : ask.n > 0 ? ask_read(x, i, ask, t)
                      : node_read(x, i, node, t);
    if (why) return why;
    return agent_tool_name_fits(t->name)
               ? NULL
               : at_tool(x, i,
                         ".name needs a text of 1 to 64 letters, digits, _ and -: it "
                         "is what the model calls the tool");
}

static const char *tools_read(struct reading *x, struct str raw) {
    struct json_elements l = {0};
    if (raw.n == 0) return NULL;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, x->a, &l, NULL) != 0 ||
        l.n > AGENT_TOOLS_MAX)
        return "tools is a list of at most 64 tools";
    x->c->tools = ARENA_ARRAY(x->a, struct agent_tool, l.n + 1);
    if (!x->c->tools) return "out of memory";
    for (size_t i = 0; i < l.n; i++) {
        const char *why = tool_read(x, i, l.v[i], &x->c->tools[i]);
        if (why) return why;
        for (size_t k = 0; k < i; k++)
            if (str_eq(x->c->tools[k].name, x->c->tools[i].name))
                return at_tool(x, i, ".name is that of another tool");
        x->c->tools_nr = i + 1;
    }
    return NULL;
}

void agent_config_narrow(struct agent_config *c, const struct agent *g, struct arena *a) {
    for (size_t i = 0; i < c->tools_nr; i++)
        c->tools[i].allowed = c->tools[i].allowed && agent_allows(g, c->tools[i].shown, a);
    if (c->schema.n == 0) c->schema = g->return_schema;
    else c->returns = g->return_schema;
}

/* AGT-9: absent, the list of tools is the author's list of what may be called. */
static const char *allow_read(struct reading *x, struct str raw) {
    struct json_elements l = {0};
    if (raw.n == 0) return NULL;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, x->a, &l, NULL) != 0 ||
        l.n > ALLOW_MAX)
        return "toolAllowlist is a list of at most 256 texts";
    for (size_t i = 0; i < x->c->tools_nr; i++) x->c->tools[i].allowed = false;
    for (size_t k = 0; k < l.n; k++) {
        struct str one;
        if (!text_of(l.v[k], 256, x->a, &one))
            return "toolAllowlist has texts of 1 to 256 bytes, as \"mcp:search\"";
        for (size_t i = 0; i < x->c->tools_nr; i++)
            if (str_eq(x->c->tools[i].shown, one)) x->c->tools[i].allowed = true;
    }
    return NULL;
}

/* --- */

static const char *bounds_read(struct str config, struct agent_config *c) {
    struct str usd = json_get(config, "maxCostUsd");
    if (!whole_of(config, "maxTurns", 1, AGENT_TURNS_MAX, TURNS_DEFAULT, &c->turns_max))
        return "maxTurns is a whole number from 1 to 64";
    if (!whole_of(config, "maxToolCalls", 0, AGENT_CALLS_MAX, CALLS_DEFAULT, &c->calls_max))
        return "maxToolCalls is a whole number from 0 to 64";
    if (!whole_of(config, "maxTotalTokens", 1, TOKENS_MAX, 0, &c->tokens_max))
        return "maxTotalTokens is a whole number from 1 to 1000000000";
    if (!whole_of(config, "maxWorkMs", 1, MS_MAX, 0, &c->ms_max))
        return "maxWorkMs is a whole number of milliseconds from 1 to 86400000";
    if (!whole_of(config, "schemaRounds", 0, AGENT_ROUNDS_MAX, ROUNDS_DEFAULT, &c->rounds))
        return "schemaRounds is a whole number from 0 to 8";
    if (usd.n > 0 && (!json_double(usd, &c->usd_max) || !isfinite(c->usd_max) || c->usd_max <= 0 ||
                      c->usd_max > 1e6))
        return "maxCostUsd is a number above 0 and of at most 1000000";
    return NULL;
}

const char *agent_config_read(struct str config, struct arena *a, struct agent_config *out) {
    static const char *const KEYS[] = {"prompt",
                                       "systemPrompt",
                                       "messages",
                                       "provider",
                                       "model",
                                       "maxTokens",
                                       "temperature",
                                       "topP",
                                       "stop",
                                       "timeoutMs",
                                       "templates",
                                       "tools",
                                       "expectsStreaming",
                                       "toolAllowlist",
                                       "maxTurns",
                                       "maxToolCalls",
                                       "maxTotalTokens",
                                       "maxCostUsd",
                                       "maxWorkMs",
                                       "outputSchema",
                                       "schemaRounds",
                                       NULL};
    struct reading x = {a, out};
    *out = (struct agent_config){0};
    struct str odd = agent_config_stranger(config, KEYS, a);
    if (odd.n > 0) {
        struct str m = arena_printf(a, "the configuration of an agent has no member " STR_FMT,
                                    STR_ARG(str_n(odd.p, odd.n < 64 ? odd.n : 0)));
        return m.p ? m.p : "the configuration of an agent has a member that is none of its own";
    }
    const char *why = bounds_read(config, out);
    if (!why) why = tools_read(&x, json_get(config, "tools"));
    if (!why) why = allow_read(&x, json_get(config, "toolAllowlist"));
    out->schema = json_get(config, "outputSchema");
    if (!why && out->schema.n > 0 &&
        (json_type_of(out->schema) != JSON_OBJECT || out->schema.n > AGENT_SCHEMA_MAX))
        why = "outputSchema is a JSON Schema of at most 64 KiB";
    return why;
}

const char *agent_config_wrong(struct str config) {
    static _Thread_local char said[256]; /* of an arena that is gone */
    struct agent_config c;
    struct arena *a = arena_new(8 * config.n + 262144);
    bool judged = true;
    if (!a) return NULL; /* the run will tell */
    const char *why = agent_config_read(config.n > 0 ? config : STR("{}"), a, &c);
    if (!why && c.schema.n > 0 && agent_schema_wrong(c.schema, STR_NONE, a, &judged) && !judged)
        why = "outputSchema is no JSON Schema of 2020-12 that this host can judge by";
    if (why) {
        size_t n = strlen(why) < sizeof said - 1 ? strlen(why) : sizeof said - 1;
        memcpy(said, why, n);
        said[n] = '\0';
    }
    arena_free(a);
    return why ? said : NULL;
}
