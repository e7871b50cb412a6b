/*
 * jail.h: what the process of a worker gives up for ever.  Layer: sandbox, in the worker alone.
 */
#ifndef WOPR_SANDBOX_JAIL_H
#define WOPR_SANDBOX_JAIL_H

#include <stdbool.h>
#include <stdint.h>

/* The end with the host that started it, no new privileges, no core dumps, no new files, no more
 * than address_max bytes of address space and cpu_s seconds of processor time.  NULL: done; else
 * what was refused.  What the sanitizers need is left to a build that has them: there neither the
 * address space is limited nor are the calls filtered. */
const char *jail_enter(uint64_t address_max, unsigned cpu_s);
/* Standard error, where the host's log goes, is closed, and no system call is left beyond reading,
 * writing, memory and ending.  false: refused, which nobody can be told. */
bool jail_shut(void);

#endif
