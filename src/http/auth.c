/*
 * auth.c: API keys (AUTH-1 to 9): minting, checking, and the credential of a request.
 */
#include "base/clock.h"
#include "codec/ident.h"
#include "http/http_internal.h"

#include <stdio.h>

enum { KEY_TEXT_MAX = 512, KEY_SECRET_BYTES = 32 };

static struct sha256 key_hash(const uint8_t pepper[32], struct str text) {
    return hmac_sha256(str_n((const char *)pepper, 32), text);
}

static bool visible(struct str s) {
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < 0x21 || s.p[i] > 0x7e) return false;
    return s.n > 0 && s.n <= KEY_TEXT_MAX;
}

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the key");
}

static void fill_row(struct api_key *k, struct arena *a, struct str tenant, struct str workspace,
                     unsigned scopes) {
    k->tenant = arena_str(a, tenant);
    k->workspace = arena_str(a, workspace.n > 0 ? workspace : tenant); /* D17: every key has one */
    k->subject_issuer = STR("wopr:api-key");
    k->subject_id = k->key_id;
    k->scopes = scopes;
    k->created_ms = clock_wall_ms();
}

int key_mint(struct store *s, struct str tenant, struct str workspace, struct str label,
             unsigned scopes, bool test_mode, int64_t expires_ms, struct arena *a, struct str *text,
             struct api_key *row, struct wopr_error *err) {
    uint8_t pepper[32], secret[KEY_SECRET_BYTES];
    char id[ULID_LEN + 1];
    int rc = store_secret(s, "pepper", pepper, err);
    if (rc != 0) return rc;
    ulid_new(id);
    rng_bytes(secret, sizeof secret);
    struct buf b;
    buf_init(&b, KEY_TEXT_MAX);
    buf_addf(&b, "%s%s_", test_mode ? KEY_PREFIX_TEST : KEY_PREFIX_LIVE, id);
    base64url_encode(&b, str_n((const char *)secret, sizeof secret));
    struct api_key k = {
        .key_id = arena_str(a, str_c(id)), .label = arena_str(a, label), .test_mode = test_mode};
    struct str whole = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    fill_row(&k, a, tenant, workspace, scopes);
    if (!whole.p || arena_failed(a)) return no_memory(err);
    k.expires_ms = expires_ms;
    k.hash = key_hash(pepper, whole);
    *text = whole;
    *row = k;
    return 0;
}

int key_from_text(struct store *s, struct str text, struct str tenant, struct str workspace,
                  unsigned scopes, struct arena *a, struct api_key *row, struct wopr_error *err) {
    uint8_t pepper[32];
    char hex[65];
    if (!visible(text))
        return wopr_error_set(err, WOPR_E_CONFIG,
                              "an API key must be 1 to %d visible ASCII characters", KEY_TEXT_MAX);
    int rc = store_secret(s, "pepper", pepper, err);
    if (rc != 0) return rc;
    struct api_key k = {.hash = key_hash(pepper, text), .label = STR("configured")};
    sha256_hex(&k.hash, hex);
    k.key_id = arena_printf(a, "cfg%.24s", hex);
    k.test_mode = str_starts(text, STR(KEY_PREFIX_TEST)); /* AUTH-4 */
    fill_row(&k, a, tenant, workspace, scopes);
    if (arena_failed(a)) return no_memory(err);
    *row = k;
    return 0;
}

/* The key id inside a key of our own making. */
static bool own_key_id(struct str text, struct str *id) {
    struct str rest = text, secret;
    if (str_starts(text, STR(KEY_PREFIX_TEST))) rest = str_n(text.p + 8, text.n - 8);
    else if (str_starts(text, STR(KEY_PREFIX_LIVE))) rest = str_n(text.p + 3, text.n - 3);
    else return false;
    return str_cut(rest, '_', id, &secret) && id->n == ULID_LEN;
}

static int unknown_key(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_UNAUTHENTICATED, "the credential is not valid");
}

int key_state(const struct api_key *k, int64_t now_ms, struct wopr_error *err) {
    if (k->revoked_ms > 0 && now_ms >= k->revoked_ms)
        return wopr_error_set(err, WOPR_E_KEY_REVOKED, "the API key was revoked; use another one");
    if (k->expires_ms > 0 && now_ms >= k->expires_ms)
        return wopr_error_set(err, WOPR_E_KEY_EXPIRED, "the API key has expired; use a new one");
    return 0;
}

