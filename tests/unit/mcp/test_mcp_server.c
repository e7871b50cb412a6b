/*
 * test_mcp_server.c: tables of tools, resources and prompts, their calls and answers (WR-212 to
 * WR-215, WR-219, WR-220, WR-231, WR-233).
 */
#include "mcp_kit.h"

#include <stdio.h>
#include <string.h>

TestSuite(mcp_server, .init = kit_up, .fini = kit_down);

static bool lists(struct str answer, const char *member, const char *name) {
    char text[96];
    snprintf(text, sizeof text, "\"%s\":\"%s\"", member, name);
    return strstr(answer.p, text) != NULL;
}

#define PLAIN(method) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\"}"

Test(mcp_server, what_a_caller_may_not_use_does_not_exist_for_it) {
    cr_expect(lists(kit_send(PLAIN("tools/list")), "name", "secret"));
    cr_expect(lists(kit_send(PLAIN("resources/templates/list")), "name", "part"));
    kit.scopes = SCOPE_A;
    struct str answer = kit_send(PLAIN("tools/list"));
    cr_expect(lists(answer, "name", "echo") && !lists(answer, "name", "secret"));
    cr_expect(!lists(kit_send(PLAIN("resources/templates/list")), "name", "part"));
    cr_expect(!lists(kit_send(PLAIN("prompts/list")), "name", "hidden"));
    struct str gone = kit_send(CALL("nothing_like_it", "{}"));
    struct str barred = kit_send(CALL("secret", "{}"));
    cr_expect(str_eq(kit_at(gone, "error.message"), kit_at(barred, "error.message")));
    cr_expect(str_eqc(kit_at(barred, "error.code"), "-32602"));
    kit.scopes = 0;
    cr_expect(str_eqc(kit_at(kit_send(PLAIN("tools/list")), "result.tools"), "[]"));
}

Test(mcp_server, hints_and_schemas_are_those_of_the_row /* WR-214 WR-215 */) {
    struct str answer = kit_send(PLAIN("tools/list"));
    cr_expect(str_eqc(kit_at(answer, "result.tools.0.name"), "echo"));
    cr_expect(str_eqc(kit_at(answer, "result.tools.0.annotations.readOnlyHint"), "true"));
    cr_expect(str_eqc(kit_at(answer, "result.tools.0.annotations.destructiveHint"), "false"));
    cr_expect(str_eqc(kit_at(answer, "result.tools.0.inputSchema.required.0"), "n"));
    cr_expect(kit_at(answer, "result.tools.0.outputSchema").n > 0);
    cr_expect(kit_at(answer, "result.tools.1.outputSchema").n == 0);
    cr_expect(str_eqc(kit_at(answer, "result.tools.3.annotations.destructiveHint"), "true"));
    cr_expect(kit_at(answer, "result.ttlMs").n == 0, "the older era has no caching");
    answer = kit_send(MODERN("tools/list", ""));
    cr_expect(str_eqc(kit_at(answer, "result.cacheScope"), "private"));
}

Test(mcp_server, an_answer_is_text_and_structure /* WR-220 */) {
    struct str answer = kit_send(CALL("echo", "{\"n\" :\n 5}"));
    cr_expect(str_eqc(kit_at(answer, "result.structuredContent.n"), "5"));
    cr_expect(str_eqc(kit_at(answer, "result.content.0.text"), "{\"n\" :\n 5}"));
    cr_expect(str_eqc(kit_at(answer, "result.isError"), "false"));
    answer = kit_send(CALL("prose", "{}"));
    cr_expect(str_eqc(kit_at(answer, "result.content.0.text"), "hello\nthere"));
    cr_expect(kit_at(answer, "result.structuredContent").n == 0);
}

