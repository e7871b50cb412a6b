/*
 * test_mcp_stdio.c: wopr mcp over standard input and output, as desktop clients start it: on a
 * database file, and for a running host.
 */
#include "interrupt_kit.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct server sv; /* for its folder, and as the running host */
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(mcp_stdio, .init = up, .fini = down, .timeout = 300);

struct child {
    pid_t pid;
    int in, out;
    struct buf seen; /* of out */
    size_t read;     /* lines of it that line() has given */
};

enum { ARGS_MAX = 12 };

/* args: after "wopr mcp"; key: WOPR_API_KEY, NULL = none. */
static void child_start(struct child *c, const char *key, const char *const *args) {
    int in[2], out[2];
    const char *argv[ARGS_MAX + 3] = {WOPR_PROGRAM, "mcp"};
    for (int i = 0; i < ARGS_MAX && args[i]; i++) argv[i + 2] = args[i];
    cr_assert_eq(pipe(in), 0);
    cr_assert_eq(pipe(out), 0);
    *c = (struct child){.in = in[1], .out = out[0]};
    buf_init(&c->seen, 1 << 24);
    pid_t parent = getpid();
    c->pid = fork();
    cr_assert_geq(c->pid, 0);
    if (c->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(126);
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (int fd = 3; fd < 1024; fd++) close(fd);
        if (key) setenv("WOPR_API_KEY", key, 1);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
}

static void say(struct child *c, const char *line) {
    struct str text = str_c(fmt("%s\n", line));
    cr_assert_eq(write(c->in, text.p, text.n), (ssize_t)text.n);
}

/* Wait until the process has written that much, or ended; false at the end. */
static bool child_read(struct child *c, int ms) {
    char chunk[4096];
    struct pollfd p = {c->out, POLLIN, 0};
    if (poll(&p, 1, ms) <= 0) return true;
    ssize_t n = read(c->out, chunk, sizeof chunk);
    if (n > 0) buf_add(&c->seen, chunk, (size_t)n);
    return n > 0;
}

static bool line_next(struct child *c, struct str *out) {
    struct str rest = str_n(c->seen.p ? c->seen.p + c->read : "", c->seen.len - c->read), line;
    if (!str_cut(rest, '\n', &line, &rest)) return false;
    c->read += line.n + 1;
    *out = arena_str(test_arena(), line);
    cr_assert_eq(json_check(*out, &JSON_LIMITS_STORED, NULL), 0, "no message: " STR_FMT,
                 STR_ARG(line));
    return true;
}

/* The next message. */
static struct str heard(struct child *c) {
    struct str line;
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end;) {
        if (line_next(c, &line)) return line;
        if (!child_read(c, 100)) break;
    }
    cr_assert_fail("no message came");
    return STR_NONE;
}

static struct str answered(struct child *c, const char *id) {
    for (;;) {
        struct str m = heard(c);
        if (str_eqc(json_get(m, "id"), id)) return m;
    }
}

