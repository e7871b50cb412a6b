/*
 * test_http_stream.c: SSE over a real store and log (20-runtime section 2).
 */
#include "http/server.h"
#include "http_world.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void up(void) { world_up(NULL); }

TestSuite(http_stream, .init = up, .fini = world_down, .timeout = 300);

static const struct seed STARTED[] = {{EV_RUN_STARTED, NULL}},
                         HIDDEN[] = {{EV_VARIABLE_CHANGED, NULL}},
                         LOGGED[] = {{EV_LOG_APPENDED, NULL}}, ENDED[] = {{EV_RUN_COMPLETED, NULL}};

static struct client *tail_in(const char *version, int64_t no, const char *query) {
    struct client *c = dial();
    say(c, "GET /v1/runs/r1/events?no=%lld%s %s\r\nHost: x\r\n%s\r\n", (long long)no, query,
        version, bearer());
    cr_assert(hear_head(c));
    cr_assert_eq(c->status, 200);
    return c;
}
static struct client *tail(int64_t no, const char *query) { return tail_in("HTTP/1.1", no, query); }

Test(http_stream, headers_and_first_comment_come_before_any_event /* SSE-2, SSE-12, HTTP-21 */) {
    struct client *c = tail(world_run("r1"), "");
    cr_expect_str_eq(header_of(c, "Content-Type"), "text/event-stream");
    cr_expect_str_eq(header_of(c, "Cache-Control"), "no-cache");
    cr_expect_str_eq(header_of(c, "X-Accel-Buffering"), "no");
    cr_expect_str_eq(header_of(c, "OpenWOP-Version"), "1.0");
    cr_expect_null(header_of(c, "Content-Length"));
    cr_expect(hear_until(c, ":ok\n\n"));
    hang_up(c);
}

Test(http_stream, backfill_then_live_then_close /* SSE-14, SSE-23 */) {
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, STARTED, 1);
    world_append(no, "r1", 1, HIDDEN, 1);
    struct client *c = tail(no, "");
    cr_assert(hear_until(c, "id: 0\nevent: run.started\ndata: {}\n\n"));
    world_append(no, "r1", 2, LOGGED, 1);
    cr_assert(hear_until(c, "id: 2\nevent: log.appended\n"));
    world_append(no, "r1", 3, ENDED, 1);
    cr_assert(hear_end(c));
    cr_expect(body_has(c, "id: 3\nevent: run.completed\n"));
    cr_expect_eq(count_of(c, "id: "), 3u);
    cr_expect(is_closed(c));
    hang_up(c);
}

Test(http_stream, an_ended_run_is_told_and_closed /* SSE-24, SSE-29 */) {
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, (struct seed[]){{EV_RUN_STARTED, NULL}, {EV_RUN_COMPLETED, NULL}}, 2);
    struct client *c = tail(no, "");
    cr_assert(hear_end(c));
    cr_expect_eq(count_of(c, "id: "), 2u);
    hang_up(c);
    c = tail(no, "&after=0"); /* SSE-26 */
    cr_assert(hear_end(c));
    cr_expect_eq(count_of(c, "id: "), 1u);
    hang_up(c);
    c = tail(no, "&after=1&ended=1");
    cr_assert(hear_end(c));
    cr_expect(body_has(c, ":ok\n\n"));
    cr_expect_eq(count_of(c, "id: "), 0u);
    hang_up(c);
}

Test(http_stream, a_hidden_end_closes_too /* SSE-23 */) {
    int64_t no = world_run("r1");
    struct client *c = tail(no, "&fold=1");
    world_append(no, "r1", 0, STARTED, 1);
    cr_assert(hear_until(c, "data: 1\n\n"));
    world_append(no, "r1", 1, ENDED, 1);
    cr_assert(hear_end(c));
    cr_expect(body_has(c, "data: 2\n\n"));
    hang_up(c);
}

static void quick_beat(struct http_config *cfg) { cfg->keepalive_ms = 40; }

Test(http_stream_cfg, silence_is_filled_with_comments /* SSE-12 */, .timeout = 300) {
    world_up(quick_beat);
    struct client *c = tail(world_run("r1"), "");
    cr_assert(hear_until(c, ":keepalive\n\n:keepalive\n\n:keepalive\n\n"));
    hang_up(c);
    world_down();
}

Test(http_stream, batches_close_by_time_by_force_and_when_full /* SSE-31 to 35 */) {
    int64_t no = world_run("r1");
    struct seed many[1203];
    for (size_t i = 0; i < 1203; i++) many[i] = LOGGED[0];
    world_append(no, "r1", 0, many, 1203);
    struct client *c = tail(no, "&buf=30");
    cr_assert(hear_until(c, "id: 499\nevent: batch\ndata: [{\"seq\":0},"));
    cr_assert(hear_until(c, "id: 999\nevent: batch\n"));
    cr_assert(hear_until(c, "id: 1202\nevent: batch\n")); /* the rest of the backlog, at once */
    world_append(no, "r1", 1203, LOGGED, 1);
    cr_assert(hear_until(c, "id: 1203\nevent: batch\ndata: [{\"seq\":1203}]\n\n")); /* by time */
    world_append(no, "r1", 1204, HIDDEN, 1);
    world_append(no, "r1", 1205, ENDED, 1);
    cr_assert(hear_end(c));
    cr_expect(body_has(c, "id: 1205\nevent: batch\ndata: [{\"seq\":1205}]\n\n"));
    cr_expect_eq(count_of(c, "event: batch"), 5u);
    cr_expect_eq(count_of(c, "\"seq\""), 1205u);
    hang_up(c);
}

