/* thread.c: see thread.h. */
#include "base/thread.h"

#include <sched.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

void thread_name(const char *name) { (void)prctl(PR_SET_NAME, name, 0, 0, 0); }
void thread_yield(void) { (void)sched_yield(); }

/* Of sched_setattr(2), which the C library does not declare. */
struct thread_attr {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
};

enum { PROMPT_SLICE_NS = 200 * 1000 }; /* the kernel's own is 3 ms or so */

/* The slice of a thread is also what it is preempted for: with a shorter one it need not wait for
 * the end of another's. */
void thread_prompt(void) {
    struct thread_attr a = {.size = sizeof a,
                            .policy = SCHED_OTHER,
                            .nice = getpriority(PRIO_PROCESS, 0),
                            .runtime_ns = PROMPT_SLICE_NS};
    if (sched_getscheduler(0) == SCHED_OTHER) (void)syscall(SYS_sched_setattr, 0, &a, 0U);
}
