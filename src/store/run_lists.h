/*
 * run_lists.h: find runs: for callers who list them, and for hosts that look for work.
 * Layer: store.  General rules: store.h.
 */
#ifndef WOPR_STORE_RUN_LISTS_H
#define WOPR_STORE_RUN_LISTS_H

#include "store/runs.h"

/* ---------------------------------------------------------------- GET /v1/runs, tools */
/* Empty members match all.  For one tenant and mode an index finds the first that is given of
 * fork_of, parent_run_id, tag, workflow_id and status; the others are compared row by row. */
struct run_filter {
    struct str tenant;
    bool any_tenant, test_mode, any_mode; /* any_*: tools only */
    bool whole;                           /* compare every run, whatever it costs */
    int status;                           /* enum run_status, -1 = all */
    struct str workflow_id, tag;
    struct str fork_of;       /* run id: only its forks */
    struct str parent_run_id; /* only children of this run */
    int64_t before_run_no;    /* only older runs; 0 = from the newest */
    unsigned max;             /* at most STORE_LIST_MAX */
};
struct run_list_item {
    struct run_head head;
    struct str tenant, workflow_id, tags, parent_run_id;
    bool test_mode;
    int64_t created_ms, started_ms, completed_ms;
    struct run_fork fork; /* mode, source_run_id and from_seq */
};
struct run_list {
    struct run_list_item *v;
    size_t n;
    struct str next; /* id of the last run compared; empty: no more, or the list is full */
};
/* Newest first.  With a filter of one tenant and mode, and without `whole`, a call compares at most
 * STORE_EXAMINED_MAX runs and collects about 8 MiB of texts: the list may then be short, even
 * empty, and next tells where to continue. */
MUST_CHECK int store_run_list(struct store *s, const struct run_filter *f, struct arena *a,
                              struct run_list *out, struct wopr_error *err);

/* ---------------------------------------------------------------- for hosts that look for work */
struct open_run_list {
    struct open_run {
        int64_t run_no, holder_no; /* 0 = no holder */
    } * v;
    size_t n;
};
/* Runs that need a holder: not final, not parked, and not waiting without one (STORE-35).
 * run_no > after, ascending, at most max. */
MUST_CHECK int store_runs_unfinished(struct store *s, int64_t after, unsigned max, struct arena *a,
                                     struct open_run_list *out, struct wopr_error *err);
/* Runs that show a waiting status although a child they wait for does not (any longer): after a
 * crash no message would wake them.  Some of them may wait for something else. run_no > after,
 * ascending, at most max. */
MUST_CHECK int store_parents_waiting(struct store *s, int64_t after, unsigned max, struct arena *a,
                                     struct run_no_list *out, struct wopr_error *err);
/* Waiting runs with a timer due before before_ms (wall clock): they need a holder (STORE-35).  At
 * most max, in no order. */
MUST_CHECK int store_runs_with_timer_due(struct store *s, int64_t before_ms, unsigned max,
                                         struct arena *a, struct run_no_list *out,
                                         struct wopr_error *err);

#endif
