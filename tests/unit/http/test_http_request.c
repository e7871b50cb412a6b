/*
 * test_http_request.c: credentials, limits, bodies, idempotency and pending answers over a real
 * socket.
 */
#include "base/mem.h"
#include "http/server.h"
#include "http_world.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

static void up(void) { world_up(NULL); }

/* A condition that another thread brings about; the suite's timeout bounds it. */
static void wait_for(atomic_int *v, int at_least) {
    while (atomic_load(v) < at_least) sched_yield();
}

/* ------------------------------------------------------------------------------ credentials */

TestSuite(http_auth, .init = up, .fini = world_down, .timeout = 300);

static void expect_auth(const char *header, int status, const char *code, const char *challenge) {
    struct client *c = ask("GET", "/v1/runs/x", header, NULL);
    cr_expect_eq(c->status, status, "%s: %d", header, c->status);
    if (code) cr_expect(body_has(c, code), "%s: %s", header, c->body.p);
    const char *got = header_of(c, "WWW-Authenticate");
    if (challenge) cr_expect(got && strcmp(got, challenge) == 0, "%s", got ? got : "none");
    hang_up(c);
}

static const char *with(struct str key, const char *scheme) {
    static char text[300];
    snprintf(text, sizeof text, "Authorization: %s " STR_FMT "\r\n", scheme, STR_ARG(key));
    return text;
}

Test(http_auth, credentials /* AUTH-2, AUTH-3, AUTH-7 */) {
    static const char NONE[] = "Bearer realm=\"openwop\"";
    static const char BAD[] = "Bearer realm=\"openwop\", error=\"invalid_token\"";
    char two[600], twice[600];
    expect_auth("", 401, "unauthenticated", NONE);
    expect_auth("Authorization: Basic abc\r\n", 401, "unauthenticated", BAD);
    expect_auth("Authorization: Bearer\r\n", 401, "unauthenticated", BAD);
    expect_auth("Authorization: Bearer unknown\r\n", 401, "unauthenticated", BAD);
    expect_auth("Authorization: Bearer hk_00000000000000000000000000_x\r\n", 401, "unauthenticated",
                BAD);
    snprintf(two, sizeof two, "Authorization: Bearer " STR_FMT " x\r\n", STR_ARG(W.key));
    expect_auth(two, 401, "unauthenticated", BAD);
    snprintf(twice, sizeof twice, "%s%s", bearer(), bearer());
    expect_auth(twice, 401, "unauthenticated", BAD);
    struct str cut = str_n(W.key.p, W.key.n - 1);
    expect_auth(with(cut, "Bearer"), 401, "unauthenticated", BAD);
    expect_auth(with(W.key_expired, "Bearer"), 401, "key_expired", BAD);
    expect_auth(with(W.key_revoked, "Bearer"), 401, "key_revoked", BAD);
    expect_auth(with(W.key_poor, "Bearer"), 403, "{\"scopeRequired\":\"runs:read\"}",
                "Bearer error=\"insufficient_scope\", scope=\"runs:read\"");
    expect_auth(with(W.key, "bEARER"), 200, "\"tenant\":\"t1\"", NULL);
}

