/*
 * mcp_wire.c: JSON-RPC exchanges with an MCP server over HTTP (MCP-4, MCP-5, MCP-9): the handshake
 * of 2025-03-26 first; a server that knows it no more is spoken to as 2026-07-28 has it.
 */
#include "codec/jobj.h"
#include "nodes/mcp.h"

#include <stdio.h>

#define MCP_FIRST         "2025-03-26" /* MCP-5 */
#define MCP_STATELESS     "2026-07-28"
#define MCP_PARAMS_MAX    (1024u * 1024)
#define MCP_ANSWER_MAX    (256u * 1024)
#define MCP_NOTE_MAX      (64u * 1024)
#define MCP_CLOSE_MS      2000
#define MCP_SESSION_MAX   1024u
#define MCP_ATTEMPTS      31 /* whose steps have numbers of their own */
#define MCP_STEPS         32u
#define RPC_NO_METHOD     (-32601)
#define RPC_OTHER_VERSION (-32022)
/* The same in every version of this host: a request repeated after an upgrade is the same one. */
#define MCP_CLIENT "{\"name\":\"wopr\",\"version\":\"1\"}"

static const char *const VERSIONS[] = {MCP_FIRST, "2025-06-18", "2025-11-25"};

static unsigned ordinal_of(const struct mcp *m, unsigned step) {
    if (m->place) return m->place(m, step);
    return step == MCP_CALL ? 0 : step + (unsigned)(m->call->attempt % MCP_ATTEMPTS) * MCP_STEPS;
}

static void mcp_wire_unavailable(struct mcp *m, const char *why, bool retry) {
    struct jobj o;
    node_fail(m->out, "mcp_unavailable", "the MCP server cannot be used", retry);
    m->out->error_message =
        arena_printf(m->call->a, "the MCP server \"" STR_FMT "\" cannot be used: %s",
                     STR_ARG(m->server->name), why);
    jobj_begin(&o, MCP_NOTE_MAX);
    jw_kstr(&o.w, "server", m->server->name);
    m->out->error_details = jobj_end(&o, m->call->a);
}

/* --- requests --- */

static bool header_add(struct node_request *r, const char *name, struct str value) {
    if (value.n > 0) r->headers[r->headers_nr++] = (struct egress_header){str_c(name), value};
    return true;
}

static bool headers_of(struct mcp *m, const char *method, struct node_request *r) {
    r->headers = ARENA_ARRAY(m->call->a, struct egress_header, 8);
    if (!r->headers) return false;
    header_add(r, "Content-Type", STR("application/json"));
    header_add(r, "Accept", STR("application/json, text/event-stream"));
    header_add(r, "MCP-Protocol-Version", m->version);
    header_add(r, "Mcp-Session-Id", m->session);
    if (m->stateless) header_add(r, "Mcp-Method", str_c(method));
    if (m->stateless && strcmp(method, "tools/call") == 0) header_add(r, "Mcp-Name", m->tool);
    if (m->server->credential.n > 0)
        r->headers[r->headers_nr++] =
            (struct egress_header){m->server->header, m->server->credential};
    return true;
}

/* id 0: a notification. */
static struct str message_of(struct mcp *m, const char *method, int64_t id, struct str params) {
    struct jobj o;
    jobj_begin(&o, MCP_PARAMS_MAX);
    jw_kstrz(&o.w, "jsonrpc", "2.0");
    if (id > 0) jw_kint(&o.w, "id", id);
    jw_kstrz(&o.w, "method", method);
    if (params.n > 0 || m->stateless) {
        jw_key(&o.w, "params");
        jw_object(&o.w);
        if (params.n > 0) jw_members(&o.w, params);
        if (m->stateless)
            jw_kraw(&o.w, "_meta",
                    STR("{\"io.modelcontextprotocol/protocolVersion\":\"" MCP_STATELESS "\","
                        "\"io.modelcontextprotocol/clientCapabilities\":{},"
                        "\"io.modelcontextprotocol/clientInfo\":" MCP_CLIENT "}"));
        jw_end_object(&o.w);
    }
    return jobj_end(&o, m->call->a);
}

/* NULL: asked for, or the node fails. */
static const struct node_answer *mcp_wire_post(struct mcp *m, unsigned step, const char *method,
                                               int64_t id, struct str params) {
    unsigned ordinal = ordinal_of(m, step);
    struct node_request r = {.caller = EGRESS_CALLER_MCP,
                             .method = STR("POST"),
                             .url = m->server->url,
                             .timeout_ms = m->timeout_ms,
                             .response_max = id > 0 ? MCP_ANSWER_MAX : MCP_NOTE_MAX,
                             .rpc_id = id,
                             .secret = m->server->secret,
                             .keyed = step == MCP_CALL,
                             .once = step == MCP_CALL && !m->repeatable,
                             .keep = step == MCP_OPEN ? "Mcp-Session-Id" : NULL};
    r.provider_key =
        arena_printf(m->call->a, "mcp:" STR_FMT ":%s", STR_ARG(m->server->name), method);
    r.body = message_of(m, method, id, params);
    if (!r.provider_key.p || !r.body.p || !headers_of(m, method, &r)) {
        if (arena_failed(m->call->a)) node_no_memory(m->out);
        else node_invalid(m->out, "the arguments of the tool are longer than 1 MiB");
        return NULL;
    }
    return node_invoke(m->call, m->out, ordinal, &r);
}

