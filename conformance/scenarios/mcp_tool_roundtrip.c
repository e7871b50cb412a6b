/* mcp_tool_roundtrip.c: public scenario mcp-tool-roundtrip (MCP-4 to MCP-7). */
#include "suite.h"

SCENARIO(mcp_tool_roundtrip);

static const char *server(void) {
    const char *url = env("OPENWOP_MCP_FAKE_SERVER_URL");
    if (url == NULL) cr_skip("no fake MCP server: OPENWOP_MCP_FAKE_SERVER is not set");
    return url;
}

static struct str said(const char *id, const char *method, const char *params) {
    struct reply r = ask_base(
        server(), "POST", "/",
        fmt("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":%s}", id, method, params),
        NO_AUTH);
    cr_assert_eq(r.status, 200, "%s", method);
    return r.json;
}

static size_t calls_of(const char *method) {
    struct reply r = ask_base(server(), "LOOK", "/", NULL, NO_AUTH);
    struct json_elements l = {.n = 0};
    size_t n = 0;
    cr_assert(r.status == 200 && json_elements(r.body, test_arena(), &l, NULL) == 0);
    for (size_t i = 0; i < l.n; i++) n += str_eqc(json_string(l.v[i], test_arena()), method);
    return n;
}

Test(mcp_tool_roundtrip, offline_the_server_speaks_the_protocol) {
    struct str s = said("1", "initialize", "{\"protocolVersion\":\"2025-03-26\"}");
    cr_expect(str_eqc(text_at(s, "result.protocolVersion"), "2025-03-26"));
    s = said("2", "tools/list", "{}");
    cr_expect(str_eqc(text_at(s, "result.tools.0.name"), "echo"));
    s = said("3", "tools/call", "{\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}}");
    cr_expect(str_eqc(text_at(s, "result.content.0.text"), "a"));
    cr_expect_eq(int_at(said("4", "tools/call", "{\"name\":\"x\"}"), "error.code"), -32602);
    cr_expect_eq(int_at(said("5", "notifications/initialized", "{}"), "error.code"), -32601);
}

Test(mcp_tool_roundtrip, a_run_calls_the_tool_and_its_log_names_it) {
    size_t before = calls_of("tools/call");
    need_fixture("conformance-mcp-tool-roundtrip");
    const char *run =
        create_run("conformance-mcp-tool-roundtrip", "\"inputs\":{\"text\":\"roundtrip-probe\"}");
    struct str snap = wait_terminal(run, 30000);
    cr_assert(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_expect_gt(calls_of("tools/call"), before, "the server was asked");
    struct str done = first_of(json_events(run), "node.completed");
    cr_assert_not_null(done.p);
    /* MCP-7, beyond the public scenario */
    cr_expect(str_eqc(text_at(done, "payload.outputs.tool"), "echo"), STR_FMT, STR_ARG(done));
    cr_expect(str_eqc(text_at(done, "payload.outputs.text"), "roundtrip-probe"));
    cr_expect(str_eqc(text_at(done, "payload.outputs.trust"), "untrusted"));
    cr_expect(str_eqc(text_at(done, "payload.outputs.rendered"),
                      "<UNTRUSTED tool=\"echo\">roundtrip-probe</UNTRUSTED>"));
}

Test(mcp_tool_roundtrip, a_host_that_calls_tools_says_so /* MCP-2 */) {
    (void)server();
    need_fixture("conformance-mcp-tool-roundtrip");
    bool on = false;
    cr_expect(json_bool(at(document(), "mcp.supported"), &on) && on);
    cr_assert(known_run() != NULL);
}
