/*
 * test_issuers.c: tokens of OAuth2 and OpenID Connect issuers on the real program (AUTH-11,
 * AUTH-21, AUTH-23, AUTH-24): what is taken, everything that is not, and what discovery says.
 */
#include "base/clock.h"
#include "codec/bytes.h"
#include "harness.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MACHINES "https://id.example.com/realms/machines"
#define USERS    "https://id.example.com/realms/users"

/* As fmt, and longer than its bound: tokens are. */
#define text(...) arena_printf(test_arena(), __VA_ARGS__).p

/* --- an issuer of our own --- */

struct signer {
    const char *alg, *kid;
    gnutls_privkey_t key;
    char jwk[1200];
};
static struct signer rsa, ec, ed, stranger;

static const char *b64(struct str s) {
    struct buf b;
    buf_init(&b, 1 << 16);
    base64url_encode(&b, s);
    const char *out = text(STR_FMT, STR_ARG(buf_str(&b)));
    buf_fini(&b);
    return out;
}

static const char *number(gnutls_datum_t d, bool fixed) {
    struct str s = {(const char *)d.data, d.size};
    while (s.n > (fixed ? 32u : 1u) && s.p[0] == 0) s.p++, s.n--;
    char padded[32] = {0};
    if (!fixed || s.n == 32) return b64(s);
    memcpy(padded + 32 - s.n, s.p, s.n);
    return b64(str_n(padded, 32));
}

static void signer_make(struct signer *s, const char *alg, const char *kid) {
    gnutls_pubkey_t pub;
    gnutls_datum_t x = {0}, y = {0};
    gnutls_ecc_curve_t curve;
    bool is_rsa = strcmp(alg, "RS256") == 0, is_ec = strcmp(alg, "ES256") == 0;
    gnutls_pk_algorithm_t pk = is_rsa  ? GNUTLS_PK_RSA
                               : is_ec ? GNUTLS_PK_ECDSA
                                       : GNUTLS_PK_EDDSA_ED25519;
    unsigned bits = is_rsa ? 2048
                           : GNUTLS_CURVE_TO_BITS(is_ec ? GNUTLS_ECC_CURVE_SECP256R1
                                                        : GNUTLS_ECC_CURVE_ED25519);
    s->alg = alg, s->kid = kid;
    cr_assert_eq(gnutls_privkey_init(&s->key), 0);
    cr_assert_eq(gnutls_privkey_generate(s->key, pk, bits, 0), 0);
    cr_assert_eq(gnutls_pubkey_init(&pub), 0);
    cr_assert_eq(gnutls_pubkey_import_privkey(pub, s->key, 0, 0), 0);
    if (is_rsa) {
        cr_assert_eq(gnutls_pubkey_export_rsa_raw(pub, &x, &y), 0);
        snprintf(s->jwk, sizeof s->jwk,
                 "{\"kty\":\"RSA\",\"use\":\"sig\",\"kid\":\"%s\",\"n\":\"%s\",\"e\":\"%s\"}", kid,
                 number(x, false), number(y, false));
    } else {
        cr_assert_eq(gnutls_pubkey_export_ecc_raw(pub, &curve, &x, is_ec ? &y : NULL), 0);
        int n = snprintf(s->jwk, sizeof s->jwk,
                         "{\"kty\":\"%s\",\"crv\":\"%s\",\"kid\":\"%s\",\"x\":\"%s\"",
                         is_ec ? "EC" : "OKP", is_ec ? "P-256" : "Ed25519", kid, number(x, true));
        if (is_ec)
            n += snprintf(s->jwk + n, sizeof s->jwk - (size_t)n, ",\"y\":\"%s\"", number(y, true));
        snprintf(s->jwk + n, sizeof s->jwk - (size_t)n, "}");
    }
    gnutls_free(x.data), gnutls_free(y.data);
    gnutls_pubkey_deinit(pub);
}

