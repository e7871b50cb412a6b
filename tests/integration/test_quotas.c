/*
 * test_quotas.c: what one run and one tenant may take, seen from outside (S6, S7): refusals say
 * which bound was met and lose nothing, and a run can always be read.
 */
#include "interrupt_kit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct server sv;
static void down(void) { server_end(&sv); }

static void up(void) { server_start(&sv, NULL); }
TestSuite(quotas, .init = up, .fini = down, .timeout = 300);

/* before, n times q, after */
static const char *long_text(const char *before, size_t n, const char *after) {
    size_t head = strlen(before), tail = strlen(after);
    char *p = arena_alloc(test_arena(), head + n + tail + 1);
    memcpy(p, before, head);
    memset(p + head, 'q', n);
    memcpy(p + head + n, after, tail + 1);
    return p;
}

/* 75 times this much made the run unreadable. */
Test(quotas, questions_without_a_credential_cannot_make_a_run_unreadable /* S7 */) {
    put_gate(&sv, "asked", "\"title\":\"T\",\"actions\":[\"accept\",\"ask\"]");
    const char *run = create_run(&sv, "asked", NULL);
    wait_status(&sv, run, "waiting-approval");
    struct str token = token_of(&sv, run);
    const char *big =
        long_text("{\"resumeValue\":{\"action\":\"ask\",\"question\":\"", 900000, "\"}}");
    struct reply r = by_token(&sv, "POST", token, big);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    for (int i = 0; i < 3; i++) {
        r = by_token(&sv, "POST", token, big);
        expect_error(&r, 409, "conflict");
        cr_expect(strstr(r.body.p, "decide it") != NULL, STR_FMT, STR_ARG(r.body));
    }
    r = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    cr_expect_eq(r.status, 200);
    cr_expect_lt(r.body.n, 2000000u);
    cr_expect_eq(by_token(&sv, "POST", token, ACCEPT).status, 200, "nothing is lost");
    wait_terminal(&sv, run);
}

/* Writes of its nodes end where a snapshot does. */
Test(quotas, a_run_shows_all_its_values_or_fails_for_them /* S6, S7 */) {
    const char *path = fmt("%s/big.json", sv.dir);
    const char *const args[] = {"workflow", "put", path, NULL};
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f, "{\"id\":\"big\",\"name\":\"B\",\"version\":\"1\",\"nodes\":[");
    for (int i = 0; i < 20; i++)
        fprintf(f,
                "%s{\"id\":\"n%d\",\"typeId\":\"core.setVariable\",\"name\":\"n\",\"position\":"
                "{\"x\":0,\"y\":0},\"config\":{\"name\":\"v%d\"},\"inputs\":{\"value\":{\"type\":"
                "\"variable\",\"variableName\":\"x\"}}}",
                i ? "," : "", i, i);
    fprintf(f, "],\"edges\":[");
    for (int i = 0; i < 19; i++)
        fprintf(f, "%s{\"id\":\"e%d\",\"sourceNodeId\":\"n%d\",\"targetNodeId\":\"n%d\"}",
                i ? "," : "", i, i, i + 1);
    fprintf(f, "],\"triggers\":[],\"variables\":[{\"name\":\"x\",\"type\":\"string\"}],"
               "\"metadata\":{},\"settings\":{}}");
    fclose(f);
    (void)wopr(&sv, args);
    const char *run = create_run(&sv, "big", long_text("\"inputs\":{\"x\":\"", 900000, "\"}"));
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "failed"));
    cr_expect(str_eqc(text_at(snap, "error.code"), "run_state_limit_exceeded"), "%.300s",
              text_at(snap, "error.message").p);
    cr_expect_gt(snap.n, 10000000u, "what it had is shown");
}

static void up_small_tenants(void) {
    static const char *const args[] = {"--tenant-bytes-max", "20000", "--tenant-runs-active-max",
                                       "2", NULL};
    server_start(&sv, args);
}
TestSuite(quotas_tenant, .init = up_small_tenants, .fini = down, .timeout = 300);

static struct reply create(const char *const *headers) {
    return ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", headers);
}

static void expect_quota(const struct reply *r, const char *setting) {
    expect_error(r, 429, "rate_limited");
    cr_expect(str_eqc(text_at(r->body, "details.scope"), "tenant"), STR_FMT, STR_ARG(r->body));
    cr_expect(strstr(r->body.p, setting) != NULL, STR_FMT, STR_ARG(r->body));
    cr_expect(header(r, "Retry-After").n > 0);
}

Test(quotas_tenant, the_bytes_of_one_tenant_do_not_touch_another /* S7, ERR-8 */) {
    const char *const other[] = {key_with(&sv, "all", "beta"), NULL};
    struct reply r = create(NULL);
    const char *run = arena_cstr(test_arena(), text_at(r.body, "runId"));
    wait_terminal(&sv, run);
    int n = 0;
    for (; n < 200 && r.status == 201; n++) r = create(NULL);
    cr_expect(n > 5 && n < 100, "%d", n);
    expect_quota(&r, "tenant-bytes-max");
    struct reply fork = {.status = 201};
    for (n = 0; n < 200 && fork.status == 201; n++) { /* what they inherit is paid for already */
        fork = ask(&sv, "POST", fmt("/v1/runs/%s:fork", run), "{\"mode\":\"branch\",\"fromSeq\":2}",
                   NULL);
        if (fork.status == 201)
            wait_terminal(&sv, arena_cstr(test_arena(), text_at(fork.body, "runId")));
    }
    expect_quota(&fork, "tenant-bytes-max");
    cr_expect_eq(create(other).status, 201);
    cr_expect_eq(ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).status, 200);
    server_kill(&sv); /* the sum is in the file */
    server_again(&sv);
    r = create(NULL);
    expect_quota(&r, "tenant-bytes-max");
    cr_expect_eq(create(other).status, 201);
}

