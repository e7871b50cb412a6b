/*
 * guard.c: which addresses and URLs users may make the host connect to (HOOK-16, HOOK-17).
 */
#include "egress/curl_late.h"
#include "egress/egress.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#define HOST_TEXT_MAX 256

/* Refused: the IANA special-purpose address registries (RFC 6890), multicast, and addresses of
 * clouds that look public but reach the platform of the host itself. */
struct refused_net {
    const char *net;
    unsigned bits;
};
static const struct refused_net REFUSED4[] = {
    {"0.0.0.0", 8},        /* this network */
    {"10.0.0.0", 8},       /* private */
    {"100.64.0.0", 10},    /* shared, behind carrier NAT */
    {"127.0.0.0", 8},      /* loopback */
    {"168.63.129.16", 32}, /* Azure: DNS, DHCP and the VM agent */
    {"169.254.0.0", 16},   /* link-local; metadata of most clouds */
    {"172.16.0.0", 12},    /* private */
    {"192.0.0.0", 24},     /* IETF protocol assignments */
    {"192.0.2.0", 24},     /* documentation */
    {"192.31.196.0", 24},  /* AS112 */
    {"192.52.193.0", 24},  /* AMT */
    {"192.88.99.0", 24},   /* 6to4 relays, deprecated */
    {"192.168.0.0", 16},   /* private */
    {"192.175.48.0", 24},  /* AS112 */
    {"198.18.0.0", 15},    /* benchmarks */
    {"198.51.100.0", 24},  /* documentation */
    {"203.0.113.0", 24},   /* documentation */
    {"224.0.0.0", 4},      /* multicast */
    {"240.0.0.0", 4},      /* reserved, broadcast */
};
/* Of IPv6 only global unicast is allowed: that refuses loopback, mapped and translated forms,
 * NAT64, discard-only, SRv6, unique local, link-local, multicast and whatever is assigned next. */
static const struct refused_net GLOBAL6 = {"2000::", 3};
static const struct refused_net REFUSED6[] = {
    {"2001::", 23},         /* IETF protocol assignments: Teredo, benchmarks, AMT, ORCHID, DETs */
    {"2001:db8::", 32},     /* documentation */
    {"2620:4f:8000::", 48}, /* AS112 */
    {"3fff::", 20},         /* documentation */
};
static const char MAPPED[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, (char)0xff, (char)0xff};

static bool prefix_eq(const uint8_t *a, const uint8_t *b, unsigned bits) {
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(a, b, whole) != 0) return false;
    if (rest == 0) return true;
    uint8_t mask = (uint8_t)(0xffu << (8 - rest));
    return (a[whole] & mask) == (b[whole] & mask);
}

/* An unreadable row covers everything: fail closed. */
static bool net_covers(const struct refused_net *r, int family, const uint8_t *a) {
    uint8_t net[16];
    return inet_pton(family, r->net, net) != 1 || prefix_eq(a, net, r->bits);
}

static bool ipv4_refused(const uint8_t a[4]) {
    for (size_t i = 0; i < sizeof REFUSED4 / sizeof *REFUSED4; i++)
        if (net_covers(&REFUSED4[i], AF_INET, a)) return true;
    return false;
}

/* A mapped address is an IPv4 host, and a 6to4 address contains one: judge that. */
static bool ipv6_refused(const uint8_t a[16]) {
    if (memcmp(a, MAPPED, 12) == 0) return ipv4_refused(a + 12);
    if (!net_covers(&GLOBAL6, AF_INET6, a)) return true;
    if (a[0] == 0x20 && a[1] == 0x02) return ipv4_refused(a + 2);
    for (size_t i = 0; i < sizeof REFUSED6 / sizeof *REFUSED6; i++)
        if (net_covers(&REFUSED6[i], AF_INET6, a)) return true;
    return false;
}

bool egress_allow_has(const struct egress_allow *allow, const uint8_t a[16]) {
    for (size_t i = 0; i < allow->n; i++)
        if (prefix_eq(a, allow->v[i].addr, allow->v[i].bits)) return true;
    return false;
}

