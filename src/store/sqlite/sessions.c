/*
 * sessions.c: reads sessions: logs, what they refer to, lists, the keyring.
 */
#include "store/sessions.h"
#include "store/sqlite/sql.h"

enum { HEAD_COLUMNS_OF_SESSION = 12 };

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to read a session");
}

static void session_head_read(struct query *q, struct arena *a, struct session_head *h) {
    *h = (struct session_head){.session_no = col_int(q, 0),
                               .session_id = col_str(q, 1, a),
                               .tenant = col_str(q, 2, a),
                               .test_mode = col_int(q, 3) != 0,
                               .keep = col_int(q, 4) != 0,
                               .created_ms = col_int(q, 5),
                               .changed_ms = col_int(q, 6),
                               .next_event = col_int(q, 7),
                               .next_manifest = col_int(q, 8),
                               .commit_no = col_int(q, 9),
                               .bytes = col_int(q, 10),
                               .imported_from = col_str(q, 11, a)};
}

/* 0, q is open on the row; else it is closed. */
static int head_find(struct query *q, struct str tenant, bool test_mode, struct str session_id,
                     struct arena *a, struct session_head *h, struct wopr_error *err) {
    bind_text(q, session_id);
    int rc = query_step(q, err);
    if (rc < 0) return rc;
    if (rc == 1) session_head_read(q, a, h);
    bool seen =
        rc == 1 && (tenant.n == 0 || (str_eq(h->tenant, tenant) && h->test_mode == test_mode));
    rc = arena_failed(a) ? no_memory(err)
         : seen          ? 0
                         : wopr_error_set(err, WOPR_E_NOT_FOUND, "there is no such session");
    if (rc != 0) query_end(q);
    return rc;
}

int store_session_head(struct store *s, struct str tenant, bool test_mode, struct str session_id,
                       struct arena *a, struct session_head *out, struct wopr_error *err) {
    struct session_head h;
    struct query q;
    int rc = read_begin(&q, s, SQL_SESSION_GET, err);
    if (rc == 0) rc = head_find(&q, tenant, test_mode, session_id, a, &h, err);
    if (rc != 0) return rc;
    query_end(&q);
    *out = h;
    return 0;
}

static int event_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct session_event_row *)row =
        (struct session_event_row){.index = col_int(q, 0),
                                   .event = {
                                       .event_id = col_str(q, 1, a),
                                       .kind = col_str(q, 2, a),
                                       .run_id = col_str(q, 3, a),
                                       .node_id = col_str(q, 4, a),
                                       .dedupe_key = col_str(q, 5, a),
                                       .bytes = col_str(q, 6, a),
                                   }};
    return 0;
}

static int64_t col_or_none(struct query *q, int i) { return col_null(q, i) ? -1 : col_int(q, i); }

static int record_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct session_record_row *)row =
        (struct session_record_row){.index = col_int(q, 0),
                                    .committed_ms = col_int(q, 6),
                                    .record = {.kind = col_str(q, 1, a),
                                               .first = col_or_none(q, 2),
                                               .last = col_or_none(q, 3),
                                               .event_index = col_or_none(q, 4),
                                               .snapshot_ref = col_str(q, 5, a),
                                               .bytes = col_str(q, 7, a)}};
    return 0;
}

/* held stays open, and with it the read transaction: all three are of one commit. */
static int log_read(struct query *held, struct arena *a, struct session_log *l,
                    struct wopr_error *err) {
    struct query q;
    query_begin(&q, held->c, SQL_SESSION_EVENTS);
    bind_int(&q, l->head.session_no);
    bind_int(&q, l->from.event);
    int rc = list_read(&q, a, event_read, &l->events, err);
    if (rc != 0) return rc;
    query_begin(&q, held->c, SQL_SESSION_RECORDS);
    bind_int(&q, l->head.session_no);
    bind_int(&q, l->from.record);
    return list_read(&q, a, record_read, &l->records, err);
}

int store_session_log(struct store *s, struct str tenant, bool test_mode, struct str session_id,
                      struct session_from from, struct arena *a, struct session_log *out,
                      struct wopr_error *err) {
    struct session_log l = {.from = from};
    struct query held;
    int rc = read_begin(&held, s, SQL_SESSION_GET, err);
    if (rc == 0) rc = head_find(&held, tenant, test_mode, session_id, a, &l.head, err);
    if (rc != 0) return rc;
    rc = log_read(&held, a, &l, err);
    query_end(&held);
    if (rc == 0) *out = l;
    return rc;
}

