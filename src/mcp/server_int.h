/*
 * server_int.h: what the files of mcp/ share of a server.  Private to the folder.
 */
#ifndef WOPR_MCP_SERVER_INT_H
#define WOPR_MCP_SERVER_INT_H

#include "codec/schema.h"
#include "mcp/server.h"

enum { MCP_PAGE_BYTES = 256 * 1024 }; /* of a list; at least one row is in each page */

struct mcp_row_tool {
    const struct mcp_tool *as;
    struct schema_set *schemas; /* owns input */
    const struct schema *input;
    void *ctx;
};
struct mcp_row_resource {
    const struct mcp_resource *as;
    bool template;
    void *ctx;
};
struct mcp_row_prompt {
    const struct mcp_prompt *as;
};
enum { MCP_TOOLS_MAX = 128, MCP_RESOURCES_MAX = 64, MCP_PROMPTS_MAX = 64 };
struct mcp_server {
    struct mcp_about about;
    struct str server_info; /* raw object, in arena */
    struct arena *arena;
    struct buf instructions;
    struct mcp_row_tool tools[MCP_TOOLS_MAX];
    size_t tools_nr;
    struct mcp_row_resource resources[MCP_RESOURCES_MAX];
    size_t resources_nr;
    struct mcp_row_prompt prompts[MCP_PROMPTS_MAX];
    size_t prompts_nr;
};
static inline bool mcp_allowed(unsigned needed, const struct mcp_caller *who) {
    return (needed & ~who->scopes) == 0;
}

/* --- uri.c --- */
bool mcp_uri_is_template(struct str uri);
/* Does the URI fit?  Then the template's parameters are in call, decoded in its arena. */
bool mcp_uri_fits(struct str pattern, struct str uri, struct mcp_call *call);

/* {"uri":...} of the call, with the members of more, an object or empty: data of an error. */
struct str mcp_uri_data(struct mcp_call *call, struct str more);

/* --- list.c: one row as the lists show it, and lists --- */
void mcp_tool_show(struct jw *w, const struct mcp_tool *t);
void mcp_resource_show(struct jw *w, const struct mcp_resource *r, bool template);
void mcp_prompt_show(struct jw *w, const struct mcp_prompt *p);
/* Each: the members of the result into x->result, or x->error. */
int mcp_list_tools(struct mcp_exchange *x, struct arena *a);
int mcp_list_resources(struct mcp_exchange *x, struct arena *a);
int mcp_list_templates(struct mcp_exchange *x, struct arena *a);
int mcp_list_prompts(struct mcp_exchange *x, struct arena *a);

/* --- prompt.c --- */
int mcp_prompt_get(struct mcp_exchange *x, struct arena *a);

/* --- call.c: which row a message calls; MCP_CALL or MCP_REPLY --- */
enum mcp_step mcp_call_tool(struct mcp_exchange *x);
enum mcp_step mcp_call_resource(struct mcp_exchange *x);

#endif
