/* net.c: see net.h. */
#define _GNU_SOURCE /* accept4 */
#include "base/net.h"

#include "base/fault.h"

#include <errno.h>
#include <netdb.h>

/* Does this passage fail?  errno says how. */
static bool fault_as(int error) {
    if (!fault_hit(FAULT_NET)) return false;
    errno = error;
    return true;
}

int net_socket(int family, int type, int protocol) {
    return fault_as(ENOBUFS) ? -1 : socket(family, type | SOCK_CLOEXEC, protocol);
}

int net_accept(int fd, struct sockaddr *from, socklen_t *n, int flags) {
    return fault_as(ECONNABORTED) ? -1 : accept4(fd, from, n, flags | SOCK_CLOEXEC);
}

ssize_t net_recv(int fd, void *p, size_t n, int flags) {
    return fault_as(ECONNRESET) ? -1 : recv(fd, p, n, flags);
}

ssize_t net_send(int fd, const void *p, size_t n, int flags) {
    return fault_as(ECONNRESET) ? -1 : send(fd, p, n, flags | MSG_NOSIGNAL);
}

ssize_t net_sendmsg(int fd, const struct msghdr *m, int flags) {
    return fault_as(ECONNRESET) ? -1 : sendmsg(fd, m, flags | MSG_NOSIGNAL);
}

int net_lookup(const char *host, const char *service, const struct addrinfo *hints,
               struct addrinfo **out) {
    return fault_hit(FAULT_NET) ? EAI_AGAIN : getaddrinfo(host, service, hints, out);
}
