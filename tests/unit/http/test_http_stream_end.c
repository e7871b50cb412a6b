/*
 * test_http_stream_end.c: how streams end, and what is left of runs that have ended.
 */
#include "http/server.h"
#include "http_world.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>

static void up(void) { world_up(NULL); }

TestSuite(http_stream_end, .init = up, .fini = world_down, .timeout = 300);

static const struct seed STARTED[] = {{EV_RUN_STARTED, NULL}},
                         HIDDEN[] = {{EV_VARIABLE_CHANGED, NULL}},
                         LOGGED[] = {{EV_LOG_APPENDED, NULL}}, ENDED[] = {{EV_RUN_COMPLETED, NULL}};
static const struct seed SHORT[] = {{EV_RUN_STARTED, NULL},
                                    {EV_VARIABLE_CHANGED, NULL},
                                    {EV_LOG_APPENDED, NULL},
                                    {EV_RUN_COMPLETED, NULL}};

static void follow(struct client *c, int64_t no, const char *query) {
    say(c, "GET /v1/runs/r1/events?no=%lld%s HTTP/1.1\r\nHost: x\r\n%s\r\n", (long long)no, query,
        bearer());
    cr_assert(hear_head(c));
}

static struct client *tail(int64_t no, const char *query) {
    struct client *c = dial();
    follow(c, no, query);
    cr_assert_eq(c->status, 200);
    return c;
}

/* --- runs that have ended --- */

Test(http_stream_end, a_finished_run_is_one_answer_and_the_connection_stays /* SSE-23, SSE-24 */) {
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, SHORT, 4);
    struct client *c = dial();
    for (int i = 0; i < 3; i++) {
        follow(c, no, "&final=1");
        cr_assert_eq(c->status, 200);
        cr_expect_str_eq(header_of(c, "Content-Type"), "text/event-stream");
        cr_expect_str_eq(header_of(c, "Cache-Control"), "no-cache");
        cr_expect_str_eq(header_of(c, "X-Accel-Buffering"), "no");
        cr_expect_str_eq(header_of(c, "OpenWOP-Version"), "1.0");
        cr_expect_null(header_of(c, "Connection"));
        cr_assert(hear_end(c));
        cr_expect(body_has(c, ":ok\n\nid: 0\nevent: run.started\ndata: {}\n\nid: 2\n"));
        cr_expect(body_has(c, "id: 3\nevent: run.completed\n"));
        cr_expect_eq(count_of(c, "id: "), 3u);
    }
    follow(c, no, "&final=1&after=2"); /* SSE-26 */
    cr_assert(hear_end(c));
    cr_expect_eq(count_of(c, "id: "), 1u);
    follow(c, no, "&final=1&buf=100"); /* SSE-31 */
    cr_assert(hear_end(c));
    cr_expect(body_has(c, "id: 3\nevent: batch\ndata: [{\"seq\":0},{\"seq\":2},{\"seq\":3}]\n\n"));
    follow(c, no, "&final=1&fold=1");
    cr_assert(hear_end(c));
    cr_expect_eq(count_of(c, "id: "), 4u);
    hang_up(c);
    cr_expect_eq(atomic_load(&W.server->metrics.streams_opened), 6u);
    cr_expect_eq(atomic_load(&W.server->metrics.stream_events), 3u * 3 + 1 + 3 + 4);
    cr_expect_eq(shares_total(&W.server->shares, SHARE_STREAMS), 0u);
}

Test(http_stream_end, a_long_finished_run_comes_in_pieces_and_the_connection_stays /* SSE-23 */) {
    enum { N = 6000 };
    int64_t no = world_run("r1");
    static struct seed many[N];
    for (size_t i = 0; i < N; i++) many[i] = LOGGED[0];
    world_append(no, "r1", 0, many, N);
    world_append(no, "r1", N, ENDED, 1);
    struct client *c = dial();
    for (int i = 0; i < 2; i++) {
        follow(c, no, "&final=1");
        cr_assert_eq(c->status, 200);
        cr_expect(c->chunked);
        cr_assert(hear_end(c));
        cr_expect_eq(count_of(c, "id: "), N + 1u);
        cr_expect(body_has(c, "id: 5999\nevent: log.appended"));
    }
    hang_up(c);
}

