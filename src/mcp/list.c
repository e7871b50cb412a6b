/*
 * list.c: what the lists show: only what the caller may use, in the order of the tables, in pages
 * bounded by their bytes.
 */
#include "codec/jobj.h"
#include "mcp/server_int.h"

enum { ROW_BYTES_MAX = 128 * 1024, CURSOR_BYTES_MAX = 16 };

static void annotations_show(struct jw *w, unsigned flags) {
    jw_key(w, "annotations");
    jw_object(w);
    jw_kbool(w, "readOnlyHint", (flags & MCP_READS) != 0);
    jw_kbool(w, "destructiveHint", (flags & MCP_DESTROYS) != 0);
    jw_kbool(w, "idempotentHint", (flags & MCP_REPEATS) != 0);
    jw_kbool(w, "openWorldHint", (flags & MCP_OPEN_WORLD) != 0);
    jw_end_object(w);
}

void mcp_tool_show(struct jw *w, const struct mcp_tool *t) {
    jw_object(w);
    jw_kstrz(w, "name", t->name);
    jw_kstrz(w, "title", t->title);
    jw_kstrz(w, "description", t->description);
    jw_kraw(w, "inputSchema", str_c(t->input));
    if (t->output) jw_kraw(w, "outputSchema", str_c(t->output));
    annotations_show(w, t->flags);
    jw_end_object(w);
}

void mcp_resource_show(struct jw *w, const struct mcp_resource *r, bool template) {
    jw_object(w);
    jw_kstrz(w, template ? "uriTemplate" : "uri", r->uri);
    jw_kstrz(w, "name", r->name);
    jw_kstrz(w, "title", r->title);
    jw_kstrz(w, "description", r->description);
    jw_kstrz(w, "mimeType", r->mime);
    jw_end_object(w);
}

void mcp_prompt_show(struct jw *w, const struct mcp_prompt *p) {
    const size_t max = sizeof p->arguments / sizeof p->arguments[0];
    jw_object(w);
    jw_kstrz(w, "name", p->name);
    jw_kstrz(w, "title", p->title);
    jw_kstrz(w, "description", p->description);
    jw_key(w, "arguments");
    jw_array(w);
    for (size_t i = 0; i < max && p->arguments[i].name; i++) {
        jw_object(w);
        jw_kstrz(w, "name", p->arguments[i].name);
        jw_kstrz(w, "description", p->arguments[i].description);
        jw_kbool(w, "required", p->arguments[i].required);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
}

/* --- pages --- */

/* Where the page begins: a row of the table, so that pages are the same for all callers.  -1: no
 * cursor of ours. */
static int64_t cursor_read(const struct mcp_exchange *x, size_t rows_nr, struct arena *a) {
    struct str text;
    int there = mcp_string_of(x->message.params, "cursor", CURSOR_BYTES_MAX, a, &text);
    uint64_t at;
    if (there == 0) return 0;
    if (there < 0 || !str_starts(text, STR("row-")) || text.n == 4 ||
        !str_u64(str_n(text.p + 4, text.n - 4), &at) || at >= rows_nr)
        return -1;
    return (int64_t)at;
}

/* show writes the row, or nothing when the caller may not use it. */
static int list_write(struct mcp_exchange *x, const char *member, size_t rows_nr,
                      void (*show)(const struct mcp_exchange *x, size_t i, struct jw *w),
                      struct arena *a) {
    int64_t from = cursor_read(x, rows_nr, a);
    if (from < 0)
        return mcp_error_set(&x->error, MCP_INVALID_PARAMS, MCP_FINE,
                             "cursor is none of this list: leave it out to begin anew");
    struct jobj o;
    size_t i = (size_t)from;
    jobj_begin(&o, MCP_PAGE_BYTES + ROW_BYTES_MAX);
    jw_key(&o.w, member);
    jw_array(&o.w);
    for (; i < rows_nr && o.b.len < MCP_PAGE_BYTES; i++) show(x, i, &o.w);
    jw_end_array(&o.w);
    if (i < rows_nr) jw_kstr(&o.w, "nextCursor", arena_printf(a, "row-%zu", i));
    x->result = jobj_end(&o, a);
    x->cacheable = true;
    if (x->result.p) return 0;
    return mcp_error_set(&x->error, MCP_INTERNAL_ERROR, MCP_FINE,
                         "the host is short of memory; send it again");
}

static void tool_row(const struct mcp_exchange *x, size_t i, struct jw *w) {
    const struct mcp_tool *t = x->server->tools[i].as;
    if (mcp_allowed(t->scopes, &x->call.who)) mcp_tool_show(w, t);
}

static void resource_row(const struct mcp_exchange *x, size_t i, bool template, struct jw *w) {
    const struct mcp_row_resource *r = &x->server->resources[i];
    if (r->template == template && mcp_allowed(r->as->scopes, &x->call.who))
        mcp_resource_show(w, r->as, template);
}

static void fixed_row(const struct mcp_exchange *x, size_t i, struct jw *w) {
    resource_row(x, i, false, w);
}

static void template_row(const struct mcp_exchange *x, size_t i, struct jw *w) {
    resource_row(x, i, true, w);
}

static void prompt_row(const struct mcp_exchange *x, size_t i, struct jw *w) {
    const struct mcp_prompt *p = x->server->prompts[i].as;
    if (mcp_allowed(p->scopes, &x->call.who)) mcp_prompt_show(w, p);
}

int mcp_list_tools(struct mcp_exchange *x, struct arena *a) {
    return list_write(x, "tools", x->server->tools_nr, tool_row, a);
}

int mcp_list_resources(struct mcp_exchange *x, struct arena *a) {
    return list_write(x, "resources", x->server->resources_nr, fixed_row, a);
}

int mcp_list_templates(struct mcp_exchange *x, struct arena *a) {
    return list_write(x, "resourceTemplates", x->server->resources_nr, template_row, a);
}

int mcp_list_prompts(struct mcp_exchange *x, struct arena *a) {
    return list_write(x, "prompts", x->server->prompts_nr, prompt_row, a);
}
