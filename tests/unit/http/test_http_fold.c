/*
 * test_http_fold.c: where streams fold (values mode): what may take long runs on threads for long
 * reads, in turns, and keeps neither a loop nor another tenant (HTTP-11 step 2, SSE-17).
 */
#include "http/server.h"
#include "http_world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <time.h>

enum { WAIT_MS = 60000 };

TestSuite(http_fold, .timeout = 300);

static void nap(void) { nanosleep(&(struct timespec){0, 2000000}, NULL); }

static bool held(enum share_kind kind, size_t n) {
    for (uint64_t end = clock_mono_ms() + WAIT_MS; clock_mono_ms() < end; nap())
        if (shares_total(&W.server->shares, kind) == n) return true;
    return false;
}
static bool count_is(const atomic_int *what, int n) {
    for (uint64_t end = clock_mono_ms() + WAIT_MS; clock_mono_ms() < end; nap())
        if (atomic_load(what) >= n) return true;
    return false;
}
static bool connections_are(unsigned n) {
    for (uint64_t end = clock_mono_ms() + WAIT_MS; clock_mono_ms() < end; nap())
        if (atomic_load(&W.server->conns.open) == n) return true;
    return false;
}

static const char *key_of(const char *tenant) {
    static char out[256];
    struct wopr_error err;
    struct str text;
    struct api_key row;
    cr_assert_eq(key_mint(W.store, str_c(tenant), STR("w"), STR("test"), SCOPE_ALL, false, 0,
                          W.arena, &text, &row, &err),
                 0);
    cr_assert_eq(store_key_put(W.store, &row, &err), 0);
    snprintf(out, sizeof out, "Authorization: Bearer " STR_FMT "\r\n", STR_ARG(text));
    return out;
}

static int64_t run_of_two(void) {
    static const struct seed TWO[] = {{EV_RUN_STARTED, NULL}, {EV_RUN_COMPLETED, NULL}};
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, TWO, 2);
    return no;
}

static struct client *follow_in(const char *version, int64_t no, const char *query,
                                const char *headers) {
    struct client *c = dial();
    say(c, "GET /v1/runs/r1/events?no=%lld%s %s\r\nHost: x\r\n%s\r\n", (long long)no, query,
        version, headers);
    cr_assert(hear_head(c));
    return c;
}
static struct client *follow(int64_t no, const char *query, const char *headers) {
    return follow_in("HTTP/1.1", no, query, headers);
}

static void one_loop(struct http_config *cfg) {
    cfg->threads = 1;
    cfg->read_threads = 2;
    cfg->keepalive_ms = 40;
}
static void reserve_half(struct http_config *cfg) {
    one_loop(cfg);
    cfg->keepalive_ms = 15000;
    cfg->reserve_percent = 50;
}

/* Both frames, each once, in order; a keep-alive may come between them. */
static void expect_both(struct client *c) {
    static const char first[] = "id: 0\ndata: 1\n\n", second[] = "id: 1\ndata: 2\n\n";
    cr_assert(body_has(c, first) && body_has(c, second), "%s", c->body.p);
    cr_expect_lt(strstr(c->body.p, first), strstr(c->body.p, second));
    cr_expect(count_of(c, first) == 1 && count_of(c, second) == 1);
}

static void costly_folds_keep_nobody(const char *query) {
    struct client *v[5], *other;
    world_up(one_loop);
    int64_t no = run_of_two();
    for (size_t i = 0; i < 4; i++) v[i] = follow(no, query, bearer());
    cr_assert(count_is(&W.waiting, 1));
    other = ask("GET", "/v1/ping", NULL, NULL);
    cr_expect_eq(other->status, 200, "the loop is free");
    hang_up(other);
    v[4] = follow(no, query, key_of("t2"));
    cr_expect(count_is(&W.waiting, 2), "a thread is left for others");
    for (size_t i = 0; i < 5; i++) cr_expect(hear_until(v[i], ":keepalive\n\n"), "stream %zu", i);
    cr_expect_eq(atomic_load(&W.waiting), 2, "the first tenant has one thread");
    world_open();
    for (size_t i = 0; i < 5; i++) {
        cr_assert(hear_end(v[i]));
        expect_both(v[i]);
        hang_up(v[i]);
    }
    cr_expect_eq(atomic_load(&W.turns), 10, "each event of each stream, once");
    cr_expect(held(SHARE_STREAMS, 0) && held(SHARE_READS, 0));
    cr_expect_eq(atomic_load(&W.freed), 5);
    world_down();
}

Test(http_fold, costly_events_of_a_finished_run_keep_no_loop_and_no_other_tenant) {
    costly_folds_keep_nobody("&fold=3&final=1");
}

Test(http_fold, costly_events_of_a_live_run_keep_no_loop_and_no_other_tenant) {
    costly_folds_keep_nobody("&fold=3");
}

Test(http_fold, what_is_known_to_be_long_is_not_even_asked_on_a_loop) {
    costly_folds_keep_nobody("&fold=3&away=1&final=1");
}

Test(http_fold, a_loop_is_not_asked_for_a_long_backlog) {
    world_up(one_loop);
    struct client *c = follow(run_of_two(), "&fold=4&away=1", bearer());
    cr_assert(hear_end(c));
    cr_expect_eq(atomic_load(&W.asked_here), 0);
    hang_up(c);
    world_down();
}

