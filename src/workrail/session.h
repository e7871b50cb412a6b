/*
 * session.h: the truth of a session, folded from its events, and what is read off it (sections 2,
 * 7).  Layer: workrail.  Pure; one user at a time, but any number of readers of one that rests.
 *
 * Events are added in order; each is checked against those before it (WR-57), so that a plan is
 * folded into the loaded session before it is committed, and the reply is made of the same session
 * after.  A session whose add failed, or whose plan was not committed, is thrown away.
 *
 * Events and what their texts lie in are borrowed for as long as the session.  Work is linear in
 * events; a projection is linear in the nodes of its run.
 */
#ifndef WOPR_WORKRAIL_SESSION_H
#define WOPR_WORKRAIL_SESSION_H

#include "workrail/plan.h"
#include "workrail/snapshot.h"

#define WR_NO_NODE SIZE_MAX

struct wr_link { /* events in log order */
    const struct wr_event *event;
    struct wr_link *next;
};
struct wr_links {
    struct wr_link *first, *last;
    size_t nr;
};
struct wr_node {
    struct str id;
    const struct wr_event *created;
    size_t run, parent;             /* positions; WR_NO_NODE: the root */
    size_t children, next_child;    /* first child and next sibling by parent, WR_NO_NODE: none */
    size_t edges, acked_edges;      /* outgoing */
    int64_t activity;               /* WR-159 */
    struct wr_links events;         /* scoped to it, but for its creation */
    const struct wr_event *context; /* the context_set of the plan that made it, or NULL */
    const struct wr_event *recap;   /* the current one, or NULL */
};
struct wr_run {
    struct str id;
    const struct wr_event *started;
    size_t root;   /* WR_NO_NODE: none yet */
    size_t *nodes; /* positions in session->nodes, ascending */
    size_t nodes_nr, nodes_cap;
    struct wr_links edges, gaps;
    const struct wr_event *context; /* context_set of no advance: the initial one */
};
struct map;
struct wr_session {
    struct arena *a;
    struct str id;
    int64_t next_index;
    struct wr_node *nodes;
    size_t nodes_nr, nodes_cap;
    struct wr_run *runs;
    size_t runs_nr, runs_cap;
    const struct wr_event *observed[WR_OBSERVED]; /* the latest of each key, or NULL */
    struct map *keys, *ids, *node_at, *run_at, *outputs, *contexts, *attempts; /* private */
};
/* a: keeps what the session needs, and lives longer.  NULL: no memory. */
struct wr_session *wr_session_new(struct arena *a);
void wr_session_free(struct wr_session *s);
/* PROJECTION_INVARIANT_VIOLATION (not in order, a reference to a later or missing thing),
 * PROJECTION_CORRUPTION_DETECTED (facts that contradict each other), OUT_OF_MEMORY. */
MUST_CHECK int wr_session_add(struct wr_session *s, const struct wr_event *e, struct wr_fault *f);
MUST_CHECK int wr_session_add_plan(struct wr_session *s, const struct wr_plan *p,
                                   struct wr_fault *f);
/* The event of a dedupe key, or NULL. */
const struct wr_event *wr_session_key(const struct wr_session *s, struct str dedupe_key);
/* The advance of an attempt, of whatever node; NULL: it was not used. */
const struct wr_event *wr_session_attempt(const struct wr_session *s, struct str attempt_id);
/* How many keys of the plan the session has: for wr_plan_dedupe. */
size_t wr_session_present(const struct wr_session *s, const struct wr_plan *p);
/* Positions; WR_NO_NODE when there is none. */
size_t wr_session_node(const struct wr_session *s, struct str node_id);
size_t wr_session_run(const struct wr_session *s, struct str run_id);

/* --- tips (7.2) --- */
struct wr_tip {
    size_t node; /* WR_NO_NODE: the run has no node */
    int64_t score;
};
bool wr_tip_better(const struct wr_session *s, const struct wr_tip *x, const struct wr_tip *y);
/* Tips, ascending by id, of a; out may be NULL.  0 or NO_MEMORY. */
MUST_CHECK int wr_run_tips(const struct wr_session *s, size_t run, struct arena *a,
                           struct wr_tip **out, size_t *nr, struct wr_tip *preferred);
/* --- what holds at a node (7.4, 7.5); as_of: events up to this index, INT64_MAX for all --- */
struct wr_preferences wr_node_preferences(const struct wr_session *s, size_t node, int64_t as_of);
/* Latest event of a capability on the path; strong: that alone counts for requirements (WR-169).
 * NULL: unknown. */
const struct wr_event *wr_node_capability(const struct wr_session *s, size_t node,
                                          enum wr_capability c, bool strong);
/* The context of the branch (WR-171, Q-11): canonical object, STR_NONE when there is none. */
struct str wr_node_context(const struct wr_session *s, size_t node);
/* Current outputs of a node and channel in log order (WR-166), of a. */
MUST_CHECK int wr_node_outputs(const struct wr_session *s, size_t node, enum wr_channel channel,
                               struct arena *a, const struct wr_event ***out, size_t *nr);
/* Gaps of a run (WR-167): the last record of each id, by index, of a. */
struct wr_gap {
    const struct wr_event *event;
    bool resolved;
};
MUST_CHECK int wr_run_gaps(const struct wr_session *s, size_t run, struct arena *a,
                           struct wr_gap **out, size_t *nr);
/* --- status (7.3) --- */
enum wr_run_status {
    WR_IN_PROGRESS,
    WR_STATUS_BLOCKED,
    WR_COMPLETE,
    WR_COMPLETE_WITH_GAPS,
    WR_RUN_STATUSES
};
const char *wr_run_status_name(enum wr_run_status status);
/* tip_state: enum wr_state_kind of the preferred tip's snapshot (WR-163). */
MUST_CHECK int wr_run_status(const struct wr_session *s, size_t run, size_t tip, int tip_state,
                             enum wr_run_status *out, struct wr_fault *f);

#endif
