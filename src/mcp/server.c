/*
 * server.c: the tables of a server.
 */
#include "base/mem.h"
#include "codec/jobj.h"
#include "mcp/server_int.h"

enum { INSTRUCTIONS_BYTES_MAX = 4096, ARENA_BYTES = 64 * 1024 };
#define SCHEMA_URI "mcp:input"

static int memory_refuse(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the tools of MCP");
}

int mcp_server_new(const struct mcp_about *about, struct mcp_server **out, struct wopr_error *err) {
    struct mcp_server *s = MEM_NEW(struct mcp_server);
    if (!s) return memory_refuse(err);
    s->about = *about;
    s->arena = arena_new(ARENA_BYTES);
    buf_init(&s->instructions, INSTRUCTIONS_BYTES_MAX);
    struct jobj o;
    jobj_begin(&o, ARENA_BYTES / 2);
    jw_kstrz(&o.w, "name", about->name);
    jw_kstrz(&o.w, "title", about->title);
    jw_kstrz(&o.w, "version", about->version);
    if (s->arena) s->server_info = jobj_end(&o, s->arena);
    else jobj_drop(&o);
    if (!s->server_info.p) {
        mcp_server_free(s);
        return memory_refuse(err);
    }
    *out = s;
    return 0;
}

void mcp_server_free(struct mcp_server *s) {
    if (!s) return;
    for (size_t i = 0; i < s->tools_nr; i++) schema_set_free(s->tools[i].schemas);
    buf_fini(&s->instructions);
    arena_free(s->arena);
    mem_free(s);
}

static int row_refuse(struct wopr_error *err, const char *row, const char *why) {
    return wopr_error_set(err, WOPR_E_CONFIG, "MCP: %s: %s", row ? row : "a row", why);
}

static bool name_ok(const char *name) {
    size_t n = name ? strlen(name) : 0;
    bool ok = n > 0 && n <= 64 && name[0] >= 'a' && name[0] <= 'z';
    for (size_t i = 0; ok && i < n; i++)
        ok = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= '0' && name[i] <= '9') ||
             name[i] == '_';
    return ok;
}

/* --- tools --- */

static int schema_judge(const char *text, const char *row, struct wopr_error *err) {
    struct str s = str_c(text);
    if (json_check(s, &JSON_LIMITS_DEFAULT, NULL) != 0)
        return row_refuse(err, row, "a schema is no JSON");
    if (!str_eqc(json_get(s, "type"), "\"object\""))
        return row_refuse(err, row, "a schema is of no object");
    return 0;
}

static int tool_compile(struct mcp_row_tool *row, struct wopr_error *err) {
    row->schemas = schema_set_new(false);
    if (!row->schemas) return memory_refuse(err);
    int rc = schema_set_add(row->schemas, STR(SCHEMA_URI), str_c(row->as->input), err);
    return rc != 0 ? rc : schema_compile(row->schemas, STR(SCHEMA_URI), &row->input, err);
}

static int tool_add(struct mcp_server *s, const struct mcp_tool *t, void *ctx,
                    struct wopr_error *err) {
    if (!name_ok(t->name)) return row_refuse(err, t->name, "the name of a tool is malformed");
    if (!t->title || !t->description || !t->handler || !t->input)
        return row_refuse(err, t->name, "the row of a tool is not complete");
    for (size_t i = 0; i < s->tools_nr; i++)
        if (strcmp(s->tools[i].as->name, t->name) == 0)
            return row_refuse(err, t->name, "another tool has this name");
    if (s->tools_nr == MCP_TOOLS_MAX) return row_refuse(err, t->name, "there are too many tools");
    int rc = schema_judge(t->input, t->name, err);
    if (rc == 0 && t->output) rc = schema_judge(t->output, t->name, err);
    if (rc != 0) return rc;
    struct mcp_row_tool *row = &s->tools[s->tools_nr++];
    *row = (struct mcp_row_tool){.as = t, .ctx = ctx};
    return tool_compile(row, err);
}

/* --- resources and prompts --- */

static int resource_add(struct mcp_server *s, const struct mcp_resource *r, void *ctx,
                        struct wopr_error *err) {
    if (!r->uri || !strstr(r->uri, "://") || !r->name || !r->title || !r->description || !r->mime ||
        !r->handler)
        return row_refuse(err, r->uri, "the row of a resource is not complete");
    for (size_t i = 0; i < s->resources_nr; i++)
        if (strcmp(s->resources[i].as->uri, r->uri) == 0)
            return row_refuse(err, r->uri, "another resource has this URI");
    if (s->resources_nr == MCP_RESOURCES_MAX)
        return row_refuse(err, r->uri, "there are too many resources");
    s->resources[s->resources_nr++] = (struct mcp_row_resource){
        .as = r, .template = mcp_uri_is_template(str_c(r->uri)), .ctx = ctx};
    return 0;
}

static int prompt_add(struct mcp_server *s, const struct mcp_prompt *p, struct wopr_error *err) {
    if (!name_ok(p->name) || !p->title || !p->description || !p->text)
        return row_refuse(err, p->name, "the row of a prompt is not complete");
    for (size_t i = 0; i < s->prompts_nr; i++)
        if (strcmp(s->prompts[i].as->name, p->name) == 0)
            return row_refuse(err, p->name, "another prompt has this name");
    if (s->prompts_nr == MCP_PROMPTS_MAX)
        return row_refuse(err, p->name, "there are too many prompts");
    s->prompts[s->prompts_nr++] = (struct mcp_row_prompt){p};
    return 0;
}

int mcp_server_add(struct mcp_server *s, const struct mcp_set *set, struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < set->tools_nr; i++)
        rc = tool_add(s, &set->tools[i], set->ctx, err);
    for (size_t i = 0; rc == 0 && i < set->resources_nr; i++)
        rc = resource_add(s, &set->resources[i], set->ctx, err);
    for (size_t i = 0; rc == 0 && i < set->prompts_nr; i++)
        rc = prompt_add(s, &set->prompts[i], err);
    if (rc != 0 || !set->instructions) return rc;
    if (s->instructions.len > 0) buf_addc(&s->instructions, ' ');
    buf_addz(&s->instructions, set->instructions);
    return buf_failed(&s->instructions) ? memory_refuse(err) : 0;
}

void mcp_server_describe(const struct mcp_server *s, struct buf *out) {
    struct jw w;
    jw_init(&w, out);
    jw_object(&w);
    jw_key(&w, "tools");
    jw_array(&w);
    for (size_t i = 0; i < s->tools_nr; i++) mcp_tool_show(&w, s->tools[i].as);
    jw_end_array(&w);
    for (int template = 0; template <2; template ++) {
        jw_key(&w, template ? "resourceTemplates" : "resources");
        jw_array(&w);
        for (size_t i = 0; i < s->resources_nr; i++)
            if (s->resources[i].template == (template == 1))
                mcp_resource_show(&w, s->resources[i].as, template == 1);
        jw_end_array(&w);
    }
    jw_key(&w, "prompts");
    jw_array(&w);
    for (size_t i = 0; i < s->prompts_nr; i++) mcp_prompt_show(&w, s->prompts[i].as);
    jw_end_array(&w);
    jw_end_object(&w);
}
