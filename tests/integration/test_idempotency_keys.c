/*
 * test_idempotency_keys.c: what a stored answer is bound to, and how long it lives (IDEM-2, IDEM-6,
 * IDEM-10, AUTH-9); validators without a body.
 */
#include "harness.h"

#include <stdio.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(idempotency_keys, .init = up, .fini = down, .timeout = 300);

static struct reply keyed(const char *as, const char *key, const char *inputs) {
    const char *const h[] = {fmt("Idempotency-Key: %s", key), fmt("Authorization: Bearer %s", as),
                             NULL};
    return ask(&sv, "POST", "/v1/runs",
               fmt("{\"workflowId\":\"conformance-idempotent\",\"inputs\":%s}", inputs), h);
}
static bool is_replay(const struct reply *r) {
    return str_eqc(header(r, "openwop-Idempotent-Replay"), "true");
}
static const char *make_key(bool test) {
    const char *const args[] = {
        "keys", "create", "--label", "x", "--no-expiry", test ? "--test" : NULL, NULL};
    struct str out;
    cr_assert_eq(program(&sv, args, &out, NULL), 0, STR_FMT, STR_ARG(out));
    char *key = strstr(arena_cstr(test_arena(), out), "hk_");
    cr_assert_not_null(key);
    key[strcspn(key, " \r\n\"")] = '\0';
    return key;
}

Test(idempotency_keys, modes_are_kept_apart /* IDEM-2, AUTH-9 */) {
    const char *live = make_key(false), *test = make_key(true);
    struct reply a = keyed(test, "one-key", "{\"nonce\":\"n\"}"),
                 b = keyed(live, "one-key", "{\"nonce\":\"n\"}");
    cr_assert_eq(a.status, 201, STR_FMT, STR_ARG(a.body));
    cr_assert_eq(b.status, 201, STR_FMT, STR_ARG(b.body));
    cr_expect_not(is_replay(&b), "the live run is made");
    cr_expect_not(str_eq(text_at(a.body, "runId"), text_at(b.body, "runId")));
    const char *const as[] = {fmt("Authorization: Bearer %s", live), NULL};
    struct reply r =
        ask(&sv, "GET", fmt("/v1/runs/" STR_FMT, STR_ARG(text_at(b.body, "runId"))), NULL, as);
    cr_expect_eq(r.status, 200);
    a = keyed(test, "one-key", "{\"nonce\":\"n\"}");
    b = keyed(live, "one-key", "{\"nonce\":\"n\"}");
    cr_expect(is_replay(&a) && is_replay(&b), "each has its own answer");
}

Test(idempotency_keys, integers_that_differ_are_other_bodies /* IDEM-10 */) {
    static const struct {
        const char *first, *second;
        bool same;
    } CASES[] = {{"9007199254740993", "9007199254740992", false},
                 {"1234567890123456789", "1234567890123456788", false},
                 {"1e400", "1e401", false},
                 {"9007199254740993", "9007199254740993.0", true},
                 {"1.0", "1", true},
                 {"-0", "0", true}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *key = fmt("number-%zu", i);
        struct reply r = keyed(sv.key, key, fmt("{\"nonce\":\"n\",\"n\":%s}", CASES[i].first));
        cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
        r = keyed(sv.key, key, fmt("{\"n\": %s, \"nonce\":\"n\"}", CASES[i].second));
        if (CASES[i].same) cr_expect(r.status == 201 && is_replay(&r), "%s", CASES[i].second);
        else expect_error(&r, 409, "idempotency_key_conflict");
    }
}

Test(idempotency_keys, answers_are_kept_as_long_as_the_setting_says /* IDEM-6 */) {
    enum { DAY_MS = 24 * 3600 * 1000 };
    struct test_clock clock;
    clock_make(&clock, sv.dir);
    const char *const args[] = {"--idempotency-seconds", "259200", "--clock-file", clock.path,
                                NULL};
    cr_assert_eq(server_stop(&sv), 0);
    sv.args = args;
    server_again(&sv);
    struct reply first = keyed(sv.key, "kept", "{\"nonce\":\"n\"}");
    cr_assert_eq(first.status, 201);
    *clock.offset_ms = 2 * (int64_t)DAY_MS + DAY_MS / 2;
    struct reply again = keyed(sv.key, "kept", "{\"nonce\":\"n\"}");
    cr_expect(is_replay(&again), "on the third day");
    *clock.offset_ms = 3 * (int64_t)DAY_MS + DAY_MS / 2;
    again = keyed(sv.key, "kept", "{\"nonce\":\"n\"}");
    cr_expect_eq(again.status, 201);
    cr_expect_not(is_replay(&again), "and not on the fourth");
    sv.args = NULL;
}

Test(idempotency_keys, a_304_tells_no_other_length /* CAP-30, RFC 9110 8.6 */) {
    static const char *const PATHS[] = {"/.well-known/openwop", "/v1/openapi.json"};
    for (size_t i = 0; i < 2; i++) {
        struct reply full = ask(&sv, "GET", PATHS[i], NULL, NULL);
        const char *const h[] = {fmt("If-None-Match: " STR_FMT, STR_ARG(header(&full, "ETag"))),
                                 NULL};
        struct reply none = ask(&sv, "GET", PATHS[i], NULL, h);
        struct str length = header(&none, "Content-Length");
        cr_expect_eq(none.status, 304);
        cr_expect_eq(none.body.n, 0u);
        cr_expect(!length.p || str_eq(length, header(&full, "Content-Length")), STR_FMT,
                  STR_ARG(length));
    }
}
