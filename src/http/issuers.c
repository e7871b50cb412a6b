/*
 * issuers.c: what the claims of a signed token say; see issuers.h.  Nothing of a token is believed
 * before its signature is verified, but iss and aud, which choose the keys.
 */
#include "http/issuers.h"

#include "codec/bytes.h"
#include "codec/ident.h"

#include <math.h>

enum {
    SUBJECT_BYTES_MAX = 256,
    SUBJECT_SHOWN_MAX = 63, /* in a key id; a longer one is shown as a digest */
    CLAIM_VALUES_MAX = 256, /* of a claim that is a list */
    DIGEST_SHOWN = 32
};
#define TIME_S_MAX 1e11 /* the year 5138: milliseconds stay far inside int64 */

static int token_refuse(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_UNAUTHENTICATED, "the credential is not valid");
}

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a token");
}

static struct str claim_get(struct str claims, struct str name, struct arena *a) {
    if (str_starts(name, STR("/"))) return json_pointer_get(claims, name, a);
    return json_get(claims, name.p); /* configured texts are terminated */
}

static bool texts_have(const struct issuer_texts *t, struct str s) {
    for (size_t i = 0; i < t->n; i++)
        if (str_eq(t->v[i], s)) return true;
    return false;
}

/* --- which issuer --- */

static bool audience_ok(const struct issuer *is, struct str aud, struct arena *a) {
    struct json_elements e;
    if (!aud.p) return false;
    if (json_type_of(aud) == JSON_STRING) return texts_have(&is->audiences, json_string(aud, a));
    if (json_type_of(aud) != JSON_ARRAY || json_elements(aud, a, &e, NULL) != 0) return false;
    for (size_t i = 0; i < e.n && i < CLAIM_VALUES_MAX; i++) {
        struct str one = json_string(e.v[i], a);
        if (one.p && texts_have(&is->audiences, one)) return true;
    }
    return false;
}

static struct issuer *issuer_of(const struct issuer_table *s, const struct jwt *t,
                                struct arena *a) {
    struct str iss = json_string(json_get(t->claims, "iss"), a);
    struct str aud = json_get(t->claims, "aud");
    for (size_t i = 0; iss.n > 0 && i < s->n; i++)
        if (str_eq(s->v[i].url, iss) && audience_ok(&s->v[i], aud, a)) return &s->v[i];
    return NULL;
}

/* --- when --- */

/* Seconds with or without a fraction (RFC 7519 section 2). */
static bool time_get(struct str claims, const char *name, bool *there, int64_t *ms) {
    double s;
    struct str raw = json_get(claims, name);
    *there = raw.p != NULL;
    if (!*there) return true;
    if (json_type_of(raw) != JSON_NUMBER || !json_double(raw, &s)) return false;
    if (!(s >= 0) || s > TIME_S_MAX) return false;
    *ms = (int64_t)floor(s * 1000);
    return true;
}

/* Who reads of users needs to know when they signed in (AUTH-23); machines may leave it out. */
static bool times_ok(const struct issuer *is, struct str claims, int64_t now_ms, int64_t *ends_ms) {
    int64_t exp = 0, nbf = 0, iat = 0;
    bool has_exp, has_nbf, has_iat;
    if (!time_get(claims, "exp", &has_exp, &exp) || !time_get(claims, "nbf", &has_nbf, &nbf) ||
        !time_get(claims, "iat", &has_iat, &iat))
        return false;
    if (!has_exp || (is->users && !has_iat)) return false;
    *ends_ms = exp + is->skew_ms;
    return now_ms < *ends_ms && (!has_nbf || nbf <= now_ms + is->skew_ms) &&
           (!has_iat || iat <= now_ms + is->skew_ms);
}

/* --- for whom --- */

static bool subject_get(const struct issuer *is, struct str claims, struct arena *a,
                        struct str *out) {
    struct str s = json_string(claim_get(claims, is->subject_claim, a), a);
    if (s.n == 0 || s.n > SUBJECT_BYTES_MAX) return false;
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f) return false;
    *out = s;
    return true;
}

static bool tenant_get(const struct issuer *is, struct str claims, struct arena *a,
                       struct str *out) {
    *out = is->tenant;
    if (is->tenant.n > 0) return true;
    struct str v = json_string(claim_get(claims, is->tenant_claim, a), a);
    if (is->tenants.n == 0) return *out = v, v.n > 0 && id_tenant_valid(v);
    for (size_t i = 0; v.p && i < is->tenants.n; i++)
        if (str_eq(is->tenants.v[i].value, v)) return *out = is->tenants.v[i].tenant, true;
    return false;
}

/* With a map nothing but the map grants; without one, the words of AUTH-5 do.  Words that are
 * neither grant nothing (AUTH-21), nor do those of operators: tokens belong to tenants, and who
 * asks for one often chooses its words. */
