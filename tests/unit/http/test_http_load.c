/*
 * test_http_load.c: many connections that become readable at the same moment (H11).
 */
#include "http_world.h"

#include <criterion/criterion.h>
#include <sched.h>

static void one_thread(struct http_config *cfg) { cfg->threads = 1; }
static void up_one_thread(void) { world_up(one_thread); }

TestSuite(http_load, .init = up_one_thread, .fini = world_down, .timeout = 300);

static void all_at_once(size_t n) {
    static struct client *v[260];
    struct client *hold = dial();
    cr_assert(n <= 260);
    atomic_store(&W.waiting, 0);
    W.open = false;
    for (size_t i = 0; i < n; i++) {
        v[i] = dial();
        say(v[i], "GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n");
        cr_assert(hear(v[i]));
    }
    /* The one thread is kept inside a handler until every request lies in its socket. */
    say(hold, "GET /v1/hold HTTP/1.1\r\nHost: x\r\n\r\n");
    while (atomic_load(&W.waiting) == 0) sched_yield();
    for (size_t i = 0; i < n; i++) say(v[i], "GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n");
    world_open();
    for (size_t i = 0; i < n; i++) cr_expect(hear(v[i]), "%zu of %zu", i, n);
    cr_expect(hear(hold));
    for (size_t i = 0; i < n; i++) hang_up(v[i]);
    hang_up(hold);
}

Test(http_load, as_many_requests_as_a_round_of_events_holds_are_answered /* H11 */) {
    all_at_once(128); /* libmicrohttpd asks for so many events, and again when it got them all */
    all_at_once(256);
    all_at_once(129);
}
