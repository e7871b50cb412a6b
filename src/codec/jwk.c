/*
 * jwk.c: public keys out of JSON, and signatures with them; see jwk.h.  The bytes are kept and a
 * key of GnuTLS is made for each signature, so that threads share nothing of its.
 */
#include "codec/jwk.h"

#include "base/mem.h"
#include "codec/bytes.h"
#include "codec/json.h"

#include <gnutls/abstract.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>

enum {
    COORDINATE_BYTES = 32,
    EXPONENT_BYTES_MAX = 4, /* 65537 has three; a longer one makes each signature dear */
    SET_ARENA_BYTES = 2 * JWK_SET_BYTES_MAX,
    SET_DEPTH_MAX = 16
};

struct jwk {
    unsigned alg; /* enum jws_alg */
    bool has_kid;
    struct str kid;
    struct str x, y; /* RSA: modulus and exponent; EdDSA: y empty */
};
struct jwk_set {
    struct arena *arena;
    struct jwk keys[JWK_KEYS_MAX];
    size_t n;
};

static gnutls_datum_t jwk_datum(struct str s) {
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)s.p, (unsigned)s.n};
}

static int key_import(const struct jwk *k, gnutls_pubkey_t *out) {
    gnutls_pubkey_t p;
    gnutls_datum_t x = jwk_datum(k->x), y = jwk_datum(k->y);
    int rc = gnutls_pubkey_init(&p);
    if (rc < 0) return rc;
    if (k->alg == JWS_RS256) rc = gnutls_pubkey_import_rsa_raw(p, &x, &y);
    else if (k->alg == JWS_ES256)
        rc = gnutls_pubkey_import_ecc_raw(p, GNUTLS_ECC_CURVE_SECP256R1, &x, &y);
    else rc = gnutls_pubkey_import_ecc_raw(p, GNUTLS_ECC_CURVE_ED25519, &x, NULL);
    if (rc < 0) gnutls_pubkey_deinit(p);
    else *out = p;
    return rc;
}

/* --- reading --- */

struct reading {
    struct jwk_set *set;
    size_t at; /* of the key in the document */
    struct wopr_error *err;
};

static int key_wrong(const struct reading *r, const char *why) {
    return wopr_error_set(r->err, WOPR_E_SYNTAX, "keys[%zu]: %s", r->at, why);
}

static struct str member_text(struct str key, const char *name, struct arena *a) {
    return json_string(json_get(key, name), a);
}

/* Absent, or this text. */
static bool member_allows(struct str key, const char *name, const char *want, struct arena *a) {
    return !json_get(key, name).p || str_eqc(member_text(key, name, a), want);
}

static bool may_verify(struct str key, struct arena *a) {
    struct str ops = json_get(key, "key_ops");
    struct json_elements e;
    if (!ops.p) return true;
    if (json_type_of(ops) != JSON_ARRAY || json_elements(ops, a, &e, NULL) != 0) return false;
    for (size_t i = 0; i < e.n; i++)
        if (str_eqc(json_string(e.v[i], a), "verify")) return true;
    return false;
}

/* 0: a key that is not for us. */
static unsigned key_alg(struct str key, struct arena *a) {
    static const struct {
        const char *kty, *crv, *name;
        unsigned alg;
    } KINDS[] = {{"RSA", NULL, "RS256", JWS_RS256},
                 {"EC", "P-256", "ES256", JWS_ES256},
                 {"OKP", "Ed25519", "EdDSA", JWS_EDDSA}};
    struct str kty = member_text(key, "kty", a), crv = member_text(key, "crv", a);
    if (!member_allows(key, "use", "sig", a) || !may_verify(key, a)) return 0;
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (str_eqc(kty, KINDS[i].kty) && (!KINDS[i].crv || str_eqc(crv, KINDS[i].crv)))
            return member_allows(key, "alg", KINDS[i].name, a) ? KINDS[i].alg : 0;
    return 0;
}

