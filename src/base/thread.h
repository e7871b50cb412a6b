/*
 * thread.h: what pthreads leaves open.  Layer: base.
 */
#ifndef WOPR_BASE_THREAD_H
#define WOPR_BASE_THREAD_H

/* Name of the calling thread in top, gdb and perf; at most 15 bytes are kept. */
void thread_name(const char *name);
/* The calling thread does short pieces of work that somebody waits for: when it wakes, it takes the
 * core from a thread that computes.  A kernel before Linux 6.12 leaves things as they are. */
void thread_prompt(void);
/* Between two pieces of long work: who waits for this core goes first. */
void thread_yield(void);

#endif
