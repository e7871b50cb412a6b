/*
 * issuers_read.c: the issuers out of the operator's JSON; see http_issuers_new in http.h.  Every
 * refusal names the member.
 */
#include "http/issuers.h"

#include "base/mem.h"
#include "codec/ident.h"

enum {
    ISSUERS_MAX = 16,
    ISSUER_NAME_MAX = 32,
    ISSUER_URL_MAX = 512,
    ISSUER_LIST_MAX = 1024,
    ISSUER_SKEW_S = 60,
    ISSUER_SKEW_S_MAX = 300,
    REFRESH_S = 300,
    REFRESH_S_MAX = 86400,
    OUTAGE_S = 86400,
    OUTAGE_S_MAX = 30 * 86400,
    ISSUERS_ARENA_BYTES = 8 * 1024 * 1024
};

struct reader {
    struct issuer_table *out;
    struct arena *a;
    size_t at;
    const struct http_issuer_files *files;
    struct wopr_error *err;
};

static int issuer_wrong(const struct reader *x, const char *member, const char *why) {
    return wopr_error_set(x->err, WOPR_E_CONFIG, "issuers[%zu].%s %s", x->at, member, why);
}

static int no_memory(const struct reader *x) {
    return wopr_error_set(x->err, WOPR_E_NO_MEMORY, "no memory for the issuers");
}

/* Empty when absent. */
static int text_read(const struct reader *x, struct str o, const char *member, struct str *out) {
    struct str raw = json_get(o, member);
    *out = STR_NONE;
    if (!raw.p) return 0;
    if (json_type_of(raw) == JSON_STRING) *out = json_string(raw, x->a);
    if (arena_failed(x->a)) return no_memory(x);
    bool whole = out->n > 0 && memchr(out->p, '\0', out->n) == NULL;
    return whole ? 0 : issuer_wrong(x, member, "must be a text that is not empty");
}

static int texts_read(const struct reader *x, struct str o, const char *member, bool one_is_fine,
                      struct issuer_texts *out) {
    struct str raw = json_get(o, member);
    struct json_elements e = {0};
    if (!raw.p) return 0;
    bool one = one_is_fine && json_type_of(raw) == JSON_STRING;
    if (!one && (json_type_of(raw) != JSON_ARRAY || json_elements(raw, x->a, &e, NULL) != 0 ||
                 e.n > ISSUER_LIST_MAX))
        return arena_failed(x->a) ? no_memory(x)
                                  : issuer_wrong(x, member, "must be a list of at most 1024 texts");
    if (one) e = (struct json_elements){&raw, 1};
    out->v = ARENA_ARRAY(x->a, struct str, e.n + 1);
    for (; out->v && out->n < e.n; out->n++) {
        struct str s = json_string(e.v[out->n], x->a);
        if (arena_failed(x->a)) return no_memory(x);
        if (s.n == 0) return issuer_wrong(x, member, "must hold texts that are not empty");
        out->v[out->n] = s;
    }
    return out->v ? 0 : no_memory(x);
}

static int scope_list_read(const struct reader *x, struct str raw, unsigned *bits) {
    struct json_elements e;
    if (json_type_of(raw) != JSON_ARRAY || json_elements(raw, x->a, &e, NULL) != 0)
        return issuer_wrong(x, "scopes", "must map each value of the claim to a list of scopes");
    for (size_t i = 0; i < e.n; i++) {
        unsigned bit = scope_bit_of(json_string(e.v[i], x->a));
        if (arena_failed(x->a)) return no_memory(x);
        if (bit == 0)
            return issuer_wrong(x, "scopes", "names a scope that this host does not have");
        *bits |= bit;
    }
    return 0;
}

static int tenant_read(const struct reader *x, const char *member, struct str raw,
                       struct str *out) {
    *out = json_string(raw, x->a);
    if (arena_failed(x->a)) return no_memory(x);
    return out->p && id_tenant_valid(*out)
               ? 0
               : issuer_wrong(x, member, "must be ids of tenants: 1 to 128 of A-Z a-z 0-9 . _ -");
}

