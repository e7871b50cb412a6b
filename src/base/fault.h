/*
 * fault.h: numbered fault points.  Layer: base.
 * Disarmed (always, in production) a fault point costs one relaxed atomic load.
 */
#ifndef WOPR_BASE_FAULT_H
#define WOPR_BASE_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>

enum fault_site {
    FAULT_MALLOC,
    FAULT_WRITE,
    FAULT_FSYNC,
    FAULT_RENAME, /* a name that goes: SQLite's files only, by the VFS of the tests */
    FAULT_CLOCK,
    FAULT_NET,
    FAULT_SITE_NR
};
#define FAULT_EVERY_SITE ((1u << FAULT_SITE_NR) - 1u)
/* Let the nth passage (from 1) of the sites in the mask fail, once.  For loops over n, which begin
 * with 1: false when the previous round met no failure, because there are no more passages. */
bool fault_arm(unsigned site_mask, unsigned nth);
void fault_disarm(void);
bool fault_fired(void);
const char *fault_where(void); /* name of the site that fired last */

extern atomic_uint fault_armed_mask; /* 0 = disarmed */
bool fault_passage(enum fault_site site);
/* Called at the site: true = fail now. */
static inline bool fault_hit(enum fault_site site) {
    return atomic_load_explicit(&fault_armed_mask, memory_order_relaxed) != 0 &&
           fault_passage(site);
}
/* The same where the kernel would say why: errno is set when it fails. */
bool fault_passage_as(enum fault_site site, int error);
static inline bool fault_hit_as(enum fault_site site, int error) {
    return atomic_load_explicit(&fault_armed_mask, memory_order_relaxed) != 0 &&
           fault_passage_as(site, error);
}

#endif
