/*
 * runs.c: one run as requests and the fold see it.
 */
#include "store/runs.h"
#include "store/sqlite/sql.h"

void head_read(struct query *q, struct arena *a, struct run_head *out) {
    *out = (struct run_head){.run_no = col_int(q, 0),
                             .run_id = col_str(q, 1, a),
                             .status = (enum run_status)col_int(q, 2),
                             .next_seq = col_int(q, 3),
                             .epoch = col_int(q, 4),
                             .lease_until_ms = col_int(q, 5),
                             .paused_ms = col_int(q, 6),
                             .holder = col_str(q, 7, a),
                             .engine_version = (int32_t)col_int(q, 8),
                             .era = (int32_t)col_int(q, 9),
                             .shown_engine_version = (int32_t)col_int(q, 10),
                             .parked = col_str(q, 11, a),
                             .log_bytes = col_int(q, 12)};
}

enum { FORK_COLUMNS_NR = 6 };

/* The FORK_COLUMNS from column i on. */
static void fork_read(struct query *q, int i, struct arena *a, struct run_fork *out) {
    *out = (struct run_fork){.mode = FORK_NONE};
    if (col_null(q, i)) return;
    *out = (struct run_fork){.mode = (enum fork_mode)col_int(q, i),
                             .source_run_id = col_str(q, i + 1, a),
                             .from_seq = col_int(q, i + 2),
                             .source_run_no = col_int(q, i + 3),
                             .base_seq = col_int(q, i + 4),
                             .cut_ms = col_int(q, i + 5)};
}

static void bind_run(struct query *q, struct str run_id, struct str tenant, bool test_mode) {
    bind_text(q, run_id);
    bind_text(q, tenant);
    bind_int(q, test_mode);
}

/* Not visible to this caller: NOT_FOUND, or EXPIRED if retention removed it. */
static int run_absent(struct conn *c, struct str run_id, struct str tenant, bool test_mode,
                      struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_TOMBSTONE_GET);
    bind_run(&q, run_id, tenant, test_mode);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    query_end(&q);
    if (rc == 1) return wopr_error_set(err, WOPR_E_EXPIRED, "the run was removed by retention");
    return wopr_error_set(err, WOPR_E_NOT_FOUND, "no run has this id");
}

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to read a run");
}

int store_run_head(struct store *s, struct str tenant, bool test_mode, struct str run_id,
                   struct arena *a, struct run_head *out, struct wopr_error *err) {
    struct query q;
    struct run_head h;
    int rc = read_begin(&q, s, SQL_RUN_HEAD, err);
    if (rc != 0) return rc;
    bind_run(&q, run_id, tenant, test_mode);
    rc = query_step(&q, err);
    if (rc == 0) return run_absent(q.c, run_id, tenant, test_mode, err);
    if (rc == 1) {
        head_read(&q, a, &h);
        h.log_bytes += col_int(&q, HEAD_COLUMNS_NR);
    }
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *out = h;
    return rc;
}

/* ------------------------------------------------------------------------------ view */
/* q keeps its row, and thereby its read transaction, until query_end. */
struct parts { /* which queries have an answer: most runs need none of them */
    bool vars, chans, children;
};

static void view_row(struct query *q, struct arena *a, struct run_view *v, struct parts *has) {
    int i = HEAD_COLUMNS_NR;
    head_read(q, a, &v->head);
    v->workflow_id = col_str(q, i++, a);
    v->current_node = col_str(q, i++, a);
    v->error = col_str(q, i++, a);
    v->outputs = col_str(q, i++, a);
    v->agent = col_str(q, i++, a);
    v->orchestrator = col_str(q, i++, a);
    v->created_ms = col_int(q, i++);
    v->started_ms = col_int(q, i++);
    v->completed_ms = col_int(q, i++);
    v->parent_run_id = col_str(q, i++, a);
    v->parent_node_id = col_str(q, i++, a);
    v->configurable = col_str(q, i++, a);
    v->tags = col_str(q, i++, a);
    v->metadata = col_str(q, i++, a);
    v->child_depth = (int32_t)col_int(q, i++);
    fork_read(q, i, a, &v->fork);
    i += FORK_COLUMNS_NR;
    v->head.log_bytes += col_int(q, i++);
    has->vars = col_int(q, i++) != 0;
    has->chans = col_int(q, i++) != 0;
    has->children = col_int(q, i++) != 0;
}

struct items { /* as list_read wants them */
    struct run_view_item *v;
    size_t n;
};

static int item_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct run_view_item *)row = (struct run_view_item){col_str(q, 0, a), col_str(q, 1, a)};
    return 0;
}

static int view_items(struct conn *c, enum stmt_id id, int64_t run_no, struct arena *a,
                      struct items *out, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, id);
    bind_int(&q, run_no);
    return list_read(&q, a, item_read, out, err);
}

