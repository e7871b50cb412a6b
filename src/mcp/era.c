/*
 * era.c: which revision of the protocol a message is in.
 */
#include "mcp/era.h"
#include "codec/bytes.h"
#include "codec/jobj.h"

const char *const MCP_VERSIONS[] = {MCP_VERSION_MODERN, MCP_VERSION_LEGACY, "2025-06-18",
                                    "2025-03-26", NULL};

enum { VERSION_BYTES_MAX = 64 };
#define BASE64_BEGIN "=?base64?"
#define BASE64_END   "?="

bool mcp_version_is_legacy(struct str version) {
    for (size_t i = 1; MCP_VERSIONS[i]; i++)
        if (str_eqc(version, MCP_VERSIONS[i])) return true;
    return false;
}

static int version_refuse(struct str asked, struct arena *a, struct mcp_error *why) {
    struct jobj o;
    jobj_begin(&o, 1024);
    jw_key(&o.w, "supported");
    jw_array(&o.w);
    for (size_t i = 0; MCP_VERSIONS[i]; i++) jw_strz(&o.w, MCP_VERSIONS[i]);
    jw_end_array(&o.w);
    jw_kstr(&o.w, "requested", asked.n <= VERSION_BYTES_MAX ? asked : STR(""));
    int code = mcp_error_set(why, MCP_UNSUPPORTED_VERSION, MCP_MALFORMED,
                             "this version of the protocol is not served here");
    why->data = jobj_end(&o, a);
    return code;
}

static int header_refuse(struct mcp_error *why, const char *message) {
    return mcp_error_set(why, MCP_HEADER_MISMATCH, MCP_MALFORMED, message);
}

int mcp_target_of(const struct mcp_message *m, struct arena *a, struct str *out) {
    static const struct {
        const char *method, *member;
    } NAMED[] = {{"tools/call", "name"}, {"prompts/get", "name"}, {"resources/read", "uri"}};
    for (size_t i = 0; i < sizeof NAMED / sizeof NAMED[0]; i++)
        if (str_eqc(m->method, NAMED[i].method))
            return mcp_string_of(m->params, NAMED[i].member, MCP_NAME_BYTES_MAX, a, out) == 1 ? 1
                                                                                              : -1;
    return 0;
}

static bool header_carries(struct str s) {
    bool ok = s.n > 0 && s.p[0] != ' ' && s.p[s.n - 1] != ' ' && !str_starts(s, STR(BASE64_BEGIN));
    for (size_t i = 0; ok && i < s.n; i++) ok = s.p[i] >= 0x20 && s.p[i] <= 0x7e;
    return ok;
}

void mcp_header_write(struct buf *b, struct str target) {
    if (header_carries(target)) {
        buf_adds(b, target);
        return;
    }
    buf_addz(b, BASE64_BEGIN);
    base64_encode(b, target);
    buf_addz(b, BASE64_END);
}

/* What a client could not put into a header as it is comes as base64. */
static bool header_is(struct str header, struct str value) {
    const size_t around = sizeof BASE64_BEGIN - 1 + sizeof BASE64_END - 1;
    struct buf b;
    if (header.n < around || !str_starts(header, STR(BASE64_BEGIN)) ||
        !str_ends(header, STR(BASE64_END)))
        return str_eq(header, value);
    struct str coded = str_n(header.p + sizeof BASE64_BEGIN - 1, header.n - around);
    buf_init(&b, MCP_NAME_BYTES_MAX);
    bool same = base64_decode(coded, &b, NULL) == 0 && str_eq(buf_str(&b), value);
    buf_fini(&b);
    return same;
}

