/*
 * issuers.h: whose tokens are taken besides API keys, and for whom they speak (AUTH-11, AUTH-21,
 * AUTH-23).  Layer: http.
 *
 * What was read from the operator's file is a table, which never changes but for the keys of
 * issuers that publish them at a URL.  Whoever checks a token holds the table and the keys
 * meanwhile, so that both can be replaced at any time (issuers_live.c).
 */
#ifndef WOPR_HTTP_ISSUERS_H
#define WOPR_HTTP_ISSUERS_H

#include "codec/jwk.h"
#include "http/http.h"

#include <pthread.h>

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
    struct str keys_url;          /* empty: they are in a file, and stay */
    int64_t refresh_ms, outage_ms;
    struct issuer_keys *keys; /* (mu) NULL: none could be fetched yet */
    bool wanted;              /* (mu) a token named a key that is not there */
};
struct issuer_keys {
    struct jwk_set *set;
    uint64_t no;      /* of this set, never given twice: what it verified is not what another did */
    uint64_t came_ms; /* monotonic */
    unsigned refs;    /* (mu) */
};
struct issuer_table {
    struct arena *arena;
    struct issuer *v;
    size_t n;
    unsigned refs; /* (mu) */
};
/* Signatures that were verified, by the digest of their token: a program sends the same one with
 * each request, and a signature costs more than all else that tells who asks.  Only that the
 * signature is one of that set of keys is remembered; claims are judged each time.  ISSUER_SEEN_NR
 * entries of fixed size, however many tokens there are: a new one takes the place of the older of
 * two. */
enum { ISSUER_SEEN_NR = 4096, ISSUER_SEEN_MS = 300000 };
struct issuer_seen {
    struct sha256 token;
    uint64_t keys_no;  /* 0: none is here */
    uint64_t until_ms; /* monotonic: exp, and ISSUER_SEEN_MS at most (AUTH-23) */
};
struct http_issuers {
    pthread_mutex_t seen_mu;
    struct issuer_seen *seen; /* (seen_mu) ISSUER_SEEN_NR of them, NULL before the first */
    pthread_mutex_t mu;
    struct issuer_table *table; /* (mu) */
    void (*wanted)(void *ctx);  /* (mu) or NULL */
    void *wanted_ctx;
};

/* --- issuers_read.c --- */
/* As http_issuers_new. */
MUST_CHECK int issuer_table_read(struct str text, const struct http_issuer_files *files,
                                 struct issuer_table **out, struct wopr_error *err);
void issuer_table_free(struct issuer_table *t); /* takes NULL */

/* --- issuers_live.c --- */
struct issuer_table *issuers_hold(struct http_issuers *s);
void issuers_drop(struct http_issuers *s, struct issuer_table *t);
/* NULL: none came yet, or the last ones are too old to be believed. */
struct issuer_keys *issuer_keys_hold(struct http_issuers *s, const struct issuer *is);
void issuer_keys_drop(struct http_issuers *s, struct issuer_keys *k);
/* A token names a key that is not among them: perhaps it is new. */
void issuer_keys_want(struct http_issuers *s, struct issuer *is);

/* --- issuers_seen.c --- */
/* Was the signature of this token verified with these keys, a short while ago? */
bool issuers_seen(struct http_issuers *s, const struct sha256 *token, uint64_t keys_no);
/* It was, just now; ends_ms: when the token is over, from now. */
void issuers_seen_put(struct http_issuers *s, const struct sha256 *token, uint64_t keys_no,
                      int64_t left_ms);
uint64_t issuer_keys_number(void); /* the next one */

/* --- issuers.c --- */

/* The principal of a token that was read, once an issuer's keys verify it.  UNAUTHENTICATED for
 * whatever is wrong with it, KEY_REVOKED for a disabled subject, UNAVAILABLE while the keys of its
 * issuer are not known, NO_MEMORY.  Texts are in a.  *out is written on success only. */
MUST_CHECK int issuers_check(struct http_issuers *s, const struct jwt *t, int64_t now_ms,
                             struct arena *a, struct principal *out, struct wopr_error *err);

#endif
