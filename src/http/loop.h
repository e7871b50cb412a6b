/*
 * loop.h: the threads that serve connections.  Layer: http.
 */
#ifndef WOPR_HTTP_LOOP_H
#define WOPR_HTTP_LOOP_H

#include <stdatomic.h>
#include <stdbool.h>

struct http_server;
struct outlets;
struct watch;
/* --- loop_seat.c: what a connection knows of its loop --- */
struct loop_seat {
    struct outlets *outlets;
    struct watch *watch;
    int wake_fd;
    atomic_bool woken; /* wake_fd was written and the thread has not seen it yet */
};
struct loop_seat *loop_here(void);        /* of the calling thread, NULL elsewhere */
void loop_sit(struct loop_seat *l);       /* the calling thread is this loop's */
void loop_wake(struct loop_seat *l);      /* any thread */
void loop_wake_take(struct loop_seat *l); /* on its thread: wake_fd is readable */

/* --- loop.c --- */
bool loops_start(struct http_server *s);   /* on listen_fd, which stays the server's */
void loops_quiesce(struct http_server *s); /* accept no more; takes effect soon */
void loops_stop(struct http_server *s);    /* nothing may be suspended */

#endif
