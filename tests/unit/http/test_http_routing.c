/*
 * test_http_routing.c: routes, envelopes and connections of the HTTP server over a real socket.
 */
#include "http_world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/socket.h>

static void up(void) { world_up(NULL); }

TestSuite(http_route, .init = up, .fini = world_down, .timeout = 300);

struct row {
    const char *method, *path;
    int status;
    const char *has;
};

static void walk_rows(const struct row *rows, size_t n) {
    for (size_t i = 0; i < n; i++) {
        struct client *c = ask(rows[i].method, rows[i].path, bearer(), NULL);
        cr_expect_eq(c->status, rows[i].status, "%s %s: %d", rows[i].method, rows[i].path,
                     c->status);
        if (rows[i].has)
            cr_expect(body_has(c, rows[i].has), "%s %s: %s", rows[i].method, rows[i].path,
                      c->body.p);
        hang_up(c);
    }
}

Test(http_route, the_table_decides /* HTTP-2 to 6, D5, D6 */) {
    char id128[160] = "/v1/runs/", id129[160] = "/v1/runs/";
    memset(id128 + 9, 'a', 128);
    memset(id129 + 9, 'a', 129);
    const struct row rows[] = {
        {"GET", "/v1/runs/run_1", 200, "\"id\":\"run_1\""},
        {"GET", "/v1/runs/a%2Fb", 200, "\"id\":\"a/b\""},
        {"GET", "/v1/runs/a%2fb%25", 200, "\"id\":\"a/b%\""},
        {"GET", "/v1/runs/x:y", 200, "\"id\":\"x:y\""},
        {"GET", "/v1/runs/x?q=a%20b+c", 200, "\"q\":\"a b c\""},
        {"POST", "/v1/runs/r1:pause", 200, "\"op\":\"pause\""},
        {"POST", "/v1/runs/r1%3Apause", 200, "\"op\":\"pause\""},
        {"POST", "/v1/runs/a:b:pause", 200, "\"id\":\"a:b\""},
        {"POST", "/v1/runs/r1:nothing", 405, "method_not_allowed"},
        {"GET", "/v1/runs/r1:pause", 405, "method_not_allowed"},
        {"POST", "/v1/runs/:pause", 404, "not_found"},
        {"POST", "/v1/runs/r/interrupts/n%2F1", 200, "\"second\":\"n/1\""},
        {"GET", "/v1/packs/-/search", 200, "\"op\":\"search\""},
        {"GET", "/v1/packs/-/other", 200, "\"op\":\"pack\""},
        {"GET", id128, 200, NULL},
        {"GET", id129, 404, "not_found"},
        {"GET", "/v1/runs/a%zz", 404, "not_found"},
        {"GET", "/v1/runs/a%2", 404, "not_found"},
        {"GET", "/v1/runs/a%00b", 404, "not_found"},
        {"GET", "/v1/runs/a%ff", 404, "not_found"},
        {"GET", "/v1/runs/", 404, "not_found"},
        {"GET", "/v1/runs//events", 404, "not_found"},
        {"GET", "/v1/none", 404, "not_found"},
        {"GET", "/v2/runs/x", 404, "not_found"},
        {"GET", "/v1", 404, "not_found"},
        {"GET", "/.well-known/other", 404, "not_found"},
        {"DELETE", "/v1/runs/x", 405, "method_not_allowed"},
        {"GET", "/runs/secret-canary", 400, "\"path\":\"/runs\""},
        {"GET", "/workflows", 400, "\"path\":\"/workflows\""},
        {"GET", "/<script>", 400, "\"path\":\"/\""},
        {"GET", "/", 400, "validation_error"},
        {"GET", "/v1/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q", 404, "not_found"},
    };
    walk_rows(rows, sizeof rows / sizeof rows[0]);
}

Test(http_route, unversioned_paths_leak_nothing /* HTTP-14 */) {
    struct client *c = ask("GET", "/runs/secret-canary?x=secret-canary", NULL, NULL);
    cr_assert(!body_has(c, "canary"));
    cr_assert_null(header_of(c, "OpenWOP-Version"));
    hang_up(c);
}

