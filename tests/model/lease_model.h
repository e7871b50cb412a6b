/*
 * lease_model.h: the protocol of leases, fencing and appends as a finite machine, and a checker
 * that visits every state of it.
 *
 * Model.  One run whose log is: run.started, node.completed, run.completed; one command with an
 * idempotency key that may land between them (an event of its own) and that a client sends to one
 * host after the other.  Two or three hosts.  Each rule is atomic and named after the function it
 * stands for; what the code sends to its committer is two rules (sent, landed), so that anything
 * may come between.
 *
 * Assumptions.  A transaction of the store is atomic, serial and durable (SQLite).  Time is not
 * modelled at all: a host may find any other silent at any moment, and may itself pause between any
 * two rules for ever, so late heartbeats, clocks that jump, SIGSTOP and SIGCONT are all in it.  A
 * host is found dead only when it is (its locks).  A restarted host has a new name.
 *
 * Invariants, checked at every append and in every state:
 *   E  an append carries the newest epoch ever given and comes from the run's holder
 *   S  sequences have no hole and no repetition
 *   T  one terminal event, and it is the last
 *   N  the node completes once
 *   C  the command has one effect, and none of its answers comes before the effect is durable
 *   L  from every state the end of the run can be reached (nothing is stuck)
 */
#ifndef WOPR_TESTS_LEASE_MODEL_H
#define WOPR_TESTS_LEASE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Guards of the code that can be taken out. */
enum {
    NO_EPOCH_IN_APPEND = 1,    /* RUN_MOVE without lease_epoch = ? */
    NO_SEQ_IN_APPEND = 2,      /* RUN_MOVE without next_seq = ? */
    NO_STATUS_IN_APPEND = 4,   /* RUN_MOVE without status < 7 */
    NO_RAISE_IN_CLAIM = 8,     /* LEASE_CLAIM without lease_epoch + 1 */
    NO_GUARD_IN_CLAIM = 16,    /* LEASE_CLAIM without the epoch and beat that were seen */
    NO_IDEM_IN_APPEND = 32,    /* plan_write without idem_look */
    ANSWER_BEFORE_COMMIT = 64, /* cmd_answer when the plan is sent */
    NO_RELEASE_BY_DEATH = 128  /* a dead or silent holder keeps its lease */
};
struct model_config {
    unsigned hosts;          /* 2 or 3 */
    unsigned crashes, sends; /* budgets: crashes or graceful stops, sends of the command */
    unsigned epochs;         /* claims and gives together */
    unsigned without;        /* guards taken out */
    bool blind_to_epochs;    /* look past invariant E, for what it would lead to */
};
struct model_result {
    const char *broken; /* NULL, or the invariant that does not hold */
    size_t states, steps_to_it;
    char story[2048]; /* how it gets there, a rule per word */
};
void model_check(const struct model_config *cfg, struct model_result *out);

#endif
