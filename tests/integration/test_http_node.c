/*
 * test_http_node.c: a node of type vendor.wopr.http: the parts of its request are templates over
 * its ports, no value makes another request than the author wrote, and its answer is mapped to
 * outputs.  STORE-42, IDEM-19, HOOK-16, NODE-18.
 */
#include "codec/json.h"
#include "harness.h"
#include "peer.h"
#include "receiver.h"

#include <stdio.h>
#include <stdlib.h>

static struct server sv;
static struct peer *peer;
static const char *const ALLOW[] = {"--egress-loopback", NULL};

static const char *workflow_text(void) {
    static char text[8192];
    FILE *f = fopen(WOPR_SOURCE_DIR "/tests/integration/http-node.json", "re");
    cr_assert_not_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    text[n] = '\0';
    return text;
}

/* The workflow with one text in place of another. */
static const char *with(const char *old, const char *new) {
    static char out[9000];
    const char *text = workflow_text(), *at = strstr(text, old);
    cr_assert_not_null(at, "%s", old);
    (void)snprintf(out, sizeof out, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return out;
}

static const char *ported(const char *text) {
    static char out[9100];
    const char *at = strstr(text, "PORT");
    if (at == NULL) return text;
    (void)snprintf(out, sizeof out, "%.*s%d%s", (int)(at - text), text, peer_port(peer), at + 4);
    return out;
}

static struct reply put(const char *text) {
    return ask(&sv, "PUT", "/v1/host/wopr/workflows/http-node", ported(text), NULL);
}

static void up(void) {
    peer = peer_start();
    server_start(&sv, ALLOW);
    struct reply r = put(workflow_text());
    cr_assert(r.status == 200 || r.status == 201, STR_FMT, STR_ARG(r.body));
}
static void down(void) {
    peer_hold(peer, false);
    server_end(&sv);
    peer_stop(peer);
}
TestSuite(http_node, .init = up, .fini = down, .timeout = 400);

static struct str run(const char *item) {
    return wait_terminal(&sv,
                         create_run(&sv, "http-node", fmt("\"inputs\":{\"item\":\"%s\"}", item)));
}

Test(http_node, parts_are_templates_over_the_ports) {
    struct peer_request r;
    struct str snap = run("pen");
    cr_assert(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_assert(peer_request_at(peer, 0, &r));
    cr_expect_str_eq(r.path, "/orders/pen/lines");
    cr_expect_str_eq(r.body, "{\"item\":\"pen\",\"deep\":[{\"text\":\"no. 7\",\"all\":"
                             "{ \"lines\": [{ \"nr\": 7 }] }}],\"n\":1}");
    cr_expect_eq(strlen(r.key), 64u, "the invocation id: %s", r.key);
    cr_expect(str_eqc(at(snap, "nodeStates.call.outputs.ok"), "true"), STR_FMT, STR_ARG(snap));
    cr_expect_eq(int_at(snap, "nodeStates.call.outputs.status"), 200);
    cr_expect_null(at(snap, "nodeStates.call.outputs.body").p,
                   "what is mapped stands for the body");
}

/* What the wire shows: three segments, two parameters, one host, whatever the value is. */
Test(http_node, no_value_makes_another_request) {
    static const char *const ITEMS[] = {
        "../../admin",        "a/b?c=d#e", "@169.254.169.254/",     "%2e%2e/%0d%0a",
        "file:///etc/passwd", "{{order}}", "\\\"},\\\"x\\\":{\\\"", "a&b=c d+e"};
    struct receiver *rv = receiver_start(0);
    struct posted p;
    char base[64], want[128];
    (void)snprintf(base, sizeof base, "http://127.0.0.1:%d", receiver_port(rv));
    (void)snprintf(want, sizeof want, "Host: 127.0.0.1:%d\r\n", receiver_port(rv));
    cr_assert_eq(put(with("http://127.0.0.1:PORT", base)).status, 200);
    for (size_t i = 0; i < sizeof ITEMS / sizeof *ITEMS; i++) {
        (void)run(ITEMS[i]);
        cr_assert(receiver_wait(rv, i + 1) && receiver_at(rv, i, &p), "%s", ITEMS[i]);
        unsigned slashes = 0, ands = 0;
        const char *line = strchr(p.head, '/'), *end = strstr(p.head, " HTTP/1.1\r\n");
        cr_assert(strncmp(p.head, "POST /orders/", 13) == 0 && line && end, "%s", p.head);
        for (const char *c = line; c < end; c++) slashes += *c == '/', ands += *c == '&';
        cr_expect_eq(slashes, 3u, "%s: %s", ITEMS[i], p.head);
        cr_expect_eq(ands, 1u, "%s: %s", ITEMS[i], p.head);
        cr_expect_not_null(strstr(p.head, "/lines?q="), "%s", p.head);
        cr_expect_not_null(strstr(p.head, want), "%s", p.head);
        cr_expect_eq(json_check(str_c(p.body), &JSON_LIMITS_DEFAULT, NULL), 0, "%s", p.body);
    }
    struct str snap = run("x\\r\\nInjected: 1");
    cr_expect(str_eqc(text_at(snap, "error.code"), "validation_error"), STR_FMT, STR_ARG(snap));
    cr_expect_null(strstr(text_at(snap, "error.message").p, "Injected"), "quotes no value");
    cr_expect_eq(receiver_count(rv), sizeof ITEMS / sizeof *ITEMS, "it was not sent");
    receiver_stop(rv);
}

/* The servers that misbehave for webhooks do so for a node: a code, and the host goes on. */
Test(http_node, servers_that_misbehave_fail_the_node_with_a_code) {
    static const struct {
        int act;
        const char *code;
    } rows[] = {{ACT_RESET, "unreachable"},
                {ACT_SHORT, "unreachable"},
                {ACT_ENDLESS, "response_too_large"},
                {302, "http_status"}};
    struct receiver *rv = receiver_start(0);
    char base[64];
    (void)snprintf(base, sizeof base, "http://127.0.0.1:%d", receiver_port(rv));
    cr_assert_eq(put(with("http://127.0.0.1:PORT", base)).status, 200);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        receiver_act(rv, -1, rows[i].act);
        struct str snap = run("a");
        cr_expect(str_eqc(text_at(snap, "error.code"), rows[i].code), "%d: " STR_FMT, rows[i].act,
                  STR_ARG(snap));
    }
    receiver_stop(rv);
}

Test(http_node, a_value_that_is_two_dots_does_not_step_up) {
    static const char *const DOTS[] = {"..", "."};
    for (size_t i = 0; i < 2; i++) {
        struct str snap = run(DOTS[i]);
        cr_expect(str_eqc(text_at(snap, "error.code"), "validation_error"), STR_FMT, STR_ARG(snap));
    }
    cr_expect_eq(peer_count(peer), 0u);
}

Test(http_node, statuses_and_outputs_decide_what_a_success_is) {
    peer_answer(peer, 1, 404);
    struct str snap = run("a");
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), "404 is listed: " STR_FMT,
              STR_ARG(snap));
    cr_expect_eq(int_at(snap, "nodeStates.call.outputs.status"), 404);
    peer_answer(peer, 1, 410);
    snap = run("a");
    cr_expect(str_eqc(text_at(snap, "error.code"), "http_status"), STR_FMT, STR_ARG(snap));
    cr_assert_eq(put(with("\"body.ok\"", "\"body.no.such\"")).status, 200);
    snap = run("a");
    cr_expect(str_eqc(text_at(snap, "error.code"), "response_mismatch"), STR_FMT, STR_ARG(snap));
    cr_expect_not_null(strstr(text_at(snap, "error.message").p, "\"ok\""));
    cr_assert_eq(put(with("\"success\"", "\"maxResponseBytes\": 3, \"success\"")).status, 200);
    snap = run("a");
    cr_expect(str_eqc(text_at(snap, "error.code"), "response_too_large"), STR_FMT, STR_ARG(snap));
    cr_expect_not_null(strstr(text_at(snap, "error.message").p, "longer than"), STR_FMT,
                       STR_ARG(snap));
}

