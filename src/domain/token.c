/*
 * token.c: see token.h.
 */
#include "domain/token.h"

#include "codec/bytes.h"
#include "codec/ident.h"
#include "codec/json.h"

#define TOKEN_PREFIX "ow2.hs256."
enum { TOKEN_PAYLOAD_MAX = 1536, TOKEN_ID_BYTES_MAX = 256, TOKEN_DEPTH_MAX = 2 };

static int token_unknown(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_INTERRUPT_NOT_FOUND, "no interrupt is open for this token");
}

static bool kid_valid(struct str kid) { return kid.n <= TOKEN_KID_CHARS && id_opaque_valid(kid); }

static bool id_fits(struct str id) { return id.n > 0 && id.n <= TOKEN_ID_BYTES_MAX; }

static void payload_render(const struct token_claims *c, struct buf *out) {
    char at[TIME_LEN + 1];
    struct jw w;
    time_format(c->expires_ms, at);
    jw_init(&w, out);
    jw_object(&w);
    jw_kstr(&w, "runId", c->run_id);
    jw_kstr(&w, "nodeId", c->node_id);
    jw_kstr(&w, "interruptId", c->interrupt_id);
    jw_kstrz(&w, "expiresAt", at);
    jw_kstrz(&w, "intent", "resolve");
    jw_kstr(&w, "tenant", c->tenant);
    jw_end_object(&w);
}

int token_encode(const struct token_claims *c, struct str kid,
                 const uint8_t secret[TOKEN_SECRET_BYTES], struct buf *out,
                 struct wopr_error *err) {
    struct buf payload, text;
    int rc = 0;
    if (!kid_valid(kid) || !id_fits(c->run_id) || !id_fits(c->node_id) ||
        !id_fits(c->interrupt_id) || !id_fits(c->tenant))
        return wopr_error_set(err, WOPR_E_VALIDATION, "a token needs a key id and four ids");
    buf_init(&payload, TOKEN_PAYLOAD_MAX);
    buf_init(&text, TOKEN_BYTES_MAX);
    payload_render(c, &payload);
    buf_addz(&text, TOKEN_PREFIX);
    buf_adds(&text, kid);
    buf_addc(&text, '.');
    base64url_encode(&text, buf_str(&payload));
    struct sha256 mac =
        hmac_sha256(str_n((const char *)secret, TOKEN_SECRET_BYTES), buf_str(&text));
    buf_addc(&text, '.');
    base64url_encode(&text, str_n((const char *)mac.b, sizeof mac.b));
    if (buf_failed(&payload) || buf_failed(&text))
        rc = wopr_error_set(err, WOPR_E_TOO_BIG, "the ids do not fit into a token");
    else buf_adds(out, buf_str(&text));
    if (rc == 0 && buf_failed(out))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a token");
    buf_fini(&text);
    buf_fini(&payload);
    return rc;
}

bool token_cut(struct str text, struct token_parts *out) {
    struct token_parts t;
    struct str rest;
    if (text.n > TOKEN_BYTES_MAX || !str_starts(text, STR(TOKEN_PREFIX))) return false;
    rest = str_n(text.p + sizeof TOKEN_PREFIX - 1, text.n - (sizeof TOKEN_PREFIX - 1));
    if (!str_cut(rest, '.', &t.kid, &rest) || !str_cut(rest, '.', &t.payload, &t.mac)) return false;
    if (!kid_valid(t.kid) || t.payload.n == 0 || t.mac.n == 0) return false;
    if (memchr(t.mac.p, '.', t.mac.n)) return false;
    t.signed_bytes = str_n(text.p, (size_t)(t.mac.p - 1 - text.p));
    *out = t;
    return true;
}

static bool mac_matches(const struct token_parts *t, const uint8_t secret[TOKEN_SECRET_BYTES]) {
    struct sha256 want =
        hmac_sha256(str_n((const char *)secret, TOKEN_SECRET_BYTES), t->signed_bytes);
    struct buf mac;
    buf_init(&mac, sizeof want.b);
    bool ok = base64url_decode(t->mac, &mac, NULL) == 0 &&
              str_eq_secret(buf_str(&mac), str_n((const char *)want.b, sizeof want.b));
    buf_fini(&mac);
    return ok;
}

/* The text of a member that must be a string. */
static struct str claim_read(struct str payload, const char *name, struct arena *a) {
    return json_string(json_get(payload, name), a);
}

/* false: not the form that token_encode writes, although the MAC is ours. */
static bool claims_read(struct str payload, struct arena *a, struct token_claims *c) {
    static const struct json_limits LIMITS = {TOKEN_PAYLOAD_MAX, TOKEN_DEPTH_MAX};
    if (json_check(payload, &LIMITS, NULL) != 0 || json_type_of(payload) != JSON_OBJECT)
        return false;
    c->run_id = claim_read(payload, "runId", a);
    c->node_id = claim_read(payload, "nodeId", a);
    c->interrupt_id = claim_read(payload, "interruptId", a);
    c->tenant = claim_read(payload, "tenant", a);
    return id_fits(c->run_id) && id_fits(c->node_id) && id_fits(c->interrupt_id) &&
           id_fits(c->tenant) && str_eq(claim_read(payload, "intent", a), STR("resolve")) &&
           time_parse(claim_read(payload, "expiresAt", a), &c->expires_ms);
}

int token_verify(const struct token_parts *t, const uint8_t secret[TOKEN_SECRET_BYTES],
                 int64_t now_ms, struct arena *a, struct token_claims *out,
                 struct wopr_error *err) {
    struct token_claims c = {0};
    struct buf b;
    if (!mac_matches(t, secret)) return token_unknown(err);
    buf_init(&b, TOKEN_PAYLOAD_MAX);
    bool ok = base64url_decode(t->payload, &b, NULL) == 0;
    struct str payload = ok ? arena_str(a, buf_str(&b)) : STR_NONE; /* the claims borrow from it */
    buf_fini(&b);
    ok = payload.p != NULL && claims_read(payload, a, &c);
    if (arena_failed(a)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a token");
    if (!ok) return token_unknown(err);
    if (now_ms >= c.expires_ms)
        return wopr_error_set(err, WOPR_E_INTERRUPT_EXPIRED, "the token has expired");
    *out = c;
    return 0;
}

int64_t token_expiry(int64_t now_ms, int64_t lifetime_ms, int64_t deadline_ms) {
    return deadline_ms > 0 ? deadline_ms : now_ms + lifetime_ms;
}
