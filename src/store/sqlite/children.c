/*
 * children.c: runs that other runs started (WF-45..50): who they are, and who would wait for them
 * in vain.
 */
#include "store/events.h"
#include "store/run_lists.h"
#include "store/runs.h"
#include "store/sqlite/sql.h"

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a list of child runs");
}

int children_read(struct conn *c, struct str parent_run_id, bool open, unsigned max,
                  struct arena *a, struct child_row_list *out, struct wopr_error *err) {
    struct child_row_list l = {NULL, 0};
    struct query q;
    size_t cap = 0;
    int rc;
    query_begin(&q, c, SQL_CHILDREN);
    bind_text(&q, parent_run_id);
    bind_int(&q, open);
    bind_int(&q, max > STORE_LIST_MAX ? STORE_LIST_MAX : max);
    while ((rc = query_step(&q, err)) == 1) {
        struct child_row *row = list_row(a, &l.v, &l.n, &cap, sizeof *row);
        if (!row) break;
        *row = (struct child_row){.run_no = col_int(&q, 0),
                                  .run_id = col_str(&q, 1, a),
                                  .node_id = col_str(&q, 2, a),
                                  .status = (enum run_status)col_int(&q, 3),
                                  .flags = (uint32_t)col_int(&q, 4)};
    }
    query_end(&q);
    if (rc < 0) return rc;
    if (arena_failed(a)) return no_memory(err);
    *out = l;
    return 0;
}

int store_children(struct store *s, struct str parent_run_id, bool open, unsigned max,
                   struct arena *a, struct child_row_list *out, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    return rc == 0 ? children_read(c, parent_run_id, open, max, a, out, err) : rc;
}

int store_event_last(struct store *s, int64_t run_no, enum ev_kind kind, struct str node_id,
                     struct arena *a, struct str *payload, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, c, SQL_EVENT_LAST);
    bind_int(&q, run_no);
    bind_int(&q, kind);
    bind_text(&q, node_id);
    rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "the run has no such event");
    if (rc < 0) return rc;
    struct str text = col_str(&q, 0, a);
    query_end(&q);
    if (arena_failed(a)) return no_memory(err);
    *payload = text;
    return 0;
}

int store_parents_waiting(struct store *s, int64_t after, unsigned max, struct arena *a,
                          struct run_no_list *out, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    struct run_no_list l = {NULL, 0};
    struct query q;
    size_t cap = 0;
    query_begin(&q, c, SQL_PARENTS_WAITING);
    bind_int(&q, after);
    bind_int(&q, max > STORE_LIST_MAX ? STORE_LIST_MAX : max);
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
