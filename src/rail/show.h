/*
 * show.h: sessions as people see them: the projections that routes and commands share (section 11).
 * Layer: rail.  Reads only; each function appends one JSON value or object.
 *
 * A damaged session is shown as far as it is good, with "salvage": true (WR-251).
 */
#ifndef WOPR_RAIL_SHOW_H
#define WOPR_RAIL_SHOW_H

#include "rail/rail.h"
#include "store/sessions.h"

struct rail_view { /* whose eyes; an empty tenant: of tools, all */
    struct str tenant;
    bool test_mode;
};
struct rail_page {
    struct str workflow_id, status, health; /* empty: all */
    struct session_place below;             /* of the last one shown */
    unsigned max;
};
/* {"sessions":[...],"nextBelow"?}: the last changed first (WR-248).  One call reads at most 200
 * sessions, so a page with filters may be short and still have nextBelow. */
MUST_CHECK int rail_show_sessions(struct rail *r, const struct rail_view *v,
                                  const struct rail_page *page, struct buf *out,
                                  struct wr_fault *f);
/* {"sessionId","health","salvage","runs":[...]}.  NOT_FOUND. */
MUST_CHECK int rail_show_session(struct rail *r, const struct rail_view *v, struct str session_id,
                                 struct buf *out, struct wr_fault *f);
/* A node with what was said of it (WR-249).  NOT_FOUND. */
MUST_CHECK int rail_show_node(struct rail *r, const struct rail_view *v, struct str session_id,
                              struct str node_id, struct buf *out, struct wr_fault *f);
/* {"workflows":[...]} as list_workflows; one of them: view "source", "compiled", or "pinned" with
 * the hash of a session that the tenant has. */
MUST_CHECK int rail_show_workflows(struct rail *r, struct buf *out, struct wr_fault *f);
struct rail_workflow_view {
    struct str id, view, hash;
};
MUST_CHECK int rail_show_workflow(struct rail *r, const struct rail_view *v,
                                  const struct rail_workflow_view *w, struct buf *out,
                                  struct wr_fault *f);
/* Contracts, features, templates and snippets that workflows may refer to (WR-254). */
MUST_CHECK int rail_show_builtins(struct buf *out, struct wr_fault *f);
/* {"applied","appliedConfigHash","desired" or "desiredProblem","restartRequired"}: what holds since
 * the start, and what a start now would bring (WR-252): it reads and compiles the folder again. */
MUST_CHECK int rail_show_config(struct rail *r, struct buf *out, struct wr_fault *f);

#endif
