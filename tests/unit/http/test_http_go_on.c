/*
 * test_http_go_on.c: a call that goes on as another operation (http_go_on); streams that end by
 * their fold or by time; who is foreign.
 */
#include "http/exchange.h"
#include "http/server.h"
#include "http_world.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

static atomic_int answered; /* calls of front_answered */
static unsigned scopes_seen;
static size_t large; /* bytes that the front adds to the inner body */

/* What the inner operation answered, in brackets. */
static void front_answered(struct http_call *c, void *of) {
    (void)of;
    atomic_fetch_add(&answered, 1);
    struct str text = arena_printf(c->arena, "[%d " STR_FMT "]", c->status, STR_ARG(c->reply));
    c->headers_nr = 0;
    http_reply(c, 200, text);
}

/* POST /duo/front/{op}?id=I: as that operation, with the same body. */
static int duo_front(struct http_call *c) {
    struct http_as as = {.body = c->body, .answered = front_answered};
    bool found = false;
    as.op_id = arena_cstr(c->arena, http_param(c, "op"));
    as.params[0] = (struct http_param){STR("id"), http_query(c, "id", &found)};
    as.params_nr = 1;
    as.query = ARENA_ARRAY(c->arena, struct http_param, 1);
    as.query[0] = (struct http_param){STR("q"), STR("1")};
    as.query_nr = 1;
    as.idempotency_key = http_header(c, "Front-Key");
    as.without = SCOPE_RUNS_CANCEL;
    return http_go_on(c, &as);
}

static int duo_back(struct http_call *c) {
    bool found;
    scopes_seen = c->who.scopes;
    http_reply(c, 201,
               arena_printf(c->arena, STR_FMT " " STR_FMT " " STR_FMT " %d", STR_ARG(c->path),
                            STR_ARG(http_param(c, "id")), STR_ARG(http_query(c, "q", &found)),
                            c->phase));
    return HTTP_DONE;
}

static void back_away(struct http_call *c) { (void)duo_back(c); }
static int duo_away(struct http_call *c) { return http_offload(c, back_away); }

static int duo_poll(struct http_call *c) {
    if (c->phase == 0) return http_wait_events(c, 1, -1, 60000);
    return duo_back(c);
}

static int duo_broken(struct http_call *c) {
    struct wopr_error err = {0};
    (void)wopr_error_set(&err, WOPR_E_NOT_FOUND, "none");
    http_fail(c, &err);
    return HTTP_DONE;
}

/* A stream whose fold ends it: ?end=SEQ, or by ?ms=N. */
struct fold {
    int64_t end;
};
static int fold_event(void *state, const struct event *e, bool here, struct buf *out) {
    struct fold *f = state;
    (void)here;
    if (!e) return 0;
    buf_addf(out, "data: %lld\n\n", (long long)e->seq);
    return e->seq == f->end ? HTTP_FOLD_END : 0;
}
static void fold_is_over(void *state, struct buf *out) {
    (void)state;
    buf_addz(out, "data: over\n\n");
}
static void fold_gone(void *state) {
    (void)state;
    atomic_fetch_add(&W.freed, 1);
}
static struct fold the_fold;
static int duo_stream(struct http_call *c) {
    bool found;
    int64_t no = 0, ms = 0;
    the_fold.end = -1;
    (void)str_i64(http_query(c, "no", &found), &no);
    (void)str_i64(http_query(c, "ms", &found), &ms);
    (void)str_i64(http_query(c, "end", &found), &the_fold.end);
    const struct http_stream s = {.run_no = no,
                                  .run_id = STR("r"),
                                  .after_seq = -1,
                                  .fold = fold_event,
                                  .over = fold_is_over,
                                  .limit_ms = ms,
                                  .state = &the_fold,
                                  .state_free = fold_gone};
    http_reply_stream(c, &s);
    return HTTP_DONE;
}

static void duo_error(void *ctx, struct http_call *c, const struct wopr_error *err, int *status,
                      struct str *body, int *retry_after_s) {
    (void)ctx, (void)retry_after_s;
    *status = err->code == WOPR_E_FORBIDDEN ? 403 : err->code == WOPR_E_VALIDATION ? 400 : 404;
    *body = arena_printf(c->arena, "%s", wopr_err_name(err->code));
}

