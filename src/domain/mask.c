/*
 * mask.c: masking of values marked sensitive (OBS-70..73) and of the credential reference (RUN-13).
 */
#include "codec/bytes.h"
#include "codec/json.h"
#include "domain/options.h"

#define MASKED           "\"[REDACTED]\""
#define MASK_BYTES_MAX   (16u * 1024 * 1024)
#define MASK_ARENA_BYTES (4u * 1024 * 1024)

static int mask_hash(struct str json, struct arena *a, struct str *out, struct wopr_error *err) {
    struct buf b;
    char hex[65];
    buf_init(&b, MASK_BYTES_MAX);
    int rc = json_canonical(json, &b, err);
    if (rc == 0) {
        struct sha256 d = sha256_of(buf_str(&b));
        sha256_hex(&d, hex);
        struct str s = arena_printf(a, "\"sha256:%s\"", hex);
        if (s.p) *out = s;
        else rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to mask a value");
    }
    buf_fini(&b);
    return rc;
}

int mask_value(struct str mode, struct str json, struct arena *a, struct str *out,
               struct wopr_error *err) {
    if (str_eqc(mode, "hash")) return mask_hash(json, a, out, err);
    if (str_eqc(mode, "omit")) *out = STR_NONE;
    else if (str_eqc(mode, "passthrough")) *out = json;
    else *out = STR(MASKED); /* "mask", and what we do not know: hide rather than show */
    return 0;
}

/* Members of one object with the value of `secret` masked; `inner` names the object to look into.
 */
static int members_masked(struct str text, const char *secret, const char *inner,
                          const char *inner_secret, struct arena *a, struct jw *w,
                          struct wopr_error *err) {
    struct json_members m;
    int rc = json_members(text, a, &m, err);
    if (rc != 0) return rc;
    jw_object(w);
    for (size_t i = 0; i < m.n; i++) {
        jw_key_str(w, m.v[i].key);
        if (str_eqc(m.v[i].key, secret)) {
            jw_raw(w, STR(MASKED));
        } else if (inner && str_eqc(m.v[i].key, inner) && json_type_of(m.v[i].raw) == JSON_OBJECT) {
            rc = members_masked(m.v[i].raw, inner_secret, NULL, NULL, a, w, err);
            if (rc != 0) return rc;
        } else {
            jw_raw(w, m.v[i].raw);
        }
    }
    jw_end_object(w);
    return 0;
}

int configurable_masked(struct str configurable, struct buf *out, struct wopr_error *err) {
    struct jw w;
    if (configurable.n == 0) return 0;
    struct arena *a = arena_new(MASK_ARENA_BYTES);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to mask configurable");
    jw_init(&w, out);
    int rc = members_masked(configurable, "ai.credentialRef", "ai", "credentialRef", a, &w, err);
    if (rc == 0 && buf_failed(out))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to mask configurable");
    arena_free(a);
    return rc;
}
