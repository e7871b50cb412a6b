/*
 * base_url.c: the base of absolute URLs in answers.
 *
 * A Host header is the client's claim, and an answer that repeats it may be stored and sent to
 * other clients.  So only names that the settings vouch for are repeated; for any other the answer
 * names the address at which this connection arrived.
 */
#include "base/net.h"
#include "http/exchange.h"
#include "http/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>

enum { HOST_BYTES_MAX = 255 };

static bool host_ok(struct str h) {
    if (h.n == 0 || h.n > HOST_BYTES_MAX) return false;
    for (size_t i = 0; i < h.n; i++) {
        char ch = h.p[i];
        bool ok = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
                  (ch >= '0' && ch <= '9') || ch == '.' || ch == '-' || ch == ':' || ch == '[' ||
                  ch == ']' || ch == '_';
        if (!ok) return false;
    }
    return true;
}

/* "name" of "name", "name:port" or "[v6]:port". */
static struct str name_of(struct str host) {
    struct str name, port;
    if (host.p[0] == '[')
        return str_cut(host, ']', &name, &port) ? str_n(host.p, name.n + 1) : host;
    return str_cut(host, ':', &name, &port) ? name : host;
}

bool host_is_loopback(struct str name) {
    struct in_addr v4;
    char text[INET_ADDRSTRLEN];
    if (str_eq_nocase(name, STR("localhost")) || str_eqc(name, "::1") || str_eqc(name, "[::1]"))
        return true;
    if (name.n == 0 || name.n >= sizeof text) return false;
    memcpy(text, name.p, name.n);
    text[name.n] = '\0';
    return inet_pton(AF_INET, text, &v4) == 1 && ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* An entry without a port matches every port. */
static bool host_listed(const char *const *list, struct str host) {
    struct str name = name_of(host);
    for (; list && *list; list++)
        if (str_eq_nocase(host, str_c(*list)) || str_eq_nocase(name, str_c(*list))) return true;
    return false;
}

static bool host_allowed(const struct http_server *s, struct str host) {
    if (!host_ok(host)) return false;
    if (host_is_loopback(str_c(s->cfg.host)) && host_is_loopback(name_of(host))) return true;
    return host_listed(s->cfg.allowed_hosts, host);
}

/* The address at which this connection arrived, or the configured one when it is unknown. */
static struct str arrived_at(struct exchange *x, const char *scheme) {
    const struct http_server *s = x->pub.server;
    const union MHD_ConnectionInfo *info =
        x->conn ? MHD_get_connection_info(x->conn, MHD_CONNECTION_INFO_CONNECTION_FD) : NULL;
    struct sockaddr_storage at = {0};
    char text[INET6_ADDRSTRLEN] = "";
    if (info && net_own_address(info->connect_fd, &at)) {
        if (at.ss_family == AF_INET)
            (void)inet_ntop(AF_INET, &((struct sockaddr_in *)&at)->sin_addr, text, sizeof text);
        else if (at.ss_family == AF_INET6)
            (void)inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&at)->sin6_addr, text, sizeof text);
    }
    const char *name = text[0] ? text : s->cfg.host;
    const char *format = strchr(name, ':') ? "%s://[%s]:%u" : "%s://%s:%u";
    return arena_printf(x->pub.arena, format, scheme, name, s->listen.port);
}

static struct str public_base(const struct http_server *s) {
    struct str url = str_c(s->cfg.public_url);
    while (url.n > 0 && url.p[url.n - 1] == '/') url.n--;
    return url;
}

static bool host_is_any(const char *host) {
    struct in6_addr v6;
    struct in_addr v4;
    if (inet_pton(AF_INET, host, &v4) == 1) return v4.s_addr == INADDR_ANY;
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_UNSPECIFIED(&v6);
}

struct str http_server_base(const struct http_server *s, struct arena *a) {
    if (s->cfg.public_url) return public_base(s);
    if (host_is_any(s->cfg.host)) return STR("");
    const char *format = strchr(s->cfg.host, ':') ? "%s://[%s]:%u" : "%s://%s:%u";
    return arena_printf(a, format, s->cfg.tls_cert_file ? "https" : "http", s->cfg.host,
                        s->listen.port);
}

struct str http_base_url(struct http_call *c) {
    const struct http_server *s = c->server;
    if (s->cfg.public_url) return public_base(s);
    const char *scheme = s->cfg.tls_cert_file ? "https" : "http";
    struct str host = exchange_of(c)->head.host;
    if (!host_allowed(s, host)) return arrived_at(exchange_of(c), scheme);
    return arena_printf(c->arena, "%s://" STR_FMT, scheme, STR_ARG(host));
}

struct str http_resource_metadata(struct http_call *c, struct str path) {
    return arena_printf(c->arena, STR_FMT "/.well-known/oauth-protected-resource" STR_FMT,
                        STR_ARG(http_base_url(c)), STR_ARG(path));
}

/* --- DNS rebinding --- */

/* "host:port" of "scheme://host:port". */
static struct str authority_of(struct str origin) {
    const char *at = NULL;
    for (size_t i = 0; !at && i + 3 <= origin.n; i++)
        if (memcmp(origin.p + i, "://", 3) == 0) at = origin.p + i + 3;
    return at ? str_n(at, (size_t)(str_end(origin) - at)) : STR_NONE;
}

static bool is_public_host(const struct http_server *s, struct str host) {
    return s->cfg.public_url && str_eq_nocase(authority_of(public_base(s)), host);
}

/* Away from loopback, and with no setting that names the host, a name says nothing: then the
 * credential alone does. */
static bool host_known(const struct http_server *s, struct str host) {
    bool named = s->cfg.public_url || s->cfg.allowed_hosts;
    if (host_allowed(s, host) || is_public_host(s, host)) return true;
    return !named && host_ok(host) && !host_is_loopback(str_c(s->cfg.host));
}

static bool origin_known(struct exchange *x, struct str origin) {
    const struct http_server *s = x->pub.server;
    struct str at = authority_of(origin);
    if (cors_allows(s, origin)) return true;
    if (!host_ok(at)) return false;
    if (is_public_host(s, at) || host_allowed(s, at)) return true;
    return str_eq_nocase(at, x->head.host); /* which is known */
}

bool http_is_foreign(struct http_call *c) {
    struct exchange *x = exchange_of(c);
    if (!host_known(c->server, x->head.host)) return true;
    return x->head.origin.p && !origin_known(x, x->head.origin);
}
