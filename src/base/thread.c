/* thread.c: see thread.h. */
#include "base/thread.h"

#include <sched.h>
#include <sys/prctl.h>

void thread_name(const char *name) { (void)prctl(PR_SET_NAME, name, 0, 0, 0); }
void thread_yield(void) { (void)sched_yield(); }
