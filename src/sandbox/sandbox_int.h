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

struct module { /* in modules.by_digest */
    char digest[SANDBOX_DIGEST + 1];
    char *bytes; /* owned; NULL: given up, the source has them */
    size_t n;
    struct list here; /* in modules.here while there are bytes */
    unsigned kept;    /* by sandbox_keep */
    unsigned lent;    /* to jobs that wait or are under way: it stays, its bytes need not */
    unsigned sent;    /* to workers at this moment: its bytes stay */
};
struct modules { /* guarded by sandbox.mu, but for reading */
    struct map *by_digest;
    struct list here; /* those that have their bytes, the least recently used first */
    uint64_t bytes;   /* of these */
    uint64_t read_nr; /* modules whose bytes were read again */
    /* One is read at a time, and who waits for the same one finds it.  Taken before sandbox.mu. */
    pthread_mutex_t reading;
    sandbox_source_fn *source; /* changed with both mutexes held; NULL: nothing is given up */
    void *source_ctx;
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
    struct wopr_error why; /* the bytes of a module were not to be had */
};
struct sandbox {
    struct sandbox_config cfg;
    char *program; /* owned */
    pthread_mutex_t mu;
    bool stopping, running;
    struct modules modules;
    struct lanes lanes;
    struct list jobs;
    uint64_t last_id, last_use;
    unsigned slots_nr;
    struct slot slots[SLOTS_MAX];
    struct sandbox_stats stats;
};

/* modules.c.  sandbox.mu is held in the first four of these. */
MUST_CHECK bool modules_init(struct modules *ms); /* false: no memory; modules_fini all the same */
void modules_fini(struct modules *ms);
struct module *module_lend(struct modules *ms, struct str digest); /* NULL: it is not kept */
void module_return(struct modules *ms, struct module *m);
/* The bytes of a module that was lent, until module_let; they are read from the source if need be.
 * sandbox.mu is not held; blocks for the read.  What the source says; PACK_INTEGRITY: what it gave
 * is another module; CLOSED, NO_MEMORY. */
MUST_CHECK int module_hold(struct sandbox *s, struct module *m, struct str *bytes,
                           struct wopr_error *err);
void module_let(struct sandbox *s, struct module *m);

/* slot.c: carry a job out, in the slot's thread.  Sets rc, message and ended of out; report: its
 * text, when rc is 0. */
void slot_execute(struct slot *w, struct job *j, struct buf *report, struct sandbox_report *out);
/* What a worker says, in place of what report held: an object with an outcome.  CLOSED, UNAVAILABLE
 * (late), NO_MEMORY; INTERNAL: it is none, and the worker not to be trusted any more. */
int slot_report_read(struct child *c, struct buf *report, uint64_t deadline_ms);
void slot_end(struct slot *w); /* kills the worker, if there is one */

#endif
