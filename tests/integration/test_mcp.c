/*
 * test_mcp.c: runs over MCP at a real host: both eras, scopes, waits, hostile messages (WR-211,
 * WR-212, WR-231).  What official clients make of it: tests/mcp/run.py.
 */
#include "interrupt_kit.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static struct server sv;
static const char *const ARGS[] = {
    "--keepalive-ms",     "100",         "--audit-log", "all", "--cors-origins",
    "http://app.example", "--log-level", "info",        NULL};
static void up(void) { server_start(&sv, ARGS); }
static void down(void) { server_end(&sv); }
TestSuite(mcp, .init = up, .fini = down, .timeout = 300);

#define LINES(...)                                                                                 \
    (const char *const[]) { __VA_ARGS__, NULL }
#define ACCEPTS "Accept: application/json, text/event-stream"
#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}"

static struct reply post(const char *body, const char *const *headers) {
    return ask(&sv, "POST", "/v1/mcp", body, headers);
}

/* A call of the older era; more: further members of params. */
static const char *call_text(const char *tool, const char *arguments, const char *more) {
    return fmt(
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\","
        "\"arguments\":%s%s}}",
        tool, arguments, more);
}

/* The structured content of a call that does not fail. */
static struct str called(const char *tool, const char *arguments) {
    struct reply r = post(call_text(tool, arguments, ""), NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_assert(str_eqc(at(r.body, "result.isError"), "false"), STR_FMT, STR_ARG(r.body));
    return at(r.body, "result.structuredContent");
}

/* What a call failed with, which is a text of JSON. */
static struct str failure_of(const struct reply *r) {
    cr_expect_null(at(r->body, "result.structuredContent").p, STR_FMT, STR_ARG(r->body));
    struct str why = text_at(r->body, "result.content.0.text");
    cr_assert_eq(json_check(why, &JSON_LIMITS_STORED, NULL), 0, STR_FMT, STR_ARG(r->body));
    return why;
}

static struct str failed(const char *tool, const char *arguments, const char *code) {
    struct reply r = post(call_text(tool, arguments, ""), NULL);
    cr_assert_eq(r.status, 200);
    cr_expect(str_eqc(at(r.body, "result.isError"), "true"), STR_FMT, STR_ARG(r.body));
    struct str why = failure_of(&r);
    cr_expect(str_eqc(text_at(why, "code"), code), STR_FMT, STR_ARG(r.body));
    return why;
}

static const char *id_of(struct str object) {
    return arena_cstr(test_arena(), text_at(object, "runId"));
}

/* Every message of an event stream, as an array. */
static struct json_elements messages(struct str body) {
    struct buf b;
    buf_init(&b, 1 << 20);
    struct str rest = body, line;
    while (str_cut(rest, '\n', &line, &rest)) {
        if (!str_starts(line, STR("data: "))) continue;
        buf_addc(&b, b.len == 0 ? '[' : ',');
        buf_adds(&b, str_n(line.p + 6, line.n - 6));
    }
    buf_addz(&b, b.len == 0 ? "[]" : "]");
    struct str all = arena_str(test_arena(), buf_str(&b));
    buf_fini(&b);
    cr_assert_eq(json_check(all, &JSON_LIMITS_STORED, NULL), 0, STR_FMT, STR_ARG(all));
    return elements_of(all);
}

/* --- runs --- */

Test(mcp, an_agent_starts_a_run_is_told_what_it_waits_for_and_answers) {
    struct str started = called("run_start", "{\"workflowId\":\"conformance-approval\"}");
    const char *run = id_of(started);
    struct str seen = called("run_wait", fmt("{\"runId\":\"%s\"}", run));
    cr_expect(str_eqc(text_at(seen, "reason"), "attention"));
    struct str open = called("run_list_interrupts", fmt("{\"runId\":\"%s\"}", run));
    cr_expect(str_eqc(text_at(open, "interrupts.0.nodeId"), "gate"));
    struct str state = called("run_status", fmt("{\"runId\":\"%s\"}", run));
    cr_expect(str_eqc(text_at(state, "interrupt.kind"), "approval"));
    cr_expect_null(at(state, "interrupt.interruptToken").p, "no token for a model's context");
    failed("run_resolve_interrupt",
           fmt("{\"runId\":\"%s\",\"nodeId\":\"gate\",\"value\":{\"action\":\"dance\"}}", run),
           "VALIDATION_ERROR");
    called("run_resolve_interrupt",
           fmt("{\"runId\":\"%s\",\"nodeId\":\"gate\",\"value\":{\"action\":\"accept\"}}", run));
    seen = called("run_wait", fmt("{\"runId\":\"%s\",\"until\":\"ended\"}", run));
    cr_expect(str_eqc(text_at(seen, "reason"), "ended"));
    cr_expect(str_eqc(text_at(seen, "status"), "completed"));
    failed("run_resolve_interrupt",
           fmt("{\"runId\":\"%s\",\"nodeId\":\"gate\",\"value\":{\"action\":\"accept\"}}", run),
           "INTERRUPT_ALREADY_RESOLVED");
}

Test(mcp, a_key_of_idempotency_is_the_one_of_the_api) {
    const char *arguments =
        "{\"workflowId\":\"conformance-noop\",\"inputs\":{},\"idempotencyKey\":\"k-1\"}";
    struct str first = called("run_start", arguments), second = called("run_start", arguments);
    cr_expect(str_eq(text_at(first, "runId"), text_at(second, "runId")));
    const char *const line[] = {"Idempotency-Key: k-1", NULL};
    struct reply r =
        ask(&sv, "POST", "/v1/runs", "{\"inputs\":{},\"workflowId\":\"conformance-noop\"}", line);
    cr_expect(str_eq(text_at(r.body, "runId"), text_at(first, "runId")));
    failed("run_start", "{\"workflowId\":\"conformance-delay\",\"idempotencyKey\":\"k-1\"}",
           "IDEMPOTENCY_KEY_CONFLICT");
    failed("run_start", "{\"workflowId\":\"conformance-noop\",\"idempotencyKey\":\"a b\"}",
           "VALIDATION_ERROR");
}

/* --- batches (2025-03-26) --- */

#define MESSAGE(id, method, params)                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define CALL(id, tool, arguments)                                                                  \
    MESSAGE(id, "tools/call", "\"name\":\"" tool "\",\"arguments\":{" arguments "}")
#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

/* Its answers, each found by the id of its message. */
static struct json_elements batch(const char *body) {
    struct reply r = post(body, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_assert_eq(json_type_of(r.body), JSON_ARRAY, STR_FMT, STR_ARG(r.body));
    return elements_of(r.body);
}

Test(mcp, a_batch_is_answered_message_for_message_in_its_order) {
    const char *run = create_run(&sv, "conformance-approval", NULL);
    struct json_elements l =
        batch(fmt("[" MESSAGE("1", "ping", "") "," NOTE "," CALL(
                      "2", "run_start", "\"workflowId\":\"conformance-noop\"") ",7,"   //
                  CALL("\"x\"", "run_status", "\"runId\":\"%s\"") ","                  //
                  MESSAGE("4", "initialize", "\"protocolVersion\":\"2025-03-26\"") "," //
                  CALL("5", "run_start", "\"workflowId\":\"none\"") ","                //
                  MESSAGE("6", "tools/list", "") ","                                   //
                  CALL("7", "run_wait", "\"runId\":\"%s\",\"until\":\"ended\"") "]",
                  run, run));
    cr_assert_eq(l.n, 8);
    cr_expect(str_eqc(at(l.v[0], "result"), "{}"), STR_FMT, STR_ARG(l.v[0]));
    cr_expect_eq(int_at(l.v[1], "id"), 2);
    const char *made = id_of(at(l.v[1], "result.structuredContent"));
    cr_expect_eq(int_at(l.v[2], "error.code"), -32600, "what is no message");
    cr_expect(str_eqc(at(l.v[3], "id"), "\"x\""));
    cr_expect(str_eqc(text_at(l.v[3], "result.structuredContent.runId"), run));
    cr_expect_eq(int_at(l.v[4], "error.code"), -32600, "initialize is sent alone");
    cr_expect(str_eqc(at(l.v[5], "result.isError"), "true"), STR_FMT, STR_ARG(l.v[5]));
    cr_expect_gt(at(l.v[6], "result.tools.0.name").n, 0);
    cr_expect(str_eqc(text_at(l.v[7], "result.structuredContent.status"), "waiting-approval"),
              STR_FMT, STR_ARG(l.v[7]));
    wait_terminal(&sv, made);
}

Test(mcp, a_batch_that_asks_nothing_is_taken_and_one_of_other_versions_is_not) {
    cr_expect_eq(post("[" NOTE "," NOTE "]", NULL).status, 202);
    static const char *const VERSIONS[] = {"2025-06-18", "2025-11-25", "2026-07-28"};
    for (size_t i = 0; i < sizeof VERSIONS / sizeof *VERSIONS; i++) {
        struct reply r = post("[" MESSAGE("1", "ping", "") "]",
                              LINES(fmt("MCP-Protocol-Version: %s", VERSIONS[i])));
        cr_expect_eq(r.status, 400);
        cr_expect_eq(int_at(r.body, "error.code"), -32600);
    }
    struct reply r =
        post("[" MESSAGE("1", "ping", "") "]", LINES("MCP-Protocol-Version: 2025-03-26"));
    cr_expect_eq(r.status, 200);
    cr_expect_eq(post("[]", NULL).status, 400);
    cr_expect_eq(post("[" MESSAGE("1", "ping", ""), NULL).status, 400);
}

/* Each message is a call of its own: keys of idempotency, scopes and refusals are not shared. */
Test(mcp, a_batch_lends_nothing_from_one_message_to_the_next) {
    const char *const reader[] = {key_with(&sv, "runs:read,runs:create", "default"), NULL};
    const char *run = create_run(&sv, "conformance-approval", NULL);
    struct reply r =
        post(fmt("[" CALL("1", "run_start",
                          "\"workflowId\":\"conformance-noop\",\"idempotencyKey\":\"b-1\"") "," //
                 CALL("2", "run_start", "\"workflowId\":\"conformance-noop\"") ","              //
                 CALL("3", "run_status", "\"runId\":\"%s\"") ","                                //
                 CALL("4", "run_start",
                      "\"workflowId\":\"conformance-noop\",\"idempotencyKey\":\"b-1\"") "," //
                 CALL("5", "run_cancel", "\"runId\":\"%s\"") "]",
                 run, run),
             reader);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    struct json_elements l = elements_of(r.body);
    cr_assert_eq(l.n, 5);
    const char *first = id_of(at(l.v[0], "result.structuredContent"));
    cr_expect_not(str_eqc(text_at(l.v[1], "result.structuredContent.runId"), first));
    cr_expect(str_eqc(text_at(l.v[3], "result.structuredContent.runId"), first), STR_FMT,
              STR_ARG(l.v[3]));
    cr_expect_eq(int_at(l.v[4], "error.code"), -32602, "no scope for it");
    struct str state = called("run_status", fmt("{\"runId\":\"%s\"}", run));
    cr_expect(str_eqc(text_at(state, "status"), "waiting-approval"));
}

Test(mcp, a_batch_ends_before_its_answers_are_too_large) {
    struct buf b;
    size_t done = 0, left = 0;
    buf_init(&b, 1 << 20);
    buf_addz(&b, "{\"workflowId\":\"conformance-identity\",\"inputs\":{\"payload\":{\"x\":\"");
    for (int i = 0; i < 100 * 1024; i++) buf_addc(&b, 'x');
    buf_addz(&b, "\"}}}");
    struct reply made = ask(&sv, "POST", "/v1/runs", arena_cstr(test_arena(), buf_str(&b)), NULL);
    buf_reset(&b);
    cr_assert_eq(made.status, 201);
    const char *run = id_of(made.body);
    wait_terminal(&sv, run);
    for (int i = 0; i < 32; i++)
        buf_addf(&b, "%s" CALL("%d", "run_status", "\"runId\":\"%s\""), i > 0 ? "," : "[", i, run);
    buf_addz(&b, "]");
    struct json_elements l = batch(arena_cstr(test_arena(), buf_str(&b)));
    cr_assert_eq(l.n, 32);
    for (size_t i = 0; i < l.n; i++) {
        cr_expect_eq(int_at(l.v[i], "id"), (int64_t)i);
        if (at(l.v[i], "result").n > 0) done++;
        else left++;
    }
    cr_expect_gt(done, 2);
    cr_expect_gt(left, 2, "%zu done, %zu left", done, left);
    buf_fini(&b);
}

static size_t runs_nr(void) {
    return elements_of(at(ask(&sv, "GET", "/v1/runs", NULL, NULL).body, "runs")).n;
}

Test(mcp, a_key_uses_and_sees_what_its_scopes_allow) {
    const char *const reader[] = {key_with(&sv, "runs:read", "default"), NULL};
    struct reply r = post("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}", reader);
    cr_expect_not_null(strstr(r.body.p, "\"run_status\""));
    cr_expect_null(strstr(r.body.p, "\"run_start\""));
    cr_expect_null(strstr(r.body.p, "\"run_resolve_interrupt\""));
    size_t before = runs_nr();
    r = post(call_text("run_start", "{\"workflowId\":\"conformance-noop\"}", ""), reader);
    cr_expect_eq(int_at(r.body, "error.code"), -32602);
    cr_expect_eq(runs_nr(), before);
}

Test(mcp, another_tenant_s_run_does_not_exist) {
    const char *const other[] = {key_with(&sv, "all", "beta"), NULL};
    const char *run = create_run(&sv, "conformance-approval", NULL);
    static const char *const TOOLS[] = {"run_status", "run_wait", "run_events", "run_cancel"};
    for (size_t i = 0; i < sizeof TOOLS / sizeof *TOOLS; i++) {
        struct reply r = post(call_text(TOOLS[i], fmt("{\"runId\":\"%s\"}", run), ""), other);
        cr_expect(str_eqc(text_at(failure_of(&r), "code"), "NOT_FOUND"), "%s: " STR_FMT, TOOLS[i],
                  STR_ARG(r.body));
    }
}

Test(mcp, what_is_done_over_mcp_is_logged_as_what_it_is) {
    struct str out = STR_NONE;
    called("run_start", "{\"workflowId\":\"conformance-noop\"}");
    failed("run_cancel", "{\"runId\":\"none\"}", "NOT_FOUND");
    failed("run_events", "{\"runId\":\"none\"}", "NOT_FOUND"); /* is no other operation */
    struct str log = server_log(&sv);
    cr_expect_not_null(strstr(log.p, "\"operation\":\"createRun\""));
    cr_expect_not_null(strstr(log.p, "\"operation\":\"cancelRun\",\"method\":\"POST\",\"path\":"
                                     "\"/v1/runs/none/cancel\",\"status\":\"404\""));
    cr_assert_eq(program(&sv, (const char *const[]){"audit", NULL}, &out, NULL), 0);
    cr_expect_not_null(strstr(out.p, "/v1/runs/none/cancel"), STR_FMT, STR_ARG(out));
    cr_expect_not_null(strstr(out.p, "{\"tool\":\"run_cancel\"}"), STR_FMT, STR_ARG(out));
    cr_expect_not_null(strstr(out.p, "{\"tool\":\"run_events\"}"), STR_FMT, STR_ARG(out));
}

/* --- events, sizes --- */

Test(mcp, pages_of_events_cover_the_log_once_and_are_bounded) {
    const char *run = create_run(&sv, "conformance-multi-node", NULL);
    wait_terminal(&sv, run);
    size_t all = elements_of(events_of(&sv, run)).n, seen = 0;
    int64_t last = -1;
    for (bool more = true; more;) {
        struct str page = called("run_events", fmt("{\"runId\":\"%s\",\"limit\":2,"
                                                   "\"afterSequence\":%lld}",
                                                   run, (long long)last));
        struct json_elements l = elements_of(at(page, "events"));
        cr_assert(l.n <= 2);
        for (size_t i = 0; i < l.n; i++) cr_expect_eq(int_at(l.v[i], "sequence"), ++last);
        seen += l.n;
        cr_expect_eq(int_at(page, "lastSequence"), last);
        more = str_eqc(at(page, "isComplete"), "false");
    }
    cr_expect_eq(seen, all);
    struct str none = called(
        "run_events", fmt("{\"runId\":\"%s\",\"afterSequence\":%lld}", run, (long long)last));
    cr_expect(str_eqc(at(none, "events"), "[]"), STR_FMT, STR_ARG(none));
}

Test(mcp, a_result_that_is_too_large_says_what_to_ask_for) {
    enum { BYTES = 400 * 1024 };
    char *body = arena_alloc(test_arena(), BYTES + 256);
    int n = snprintf(body, 256,
                     "{\"workflowId\":\"conformance-identity\",\"inputs\":{\"payload\":{"
                     "\"x\":\"");
    memset(body + n, 'x', BYTES);
    memcpy(body + n + BYTES, "\"}}}", 5);
    struct reply r = ask(&sv, "POST", "/v1/runs", body, NULL);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *run = id_of(r.body);
    wait_terminal(&sv, run);
    failed("run_status", fmt("{\"runId\":\"%s\"}", run), "RESULT_TOO_LARGE");
    struct str page = called("run_events", fmt("{\"runId\":\"%s\",\"limit\":200}", run));
    cr_expect_eq(elements_of(at(page, "events")).n, 1u, "the first event is large, and a page");
}

/* --- waits --- */

static struct reply wait_stream(const char *run, const char *until, int seconds) {
    static const char *const line[] = {ACCEPTS, NULL};
    return post(call_text("run_wait",
                          fmt("{\"runId\":\"%s\",\"until\":\"%s\",\"timeoutSeconds\":%d}", run,
                              until, seconds),
                          ",\"_meta\":{\"progressToken\":\"t\"}"),
                line);
}

Test(mcp, a_wait_is_a_stream_of_progress_that_ends_with_the_answer) {
    const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":700}");
    struct reply r = wait_stream(run, "ended", 30);
    cr_assert_eq(r.status, 200);
    cr_expect(str_starts(header(&r, "Content-Type"), STR("text/event-stream")));
    cr_expect(str_eqc(header(&r, "X-Accel-Buffering"), "no"));
    cr_expect_not_null(strstr(r.body.p, "\n:keepalive\n"));
    struct json_elements m = messages(r.body);
    int64_t before = 0;
    cr_assert_geq(m.n, 2u);
    for (size_t i = 0; i + 1 < m.n; i++) {
        cr_expect(str_eqc(text_at(m.v[i], "method"), "notifications/progress"));
        cr_expect(str_eqc(text_at(m.v[i], "params.progressToken"), "t"));
        cr_expect_gt(int_at(m.v[i], "params.progress"), before);
        before = int_at(m.v[i], "params.progress");
    }
    struct str last = m.v[m.n - 1];
    cr_expect_eq(int_at(last, "id"), 1);
    cr_expect(str_eqc(text_at(last, "result.structuredContent.reason"), "ended"));
    cr_expect(str_eqc(text_at(last, "result.structuredContent.status"), "completed"));
}

Test(mcp, a_wait_ends_when_time_is_over_in_both_forms) {
    const char *run = approval(&sv);
    struct json_elements m = messages(wait_stream(run, "ended", 1).body);
    cr_assert_eq(m.n, 1u);
    cr_expect(str_eqc(text_at(m.v[0], "result.structuredContent.reason"), "timeout"));
    static const char *const json[] = {"Accept: application/json", NULL};
    struct reply r = post(call_text("run_wait",
                                    fmt("{\"runId\":\"%s\",\"until\":\"ended\","
                                        "\"timeoutSeconds\":1}",
                                        run),
                                    ""),
                          json);
    cr_expect(str_eqc(text_at(r.body, "result.structuredContent.reason"), "timeout"));
    cr_expect(str_eqc(text_at(r.body, "result.structuredContent.status"), "waiting-approval"));
}

Test(mcp, a_wait_for_attention_ends_when_a_question_is_asked) {
    for (int form = 0; form < 2; form++) {
        const char *const lines[] = {form == 0 ? ACCEPTS : "Accept: application/json", NULL};
        struct str started = called("run_start", "{\"workflowId\":\"conformance-clarification\"}");
        struct reply r =
            post(call_text("run_wait",
                           fmt("{\"runId\":\"%s\",\"timeoutSeconds\":30}", id_of(started)), ""),
                 lines);
        struct str answer = r.body;
        if (r.body.n > 0 && r.body.p[0] != '{') {
            struct json_elements m = messages(r.body);
            answer = m.v[m.n - 1];
        }
        cr_expect(str_eqc(text_at(answer, "result.structuredContent.reason"), "attention"), STR_FMT,
                  STR_ARG(r.body));
    }
}

static int64_t readers(void) {
    struct server ops = sv;
    ops.port = sv.ops_port;
    snprintf(ops.base, sizeof ops.base, "http://127.0.0.1:%d", sv.ops_port);
    struct reply r = ask(&ops, "GET", "/metrics", NULL, NO_BEARER);
    const char *p = r.body.p ? strstr(r.body.p, "\nwopr_stream_readers ") : NULL;
    return p ? strtoll(p + strlen("\nwopr_stream_readers "), NULL, 10) : -1;
}

static const char *raw_wait(const char *run, const char *accept) {
    const char *body = call_text(
        "run_wait", fmt("{\"runId\":\"%s\",\"until\":\"ended\",\"timeoutSeconds\":300}", run), "");
    return fmt("POST /v1/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
               "Accept: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n%s",
               accept, sv.key, strlen(body), body);
}

Test(mcp, a_client_that_leaves_gives_its_wait_up_and_nothing_else) {
    const char *run = approval(&sv);
    for (int i = 0; i < 4; i++) {
        const char *text =
            raw_wait(run, i % 2 == 0 ? "application/json, text/event-stream" : "application/json");
        (void)ask_raw(&sv, text, strlen(text), 200);
    }
    for (int64_t end = now_ms() + WAIT_MS; readers() != 0 && now_ms() < end;) nap_ms(20);
    cr_expect_eq(readers(), 0);
    cr_expect(str_eqc(text_at(snapshot_of(&sv, run), "status"), "waiting-approval"));
}

Test(mcp, a_host_that_stops_answers_who_waits) {
    const char *run = approval(&sv), *text = raw_wait(run, "application/json, text/event-stream");
    static char answer[65536];
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        long status = exchange(&sv, text, strlen(text), answer, sizeof answer);
        _exit(status == 200 && strstr(answer, "\"reason\\\":\\\"timeout") != NULL ? 0 : 1);
    }
    for (int64_t end = now_ms() + WAIT_MS; readers() < 1 && now_ms() < end;) nap_ms(20);
    cr_expect_eq(server_stop(&sv), 0);
    int status = -1;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    server_again(&sv);
}

