/*
 * test_mcp_message.c: what is taken for a message, and in which era it is (WR-211, WR-212).
 */
#include "mcp_kit.h"

#include <stdio.h>
#include <string.h>

TestSuite(mcp_message, .init = kit_up, .fini = kit_down);
TestSuite(mcp_era, .init = kit_up, .fini = kit_down);

static void expect_error(const char *text, int code, enum mcp_verdict verdict, const char *id) {
    struct str answer = kit_send(text);
    int64_t got = 0;
    cr_expect(json_int(kit_at(answer, "error.code"), &got) && got == code, "%s: " STR_FMT, text,
              STR_ARG(answer));
    cr_expect_eq(kit.x.verdict, verdict, "%s: %d", text, kit.x.verdict);
    cr_expect(str_eqc(json_get(answer, "id"), id), "%s: " STR_FMT, text, STR_ARG(answer));
    cr_expect(json_get(answer, "result").n == 0);
}

#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"

Test(mcp_message, an_id_is_a_string_or_an_integer_and_comes_back_as_it_was_spelled) {
    static const char *const GOOD[] = {"0",   "-7",   "9007199254740993",
                                       "1e3", "\"\"", "\"a\\u0062\""};
    static const char *const BAD[] = {"null", "true", "1.5", "[]", "{}", "1e400"};
    char text[512];
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        snprintf(text, sizeof text, PING("%s"), GOOD[i]);
        struct str answer = kit_send(text);
        cr_expect(str_eqc(json_get(answer, "id"), GOOD[i]), "%s: " STR_FMT, GOOD[i],
                  STR_ARG(answer));
        cr_expect(str_eqc(json_get(answer, "result"), "{}"));
    }
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        snprintf(text, sizeof text, PING("%s"), BAD[i]);
        expect_error(text, MCP_INVALID_REQUEST, MCP_MALFORMED, "null");
    }
    snprintf(text, sizeof text, PING("\"%0300d\""), 1);
    expect_error(text, MCP_INVALID_REQUEST, MCP_MALFORMED, "null");
}

Test(mcp_message, what_is_no_message_is_refused_by_its_code) {
    static char deep[1024];
    expect_error("", MCP_PARSE_ERROR, MCP_MALFORMED, "null");
    expect_error("{", MCP_PARSE_ERROR, MCP_MALFORMED, "null");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", MCP_PARSE_ERROR,
                 MCP_MALFORMED, "null");
    expect_error("[" PING("1") "]", MCP_INVALID_REQUEST, MCP_MALFORMED, "null");
    expect_error("7", MCP_INVALID_REQUEST, MCP_MALFORMED, "null");
    expect_error("{\"id\":1,\"method\":\"ping\"}", MCP_INVALID_REQUEST, MCP_MALFORMED, "1");
    expect_error("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", MCP_INVALID_REQUEST,
                 MCP_MALFORMED, "1");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1}", MCP_INVALID_REQUEST, MCP_MALFORMED, "1");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", MCP_INVALID_REQUEST, MCP_MALFORMED,
                 "1");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}",
                 MCP_INVALID_PARAMS, MCP_MALFORMED, "1");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":1}}",
                 MCP_INVALID_PARAMS, MCP_MALFORMED, "1");
    for (int i = 0; i < 400; i++) deep[i] = '[';
    expect_error(deep, MCP_PARSE_ERROR, MCP_MALFORMED, "null");
}

static int batch_of(const char *text, struct str version, size_t *nr) {
    struct json_elements l = {NULL, 0};
    struct mcp_error why = {0};
    int rc = mcp_batch_read(str_c(text), version, kit.a, &l, &why);
    cr_expect(rc == 0 || rc == 1 || rc == why.code, "%s: %d, %d", text, rc, why.code);
    *nr = l.n;
    return rc;
}

/* "[1,1,...]" */
static const char *numbers(int nr) {
    struct buf b;
    buf_init(&b, 4096);
    for (int i = 0; i < nr; i++) buf_addz(&b, i > 0 ? ",1" : "[1");
    buf_addc(&b, ']');
    const char *out = arena_cstr(kit.a, buf_str(&b));
    buf_fini(&b);
    return out;
}

Test(mcp_message, a_batch_is_one_of_the_version_that_has_them) {
    struct str none = {NULL, 0}, version = STR("2025-03-26");
    size_t nr;
    cr_expect_eq(batch_of(PING("1"), none, &nr), 0);
    cr_expect_eq(batch_of(" [" PING("1") "," PING("2") " ]", none, &nr), 1);
    cr_expect_eq(nr, 2);
    cr_expect_eq(batch_of("[" PING("1") "]", version, &nr), 1);
    cr_expect_eq(batch_of("[1,[],{}]", version, &nr), 1, "each is judged by itself");
    cr_expect_eq(nr, 3);
    cr_expect_eq(batch_of("[" PING("1") "]", STR("2025-06-18"), &nr), MCP_INVALID_REQUEST);
    cr_expect_eq(batch_of("[" PING("1") "]", STR(MCP_VERSION_MODERN), &nr), MCP_INVALID_REQUEST);
    cr_expect_eq(batch_of("[]", none, &nr), MCP_INVALID_REQUEST);
    cr_expect_eq(batch_of("[" PING("1"), none, &nr), MCP_PARSE_ERROR);
    cr_expect_eq(batch_of("[" PING("1") "] x", none, &nr), MCP_PARSE_ERROR);
    cr_expect_eq(batch_of(numbers(MCP_BATCH_MAX), none, &nr), 1);
    cr_expect_eq(batch_of(numbers(MCP_BATCH_MAX + 1), none, &nr), MCP_INVALID_REQUEST);
}