/* "tenants" and "scopes": objects from a value of the claim to what it means. */
static int map_read(const struct reader *x, struct str o, const char *member, bool scopes,
                    struct issuer_maps *out) {
    struct str raw = json_get(o, member);
    struct json_members m;
    int rc = 0;
    if (!raw.p) return 0;
    if (json_type_of(raw) != JSON_OBJECT || json_members(raw, x->a, &m, NULL) != 0 || m.n == 0 ||
        m.n > ISSUER_LIST_MAX)
        return arena_failed(x->a)
                   ? no_memory(x)
                   : issuer_wrong(x, member, "must be an object of 1 to 1024 members");
    out->v = ARENA_ARRAY(x->a, struct issuer_map, m.n);
    for (; out->v && rc == 0 && out->n < m.n; out->n++) {
        struct issuer_map *e = &out->v[out->n];
        e->value = m.v[out->n].key;
        rc = scopes ? scope_list_read(x, m.v[out->n].raw, &e->scopes)
                    : tenant_read(x, member, m.v[out->n].raw, &e->tenant);
    }
    return out->v ? rc : no_memory(x);
}

static int members_known(const struct reader *x, struct str o) {
    /* clang-format off */
    static const char *const KNOWN[] = {
        "name", "issuer", "audience", "profile", "algorithms", "jwksFile", "jwksUrl",
        "jwksRefreshSeconds", "jwksOutageSeconds", "mode", "clockSkewSeconds", "tenant",
        "tenantClaim", "tenants", "subjectClaim", "scopesClaim", "scopes", "disabledSubjects"};
    /* clang-format on */
    struct json_members m;
    if (json_type_of(o) != JSON_OBJECT || json_members(o, x->a, &m, NULL) != 0)
        return arena_failed(x->a)
                   ? no_memory(x)
                   : wopr_error_set(x->err, WOPR_E_CONFIG, "issuers[%zu] must be an object", x->at);
    for (size_t i = 0; i < m.n; i++) {
        size_t k = 0;
        while (k < sizeof KNOWN / sizeof *KNOWN && !str_eqc(m.v[i].key, KNOWN[k])) k++;
        if (k == sizeof KNOWN / sizeof *KNOWN)
            return wopr_error_set(x->err, WOPR_E_CONFIG, "issuers[%zu] has no member \"%.*s\"",
                                  x->at, (int)(m.v[i].key.n < 40 ? m.v[i].key.n : 40),
                                  m.v[i].key.p);
    }
    return 0;
}

/* --- members --- */

static int name_read(const struct reader *x, struct str o, struct issuer *is) {
    int rc = text_read(x, o, "name", &is->name);
    bool ok = is->name.n > 0 && is->name.n <= ISSUER_NAME_MAX;
    for (size_t i = 0; ok && i < is->name.n; i++) {
        char c = is->name.p[i];
        ok = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    }
    if (rc != 0) return rc;
    if (!ok) return issuer_wrong(x, "name", "must be 1 to 32 of a-z, 0-9 and -");
    for (size_t i = 0; i < x->at; i++)
        if (str_eq(x->out->v[i].name, is->name))
            return issuer_wrong(x, "name", "is that of another issuer");
    return 0;
}

static int url_read(const struct reader *x, struct str o, struct issuer *is) {
    int rc = text_read(x, o, "issuer", &is->url);
    if (rc != 0) return rc;
    bool ok = (str_starts(is->url, STR("https://")) || str_starts(is->url, STR("http://"))) &&
              is->url.n <= ISSUER_URL_MAX;
    for (size_t i = 0; ok && i < is->url.n; i++) ok = is->url.p[i] > ' ' && is->url.p[i] < 127;
    return ok ? 0 : issuer_wrong(x, "issuer", "must be the URL that tokens have as iss");
}

/* A token belongs to one issuer only. */
static int audience_read(const struct reader *x, struct str o, struct issuer *is) {
    int rc = texts_read(x, o, "audience", true, &is->audiences);
    if (rc != 0) return rc;
    if (is->audiences.n == 0)
        return issuer_wrong(x, "audience", "must be what tokens for this host have as aud");
    for (size_t i = 0; i < x->at; i++)
        for (size_t k = 0; str_eq(x->out->v[i].url, is->url) && k < is->audiences.n; k++)
            for (size_t j = 0; j < x->out->v[i].audiences.n; j++)
                if (str_eq(x->out->v[i].audiences.v[j], is->audiences.v[k]))
                    return issuer_wrong(x, "audience", "is there already for the same issuer");
    return 0;
}

static int choice_read(const struct reader *x, struct str o, const char *member, const char *no,
                       const char *yes, bool needed, bool *out) {
    struct str s;
    int rc = text_read(x, o, member, &s);
    if (rc != 0 || (s.n == 0 && !needed)) return rc;
    *out = str_eqc(s, yes);
    if (*out || str_eqc(s, no)) return 0;
    return wopr_error_set(x->err, WOPR_E_CONFIG, "issuers[%zu].%s must be \"%s\" or \"%s\"", x->at,
                          member, no, yes);
}