/* --- the newer era --- */

static struct reply modern(const char *method, const char *name, const char *params) {
    const char *const lines[] = {"MCP-Protocol-Version: 2026-07-28", fmt("Mcp-Method: %s", method),
                                 name ? fmt("Mcp-Name: %s", name) : NULL, NULL};
    return post(fmt("{\"jsonrpc\":\"2.0\",\"id\":\"m\",\"method\":\"%s\",\"params\":{%s" META "}}",
                    method, params),
                lines);
}

Test(mcp, a_question_is_put_to_the_client_s_user_and_the_answer_resolves_it) {
    const char *run = approval(&sv);
    const char *who = fmt(
        "\"name\":\"run_resolve_interrupt\",\"arguments\":{\"runId\":\"%s\",\"nodeId\":\"gate\"},",
        run);
    struct reply r = modern("tools/call", "run_resolve_interrupt", who);
    cr_assert(str_eqc(text_at(r.body, "result.resultType"), "input_required"), STR_FMT,
              STR_ARG(r.body));
    struct str form = at(r.body, "result.inputRequests.answer.params");
    cr_expect(str_eqc(text_at(form, "mode"), "form"));
    cr_expect(str_eqc(text_at(form, "requestedSchema.properties.action.enum.0"), "accept"));
    r = modern(
        "tools/call", "run_resolve_interrupt",
        fmt("%s\"inputResponses\":{\"answer\":{\"action\":\"accept\",\"content\":{\"action\":"
            "\"accept\"}}},",
            who));
    cr_expect(str_eqc(text_at(r.body, "result.resultType"), "input_required"),
              "whoever does not say which question it was is asked again");
    who = fmt("%s\"requestState\":\"" STR_FMT "\",", who,
              STR_ARG(text_at(r.body, "result.requestState")));
    r = modern("tools/call", "run_resolve_interrupt",
               fmt("%s\"inputResponses\":{\"answer\":{\"action\":\"decline\"}},", who));
    cr_expect(str_eqc(text_at(failure_of(&r), "code"), "PRECONDITION_FAILED"));
    r = modern(
        "tools/call", "run_resolve_interrupt",
        fmt("%s\"inputResponses\":{\"answer\":{\"action\":\"accept\",\"content\":{\"action\":"
            "\"steal\"}}},",
            who));
    cr_expect(str_eqc(text_at(failure_of(&r), "code"), "VALIDATION_ERROR"));
    r = modern(
        "tools/call", "run_resolve_interrupt",
        fmt("%s\"inputResponses\":{\"answer\":{\"action\":\"accept\",\"content\":{\"action\":"
            "\"accept\",\"comment\":\"\"}}},",
            who));
    cr_expect(str_eqc(at(r.body, "result.isError"), "false"), STR_FMT, STR_ARG(r.body));
    wait_status(&sv, run, "completed");
}

