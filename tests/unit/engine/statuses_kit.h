/* statuses_kit.h: runs in every status, and every command, for the products of both. */
#ifndef WOPR_TESTS_STATUSES_KIT_H
#define WOPR_TESTS_STATUSES_KIT_H

#include "fork_kit.h"
#include "log_kit.h"
#include "worker_kit.h"

#define HOUR_MS 3600000

enum by { BY_ITSELF, BY_CANCEL, BY_PAUSE, BY_DRAIN };
struct shape {
    const char *name;
    enum run_status status;
    const char *nodes, *settings;
    enum by by;   /* what makes it this status once it is on its way */
    bool at_once; /* that command arrives before its first step: forks at 0 only */
};
enum { SHAPES_NR = 27, ORDERS_NR = 15 };
extern const struct shape SHAPES[SHAPES_NR];
struct order {
    const char *name;
    enum engine_op op;
    enum drain_policy drain;
    enum fork_mode mode;
    int64_t from; /* -1: its last event */
    const char *node, *value, *interrupt;
    enum task_verb verb; /* of the task that a worker has, or of none */
};
extern const struct order ORDERS[ORDERS_NR];

enum lineage { PLAIN, BRANCH, REPLAY, REPLAY_OF_BRANCH, BRANCH_OF_REPLAY, LINEAGES_NR };

struct subject {
    const struct shape *shape;
    enum lineage lineage;
    const struct order *order;
    struct str run, source; /* the source of a fork, or empty */
    int64_t cut;
    unsigned key;
};
extern struct subject *SUBJECTS;
extern size_t SUBJECTS_NR;
extern unsigned TAKEN[TASK_EMIT + 1]; /* what of tasks was taken in */
extern unsigned KEYS;

const char *label(const struct subject *x);
/* It is no fault of the server. */
void answered(const struct subject *x, const struct call *c, const char *what);
/* The command of an order; sent by the caller. */
void order_fill(struct call *c, const struct subject *x, const struct order *o);
void statuses_children_put(void); /* definitions and types that the shapes name */
/* A run of the subject's shape and lineage, in its status; a fork that is to be pending is made
 * when
 * its command is sent. */
void subject_make(struct subject *x);

/* The fork's first command is sent where its creation is answered, before its first step; or the
 * step waits there until the host stops, or is asked for the run. */
enum window { NO_WINDOW, COMMAND_IN, HOST_STOPS, RUN_ASKED_FOR };
struct early {
    enum window window;
    struct call *command;
    _Atomic bool answered; /* the command, without asking for the run */
    sem_t open;
    void (*done)(struct engine_cmd *cmd);
};
extern struct early EARLY;

void create_call(struct subject *x, struct call *c);
/* Sends the creation of a fork and returns in the window, where there is one. */
void fork_send(struct subject *x, struct call *c, enum window window, struct call *command);
void fork_made(struct subject *x, struct call *c);

/* Calls each for every run that has not ended, children and forks of orders among them. */
size_t each_open(void (*each)(struct str run, const char *why), const char *why);
void all_end(const char *why); /* every run is answered and resumed until it ends */
void all_whole(void);          /* their logs, and what verification finds */
void nothing_left(void);       /* no run goes on, so nothing waits and nobody is asked */

#endif