/* A connection remembers the digest of its last key, and nothing that it may do. */
Test(http_auth, each_request_of_a_connection_is_judged_by_its_own_key /* AUTH-1, AUTH-9 */) {
    struct wopr_error err;
    struct str last = str_n(W.key.p, W.key.n - 1), other;
    char text[512];
    memcpy(text, W.key.p, W.key.n);
    text[W.key.n - 1] = text[W.key.n - 1] == 'A' ? 'B' : 'A';
    other = str_n(text, W.key.n);
    const struct {
        struct str key;
        int status;
    } ASKED[] = {{W.key, 200},      {W.key, 200}, {last, 401},  {other, 401},
                 {W.key_poor, 403}, {W.key, 200}, {other, 401}, {W.key_expired, 401},
                 {W.key_poor, 403}, {W.key, 200}, {W.key, 200}};
    struct client *c = dial();
    for (size_t i = 0; i < sizeof ASKED / sizeof *ASKED; i++) {
        say(c, "GET /v1/runs/r1 HTTP/1.1\r\nHost: x\r\n%s\r\n", with(ASKED[i].key, "Bearer"));
        cr_assert(hear(c), "%zu", i);
        cr_expect_eq(c->status, ASKED[i].status, "%zu: %d", i, c->status);
    }
    cr_assert_eq(store_key_revoke(W.store, W.key_id, 1, &err), 0);
    say(c, "GET /v1/runs/r1 HTTP/1.1\r\nHost: x\r\n%s\r\n", with(W.key, "Bearer"));
    cr_assert(hear(c));
    cr_expect_eq(c->status, 401, "%d", c->status);
    hang_up(c);
}

Test(http_auth, public_operations_ignore_credentials /* AUTH-15 */) {
    struct client *c =
        ask("GET", "/.well-known/openwop", "Authorization: Bearer nonsense\r\n", NULL);
    cr_expect_eq(c->status, 200);
    hang_up(c);
}

Test(http_auth, configured_keys_of_any_spelling /* AUTH-16, AUTH-4 */) {
    struct api_key row, found;
    struct wopr_error err;
    struct arena *a = arena_new(65536);
    cr_assert_eq(
        key_from_text(W.store, STR("any thing"), STR("t"), STR("w"), SCOPE_ALL, a, &row, &err),
        WOPR_E_CONFIG);
    const struct str text = STR("hk_test_plain-and-long");
    cr_expect_eq(
        key_from_text(W.store, str_n(text.p, 19), STR("t"), STR(""), SCOPE_ALL, a, &row, &err),
        WOPR_E_CONFIG);
    cr_expect_not_null(strstr(err.message, "keys generate"), "%s", err.message);
    cr_assert_eq(key_from_text(W.store, text, STR("t2"), STR(""), SCOPE_ALL, a, &row, &err), 0);
    cr_expect(row.test_mode && row.configured);
    cr_expect_eq(key_check(W.store, text, 5, a, &found, &err), WOPR_E_UNAUTHENTICATED);
    cr_assert_eq(store_key_configure(W.store, &row, &err), 0, "%s", err.message);
    cr_expect_eq(key_check(W.store, text, 5, a, &found, &err), WOPR_E_UNAUTHENTICATED,
                 "the row is a record, the settings are what counts");
    arena_free(a);
}

static void get_ticket(const char *query, char *out, size_t size) {
    char target[128];
    snprintf(target, sizeof target, "/v1/runs/r1/ticket%s", query);
    struct client *c = ask("POST", target, bearer(), "{}");
    cr_assert_eq(c->status, 200);
    snprintf(out, size, "%.*s", (int)c->body.len, c->body.p);
    hang_up(c);
}

static int with_ticket(const char *run, const char *ticket) {
    char target[1400];
    snprintf(target, sizeof target, "/v1/runs/%s/events?ended=1&ticket=%s", run, ticket);
    struct client *c = ask("GET", target, NULL, NULL);
    int status = c->status;
    hang_up(c);
    return status;
}

Test(http_auth, tickets_open_one_stream_of_one_run) {
    char t[1024], bad[1200];
    get_ticket("", t, sizeof t);
    cr_expect_eq(with_ticket("r1", t), 200);
    cr_expect_eq(with_ticket("r2", t), 401);
    for (size_t i = 0; i < strlen(t); i += 7) {
        snprintf(bad, sizeof bad, "%s", t);
        bad[i] = bad[i] == 'A' ? 'B' : 'A';
        int status = with_ticket("r1", bad);
        cr_expect_eq(status, 401, "byte %zu: %d of %s", i, status, t);
    }
    snprintf(bad, sizeof bad, "%sA", t);
    cr_expect_eq(with_ticket("r1", bad), 401);
    cr_expect_eq(with_ticket("r1", ""), 401);
    char target[1200];
    snprintf(target, sizeof target, "/v1/runs/r1?ticket=%s", t); /* no stream: no ticket */
    struct client *c = ask("GET", target, NULL, NULL);
    cr_expect_eq(c->status, 401);
    hang_up(c);
    get_ticket("?ms=1", t, sizeof t);
    for (int64_t end = clock_wall_ms() + 1; clock_wall_ms() <= end;) sched_yield();
    cr_expect_eq(with_ticket("r1", t), 401);
}

