/*
 * issuers.h: whose tokens are taken besides API keys, and for whom they speak (AUTH-11, AUTH-21,
 * AUTH-23).  Layer: http.
 *
 * A set of issuers never changes after it was read; any number of threads may ask it.
 */
#ifndef WOPR_HTTP_ISSUERS_H
#define WOPR_HTTP_ISSUERS_H

#include "codec/jwk.h"
#include "http/http.h"

struct issuer_map { /* a value of a claim, and what it means here */
    struct str value, tenant;
    unsigned scopes;
};
struct issuer_maps {
    struct issuer_map *v;
    size_t n;
};
struct issuer_texts {
    struct str *v;
    size_t n;
};
struct issuer {
    struct str name; /* ours: the first part of a principal's key id */
    struct str url;  /* what iss must be, byte for byte */
    struct issuer_texts audiences;
    unsigned algs; /* bits of enum jws_alg */
    bool users;    /* the profile of AUTH-23; else that of AUTH-21 */
    bool test_mode;
    int64_t skew_ms;
    struct str tenant;          /* empty: tenant_claim says */
    struct str tenant_claim;    /* member, or JSON pointer when it begins with "/" */
    struct issuer_maps tenants; /* n == 0: the claim is the tenant's id */
    struct str subject_claim, scopes_claim;
    struct issuer_maps scopes;    /* n == 0: the words of AUTH-5 grant themselves */
    struct issuer_texts disabled; /* subjects */
    struct jwk_set *keys;
};
struct http_issuers {
    struct arena *arena;
    struct issuer *v;
    size_t n;
};

/* The principal of a token that was read, once an issuer's keys verify it.  UNAUTHENTICATED for
 * whatever is wrong with it, KEY_REVOKED for a disabled subject, NO_MEMORY.  Texts are in a, or
 * those of the issuers.  *out is written on success only. */
MUST_CHECK int issuers_check(const struct http_issuers *s, const struct jwt *t, int64_t now_ms,
                             struct arena *a, struct principal *out, struct wopr_error *err);

#endif
