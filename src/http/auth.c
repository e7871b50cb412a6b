/*
 * auth.c: the credential of a request: a key or a ticket, and its scopes (AUTH-2, AUTH-7).
 */
#include "http/auth.h"
#include "base/clock.h"
#include "codec/jobj.h"
#include "http/exchange.h"
#include "http/request.h"
#include "http/server.h"

/* AUTH-2: one header, the scheme in any case, one credential. */
static bool bearer_read(const struct exchange *x, struct str *credential) {
    struct str scheme, rest;
    if (x->head.authorizations != 1 || !str_cut(x->head.authorization, ' ', &scheme, &rest))
        return false;
    if (!str_eq_nocase(scheme, STR("Bearer"))) return false;
    *credential = str_trim(rest);
    return key_visible(*credential);
}

int auth_check(struct exchange *x, struct wopr_error *err) {
    struct http_server *s = x->pub.server;
    const struct http_op *op = x->pub.op;
    if ((op->flags & OP_PUBLIC) != 0) return 0; /* AUTH-15 */
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
    int rc = guess_admit(x, credential, err);
    if (rc != 0) return rc;
    rc = server_key_check(s, credential, clock_wall_ms(), x->pub.arena, &k, err);
    if (rc != 0) return guess_result(x, rc, err);
    guess_known(s, &k.hash);
    principal_of(&k, &x->pub.who);
    return 0;
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