static const struct http_op OPS[] = {
    {"front", "POST", "/duo/front/{op}", 0, OP_BODY_OPTIONAL, 1 << 20, duo_front},
    {"back", "GET", "/duo/back/{id}/rest", SCOPE_RUNS_READ, 0, 0, duo_back},
    {"away", "GET", "/duo/away/{id}", SCOPE_RUNS_READ, 0, 0, duo_away},
    {"poll", "GET", "/duo/poll/{id}", SCOPE_RUNS_READ, 0, 0, duo_poll},
    {"broken", "GET", "/duo/broken", 0, 0, 0, duo_broken},
    {"echo", "POST", "/duo/echo", SCOPE_RUNS_CREATE, OP_IDEMPOTENT, 1 << 20, world_echo},
    {"later", "POST", "/duo/later", SCOPE_RUNS_CREATE, OP_IDEMPOTENT, 1024, world_later},
    {"audit", "GET", "/duo/audit", SCOPE_AUDIT_READ, 0, 0, duo_back},
    {"stream", "GET", "/duo/stream", SCOPE_RUNS_READ, 0, 0, duo_stream},
    {"guarded", "GET", "/duo/guarded", 0, OP_RESOURCE, 0, duo_broken},
};
static const struct http_mount DUO = {.name = "duo",
                                      .prefix = "/duo",
                                      .ops = OPS,
                                      .ops_nr = sizeof OPS / sizeof *OPS,
                                      .replay_header = "Again",
                                      .realm = "duo",
                                      .render_error = duo_error};

static void up(void) { world_up_with(NULL, &DUO); }
TestSuite(http_go_on, .init = up, .fini = world_down, .timeout = 300);

static void expect_front(const char *op, const char *want) {
    char target[128];
    snprintf(target, sizeof target, "/duo/front/%s?id=a%%20b", op);
    struct client *c = ask("POST", target, bearer(), "{}");
    cr_expect_eq(c->status, 200, "%s: %d", op, c->status);
    cr_expect(body_has(c, want), "%s: %.*s", op, (int)c->body.len, c->body.p);
    hang_up(c);
}

Test(http_go_on, the_other_operation_is_asked_as_a_client_would_have) {
    expect_front("back", "[201 /duo/back/a%20b/rest a b 1 0]");
    cr_expect_eq(scopes_seen & SCOPE_RUNS_CANCEL, 0u, "what it shall not use is taken away");
    cr_expect_neq(scopes_seen & SCOPE_RUNS_READ, 0u);
    expect_front("away", "[201 /duo/away/a%20b a b 1 0]");
    expect_front("broken", "[404 NOT_FOUND]");
    expect_front("echo", "[201 {}]");
    cr_expect_eq(atomic_load(&answered), 4);
}

Test(http_go_on, its_scopes_are_judged) {
    char line[256];
    snprintf(line, sizeof line, "Authorization: Bearer " STR_FMT "\r\n", STR_ARG(W.key_poor));
    struct client *c = ask("POST", "/duo/front/audit?id=a", line, "{}");
    cr_expect(body_has(c, "[403 FORBIDDEN]"), "%.*s", (int)c->body.len, c->body.p);
    cr_expect_eq(atomic_load(&W.executed), 0);
    hang_up(c);
}

Test(http_go_on, its_key_is_that_of_the_other_operation) {
    char keyed[512], plain[512];
    snprintf(keyed, sizeof keyed, "%sFront-Key: k\r\n", bearer());
    snprintf(plain, sizeof plain, "%sIdempotency-Key: k\r\n", bearer());
    world_open();
    struct client *c = ask("POST", "/duo/front/later?id=a", keyed, "{}");
    cr_assert(body_has(c, "[201 "), "%.*s", (int)c->body.len, c->body.p);
    hang_up(c);
    c = ask("POST", "/duo/front/later?id=a", keyed, "{}");
    cr_expect(body_has(c, "[201 "));
    hang_up(c);
    c = ask("POST", "/duo/later", plain, "{}");
    cr_expect_eq(c->status, 201);
    cr_expect_str_eq(header_of(c, "Again"), "true");
    hang_up(c);
    cr_expect_eq(atomic_load(&W.executed), 1, "%d", atomic_load(&W.executed));
    c = ask("POST", "/duo/front/later?id=a", keyed, "{\"other\":1}");
    cr_expect(!body_has(c, "[201 "), "another body: %.*s", (int)c->body.len, c->body.p);
    hang_up(c);
    snprintf(keyed, sizeof keyed, "%sFront-Key: a b\r\n", bearer());
    c = ask("POST", "/duo/front/later?id=a", keyed, "{}");
    cr_expect(body_has(c, "[400 VALIDATION]"), "%.*s", (int)c->body.len, c->body.p);
    hang_up(c);
}

Test(http_go_on, a_large_body_that_is_judged_elsewhere_goes_on_all_the_same) {
    large = 100 * 1024;
    char *body = arena_alloc(W.arena, large + 32);
    int n = snprintf(body, 32, "{\"x\":\"");
    memset(body + n, 'y', large);
    memcpy(body + n + large, "\"}", 3);
    struct client *c = ask("POST", "/duo/front/echo?id=a", bearer(), body);
    cr_expect_eq(c->status, 200);
    cr_expect(body_has(c, "[201 {\"x\":\"yyy"));
    hang_up(c);
}

