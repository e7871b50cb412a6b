/*
 * test_interrupt_tokens.c: the surface without a credential (INT-15, INT-35 to INT-40, AUTH-14,
 * RUN-12, RUN-39): who gets a token, what it opens, when it ends, and that it is written nowhere.
 */
#include "interrupt_kit.h"

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(interrupt_tokens, .init = up, .fini = down, .timeout = 300);

Test(interrupt_tokens, looking_resolves_nothing_and_shows_the_payload /* RUN-39 */) {
    const char *run = approval(&sv);
    struct str token = token_of(&sv, run);
    cr_expect(str_starts(token, STR("ow2.hs256.")), "D45: " STR_FMT, STR_ARG(token));
    for (int i = 0; i < 2; i++) {
        struct reply r = by_token(&sv, "GET", token, NULL);
        cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
        cr_expect(str_eq(r.body, at(events_of(&sv, run), "2.payload")), "verbatim: " STR_FMT,
                  STR_ARG(r.body));
        cr_expect(str_eqc(header(&r, "Cache-Control"), "no-store"));
    }
    struct reply r = by_token(&sv, "POST", token, ACCEPT);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.body, "runId"), run));
    cr_expect(str_eqc(text_at(r.body, "nodeId"), "gate"));
    struct str id = text_at(r.body, "interruptId");
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    cr_expect(str_eqc(text_at(events_of(&sv, run), "6.payload.decidedBy"),
                      fmt("token:" STR_FMT, STR_ARG(id))),
              "INT-23");
}

Test(interrupt_tokens, bodies_are_judged_as_on_the_other_surface) {
    struct str token = token_of(&sv, approval(&sv));
    struct reply r = by_token(&sv, "POST", token, "{}");
    expect_error(&r, 400, "validation_error");
    r = by_token(&sv, "POST", token, "{\"resumeValue\":{\"action\":\"maybe\"}}");
    expect_error(&r, 400, "validation_error");
    cr_expect_eq(by_token(&sv, "POST", token, ACCEPT).status, 200, "not used up by refusals");
}

static void expect_nothing_here(struct str token) {
    static struct str first;
    struct reply g = by_token(&sv, "GET", token, NULL), p = by_token(&sv, "POST", token, ACCEPT);
    expect_error(&g, 404, "interrupt_not_found");
    expect_error(&p, 404, "interrupt_not_found");
    cr_expect(str_eq(g.body, p.body));
    if (first.p == NULL) first = g.body;
    cr_expect(str_eq(first, g.body), "every bad token gets the same answer: " STR_FMT,
              STR_ARG(g.body));
}

Test(interrupt_tokens, anything_but_the_very_token_is_not_found /* INT-37 */) {
    const char *run = approval(&sv);
    struct str token = token_of(&sv, run), rest, kid, head, tail;
    char *bad = arena_cstr(test_arena(), token);
    for (size_t i = 10; i < token.n; i += 23) { /* kid, payload and MAC are all hit */
        char was = bad[i];
        if (was == '.') continue;
        bad[i] = was == 'x' ? 'y' : 'x';
        expect_nothing_here(str_n(bad, token.n));
        bad[i] = was;
    }
    for (size_t n = 5; n < token.n; n += 61) expect_nothing_here(str_n(token.p, n));
    expect_nothing_here(STR("nonsense"));
    expect_nothing_here(STR("ow2.hs256.nokid.x.y"));
    expect_nothing_here(str_c(fmt(STR_FMT "A", STR_ARG(token))));
    rest = str_n(token.p + 10, token.n - 10);
    cr_assert(str_cut(rest, '.', &kid, &rest));
    cr_assert(str_cut_last(token, '.', &head, &tail));
    expect_nothing_here(str_c(fmt("ow2.none." STR_FMT "." STR_FMT, STR_ARG(kid), STR_ARG(rest))));
    struct str other = token_of(&sv, approval(&sv)), other_head, other_mac;
    cr_assert(str_cut_last(other, '.', &other_head, &other_mac));
    expect_nothing_here(str_c(fmt(STR_FMT "." STR_FMT, STR_ARG(head), STR_ARG(other_mac))));
    cr_expect_eq(by_token(&sv, "POST", token, ACCEPT).status, 200);
}