bool egress_allow_loopback(const struct egress_allow *allow) {
    static const uint8_t ONE[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    static const uint8_t FOUR[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
    for (size_t i = 0; i < allow->n; i++) {
        unsigned bits = allow->v[i].bits;
        if (prefix_eq(allow->v[i].addr, ONE, bits) ||
            prefix_eq(allow->v[i].addr, FOUR, bits < 104 ? bits : 104))
            return true;
    }
    return false;
}

static void ipv4_map(const void *v4, uint8_t out[16]) {
    memcpy(out, MAPPED, 12);
    memcpy(out + 12, v4, 4);
}

bool egress_address_ok(const struct sockaddr *sa, const struct egress_allow *allow,
                       bool *is_listed) {
    uint8_t a[16];
    *is_listed = false;
    if (sa->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, sa, sizeof in);
        ipv4_map(&in.sin_addr, a);
    } else if (sa->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, sa, sizeof in6);
        memcpy(a, &in6.sin6_addr, sizeof a);
    } else {
        return false;
    }
    *is_listed = egress_allow_has(allow, a);
    return *is_listed || !ipv6_refused(a);
}

/* --- the allow list --- */

static int net_parse(struct str text, struct egress_net *out) {
    struct str host = text, bits = STR_NONE;
    char z[INET6_ADDRSTRLEN];
    uint64_t n = 0;
    struct in_addr v4;
    struct in6_addr v6;
    bool has_bits = str_cut(text, '/', &host, &bits);
    if (host.n == 0 || host.n >= sizeof z || (has_bits && !str_u64(bits, &n))) return -1;
    memcpy(z, host.p, host.n);
    z[host.n] = '\0';
    if (inet_pton(AF_INET, z, &v4) == 1) {
        if (n > 32) return -1;
        ipv4_map(&v4, out->addr);
        out->bits = has_bits ? 96 + (unsigned)n : 128;
        return 0;
    }
    if (inet_pton(AF_INET6, z, &v6) != 1 || n > 128) return -1;
    memcpy(out->addr, &v6, sizeof out->addr);
    out->bits = has_bits ? (unsigned)n : 128;
    return 0;
}

int egress_allow_parse(struct str list, struct egress_allow *out, struct wopr_error *err) {
    struct egress_allow got = *out;
    size_t part_nr = 0;
    while (list.n > 0) {
        struct str part = list, rest = STR_NONE;
        (void)str_cut(list, ',', &part, &rest);
        list = rest;
        part = str_trim(part);
        part_nr++;
        if (part.n == 0) continue;
        if (got.n == EGRESS_ALLOW_MAX)
            return wopr_error_set(err, WOPR_E_CONFIG, "more than %u address blocks are listed",
                                  EGRESS_ALLOW_MAX);
        if (net_parse(part, &got.v[got.n]) != 0)
            return wopr_error_set(err, WOPR_E_CONFIG,
                                  "entry %zu is not an address or address block such as "
                                  "10.1.0.0/16 or ::1",
                                  part_nr);
        got.n++;
    }
    *out = got;
    return 0;
}

/* --- URLs --- */

struct url_parts {
    char *scheme, *host, *port, *user, *password;
};

static void parts_free(struct url_parts *u) {
    curl_free(u->scheme);
    curl_free(u->host);
    curl_free(u->port);
    curl_free(u->user);
    curl_free(u->password);
}

