/*
 * runs.h: read one run: its row, its view, and what a host needs to take it over.  Layer: store.
 * General rules: store.h.
 */
#ifndef WOPR_STORE_RUNS_H
#define WOPR_STORE_RUNS_H

#include "domain/plan.h"
#include "domain/state_save.h"
#include "store/store.h"

#define STORE_VIEW_CHILDREN_MAX 1000u /* the oldest, shown with their parent */

/* ---------------------------------------------------------------- what requests read */
struct run_head { /* what most requests need */
    int64_t run_no;
    struct str run_id;
    enum run_status status;
    int64_t next_seq;       /* sequence of the next event */
    int64_t epoch;          /* fencing epoch: rises with every change of holder */
    int64_t lease_until_ms; /* wall clock, to be shown only; 0: the lease was released */
    int64_t paused_ms;      /* 0: not paused */
    int64_t log_bytes;      /* as event_bytes() counts, plus artifacts; of inherited events those of
                             * a head and a view count, those of a list or an origin do not */
    struct str holder;      /* empty: none */
    int32_t engine_version, era, shown_engine_version;
    struct str parked; /* the reason, or empty */
};
/* NOT_FOUND; EXPIRED when retention removed the run. */
MUST_CHECK int store_run_head(struct store *s, struct str tenant, bool test_mode, struct str run_id,
                              struct arena *a, struct run_head *out, struct wopr_error *err);

/* Child runs (WF-45 to WF-50): the link is stored with the child. */
struct child_row {
    int64_t run_no;
    struct str run_id, node_id; /* node of the parent */
    enum run_status status;
    uint32_t flags; /* CHILD_AWAITED, CHILD_DETACHED */
    int64_t created_ms;
};
struct child_row_list {
    struct child_row *v;
    size_t n;
};
/* At most max children of a run, oldest first; open: only those that have not ended. */
MUST_CHECK int store_children(struct store *s, struct str parent_run_id, bool open, unsigned max,
                              struct arena *a, struct child_row_list *out, struct wopr_error *err);

/* The children that a parent shows; *more: it has others. */
MUST_CHECK int store_children_shown(struct store *s, struct str parent_run_id, struct arena *a,
                                    struct child_row_list *out, bool *more, struct wopr_error *err);

/* Everything GET /v1/runs/{id} shows, in neutral form; texts are raw JSON, ready to splice. */
struct run_view_item {
    struct str name, value;
};
struct run_view_entry { /* of a channel whose entries age */
    int64_t ts_ms;
    struct str value;
};
struct run_view_chan {
    struct str name;
    bool declared;
    struct str value; /* folded, with all entries */
    int64_t ttl_ms;   /* of a declared list; 0 = entries do not age and are not listed */
    struct run_view_entry *entries;
    size_t entries_nr;
};
struct run_view {
    struct run_head head;
    struct str workflow_id, current_node, error, outputs, agent, orchestrator, parent_run_id,
        parent_node_id;
    struct str configurable, tags, metadata; /* as received: mask before showing */
    int32_t child_depth;                     /* 0 = not a child */
    struct child_row_list children;          /* oldest first, STORE_VIEW_CHILDREN_MAX of them */
    bool more_children;                      /* there are more than that */
    int64_t created_ms, started_ms, completed_ms; /* 0 = not yet */
    struct str interrupt; /* what the run waits for; left empty here, the wire adapter fills it */
    struct run_view_item *nodes, *vars;
    size_t nodes_nr, vars_nr;
    struct run_view_chan *chans;
    size_t chans_nr;
    struct run_fork fork;
};
/* All of it is from the same commit.  NOT_FOUND, EXPIRED as above. */
MUST_CHECK int store_run_view(struct store *s, struct str tenant, bool test_mode, struct str run_id,
                              struct arena *a, struct run_view *out, struct wopr_error *err);
/* The same, but TOO_BIG after reading one row when the log has more than log_bytes_max bytes. */
MUST_CHECK int store_run_view_of(struct store *s, struct str tenant, bool test_mode,
                                 struct str run_id, int64_t log_bytes_max, struct arena *a,
                                 struct run_view *out, struct wopr_error *err);
