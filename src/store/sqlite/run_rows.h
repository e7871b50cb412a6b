/*
 * run_rows.h: rows of runs and of their origins, inside the transaction of a batch of plans
 * (run_rows.c).  Layer: store, not for others.
 */
#ifndef WOPR_STORE_SQLITE_RUN_ROWS_H
#define WOPR_STORE_SQLITE_RUN_ROWS_H

#include "store/sqlite/sql.h"

enum { RUN_ROWS_MAX = 8 }; /* rows of one insert */
bool plan_ends_run(const struct plan *p);
int64_t plan_log_bytes(const struct plan *p); /* of its events and artifacts */
/* The conditional update of a run's row; *refusal says which of its conditions failed. */
MUST_CHECK int run_row_move(struct conn *c, struct plan *p, int *refusal, struct wopr_error *err);
/* X-Dedup: enforce (RUN-7), inside the creating transaction. */
MUST_CHECK int run_scope_check(struct conn *c, struct plan *p, int *refusal,
                               struct wopr_error *err);
/* How many of n creations one insert takes. */
size_t run_rows_fit(size_t n);
/* Insert the rows of so many creations and of their origins, and set run_no of each.  Several: no
 * child among them, whose origin reads its parent's.  *refusal is EXISTS when a run id is taken;
 * then nothing was written for any of them. */
MUST_CHECK int run_rows_insert(struct store *s, struct conn *c, struct plan **plans, size_t n,
                               int *refusal, struct wopr_error *err);
MUST_CHECK int run_tags_put(struct conn *c, const struct plan *p, struct wopr_error *err);

#endif
