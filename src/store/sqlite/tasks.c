/*
 * tasks.c: tasks of workers (WRK-10 to WRK-24): rows of plans, claims, leases.
 * A claim takes the oldest ready task of a type by one look-up in an index that holds ready tasks
 * only, so it costs the same however many wait.
 */
#include "store/tasks.h"
#include "base/mem.h"
#include "store/peers.h"
#include "store/sqlite/sql.h"

/* --- rows of plans --- */

static int task_open(const struct row_writer *w, const struct plan_task *t) {
    struct query q;
    query_begin(&q, w->c, SQL_TASK_OPEN);
    bind_text(&q, t->task_id);
    bind_int(&q, w->run_no);
    bind_text(&q, t->node_id);
    bind_text(&q, t->type_id);
    bind_int(&q, t->attempt);
    bind_text(&q, t->invocation_id);
    bind_int(&q, t->state);
    bind_opt(&q, t->body);
    bind_int(&q, t->sealed_at);
    bind_int(&q, t->at_ms);
    bind_int(&q, (int64_t)t->bytes);
    int rc = query_run(&q, w->err);
    return rc == 0 ? usage_add(w->usages, w->tenant, 0, 0, (int64_t)t->bytes, w->err) : rc;
}

static int task_unseal(const struct row_writer *w, int64_t at) {
    struct query q;
    if (at == 0) return 0;
    query_begin(&q, w->c, SQL_TASK_UNSEAL);
    bind_int(&q, w->run_no);
    bind_int(&q, at);
    return query_run(&q, w->err);
}

/* What the open row of the node, or all of the run, hold is let go; the row then has bytes. */
static int task_let_go(const struct row_writer *w, struct str node_id, size_t bytes) {
    struct query q;
    int64_t sealed_at = 0, held = 0;
    query_begin(&q, w->c, node_id.n > 0 ? SQL_TASK_HOLDS : SQL_TASK_HOLDS_ALL);
    bind_int(&q, w->run_no);
    if (node_id.n > 0) bind_text(&q, node_id);
    int rc = query_step(&q, w->err);
    if (rc < 0) return rc;
    if (rc == 1) {
        sealed_at = col_int(&q, 0);
        held = col_int(&q, 1);
    }
    query_end(&q);
    if (rc == 0) return 0; /* there is none */
    rc = task_unseal(w, sealed_at);
    return rc == 0 ? usage_add(w->usages, w->tenant, 0, 0, (int64_t)bytes - held, w->err) : rc;
}

static int task_answer(const struct row_writer *w, const struct plan_task *t) {
    struct query q;
    int rc = task_let_go(w, t->node_id, t->bytes);
    if (rc != 0) return rc;
    query_begin(&q, w->c, SQL_TASK_ANSWER);
    bind_int(&q, w->run_no);
    bind_text(&q, t->node_id);
    bind_opt(&q, t->outcome);
    bind_int(&q, t->sealed_at);
    bind_int(&q, (int64_t)t->bytes);
    bind_opt(&q, t->word);
    return query_run(&q, w->err);
}

static int task_emitted(const struct row_writer *w, const struct plan_task *t) {
    struct query q;
    query_begin(&q, w->c, SQL_TASK_EMITTED);
    bind_int(&q, w->run_no);
    bind_text(&q, t->node_id);
    bind_int(&q, t->number);
    return query_run(&q, w->err);
}

static int task_close(const struct row_writer *w, const struct plan_task *t) {
    bool all = t->op == TASK_ROW_CLOSE_ALL;
    struct query q;
    int rc = task_let_go(w, all ? STR_NONE : t->node_id, 0);
    if (rc != 0) return rc;
    query_begin(&q, w->c, all ? SQL_TASK_CLOSE_ALL : SQL_TASK_CLOSE);
    bind_int(&q, w->run_no);
    if (!all) bind_text(&q, t->node_id);
    bind_int(&q, t->state);
    bind_opt(&q, t->reason);
    bind_int(&q, t->at_ms);
    if (!all) bind_opt(&q, t->word);
    return query_run(&q, w->err);
}

int task_put(const struct row_writer *w, const struct plan_task *t) {
    struct query q;
    switch (t->op) {
    case TASK_ROW_OPEN:
        return task_open(w, t);
    case TASK_ROW_ANSWER:
        return task_answer(w, t);
    case TASK_ROW_EMITTED:
        return task_emitted(w, t);
    case TASK_ROW_CLOSE:
    case TASK_ROW_CLOSE_ALL:
        return task_close(w, t);
    case TASK_ROW_HOLD:
    case TASK_ROW_RELEASE:
        break;
    }
    query_begin(&q, w->c, t->op == TASK_ROW_HOLD ? SQL_TASK_HOLD : SQL_TASK_RELEASE);
    bind_int(&q, w->run_no);
    return query_run(&q, w->err);
}