int store_session_event_by_key(struct store *s, int64_t session_no, struct str key, struct arena *a,
                               struct str *bytes, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_SESSION_EVENT_BY_KEY, err);
    if (rc != 0) return rc;
    bind_int(&q, session_no);
    bind_text(&q, key);
    rc = query_step(&q, err);
    bool found = rc == 1;
    struct str got = found ? col_str(&q, 0, a) : STR_NONE;
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && !found) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no event has this key");
    if (rc == 0) *bytes = got;
    return rc;
}

int store_session_blob(struct store *s, enum session_blob kind, struct str digest, struct arena *a,
                       struct plan_session_blob *out, struct wopr_error *err) {
    struct plan_session_blob b = {.kind = kind};
    struct query q;
    int rc = read_begin(&q, s, SQL_SESSION_BLOB, err);
    if (rc != 0) return rc;
    bind_int(&q, kind);
    bind_text(&q, digest);
    rc = query_step(&q, err);
    bool found = rc == 1;
    if (found) {
        b.digest = col_str(&q, 0, a);
        b.content_type = col_str(&q, 1, a);
        b.bytes = col_str(&q, 2, a);
    }
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && !found)
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "no text of this digest is stored");
    if (rc == 0) *out = b;
    return rc;
}

int store_session_pinned(struct store *s, struct str tenant, bool test_mode, struct str digest,
                         bool *seen, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_SESSION_PINNED, err);
    if (rc != 0) return rc;
    bind_text(&q, digest);
    bind_text(&q, tenant);
    bind_int(&q, test_mode);
    rc = query_step(&q, err);
    query_end(&q);
    if (rc >= 0) *seen = rc == 1;
    return rc < 0 ? rc : 0;
}

int store_session_node(struct store *s, int64_t session_no, struct str node_id, struct arena *a,
                       struct plan_session_node *out, struct wopr_error *err) {
    struct plan_session_node n = {.seq = -1};
    struct query q;
    int rc = read_begin(&q, s, SQL_SESSION_NODE, err);
    if (rc != 0) return rc;
    bind_int(&q, session_no);
    bind_text(&q, node_id);
    rc = query_step(&q, err);
    bool found = rc == 1;
    if (found) n = (struct plan_session_node){col_str(&q, 0, a), col_str(&q, 1, a), col_int(&q, 2)};
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && !found) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no run shows this node");
    if (rc == 0) *out = n;
    return rc;
}

int store_session_of_run(struct store *s, int64_t run_no, struct arena *a,
                         struct session_of_run *out, struct wopr_error *err) {
    struct session_of_run r = {.session_no = 0};
    struct query q;
    int rc = read_begin(&q, s, SQL_SESSION_OF_RUN, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    rc = query_step(&q, err);
    if (rc == 1)
        r = (struct session_of_run){.session_no = col_int(&q, 0),
                                    .session_id = col_str(&q, 1, a),
                                    .wr_run_id = col_str(&q, 2, a),
                                    .tenant = col_str(&q, 3, a),
                                    .test_mode = col_int(&q, 4) != 0};
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *out = r;
    return rc;
}

static int run_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct session_run *)row = (struct session_run){.run_no = col_int(q, 0),
                                                      .run_id = col_str(q, 1, a),
                                                      .wr_run_id = col_str(q, 2, a),
                                                      .status = (enum run_status)col_int(q, 3)};
    return 0;
}

int store_session_runs(struct store *s, int64_t session_no, struct arena *a,
                       struct session_runs *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_SESSION_RUNS, err);
    if (rc != 0) return rc;
    bind_int(&q, session_no);
    return list_read(&q, a, run_read, out, err);
}

/* ---------------------------------------------------------------- lists */
static int list_row_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    struct session_list_row *r = row;
    int i = HEAD_COLUMNS_OF_SESSION;
    (void)err;
    session_head_read(q, a, &r->head);
    r->resume.wr_run_id = col_str(q, i++, a);
    r->resume.node_id = col_str(q, i++, a);
    r->resume.workflow_hash = col_str(q, i++, a);
    r->resume.head_sha = col_str(q, i++, a);
    r->resume.branch = col_str(q, i++, a);
    r->resume.workflow_text = col_str(q, i++, a);
    r->resume.snippet = col_str(q, i++, a);
    r->resume.title = col_str(q, i++, a);
    r->resume.status = col_str(q, i++, a);
    r->resume.filter = r->resume.words = STR_NONE;
    return 0;
}

