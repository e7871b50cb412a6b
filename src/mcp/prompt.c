/*
 * prompt.c: prompts/get: the text of a row with its arguments filled in.
 */
#include "codec/jobj.h"
#include "mcp/server_int.h"

enum { ARGUMENT_BYTES_MAX = 4096, TEXT_BYTES_MAX = 64 * 1024 };

static const struct mcp_prompt *prompt_find(const struct mcp_exchange *x, struct arena *a) {
    struct str name;
    if (mcp_target_of(&x->message, a, &name) != 1) return NULL;
    for (size_t i = 0; i < x->server->prompts_nr; i++) {
        const struct mcp_prompt *p = x->server->prompts[i].as;
        if (str_eqc(name, p->name) && mcp_allowed(p->scopes, &x->call.who)) return p;
    }
    return NULL;
}

static int prompt_refuse(struct mcp_exchange *x, const char *message) {
    return mcp_error_set(&x->error, MCP_INVALID_PARAMS, MCP_FINE, message);
}

/* Of an argument that the row has: MCP has strings only. */
static int argument_read(const struct mcp_exchange *x, const char *name, struct arena *a,
                         struct str *out) {
    struct str all = json_get(x->message.params, "arguments");
    *out = STR_NONE;
    if (all.n == 0) return 0;
    if (json_type_of(all) != JSON_OBJECT) return -1;
    return mcp_string_of(all, name, ARGUMENT_BYTES_MAX, a, out);
}

static int arguments_judge(struct mcp_exchange *x, const struct mcp_prompt *p, struct arena *a) {
    const size_t max = sizeof p->arguments / sizeof p->arguments[0];
    for (size_t i = 0; i < max && p->arguments[i].name; i++) {
        struct str value;
        int there = argument_read(x, p->arguments[i].name, a, &value);
        if (there < 0)
            return prompt_refuse(x, "arguments must be an object of strings of at most 4096 bytes");
        if (there == 0 && p->arguments[i].required)
            return prompt_refuse(x, "an argument that prompts/list calls required is missing");
    }
    return 0;
}

static void text_fill(const struct mcp_exchange *x, const struct mcp_prompt *p, struct arena *a,
                      struct buf *b) {
    struct str rest = str_c(p->text);
    for (const char *at; (at = strstr(rest.p, "{{")) != NULL;) {
        const char *end = strstr(at, "}}");
        if (!end) break;
        struct str value = STR_NONE, name = str_n(at + 2, (size_t)(end - at) - 2);
        const char *key = arena_cstr(a, name);
        buf_add(b, rest.p, (size_t)(at - rest.p));
        if (key && argument_read(x, key, a, &value) == 1) buf_adds(b, value);
        rest = str_c(end + 2);
    }
    buf_adds(b, rest);
}

int mcp_prompt_get(struct mcp_exchange *x, struct arena *a) {
    const struct mcp_prompt *p = prompt_find(x, a);
    if (!p)
        return prompt_refuse(x,
                             "there is no prompt of this name: prompts/list has those there are");
    int code = arguments_judge(x, p, a);
    if (code != 0) return code;
    struct buf text;
    struct jobj o;
    buf_init(&text, TEXT_BYTES_MAX);
    text_fill(x, p, a, &text);
    jobj_begin(&o, 8 * TEXT_BYTES_MAX);
    if (buf_failed(&text)) jobj_fail(&o);
    jw_kstrz(&o.w, "description", p->description);
    jw_key(&o.w, "messages");
    jw_array(&o.w);
    jw_object(&o.w);
    jw_kstrz(&o.w, "role", "user");
    jw_key(&o.w, "content");
    jw_object(&o.w);
    jw_kstrz(&o.w, "type", "text");
    jw_kstr(&o.w, "text", buf_str(&text));
    jw_end_object(&o.w);
    jw_end_object(&o.w);
    jw_end_array(&o.w);
    buf_fini(&text);
    x->result = jobj_end(&o, a);
    if (x->result.p) return 0;
    return mcp_error_set(&x->error, MCP_INTERNAL_ERROR, MCP_FINE,
                         "the host is short of memory; send it again");
}
