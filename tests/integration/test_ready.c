/*
 * test_ready.c: the operations listener says when the host cannot store anything (HTTP-2): a limit
 * on the size of files stands for the full disk, put on the running process and taken away again.
 */
#define _GNU_SOURCE /* prlimit */
#include "harness.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

enum { FAILURES = 3 }; /* in a row, then the host is not ready */

static struct server sv, ops;
static const char *const NO_AUTH[] = {"Authorization:", NULL};

static void up(void) {
    signal(SIGXFSZ, SIG_IGN); /* inherited: a write beyond the limit is an error only */
    server_start(&sv, NULL);
    ops = sv;
    snprintf(ops.base, sizeof ops.base, "http://127.0.0.1:%d", sv.ops_port);
}
static void down(void) { server_end(&sv); }
TestSuite(ready, .init = up, .fini = down, .timeout = 300);

static struct rlimit disk(struct rlimit to) {
    struct rlimit was;
    cr_assert_eq(prlimit(sv.pid, RLIMIT_FSIZE, &to, &was), 0);
    return was;
}

static long ready(void) { return ask(&ops, "GET", "/readyz", NULL, NO_AUTH).status; }

static long create(void) {
    return ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", NULL).status;
}

Test(ready, a_host_that_cannot_commit_is_not_ready_until_it_can /* HTTP-2, STORE-12 */) {
    cr_expect_eq(create(), 201);
    cr_expect_eq(ready(), 200);
    struct rlimit was = disk((struct rlimit){.rlim_cur = 0, .rlim_max = RLIM_INFINITY});
    for (int i = 0; i < FAILURES; i++) cr_expect_geq(create(), 500);
    cr_expect_eq(ready(), 503);
    cr_expect_eq(ask(&ops, "GET", "/healthz", NULL, NO_AUTH).status, 200, "it lives");
    disk(was);
    cr_expect_eq(create(), 201);
    cr_expect_eq(ready(), 200);
}