Test(http_stream, a_forced_flush_does_not_wait_for_the_window /* SSE-33 */) {
    int64_t no = world_run("r1");
    struct client *c = tail(no, "&buf=600000");
    cr_assert(hear_until(c, ":ok\n\n"));
    world_append(no, "r1", 0, LOGGED, 1);
    world_append(no, "r1", 1, (struct seed[]){{EV_NODE_SUSPENDED, NULL}}, 1);
    cr_assert(hear_until(c, "{\"seq\":1}]\n\n"));
    world_append(no, "r1", 2, LOGGED, 1);
    world_append(no, "r1", 3, ENDED, 1);
    cr_assert(hear_end(c));
    /* one batch, or two when the stream was still sending its backlog as event 2 came */
    cr_expect(body_has(c, "{\"seq\":3}]\n\n"));
    cr_expect_eq(count_of(c, "\"seq\""), 4u);
    hang_up(c);
}

Test(http_stream, drain_closes_after_a_complete_frame /* SSE-25, SSE-33 */) {
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, STARTED, 1);
    struct client *plain = tail(no, ""), *batched = tail(no, "&buf=5000");
    cr_assert(hear_until(plain, "run.started"));
    cr_assert(hear_until(batched, "\"seq\":0"));
    world_append(no, "r1", 1, LOGGED, 1);
    world_append(no, "r1", 2, LOGGED, 1);
    cr_assert(hear_until(plain,
                         "id: 2\n")); /* so the window of the other one holds sequence 1 at least */
    http_server_drain(W.server, 5000);
    cr_assert(hear_end(plain));
    cr_assert(hear_end(batched));
    cr_expect(body_has(batched, "data: [{\"seq\":1}"));
    cr_expect(batched->body.len > 2 &&
              memcmp(batched->body.p + batched->body.len - 3, "]\n\n", 3) == 0);
    hang_up(plain);
    hang_up(batched);
}

Test(http_stream, a_reader_that_does_not_read_delays_nobody /* L3 */) {
    int64_t no = world_run("r1");
    static char payload[60000] = "{\"a\":\"";
    memset(payload + 6, 'x', sizeof payload - 9);
    memcpy(payload + sizeof payload - 3, "\"}", 3);
    struct seed big[] = {{EV_LOG_APPENDED, payload}};
    struct client *stuck = dial();
    int small = 1 << 16; /* not below a segment: the kernel would trickle */
    setsockopt(stuck->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    say(stuck, "GET /v1/runs/r1/events?no=%lld HTTP/1.1\r\nHost: x\r\n%s\r\n", (long long)no,
        bearer());
    cr_assert(hear_head(stuck));
    struct client *good = tail(no, "");
    char want[64];
    for (int64_t i = 0; i < 200; i++) { /* 12 MB, three times what the log keeps for a slow one */
        world_append(no, "r1", i, big, 1);
        snprintf(want, sizeof want, "id: %lld\nevent", (long long)i);
        cr_assert(hear_until(good, want));
        buf_reset(&good->body);
    }
    world_append(no, "r1", 200, ENDED, 1);
    cr_assert(hear_end(good));
    int large = 4 << 20;
    setsockopt(stuck->fd, SOL_SOCKET, SO_RCVBUF, &large, sizeof large);
    cr_assert(hear_end(stuck)); /* nothing is lost for it */
    cr_expect_eq(count_of(stuck, "event: log.appended"), 200u);
    hang_up(stuck);
    hang_up(good);
}

Test(http_stream, a_thousand_streams_hear_everything_once /* SSE-8, SSE-14 */) {
    enum { N = 1000 };
    static struct client *c[N];
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, STARTED, 1);
    for (size_t i = 0; i < N; i++) c[i] = tail(no, "");
    for (int64_t i = 1; i < 6; i++) world_append(no, "r1", i, LOGGED, 1);
    world_append(no, "r1", 6, ENDED, 1);
    for (size_t i = 0; i < N; i++) {
        cr_assert(hear_end(c[i]));
        cr_assert_eq(count_of(c[i], "id: "), 7u, "stream %zu", i);
        hang_up(c[i]);
    }
}

Test(http_stream, clients_that_leave_are_forgotten) {
    int64_t no = world_run("r1");
    for (int i = 0; i < 50; i++) {
        struct client *c = tail(no, i % 2 ? "&buf=10" : "");
        hang_up(c);
    }
    for (int64_t i = 0; i < 5; i++) world_append(no, "r1", i, LOGGED, 1);
    world_append(no, "r1", 5, ENDED, 1); /* world_down waits for the streams and would hang */
}

