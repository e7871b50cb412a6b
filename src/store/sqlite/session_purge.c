/*
 * session_purge.c: how sessions are kept and removed (WR-82, WR-84).  One that is being removed is
 * hidden first; it goes in slices, from the end of its log, and its row last, so that a crash in
 * between is gone on from.
 */
#include "store/sessions.h"
#include "store/sqlite/sql.h"

static int slice_run(struct conn *c, enum stmt_id id, int64_t session_no, int64_t *left,
                     struct wopr_error *err) {
    struct query q;
    if (*left <= 0) return 0;
    query_begin(&q, c, id);
    bind_int(&q, session_no);
    bind_int(&q, *left);
    int rc = query_run(&q, err);
    if (rc == 0) *left -= sqlite3_changes64(c->db);
    return rc;
}

struct ref_row {
    int64_t kind;
    struct str digest;
};
struct ref_rows {
    struct ref_row *v;
    size_t n;
};

static int ref_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct ref_row *)row = (struct ref_row){col_int(q, 0), col_str(q, 1, a)};
    return 0;
}

static int ref_remove(struct conn *c, const struct ref_row *r, int64_t session_no,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_SESSION_REF_DROP);
    bind_int(&q, r->kind);
    bind_text(&q, r->digest);
    bind_int(&q, session_no);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_SESSION_BLOB_DROP);
    bind_int(&q, r->kind);
    bind_text(&q, r->digest);
    return query_run(&q, err);
}

static int refs_remove(struct conn *c, int64_t session_no, int64_t *left, struct wopr_error *err) {
    struct ref_rows l = {NULL, 0};
    struct arena *a = arena_new((size_t)SESSION_SLICE_ROWS * 512 + 65536);
    struct query q;
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to remove a session");
    int rc = 0;
    if (*left > 0) {
        query_begin(&q, c, SQL_SESSION_REFS_OF);
        bind_int(&q, session_no);
        bind_int(&q, *left);
        rc = list_read(&q, a, ref_read, &l, err);
    }
    for (size_t i = 0; rc == 0 && i < l.n; i++) rc = ref_remove(c, &l.v[i], session_no, err);
    *left -= (int64_t)l.n;
    arena_free(a);
    return rc;
}

static int one_run(struct conn *c, enum stmt_id id, int64_t session_no, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, id);
    bind_int(&q, session_no);
    return query_run(&q, err);
}

static int resume_remove(struct conn *c, const struct session_head *h, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_SESSION_RESUME_LEAVE);
    bind_text(&q, h->tenant);
    bind_int(&q, h->test_mode);
    bind_int(&q, h->commit_no);
    bind_int(&q, h->session_no);
    int rc = query_run(&q, err);
    return rc == 0 ? one_run(c, SQL_SESSION_TEXT_DROP, h->session_no, err) : rc;
}

static int rows_remove(struct conn *c, const struct session_head *h, bool *more,
                       struct wopr_error *err) {
    int64_t left = SESSION_SLICE_ROWS, no = h->session_no;
    int rc = one_run(c, SQL_SESSION_HIDE, no, err);
    if (rc == 0) rc = resume_remove(c, h, err);
    if (rc == 0) rc = one_run(c, SQL_SESSION_RUNS_FREE, no, err);
    if (rc == 0) rc = one_run(c, SQL_SESSION_RUNS_DROP, no, err);
    if (rc == 0) rc = slice_run(c, SQL_SESSION_EVENTS_DROP, no, &left, err);
    if (rc == 0) rc = slice_run(c, SQL_SESSION_RECORDS_DROP, no, &left, err);
    if (rc == 0) rc = slice_run(c, SQL_SESSION_NODES_DROP, no, &left, err);
    if (rc == 0) rc = refs_remove(c, no, &left, err);
    *more = left <= 0;
    return rc == 0 && !*more ? one_run(c, SQL_SESSION_DROP, no, err) : rc;
}

static int session_purge_gate(struct conn *c, int open, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_RETENTION_SET); /* for other programs: see the triggers */
    bind_int(&q, open);
    return query_run(&q, err);
}

/* Also one that is hidden already. */
static int doomed_find(struct conn *c, struct str session_id, struct session_head *h,
                       struct arena *a, struct wopr_error *err) {
    struct query q;
    *h = (struct session_head){.session_no = 0};
    query_begin(&q, c, SQL_SESSION_STATE);
    bind_text(&q, session_id);
    int rc = query_step(&q, err);
    if (rc == 1) {
        h->session_no = col_int(&q, 0);
        h->tenant = col_str(&q, 1, a);
        h->test_mode = col_int(&q, 2) != 0;
        h->commit_no = col_int(&q, 5);
    }
    query_end(&q);
    if (rc < 0) return rc;
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "there is no such session");
    return arena_failed(a) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a session") : 0;
}

int store_session_delete(struct store *s, struct str session_id, bool *more,
                         struct wopr_error *err) {
    struct session_head h;
    bool rest = false;
    struct arena *a = arena_new(65536);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to remove a session");
    int rc = write_begin(s, err);
    if (rc == 0) {
        rc = doomed_find(s->writer, session_id, &h, a, err);
        if (rc == 0) rc = session_purge_gate(s->writer, 1, err);
        if (rc == 0) rc = rows_remove(s->writer, &h, &rest, err);
        if (rc == 0) rc = session_purge_gate(s->writer, 0, err);
        rc = write_end(s, rc, err);
    }
    if (rc == 0) *more = rest;
    arena_free(a);
    return rc;
}

int store_session_keep(struct store *s, struct str session_id, bool keep, struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_SESSION_KEEP);
    bind_text(&q, session_id);
    bind_int(&q, keep);
    rc = query_run(&q, err);
    if (rc == 0 && sqlite3_changes64(s->writer->db) == 0)
        rc = wopr_error_set(err, WOPR_E_NOT_FOUND, "there is no such session");
    return write_end(s, rc, err);
}
