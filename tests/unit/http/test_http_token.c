/*
 * test_http_token.c: routes whose path is the authority (AUTH-14, IDEM-2, AUTH-12).
 */
#include "http_world.h"

#include <criterion/criterion.h>
#include <stdio.h>

static void up(void) { world_up(NULL); }
TestSuite(http_token, .init = up, .fini = world_down, .timeout = 300);

Test(http_token, the_token_says_for_whom_and_a_credential_is_ignored) {
    struct client *c = ask("GET", "/v1/interrupts/good-t9", NULL, NULL);
    cr_expect_eq(c->status, 200);
    cr_expect(body_has(c, "\"tenant\":\"t9\""), "%s", c->body.p);
    hang_up(c);
    c = ask("GET", "/v1/interrupts/good-t9", "Authorization: Bearer nonsense\r\n", NULL);
    cr_expect_eq(c->status, 200);
    hang_up(c);
    c = ask("GET", "/v1/interrupts/good-t9", bearer(), NULL);
    cr_expect(body_has(c, "\"tenant\":\"t9\""), "not the key's: %s", c->body.p);
    hang_up(c);
}

Test(http_token, a_bad_token_is_refused_before_the_body_and_the_handler) {
    struct client *c = ask("GET", "/v1/interrupts/bad", bearer(), NULL);
    cr_expect_eq(c->status, 404);
    hang_up(c);
    c = ask("POST", "/v1/interrupts/bad", NULL, "{not json");
    cr_expect_eq(c->status, 404, "the token is judged first: %d", c->status);
    hang_up(c);
    cr_expect_eq(atomic_load(&W.executed), 0);
}

static int redeem(const char *token, const char *want_replay) {
    char path[64];
    snprintf(path, sizeof path, "/v1/interrupts/%s", token);
    struct client *c = ask("POST", path, "Idempotency-Key: k\r\n", "{\"a\":1}");
    int status = c->status;
    cr_expect_str_eq(header_of(c, "openwop-Idempotent-Replay"), want_replay);
    hang_up(c);
    return status;
}

Test(http_token, a_key_counts_per_token_and_its_tenant /* IDEM-2 */) {
    cr_expect_eq(redeem("good-t1", "false"), 201);
    cr_expect_eq(redeem("good-t2", "false"), 201);
    cr_expect_eq(atomic_load(&W.executed), 2);
}

static void tight(struct http_config *cfg) {
    cfg->rates.address_rate = 1, cfg->rates.address_burst = 3;
}

Test(http_token_limit, tokens_and_discovery_have_their_own_buckets /* AUTH-12 */, .timeout = 300) {
    int discovery = 0, tokens = 0;
    world_up(tight);
    for (int i = 0; i < 6; i++) {
        struct client *c = ask("GET", "/.well-known/openwop", NULL, NULL);
        discovery += c->status == 429;
        hang_up(c);
    }
    struct client *first = ask("GET", "/v1/interrupts/good-t1", NULL, NULL);
    cr_expect_eq(first->status, 200, "discovery has used up its own bucket only");
    hang_up(first);
    for (int i = 0; i < 6; i++) { /* guesses are limited before they are judged */
        struct client *c = ask("GET", "/v1/interrupts/guess", NULL, NULL);
        tokens += c->status == 429;
        cr_expect(c->status == 429 || c->status == 404, "%d", c->status);
        hang_up(c);
    }
    cr_expect_geq(discovery, 1);
    cr_expect_geq(tokens, 1);
    world_down();
}