Test(http_auth, a_ticket_dies_with_its_key) {
    char t[1024];
    struct wopr_error err;
    get_ticket("", t, sizeof t);
    cr_assert_eq(store_key_revoke(W.store, W.key_id, 1, &err),
                 0); /* the log is idle: nobody else writes */
    cr_expect_eq(with_ticket("r1", t), 401);
}

/* ------------------------------------------------------------------------------ limits */

static void tight(struct http_config *cfg) {
    cfg->rates.key_rate = 1, cfg->rates.key_burst = 2, cfg->rates.address_rate = 2,
    cfg->rates.address_burst = 3;
}

Test(http_limit, keys_and_addresses_have_their_own_buckets /* AUTH-12, ERR-8 */, .timeout = 300) {
    world_up(tight);
    struct client *c = NULL;
    for (int i = 0; i < 100 && (!c || c->status != 429); i++) {
        if (c) hang_up(c);
        c = ask("GET", "/v1/runs/x", bearer(), NULL);
    }
    cr_assert_eq(c->status, 429);
    cr_expect_str_eq(header_of(c, "Retry-After"), "1");
    static const char *const MEMBERS[] = {
        "\"retryAfterMs\":",      "\"scope\":\"key\"", "\"limit\":1",
        "\"observedRate\":",      "\"window\":1",      "\"current\":",
        "\"retryAfterSeconds\":1"};
    for (size_t i = 0; i < 7; i++)
        cr_expect(body_has(c, MEMBERS[i]), "%s in %s", MEMBERS[i], c->body.p);
    hang_up(c);
    c = ask("GET", "/v1/runs/x", with(W.key_poor, "Bearer"),
            NULL); /* the other key: scope, not rate */
    cr_expect_eq(c->status, 403);
    hang_up(c);
    int limited = 0;
    for (int i = 0; i < 200 && limited < 3; i++) {
        c = ask("GET", "/.well-known/openwop", NULL, NULL);
        limited += c->status == 429 && body_has(c, "\"scope\":\"route\"");
        hang_up(c);
    }
    cr_expect_geq(limited, 3);
    world_down();
}

static void one_request(struct http_config *cfg) { cfg->requests_max = 1; }

Test(http_limit, capacity_is_told_with_the_same_number_twice /* ERR-9 */, .timeout = 300) {
    world_up(one_request);
    struct client *held = dial();
    say(held, "POST /v1/later HTTP/1.1\r\nHost: x\r\n%sContent-Length: 0\r\n\r\n", bearer());
    wait_for(&W.waiting, 1);
    struct client *c = ask("GET", "/v1/ping", NULL, NULL);
    cr_expect_eq(c->status, 503);
    cr_expect_str_eq(header_of(c, "Retry-After"), "1"); /* not the 7 of the renderer */
    cr_expect(body_has(c, "\"retryAfter\":1"));
    world_open();
    cr_assert(hear(held));
    cr_expect_eq(held->status, 201);
    say(c, "GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n"); /* room again */
    cr_assert(hear(c));
    hang_up(c);
    hang_up(held);
    world_down();
}

/* ------------------------------------------------------------------------------ bodies */

TestSuite(http_body, .init = up, .fini = world_down, .timeout = 300);

