/*
 * test_http_mounts.c: two wires on one server: each answers its own paths in its own spelling, and
 * they share what the server owns.
 */
#include "http/mount.h"
#include "http_world.h"
#include "store/append.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>

/* ------------------------------------------------------------------------------ the toy wire */

static void toy_error(void *ctx, struct http_call *c, const struct wopr_error *err, int *status,
                      struct str *body, int *retry_after_s) {
    (void)ctx;
    *status = err->code == WOPR_E_NOT_FOUND         ? 404
              : err->code == WOPR_E_METHOD          ? 405
              : err->code == WOPR_E_UNAUTHENTICATED ? 401
              : err->code == WOPR_E_RATE_LIMITED    ? 429
              : err->code == WOPR_E_UNAVAILABLE     ? 503
                                                    : 418;
    *body = arena_printf(c->arena, "toy broke: %s\n", wopr_err_name(err->code));
    *retry_after_s = 0;
    c->content_type = "text/x-toy";
}

static int toy_negotiate(void *ctx, struct str path, struct str version, struct wopr_error *err) {
    (void)ctx, (void)path;
    if (version.n == 0 || str_eqc(version, "7")) return 0;
    return wopr_error_set(err, WOPR_E_VERSION_UNSUPPORTED, "only 7 is played");
}

/* The token is the tenant. */
static int toy_authorize(void *ctx, struct http_call *c, struct wopr_error *err) {
    (void)ctx;
    c->who.tenant = http_param(c, "token");
    return str_starts(c->who.tenant, STR("toy"))
               ? 0
               : wopr_error_set(err, WOPR_E_NOT_FOUND, "no such door");
}

static int toy_ping(struct http_call *c) {
    http_reply(c, 200, *(const struct str *)c->wire_ctx);
    return HTTP_DONE;
}
static int toy_door(struct http_call *c) {
    http_reply(c, 200, c->who.tenant);
    return HTTP_DONE;
}

static void toy_frame(const void *ctx, struct str run_id, const struct event *e, struct buf *out) {
    (void)ctx, (void)run_id;
    buf_addf(out, "data: toy %lld\n\n", (long long)e->seq);
}
/* Its number 0 is also one of the other mount's. */
static const struct journal_view TOY_VIEW = {.id = 0, .render = toy_frame};

static int toy_events(struct http_call *c) {
    int64_t no;
    cr_assert(str_i64(http_query(c, "no", NULL), &no));
    struct http_stream s = {.run_no = no,
                            .run_id = http_param(c, "runId"),
                            .after_seq = -1,
                            .quiet_until = -1,
                            .view = &TOY_VIEW};
    http_reply_stream(c, &s);
    return HTTP_DONE;
}

static const struct http_op TOY_OPS[] = {
    {"ping", "GET", "/toy/ping", 0, OP_PUBLIC, 0, toy_ping},
    {"echo", "POST", "/toy/echo", SCOPE_RUNS_CREATE, OP_IDEMPOTENT, 1024, world_echo},
    {"later", "POST", "/toy/later", SCOPE_RUNS_CREATE, OP_IDEMPOTENT | OP_BODY_OPTIONAL, 1024,
     world_later},
    {"events", "GET", "/toy/runs/{runId}/events", SCOPE_RUNS_READ, OP_TICKET, 0, toy_events},
    {"door", "GET", "/toy/doors/{token}", 0, OP_PUBLIC | OP_TOKEN, 0, toy_door},
};
static const struct http_param TOY_HEADERS[] = {{{"Toy-Wire", 8}, {"seven", 5}}};
static struct str toy_says = {"toy pong", 8};
static const struct http_mount TOY = {.name = "toy",
                                      .prefix = "/toy",
                                      .ctx = &toy_says,
                                      .ops = TOY_OPS,
                                      .ops_nr = sizeof TOY_OPS / sizeof TOY_OPS[0],
                                      .views_nr = 1,
                                      .headers = TOY_HEADERS,
                                      .headers_nr = 1,
                                      .version_header = "Toy-Version",
                                      .replay_header = "Toy-Again",
                                      .realm = "toy",
                                      .cors_expose = "Toy-Wire",
                                      .negotiate = toy_negotiate,
                                      .authorize = toy_authorize,
                                      .render_error = toy_error};

