/*
 * fault.c: which passage of a fault point fails.
 */
#include "base/fault.h"

#include <errno.h>

atomic_uint fault_armed_mask;
static atomic_uint armed_left;  /* passages until the one that fails */
static atomic_bool round_open;  /* a round was armed, and no loop has ended since */
static atomic_bool round_fired; /* of the round armed last */
static atomic_uint fired_site = FAULT_SITE_NR;

static const char *const SITE_NAMES[FAULT_SITE_NR + 1] = {
    [FAULT_MALLOC] = "malloc", [FAULT_WRITE] = "write", [FAULT_FSYNC] = "fsync",
    [FAULT_RENAME] = "rename", [FAULT_CLOCK] = "clock", [FAULT_NET] = "net",
    [FAULT_SITE_NR] = "none",
};

bool fault_arm(unsigned site_mask, unsigned nth) {
    atomic_store(&fault_armed_mask, 0);
    bool unreached = atomic_load(&round_open) && !atomic_load(&round_fired);
    atomic_store(&round_open, false);
    if (nth == 0 || (nth > 1 && unreached)) return false;
    atomic_store(&round_open, true);
    atomic_store(&round_fired, false);
    atomic_store(&armed_left, nth);
    atomic_store_explicit(&fault_armed_mask, site_mask & FAULT_EVERY_SITE, memory_order_release);
    return true;
}

void fault_disarm(void) { atomic_store(&fault_armed_mask, 0); }

bool fault_fired(void) { return atomic_load(&round_fired); }

const char *fault_where(void) { return SITE_NAMES[atomic_load(&fired_site)]; }

bool fault_passage(enum fault_site site) {
    unsigned mask = atomic_load_explicit(&fault_armed_mask, memory_order_acquire);
    if ((mask & (1u << site)) == 0) return false;
    if (atomic_fetch_sub(&armed_left, 1) != 1) return false;
    atomic_store(&fault_armed_mask, 0);
    atomic_store(&fired_site, (unsigned)site);
    atomic_store(&round_fired, true);
    return true;
}

bool fault_passage_as(enum fault_site site, int error) {
    if (!fault_passage(site)) return false;
    errno = error;
    return true;
}
