/*
 * host.h: the wopr program under test, started once in the parent when no base URL is given.
 * Owns the process and its temporary folder; the process ends with us, however we end.
 */
#ifndef WOPR_CONFORMANCE_HOST_H
#define WOPR_CONFORMANCE_HOST_H

#include <stdbool.h>
#include <sys/types.h>

#define HOST_KEY "hk_test_conformance_key_0123456789abcdef"

struct host {
    pid_t keeper; /* ends the host when life is closed */
    int life;
    char dir[256], base[64];
};
/* Start program on a free loopback port with an empty database and the conformance seed.  extra:
 * further arguments, NULL-terminated, may be NULL.  false with a line on stderr when it does not
 * come up within HOST_START_MS. */
#define HOST_START_MS 20000
bool host_start(struct host *h, const char *program, const char *const *extra);
/* SIGTERM, then SIGKILL after HOST_STOP_MS; deletes the folder.  The exit status, -1 when killed.
 */
#define HOST_STOP_MS 10000
int host_stop(struct host *h);

#endif
