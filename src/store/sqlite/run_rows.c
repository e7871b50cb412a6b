/*
 * run_rows.c: the row of a run and that of its origin, inside a plan's transaction: moved on, and
 * inserted, several in one statement.  SQLite opens a cursor for the table and for each of its
 * indexes in every insert, so the rows of eight runs together cost two thirds of eight inserts.
 */
#include "store/sqlite/run_rows.h"
#include "store/append.h"

bool plan_ends_run(const struct plan *p) {
    return p->has_update && (int)p->update.status >= STORE_FINAL_STATUS;
}

int64_t plan_log_bytes(const struct plan *p) {
    int64_t sum = 0;
    for (size_t i = 0; i < p->events_nr; i++) sum += event_bytes(&p->events[i]);
    for (size_t i = 0; i < p->artifacts_nr; i++) sum += (int64_t)p->artifacts[i].body.n;
    return sum;
}

/* ------------------------------------------------------------------------------ move */
static void bind_update(struct query *q, const struct plan *p) {
    static const struct run_row_update fresh = {.status = RUN_PENDING};
    const struct run_row_update *u = p->has_update ? &p->update : &fresh;
    bind_int(q, u->status);
    bind_opt(q, u->current_node);
    bind_int_opt(q, u->started_ms, 0);
    bind_int_opt(q, u->completed_ms, 0);
    bind_int_opt(q, u->paused_ms, 0);
    bind_opt(q, u->error);
    bind_opt(q, u->outputs);
    bind_opt(q, u->agent);
    bind_opt(q, u->orchestrator);
}

/* The conditional update matched no row: which of its conditions failed? */
static int run_refused(struct conn *c, struct plan *p, int *refusal, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_RUN_WHY_NOT);
    bind_int(&q, p->run_no);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    if (rc == 0) {
        *refusal = WOPR_E_NOT_FOUND;
        return 0;
    }
    int64_t status = col_int(&q, 0), epoch = col_int(&q, 2);
    bool parked = col_int(&q, 3) != 0;
    query_end(&q);
    p->found_status = (enum run_status)status;
    if (status >= STORE_FINAL_STATUS) *refusal = WOPR_E_RUN_TERMINAL;
    else if (parked) *refusal = WOPR_E_CORRUPT;
    else *refusal = epoch != p->epoch ? WOPR_E_FENCED : WOPR_E_STALE;
    return 0;
}

static enum stmt_id move_statement(const struct plan *p) {
    if (!p->has_update) return SQL_RUN_APPEND;
    return p->update.unread ? SQL_RUN_END_UNREAD : SQL_RUN_MOVE;
}

static void bind_move(struct query *q, const struct plan *p) {
    if (!p->has_update) return;
    if (p->update.unread) {
        bind_int(q, p->update.status);
        bind_int(q, p->update.completed_ms);
    } else {
        bind_update(q, p);
    }
    bind_int(q, p->lets_go);
}

int run_row_move(struct conn *c, struct plan *p, int *refusal, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, move_statement(p));
    bind_int(&q, p->base_seq + (int64_t)p->events_nr);
    bind_int(&q, p->run_no);
    bind_int(&q, p->base_seq);
    bind_int(&q, p->epoch);
    bind_move(&q, p);
    bind_int(&q, plan_log_bytes(p));
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    return sqlite3_changes64(c->db) == 1 ? 0 : run_refused(c, p, refusal, err);
}

/* ------------------------------------------------------------------------------ insert */
enum { RUN_ROWS_PAIR = 2 };
static bool run_rows_sized(size_t n) { return n == 1 || n == RUN_ROWS_PAIR || n == RUN_ROWS_MAX; }

/* The statement of n rows. */
static enum stmt_id run_statement(size_t n) {
    return n == 1 ? SQL_RUN_INSERT : n == RUN_ROWS_PAIR ? SQL_RUN_INSERT_2 : SQL_RUN_INSERT_8;
}
static enum stmt_id origin_statement(size_t n) {
    return n == 1               ? SQL_ORIGIN_INSERT
           : n == RUN_ROWS_PAIR ? SQL_ORIGIN_INSERT_2
                                : SQL_ORIGIN_INSERT_8;
}

static void run_bind(struct query *q, const struct plan *p, int64_t holder_no) {
    const struct run_row_new *n = p->create;
    const struct run_meta *m = &n->meta;
    bind_text(q, m->run_id);
    bind_text(q, m->tenant);
    bind_int(q, m->test_mode);
    bind_text(q, m->workflow_id);
    bind_opt(q, m->scope_id);
    bind_int(q, EVENT_LOG_SCHEMA_VERSION);
    bind_int(q, CURRENT_ENGINE_VERSION);
    bind_int(q, m->shown_engine_version);
    bind_int(q, m->created_ms);
    bind_int_opt(q, holder_no, 0);
    bind_int(q, p->epoch);
    bind_int(q, p->base_seq + (int64_t)p->events_nr);
    bind_int(q, (n->fork ? n->fork->bytes : 0) + plan_log_bytes(p));
    bind_update(q, p);
}