static bool number_read(struct str key, const char *name, struct arena *a, struct str *out) {
    struct buf b;
    struct str text = member_text(key, name, a);
    buf_init(&b, JWK_RSA_BITS_MAX / 8 + 1);
    bool ok = text.n > 0 && base64url_decode(text, &b, NULL) == 0 && b.len > 0;
    if (ok) *out = arena_str(a, buf_str(&b));
    buf_fini(&b);
    return ok && out->p;
}

static size_t bits_of(struct str number) {
    size_t bits = number.n * 8;
    for (unsigned m = 0x80; m > 0 && ((unsigned char)number.p[0] & m) == 0; m >>= 1) bits--;
    return bits;
}

static bool is_odd(struct str number) { return (number.p[number.n - 1] & 1) != 0; }

static const char *rsa_read(struct str key, struct arena *a, struct jwk *k) {
    if (!number_read(key, "n", a, &k->x) || !number_read(key, "e", a, &k->y))
        return "n and e of an RSA key are base64url, and not longer than a key may be";
    if (k->x.p[0] == 0 || bits_of(k->x) < JWK_RSA_BITS_MIN || bits_of(k->x) > JWK_RSA_BITS_MAX)
        return "an RSA key has 2048 to 8192 bits";
    bool one = k->y.n == 1 && k->y.p[0] == 1;
    if (!is_odd(k->x) || !is_odd(k->y) || one || k->y.p[0] == 0 || k->y.n > EXPONENT_BYTES_MAX)
        return "that is no RSA key: its modulus is even, or its exponent even, 1, or too large";
    return NULL;
}

static const char *curve_read(struct str key, struct arena *a, struct jwk *k) {
    bool ok = number_read(key, "x", a, &k->x) && k->x.n == COORDINATE_BYTES;
    if (ok && k->alg == JWS_ES256)
        ok = number_read(key, "y", a, &k->y) && k->y.n == COORDINATE_BYTES;
    return ok ? NULL : "a coordinate of this curve is 32 bytes in base64url";
}

static bool set_has(const struct jwk_set *s, const struct jwk *k) {
    for (size_t i = 0; i < s->n; i++)
        if (s->keys[i].alg == k->alg && s->keys[i].has_kid == k->has_kid &&
            str_eq(s->keys[i].kid, k->kid))
            return true;
    return false;
}

static int key_take(const struct reading *r, const struct jwk *k) {
    gnutls_pubkey_t p;
    int rc = key_import(k, &p);
    if (rc == GNUTLS_E_MEMORY_ERROR)
        return wopr_error_set(r->err, WOPR_E_NO_MEMORY, "no memory for a key");
    if (rc < 0) return key_wrong(r, "its numbers are not those of a key");
    gnutls_pubkey_deinit(p);
    if (set_has(r->set, k)) return key_wrong(r, "another key has the same kid and algorithm");
    r->set->keys[r->set->n++] = *k;
    return 0;
}

static int key_read(const struct reading *r, struct str key) {
    struct arena *a = r->set->arena;
    struct jwk k = {0};
    if (json_type_of(key) != JSON_OBJECT) return key_wrong(r, "a key is an object");
    if ((k.alg = key_alg(key, a)) == 0) return 0;
    struct str kid = json_get(key, "kid");
    k.has_kid = kid.p != NULL;
    if (k.has_kid) k.kid = json_string(kid, a);
    if (k.has_kid && (!k.kid.p || k.kid.n > JWT_KID_MAX))
        return key_wrong(r, "kid is a text of at most 256 bytes");
    if (json_get(key, "d").p)
        return key_wrong(r, "this is a private key; give this host the public ones only");
    const char *why = k.alg == JWS_RS256 ? rsa_read(key, a, &k) : curve_read(key, a, &k);
    if (arena_failed(a)) return wopr_error_set(r->err, WOPR_E_NO_MEMORY, "no memory for a key");
    return why ? key_wrong(r, why) : key_take(r, &k);
}

