/*
 * test_http_seams.c: where two parts of the server meet: bounds and descriptors, half-closed
 * clients and parked calls, eviction and what was not read yet, streams and the budget of bytes.
 */
#include "base/mem.h"
#include "http/server.h"
#include "http_world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

enum { WAIT_MS = 60000 };

TestSuite(http_seams, .fini = world_down, .timeout = 300);

static void nap(void) { nanosleep(&(struct timespec){0, 2000000}, NULL); }

static bool count_is(const atomic_int *what, int n) {
    for (uint64_t end = clock_mono_ms() + WAIT_MS; clock_mono_ms() < end; nap())
        if (atomic_load(what) == n) return true;
    return false;
}
static bool held(enum share_kind kind, size_t n) {
    for (uint64_t end = clock_mono_ms() + WAIT_MS; clock_mono_ms() < end; nap())
        if (shares_total(&W.server->shares, kind) == n) return true;
    return false;
}

static struct client *open_get(const char *target) {
    struct client *c = dial();
    say(c, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", target, bearer());
    return c;
}

/* ------------------------------------------------------------------------------ bounds */

static void more_than_fits(struct http_config *cfg) {
    cfg->connections_max = 1000;
    cfg->streams_max = 1000;
}

Test(http_seams, the_limit_of_open_files_lowers_the_bound_of_streams_that_is_in_force) {
    struct rlimit tight = {256, 256};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
    world_up(more_than_fits);
    cr_expect_lt(W.server->cfg.streams_max, 256);
    cr_expect_eq(W.server->shares.limit[SHARE_STREAMS], W.server->cfg.streams_max);
}

/* ------------------------------------------------------------------------------ half-close */

static void long_gate(struct http_config *cfg) { cfg->idem.wait_ms = 60000; }

Test(http_seams, a_poll_whose_client_sends_no_more_is_answered_at_once /* HTTP-15, SSE-39 */) {
    char target[96];
    world_up(NULL);
    int64_t no = world_run("r");
    snprintf(target, sizeof target, "/v1/runs/r/events/poll?no=%lld&ms=60000", (long long)no);
    struct client *parked = open_get(target);
    cr_assert(held(SHARE_POLLS, 1));
    shutdown(parked->fd, SHUT_WR);
    struct client *never = open_get(target); /* its end comes with the request */
    shutdown(never->fd, SHUT_WR);
    struct client *both[] = {parked, never};
    for (size_t i = 0; i < 2; i++) {
        cr_assert(hear(both[i]), "client %zu", i);
        cr_expect_eq(both[i]->status, 200, "%zu: %d", i, both[i]->status);
        cr_expect(is_closed(both[i]), "and then the end");
        hang_up(both[i]);
    }
    cr_expect(held(SHARE_POLLS, 0));
    cr_expect(held(SHARE_REQUESTS, 0));
}

Test(http_seams, a_duplicate_whose_client_sends_no_more_is_told_that_it_is_one /* IDEM-11 */) {
    struct client *v[2];
    world_up(long_gate);
    for (size_t i = 0; i < 2; i++) {
        v[i] = dial();
        say(v[i], "POST /v1/later HTTP/1.1\r\nHost: x\r\n%s", bearer());
        say(v[i], "Idempotency-Key: k\r\nContent-Length: 0\r\n\r\n");
        if (i == 0) cr_assert(count_is(&W.waiting, 1));
    }
    cr_assert(held(SHARE_REQUESTS, 2));
    shutdown(v[1]->fd, SHUT_WR);
    cr_assert(hear(v[1]));
    cr_expect_eq(v[1]->status, 409);
    world_open();
    cr_assert(hear(v[0]));
    cr_expect_eq(v[0]->status, 201);
    hang_up(v[0]);
    hang_up(v[1]);
}

/* ------------------------------------------------------------------------------ eviction */

static void one_of_one_loop(struct http_config *cfg) {
    cfg->connections_max = 1;
    cfg->threads = 1;
}

/* Whoever is closed for a newcomer may send its request again, so it must not be executed. */
Test(http_seams, of_an_evicted_connection_nothing_is_executed /* PROF-14 */) {
    enum { ROUNDS = 300 };
    int answered = 0;
    world_up(one_of_one_loop);
    for (int i = 0; i < ROUNDS; i++) {
        struct client *idle = dial();
        say(idle, "GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n");
        cr_assert(hear(idle));
        say(idle, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 2\r\n\r\n{}", bearer());
        struct client *next = dial(); /* often one turn finds both */
        answered += hear(idle) && idle->status == 201;
        hang_up(idle);
        hang_up(next);
    }
    cr_expect_eq(atomic_load(&W.executed), answered);
}

/* ------------------------------------------------------------------------------ streams */

static void one_mib(struct http_config *cfg) { cfg->memory_bytes = 1024 * 1024; }

Test(http_seams, a_finished_run_without_room_to_render_it_is_503 /* ERR-9 */) {
    static const struct seed LOG[] = {
        {EV_RUN_STARTED, NULL}, {EV_VARIABLE_CHANGED, NULL}, {EV_VARIABLE_CHANGED, NULL}};
    char target[96];
    world_up(one_mib);
    int64_t no = world_run("r");
    world_append(no, "r", 0, LOG, sizeof LOG / sizeof LOG[0]);
    snprintf(target, sizeof target, "/v1/runs/r/state?no=%lld&n=600000&final=1", (long long)no);
    struct client *c = open_get(target);
    cr_assert(hear(c));
    cr_expect_eq(c->status, 503, "%d", c->status);
    cr_expect(body_has(c, "memory-bytes"));
    cr_expect_not_null(header_of(c, "Retry-After"));
    hang_up(c);
    cr_expect(held(SHARE_BYTES, 0));
    cr_expect(held(SHARE_STREAMS, 0));
}
