/*
 * derive.h: the events of a run that an append to a session makes (WR-256 to WR-262).
 * Layer: rail.
 *
 * Derivation is a function of the session (its truth with the append folded in), the append, the
 * run so far and the time of the commit: the same again gives the same events, so the run of an
 * imported session is made from its bytes.
 *
 * Which run: the first branch of a session lives in the run of its own id.  A node that does not
 * wait there any more, because it was answered before, is answered again in a run of its own: a
 * fork of the run that shows it, cut where it waits, whose first event is the answer (proposal A).
 * A checkpoint asks nothing: what is answered is the step that it was made of.
 */
#ifndef WOPR_RAIL_DERIVE_H
#define WOPR_RAIL_DERIVE_H

#include "domain/plan.h"
#include "rail/shown.h"
#include "workrail/operate.h"

struct rail_owner {                        /* of a session: fixed when it starts (WR-268) */
    struct str tenant, workspace, subject; /* subject: raw JSON */
    bool test_mode;
};
/* Runs of a session as they were last folded, kept for its next append: the last few that moved,
 * so that agents which work on several branches do not take each other's place. */
enum { RAIL_RUNS_KEPT = 4 };
struct rail_runs {
    struct {
        int64_t run_no; /* 0: none */
        struct rail_shown shown;
    } v[RAIL_RUNS_KEPT]; /* the last that moved first */
};
void rail_runs_fini(struct rail_runs *r);
size_t rail_runs_bytes(const struct rail_runs *r);

struct rail_derive {
    struct store *store;
    const struct payload_rules *rules;
    const struct wr_operator *op;   /* reads snapshots */
    const struct wr_session *truth; /* with the plan folded in */
    const struct wr_plan *append;
    const struct wr_workflow *workflow;
    struct rail_owner owner;
    int64_t session_no;     /* 0: the session is new */
    struct str salt;        /* of an import whose ids are those of another session; else empty */
    struct str resolved_by; /* who answered over REST; empty: an agent */
    int64_t tenant_bytes_max;
    int64_t now_ms;
    /* NULL: each append folds its run anew.  What is in there after rail_derive is ahead of the
     * log by the plan: throw all of it away when that is not committed. */
    struct rail_runs *runs;
};
/* Fills p: what it does to a run (or to none: PLAN_SIDE), events, rows, and the nodes of
 * p->session, which is there already.  PRECONDITION_FAILED: the run was cancelled, or the log is
 * full; SESSION_LOAD_FAILED; OUT_OF_MEMORY. */
MUST_CHECK int rail_derive(const struct rail_derive *d, struct plan *p, struct wr_fault *f);
/* The id of the run that shows a WorkRail run, or a branch of it. */
struct str rail_run_id(struct str wr_run_id, struct str salt, struct arena *a);

#endif
