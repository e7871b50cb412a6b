/*
 * fault.h: numbered fault points.  Layer: base.
 * Disarmed (always, in production) a fault point costs one relaxed atomic load.
 */
#ifndef WOPR_BASE_FAULT_H
#define WOPR_BASE_FAULT_H

#include <stdbool.h>

enum fault_site {
    FAULT_MALLOC,
    FAULT_WRITE,
    FAULT_FSYNC,
    FAULT_RENAME,
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
const char *fault_where(void);        /* name of the site that fired last */
bool fault_hit(enum fault_site site); /* called at the site: true = fail now */

#endif
