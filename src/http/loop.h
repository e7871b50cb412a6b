/*
 * loop.h: the threads that serve connections.  Layer: http.
 */
#ifndef WOPR_HTTP_LOOP_H
#define WOPR_HTTP_LOOP_H

#include <stdbool.h>

struct http_server;
struct http_loop;
struct outlets;
struct watch;
struct http_loop *loop_here(void); /* of the calling thread, NULL elsewhere */
void loop_wake(struct http_loop *l);
struct outlets *loop_outlets(struct http_loop *l);
struct watch *loop_watch(struct http_loop *l);
bool loops_start(struct http_server *s);   /* on listen_fd, which stays the server's */
void loops_quiesce(struct http_server *s); /* accept no more; takes effect soon */
void loops_stop(struct http_server *s);    /* nothing may be suspended */

#endif
