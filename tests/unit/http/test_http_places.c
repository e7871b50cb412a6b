/*
 * test_http_places.c: who holds one of the connections that connections_max allows, who has to give
 * it up, and who is told that there is none.
 */
#include "http/server.h"
#include "http_world.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>

enum { PLACES = 8 };

static void few(struct http_config *cfg) {
    cfg->connections_max = PLACES;
    cfg->threads = 1;
    cfg->read_timeout_s = 60;
}

static bool within(int ms, atomic_uint *v, unsigned want) {
    for (uint64_t end = clock_mono_ms() + (uint64_t)ms; clock_mono_ms() < end; sched_yield())
        if (atomic_load(v) == want) return true;
    return atomic_load(v) == want;
}

static const char PING[] = "GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n";
static const char HALF_A_HEAD[] = "GET /v1/ping HTTP/1.1\r\nX: ";

/* A request whose handler waits for world_open. */
static struct client *dial_later(void) {
    struct client *c = dial();
    say(c, "POST /v1/later HTTP/1.1\r\nHost: x\r\n%sContent-Length: 2\r\n\r\n{}", bearer());
    return c;
}

static void fill(struct client *busy[], int n) {
    int had = atomic_load(&W.waiting);
    for (int i = 0; i < n; i++) busy[i] = dial_later();
    while (atomic_load(&W.waiting) < had + n) sched_yield();
}

static void expect_answers(struct client *busy[], int n) {
    for (int i = 0; i < n; i++) {
        cr_expect(hear(busy[i]), "busy %d", i);
        hang_up(busy[i]);
    }
}

Test(http_places, a_refused_newcomer_leaves_no_place_behind /* ERR-9 */, .timeout = 300) {
    enum { PAIRS = 12 };
    struct client *busy[PLACES], *silent[PAIRS], *more[PAIRS];
    world_up(few);
    fill(busy, PLACES);
    for (int i = 0; i < PAIRS; i++) {
        silent[i] = dial();
        if (i % 2) say(silent[i], HALF_A_HEAD);
        more[i] = dial_later();
        cr_expect(hear(more[i]), "pair %d is told", i);
        cr_expect_eq(more[i]->status, 503, "pair %d: %d", i, more[i]->status);
        cr_expect_leq(atomic_load(&W.server->conns.placed), PLACES);
    }
    cr_expect_eq(atomic_load(&W.server->metrics.refused[REFUSED_CONNECTIONS]), PAIRS);
    cr_expect_eq(atomic_load(&W.server->metrics.refused[REFUSED_CAPACITY]), 0);
    cr_expect_eq(atomic_load(&W.waiting), PLACES, "no handler beyond the places");
    world_open();
    expect_answers(busy, PLACES);
    for (int i = 0; i < PAIRS; i++) hang_up(silent[i]), hang_up(more[i]);
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.open, 0));
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.placed, 0));
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.over, 0));
    world_down();
}

Test(http_places, who_is_refused_for_want_of_places_has_a_short_time_to_say_what, .timeout = 300) {
    struct client *busy[PLACES];
    world_up(few);
    fill(busy, PLACES);
    struct client *half = dial();
    say(half, HALF_A_HEAD);
    struct client *silent = dial();
    cr_expect(is_closed(silent));
    cr_expect(hear(half));
    cr_expect_eq(half->status, 408);
    hang_up(silent);
    hang_up(half);
    world_open();
    expect_answers(busy, PLACES);
    world_down();
}

/* While its thread is kept, a crowd with whole requests gathers that it finds all at once. */
Test(http_places, a_whole_request_is_answered_however_many_come_with_it, .timeout = 300) {
    enum { CROWD = 24 };
    struct client *crowd[CROWD], *keeper;
    world_up(few);
    keeper = dial();
    say(keeper, "GET /v1/hold HTTP/1.1\r\nHost: x\r\n%s\r\n", bearer());
    while (atomic_load(&W.waiting) < 1) sched_yield();
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = dial();
        say_bytes(crowd[i], PING, sizeof PING - 1);
    }
    world_open();
    expect_answers(&keeper, 1);
    expect_answers(crowd, CROWD);
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.placed, 0));
    world_down();
}

/* Bodies that do not come: at a public operation, and at one that needs a key. */
Test(http_places, a_body_without_a_key_gives_way_and_one_with_a_key_does_not, .timeout = 300) {
    enum { KEYED = 3 };
    struct client *c[PLACES], *more[PLACES];
    world_up(few);
    for (int i = 0; i < PLACES; i++) {
        c[i] = dial();
        say(c[i], "POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: 9\r\n\r\n{",
            i >= KEYED && i % 2 ? "/v1/interrupts/good-t1" : "/v1/echo", i < KEYED ? bearer() : "");
    }
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.open, PLACES));
    for (int i = 0; i < PLACES; i++) {
        more[i] = dial();
        say_bytes(more[i], PING, sizeof PING - 1);
        cr_expect(hear(more[i]), "newcomer %d", i);
        cr_expect_eq(more[i]->status, 200, "newcomer %d: %d", i, more[i]->status);
    }
    for (int i = 0; i < KEYED; i++) {
        say(c[i], "\"a\":\"b\"}");
        cr_expect(hear(c[i]), "body %d with a key goes on", i);
    }
    for (int i = 0; i < PLACES; i++) hang_up(c[i]), hang_up(more[i]);
    world_down();
}

/* Refused at its head, with a body that does not come. */
static struct client *dial_refused(void) {
    struct client *c = dial();
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nxx");
    cr_assert(hear(c));
    return c;
}

Test(http_places, refused_connections_that_are_read_on_have_a_bound, .timeout = 300) {
    enum { MANY = 40 };
    struct client *c[MANY];
    world_up(few);
    for (int i = 0; i < MANY; i++) {
        c[i] = dial_refused();
        cr_expect_eq(c[i]->status, 401, "%d: %d", i, c[i]->status);
        cr_expect_leq(atomic_load(&W.server->conns.lingering), PLACES / 4);
    }
    for (int i = 0; i < MANY; i++) hang_up(c[i]);
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.lingering, 0));
    world_down();
}

static void four_each(struct http_config *cfg) {
    cfg->address_connections_max = 4;
    cfg->threads = 1;
}

Test(http_places, what_is_read_on_counts_for_its_address, .timeout = 300) {
    struct client *c[4];
    world_up(four_each);
    for (int i = 0; i < 4; i++) c[i] = dial_refused();
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.lingering, 4));
    struct client *more = dial();
    say_bytes(more, PING, sizeof PING - 1);
    cr_expect(hear(more));
    cr_expect_eq(more->status, 503, "%d", more->status);
    hang_up(more);
    for (int i = 0; i < 4; i++) hang_up(c[i]);
    cr_expect(within(WORLD_WAIT_MS, &W.server->conns.lingering, 0));
    more = dial();
    say_bytes(more, PING, sizeof PING - 1);
    cr_expect(hear(more));
    cr_expect_eq(more->status, 200, "%d", more->status);
    hang_up(more);
    world_down();
}
