/*
 * import_runs.h: the runs of a session that comes as a whole (WR-256): derived append by append, as
 * if each had been made here, into one plan for each run.  Layer: rail, not for others.
 */
#ifndef WOPR_RAIL_IMPORT_RUNS_H
#define WOPR_RAIL_IMPORT_RUNS_H

#include "rail/derive_int.h"
#include "rail/session.h"

struct rail_op;
struct import_run;
struct import_runs {
    struct rail_op *op;
    const struct rail_session *session;
    struct rail_owner owner;
    struct str salt;
    int64_t now_ms;
    /* made */
    struct import_run *runs;
    size_t runs_nr;
    struct plan **plans; /* each run's, sources first; the first carries the session */
    size_t plans_nr;
};
/* x: the session's part of the first plan; gets its nodes. */
MUST_CHECK int import_runs_make(struct import_runs *m, struct plan_session *x, struct wr_fault *f);
void import_runs_fini(struct import_runs *m);
/* The same blobs in the form of an append, whose snapshots are read before they are stored. */
MUST_CHECK int import_blobs(struct arena *a, const struct plan_session_blob *v, size_t n,
                            struct wr_plan *out);

#endif