/* --- streams that have left libmicrohttpd (H19) --- */

static bool within(uint64_t ms, const atomic_uint *what, unsigned value) {
    for (uint64_t end = clock_mono_ms() + ms; clock_mono_ms() < end;) {
        if (atomic_load(what) == value) return true;
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    return false;
}

static bool streams_are(size_t n) {
    for (uint64_t end = clock_mono_ms() + WORLD_WAIT_MS; clock_mono_ms() < end;) {
        if (shares_total(&W.server->shares, SHARE_STREAMS) == n) return true;
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    }
    return false;
}

static bool suspended_are(int n) {
    for (int i = 0; i < WORLD_WAIT_MS / 2 && atomic_load(&W.server->parked) != n; i++)
        nanosleep(&(struct timespec){0, 2000000}, NULL);
    return atomic_load(&W.server->parked) == n;
}

Test(http_stream, an_idle_one_is_not_a_suspended_connection /* H19 */) {
    enum { N = 20 };
    struct client *c[N];
    int64_t no = world_run("r1");
    for (int i = 0; i < N; i++) {
        c[i] = tail(no, i % 2 ? "&buf=10" : "");
        cr_assert(hear_until(c[i], ":ok\n\n"));
    }
    cr_expect(suspended_are(0));
    cr_expect_eq(shares_total(&W.server->shares, SHARE_STREAMS), (size_t)N);
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.open, N), "a socket counts once: %u",
              atomic_load(&W.server->conns.open));
    for (int i = 0; i < N; i++) hang_up(c[i]);
    /* Nothing is written meanwhile: the keep-alive is 15 s away. */
    cr_expect(streams_are(0), "who leaves is noticed");
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.open, 0));
}

Test(http_stream, http_1_0_gets_its_events_without_chunks) {
    int64_t no = world_run("r1");
    struct client *c = tail_in("HTTP/1.0", no, "");
    cr_expect_null(header_of(c, "Transfer-Encoding"));
    cr_assert(hear_until(c, ":ok\n\n"));
    world_append(no, "r1", 0, STARTED, 1);
    cr_assert(hear_until(c, "run.started"));
    world_append(no, "r1", 1, ENDED, 1);
    cr_expect_not(hear_until(c, "never"), "it ends by closing");
    cr_expect_eq(count_of(c, "id: "), 2u);
    hang_up(c);
}

static void one_thread(struct http_config *cfg) { cfg->threads = 1; }

Test(http_stream_cfg, without_a_descriptor_to_spare_libmicrohttpd_serves_on /* H19 */,
     .timeout = 300) {
    world_up(one_thread);
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, STARTED, 1);
    struct client *first = tail_in("HTTP/1.0", no, ""); /* who needs a descriptor has it by now */
    cr_assert(hear_until(first, "id: 0\n"));
    struct rlimit before, tight;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    int spare[2] = {dup(0), dup(0)}; /* for both ends, nothing else */
    cr_assert(spare[0] >= 0 && spare[1] > spare[0]);
    tight = (struct rlimit){(rlim_t)spare[1] + 1, before.rlim_max};
    close(spare[0]);
    close(spare[1]);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
    struct client *c = tail(no, "");
    cr_assert(hear_until(c, "id: 0\n"));
    cr_expect(suspended_are(2));
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    world_append(no, "r1", 1, LOGGED, 1);
    world_append(no, "r1", 2, ENDED, 1);
    cr_assert(hear_end(c));
    cr_expect_eq(count_of(c, "id: "), 3u);
    hang_up(c);
    hang_up(first);
    world_down();
}

static void impatient(struct http_config *cfg) { cfg->read_timeout_s = 1; }

Test(http_stream_cfg, who_does_not_read_is_cut /* SSE-25 */, .timeout = 300) {
    world_up(impatient);
    int64_t no = world_run("r1");
    static char payload[200000] = "{\"a\":\"";
    memset(payload + 6, 'x', sizeof payload - 9);
    memcpy(payload + sizeof payload - 3, "\"}", 3);
    struct seed big[] = {{EV_LOG_APPENDED, payload}};
    struct client *c = tail(no, "");
    cr_assert(hear_until(c, ":ok\n\n"));
    cr_assert(suspended_are(0));
    for (int64_t i = 0; i < 60; i++) world_append(no, "r1", i, big, 1); /* 12 MB */
    cr_expect(streams_are(0));
    hang_up(c);
    world_down();
}

static void few(struct http_config *cfg) { cfg->streams_max = 1; }

Test(http_stream_cfg, streams_have_a_maximum /* SSE-8 */, .timeout = 300) {
    world_up(few);
    int64_t no = world_run("r1");
    struct client *a = tail(no, "");
    struct client *b = ask("GET", "/v1/runs/r1/events?fold=1", bearer(), NULL);
    cr_expect_eq(b->status, 503);
    cr_expect_str_eq(header_of(b, "Retry-After"), "5");
    hang_up(b);
    hang_up(a);
    world_down();
}
