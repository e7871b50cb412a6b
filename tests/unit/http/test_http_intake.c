/*
 * test_http_intake.c: what stands before libmicrohttpd, over real sockets: framing, refusals,
 * endings, deadlines and bounds of connections.
 */
#include "base/mem.h"
#include "http/server.h"
#include "http_world.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

static void up(void) { world_up(NULL); }

TestSuite(http_intake, .init = up, .fini = world_down, .timeout = 300);

static bool within(int ms, atomic_uint *v, unsigned want) {
    for (uint64_t end = clock_mono_ms() + (uint64_t)ms; clock_mono_ms() < end; sched_yield())
        if (atomic_load(v) == want) return true;
    return atomic_load(v) == want;
}

static const char PING[] = "GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n";

static void expect_ping(struct client *c, const char *what) {
    say_bytes(c, PING, sizeof PING - 1);
    cr_assert(hear(c), "%s", what);
    cr_expect_eq(c->status, 200, "%s: %d", what, c->status);
}

static void expect_alive(const char *what) {
    struct client *c = dial();
    expect_ping(c, what);
    hang_up(c);
}

/* ------------------------------------------------------------------------------ heads */

static const struct {
    const char *what, *text;
    size_t n;
    int status;
} HEADS[] = {
#define HEAD_ROW(what, text, status) {what, text, sizeof(text) - 1, status},
#include "heads.def"
#undef HEAD_ROW
};

/* One answer in the envelope, and then the end of the connection without another byte. */
static void expect_refused(struct client *c, int status, const char *what) {
    cr_assert(hear(c), "%s", what);
    cr_expect_eq(c->status, status, "%s: %d", what, c->status);
    const char *type = header_of(c, "Content-Type");
    cr_expect(type && strcmp(type, "application/json") == 0, "%s", what);
    const char *version = header_of(c, "OpenWOP-Version");
    cr_expect(version && strcmp(version, "1.0") == 0, "%s", what);
    const char *connection = header_of(c, "Connection");
    cr_expect(connection && strcmp(connection, "close") == 0, "%s", what);
    cr_expect(body_has(c, "{\"error\":"), "%s", what);
    cr_expect(is_closed(c), "%s: nothing after the answer", what);
}

Test(http_intake, refused_heads_get_one_envelope_and_the_end /* ERR-1, HTTP-1, HTTP-7 */) {
    for (size_t i = 0; i < sizeof HEADS / sizeof HEADS[0]; i++) {
        struct client *c = dial();
        say_bytes(c, HEADS[i].text, HEADS[i].n);
        if (HEADS[i].status != 0) expect_refused(c, HEADS[i].status, HEADS[i].what);
        else {
            cr_assert(hear(c), "%s", HEADS[i].what);
            cr_expect_eq(c->status, 200, "%s: %d", HEADS[i].what, c->status);
        }
        hang_up(c);
    }
    cr_expect_eq(atomic_load(&W.executed), 0);
}

static void cors(struct http_config *cfg) {
    static const char *const ORIGINS[] = {"https://ui.example", NULL};
    cfg->cors_origins = ORIGINS;
}

Test(http_intake_cfg, a_browser_may_read_why_its_head_was_refused /* HTTP-18 */, .timeout = 300) {
    world_up(cors);
    struct client *c = ask("GET", "/v1/ping", "Origin: https://ui.example\r\nHost: y\r\n", NULL);
    cr_expect_eq(c->status, 400);
    const char *allowed = header_of(c, "Access-Control-Allow-Origin");
    cr_expect(allowed && strcmp(allowed, "https://ui.example") == 0);
    hang_up(c);
    world_down();
}

