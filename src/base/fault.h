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
/* Arm: the nth (from 1) passage of any site in the mask fails once.  Returns false when the
 * previous armed round was never reached (so a loop over n ends). The first call of a loop uses nth
 * == 1. */
bool fault_arm(unsigned site_mask, unsigned nth);
void fault_disarm(void);
bool fault_fired(void);
const char *fault_where(void);        /* name of the site that fired last */
bool fault_hit(enum fault_site site); /* called at the site: true = fail now */

#endif
