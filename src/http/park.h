/*
 * park.h: suspending a connection without losing a wake.  Layer: http.
 */
#ifndef WOPR_HTTP_PARK_H
#define WOPR_HTTP_PARK_H

#include "base/list.h"

#include <microhttpd.h>
#include <stdatomic.h>
#include <stdbool.h>

struct http_server;
struct loop_seat;
struct park {
    struct MHD_Connection *conn; /* NULL: the socket has left libmicrohttpd (outlet.c) */
    struct http_server *server;
    struct loop_seat *loop; /* whose thread the connection belongs to */
    atomic_int state;       /* enum park_state */
    struct list ready;      /* without conn: woken and not yet served */
};
/* On the connection's own thread. */
void park_init(struct park *p, struct http_server *s, struct MHD_Connection *conn);
/* On the connection's own thread, inside a callback of libmicrohttpd or of an outlet.  false: a
 * wake came first, go on at once.  true: return now; the callback is called again after a wake. */
bool park_here(struct park *p);
/* From any thread, any number of times, while the owner of p lives.  Never lost, never blocks. */
void park_wake(struct park *p);
/* Forget a wake that came while the connection ran: its cause has been dealt with. */
void park_clear(struct park *p);

#endif
