/*
 * engine_world.h: a host without HTTP for the tests of engine and nodes: SQLite in a temporary
 * folder, log, engine.
 */
#ifndef WOPR_TESTS_ENGINE_WORLD_H
#define WOPR_TESTS_ENGINE_WORLD_H

#include "engine/core.h"
#include "engine/exec.h"
#include "store/vault.h"

#include <semaphore.h>

struct world {
    char dir[128];
    struct arena *a;
    struct store *store;
    struct vault *vault;
    struct journal *journal;
    struct payload_rules *rules;
    struct node_registry *types;
    struct engine *engine, *also; /* also: another host of the test, told of virtual time as well */
    struct engine_config cfg;
    unsigned starts; /* engines so far: each has a holder of its own */
    char holder[32];
    bool accepted; /* definitions are put as a host had them registered that refused less */
    int64_t clock_shift_ms; /* virtual time: real time plus this */
};
extern struct world W;

void world_up(void);    /* Criterion .init; engine started */
void world_down(void);  /* .fini */
void world_leave(void); /* as down, but the files stay; up again finds them when W.dir is set */
extern void (*WORLD_ON_WALL)(void); /* virtual time: called at every reading of the wall clock */
void world_engine_start(void);
void world_engine_crash(void); /* no release, as after a kill */
void world_engine_stop(void);
void world_time_skip(int64_t ms); /* virtual clocks forward; needs world_virtual_time before */
void world_virtual_time(void);    /* before world_up */
void world_time_stop(bool stop);  /* the virtual clocks stand still, but for skips; or go again */

/* Definition with these nodes and edges; more: further top-level members after a comma, e.g.
 * ",\"channels\":{...}". */
struct str world_def(const char *id, const char *nodes, const char *edges, const char *variables,
                     const char *settings, const char *more);
struct workflow *world_put(struct str text); /* stored and compiled; reference for the caller */

/* A command that is waited for. */
struct call {
    struct engine_cmd cmd;
    sem_t done;
    bool store;        /* what respond() answers */
    unsigned responds; /* calls of respond() */
};
void call_init(struct call *c, enum engine_op op, struct str run_id);
void call_key(struct call *c, const char *key, const char *body);
void call_send(struct call *c);
void call_wait(struct call *c);
void call_do(struct call *c); /* send and wait */
void call_fini(struct call *c);
/* One shot: the result code; status out may be NULL. */
int world_op(enum engine_op op, struct str run_id, enum run_status *status);
int world_pause(struct str run_id, enum drain_policy drain);
/* A person's answer to what the node asks; err may be NULL. */
int world_answer(struct str run_id, const char *node, const char *value, struct wopr_error *err);

struct str world_create(struct workflow *wf, const char *inputs, const char *configurable);
/* What a creation with these options is refused with; 0: it is not. */
int world_create_try(struct workflow *wf, const char *inputs, struct wopr_error *err);
struct str world_start(struct str text, const char *inputs); /* put and create */
struct run_head world_head(struct str run_id);
enum run_status world_wait_final(struct str run_id);
void world_wait_status(struct str run_id, enum run_status status);
/* Until the log holds an event of this kind (n-th, from 1). */
void world_wait_event(struct str run_id, enum ev_kind kind, unsigned n);
int world_wait_sem(sem_t *sem); /* 0 = posted; time that is virtual goes on meanwhile */
void world_wait_more(const struct run_head *h); /* until the log is longer than h saw */
bool world_shows_more(const struct run_head *h,
                      int s); /* the same within s seconds; virtual time */
struct event_list world_events(struct str run_id);
unsigned world_count(struct str run_id, enum ev_kind kind);
const struct event *world_event(struct str run_id, enum ev_kind kind, unsigned n); /* n from 1 */
/* "run.started node.started(a) ..." */
const char *world_story(struct str run_id);
struct run_view world_view(struct str run_id);
struct str world_var(struct str run_id, const char *name);
/* Every log without holes, one terminal event at its end, projection status equal to the fold. */
void world_check_log(struct str run_id);

/* Statements on the file, past the store. */
void world_sql(const char *text);
/* The one number that a query on the file gives. */
int64_t world_sql_number(const char *query);

/* Gate of the test type test.hold: it posts held and waits for go. */
extern sem_t HOLD_HELD, HOLD_GO;
/* Calls of the test executors so far. */
extern _Atomic int SPY_CALLS;
/* How often test.drift changes a variable: not the same in a replay, when a test says so. */
extern _Atomic int SPY_LINES;
/* One character per call of test.note (-) and test.noteAtOnce (+), which runs inside the creating
 * plan. For tests with one worker. */
extern char SPY_NOTES[64];

/* Definitions in JSON text. */
#define NODE(id, type, config, inputs)                                                             \
    "{\"id\":\"" id "\",\"typeId\":\"" type "\",\"name\":\"" id                                    \
    "\",\"position\":{\"x\":0,\"y\":0},\"config\":{" config "},\"inputs\":{" inputs "}}"
#define EDGE(id, from, to, more)                                                                   \
    "{\"id\":\"" id "\",\"sourceNodeId\":\"" from "\",\"targetNodeId\":\"" to "\"" more "}"
#define EXPECT_STR(got, want) cr_expect_str_eq((got), (want), "got %s", (got))

#endif