static int holders_find(struct store *s, struct plan **plans, size_t n, int64_t *numbers,
                        struct wopr_error *err) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct run_row_new *r = plans[i]->create;
        numbers[i] = 0;
        if (r->holder.n > 0) rc = holder_number(s, r->holder, r->lease_until_ms, &numbers[i], err);
    }
    return rc;
}

static int runs_insert(struct store *s, struct conn *c, struct plan **plans, size_t n, int *refusal,
                       struct wopr_error *err) {
    int64_t numbers[RUN_ROWS_MAX];
    int rc = holders_find(s, plans, n, numbers, err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, c, run_statement(n));
    for (size_t i = 0; i < n; i++) run_bind(&q, plans[i], numbers[i]);
    int src = q.rc == SQLITE_OK ? sqlite3_step(q.st) : q.rc;
    query_end(&q);
    if (src == SQLITE_CONSTRAINT_UNIQUE) { /* only run_id is unique here */
        *refusal = WOPR_E_EXISTS;
        return 0;
    }
    if (src != SQLITE_DONE) return conn_fail(c, src, err);
    int64_t last = sqlite3_last_insert_rowid(c->db); /* one statement numbers its rows in order */
    for (size_t i = 0; i < n; i++) plans[i]->run_no = last - (int64_t)(n - 1 - i);
    return 0;
}

static void origin_bind(struct query *q, const struct plan *p, int64_t set_no) {
    const struct run_row_new *n = p->create;
    const struct run_meta *m = &n->meta;
    bind_int(q, p->run_no);
    bind_text(q, m->workspace);
    bind_opt(q, m->subject);
    bind_hash(q, &n->workflow_hash);
    bind_opt(q, once_inputs(p));
    bind_opt(q, m->configurable);
    bind_opt(q, m->tags);
    bind_opt(q, m->metadata);
    bind_opt(q, m->transport);
    bind_opt(q, m->callback_url);
    bind_opt(q, m->traceparent);
    bind_int(q, m->recursion_limit);
    bind_opt(q, n->parent_run_id);
    bind_opt(q, n->parent_node_id);
    bind_int(q, n->child_depth);
    bind_int(q, n->child_flags);
    bind_int(q, m->sealed);
    bind_int(q, n->callback_answers);
    bind_int_opt(q, set_no, 0);
    bind_opt(q, m->modules);
    bind_int(q, m->led);
}

int run_rows_insert(struct store *s, struct conn *c, struct plan **plans, size_t n, int *refusal,
                    struct wopr_error *err) {
    int64_t sets[RUN_ROWS_MAX];
    ASSERT(run_rows_sized(n));
    int rc = runs_insert(s, c, plans, n, refusal, err);
    if (rc != 0 || *refusal != 0) return rc;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = agent_set_hold(c, &plans[i]->create->meta, &sets[i], err);
    if (rc != 0) return rc;
    struct query q;
    query_begin(&q, c, origin_statement(n));
    for (size_t i = 0; i < n; i++) origin_bind(&q, plans[i], sets[i]);
    return query_run(&q, err);
}

size_t run_rows_fit(size_t n) {
    return n >= RUN_ROWS_MAX ? RUN_ROWS_MAX : n >= RUN_ROWS_PAIR ? RUN_ROWS_PAIR : n;
}

/* X-Dedup: enforce (RUN-7), inside the creating transaction. */
int run_scope_check(struct conn *c, struct plan *p, int *refusal, struct wopr_error *err) {
    const struct run_meta *m = &p->create->meta;
    struct query q;
    query_begin(&q, c, SQL_RUN_ACTIVE_IN_SCOPE);
    bind_text(&q, m->tenant);
    bind_text(&q, m->scope_id);
    bind_int(&q, m->test_mode);
    int rc = query_step(&q, err);
    if (rc != 1) return rc;
    struct str id = col_str(&q, 0, p->arena);
    int64_t until = col_int(&q, 1);
    query_end(&q);
    if (arena_failed(p->arena))
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a run id");
    p->active_run_id = id;
    p->active_until_ms = until;
    *refusal = WOPR_E_RUN_ALREADY_ACTIVE;
    return 0;
}

int run_tags_put(struct conn *c, const struct plan *p, struct wopr_error *err) {
    struct query q;
    if (p->create->meta.tags.n == 0) return 0;
    query_begin(&q, c, SQL_TAGS_PUT);
    bind_int(&q, p->run_no);
    return query_run(&q, err);
}