/* INT-14: between the form and its answer somebody else has answered, and the node asks again. */
Test(mcp, the_answer_to_a_form_is_for_no_other_question) {
    put_gate_again(&sv, "asks-again");
    const char *run = waiting(&sv, "asks-again", "waiting-approval", NULL);
    const char *who = fmt(
        "\"name\":\"run_resolve_interrupt\",\"arguments\":{\"runId\":\"%s\",\"nodeId\":\"gate\"},",
        run);
    struct str first = question_after(&sv, run, STR_NONE);
    struct reply r = modern("tools/call", "run_resolve_interrupt", who);
    cr_expect(str_eq(text_at(r.body, "result.requestState"), first), STR_FMT, STR_ARG(r.body));
    cr_assert_eq(resolve(&sv, run, "gate", ACCEPT).status, 200);
    struct str second = question_after(&sv, run, first);
    r = modern("tools/call", "run_resolve_interrupt",
               fmt("%s\"requestState\":\"" STR_FMT "\",\"inputResponses\":{\"answer\":{\"action\":"
                   "\"accept\",\"content\":{\"action\":\"accept\"}}},",
                   who, STR_ARG(first)));
    cr_expect_not_null(strstr(r.body.p, "resolved"), STR_FMT, STR_ARG(r.body));
    const char *named = fmt("\"name\":\"run_resolve_interrupt\",\"arguments\":{\"runId\":\"%s\","
                            "\"nodeId\":\"gate\",\"interruptId\":\"" STR_FMT
                            "\",\"value\":{\"action\":\"accept\"}},",
                            run, STR_ARG(first));
    r = modern("tools/call", "run_resolve_interrupt", named);
    cr_expect(str_eqc(at(r.body, "result.isError"), "true"), STR_FMT, STR_ARG(r.body));
    cr_expect(str_eq(question_after(&sv, run, first), second), "the second is still open");
}

