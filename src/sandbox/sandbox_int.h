/*
 * sandbox_int.h: what the files of the sandbox share.  Layer: sandbox, not for others.
 */
#ifndef WOPR_SANDBOX_INT_H
#define WOPR_SANDBOX_INT_H

#include "base/buf.h"
#include "base/child.h"
#include "base/list.h"
#include "egress/lane.h"
#include "sandbox/sandbox.h"

#include <pthread.h>

#define WORKERS_MAX 16u               /* of one tenant */
#define SLOTS_MAX   (2 * WORKERS_MAX) /* of all */

struct module { /* in sandbox.modules by its digest */
    char digest[SANDBOX_DIGEST + 1];
    char *bytes; /* owned */
    size_t n;
    unsigned kept; /* by sandbox_keep */
    unsigned lent; /* to jobs under way */
};
struct job {
    struct list link; /* in a lane, or by itself */
    struct list all;  /* in sandbox.jobs, from its submission to its end */
    struct lane *lane;
    uint64_t id;
    char *tenant, *node; /* owned */
    size_t node_n;
    char *message; /* owned */
    size_t message_n;
    struct module *module; /* lent */
    uint64_t memory_max;
    int time_ms;
    bool cancelled;
    pid_t pid; /* of the worker that has it, 0: none */
    sandbox_done_fn *done;
    void *ctx;
};
struct slot { /* a thread and its worker */
    struct sandbox *s;
    pthread_t thread;
    bool started; /* the thread */
    bool idle;    /* it waits for a job */
    struct job *job;
    pthread_cond_t work;
    uint64_t used; /* when it last had one: of submissions */
    /* Of the thread, and of others while it is idle: */
    struct child child;
    char *tenant; /* whom the worker serves, or NULL */
    unsigned served;
};
struct sandbox {
    struct sandbox_config cfg;
    char *program; /* owned */
    pthread_mutex_t mu;
    bool stopping, running;
    struct map *modules;
    struct lanes lanes;
    struct list jobs;
    uint64_t last_id, last_use;
    unsigned slots_nr;
    struct slot slots[SLOTS_MAX];
    struct sandbox_stats stats;
};

/* slot.c: carry a job out, in the slot's thread.  Sets rc, message and ended of out; report: its
 * text, when rc is 0. */
void slot_execute(struct slot *w, struct job *j, struct buf *report, struct sandbox_report *out);
/* What a worker says, in place of what report held: an object with an outcome.  CLOSED, UNAVAILABLE
 * (late), NO_MEMORY; INTERNAL: it is none, and the worker not to be trusted any more. */
int slot_report_read(struct child *c, struct buf *report, uint64_t deadline_ms);
void slot_end(struct slot *w); /* kills the worker, if there is one */

#endif
