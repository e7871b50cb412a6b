/*
 * test_worker_claims.c: claims that wait in great numbers, whose clients leave (WRK-11, WRK-24).
 */
#include "harness.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLAIMS = 300, BESIDE = 3, ROUNDS = 5 };
#define TYPE  "acme.claims"
#define TASKS "/v1/host/wopr/tasks"

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(worker_claims, .init = up, .fini = down, .timeout = 300);

static void workflow_put(void) {
    const char *path = fmt("%s/w.json", sv.dir);
    const char *const args[] = {"workflow", "put", path, NULL};
    struct reply r =
        ask(&sv, "POST", "/v1/host/wopr/worker-types", "{\"typeId\":\"" TYPE "\"}", NULL);
    struct str err = STR_NONE;
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(
        f,
        "{\"id\":\"w\",\"name\":\"W\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\",\"typeId\":\"" TYPE
        "\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},\"config\":{},\"inputs\":{}}],"
        "\"edges\":[],\"triggers\":[],\"variables\":[],\"metadata\":{},\"settings\":{}}");
    fclose(f);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_assert_eq(program(&sv, args, NULL, &err), 0, STR_FMT, STR_ARG(err));
}

/* A connection that has sent this and not read its answer. */
static int sent(const char *path, const char *body) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)sv.port)};
    const char *text = fmt("POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                           "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                           path, TEST_KEY, strlen(body), body);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert(fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0);
    cr_assert_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
    return fd;
}

static void wait_claims(int nr) {
    struct server ops = sv;
    ops.port = sv.ops_port;
    snprintf(ops.base, sizeof ops.base, "http://127.0.0.1:%d", sv.ops_port);
    const char *line = fmt("\nwopr_task_claims_waiting %d\n", nr);
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(10))
        if (strstr(ask(&ops, "GET", "/metrics", NULL, NULL).body.p, line)) return;
    cr_assert_fail("there are never %d claims that wait", nr);
}

static void claims_leave(void) {
    int fds[CLAIMS], runs[BESIDE];
    for (int i = 0; i < CLAIMS; i++)
        fds[i] =
            sent(TASKS ":claim", "{\"types\":[\"" TYPE "\"],\"waitMs\":60000,\"leaseMs\":3600000}");
    wait_claims(CLAIMS);
    server_freeze(&sv);
    for (int i = 0; i < BESIDE; i++) runs[i] = sent("/v1/runs", "{\"workflowId\":\"w\"}");
    for (int i = CLAIMS; i-- > 0;)
        close(fds[i]); /* the one that is woken first is the last to go */
    server_thaw(&sv);
    for (int i = 0; i < BESIDE; i++) {
        struct reply r =
            ask(&sv, "POST", TASKS ":claim", "{\"types\":[\"" TYPE "\"],\"waitMs\":20000}", NULL);
        cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
        cr_assert_eq(elements_of(at(r.body, "tasks")).n, 1u, "a client that has left has task %d",
                     i);
    }
    for (int i = 0; i < BESIDE; i++) close(runs[i]);
}

/* The host sees the wake and the end of the connections at once; which of them first is chance. */
Test(worker_claims, no_task_is_given_to_a_client_that_has_left /* WRK-11 */) {
    workflow_put();
    for (int i = 0; i < ROUNDS; i++) claims_leave();
}