/* NOT_FOUND. */
/* Whether the run has an artifact of this id. */
MUST_CHECK int store_artifact_known(struct store *s, int64_t run_no, struct str artifact_id,
                                    bool *known, struct wopr_error *err);
MUST_CHECK int store_artifact_get(struct store *s, struct str tenant, bool test_mode,
                                  struct str run_id, struct str artifact_id, struct arena *a,
                                  struct plan_artifact *out, struct wopr_error *err);

/* ---------------------------------------------------------------- what a holder reads */
struct run_origin { /* what was given when the run was created, for the fold */
    struct run_head head;
    struct run_meta meta;
    struct sha256 workflow_hash;
    struct str parent_run_id, parent_node_id; /* empty: not a child */
    int32_t child_depth;
    uint32_t child_flags;
    struct run_fork fork;
    int64_t agents_no; /* its set of agents, 0: none.  meta.agents is empty: store_agent_set */
};
/* NOT_FOUND; CORRUPT when the row is damaged. */
MUST_CHECK int store_run_origin(struct store *s, int64_t run_no, struct arena *a,
                                struct run_origin *out, struct wopr_error *err);

/* Where a run was cut from.  A fork that retention removed is found, too, while forks of it, or of
 * those, are there: their logs hold ids that derive from the ids of all ancestors.  NOT_FOUND. */
struct run_link {
    int64_t created_ms;
    struct run_fork fork; /* mode FORK_NONE: no fork */
};
/* NOT_FOUND. */
MUST_CHECK int store_run_link(struct store *s, int64_t run_no, struct arena *a,
                              struct run_link *out, struct wopr_error *err);

struct timer_row {
    enum timer_kind kind;
    struct str node_id;
    int64_t fire_at_ms; /* wall clock; -1 = stopped */
    int64_t remaining_ms;
};
struct timer_row_list {
    struct timer_row *v;
    size_t n;
};
/* All timers of a run, by kind and node. */
MUST_CHECK int store_timers(struct store *s, int64_t run_no, struct arena *a,
                            struct timer_row_list *out, struct wopr_error *err);

/* The newest checkpoint of a log with seq <= seq_max, a fork's inherited part included; sealed ones
 * as the run may read what is sealed (seals.h), and if asked for.  The first one of the run itself
 * with a greater seq.  The image is whatever the file holds.  NOT_FOUND. */
struct checkpoint_row {
    struct plan_checkpoint point;
    struct str run_id; /* that made it */
};
MUST_CHECK int store_run_checkpoint(struct store *s, int64_t run_no, int64_t seq_max, bool sealed,
                                    struct arena *a, struct checkpoint_row *out,
                                    struct wopr_error *err);
MUST_CHECK int store_run_checkpoint_next(struct store *s, int64_t run_no, int64_t seq,
                                         struct arena *a, struct plan_checkpoint *out,
                                         struct wopr_error *err);

/* The state of a run after its first events, from its newest usable checkpoint.  Without one state
 * is NULL: fold the log from its beginning.  An image of other inputs, limits or workflows is not
 * usable. */
struct checkpoint_of {
    int64_t run_no;
    int64_t seq_max; /* upper bound of the events in it */
    struct workflow *wf;
    const struct run_meta *meta;
    const struct run_limits *limits;
    struct vault *vault; /* opens sealed ones; NULL: they are left out */
};
struct checkpoint_state {
    struct run_state *state; /* the caller's; clean */
    struct state_aside aside;
    size_t image_bytes;
    int64_t passed_seq; /* of the newest unusable one, 0 = none */
    char why[200];      /* why it was not usable */
};
MUST_CHECK int store_run_state(struct store *s, const struct checkpoint_of *of,
                               struct arena *scratch, struct checkpoint_state *out,
                               struct wopr_error *err);

/* The invocation log of a run (STORE-42, D55), by node and ordinal.  Rows are handed out one at a
 * time and live for the call only, because all answers of a run may not fit into memory at once.
 * The first failure of take ends the walk and is returned. */
typedef int invocation_take(void *ctx, const struct plan_invocation *row, struct wopr_error *err);
MUST_CHECK int store_invocations(struct store *s, int64_t run_no, invocation_take *take, void *ctx,
                                 struct wopr_error *err);

#endif
