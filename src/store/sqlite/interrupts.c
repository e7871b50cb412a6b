/*
 * interrupts.c: the suspension store (STORE-8 to STORE-10, D44).
 */
#include "store/interrupts.h"
#include "store/sqlite/sql.h"

static int interrupt_open(const struct row_writer *w, const struct plan_interrupt *i) {
    struct query q;
    query_begin(&q, w->c, SQL_INTERRUPT_OPEN);
    bind_text(&q, i->interrupt_id);
    bind_int(&q, w->run_no);
    bind_text(&q, i->node_id);
    bind_text(&q, i->key);
    bind_text(&q, i->kind);
    bind_text(&q, i->payload);
    bind_opt(&q, i->resume_schema);
    bind_int(&q, i->requested_ms);
    bind_int_opt(&q, i->timeout_at_ms, 0);
    bind_int(&q, i->requested_seq);
    int rc = query_run(&q, w->err);
    return rc == 0 ? callback_put(w, i->interrupt_id) : rc;
}

/* STORE-10.  The run's sequence was compared before, so only a damaged file can close twice. */
static int interrupt_close(const struct row_writer *w, const struct plan_interrupt *i) {
    struct query q;
    query_begin(&q, w->c, SQL_INTERRUPT_CLOSE);
    bind_text(&q, i->interrupt_id);
    bind_int(&q, i->state);
    bind_int(&q, i->resolved_ms);
    bind_int_opt(&q, i->resolved_seq, -1);
    bind_opt(&q, i->resume_value);
    bind_opt(&q, i->resolved_by);
    bind_opt(&q, i->action);
    bind_opt(&q, i->cause);
    int rc = query_run(&q, w->err);
    if (rc != 0 || sqlite3_changes64(w->c->db) == 1) return rc;
    return wopr_error_set(w->err, WOPR_E_CORRUPT,
                          "an interrupt that the log calls open is not pending");
}

int interrupt_put(const struct row_writer *w, const struct plan_interrupt *i) {
    if (i->op == INTR_ROW_OPEN) return interrupt_open(w, i);
    if (i->op == INTR_ROW_CLOSE) return interrupt_close(w, i);
    struct query q;
    query_begin(&q, w->c, SQL_INTERRUPT_CLOSE_ALL);
    bind_int(&q, w->run_no);
    bind_int(&q, i->state);
    bind_int(&q, i->resolved_ms);
    bind_opt(&q, i->cause);
    return query_run(&q, w->err);
}

enum { INTERRUPT_REQUESTED = 13, INTERRUPT_COLUMNS_NR = 21 };

static int interrupt_row_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct interrupt_row *)row =
        (struct interrupt_row){.interrupt_id = col_str(q, 0, a),
                               .run_id = col_str(q, 1, a),
                               .node_id = col_str(q, 2, a),
                               .key = col_str(q, 3, a),
                               .kind = col_str(q, 4, a),
                               .payload = col_str(q, 5, a),
                               .resume_schema = col_str(q, 6, a),
                               .tenant = col_str(q, 7, a),
                               .workflow_id = col_str(q, 8, a),
                               .test_mode = col_int(q, 9) != 0,
                               .run_no = col_int(q, 10),
                               .run_status = (enum run_status)col_int(q, 11),
                               .state = (enum interrupt_row_state)col_int(q, 12),
                               .requested_ms = col_int(q, 13),
                               .requested_seq = col_int(q, 14),
                               .timeout_at_ms = col_int(q, 15),
                               .resolved_ms = col_int(q, 16),
                               .resume_value = col_str(q, 17, a),
                               .resolved_by = col_str(q, 18, a),
                               .action = col_str(q, 19, a),
                               .cause = col_str(q, 20, a)};
    return 0;
}

int store_interrupt_get(struct store *s, struct str tenant, bool test_mode, struct str interrupt_id,
                        struct arena *a, struct interrupt_row *out, struct wopr_error *err) {
    struct query q;
    struct interrupt_row r;
    int rc = read_begin(&q, s, SQL_INTERRUPT_GET, err);
    if (rc != 0) return rc;
    bind_text(&q, interrupt_id);
    int found = rc = query_step(&q, err);
    if (found == 1) rc = interrupt_row_read(&q, a, &r, err);
    rc = read_end(&q, rc, a, err);
    if (rc != 0) return rc;
    bool ours =
        found == 1 && (tenant.n == 0 || (str_eq(tenant, r.tenant) && test_mode == r.test_mode));
    if (!ours) return wopr_error_set(err, WOPR_E_INTERRUPT_NOT_FOUND, "there is no such interrupt");
    *out = r;
    return 0;
}

int store_interrupts_of_run(struct store *s, int64_t run_no, struct str node_id, bool open_only,
                            struct arena *a, struct interrupt_list *out, struct wopr_error *err) {
    struct query q;
    struct interrupt_list l = {.n = 0};
    int rc = read_begin(&q, s, SQL_INTERRUPTS_OF_RUN, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_text(&q, node_id);
    bind_int(&q, open_only);
    rc = list_read(&q, a, interrupt_row_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

static bool for_tools(const struct interrupt_filter *f) {
    return f->any_tenant || f->any_mode || f->whole;
}

static void pending_bind(struct query *q, const struct interrupt_filter *f) {
    if (f->any_tenant) bind_null(q);
    else bind_text(q, f->tenant);
    bind_int(q, f->any_mode ? -1 : f->test_mode);
    bind_text(q, f->kind);
    bind_text(q, f->run_id);
    bind_int(q, f->after_ms);
    bind_text(q, f->after_id);
    bind_text(q, f->owner_user_id);
}

static enum stmt_id pending_stmt(const struct interrupt_filter *f) {
    if (for_tools(f)) return SQL_PENDING_ALL;
    return f->run_id.n == 0 ? SQL_PENDING_TENANT : SQL_PENDING_RUN;
}

int store_interrupts_pending(struct store *s, const struct interrupt_filter *f, struct arena *a,
                             struct interrupt_list *out, struct wopr_error *err) {
    struct query q;
    struct interrupt_list l = {.n = 0};
    size_t cap = 0, max = f->max < STORE_LIST_MAX ? f->max : STORE_LIST_MAX;
    int rc = read_begin(&q, s, pending_stmt(f), err);
    if (rc != 0) return rc;
    pending_bind(&q, f);
    for (size_t seen = 1; l.n < max && (rc = query_step(&q, err)) == 1; seen++) {
        if (col_int(&q, INTERRUPT_COLUMNS_NR) != 0) {
            struct interrupt_row *r = list_row(a, &l, &cap);
            if (!r) break;
            (void)interrupt_row_read(&q, a, r, err);
        }
        if (seen < STORE_EXAMINED_MAX || for_tools(f)) continue;
        if (l.n < max) {
            l.next_ms = col_int(&q, INTERRUPT_REQUESTED);
            l.next_id = col_str(&q, 0, a);
        }
        break;
    }
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *out = l;
    return rc;
}