Test(http_intake, parameters_and_cookies_cannot_exhaust_anything /* HTTP-11 */) {
    struct buf b;
    buf_init(&b, 1 << 20);
    for (int round = 0; round < 200; round++) {
        struct client *c = dial();
        buf_reset(&b);
        buf_addz(&b, "GET /v1/ping?");
        for (int i = 0; i < 200; i++) buf_addz(&b, round % 2 ? "&" : "a=b&");
        buf_addz(&b, " HTTP/1.1\r\nHost: x\r\nCookie: ");
        for (int i = 0; i < 500; i++) buf_addz(&b, "c=d; ");
        buf_addz(&b, "\r\n\r\n");
        say_bytes(c, b.p, b.len);
        cr_assert(hear(c));
        cr_expect_eq(c->status, 400, "too many parameters: %d", c->status);
        hang_up(c);
    }
    buf_fini(&b);
    for (uint64_t end = clock_mono_ms() + WORLD_WAIT_MS;
         atomic_load(&W.server->exchanges.open) > 0 && clock_mono_ms() < end;)
        sched_yield();
    cr_expect_eq(atomic_load(&W.server->exchanges.open), 0, "refused heads leak no exchange");
}

Test(http_intake, whatever_head_is_accepted_has_room_for_its_answer /* HTTP-15 */) {
    static char request[16 * 1024];
    static const size_t BYTES[] = {1, 40, 70, 140};
    for (size_t k = 0; k < 4; k++) {
        size_t n = (size_t)snprintf(request, sizeof request,
                                    "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%s", bearer());
        for (int i = 0; i < 80; i++)
            n += (size_t)snprintf(request + n, sizeof request - n, "X-%d: %0*d\r\n", i,
                                  (int)BYTES[k], 0);
        n += (size_t)snprintf(request + n, sizeof request - n, "Content-Length: 2\r\n\r\n{}");
        struct client *c = dial();
        say_bytes(c, request, n);
        cr_assert(hear(c));
        cr_expect_eq(c->status, 201, "80 headers of %zu bytes: %d", BYTES[k], c->status);
        hang_up(c);
    }
    cr_expect_eq(atomic_load(&W.executed), 4);
}

Test(http_intake, the_target_names_the_host_and_a_broken_one_never_gets_into_a_url /* RUN-4 */) {
    struct client *c = dial();
    say(c, "GET http://localhost:81/v1/runs/r HTTP/1.1\r\nHost: other\r\n%s\r\n", bearer());
    cr_assert(hear(c));
    cr_expect(body_has(c, "\"base\":\"http://localhost:81\""), "%s", c->body.p);
    hang_up(c);
}

/* ------------------------------------------------------------------------------ splits */

static struct str four_requests(struct buf *b) {
    buf_addf(b,
             "GET /v1/runs/a HTTP/1.1\r\nHost: x\r\n%s\r\n"
             "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 9\r\n\r\n{\"c\":\"c\"}"
             "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sTransfer-Encoding: chunked\r\n\r\n"
             "4;x\r\n{\"d\"\r\n3\r\n:1}\r\n0\r\nT: r\r\n\r\n"
             "\r\nGET /v1/runs/b HTTP/1.1\r\nHost: x\r\n%s\r\n",
             bearer(), bearer(), bearer(), bearer());
    return buf_str(b);
}

static void expect_four(struct client *c, const char *how, size_t at) {
    static const char *const WANT[] = {"\"id\":\"a\"", "{\"c\":\"c\"}", "{\"d\":1}",
                                       "\"id\":\"b\""};
    for (size_t i = 0; i < 4; i++) {
        cr_assert(hear(c), "%s %zu, answer %zu", how, at, i);
        cr_assert(body_has(c, WANT[i]), "%s %zu, answer %zu: %d", how, at, i, c->status);
    }
}

Test(http_intake, pipelined_requests_are_answered_wherever_they_are_cut) {
    struct buf b;
    buf_init(&b, 1 << 20);
    struct str all = four_requests(&b);
    for (size_t at = 0; at < all.n; at += at < 40 ? 1 : 3) {
        struct client *c = dial();
        say_bytes(c, all.p, at);
        if (at % 2 == 0) expect_alive("in between"); /* the first part is read alone */
        say_bytes(c, all.p + at, all.n - at);
        expect_four(c, "cut at", at);
        hang_up(c);
    }
    struct client *c = dial();
    for (size_t i = 0; i < all.n; i++) say_bytes(c, all.p + i, 1);
    expect_four(c, "single bytes", 0);
    hang_up(c);
    c = dial();
    for (int i = 0; i < 300; i++) say_bytes(c, PING, sizeof PING - 1);
    for (int i = 0; i < 300; i++) cr_assert(hear(c), "request %d of 300 at once", i);
    hang_up(c);
    buf_fini(&b);
}