static int node_long_read(struct conn *c, int64_t run_no, struct arena *a,
                          struct run_view_item *node, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_NODE_LONG);
    bind_int(&q, run_no);
    bind_text(&q, node->name);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    if (rc == 1) node->value = col_str(&q, 0, a);
    query_end(&q);
    return rc == 1 ? 0 : wopr_error_set(err, WOPR_E_CORRUPT, "the long state of a node is gone");
}

static int view_nodes(struct conn *c, int64_t run_no, struct arena *a, struct items *out,
                      struct wopr_error *err) {
    int rc = view_items(c, SQL_NODES, run_no, a, out, err);
    for (size_t i = 0; rc == 0 && i < out->n; i++)
        if (out->v[i].value.n == 0) rc = node_long_read(c, run_no, a, &out->v[i], err);
    return rc;
}

/* Collects the rows of one channel: a list shows as an array, anything else as its value. */
struct chan_fold {
    struct arena *a;
    struct run_view *v;
    size_t cap, entries_cap;
    struct buf values; /* of the list being collected */
    bool open;         /* values belongs to the last channel of v */
};

static void chan_close(struct chan_fold *f) {
    if (!f->open) return;
    buf_addc(&f->values, ']');
    f->v->chans[f->v->chans_nr - 1].value = arena_str(f->a, buf_str(&f->values));
    f->open = false;
}

/* List an entry that ages (CHAN-16) beside the whole value. */
static bool chan_entry(struct chan_fold *f, struct query *q, struct str value) {
    struct run_view_chan *ch = &f->v->chans[f->v->chans_nr - 1];
    struct run_view_entry *e;
    ch->ttl_ms = col_int(q, 5); /* the last write decides */
    if (ch->ttl_ms <= 0) return true;
    e = list_row_bytes(f->a, &ch->entries, &ch->entries_nr, &f->entries_cap, sizeof *e);
    if (!e) return false;
    *e = (struct run_view_entry){.ts_ms = col_int(q, 4), .value = arena_str(f->a, value)};
    return true;
}

/* One row; false when memory is short (arena_failed, buf_failed). */
static bool chan_row(struct chan_fold *f, struct query *q) {
    struct run_view *v = f->v;
    struct str name = col_view(q, 0), value = col_view(q, 3);
    bool same = v->chans_nr > 0 && str_eq(v->chans[v->chans_nr - 1].name, name);
    if (!same) {
        chan_close(f);
        f->entries_cap = 0;
        struct run_view_chan *ch =
            list_row_bytes(f->a, &v->chans, &v->chans_nr, &f->cap, sizeof *ch);
        if (!ch) return false;
        *ch = (struct run_view_chan){.name = arena_str(f->a, name), .declared = col_int(q, 1) != 0};
    }
    if (col_int(q, 2) == 0) { /* not a list: the last write is the value */
        f->open = false;
        v->chans[v->chans_nr - 1].value = arena_str(f->a, value);
        return true;
    }
    if (!f->open) {
        buf_reset(&f->values);
        buf_addc(&f->values, '[');
        f->open = true;
    }
    if (value.n == 0) return true; /* a declared list shows even when empty */
    if (f->values.len > 1) buf_addc(&f->values, ',');
    buf_adds(&f->values, value);
    return chan_entry(f, q, value);
}

static int view_chans(struct conn *c, struct arena *a, struct run_view *v, struct wopr_error *err) {
    struct chan_fold f = {.a = a, .v = v};
    struct query q;
    int rc;
    buf_init(&f.values, VIEW_LIST_MAX);
    query_begin(&q, c, SQL_CHANS);
    bind_int(&q, v->head.run_no);
    while ((rc = query_step(&q, err)) == 1)
        if (!chan_row(&f, &q)) break;
    query_end(&q);
    chan_close(&f);
    if (rc >= 0) rc = buf_failed(&f.values) ? no_memory(err) : 0;
    buf_fini(&f.values);
    return rc;
}

int store_run_view_of(struct store *s, struct str tenant, bool test_mode, struct str run_id,
                      int64_t log_bytes_max, struct arena *a, struct run_view *out,
                      struct wopr_error *err) {
    struct conn *c;
    int rc = conn_reader(s, &c, err);
    if (rc != 0) return rc;
    struct query q;
    struct run_view v = {.nodes = NULL};
    struct items nodes = {0}, vars = {0};
    struct parts has;
    query_begin(&q, c, SQL_RUN_VIEW);
    bind_run(&q, run_id, tenant, test_mode);
    rc = query_step(&q, err);
    if (rc == 0) return run_absent(c, run_id, tenant, test_mode, err);
    if (rc < 0) return rc;
    view_row(&q, a, &v, &has); /* all queries before query_end see the same commit */
    rc = v.head.log_bytes > log_bytes_max ? WOPR_E_TOO_BIG : 0;
    if (rc == 0) rc = view_nodes(c, v.head.run_no, a, &nodes, err);
    if (rc == 0 && has.vars) rc = view_items(c, SQL_VARS, v.head.run_no, a, &vars, err);
    if (rc == 0 && has.vars) rc = once_vars_read(c, v.head.run_no, a, vars.v, vars.n, err);
    v.nodes = nodes.v, v.nodes_nr = nodes.n;
    v.vars = vars.v, v.vars_nr = vars.n;
    if (rc == 0 && has.chans) rc = view_chans(c, a, &v, err);
    if (rc == 0 && has.children)
        rc = children_shown_read(c, run_id, a, &v.children, &v.more_children, err);
    query_end(&q);
    if (rc == 0 && arena_failed(a)) rc = no_memory(err);
    if (rc == 0) *out = v;
    return rc;
}