Test(http_stream_end, a_long_fold_takes_turns_and_its_connection_closes /* SSE-17, SSE-27 */) {
    enum { N = 40000, PIECE = 5000 };
    static struct seed many[PIECE];
    int64_t no = world_run("r1");
    for (size_t i = 0; i < PIECE; i++) many[i] = LOGGED[0];
    for (int64_t i = 0; i < N; i += PIECE) world_append(no, "r1", i, many, PIECE);
    struct client *live[4], *done[4];
    for (size_t i = 0; i < 4; i++) live[i] = tail(no, "&fold=2");
    struct client *other = ask("GET", "/v1/ping", NULL, NULL);
    cr_expect_eq(other->status, 200);
    hang_up(other);
    world_append(no, "r1", N, ENDED, 1);
    for (size_t i = 0; i < 4; i++) done[i] = tail(no, "&fold=2&final=1");
    for (size_t i = 0; i < 4; i++) {
        cr_expect_str_eq(header_of(done[i], "Connection"), "close");
        cr_assert(hear_end(live[i]));
        cr_assert(hear_end(done[i]));
        cr_expect_eq(count_of(live[i], "id: 40000\n"), 1u);
        cr_expect_eq(count_of(done[i], "id: 40000\n"), 1u);
        cr_expect(is_closed(done[i]));
        hang_up(live[i]);
        hang_up(done[i]);
    }
}

Test(http_stream_end, an_end_that_is_not_in_the_log_any_more_closes_too /* nothing hangs */) {
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, STARTED, 1);
    struct client *c = tail(no, "&final=1");
    cr_assert(hear_end(c));
    cr_expect_eq(count_of(c, "id: "), 1u);
    hang_up(c);
}

Test(http_stream_end, nothing_to_show_is_204_for_who_asks_for_it /* EventSource stops */) {
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, SHORT, 4);
    struct client *c = dial();
    follow(c, no, "&final=1&after=3&none204=1");
    cr_expect_eq(c->status, 204);
    follow(c, no, "&final=1&ended=1&none204=1");
    cr_expect_eq(c->status, 204);
    follow(c, no, "&final=1&after=2&none204=1");
    cr_expect_eq(c->status, 200);
    cr_assert(hear_end(c));
    cr_expect_eq(count_of(c, "id: "), 1u);
    hang_up(c);
}

/* --- cursors beyond the end --- */

Test(http_stream_end, a_cursor_beyond_the_end_closes_when_the_run_ends /* SSE-23, SSE-28 */) {
    static const char *const MODES[] = {"", "&buf=5000"};
    for (size_t i = 0; i < sizeof MODES / sizeof MODES[0]; i++) {
        char query[64];
        int64_t no = world_run(i == 0 ? "r1" : "r2");
        world_append(no, "r1", 0, STARTED, 1);
        snprintf(query, sizeof query, "&after=0&quiet=50%s", MODES[i]);
        struct client *c = tail(no, query);
        cr_assert(hear_until(c, ":ok\n\n"));
        world_append(no, "r1", 1, LOGGED, 1);
        world_append(no, "r1", 2, HIDDEN, 1);
        world_append(no, "r1", 3, ENDED, 1);
        cr_assert(hear_end(c));
        cr_expect_eq(count_of(c, "id: "), 0u);
        hang_up(c);
    }
}

Test(http_stream_end, what_comes_behind_such_a_cursor_is_shown /* SSE-28 */) {
    int64_t no = world_run("r1");
    struct seed six[6];
    for (size_t i = 0; i < 6; i++) six[i] = LOGGED[0];
    world_append(no, "r1", 0, STARTED, 1);
    struct client *c = tail(no, "&after=0&quiet=4"), *b = tail(no, "&after=0&quiet=4&buf=20");
    cr_assert(hear_until(c, ":ok\n\n"));
    cr_assert(hear_until(b, ":ok\n\n"));
    world_append(no, "r1", 1, six, 6); /* one commit on both sides of the cursor */
    world_append(no, "r1", 7, ENDED, 1);
    cr_assert(hear_end(c));
    cr_assert(hear_end(b));
    cr_expect_eq(count_of(c, "id: "), 3u);
    cr_expect(body_has(c, ":ok\n\nid: 5\n"));
    cr_expect_eq(count_of(b, "\"seq\""), 3u);
    cr_expect(body_has(b, "data: [{\"seq\":5},"));
    hang_up(c);
    hang_up(b);
}

