/*
 * net.h: the calls by which bytes enter and leave the process.  Layer: base.
 * Thin: what the kernel answers comes back, with errno.  Each is a fault point, FAULT_NET: no
 * socket, no such name, a connection that is gone or reset.  Any thread; net_lookup blocks for the
 * network.
 */
#ifndef WOPR_BASE_NET_H
#define WOPR_BASE_NET_H

#include "base/error.h"

#include <sys/socket.h>
#include <sys/types.h>

struct addrinfo;
MUST_CHECK int net_socket(int family, int type, int protocol); /* close-on-exec */
MUST_CHECK int net_accept(int fd, struct sockaddr *from, socklen_t *n, int flags); /* accept4(2) */
MUST_CHECK ssize_t net_recv(int fd, void *p, size_t n, int flags);
MUST_CHECK ssize_t net_send(int fd, const void *p, size_t n, int flags);   /* never SIGPIPE */
MUST_CHECK ssize_t net_sendmsg(int fd, const struct msghdr *m, int flags); /* never SIGPIPE */
/* getaddrinfo(3): 0 or EAI_*; freeaddrinfo ends *out. */
MUST_CHECK int net_lookup(const char *host, const char *service, const struct addrinfo *hints,
                          struct addrinfo **out);

#endif