Test(mcp_server, arguments_that_do_not_fit_are_a_result_that_a_model_reads /* WR-219 WR-231 */) {
    static const char *const BAD[] = {CALL("echo", "{}"), CALL("echo", "{\"n\":\"x\"}"),
                                      CALL("echo", "{\"n\":1,\"m\":2}")};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct str answer = kit_send(BAD[i]);
        cr_expect(str_eqc(kit_at(answer, "result.isError"), "true"), STR_FMT, STR_ARG(answer));
        cr_expect_eq(kit_at(answer, "result.structuredContent").n, 0u, "it has an output schema");
        struct str why = kit_at(answer, "result.content.0.text");
        cr_expect(str_eqc(kit_at(why, "code"), "VALIDATION_ERROR"));
        cr_expect(str_eqc(kit_at(why, "retry.kind"), "not_retryable"));
        cr_expect(kit_at(why, "details.validationErrors.0.message").n > 0);
    }
    struct str answer = kit_send(CALL("judge", "{\"x\":1}"));
    cr_expect(str_eqc(kit_at(answer, "result.structuredContent.x"), "1"), "it judges by itself");
    answer = kit_send(CALL("echo", "[]"));
    cr_expect(str_eqc(kit_at(answer, "error.code"), "-32602"), "no object is an error of the call");
}

Test(mcp_server, a_failure_says_whether_to_try_again /* WR-231 WR-232 */) {
    struct str answer = kit_send(CALL("fails", "{}"));
    cr_expect(str_eqc(kit_at(answer, "result.isError"), "true"));
    cr_expect(str_eqc(kit_at(answer, "result.structuredContent.retry.kind"), "retryable_after_ms"));
    cr_expect(str_eqc(kit_at(answer, "result.structuredContent.retry.afterMs"), "1500"));
    cr_expect(str_eqc(kit_at(answer, "result.structuredContent.details.near"), "x"));
}

Test(mcp_server, a_call_may_take_its_time) {
    struct str answer = kit_send(CALL("later", "{}"));
    cr_expect(str_eqc(kit_at(answer, "result.structuredContent.phase"), "2"));
    cr_expect_eq(kit.resumed, 2);
}

Test(mcp_server, what_is_no_answer_or_too_large_a_one_becomes_a_failure) {
    struct str answer = kit_send(CALL("silent", "{}"));
    cr_expect(str_eqc(kit_at(answer, "result.structuredContent.code"), "INTERNAL_ERROR"));
    answer = kit_send(CALL("large", "{}"));
    cr_expect(str_eqc(kit_at(answer, "result.structuredContent.code"), "RESULT_TOO_LARGE"));
    cr_expect_lt(answer.n, 4096u);
}

Test(mcp_server, a_question_goes_to_clients_that_can_ask_and_comes_back_with_the_answer) {
    struct str answer = kit_send(CALL("asks", "{}"));
    cr_expect(str_eqc(kit_at(answer, "result.structuredContent.code"), "PRECONDITION_FAILED"));
    answer = kit_send(MODERN("tools/call", "\"name\":\"asks\","));
    cr_expect(str_eqc(kit_at(answer, "result.resultType"), "input_required"));
    cr_expect(str_eqc(kit_at(answer, "result.requestState"), "state"));
    cr_expect(kit_at(answer, "result.inputRequests.who.method").n > 0);
    cr_expect(kit_at(answer, "result.ttlMs").n == 0);
    answer =
        kit_send(MODERN("tools/call", "\"name\":\"asks\",\"inputResponses\":{\"who\":{\"a\":1}},"));
    cr_expect(str_eqc(kit_at(answer, "result.structuredContent.said.a"), "1"));
    answer = kit_send(MODERN("tools/call", "\"name\":\"asks\",\"inputResponses\":7,"));
    cr_expect(str_eqc(kit_at(answer, "error.code"), "-32602"));
}

#define READ_OF(uri)                                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"" uri "\"}" \
    "}"

static void expect_read(const char *text, const char *id, const char *part) {
    struct str answer = kit_send(text);
    struct str object = kit_at(answer, "result.contents.0.text");
    cr_assert(object.n > 0, "%s: " STR_FMT, text, STR_ARG(answer));
    cr_expect(str_eqc(kit_at(object, "id"), id), "%s: " STR_FMT, text, STR_ARG(object));
    cr_expect(str_eqc(kit_at(object, "part"), part), "%s: " STR_FMT, text, STR_ARG(object));
}

