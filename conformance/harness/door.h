/*
 * door.h: a small HTTP server in a process of its own, for what a host sends out: one request for
 * each connection, one connection at a time.
 */
#ifndef WOPR_CONFORMANCE_DOOR_H
#define WOPR_CONFORMANCE_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define DOORS_MAX 2

struct asked {
    int fd;
    int door; /* at which of them */
    char method[16];
    char path[256];       /* with its query */
    char head[16384 + 1]; /* lines with CR LF */
    char *body;           /* NUL-terminated; malloc */
    size_t body_n;
};
struct doors {
    pid_t pid;
    int life; /* it ends when this is closed everywhere */
    int port[DOORS_MAX];
};
/* port of each door: 0 = any; filled in.  serve runs in the other process and answers.  false with
 * a line on stderr that names what. */
bool doors_start(struct doors *d, const char *what, int n, void (*serve)(struct asked *a));
void doors_stop(struct doors *d); /* takes one that never started */

/* --- in the process of the doors --- */
void door_answer(const struct asked *a, const char *status, const char *json, size_t n);

#endif
