/*
 * events.c: pages of a log (STORE-3).
 */
#include "store/events.h"
#include "store/sqlite/sql.h"

static void event_read(struct query *q, struct arena *a, struct event *e) {
    int64_t kind = col_int(q, 1);
    bool known = kind >= 0 && kind < EV_NR;
    *e = (struct event){.seq = col_int(q, 0),
                        .kind = known ? (enum ev_kind)kind : EV_UNKNOWN,
                        .ts_ms = col_int(q, 2),
                        .node_id = col_str(q, 3, a),
                        .causation_seq = col_null(q, 4) ? -1 : col_int(q, 4),
                        .schema_version = (int32_t)col_int(q, 5),
                        .engine_version = (int32_t)col_int(q, 6),
                        .flags = (uint32_t)col_int(q, 7),
                        .payload = col_str(q, 9, a)};
    if (known) e->type = str_c(event_name(e->kind));
    else e->type = col_null(q, 8) ? STR("unknown") : col_str(q, 8, a);
}

/* Ends q. */
static int page_read(struct query *q, size_t bytes_max, struct arena *a, struct event_list *out,
                     struct wopr_error *err) {
    struct event_list l = {NULL, 0};
    size_t cap = 0, bytes = 0;
    int rc;
    while ((rc = query_step(q, err)) == 1) {
        struct event *e = list_row(a, &l, &cap);
        if (!e) break;
        event_read(q, a, e);
        bytes += e->payload.n;
        if (bytes >= bytes_max) break;
    }
    rc = read_end(q, rc, a, err);
    if (rc == 0) *out = l;
    return rc;
}

int store_events(struct store *s, int64_t run_no, int64_t from, unsigned max, size_t bytes_max,
                 struct arena *a, struct event_list *out, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_EVENTS, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_int(&q, from < 0 ? 0 : from);
    bind_int(&q, max > STORE_LIST_MAX ? STORE_LIST_MAX : max);
    return page_read(&q, bytes_max, a, out, err);
}

int store_events_of_kind(struct store *s, const struct log_range *range, enum ev_kind kind,
                         struct arena *a, struct event_list *out, struct wopr_error *err) {
    unsigned max = range->page_events;
    struct query q;
    int rc = read_begin(&q, s, SQL_EVENTS_OF_KIND, err);
    if (rc != 0) return rc;
    bind_int(&q, range->run_no);
    bind_int(&q, range->from < 0 ? 0 : range->from);
    bind_int(&q, range->until);
    bind_int(&q, kind);
    bind_int(&q, max > STORE_LIST_MAX ? STORE_LIST_MAX : max);
    return page_read(&q, range->page_bytes, a, out, err);
}

int store_event_last(struct store *s, int64_t run_no, enum ev_kind kind, struct str node_id,
                     struct arena *a, struct str *payload, struct wopr_error *err) {
    struct query q;
    struct str text = STR_NONE;
    int rc = read_begin(&q, s, SQL_EVENT_LAST, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_int(&q, kind);
    bind_text(&q, node_id);
    rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "the run has no such event");
    if (rc == 1) text = col_str(&q, 0, a);
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *payload = text;
    return rc;
}
