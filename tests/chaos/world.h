/*
 * world.h: several hosts on one database file, clients that talk to all of them, and what both
 * remember for the checks at the end.
 */
#ifndef WOPR_TESTS_CHAOS_WORLD_H
#define WOPR_TESTS_CHAOS_WORLD_H

#include "integration/client.h"
#include "integration/harness.h"
#include "integration/peer.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    HOSTS = 3, /* at most */
    CLIENTS = 3,
    OPS_MAX = 60000, /* of one client */
    RUNS_MAX = 100000,
    ID_BYTES = 64,
    ANSWER_BYTES = 65536,
    ASK_WAIT_MS = 3000, /* a stopped host accepts connections and says nothing */
    FORK_DEPTH_MAX = 4  /* forks of forks */
};

/* --- hosts.c --- */
struct slot {
    struct server sv;
    const char *args[24];
    struct test_clock clock;
    atomic_int port; /* 0 = down */
    enum { SLOT_UP, SLOT_STOPPED, SLOT_DOWN } state;
    int64_t until_ms;
};
extern struct slot slots[HOSTS];
extern int hosts_nr; /* of them in this test; set before hosts_start */
struct storm {       /* what was done to the hosts */
    unsigned kills, terms, stops, jumps;
};
void hosts_start(void);
/* Harm them for so long; ends with all of them up. */
void hosts_storm(uint64_t *rng, int64_t ms, struct storm *out);
void hosts_stop(void);              /* gracefully, all of them */
void hosts_last(void);              /* one fresh host with the right time, in slot 0 */
void hosts_delete(void);            /* at the end of the test */
int hosts_port(uint64_t *rng);      /* of one that is said to be up; 0 = none */
const char *hosts_ports_path(void); /* a file of HOSTS ints: the same, for other processes */

/* --- actors.c --- */
enum op_kind { OP_CREATE, OP_CANCEL, OP_PAUSE, OP_RESUME, OP_RESOLVE, OP_FORK, OP_KIND_NR };
struct op { /* one keyed request, repeated until it is answered */
    enum op_kind kind;
    char path[128], body[192];
    int run;     /* index of what it is about, -1 = it creates */
    long status; /* first answer, 0 = none yet */
    char *answer;
};
enum shape {
    SHAPE_DELAY,
    SHAPE_APPROVAL,
    SHAPE_QUORUM,
    SHAPE_PARENT,      /* sub-workflow that runs through */
    SHAPE_PARENT_GATE, /* sub-workflow that waits for an approval */
    SHAPE_OUTSIDE,     /* one request to the peer */
    SHAPE_NESTED,      /* a loop of two in a loop of three */
    SHAPE_SECRET,      /* a sensitive value is read again after an approval */
    SHAPE_WORKER,      /* three tasks of workers, one of which asks a person */
    SHAPE_CHILD_GATE,  /* the child of PARENT_GATE */
    SHAPE_NR
};
#define CANARY "chaos-canary-" /* begins every sensitive value; 25 characters with its digits */
struct made {                  /* a run that somebody was told about */
    char id[ID_BYTES];
    enum shape shape;
    int fork_depth; /* 0 = no fork */
    bool replay;
};
struct client {
    unsigned no;
    uint64_t rng;
    struct op *ops;
    int ops_nr;
    char wrong[1024]; /* what was not as it should be; "" = nothing */
};
extern struct client clients[CLIENTS];
extern struct made made[RUNS_MAX];
extern struct peer *peer;
int made_nr(void);
extern atomic_bool actors_stop;
void actors_init(uint64_t seed);
void *actor_main(void *client); /* until actors_stop */
/* Every request that has no answer yet is repeated until it has one; a part of the others again. */
void actors_settle(void);
void actors_free(void);

/* --- workers.c --- */
enum { WORKERS = 4, WORKER_PYTHON = 3 };
void workers_start(uint64_t seed);
void workers_calm(void); /* nobody harms them any more */
void workers_stop(void);
/* Where one writes what it did; it outlives it. */
const char *worker_journal(unsigned no, char out[320]);

/* --- journal.c --- */
void journal_check(const struct server *sv); /* against the log, when the workers have stopped */

/* --- replays.c --- */
void replays_check(const struct server *sv); /* replays every run; nobody is called */

/* --- hooks.c --- */
void hooks_start(uint64_t seed); /* a receiver that misbehaves, and webhooks to it */
void hooks_calm(void);           /* it behaves from now on */
void hooks_check(const struct server *sv); /* afterwards; ends the receiver */

/* --- checks.c --- */
void checks_wait_quiet(void); /* every run has ended or waits for something that can come */
void checks_runs(void);
void checks_interrupts(void);
void checks_outside(const struct storm *s);
void checks_bytes(void); /* no sensitive value in any file of the hosts */
void checks_file(void);  /* wopr verify: sequences, projections equal the fold */

#endif