static int headers_judge(const struct mcp_message *m, const struct mcp_headers *h,
                         struct str version, struct arena *a, struct mcp_error *why) {
    struct str target;
    if (!h->version.p) return header_refuse(why, "the header MCP-Protocol-Version is missing");
    if (!str_eq(h->version, version))
        return header_refuse(why, "the header MCP-Protocol-Version differs from the version in "
                                  "params._meta");
    if (m->kind != MCP_REQUEST) return 0; /* headers of notifications are not defined */
    if (!h->method.p) return header_refuse(why, "the header Mcp-Method is missing");
    if (!str_eq(h->method, m->method))
        return header_refuse(why, "the header Mcp-Method differs from the method of the message");
    int named = mcp_target_of(m, a, &target);
    if (named == 0) return 0;
    if (named < 0)
        return mcp_error_set(
            why, MCP_INVALID_PARAMS, MCP_MALFORMED,
            "params must name the tool, prompt or resource, in at most 2048 bytes");
    if (!h->name.p) return header_refuse(why, "the header Mcp-Name is missing");
    if (!header_is(h->name, target))
        return header_refuse(why, "the header Mcp-Name differs from what the message names");
    return 0;
}

static int modern_judge(const struct mcp_message *m, const struct mcp_headers *h,
                        struct str version, struct arena *a, struct mcp_context *out,
                        struct mcp_error *why) {
    int code = headers_judge(m, h, version, a, why);
    if (code != 0) return code;
    if (!str_eqc(version, MCP_VERSION_MODERN)) return version_refuse(version, a, why);
    struct str client = json_get(m->meta, MCP_META_CAPABILITIES);
    if (m->kind == MCP_REQUEST && (client.n == 0 || json_type_of(client) != JSON_OBJECT))
        return mcp_error_set(why, MCP_INVALID_PARAMS, MCP_MALFORMED,
                             "params._meta must have the object " MCP_META_CAPABILITIES);
    struct str elicitation = json_get(client, "elicitation");
    out->era = MCP_MODERN;
    /* An empty object is a form too: that is all there was before other modes. */
    out->elicits = elicitation.n > 0 && json_type_of(elicitation) == JSON_OBJECT &&
                   (json_get(elicitation, "form").n > 0 || json_get(elicitation, "url").n == 0);
    return 0;
}

/* No version in the message: the header's alone.  initialize is the older era's unless header and
 * message both say otherwise, since clients of both eras begin with it. */
static int legacy_judge(const struct mcp_message *m, const struct mcp_headers *h, struct arena *a,
                        struct mcp_error *why) {
    bool begins = str_eqc(m->method, "initialize");
    bool modern = str_eqc(h->version, MCP_VERSION_MODERN);
    if (modern && m->kind == MCP_REQUEST && !begins)
        return mcp_error_set(why, MCP_INVALID_PARAMS, MCP_MALFORMED,
                             "params._meta must have " MCP_META_VERSION
                             " and " MCP_META_CAPABILITIES);
    if (h->version.p && !modern && !mcp_version_is_legacy(h->version))
        return version_refuse(h->version, a, why);
    if (h->session.p && !begins)
        return mcp_error_set(why, MCP_SESSION_NOT_FOUND, MCP_NO_SESSION,
                             "this host keeps no sessions and gave out no session id: send "
                             "initialize without one");
    return 0;
}

int mcp_era_judge(const struct mcp_message *m, const struct mcp_headers *h, struct arena *a,
                  struct mcp_context *out, struct mcp_error *why) {
    struct str version;
    *out = (struct mcp_context){.era = MCP_LEGACY};
    int named = m->meta.n > 0
                    ? mcp_string_of(m->meta, MCP_META_VERSION, VERSION_BYTES_MAX, a, &version)
                    : 0;
    if (named < 0)
        return mcp_error_set(why, MCP_INVALID_PARAMS, MCP_MALFORMED,
                             MCP_META_VERSION " must be a version, like \"" MCP_VERSION_MODERN
                                              "\"");
    bool begins = str_eqc(m->method, "initialize");
    if (named == 1 && (!begins || str_eq(h->version, version)))
        return modern_judge(m, h, version, a, out, why);
    return legacy_judge(m, h, a, why);
}