Test(http_intake, what_came_before_a_refused_head_is_answered_first) {
    struct client *c = dial();
    say(c, "%sGET /v1/ping HTTP/1.1\r\nHost : x\r\n\r\n%s", PING, PING);
    cr_assert(hear(c));
    cr_expect_eq(c->status, 200);
    expect_refused(c, 400, "the second");
    hang_up(c);
}

Test(http_intake, a_broken_chunk_is_told_and_ends_the_connection) {
    static const char *const BODIES[] = {"x\r\n", "1\r\nab\r\n0\r\n\r\n", "2\n{}\n0\n\n",
                                         "2\r\n{}\r\n0\r\nbad\r\n\r\n", "-2\r\n{}"};
    for (size_t i = 0; i < sizeof BODIES / sizeof BODIES[0]; i++) {
        struct client *c = dial();
        say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sTransfer-Encoding: chunked\r\n\r\n%s",
            bearer(), BODIES[i]);
        expect_refused(c, 400, BODIES[i]);
        hang_up(c);
    }
    cr_expect_eq(atomic_load(&W.executed), 0);
}

Test(http_intake, expectations_are_met_and_a_refused_body_is_never_asked_for) {
    struct client *c = dial();
    say(c,
        "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sExpect: 100-continue\r\nContent-Length: 2\r\n\r\n",
        bearer());
    char line[64] = "";
    cr_assert_gt(recv(c->fd, line, sizeof line - 1, 0), 0);
    cr_expect_str_eq(line, "HTTP/1.1 100 Continue\r\n\r\n");
    say(c, "{}");
    cr_assert(hear(c));
    cr_expect_eq(c->status, 201);
    say(c,
        "POST /v1/echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    cr_assert_gt(recv(c->fd, line, 12, MSG_PEEK), 0);
    cr_expect(memcmp(line, "HTTP/1.1 401", 12) == 0, "%s", line);
    expect_refused(c, 401, "no 100");
    hang_up(c);
}

/* ------------------------------------------------------------------------------ endings */

Test(http_intake, half_close_is_no_hang_up /* HTTP-15 */) {
    enum { N = 40 };
    struct client *c[N];
    world_open();
    for (int i = 0; i < N; i++) {
        c[i] = dial();
        say(c[i], "POST /v1/later HTTP/1.1\r\nHost: x\r\n%sContent-Length: 2\r\n\r\n{}", bearer());
        shutdown(c[i]->fd, SHUT_WR);
    }
    for (int i = 0; i < N; i++) {
        cr_assert(hear(c[i]), "client %d", i);
        cr_expect_eq(c[i]->status, 201);
        cr_expect(is_closed(c[i]), "and then the end");
        hang_up(c[i]);
    }
}

Test(http_intake, half_a_head_is_dropped_when_its_client_leaves) {
    struct client *c[50];
    for (int i = 0; i < 50; i++) {
        c[i] = dial();
        say(c[i], "GET / HTTP/1.1\r\nX: ");
        hang_up(c[i]);
    }
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.open, 0), "%u are left",
              atomic_load(&W.server->conns.open));
}

/* Writes a body bit by bit, as a client that reads only after it has written; then the answer. */
static void write_slowly(struct client *c, size_t n) {
    static const char ZEROS[16384];
    for (size_t done = 0; done < n;) {
        size_t k = n - done < sizeof ZEROS ? n - done : sizeof ZEROS;
        ssize_t w = send(c->fd, ZEROS, k, MSG_NOSIGNAL);
        cr_assert_gt(w, 0, "after %zu bytes: %d", done, errno);
        done += (size_t)w;
        if (done % (1 << 18) == 0) expect_alive("meanwhile");
    }
}