int store_run_view(struct store *s, struct str tenant, bool test_mode, struct str run_id,
                   struct arena *a, struct run_view *out, struct wopr_error *err) {
    return store_run_view_of(s, tenant, test_mode, run_id, INT64_MAX, a, out, err);
}

/* ------------------------------------------------------------------------------ origin */
static int origin_read(struct query *q, struct arena *a, struct run_origin *o,
                       struct wopr_error *err) {
    int i = HEAD_COLUMNS_NR;
    struct run_meta *m = &o->meta;
    head_read(q, a, &o->head);
    m->run_id = o->head.run_id;
    m->shown_engine_version = o->head.shown_engine_version;
    m->workflow_id = col_str(q, i++, a);
    m->tenant = col_str(q, i++, a);
    m->test_mode = col_int(q, i++) != 0;
    m->scope_id = col_str(q, i++, a);
    m->created_ms = col_int(q, i++);
    m->workspace = col_str(q, i++, a);
    m->subject = col_str(q, i++, a);
    m->configurable = col_str(q, i++, a);
    m->tags = col_str(q, i++, a);
    m->metadata = col_str(q, i++, a);
    m->callback_url = col_str(q, i++, a);
    m->traceparent = col_str(q, i++, a);
    m->inputs = col_str(q, i++, a);
    m->transport = col_str(q, i++, a);
    m->recursion_limit = col_int(q, i++);
    if (!col_hash(q, i++, &o->workflow_hash))
        return wopr_error_set(err, WOPR_E_CORRUPT, "the run's workflow hash is damaged");
    o->parent_run_id = col_str(q, i++, a);
    o->parent_node_id = col_str(q, i++, a);
    o->child_depth = (int32_t)col_int(q, i++);
    o->child_flags = (uint32_t)col_int(q, i++);
    m->sealed = col_int(q, i++) != 0;
    o->agents_no = col_int(q, i++);
    m->modules = col_str(q, i++, a);
    m->led = col_int(q, i++) != 0;
    fork_read(q, i, a, &o->fork);
    return arena_failed(a) ? no_memory(err) : 0;
}

int store_run_origin(struct store *s, int64_t run_no, struct arena *a, struct run_origin *out,
                     struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_RUN_ORIGIN, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such run");
    if (rc < 0) return rc;
    struct run_origin o = {.parent_run_id = STR_NONE};
    rc = origin_read(&q, a, &o, err);
    if (rc == 0) rc = once_inputs_read(q.c, run_no, a, &o.meta.inputs, err);
    query_end(&q);
    if (rc == 0) *out = o;
    return rc;
}

int store_run_link(struct store *s, int64_t run_no, struct arena *a, struct run_link *out,
                   struct wopr_error *err) {
    struct query q;
    struct run_link l;
    int rc = read_begin(&q, s, SQL_RUN_LINK, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    rc = query_step(&q, err);
    if (rc == 0) return wopr_error_set(err, WOPR_E_NOT_FOUND, "no such run");
    if (rc < 0) return rc;
    l.created_ms = col_int(&q, 0);
    fork_read(&q, 1, a, &l.fork);
    rc = read_end(&q, rc, a, err);
    if (rc == 0) *out = l;
    return rc;
}

/* ---------------------------------------------------------------------- timers, artifacts */
static int timer_row_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct timer_row *)row = (struct timer_row){.kind = (enum timer_kind)col_int(q, 0),
                                                  .node_id = col_str(q, 1, a),
                                                  .fire_at_ms = col_int(q, 2),
                                                  .remaining_ms = col_int(q, 3)};
    return 0;
}

int store_timers(struct store *s, int64_t run_no, struct arena *a, struct timer_row_list *out,
                 struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_TIMERS, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    return list_read(&q, a, timer_row_read, out, err);
}

int store_artifact_known(struct store *s, int64_t run_no, struct str artifact_id, bool *known,
                         struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_ARTIFACT_KNOWN, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_text(&q, artifact_id);
    rc = query_step(&q, err);
    query_end(&q);
    if (rc >= 0) *known = rc == 1;
    return rc < 0 ? rc : 0;
}

int store_artifact_get(struct store *s, struct str tenant, bool test_mode, struct str run_id,
                       struct str artifact_id, struct arena *a, struct plan_artifact *out,
                       struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_ARTIFACT_GET, err);
    if (rc != 0) return rc;
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
    rc = read_end(&q, 1, a, err);
    if (rc == 0) *out = art;
    return rc;
}