static int algorithms_read(const struct reader *x, struct str o, struct issuer *is) {
    struct issuer_texts t = {0};
    int rc = texts_read(x, o, "algorithms", false, &t);
    for (size_t i = 0; rc == 0 && i < t.n; i++) {
        unsigned alg = jws_alg_find(t.v[i]);
        if (alg == 0) return issuer_wrong(x, "algorithms", "may hold RS256, ES256 and EdDSA");
        is->algs |= alg;
    }
    if (rc == 0 && is->algs == 0)
        rc = issuer_wrong(x, "algorithms", "must pin what tokens are signed with, as [\"RS256\"]");
    return rc;
}

static int seconds_read(const struct reader *x, struct str o, const char *member, int64_t least,
                        int64_t most, int64_t usual, int64_t *ms) {
    struct str raw = json_get(o, member);
    int64_t s = usual;
    if (raw.p && (!json_int(raw, &s) || s < least || s > most))
        return wopr_error_set(x->err, WOPR_E_CONFIG, "issuers[%zu].%s must be %lld to %lld", x->at,
                              member, (long long)least, (long long)most);
    *ms = s * 1000;
    return 0;
}

static int skew_read(const struct reader *x, struct str o, struct issuer *is) {
    return seconds_read(x, o, "clockSkewSeconds", 0, ISSUER_SKEW_S_MAX, ISSUER_SKEW_S,
                        &is->skew_ms);
}

static int tenants_read(const struct reader *x, struct str o, struct issuer *is) {
    struct str raw = json_get(o, "tenant");
    int rc = raw.p ? tenant_read(x, "tenant", raw, &is->tenant) : 0;
    if (rc == 0) rc = text_read(x, o, "tenantClaim", &is->tenant_claim);
    if (rc == 0) rc = map_read(x, o, "tenants", false, &is->tenants);
    if (rc != 0) return rc;
    if ((is->tenant.n > 0) == (is->tenant_claim.n > 0))
        return issuer_wrong(x, "tenant", "or tenantClaim must be there, and not both");
    if (is->tenants.n > 0 && is->tenant.n > 0)
        return issuer_wrong(x, "tenants", "is for tenantClaim: a fixed tenant has no map");
    return 0;
}

/* AUTH-21: what a machine's token says are the scopes themselves; groups of users are mapped. */
static int claims_read(const struct reader *x, struct str o, struct issuer *is) {
    int rc = text_read(x, o, "subjectClaim", &is->subject_claim);
    if (rc == 0) rc = text_read(x, o, "scopesClaim", &is->scopes_claim);
    if (rc == 0) rc = map_read(x, o, "scopes", true, &is->scopes);
    if (rc == 0) rc = texts_read(x, o, "disabledSubjects", false, &is->disabled);
    if (rc != 0) return rc;
    if (is->scopes.n > 0 && !is->users)
        return issuer_wrong(x, "scopes",
                            "is for user-bearer: tokens of clients name the scopes themselves");
    if (is->subject_claim.n == 0) is->subject_claim = STR("sub");
    if (is->scopes_claim.n == 0) is->scopes_claim = STR("scope");
    return 0;
}

static int member_failed(const struct reader *x, const char *member, int rc,
                         const struct wopr_error *why) {
    if (rc == 0 || rc == WOPR_E_NO_MEMORY) return rc == 0 ? 0 : no_memory(x);
    return wopr_error_set(x->err, WOPR_E_CONFIG, "issuers[%zu].%s: %s", x->at, member,
                          why->message);
}

static int file_keys_read(const struct reader *x, struct str file, struct issuer *is) {
    struct wopr_error why = {0};
    struct buf b;
    buf_init(&b, JWK_SET_BYTES_MAX);
    int rc = x->files->keys(x->files->ctx, file, &b, &why);
    is->keys = rc == 0 ? MEM_NEW(struct issuer_keys) : NULL;
    if (rc == 0 && !is->keys) rc = WOPR_E_NO_MEMORY;
    if (rc == 0) rc = jwk_set_read(buf_str(&b), &is->keys->set, &why);
    if (is->keys) is->keys->refs = 1;
    if (is->keys) is->keys->no = issuer_keys_number();
    buf_fini(&b);
    return member_failed(x, "jwksFile", rc, &why);
}