Test(quotas_tenant, the_runs_of_one_tenant_leave_room_for_another /* S7 */) {
    const char *const other[] = {key_with(&sv, "all", "beta"), NULL};
    const char *body = "{\"workflowId\":\"conformance-cancellable\"}";
    for (int i = 0; i < 2; i++)
        wait_status(&sv, create_run(&sv, "conformance-cancellable", NULL), "running");
    struct reply r = ask(&sv, "POST", "/v1/runs", body, NULL);
    expect_quota(&r, "tenant-runs-active-max");
    cr_expect_eq(ask(&sv, "POST", "/v1/runs", body, other).status, 201);
}

static void up_few_streams(void) {
    static const char *const args[] = {"--tenant-streams-max", "2", NULL};
    server_start(&sv, args);
}
TestSuite(quotas_streams, .init = up_few_streams, .fini = down, .timeout = 300);

/* A stream that stays open, by key or by the host's own; *status of its answer. */
static int stream_open(const char *run, const char *authorization, int *status) {
    char head[2048];
    size_t n = 0;
    const char *q = fmt("GET /v1/runs/%s/events HTTP/1.1\r\nHost: x\r\n%s\r\n"
                        "Accept: text/event-stream\r\n\r\n",
                        run, authorization);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)sv.port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    cr_assert_eq(send(fd, q, strlen(q), MSG_NOSIGNAL), (ssize_t)strlen(q));
    const int64_t end = now_ms() + WAIT_MS;
    head[0] = '\0';
    while (!strstr(head, "\r\n") && n + 1 < sizeof head && now_ms() < end) {
        struct pollfd p = {fd, POLLIN, 0};
        ssize_t got = poll(&p, 1, 50) > 0 ? recv(fd, head + n, sizeof head - 1 - n, 0) : 0;
        if (got > 0) n += (size_t)got;
        head[n] = '\0';
    }
    *status = n > 12 ? (int)strtol(head + 9, NULL, 10) : 0;
    return fd;
}

Test(quotas_streams, of_one_tenant_leave_those_of_others /* S7, ERR-8, PROF-14 */) {
    const char *const sse[] = {"Accept: text/event-stream", NULL};
    const char *mine = fmt("Authorization: Bearer %s", sv.key),
               *other = key_with(&sv, "all", "beta");
    const char *const of_other[] = {other, NULL};
    const char *body = "{\"workflowId\":\"conformance-cancellable\"}";
    const char *run = create_run(&sv, "conformance-cancellable", NULL);
    int fd[3], status;
    for (int i = 0; i < 2; i++) {
        fd[i] = stream_open(run, mine, &status);
        cr_assert_eq(status, 200);
    }
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s/events", run), NULL, sse);
    expect_quota(&r, "tenant-streams-max");
    cr_expect_eq(int_at(r.body, "details.limit"), 2, STR_FMT, STR_ARG(r.body));
    cr_expect_eq(ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).status, 200, "no stream");
    r = ask(&sv, "POST", "/v1/runs", body, of_other);
    cr_assert_eq(r.status, 201);
    fd[2] = stream_open(arena_cstr(test_arena(), text_at(r.body, "runId")), other, &status);
    cr_expect_eq(status, 200, "of another tenant");
    close(fd[0]);
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(20)) { /* until it is noticed */
        fd[0] = stream_open(run, mine, &status);
        if (status == 200) break;
        close(fd[0]);
    }
    cr_expect_eq(status, 200, "there is room again");
    for (int i = 0; i < 3; i++) close(fd[i]);
}

static void up_limited_tenants(void) {
    static const char *const args[] = {"--tenant-rate", "1", "--tenant-burst", "40", NULL};
    server_start(&sv, args);
}
TestSuite(quotas_rate, .init = up_limited_tenants, .fini = down, .timeout = 300);

Test(quotas_rate, all_keys_of_a_tenant_share_a_rate_that_others_do_not_feel /* AUTH-12, ERR-8 */) {
    const char *const second[] = {key_with(&sv, "all", "alpha"), NULL};
    const char *const third[] = {key_with(&sv, "all", "alpha"), NULL};
    const char *const other[] = {key_with(&sv, "all", "beta"), NULL};
    struct reply r = {.status = 200};
    int n = 0;
    for (; n < 2000 && r.status == 200; n++)
        r = ask(&sv, "GET", "/v1/runs", NULL, n % 2 ? second : third);
    expect_error(&r, 429, "rate_limited");
    cr_expect_geq(n, 40);
    cr_expect(str_eqc(text_at(r.body, "details.scope"), "tenant"), STR_FMT, STR_ARG(r.body));
    cr_expect(header(&r, "Retry-After").n > 0);
    cr_expect_eq(ask(&sv, "GET", "/v1/runs", NULL, other).status, 200);
    for (n = 0; n < WAIT_MS && r.status == 429; n += 100) { /* and then it may again */
        nap_ms(100);
        r = ask(&sv, "GET", "/v1/runs", NULL, second);
    }
    cr_expect_eq(r.status, 200);
}
