/*
 * children.c: child runs (WF-45 to WF-50), found by their parent's id.
 */
#include "store/runs.h"
#include "store/sqlite/sql.h"

static int child_row_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct child_row *)row = (struct child_row){.run_no = col_int(q, 0),
                                                  .run_id = col_str(q, 1, a),
                                                  .node_id = col_str(q, 2, a),
                                                  .status = (enum run_status)col_int(q, 3),
                                                  .flags = (uint32_t)col_int(q, 4),
                                                  .created_ms = col_int(q, 5)};
    return 0;
}

int children_read(struct conn *c, struct str parent_run_id, bool open, unsigned max,
                  struct arena *a, struct child_row_list *out, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_CHILDREN);
    bind_text(&q, parent_run_id);
    bind_int(&q, open);
    bind_int(&q, max > STORE_LIST_MAX ? STORE_LIST_MAX : max);
    return list_read(&q, a, child_row_read, out, err);
}

int store_children(struct store *s, struct str parent_run_id, bool open, unsigned max,
                   struct arena *a, struct child_row_list *out, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    return rc == 0 ? children_read(c, parent_run_id, open, max, a, out, err) : rc;
}

/* Reads one more than it shows, to learn whether there are more. */
int children_shown_read(struct conn *c, struct str parent_run_id, struct arena *a,
                        struct child_row_list *out, bool *more, struct wopr_error *err) {
    int rc = children_read(c, parent_run_id, false, STORE_VIEW_CHILDREN_MAX + 1, a, out, err);
    if (rc != 0) return rc;
    *more = out->n > STORE_VIEW_CHILDREN_MAX;
    if (*more) out->n = STORE_VIEW_CHILDREN_MAX;
    return 0;
}

int store_children_shown(struct store *s, struct str parent_run_id, struct arena *a,
                         struct child_row_list *out, bool *more, struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    return rc == 0 ? children_shown_read(c, parent_run_id, a, out, more, err) : rc;
}
