/*
 * callbacks.c: questions on their way to the callback URL of their run (RUN-1).
 */
#include "store/callbacks.h"
#include "store/sqlite/sql.h"

/* ------------------------------------------------------------------------------ in a commit */
int callback_put(const struct row_writer *w, struct str interrupt_id) {
    struct query q;
    query_begin(&q, w->c, SQL_CALLBACK_PUT);
    bind_text(&q, interrupt_id);
    bind_int(&q, w->run_no);
    int rc = query_run(&q, w->err);
    if (rc == 0 && w->called && sqlite3_changes64(w->c->db) == 1) *w->called = true;
    return rc;
}

/* ------------------------------------------------------------------------------ reading */
int store_callback_tenant(struct store *s, struct str *tenant, bool *test_mode, struct arena *a,
                          bool *found, struct wopr_error *err) {
    struct query q;
    struct str name = STR_NONE;
    bool mode = false;
    int rc = read_begin(&q, s, SQL_CALLBACK_TENANT, err);
    if (rc != 0) return rc;
    bind_text(&q, *tenant);
    bind_int(&q, *test_mode);
    rc = query_step(&q, err);
    bool any = rc == 1;
    if (any) name = col_str(&q, 0, a);
    if (any) mode = col_int(&q, 1) != 0;
    rc = read_end(&q, rc, a, err);
    if (rc != 0) return rc;
    *found = any;
    if (any) *tenant = name;
    if (any) *test_mode = mode;
    return 0;
}

static int due_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct callback_row *)row = (struct callback_row){.interrupt_id = col_str(q, 0, a),
                                                        .run_no = col_int(q, 1),
                                                        .tenant = col_str(q, 2, a),
                                                        .test_mode = col_int(q, 3) != 0,
                                                        .attempts = col_int(q, 4),
                                                        .next_ms = col_int(q, 5),
                                                        .run_id = col_str(q, 6, a),
                                                        .url = col_str(q, 7, a),
                                                        .answers = col_int(q, 8) != 0,
                                                        .traceparent = col_str(q, 9, a)};
    return 0;
}

int store_callbacks_due(struct store *s, struct str tenant, bool test_mode, int64_t from_ms,
                        int64_t to_ms, unsigned max, struct arena *a, struct callback_list *out,
                        struct wopr_error *err) {
    struct query q;
    struct callback_list l = {.n = 0};
    int rc = read_begin(&q, s, SQL_CALLBACKS_DUE, err);
    if (rc != 0) return rc;
    bind_text(&q, tenant);
    bind_int(&q, test_mode);
    bind_int(&q, from_ms);
    bind_int(&q, to_ms);
    bind_int(&q, max < STORE_LIST_MAX ? max : STORE_LIST_MAX);
    rc = list_read(&q, a, due_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

static int outcome_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct callback_outcome *)row =
        (struct callback_outcome){.interrupt_id = col_str(q, 0, a),
                                  .node_id = col_str(q, 1, a),
                                  .state = (enum callback_state)col_int(q, 2),
                                  .attempts = col_int(q, 3),
                                  .next_ms = col_int(q, 4),
                                  .status = col_int(q, 5),
                                  .error = col_str(q, 6, a),
                                  .last_ms = col_int(q, 7),
                                  .requested_seq = col_int(q, 8)};
    return 0;
}

int store_callback_outcomes(struct store *s, int64_t run_no, int64_t after, unsigned max,
                            struct arena *a, struct callback_outcomes *out,
                            struct wopr_error *err) {
    struct query q;
    struct callback_outcomes l = {.n = 0};
    int rc = read_begin(&q, s, SQL_CALLBACK_OUTCOMES, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_int(&q, after);
    bind_int(&q, max < STORE_LIST_MAX ? max : STORE_LIST_MAX);
    rc = list_read(&q, a, outcome_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

/* ------------------------------------------------------------------------------ marks */
static int mark_put(struct conn *c, const struct callback_mark *m, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_CALLBACK_MARK);
    bind_text(&q, m->interrupt_id);
    bind_int(&q, (int64_t)m->state);
    bind_int(&q, m->attempts);
    bind_int(&q, m->next_ms);
    bind_int(&q, m->status);
    bind_opt(&q, m->error);
    bind_int(&q, m->last_ms);
    return query_run(&q, err);
}

int store_callback_marks(struct store *s, int64_t epoch, const struct callback_mark *v, size_t n,
                         struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    rc = hook_fence_check(s->writer, epoch, err);
    for (size_t i = 0; rc == 0 && i < n; i++) rc = mark_put(s->writer, &v[i], err);
    return write_end(s, rc, err);
}
