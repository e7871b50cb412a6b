/*
 * checkpoints.c: images of folded states beside the log they were folded from.
 */
#include "store/runs.h"
#include "store/sqlite/sql.h"

int checkpoint_put(const struct row_writer *w, const struct plan_checkpoint *row) {
    struct query q;
    query_begin(&q, w->c, SQL_CHECKPOINT_PUT);
    bind_int(&q, w->run_no);
    bind_int(&q, row->seq);
    bind_bytes(&q, row->image.p, row->image.n);
    return query_run(&q, w->err);
}

static int checkpoint_read(struct store *s, enum stmt_id id, int64_t run_no, int64_t seq,
                           struct arena *a, struct plan_checkpoint *out, struct wopr_error *err) {
    struct query q;
    struct plan_checkpoint found = {0};
    int rc = read_begin(&q, s, id, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_int(&q, seq);
    rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "the run has no such checkpoint");
    if (rc == 1)
        found = (struct plan_checkpoint){.seq = col_int(&q, 0), .image = col_str(&q, 1, a)};
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *out = found;
    return rc;
}

int store_run_checkpoint(struct store *s, int64_t run_no, int64_t seq_max, struct arena *a,
                         struct plan_checkpoint *out, struct wopr_error *err) {
    return checkpoint_read(s, SQL_CHECKPOINT_LAST, run_no, seq_max, a, out, err);
}

int store_run_checkpoint_next(struct store *s, int64_t run_no, int64_t seq, struct arena *a,
                              struct plan_checkpoint *out, struct wopr_error *err) {
    return checkpoint_read(s, SQL_CHECKPOINT_NEXT, run_no, seq, a, out, err);
}
