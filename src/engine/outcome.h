/*
 * outcome.h: how nodes and runs end.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_OUTCOME_H
#define WOPR_ENGINE_OUTCOME_H

#include "engine/emit.h"

struct failure {
    struct str code, message, details;
    bool retryable;
    int64_t retry_after_ms; /* a retry waits at least so long */
};
/* The attempt failed: retry it (WF-24) or fail the node. */
void attempt_failed(struct step *st, int node, const struct failure *f);
/* Without another attempt. */
void node_end_failed(struct step *st, int node, const struct failure *f);

/* The events that end the run, with those that its nodes need before (R2).  error: raw JSON
 * {"code","message"}; cause: sequence, or -1. */
void run_end_failed(struct step *st, struct str error, int failed_node, int64_t cause);
void run_end_cascade(struct step *st); /* SCHED_FAIL */
/* The run fails of a node that has failed; reason: of the nodes that did not end. */
void run_end_of(struct step *st, int node, const char *reason);
void run_end_cap(struct step *st, int node);
/* The node has met a bound on iterations (ORCH-9, DISP-11). */
void run_end_iterations(struct step *st, int node, const struct run_cap *cap);
void run_end_loop_limit(struct step *st, int node);
/* The same for a fork cut just after cap.breached, or after workflow.loopback-limit. */
void run_end_cap_emitted(struct step *st, int node, int64_t cause);
void run_end_loop_emitted(struct step *st, int node);
void run_end_completed(struct step *st);
void run_end_with(struct step *st, struct str outputs); /* raw object */
void run_end_timeout(struct step *st);
/* Cancel and skip nodes with reason, and fail the run with error. */
void run_end_stopped(struct step *st, struct str error, const char *reason);
void run_end_log_limit(struct step *st);    /* bound_log_over */
void run_end_schema_break(struct step *st); /* CHAN-18 */
void run_end_cancelled(struct step *st, struct str reason, struct str by);

#endif