Test(http_intake, large_refused_bodies_let_the_client_finish /* HTTP-9, RFC 9112 9.6 */) {
    struct client *c = dial();
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n");
    write_slowly(c, 3000000);
    expect_refused(c, 401, "declared length");
    hang_up(c);
    c = dial();
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 3000000\r\n\r\n", bearer());
    write_slowly(c, 3000000);
    expect_refused(c, 413, "declared length");
    hang_up(c);
    c = dial();
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2dc6c0\r\n");
    write_slowly(c, 3000000);
    say(c, "\r\n0\r\n\r\n");
    expect_refused(c, 401, "chunked");
    hang_up(c);
    c = dial();
    say(c, "GET /v1/ping HTTP/1.1\r\nHost : x\r\n\r\n");
    write_slowly(c, 3000000);
    expect_refused(c, 400, "a refused head");
    hang_up(c);
}

/* ------------------------------------------------------------------------------ deadlines */

static void hasty(struct http_config *cfg) {
    cfg->read_timeout_s = 2;
    cfg->head_timeout_s = 1;
    cfg->threads = 1;
}

Test(http_intake_cfg, a_head_and_a_body_have_a_time_in_all, .timeout = 300) {
    world_up(hasty);
    struct client *head = dial(); /* each speaks at once: a silent one ends without an answer */
    say(head, "GET /v1/ping HTTP/1.1\r\nX: ");
    struct client *body = dial();
    say(body, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 9\r\n\r\n", bearer());
    struct client *refused = dial();
    say(refused, "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n");
    struct client *idle = dial(), *trickle = dial();
    bool told = false;
    for (uint64_t end = clock_mono_ms() + WORLD_WAIT_MS; clock_mono_ms() < end && !told;) {
        char one;
        if (send(trickle->fd, "G", 1, MSG_NOSIGNAL) < 0) break;
        struct timeval tv = {.tv_usec = 50000};
        setsockopt(trickle->fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
        told = recv(trickle->fd, &one, 1, MSG_PEEK) > 0;
    }
    cr_assert(told, "bytes one by one do not help");
    expect_refused(trickle, 408, "a trickle");
    expect_refused(head, 408, "half a head");
    expect_refused(refused, 401, "decided before the body");
    expect_refused(body, 408, "no body");
    cr_expect(is_closed(idle), "an idle connection ends without an answer");
    struct client *all[] = {head, body, refused, idle, trickle};
    for (size_t i = 0; i < 5; i++) hang_up(all[i]);
    world_down();
}

/* ------------------------------------------------------------------------------ bounds */

static void few(struct http_config *cfg) {
    cfg->connections_max = 8;
    cfg->threads = 1;
    cfg->read_timeout_s = 60;
}

Test(http_intake_cfg, idle_and_slow_connections_make_room_for_new_ones /* PROF-14 */,
     .timeout = 300) {
    world_up(few);
    struct client *slow[64];
    for (int i = 0; i < 64; i++) {
        slow[i] = dial();
        if (i % 2) say(slow[i], "GET /v1/ping HTTP/1.1\r\nX: ");
        if (i % 8 == 7) expect_alive("among slow ones");
    }
    expect_alive("with many more slow ones than connections");
    for (int i = 0; i < 64; i++) hang_up(slow[i]);
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.open, 0));
    expect_alive("after they left");
    world_down();
}

static void few_over_loops(struct http_config *cfg) {
    few(cfg);
    cfg->connections_max = 3;
    cfg->threads = 4;
}

/* The loop that comes first may hold none of the connections that could make room.  Each newcomer
 * finds as many idle ones as there may be, and is one of them for the next. */
Test(http_intake_cfg, idle_connections_of_any_loop_make_room /* PROF-14 */, .timeout = 300) {
    world_up(few_over_loops);
    struct client *c[200];
    for (unsigned i = 0; i < 200; i++) {
        c[i] = dial();
        expect_ping(c[i], "with as many idle ones as connections");
        cr_assert(within(WORLD_WAIT_MS, &W.server->conns.waiting, i < 3 ? i + 1 : 3));
    }
    for (int i = 0; i < 200; i++) hang_up(c[i]);
    world_down();
}

