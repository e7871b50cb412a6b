/*
 * test_log.c: the process log (HTTP-22, GEN-6 is the callers').
 */
#include "base/clock.h"
#include "base/log.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int saved_stderr, pipe_read;

/* stderr becomes a pipe that the test reads when it wants to. */
static void capture(void) {
    int fd[2];
    cr_assert_eq(pipe(fd), 0);
    saved_stderr = dup(STDERR_FILENO);
    dup2(fd[1], STDERR_FILENO);
    close(fd[1]);
    pipe_read = fd[0];
}

static void release(void) {
    dup2(saved_stderr, STDERR_FILENO);
    close(saved_stderr);
    close(pipe_read);
}

/* Everything that is in the pipe now; NUL-terminated. */
static size_t drain(char *out, size_t cap) {
    size_t n = 0;
    fcntl(pipe_read, F_SETFL, O_NONBLOCK);
    for (ssize_t got; n + 1 < cap && (got = read(pipe_read, out + n, cap - 1 - n)) > 0;)
        n += (size_t)got;
    out[n] = '\0';
    return n;
}

static int64_t fixed_wall(void *ctx) {
    (void)ctx;
    return INT64_C(951782400123); /* 2000-02-29T00:00:00.123Z */
}

Test(base_log, lines_are_json_with_escaped_values) {
    char out[8192];
    struct sys_ops ops = {.wall_ms = fixed_wall};
    sys_set(&ops);
    capture();
    log_info("he said \"hi\"", "path", "a\\b\n\x01", "bad", "x\xFFy", "euro", "\xE2\x82\xAC");
    log_debug("below the level");
    drain(out, sizeof out);
    release();
    cr_assert_str_eq(out, "{\"ts\":\"2000-02-29T00:00:00.123Z\",\"level\":\"info\","
                          "\"msg\":\"he said \\\"hi\\\"\",\"path\":\"a\\\\b\\u000a\\u0001\","
                          "\"bad\":\"x\xEF\xBF\xBDy\",\"euro\":\"\xE2\x82\xAC\"}\n");
}

static void ids_of(const void *of, struct log_ids *out) {
    (void)snprintf(out->trace_id, sizeof out->trace_id, "0af7651916cd43dd8448eb211c80319c");
    (void)snprintf(out->span_id, sizeof out->span_id, "b7ad6b7169203331");
    (void)snprintf(out->tenant, sizeof out->tenant, "a\"b");
    out->run_id = of;
}

/* OBS-16: each field once, also beside the line's own; the innermost scope; text stays as it is. */
Test(base_log, json_lines_name_what_their_thread_works_on) {
    char out[4096];
    struct sys_ops ops = {.wall_ms = fixed_wall};
    struct log_scope outer = {.ids = ids_of, .of = "r1"}, inner = {.ids = ids_of, .of = "r2"};
    sys_set(&ops);
    capture();
    log_scope_enter(&outer);
    log_scope_enter(&inner);
    log_info("in", LOG_NUMBER "ms", "12");
    log_scope_leave(&inner);
    log_info("own", "runId", "mine");
    logger_human(true);
    log_info("text", LOG_NUMBER "ms", "12");
    logger_human(false);
    log_scope_leave(&outer);
    log_info("out");
    drain(out, sizeof out);
    release();
#define AT_  "{\"ts\":\"2000-02-29T00:00:00.123Z\",\"level\":\"info\","
#define IDS_ ",\"trace_id\":\"0af7651916cd43dd8448eb211c80319c\",\"span_id\":\"b7ad6b7169203331\""
    cr_assert_str_eq(
        out, AT_ "\"msg\":\"in\",\"ms\":12" IDS_ ",\"runId\":\"r2\",\"tenantId\":\"a\\\"b\"}\n" AT_
                 "\"msg\":\"own\",\"runId\":\"mine\"" IDS_ ",\"tenantId\":\"a\\\"b\"}\n"
                 "2000-02-29T00:00:00.123Z info text ms=12\n" AT_ "\"msg\":\"out\"}\n");
}

Test(base_log, a_long_line_is_cut_and_still_closed) {
    static char big[9000], out[16384];
    memset(big, 'v', sizeof big - 1);
    capture();
    for (size_t n = 3900; n < 4100; n++) { /* every place where the cut may fall */
        big[n] = '\0';
        log_warn("m", "k", big, "after", "z");
        size_t len = drain(out, sizeof out);
        cr_assert_leq(len, 4096);
        cr_assert_str_eq(out + len - 3, "\"}\n");
        cr_assert_eq(strchr(out, '\n'), out + len - 1);
        big[n] = 'v';
    }
    log_warn(big, big, big);
    size_t len = drain(out, sizeof out);
    release();
    cr_assert(strstr(out, "\"truncated\":\"true\"}\n") != NULL && len <= 4096);
}

Test(base_log, human_lines_keep_values_on_their_line) {
    char out[4096];
    struct sys_ops ops = {.wall_ms = fixed_wall};
    sys_set(&ops);
    logger_human(true);
    logger_level(LOG_DEBUG);
    capture();
    log_debug("started", "port", "80", "name", "a b\nc");
    drain(out, sizeof out);
    release();
    cr_assert_str_eq(out, "2000-02-29T00:00:00.123Z debug started port=80 name=\"a b\\u000ac\"\n");
}

Test(base_log, the_writer_thread_writes_everything_before_it_stops) {
    static char out[1 << 16];
    capture();
    cr_assert_eq(logger_start(), 0);
    cr_assert_eq(logger_start(), 0, "starting twice is one start");
    for (int i = 0; i < 200; i++) log_info("line", "n", "1");
    logger_stop();
    logger_stop();
    drain(out, sizeof out);
    release();
    size_t lines = 0;
    for (const char *p = out; (p = strchr(p, '\n')) != NULL; p++) lines++;
    cr_assert_eq(lines, 200);
    cr_assert_eq(logger_dropped(), 0);
}

static void *talk(void *arg) {
    (void)arg;
    for (int i = 0; i < 2000; i++)
        log_error("a line nobody reads", "with", "a value of some length, so that the pipe fills",
                  "and", "another one, so that the ring fills as well after the pipe has filled");
    return NULL;
}

Test(base_log, an_unread_pipe_blocks_nobody /* HTTP-22 */, .timeout = 300) {
    static char out[1 << 20];
    pthread_t t[3];
    capture();
    cr_assert_eq(logger_start(), 0);
    for (int i = 0; i < 3; i++) cr_assert_eq(pthread_create(&t[i], NULL, talk, NULL), 0);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
    cr_assert_gt(logger_dropped(), 0, "6000 lines are more than pipe and ring hold");
    logger_stop(); /* gives up on the reader after its bound */
    size_t n = drain(out, sizeof out);
    release();
    cr_assert_gt(n, 0);
    cr_assert_eq(out[n - 1], '\n', "no line is written in part");
    for (const char *p = out; *p; p = strchr(p, '\n') + 1) cr_assert_eq(*p, '{');
}

Test(base_log, drops_are_told_once_there_is_a_reader, .timeout = 300) {
    static char out[1 << 20];
    capture();
    cr_assert_eq(logger_start(), 0);
    talk(NULL);
    cr_assert_gt(logger_dropped(), 0);
    size_t n = 0;
    bool told = false;
    while (!told) {
        struct pollfd fd = {.fd = pipe_read, .events = POLLIN};
        cr_assert_eq(poll(&fd, 1, 20000), 1, "the writer goes on");
        n += drain(out + n, sizeof out - n);
        told = strstr(out, "log lines dropped") != NULL;
    }
    logger_stop();
    release();
}
