/*
 * lane.h: what waits for a place, one queue per tenant, and the places each has.  Layer: egress.
 * Tenants take turns; none has more than its share of the places or of the queue, so one whose
 * peers never answer delays only itself.  Not thread-safe: the owner's mutex is held in every call.
 */
#ifndef WOPR_EGRESS_LANE_H
#define WOPR_EGRESS_LANE_H

#include "base/error.h"
#include "base/list.h"
#include "base/map.h"

struct lane; /* of one tenant; gone when it has nothing waiting and no place */
struct lanes {
    struct map *tenants;              /* by name */
    struct list turns;                /* lanes that have something waiting and a place free */
    unsigned places_max, waiting_max; /* of one tenant */
    size_t waiting_nr;
};
MUST_CHECK int lanes_init(struct lanes *s, unsigned places_max, unsigned waiting_max);
void lanes_fini(struct lanes *s); /* nothing waits, no place is taken */
/* Queue an item.  *of names the tenant's lane, until its lane_leave().  0, UNAVAILABLE (the
 * tenant's queue is full) or NO_MEMORY. */
MUST_CHECK int lane_join(struct lanes *s, struct str tenant, struct list *item, struct lane **of);
/* The next item in turn; its lane has one place more taken.  NULL: nothing may begin. */
struct list *lane_take(struct lanes *s);
/* Any item, whatever the bounds: at the end.  Its lane has one place more taken. */
struct list *lane_take_any(struct lanes *s);
void lane_leave(struct lanes *s, struct lane *of);                   /* gives a place back */
void lane_quit(struct lanes *s, struct lane *of, struct list *item); /* waits no more */

#endif