static int parts_of(const char *url, struct url_parts *u) {
    CURLU *h = curl_url();
    *u = (struct url_parts){0};
    if (!h) return WOPR_E_NO_MEMORY;
    int rc = curl_url_set(h, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
                     curl_url_get(h, CURLUPART_SCHEME, &u->scheme, 0) == CURLUE_OK &&
                     curl_url_get(h, CURLUPART_HOST, &u->host, 0) == CURLUE_OK
                 ? 0
                 : WOPR_E_VALIDATION;
    (void)curl_url_get(h, CURLUPART_PORT, &u->port, 0);
    (void)curl_url_get(h, CURLUPART_USER, &u->user, 0);
    (void)curl_url_get(h, CURLUPART_PASSWORD, &u->password, 0);
    curl_url_cleanup(h);
    return rc;
}

/* An address with a final dot, in any form of the C library: a name for libcurl, an address for
 * some name servers. */
static bool numeric_with_dot(const char *host) {
    char z[HOST_TEXT_MAX];
    struct in_addr v4;
    size_t n = strlen(host);
    if (n < 2 || n >= sizeof z || host[n - 1] != '.') return false;
    memcpy(z, host, n - 1);
    z[n - 1] = '\0';
    return inet_aton(z, &v4) != 0;
}

/* -1: a name.  0: a refused address.  1: a public one.  2: one of the allow list. */
static int host_kind(const char *host, const struct egress_allow *allow) {
    char z[HOST_TEXT_MAX];
    size_t n = strlen(host);
    uint8_t a[16];
    struct in_addr v4;
    if (n >= sizeof z) return 0;
    if (n > 1 && host[0] == '[' && host[n - 1] == ']') {
        memcpy(z, host + 1, n - 2);
        z[n - 2] = '\0';
        char *zone = strchr(z, '%');
        if (zone || inet_pton(AF_INET6, z, a) != 1) return 0;
    } else if (inet_pton(AF_INET, host, &v4) == 1) {
        /* curl has turned 0x7f.1 and 2130706433 into dotted form. */
        ipv4_map(&v4, a);
    } else {
        return numeric_with_dot(host) ? 0 : -1;
    }
    if (egress_allow_has(allow, a)) return 2;
    return ipv6_refused(a) ? 0 : 1;
}

static bool name_refused(struct str host, const struct egress_allow *allow) {
    static const char *const NAMES[] = {"metadata", "metadata.google.internal"};
    if (host.n > 0 && host.p[host.n - 1] == '.') host.n--;
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++)
        if (str_eq_nocase(host, str_c(NAMES[i]))) return true;
    bool local = str_eq_nocase(host, STR("localhost")) ||
                 (host.n > 10 && str_eq_nocase(str_n(host.p + host.n - 10, 10), STR(".localhost")));
    return local && allow->n == 0;
}

static int parts_check(const struct url_parts *u, const struct egress_allow *allow,
                       struct wopr_error *err) {
    bool https = strcmp(u->scheme, "https") == 0;
    if (!https && strcmp(u->scheme, "http") != 0)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the URL is not an https URL");
    if (u->user || u->password)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the URL carries a user name or password");
    int kind = host_kind(u->host, allow);
    if (kind == 0 || (kind < 0 && name_refused(str_c(u->host), allow)))
        return wopr_error_set(err, WOPR_E_VALIDATION,
                              "the URL points into a private or reserved network; an operator can "
                              "allow its address with --egress-allow");
    bool special = kind == 2 || (kind < 0 && allow->n > 0);
    if (!https && !special)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the URL is not an https URL");
    if (u->port && strcmp(u->port, "443") != 0 && !special)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the URL names a port other than 443");
    return 0;
}

int egress_url_check(struct str url, const struct egress_allow *allow, struct wopr_error *err) {
    char z[EGRESS_URL_MAX + 1];
    struct url_parts u;
    if (url.n == 0 || url.n > EGRESS_URL_MAX)
        return wopr_error_set(err, WOPR_E_VALIDATION, "the URL is empty or longer than %u bytes",
                              EGRESS_URL_MAX);
    for (size_t i = 0; i < url.n; i++)
        if ((unsigned char)url.p[i] <= 0x20 || (unsigned char)url.p[i] == 0x7f)
            return wopr_error_set(err, WOPR_E_VALIDATION,
                                  "the URL contains blanks or control characters");
    int rc = curl_late(err);
    if (rc != 0) return rc;
    memcpy(z, url.p, url.n);
    z[url.n] = '\0';
    rc = parts_of(z, &u);
    if (rc == WOPR_E_NO_MEMORY) (void)wopr_error_set(err, rc, "no memory for a URL");
    else if (rc != 0) (void)wopr_error_set(err, rc, "the URL is malformed");
    else rc = parts_check(&u, allow, err);
    parts_free(&u);
    return rc;
}