int tasks_hold(struct conn *c, int64_t run_no, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, SQL_TASK_HOLD);
    bind_int(&q, run_no);
    return query_run(&q, err);
}

bool task_wants_box(const struct row_writer *w, int64_t at, int *rc) {
    struct query q;
    query_begin(&q, w->c, SQL_TASK_WANTS_BOX);
    bind_int(&q, w->run_no);
    bind_int(&q, at);
    *rc = query_step(&q, w->err);
    query_end(&q);
    bool wants = *rc == 1;
    if (*rc > 0) *rc = 0;
    return wants;
}

int task_guard(struct conn *c, const struct plan *p, int *refusal, struct wopr_error *err) {
    struct query q;
    if (p->guard.task_id.n == 0) return 0;
    query_begin(&q, c, SQL_TASK_GUARD);
    bind_text(&q, p->guard.task_id);
    bind_int(&q, p->guard.epoch);
    int rc = query_step(&q, err);
    query_end(&q);
    if (rc == 0) *refusal = WOPR_E_TASK_LOST;
    return rc < 0 ? rc : 0;
}

/* --- reading --- */

static int task_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct task_row *)row = (struct task_row){.task_id = col_str(q, 0, a),
                                                .run_id = col_str(q, 1, a),
                                                .node_id = col_str(q, 2, a),
                                                .tenant = col_str(q, 3, a),
                                                .type_id = col_str(q, 4, a),
                                                .workflow_id = col_str(q, 5, a),
                                                .invocation_id = col_str(q, 6, a),
                                                .body = col_str(q, 7, a),
                                                .outcome = col_str(q, 8, a),
                                                .reason = col_str(q, 9, a),
                                                .worker = col_str(q, 10, a),
                                                .word = col_str(q, 11, a),
                                                .test_mode = col_int(q, 12) != 0,
                                                .run_no = col_int(q, 13),
                                                .epoch = col_int(q, 14),
                                                .sealed_at = col_int(q, 15),
                                                .attempt = (int32_t)col_int(q, 16),
                                                .state = (enum task_row_state)col_int(q, 17),
                                                .lost = col_int(q, 18),
                                                .lease_ms = col_int(q, 19),
                                                .lease_until_ms = col_int(q, 20),
                                                .ready_ms = col_int(q, 21),
                                                .ended_ms = col_int(q, 22),
                                                .bytes = col_int(q, 23),
                                                .emitted = col_int(q, 24)};
    return 0;
}

/* q is bound.  *found: there is a row. */
static int task_one(struct query *q, struct arena *a, struct task_row *out, bool *found,
                    struct wopr_error *err) {
    struct task_row r;
    int rc = query_step(q, err);
    *found = rc == 1;
    if (rc == 1) rc = task_read(q, a, &r, err);
    rc = read_end(q, rc, a, err);
    if (rc == 0 && *found) *out = r;
    return rc;
}

static int task_none(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NOT_FOUND, "there is no such task");
}

static bool task_is_of(const struct task_row *r, struct str tenant, bool test_mode) {
    return str_eq(r->tenant, tenant) && r->test_mode == test_mode;
}

int store_task_get(struct store *s, struct str tenant, bool test_mode, struct str task_id,
                   struct arena *a, struct task_row *out, struct wopr_error *err) {
    struct query q;
    struct task_row r;
    bool found;
    int rc = read_begin(&q, s, SQL_TASK_GET, err);
    if (rc != 0) return rc;
    bind_text(&q, task_id);
    rc = task_one(&q, a, &r, &found, err);
    if (rc != 0) return rc;
    if (!found || !task_is_of(&r, tenant, test_mode)) return task_none(err);
    *out = r;
    return 0;
}

int store_task_of_node(struct store *s, int64_t run_no, struct str node_id, struct arena *a,
                       struct task_row *out, struct wopr_error *err) {
    struct query q;
    bool found;
    int rc = read_begin(&q, s, SQL_TASK_OF_NODE, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    bind_text(&q, node_id);
    rc = task_one(&q, a, out, &found, err);
    return rc == 0 && !found ? task_none(err) : rc;
}

static int brief_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct task_brief *)row =
        (struct task_brief){col_str(q, 0, a), (enum task_row_state)col_int(q, 1)};
    return 0;
}

