/*
 * fork.c: forks in the store (FORK-9): the copy of a source's first events, and the removal of
 * copies that were never finished.  A copy in several plans is hidden by its tenant '' until the
 * last of them; a kill in between leaves a hidden run whose holder's lease ends.
 */
#include "store/sqlite/sql.h"
#include "store/upkeep.h"

/* First column of a one-row query, or absent. */
static int number_read(struct conn *c, enum stmt_id id, int64_t run_no, int64_t absent,
                       int64_t *out, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, id);
    bind_int(&q, run_no);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    *out = rc == 1 ? col_int(&q, 0) : absent;
    query_end(&q);
    return 0;
}

static int hidden_at(struct conn *c, const struct plan *p, bool *there, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_FORK_HIDDEN);
    bind_int(&q, p->create->fork->run_no);
    bind_int(&q, p->create->fork->copy_from);
    bind_int(&q, p->epoch);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    query_end(&q);
    *there = rc == 1;
    return 0;
}

int fork_admit(struct conn *c, const struct plan *p, int *refusal, struct wopr_error *err) {
    const struct plan_fork *f = p->create->fork;
    int64_t next_seq = -1;
    bool there = true;
    int rc = number_read(c, SQL_FORK_SOURCE, f->link.source_run_no, -1, &next_seq, err);
    if (rc == 0 && next_seq < p->base_seq) { /* retention was faster; a log never shrinks */
        *refusal = WOPR_E_EXPIRED;
        return 0;
    }
    if (rc == 0 && !f->first) rc = hidden_at(c, p, &there, err);
    if (rc == 0 && !there) *refusal = WOPR_E_STALE;
    return rc;
}

static int link_put(struct conn *c, int64_t run_no, const struct run_fork *l,
                    struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_FORK_LINK);
    bind_text(&q, l->source_run_id);
    bind_int(&q, l->from_seq);
    bind_int(&q, l->mode);
    bind_int(&q, l->source_run_no);
    bind_int(&q, l->base_seq);
    bind_int_opt(&q, l->cut_ms, 0);
    bind_int(&q, run_no);
    return query_run(&q, err);
}

static int run_mark(struct conn *c, enum stmt_id id, int64_t run_no, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, id);
    bind_int(&q, run_no);
    return query_run(&q, err);
}

static int prefix_copy(struct conn *c, enum stmt_id id, const struct plan *p,
                       struct wopr_error *err) {
    const struct plan_fork *f = p->create->fork;
    struct query q;
    query_begin(&q, c, id);
    bind_int(&q, p->run_no);
    bind_int(&q, f->link.source_run_no);
    bind_int(&q, f->copy_from);
    bind_int(&q, p->base_seq);
    return query_run(&q, err);
}

int fork_fill(struct conn *c, const struct plan *p, struct wopr_error *err) {
    const struct plan_fork *f = p->create->fork;
    int64_t n = p->base_seq - f->copy_from;
    int rc = 0;
    if (f->first && f->link.mode == FORK_REPLAY) rc = run_mark(c, SQL_FORK_REPLAY, p->run_no, err);
    if (rc == 0 && f->first && !f->last) rc = run_mark(c, SQL_FORK_HIDE, p->run_no, err);
    /* The cut's time is known when all was folded: the last plan writes it again. */
    if (rc == 0 && (f->first || f->last)) rc = link_put(c, p->run_no, &f->link, err);
    if (rc != 0 || n == 0) return rc;
    rc = prefix_copy(c, SQL_FORK_COPY, p, err);
    if (rc == 0 && sqlite3_changes64(c->db) != n)
        rc = wopr_error_set(err, WOPR_E_CORRUPT, "the log of the source of a fork has a hole");
    return rc == 0 ? prefix_copy(c, SQL_FORK_ARTIFACTS, p, err) : rc;
}

/* ------------------------------------------------------------------------------ left overs */
int store_fork_hidden(struct store *s, int64_t after, int64_t *run_no, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    int64_t found = 0;
    rc = write_end(s, number_read(s->writer, SQL_FORK_NEXT_HIDDEN, after, 0, &found, err), err);
    if (rc == 0) *run_no = found;
    return rc;
}

struct left {
    int64_t run_no, next_seq, last_seq;
};

static int left_take(struct conn *c, int64_t epoch, struct left *l, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_FORK_LEFT);
    bind_int(&q, l->run_no);
    bind_int(&q, epoch);
    int rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_FENCED, "the fork is not hidden any more");
    if (rc < 0) return rc;
    l->next_seq = col_int(&q, 0);
    l->last_seq = col_int(&q, 1);
    return query_run(&q, err);
}

static int left_forget(struct conn *c, const struct left *l, struct wopr_error *err) {
    struct query q;
    int rc = purge_rows(c, l->run_no, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_COUNTERS_ADD);
    bind_int(&q, -1);
    bind_int(&q, -1);
    bind_int(&q, -l->next_seq);
    return query_run(&q, err);
}

/* The run is deleted, and leaves the counters, with the last of its events. */
static int left_remove(struct conn *c, const struct left *l, unsigned max, bool *gone,
                       struct wopr_error *err) {
    int64_t keep = l->last_seq >= (int64_t)max ? l->last_seq - (int64_t)max : -1;
    struct query q;
    int rc = purge_gate(c, 1, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_FORK_UNCOPY);
    bind_int(&q, l->run_no);
    bind_int(&q, keep);
    rc = query_run(&q, err);
    if (rc == 0 && keep < 0) rc = left_forget(c, l, err);
    *gone = keep < 0;
    return rc == 0 ? purge_gate(c, 0, err) : rc;
}

int store_fork_remove(struct store *s, int64_t run_no, int64_t epoch, unsigned max, bool *gone,
                      struct wopr_error *err) {
    struct left l = {.run_no = run_no};
    bool last = false;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = left_take(s->writer, epoch, &l, err);
    if (rc == 0) rc = left_remove(s->writer, &l, max > 0 ? max : 1, &last, err);
    rc = write_end(s, rc, err);
    if (rc == 0) *gone = last;
    return rc;
}