Test(interrupt_tokens, a_key_is_neither_needed_nor_looked_at /* AUTH-14 */) {
    static const char *const nonsense[] = {"Authorization: Bearer nonsense", NULL};
    struct str token = token_of(&sv, approval(&sv));
    struct reply r =
        ask(&sv, "GET", fmt("/v1/interrupts/" STR_FMT, STR_ARG(token)), NULL, nonsense);
    cr_expect_eq(r.status, 200);
    const char *const foreign[] = {key_with(&sv, "all", "another"), NULL};
    r = ask(&sv, "POST", fmt("/v1/interrupts/" STR_FMT, STR_ARG(token)), ACCEPT, foreign);
    cr_expect_eq(r.status, 200, "the token is the authority: " STR_FMT, STR_ARG(r.body));
}

Test(interrupt_tokens, only_responders_are_handed_one /* RUN-12, INT-13 */) {
    const char *run = approval(&sv);
    const char *const reader[] = {key_with(&sv, "runs:read", "default"), NULL};
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, reader);
    cr_assert_eq(r.status, 200);
    cr_expect(str_eqc(text_at(r.body, "interrupt.nodeId"), "gate"));
    cr_expect_null(strstr(r.body.p, "interruptToken"));
    cr_expect_null(strstr(r.body.p, "callbackUrl"));
    cr_expect(token_of(&sv, run).n > 0);
    struct reply l = ask(&sv, "GET", "/v1/runs", NULL, NULL);
    cr_expect_null(strstr(l.body.p, "ow2."));
    const char *const show[] = {"runs", "show", run, "--test", NULL};
    cr_expect_null(strstr(wopr(&sv, show).p, "ow2."));
}

Test(interrupt_tokens, auth_required_gates_take_a_bearer_only /* INT-39, INT-40, RUN-37 */) {
    const char *run = waiting(&sv, "conformance-interrupt-auth-required", "waiting-approval", NULL);
    struct str snap = snapshot_of(&sv, run);
    cr_expect_null(strstr(snap.p, "interruptToken"), STR_FMT, STR_ARG(snap));
    cr_expect_null(strstr(snap.p, "callbackUrl"));
    const char *path = fmt("/v1/runs/%s/interrupts/gate", run);
    struct reply r = ask(&sv, "POST", path, ACCEPT, NO_BEARER);
    expect_error(&r, 401, "unauthenticated");
    const char *const poor[] = {key_with(&sv, "runs:read", "default"), NULL};
    r = ask(&sv, "POST", path, ACCEPT, poor);
    expect_error(&r, 403, "forbidden");
    cr_expect_eq(ask(&sv, "POST", path, ACCEPT, NULL).status, 200);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
}