Test(http_route, allow_head_and_options /* HTTP-3, HTTP-18 */) {
    struct client *c = ask("DELETE", "/v1/runs/x/cancel", NULL, NULL);
    cr_expect_str_eq(header_of(c, "Allow"), "POST, OPTIONS");
    hang_up(c);
    c = ask("OPTIONS", "/.well-known/openwop", NULL, NULL);
    cr_expect_eq(c->status, 204);
    cr_expect_str_eq(header_of(c, "Allow"), "GET, HEAD, OPTIONS");
    cr_expect_eq(c->body.len, 0u);
    hang_up(c);
    c = dial();
    say(c, "HEAD /.well-known/openwop HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_assert(hear_head(c));
    cr_expect_eq(c->status, 200);
    cr_expect_str_eq(header_of(c, "Content-Length"), "13");
    say(c, "GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n"); /* no body came before */
    cr_assert(hear(c));
    cr_expect_eq(c->status, 200);
    hang_up(c);
    c = dial();
    say(c, "HEAD /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_assert(hear_head(c));
    cr_expect_eq(c->status, 405);
    hang_up(c);
}

Test(http_route, every_v1_answer_has_the_common_headers /* D3, HTTP-7, HTTP-16 */) {
    static const char *const PATHS[] = {"/v1/ping", "/v1/none", "/v1/runs/x", "/v1/silent"};
    for (size_t i = 0; i < 4; i++) {
        struct client *c = ask("GET", PATHS[i], NULL, NULL);
        cr_expect_str_eq(header_of(c, "OpenWOP-Version"), "1.0", "%s", PATHS[i]);
        cr_expect_str_eq(header_of(c, "Content-Type"), "application/json");
        cr_expect_str_eq(header_of(c, "Cache-Control"), "no-store");
        cr_expect_not_null(header_of(c, "Content-Length"));
        hang_up(c);
    }
}

Test(http_route, negotiation_comes_first /* D2 */) {
    struct client *c = ask("GET", "/v1/ping", "OpenWOP-Version: 2\r\n", NULL);
    cr_expect_eq(c->status, 406);
    hang_up(c);
}

Test(http_route, a_handler_without_answer_is_an_internal_error /* ERR-5 */) {
    struct client *c = ask("GET", "/v1/silent", NULL, NULL);
    cr_expect_eq(c->status, 500);
    hang_up(c);
}

Test(http_route, trace_context_comes_back_with_a_new_span /* HTTP-12 */) {
    static const char IN[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    char header[128];
    snprintf(header, sizeof header, "traceparent: %s\r\n", IN);
    struct client *c = ask("GET", "/v1/ping", header, NULL);
    const char *out = header_of(c, "traceparent");
    cr_assert_not_null(out);
    cr_expect_eq(strlen(out), 55u);
    cr_expect_eq(strncmp(out, IN, 36), 0);
    cr_expect_neq(strncmp(out, IN, 52), 0);
    hang_up(c);
}

Test(http_route, without_a_valid_trace_context_a_new_trace_begins /* HTTP-12 OBS-3 F14 */) {
    static const char *const HEADERS[] = {NULL, "traceparent: 00-0-0-0\r\n"};
    char first[64] = "";
    for (size_t i = 0; i < 2; i++) {
        struct client *c = ask("GET", "/v1/ping", HEADERS[i], NULL);
        const char *out = header_of(c, "traceparent");
        cr_assert_not_null(out);
        cr_expect_eq(strlen(out), 55u);
        cr_expect_eq(strncmp(out, "00-", 3), 0);
        cr_expect_eq(strcmp(out + 52, "-00"), 0, "nothing is recorded of it");
        cr_expect_neq(strncmp(out, first, 35), 0, "a trace of its own");
        snprintf(first, sizeof first, "%s", out);
        hang_up(c);
    }
}

Test(http_route, a_trace_context_of_a_later_version_is_read_as_version_00 /* HTTP-12 */) {
    static const char HEAD[] = "-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-";
    static const struct {
        const char *version, *rest, *flags; /* flags that come back; NULL: ignored */
    } CASES[] = {{"01", "01", "01"},   {"cc", "03-what-the-future-will-be-like", "01"},
                 {"01", "fe", "00"},   {"01", "01-", "01"},
                 {"01", "01.x", NULL}, {"ff", "01", NULL},
                 {"0G", "01", NULL},   {"00", "01-more", NULL},
                 {"01", "0", NULL}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        char header[160];
        snprintf(header, sizeof header, "traceparent: %s%s%s\r\n", CASES[i].version, HEAD,
                 CASES[i].rest);
        struct client *c = ask("GET", "/v1/ping", header, NULL);
        const char *out = header_of(c, "traceparent");
        cr_assert_not_null(out);
        cr_expect_eq(strlen(out), 55u);
        cr_expect_eq(memcmp(out, "00", 2), 0);
        cr_expect_eq(memcmp(out + 2, HEAD, 34) == 0, CASES[i].flags != NULL, "%s", header);
        if (CASES[i].flags) cr_expect_str_eq(out + 53, CASES[i].flags);
        hang_up(c);
    }
}

#define TRACE_OURS  "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
#define TRACE_OTHER "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

Test(http_route, two_trace_contexts_are_none /* HTTP-12 OBS-1; W3C Trace Context 3.2 */) {
    static const char *const HEADERS[] = {
        "traceparent: " TRACE_OURS "\r\ntraceparent: " TRACE_OTHER "\r\n",
        "traceparent: " TRACE_OURS "\r\nTraceParent: " TRACE_OURS "\r\n",
        "traceparent: " TRACE_OURS "\r\ntraceparent: nothing\r\n",
        "traceparent: nothing\r\ntraceparent: " TRACE_OURS "\r\n",
        "traceparent: " TRACE_OURS "\r\ntraceparent: " TRACE_OURS "\r\ntraceparent: " TRACE_OURS
        "\r\n",
        "traceparent: " TRACE_OURS "," TRACE_OTHER "\r\n"};
    for (size_t i = 0; i < sizeof HEADERS / sizeof *HEADERS; i++) {
        char headers[512];
        snprintf(headers, sizeof headers, "%stracestate: a=1\r\n", HEADERS[i]);
        struct client *c = ask("GET", "/v1/ping", headers, NULL);
        const char *out = header_of(c, "traceparent");
        cr_assert_not_null(out);
        cr_expect_neq(strncmp(out, TRACE_OURS, 35), 0, "%s", HEADERS[i]);
        cr_expect_neq(strncmp(out, TRACE_OTHER, 35), 0, "%s", HEADERS[i]);
        cr_expect_str_eq(out + 52, "-00");
        cr_expect_null(header_of(c, "tracestate"), "%s", HEADERS[i]);
        hang_up(c);
    }
}

#define M8(n) n "1=v," n "2=v," n "3=v," n "4=v," n "5=v," n "6=v," n "7=v," n "8=v"
#define M32   M8("a") "," M8("b") "," M8("c") "," M8("d")

Test(http_route, of_a_key_of_tracestate_the_first_entry_holds /* OBS-1; W3C Trace Context 3.3 */) {
    static const struct {
        const char *lines, *out; /* out NULL: dropped */
    } CASES[] = {{"tracestate: a=1\r\n", "a=1"},
                 {"tracestate: a=1,b=2\r\n", "a=1,b=2"},
                 {"tracestate: a=1,a=1\r\n", "a=1"},
                 {"tracestate: a=1,a=2\r\n", "a=1"},
                 {"tracestate: a=1,b=2,a=3,c=4,b=5\r\n", "a=1,b=2,c=4"},
                 {"tracestate: a=1\r\ntracestate: a=2\r\n", "a=1"},
                 {"tracestate: a=1\r\nTraceState: b=2\r\ntracestate: a=3\r\n", "a=1,b=2"},
                 {"tracestate: a=1,aa=2,a=3,aa=4\r\n", "a=1,aa=2"}, /* a key is not its beginning */
                 {"tracestate: aa=1,a=2\r\n", "aa=1,a=2"},
                 {"tracestate: t@v=1,v=2,t@v=3\r\n", "t@v=1,v=2"},
                 {"tracestate: a=1 , ,\tb=2,,\r\n", "a=1,b=2"},
                 {"tracestate: ,\r\n", NULL},
                 {"tracestate: a=1,a\r\n", NULL}, /* one that is malformed spoils the list */
                 {"tracestate: a=1,a==\r\n", NULL},
                 {"tracestate: a=1,A=2\r\n", NULL},
                 {"tracestate: " M32 "\r\n", M32},
                 {"tracestate: ,," M32 ",\r\n", M32}, /* empty members are none */
                 {"tracestate: " M32 ",e=1\r\n", NULL},
                 {"tracestate: " M32 ",a1=v\r\n", NULL}}; /* 33 came, whatever is kept */
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char headers[512];
        snprintf(headers, sizeof headers, "traceparent: " TRACE_OURS "\r\n%s", CASES[i].lines);
        struct client *c = ask("GET", "/v1/ping", headers, NULL);
        const char *out = header_of(c, "tracestate");
        if (CASES[i].out)
            cr_expect_str_eq(out ? out : "(none)", CASES[i].out, "%s", CASES[i].lines);
        else cr_expect_null(out, "%s", CASES[i].lines);
        out = header_of(c, "traceparent"); /* holds without it */
        cr_expect(out && strncmp(out, TRACE_OURS, 35) == 0, "%s", CASES[i].lines);
        hang_up(c);
    }
}

Test(http_route, every_answer_names_its_request /* F14 ERR-4 */) {
    static const struct {
        const char *method, *path;
        int status;
    } CASES[] = {{"GET", "/v1/ping", 200},
                 {"GET", "/v1/none", 404},
                 {"POST", "/v1/echo", 401},
                 {"DELETE", "/v1/ping", 405},
                 {"GET", "/v1/silent", 500}};
    char before[64] = "";
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct client *c = ask(CASES[i].method, CASES[i].path, NULL, NULL);
        const char *id = header_of(c, "X-Request-Id");
        cr_expect_eq(c->status, CASES[i].status, "%s: %d", CASES[i].path, c->status);
        cr_assert_not_null(id, "%s", CASES[i].path);
        cr_expect_eq(strncmp(id, "req-", 4), 0);
        cr_expect_str_neq(id, before);
        snprintf(before, sizeof before, "%s", id);
        hang_up(c);
    }
}

Test(http_route, connections_are_kept /* HTTP-21 */) {
    struct client *c = dial();
    for (int i = 0; i < 3; i++) {
        say(c, "GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n");
        cr_assert(hear(c));
        cr_expect_eq(c->status, 200);
        say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 2\r\n\r\n{}", bearer());
        cr_assert(hear(c));
        cr_expect_eq(c->status, 201);
        say(c, "GET /v1/none HTTP/1.1\r\nHost: x\r\n\r\n"); /* an error too */
        cr_assert(hear(c));
        cr_expect_eq(c->status, 404);
        say(c,
            "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"); /* refused before
                                                                                    its body */
        cr_assert(hear(c));
        cr_expect_eq(c->status, 401);
    }
    hang_up(c);
}

Test(http_route, pipelined_requests_are_answered_in_order) {
    struct client *c = dial();
    say(c,
        "GET /v1/runs/a HTTP/1.1\r\nHost: x\r\n%s\r\nGET /v1/runs/b HTTP/1.1\r\nHost: x\r\n%s\r\n"
        "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 9\r\n\r\n{\"c\":\"c\"}GET /v1/ping "
        "HTTP/1.1\r\nHost: x\r\n\r\n",
        bearer(), bearer(), bearer());
    static const char *const WANT[] = {"\"id\":\"a\"", "\"id\":\"b\"", "{\"c\":\"c\"}", "pong"};
    for (size_t i = 0; i < 4; i++) {
        cr_assert(hear(c));
        cr_expect(body_has(c, WANT[i]));
    }
    hang_up(c);
}

Test(http_route, a_head_of_four_kilobytes_is_read) {
    char header[4096 + 32];
    int n = snprintf(header, sizeof header, "X-Long: ");
    memset(header + n, 'a', 3600);
    snprintf(header + n + 3600, sizeof header - (size_t)n - 3600, "\r\n%s", bearer());
    struct client *c = ask("GET", "/v1/runs/x", header, NULL);
    cr_expect_eq(c->status, 200);
    hang_up(c);
}

static void impatient(struct http_config *cfg) { cfg->read_timeout_s = 1; }

Test(http_route_cfg, garbage_does_not_stop_the_server, .timeout = 300) {
    world_up(impatient);
    static const char *const JUNK[] = {
        "\r\n\r\n",
        "GET\r\n\r\n",
        "\x16\x03\x01\x02\x00\x01",
        "GET / HTTP/9.9\r\n\r\n",
        "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "GET /%% HTTP/1.1\r\nHost: x\r\n\r\n"};
    for (size_t i = 0; i < sizeof JUNK / sizeof JUNK[0]; i++) {
        struct client *c = dial();
        say_bytes(c, JUNK[i], strlen(JUNK[i]));
        shutdown(c->fd, SHUT_WR);
        (void)hear(c);
        hang_up(c);
    }
    struct client *c = ask("GET", "/v1/ping", NULL, NULL);
    cr_expect_eq(c->status, 200);
    hang_up(c);
    world_down();
}