int store_session_list(struct store *s, const struct session_filter *f, struct arena *a,
                       struct session_list *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, f->any ? SQL_SESSION_LIST_ALL : SQL_SESSION_LIST, err);
    if (rc != 0) return rc;
    if (!f->any) {
        bind_text(&q, f->tenant);
        bind_int(&q, f->test_mode);
    }
    bind_int(&q, f->below.commit_no > 0 ? f->below.commit_no : INT64_MAX);
    bind_int(&q, f->below.session_no);
    bind_int(&q, f->max < STORE_LIST_MAX ? f->max : STORE_LIST_MAX);
    return list_read(&q, a, list_row_read, out, err);
}

static struct session_resume_row resume_view(struct query *q) {
    return (struct session_resume_row){.session_no = col_int(q, 0),
                                       .commit_no = col_int(q, 1),
                                       .session_id = col_view(q, 2),
                                       .resume = {.wr_run_id = col_view(q, 3),
                                                  .node_id = col_view(q, 4),
                                                  .workflow_hash = col_view(q, 5),
                                                  .head_sha = col_view(q, 6),
                                                  .branch = col_view(q, 7),
                                                  .workflow_text = col_view(q, 8),
                                                  .filter = col_view(q, 9)}};
}

int store_session_resumes(struct store *s, struct str tenant, bool test_mode,
                          session_resume_take *take, void *ctx, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_SESSION_RESUMES, err);
    if (rc != 0) return rc;
    bind_text(&q, tenant);
    bind_int(&q, test_mode);
    while ((rc = query_step(&q, err)) == 1) {
        const struct session_resume_row row = resume_view(&q);
        rc = take(ctx, &row, err);
        if (rc != 0) break;
    }
    query_end(&q);
    return rc < 0 ? rc : 0;
}

int store_session_resume_text(struct store *s, int64_t session_no, struct str wr_run_id,
                              struct arena *a, struct plan_session_resume *out,
                              struct wopr_error *err) {
    struct plan_session_resume r = {.wr_run_id = wr_run_id};
    struct query q;
    int rc = read_begin(&q, s, SQL_SESSION_TEXT, err);
    if (rc != 0) return rc;
    bind_int(&q, session_no);
    bind_text(&q, wr_run_id);
    rc = query_step(&q, err);
    bool found = rc == 1;
    if (found) {
        r.words = col_str(&q, 0, a);
        r.snippet = col_str(&q, 1, a);
        r.title = col_str(&q, 2, a);
        r.status = col_str(&q, 3, a);
    }
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && !found)
        return wopr_error_set(err, WOPR_E_NOT_FOUND, "nothing is stored for the search");
    if (rc == 0) *out = r;
    return rc;
}

int store_session_aged(struct store *s, int64_t before_ms, struct arena *a, struct str *session_id,
                       struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_SESSION_AGED, err);
    if (rc != 0) return rc;
    bind_int(&q, before_ms);
    rc = query_step(&q, err);
    bool found = rc == 1;
    struct str id = found ? col_str(&q, 0, a) : STR_NONE;
    rc = read_end(&q, rc, a, err);
    if (rc == 0 && !found) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no session is that old");
    if (rc == 0) *session_id = id;
    return rc;
}

/* ---------------------------------------------------------------- the keyring */
static int keyring_read(struct query *q, struct arena *a, struct plan_sealed *out,
                        struct wopr_error *err) {
    struct plan_sealed k = {.seq = 0};
    int rc = query_step(q, err);
    bool found = rc == 1;
    if (found) {
        k.key_no = col_int(q, 0);
        k.box = col_str(q, 1, a);
    }
    rc = read_end(q, rc, a, err);
    if (rc == 0 && !found) return wopr_error_set(err, WOPR_E_NOT_FOUND, "there is no keyring yet");
    if (rc == 0) *out = k;
    return rc;
}

int store_keyring_get(struct store *s, struct arena *a, struct plan_sealed *out,
                      struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_KEYRING_GET, err);
    return rc == 0 ? keyring_read(&q, a, out, err) : rc;
}

static int keyring_replace(struct conn *c, const struct plan_sealed *next, struct str was,
                           int64_t now_ms, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_KEYRING_GET);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    bool same = rc == 1 ? str_eq(col_view(&q, 1), was) : was.n == 0;
    query_end(&q);
    if (!same) return wopr_error_set(err, WOPR_E_STALE, "another process changed the keyring");
    query_begin(&q, c, SQL_KEYRING_PUT);
    bind_int(&q, next->key_no);
    bind_bytes(&q, next->box.p, next->box.n);
    bind_int(&q, now_ms);
    rc = query_run(&q, err);
    return rc == 0 && sqlite3_changes64(c->db) == 0 ? seal_key_gone(c, err) : rc;
}

int store_keyring_put(struct store *s, const struct plan_sealed *next, struct str was,
                      int64_t now_ms, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    return write_end(s, keyring_replace(s->writer, next, was, now_ms, err), err);
}