/* Its exit status after the end of its input; messages that came meanwhile are in seen. */
static int child_end(struct child *c) {
    int status = -1;
    close(c->in);
    while (child_read(c, WAIT_MS)) continue;
    close(c->out);
    cr_assert_eq(waitpid(c->pid, &status, 0), c->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void child_done(struct child *c) { buf_fini(&c->seen); }

#define CALL(id, tool, arguments)                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\",\"arguments\":" arguments "}}"
#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"
#define HELLO                                                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"

static void start_on_file(struct child *c, const char *name) {
    const char *const args[] = {"--db", fmt("%s/%s.db", sv.dir, name), "--conformance-seed", NULL};
    child_start(c, NULL, args);
}

static const char *run_of(struct str answer) {
    return arena_cstr(test_arena(), text_at(answer, "result.structuredContent.runId"));
}

Test(mcp_stdio, a_file_is_served_until_the_input_ends) {
    struct child c;
    start_on_file(&c, "own");
    say(&c, HELLO);
    struct str m = answered(&c, "0");
    cr_expect(str_eqc(text_at(m, "result.protocolVersion"), "2025-06-18"));
    say(&c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    say(&c, CALL("\"s\"", "run_start", "{\"workflowId\":\"conformance-noop\"}"));
    const char *run = run_of(answered(&c, "\"s\""));
    say(&c, fmt(CALL("2", "run_wait", "{\"runId\":\"%s\"}"), run));
    m = answered(&c, "2");
    cr_expect(str_eqc(text_at(m, "result.structuredContent.status"), "completed"));
    cr_expect_eq(child_end(&c), 0);
    cr_expect_eq(c.read, c.seen.len, "nothing but answers was written");
    child_done(&c);
    start_on_file(&c, "own"); /* what it did is in the file, and its key is the same */
    say(&c, fmt(CALL("3", "run_status", "{\"runId\":\"%s\"}"), run));
    m = answered(&c, "3");
    cr_expect(str_eqc(text_at(m, "result.structuredContent.status"), "completed"), STR_FMT,
              STR_ARG(m));
    cr_expect_eq(child_end(&c), 0);
    child_done(&c);
}

Test(mcp_stdio, a_batch_is_a_line_and_so_is_its_answer) {
    struct child c;
    start_on_file(&c, "batch");
    say(&c, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]");
    say(&c, "[]");
    struct str m = heard(&c);
    cr_expect_eq(int_at(m, "error.code"), -32600, STR_FMT, STR_ARG(m));
    say(&c, "[" PING("1") "," CALL("2", "run_list", "{}") "]");
    m = heard(&c);
    cr_assert_eq(json_type_of(m), JSON_ARRAY, STR_FMT, STR_ARG(m));
    struct json_elements l = elements_of(m);
    cr_assert_eq(l.n, 2);
    cr_expect_eq(int_at(l.v[0], "id"), 1);
    cr_expect_eq(int_at(l.v[1], "id"), 2);
    cr_expect_eq(child_end(&c), 0);
    child_done(&c);
}

Test(mcp_stdio, what_is_asked_before_the_input_ends_is_answered) {
    struct child c;
    start_on_file(&c, "pipe");
    for (int i = 0; i < 20; i++) say(&c, fmt(PING("%d"), i));
    cr_expect_eq(child_end(&c), 0);
    struct str line;
    int n = 0;
    while (line_next(&c, &line)) n++;
    cr_expect_eq(n, 20);
    child_done(&c);
}

Test(mcp_stdio,
     a_wait_that_is_cancelled_is_not_answered_and_one_that_is_not_does_not_hold_the_end) {
    struct child c;
    start_on_file(&c, "cancel");
    say(&c, CALL("1", "run_start", "{\"workflowId\":\"conformance-approval\"}"));
    const char *run = run_of(answered(&c, "1"));
    say(&c,
        fmt(CALL("2", "run_wait", "{\"runId\":\"%s\",\"until\":\"ended\",\"timeoutSeconds\":300}"),
            run));
    say(&c,
        fmt(CALL("3", "run_wait", "{\"runId\":\"%s\",\"until\":\"ended\",\"timeoutSeconds\":300}"),
            run));
    say(&c, PING("4"));
    (void)answered(&c, "4");
    say(&c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
            "cancelled\",\"params\":{\"requestId\":2}}");
    say(&c, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
            "cancelled\",\"params\":{\"requestId\":77}}");
    say(&c, PING("5"));
    (void)answered(&c, "5");
    int64_t t0 = now_ms();
    cr_expect_eq(child_end(&c), 0);
    cr_expect_lt(now_ms() - t0, WAIT_MS / 2, "not the 300 seconds of the wait");
    struct str line;
    while (line_next(&c, &line))
        cr_expect(!str_eqc(json_get(line, "id"), "2"), STR_FMT, STR_ARG(line));
    child_done(&c);
}

Test(mcp_stdio, calls_that_wait_leave_room_for_others) {
    enum { WAITS = 12 };
    struct child c;
    start_on_file(&c, "waits");
    say(&c, CALL("1", "run_start", "{\"workflowId\":\"conformance-approval\"}"));
    const char *run = run_of(answered(&c, "1"));
    for (int i = 0; i <= WAITS; i++)
        say(&c, fmt("{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":"
                    "\"run_wait\",\"arguments\":{\"runId\":\"%s\",\"until\":\"ended\","
                    "\"timeoutSeconds\":300}}}",
                    100 + i, run));
    struct str m = answered(&c, "112");
    cr_expect_not_null(strstr(arena_cstr(test_arena(), m), "under way"), STR_FMT, STR_ARG(m));
    say(&c, PING("4"));
    (void)answered(&c, "4");
    cr_expect_eq(child_end(&c), 0);
    child_done(&c);
}

Test(mcp_stdio, progress_is_a_line_before_the_answer) {
    struct child c;
    start_on_file(&c, "progress");
    say(&c, CALL("1", "run_start",
                 "{\"workflowId\":\"conformance-delay\",\"inputs\":{\"delayMs\":500}}"));
    const char *run = run_of(answered(&c, "1"));
    say(&c, fmt("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"run_wait\",\"arguments\":{\"runId\":\"%s\"},\"_meta\":{\"progressToken\":9}}}",
                run));
    struct str m = heard(&c);
    cr_expect(str_eqc(text_at(m, "method"), "notifications/progress"), STR_FMT, STR_ARG(m));
    cr_expect_eq(int_at(m, "params.progressToken"), 9);
    m = answered(&c, "2");
    cr_expect(str_eqc(text_at(m, "result.structuredContent.reason"), "ended"));
    cr_expect_eq(child_end(&c), 0);
    child_done(&c);
}

Test(mcp_stdio, two_programs_and_a_kill_lose_nothing_on_one_file) {
    struct child a, b;
    start_on_file(&a, "shared");
    say(&a, CALL("1", "run_start",
                 "{\"workflowId\":\"conformance-approval\",\"idempotencyKey\":\"k\"}"));
    const char *run = run_of(answered(&a, "1"));
    start_on_file(&b, "shared");
    say(&b, fmt(CALL("1", "run_wait", "{\"runId\":\"%s\"}"), run));
    cr_expect(str_eqc(text_at(answered(&b, "1"), "result.structuredContent.reason"), "attention"));
    kill(a.pid, SIGKILL);
    cr_expect_eq(waitpid(a.pid, NULL, 0), a.pid);
    close(a.in);
    close(a.out);
    say(&b, fmt(CALL("2", "run_resolve_interrupt",
                     "{\"runId\":\"%s\",\"nodeId\":\"gate\",\"value\":{\"action\":\"accept\"}}"),
                run));
    (void)answered(&b, "2");
    say(&b, fmt(CALL("3", "run_wait", "{\"runId\":\"%s\",\"until\":\"ended\"}"), run));
    cr_expect(str_eqc(text_at(answered(&b, "3"), "result.structuredContent.status"), "completed"));
    say(&b, CALL("4", "run_start",
                 "{\"workflowId\":\"conformance-approval\",\"idempotencyKey\":\"k\"}"));
    cr_expect_str_eq(run_of(answered(&b, "4")), run, "the same key in the next process");
    cr_expect_eq(child_end(&b), 0);
    child_done(&a);
    child_done(&b);
}

Test(mcp_stdio, with_a_url_it_speaks_to_a_running_host_by_its_key) {
    struct child c;
    const char *const args[] = {"--url", sv.base, NULL};
    const char *run = create_run(&sv, "conformance-approval", NULL);
    child_start(&c, sv.key, args);
    say(&c, fmt("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"run_wait\",\"arguments\":{\"runId\":\"%s\"},\"_meta\":{"
                "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                run));
    struct str m = answered(&c, "1");
    cr_expect(str_eqc(text_at(m, "result.resultType"), "complete"), STR_FMT, STR_ARG(m));
    cr_expect(str_eqc(text_at(m, "result.structuredContent.reason"), "attention"));
    cr_expect_eq(child_end(&c), 0);
    child_done(&c);
    child_start(&c, "hk_test_unknown_0123456789abcdef", args);
    say(&c, PING("1"));
    m = answered(&c, "1");
    cr_expect_eq(int_at(m, "error.code"), -32603);
    cr_expect_not_null(strstr(m.p, "401"), STR_FMT, STR_ARG(m));
    cr_expect_eq(child_end(&c), 0);
    child_done(&c);
}

Test(mcp_stdio, a_host_that_is_not_there_is_an_answer_and_no_end) {
    struct child c;
    const char *const args[] = {"--url", "http://127.0.0.1:1", NULL};
    child_start(&c, sv.key, args);
    for (int i = 0; i < 3; i++) {
        say(&c, fmt(PING("%d"), i));
        struct str m = answered(&c, fmt("%d", i));
        cr_expect_not_null(strstr(m.p, "is it running?"), STR_FMT, STR_ARG(m));
    }
    cr_expect_eq(child_end(&c), 0);
    child_done(&c);
}

Test(mcp_stdio, lines_that_are_no_messages_are_answered_and_passed) {
    struct child c;
    start_on_file(&c, "lines");
    static const struct {
        const char *line;
        int code;
    } CASES[] = {{"rubbish", -32700},
                 {"[]", -32600},
                 {"{\"jsonrpc\":\"2.0\",\"id\":{}}", -32600},
                 {"\xff\xfe", -32700},
                 {"null", -32600}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        say(&c, CASES[i].line);
        cr_expect_eq(int_at(heard(&c), "error.code"), CASES[i].code, "%s", CASES[i].line);
    }
    say(&c, "");
    say(&c, "  " PING("1") " \r");
    (void)answered(&c, "1");
    kill(c.pid, SIGTERM);
    cr_expect_eq(child_end(&c), 0, "a signal ends it as the end of the input does");
    child_done(&c);
}