static unsigned word_scopes(const struct issuer *is, struct str word) {
    if (is->scopes.n == 0) return scope_bit_of(word) & SCOPE_TENANT;
    for (size_t i = 0; i < is->scopes.n; i++)
        if (str_eq(is->scopes.v[i].value, word)) return is->scopes.v[i].scopes;
    return 0;
}

/* A text with blanks between the words (RFC 8693 section 4.2), or a list. */
static unsigned scopes_get(const struct issuer *is, struct str claims, struct arena *a) {
    struct str raw = claim_get(claims, is->scopes_claim, a), rest, word;
    struct json_elements e;
    unsigned bits = 0;
    if (!raw.p) return 0;
    if (json_type_of(raw) == JSON_ARRAY && json_elements(raw, a, &e, NULL) == 0)
        for (size_t i = 0; i < e.n && i < CLAIM_VALUES_MAX; i++) {
            word = json_string(e.v[i], a);
            if (word.n > 0) bits |= word_scopes(is, word);
        }
    if (json_type_of(raw) != JSON_STRING) return bits;
    rest = json_string(raw, a);
    while (rest.n > 0) {
        if (!str_cut(rest, ' ', &word, &rest)) word = rest, rest = STR_NONE;
        if (word.n > 0) bits |= word_scopes(is, word);
    }
    return bits;
}

/* NAME:subject, or NAME#digest: no API key's id has either sign, and no subject makes the other. */
static struct str key_id_of(const struct issuer *is, struct str subject, struct arena *a) {
    char hex[65];
    if (subject.n <= SUBJECT_SHOWN_MAX && id_author_valid(subject))
        return arena_printf(a, STR_FMT ":" STR_FMT, STR_ARG(is->name), STR_ARG(subject));
    struct sha256 d = sha256_of(subject);
    sha256_hex(&d, hex);
    return arena_printf(a, STR_FMT "#%.*s", STR_ARG(is->name), DIGEST_SHOWN, hex);
}

/* --- by whom --- */

/* Of all that is signed and of the signature. */
static struct sha256 token_digest(const struct jwt *t) {
    const struct sha256 parts[] = {sha256_of(t->signed_bytes), sha256_of(t->signature)};
    return sha256_of(str_n((const char *)parts, sizeof parts));
}

/* left_ms: of the token's life, by its own word. */
static int signature_check(struct http_issuers *s, struct issuer *is, const struct jwt *t,
                           int64_t left_ms, struct wopr_error *err) {
    if ((is->algs & t->alg) == 0) return token_refuse(err);
    struct sha256 token = token_digest(t);
    struct issuer_keys *k = issuer_keys_hold(s, is);
    if (!k)
        return wopr_error_set(err, WOPR_E_UNAVAILABLE,
                              "the keys of the token's issuer cannot be fetched at present");
    bool known = issuers_seen(s, &token, k->no), ok = known || jwk_set_signed(k->set, t);
    if (ok && !known) issuers_seen_put(s, &token, k->no, left_ms);
    if (!ok && !jwk_set_named(k->set, t)) issuer_keys_want(s, is);
    issuer_keys_drop(s, k);
    return ok ? 0 : token_refuse(err);
}

static int table_check(struct http_issuers *s, const struct issuer_table *table,
                       const struct jwt *t, int64_t now_ms, struct arena *a, struct principal *out,
                       struct wopr_error *err) {
    struct principal p = {.authenticated = true};
    struct issuer *is = issuer_of(table, t, a);
    bool ok = is != NULL && times_ok(is, t->claims, now_ms, &p.token_ends_ms);
    int rc = ok ? signature_check(s, is, t, p.token_ends_ms - now_ms, err) : token_refuse(err);
    if (rc != 0) return arena_failed(a) ? no_memory(err) : rc;
    ok = subject_get(is, t->claims, a, &p.subject_id) && tenant_get(is, t->claims, a, &p.tenant);
    if (!ok) return arena_failed(a) ? no_memory(err) : token_refuse(err);
    if (texts_have(&is->disabled, p.subject_id))
        return wopr_error_set(err, WOPR_E_KEY_REVOKED, "the subject of the token is disabled here");
    p.subject_issuer = arena_str(a, is->url); /* the table may be replaced before the answer */
    p.workspace = p.tenant = arena_str(a, p.tenant);
    p.test_mode = is->test_mode;
    p.lane = is->users ? LANE_OIDC : LANE_OAUTH2;
    p.scopes = scopes_get(is, t->claims, a);
    p.key_id = key_id_of(is, p.subject_id, a);
    /* Votes, credentials and owners are compared by it alone: one issuer's subject must not pass
     * for another's, nor for an API key. */
    p.subject_id = p.key_id;
    if (arena_failed(a)) return no_memory(err);
    *out = p;
    return 0;
}

int issuers_check(struct http_issuers *s, const struct jwt *t, int64_t now_ms, struct arena *a,
                  struct principal *out, struct wopr_error *err) {
    struct issuer_table *table = issuers_hold(s);
    int rc = table_check(s, table, t, now_ms, a, out, err);
    issuers_drop(s, table);
    return rc;
}
