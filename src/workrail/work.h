/*
 * work.h: what the operations share: reasons, artifacts of a call, plans while they are built.
 * Layer: workrail, private to the operations (start.c, advance.c, checkpoint.c, reply.c).
 */
#ifndef WOPR_WORKRAIL_WORK_H
#define WOPR_WORKRAIL_WORK_H

#include "workrail/interpret.h"
#include "workrail/operate.h"

/* --- reasons (WR-148): one row drives the blocker, the gap and the block --- */
struct wr_reason {
    int detail;      /* enum wr_detail */
    struct str text; /* contractRef or stepId */
    int capability;
    struct str message, fix;
};
struct wr_reasons {
    struct wr_reason *v;
    size_t nr, cap;
};
MUST_CHECK int wr_reason_add(struct wr_reasons *r, struct wr_reason one, struct arena *a);
bool wr_reason_terminal(const struct wr_reason *r);
/* The report (WR-32), the first ten, of a. */
MUST_CHECK int wr_reasons_report(const struct wr_reasons *r, struct arena *a, struct wr_report *out,
                                 struct wr_fault *f);
void wr_reason_store(const struct wr_reason *r, struct wr_block *out);

/* --- artifacts of a call, sorted out by their kinds (WR-43, WR-130, WR-155) --- */
struct wr_seen_capability {
    int capability, status, failure_code; /* failure_code: -1 none */
    bool attempted;
};
struct wr_seen_divergence {
    int reason;
    struct str summary, step_id;
};
struct wr_artifacts {
    struct wr_controls controls; /* valid ones, in the caller's order */
    struct {
        struct wr_seen_capability *v;
        size_t nr;
    } capabilities;
    struct {
        struct wr_seen_divergence *v;
        size_t nr;
    } divergences;
    struct wr_reasons users;  /* reported user-only dependencies */
    size_t of_contract;       /* artifacts of the contract's kind */
    size_t valid_of_contract; /* and those that fit it */
    struct wr_texts issues;   /* of those that do not */
};
/* step: the pending one.  VALIDATION_ERROR: an artifact that reports something, and does not fit
 * its form, beside the contract of the step. */
MUST_CHECK int wr_artifacts_sort(const struct wr_workflow *w, const struct wr_step *step,
                                 const struct wr_state *state, const struct wr_texts *artifacts,
                                 struct arena *a, struct wr_artifacts *out, struct wr_fault *f);

/* --- plans while they are built --- */
enum { WR_PLAN_EVENTS_MAX = 256 };
struct wr_draft {
    const struct wr_operator *o;
    const struct wr_session *s; /* NULL: a new one */
    struct str session_id, run_id;
    int64_t next;
    struct wr_plan plan;
    struct wr_fault *f;
};
MUST_CHECK int wr_draft_begin(struct wr_draft *d, const struct wr_operator *o,
                              const struct wr_session *s, struct str session_id, struct str run_id,
                              struct wr_fault *f);
/* A blank event with its ids; node_id: scope, p NULL when the kind has none.  NULL: no memory. */
struct wr_event *wr_draft_event(struct wr_draft *d, enum wr_kind kind, struct str node_id);
/* Its payload is filled: key, bytes, checks.  part: as in wr_dedupe_key. */
MUST_CHECK int wr_draft_seal(struct wr_draft *d, struct wr_event *e, struct str part);
/* The same, but an event whose key is in the session already is dropped. */
MUST_CHECK int wr_draft_seal_new(struct wr_draft *d, struct wr_event *e, struct str part);
MUST_CHECK int wr_draft_blob(struct wr_draft *d, enum wr_blob_kind kind, struct str bytes,
                             struct str *digest);
/* Common pieces.  A node with its pin. */
MUST_CHECK int wr_draft_node(struct wr_draft *d, enum wr_node_kind kind, struct str node_id,
                             struct str parent, struct str workflow_hash, struct str snapshot_ref,
                             const struct wr_event **out);
MUST_CHECK int wr_draft_edge(struct wr_draft *d, enum wr_edge_kind kind, enum wr_cause cause,
                             struct str cause_event, struct str from, struct str to);
/* Notes and artifacts of an attempt on a node (WR-40); recap: the one that is current there.
 * checkpoint: ids of their own, for the attempt's ack may be used as well (WR-145). */
MUST_CHECK int wr_draft_outputs(struct wr_draft *d, const struct wr_output *output,
                                struct str attempt, struct str node_id,
                                const struct wr_event *recap, bool checkpoint);
struct wr_draft_gap {
    const struct wr_id *id;
    enum wr_severity severity;
    int detail; /* enum wr_detail */
    struct str summary;
};
MUST_CHECK int wr_draft_gap(struct wr_draft *d, const struct wr_draft_gap *gap, struct str node_id);
/* A warning for each preference that is above what the workflow recommends (WR-152). */
MUST_CHECK int wr_draft_recommendations(struct wr_draft *d, const struct wr_workflow *w,
                                        const struct wr_preferences *in_effect, struct str node_id);
MUST_CHECK int wr_draft_observations(struct wr_draft *d, const struct wr_anchors *anchors);
MUST_CHECK int wr_draft_state(struct wr_draft *d, const struct wr_state *state, struct str *ref);
struct str wr_draft_id(struct wr_draft *d, const struct wr_id *id);

/* --- what is stored --- */
MUST_CHECK int wr_stored_state(const struct wr_operator *o, const struct wr_session *s, size_t node,
                               struct wr_state *out, struct wr_fault *f);
MUST_CHECK int wr_stored_workflow(const struct wr_operator *o, const struct wr_session *s,
                                  size_t node, const struct wr_workflow **out, struct wr_fault *f);
/* The advance of an attempt, or NULL. */
const struct wr_event *wr_stored_advance(const struct wr_session *s, struct str node_id,
                                         struct str attempt_id);
/* What a resumed agent reads beside its step (WR-208 to WR-210), of a; empty: nothing. */
MUST_CHECK int wr_recovery_text(const struct wr_session *s, size_t node,
                                const struct wr_workflow *w, const struct wr_step_at *at,
                                struct arena *a, struct str *out);

#endif
