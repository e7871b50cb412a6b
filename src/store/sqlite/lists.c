/*
 * lists.c: answers with many rows: unfinished runs, timers, run lists, artifacts, counts.
 */
#include "store/admin.h"
#include "store/run_lists.h"
#include "store/runs.h"
#include "store/sqlite/sql.h"

enum { LIST_FIRST_ROWS = 16 };

void *list_row_bytes(struct arena *a, void *v, size_t *n, size_t *cap, size_t size) {
    void *p;
    memcpy(&p, v, sizeof p); /* v is the address of a typed array pointer */
    if (*n == *cap) {
        size_t want = *cap ? *cap * 2 : LIST_FIRST_ROWS;
        void *bigger = arena_array(a, want, size);
        if (!bigger) return NULL;
        if (*n > 0) memcpy(bigger, p, *n * size);
        p = bigger;
        memcpy(v, &p, sizeof p);
        *cap = want;
    }
    return (char *)p + size * (*n)++;
}

static int finish(struct query *q, int rc, struct arena *a, struct wopr_error *err) {
    query_end(q);
    if (rc < 0) return rc;
    return arena_failed(a) ? wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a list") : 0;
}

int store_runs_unfinished(struct store *s, int64_t after, unsigned max, struct arena *a,
                          struct open_run_list *out, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    struct query q;
    struct open_run_list l = {NULL, 0};
    size_t cap = 0;
    query_begin(&q, c, SQL_RUNS_UNFINISHED);
    bind_int(&q, after);
    bind_int(&q, max > STORE_LIST_MAX ? STORE_LIST_MAX : max);
    while ((rc = query_step(&q, err)) == 1) {
        struct open_run *r = list_row(a, &l.v, &l.n, &cap, sizeof *r);
        if (!r) break;
        *r = (struct open_run){col_int(&q, 0), col_int(&q, 1)};
    }
    rc = finish(&q, rc, a, err);
    if (rc == 0) *out = l;
    return rc;
}

int store_timers(struct store *s, int64_t run_no, struct arena *a, struct timer_row_list *out,
                 struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    struct query q;
    struct timer_row_list l = {NULL, 0};
    size_t cap = 0;
    query_begin(&q, c, SQL_TIMERS);
    bind_int(&q, run_no);
    while ((rc = query_step(&q, err)) == 1) {
        struct timer_row *t = list_row(a, &l.v, &l.n, &cap, sizeof *t);
        if (!t) break;
        *t = (struct timer_row){.run_no = run_no,
                                .kind = (enum timer_kind)col_int(&q, 0),
                                .node_id = col_str(&q, 1, a),
                                .fire_at_ms = col_int(&q, 2),
                                .remaining_ms = col_int(&q, 3)};
    }
    rc = finish(&q, rc, a, err);
    if (rc == 0) *out = l;
    return rc;
}

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

/* The statement whose index finds fewest, and what it is asked for. */
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
    if (f->status < 0) return SQL_RUN_LIST_TENANT;
    return f->status < STORE_FINAL_STATUS ? SQL_RUN_LIST_GOING : SQL_RUN_LIST_GONE;
}

static void list_bind(struct query *q, const struct run_filter *f, enum stmt_id id,
                      struct str key) {
    bind_int(q, f->before_run_no > 0 ? f->before_run_no : INT64_MAX);
    if (f->any_tenant) bind_null(q);
    else bind_text(q, f->tenant);
    bind_int(q, f->any_mode ? -1 : f->test_mode);
    if (id == SQL_RUN_LIST_GONE) bind_int(q, f->status);
    else bind_text(q, key);
    bind_int(q, f->status);
    bind_text(q, f->workflow_id);
    bind_text(q, f->tag);
    bind_text(q, f->parent_run_id);
}

int store_run_list(struct store *s, const struct run_filter *f, struct arena *a,
                   struct run_list *out, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    struct query q;
    struct run_list l = {.n = 0};
    struct str key;
    size_t before = arena_used(a);
    size_t cap = 0, max = f->max > STORE_LIST_MAX ? STORE_LIST_MAX : f->max;
    enum stmt_id id = list_stmt(f, &key);
    query_begin(&q, c, id);
    list_bind(&q, f, id, key);
    for (size_t seen = 1; l.n < max && (rc = query_step(&q, err)) == 1; seen++) {
        if (col_int(&q, LIST_COLUMNS_NR) != 0) {
            struct run_list_item *it = list_row(a, &l.v, &l.n, &cap, sizeof *it);
            if (!it) break;
            list_item_read(&q, a, it);
        }
        bool full = seen >= STORE_EXAMINED_MAX || arena_used(a) >= before + LIST_PAGE_BYTES;
        if (!full || for_tools(f)) continue;
        if (l.n < max) l.next = col_str(&q, 1, a);
        break;
    }
    rc = finish(&q, rc, a, err);
    if (rc == 0) *out = l;
    return rc;
}

int store_artifact_get(struct store *s, struct str tenant, bool test_mode, struct str run_id,
                       struct str artifact_id, struct arena *a, struct plan_artifact *out,
                       struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, c, SQL_ARTIFACT_GET);
    bind_text(&q, run_id);
    bind_text(&q, tenant);
    bind_int(&q, test_mode);
    bind_text(&q, artifact_id);
    rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "the run has no such artifact");
    if (rc < 0) return rc;
    struct plan_artifact art = {.artifact_id = col_str(&q, 0, a),
                                .artifact_type = col_str(&q, 1, a),
                                .node_id = col_str(&q, 2, a),
                                .version = col_str(&q, 3, a),
                                .summary = col_str(&q, 4, a),
                                .body = col_str(&q, 5, a)};
    rc = finish(&q, 1, a, err);
    if (rc == 0) *out = art;
    return rc;
}

int store_count(struct store *s, struct store_counts *out, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, c, SQL_COUNT);
    rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_CORRUPT, "the row of counters is missing");
    if (rc < 0) return rc;
    struct store_counts n = {.runs = col_int(&q, 0),
                             .runs_open = col_int(&q, 1),
                             .events = col_int(&q, 2),
                             .bytes = col_int(&q, 3),
                             .tenant_bytes = col_int(&q, 4)};
    query_end(&q);
    *out = n;
    return 0;
}