Test(interrupt_tokens, rotation_keeps_old_tokens_until_revoked /* INT-36, D46 */) {
    static const char *const rotate[] = {"tokens", "rotate", NULL}, *const list[] = {
                                                                        "tokens", "list", "--json",
                                                                        NULL};
    const char *a = approval(&sv), *b = approval(&sv), *c = approval(&sv);
    struct str before = token_of(&sv, a), before_b = token_of(&sv, b), kid, rest;
    rest = str_n(before.p + 10, before.n - 10);
    cr_assert(str_cut(rest, '.', &kid, &rest));
    struct str fresh = wopr(&sv, rotate); /* the running host notices by itself */
    cr_expect_not(str_eq(fresh, kid));
    struct str after = token_of(&sv, c);
    cr_expect(str_starts(after, str_c(fmt("ow2.hs256." STR_FMT ".", STR_ARG(fresh)))), STR_FMT,
              STR_ARG(after));
    cr_expect_eq(by_token(&sv, "POST", before, ACCEPT).status, 200, "signed before the rotation");
    struct str shown = wopr(&sv, list);
    cr_expect_not_null(strstr(shown.p, "\"state\":\"signs\""));
    cr_expect_not_null(strstr(shown.p, "\"state\":\"verifies\""));
    const char *const revoke[] = {"tokens", "revoke", arena_cstr(test_arena(), kid), NULL};
    wopr(&sv, revoke);
    expect_nothing_here(before_b);
    cr_expect_eq(by_token(&sv, "GET", after, NULL).status, 200);
    const char *const wrong[] = {"tokens", "revoke", arena_cstr(test_arena(), fresh), NULL};
    struct str out, err;
    cr_expect_eq(program(&sv, wrong, &out, &err), 1, "the secret that signs is not revoked");
    cr_expect_not_null(strstr(err.p, "rotate"));
}

Test(interrupt_tokens, a_token_survives_a_restart) {
    const char *run = approval(&sv);
    struct str token = token_of(&sv, run);
    server_kill(&sv);
    server_again(&sv);
    cr_expect_eq(by_token(&sv, "POST", token, ACCEPT).status, 200);
    wait_terminal(&sv, run);
}

static bool file_has(const char *path, struct str needle) {
    struct buf b;
    char chunk[65536];
    size_t n;
    FILE *f = fopen(path, "rb");
    if (f == NULL) return false;
    buf_init(&b, 64u << 20);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) buf_add(&b, chunk, n);
    fclose(f);
    bool found = false;
    for (size_t i = 0; i + needle.n <= b.len && !found; i++)
        found = memcmp(b.p + i, needle.p, needle.n) == 0;
    buf_fini(&b);
    return found;
}

static void up_loud(void) {
    static const char *const args[] = {"--log-level", "debug", NULL};
    server_start(&sv, args);
}
TestSuite(interrupt_token_log, .init = up_loud, .fini = down, .timeout = 300);

Test(interrupt_token_log, a_token_is_written_nowhere /* AUTH-14, NFR-7 */) {
    const char *run = approval(&sv);
    struct str token = token_of(&sv, run), head, mac;
    cr_assert(str_cut_last(token, '.', &head, &mac));
    by_token(&sv, "GET", token, NULL);
    by_token(&sv, "PUT", token, "{}"); /* 405: refused before the route is known */
    ask(&sv, "GET", fmt("/v1/interrupts/" STR_FMT "/more", STR_ARG(token)), NULL, NULL);
    by_token(&sv, "POST", token, "{\"resumeValue\":{\"action\":\"maybe\"}}");
    cr_assert_eq(by_token(&sv, "POST", token, ACCEPT).status, 200);
    wait_terminal(&sv, run);
    cr_expect_null(strstr(events_of(&sv, run).p, mac.p));
    struct reply m = ask(&sv, "GET", "/v1/runs", NULL, NULL);
    cr_expect_null(strstr(m.body.p, mac.p));
    cr_expect_not(file_has(sv.db, mac));
    cr_expect_not(file_has(fmt("%s-wal", sv.db), mac));
    struct str log = server_log(&sv);
    cr_expect_not_null(strstr(log.p, "resolveInterruptByToken"), "the request is logged: %zu",
                       log.n);
    cr_expect_not_null(strstr(log.p, "/v1/interrupts/{token}"));
    cr_expect_null(strstr(log.p, mac.p), "without its token");
    cr_expect_null(strstr(log.p, "ow2."), "not even a part of it");
}

/* --- lifetimes --- */

static void up_short(void) {
    static const char *const args[] = {"--interrupt-token-seconds", "1", NULL};
    server_start(&sv, args);
}
TestSuite(interrupt_token_life, .init = up_short, .fini = down, .timeout = 300);