Test(mcp, a_clarification_is_a_form_of_its_questions) {
    struct str snap;
    const char *run = waiting(&sv, "conformance-clarification", "waiting-input", &snap);
    struct str node = text_at(snap, "interrupt.nodeId");
    struct str question = text_at(snap, "interrupt.data.questions.0.id");
    const char *who = fmt("\"name\":\"run_resolve_interrupt\",\"arguments\":{\"runId\":\"%s\","
                          "\"nodeId\":\"" STR_FMT "\"},",
                          run, STR_ARG(node));
    struct reply r = modern("tools/call", "run_resolve_interrupt", who);
    struct str fields = at(r.body, "result.inputRequests.answer.params.requestedSchema.properties");
    cr_assert(json_get(fields, arena_cstr(test_arena(), question)).n > 0, STR_FMT, STR_ARG(r.body));
    r = modern(
        "tools/call", "run_resolve_interrupt",
        fmt("%s\"requestState\":\"" STR_FMT
            "\",\"inputResponses\":{\"answer\":{\"action\":\"accept\",\"content\":{\"" STR_FMT
            "\":\"blue\"}}},",
            who, STR_ARG(text_at(r.body, "result.requestState")), STR_ARG(question)));
    cr_expect(str_eqc(at(r.body, "result.isError"), "false"), STR_FMT, STR_ARG(r.body));
    wait_status(&sv, run, "completed");
}

