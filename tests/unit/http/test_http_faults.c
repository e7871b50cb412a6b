/*
 * test_http_faults.c: every socket call of the server fails in its turn.  It costs one connection
 * at most: the next one is served, and nothing stays counted.
 */
#include "base/fault.h"
#include "http/server.h"
#include "http_world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MS = 60000, ROUNDS_MAX = 500 };

static void faults_down(void) {
    fault_disarm();
    world_down();
}

TestSuite(http_listen, .fini = fault_disarm, .timeout = 300);
TestSuite(http_faults, .fini = faults_down, .timeout = 300);

static void nap(void) { nanosleep(&(struct timespec){0, 2000000}, NULL); }

static bool connections_are(unsigned n) {
    for (uint64_t end = clock_mono_ms() + WAIT_MS; clock_mono_ms() < end; nap())
        if (atomic_load(&W.server->conns.open) == n) return true;
    return false;
}

Test(http_listen, listening_succeeds_with_a_port_or_says_why /* HTTP-1 */) {
    unsigned failed = 0, n = 1;
    for (; fault_arm(1u << FAULT_NET, n); n++) {
        struct wopr_error err = {0};
        uint16_t port = 0;
        int fd = -1, rc = listen_on("127.0.0.1", 0, &fd, &port, &err);
        fault_disarm();
        if (rc == 0) {
            cr_expect_neq(port, 0, "call %u", n);
            cr_expect_eq(close(fd), 0);
            continue;
        }
        failed++;
        cr_expect_eq(rc, WOPR_E_IO, "call %u", n);
        cr_expect(strstr(err.message, "127.0.0.1") != NULL, "call %u: %s", n, err.message);
    }
    cr_expect_geq(failed, 4, "look-up, socket, listen, own address: %u of %u", failed, n);
}

static void with_operations(struct http_config *cfg) { cfg->ops_port = 0; }

/* One request, one live stream up to the end of its run, one request that leaves its body unread,
 * one at the operations listener. */
static void requests_go(unsigned round) {
    static const struct seed seeds[] = {{EV_RUN_STARTED, NULL}, {EV_RUN_COMPLETED, NULL}};
    char target[96], run_id[16];
    snprintf(run_id, sizeof run_id, "r%u", round);
    const int64_t run_no = world_run(run_id);
    struct client *c = dial();
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\n", bearer());
    say(c, "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}");
    (void)hear(c);
    hang_up(c);
    snprintf(target, sizeof target, "/v1/runs/%s/events?no=%lld", run_id, (long long)run_no);
    c = dial();
    say(c, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", target, bearer());
    bool streams = hear_head(c);
    world_append(run_no, run_id, 0, seeds, 2);
    if (streams) (void)hear_end(c);
    hang_up(c);
    c = dial();
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\nabc");
    (void)hear(c);
    hang_up(c);
    c = dial_port(http_server_ops_port(W.server));
    say(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    (void)hear(c);
    hang_up(c);
}

Test(http_faults, a_socket_call_that_fails_costs_one_connection /* HTTP-22 */) {
    unsigned n = 1;
    world_up(with_operations);
    requests_go(0);
    for (; n < ROUNDS_MAX && fault_arm(1u << FAULT_NET, n); n++) {
        requests_go(n);
        bool fired = fault_fired();
        fault_disarm();
        struct client *c = ask("GET", "/v1/runs/r0", bearer(), NULL);
        cr_expect_eq(c->status, 200, "after call %u", n);
        hang_up(c);
        if (!fired) break;
    }
    cr_expect_gt(n, 12, "socket calls met: %u", n);
    cr_expect_lt(n, ROUNDS_MAX);
    cr_expect(connections_are(0));
    cr_expect_eq(atomic_load(&W.server->exchanges.open), 0);
}
