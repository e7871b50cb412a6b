/*
 * test_http_bounds.c: slots, shares and bytes: what one client may hold, and that it is given back
 * (HTTP-11 step 2, PROF-14, AUTH-12).
 */
#include "base/mem.h"
#include "http/server.h"
#include "http_world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

enum { WAIT_MS = 60000, MIB = 1024 * 1024 };

TestSuite(http_bounds, .fini = world_down, .timeout = 300);

static void nap(void) { nanosleep(&(struct timespec){0, 2000000}, NULL); }

static bool held(enum share_kind kind, size_t n) {
    for (uint64_t end = clock_mono_ms() + WAIT_MS; clock_mono_ms() < end; nap())
        if (shares_total(&W.server->shares, kind) == n) return true;
    return false;
}
static bool count_is(const atomic_int *what, int n) {
    for (uint64_t end = clock_mono_ms() + WAIT_MS; clock_mono_ms() < end; nap())
        if (atomic_load(what) == n) return true;
    return false;
}

/* A header for a new key of that tenant; static, one per call site's turn. */
static const char *key_of(const char *tenant) {
    static char texts[8][256];
    static size_t at;
    struct wopr_error err;
    struct str text;
    struct api_key row;
    char *out = texts[at++ % 8];
    cr_assert_eq(key_mint(W.store, str_c(tenant), STR("w"), STR("test"), SCOPE_ALL, false, 0,
                          W.arena, &text, &row, &err),
                 0);
    cr_assert_eq(store_key_put(W.store, &row, &err), 0);
    snprintf(out, sizeof texts[0], "Authorization: Bearer " STR_FMT "\r\n", STR_ARG(text));
    return out;
}