Test(http_body, malformed_bodies /* HTTP-8 */) {
    char deep[512], *d = deep;
    for (int i = 0; i < 70; i++) d += snprintf(d, 16, "{\"a\":");
    d += snprintf(d, 16, "1");
    for (int i = 0; i < 70; i++) d += snprintf(d, 16, "}");
    const char *const BAD[] = {"{",
                               "{}x",
                               "[]",
                               "1",
                               "\"secret-canary\"",
                               "{\"secret-canary\":}",
                               "{\"a\":1,\"a\":2}",
                               "{\"a\":\"\xff\xfe\"}",
                               "{\"a\":\"\\ud800\"}",
                               "   ",
                               "{\"secret-canary\":1,\"secret-canary\":2}",
                               deep};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        struct client *c = ask("POST", "/v1/echo", bearer(), BAD[i]);
        cr_expect_eq(c->status, 400, "%s: %d", BAD[i], c->status);
        cr_expect(!body_has(c, "canary"), "%s", c->body.p); /* HTTP-14 */
        hang_up(c);
    }
    cr_expect_eq(atomic_load(&W.executed), 0);
}

Test(http_body, types_and_empty_bodies /* HTTP-8 */) {
    struct client *c = dial();
    say(c,
        "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Type: text/plain\r\nContent-Length: "
        "2\r\n\r\n{}",
        bearer());
    cr_assert(hear(c));
    cr_expect_eq(c->status, 415);
    say(c,
        "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json; "
        "charset=utf-8\r\nContent-Length: 2\r\n\r\n{}",
        bearer());
    cr_assert(hear(c));
    cr_expect_eq(c->status, 201);
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 0\r\n\r\n", bearer());
    cr_assert(hear(c));
    cr_expect_eq(c->status, 400);
    say(c, "POST /v1/runs/r/cancel HTTP/1.1\r\nHost: x\r\n%sContent-Length: 0\r\n\r\n", bearer());
    cr_assert(hear(c));
    cr_expect_eq(c->status, 200);
    hang_up(c);
}

Test(http_body, the_limit_is_exact_and_over_it_the_line_is_cut /* HTTP-9 */) {
    char body[1100] = "{\"a\":\"";
    memset(body + 6, 'x', 1024 - 8);
    snprintf(body + 1022, 8, "\"}");
    struct client *c = ask("POST", "/v1/echo", bearer(), body);
    cr_expect_eq(c->status, 201);
    hang_up(c);
    snprintf(body + 1022, 8, "x\"}");
    c = ask("POST", "/v1/echo", bearer(), body);
    cr_expect_eq(c->status, 413);
    hang_up(c);
    c = dial(); /* a large one is refused before it is sent */
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 100000000\r\n\r\n", bearer());
    cr_assert(hear(c));
    cr_expect_eq(c->status, 413);
    cr_expect(is_closed(c));
    hang_up(c);
}

static void say_chunk(struct client *c, const char *p, size_t n) {
    say(c, "%zx\r\n", n);
    say_bytes(c, p, n);
    say(c, "\r\n");
}

Test(http_body, chunked_bodies_are_read_and_bounded) {
    struct client *c = dial();
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sTransfer-Encoding: chunked\r\n\r\n", bearer());
    say_chunk(c, "{\"a\"", 4);
    say_chunk(c, ":1}", 3);
    say_chunk(c, "", 0);
    cr_assert(hear(c));
    cr_expect_eq(c->status, 201);
    cr_expect(body_has(c, "{\"a\":1}"));
    char big[1000];
    memset(big, ' ', sizeof big);
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sTransfer-Encoding: chunked\r\n\r\n", bearer());
    for (int i = 0; i < 5; i++) say_chunk(c, big, sizeof big);
    say_chunk(c, "", 0);
    cr_assert(hear(c));
    cr_expect_eq(c->status, 413);
    cr_expect(is_closed(c));
    hang_up(c);
    c = dial(); /* without an end: answered at the bound */
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sTransfer-Encoding: chunked\r\n\r\n", bearer());
    char *huge = mem_zalloc(1 << 16);
    for (int i = 0; i < 80; i++) say_chunk(c, huge, 1 << 16);
    mem_free(huge);
    cr_assert(hear(c));
    cr_expect_eq(c->status, 413);
    cr_expect(is_closed(c));
    hang_up(c);
}

