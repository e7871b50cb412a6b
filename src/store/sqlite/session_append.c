/*
 * session_append.c: what a plan adds to the log of a session (WR-55, WR-67), inside its
 * transaction.  The session's row is compared before anything is written: the one writer of SQLite
 * and this look are what a lock on the session would be (WR-72).
 */
#include "store/sqlite/sql.h"

struct session_state {
    bool found, mine, orphans;
    int64_t session_no, next_event, next_manifest, commit_no;
};

static int state_read(struct conn *c, const struct plan_session *x, struct session_state *out,
                      struct wopr_error *err) {
    struct query q;
    *out = (struct session_state){.found = false};
    query_begin(&q, c, SQL_SESSION_STATE);
    bind_text(&q, x->session_id);
    int rc = query_step(&q, err);
    if (rc == 1)
        *out = (struct session_state){.found = true,
                                      .session_no = col_int(&q, 0),
                                      .mine = str_eq(col_view(&q, 1), x->tenant) &&
                                              (col_int(&q, 2) != 0) == x->test_mode,
                                      .next_event = col_int(&q, 3),
                                      .next_manifest = col_int(&q, 4),
                                      .commit_no = col_int(&q, 5),
                                      .orphans = col_int(&q, 6) != 0};
    query_end(&q);
    return rc < 0 ? rc : 0;
}

int session_guard(struct conn *c, const struct plan *p, int *refusal, struct wopr_error *err) {
    const struct plan_session *x = p->session;
    struct session_state now;
    if (!x) return 0;
    int rc = state_read(c, x, &now, err);
    if (rc != 0) return rc;
    if (x->create) {
        if (now.found) *refusal = WOPR_E_EXISTS;
        return 0;
    }
    if (!now.found || !now.mine) *refusal = WOPR_E_NOT_FOUND;
    else if (now.orphans) *refusal = WOPR_E_CORRUPT; /* WR-71 */
    else if (now.next_event != x->base_event || now.next_manifest != x->base_manifest)
        *refusal = WOPR_E_STALE;
    return 0;
}

static int64_t bytes_of(const struct plan_session *x) {
    int64_t n = 0;
    for (size_t i = 0; i < x->events_nr; i++) n += (int64_t)x->events[i].bytes.n + 1;
    for (size_t i = 0; i < x->records_nr; i++) n += (int64_t)x->records[i].bytes.n + 1;
    for (size_t i = 0; i < x->blobs_nr; i++) n += (int64_t)x->blobs[i].bytes.n;
    return n;
}

static int count_next(struct conn *c, const struct plan_session *x, int64_t *commit_no,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_SESSION_COUNT);
    bind_int(&q, x->commit_no);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_SESSION_COUNTED);
    rc = query_step(&q, err);
    *commit_no = rc == 1 ? col_int(&q, 0) : 0;
    query_end(&q);
    if (rc == 0) return wopr_error_set(err, WOPR_E_CORRUPT, "the row that counts commits is gone");
    if (x->commit_no > 0 && x->commit_no < *commit_no) *commit_no = x->commit_no;
    return rc < 0 ? rc : 0;
}

static int row_insert(struct conn *c, const struct plan_session *x, int64_t commit_no, int64_t *no,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_SESSION_INSERT);
    bind_text(&q, x->session_id);
    bind_text(&q, x->tenant);
    bind_int(&q, x->test_mode);
    bind_int(&q, x->at_ms);
    bind_int(&q, (int64_t)x->events_nr);
    bind_int(&q, (int64_t)x->records_nr);
    bind_int(&q, commit_no);
    bind_int(&q, bytes_of(x));
    bind_opt(&q, x->imported_from);
    int rc = query_run(&q, err);
    *no = sqlite3_last_insert_rowid(c->db);
    return rc;
}

static int row_move(struct conn *c, const struct plan_session *x, int64_t commit_no, int64_t no,
                    struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_SESSION_MOVE);
    bind_int(&q, no);
    bind_int(&q, x->at_ms);
    bind_int(&q, x->base_event + (int64_t)x->events_nr);
    bind_int(&q, x->base_manifest + (int64_t)x->records_nr);
    bind_int(&q, commit_no);
    bind_int(&q, bytes_of(x));
    return query_run(&q, err);
}

static int resume_leave(struct conn *c, const struct plan_session *x,
                        const struct session_state *was, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_SESSION_RESUME_LEAVE);
    bind_text(&q, x->tenant);
    bind_int(&q, x->test_mode);
    bind_int(&q, was->commit_no);
    bind_int(&q, was->session_no);
    return query_run(&q, err);
}

static int row_put(struct conn *c, const struct plan_session *x, int64_t *no, int64_t *commit_no,
                   struct wopr_error *err) {
    struct session_state was;
    int rc = count_next(c, x, commit_no, err);
    if (rc != 0) return rc;
    if (x->create) return row_insert(c, x, *commit_no, no, err);
    rc = state_read(c, x, &was, err);
    *no = was.session_no;
    if (rc == 0) rc = resume_leave(c, x, &was, err);
    return rc == 0 ? row_move(c, x, *commit_no, *no, err) : rc;
}