Test(interrupt_token_life, an_expired_token_is_gone_for_get_and_post /* INT-37, 410 */) {
    const char *run = approval(&sv);
    struct str token = token_of(&sv, run);
    struct reply r = {0};
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end && r.status != 410; nap_ms(50))
        r = by_token(&sv, "GET", token, NULL);
    expect_error(&r, 410, "interrupt_expired");
    r = by_token(&sv, "POST", token, ACCEPT);
    expect_error(&r, 410, "interrupt_expired");
    struct str types = types_of(events_of(&sv, run));
    cr_expect_null(strstr(types.p, "interrupt.resolved"));
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end && r.status != 200;)
        r = by_token(&sv, "POST", token_of(&sv, run), ACCEPT); /* a slow machine may need another */
    cr_expect_eq(r.status, 200, "the interrupt lives, and so does a fresh token");
}

Test(interrupt_token_life, a_deadline_decides_instead /* INT-37 */) {
    put_gate(&sv, "long", GATE_ACTIONS ",\"timeoutMs\":60000");
    struct str snap;
    const char *run = waiting(&sv, "long", "waiting-approval", &snap);
    struct str token = text_at(snap, "interrupt.interruptToken");
    nap_ms(1300); /* longer than the configured life, shorter than the deadline */
    cr_expect_eq(by_token(&sv, "GET", token, NULL).status, 200);
    cr_expect_eq(by_token(&sv, "POST", token, ACCEPT).status, 200);
    wait_terminal(&sv, run);
}

static void up_off(void) {
    static const char *const args[] = {"--interrupt-callbacks=false", NULL};
    server_start(&sv, args);
}
TestSuite(interrupt_token_off, .init = up_off, .fini = down, .timeout = 300);

Test(interrupt_token_off, only_external_events_get_tokens /* INT-13 */) {
    const char *run = approval(&sv);
    cr_expect_null(at(snapshot_of(&sv, run), "interrupt.interruptToken").p);
    run = waiting(&sv, "conformance-interrupt-external-event", "waiting-external", NULL);
    cr_expect_eq(by_token(&sv, "POST", token_of(&sv, run), THE_ORDER).status, 200);
}

static void up_strict(void) {
    static const char *const args[] = {"--interrupt-auth-required", NULL};
    server_start(&sv, args);
}
TestSuite(interrupt_token_strict, .init = up_strict, .fini = down, .timeout = 300);

Test(interrupt_token_strict, a_host_can_demand_bearers_for_all /* INT-39, INT-40 */) {
    const char *run = approval(&sv);
    cr_expect_null(at(snapshot_of(&sv, run), "interrupt.interruptToken").p);
    cr_expect_eq(resolve(&sv, run, "gate", ACCEPT).status, 200);
    run = waiting(&sv, "conformance-interrupt-external-event", "waiting-external", NULL);
    cr_expect_null(at(snapshot_of(&sv, run), "interrupt.callbackUrl").p);
    cr_expect_eq(resolve(&sv, run, "wait-for-external", THE_ORDER).status, 200);
}

Test(interrupt_token_off, a_token_made_before_the_profile_is_refused /* INT-40: 403 */) {
    static const char *const strict[] = {"--interrupt-auth-required", NULL};
    const char *run =
        waiting(&sv, "conformance-interrupt-external-event", "waiting-external", NULL);
    struct str token = token_of(&sv, run);
    cr_assert_eq(server_stop(&sv), 0);
    sv.args = strict;
    server_again(&sv);
    struct reply r = by_token(&sv, "GET", token, NULL);
    expect_error(&r, 403, "forbidden");
    r = by_token(&sv, "POST", token, THE_ORDER);
    expect_error(&r, 403, "forbidden");
    cr_expect(str_eqc(text_at(snapshot_of(&sv, run), "status"), "waiting-external"));
}
