/*
 * upkeep.h: the timer thread: deadlines, heartbeat, sweep, housekeeping.  Layer: engine, not for
 * others.
 */
#ifndef WOPR_ENGINE_UPKEEP_H
#define WOPR_ENGINE_UPKEEP_H

#include "engine/core.h"

#define ENGINE_SWEEP_SKIPS_MAX 4096u /* runs of full tenants that one sweep skips */
#define ENGINE_PURGE_MS        60000

/* The timer thread: deadlines, heartbeats, sweeps, purges. */
void *timer_main(void *engine);
void upkeep_release(struct engine *e); /* releases all leases and waits for it (STORE-36) */

#endif
