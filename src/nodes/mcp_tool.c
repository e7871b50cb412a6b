/*
 * mcp_tool.c: what an MCP server offers, and whether the arguments of a tool fit it (MCP-6).
 */
#include "codec/jobj.h"
#include "codec/schema.h"
#include "nodes/mcp.h"

#define TOOL_SCHEMA_URI "wopr:tool"
#define TOOL_SCHEMA_MAX (64u * 1024)
#define TOOL_PAGES_MAX  16u
#define TOOL_CURSOR_MAX 4096u
#define TOOL_DIALECT    "https://json-schema.org/draft/2020-12/schema"

/* --- the list --- */

static void list_wrong(struct mcp *m, const char *code, const char *why) {
    node_fail(m->out, code, why, false);
    m->out->error_message = arena_printf(m->call->a, "the MCP server \"" STR_FMT "\" %s",
                                         STR_ARG(m->server->name), why);
    struct jobj o;
    jobj_begin(&o, TOOL_SCHEMA_MAX);
    jw_kstr(&o.w, "tool", m->tool);
    jw_kstr(&o.w, "server", m->server->name);
    m->out->error_details = jobj_end(&o, m->call->a);
}

static struct str row_in(struct mcp *m, struct str tools) {
    struct json_elements l = {0};
    if (tools.n == 0 || json_type_of(tools) != JSON_ARRAY ||
        json_elements(tools, m->call->a, &l, NULL) != 0)
        return STR_NONE;
    for (size_t i = 0; i < l.n; i++)
        if (json_type_of(l.v[i]) == JSON_OBJECT &&
            str_eq(json_string(json_get(l.v[i], "name"), m->call->a), m->tool))
            return l.v[i];
    return STR_NONE;
}

/* Params of the page behind a cursor.  STR_NONE: there is none, or it is none that goes on. */
static struct str page_after(struct mcp *m, struct str result) {
    struct str cursor = json_get(result, "nextCursor");
    if (cursor.n == 0 || cursor.n > TOOL_CURSOR_MAX || json_type_of(cursor) != JSON_STRING)
        return STR_NONE;
    return jobj_of(m->call->a, "cursor", cursor);
}

bool mcp_tool_find(struct mcp *m, struct str *row) {
    struct str params = STR_NONE;
    unsigned pages = m->pages_max > 0 ? m->pages_max : TOOL_PAGES_MAX;
    for (unsigned page = 0; page < pages; page++) {
        struct rpc_response r = {0};
        if (!mcp_ask(m, MCP_LIST + page, "tools/list", params, &r)) return false;
        if (r.result.n == 0) {
            list_wrong(m, "mcp_tool_error", "refused to list its tools");
            return false;
        }
        *row = row_in(m, json_get(r.result, "tools"));
        if (row->n > 0) return true;
        params = page_after(m, r.result);
        if (arena_failed(m->call->a)) {
            node_no_memory(m->out);
            return false;
        }
        if (params.n == 0) {
            list_wrong(m, "tool_not_allowed", "has no tool of this name");
            return false;
        }
    }
    list_wrong(m, "tool_not_allowed", "has no tool of this name on the first pages of its list");
    return false;
}

/* --- schemas --- */

/* The schema as one of 2020-12.  Older dialects differ in words that rarely occur and are judged
 * as far as they say the same; STR_NONE: not this one (references resolve differently there). */
static struct str schema_today(struct str schema, struct arena *a) {
    struct str dialect = json_string(json_get(schema, "$schema"), a);
    struct json_members m;
    struct jobj o;
    if (dialect.n == 0 || str_starts(dialect, STR(TOOL_DIALECT))) return schema;
    if (json_members(schema, a, &m, NULL) != 0) return STR_NONE;
    for (size_t i = 0; i + 6 <= schema.n; i++)
        if (memcmp(schema.p + i, "\"$ref\"", 6) == 0) return STR_NONE;
    jobj_begin(&o, TOOL_SCHEMA_MAX);
    for (size_t i = 0; i < m.n; i++) {
        if (str_eqc(m.v[i].key, "$schema")) continue;
        jw_key_str(&o.w, m.v[i].key);
        jw_raw(&o.w, m.v[i].raw);
    }
    return jobj_end(&o, a);
}

const char *mcp_schema_wrong(struct str schema, struct str value, struct arena *a,
                             bool *no_memory) {
    struct schema_issue issue = {.reason = ""};
    const struct schema *compiled = NULL;
    struct wopr_error why = {0};
    *no_memory = false;
    if (schema.n == 0 || schema.n > TOOL_SCHEMA_MAX || json_type_of(schema) != JSON_OBJECT)
        return NULL;
    schema = schema_today(schema, a);
    if (schema.n == 0) return NULL;
    struct schema_set *set = schema_set_new(false);
    int rc = set ? schema_set_add(set, STR(TOOL_SCHEMA_URI), schema, &why) : WOPR_E_NO_MEMORY;
    if (rc == 0) rc = schema_compile(set, STR(TOOL_SCHEMA_URI), &compiled, &why);
    bool judged = rc == 0;
    if (judged) rc = schema_validate_text(compiled, value, &issue);
    schema_set_free(set);
    *no_memory = rc == WOPR_E_NO_MEMORY;
    if (!judged || rc != WOPR_E_VALIDATION) return NULL; /* the server judges */
    struct str text =
        arena_printf(a, "%s%s%s", issue.instance, issue.instance[0] ? ": " : "", issue.reason);
    return text.p ? text.p : "it does not fit";
}
