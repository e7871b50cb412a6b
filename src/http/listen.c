/*
 * listen.c: a socket that listens, and why there is none.
 */
#include "base/net.h"
#include "http/server.h"

#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

enum { SERVER_BACKLOG = 4096 };

/* 0 when the kernel does not say. */
static uint16_t bound_port(int fd) {
    struct sockaddr_storage ss;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (!net_own_address(fd, &ss)) return 0;
    if (ss.ss_family == AF_INET) {
        memcpy(&v4, &ss, sizeof v4);
        return ntohs(v4.sin_port);
    }
    memcpy(&v6, &ss, sizeof v6);
    return ntohs(v6.sin6_port);
}

static int listen_addr(const struct addrinfo *ai, int *fd, uint16_t *bound) {
    int f = net_socket(ai->ai_family, ai->ai_socktype | SOCK_NONBLOCK, ai->ai_protocol);
    if (f < 0) return errno;
    int e = net_option(f, SOL_SOCKET, SO_REUSEADDR, 1) == 0 ? 0 : errno;
    if (ai->ai_family == AF_INET6) (void)net_option(f, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (e == 0 && net_listen(f, ai->ai_addr, ai->ai_addrlen, SERVER_BACKLOG) != 0) e = errno;
    const uint16_t port = e == 0 ? bound_port(f) : 0;
    if (e == 0 && port == 0) e = errno;
    if (e != 0) {
        (void)close(f);
        return e;
    }
    *fd = f;
    *bound = port;
    return 0;
}

int listen_on(const char *host, uint16_t port, int *fd, uint16_t *bound, struct wopr_error *err) {
    char service[8];
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    (void)snprintf(service, sizeof service, "%u", port);
    int gai = net_lookup(host, service, &hints, &list);
    if (gai != 0)
        return wopr_error_set(err, WOPR_E_IO, "cannot resolve %s to listen on: %s", host,
                              gai_strerror(gai));
    int e = EADDRNOTAVAIL;
    for (struct addrinfo *ai = list; ai && e != 0; ai = ai->ai_next) e = listen_addr(ai, fd, bound);
    freeaddrinfo(list);
    if (e == 0) return 0;
    char why[128];
    const char *text = strerror_r(e, why, sizeof why) == 0 ? why : "unknown error";
    const char *remedy = e == EADDRNOTAVAIL ? "; name an address of this machine"
                         : e == EACCES      ? "; ports below 1024 need a privilege"
                         : e == EADDRINUSE  ? "; is another process using it?"
                                            : "";
    return wopr_error_set(err, WOPR_E_IO, "cannot listen on %s port %u: %s%s", host, port, text,
                          remedy);
}