Test(mcp_message, nothing_is_answered_to_what_asks_nothing) {
    static const char *const QUIET[] = {
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":1,\"message\":\"m\"}}"};
    for (size_t i = 0; i < sizeof QUIET / sizeof *QUIET; i++) {
        cr_expect_eq(kit_send(QUIET[i]).n, 0u);
        cr_expect_eq(kit.x.verdict, MCP_ACCEPTED);
    }
}

Test(mcp_message, an_error_repeats_nothing_that_was_sent) {
    struct str answer = kit_send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hunter2\"}");
    cr_expect_null(strstr(answer.p, "hunter2"));
    answer = kit_send(CALL("hunter2", "{}"));
    cr_expect_null(strstr(answer.p, "hunter2"));
}

/* --- eras --- */

static const char *negotiated(const char *asked) {
    char text[256];
    snprintf(text, sizeof text,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
             "\"protocolVersion\":\"%s\",\"capabilities\":{},\"clientInfo\":{}}}",
             asked);
    return arena_cstr(kit.a, kit_at(kit_send(text), "result.protocolVersion"));
}

Test(mcp_era, initialize_answers_the_client_s_version_or_the_newest_of_its_era /* WR-211 */) {
    cr_expect_str_eq(negotiated("2025-03-26"), "2025-03-26");
    cr_expect_str_eq(negotiated("2025-06-18"), "2025-06-18");
    cr_expect_str_eq(negotiated("2025-11-25"), "2025-11-25");
    cr_expect_str_eq(negotiated("2024-11-05"), "2025-11-25");
    cr_expect_str_eq(negotiated("2026-07-28"), "2025-11-25");
    cr_expect_str_eq(negotiated("2099-01-01"), "2025-11-25");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", MCP_INVALID_PARAMS,
                 MCP_FINE, "1");
}

static enum mcp_verdict verdict_of(const char *text, const char *version, const char *method,
                                   const char *name, int *code) {
    const struct mcp_headers h = {
        .version = str_c(version), .method = str_c(method), .name = str_c(name)};
    int64_t got = 0;
    struct str answer = kit_send_with(text, &h);
    (void)json_int(kit_at(answer, "error.code"), &got);
    *code = (int)got;
    return kit.x.verdict;
}

Test(mcp_era, a_header_without_a_version_in_the_message_says_the_era /* WR-211 */) {
    static const char *const FINE[] = {"2025-03-26", "2025-06-18", "2025-11-25", NULL};
    int code;
    for (size_t i = 0; FINE[i]; i++) {
        cr_expect_eq(verdict_of(PING("1"), FINE[i], NULL, NULL, &code), MCP_FINE);
        cr_expect_eq(code, 0, "%s", FINE[i]);
    }
    cr_expect_eq(verdict_of(PING("1"), NULL, NULL, NULL, &code), MCP_FINE);
    cr_expect_eq(verdict_of(PING("1"), "2024-11-05", NULL, NULL, &code), MCP_MALFORMED);
    cr_expect_eq(code, MCP_UNSUPPORTED_VERSION);
    cr_expect_eq(verdict_of(PING("1"), "2026-07-28", NULL, NULL, &code), MCP_MALFORMED);
    cr_expect_eq(code, MCP_INVALID_PARAMS, "the newer era needs _meta");
}

#define LIST MODERN("tools/list", "")
#define ECHO MODERN("tools/call", "\"name\":\"echo\",\"arguments\":{\"n\":1},")
#define READ MODERN("resources/read", "\"uri\":\"kit://things/\xc3\xa4\",")