Test(http_fold, an_event_has_as_many_turns_as_it_needs) {
    struct client *v[4];
    world_up(one_loop);
    int64_t no = run_of_two();
    for (size_t i = 0; i < 4; i++)
        v[i] = follow(no, i % 2 ? "&fold=4" : "&fold=4&final=1", bearer());
    for (size_t i = 0; i < 4; i++) {
        cr_assert(hear_end(v[i]));
        cr_expect_eq(count_of(v[i], "id: "), 2u);
        hang_up(v[i]);
    }
    cr_expect_geq(atomic_load(&W.turns), 4 * 1001);
    cr_expect_leq(atomic_load(&W.asked_here), 4 * 2, "a loop asks once for a turn");
    world_down();
}

Test(http_fold, live_events_are_folded_where_they_belong) {
    static const struct seed LOGGED[] = {{EV_LOG_APPENDED, NULL}},
                             ENDED[] = {{EV_RUN_COMPLETED, NULL}};
    world_up(one_loop);
    int64_t no = world_run("r1");
    struct client *costly = follow(no, "&fold=4", bearer()),
                  *cheap = follow(no, "&fold=1", bearer());
    cr_assert(hear_until(costly, ":ok\n\n"));
    cr_assert(hear_until(cheap, ":ok\n\n"));
    for (int64_t i = 0; i < 5; i++) {
        char want[32];
        world_append(no, "r1", i, LOGGED, 1);
        snprintf(want, sizeof want, "id: %lld\n", (long long)i);
        cr_assert(hear_until(costly, want));
        cr_assert(hear_until(cheap, want));
    }
    world_append(no, "r1", 5, ENDED, 1);
    cr_assert(hear_end(costly));
    cr_assert(hear_end(cheap));
    cr_expect_eq(count_of(costly, "id: "), 6u);
    cr_expect_geq(atomic_load(&W.turns), 6000 - 6);
    hang_up(costly);
    hang_up(cheap);
    world_down();
}

/* ------------------------------------------------------------------------------ clients leave */

Test(http_fold, turns_of_clients_that_left_are_not_made) {
    struct client *v[6];
    world_up(one_loop);
    int64_t no = run_of_two();
    for (size_t i = 0; i < 6; i++) v[i] = follow(no, "&fold=3", bearer());
    cr_assert(count_is(&W.waiting, 1));
    for (size_t i = 0; i < 6; i++) cr_assert(hear_until(v[i], ":ok\n\n"));
    for (size_t i = 0; i < 6; i++) hang_up(v[i]);
    cr_expect(held(SHARE_STREAMS, 1), "those that wait for a turn are over");
    cr_expect_eq(atomic_load(&W.freed), 5);
    world_open();
    cr_expect(held(SHARE_STREAMS, 0));
    cr_expect_eq(atomic_load(&W.freed), 6);
    cr_expect_leq(atomic_load(&W.turns), 2);
    world_down();
}

Test(http_fold, a_turn_outlives_the_connection_of_libmicrohttpd /* HTTP/1.0: no outlet */) {
    struct client *v[3];
    world_up(one_loop);
    int64_t no = run_of_two();
    for (size_t i = 0; i < 3; i++) v[i] = follow_in("HTTP/1.0", no, "&fold=3", bearer());
    cr_assert(count_is(&W.waiting, 1));
    for (size_t i = 0; i < 3; i++) cr_assert(hear_until(v[i], ":ok\n\n"));
    for (size_t i = 0; i < 3; i++) hang_up(v[i]);
    cr_expect(connections_are(0), "keep-alives find out");
    cr_expect_eq(atomic_load(&W.freed), 2, "the one whose turn is made is left");
    world_open();
    cr_expect(held(SHARE_STREAMS, 0));
    cr_expect_eq(atomic_load(&W.freed), 3);
    world_down();
}

Test(http_fold, a_server_stops_while_folds_would_go_on_for_ever) {
    struct client *v[4];
    world_up(one_loop);
    int64_t no = run_of_two();
    for (size_t i = 0; i < 4; i++)
        v[i] = follow_in(i % 2 ? "HTTP/1.0" : "HTTP/1.1", no, "&fold=5", bearer());
    for (size_t i = 0; i < 4; i++) cr_assert(hear_until(v[i], ":ok\n\n"));
    cr_assert(count_is(&W.turns, 20));
    world_down();
    for (size_t i = 0; i < 4; i++) {
        cr_expect_not(hear_until(v[i], "data"), "it ends without a frame");
        cr_expect(is_closed(v[i]));
        hang_up(v[i]);
    }
    cr_expect_eq(atomic_load(&W.freed), 4);
}

/* ------------------------------------------------------------------------------ bounds */

Test(http_fold, streams_that_wait_for_their_first_turn_are_bounded /* PROF-14 */) {
    enum { N = HTTP_READS_MAX / 2 + 1 };
    static struct client *v[N + 1];
    world_up(reserve_half);
    int64_t no = run_of_two();
    for (size_t i = 0; i < N - 1; i++) v[i] = follow(no, "&fold=3&away=1", bearer());
    cr_assert(held(SHARE_READS, N - 1));
    v[N - 1] = follow(no, "&fold=3&away=1", bearer());
    cr_expect_eq(v[N - 1]->status, 503);
    cr_expect_not_null(header_of(v[N - 1], "Retry-After"));
    v[N] = follow(no, "&fold=3&away=1&final=1", key_of("t2"));
    cr_expect_eq(v[N]->status, 200, "others have their reserve");
    world_open();
    for (size_t i = 0; i <= N; i++) {
        if (i == N - 1) continue;
        cr_assert(hear_end(v[i]));
        cr_expect_eq(count_of(v[i], "id: "), 2u);
    }
    cr_expect(held(SHARE_READS, 0));
    for (size_t i = 0; i <= N; i++) hang_up(v[i]);
    world_down();
}
