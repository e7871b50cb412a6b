/*
 * test_input.c: bad input gets the contract's answer and harms nothing.  HTTP-5, 8, 9, 14; ERR-*;
 * the "Bad input".
 */
#include "harness.h"

#include <stdio.h>

static struct server sv;
static const char *const ARGS[] = {"--read-timeout-s", "2", "--max-body-bytes", "20000", NULL};
static void up(void) { server_start(&sv, ARGS); }
static void down(void) {
    wait_terminal(&sv, create_run(&sv, "conformance-noop", NULL)); /* still up and working */
    server_end(&sv);
}
TestSuite(input, .init = up, .fini = down, .timeout = 300);

Test(input, malformed_bodies /* HTTP-8 */) {
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "null",
        "42",
        "\"x\"",
        "{\"workflowId\":}",
        "{\"workflowId\":\"conformance-noop\"} x",
        "{'workflowId':1}",
        "{\"workflowId\":\"conformance-noop\",\"workflowId\":\"conformance-noop\"}",
        "{\"workflowId\":\"\xff\xfe\"}",
        "{\"workflowId\":\"\\ud800\"}",
        "{\"workflowId\":NaN}",
        "{\"workflowId\":\"a\nb\"}",
        "{\"a\":01}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct reply r = ask(&sv, "POST", "/v1/runs", bad[i], NULL);
        expect_error(&r, 400, "validation_error");
    }
    struct buf deep;
    buf_init(&deep, 1 << 20);
    buf_addz(&deep, "{\"workflowId\":\"conformance-noop\",\"inputs\":");
    for (int i = 0; i < 70; i++) buf_addz(&deep, "{\"a\":");
    buf_addz(&deep, "1");
    for (int i = 0; i < 71; i++) buf_addz(&deep, "}");
    struct reply r = ask(&sv, "POST", "/v1/runs", deep.p, NULL);
    buf_fini(&deep);
    expect_error(&r, 400, "validation_error");
}

