/*
 * events.c: pages of a log (STORE-3).  Looks for the run's own events first: only a page that does
 * not begin with the requested sequence can lack inherited ones (prefix.c).
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

struct page { /* being filled */
    struct event_list l;
    size_t cap, bytes, max, bytes_max;
    struct arena *a;
};

static struct page page_begin(unsigned max, size_t bytes_max, struct arena *a) {
    return (struct page){.max = max > STORE_LIST_MAX ? STORE_LIST_MAX : max,
                         .bytes_max = bytes_max > 0 ? bytes_max : 1,
                         .a = a};
}

static bool page_full(const struct page *p) {
    return p->l.n >= p->max || p->bytes >= p->bytes_max || arena_failed(p->a);
}

/* Add the current row of q (rc 1) and those after it until the page is full. 0, or a code. */
static int rows_take(struct query *q, int rc, bool inherited, struct page *p,
                     struct wopr_error *err) {
    for (; rc == 1 && !page_full(p); rc = query_step(q, err)) {
        struct event *e = list_row(p->a, &p->l, &p->cap);
        if (!e) break;
        event_read(q, p->a, e);
        if (inherited) e->flags = EVENT_INHERITED | (e->flags & EVENT_MASKED);
        p->bytes += e->payload.n;
        if (page_full(p)) break;
    }
    return rc < 0 ? rc : 0;
}

/* Add inherited events, of a kind or all (EV_NR), with from <= seq < until. */
static int prefix_take(struct conn *c, int64_t run_no, int64_t from, int64_t until,
                       enum ev_kind kind, struct page *p, struct wopr_error *err) {
    while (from < until && !page_full(p)) {
        struct segment g;
        struct query q;
        int rc = segment_at(c, run_no, from, &g, err);
        if (rc != 0 || !g.inherited) return rc;
        int64_t end = g.until < until ? g.until : until;
        query_begin(&q, c, kind == EV_NR ? SQL_SEGMENT : SQL_EVENTS_OF_KIND);
        bind_int(&q, g.run_no);
        bind_int(&q, from);
        bind_int(&q, end);
        if (kind != EV_NR) bind_int(&q, kind);
        bind_int(&q, (int64_t)(p->max - p->l.n));
        rc = rows_take(&q, query_step(&q, err), true, p, err);
        query_end(&q);
        if (rc != 0) return rc;
        from = end;
    }
    return 0;
}

int store_events(struct store *s, int64_t run_no, int64_t from, unsigned max, size_t bytes_max,
                 struct arena *a, struct event_list *out, struct wopr_error *err) {
    struct page p = page_begin(max, bytes_max, a);
    struct query q;
    if (from < 0) from = 0;
    int rc = read_begin(&q, s, SQL_EVENTS, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_int(&q, from);
    bind_int(&q, (int64_t)p.max);
    int own = query_step(&q, err);
    if (own == 0 || (own == 1 && col_int(&q, 0) > from))
        rc = prefix_take(q.c, run_no, from, own == 1 ? col_int(&q, 0) : INT64_MAX, EV_NR, &p, err);
    if (rc == 0) rc = own < 0 ? own : rows_take(&q, own, false, &p, err);
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *out = p.l;
    return rc;
}

int store_events_of_kind(struct store *s, const struct log_range *range, enum ev_kind kind,
                         struct arena *a, struct event_list *out, struct wopr_error *err) {
    struct page p = page_begin(range->page_events, range->page_bytes, a);
    int64_t from = range->from < 0 ? 0 : range->from;
    struct conn *c;
    struct query q;
    int rc = conn_reader(s, &c, err);
    if (rc == 0) rc = prefix_take(c, range->run_no, from, range->until, kind, &p, err);
    if (rc != 0) return rc;
    query_begin(&q, c, SQL_EVENTS_OF_KIND);
    bind_int(&q, range->run_no);
    bind_int(&q, from);
    bind_int(&q, range->until);
    bind_int(&q, kind);
    bind_int(&q, (int64_t)p.max);
    rc = rows_take(&q, query_step(&q, err), false, &p, err);
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *out = p.l;
    return rc;
}

/* 1: found. */
static int last_of(struct conn *c, int64_t run_no, const struct segment *g, enum ev_kind kind,
                   struct str node_id, struct arena *a, struct event *out, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_EVENT_LAST);
    bind_int(&q, run_no);
    bind_int(&q, kind);
    bind_text(&q, node_id);
    bind_int(&q, g->run_no);
    bind_int(&q, g->until);
    int rc = query_step(&q, err);
    if (rc == 1) *out = (struct event){.payload = col_str(&q, 0, a), .ts_ms = col_int(&q, 1)};
    query_end(&q);
    return rc;
}

int store_event_last(struct store *s, int64_t run_no, enum ev_kind kind, struct str node_id,
                     struct arena *a, struct event *out, struct wopr_error *err) {
    struct segment g = {.run_no = run_no, .until = INT64_MAX};
    struct event last = {.seq = -1};
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    rc = last_of(c, run_no, &g, kind, node_id, a, &last, err);
    if (rc == 0) rc = segment_at(c, run_no, INT64_MAX, &g, err);
    while (rc == 0 && g.first > 0) {
        rc = segment_at(c, run_no, g.first - 1, &g, err);
        if (rc == 0) rc = last_of(c, run_no, &g, kind, node_id, a, &last, err);
    }
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "the run has no such event");
    if (rc < 0) return rc;
    if (arena_failed(a)) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an event");
    *out = last;
    return 0;
}