static void up(void) { world_up_with(NULL, &TOY); }

TestSuite(http_mounts, .init = up, .fini = world_down, .timeout = 300);
TestSuite(http_mounts_cfg, .timeout = 300);

static void send_keyed(struct client *c, const char *path, const char *key) {
    say(c, "POST %s HTTP/1.1\r\nHost: x\r\n%sIdempotency-Key: %s\r\n", path, bearer(), key);
    say(c, "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
}

static void await_waiting(int n) {
    while (atomic_load(&W.waiting) < n) sched_yield();
}

static void expect_header(struct client *c, const char *name, const char *want, const char *where) {
    const char *got = header_of(c, name);
    cr_expect(want ? got && strcmp(got, want) == 0 : got == NULL, "%s: %s: %s", where, name,
              got ? got : "absent");
}

/* ------------------------------------------------------------------------------ paths */

Test(http_mounts, each_answers_its_paths_in_its_own_spelling) {
    static const struct {
        const char *method, *path;
        int status;
        const char *has, *wop, *toy; /* of the body; the fixed headers */
    } ROWS[] = {
        {"GET", "/v1/ping", 200, "{\"pong\":true}", "1.0", NULL},
        {"GET", "/toy/ping", 200, "toy pong", NULL, "seven"},
        {"GET", "/v1/none", 404, "\"not_found\"", "1.0", NULL},
        {"GET", "/toy/none", 404, "toy broke: NOT_FOUND", NULL, "seven"},
        {"GET", "/toy", 404, "toy broke: NOT_FOUND", NULL, "seven"},
        {"POST", "/toy/ping", 405, "toy broke: METHOD", NULL, "seven"},
        /* the operations of one are none of the other's */
        {"GET", "/toy/hold", 404, "toy broke: NOT_FOUND", NULL, "seven"},
        {"GET", "/toy/v1/ping", 404, "toy broke: NOT_FOUND", NULL, "seven"},
        {"GET", "/toy/../v1/ping", 404, "toy broke: NOT_FOUND", NULL, "seven"},
        {"GET", "/v1/toy/ping", 404, "\"not_found\"", "1.0", NULL},
        {"GET", "/v1/doors/toy1", 404, "\"not_found\"", "1.0", NULL},
        /* what is nobody's is refused as before */
        {"GET", "/toyota", 400, "\"path\":\"/toyota\"", NULL, NULL},
        {"GET", "/%74oy/ping", 400, "\"path\":\"/\"", NULL, NULL},
        {"GET", "/toy%2Fping", 400, "\"path\":\"/\"", NULL, NULL},
        {"GET", "/runs/secret", 400, "\"path\":\"/runs\"", NULL, NULL},
        {"GET", "/.well-known/openwop", 200, "pong", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        struct client *c = ask(ROWS[i].method, ROWS[i].path, NULL, NULL);
        cr_expect_eq(c->status, ROWS[i].status, "%s: %d", ROWS[i].path, c->status);
        cr_expect(body_has(c, ROWS[i].has), "%s", ROWS[i].path);
        expect_header(c, "OpenWOP-Version", ROWS[i].wop, ROWS[i].path);
        expect_header(c, "Toy-Wire", ROWS[i].toy, ROWS[i].path);
        cr_expect_not_null(header_of(c, "X-Request-Id"));
        hang_up(c);
    }
}

Test(http_mounts, a_head_without_a_path_is_the_first_ones) {
    struct client *c = dial();
    say(c, "GET\r\n\r\n");
    cr_assert(hear(c));
    cr_expect_eq(c->status, 400);
    cr_expect(body_has(c, "validation_error"));
    expect_header(c, "OpenWOP-Version", "1.0", "no path");
    hang_up(c);
}

Test(http_mounts, one_connection_serves_both) {
    struct client *c = dial();
    say(c, "GET /toy/ping HTTP/1.1\r\nHost: x\r\n\r\nGET /v1/ping HTTP/1.1\r\nHost: x\r\n\r\n"
           "GET /toy/none HTTP/1.1\r\nHost: x\r\n\r\n");
    static const char *const WANT[] = {"toy pong", "{\"pong\":true}", "toy broke"};
    for (size_t i = 0; i < 3; i++) {
        cr_assert(hear(c));
        cr_expect(body_has(c, WANT[i]));
    }
    hang_up(c);
}

Test(http_mounts, each_negotiates_its_own_version) {
    static const struct {
        const char *path, *header;
        int status;
    } ROWS[] = {{"/toy/ping", "Toy-Version: 7\r\n", 200},
                {"/toy/ping", "Toy-Version: 8\r\n", 418},
                {"/toy/ping", "OpenWOP-Version: 2\r\n", 200},
                {"/v1/ping", "OpenWOP-Version: 2\r\n", 406},
                {"/v1/ping", "Toy-Version: 8\r\n", 200}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        struct client *c = ask("GET", ROWS[i].path, ROWS[i].header, NULL);
        cr_expect_eq(c->status, ROWS[i].status, "%s %s: %d", ROWS[i].path, ROWS[i].header,
                     c->status);
        hang_up(c);
    }
}

/* ------------------------------------------------------------------------------ credentials */

Test(http_mounts, keys_are_shared_and_challenges_are_not) {
    struct client *c = ask("POST", "/toy/echo", NULL, "{}");
    cr_expect_eq(c->status, 401);
    expect_header(c, "WWW-Authenticate", "Bearer realm=\"toy\"", "toy");
    hang_up(c);
    c = ask("POST", "/v1/echo", "Authorization: Bearer hk_none\r\n", "{}");
    expect_header(c, "WWW-Authenticate", "Bearer realm=\"openwop\", error=\"invalid_token\"", "v1");
    hang_up(c);
    c = ask("POST", "/toy/echo", bearer(), "{\"a\":1}");
    cr_expect_eq(c->status, 201);
    cr_expect(body_has(c, "{\"a\":1}"));
    hang_up(c);
}

Test(http_mounts, each_judges_its_own_tokens) {
    static const struct {
        const char *path;
        int status;
    } ROWS[] = {{"/toy/doors/toy1", 200},
                {"/toy/doors/good-t1", 404},
                {"/v1/interrupts/good-t1", 200},
                {"/v1/interrupts/toy1", 404}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        struct client *c = ask("GET", ROWS[i].path, NULL, NULL);
        cr_expect_eq(c->status, ROWS[i].status, "%s: %d", ROWS[i].path, c->status);
        hang_up(c);
    }
}

/* ------------------------------------------------------------------------------ idempotency */

Test(http_mounts, one_key_on_two_mounts_is_two_keys) {
    static const char *const PATHS[] = {"/v1/later", "/toy/later"};
    struct client *c[4];
    for (size_t i = 0; i < 2; i++) {
        send_keyed(c[i] = dial(), PATHS[i], "k");
        await_waiting((int)i + 1); /* neither waits for the other at the gate */
    }
    for (size_t i = 2; i < 4; i++) send_keyed(c[i] = dial(), PATHS[i - 2], "k");
    world_open();
    for (size_t i = 0; i < 4; i++) {
        cr_assert(hear(c[i]));
        cr_expect_eq(c[i]->status, 201);
        cr_expect(body_has(c[i], "{\"made\":1}"));
        bool toy = i % 2 == 1;
        const char *said = i < 2 ? "false" : "true";
        expect_header(c[i], "Toy-Again", toy ? said : NULL, PATHS[i % 2]);
        expect_header(c[i], "openwop-Idempotent-Replay", toy ? NULL : said, PATHS[i % 2]);
        hang_up(c[i]);
    }
    cr_expect_eq(atomic_load(&W.executed), 2);
}

Test(http_mounts, stored_answers_carry_the_name_of_the_mount) {
    static const struct {
        const char *path, *operation;
    } ROWS[] = {{"/v1/later", "later"}, {"/toy/later", "toy.later"}};
    struct wopr_error err = {0};
    world_open();
    for (size_t i = 0; i < 2; i++) {
        struct idem_response r;
        struct client *c = dial();
        send_keyed(c, ROWS[i].path, "k");
        cr_assert(hear(c));
        hang_up(c);
        struct str text = arena_printf(W.arena, "t1:POST %s:k", ROWS[i].path);
        struct idem_key key = {.tenant = STR("t1"),
                               .operation_id = str_c(ROWS[i].operation),
                               .key = sha256_of(text),
                               .digest = sha256_of(STR("{}"))};
        cr_expect_eq(store_idem_find(W.store, &key, clock_wall_ms(), W.arena, &r, &err), 0, "%s",
                     ROWS[i].path);
        key.operation_id = str_c(ROWS[1 - i].operation);
        cr_expect_eq(store_idem_find(W.store, &key, clock_wall_ms(), W.arena, &r, &err),
                     WOPR_E_NOT_FOUND);
    }
}

/* ------------------------------------------------------------------------------ streams, bounds */

static struct client *tail(const char *path, int64_t no) {
    struct client *c = dial();
    say(c, "GET %s?no=%lld HTTP/1.1\r\nHost: x\r\n%s\r\n", path, (long long)no, bearer());
    cr_assert(hear_head(c));
    return c;
}

Test(http_mounts, both_stream_one_run_each_in_its_own_frames) {
    static const struct seed LOGGED[] = {{EV_LOG_APPENDED, NULL}},
                             STARTED[] = {{EV_RUN_STARTED, NULL}};
    int64_t no = world_run("r1");
    world_append(no, "r1", 0, STARTED, 1);
    struct client *a = tail("/v1/runs/r1/events", no), *b = tail("/toy/runs/r1/events", no);
    cr_assert_eq(b->status, 200);
    expect_header(b, "Toy-Wire", "seven", "stream");
    cr_assert(hear_until(a, "id: 0\nevent: run.started\ndata: {}\n\n"));
    cr_assert(hear_until(b, "data: toy 0\n\n"));
    for (int i = 1; i < 20; i++) { /* live: one commit, rendered for both */
        char want_a[64], want_b[64];
        world_append(no, "r1", i, LOGGED, 1);
        snprintf(want_a, sizeof want_a, "id: %d\nevent: log.appended\n", i);
        snprintf(want_b, sizeof want_b, "data: toy %d\n\n", i);
        cr_assert(hear_until(a, want_a));
        cr_assert(hear_until(b, want_b));
    }
    cr_expect_eq(count_of(a, "toy"), 0u);
    cr_expect_eq(count_of(b, "event:"), 0u);
    cr_expect_eq(count_of(b, "data: toy"), 20u);
    hang_up(a);
    hang_up(b);
}

Test(http_mounts, a_ticket_opens_its_run_under_both) {
    char path[1200];
    int64_t no = world_run("r1");
    struct client *c = ask("POST", "/v1/runs/r1/ticket?no=1", bearer(), NULL);
    cr_assert_eq(c->status, 200);
    snprintf(path, sizeof path, "/toy/runs/r1/events?no=%lld&ticket=%.*s", (long long)no,
             (int)c->body.len, c->body.p);
    hang_up(c);
    c = dial();
    say(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    cr_assert(hear_head(c));
    cr_expect_eq(c->status, 200);
    hang_up(c);
    c = ask("GET", "/toy/runs/r1/events?no=1&ticket=none", NULL, NULL);
    cr_expect_eq(c->status, 401);
    hang_up(c);
}

static void one_stream(struct http_config *cfg) { cfg->streams_max = 1; }

Test(http_mounts_cfg, the_bound_of_streams_is_one_for_both) {
    world_up_with(one_stream, &TOY);
    int64_t no = world_run("r1");
    struct client *a = tail("/v1/runs/r1/events", no), *b = tail("/toy/runs/r1/events", no);
    cr_expect_eq(a->status, 200);
    cr_expect_eq(b->status, 503);
    cr_assert(hear_end(b));
    cr_expect(body_has(b, "toy broke: UNAVAILABLE"));
    expect_header(b, "Retry-After", "5", "toy");
    hang_up(a);
    hang_up(b);
    world_down();
}

static void slow_key(struct http_config *cfg) { cfg->rates.key_rate = 1, cfg->rates.key_burst = 2; }

Test(http_mounts_cfg, the_rate_of_a_key_is_counted_over_both) {
    world_up_with(slow_key, &TOY);
    hang_up(ask("POST", "/v1/echo", bearer(), "{}"));
    hang_up(ask("POST", "/toy/echo", bearer(), "{}"));
    struct client *c = ask("POST", "/toy/echo", bearer(), "{}");
    cr_expect_eq(c->status, 429);
    cr_expect(body_has(c, "toy broke: RATE_LIMITED"));
    hang_up(c);
    world_down();
}

static void watched(struct http_config *cfg) {
    static const char *const ORIGINS[] = {"https://ui.example", NULL};
    cfg->cors_origins = ORIGINS;
    cfg->ops_port = 0;
}

Test(http_mounts_cfg, metrics_and_browsers_are_told_apart) {
    world_up_with(watched, &TOY);
    struct client *c = ask("GET", "/toy/ping", "Origin: https://ui.example\r\n", NULL);
    expect_header(c, "Access-Control-Expose-Headers", "Toy-Wire", "toy");
    hang_up(c);
    c = ask("OPTIONS", "/toy/ping", "Origin: https://ui.example\r\n", NULL);
    expect_header(c, "Access-Control-Allow-Methods", "GET, OPTIONS", "toy");
    expect_header(c, "Access-Control-Allow-Headers", NULL, "toy");
    hang_up(c);
    hang_up(ask("GET", "/v1/ping", NULL, NULL));
    c = dial_port(http_server_ops_port(W.server));
    say(c, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    cr_assert(hear(c));
    cr_expect(body_has(c, "{operation=\"ping\",class=\"2xx\"} 1"));
    cr_expect(body_has(c, "{operation=\"toy.ping\",class=\"2xx\"} 1"));
    hang_up(c);
    world_down();
}

/* ------------------------------------------------------------------------------ bad lists */

Test(http_mounts, a_list_that_is_ambiguous_is_refused) {
    static const struct http_op OUTSIDE[] = {{"x", "GET", "/tea/x", 0, OP_PUBLIC, 0, toy_ping}},
                                TAKEN[] = {{"x", "GET", "/toy/x", 0, OP_PUBLIC, 0, toy_ping}};
    struct http_mount same_name = TOY, same_prefix = TOY, slash = TOY, outside = TOY, first = TOY;
    same_name.prefix = "/toy2";
    same_prefix.name = "toy2";
    slash.prefix = "/toy/";
    outside.ops = OUTSIDE;
    outside.ops_nr = 1;
    first.name = "first", first.prefix = "/first", first.ops = TAKEN, first.ops_nr = 1;
    const struct {
        struct http_mount v[2];
        const char *why;
    } LISTS[] = {{{TOY, same_name}, "has this name"},
                 {{TOY, same_prefix}, "has this prefix"},
                 {{slash, TOY}, "prefix begins with a slash"},
                 {{W.mounts[0], outside}, "outside of mount toy"},
                 {{first, TOY}, "outside of mount first"}};
    for (size_t i = 0; i < sizeof LISTS / sizeof LISTS[0]; i++) {
        struct wopr_error err = {0};
        struct http_server *s;
        struct http_config cfg = {.ops_port = -1};
        cr_expect_eq(http_server_new(&cfg, LISTS[i].v, 2, W.journal, &s, &err), WOPR_E_CONFIG, "%s",
                     LISTS[i].why);
        cr_expect_not_null(strstr(err.message, LISTS[i].why), "%s", err.message);
    }
}

Test(http_mounts, the_longest_prefix_of_whole_segments_decides) {
    const struct http_mount list[] = {{.name = "a", .prefix = "/a"},
                                      {.name = "ab", .prefix = "/a/b"},
                                      {.name = "abc", .prefix = "/a/b/c"},
                                      {.name = "d", .prefix = "/d"}};
    static const struct {
        const char *path, *name;
    } ROWS[] = {{"/a", "a"},         {"/a/x", "a"},     {"/a/b", "ab"},  {"/a/bc", "a"},
                {"/a/b/cd", "ab"},   {"/a/b/c", "abc"}, {"/d/a/b", "d"}, {"/da", "a"},
                {"/a/b/c/d", "abc"}, {"/", "a"},        {"", "a"},       {"*", "a"}};
    struct mounts m;
    struct wopr_error err = {0};
    cr_assert_eq(mounts_init(&m, list, 4, W.arena, &err), 0, "%s", err.message);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++)
        cr_expect_str_eq(mount_of(&m, str_c(ROWS[i].path))->as.name, ROWS[i].name, "%s",
                         ROWS[i].path);
    mounts_fini(&m);
}
