/*
 * key.c: API keys (AUTH-1 to 9): minting them, and which ones are valid.
 */
#include "base/clock.h"
#include "codec/ident.h"
#include "http/auth.h"
#include "http/server.h"

enum { KEY_TEXT_MAX = 512, KEY_SECRET_BYTES = 32 };

static struct sha256 key_hash(const uint8_t pepper[32], struct str text) {
    return hmac_sha256(str_n((const char *)pepper, 32), text);
}

bool key_visible(struct str s) {
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
    if (!key_visible(text) || text.n < KEY_CONFIGURED_MIN)
        return wopr_error_set(err, WOPR_E_CONFIG,
                              "an API key must be %d to %d visible ASCII characters; "
                              "\"wopr keys generate\" prints a good one",
                              KEY_CONFIGURED_MIN, KEY_TEXT_MAX);
    int rc = store_secret(s, "pepper", pepper, err);
    if (rc != 0) return rc;
    struct api_key k = {
        .hash = key_hash(pepper, text), .label = STR("configured"), .configured = true};
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

static int key_unknown(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_UNAUTHENTICATED, "the credential is not valid");
}

int key_state(const struct api_key *k, int64_t now_ms, struct wopr_error *err) {
    if (k->revoked_ms > 0 && now_ms >= k->revoked_ms)
        return wopr_error_set(err, WOPR_E_KEY_REVOKED, "the API key was revoked; use another one");
    if (k->expires_ms > 0 && now_ms >= k->expires_ms)
        return wopr_error_set(err, WOPR_E_KEY_EXPIRED, "the API key has expired; use a new one");
    return 0;
}

enum { KEY_LOOK_MS = 1000, KEY_USE_MS = 3600 * 1000, KEY_ID_MAX = 64, KEY_ARENA_BYTES = 64 * 1024 };

static bool key_gone_now(const struct http_server *s, struct str key_id) {
    struct arena *a = arena_new(KEY_ARENA_BYTES);
    struct api_key k = {0};
    if (!a) return false;
    int rc = server_key_find(s, key_id, clock_wall_ms(), a, &k, NULL);
    bool gone =
        rc == WOPR_E_UNAUTHENTICATED || rc == WOPR_E_KEY_EXPIRED || rc == WOPR_E_KEY_REVOKED;
    arena_free(a);
    return gone;
}

/* Thousands of streams of one key ask within a second: each thread caches the last answer. */
bool key_gone(const struct http_server *s, struct str key_id, int64_t token_ends_ms) {
    static _Thread_local struct {
        uint32_t server; /* its prefix of request ids */
        char id[KEY_ID_MAX];
        size_t n;
        uint64_t until_ms;
        bool gone;
    } last;
    uint64_t now_ms = clock_mono_ms();
    if (token_ends_ms > 0) return clock_wall_ms() >= token_ends_ms;
    if (key_id.n == 0 || key_id.n > KEY_ID_MAX) return false;
    if (last.server == s->id_prefix && now_ms < last.until_ms &&
        str_eq(str_n(last.id, last.n), key_id))
        return last.gone;
    last.gone = key_gone_now(s, key_id);
    last.server = s->id_prefix;
    last.until_ms = now_ms + KEY_LOOK_MS;
    last.n = key_id.n;
    memcpy(last.id, key_id.p, key_id.n);
    return last.gone;
}

/* By id for keys of our own making, by the hash of the whole text for others (AUTH-3).  The row of
 * a configured key grants nothing: it must be configured now, see server_key_check. */
static int stored_key(struct store *s, const struct sha256 *hash, struct str credential,
                      int64_t now_ms, struct arena *a, struct api_key *out,
                      struct wopr_error *err) {
    struct api_key k = {0};
    struct str id;
    int rc = WOPR_E_NOT_FOUND;
    if (own_key_id(credential, &id)) rc = store_key_find(s, id, a, &k, err);
    if (rc == 0 && !sha256_eq(&k.hash, hash)) rc = WOPR_E_NOT_FOUND;
    if (rc == WOPR_E_NOT_FOUND) rc = store_key_find_hash(s, hash, a, &k, err);
    if (rc == 0 && (k.configured || !sha256_eq(&k.hash, hash))) rc = WOPR_E_NOT_FOUND;
    if (rc == WOPR_E_NOT_FOUND) return key_unknown(err);
    if (rc == 0) rc = key_state(&k, now_ms, err);
    if (rc == 0) *out = k;
    return rc;
}

/* A configured key; its row only says whether it was revoked. */
static int configured_key(const struct http_server *s, const struct api_key *key, int64_t now_ms,
                          struct arena *a, struct api_key *out, struct wopr_error *err) {
    struct api_key row = {0}, k = *key;
    int rc = store_key_find(s->store, k.key_id, a, &row, err);
    if (rc != 0 && rc != WOPR_E_NOT_FOUND) return rc;
    if (rc == 0) k.revoked_ms = row.revoked_ms;
    rc = key_state(&k, now_ms, err);
    if (rc == 0) *out = k;
    return rc;
}

int server_key_check(const struct http_server *s, struct str credential,
                     const struct sha256 *digest, int64_t now_ms, struct arena *a,
                     struct api_key *out, struct wopr_error *err) {
    if (!key_visible(credential)) return key_unknown(err);
    for (size_t i = 0; i < s->cfg.configured_nr; i++)
        if (sha256_eq(&s->cfg.configured[i].hash, digest))
            return configured_key(s, &s->cfg.configured[i], now_ms, a, out, err);
    return stored_key(s->store, digest, credential, now_ms, a, out, err);
}

int server_key_find(const struct http_server *s, struct str key_id, int64_t now_ms, struct arena *a,
                    struct api_key *out, struct wopr_error *err) {
    struct api_key k;
    for (size_t i = 0; i < s->cfg.configured_nr; i++)
        if (str_eq(s->cfg.configured[i].key_id, key_id))
            return configured_key(s, &s->cfg.configured[i], now_ms, a, out, err);
    int rc = store_key_find(s->store, key_id, a, &k, err);
    if (rc == WOPR_E_NOT_FOUND || (rc == 0 && k.configured)) return key_unknown(err);
    if (rc == 0) rc = key_state(&k, now_ms, err);
    if (rc == 0) *out = k;
    return rc;
}

int key_check(struct store *s, struct str credential, int64_t now_ms, struct arena *a,
              struct api_key *out, struct wopr_error *err) {
    uint8_t pepper[32];
    if (!key_visible(credential)) return key_unknown(err);
    int rc = store_secret(s, "pepper", pepper, err);
    if (rc != 0) return rc;
    struct sha256 hash = key_hash(pepper, credential);
    return stored_key(s, &hash, credential, now_ms, a, out, err);
}

bool key_use_is_new(struct http_server *s, struct str key_id, int64_t now_ms) {
    uint64_t use = str_hash(key_id, (uint64_t)(now_ms / KEY_USE_MS));
    atomic_uint_fast64_t *place = &s->key_uses[str_hash(key_id, 0) % KEY_USES_NR];
    return atomic_load_explicit(place, memory_order_relaxed) != use &&
           atomic_exchange_explicit(place, use, memory_order_relaxed) != use;
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
