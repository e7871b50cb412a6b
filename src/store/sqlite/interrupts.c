/*
 * interrupts.c: the suspension store (STORE-8 to STORE-10, D44).
 */
#include "store/interrupts.h"
#include "store/run_lists.h"
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
    return query_run(&q, w->err);
}

/* STORE-10.  The run's sequence was compared before, so a second close is a damaged file. */
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

static void row_read(struct query *q, struct arena *a, struct interrupt_row *r) {
    *r = (struct interrupt_row){.interrupt_id = col_str(q, 0, a),
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
}

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an interrupt");
}

int store_interrupt_get(struct store *s, struct str tenant, bool test_mode, struct str interrupt_id,
                        struct arena *a, struct interrupt_row *out, struct wopr_error *err) {
    struct conn *c;
    struct query q;
    struct interrupt_row r;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_INTERRUPT_GET);
    bind_text(&q, interrupt_id);
    rc = query_step(&q, err);
    if (rc == 1) row_read(&q, a, &r);
    query_end(&q);
    if (rc < 0) return rc;
    if (arena_failed(a)) return no_memory(err);
    bool ours =
        rc == 1 && (tenant.n == 0 || (str_eq(tenant, r.tenant) && test_mode == r.test_mode));
    if (!ours) return wopr_error_set(err, WOPR_E_INTERRUPT_NOT_FOUND, "there is no such interrupt");
    *out = r;
    return 0;
}

/* Ends q. */
static int rows_take(struct query *q, struct arena *a, struct interrupt_list *out,
                     struct wopr_error *err) {
    struct interrupt_list l = {.n = 0};
    size_t cap = 0;
    int rc;
    while ((rc = query_step(q, err)) == 1) {
        struct interrupt_row *r = list_row(a, &l.v, &l.n, &cap, sizeof *r);
        if (!r) break;
        row_read(q, a, r);
    }
    query_end(q);
    if (rc < 0) return rc;
    if (arena_failed(a)) return no_memory(err);
    *out = l;
    return 0;
}

int store_interrupts_of_run(struct store *s, int64_t run_no, struct str node_id, bool open_only,
                            struct arena *a, struct interrupt_list *out, struct wopr_error *err) {
    struct conn *c;
    struct query q;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_INTERRUPTS_OF_RUN);
    bind_int(&q, run_no);
    bind_text(&q, node_id);
    bind_int(&q, open_only);
    return rows_take(&q, a, out, err);
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

int store_interrupts_pending(struct store *s, const struct interrupt_filter *f, struct arena *a,
                             struct interrupt_list *out, struct wopr_error *err) {
    struct conn *c;
    struct query q;
    struct interrupt_list l = {.n = 0};
    size_t cap = 0, max = f->max < STORE_LIST_MAX ? f->max : STORE_LIST_MAX;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    query_begin(&q, c,
                for_tools(f)       ? SQL_PENDING_ALL
                : f->run_id.n == 0 ? SQL_PENDING_TENANT
                                   : SQL_PENDING_RUN);
    pending_bind(&q, f);
    for (size_t seen = 1; l.n < max && (rc = query_step(&q, err)) == 1; seen++) {
        if (col_int(&q, INTERRUPT_COLUMNS_NR) != 0) {
            struct interrupt_row *r = list_row(a, &l.v, &l.n, &cap, sizeof *r);
            if (!r) break;
            row_read(&q, a, r);
        }
        if (seen < STORE_EXAMINED_MAX || for_tools(f)) continue;
        if (l.n < max) {
            l.next_ms = col_int(&q, INTERRUPT_REQUESTED);
            l.next_id = col_str(&q, 0, a);
        }
        break;
    }
    query_end(&q);
    if (rc < 0) return rc;
    if (arena_failed(a)) return no_memory(err);
    *out = l;
    return 0;
}

int store_runs_with_timer_due(struct store *s, int64_t before_ms, unsigned max, struct arena *a,
                              struct run_no_list *out, struct wopr_error *err) {
    struct conn *c;
    struct query q;
    struct run_no_list l = {NULL, 0};
    size_t cap = 0;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_RUNS_TIMER_DUE);
    bind_int(&q, before_ms);
    bind_int(&q, max);
    while ((rc = query_step(&q, err)) == 1) {
        int64_t *no = list_row(a, &l.v, &l.n, &cap, sizeof *no);
        if (!no) break;
        *no = col_int(&q, 0);
    }
    query_end(&q);
    if (rc < 0) return rc;
    if (arena_failed(a)) return no_memory(err);
    *out = l;
    return 0;
}
