/*
 * callbacks.h: what people are asked, on its way to the callback URL of their run (RUN-1, D57).
 * Layer: store.  General rules: store.h; how it is used: src/hooks/DESIGN.md.
 *
 * A question of a run with a callback URL adds one row in its own transaction.  The host that
 * delivers webhooks (store/hooks.h) sends it and records what came of it; nothing else does.
 *
 * Invariants
 *   C1  a question has one row at most, and a row that has ended is never open again
 *   C2  attempts are recorded by the holder of the lease of webhooks only (FENCED)
 */
#ifndef WOPR_STORE_CALLBACKS_H
#define WOPR_STORE_CALLBACKS_H

#include "store/store.h"

/* Numbers are stored: never reorder. */
enum callback_state { CALLBACK_OPEN, CALLBACK_SENT, CALLBACK_GIVEN_UP, CALLBACK_ANSWERED };

struct callback_row {
    struct str interrupt_id, run_id, tenant, url;
    struct str traceparent; /* that the run was asked for with, or empty */
    int64_t run_no, attempts, next_ms;
    bool test_mode;
    bool answers; /* the run was asked for by somebody who may answer */
};
struct callback_list {
    struct callback_row *v;
    size_t n;
};
/* Tenant and mode after *tenant and *test_mode, in a fixed order, that has open ones.  false in
 * *found: none is left; begin again with an empty name. */
MUST_CHECK int store_callback_tenant(struct store *s, struct str *tenant, bool *test_mode,
                                     struct arena *a, bool *found, struct wopr_error *err);
/* Open ones of a tenant that are due within from_ms..to_ms, the oldest first. */
MUST_CHECK int store_callbacks_due(struct store *s, struct str tenant, bool test_mode,
                                   int64_t from_ms, int64_t to_ms, unsigned max, struct arena *a,
                                   struct callback_list *out, struct wopr_error *err);

struct callback_mark {
    struct str interrupt_id;
    enum callback_state state;
    int64_t attempts, next_ms, status, last_ms;
    struct str error; /* why the last attempt failed, or empty */
};
/* A write: all of them in one transaction.  FENCED: another host delivers. */
MUST_CHECK int store_callback_marks(struct store *s, int64_t epoch, const struct callback_mark *v,
                                    size_t n, struct wopr_error *err);

struct callback_outcome { /* of one question, for people */
    struct str interrupt_id, node_id, error;
    enum callback_state state;
    int64_t attempts, next_ms, status, last_ms, requested_seq;
};
struct callback_outcomes {
    struct callback_outcome *v;
    size_t n;
};
/* Those of a run, by the sequence of the question, after `after`. */
MUST_CHECK int store_callback_outcomes(struct store *s, int64_t run_no, int64_t after, unsigned max,
                                       struct arena *a, struct callback_outcomes *out,
                                       struct wopr_error *err);
#endif