Test(mcp_server, a_resource_is_found_by_its_uri_or_its_template) {
    expect_read(READ_OF("kit://all"), "", "");
    expect_read(READ_OF("kit://things/a"), "a", "");
    expect_read(READ_OF("kit://things/a%20b%2Fc"), "a b/c", "");
    expect_read(READ_OF("kit://things/a/b"), "a", "b");
    static const char *const NONE[] = {
        READ_OF("kit://things/"),    READ_OF("kit://things/a/b/c"), READ_OF("kit://things/%zz"),
        READ_OF("kit://things/%00"), READ_OF("kit://things/%ff"),   READ_OF("kit://things/a%2"),
        READ_OF("kit://all/"),       READ_OF("KIT://all"),          READ_OF("kit://things/none")};
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++)
        cr_expect(str_eqc(kit_at(kit_send(NONE[i]), "error.code"), "-32002"), "%s", NONE[i]);
    struct str answer = kit_send(MODERN("resources/read", "\"uri\":\"kit://nothing\","));
    cr_expect(str_eqc(kit_at(answer, "error.code"), "-32602"));
    cr_expect(str_eqc(kit_at(answer, "error.data.uri"), "kit://nothing"));
    answer = kit_send(READ_OF("kit://things/none"));
    cr_expect(str_eqc(kit_at(answer, "error.data.uri"), "kit://things/none"));
    cr_expect(str_eqc(kit_at(answer, "error.data.code"), "NOT_FOUND"));
    kit.scopes = SCOPE_A;
    cr_expect(kit_at(kit_send(READ_OF("kit://things/a/b")), "error.code").n > 0);
}

#define PROMPT(name, arguments)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{\"name\":\"" name        \
    "\",\"arguments\":" arguments "}}"

Test(mcp_server, a_prompt_is_its_text_with_the_arguments_in_it) {
    struct str answer = kit_send(PROMPT("greet", "{\"name\":\"A{{how}}\",\"how\":\"{{name}}\"}"));
    cr_expect(
        str_eqc(kit_at(answer, "result.messages.0.content.text"), "Greet A{{how}}, {{name}}."),
        "arguments are no templates: " STR_FMT, STR_ARG(answer));
    answer = kit_send(PROMPT("greet", "{\"name\":\"A\"}"));
    cr_expect(str_eqc(kit_at(answer, "result.messages.0.content.text"), "Greet A, ."));
    cr_expect(str_eqc(kit_at(kit_send(PROMPT("greet", "{}")), "error.code"), "-32602"));
    cr_expect(str_eqc(kit_at(kit_send(PROMPT("greet", "{\"name\":1}")), "error.code"), "-32602"));
    cr_expect(str_eqc(kit_at(kit_send(PROMPT("greet", "7")), "error.code"), "-32602"));
    cr_expect(str_eqc(kit_at(kit_send(PROMPT("none", "{}")), "error.code"), "-32602"));
}

#define PAGE(cursor)                                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":" cursor "}}"

Test(mcp_server, a_cursor_is_one_of_ours_or_refused) {
    struct str answer = kit_send(PAGE("\"row-7\""));
    cr_expect(str_eqc(kit_at(answer, "result.tools.0.name"), "asks"));
    static const char *const BAD[] = {PAGE("\"row-\""), PAGE("\"row-99\""), PAGE("\"x\""),
                                      PAGE("7"), PAGE("\"\"")};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect(str_eqc(kit_at(kit_send(BAD[i]), "error.code"), "-32602"), "%s", BAD[i]);
}

