/*
 * resume.h: which earlier work a person means (7.6).  Layer: workrail.  Pure.
 *
 * A summary is what one run contributes: made when its session changes, kept as a row, thrown away
 * and made again at will (WR-87).  A ranking looks at each once, keeps five, and takes no memory by
 * their number.
 */
#ifndef WOPR_WORKRAIL_RESUME_H
#define WOPR_WORKRAIL_RESUME_H

#include "workrail/operate.h"

struct wr_summary {
    struct str session_id, run_id, tip_node_id;
    /* Recency.  wr_summary_make gives the tip's score, an event index; between sessions the store
     * puts the host-wide commit counter of that event in its place. */
    int64_t activity;
    struct str head_sha, branch; /* the latest observed, p NULL: none */
    struct str note_tokens;      /* sorted, each with LF before and after: "\na\nb\n"; or empty */
    struct str workflow_tokens;  /* of id and name, the same form */
    struct str snippet;
    int status; /* enum wr_run_status */
};
/* WOPR_E_NOT_FOUND (fault NOT_FOUND): the run has no node, so it is no candidate. */
MUST_CHECK int wr_summary_make(const struct wr_operator *o, const struct wr_session *s, size_t run,
                               struct wr_summary *out, struct wr_fault *f);

/* "\na\nb\n" of a text (WR-180), in a.  STR_NONE: no memory. */
struct str wr_tokens(struct str text, struct arena *a);

enum wr_why {
    WR_WHY_HEAD = 1,
    WR_WHY_BRANCH = 2,
    WR_WHY_NOTES = 4,
    WR_WHY_WORKFLOW = 8,
    WR_WHY_RECENCY = 16
};
struct wr_candidate {
    struct wr_summary summary; /* texts are copied */
    int tier;                  /* 1 to 5 */
    unsigned why;              /* enum wr_why, or'ed */
};
struct wr_ranking {
    struct arena *a;
    struct str head_sha, branch, query_tokens;
    struct wr_candidate best[WR_CANDIDATES_MAX];
    size_t nr;
    int64_t total; /* eligible */
};
/* head_sha, branch, query: p NULL or blank = not given. */
MUST_CHECK int wr_ranking_begin(struct wr_ranking *r, struct str query, struct str branch,
                                struct str head_sha, struct arena *a);
/* Healthy sessions of the caller's tenant only: the caller sees to that. */
MUST_CHECK int wr_ranking_offer(struct wr_ranking *r, const struct wr_summary *s);
/* The reply of resume_session (WR-225); tokens: a state token for each of r->best. */
MUST_CHECK int wr_ranking_reply(const struct wr_ranking *r, const struct str *tokens,
                                struct arena *a, struct str *json);

#endif