static struct client *open_get(const char *target, const char *headers) {
    struct client *c = dial();
    say(c, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n", target, headers);
    return c;
}
static int status_of(const char *target, const char *headers) {
    struct client *c = ask("GET", target, headers, NULL);
    int status = c->status;
    hang_up(c);
    return status;
}
static void hang_up_all(struct client **v, size_t n) {
    for (size_t i = 0; i < n; i++) hang_up(v[i]);
}

/* ------------------------------------------------------------------------------ slots */

static void four_requests(struct http_config *cfg) { cfg->requests_max = 4; }

Test(http_bounds, anonymous_half_bodies_hold_no_slot /* HTTP-11 */) {
    struct client *v[8];
    world_up(four_requests);
    for (size_t i = 0; i < 8; i++) {
        v[i] = dial();
        say(v[i], "POST /v1/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    }
    cr_assert(count_is(&W.server->exchanges.open, 8));
    cr_expect_eq(status_of("/v1/runs/r", bearer()), 200);
    for (size_t i = 0; i < 8; i++) { /* and they are answered when their body is complete */
        say(v[i], "0123456");
        cr_assert(hear(v[i]));
        cr_expect_eq(v[i]->status, 401);
    }
    hang_up_all(v, 8);
}

Test(http_bounds, a_refusal_that_waits_for_its_body_holds_no_slot /* HTTP-11 */) {
    struct client *v[8];
    world_up(four_requests);
    for (size_t i = 0; i < 8; i++) { /* half lack a scope, half send the wrong type */
        v[i] = dial();
        say(v[i], "POST /v1/%s HTTP/1.1\r\nHost: x\r\n%sContent-Type: text/plain\r\n",
            i % 2 ? "echo" : "runs/r/cancel", "Content-Length: 10\r\n");
        say(v[i], "Authorization: Bearer " STR_FMT "\r\n\r\nabc", STR_ARG(W.key_poor));
    }
    cr_assert(count_is(&W.server->exchanges.open, 8));
    cr_expect(held(SHARE_REQUESTS, 0));
    cr_expect_eq(status_of("/v1/runs/r", bearer()), 200);
    hang_up_all(v, 8);
}

/* ------------------------------------------------------------------------------ long-polls */

static void eight_polls(struct http_config *cfg) {
    cfg->polls_max = cfg->key_polls_max = 8;
    cfg->requests_max = 4;
}
static const char POLL[] = "/v1/runs/r/events/poll?no=%lld&ms=60000";

static void open_polls(struct client **v, size_t n, int64_t no, const char *headers) {
    char target[96];
    snprintf(target, sizeof target, POLL, (long long)no);
    for (size_t i = 0; i < n; i++) v[i] = open_get(target, headers);
}

static void reset(struct client *c) {
    struct linger at_once = {.l_onoff = 1};
    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    shutdown(c->fd, SHUT_RDWR);
}
static void fin(struct client *c) { shutdown(c->fd, SHUT_WR); }

static void polls_are_given_back(void (*leave)(struct client *c)) {
    struct client *v[8], *more[1];
    world_up(eight_polls);
    int64_t no = world_run("r");
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 8; i++) { /* four at once are a bound too, until they are parked */
            open_polls(&v[i], 1, no, bearer());
            cr_assert(held(SHARE_POLLS, i + 1));
        }
        cr_expect(held(SHARE_REQUESTS, 0), "a parked poll is not in flight");
        struct client *c = ask("GET", "/v1/runs/r/events/poll?ms=60000", bearer(), NULL);
        cr_expect_eq(c->status, 503);
        cr_expect(body_has(c, "polls-max"));
        cr_expect_str_eq(header_of(c, "Retry-After"), "5");
        hang_up(c);
        for (size_t i = 0; i < 8; i++) leave(v[i]);
        cr_assert(held(SHARE_POLLS, 0), "the poll of a client that left keeps its slot");
        for (size_t i = 0; i < 8; i++) {
            if (leave == fin) cr_expect(hear(v[i]) && v[i]->status == 200, "what there is");
            cr_expect(is_closed(v[i]));
        }
        hang_up_all(v, 8);
    }
    open_polls(more, 1, no, bearer());
    cr_assert(held(SHARE_POLLS, 1));
    world_append(no, "r", 0, &(struct seed){EV_RUN_STARTED, NULL}, 1);
    cr_assert(hear(more[0]));
    cr_expect_eq(more[0]->status, 200);
    hang_up(more[0]);
}

Test(http_bounds, closed_polls_give_their_slot_back /* PROF-14 */) { polls_are_given_back(fin); }
Test(http_bounds, reset_polls_give_their_slot_back /* PROF-14 */) { polls_are_given_back(reset); }

static void key_share(struct http_config *cfg) { cfg->polls_max = 8; }

Test(http_bounds, one_key_cannot_take_all_polls /* PROF-14 */) {
    struct client *v[5];
    world_up(key_share);
    int64_t no = world_run("r");
    open_polls(v, 4, no, bearer());
    cr_assert(held(SHARE_POLLS, 4));
    struct client *c = ask("GET", "/v1/runs/r/events/poll?ms=60000", bearer(), NULL);
    cr_expect_eq(c->status, 503);
    cr_expect(body_has(c, "key-polls-max"));
    hang_up(c);
    open_polls(v + 4, 1, no, key_of("t1"));
    cr_expect(held(SHARE_POLLS, 5), "another key of the tenant");
    hang_up_all(v, 5);
}

static void long_gate(struct http_config *cfg) { cfg->idem.wait_ms = 60000; }

Test(http_bounds, a_closed_duplicate_at_the_gate_gives_its_slot_back /* IDEM-11 */) {
    struct client *v[3];
    world_up(long_gate);
    for (size_t i = 0; i < 3; i++) {
        v[i] = dial();
        say(v[i], "POST /v1/later HTTP/1.1\r\nHost: x\r\n%s", bearer());
        say(v[i], "Idempotency-Key: k\r\nContent-Length: 0\r\n\r\n");
        if (i == 0) cr_assert(count_is(&W.waiting, 1));
    }
    cr_assert(held(SHARE_REQUESTS, 3));
    fin(v[0]); /* its effect is under way: it ends by itself */
    hang_up(v[1]);
    fin(v[2]);
    cr_expect(held(SHARE_REQUESTS, 1));
    cr_assert(hear(v[2]), "a half-close is no hang-up");
    cr_expect_eq(v[2]->status, 409);
    hang_up(v[2]);
    world_open();
    cr_assert(hear(v[0]));
    cr_expect_eq(v[0]->status, 201);
    hang_up(v[0]);
}

/* ------------------------------------------------------------------------------ shares */

static void twenty(struct http_config *cfg) {
    cfg->requests_max = cfg->streams_max = 20;
    cfg->reserve_percent = 20;
}

Test(http_bounds, one_tenant_leaves_requests_to_others /* PROF-14 */) {
    struct client *v[17];
    world_up(twenty);
    const char *other = key_of("t2");
    for (size_t i = 0; i < 16; i++) {
        v[i] = dial();
        say(v[i], "POST /v1/later HTTP/1.1\r\nHost: x\r\n%sContent-Length: 0\r\n\r\n", bearer());
    }
    cr_assert(count_is(&W.waiting, 16));
    cr_expect_eq(status_of("/v1/runs/r", bearer()), 503);
    cr_expect_eq(status_of("/v1/runs/r", other), 200);
    cr_expect_eq(status_of("/v1/ping", NULL), 200, "who is not known is small too");
    world_open();
    for (size_t i = 0; i < 16; i++) cr_expect(hear(v[i]));
    cr_expect(held(SHARE_REQUESTS, 0));
    cr_expect_eq(status_of("/v1/runs/r", bearer()), 200);
    hang_up_all(v, 16);
}

Test(http_bounds, one_tenant_leaves_streams_to_others /* PROF-14 */) {
    struct client *v[17];
    char target[64];
    world_up(twenty);
    snprintf(target, sizeof target, "/v1/runs/r/events?no=%lld", (long long)world_run("r"));
    for (size_t i = 0; i < 16; i++) {
        v[i] = open_get(target, bearer());
        cr_assert(hear_head(v[i]));
        cr_assert_eq(v[i]->status, 200);
    }
    struct client *c = ask("GET", target, bearer(), NULL);
    cr_expect_eq(c->status, 503);
    cr_expect(body_has(c, "streams-max"));
    hang_up(c);
    v[16] = open_get(target, key_of("t2"));
    cr_assert(hear_head(v[16]));
    cr_expect_eq(v[16]->status, 200);
    hang_up_all(v, 17);
    cr_expect(held(SHARE_STREAMS, 0));
}

static void two_streams(struct http_config *cfg) { cfg->tenant_streams_max = 2; }

Test(http_bounds, streams_of_a_tenant_have_a_quota /* ERR-8, PROF-14 */) {
    struct client *v[3];
    char target[64];
    world_up(two_streams);
    snprintf(target, sizeof target, "/v1/runs/r/events?no=%lld", (long long)world_run("r"));
    for (size_t i = 0; i < 2; i++) {
        v[i] = open_get(target, bearer());
        cr_assert(hear_head(v[i]));
        cr_assert_eq(v[i]->status, 200);
    }
    struct client *c = ask("GET", target, bearer(), NULL);
    cr_expect_eq(c->status, 429);
    cr_expect_str_eq(header_of(c, "Retry-After"), "5");
    static const char *const MEMBERS[] = {"\"rate_limited\"",     "\"retryAfterMs\":5000",
                                          "\"scope\":\"tenant\"", "\"limit\":2",
                                          "\"current\":2",        "tenant-streams-max"};
    for (size_t i = 0; i < sizeof MEMBERS / sizeof *MEMBERS; i++)
        cr_expect(body_has(c, MEMBERS[i]), "%s in %s", MEMBERS[i], c->body.p);
    hang_up(c);
    v[2] = open_get(target, key_of("t2"));
    cr_assert(hear_head(v[2]));
    cr_expect_eq(v[2]->status, 200, "of another tenant");
    hang_up(v[0]);
    cr_expect(held(SHARE_STREAMS, 2));
    v[0] = open_get(target, bearer());
    cr_assert(hear_head(v[0]));
    cr_expect_eq(v[0]->status, 200, "there is room again");
    hang_up_all(v, 3);
}

static void tight_tenants(struct http_config *cfg) {
    cfg->rates.tenant_rate = 1, cfg->rates.tenant_burst = 3;
}

/* More keys are no more requests. */
Test(http_bounds, the_keys_of_a_tenant_share_its_bucket /* AUTH-12, ERR-8 */) {
    char poor[256];
    world_up(tight_tenants);
    snprintf(poor, sizeof poor, "Authorization: Bearer " STR_FMT "\r\n", STR_ARG(W.key_poor));
    cr_expect_eq(status_of("/v1/runs/x", bearer()), 200);
    struct client *c = ask("GET", "/v1/runs/x", poor, NULL);
    cr_expect_eq(c->status, 403, "another key: its scope is judged after the rates");
    hang_up(c);
    cr_expect_eq(status_of("/v1/runs/x", bearer()), 200);
    c = ask("GET", "/v1/runs/x", poor, NULL);
    cr_expect_eq(c->status, 429);
    cr_expect_not_null(header_of(c, "Retry-After"));
    cr_expect(body_has(c, "\"scope\":\"tenant\"") && body_has(c, "\"limit\":1"), "%s", c->body.p);
    hang_up(c);
    cr_expect_eq(status_of("/v1/runs/x", key_of("t2")), 200, "another tenant");
}

static size_t take_all(struct shares *s, struct holder *h, size_t most) {
    size_t n = 0;
    while (n < most && share_take(s, h, SHARE_REQUESTS, 1)) n++;
    return n;
}

Test(http_shares, tenants_together_cannot_take_the_reserve /* PROF-14 */) {
    const size_t limit[SHARE_NR] = {[SHARE_REQUESTS] = 1000};
    struct shares s;
    cr_assert_eq(shares_init(&s, limit, 10), 0);
    struct holder *a = shares_enter(&s, STR("a")), *b = shares_enter(&s, STR("b"));
    struct holder *c = shares_enter(&s, STR("c"));
    cr_expect_eq(take_all(&s, a, 600), 600u);
    cr_expect_eq(take_all(&s, b, 600), 300u, "up to the reserve");
    cr_expect_not(share_take(&s, a, SHARE_REQUESTS, 1));
    cr_expect_eq(take_all(&s, c, 600), 20u, "who holds little gets a fifth of it");
    share_force(&s, a, SHARE_REQUESTS, 200); /* what exists is counted, over the limit too */
    struct holder *d = shares_enter(&s, STR("d"));
    cr_expect_not(share_take(&s, d, SHARE_REQUESTS, 1));
    share_give(&s, a, SHARE_REQUESTS, 800);
    cr_expect(share_take(&s, d, SHARE_REQUESTS, 1));
    cr_expect_eq(shares_total(&s, SHARE_REQUESTS), 321u);
    cr_expect_eq(shares_again(&s, d), shares_enter(&s, STR("d")));
    for (int i = 0; i < 3; i++) shares_leave(&s, d);
    shares_fini(&s);
}

Test(http_shares, holders_that_hold_nothing_are_forgotten) {
    const size_t limit[SHARE_NR] = {[SHARE_REQUESTS] = 10};
    struct shares s;
    char name[32];
    cr_assert_eq(shares_init(&s, limit, 0), 0);
    for (int i = 0; i < 10000; i++) {
        struct holder *h =
            shares_enter(&s, str_n(name, (size_t)snprintf(name, sizeof name, "t%d", i)));
        cr_assert(share_take(&s, h, SHARE_REQUESTS, 1));
        share_give(&s, h, SHARE_REQUESTS, 1);
        shares_leave(&s, h);
    }
    cr_expect_lt(map_count(s.holders), 1000u);
    shares_fini(&s);
}

/* ------------------------------------------------------------------------------ bytes */

static void thirty_two_mib(struct http_config *cfg) {
    cfg->memory_bytes = 32 * MIB;
    cfg->read_timeout_s = 3;
}

static struct client *ask_big(size_t n, const char *headers) {
    const int small = 4096;
    struct client *c = dial();
    setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    say(c, "GET /v1/big?n=%zu HTTP/1.1\r\nHost: x\r\n%s\r\n", n, headers);
    cr_assert(hear_head(c));
    return c;
}

Test(http_bounds, unread_answers_are_bounded_by_bytes /* PROF-14 */) {
    struct client *v[12];
    size_t served = 0, refused = 0;
    world_up(thirty_two_mib);
    for (size_t i = 0; i < 12; i++) {
        v[i] = ask_big(7 * MIB, bearer());
        served += v[i]->status == 200;
        refused += v[i]->status == 503 && header_of(v[i], "Retry-After") != NULL;
    }
    cr_expect_eq(served, 4, "%zu", served);
    cr_expect_eq(refused, 8);
    cr_expect(held(SHARE_BYTES, 28 * MIB));
    hang_up_all(v, 12);
    cr_expect(held(SHARE_BYTES, 0));
    cr_expect_eq(status_of("/v1/big?n=7000000", bearer()), 200);
}

/* Pages of twenty megabytes leave the process, but no loop, which others wait for, does that. */
Test(http_bounds, large_answers_whose_clients_leave_are_freed_off_the_loops) {
    enum { ANSWERS = 20 };
    struct client *v[ANSWERS];
    world_up(NULL);
    for (size_t i = 0; i < ANSWERS; i++) v[i] = ask_big(MIB, bearer());
    cr_expect(held(SHARE_BYTES, ANSWERS * MIB));
    struct mem_later *l = &W.server->trim.later;
    const uint64_t want = atomic_load(&l->taken) + ANSWERS;
    hang_up_all(v, ANSWERS);
    for (int i = 0; i < WAIT_MS && (atomic_load(&l->taken) < want || atomic_load(&l->bytes) > 0);
         i++)
        clock_sleep_ms(1);
    cr_expect_geq(atomic_load(&l->taken), want);
    cr_expect_eq(atomic_load(&l->bytes), 0, "and freed it is");
}

Test(http_bounds, who_reads_nothing_is_cut_and_its_bytes_are_free /* SSE-25 */) {
    world_up(thirty_two_mib);
    struct client *c = ask_big(16 * MIB, bearer());
    cr_assert_eq(c->status, 200);
    cr_expect(held(SHARE_BYTES, 16 * MIB));
    cr_expect(held(SHARE_BYTES, 0), "still held after %d ms", WAIT_MS);
    hang_up(c);
}

Test(http_bounds, who_hardly_reads_is_cut /* SSE-25 */) {
    world_up(thirty_two_mib);
    struct client *c = ask_big(16 * MIB, bearer());
    cr_assert_eq(c->status, 200);
    /* 64 bytes every 100 ms, so that it does read, and never catches up */
    char some[64];
    for (uint64_t end = clock_mono_ms() + WAIT_MS; clock_mono_ms() < end;) {
        if (shares_total(&W.server->shares, SHARE_BYTES) == 0) break;
        (void)recv(c->fd, some, sizeof some, MSG_DONTWAIT);
        nanosleep(&(struct timespec){0, 100 * 1000000}, NULL);
    }
    cr_expect(held(SHARE_BYTES, 0));
    hang_up(c);
}

static void three_mib(struct http_config *cfg) { cfg->memory_bytes = 3 * MIB + MIB / 2; }

Test(http_bounds, bodies_are_counted_before_they_are_read /* HTTP-9 */) {
    struct client *v[4];
    world_up(three_mib);
    for (size_t i = 0; i < 4; i++) {
        v[i] = dial();
        say(v[i], "POST /v1/upload HTTP/1.1\r\nHost: x\r\n%sIdempotency-Key: k\r\n", bearer());
        say(v[i], "Content-Length: %d\r\n\r\n{", MIB);
        if (i < 3) cr_assert(held(SHARE_BYTES, (i + 1) * MIB));
    }
    cr_assert(hear(v[3]));
    cr_expect_eq(v[3]->status, 503);
    cr_expect(body_has(v[3], "memory-bytes"));
    cr_expect_str_eq(header_of(v[3], "openwop-Idempotent-Replay"), "false");
    hang_up_all(v, 4);
    cr_expect(held(SHARE_BYTES, 0));
}

Test(http_bounds, chunked_bodies_are_counted_as_they_grow /* HTTP-9 */) {
    static char piece[64 * 1024];
    struct client *v[5];
    size_t refused = 0;
    world_up(three_mib);
    memset(piece, ' ', sizeof piece);
    for (size_t i = 0; i < 5; i++) {
        v[i] = dial();
        say(v[i], "POST /v1/upload HTTP/1.1\r\nHost: x\r\n%s", bearer());
        say(v[i], "Transfer-Encoding: chunked\r\n\r\n");
        for (int k = 0; k < 15; k++) { /* 960 KiB, and the end is missing */
            say(v[i], "10000\r\n");
            say_bytes(v[i], piece, sizeof piece);
            say(v[i], "\r\n");
        }
    }
    /* Not all of it has been read: an end that is told now would make room for the rest. */
    for (uint64_t end = clock_mono_ms() + WAIT_MS; clock_mono_ms() < end; nap())
        if (atomic_load(&W.server->metrics.refused[REFUSED_MEMORY]) > 0) break;
    for (size_t i = 0; i < 5; i++) {
        cr_expect_leq(shares_total(&W.server->shares, SHARE_BYTES), 3u * MIB + MIB / 2);
        say(v[i], "2\r\n{}\r\n0\r\n\r\n");
        cr_assert(hear(v[i]));
        refused += v[i]->status == 503;
        hang_up(v[i]);
    }
    cr_expect_geq(refused, 1);
    cr_expect(held(SHARE_BYTES, 0));
}

static void sixteen_mib(struct http_config *cfg) { cfg->memory_bytes = 16 * MIB; }

Test(http_bounds, states_of_streams_are_bounded_by_bytes /* SSE-25 */) {
    struct client *v[3];
    char target[96];
    world_up(sixteen_mib);
    int64_t no = world_run("r");
    snprintf(target, sizeof target, "/v1/runs/r/state?no=%lld&n=%d", (long long)no, 6 * MIB);
    for (size_t i = 0; i < 3; i++) {
        v[i] = open_get(target, bearer());
        cr_assert(hear_head(v[i]));
        cr_expect_eq(v[i]->status, i < 2 ? 200 : 503, "%zu: %d", i, v[i]->status);
    }
    hang_up(v[1]);
    cr_assert(held(SHARE_BYTES, 6 * MIB));
    world_append(no, "r", 0, &(struct seed){EV_RUN_STARTED, NULL}, 1);
    cr_expect(hear_until(v[0], "data: 12582912"));
    cr_expect(held(SHARE_BYTES, 12 * MIB), "a state that grows is counted");
    world_append(no, "r", 1, &(struct seed){EV_VARIABLE_CHANGED, NULL}, 1);
    cr_expect(held(SHARE_BYTES, 0), "and cut when there is no room");
    cr_expect_not(hear_until(v[0], "data: 25165824"));
    hang_up(v[0]);
    hang_up(v[2]);
    cr_expect(held(SHARE_STREAMS, 0));
}

/* ------------------------------------------------------------------------------ credentials */

static void few_guesses(struct http_config *cfg) {
    cfg->rates.auth_failure_rate = 1;
    cfg->rates.auth_failure_burst = 5;
}

static int guess(int i) {
    char header[128];
    snprintf(header, sizeof header, "Authorization: Bearer hk_%026d_x\r\n", i);
    return status_of("/v1/runs/r", header);
}

Test(http_bounds, failed_credentials_are_throttled /* AUTH-12 */) {
    int wrong = 0, limited = 0;
    world_up(few_guesses);
    const char *unseen = key_of("t2");
    cr_expect_eq(status_of("/v1/runs/r", bearer()), 200);
    for (int i = 0; i < 20; i++) cr_expect_eq(status_of("/v1/runs/r", NULL), 401, "no guess");
    for (int i = 0; i < 20; i++) {
        int status = guess(i);
        wrong += status == 401;
        limited += status == 429;
    }
    cr_expect_eq(wrong + limited, 20);
    cr_expect_geq(limited, 10, "%d", limited);
    struct client *c = ask("GET", "/v1/runs/r", "Authorization: Bearer x\r\n", NULL);
    cr_expect_eq(c->status, 429);
    cr_expect_str_eq(header_of(c, "Retry-After"), "1");
    hang_up(c);
    cr_expect_eq(status_of("/v1/runs/r", bearer()), 200, "a key in use is served");
    int status = 429; /* one that nobody has used yet waits for the next token */
    for (uint64_t end = clock_mono_ms() + WAIT_MS; status == 429 && clock_mono_ms() < end; nap())
        status = status_of("/v1/runs/r", unseen);
    cr_expect_eq(status, 200);
}

Test(http_bounds, a_keyed_refusal_says_that_it_is_no_replay /* IDEM-5 */) {
    world_up(NULL);
    struct client *c = ask("POST", "/v1/echo", "Idempotency-Key: k\r\n", "{}");
    cr_expect_eq(c->status, 401);
    cr_expect_str_eq(header_of(c, "openwop-Idempotent-Replay"), "false");
    hang_up(c);
}

/* ------------------------------------------------------------------------------ long reads */

static void one_loop(struct http_config *cfg) {
    cfg->threads = 1;
    cfg->read_threads = 2;
}

Test(http_bounds, long_reads_keep_no_http_thread_and_no_other_tenant /* HTTP-11 */) {
    struct client *v[6];
    world_up(one_loop);
    for (size_t i = 0; i < 5; i++) v[i] = open_get("/v1/long", bearer());
    cr_assert(count_is(&W.waiting, 1));
    cr_expect_eq(status_of("/v1/ping", NULL), 200);
    cr_expect(held(SHARE_READS, 4), "one runs, four wait");
    v[5] = open_get("/v1/long", key_of("t2"));
    cr_expect(count_is(&W.waiting, 2), "a thread is left for others");
    cr_expect_eq(atomic_load(&W.waiting), 2);
    world_open();
    for (size_t i = 0; i < 6; i++) {
        cr_assert(hear(v[i]));
        cr_expect_eq(v[i]->status, 200);
    }
    hang_up_all(v, 6);
}

static void reserve_all_but_few(struct http_config *cfg) {
    one_loop(cfg);
    cfg->reserve_percent = 50;
}

Test(http_bounds, long_reads_that_wait_are_bounded /* PROF-14 */) {
    enum { N = HTTP_READS_MAX / 2 + 2 };
    static struct client *v[N];
    world_up(reserve_all_but_few);
    v[0] = open_get("/v1/long", bearer());
    cr_assert(count_is(&W.waiting, 1)); /* it runs: the others wait */
    for (size_t i = 1; i < N - 1; i++) v[i] = open_get("/v1/long", bearer());
    cr_assert(held(SHARE_READS, HTTP_READS_MAX / 2));
    v[N - 1] = open_get("/v1/long", bearer());
    cr_assert(hear(v[N - 1]));
    cr_expect_eq(v[N - 1]->status, 503);
    world_open();
    for (size_t i = 0; i < N - 1; i++) {
        cr_assert(hear(v[i]));
        cr_expect_eq(v[i]->status, 200);
    }
    hang_up_all(v, N);
}

/* ------------------------------------------------------------------------------ large bodies */

static char large_text[MIB];
/* A string of n bytes, in an object. */
static const char *large(size_t n) {
    snprintf(large_text, sizeof large_text, "{\"x\":\"%0*d\"}", (int)n, 0);
    return large_text;
}

static struct client *open_post(const char *target, const char *headers, const char *body) {
    struct client *c = dial();
    say(c, "POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %zu\r\n\r\n", target, headers,
        strlen(body));
    say_bytes(c, body, strlen(body));
    return c;
}
static int post_status(const char *target, const char *headers, const char *body) {
    struct client *c = open_post(target, headers, body);
    int status = hear(c) ? c->status : 0;
    hang_up(c);
    return status;
}

Test(http_bounds, large_bodies_keep_no_http_thread_and_no_other_tenant /* HTTP-11, S2 */) {
    struct client *v[4];
    world_up(one_loop);
    for (size_t i = 0; i < 3; i++) v[i] = open_post("/v1/keep", bearer(), large(100000));
    cr_assert(count_is(&W.waiting, 1));
    cr_expect_eq(status_of("/v1/ping", NULL), 200);
    cr_expect(held(SHARE_READS, 2), "one is handled, two wait");
    v[3] = open_post("/v1/keep", key_of("t2"), large(100000));
    cr_expect(count_is(&W.waiting, 2), "a thread is left for others");
    world_open();
    for (size_t i = 0; i < 4; i++) {
        cr_assert(hear(v[i]));
        cr_expect_eq(v[i]->status, 200);
    }
    hang_up_all(v, 4);
}

Test(http_bounds, a_large_body_is_judged_like_any_other /* HTTP-8, HTTP-9, IDEM-5 */) {
    static char keyed[400], text[200000];
    world_up(one_loop);
    cr_expect_eq(post_status("/v1/upload", bearer(), large(100000)), 200);
    cr_expect_eq(post_status("/v1/upload", bearer(), large(100000) + 1), 400, "not JSON");
    snprintf(text, sizeof text, "[\"%0*d\"]", 100000, 0);
    cr_expect_eq(post_status("/v1/upload", bearer(), text), 400, "no object");
    snprintf(keyed, sizeof keyed, "%sIdempotency-Key: k\r\n", bearer());
    world_open();
    struct client *one = open_post("/v1/defer", keyed, large(100000));
    cr_assert(hear(one));
    cr_expect_eq(one->status, 201);
    hang_up(one);
    one = open_post("/v1/defer", keyed, large(100000));
    cr_assert(hear(one));
    cr_expect_eq(one->status, 201);
    cr_expect_str_eq(header_of(one, "openwop-Idempotent-Replay"), "true");
    hang_up(one);
    cr_expect_eq(post_status("/v1/defer", keyed, large(100001)), 409, "another body");
    cr_expect_eq(atomic_load(&W.executed), 1);
}

Test(http_bounds, a_stop_answers_the_large_bodies_that_wait /* HTTP-22 */) {
    struct client *v[4];
    world_up(one_loop);
    for (size_t i = 0; i < 4; i++) v[i] = open_post("/v1/keep", bearer(), large(100000));
    cr_assert(count_is(&W.waiting, 1));
    cr_assert(held(SHARE_READS, 3));
    world_open();
    http_server_drain(W.server, 5000);
    for (size_t i = 0; i < 4; i++) {
        cr_assert(hear(v[i]));
        cr_expect(v[i]->status == 200 || v[i]->status == 503, "%d", v[i]->status);
        hang_up(v[i]);
    }
}

static void few_large(struct http_config *cfg) {
    cfg->rates.large_body_rate = 1000;
    cfg->rates.large_body_burst = 250000;
}

static struct client *open_chunked(const char *body) {
    struct client *c = dial();
    say(c, "POST /v1/upload HTTP/1.1\r\nHost: x\r\n%sTransfer-Encoding: chunked\r\n\r\n%zx\r\n",
        bearer(), strlen(body));
    say_bytes(c, body, strlen(body));
    say(c, "\r\n0\r\n\r\n");
    return c;
}

Test(http_bounds, large_bodies_of_a_tenant_come_at_its_rate /* AUTH-12, S2 */) {
    world_up(few_large);
    for (int i = 0; i < 3; i++)
        cr_expect_eq(post_status("/v1/upload", bearer(), large(100000)), 200, "%d", i);
    struct client *c = open_post("/v1/upload", bearer(), large(100000));
    cr_assert(hear(c));
    cr_expect_eq(c->status, 429);
    cr_expect_not_null(header_of(c, "Retry-After"));
    cr_expect(body_has(c, "large-body-rate"), "%s", c->body.p);
    cr_expect(body_has(c, "\"scope\":\"tenant\""), "%s", c->body.p);
    hang_up(c);
    c = open_chunked(large(100000)); /* its length is not known before */
    cr_assert(hear(c));
    cr_expect_eq(c->status, 429);
    hang_up(c);
    cr_expect_eq(post_status("/v1/upload", bearer(), large(60000)), 200, "it is not large");
    cr_expect_eq(post_status("/v1/upload", key_of("t2"), large(100000)), 200, "another tenant");
    cr_expect_eq(post_status("/v1/told/good-t1", "", large(100000)), 200, "its tokens");
}

Test(http_bounds, chunked_bodies_count_too /* AUTH-12 */) {
    world_up(few_large);
    int status = 200;
    for (int i = 0; i < 4 && status == 200; i++) {
        struct client *c = open_chunked(large(100000));
        cr_assert(hear(c));
        status = c->status;
        hang_up(c);
        cr_expect_eq(status, i < 3 ? 200 : 429, "%d: %d", i, status);
    }
}

/* ------------------------------------------------------------------------------ stopping */

Test(http_bounds, a_stop_answers_the_long_reads_that_wait /* HTTP-22 */) {
    struct client *v[4];
    world_up(one_loop);
    for (size_t i = 0; i < 4; i++) v[i] = open_get("/v1/long", bearer());
    cr_assert(count_is(&W.waiting, 1));
    cr_assert(held(SHARE_READS, 3));
    world_open();
    http_server_drain(W.server, 5000);
    for (size_t i = 0; i < 4; i++) {
        cr_assert(hear(v[i]));
        cr_expect(v[i]->status == 200 || v[i]->status == 503, "%d", v[i]->status);
        hang_up(v[i]);
    }
}
