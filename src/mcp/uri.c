/*
 * uri.c: URIs of resources, and their templates: {name} is one part without a slash.
 */
#include "codec/jobj.h"
#include "mcp/server_int.h"

bool mcp_uri_is_template(struct str uri) { return uri.n > 0 && memchr(uri.p, '{', uri.n) != NULL; }

static int hex_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* false: malformed, or no UTF-8, or no memory. */
static bool part_decode(struct str in, struct arena *a, struct str *out) {
    char *p = arena_alloc(a, in.n + 1);
    size_t n = 0;
    if (!p) return false;
    for (size_t i = 0; i < in.n; i++) {
        if (in.p[i] != '%') {
            p[n++] = in.p[i];
            continue;
        }
        int high = i + 2 < in.n ? hex_of(in.p[i + 1]) : -1;
        int low = high >= 0 ? hex_of(in.p[i + 2]) : -1;
        if (low < 0 || (high == 0 && low == 0)) return false;
        p[n++] = (char)(high * 16 + low);
        i += 2;
    }
    *out = str_n(p, n);
    return n > 0 && utf8_valid(*out);
}

static bool part_take(struct str name, struct str *rest, struct str after, struct mcp_call *call) {
    size_t n = 0;
    while (n < rest->n && rest->p[n] != '/' && !(after.n > 0 && rest->p[n] == after.p[0])) n++;
    if (call->params_nr == MCP_PARAMS_MAX) return false;
    struct str value;
    if (!part_decode(str_n(rest->p, n), call->arena, &value)) return false;
    call->params[call->params_nr].name = name;
    call->params[call->params_nr++].value = value;
    *rest = str_n(rest->p + n, rest->n - n);
    return true;
}

bool mcp_uri_fits(struct str pattern, struct str uri, struct mcp_call *call) {
    struct str before, name;
    call->params_nr = 0;
    while (str_cut(pattern, '{', &before, &pattern)) {
        if (!str_starts(uri, before)) return false;
        uri = str_n(uri.p + before.n, uri.n - before.n);
        if (!str_cut(pattern, '}', &name, &pattern)) return false;
        if (!part_take(name, &uri, pattern, call)) return false;
    }
    return str_eq(pattern, uri);
}

struct str mcp_uri_data(struct mcp_call *call, struct str more) {
    struct jobj o;
    jobj_begin(&o, 8 * MCP_NAME_BYTES_MAX + more.n);
    jw_kstr(&o.w, "uri", call->uri);
    if (more.n > 0) jw_members(&o.w, more);
    return jobj_end(&o, call->arena);
}
