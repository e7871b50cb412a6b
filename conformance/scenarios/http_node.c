/*
 * http_node.c: ours: a node that makes an HTTP request (vendor.wopr.http, an extension of this
 * host; NODE-18, IDEM-16, HOOK-16).  A host without the extension is skipped: the workflow is
 * stored by an extension as well, and the server is on the loopback of the suite, which an operator
 * has to allow (--egress-loopback).
 */
#include "suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

SCENARIO(http_node);

#define WORKFLOW "conformance-http-node"
enum { REQUESTS_MAX = 8, REQUEST_BYTES = 4096 };

/* --- a server: the first answers are errors, the rest a JSON object --- */

static struct {
    int listener, port;
    unsigned errors;
    atomic_bool over;
    atomic_uint asked;
    char requests[REQUESTS_MAX][REQUEST_BYTES];
    pthread_t thread;
} SV;

static void request_serve(int fd) {
    static const char NO[] = "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    static const char YES[] =
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        "Content-Length: 17\r\nConnection: close\r\n\r\n{\"order\":{\"n\":7}}";
    char in[REQUEST_BYTES];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ssize_t n = poll(&p, 1, 10000) > 0 ? recv(fd, in, sizeof in - 1, 0) : -1;
    if (n > 0) {
        unsigned at = atomic_load(&SV.asked);
        in[n] = '\0';
        if (at < REQUESTS_MAX) memcpy(SV.requests[at], in, (size_t)n + 1);
        (void)!send(fd, at < SV.errors ? NO : YES, at < SV.errors ? sizeof NO - 1 : sizeof YES - 1,
                    MSG_NOSIGNAL);
        atomic_fetch_add(&SV.asked, 1);
    }
    close(fd);
}

static void *server_main(void *arg) {
    (void)arg;
    while (!atomic_load(&SV.over)) {
        struct pollfd p = {.fd = SV.listener, .events = POLLIN};
        if (poll(&p, 1, 20) <= 0) continue;
        int fd = accept(SV.listener, NULL, NULL);
        if (fd >= 0) request_serve(fd);
    }
    close(SV.listener);
    return NULL;
}

static void server_start(unsigned errors) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    SV.errors = errors;
    SV.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(SV.listener, (struct sockaddr *)&a, sizeof a), 0);
    cr_assert_eq(listen(SV.listener, 16), 0);
    cr_assert_eq(getsockname(SV.listener, (struct sockaddr *)&a, &n), 0);
    SV.port = ntohs(a.sin_port);
    cr_assert_eq(pthread_create(&SV.thread, NULL, server_main, NULL), 0);
}

static void server_stop(void) {
    atomic_store(&SV.over, true);
    pthread_join(SV.thread, NULL);
}

/* The value of the key that the n-th request carried, 64 characters. */
static struct str key_of(unsigned n) {
    static const char NAME[] = "Idempotency-Key: ";
    const char *at = strstr(SV.requests[n], NAME);
    cr_assert_not_null(at, "%s", SV.requests[n]);
    at += sizeof NAME - 1;
    return (struct str){at, strcspn(at, "\r\n")};
}

/* --- the workflow --- */

/* Stored under an id of this process, as several suites may run at one host. */
static const char *workflow_put(const char *url) {
    const char *id = fmt(WORKFLOW "-%d", (int)getpid());
    const char *text =
        fmt("{\"id\":\"%s\",\"name\":\"A request\",\"version\":\"1\",\"nodes\":[{\"id\":\"call\","
            "\"typeId\":\"vendor.wopr.http\",\"name\":\"Call\",\"position\":{\"x\":0,\"y\":0},"
            "\"config\":{\"method\":\"POST\",\"url\":\"%s\",\"body\":{\"a\":\"{{a}}\"},"
            "\"outputs\":{\"n\":\"body.order.n\"}},\"inputs\":{\"a\":{\"type\":\"static\","
            "\"value\":\"b\"}},\"settings\":{\"maxRetries\":2,\"retryDelayMs\":10}}],\"edges\":[],"
            "\"triggers\":[],\"variables\":[],\"metadata\":{},\"settings\":{}}",
            id, url);
    struct reply r = ask("PUT", fmt("/v1/host/wopr/workflows/%s", id), text, NULL);
    if (r.status != 200 && r.status != 201)
        cr_skip("the host stores no workflow with a node of type vendor.wopr.http: %ld", r.status);
    return id;
}

static const char *local_workflow(void) {
    return workflow_put(fmt("http://127.0.0.1:%d/x", SV.port));
}

static bool loopback_refused(struct str snap) {
    return str_eqc(text_or_none(snap, "error.code"), "egress_refused");
}

Test(http_node, a_request_is_made_once_and_its_answer_is_mapped) {
    server_start(0);
    const char *run = create_run(local_workflow(), NULL);
    struct str snap = wait_terminal(run, lifecycle_ms());
    if (loopback_refused(snap)) cr_skip("the host sends nothing to the loopback");
    cr_assert(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_expect_eq(int_at(snap, "nodeStates.call.outputs.n"), 7);
    cr_expect_eq(atomic_load(&SV.asked), 1u);
    cr_expect_not_null(strstr(SV.requests[0], "{\"a\":\"b\"}"), "%s", SV.requests[0]);
    cr_expect_eq(key_of(0).n, 64u, "%s", SV.requests[0]);
    struct reply r =
        ask("POST", run_path(run, ":fork"), "{\"mode\":\"replay\",\"fromSeq\":0}", NULL);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *replay = arena_cstr(test_arena(), text_at(r.json, "runId"));
    snap = wait_terminal(replay, lifecycle_ms());
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_expect_eq(int_at(snap, "nodeStates.call.outputs.n"), 7);
    server_stop();
    cr_expect_eq(atomic_load(&SV.asked), 1u, "a replay asks nobody");
}

Test(http_node, an_attempt_that_failed_is_made_again_under_a_key_of_its_own) {
    server_start(1);
    const char *run = create_run(local_workflow(), NULL);
    struct str snap = wait_terminal(run, lifecycle_ms());
    if (loopback_refused(snap)) cr_skip("the host sends nothing to the loopback");
    server_stop();
    cr_assert(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_assert_eq(atomic_load(&SV.asked), 2u, "once for each attempt");
    cr_expect_not(str_eq(key_of(0), key_of(1)), "IDEM-16: a key is one of an attempt");
    cr_expect_eq(count_of(json_events(run), "node.retried"), 1u);
}

Test(http_node, an_address_of_a_private_network_is_refused) {
    const char *run = create_run(workflow_put("http://10.255.255.1/x"), NULL);
    struct str snap = wait_terminal(run, lifecycle_ms());
    cr_expect(str_eqc(text_at(snap, "status"), "failed"), STR_FMT, STR_ARG(snap));
    cr_expect(loopback_refused(snap), STR_FMT, STR_ARG(snap));
    cr_expect_eq(count_of(json_events(run), "node.retried"), 0u, "another attempt helps nothing");
}
