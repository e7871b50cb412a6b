/*
 * held.h: sessions that calls leave behind for the next call of the same session.  Layer: rail, not
 * for others.
 *
 * A session is read, judged and folded from its first event once; the next call reads what was
 * appended since (WR-73, WR-87).  Nothing here is truth: who takes a session compares it with the
 * head that is stored before it is used, so what another process wrote is never missed, and what is
 * lost is read again.
 *
 * A session has one user: who takes it has it alone, a call that comes meanwhile reads its own.
 * Bounds are bytes.  A tenant has half of them at most; when all are used, the tenant that has most
 * loses what it has not used for longest, so a tenant with many sessions takes nothing from one
 * with few.  Any thread.
 */
#ifndef WOPR_RAIL_HELD_H
#define WOPR_RAIL_HELD_H

#include "base/list.h"
#include "base/map.h"
#include "rail/derive.h"
#include "rail/session.h"

#include <pthread.h>

#define HELD_BYTES_DEFAULT ((size_t)128 * 1024 * 1024)
enum { HELD_MS = 10 * 60 * 1000 }; /* unused for so long it is dropped: a quiet host is small */

struct held_share;
struct rail_held {
    struct arena *arena; /* of the truth */
    struct rail_session session;
    struct rail_runs runs;
    bool ahead; /* of what is stored, or half folded: to be dropped */
    /* --- private to held.c --- */
    struct list link;
    struct held_share *share;
    size_t bytes;
    uint64_t until_ms; /* monotonic */
};
struct held_sessions {
    pthread_mutex_t lock;
    struct map *by_id;     /* session id -> struct rail_held */
    struct map *by_tenant; /* tenant -> struct held_share */
    struct list shares;
    size_t bytes, bytes_max;
};
MUST_CHECK int held_init(struct held_sessions *h, size_t bytes_max);
void held_fini(struct held_sessions *h); /* takes one that is all zero */

struct rail_held *held_new(void);    /* an empty one; NULL: no memory */
void held_free(struct rail_held *x); /* takes NULL */
/* x->session was read into x->arena: its head becomes of it, too.  false: no memory. */
MUST_CHECK bool held_own(struct rail_held *x);
/* The session, if it is held and of this owner; NULL: it must be read. */
struct rail_held *held_take(struct held_sessions *h, const struct rail_owner *owner,
                            struct str session_id);
/* Takes x back: kept if it may be used again, else freed.  Its session must be what is stored but
 * for `ahead`. */
void held_put(struct held_sessions *h, struct rail_held *x);
/* Drops what was not used for HELD_MS. */
void held_sweep(struct held_sessions *h);
size_t held_bytes(struct held_sessions *h, struct str tenant); /* tenant empty: of all */

#endif
