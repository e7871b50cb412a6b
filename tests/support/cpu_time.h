/* cpu_time.h: processor time of the calling thread, for bounds that only catch the return of a
 * quadratic or exponential cost: unlike the clock it does not count what other programs do. */
#ifndef WOPR_TESTS_SUPPORT_CPU_TIME_H
#define WOPR_TESTS_SUPPORT_CPU_TIME_H

#include <stdint.h>
#include <time.h>

static inline uint64_t cpu_time_us(void) {
    struct timespec t = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}
static inline uint64_t cpu_time_ms(void) { return cpu_time_us() / 1000u; }
/* Of all threads of the process. */
static inline uint64_t cpu_time_all_us(void) {
    struct timespec t = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

#endif