/* Soon: the server's thread gives them back after the client has read its answer. */
static void expect_shares(enum share_kind k, size_t n) {
    uint64_t end = clock_mono_ms() + WORLD_WAIT_MS;
    while (shares_total(&W.server->shares, k) != n && clock_mono_ms() < end) usleep(1000);
    cr_expect_eq(shares_total(&W.server->shares, k), n);
}

Test(http_go_on, a_wait_of_the_other_operation_holds_nothing_and_ends_with_its_client) {
    struct client *c = dial();
    say(c,
        "POST /duo/front/poll?id=a HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\n"
        "Content-Length: 2\r\n\r\n{}",
        bearer());
    expect_shares(SHARE_POLLS, 1);
    expect_shares(SHARE_REQUESTS, 0);
    hang_up(c);
    expect_shares(SHARE_POLLS, 0);
}

/* --- streams --- */

static struct client *stream_of(int64_t no, const char *more) {
    struct client *c = dial();
    say(c, "GET /duo/stream?no=%lld%s HTTP/1.1\r\nHost: x\r\n%s\r\n", (long long)no, more,
        bearer());
    return c;
}

static const struct seed THREE[] = {
    {EV_RUN_STARTED, "{}"}, {EV_NODE_STARTED, "{}"}, {EV_NODE_COMPLETED, "{}"}};

Test(http_go_on, a_stream_ends_where_its_fold_says_and_has_no_last_word_then) {
    int64_t no = world_run("r");
    world_append(no, "r", 0, THREE, 3);
    struct client *c = stream_of(no, "&end=1&ms=60000");
    cr_assert(hear_head(c));
    cr_assert(hear_end(c));
    cr_expect(body_has(c, "data: 1\n\n") && !body_has(c, "data: 2\n\n") && !body_has(c, "over"));
    hang_up(c);
    c = stream_of(no, "&end=3");
    cr_assert(hear_head(c) && hear_until(c, "data: 2\n\n"));
    world_append(no, "r", 3, THREE, 1);
    cr_assert(hear_end(c), "live events end it, too");
    cr_expect(body_has(c, "data: 3\n\n"), "%.*s", (int)c->body.len, c->body.p);
    hang_up(c);
}

Test(http_go_on, a_stream_whose_time_is_over_or_whose_host_stops_says_its_last_word) {
    int64_t no = world_run("r");
    world_append(no, "r", 0, THREE, 1);
    struct client *c = stream_of(no, "&ms=50");
    cr_assert(hear_head(c));
    cr_assert(hear_end(c));
    cr_expect(body_has(c, "data: 0\n\n") && count_of(c, "data: over\n\n") == 1);
    hang_up(c);
    c = stream_of(no, "&ms=60000");
    cr_assert(hear_head(c) && hear_until(c, "data: 0\n\n"));
    http_server_drain(W.server, 1000);
    cr_assert(hear_end(c));
    cr_expect_eq(count_of(c, "data: over\n\n"), 1u, "%.*s", (int)c->body.len, c->body.p);
    hang_up(c);
}

Test(http_go_on, a_stream_whose_client_left_before_its_time_is_freed_once) {
    int64_t no = world_run("r");
    world_append(no, "r", 0, THREE, 1);
    for (int i = 0; i < 20; i++) {
        struct client *c = stream_of(no, i % 2 ? "&ms=1" : "&ms=60000");
        if (i % 3) cr_assert(hear_head(c) && hear_until(c, "data: 0\n\n"));
        hang_up(c);
    }
    expect_shares(SHARE_STREAMS, 0);
    cr_expect_leq(atomic_load(&W.freed), 20);
}

/* --- foreign --- */

Test(http_go_on, a_guarded_operation_refuses_foreign_names_before_credentials) {
    static const struct {
        const char *lines;
        int status;
    } CASES[] = {{"Host: localhost\r\n", 404},
                 {"Host: 127.0.0.1:99\r\n", 404},
                 {"Host: evil.example\r\n", 403},
                 {"Host: localhost.evil.example\r\n", 403},
                 {"Host: localhost\r\nOrigin: http://localhost:5\r\n", 404},
                 {"Host: localhost\r\nOrigin: https://evil.example\r\n", 403},
                 {"Host: localhost\r\nOrigin: null\r\n", 403},
                 {"Host: localhost\r\nOrigin: http://localhost@evil.example\r\n", 403}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        for (int keyed = 0; keyed < 2; keyed++) {
            struct client *c = dial();
            say(c, "GET /duo/guarded HTTP/1.1\r\n%s%s\r\n", CASES[i].lines, keyed ? bearer() : "");
            cr_assert(hear(c));
            int want = CASES[i].status == 403 || keyed ? CASES[i].status : 404;
            cr_expect_eq(c->status, want, "%s: %d", CASES[i].lines, c->status);
            if (!keyed && CASES[i].status != 403)
                cr_expect_not_null(strstr(header_of(c, "WWW-Authenticate"),
                                          "/.well-known/oauth-protected-resource/duo/guarded"));
            hang_up(c);
        }
    }
}