/* --- answers --- */

static bool in_words(struct str code, const char *const *words) {
    for (; *words; words++)
        if (str_eqc(code, *words)) return true;
    return false;
}

/* No answer: an attempt more may help, unless the tool may have been called or it cannot change. */
static void no_answer(struct mcp *m, unsigned step, const struct node_answer *ans) {
    static const char *const FINAL[] = {"egress_refused", "response_too_large", "outcome_unknown",
                                        NULL};
    bool again = step != MCP_CALL || m->repeatable || ans->untouched;
    struct str why = ans->error_message.n > 0 ? ans->error_message : ans->error_code;
    struct str text = arena_printf(
        m->call->a, STR_FMT "%s", STR_ARG(why),
        again
            ? ""
            : "; whether the tool was called is not known, so it is not called again (a tool that "
              "may be called twice has \"repeatable\": true)");
    mcp_wire_unavailable(m, text.p ? text.p : "no answer",
                         again && !in_words(ans->error_code, FINAL));
}

static void bad_status(struct mcp *m, unsigned step, int status) {
    bool refused = status == 429 || status == 503; /* it was not executed */
    bool may = step != MCP_CALL || m->repeatable;
    bool again = refused || (may && (status >= 500 || status == 408));
    struct str text = arena_printf(m->call->a, "it answered with status %d%s", status,
                                   status == 401 || status == 403
                                       ? "; the operator's credential for it is missing or refused"
                                       : "");
    mcp_wire_unavailable(m, text.p ? text.p : "status", again);
}

static bool response_of(struct mcp *m, unsigned step, const struct node_answer *ans, int64_t id,
                        struct rpc_response *out) {
    if (ans->status == 0) {
        no_answer(m, step, ans);
        return false;
    }
    const char *why = ans->body_is_base64 ? "its answer is no JSON"
                                          : rpc_response_read(ans->body, id, m->call->a, out);
    if (!why) return true;
    if (arena_failed(m->call->a)) node_no_memory(m->out);
    else if (ans->status >= 300) bad_status(m, step, ans->status);
    else mcp_wire_unavailable(m, why, step != MCP_CALL || m->repeatable);
    return false;
}

bool mcp_ask(struct mcp *m, unsigned step, const char *method, struct str params,
             struct rpc_response *out) {
    int64_t id = (int64_t)ordinal_of(m, step) + 1;
    const struct node_answer *ans = mcp_wire_post(m, step, method, id, params);
    return ans && response_of(m, step, ans, id, out);
}

/* --- the handshake --- */

static bool session_ok(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x21 || (unsigned char)s.p[i] > 0x7e) return false;
    return s.n <= MCP_SESSION_MAX;
}

static bool version_take(struct mcp *m, struct str result) {
    struct str got = json_string(json_get(result, "protocolVersion"), m->call->a);
    for (size_t i = 0; i < sizeof VERSIONS / sizeof *VERSIONS; i++) {
        if (!str_eqc(got, VERSIONS[i])) continue;
        m->version = str_c(VERSIONS[i]);
        return true;
    }
    mcp_wire_unavailable(
        m,
        "it speaks none of the protocol versions 2025-03-26, 2025-06-18, 2025-11-25 and "
        "2026-07-28",
        false);
    return false;
}

static bool error_take(struct mcp *m, const struct rpc_response *r) {
    if (r->code == RPC_NO_METHOD || r->code == RPC_OTHER_VERSION) {
        m->stateless = true;
        m->version = STR(MCP_STATELESS);
        return true;
    }
    struct str text =
        arena_printf(m->call->a, "it refused the session with error %lld", (long long)r->code);
    mcp_wire_unavailable(m, text.p ? text.p : "it refused the session", false);
    return false;
}

bool mcp_open(struct mcp *m) {
    struct rpc_response r = {0};
    int64_t id = (int64_t)ordinal_of(m, MCP_OPEN) + 1;
    const struct node_answer *ans =
        mcp_wire_post(m, MCP_OPEN, "initialize", id,
                      STR("{\"protocolVersion\":\"" MCP_FIRST
                          "\",\"capabilities\":{},\"clientInfo\":" MCP_CLIENT "}"));
    if (!ans || !response_of(m, MCP_OPEN, ans, id, &r)) return false;
    if (r.result.n == 0) return error_take(m, &r);
    if (!version_take(m, r.result)) return false;
    if (!session_ok(ans->kept)) {
        mcp_wire_unavailable(m, "the id of its session is malformed", false);
        return false;
    }
    m->session = ans->kept;
    return mcp_wire_post(m, MCP_OPENED, "notifications/initialized", 0, STR_NONE) != NULL;
}

bool mcp_close(struct mcp *m) {
    struct node_request r = {.caller = EGRESS_CALLER_MCP,
                             .method = STR("DELETE"),
                             .url = m->server->url,
                             .timeout_ms = MCP_CLOSE_MS,
                             .response_max = MCP_NOTE_MAX};
    if (m->session.n == 0) return true;
    r.provider_key = arena_printf(m->call->a, "mcp:" STR_FMT ":close", STR_ARG(m->server->name));
    if (!r.provider_key.p || !headers_of(m, "", &r)) {
        node_no_memory(m->out);
        return false;
    }
    return node_invoke(m->call, m->out, ordinal_of(m, MCP_CLOSE), &r) != NULL;
}
