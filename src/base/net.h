/*
 * net.h: sockets.  Layer: base.
 * Thin and inline: what the kernel answers comes back, with errno.  Each call that may fail for
 * want of resources or by the peer is a fault point, FAULT_NET: no socket, no such name, a
 * connection that is gone or reset.  Any thread; net_lookup blocks for the network, the others as
 * their socket does.
 */
#ifndef WOPR_BASE_NET_H
#define WOPR_BASE_NET_H

#include "base/error.h"
#include "base/fault.h"

#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

/* close-on-exec */
MUST_CHECK static inline int net_socket(int family, int type, int protocol) {
    return fault_hit_as(FAULT_NET, ENOBUFS) ? -1 : socket(family, type | SOCK_CLOEXEC, protocol);
}
/* bind(2) and listen(2). */
MUST_CHECK static inline int net_listen(int fd, const struct sockaddr *at, socklen_t n,
                                        int backlog) {
    if (fault_hit_as(FAULT_NET, ENOBUFS) || bind(fd, at, n) != 0) return -1;
    return listen(fd, backlog);
}
/* accept4(2), close-on-exec; from may be NULL. */
MUST_CHECK int net_accept(int fd, struct sockaddr *from, socklen_t *n, int flags);
MUST_CHECK static inline ssize_t net_recv(int fd, void *p, size_t n, int flags) {
    return fault_hit_as(FAULT_NET, ECONNRESET) ? -1 : recv(fd, p, n, flags);
}
/* Never SIGPIPE, as net_sendmsg. */
MUST_CHECK static inline ssize_t net_send(int fd, const void *p, size_t n, int flags) {
    return fault_hit_as(FAULT_NET, ECONNRESET) ? -1 : send(fd, p, n, flags | MSG_NOSIGNAL);
}
MUST_CHECK static inline ssize_t net_sendmsg(int fd, const struct msghdr *m, int flags) {
    return fault_hit_as(FAULT_NET, ECONNRESET) ? -1 : sendmsg(fd, m, flags | MSG_NOSIGNAL);
}
/* setsockopt(2) of an int; most are hints, whose failure a caller may live with. */
static inline int net_option(int fd, int level, int name, int value) {
    return fault_hit_as(FAULT_NET, ENOBUFS) ? -1
                                            : setsockopt(fd, level, name, &value, sizeof value);
}
/* Where this end of a connection is. */
MUST_CHECK static inline bool net_own_address(int fd, struct sockaddr_storage *out) {
    socklen_t n = sizeof *out;
    if (fault_hit_as(FAULT_NET, ENOBUFS)) return false;
    return getsockname(fd, (struct sockaddr *)out, &n) == 0;
}
static inline int net_shut(int fd, int how) { return shutdown(fd, how); }

/* getaddrinfo(3): 0 or EAI_*; freeaddrinfo ends *out. */
MUST_CHECK static inline int net_lookup(const char *host, const char *service,
                                        const struct addrinfo *hints, struct addrinfo **out) {
    return fault_hit(FAULT_NET) ? EAI_AGAIN : getaddrinfo(host, service, hints, out);
}
/* The numeric form of an address. */
MUST_CHECK static inline bool net_address_text(const struct sockaddr *sa, socklen_t n, char *out,
                                               socklen_t size) {
    return getnameinfo(sa, n, out, size, NULL, 0, NI_NUMERICHOST) == 0;
}

#endif
