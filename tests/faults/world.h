/*
 * world.h: a database on the fault VFS, runs that take real plans, and what was acknowledged.
 * Every run goes through the same plans (STEPS), so the length of its log tells which of them are
 * there, and any other length is half a plan.  One world per test process.
 */
#ifndef WOPR_TESTS_FAULTS_WORLD_H
#define WOPR_TESTS_FAULTS_WORLD_H

#include "domain/state.h"
#include "faults/fault_vfs.h"
#include "host/host.h"
#include "journal/journal.h"

#include <criterion/criterion.h>

enum { WORLD_RUNS_MAX = 256, STEPS = 6, ANSWER_MAX = 64 };
#define WORLD_TENANT STR("tenant-a")
#define WORLD_HOLDER STR("host-1")

struct world_run {
    char id[40];
    int64_t run_no;
    int64_t epoch;
    struct run_state *state;        /* NULL: not created, or to be folded again */
    int done;                       /* plans acknowledged or found: 0 = does not exist */
    int tried;                      /* plans handed in; done or done + 1 */
    int inherited;                  /* of a fork: the plans before its cut, which it did not make */
    unsigned attempt;               /* of the plan at hand, part of its answer */
    char answer[STEPS][ANSWER_MAX]; /* acknowledged; "" = none, or the plan has no key */
};
struct world {
    char dir[256], path[300];
    bool alone; /* the store is opened with the lock of hosts, for one host */
    struct store *store;
    struct journal *journal;
    struct arena *a;
    struct payload_rules *rules;
    struct workflow *wf;
    struct world_run runs[WORLD_RUNS_MAX];
    size_t runs_nr;
    struct wopr_error err;
    uint64_t rng;
};
extern struct world W;

void world_up(void);   /* a folder, no file yet */
void world_down(void); /* .fini; the folder goes */
/* WOPR_FAULTS_EVERY: of the rounds of a kind, after the first few, only every nth is played; 1 =
 * all, which is the default. */
unsigned world_pace(void);
/* Whether the ith round of a walk over rows or pages is played: all are, but under a sanitizer
 * (WOPR_TEST_EVERY) every nth, and others each day. */
bool world_plays(unsigned i);
/* Which of the nth it is today, 0..world_pace()-1: each round has its turn within a few days. */
unsigned world_today(void);
uint64_t world_chance(uint64_t n); /* 0..n-1 from W.rng */
int world_open(void);              /* the code of store_open on the fault VFS, sync FULL */
void world_close(void);
void world_clear(void);   /* closed: delete the files, forget the runs */
void world_save(void);    /* set the files (database and WAL) aside; may be open, not writing */
void world_load(void);    /* closed: the files set aside are back, the runs as they were */
int world_workflow(void); /* store the definition the runs use */

/* The next plan of a run; the caller applies it and tells world_settle.  NULL when it has ended. */
struct world_run *world_new_run(void);
struct plan *world_plan(struct world_run *r);
/* The plan came back.  Acknowledged: done moves on.  A hit must be the first answer. */
void world_settle(struct world_run *r, const struct plan *p, int rc);
int world_apply(struct world_run *r); /* plan, store_apply, settle; the code of the plan */
/* The plan that makes r, a new run, a fork of source after so many of its plans (FORK-9), and what
 * came back. */
struct plan *world_fork_plan(struct world_run *r, const struct world_run *source, int plans);
void world_fork_settle(struct world_run *r, int rc);
/* A fork of source; NULL when it was refused, W.err says why. */
struct world_run *world_fork(const struct world_run *source, int plans);
/* Runs with this many plans, each its own. */
void world_runs(size_t n, int plans);

/* After a reopening: every run holds its acknowledged plans and at most the one that was tried,
 * whole; stored answers come and go with their plans; host_verify finds nothing.  Runs learn what
 * was found, so that the test can go on. */
void world_check(const char *when);
/* Ask again for an answer that was acknowledged (or found): the first one comes back. */
void world_retry(struct world_run *r, int plan);
/* Lines that host_verify reports; -1 when it failed before the first. */
int64_t world_findings(bool print);
bool world_file_holds(const char *path, const char *word); /* anywhere among its bytes */

#endif
