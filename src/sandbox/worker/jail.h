/*
 * jail.h: what the process of a worker gives up for ever.  Layer: sandbox, in the worker alone.
 */
#ifndef WOPR_SANDBOX_JAIL_H
#define WOPR_SANDBOX_JAIL_H

#include <stdbool.h>
#include <stdint.h>

/* No new privileges, no core dumps, no files beyond 0, 1 and 2, no more than address_max bytes of
 * address space and cpu_s seconds of processor time, and no system call beyond reading, writing,
 * memory and ending.  What the sanitizers need is left to a build that has them: there neither the
 * address space is limited nor are the calls filtered.  NULL: done; else what was refused. */
const char *jail_enter(uint64_t address_max, unsigned cpu_s);

#endif
