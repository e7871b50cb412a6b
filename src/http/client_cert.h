/*
 * client_cert.h: certificates of clients, beside their credentials (AUTH-22).  Layer: http.
 *
 * With rules, a request that brings a key, a token or a ticket must come over a connection whose
 * client proved to have a certificate: signed by one of the operator's authorities, for clients,
 * valid now, and matched by a rule that names the tenant of the credential.  It grants nothing by
 * itself.  No header says anything about certificates: a proxy that ends TLS cannot speak for one.
 *
 * Threads: rules are read-only once they are there; what is known of a connection belongs to its
 * loop.
 */
#ifndef WOPR_HTTP_CLIENT_CERT_H
#define WOPR_HTTP_CLIENT_CERT_H

#include "base/error.h"
#include "base/str.h"

struct exchange;
struct http_server;
struct intake;

enum { CLIENT_RULES_MAX = 64, CLIENT_PRINT_SIZE = 65 };
enum client_match { MATCH_DNS, MATCH_URI, MATCH_EMAIL, MATCH_CN, MATCH_SHA256, MATCH_NR };
struct client_rule {
    enum client_match by;
    struct str value;
    struct str *tenants; /* that a credential may belong to; any: all */
    size_t tenants_nr;
    bool any;
};
struct client_rules {
    struct arena *arena; /* everything here */
    char *authorities;   /* PEM, one or more: the old one and the new one while they are replaced */
    struct client_rule v[CLIENT_RULES_MAX];
    size_t n;
};
/* What is known of the certificate of a connection. */
struct client_seen {
    uint64_t until_ms; /* monotonic; then it is judged again.  0: it was not */
    uint64_t rules;    /* bit set of those that match; 0: the certificate is not taken */
    char print[CLIENT_PRINT_SIZE]; /* SHA-256 of its DER in hex, "" = none that is taken */
};

/* --- client_rules.c --- */
/* The operator's JSON file; CONFIG names the member that is wrong.  NO_MEMORY. */
MUST_CHECK int client_rules_load(const char *path, struct client_rules **out,
                                 struct wopr_error *err);
void client_rules_free(struct client_rules *r); /* takes NULL */
bool client_rule_admits(const struct client_rule *r, struct str tenant);

/* --- client_cert.c --- */
/* CONFIG: none of the authorities can be read. */
MUST_CHECK int client_authorities_check(const struct client_rules *r, struct wopr_error *err);
/* Did the client prove a certificate that a rule matches?  Without rules: 0.  UNAUTHENTICATED. */
MUST_CHECK int client_cert_check(struct exchange *x, struct wopr_error *err);
/* After the credential was judged: does the certificate stand for its tenant?  UNAUTHENTICATED. */
MUST_CHECK int client_tenant_check(struct exchange *x, struct wopr_error *err);
#endif
