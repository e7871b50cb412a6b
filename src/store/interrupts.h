/*
 * interrupts.h: read the suspension store: the interrupts of runs (STORE-8, STORE-9).  Layer:
 * store.  Rows are written by plans (struct plan_interrupt).  General rules: store.h.
 */
#ifndef WOPR_STORE_INTERRUPTS_H
#define WOPR_STORE_INTERRUPTS_H

#include "domain/plan.h"
#include "store/store.h"

struct interrupt_row {
    struct str interrupt_id, run_id, node_id, key, kind, payload, resume_schema;
    struct str tenant, workflow_id;
    bool test_mode;
    int64_t run_no;
    enum run_status run_status;
    enum interrupt_row_state state;
    int64_t requested_ms, requested_seq, timeout_at_ms, resolved_ms; /* 0 = none */
    struct str resume_value, resolved_by, action;
    struct str cause; /* rejected: "run-cancelled", "parent-cancelled" or "run-failed";
                         resumed by an external event: the id of that event */
};
struct interrupt_list {
    struct interrupt_row *v;
    size_t n;
    int64_t next_ms; /* with next_id: the last pending one compared, when there may be more */
    struct str next_id;
};
/* By id.  An empty tenant matches every tenant and mode: for holders of a signed token.
 * INTERRUPT_NOT_FOUND. */
MUST_CHECK int store_interrupt_get(struct store *s, struct str tenant, bool test_mode,
                                   struct str interrupt_id, struct arena *a,
                                   struct interrupt_row *out, struct wopr_error *err);
/* All of a run, by request sequence.  Empty node_id: of all nodes; open_only: pending ones. */
MUST_CHECK int store_interrupts_of_run(struct store *s, int64_t run_no, struct str node_id,
                                       bool open_only, struct arena *a, struct interrupt_list *out,
                                       struct wopr_error *err);

struct interrupt_filter { /* empty members match all */
    struct str tenant;
    bool any_tenant, test_mode, any_mode; /* any_*: tools only */
    bool whole;                           /* compare every row, whatever it costs */
    struct str kind, run_id;
    struct str owner_user_id; /* subjectId of the run's creator (STORE-9) */
    int64_t after_ms;         /* with after_id: the last one of the page before */
    struct str after_id;
    unsigned max; /* at most STORE_LIST_MAX */
};
/* Pending interrupts, oldest first, of runs that have not ended (INT-47).  As in store_run_list, a
 * call for one tenant and mode compares at most STORE_EXAMINED_MAX rows: the list may be short, and
 * next_id is set then. */
MUST_CHECK int store_interrupts_pending(struct store *s, const struct interrupt_filter *f,
                                        struct arena *a, struct interrupt_list *out,
                                        struct wopr_error *err);

#endif