/* --- who may not or will not listen --- */

static bool outlets_are(unsigned n) {
    uint64_t end = clock_mono_ms() + WORLD_WAIT_MS;
    while (clock_mono_ms() < end) {
        if (shares_total(&W.server->shares, SHARE_STREAMS) == n &&
            atomic_load(&W.server->parked) == 0)
            return true;
        sched_yield();
    }
    return false;
}

Test(http_stream_end, a_half_close_flushes_the_window_and_ends_the_body /* SSE-33 */) {
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, STARTED, 1);
    struct client *plain = tail(no, ""), *batched = tail(no, "&buf=600000");
    cr_assert(hear_until(plain, "run.started"));
    cr_assert(hear_until(batched, "\"seq\":0"));
    cr_assert(outlets_are(2));
    world_append(no, "r1", 1, LOGGED, 1);
    cr_assert(hear_until(plain, "id: 1\n"));
    struct client *other = tail(no, "&buf=600000"); /* its backlog has sequence 1 in it */
    cr_assert(hear_until(other, "\"seq\":1"));
    world_append(no, "r1", 2, LOGGED, 1);
    cr_assert(hear_until(plain, "id: 2\n"));
    struct client *all[] = {plain, batched, other};
    for (size_t i = 0; i < 3; i++) shutdown(all[i]->fd, SHUT_WR);
    for (size_t i = 0; i < 3; i++) {
        cr_expect(hear_end(all[i]), "stream %zu has its last chunk, not at the end of the window",
                  i);
        cr_expect(is_closed(all[i]));
    }
    cr_expect(body_has(batched, "{\"seq\":1}"), "what was in the window");
    for (size_t i = 0; i < 3; i++) hang_up(all[i]);
    cr_expect(outlets_are(0));
}

static void quick_beat(struct http_config *cfg) { cfg->keepalive_ms = 40; }

Test(http_stream_end_cfg, a_stream_ends_when_its_key_is_revoked /* AUTH-5 */, .timeout = 300) {
    world_up(quick_beat);
    struct wopr_error err = {0};
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, STARTED, 1);
    struct client *c = tail(no, ""), *b = tail(no, "&buf=5000");
    cr_assert(hear_until(c, "run.started"));
    cr_assert(hear_until(c, ":keepalive"));
    cr_assert(hear_until(b, "\"seq\":0"));
    cr_assert_eq(store_key_revoke(W.store, W.key_id, clock_wall_ms(), &err), 0, "%s", err.message);
    cr_expect(hear_end(c), "a whole body: the client comes back and reads why");
    cr_expect(hear_end(b));
    hang_up(b);
    hang_up(c);
    c = ask("GET", "/v1/runs/r1/events?no=1", bearer(), NULL);
    cr_expect_eq(c->status, 401);
    hang_up(c);
    world_down();
}

Test(http_stream_end_cfg, a_busy_stream_is_looked_at_too /* AUTH-5 */, .timeout = 300) {
    world_up(quick_beat);
    struct wopr_error err = {0};
    int64_t no = world_run("r1"), at = 0;
    struct client *c = tail(no, "");
    cr_assert(hear_until(c, ":ok\n\n"));
    cr_assert_eq(store_key_revoke(W.store, W.key_id, clock_wall_ms(), &err), 0, "%s", err.message);
    for (uint64_t end = clock_mono_ms() + 30000;
         shares_total(&W.server->shares, SHARE_STREAMS) > 0;) {
        cr_assert_lt(clock_mono_ms(), end, "it never falls silent, and ends all the same");
        world_append(no, "r1", at++, LOGGED, 1);
    }
    cr_expect(hear_end(c));
    hang_up(c);
    world_down();
}
