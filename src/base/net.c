/* net.c: see net.h; what needs more than POSIX. */
#define _GNU_SOURCE /* accept4 */
#include "base/net.h"

int net_accept(int fd, struct sockaddr *from, socklen_t *n, int flags) {
    return fault_hit_as(FAULT_NET, ECONNABORTED) ? -1 : accept4(fd, from, n, flags | SOCK_CLOEXEC);
}
