/*
 * jwt.c: the compact form of a signed token, read strictly; see jwt.h.
 */
#include "codec/jwt.h"

#include "codec/bytes.h"
#include "codec/json.h"

static const struct json_limits JWT_LIMITS = {JWT_BYTES_MAX, JWT_DEPTH_MAX};

unsigned jws_alg_find(struct str name) {
    static const struct {
        const char *name;
        unsigned alg;
    } ALGS[] = {{"RS256", JWS_RS256}, {"ES256", JWS_ES256}, {"EdDSA", JWS_EDDSA}};
    for (size_t i = 0; i < sizeof ALGS / sizeof *ALGS; i++)
        if (str_eqc(name, ALGS[i].name)) return ALGS[i].alg;
    return 0;
}

static int jwt_wrong(struct wopr_error *err, const char *why) {
    return wopr_error_set(err, WOPR_E_SYNTAX, "the token cannot be used: %s", why);
}

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a token");
}

static int part_decode(struct str part, struct arena *a, struct str *out, struct wopr_error *err) {
    struct buf b;
    buf_init(&b, JWT_BYTES_MAX);
    int rc = base64url_decode(part, &b, NULL);
    if (rc == 0) *out = arena_str(a, buf_str(&b));
    buf_fini(&b);
    if (rc == WOPR_E_NO_MEMORY || (rc == 0 && !out->p)) return no_memory(err);
    return rc == 0 ? 0 : jwt_wrong(err, "a part of it is not base64url");
}

static int part_object(struct str part, struct arena *a, struct str *out, struct wopr_error *err) {
    int rc = part_decode(part, a, out, err);
    if (rc != 0) return rc;
    rc = json_check(*out, &JWT_LIMITS, NULL);
    if (rc == WOPR_E_NO_MEMORY) return no_memory(err);
    if (rc != 0 || json_type_of(*out) != JSON_OBJECT)
        return jwt_wrong(err, "its header or its payload is not a JSON object");
    return 0;
}

/* RFC 9068 and RFC 8725 section 3.11: tokens for other ends (logout, events) name their kind. */
static bool typ_ok(struct str raw, struct arena *a) {
    static const char *const TYPES[] = {"JWT", "at+jwt", "application/at+jwt", "application/jwt"};
    if (!raw.p) return true;
    struct str typ = json_string(raw, a);
    for (size_t i = 0; typ.p && i < sizeof TYPES / sizeof *TYPES; i++)
        if (str_eq_nocase(typ, str_c(TYPES[i]))) return true;
    return false;
}

static int header_read(struct str h, struct arena *a, struct jwt *out, struct wopr_error *err) {
    struct str kid = json_get(h, "kid");
    out->alg = jws_alg_find(json_string(json_get(h, "alg"), a));
    if (out->alg == 0) return jwt_wrong(err, "its algorithm is not RS256, ES256 or EdDSA");
    if (json_get(h, "crit").p) return jwt_wrong(err, "it needs extensions (crit)");
    if (json_get(h, "cty").p) return jwt_wrong(err, "it holds another token (cty)");
    if (!typ_ok(json_get(h, "typ"), a)) return jwt_wrong(err, "it is a token of another kind");
    out->has_kid = kid.p != NULL;
    out->kid = out->has_kid ? json_string(kid, a) : STR_NONE;
    if (out->has_kid && (!out->kid.p || out->kid.n > JWT_KID_MAX))
        return jwt_wrong(err, "its kid is not a text, or a long one");
    return arena_failed(a) ? no_memory(err) : 0;
}

int jwt_read(struct str text, struct arena *a, struct jwt *out, struct wopr_error *err) {
    struct jwt t = {0};
    struct str head, rest, body, sig, header;
    if (text.n > JWT_BYTES_MAX)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "a token has at most %d bytes", JWT_BYTES_MAX);
    if (!str_cut(text, '.', &head, &rest) || !str_cut(rest, '.', &body, &sig) || sig.n == 0)
        return jwt_wrong(err, "it has not three parts");
    t.signed_bytes = str_n(text.p, head.n + 1 + body.n);
    int rc = part_object(head, a, &header, err);
    if (rc == 0) rc = header_read(header, a, &t, err);
    if (rc == 0) rc = part_object(body, a, &t.claims, err);
    if (rc == 0) rc = part_decode(sig, a, &t.signature, err);
    if (rc == 0) *out = t;
    return rc;
}
