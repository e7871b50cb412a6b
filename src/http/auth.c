/*
 * auth.c: the credential of a request: a key, a token or a ticket, and its scopes (AUTH-2, AUTH-7).
 */
#include "http/auth.h"
#include "base/clock.h"
#include "codec/jobj.h"
#include "http/client_cert.h"
#include "http/exchange.h"
#include "http/intake.h"
#include "http/issuers.h"
#include "http/request.h"
#include "http/server.h"

/* AUTH-2: one header, the scheme in any case, one credential. */
static bool bearer_read(const struct exchange *x, struct str *credential) {
    struct str scheme, rest;
    if (x->head.authorizations != 1 || !str_cut(x->head.authorization, ' ', &scheme, &rest))
        return false;
    if (!str_eq_nocase(scheme, STR("Bearer"))) return false;
    *credential = str_trim(rest);
    for (size_t i = 0; i < credential->n; i++)
        if (credential->p[i] < 0x21 || credential->p[i] > 0x7e) return false;
    return credential->n > 0 && credential->n <= JWT_BYTES_MAX;
}

/* One of our keys has no two dots, but one of any spelling may: what is no token is a key
 * (SYNTAX). */
static int token_read(const struct exchange *x, struct str credential, struct jwt *t,
                      struct wopr_error *err) {
    return x->pub.server->cfg.issuers ? jwt_read(credential, x->pub.arena, t, err) : WOPR_E_SYNTAX;
}

/* What was refused counts as a guess, as it does for keys, so that signatures are not free of
 * charge for those who have none. */
static int token_check(struct exchange *x, struct str credential, const struct jwt *t,
                       struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    int rc = issuers_check(s->cfg.issuers, t, clock_wall_ms(), x->pub.arena, &x->pub.who, err);
    if (rc != 0) return guess_result(x, rc, err);
    struct sha256 h = hmac_key_of(s->pepper, credential);
    guess_known(s, &h);
    return 0;
}

static struct sha256 key_digest(const struct exchange *x, struct str credential) {
    const struct key_seen *seen = &intake_of(x->conn)->key;
    if (seen->n > 0 && str_eq_secret(str_n(seen->text, seen->n), credential)) return seen->digest;
    return hmac_key_of(x->pub.server->pepper, credential);
}

static void key_remember(const struct exchange *x, struct str credential,
                         const struct sha256 *digest) {
    struct key_seen *seen = &intake_of(x->conn)->key;
    if (credential.n > sizeof seen->text || sha256_eq(&seen->digest, digest)) return;
    seen->n = (unsigned)credential.n;
    memcpy(seen->text, credential.p, credential.n);
    seen->digest = *digest;
}

static int credential_check(struct exchange *x, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    const struct http_op *op = x->pub.op;
    if (x->head.authorizations == 0 && (op->flags & OP_TICKET) != 0) {
        bool found = false;
        struct str ticket = http_query(&x->pub, "ticket", &found);
        if (found) return guess_result(x, ticket_check(x, ticket, err), err);
    }
    struct str credential;
    if (!bearer_read(x, &credential))
        return wopr_error_set(err, WOPR_E_UNAUTHENTICATED,
                              "send an API key as \"Authorization: Bearer <key>\"");
    struct api_key k;
    struct jwt t;
    int rc = guess_admit(x, credential, err);
    if (rc != 0) return rc;
    rc = token_read(x, credential, &t, err);
    if (rc == 0) return token_check(x, credential, &t, err);
    if (rc == WOPR_E_NO_MEMORY) return rc;
    struct sha256 digest = key_digest(x, credential);
    rc = server_key_check(s, credential, &digest, clock_wall_ms(), x->pub.arena, &k, err);
    if (rc != 0) return guess_result(x, rc, err);
    key_remember(x, credential, &digest);
    guess_known(s, &k.hash);
    principal_of(&k, &x->pub.who);
    return 0;
}

/* The certificate first: who has none learns nothing about keys. */
int auth_check(struct exchange *x, struct wopr_error *err) {
    if ((x->pub.op->flags & OP_PUBLIC) != 0) return 0; /* AUTH-15 */
    int rc = client_cert_check(x, err);
    struct str certificate = x->pub.who.certificate;
    if (rc == 0) rc = credential_check(x, err);
    if (rc != 0) return rc;
    x->pub.who.certificate = certificate; /* the credential filled the rest */
    return client_tenant_check(x, err);
}

int auth_scope(struct exchange *x, struct wopr_error *err) {
    unsigned missing = x->pub.op->scopes & ~x->pub.who.scopes;
    if ((x->pub.op->flags & OP_PUBLIC) != 0 || missing == 0) return 0;
    x->refusal = REFUSED_SCOPE;
    unsigned no = 0;
    while ((missing >> no & 1u) == 0) no++;
    const char *name = scope_name(no);
    (void)wopr_error_set(err, WOPR_E_FORBIDDEN,
                         "the credential lacks a scope that this operation needs");
    jobj_details_str(err, "scopeRequired", name ? name : "?"); /* AUTH-7, CON-15 */
    return WOPR_E_FORBIDDEN;
}