/* By id for keys of ours, by the hash of the whole text for configured ones (AUTH-3). */
int key_check_with(struct store *s, const uint8_t pepper[32], struct str credential, int64_t now_ms,
                   struct arena *a, struct api_key *out, struct wopr_error *err) {
    struct api_key k = {0};
    struct str id;
    if (!visible(credential)) return unknown_key(err);
    struct sha256 hash = key_hash(pepper, credential);
    int rc = WOPR_E_NOT_FOUND;
    if (own_key_id(credential, &id)) rc = store_key_find(s, id, a, &k, err);
    if (rc == 0 && !sha256_eq(&k.hash, &hash)) rc = WOPR_E_NOT_FOUND;
    if (rc == WOPR_E_NOT_FOUND) rc = store_key_find_hash(s, &hash, a, &k, err);
    if (rc == 0 && !sha256_eq(&k.hash, &hash)) rc = WOPR_E_NOT_FOUND;
    if (rc == WOPR_E_NOT_FOUND) return unknown_key(err);
    if (rc != 0) return rc;
    rc = key_state(&k, now_ms, err);
    if (rc != 0) return rc;
    *out = k;
    return 0;
}

int key_check(struct store *s, struct str credential, int64_t now_ms, struct arena *a,
              struct api_key *out, struct wopr_error *err) {
    uint8_t pepper[32];
    int rc = store_secret(s, "pepper", pepper, err);
    return rc != 0 ? rc : key_check_with(s, pepper, credential, now_ms, a, out, err);
}

void principal_of(const struct api_key *k, struct principal *out) {
    *out = (struct principal){.key_id = k->key_id,
                              .tenant = k->tenant,
                              .workspace = k->workspace,
                              .subject_issuer = k->subject_issuer,
                              .subject_id = k->subject_id,
                              .scopes = k->scopes,
                              .test_mode = k->test_mode,
                              .authenticated = true};
}

/* AUTH-2: one header, the scheme in any case, one credential. */
static bool bearer(const struct call *c, struct str *credential) {
    struct str scheme, rest;
    if (c->authorizations != 1 || !str_cut(c->authorization, ' ', &scheme, &rest)) return false;
    if (!str_eq_nocase(scheme, STR("Bearer"))) return false;
    *credential = str_trim(rest);
    return visible(*credential);
}

int auth_check(struct call *c, struct wopr_error *err) {
    struct http_server *s = c->pub.server;
    const struct http_op *op = c->pub.op;
    if ((op->flags & OP_PUBLIC) != 0) return 0; /* AUTH-15 */
    if (c->authorizations == 0 && (op->flags & OP_TICKET) != 0) {
        bool found = false;
        struct str ticket = http_query(&c->pub, "ticket", &found);
        if (found) return ticket_check(c, ticket, err);
    }
    struct str credential;
    if (!bearer(c, &credential))
        return wopr_error_set(err, WOPR_E_UNAUTHENTICATED,
                              "send an API key as \"Authorization: Bearer <key>\"");
    struct api_key k;
    int rc =
        key_check_with(s->store, s->pepper, credential, clock_wall_ms(), c->pub.arena, &k, err);
    if (rc == 0) principal_of(&k, &c->pub.who);
    return rc;
}

int auth_scope(struct call *c, struct wopr_error *err) {
    unsigned missing = c->pub.op->scopes & ~c->pub.who.scopes;
    if ((c->pub.op->flags & OP_PUBLIC) != 0 || missing == 0) return 0;
    c->refusal = REFUSED_SCOPE;
    unsigned no = 0;
    while ((missing >> no & 1u) == 0) no++;
    const char *name = scope_name(no);
    (void)wopr_error_set(err, WOPR_E_FORBIDDEN,
                         "the credential lacks a scope that this operation needs");
    wopr_error_details(err, "{\"scopeRequired\":\"%s\"}", name ? name : "?"); /* AUTH-7, CON-15 */
    return WOPR_E_FORBIDDEN;
}