Test(mcp_era, headers_must_say_what_the_message_says) {
    static const struct {
        const char *text, *version, *method, *name;
        int code;
    } CASES[] = {
        {LIST, "2026-07-28", "tools/list", NULL, 0},
        {LIST, NULL, "tools/list", NULL, MCP_HEADER_MISMATCH},
        {LIST, "2025-11-25", "tools/list", NULL, MCP_HEADER_MISMATCH},
        {LIST, "2026-07-28", NULL, NULL, MCP_HEADER_MISMATCH},
        {LIST, "2026-07-28", "tools/call", NULL, MCP_HEADER_MISMATCH},
        {LIST, "2026-07-28", "Tools/List", NULL, MCP_HEADER_MISMATCH},
        {ECHO, "2026-07-28", "tools/call", "echo", 0},
        {ECHO, "2026-07-28", "tools/call", "=?base64?ZWNobw==?=", 0},
        {ECHO, "2026-07-28", "tools/call", "=?base64?ZWNob===?=", MCP_HEADER_MISMATCH},
        {ECHO, "2026-07-28", "tools/call",
         "=?base64?"
         "?=",
         MCP_HEADER_MISMATCH},
        {ECHO, "2026-07-28", "tools/call", "judge", MCP_HEADER_MISMATCH},
        {ECHO, "2026-07-28", "tools/call", NULL, MCP_HEADER_MISMATCH},
        {READ, "2026-07-28", "resources/read", "=?base64?a2l0Oi8vdGhpbmdzL8Ok?=", 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        int code;
        enum mcp_verdict v =
            verdict_of(CASES[i].text, CASES[i].version, CASES[i].method, CASES[i].name, &code);
        cr_expect_eq(code, CASES[i].code, "case %zu: %d", i, code);
        cr_expect_eq(v, CASES[i].code ? MCP_MALFORMED : MCP_FINE, "case %zu", i);
    }
}

Test(mcp_era, what_is_encoded_for_a_header_is_the_same_when_decoded) {
    static const char *const NAMES[] = {"echo",   "kit://things/\xc3\xa4", " blank",
                                        "blank ", "=?base64?ZWNobw==?=",   "line\nbreak",
                                        ""};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        struct buf b, text;
        int code;
        buf_init(&b, 1024);
        buf_init(&text, 4096);
        mcp_header_write(&b, str_c(NAMES[i]));
        for (size_t k = 0; k < b.len; k++) cr_expect(b.p[k] >= 0x20 && b.p[k] < 0x7f);
        buf_addz(&text,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":");
        json_quote(&text, str_c(NAMES[i]));
        buf_addz(&text, "," META "}}");
        (void)verdict_of(text.p, "2026-07-28", "tools/call", b.p, &code);
        cr_expect_neq(code, MCP_HEADER_MISMATCH, "%s", NAMES[i]);
        buf_fini(&b);
        buf_fini(&text);
    }
}

Test(mcp_era, a_version_that_is_not_served_is_answered_with_those_that_are) {
    struct str answer =
        kit_send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\","
                 "\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\""
                 ":\"1900-01-01\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    cr_expect(str_eqc(kit_at(answer, "error.code"), "-32022"));
    cr_expect(str_eqc(kit_at(answer, "error.data.requested"), "1900-01-01"));
    cr_expect(str_eqc(kit_at(answer, "error.data.supported.0"), "2026-07-28"));
    cr_expect_eq(kit.x.verdict, MCP_MALFORMED);
}

Test(mcp_era, each_has_its_methods_and_its_answers_to_unknown_ones) {
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}",
                 MCP_METHOD_NOT_FOUND, MCP_FINE, "1");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\"}",
                 MCP_METHOD_NOT_FOUND, MCP_FINE, "1");
    expect_error(MODERN("ping", ""), MCP_METHOD_NOT_FOUND, MCP_NO_METHOD, "\"m\"");
    expect_error(MODERN("initialize", "\"protocolVersion\":\"2026-07-28\","), MCP_METHOD_NOT_FOUND,
                 MCP_NO_METHOD, "\"m\"");
    expect_error(MODERN("subscriptions/listen", ""), MCP_METHOD_NOT_FOUND, MCP_NO_METHOD, "\"m\"");
    struct str answer = kit_send(MODERN("server/discover", ""));
    cr_expect(str_eqc(kit_at(answer, "result.resultType"), "complete"));
    cr_expect(str_eqc(kit_at(answer, "result.supportedVersions.0"), "2026-07-28"));
    cr_expect(str_eqc(kit_at(answer, "result.instructions"), "Be kind."));
    cr_expect(kit_at(answer, "result.ttlMs").n > 0);
}

Test(mcp_era, a_session_id_of_whomever_is_unknown_and_never_needed) {
    const struct mcp_headers h = {.session = STR("s-1")};
    struct str answer = kit_send_with(PING("1"), &h);
    cr_expect(str_eqc(kit_at(answer, "error.code"), "-32001"));
    cr_expect_eq(kit.x.verdict, MCP_NO_SESSION);
    answer = kit_send_with("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                           "\"protocolVersion\":\"2025-06-18\"}}",
                           &h);
    cr_expect(kit_at(answer, "result").n > 0, "one begins anew with it");
}

Test(mcp_era, the_newer_one_needs_what_the_client_can) {
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}}",
                 MCP_INVALID_PARAMS, MCP_MALFORMED, "1");
    expect_error("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                 "\"io.modelcontextprotocol/protocolVersion\":5}}}",
                 MCP_INVALID_PARAMS, MCP_MALFORMED, "1");
}