Test(mcp, the_newer_era_answers_by_status_and_body) {
    struct reply r = modern("server/discover", NULL, "");
    cr_expect_eq(r.status, 200);
    cr_expect(str_eqc(text_at(r.body, "result.supportedVersions.0"), "2026-07-28"));
    cr_expect_eq(modern("ping", NULL, "").status, 404);
    r = modern("tools/call", "run_list", "\"name\":\"run_status\",\"arguments\":{},");
    cr_expect_eq(r.status, 400);
    cr_expect_eq(int_at(r.body, "error.code"), -32020);
    r = modern("resources/read", "wopr://runs", "\"uri\":\"wopr://runs\",");
    cr_expect(str_starts(text_at(r.body, "result.contents.0.text"), STR("{\"runs\":")));
}

/* --- hostile --- */

Test(mcp, who_is_not_let_in_learns_where_to_get_a_token) {
    struct reply r = ask(&sv, "POST", "/v1/mcp", "{}", NO_BEARER);
    cr_expect_eq(r.status, 401);
    cr_expect_not_null(
        strstr(header(&r, "WWW-Authenticate").p, "/.well-known/oauth-protected-resource/v1/mcp\""));
    r = ask(&sv, "GET", "/.well-known/oauth-protected-resource/v1/mcp", NULL, NO_BEARER);
    cr_expect(str_ends(text_at(r.body, "resource"), STR("/v1/mcp")));
    cr_expect_eq(ask(&sv, "GET", "/v1/mcp", NULL, NULL).status, 405);
    cr_expect_eq(ask(&sv, "DELETE", "/v1/mcp", NULL, NULL).status, 405);
    r = ask(&sv, "POST", "/v1/runs", "{}", NO_BEARER);
    cr_expect_null(strstr(header(&r, "WWW-Authenticate").p, "resource_metadata"));
}

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"

