/*
 * loop_seat.c: the loop as its connections see it: which one is theirs, and how to wake it.  What
 * drives them is loop.c.
 */
#include "http/loop.h"

#include <errno.h>
#include <stdint.h>
#include <unistd.h>

static _Thread_local struct loop_seat *here;

struct loop_seat *loop_here(void) {
    return here;
}

void loop_sit(struct loop_seat *l) { here = l; }

void loop_wake(struct loop_seat *l) {
    const uint64_t one = 1;
    if (atomic_exchange(&l->woken, true)) return;
    while (write(l->wake_fd, &one, sizeof one) < 0 && errno == EINTR) continue;
}

void loop_wake_take(struct loop_seat *l) {
    uint64_t n;
    while (read(l->wake_fd, &n, sizeof n) < 0 && errno == EINTR) continue;
}