static const char *sign(const struct signer *s, const char *header, const char *claims) {
    const char *signed_text = text("%s.%s", b64(str_c(header)), b64(str_c(claims)));
    gnutls_datum_t m = {(unsigned char *)(uintptr_t)signed_text, (unsigned)strlen(signed_text)},
                   sig = {0};
    bool is_ec = strcmp(s->alg, "ES256") == 0;
    gnutls_sign_algorithm_t how = strcmp(s->alg, "RS256") == 0 ? GNUTLS_SIGN_RSA_SHA256
                                  : is_ec                      ? GNUTLS_SIGN_ECDSA_SHA256
                                                               : GNUTLS_SIGN_EDDSA_ED25519;
    cr_assert_eq(gnutls_privkey_sign_data2(s->key, how, 0, &m, &sig), 0);
    const char *tail;
    if (is_ec) { /* out of DER */
        gnutls_datum_t r = {0}, t = {0};
        char both[64] = {0};
        cr_assert_eq(gnutls_decode_rs_value(&sig, &r, &t), 0);
        for (unsigned k = 0; k < 32 && k < r.size; k++) both[31 - k] = (char)r.data[r.size - 1 - k];
        for (unsigned k = 0; k < 32 && k < t.size; k++) both[63 - k] = (char)t.data[t.size - 1 - k];
        gnutls_free(r.data), gnutls_free(t.data);
        tail = b64(str_n(both, sizeof both));
    } else {
        tail = b64(str_n((const char *)sig.data, sig.size));
    }
    gnutls_free(sig.data);
    return text("%s.%s", signed_text, tail);
}

/* Claims are C format strings: %lld is the time in seconds. */
static const char *token(const struct signer *s, const char *claims) {
    return sign(s, text("{\"alg\":\"%s\",\"kid\":\"%s\",\"typ\":\"JWT\"}", s->alg, s->kid), claims);
}

#define CLAIMS(iss, aud, sub, more, from, to)                                                      \
    text("{\"iss\":\"" iss "\",\"aud\":" aud ",\"sub\":\"" sub "\",\"iat\":%lld,\"exp\":%lld" more \
         "}",                                                                                      \
         (long long)(clock_wall_ms() / 1000 + (from)), (long long)(clock_wall_ms() / 1000 + (to)))
#define ALL                     ",\"scope\":\"openid runs:read runs:create\",\"tenant\":\"acme\""
#define MACHINE(more, from, to) CLAIMS(MACHINES, "\"wopr\"", "worker-1", more, from, to)
#define USER(sub, more)         CLAIMS(USERS, "[\"account\",\"wopr-web\"]", sub, more, -5, 300)

/* --- the host --- */

static struct server sv;