Test(http_intake_cfg, with_all_connections_busy_the_next_is_told_so /* ERR-9 */, .timeout = 300) {
    world_up(few);
    struct client *c[8];
    for (int i = 0; i < 8; i++) {
        c[i] = dial();
        say(c[i], "POST /v1/later HTTP/1.1\r\nHost: x\r\n%sContent-Length: 2\r\n\r\n{}", bearer());
    }
    while (atomic_load(&W.waiting) < 8) sched_yield();
    struct client *more = dial();
    say_bytes(more, PING, sizeof PING - 1);
    expect_refused(more, 503, "the ninth");
    cr_expect_str_eq(header_of(more, "Retry-After"), "1");
    hang_up(more);
    world_open();
    for (int i = 0; i < 8; i++) {
        cr_assert(hear(c[i]));
        hang_up(c[i]);
    }
    expect_alive("room again");
    world_down();
}

Test(http_intake_cfg, bursts_beyond_the_bound_never_make_it_deaf, .timeout = 300) {
    world_up(few);
    for (int round = 0; round < 20; round++) {
        struct client *c[40];
        for (int i = 0; i < 40; i++) c[i] = dial();
        for (int i = 0; i < 40; i++) hang_up(c[i]);
        expect_alive("after a burst");
    }
    world_down();
}

/* A connection that is in the middle of its head; -1 without a descriptor. */
static int half_a_head(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in sa = {.sin_family = AF_INET,
                             .sin_port = htons(http_server_port(W.server)),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd >= 0 && connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0)
        (void)send(fd, "GET / HTTP/1.1\r\nX: ", 19, MSG_NOSIGNAL);
    return fd;
}

Test(http_intake_cfg, without_descriptors_it_goes_on_accepting, .timeout = 300) {
    enum { SPARE = 40, BURST = 60 };
    world_up(NULL);
    expect_alive("everything is open that needs to be");
    for (int round = 0; round < 5; round++) {
        struct rlimit before, tight;
        int n = 0, fds[BURST], lowest = dup(0);
        close(lowest);
        cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
        tight = (struct rlimit){(rlim_t)lowest + SPARE, before.rlim_max};
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
        while (n < BURST && (fds[n] = half_a_head()) >= 0) n++;
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
        cr_expect_lt(n, BURST, "descriptors ran out");
        while (n > 0) close(fds[--n]);
        for (int k = 0; k < 8; k++) expect_alive("after descriptors ran out"); /* either loop */
    }
    world_down();
}

Test(http_intake_cfg, who_comes_with_a_crowd_has_a_moment_to_speak, .timeout = 300) {
    world_up(few);
    struct client *crowd[40];
    for (int i = 0; i < 12; i++) {
        crowd[i] = dial();
        say(crowd[i], "GET /v1/ping HTTP/1.1\r\nX: ");
    }
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.open, 8), "as many as may be");
    struct client *c = dial();
    for (int i = 12; i < 15; i++) { /* fewer than there are older ones */
        crowd[i] = dial();
        say(crowd[i], "GET /v1/ping HTTP/1.1\r\nX: ");
    }
    expect_ping(c, "silent until now");
    hang_up(c);
    for (int i = 0; i < 15; i++) hang_up(crowd[i]);
    world_down();
}

static void two_each(struct http_config *cfg) {
    cfg->address_connections_max = 2;
    cfg->threads = 1;
}

Test(http_intake_cfg, an_address_has_its_share_of_connections, .timeout = 300) {
    world_up(two_each);
    struct client *a = dial(), *b = dial(), *c = dial();
    expect_ping(a, "the first");
    expect_ping(b, "the second");
    say_bytes(c, PING, sizeof PING - 1);
    expect_refused(c, 503, "the third");
    hang_up(a);
    hang_up(c);
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.placed, 1));
    expect_alive("a place is free again");
    hang_up(b);
    world_down();
}

static void behind_a_proxy(struct http_config *cfg) {
    cfg->trusted_proxies = "127.0.0.1, 10.1.0.0/16";
    cfg->address_connections_max = 1;
    cfg->rates.address_rate = 1;
    cfg->rates.address_burst = 2;
}