/* A file's are read here; those behind a URL come when they come. */
static int keys_read(const struct reader *x, struct str o, struct issuer *is) {
    struct str file;
    struct wopr_error why = {0};
    int rc = text_read(x, o, "jwksFile", &file);
    if (rc == 0) rc = text_read(x, o, "jwksUrl", &is->keys_url);
    if (rc == 0)
        rc = seconds_read(x, o, "jwksRefreshSeconds", 1, REFRESH_S_MAX, REFRESH_S, &is->refresh_ms);
    if (rc == 0)
        rc = seconds_read(x, o, "jwksOutageSeconds", 1, OUTAGE_S_MAX, OUTAGE_S, &is->outage_ms);
    if (rc != 0) return rc;
    if ((file.n > 0) == (is->keys_url.n > 0))
        return issuer_wrong(x, "jwksFile",
                            "or jwksUrl must say where its public keys are, and not both");
    if (file.n > 0) return file_keys_read(x, file, is);
    if (is->outage_ms < is->refresh_ms)
        return issuer_wrong(x, "jwksOutageSeconds", "must not be less than jwksRefreshSeconds");
    return member_failed(x, "jwksUrl", x->files->reach(x->files->ctx, is->keys_url, &why), &why);
}

static int issuer_read(const struct reader *x, struct str o, struct issuer *is) {
    int rc = members_known(x, o);
    if (rc == 0) rc = name_read(x, o, is);
    if (rc == 0) rc = url_read(x, o, is);
    if (rc == 0) rc = audience_read(x, o, is);
    if (rc == 0)
        rc = choice_read(x, o, "profile", "client-credentials", "user-bearer", true, &is->users);
    if (rc == 0) rc = choice_read(x, o, "mode", "live", "test", false, &is->test_mode);
    if (rc == 0) rc = algorithms_read(x, o, is);
    if (rc == 0) rc = skew_read(x, o, is);
    if (rc == 0) rc = tenants_read(x, o, is);
    if (rc == 0) rc = claims_read(x, o, is);
    return rc == 0 ? keys_read(x, o, is) : rc;
}

static int all_read(struct reader *x, struct str text) {
    struct json_members top;
    struct json_elements list;
    int rc = json_check(text, &JSON_LIMITS_DEFAULT, x->err);
    if (rc == WOPR_E_NO_MEMORY) return rc;
    if (rc != 0) { /* its message has the place */
        x->err->code = WOPR_E_CONFIG;
        return WOPR_E_CONFIG;
    }
    struct str copy = arena_str(x->a, text); /* which the names of members are slices of */
    if (!copy.p) return no_memory(x);
    struct str raw = json_get(copy, "issuers");
    if (json_type_of(copy) != JSON_OBJECT || json_members(copy, x->a, &top, NULL) != 0 ||
        top.n != 1 || !raw.p || json_type_of(raw) != JSON_ARRAY ||
        json_elements(raw, x->a, &list, NULL) != 0 || list.n == 0 || list.n > ISSUERS_MAX)
        return arena_failed(x->a)
                   ? no_memory(x)
                   : wopr_error_set(x->err, WOPR_E_CONFIG,
                                    "it must be {\"issuers\":[...]} with 1 to %d of them",
                                    ISSUERS_MAX);
    x->out->v = ARENA_ARRAY(x->a, struct issuer, list.n);
    if (!x->out->v) return no_memory(x);
    for (; rc == 0 && x->at < list.n; x->at++) {
        x->out->n = x->at + 1;
        rc = issuer_read(x, list.v[x->at], &x->out->v[x->at]);
    }
    return rc;
}

int issuer_table_read(struct str text, const struct http_issuer_files *files,
                      struct issuer_table **out, struct wopr_error *err) {
    struct wopr_error spare = {0};
    struct arena *a = arena_new(ISSUERS_ARENA_BYTES);
    struct issuer_table *s = a ? ARENA_NEW(a, struct issuer_table) : NULL;
    struct reader x = {s, a, 0, files, err ? err : &spare};
    if (!s) {
        arena_free(a);
        return no_memory(&x);
    }
    s->arena = a;
    s->refs = 1;
    int rc = all_read(&x, text);
    if (rc == 0) *out = s;
    else issuer_table_free(s);
    return rc;
}

void issuer_table_free(struct issuer_table *t) {
    if (!t) return;
    for (size_t i = 0; i < t->n; i++) {
        struct issuer_keys *k = t->v[i].keys;
        if (!k || --k->refs > 0) continue;
        jwk_set_free(k->set);
        mem_free(k);
    }
    arena_free(t->arena);
}
