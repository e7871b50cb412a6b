/*
 * clock.h: wall time, monotonic time and randomness behind one replaceable struct.  Layer: base.
 * Tests install their own with sys_set(); production never does.  Time unit: milliseconds unless
 * the name says otherwise.
 */
#ifndef WOPR_BASE_CLOCK_H
#define WOPR_BASE_CLOCK_H

#include "base/error.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct sys_ops {
    int64_t (*wall_ms)(void *ctx);  /* Unix epoch, UTC */
    uint64_t (*mono_ns)(void *ctx); /* never decreases */
    void (*random)(void *ctx, void *out, size_t n);
    void *ctx;
};
int64_t clock_wall_ms(void);
uint64_t clock_mono_ns(void);
static inline uint64_t clock_mono_ms(void) { return clock_mono_ns() / 1000000u; }
/* Processor time that this process has had; never replaced. */
uint64_t clock_cpu_ms(void);
void rng_bytes(void *out,
               size_t n); /* cryptographic quality; aborts the process when the kernel has none */
uint64_t rng_u64(void);
/* The same from a stock of this thread: for ids, which are no secrets once they are given out. */
void rng_ids(void *out, size_t n);
/* The real wall clock is shown *offset_ms later from now on (tests of several processes).  Before
 * threads start; the number may be changed at any time after. */
void clock_wall_offset(const volatile int64_t *offset_ms);
/* A condition whose timed waits end by the monotonic clock.  NO_MEMORY. */
MUST_CHECK int clock_cond_init(pthread_cond_t *c);
/* The calling thread sleeps, in real time whatever the clock; a signal may end it early. */
void clock_sleep_ms(int64_t ms);
/* Not thread-safe against running users: call before threads start.  NULL restores the real one. */
void sys_set(const struct sys_ops *ops);

#endif