static int discover(const char *forwarded) {
    char header[200];
    snprintf(header, sizeof header, "%s%s%s", forwarded ? "X-Forwarded-For: " : "",
             forwarded ? forwarded : "", forwarded ? "\r\n" : "");
    struct client *c = ask("GET", "/.well-known/openwop", header, NULL);
    int status = c->status;
    hang_up(c);
    return status;
}

/* Of two: between them a second may pass, which gives a request back. */
static bool limited_as(const char *full, const char *forwarded) {
    bool limited = false;
    for (int i = 0; !limited && i < 2; i++) {
        for (int k = 0; k < 100 && discover(full) != 429; k++) continue;
        limited = discover(forwarded) == 429;
    }
    return limited;
}

Test(http_intake_cfg, a_trusted_proxy_says_who_its_client_is /* AUTH-12 */, .timeout = 300) {
    world_up(behind_a_proxy);
    struct client *kept = dial(); /* proxies have no share of their own */
    expect_ping(kept, "the proxy");
    cr_expect(limited_as("192.0.2.1", "192.0.2.1"));
    cr_expect_eq(discover("192.0.2.2"), 200, "another client");
    cr_expect(limited_as("192.0.2.1", "192.0.2.3, 192.0.2.1"), "a client may write what it likes");
    cr_expect(limited_as("192.0.2.1", "192.0.2.1, 10.1.2.3"), "a proxy behind a proxy");
    cr_expect_eq(discover("192.0.2.1\r\nX-Forwarded-For: 192.0.2.4"), 200, "two lines, one list");
    cr_expect_eq(discover("2001:db8::1"), 200);
    hang_up(kept);
    world_down();
}

Test(http_intake, the_peer_counts_when_nobody_is_trusted) {
    struct address peer = {{[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1}};
    struct address got = peers_client(W.server, &peer, STR("198.51.100.1"));
    cr_expect(memcmp(&got, &peer, sizeof got) == 0);
}

/* ------------------------------------------------------------------------------ operators */

static void with_ops(struct http_config *cfg) { cfg->ops_port = 0; }

Test(http_intake_cfg, the_operators_listener_cannot_be_filled, .timeout = 300) {
    enum { N = 200 };
    struct client *c[N];
    world_up(with_ops);
    for (int i = 0; i < N; i++) {
        c[i] = dial_port(http_server_ops_port(W.server));
        if (i % 2) say(c[i], "GET /hea");
    }
    for (int i = 0; i < 5; i++) {
        struct client *h = dial_port(http_server_ops_port(W.server));
        say(h, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        cr_assert(hear(h));
        cr_expect_eq(h->status, 200);
        hang_up(h);
    }
    for (int i = 0; i < N; i++) {
        cr_expect(is_closed(c[i]), "each has its time");
        hang_up(c[i]);
    }
    world_down();
}

/* ------------------------------------------------------------------------------ in two pieces */

enum { PIECES_WARM = 30, PIECES_NR = 21, PIECES_ROUNDS = 20, PIECES_MS = 30 };

/* A client without TCP_NODELAY: its kernel keeps the body until the head is acknowledged. */
static uint64_t post_in_two(struct client *c) {
    uint64_t began_ms = clock_mono_ms();
    say(c,
        "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\n"
        "Content-Length: 2\r\n\r\n",
        bearer());
    say(c, "{}");
    cr_assert(hear(c));
    cr_assert_eq(c->status, 201, "%d", c->status);
    return clock_mono_ms() - began_ms;
}

/* Without an acknowledgement of its own the head waits for that of the kernel, 40 ms later. */
Test(http_intake, a_body_behind_its_head_is_not_kept_waiting /* HTTP-15 */) {
    struct client *c = dial();
    bool prompt = false;
    for (int i = 0; i < PIECES_WARM; i++) (void)post_in_two(c);
    for (int round = 0; !prompt && round < PIECES_ROUNDS; round++) {
        int quick = 0;
        for (int i = 0; i < PIECES_NR; i++) quick += post_in_two(c) < PIECES_MS;
        prompt = quick > PIECES_NR / 2;
    }
    cr_expect(prompt, "most requests took %d ms and more", PIECES_MS);
    hang_up(c);
}
