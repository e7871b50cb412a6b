/*
 * child.h: a process that this one starts and talks to through a pair of sockets.  Layer: base.
 * One thread at a time, but for child_kill_now.
 */
#ifndef WOPR_BASE_CHILD_H
#define WOPR_BASE_CHILD_H

#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

struct child {
    pid_t pid; /* 0: there is none */
    int fd;    /* its standard input and output; -1: none */
};
/* Runs program (a path) with argv, an empty environment, standard error of this process and no
 * other of its files.  A fault point of FAULT_NET.  -1: errno. */
MUST_CHECK int child_start(const char *program, char *const argv[], struct child *out);
/* All n bytes, until deadline_ms of the monotonic clock.  0, WOPR_E_CLOSED (it ended, or closed its
 * end), WOPR_E_UNAVAILABLE (time is over). */
MUST_CHECK int child_write(struct child *c, const void *p, size_t n, uint64_t deadline_ms);
MUST_CHECK int child_read(struct child *c, void *p, size_t n, uint64_t deadline_ms);
/* Until there is something to read, or it has closed its end: 0; UNAVAILABLE: time is over. */
MUST_CHECK int child_poll(struct child *c, uint64_t deadline_ms);
/* What the kernel says of it.  false: nothing. */
struct child_usage {
    uint64_t cpu_ms; /* processor time so far */
    bool runnable;   /* it executes, or would if it had a core */
};
MUST_CHECK bool child_usage(const struct child *c, struct child_usage *out);
/* Any thread, while it is known to run: what is read from it ends. */
void child_kill_now(pid_t pid);
/* Ends it, whatever it does, and takes back what it used.  *signal: what it died of before, or 0;
 * may be NULL. */
void child_end(struct child *c, int *signal);
/* For the child itself: where memory is short, the kernel ends it before its parent.  A system that
 * has no such file has other ways. */
void child_first_to_go(void);

#endif
