/*
 * fork.c: the parts of a plan that creates a fork (FORK-8, FORK-9): check that the source exists,
 * the link to it, the reference to the events before the cut (prefix.c), copies of the artifacts.
 */
#include "store/sqlite/sql.h"

/* Bytes of the state at the cut: in another run events of its own would account for them. */
static int64_t state_bytes(const struct plan *p) {
    int64_t n = 0;
    for (size_t i = 0; i < p->create->vars.n; i++) n += (int64_t)p->create->vars.v[i].value.n;
    for (size_t i = 0; i < p->nodes_nr; i++) n += (int64_t)p->nodes[i].state.n;
    for (size_t i = 0; i < p->vars_nr; i++) n += (int64_t)p->vars[i].value.n;
    for (size_t i = 0; i < p->sealed_nr; i++) n += (int64_t)p->sealed[i].box.n; /* its inputs */
    for (size_t i = 0; i < p->chans_nr; i++) n += (int64_t)p->chans[i].value.n;
    for (size_t i = 0; i < p->interrupts_nr; i++) n += (int64_t)p->interrupts[i].payload.n;
    return n;
}

int fork_source(struct conn *c, const struct plan *p, struct wopr_error *err) {
    struct run_fork *l = &p->create->fork->link;
    struct query q;
    if (l->source_run_no > 0) return 0;
    query_begin(&q, c, SQL_FORK_SOURCE_NO);
    bind_text(&q, l->source_run_id);
    int rc = query_step(&q, err);
    if (rc == 1) l->source_run_no = col_int(&q, 0);
    query_end(&q);
    return rc < 0 ? rc : 0;
}

int fork_admit(struct conn *c, const struct plan *p, int *refusal, struct wopr_error *err) {
    struct plan_fork *f = p->create->fork;
    struct query q;
    query_begin(&q, c, SQL_FORK_SOURCE);
    bind_int(&q, f->link.source_run_no);
    bind_int(&q, f->link.from_seq);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    bool there = rc == 1 && col_int(&q, 0) >= p->base_seq;
    bool ended = there && col_int(&q, 2) >= STORE_FINAL_STATUS;
    f->row_bytes = f->link.from_seq > 0 ? state_bytes(p) : 0;
    f->bytes = f->row_bytes + (there ? col_int(&q, 1) : 0);
    query_end(&q);
    if (!there) *refusal = WOPR_E_EXPIRED; /* retention was faster; a log never shrinks */
    else if (f->sealed && ended) *refusal = WOPR_E_STALE; /* so are its clear values */
    return 0;
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

static int replay_mark(struct conn *c, int64_t run_no, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_FORK_REPLAY);
    bind_int(&q, run_no);
    return query_run(&q, err);
}

static int artifacts_copy(struct conn *c, const struct plan *p, struct wopr_error *err) {
    const struct run_fork *l = &p->create->fork->link;
    struct query q;
    query_begin(&q, c, SQL_FORK_ARTIFACTS);
    bind_int(&q, p->run_no);
    bind_int(&q, l->source_run_no);
    bind_int(&q, l->from_seq);
    return query_run(&q, err);
}

int fork_fill(struct conn *c, const struct plan *p, struct wopr_error *err) {
    const struct plan_fork *f = p->create->fork;
    int rc = link_put(c, p->run_no, &f->link, err);
    if (rc == 0 && f->link.mode == FORK_REPLAY) rc = replay_mark(c, p->run_no, err);
    if (rc != 0 || f->link.from_seq == 0) return rc;
    rc = prefix_put(c, p->run_no, f, err);
    if (rc == 0 && f->sealed) rc = sealed_hold(c, p->run_no, &f->link, err);
    return rc == 0 && f->bytes > f->row_bytes ? artifacts_copy(c, p, err) : rc;
}