Test(mcp, a_page_or_a_name_that_nobody_vouches_for_is_refused_before_its_credential) {
    static const struct {
        const char *line;
        long status;
    } CASES[] = {{"Origin: http://evil.example", 403},
                 {"Origin: null", 403},
                 {"Origin: http://127.0.0.1.evil.example", 403},
                 {"Origin: http://localhost:6274", 200},
                 {"Origin: http://app.example", 200},
                 {"Host: evil.example", 403},
                 {"Host: localhost:1", 200},
                 {"Host: [::1]:80", 200}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *const lines[] = {CASES[i].line, NULL};
        const char *const bare[] = {CASES[i].line, "Authorization:", NULL};
        cr_expect_eq(post(PING, lines).status, CASES[i].status, "%s", CASES[i].line);
        cr_expect_eq(post(PING, bare).status, CASES[i].status == 200 ? 401 : 403, "%s",
                     CASES[i].line);
    }
    cr_expect_eq(ask(&sv, "GET", "/v1/runs", NULL, LINES("Host: evil.example")).status, 200,
                 "other routes are as they were");
}

Test(mcp, a_body_that_is_no_message_is_answered_once_and_changes_nothing) {
    static char many[200000], deep[60000];
    size_t runs = runs_nr();
    size_t n = (size_t)snprintf(many, sizeof many, "[");
    while (n < sizeof many - 200)
        n +=
            (size_t)snprintf(many + n, sizeof many - n,
                             "%s{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
                             "{\"name\":\"run_start\"}}",
                             n > 1 ? "," : "");
    snprintf(many + n, sizeof many - n, "]");
    memset(deep, '[', sizeof deep - 1);
    struct reply r = post(many, NULL);
    cr_expect_eq(r.status, 400);
    cr_expect_eq(int_at(r.body, "error.code"), -32600);
    r = post(deep, NULL);
    cr_expect_eq(r.status, 400);
    cr_expect_eq(int_at(r.body, "error.code"), -32700);
    cr_expect_eq(post("", NULL).status, 400);
    cr_expect_eq(
        post("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"method\":\"ping\"}", NULL).status,
        400);
    cr_expect_eq(post(PING, LINES("Content-Type: text/plain")).status, 415);
    cr_expect_eq(runs_nr(), runs);
}