Test(http_node, what_no_run_could_do_is_refused_with_its_workflow /* NODE-18 */) {
    static const struct {
        const char *old, *new, *says;
    } rows[] = {
        {"http://127.0.0.1:PORT/orders", "http://{{item}}/orders", "host"},
        {"http://127.0.0.1:PORT/orders", "{{item}}://127.0.0.1/orders", "https://"},
        {"http://127.0.0.1:PORT/orders", "file:///orders", "https://"},
        {"orders/{{item}}", "orders/{{item", "}}"},
        {"orders/{{item}}", "orders/{{1 + 2}}", "input port"},
        {"it is {{item}}", "it is {{}}", "input port"},
        {"it is {{item}}", "it is {{itme}}", "no input port"},
        {"no. {{order.lines.0.nr}}", "{{.a}}", NULL}, /* below a list of the body: at run time */
        {"\"2xx\", \"404\"", "\"6xx\"", "success"},
        {"\"body.ok\"", "\"head.ok\"", "outputs"},
        {"\"timeoutMs\": 60000", "\"method\": \"TRACE\"", "method"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].says == NULL) continue;
        struct reply r = put(with(rows[i].old, rows[i].new));
        cr_expect_eq(r.status, 400, "%s: %ld", rows[i].new, r.status);
        cr_expect_not_null(strstr(r.body.p, rows[i].says), "%s: " STR_FMT, rows[i].new,
                           STR_ARG(r.body));
    }
    cr_expect_eq(put(with("\"success\"", "\"templates\": false, \"success\"")).status, 200);
}