Test(input, wrong_members_name_the_field /* RUN-1, ERR-6, WF-17 */) {
    static const struct {
        const char *body, *path;
    } rows[] = {
        {"{\"workflowId\":1}", "workflowId"},
        {"{\"workflowId\":\"\"}", "workflowId"},
        {"{\"workflowId\":\"conformance-noop\",\"surprise\":1}", "surprise"},
        {"{\"workflowId\":\"conformance-noop\",\"inputs\":[]}", "inputs"},
        {"{\"workflowId\":\"conformance-noop\",\"tags\":\"x\"}", "tags"},
        {"{\"workflowId\":\"conformance-noop\",\"tags\":[1]}", "tags"},
        {"{\"workflowId\":\"conformance-noop\",\"metadata\":3}", "metadata"},
        {"{\"workflowId\":\"conformance-noop\",\"metadata\":{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{}}}"
         "}}}}",
         "metadata"},
        {"{\"workflowId\":\"conformance-noop\",\"configurable\":{\"temperature\":3}}",
         "configurable.temperature"},
        {"{\"workflowId\":\"conformance-noop\",\"configurable\":{\"recursionLimit\":1.5}}",
         "configurable.recursionLimit"},
        {"{\"workflowId\":\"conformance-noop\",\"callbackUrl\":\"not a url\"}", "callbackUrl"},
        {"{\"workflowId\":\"conformance-delay\",\"inputs\":{\"delayMs\":\"soon\"}}", "delayMs"},
        {"{\"workflowId\":\"conformance-idempotent\"}", "nonce"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply r = ask(&sv, "POST", "/v1/runs", rows[i].body, NULL);
        expect_error(&r, 400, "validation_error");
        cr_expect_not_null(strstr(r.body.p, rows[i].path), "%s does not name %s", r.body.p,
                           rows[i].path);
    }
}

Test(input, too_large_bodies_are_refused_early /* HTTP-9 */) {
    struct buf b;
    buf_init(&b, 1 << 22);
    buf_addz(&b, "{\"workflowId\":\"conformance-noop\",\"inputs\":{\"x\":\"");
    for (int i = 0; i < 30000; i++) buf_addc(&b, 'x');
    buf_addz(&b, "\"}}");
    struct reply r = ask(&sv, "POST", "/v1/runs", b.p, NULL);
    buf_fini(&b);
    expect_error(&r, 413, "payload_too_large");
    const char *lie = fmt("POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                          "%s\r\nContent-Length: 99999999999\r\n\r\n{",
                          sv.key);
    r = ask_raw(&sv, lie, strlen(lie), WAIT_MS);
    cr_expect_eq(r.status, 413, "%ld", r.status);
}

Test(input, chunked_bodies_are_bounded_too /* HTTP-9 */) {
    const char *head =
        fmt("POST /v1/runs HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "
            "%s\r\nTransfer-Encoding: chunked\r\n\r\n",
            sv.key);
    const char *body = "{\"workflowId\":\"conformance-noop\"}";
    const char *ok =
        fmt("%s5\r\n%.5s\r\n%zx\r\n%s\r\n0\r\n\r\n", head, body, strlen(body) - 5, body + 5);
    struct reply r = ask_raw(&sv, ok, strlen(ok), WAIT_MS);
    cr_expect_eq(r.status, 201, STR_FMT, STR_ARG(r.headers));
    struct buf b;
    buf_init(&b, 1 << 22);
    buf_addz(&b, head);
    for (int i = 0; i < 40; i++) {
        buf_addz(&b, "400\r\n");
        for (int k = 0; k < 1024; k++) buf_addc(&b, ' ');
        buf_addz(&b, "\r\n");
    }
    buf_addz(&b, "0\r\n\r\n");
    r = ask_raw(&sv, b.p, b.len, WAIT_MS);
    buf_fini(&b);
    cr_expect_eq(r.status, 413, "%ld", r.status);
}

Test(input, media_types /* HTTP-8 */) {
    static const char *const form[] = {"Content-Type: application/x-www-form-urlencoded", NULL},
                             *const none[] = {"Content-Type:", NULL},
                             *const cs[] = {"Content-Type: application/json; charset=utf-8", NULL};
    const char *body = "{\"workflowId\":\"conformance-noop\"}";
    struct reply r = ask(&sv, "POST", "/v1/runs", body, form);
    expect_error(&r, 415, "unsupported_media_type");
    cr_expect_eq(ask(&sv, "POST", "/v1/runs", body, none).status, 201);
    cr_expect_eq(ask(&sv, "POST", "/v1/runs", body, cs).status, 201);
}

Test(input, half_open_and_truncated_requests_are_cut /* slow clients */) {
    const char *half = "POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Le";
    int64_t t0 = now_ms();
    ask_raw(&sv, half, strlen(half), WAIT_MS);
    cr_expect(now_ms() - t0 < WAIT_MS - 1000, "the connection was closed by the server");
    const char *cut = fmt("POST /v1/runs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                          "%s\r\nContent-Length: 500\r\n\r\n{\"workflowId\":",
                          sv.key);
    t0 = now_ms();
    ask_raw(&sv, cut, strlen(cut), WAIT_MS);
    cr_expect(now_ms() - t0 < WAIT_MS - 1000);
}

Test(input, odd_paths /* HTTP-2, HTTP-5, HTTP-6, D5 */) {
    static const struct {
        const char *path;
        long status;
    } rows[] = {{"/v1/runs/a%2Fb", 404},
                {"/v1/runs/a%00b", 404},
                {"/v1/runs/%", 404},
                {"/v1/runs//events", 404},
                {"/v1/runs/x:y", 404},
                {"/v1/runs/:pause", 404},
                {"/v1/../etc/passwd", 404},
                {"/.", 400},
                {"/v1", 404},
                {"/v1/", 404},
                {"/V1/runs", 400},
                {"/v1/runs/%C0%AF", 404}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply r = ask(&sv, "GET", rows[i].path, NULL, NULL);
        cr_expect_eq(r.status, rows[i].status, "%s: %ld " STR_FMT, rows[i].path, r.status,
                     STR_ARG(r.body));
        expect_error(&r, r.status, text_at(r.body, "error").p);
    }
}

Test(input, garbage_on_the_wire /* robustness */) {
    static const char *const rows[] = {
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "\x16\x03\x01\x02",
        "GET / HTTP/9.9\r\n\r\n",
        "POST /v1/runs HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        "POST /v1/runs HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        ask_raw(&sv, rows[i], strlen(rows[i]), 300);
    struct buf b;
    buf_init(&b, 1 << 20);
    buf_addz(&b, "GET /v1/runs HTTP/1.1\r\n");
    for (int i = 0; i < 5000; i++) buf_addf(&b, "X-%d: yyyyyyyyyyyyyyyyyyyy\r\n", i);
    buf_addz(&b, "\r\n");
    struct reply r = ask_raw(&sv, b.p, b.len, 3000);
    buf_fini(&b);
    cr_expect(r.status == 0 || (r.status >= 400 && r.status < 500), "%ld", r.status);
}

Test(input, keep_alive_and_pipelining /* HTTP-21 */) {
    const char *one = fmt("GET /v1/workflows/conformance-noop HTTP/1.1\r\nHost: "
                          "x\r\nAuthorization: Bearer %s\r\n\r\n",
                          sv.key);
    const char *last = fmt("GET /v1/runs/none HTTP/1.1\r\nHost: x\r\nConnection: "
                           "close\r\nAuthorization: Bearer %s\r\n\r\n",
                           sv.key);
    const char *both = fmt("%s%s%s", one, one, last);
    struct reply r = ask_raw(&sv, both, strlen(both), WAIT_MS);
    const char *p = r.headers.p;
    unsigned n = 0;
    for (; (p = strstr(p, "HTTP/1.1 ")) != NULL; p += 9) n++;
    cr_expect_eq(n, 3u, "%u answers on one connection", n);
}