static int keys_read(struct jwk_set *s, struct str text, struct wopr_error *err) {
    static const struct json_limits LIMITS = {JWK_SET_BYTES_MAX, SET_DEPTH_MAX};
    struct reading r = {s, 0, err};
    struct json_elements keys;
    int rc = json_check(text, &LIMITS, err);
    if (rc != 0) return rc;
    struct str list = json_get(text, "keys");
    if (!list.p || json_type_of(list) != JSON_ARRAY)
        return wopr_error_set(err, WOPR_E_SYNTAX, "a set of keys is an object with \"keys\"");
    rc = json_elements(list, s->arena, &keys, err);
    if (rc == 0 && keys.n > JWK_KEYS_MAX)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "a set has at most %d keys", JWK_KEYS_MAX);
    for (; rc == 0 && r.at < keys.n; r.at++) rc = key_read(&r, keys.v[r.at]);
    if (rc == 0 && s->n == 0)
        return wopr_error_set(err, WOPR_E_SYNTAX,
                              "it has no key for signatures of RS256, ES256 or EdDSA");
    return rc;
}

int jwk_set_read(struct str text, struct jwk_set **out, struct wopr_error *err) {
    struct jwk_set *s = mem_zalloc(sizeof *s);
    if (s) s->arena = arena_new(SET_ARENA_BYTES);
    int rc = s && s->arena ? keys_read(s, text, err)
                           : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a set of keys");
    if (rc == 0) *out = s;
    else jwk_set_free(s);
    return rc;
}

void jwk_set_free(struct jwk_set *s) {
    if (!s) return;
    arena_free(s->arena);
    mem_free(s);
}

size_t jwk_set_count(const struct jwk_set *s) { return s->n; }

/* --- verifying --- */

static const struct jwk *key_of(const struct jwk_set *s, const struct jwt *t) {
    const struct jwk *found = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const struct jwk *k = &s->keys[i];
        if (k->alg != t->alg) continue;
        if (t->has_kid && k->has_kid && str_eq(k->kid, t->kid)) return k;
        if (t->has_kid) continue;
        if (found) return NULL; /* which one is not for us to guess */
        found = k;
    }
    return found;
}

bool jwk_set_named(const struct jwk_set *s, const struct jwt *t) {
    return t->has_kid && key_of(s, t) != NULL;
}

static struct str zeros_cut(struct str number) {
    while (number.n > 0 && number.p[0] == 0) number.p++, number.n--;
    return number;
}

/* RFC 7518 section 3.4: r and s of 32 bytes each; GnuTLS takes them in DER. */
static int rs_verify(gnutls_pubkey_t p, const struct jwt *t, gnutls_datum_t *m) {
    gnutls_datum_t der = {0};
    struct str sig = t->signature;
    if (sig.n != 2 * COORDINATE_BYTES) return GNUTLS_E_PK_SIG_VERIFY_FAILED;
    struct str r = zeros_cut(str_n(sig.p, COORDINATE_BYTES));
    struct str s = zeros_cut(str_n(sig.p + COORDINATE_BYTES, COORDINATE_BYTES));
    if (r.n == 0 || s.n == 0) return GNUTLS_E_PK_SIG_VERIFY_FAILED;
    gnutls_datum_t rd = jwk_datum(r), sd = jwk_datum(s);
    int rc = gnutls_encode_rs_value(&der, &rd, &sd);
    if (rc >= 0) rc = gnutls_pubkey_verify_data2(p, GNUTLS_SIGN_ECDSA_SHA256, 0, m, &der);
    gnutls_free(der.data);
    return rc;
}

bool jwk_set_signed(const struct jwk_set *s, const struct jwt *t) {
    const struct jwk *k = key_of(s, t);
    gnutls_datum_t m = jwk_datum(t->signed_bytes), sig = jwk_datum(t->signature);
    gnutls_pubkey_t p;
    int rc;
    if (!k || t->signature.n == 0) return false;
    if (k->alg == JWS_RS256 && t->signature.n != k->x.n) return false;
    if (key_import(k, &p) < 0) return false;
    if (k->alg == JWS_ES256) rc = rs_verify(p, t, &m);
    else
        rc = gnutls_pubkey_verify_data2(
            p, k->alg == JWS_RS256 ? GNUTLS_SIGN_RSA_SHA256 : GNUTLS_SIGN_EDDSA_ED25519, 0, &m,
            &sig);
    gnutls_pubkey_deinit(p);
    return rc >= 0;
}