Test(mcp, a_wait_in_a_large_message_is_refused_and_others_of_that_size_are_served) {
    enum { BYTES = 100 * 1024 };
    static char pad[BYTES + 1];
    memset(pad, ' ', BYTES);
    const char *run = approval(&sv);
    struct buf b;
    buf_init(&b, 2 * BYTES);
    for (int i = 0; i < 2; i++) {
        buf_reset(&b);
        buf_addz(&b,
                 call_text(i == 0 ? "run_wait" : "run_status",
                           fmt("{\"runId\":\"%s\"%s}", run, i == 0 ? ",\"until\":\"ended\"" : ""),
                           ""));
        buf_addz(&b, pad);
        struct reply r = post(b.p, NULL);
        cr_expect_eq(r.status, 200);
        cr_expect(str_eqc(at(r.body, "result.isError"), i == 0 ? "true" : "false"), STR_FMT,
                  STR_ARG(r.body));
    }
    buf_fini(&b);
}

Test(mcp, a_key_that_is_revoked_while_it_waits_gets_no_answer) {
    struct str out = STR_NONE;
    const char *run = approval(&sv), *line = key_with(&sv, "runs:read", "default");
    const char *key = line + strlen("Authorization: Bearer ");
    const char *id = fmt("%.26s", key + strlen("hk_test_"));
    const char *body = call_text(
        "run_wait", fmt("{\"runId\":\"%s\",\"until\":\"ended\",\"timeoutSeconds\":300}", run), "");
    const char *text =
        fmt("POST /v1/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nAccept: "
            "text/event-stream\r\n%s\r\nContent-Length: %zu\r\n\r\n%s",
            line, strlen(body), body);
    static char answer[65536];
    pid_t pid = fork();
    cr_assert_geq(pid, 0);
    if (pid == 0) {
        long status = exchange(&sv, text, strlen(text), answer, sizeof answer);
        _exit(status == 200 && strstr(answer, "jsonrpc") == NULL ? 0 : 1);
    }
    for (int64_t end = now_ms() + WAIT_MS; readers() < 1 && now_ms() < end;) nap_ms(20);
    cr_assert_eq(program(&sv, (const char *const[]){"keys", "revoke", id, NULL}, &out, NULL), 0,
                 STR_FMT, STR_ARG(out));
    int status = -1;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

Test(mcp, switched_off_it_is_neither_served_nor_advertised) {
    static struct server off;
    cr_expect_not_null(
        strstr(ask(&sv, "GET", "/.well-known/openwop", NULL, NULL).body.p, "\"mcpServer\""));
    static const char *const OFF[] = {"--mcp=off", "--session-workflows",
                                      WOPR_SOURCE_DIR "/docs/examples/workrail", NULL};
    server_start(&off, OFF);
    struct reply r = ask(&off, "POST", "/v1/mcp", PING, NULL);
    expect_error(&r, 501, "not_implemented");
    r = ask(&off, "GET", "/.well-known/oauth-protected-resource", NULL, NULL);
    expect_error(&r, 501, "not_implemented");
    r = ask(&off, "GET", "/.well-known/openwop", NULL, NULL);
    cr_expect_null(strstr(r.body.p, "\"mcpServer\""));
    cr_expect_null(strstr(r.body.p, "\"tools\":\"/v1/mcp\""), "no session can begin");
    cr_expect_not_null(strstr(r.body.p, "\"/v1/x-workrail/sessions\""),
                       "those there are, are seen");
    server_end(&off);
}

Test(mcp, the_document_of_the_tools_is_what_the_program_prints /* WR-214 */) {
    struct str out = STR_NONE;
    struct buf b;
    struct wopr_error err = {0};
    cr_assert_eq(program(&sv, (const char *const[]){"mcp", "--describe", NULL}, &out, NULL), 0);
    buf_init(&b, 1 << 20);
    FILE *f = fopen(WOPR_SOURCE_DIR "/docs/mcp-tools.json", "r");
    cr_assert_not_null(f);
    for (int ch; (ch = getc(f)) != EOF;) buf_addc(&b, (char)ch);
    fclose(f);
    cr_assert_eq(json_check(buf_str(&b), &JSON_LIMITS_STORED, &err), 0, "%s", err.message);
    cr_expect(json_equal(buf_str(&b), str_trim(out), test_arena()),
              "wopr mcp --describe | python3 -m json.tool >docs/mcp-tools.json");
    buf_fini(&b);
}