static const char *write_file(const char *name, const char *text) {
    const char *path = text("%s/%s", sv.dir, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

#define ISSUER_MACHINES                                                                            \
    "{\"name\":\"machines\",\"issuer\":\"" MACHINES "\",\"audience\":\"wopr\","                    \
    "\"profile\":\"client-credentials\",\"algorithms\":[\"RS256\",\"ES256\",\"EdDSA\"],"           \
    "\"jwksFile\":\"keys.json\",\"tenantClaim\":\"tenant\",\"clockSkewSeconds\":10}"
#define ISSUER_USERS                                                                               \
    "{\"name\":\"users\",\"issuer\":\"" USERS "\",\"audience\":[\"wopr-web\"],"                    \
    "\"profile\":\"user-bearer\",\"algorithms\":[\"ES256\"],\"jwksFile\":\"keys.json\","           \
    "\"tenantClaim\":\"/org/name\",\"tenants\":{\"Acme GmbH\":\"acme\",\"Beta\":\"beta\"},"        \
    "\"scopesClaim\":\"/realm_access/roles\",\"scopes\":{\"viewer\":[\"runs:read\"],"              \
    "\"builder\":[\"runs:create\",\"runs:read\"]},\"disabledSubjects\":[\"mallory\"]}"

static void up(void) {
    static const char *args[] = {"--issuers", NULL, "--auth-failure-rate", "0", "--log-level",
                                 "debug",     NULL};
    server_start(&sv, NULL);
    cr_assert_eq(server_stop(&sv), 0);
    signer_make(&rsa, "RS256", "rsa");
    signer_make(&ec, "ES256", "ec");
    signer_make(&ed, "EdDSA", "ed");
    signer_make(&stranger, "ES256", "ec");
    write_file("keys.json", text("{\"keys\":[%s,%s,%s]}", rsa.jwk, ec.jwk, ed.jwk));
    args[1] = write_file("issuers.json", "{\"issuers\":[" ISSUER_MACHINES "," ISSUER_USERS "]}");
    sv.args = args;
    server_again(&sv);
}
static void down(void) {
    gnutls_privkey_deinit(rsa.key), gnutls_privkey_deinit(ec.key);
    gnutls_privkey_deinit(ed.key), gnutls_privkey_deinit(stranger.key);
    server_end(&sv);
}
TestSuite(issuers, .init = up, .fini = down, .timeout = 300);

static struct reply ask_as(const char *credential, const char *method, const char *path,
                           const char *body) {
    const char *const h[] = {text("Authorization: Bearer %s", credential), NULL};
    return ask(&sv, method, path, body, h);
}
static long status_of(const char *credential) {
    return ask_as(credential, "GET", "/v1/runs", NULL).status;
}

static void expect_refused(const char *why, const char *credential) {
    struct reply r = ask_as(credential, "GET", "/v1/runs", NULL);
    cr_expect_eq(r.status, 401, "%s: %ld", why, r.status);
    expect_error(&r, 401, "unauthenticated");
    struct str challenge = header(&r, "WWW-Authenticate");
    cr_expect_not_null(strstr(text(STR_FMT, STR_ARG(challenge)), "error=\"invalid_token\""),
                       "%s: " STR_FMT, why, STR_ARG(challenge)); /* AUTH-24 */
}

Test(issuers, each_algorithm_is_taken_and_the_words_are_the_scopes /* AUTH-21 */) {
    const struct signer *all[] = {&rsa, &ec, &ed};
    for (size_t i = 0; i < 3; i++)
        cr_expect_eq(status_of(token(all[i], MACHINE(ALL, -5, 300))), 200, "%s", all[i]->alg);
    struct reply r = ask_as(token(&rsa, MACHINE(ALL, -5, 300)), "GET", "/v1/audit/verify", NULL);
    expect_error(&r, 403, "forbidden");
    struct str challenge = header(&r, "WWW-Authenticate");
    cr_expect_not_null(strstr(text(STR_FMT, STR_ARG(challenge)), "insufficient_scope"), STR_FMT,
                       STR_ARG(challenge));
    const char *none =
        token(&rsa, MACHINE(",\"scope\":\"admin openid\",\"tenant\":\"acme\"", -5, 300));
    cr_expect_eq(status_of(none), 403, "words of others grant nothing");
    cr_expect_eq(status_of(token(&rsa, MACHINE(",\"tenant\":\"acme\"", -5, 300))), 403);
    cr_expect_eq(status_of(sv.key), 200, "keys go on working");
}

Test(issuers, a_tenant_is_never_left /* AUTH-8, AUTH-10, AUTH-11 */) {
    const char *acme = token(&rsa, MACHINE(ALL, -5, 300));
    const char *beta =
        token(&rsa, MACHINE(",\"scope\":\"runs:read runs:create\",\"tenant\":\"beta\"", -5, 300));
    struct reply r = ask_as(acme, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}");
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *path = text("/v1/runs/" STR_FMT, STR_ARG(text_at(r.body, "runId")));
    cr_expect_eq(ask_as(acme, "GET", path, NULL).status, 200);
    cr_expect_eq(ask_as(beta, "GET", path, NULL).status, 404);
    cr_expect_eq(ask(&sv, "GET", path, NULL, NULL).status, 404, "nor for a key of another one");
    r = ask_as(beta, "POST", "/v1/runs",
               "{\"workflowId\":\"conformance-noop\",\"tenantId\":\"acme\"}");
    expect_error(&r, 403, "forbidden");
}

static const char *subject_recorded(struct str run_id) {
    sqlite3 *db;
    sqlite3_stmt *q;
    cr_assert_eq(sqlite3_open_v2(sv.db, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db,
                                    "SELECT subject FROM run_origins JOIN runs USING (run_no)"
                                    " WHERE run_id = ?",
                                    -1, &q, NULL),
                 SQLITE_OK);
    sqlite3_bind_text(q, 1, run_id.p, (int)run_id.n, SQLITE_STATIC);
    cr_assert_eq(sqlite3_step(q), SQLITE_ROW);
    const char *out = text("%s", (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    sqlite3_close(db);
    return out;
}

Test(issuers, a_run_records_how_its_caller_proved_who_it_is /* D18 */) {
    const char *org = ",\"org\":{\"name\":\"Acme GmbH\"}";
    const struct {
        const char *credential, *want;
    } CALLERS[] = {
        {token(&rsa, MACHINE(ALL, -5, 300)), "\"lane\":\"oauth2\",\"kind\":\"workload\""},
        {token(&ec, text("%.*s%s,\"realm_access\":{\"roles\":[\"builder\"]}}",
                         (int)strlen(USER("alice", "")) - 1, USER("alice", ""), org)),
         "\"lane\":\"oidc\",\"kind\":\"user\""},
        {sv.key, "\"lane\":\"api-key\",\"kind\":\"user\""},
    };
    for (size_t i = 0; i < sizeof CALLERS / sizeof *CALLERS; i++) {
        struct reply r = ask_as(CALLERS[i].credential, "POST", "/v1/runs",
                                "{\"workflowId\":\"conformance-noop\"}");
        cr_assert_eq(r.status, 201, "%zu: " STR_FMT, i, STR_ARG(r.body));
        const char *subject = subject_recorded(text_at(r.body, "runId"));
        cr_expect_not_null(strstr(subject, CALLERS[i].want), "%s", subject);
    }
}

Test(issuers, roles_of_users_are_mapped_and_nothing_else_grants /* AUTH-23 */) {
    const char *org = ",\"org\":{\"name\":\"Acme GmbH\"},\"scope\":\"runs:create runs:cancel\"";
    const char *viewer =
        token(&ec, text("%.*s%s,\"realm_access\":{\"roles\":[\"viewer\",\"runs:cancel\"]}}",
                        (int)strlen(USER("alice", "")) - 1, USER("alice", ""), org));
    cr_expect_eq(status_of(viewer), 200);
    cr_expect_eq(ask_as(viewer, "POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}").status,
                 403);
    const char *mallory =
        token(&ec, USER("mallory",
                        ",\"org\":{\"name\":\"Beta\"},\"realm_access\":{\"roles\":[\"viewer\"]}"));
    struct reply r = ask_as(mallory, "GET", "/v1/runs", NULL);
    expect_error(&r, 401, "key_revoked");
    expect_refused("an organisation that is not mapped",
                   token(&ec, USER("alice", ",\"org\":{\"name\":\"acme\"}")));
    expect_refused("no organisation", token(&ec, USER("alice", "")));
    expect_refused("an algorithm that this issuer does not have",
                   token(&rsa, USER("alice", ",\"org\":{\"name\":\"Beta\"}")));
}

Test(issuers, nothing_but_a_right_token_is_taken /* AUTH-2, AUTH-21 */) {
    const char *good = MACHINE(ALL, -5, 300);
    const char *fine = token(&ec, good);
    cr_assert_eq(status_of(fine), 200);
    expect_refused("expired", token(&ec, MACHINE(ALL, -600, -30)));
    cr_expect_eq(status_of(token(&ec, MACHINE(ALL, -600, -3))), 200, "within the skew");
    expect_refused("issued later", token(&ec, MACHINE(ALL, 60, 300)));
    cr_expect_eq(status_of(token(&ec, MACHINE(ALL, 3, 300))), 200, "within the skew");
    expect_refused("not yet", token(&ec, MACHINE(ALL ",\"nbf\":99999999999", -5, 300)));
    expect_refused("no expiry",
                   token(&ec, "{\"iss\":\"" MACHINES "\",\"aud\":\"wopr\",\"sub\":\"w\"}"));
    expect_refused("an expiry in words",
                   token(&ec, "{\"iss\":\"" MACHINES "\",\"aud\":\"wopr\",\"sub\":\"w\","
                              "\"tenant\":\"acme\",\"exp\":\"99999999999\"}"));
    expect_refused("another audience",
                   token(&ec, CLAIMS(MACHINES, "\"wopr-web\"", "w", ALL, -5, 300)));
    expect_refused("a part of the audience",
                   token(&ec, CLAIMS(MACHINES, "\"wop\"", "w", ALL, -5, 300)));
    expect_refused("no audience", token(&ec, CLAIMS(MACHINES, "[]", "w", ALL, -5, 300)));
    expect_refused("another issuer",
                   token(&ec, CLAIMS(MACHINES "/", "\"wopr\"", "w", ALL, -5, 300)));
    expect_refused("no subject", token(&ec, CLAIMS(MACHINES, "\"wopr\"", "", ALL, -5, 300)));
    expect_refused("no tenant", token(&ec, MACHINE(",\"scope\":\"runs:read\"", -5, 300)));
    expect_refused("a tenant that is none", token(&ec, MACHINE(",\"tenant\":\"a/../b\"", -5, 300)));
    expect_refused("the key of a stranger", token(&stranger, good));
    expect_refused("another kid", sign(&ec, "{\"alg\":\"ES256\",\"kid\":\"ed\"}", good));
    expect_refused("a kid that is not there",
                   sign(&ec, "{\"alg\":\"ES256\",\"kid\":\"new\"}", good));
    expect_refused("a key of its own",
                   sign(&stranger, text("{\"alg\":\"ES256\",\"jwk\":%s}", stranger.jwk), good));
    expect_refused("crit", sign(&ec, "{\"alg\":\"ES256\",\"kid\":\"ec\",\"crit\":[\"x\"]}", good));
    const char *none = text("%s.%s.", b64(STR("{\"alg\":\"none\"}")), b64(str_c(good)));
    expect_refused("alg none", none);
    expect_refused("alg none, signed", sign(&ec, "{\"alg\":\"none\",\"kid\":\"ec\"}", good));
    char *bent = (char *)(uintptr_t)text("%s", fine);
    const char *other = b64(str_c(MACHINE(ALL ",\"x\":1", -5, 300)));
    expect_refused("another payload", text("%.*s.%s.%s", (int)strcspn(fine, "."), fine, other,
                                           strrchr(fine, '.') + 1));
    bent[strlen(bent) - 8] = bent[strlen(bent) - 8] == 'A' ? 'B' : 'A';
    expect_refused("another signature", bent);
    expect_refused("cut", text("%.*s", (int)strlen(fine) - 4, fine));
    expect_refused("four parts", text("%s.x", fine));
}

Test(issuers, a_public_key_is_no_shared_secret /* AUTH-21: algorithms do not switch */) {
    const char *signed_text = text("%s.%s", b64(STR("{\"alg\":\"HS256\",\"kid\":\"rsa\"}")),
                                   b64(str_c(MACHINE(ALL, -5, 300))));
    struct sha256 mac = hmac_sha256(str_c(rsa.jwk), str_c(signed_text));
    expect_refused("HS256",
                   text("%s.%s", signed_text, b64(str_n((const char *)mac.b, sizeof mac.b))));
}

Test(issuers, a_huge_token_is_refused_and_the_host_goes_on) {
    char *huge = arena_alloc(test_arena(), 7001);
    memset(huge, 'x', 7000);
    const char *claims = MACHINE(ALL, -5, 300);
    const char *t =
        token(&ec, text("%.*s,\"x\":\"%.4000s\"}", (int)strlen(claims) - 1, claims, huge));
    cr_expect_eq(status_of(t), 200, "five thousand bytes are fine");
    expect_refused("7000 bytes of no token", huge);
    t = token(&ec, text("%.*s,\"x\":\"%s\"}", (int)strlen(claims) - 1, claims, huge));
    long status = status_of(t);
    cr_expect(status == 431 || status == 400, "a line of the head is too long: %ld", status);
    cr_expect_eq(status_of(sv.key), 200);
}

Test(issuers, a_stream_ends_with_its_token /* AUTH-23 */) {
    const char *acme = token(&ec, MACHINE(ALL, -5, 300));
    struct reply r =
        ask_as(acme, "POST", "/v1/runs",
               "{\"workflowId\":\"conformance-delay\",\"inputs\":{\"delayMs\":60000}}");
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *path = text("/v1/runs/" STR_FMT "/events", STR_ARG(text_at(r.body, "runId")));
    const char *soon = token(&ec, MACHINE(ALL, -600, -7)); /* three seconds of skew are left */
    const char *const h[] = {text("Authorization: Bearer %s", soon), NULL};
    int64_t began = now_ms();
    struct stream s = stream(&sv, path, h, WAIT_MS, 0);
    cr_expect_eq(s.status, 200);
    cr_expect(s.closed_by_server, "after %lld ms", (long long)(now_ms() - began));
    r = ask_as(
        acme, "POST",
        text("/v1/host/wopr/runs/" STR_FMT "/stream-ticket", STR_ARG(text_at(r.body, "runId"))),
        "{}");
    cr_expect_eq(r.status, 403, "a ticket would outlive the token: %ld", r.status);
}

Test(issuers, the_log_names_the_issuer_and_never_the_token /* AUTH-13 */) {
    const char *t = token(&ec, MACHINE(ALL, -5, 300));
    cr_assert_eq(status_of(t), 200);
    struct str log = server_log(&sv);
    cr_expect_not_null(strstr(log.p, "machines:worker-1"), STR_FMT, STR_ARG(log));
    cr_expect_null(strstr(log.p, strrchr(t, '.') + 1));
    cr_expect_null(strstr(log.p, text("%.40s", strchr(t, '.') + 1)));
}

Test(issuers, discovery_shows_what_is_configured /* AUTH-21, AUTH-23 */) {
    struct reply r = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL);
    cr_assert_eq(r.status, 200);
    const char *const places[] = {"auth", "capabilities.auth", "extensions.auth"};
    for (size_t i = 0; i < 3; i++) {
        struct str auth = at(r.body, places[i]);
        cr_assert_not_null(auth.p, "%s", places[i]);
        const char *profiles = text(STR_FMT, STR_ARG(at(auth, "profiles")));
        cr_expect_not_null(strstr(profiles, "openwop-auth-oauth2-client-credentials"));
        cr_expect_not_null(strstr(profiles, "openwop-auth-oidc-user-bearer"));
        cr_expect_null(strstr(profiles, "mtls"));
        cr_expect(str_eqc(text_at(auth, "oauth2.issuer"), MACHINES));
        cr_expect(str_eqc(text_at(auth, "oauth2.audience"), "wopr"));
        cr_expect(str_eqc(text_at(auth, "oidc.issuers.0"), USERS));
        cr_expect(str_eqc(text_at(auth, "oidc.audience"), "wopr-web"));
    }
    cr_assert_eq(server_stop(&sv), 0);
    sv.args = NULL;
    server_again(&sv);
    r = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL);
    cr_expect_null(strstr(text(STR_FMT, STR_ARG(r.body)), "oauth2"), "nothing is configured");
    cr_expect_null(strstr(text(STR_FMT, STR_ARG(r.body)), "oidc"));
    cr_expect_eq(status_of(token(&ec, MACHINE(ALL, -5, 300))), 401);
}

Test(issuers, guesses_are_throttled_and_a_token_in_use_goes_on) {
    static const char *args[] = {
        "--issuers", NULL, "--auth-failure-rate", "1", "--auth-failure-burst", "3", NULL};
    cr_assert_eq(server_stop(&sv), 0);
    args[1] = text("%s/issuers.json", sv.dir);
    sv.args = args;
    server_again(&sv);
    const char *mine = token(&ec, MACHINE(ALL, -5, 300));
    cr_expect_eq(status_of(mine), 200);
    const char *wrong = token(&stranger, MACHINE(ALL, -5, 300));
    long status = 0;
    for (int i = 0; i < 50 && status != 429; i++) status = status_of(wrong);
    cr_expect_eq(status, 429);
    cr_expect_eq(status_of(mine), 200);
}

Test(issuers, a_wrong_file_is_refused_with_its_member) {
    static const struct {
        const char *text, *says;
    } CASES[] = {
        {"{}", "issuers"},
        {"{\"issuers\":[]}", "1 to 16"},
        {"{\"issuers\":[{\"name\":\"X\"}]}", "issuers[0].name"},
        {"{\"issuers\":[{\"name\":\"x\",\"isuer\":\"\"}]}", "isuer"},
        {"{\"issuers\":[{\"name\":\"x\",\"issuer\":\"id\"}]}", "issuers[0].issuer"},
        {"{\"issuers\":[{\"name\":\"x\",\"issuer\":\"https://i\"}]}", "issuers[0].audience"},
#define X "{\"issuers\":[{\"name\":\"x\",\"issuer\":\"https://i\",\"audience\":\"a\","
        {X "\"profile\":\"oauth\"}]}", "issuers[0].profile"},
#define Y X "\"profile\":\"client-credentials\","
        {Y "\"algorithms\":[\"HS256\"]}]}", "issuers[0].algorithms"},
        {Y "\"algorithms\":[]}]}", "issuers[0].algorithms"},
#define Z Y "\"algorithms\":[\"RS256\"],"
        {Z "\"clockSkewSeconds\":301}]}", "clockSkewSeconds"},
        {Z "\"mode\":\"prod\"}]}", "issuers[0].mode"},
        {Z "\"jwksFile\":\"k\"}]}", "issuers[0].tenant"},
        {Z "\"tenant\":\"a\",\"tenantClaim\":\"t\"}]}", "issuers[0].tenant"},
        {Z "\"tenant\":\"a\",\"scopes\":{\"g\":[\"runs:read\"]}}]}", "issuers[0].scopes"},
        {Z "\"tenant\":\"a\"}]}", "issuers[0].jwksFile"},
        {Z "\"tenant\":\"a\",\"jwksFile\":\"not-there.json\"}]}", "not-there.json"},
        {Z "\"tenant\":\"a\",\"jwksFile\":\"issuers.json\"}]}", "jwksFile"},
        {"{\"issuers\":[" ISSUER_MACHINES "," ISSUER_MACHINES "]}", "issuers[1].name"},
    };
    struct str out, err;
    cr_assert_eq(server_stop(&sv), 0);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const char *path = write_file("wrong.json", CASES[i].text);
        const char *const args[] = {"serve", "--port", "0", "--issuers", path, NULL};
        cr_expect_neq(program(&sv, args, &out, &err), 0, "%zu", i);
        cr_expect_not_null(strstr(err.p, CASES[i].says), "%zu: " STR_FMT, i, STR_ARG(err));
    }
}
