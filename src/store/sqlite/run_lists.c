/*
 * run_lists.c: many runs: lists for callers and for hosts that look for work.  Each filter of a
 * caller has an index of tenant and mode; what is left to compare is bounded, with a place to
 * continue from.  Lists for tools compare all.
 */
#include "store/run_lists.h"
#include "store/sqlite/sql.h"

/* ------------------------------------------------------------------------------ for hosts */
static int open_run_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)a, (void)err;
    *(struct open_run *)row = (struct open_run){col_int(q, 0), col_int(q, 1)};
    return 0;
}

int store_runs_unfinished(struct store *s, int64_t after, unsigned max, struct arena *a,
                          struct open_run_list *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_RUNS_UNFINISHED, err);
    if (rc != 0) return rc;
    bind_int(&q, after);
    bind_int(&q, max > STORE_LIST_MAX ? STORE_LIST_MAX : max);
    return list_read(&q, a, open_run_read, out, err);
}

int store_parents_waiting(struct store *s, int64_t after, unsigned max, struct arena *a,
                          struct run_no_list *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_PARENTS_WAITING, err);
    if (rc != 0) return rc;
    bind_int(&q, after);
    bind_int(&q, max > STORE_LIST_MAX ? STORE_LIST_MAX : max);
    return list_read(&q, a, row_read_number, out, err);
}

int store_runs_with_timer_due(struct store *s, int64_t before_ms, unsigned max, struct arena *a,
                              struct run_no_list *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_RUNS_TIMER_DUE, err);
    if (rc != 0) return rc;
    bind_int(&q, before_ms);
    bind_int(&q, max);
    return list_read(&q, a, row_read_number, out, err);
}

/* ------------------------------------------------------------------------------ for callers */
enum { LIST_COLUMNS_NR = HEAD_COLUMNS_NR + 11 };

static void list_item_read(struct query *q, struct arena *a, struct run_list_item *it) {
    int i = HEAD_COLUMNS_NR;
    head_read(q, a, &it->head);
    it->tenant = col_str(q, i++, a);
    it->workflow_id = col_str(q, i++, a);
    it->tags = col_str(q, i++, a);
    it->created_ms = col_int(q, i++);
    it->started_ms = col_int(q, i++);
    it->completed_ms = col_int(q, i++);
    it->test_mode = col_int(q, i++) != 0;
    it->parent_run_id = col_str(q, i++, a);
    if (col_null(q, i)) return;
    it->fork.mode = (enum fork_mode)col_int(q, i++);
    it->fork.source_run_id = col_str(q, i++, a);
    it->fork.from_seq = col_int(q, i++);
}

static bool for_tools(const struct run_filter *f) {
    return f->any_tenant || f->any_mode || f->whole;
}

/* The statement with the most selective index, and its key. */
static enum stmt_id list_stmt(const struct run_filter *f, struct str *key) {
    *key = f->fork_of;
    if (for_tools(f)) return SQL_RUN_LIST_ALL;
    if (f->fork_of.n > 0) return SQL_RUN_LIST_FORKS;
    *key = f->parent_run_id;
    if (key->n > 0) return SQL_RUN_LIST_CHILDREN;
    *key = f->tag;
    if (key->n > 0) return SQL_RUN_LIST_TAG;
    *key = f->workflow_id;
    if (key->n > 0) return SQL_RUN_LIST_WORKFLOW;
    if (f->status < 0 || f->status == STORE_FINAL_STATUS) return SQL_RUN_LIST_TENANT;
    return f->status < STORE_FINAL_STATUS ? SQL_RUN_LIST_GOING : SQL_RUN_LIST_MISSED;
}

static void list_bind(struct query *q, const struct run_filter *f, enum stmt_id id,
                      struct str key) {
    bind_int(q, f->before_run_no > 0 ? f->before_run_no : INT64_MAX);
    if (f->any_tenant) bind_null(q);
    else bind_text(q, f->tenant);
    bind_int(q, f->any_mode ? -1 : f->test_mode);
    if (id == SQL_RUN_LIST_MISSED) bind_int(q, f->status);
    else bind_text(q, key);
    bind_int(q, f->status);
    bind_text(q, f->workflow_id);
    bind_text(q, f->tag);
    bind_text(q, f->parent_run_id);
}

int store_run_list(struct store *s, const struct run_filter *f, struct arena *a,
                   struct run_list *out, struct wopr_error *err) {
    struct query q;
    struct run_list l = {.n = 0};
    struct str key;
    size_t before = arena_used(a);
    size_t cap = 0, max = f->max > STORE_LIST_MAX ? STORE_LIST_MAX : f->max;
    enum stmt_id id = list_stmt(f, &key);
    int rc = read_begin(&q, s, id, err);
    if (rc != 0) return rc;
    list_bind(&q, f, id, key);
    for (size_t seen = 1; l.n < max && (rc = query_step(&q, err)) == 1; seen++) {
        if (col_int(&q, LIST_COLUMNS_NR) != 0) {
            struct run_list_item *it = list_row(a, &l, &cap);
            if (!it) break;
            list_item_read(&q, a, it);
        }
        bool full = seen >= STORE_EXAMINED_MAX || arena_used(a) >= before + LIST_PAGE_BYTES;
        if (!full || for_tools(f)) continue;
        if (l.n < max) l.next = col_str(&q, 1, a);
        break;
    }
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *out = l;
    return rc;
}
