/*
 * lane.h: requests that wait for a place: one queue per tenant and peer, and the places of each
 * tenant and of each peer.  Layer: egress.  Tenants take turns, and so do the peers of a tenant;
 * each tenant has a bounded share of the places, of the queue (by weight: bytes, or items) and of
 * any one peer, so one whose
 * peers never answer delays only itself there.  Not thread-safe: the owner's mutex is held in every
 * call.
 */
#ifndef WOPR_EGRESS_LANE_H
#define WOPR_EGRESS_LANE_H

#include "base/error.h"
#include "base/list.h"
#include "base/map.h"

struct lane; /* of a tenant to a peer; freed when nothing waits and it has no place */
struct lanes {
    struct map *lanes;           /* by tenant and peer */
    struct map *parties, *peers; /* by name */
    struct list turns;           /* tenants with something waiting and a free place */
    unsigned places_max;         /* of one tenant */
    size_t waiting_max;          /* weight of what waits of one tenant */
    /* Of an item; stays the same while it waits.  NULL: 1 each. */
    size_t (*weight)(const struct list *item);
    unsigned all_max;  /* places of all; 0: no bound on them together */
    unsigned peer_max; /* places at one peer; 0: no bound */
    unsigned taken_nr;
    unsigned full_nr;           /* peers at which every place is taken */
    size_t waiting_nr, waiting; /* items, and their weight */
    bool stuck; /* the last look found nothing that may begin, and nothing has changed since */
};
/* places_max: transfers at a time, waiting_max: weight of queued ones, both of one tenant.  With
 * all_max a tenant that has places takes one more only while they are less than a quarter of those
 * that are free, so that a few tenants together never take them all; with peer_max the same holds
 * at each peer.  NO_MEMORY. */
MUST_CHECK int lanes_init(struct lanes *s, unsigned places_max, size_t waiting_max);
void lanes_fini(struct lanes *s); /* nothing waits, no place is taken */
/* Queue an item.  peer: whom it is for, empty: nobody that has a bound.  *of names the lane, until
 * its lane_leave().  0, UNAVAILABLE (the tenant's queue is full) or NO_MEMORY. */
MUST_CHECK int lane_join(struct lanes *s, struct str tenant, struct str peer, struct list *item,
                         struct lane **of);
/* Dequeue the next item and take a place of its lane.  NULL: nothing may begin. */
struct list *lane_take(struct lanes *s);
/* The same whatever the bounds, for stopping. */
struct list *lane_take_any(struct lanes *s);
void lane_leave(struct lanes *s, struct lane *of);                   /* releases a place */
void lane_quit(struct lanes *s, struct lane *of, struct list *item); /* dequeues it */

#endif
