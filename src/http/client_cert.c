/*
 * client_cert.c: the certificate that the client of a connection proved to have (AUTH-22); see
 * client_cert.h.
 */
#include "http/client_cert.h"

#include "base/clock.h"
#include "codec/bytes.h"
#include "codec/jobj.h"
#include "http/exchange.h"
#include "http/intake.h"
#include "http/server.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

enum {
    JUDGED_FOR_MS = 60000, /* an authority or a certificate may end meanwhile */
    NAMES_MAX = 256,       /* of one certificate */
    NAME_BYTES_MAX = 1024
};

int client_authorities_check(const struct client_rules *r, struct wopr_error *err) {
    gnutls_x509_crt_t *list = NULL;
    gnutls_datum_t d = {(unsigned char *)r->authorities, (unsigned)strlen(r->authorities)};
    unsigned n = 0;
    int rc = gnutls_x509_crt_list_import2(&list, &n, &d, GNUTLS_X509_FMT_PEM, 0);
    for (unsigned i = 0; rc >= 0 && i < n; i++) gnutls_x509_crt_deinit(list[i]);
    if (rc >= 0) gnutls_free(list);
    if (rc >= 0 && n > 0) return 0;
    return wopr_error_at(err, WOPR_E_CONFIG, "tls-clients",
                         "caFile holds no certificates in PEM that can be used: %s",
                         gnutls_strerror(rc));
}

/* --- what a certificate is called --- */

static bool name_fits(const struct client_rule *r, struct str name) {
    if (name.n == 0 || memchr(name.p, '\0', name.n) != NULL) return false;
    return r->by == MATCH_DNS ? str_eq_nocase(r->value, name) : str_eq(r->value, name);
}

static int kind_of(int san) {
    switch (san) {
    case GNUTLS_SAN_DNSNAME:
        return MATCH_DNS;
    case GNUTLS_SAN_URI:
        return MATCH_URI;
    case GNUTLS_SAN_RFC822NAME:
        return MATCH_EMAIL;
    default:
        return MATCH_NR;
    }
}

static uint64_t names_match(const struct client_rules *rules, gnutls_x509_crt_t crt) {
    char name[NAME_BYTES_MAX];
    uint64_t set = 0;
    for (unsigned i = 0; i < NAMES_MAX; i++) {
        size_t n = sizeof name;
        int san = gnutls_x509_crt_get_subject_alt_name(crt, i, name, &n, NULL);
        if (san == GNUTLS_E_SHORT_MEMORY_BUFFER) continue; /* no rule is that long */
        if (san < 0) break;
        for (size_t k = 0; k < rules->n; k++)
            if ((int)rules->v[k].by == kind_of(san) && name_fits(&rules->v[k], str_n(name, n)))
                set |= UINT64_C(1) << k;
    }
    size_t n = sizeof name;
    bool cn = gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &n) == 0;
    for (size_t k = 0; cn && k < rules->n; k++)
        if (rules->v[k].by == MATCH_CN && name_fits(&rules->v[k], str_n(name, n)))
            set |= UINT64_C(1) << k;
    return set;
}

static uint64_t print_match(const struct client_rules *rules, const char *print) {
    uint64_t set = 0;
    for (size_t k = 0; k < rules->n; k++)
        if (rules->v[k].by == MATCH_SHA256 && str_eqc(rules->v[k].value, print))
            set |= UINT64_C(1) << k;
    return set;
}

/* --- is it the client's? --- */

/* The handshake proved that the client has the key; the chain is ours to judge. */
static bool chain_holds(gnutls_session_t session) {
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT};
    unsigned status = 0;
    return gnutls_certificate_type_get2(session, GNUTLS_CTYPE_PEERS) == GNUTLS_CRT_X509 &&
           gnutls_certificate_verify_peers(session, &purpose, 1, &status) == 0 && status == 0;
}

static void cert_judge(const struct client_rules *rules, gnutls_session_t session,
                       struct client_seen *out) {
    unsigned n = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &n);
    gnutls_x509_crt_t crt;
    *out = (struct client_seen){.until_ms = clock_mono_ms() + JUDGED_FOR_MS};
    if (!chain || n == 0 || !chain_holds(session) || gnutls_x509_crt_init(&crt) < 0) return;
    if (gnutls_x509_crt_import(crt, &chain[0], GNUTLS_X509_FMT_DER) == 0) {
        struct sha256 d = sha256_of(str_n((const char *)chain[0].data, chain[0].size));
        sha256_hex(&d, out->print);
        out->rules = names_match(rules, crt) | print_match(rules, out->print);
        if (out->rules == 0) out->print[0] = '\0';
    }
    gnutls_x509_crt_deinit(crt);
}

static int cert_refuse(struct wopr_error *err, const char *why) {
    (void)wopr_error_set(err, WOPR_E_UNAUTHENTICATED, "%s", why);
    jobj_details_str(err, "reason", "invalid_token");
    return WOPR_E_UNAUTHENTICATED;
}

int client_cert_check(struct exchange *x, struct wopr_error *err) {
    const struct client_rules *rules = x->pub.server->listen.clients;
    struct intake *e = rules && x->conn ? intake_of(x->conn) : NULL;
    if (!rules) return 0;
    if (e && e->tls && clock_mono_ms() >= e->client.until_ms) cert_judge(rules, e->tls, &e->client);
    if (!e || !e->tls || e->client.rules == 0)
        return cert_refuse(err, "a client certificate that this host knows is needed beside the"
                                " credential");
    x->pub.who.certificate = str_c(e->client.print);
    return 0;
}

int client_tenant_check(struct exchange *x, struct wopr_error *err) {
    const struct client_rules *rules = x->pub.server->listen.clients;
    const struct intake *e = rules ? intake_of(x->conn) : NULL;
    for (size_t i = 0; rules && i < rules->n; i++)
        if ((e->client.rules >> i & 1) != 0 && client_rule_admits(&rules->v[i], x->pub.who.tenant))
            return 0;
    return rules ? cert_refuse(err, "the client certificate does not stand for the tenant of the"
                                    " credential")
                 : 0;
}
