/*
 * checkpoints.c: images of folded states beside the log they were folded from.  A fork also finds
 * those of the runs whose events it inherits.  Plans write them, up to a quarter of a log's bytes,
 * which no tenant is charged for; retention removes those of a run at once, also when forks keep
 * its events.
 */
#include "store/runs.h"
#include "store/sqlite/sql.h"

enum { SEGMENTS_MAX = 256 }; /* to search before giving up */

int checkpoint_put(const struct row_writer *w, const struct plan_checkpoint *row) {
    struct query q;
    query_begin(&q, w->c, SQL_CHECKPOINT_PUT);
    bind_int(&q, w->run_no);
    bind_int(&q, row->seq);
    bind_int(&q, row->key_no);
    bind_bytes(&q, row->image.p, row->image.n);
    int rc = query_run(&q, w->err);
    if (rc != 0 || sqlite3_changes64(w->c->db) == 1) return rc;
    return seal_key_gone(w->c, w->err);
}

static int none_found(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NOT_FOUND, "the run has no such checkpoint");
}

/* The row of a statement that has one; ends q. */
static int checkpoint_read(struct query *q, struct arena *a, struct str *run_id,
                           struct plan_checkpoint *out, struct wopr_error *err) {
    struct plan_checkpoint found = {0};
    int rc = query_step(q, err);
    if (rc == 0) return none_found(err);
    if (rc == 1) found = (struct plan_checkpoint){col_int(q, 0), col_int(q, 1), col_str(q, 2, a)};
    if (rc == 1 && run_id) *run_id = col_str(q, 3, a);
    rc = read_end(q, rc, a, err);
    if (rc == 0) *out = found;
    return rc;
}

int store_run_checkpoint(struct store *s, int64_t run_no, int64_t seq_max, bool sealed,
                         struct arena *a, struct checkpoint_row *out, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    for (int n = 0; rc == 0 && seq_max > 0 && n < SEGMENTS_MAX; n++) {
        struct segment g;
        struct query q;
        rc = segment_at(c, run_no, seq_max - 1, &g, err);
        if (rc != 0) return rc;
        query_begin(&q, c, SQL_CHECKPOINT_LAST);
        bind_int(&q, g.run_no);
        bind_int(&q, g.first);
        /* always fold the event at a cut: an image lacks what the fork notes of it */
        bind_int(&q, g.inherited && seq_max >= g.until ? g.until - 1 : seq_max);
        bind_int(&q, run_no);
        bind_int(&q, sealed);
        rc = checkpoint_read(&q, a, &out->run_id, &out->point, err);
        if (rc != WOPR_E_NOT_FOUND) return rc;
        seq_max = g.first;
        rc = 0;
    }
    return rc == 0 ? none_found(err) : rc;
}

int store_run_checkpoint_next(struct store *s, int64_t run_no, int64_t seq, struct arena *a,
                              struct plan_checkpoint *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_CHECKPOINT_NEXT, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_int(&q, seq);
    return checkpoint_read(&q, a, NULL, out, err);
}
