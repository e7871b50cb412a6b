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

/*
 * One row per kind: seen in a status of `moves` it leads to `to`, in one of `stays` it changes
 * nothing, in any other it is refused.  No row names a final status, so a finished run takes
 * nothing (EVT-7). RUNNING and the waiting states are one state with three faces: which one is
 * shown follows from the suspended nodes (INT-12, run_waits), hence GOING stays GOING on every node
 * event.
 */
struct run_edges {
    unsigned moves;
    enum run_status to;
    unsigned stays;
};
static const struct run_edges RUN_EDGES[EV_NR] = {
    [EV_RUN_STARTED] = {ON(PENDING), RUN_RUNNING, 0},
    [EV_RUN_COMPLETED] = {ON(RUNNING), RUN_COMPLETED, 0},
    [EV_RUN_FAILED] = {GOING | ON(CANCELLING), RUN_FAILED, 0},
    [EV_RUN_CANCELLED] = {OPEN, RUN_CANCELLED, 0},
    [EV_RUN_PAUSED] = {ON(PENDING) | ON(RUNNING), RUN_PAUSED, 0},
    [EV_RUN_RESUMING] = {0, RUN_PENDING, ON(PAUSED)},
    /* From PAUSED to what it was before; elsewhere the mark of a claim recovery (STORE-38). */
    [EV_RUN_RESUMED] = {ON(PAUSED), RUN_RUNNING, ON(PENDING) | GOING | ON(CANCELLING)},
    [EV_RUN_RESTORED] = {0, RUN_PENDING, OPEN},

    [EV_NODE_STARTED] = {0, RUN_PENDING, GOING},
    [EV_NODE_COMPLETED] = {0, RUN_PENDING, GOING | ON(CANCELLING)},
    [EV_NODE_FAILED] = {0, RUN_PENDING, GOING | ON(CANCELLING)},
    [EV_NODE_SUSPENDED] = {0, RUN_PENDING, GOING},
    [EV_NODE_SUSPEND_FAILED] = {0, RUN_PENDING, GOING},
    [EV_NODE_RESUMED] = {0, RUN_PENDING, GOING},
    [EV_NODE_RETRIED] = {0, RUN_PENDING, GOING},
    [EV_NODE_SKIPPED] = {0, RUN_PENDING, GOING | STOPPING},
    [EV_NODE_CANCELLED] = {0, RUN_PENDING, GOING | STOPPING},

    [EV_APPROVAL_REQUESTED] = {0, RUN_PENDING, GOING},
    [EV_APPROVAL_RECEIVED] = {0, RUN_PENDING, GOING},
    [EV_CLARIFICATION_REQUESTED] = {0, RUN_PENDING, GOING},
    [EV_CLARIFICATION_RESOLVED] = {0, RUN_PENDING, GOING},
    [EV_INTERRUPT_REQUESTED] = {0, RUN_PENDING, GOING},
    [EV_INTERRUPT_RESOLVED] = {0, RUN_PENDING, GOING},

    [EV_CHANNEL_WRITTEN] = {0, RUN_PENDING, GOING | STOPPING},
    [EV_ARTIFACT_CREATED] = {0, RUN_PENDING, GOING | STOPPING},
    [EV_OUTPUT_CHUNK] = {0, RUN_PENDING, GOING | STOPPING},
    [EV_VARIABLE_CHANGED] = {0, RUN_PENDING, GOING | STOPPING},
    [EV_LOG_APPENDED] = {0, RUN_PENDING, GOING | STOPPING},
    [EV_VERSION_PINNED] = {0, RUN_PENDING, GOING},
    [EV_WORKFLOW_RESTORED] = {0, RUN_PENDING, OPEN},
    [EV_LOOPBACK_LIMIT] = {0, RUN_PENDING, GOING},
    [EV_WORKFLOW_STALLED] = {0, RUN_PENDING, GOING},
    [EV_CAP_BREACHED] = {0, RUN_PENDING, GOING},

    /* STORE-40: never after the end, which is the only place OPEN leaves out. */
    [EV_LEASE_ACQUIRED] = {0, RUN_PENDING, OPEN},
    [EV_LEASE_RENEWED] = {0, RUN_PENDING, OPEN},
    [EV_LEASE_LOST] = {0, RUN_PENDING, OPEN},
    [EV_LEASE_HANDED_OFF] = {0, RUN_PENDING, OPEN},
    [EV_REPLAY_DIVERGED] = {0, RUN_PENDING, GOING | STOPPING},

    [EV_AGENT_REASONED] = {0, RUN_PENDING, GOING},
    [EV_AGENT_TOOL_CALLED] = {0, RUN_PENDING, GOING},
    [EV_AGENT_TOOL_RETURNED] = {0, RUN_PENDING, GOING},
    [EV_AGENT_HANDOFF] = {0, RUN_PENDING, GOING},
    [EV_AGENT_DECIDED] = {0, RUN_PENDING, GOING},
    [EV_ORCHESTRATOR_DECIDED] = {0, RUN_PENDING, GOING},
    [EV_CONVERSATION_OPENED] = {0, RUN_PENDING, GOING},
    [EV_CONVERSATION_EXCHANGED] = {0, RUN_PENDING, GOING},
    [EV_CONVERSATION_CLOSED] = {0, RUN_PENDING, GOING},
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

#define AT(s) (1u << NODE_##s)
#define ENDED (AT(COMPLETED) | AT(FAILED) | AT(SKIPPED) | AT(CANCELLED))

/*
 * The same for nodes.  An ended node starts again only as a fresh activation of a loop (WF-13); the
 * scheduler makes it pending first.  A node may fail without having started (EVT-24, EVT-40), and a
 * node that waits for its retry is pending with retry_at_ms set.
 */
static const struct {
    enum ev_kind kind;
    unsigned from;
    enum node_status to;
} NODE_EDGES[] = {
    {EV_NODE_STARTED, AT(PENDING) | ENDED, NODE_RUNNING},
    {EV_NODE_COMPLETED, AT(RUNNING), NODE_COMPLETED},
    {EV_NODE_FAILED, AT(PENDING) | AT(RUNNING) | AT(SUSPENDED), NODE_FAILED},
    {EV_NODE_SUSPENDED, AT(RUNNING), NODE_SUSPENDED},
    {EV_NODE_SUSPEND_FAILED, AT(RUNNING), NODE_RUNNING},
    {EV_NODE_RESUMED, AT(SUSPENDED), NODE_RUNNING},
    {EV_NODE_RETRIED, AT(RUNNING), NODE_PENDING}, /* EVT-23 */
    {EV_NODE_SKIPPED, AT(PENDING), NODE_SKIPPED},
    {EV_NODE_CANCELLED, AT(PENDING) | AT(RUNNING) | AT(SUSPENDED), NODE_CANCELLED}, /* EVT-30 */
};

int node_edge(enum node_status from, enum ev_kind kind) {
    for (size_t i = 0; i < sizeof NODE_EDGES / sizeof NODE_EDGES[0]; i++)
        if (NODE_EDGES[i].kind == kind)
            return NODE_EDGES[i].from & (1u << from) ? (int)NODE_EDGES[i].to : -1;
    return -1;
}