int store_tasks_of_run(struct store *s, int64_t run_no, struct arena *a,
                       struct task_brief_list *out, struct wopr_error *err) {
    struct query q;
    struct task_brief_list l = {.n = 0};
    int rc = read_begin(&q, s, SQL_TASKS_OF_RUN, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    rc = list_read(&q, a, brief_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

static void queue_bind(struct query *q, const struct task_queue *of, size_t type) {
    bind_text(q, of->tenant);
    bind_int(q, of->test_mode);
    bind_text(q, of->types[type]);
}

int store_tasks_ready(struct store *s, const struct task_queue *of, bool *any,
                      struct wopr_error *err) {
    struct query q;
    *any = false;
    for (size_t i = 0; i < of->types_nr && !*any; i++) {
        int rc = read_begin(&q, s, SQL_TASK_READY, err);
        if (rc != 0) return rc;
        queue_bind(&q, of, i);
        rc = query_step(&q, err);
        query_end(&q);
        if (rc < 0) return rc;
        *any = rc == 1;
    }
    return 0;
}

static int lapse_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct task_lapse *)row = (struct task_lapse){.tenant = col_str(q, 0, a),
                                                    .type_id = col_str(q, 1, a),
                                                    .test_mode = col_int(q, 2) != 0,
                                                    .state = (enum task_row_state)col_int(q, 3)};
    return 0;
}

int store_tasks_ready_of_run(struct store *s, int64_t run_no, struct arena *a,
                             struct task_lapse_list *out, struct wopr_error *err) {
    struct query q;
    struct task_lapse_list l = {.n = 0};
    int rc = read_begin(&q, s, SQL_TASKS_READY_OF_RUN, err);
    if (rc != 0) return rc;
    bind_int(&q, run_no);
    rc = list_read(&q, a, lapse_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

/* --- lists of operators --- */

int store_tasks_queue(struct store *s, const struct task_queue *of, enum task_row_state state,
                      unsigned max, int64_t *nr, int64_t *oldest_ms, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_TASKS_QUEUE, err);
    if (rc != 0) return rc;
    queue_bind(&q, of, 0);
    bind_int(&q, state);
    bind_int(&q, max);
    rc = query_step(&q, err);
    if (rc == 1) {
        *nr = col_int(&q, 0);
        *oldest_ms = col_int(&q, 1);
    }
    query_end(&q);
    return rc < 0 ? rc : 0;
}

int store_tasks_list(struct store *s, const struct task_filter *f, unsigned max, struct arena *a,
                     struct task_row_list *out, struct wopr_error *err) {
    struct query q;
    struct task_row_list l = {.n = 0};
    const struct task_row *after = &f->after;
    bool begins = after->task_id.n == 0, by_type = f->type_id.n > 0;
    bool by_state = by_type && f->state >= 0;
    int rc = read_begin(&q, s, SQL_TASKS_LIST, err);
    if (rc != 0) return rc;
    bind_text(&q, f->tenant);
    bind_int(&q, f->test_mode);
    bind_text(&q, begins ? f->type_id : after->type_id);
    bind_int(&q, !begins ? (int64_t)after->state : by_state ? f->state : -1);
    bind_int(&q, begins ? INT64_MIN : after->ready_ms);
    bind_text(&q, after->task_id);
    bind_int(&q, max < STORE_LIST_MAX ? max : STORE_LIST_MAX);
    rc = list_read(&q, a, task_read, &l, err);
    if (rc != 0) return rc;
    size_t n = 0; /* in their order: what is of the filter comes first */
    while (n < l.n && (!by_type || str_eq(l.v[n].type_id, f->type_id)) &&
           (!by_state || (int)l.v[n].state == f->state))
        n++;
    l.n = n;
    *out = l;
    return 0;
}

int store_tasks_lost(struct store *s, int64_t after_run_no, unsigned max, struct arena *a,
                     struct task_row_list *out, struct wopr_error *err) {
    struct query q;
    struct task_row_list l = {.n = 0};
    int rc = read_begin(&q, s, SQL_TASKS_LOST, err);
    if (rc != 0) return rc;
    bind_int(&q, after_run_no);
    bind_int(&q, max < STORE_LIST_MAX ? max : STORE_LIST_MAX);
    rc = list_read(&q, a, task_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

static int depth_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct task_depth *)row = (struct task_depth){.type_id = col_str(q, 0, a),
                                                    .ready = col_int(q, 1),
                                                    .leased = col_int(q, 2),
                                                    .oldest_ms = col_int(q, 3)};
    return 0;
}

int store_tasks_depths(struct store *s, unsigned max, struct arena *a, struct task_depth_list *out,
                       struct wopr_error *err) {
    struct query q;
    struct task_depth_list l = {.n = 0};
    int rc = read_begin(&q, s, SQL_TASKS_DEPTHS, err);
    if (rc != 0) return rc;
    bind_int(&q, max < STORE_LIST_MAX ? max : STORE_LIST_MAX);
    rc = list_read(&q, a, depth_read, &l, err);
    if (rc == 0) *out = l;
    return rc;
}

/* --- claims and heartbeats, inside a write transaction --- */

static int writer_get(struct conn *c, enum stmt_id id, struct str task_id, struct arena *a,
                      struct task_row *out, bool *found, struct wopr_error *err) {
    struct query q;
    query_begin(&q, c, id);
    bind_text(&q, task_id);
    return task_one(&q, a, out, found, err);
}

/* The oldest ready task of the type; *task_id is empty when there is none. */
static int claim_next(struct conn *c, const struct task_op *op, size_t type, int64_t now_ms,
                      struct str *task_id, struct wopr_error *err) {
    struct query q;
    *task_id = STR_NONE;
    query_begin(&q, c, SQL_TASK_CLAIM);
    queue_bind(&q, &op->queue, type);
    bind_opt(&q, op->worker);
    bind_int(&q, op->lease_ms);
    bind_int(&q, now_ms + op->lease_ms);
    int rc = query_step(&q, err);
    if (rc <= 0) return rc;
    *task_id = col_str(&q, 0, op->a);
    rc = query_run(&q, err);
    if (rc == 0 && !task_id->p) rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a task");
    return rc;
}

/* Its sealed body, as it is in this transaction: the next one may remove it. */
static int claim_box(struct conn *c, struct arena *a, struct task_row *r, struct wopr_error *err) {
    struct query q;
    if (r->sealed_at == 0) return 0;
    query_begin(&q, c, SQL_TASK_BOX);
    bind_int(&q, r->run_no);
    bind_int(&q, r->sealed_at);
    int rc = query_step(&q, err);
    if (rc < 0) return rc;
    if (rc == 1)
        r->box = (struct plan_sealed){
            .seq = r->sealed_at, .key_no = col_int(&q, 0), .box = col_str(&q, 1, a)};
    query_end(&q);
    if (rc == 0) return wopr_error_set(err, WOPR_E_CORRUPT, "the sealed body of a task is gone");
    return r->box.box.p ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a task");
}

/* Up to max tasks of one type; *full: enough bytes for one answer. */
static int claim_type(struct conn *c, struct task_op *op, size_t type, size_t max, int64_t now_ms,
                      size_t *bytes, struct wopr_error *err) {
    struct str id;
    bool found;
    for (size_t n = 0; n < max && *bytes < STORE_TASKS_CLAIM_BYTES; n++) {
        struct task_row *r = &op->claimed.v[op->claimed.n];
        int rc = claim_next(c, op, type, now_ms, &id, err);
        if (rc != 0 || id.n == 0) return rc;
        rc = writer_get(c, SQL_TASK_CLAIMED, id, op->a, r, &found, err);
        if (rc != 0) return rc;
        if (!found) return wopr_error_set(err, WOPR_E_CORRUPT, "a task has no run");
        rc = claim_box(c, op->a, r, err);
        if (rc != 0) return rc;
        *bytes += (size_t)r->bytes;
        op->claimed.n++;
    }
    return 0;
}

/* Each type has its share; what one leaves, the others take (WRK-24). */
static int op_claim(struct conn *c, struct task_op *op, int64_t now_ms, struct wopr_error *err) {
    size_t types = op->queue.types_nr, bytes = 0;
    size_t max = op->max < STORE_TASKS_CLAIM_MAX ? op->max : STORE_TASKS_CLAIM_MAX;
    op->claimed = (struct task_row_list){.v = ARENA_ARRAY(op->a, struct task_row, max)};
    if (!op->claimed.v || types == 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to claim tasks");
    size_t share = (max + types - 1) / types;
    for (size_t i = 0; i < 2 * types && op->claimed.n < max; i++) {
        size_t left = max - op->claimed.n;
        size_t want = i < types && share < left ? share : left;
        int rc = claim_type(c, op, (op->first_type + i) % types, want, now_ms, &bytes, err);
        if (rc != 0) return rc;
    }
    return 0;
}

static int op_beat(struct conn *c, struct task_op *op, int64_t now_ms, struct wopr_error *err) {
    struct query q;
    bool found;
    query_begin(&q, c, SQL_TASK_BEAT);
    bind_text(&q, op->task_id);
    bind_int(&q, op->epoch);
    bind_text(&q, op->queue.tenant);
    bind_int(&q, op->queue.test_mode);
    bind_int(&q, op->lease_ms);
    bind_int(&q, now_ms);
    int rc = query_run(&q, err);
    if (rc != 0) return rc;
    bool held = sqlite3_changes64(c->db) == 1;
    rc = writer_get(c, SQL_TASK_GET, op->task_id, op->a, &op->row, &found, err);
    if (rc != 0) return rc;
    if (!found || !task_is_of(&op->row, op->queue.tenant, op->queue.test_mode))
        op->rc = task_none(&op->err);
    else if (!held)
        op->rc = wopr_error_set(&op->err, WOPR_E_TASK_LOST, "the lease of the task is over");
    return 0;
}

static int ops_run(struct store *s, struct task_op *first, int64_t now_ms, struct wopr_error *err) {
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    for (struct task_op *op = first; rc == 0 && op; op = op->next) {
        op->rc = 0;
        rc = op->what == TASK_OP_CLAIM ? op_claim(s->writer, op, now_ms, err)
                                       : op_beat(s->writer, op, now_ms, err);
    }
    return write_end(s, rc, err);
}

static int op_alone(struct store *s, struct task_op *op, int64_t now_ms, struct wopr_error *err) {
    struct task_op *next = op->next;
    op->next = NULL;
    int rc = ops_run(s, op, now_ms, err);
    op->next = next;
    return rc;
}

/* One whose arena is full must not fail its neighbours. */
void store_task_ops(struct store *s, struct task_op *first, int64_t now_ms) {
    struct wopr_error err = {0};
    int rc = ops_run(s, first, now_ms, &err);
    bool singly = rc == WOPR_E_NO_MEMORY && first->next;
    for (struct task_op *op = first; rc != 0 && op; op = op->next) {
        int own = singly ? op_alone(s, op, now_ms, &err) : rc;
        if (own == 0) continue;
        op->rc = own;
        op->err = err;
        op->claimed.n = 0;
    }
}

/* --- leases that run out --- */

int store_tasks_lapsed(struct store *s, int64_t now_ms, bool *any, struct wopr_error *err) {
    struct query q;
    int rc = read_begin(&q, s, SQL_TASKS_LAPSED, err);
    if (rc != 0) return rc;
    bind_int(&q, now_ms);
    rc = query_step(&q, err);
    query_end(&q);
    *any = rc == 1;
    return rc < 0 ? rc : 0;
}

static int expired_read(struct query *q, struct arena *a, void *row, struct wopr_error *err) {
    (void)err;
    *(struct task_lapse *)row = (struct task_lapse){.tenant = col_str(q, 0, a),
                                                    .type_id = col_str(q, 1, a),
                                                    .test_mode = col_int(q, 2) != 0,
                                                    .state = (enum task_row_state)col_int(q, 3),
                                                    .run_no = col_int(q, 4)};
    return 0;
}

/* Claims that wait at other hosts hear of them. */
static int lapses_notify(struct store *s, const struct task_lapse_list *l, struct wopr_error *err) {
    if (l->n == 0) return 0;
    struct moved_run *v = mem_array(l->n, sizeof *v);
    if (!v) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to notify other hosts");
    for (size_t i = 0; i < l->n; i++) v[i] = (struct moved_run){l->v[i].run_no, MOVED_TASKS};
    int rc = moves_put(s, v, l->n, err);
    mem_free(v);
    return rc;
}

int store_tasks_expire(struct store *s, int64_t now_ms, int64_t lost_max, struct arena *a,
                       struct task_lapse_list *out, struct wopr_error *err) {
    struct task_lapse_list l = {.n = 0};
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_TASKS_EXPIRE);
    bind_int(&q, now_ms);
    bind_int(&q, lost_max);
    bind_int(&q, STORE_TASK_EXPIRE_MAX);
    rc = list_read(&q, a, expired_read, &l, err);
    if (rc == 0) rc = lapses_notify(s, &l, err);
    rc = write_end(s, rc, err);
    if (rc == 0) *out = l;
    return rc;
}

int store_tasks_clamp(struct store *s, int64_t now_ms, struct wopr_error *err) {
    struct query q;
    int rc = write_begin(s, err);
    if (rc != 0) return rc;
    query_begin(&q, s->writer, SQL_TASKS_CLAMP);
    bind_int(&q, now_ms);
    return write_end(s, query_run(&q, err), err);
}