Test(http_body, truncated_bodies_execute_nothing) {
    struct client *c = dial();
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 20\r\n\r\n{\"a\":", bearer());
    shutdown(c->fd, SHUT_WR);
    cr_expect_not(hear(c));
    hang_up(c);
    cr_expect_eq(atomic_load(&W.executed), 0);
}

Test(http_body, a_body_in_single_bytes_is_read) {
    struct client *c = dial();
    const char *body = "{\"slow\":\"yes\"}";
    say(c, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: %zu\r\n\r\n", bearer(),
        strlen(body));
    for (const char *p = body; *p; p++) say_bytes(c, p, 1);
    cr_assert(hear(c));
    cr_expect(body_has(c, body));
    hang_up(c);
}

static void impatient(struct http_config *cfg) { cfg->read_timeout_s = cfg->head_timeout_s = 1; }

Test(http_limit, half_open_clients_are_cut, .timeout = 300) {
    world_up(impatient);
    struct client *head = dial();
    say(head, "GET /v1/ping HTTP/1.1\r\nHo");
    struct client *body = dial();
    say(body, "POST /v1/echo HTTP/1.1\r\nHost: x\r\n%sContent-Length: 20\r\n\r\n{", bearer());
    cr_assert(hear(head));
    cr_expect_eq(head->status, 408);
    cr_expect(is_closed(head));
    cr_assert(hear(body));
    cr_expect_eq(body->status, 408);
    cr_expect(is_closed(body));
    hang_up(head);
    hang_up(body);
    world_down();
}

/* ------------------------------------------------------------------------------ pending answers */

TestSuite(http_pending, .init = up, .fini = world_down, .timeout = 300);

Test(http_pending, another_thread_answers_and_the_line_is_kept) {
    struct client *c = dial();
    world_open();
    for (int i = 1; i <= 20; i++) {
        say(c, "POST /v1/later HTTP/1.1\r\nHost: x\r\n%sContent-Length: 2\r\n\r\n{}", bearer());
        cr_assert(hear(c));
        cr_expect_eq(c->status, 201);
    }
    hang_up(c);
    cr_expect_eq(atomic_load(&W.executed), 20);
    wait_for(&W.freed, 20); /* user_free, once each */
    cr_expect_eq(atomic_load(&W.freed), 20);
}

Test(http_pending, a_client_that_leaves_harms_nobody) {
    struct client *gone[8];
    for (size_t i = 0; i < 8; i++) {
        gone[i] = dial();
        say(gone[i],
            "POST /v1/later HTTP/1.1\r\nHost: x\r\n%sIdempotency-Key: k%zu\r\nContent-Length: "
            "2\r\n\r\n{}",
            bearer(), i);
    }
    wait_for(&W.waiting, 8);
    for (size_t i = 0; i < 8; i++) hang_up(gone[i]);
    world_open();
    wait_for(&W.freed, 8);
    struct client *c = ask("GET", "/v1/ping", NULL, NULL);
    cr_expect_eq(c->status, 200);
    hang_up(c);
}