static int blobs_put(struct conn *c, const struct plan_session *x, int64_t no,
                     struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < x->blobs_nr; i++) {
        const struct plan_session_blob *b = &x->blobs[i];
        struct query q;
        if (b->bytes.n > 0) { /* else: there already, this session refers to it, too */
            query_begin(&q, c, SQL_SESSION_BLOB_PUT);
            bind_int(&q, b->kind);
            bind_text(&q, b->digest);
            bind_opt(&q, b->content_type);
            bind_text(&q, b->bytes);
            rc = query_run(&q, err);
        }
        if (rc != 0) break;
        query_begin(&q, c, SQL_SESSION_REF_PUT);
        bind_int(&q, b->kind);
        bind_text(&q, b->digest);
        bind_int(&q, no);
        rc = query_run(&q, err);
    }
    return rc;
}

static int events_put(struct conn *c, const struct plan_session *x, int64_t no,
                      struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < x->events_nr; i++) {
        const struct plan_session_event *e = &x->events[i];
        struct query q;
        query_begin(&q, c, SQL_SESSION_EVENT_INSERT);
        bind_int(&q, no);
        bind_int(&q, x->base_event + (int64_t)i);
        bind_text(&q, e->event_id);
        bind_text(&q, e->kind);
        bind_opt(&q, e->run_id);
        bind_opt(&q, e->node_id);
        bind_text(&q, e->dedupe_key);
        bind_text(&q, e->bytes);
        rc = query_run(&q, err);
    }
    return rc;
}

static int records_put(struct conn *c, const struct plan_session *x, int64_t no,
                       struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < x->records_nr; i++) {
        const struct plan_session_record *r = &x->records[i];
        struct query q;
        query_begin(&q, c, SQL_SESSION_RECORD_INSERT);
        bind_int(&q, no);
        bind_int(&q, x->base_manifest + (int64_t)i);
        bind_text(&q, r->kind);
        bind_int_opt(&q, r->first, -1);
        bind_int_opt(&q, r->last, -1);
        bind_int_opt(&q, r->event_index, -1);
        bind_opt(&q, r->snapshot_ref);
        bind_int(&q, x->at_ms);
        bind_text(&q, r->bytes);
        rc = query_run(&q, err);
    }
    return rc;
}

static int nodes_put(struct conn *c, const struct plan_session *x, int64_t no,
                     struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < x->nodes_nr; i++) {
        struct query q;
        query_begin(&q, c, SQL_SESSION_NODE_PUT);
        bind_int(&q, no);
        bind_text(&q, x->nodes[i].node_id);
        bind_text(&q, x->nodes[i].run_id);
        bind_int(&q, x->nodes[i].seq);
        rc = query_run(&q, err);
    }
    return rc;
}

static int run_link(const struct row_writer *w, const struct plan_session *x, int64_t no) {
    struct query q;
    if (x->wr_run_id.n == 0 || w->run_no == 0) return 0;
    query_begin(&q, w->c, SQL_SESSION_RUN_PUT);
    bind_int(&q, w->run_no);
    bind_int(&q, no);
    bind_text(&q, x->wr_run_id);
    int rc = query_run(&q, w->err);
    if (rc != 0) return rc;
    query_begin(&q, w->c, SQL_SESSION_RUN_KEEP);
    bind_int(&q, w->run_no);
    return query_run(&q, w->err);
}

static int resume_put(struct conn *c, const struct plan_session *x, int64_t no, int64_t commit_no,
                      const struct plan_session_resume *r, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_SESSION_RESUME_PUT);
    bind_text(&q, x->tenant);
    bind_int(&q, x->test_mode);
    bind_int(&q, commit_no);
    bind_int(&q, no);
    bind_text(&q, r->wr_run_id);
    bind_text(&q, x->session_id);
    bind_text(&q, r->node_id);
    bind_text(&q, r->workflow_hash);
    bind_opt(&q, r->head_sha);
    bind_opt(&q, r->branch);
    bind_text(&q, r->workflow_text);
    bind_bytes(&q, r->filter.p, r->filter.n);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_SESSION_TEXT_PUT);
    bind_int(&q, no);
    bind_text(&q, r->wr_run_id);
    bind_text(&q, r->words);
    bind_text(&q, r->snippet);
    bind_text(&q, r->title);
    bind_text(&q, r->status);
    return query_run(&q, err);
}

int session_put(const struct row_writer *w, const struct plan *p) {
    const struct plan_session *x = p->session;
    int64_t no = 0, commit_no = 0;
    if (!x) return 0;
    int rc = row_put(w->c, x, &no, &commit_no, w->err);
    if (rc == 0) rc = blobs_put(w->c, x, no, w->err);
    if (rc == 0) rc = events_put(w->c, x, no, w->err);
    if (rc == 0) rc = records_put(w->c, x, no, w->err);
    if (rc == 0) rc = nodes_put(w->c, x, no, w->err);
    if (rc == 0) rc = run_link(w, x, no);
    for (size_t i = 0; rc == 0 && i < x->resumes_nr; i++)
        rc = resume_put(w->c, x, no, commit_no, &x->resumes[i], w->err);
    return rc;
}
