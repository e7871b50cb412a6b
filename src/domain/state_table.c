/*
 * state_table.c: the tables of run and node status (10-http-core 5.3, 20-runtime 1.5, EVT-7).
 */
#include "domain/state_internal.h"

static const char *const RUN_STATUS_NAMES[RUN_STATUS_NR] = {
    [RUN_PENDING] = "pending",
    [RUN_RUNNING] = "running",
    [RUN_PAUSED] = "paused",
    [RUN_WAITING_APPROVAL] = "waiting-approval",
    [RUN_WAITING_INPUT] = "waiting-input",
    [RUN_WAITING_EXTERNAL] = "waiting-external",
    [RUN_CANCELLING] = "cancelling",
    [RUN_COMPLETED] = "completed",
    [RUN_FAILED] = "failed",
    [RUN_CANCELLED] = "cancelled",
};

const char *run_status_name(enum run_status s) {
    return (unsigned)s < RUN_STATUS_NR ? RUN_STATUS_NAMES[s] : "unknown";
}

bool run_status_final(enum run_status s) {
    return s == RUN_COMPLETED || s == RUN_FAILED || s == RUN_CANCELLED;
}

bool run_status_waiting(enum run_status s) {
    return s == RUN_WAITING_APPROVAL || s == RUN_WAITING_INPUT || s == RUN_WAITING_EXTERNAL;
}

#define ON(s)    (1u << RUN_##s)
#define WAITING  (ON(WAITING_APPROVAL) | ON(WAITING_INPUT) | ON(WAITING_EXTERNAL))
#define GOING    (ON(RUNNING) | WAITING)
#define STOPPING (ON(PAUSED) | ON(CANCELLING))
#define OPEN     (ON(PENDING) | GOING | STOPPING)

/* The column "run edge" of events.def: in a status of `moves` the event leads to `to`, in one of
 * `stays` it changes nothing, in any other it is refused. */
struct run_edges {
    unsigned moves;
    enum run_status to;
    unsigned stays;
};
#define STAY(stay)                                                                                 \
    { 0, RUN_PENDING, (stay) }
#define MOVE(from, to)                                                                             \
    { (from), RUN_##to, 0 }
#define BOTH(from, to, stay)                                                                       \
    { (from), RUN_##to, (stay) }
static const struct run_edges RUN_EDGES[EV_NR] = {
#define EVENT(id, wire, modes, def, run_edge, ...) [EV_##id] = run_edge,
#include "domain/events.def"
#undef EVENT
};

int run_edge(enum run_status from, enum ev_kind kind) {
    if ((unsigned)from >= RUN_STATUS_NR || run_status_final(from)) return -1;
    if ((unsigned)kind >= EV_NR) return (int)from; /* GEN-5: unknown kinds only count */
    const struct run_edges *r = &RUN_EDGES[kind];
    if (r->moves & (1u << from)) return (int)r->to;
    return r->stays & (1u << from) ? (int)from : -1;
}

static const char *const NODE_STATUS_NAMES[NODE_STATUS_NR] = {
    [NODE_PENDING] = "pending",     [NODE_RUNNING] = "running", [NODE_SUSPENDED] = "suspended",
    [NODE_COMPLETED] = "completed", [NODE_FAILED] = "failed",   [NODE_SKIPPED] = "skipped",
    [NODE_CANCELLED] = "cancelled",
};

const char *node_status_name(enum node_status s) {
    return (unsigned)s < NODE_STATUS_NR ? NODE_STATUS_NAMES[s] : "unknown";
}

#define AT(s)     (1u << NODE_##s)
#define ENDED     (AT(COMPLETED) | AT(FAILED) | AT(SKIPPED) | AT(CANCELLED))
#define NOT_ENDED (AT(PENDING) | AT(RUNNING) | AT(SUSPENDED))

/* The column "node edge" of events.def. */
struct node_edges {
    unsigned from;
    enum node_status to;
};
#define NODE(from, to)                                                                             \
    { (from), NODE_##to }
#define NO_NODE                                                                                    \
    { 0, NODE_PENDING }
static const struct node_edges NODE_EDGES[EV_NR] = {
#define EVENT(id, wire, modes, def, run_edge, node_edge, ...) [EV_##id] = node_edge,
#include "domain/events.def"
#undef EVENT
};

int node_edge(enum node_status from, enum ev_kind kind) {
    if ((unsigned)kind >= EV_NR || (unsigned)from >= NODE_STATUS_NR) return -1;
    const struct node_edges *r = &NODE_EDGES[kind];
    return r->from & (1u << from) ? (int)r->to : -1;
}
