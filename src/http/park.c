/*
 * park.c: suspend and resume of one connection without lost wakes.
 *
 *   RUNNING  the connection's thread may touch it
 *   WOKEN    the same, and a wake has arrived since
 *   PARKED   suspended
 *
 * park_here suspends first and declares it second, so that a waker only ever resumes a suspended
 * connection.  A wake between the two finds RUNNING and leaves WOKEN, and park_here resumes.
 */
#include "http/park.h"
#include "http/loop.h"
#include "http/outlet.h"
#include "http/server.h"

enum park_state { PARK_RUNNING, PARK_WOKEN, PARK_PARKED };

void park_init(struct park *p, struct http_server *s, struct MHD_Connection *conn) {
    p->conn = conn;
    p->server = s;
    p->loop = loop_here();
    atomic_init(&p->state, PARK_RUNNING);
    list_init(&p->ready);
}

void park_clear(struct park *p) { atomic_store(&p->state, PARK_RUNNING); }

/* The counter is lowered last: http_server_free waits for zero before it stops the daemon. */
static void park_resume(struct park *p) {
    struct http_server *s = p->server;
    struct loop_seat *l = p->loop; /* once resumed, p may go */
    if (!p->conn) {
        outlets_wake(l->outlets, p);
        loop_wake(l);
        return;
    }
    MHD_resume_connection(p->conn);
    loop_wake(l);
    atomic_fetch_sub(&s->parked, 1);
}

bool park_here(struct park *p) {
    int was = PARK_WOKEN;
    if (atomic_compare_exchange_strong(&p->state, &was, PARK_RUNNING)) return false;
    if (!p->conn) {
        was = PARK_RUNNING;
        if (atomic_compare_exchange_strong(&p->state, &was, PARK_PARKED)) return true;
        atomic_store(&p->state, PARK_RUNNING);
        return false;
    }
    atomic_fetch_add(&p->server->parked, 1);
    MHD_suspend_connection(p->conn);
    was = PARK_RUNNING;
    if (!atomic_compare_exchange_strong(&p->state, &was, PARK_PARKED)) {
        atomic_store(&p->state, PARK_RUNNING);
        park_resume(p);
    }
    return true;
}

void park_wake(struct park *p) {
    int was = atomic_load(&p->state);
    for (;;) {
        if (was == PARK_WOKEN) return;
        int to = was == PARK_PARKED ? PARK_RUNNING : PARK_WOKEN;
        if (!atomic_compare_exchange_weak(&p->state, &was, to)) continue;
        if (was == PARK_PARKED) park_resume(p);
        return;
    }
}