Test(http_pending, poll_ends_by_event_and_by_time /* SSE-39 */) {
    char target[128];
    int64_t no = world_run("r1");
    snprintf(target, sizeof target, "/v1/runs/r1/events/poll?no=%lld&ms=50", (long long)no);
    struct client *c = ask("GET", target, bearer(), NULL);
    cr_expect(body_has(c, "woken"));
    hang_up(c);
    c = dial();
    say(c, "GET /v1/runs/r1/events/poll?no=%lld&ms=60000 HTTP/1.1\r\nHost: x\r\n%s\r\n",
        (long long)no, bearer());
    wait_for(&W.waiting, 2);
    world_append(no, "r1", 0, (struct seed[]){{EV_RUN_STARTED, NULL}}, 1);
    cr_assert(hear(c));
    cr_expect(body_has(c, "woken"));
    say(c, "GET /v1/runs/r1/events/poll?no=%lld&ms=60000 HTTP/1.1\r\nHost: x\r\n%s\r\n",
        (long long)no, bearer());
    cr_assert(hear(c)); /* there already */
    hang_up(c);
}

Test(http_pending, drain_ends_polls_and_refuses_new_requests) {
    int64_t no = world_run("r1");
    struct client *c = dial(), *kept = ask("GET", "/v1/ping", NULL, NULL);
    say(c, "GET /v1/runs/r1/events/poll?no=%lld&ms=60000 HTTP/1.1\r\nHost: x\r\n%s\r\n",
        (long long)no, bearer());
    wait_for(&W.waiting, 1);
    http_server_drain(W.server, 5000);
    cr_assert(hear(c));
    cr_expect(body_has(c, "woken"));
    cr_expect(is_closed(c));
    say(kept, "GET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_assert(hear(kept));
    cr_expect_eq(kept->status, 503);
    cr_expect_str_eq(header_of(kept, "Connection"), "close");
    hang_up(kept);
    hang_up(c);
}

Test(http_limit, a_handler_that_answers_after_the_stop_harms_nobody, .timeout = 300) {
    world_up(NULL);
    struct client *c = dial();
    say(c, "POST /v1/later HTTP/1.1\r\nHost: x\r\n%sContent-Length: 0\r\n\r\n", bearer());
    wait_for(&W.waiting, 1);
    http_server_free(W.server);
    W.server = NULL;
    cr_expect_eq(atomic_load(&W.freed), 0); /* the handler still holds the call */
    world_open();
    wait_for(&W.freed, 1);
    hang_up(c);
    world_down();
}

/* ------------------------------------------------------------------------------ idempotency */

TestSuite(http_idem, .init = up, .fini = world_down, .timeout = 300);

static void send_keyed(struct client *c, const char *path, const char *key, const char *body) {
    say(c, "POST %s HTTP/1.1\r\nHost: x\r\n%sIdempotency-Key: %s\r\nContent-Length: %zu\r\n\r\n%s",
        path, bearer(), key, strlen(body), body);
}

Test(http_idem, ten_equal_keys_execute_once /* IDEM-5, IDEM-11 */) {
    struct client *c[10];
    int fresh = 0, replayed = 0;
    for (size_t i = 0; i < 10; i++)
        send_keyed(c[i] = dial(), "/v1/later", "k1",
                   i % 2 ? "{\"a\":1,\"b\":2}" : "{ \"b\":2, \"a\":1.0 }");
    wait_for(&W.waiting, 1);
    world_open();
    for (size_t i = 0; i < 10; i++) {
        cr_assert(hear(c[i]));
        cr_expect_eq(c[i]->status, 201);
        cr_expect(body_has(c[i], "{\"made\":1}"));
        const char *r = header_of(c[i], "openwop-Idempotent-Replay");
        cr_assert_not_null(r);
        fresh += strcmp(r, "false") == 0;
        replayed += strcmp(r, "true") == 0;
        hang_up(c[i]);
    }
    cr_expect_eq(atomic_load(&W.executed), 1);
    cr_expect_eq(fresh, 1);
    cr_expect_eq(replayed, 9);
}

Test(http_idem, another_body_waits_for_nobody_and_conflicts_later /* IDEM-10, CON-40 */) {
    struct client *first = dial(), *other = dial();
    send_keyed(first, "/v1/later", "k", "{\"a\":1}");
    wait_for(&W.waiting, 1);
    send_keyed(other, "/v1/later", "k", "{\"a\":2}");
    cr_assert(hear(other));
    cr_expect_eq(other->status, 409);
    cr_expect(body_has(other, "idempotency_in_flight"));
    cr_expect(body_has(other, "\"retryAfter\":1"));
    cr_expect_str_eq(header_of(other, "Retry-After"), "1");
    world_open();
    cr_assert(hear(first));
    send_keyed(other, "/v1/later", "k", "{\"a\":2}");
    cr_assert(hear(other));
    cr_expect_eq(other->status, 409);
    cr_expect(body_has(other, "idempotency_key_conflict"));
    hang_up(first);
    hang_up(other);
    cr_expect_eq(atomic_load(&W.executed), 1);
}

Test(http_idem, one_key_on_two_paths_or_tenants_is_two_keys /* IDEM-2 */) {
    world_open();
    struct client *c = dial();
    send_keyed(c, "/v1/later", "k", "{}");
    cr_assert(hear(c));
    send_keyed(c, "/v1/echo", "k", "{}");
    cr_assert(hear(c));
    cr_expect_str_eq(header_of(c, "openwop-Idempotent-Replay"), "false");
    hang_up(c);
    cr_expect_eq(atomic_load(&W.executed), 2);
}

Test(http_idem, bad_keys_and_reads /* IDEM-3, HTTP-19 */) {
    char header[400];
    memset(header, 0, sizeof header);
    snprintf(header, sizeof header, "%sIdempotency-Key: a b\r\n", bearer());
    struct client *c = ask("POST", "/v1/echo", header, "{}");
    cr_expect_eq(c->status, 400);
    hang_up(c);
    c = ask("GET", "/v1/runs/x", header, NULL);
    cr_expect_eq(c->status, 200);
    cr_expect(body_has(c, "\"keyed\":false"));
    cr_expect_null(header_of(c, "openwop-Idempotent-Replay"));
    hang_up(c);
    char *key = mem_zalloc(600);
    int n = snprintf(key, 300, "%sIdempotency-Key: ", bearer());
    memset(key + n, 'k', 256);
    snprintf(key + n + 256, 3, "\r\n");
    c = ask("POST", "/v1/echo", key, "{}");
    cr_expect_eq(c->status, 400);
    hang_up(c);
    snprintf(key + n + 255, 3, "\r\n");
    c = ask("POST", "/v1/echo", key, "{}");
    cr_expect_eq(c->status, 201);
    hang_up(c);
    mem_free(key);
    cr_expect_eq(atomic_load(&W.executed), 1);
}

static void short_wait(struct http_config *cfg) { cfg->idem.wait_ms = 30; }

Test(http_limit, a_duplicate_does_not_wait_for_ever /* IDEM-11 */, .timeout = 300) {
    world_up(short_wait);
    struct client *first = dial(), *second = dial();
    send_keyed(first, "/v1/later", "k", "{}");
    wait_for(&W.waiting, 1);
    send_keyed(second, "/v1/later", "k", "{}");
    cr_assert(hear(second));
    cr_expect_eq(second->status, 409);
    cr_expect(body_has(second, "idempotency_in_flight"));
    world_open();
    cr_assert(hear(first));
    cr_expect_eq(first->status, 201);
    hang_up(first);
    hang_up(second);
    world_down();
}

Test(http_idem, a_duplicate_that_waits_is_sent_elsewhere_by_a_drain /* IDEM-11 */) {
    struct client *first = dial(), *second = dial();
    send_keyed(first, "/v1/later", "k", "{}");
    wait_for(&W.waiting, 1);
    send_keyed(second, "/v1/later", "k", "{}");
    for (int i = 0; i < WORLD_WAIT_MS && shares_total(&W.server->shares, SHARE_REQUESTS) < 2; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    cr_assert_eq(shares_total(&W.server->shares, SHARE_REQUESTS), 2u);
    http_server_drain(W.server, 1); /* the first one is still at it */
    cr_assert(hear(second));
    cr_expect_eq(second->status, 503);
    cr_expect_str_eq(header_of(second, "Retry-After"), "1");
    world_open();
    cr_assert(hear(first));
    cr_expect_eq(first->status, 201);
    hang_up(first);
    hang_up(second);
}

Test(http_idem, an_unstored_answer_frees_the_key /* IDEM-8 */) {
    struct client *c = dial();
    send_keyed(c, "/v1/echo", "k", "{}"); /* echo stores nothing */
    cr_assert(hear(c));
    send_keyed(c, "/v1/echo", "k", "{\"b\":1}");
    cr_assert(hear(c));
    cr_expect_eq(c->status, 201);
    hang_up(c);
    cr_expect_eq(atomic_load(&W.executed), 2);
}

/* ------------------------------------------------------------------------------ CORS and operators
 */

static const char *const ORIGINS[] = {"https://ui.example", NULL};
static void cors(struct http_config *cfg) {
    cfg->cors_origins = ORIGINS;
    cfg->ops_port = 0;
}

Test(http_limit, cors_is_for_configured_origins /* HTTP-18 */, .timeout = 300) {
    world_up(cors);
    struct client *c = ask("GET", "/v1/ping", "Origin: https://ui.example\r\n", NULL);
    cr_expect_str_eq(header_of(c, "Access-Control-Allow-Origin"), "https://ui.example");
    hang_up(c);
    c = ask("GET", "/v1/ping", "Origin: https://evil.example\r\n", NULL);
    cr_expect_null(header_of(c, "Access-Control-Allow-Origin"));
    hang_up(c);
    c = ask("OPTIONS", "/v1/echo",
            "Origin: https://ui.example\r\nAccess-Control-Request-Method: POST\r\n", NULL);
    cr_expect_eq(c->status, 204);
    cr_expect_str_eq(header_of(c, "Access-Control-Allow-Methods"), "POST, OPTIONS");
    cr_expect_not_null(header_of(c, "Access-Control-Allow-Headers"));
    hang_up(c);
    world_down();
}

static struct client *ops(const char *target) {
    struct client *c = dial_port(http_server_ops_port(W.server));
    say(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target);
    cr_assert(hear(c));
    return c;
}

static void expect_ops(const char *target, int status) {
    struct client *c = ops(target);
    cr_expect_eq(c->status, status);
    cr_expect(is_closed(c));
    hang_up(c);
}

Test(http_limit, the_second_listener_is_for_operators /* HTTP-2 */, .timeout = 300) {
    world_up(cors);
    hang_up(ask("GET", "/v1/ping", NULL, NULL));
    hang_up(ask("GET", "/v1/none", NULL, NULL));
    expect_ops("/healthz", 200);
    expect_ops("/readyz", 200);
    expect_ops("/none", 404);
    struct client *c = ops("/metrics");
    cr_expect(body_has(c, "wopr_http_requests_total{operation=\"ping\",class=\"2xx\"} 1"));
    cr_expect(body_has(c, "wopr_http_requests_total{operation=\"none\",class=\"4xx\"} 1"));
    cr_expect(body_has(c, "wopr_http_request_duration_seconds_count{operation=\"ping\"} 1"));
    hang_up(c);
    http_server_drain(W.server, 1000);
    expect_ops("/readyz", 503);
    world_down();
}

Test(http_limit, a_taken_port_is_named_in_the_message, .timeout = 300) {
    world_up(NULL);
    struct http_server *s;
    struct wopr_error err = {0};
    struct http_config cfg = {
        .host = "127.0.0.1", .port = http_server_port(W.server), .ops_port = -1};
    cr_assert_eq(http_server_new(&cfg, W.mounts, 1, W.journal, &s, &err), 0);
    cr_expect_eq(http_server_start(s, &err), WOPR_E_IO);
    cr_expect_not_null(strstr(err.message, "127.0.0.1"));
    http_server_free(s);
    world_down();
}