Test(mcp_server, a_list_longer_than_a_page_has_a_cursor_and_each_row_is_in_one_page) {
    enum { ROWS = 100, LONG = 8000 };
    static char names[ROWS][8], text[LONG + 1];
    static struct mcp_tool tools[ROWS];
    struct wopr_error err = {0};
    memset(text, 'x', LONG);
    const struct mcp_set set = {.tools = tools, .tools_nr = ROWS};
    for (int i = 0; i < ROWS; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        tools[i] = (struct mcp_tool){.name = names[i],
                                     .title = "T",
                                     .description = text,
                                     .input = "{\"type\":\"object\"}",
                                     .handler = (int (*)(struct mcp_call *))1};
    }
    cr_assert_eq(mcp_server_add(kit.server, &set, &err), 0, "%s", err.message);
    size_t seen = 0, pages = 0;
    for (struct str at = STR(""); pages == 0 || at.n > 0; pages++) {
        char ask[256];
        if (at.n == 0) snprintf(ask, sizeof ask, PLAIN("tools/list"));
        else snprintf(ask, sizeof ask, PAGE("\"" STR_FMT "\""), STR_ARG(at));
        struct str answer = kit_send(ask);
        struct json_elements l;
        cr_assert_lt(answer.n, 400u * 1024);
        cr_assert_eq(json_elements(kit_at(answer, "result.tools"), kit.a, &l, NULL), 0);
        seen += l.n;
        at = kit_at(answer, "result.nextCursor");
    }
    cr_expect_eq(seen, ROWS + 9u);
    cr_expect_gt(pages, 2u);
}

static int nothing(struct mcp_call *call) { return mcp_answer(call, STR("{}")); }

Test(mcp_server, a_row_that_is_wrong_is_named_when_it_is_added) {
    static const struct mcp_tool WRONG[] = {
        {"echo", "T", "D", "{\"type\":\"object\"}", NULL, 0, 0, nothing},
        {"Bad Name", "T", "D", "{\"type\":\"object\"}", NULL, 0, 0, nothing},
        {"no_schema", "T", "D", "{\"type\":\"string\"}", NULL, 0, 0, nothing},
        {"no_json", "T", "D", "{", NULL, 0, 0, nothing},
        {"bad_schema", "T", "D", "{\"type\":\"object\",\"required\":1}", NULL, 0, 0, nothing},
        {"no_handler", "T", "D", "{\"type\":\"object\"}", NULL, 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        struct wopr_error err = {0};
        const struct mcp_set set = {.tools = &WRONG[i], .tools_nr = 1};
        cr_expect_neq(mcp_server_add(kit.server, &set, &err), 0, "%s", WRONG[i].name);
    }
}

Test(mcp_server, progress_names_the_client_s_token) {
    struct buf b;
    (void)kit_send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"prose\",\"_meta\":{\"progressToken\":\"p\\\"1\"}}}");
    buf_init(&b, 1024);
    mcp_write_progress(&kit.x, 3, STR("half"), &b);
    cr_expect(str_eqc(kit_at(buf_str(&b), "params.progressToken"), "p\"1"));
    cr_expect(str_eqc(kit_at(buf_str(&b), "params.progress"), "3"));
    buf_fini(&b);
    (void)kit_send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{\"_meta\":{"
                   "\"progressToken\":{}}}}");
    cr_expect_eq(kit.x.progress_token.n, 0u, "a token is a string or an integer");
}

Test(mcp_server, a_message_that_memory_is_short_for_gets_an_answer_or_none_but_no_other) {
    static const char *const TEXTS[] = {CALL("echo", "{\"n\":5}"), MODERN("tools/list", ""),
                                        READ_OF("kit://things/a%20b"),
                                        PROMPT("greet", "{\"name\":\"A\"}")};
    static const struct mcp_carrier CARRIER = {NULL};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        for (size_t room = 64; room < 40000; room += 512) {
            struct arena *a = arena_new(room);
            const struct mcp_headers h = {.version = i == 1 ? STR("2026-07-28") : STR_NONE,
                                          .method = i == 1 ? STR("tools/list") : STR_NONE};
            const struct mcp_origin from = {
                .who = {.scopes = SCOPE_A}, .arena = a, .carrier = &CARRIER};
            struct mcp_exchange x = {.server = NULL};
            cr_assert_not_null(a);
            buf_reset(&kit.out);
            if (mcp_begin(kit.server, &x, str_c(TEXTS[i]), &h, &from) == MCP_CALL)
                cr_assert_eq(mcp_run(&x), MCP_DONE);
            mcp_write(&x, &kit.out);
            cr_assert_eq(json_check(buf_str(&kit.out), &JSON_LIMITS_STORED, NULL), 0);
            arena_free(a);
        }
    }
}
