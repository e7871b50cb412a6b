/*
 * stale_claim.c: public scenario staleClaim (STORE-30 to STORE-38; H9): host A is killed in the
 * middle of a run, host B on the same file and with another key finishes it.
 * Starts its own hosts: OPENWOP_STALE_CLAIM_PROGRAM names the program (with the one argument
 * "serve"), configured by environment only; main.c sets it when the suite starts its own host.
 */
#include "suite.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READY_MS = 20000, STOP_MS = 10000, LOOK_MS = 200, DEAD_MS = 3000, FINISH_MS = 15000 };

SCENARIO(stale_claim);

struct claimant {
    pid_t pid;
    char base[64], auth[128];
};

/* A port that was free a moment ago. */
static int free_port(void) {
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&a, &n), 0);
    close(fd);
    return ntohs(a.sin_port);
}

static void become(const char *program, const char *port, const char *key, const char *db) {
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    setenv("OPENWOP_HOST", "127.0.0.1", 1);
    setenv("OPENWOP_PORT", port, 1);
    setenv("OPENWOP_API_KEY", key, 1);
    setenv("OPENWOP_SQLITE_PATH", db, 1);
    setenv("OPENWOP_CLAIM_TTL_MS", "2000", 1);
    setenv("OPENWOP_HEARTBEAT_INTERVAL_MS", "500", 1);
    setenv("OPENWOP_CONFORMANCE_SEED", "true", 1);
    execl(program, program, "serve", (char *)NULL);
    _exit(127);
}

static bool answers(const struct claimant *c) { /* a request that may find nobody there */
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), port = 0;
    cr_assert_eq(sscanf(c->base, "http://127.0.0.1:%d", &port), 1);
    a.sin_port = htons((uint16_t)port);
    bool up = fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0) close(fd);
    return up;
}

static void start(struct claimant *c, const char *key, const char *db) {
    const char *program = env("OPENWOP_STALE_CLAIM_PROGRAM");
    int port = free_port();
    const char *text = fmt("%d", port);
    pid_t parent = getpid();
    snprintf(c->base, sizeof c->base, "http://127.0.0.1:%d", port);
    snprintf(c->auth, sizeof c->auth, "Authorization: Bearer %s", key);
    c->pid = fork();
    cr_assert(c->pid >= 0);
    if (c->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(126);
        become(program, text, key, db);
    }
    for (int64_t end = now_ms() + READY_MS; now_ms() < end; nap_ms(LOOK_MS)) {
        if (!answers(c)) continue;
        struct reply r = ask_base(c->base, "GET", "/.well-known/openwop", NULL, NO_AUTH);
        if (r.status == 200) return;
    }
    cr_assert_fail("the host did not answer in time");
}

static struct str run_at(const struct claimant *c, const char *run) {
    const char *headers[] = {c->auth, NULL};
    struct reply r = ask_base(c->base, "GET", fmt("/v1/runs/%s", run), NULL, headers);
    cr_assert_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    return r.json;
}

static void wait_for(const struct claimant *c, const char *run, const char *status, int ms) {
    for (int64_t end = now_ms() + ms; now_ms() < end; nap_ms(LOOK_MS))
        if (str_eqc(text_at(run_at(c, run), "status"), status)) return;
    cr_assert_fail("the run did not become %s", status);
}

static void clear_away(const char *dir) {
    static const char *const names[] = {"w.db", "w.db-wal", "w.db-shm", "w.db.lock"};
    for (size_t i = 0; i < COUNT(names); i++) unlink(fmt("%s/%s", dir, names[i]));
    rmdir(dir);
}

Test(stale_claim, another_host_finishes_the_run_of_a_killed_one) {
    if (env("OPENWOP_STALE_CLAIM_PROGRAM") == NULL)
        cr_skip("OPENWOP_STALE_CLAIM_PROGRAM names no program to start");
    const char *tmp = env("TMPDIR");
    char dir[256];
    struct claimant a, b;
    int status;
    snprintf(dir, sizeof dir, "%s/wopr-stale-claim-XXXXXX", tmp != NULL ? tmp : "/tmp");
    cr_assert_not_null(mkdtemp(dir));
    const char *db = fmt("%s/w.db", dir);
    start(&a, "openwop-stale-claim-A", db);
    const char *headers[] = {a.auth, "Content-Type: application/json", NULL};
    struct reply r = ask_base(
        a.base, "POST", "/v1/runs",
        "{\"workflowId\":\"conformance-cancellable\",\"inputs\":{\"delayMs\":5000}}", headers);
    cr_assert_eq(r.status, 201, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    const char *run = arena_cstr(test_arena(), text_at(r.json, "runId"));
    wait_for(&a, run, "running", 5000);
    kill(a.pid, SIGKILL);
    cr_assert_eq(waitpid(a.pid, &status, 0), a.pid);
    nap_ms(DEAD_MS); /* as the public scenario does: its claim is stale by then */
    start(&b, "openwop-stale-claim-B", db);
    wait_for(&b, run, "completed", FINISH_MS);
    const char *auth[] = {b.auth, NULL};
    r = ask_base(b.base, "GET", fmt("/v1/runs/%s/events/poll", run), NULL, auth);
    cr_assert_eq(r.status, 200);
    struct json_elements ev = list_at(r.json, "events");
    cr_expect_eq(count_of(ev, "run.resumed"), 1u, STR_FMT, STR_ARG(r.body));
    cr_expect_eq(count_of(ev, "run.started"), 1u);
    cr_expect_eq(count_of(ev, "node.completed"), 1u);
    kill(b.pid, SIGTERM);
    pid_t ended = 0;
    for (int64_t end = now_ms() + STOP_MS; ended == 0 && now_ms() < end; nap_ms(LOOK_MS))
        ended = waitpid(b.pid, &status, WNOHANG);
    cr_expect(ended == b.pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    clear_away(dir);
}
