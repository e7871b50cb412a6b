/*
 * apply.c: append plans into the file (STORE-1, STORE-2, STORE-13, STORE-33).
 * A plan begins with the one statement that can refuse it: the conditional update of its run row,
 * or the insert of a new one.  A refused plan has therefore written nothing, and a batch needs no
 * savepoints.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "store/append.h"
#include "store/peers.h"
#include "store/sqlite/sql.h"
#include "store/upkeep.h"

enum { EVENTS_PER_INSERT = 4 }; /* rows of SQL_EVENT_INSERT_4 */

struct batch { /* one transaction */
    struct store *s;
    struct conn *c;
    int64_t now_ms;
    int64_t runs, runs_open, events; /* counter deltas */
    struct usages usages;
    bool hooks, hook_moved; /* there are webhooks; one, or a callback, wants what was written */
    struct wopr_error *err;
};

static void plan_outputs_reset(struct plan *p) {
    if (p->what == PLAN_CREATE) p->run_no = 0;
    p->active_run_id = STR_NONE;
    p->active_until_ms = 0;
    p->tenant_bytes = 0;
}

static bool plan_ends_run(const struct plan *p) {
    return p->has_update && (int)p->update.status >= STORE_FINAL_STATUS;
}

static bool fork_sane(const struct plan *p) {
    return p->has_update && p->base_seq == p->create->fork->link.from_seq;
}

/* A plan that breaks the log's rules is our mistake; it is refused before anything is written. */
static int plan_sane(const struct plan *p) {
    if (p->what == PLAN_SIDE)
        return p->events_nr == 0 && (p->has_idem || p->audits_nr > 0 || p->session)
                   ? 0
                   : WOPR_E_INTERNAL;
    bool forks = p->what == PLAN_CREATE && p->create && p->create->fork;
    if (forks && !fork_sane(p)) return WOPR_E_INTERNAL;
    if (p->what == PLAN_CREATE && !forks && (!p->create || p->base_seq != 0))
        return WOPR_E_INTERNAL;
    bool ends = false; /* EVT-7: only the last event is terminal, with a final status */
    for (size_t i = 0; i < p->events_nr; i++) {
        const struct event *e = &p->events[i];
        if (ends || e->seq != p->base_seq + (int64_t)i || (unsigned)e->kind >= EV_NR)
            return WOPR_E_INTERNAL;
        ends = event_is_terminal(e->kind);
    }
    return ends == plan_ends_run(p) ? 0 : WOPR_E_INTERNAL;
}

/* ------------------------------------------------------------------------------ the run row */
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
static int run_refused(struct batch *b, struct plan *p, int *refusal) {
    struct query q;
    query_begin(&q, b->c, SQL_RUN_WHY_NOT);
    bind_int(&q, p->run_no);
    int rc = query_step(&q, b->err);
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

static int64_t plan_log_bytes(const struct plan *p) {
    int64_t sum = 0;
    for (size_t i = 0; i < p->events_nr; i++) sum += event_bytes(&p->events[i]);
    for (size_t i = 0; i < p->artifacts_nr; i++) sum += (int64_t)p->artifacts[i].body.n;
    return sum;
}

/* A run of this plan's tenant began, ended or grew. */
static int usage_count(struct batch *b, struct plan *p) {
    bool creates = p->what == PLAN_CREATE, ends = plan_ends_run(p);
    int rc = creates ? 0 : usage_tenant(b->c, p, b->err);
    if (rc != 0) return rc;
    struct str tenant = creates ? p->create->meta.tenant : p->tenant;
    return usage_add(&b->usages, tenant, creates, creates - ends, plan_log_bytes(p), b->err);
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

static int run_move(struct batch *b, struct plan *p, int *refusal) {
    struct query q;
    query_begin(&q, b->c, move_statement(p));
    bind_int(&q, p->base_seq + (int64_t)p->events_nr);
    bind_int(&q, p->run_no);
    bind_int(&q, p->base_seq);
    bind_int(&q, p->epoch);
    bind_move(&q, p);
    bind_int(&q, plan_log_bytes(p));
    int rc = query_run(&q, b->err);
    if (rc != 0) return rc;
    return sqlite3_changes64(b->c->db) == 1 ? 0 : run_refused(b, p, refusal);
}

/* X-Dedup: enforce (RUN-7), inside the creating transaction. */
static int scope_check(struct batch *b, struct plan *p, int *refusal) {
    const struct run_meta *m = &p->create->meta;
    struct query q;
    query_begin(&q, b->c, SQL_RUN_ACTIVE_IN_SCOPE);
    bind_text(&q, m->tenant);
    bind_text(&q, m->scope_id);
    bind_int(&q, m->test_mode);
    int rc = query_step(&q, b->err);
    if (rc != 1) return rc;
    struct str id = col_str(&q, 0, p->arena);
    int64_t until = col_int(&q, 1);
    query_end(&q);
    if (arena_failed(p->arena))
        return wopr_error_set(b->err, WOPR_E_NO_MEMORY, "no memory for a run id");
    p->active_run_id = id;
    p->active_until_ms = until;
    *refusal = WOPR_E_RUN_ALREADY_ACTIVE;
    return 0;
}

static int run_insert(struct batch *b, struct plan *p, int *refusal) {
    const struct run_row_new *n = p->create;
    const struct run_meta *m = &n->meta;
    int64_t holder_no = 0;
    if (n->holder.n > 0) {
        int rc = holder_number(b->s, n->holder, n->lease_until_ms, &holder_no, b->err);
        if (rc != 0) return rc;
    }
    struct query q;
    query_begin(&q, b->c, SQL_RUN_INSERT);
    bind_text(&q, m->run_id);
    bind_text(&q, m->tenant);
    bind_int(&q, m->test_mode);
    bind_text(&q, m->workflow_id);
    bind_opt(&q, m->scope_id);
    bind_int(&q, EVENT_LOG_SCHEMA_VERSION);
    bind_int(&q, CURRENT_ENGINE_VERSION);
    bind_int(&q, m->shown_engine_version);
    bind_int(&q, m->created_ms);
    bind_int_opt(&q, holder_no, 0);
    bind_int(&q, p->epoch);
    bind_int(&q, p->base_seq + (int64_t)p->events_nr);
    bind_int(&q, (n->fork ? n->fork->bytes : 0) + plan_log_bytes(p));
    bind_update(&q, p);
    int src = q.rc == SQLITE_OK ? sqlite3_step(q.st) : q.rc;
    query_end(&q);
    if (src == SQLITE_CONSTRAINT_UNIQUE) { /* only run_id is unique here */
        *refusal = WOPR_E_EXISTS;
        return 0;
    }
    if (src != SQLITE_DONE) return conn_fail(b->c, src, b->err);
    p->run_no = sqlite3_last_insert_rowid(b->c->db);
    b->runs++;
    b->runs_open += !plan_ends_run(p);
    return 0;
}

static int origin_insert(struct batch *b, const struct plan *p) {
    const struct run_row_new *n = p->create;
    const struct run_meta *m = &n->meta;
    struct query q;
    int64_t set_no;
    int rc = agent_set_hold(b->c, m, &set_no, b->err);
    if (rc != 0) return rc;
    query_begin(&q, b->c, SQL_ORIGIN_INSERT);
    bind_int(&q, p->run_no);
    bind_text(&q, m->workspace);
    bind_opt(&q, m->subject);
    bind_hash(&q, &n->workflow_hash);
    bind_opt(&q, once_inputs(p));
    bind_opt(&q, m->configurable);
    bind_opt(&q, m->tags);
    bind_opt(&q, m->metadata);
    bind_opt(&q, m->transport);
    bind_opt(&q, m->callback_url);
    bind_opt(&q, m->traceparent);
    bind_int(&q, m->recursion_limit);
    bind_opt(&q, n->parent_run_id);
    bind_opt(&q, n->parent_node_id);
    bind_int(&q, n->child_depth);
    bind_int(&q, n->child_flags);
    bind_int(&q, m->sealed);
    bind_int(&q, n->callback_answers);
    bind_int_opt(&q, set_no, 0);
    bind_opt(&q, m->modules);
    bind_int(&q, m->led);
    return query_run(&q, b->err);
}

static int tags_put(struct batch *b, const struct plan *p) {
    struct query q;
    if (p->create->meta.tags.n == 0) return 0;
    query_begin(&q, b->c, SQL_TAGS_PUT);
    bind_int(&q, p->run_no);
    return query_run(&q, b->err);
}

/* FORK-9: the fork refers to inherited events, and its tenant pays for the copied rows. */
static int fork_create(struct batch *b, struct plan *p, int *refusal) {
    const struct plan_fork *f = p->create->fork;
    int rc = fork_source(b->c, p, b->err);
    if (rc == 0) rc = fork_admit(b->c, p, refusal, b->err);
    const int64_t bytes = f->bytes + plan_log_bytes(p); /* its own events, if the plan has any */
    if (rc == 0 && *refusal == 0) rc = usage_room(&b->usages, b->c, p, bytes, refusal, b->err);
    if (rc == 0 && *refusal == 0) rc = run_insert(b, p, refusal);
    if (rc != 0 || *refusal != 0) return rc;
    rc = origin_insert(b, p);
    if (rc == 0)
        rc = usage_add(&b->usages, p->create->meta.tenant, 1, !plan_ends_run(p), bytes, b->err);
    if (rc == 0) rc = fork_fill(b->c, p, b->err);
    return rc == 0 ? tags_put(b, p) : rc;
}

/* ------------------------------------------------------------------------------ what follows it */
static void event_bind(struct query *q, int64_t run_no, const struct event *e) {
    bind_int(q, run_no);
    bind_int(q, e->seq);
    bind_int(q, e->kind);
    bind_int(q, e->ts_ms);
    bind_opt(q, e->node_id);
    bind_int_opt(q, e->causation_seq, -1);
    bind_int(q, e->schema_version);
    bind_int(q, e->engine_version);
    bind_int(q, e->flags);
    bind_text(q, e->payload);
}

static int events_insert(struct batch *b, const struct plan *p) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->events_nr;) {
        size_t n = p->events_nr - i >= EVENTS_PER_INSERT ? EVENTS_PER_INSERT : 1;
        struct query q;
        query_begin(&q, b->c, n == 1 ? SQL_EVENT_INSERT : SQL_EVENT_INSERT_4);
        for (size_t end = i + n; i < end; i++) event_bind(&q, p->run_no, &p->events[i]);
        rc = query_run(&q, b->err);
    }
    b->events += (int64_t)p->events_nr;
    return rc;
}

static int initial_vars_put(const struct row_writer *w, const struct plan *p) {
    int rc = 0;
    if (p->what != PLAN_CREATE) return 0;
    for (size_t i = 0; rc == 0 && i < p->create->vars.n; i++) {
        const struct var_init *v = &p->create->vars.v[i];
        struct plan_var_row row = {.name = v->name, .value = v->shown};
        if (!v->sensitive) row.value = once_var(p, v->name, v->value);
        else if (v->shown.n == 0) continue; /* OBS-72, mode omit */
        rc = var_put(w, &row);
    }
    return rc;
}

/* All rows of all kinds, in the order of PLAN_ROWS. */
static int rows_put(struct batch *b, const struct plan *p) {
    struct str tenant = p->what == PLAN_CREATE ? p->create->meta.tenant : p->tenant;
    const struct row_writer w = {.c = b->c,
                                 .run_no = p->run_no,
                                 .now_ms = b->now_ms,
                                 .err = b->err,
                                 .usages = &b->usages,
                                 .tenant = tenant,
                                 .called = &b->hook_moved};
    int rc = 0;
#define ROWS_PUT(rows, one, type, texts)                                                           \
    for (size_t i = 0; rc == 0 && i < p->rows##_nr; i++) rc = one##_put(&w, &p->rows[i]);
#define STEP_PUT(put)                                                                              \
    if (rc == 0) rc = put(&w, p);
    PLAN_ROWS(ROWS_PUT, STEP_PUT)
#undef ROWS_PUT
#undef STEP_PUT
    return rc;
}

/* Returns a failure of the machine; a refusal of this plan alone goes to *refusal. */
static int plan_write(struct batch *b, struct plan *p, int *refusal) {
    int rc = 0;
    plan_outputs_reset(p);
    p->idem_hit = false;
    *refusal = p->failed ? p->failed : plan_sane(p);
    if (*refusal != 0) return 0;
    if (p->has_idem) { /* before X-Dedup: a retry gets its stored answer (RUN-8) */
        rc = idem_look(b->c, &p->idem, b->now_ms, p->arena, &p->idem_response, b->err);
        p->idem_hit = rc == 1;
        *refusal = rc == WOPR_E_IDEM_CONFLICT ? rc : 0;
        if (rc == 1 || *refusal != 0) return 0;
        if (rc < 0) return rc;
    }
    rc = session_guard(b->c, p, refusal, b->err); /* the one other look that may refuse */
    if (rc != 0 || *refusal != 0) return rc;
    if (p->what == PLAN_CREATE && p->create->fork) {
        rc = fork_create(b, p, refusal);
    } else if (p->what == PLAN_CREATE) {
        rc = usage_room(&b->usages, b->c, p, plan_log_bytes(p), refusal, b->err);
        if (rc == 0 && *refusal == 0 && p->create->dedup_enforce) rc = scope_check(b, p, refusal);
        if (rc == 0 && *refusal == 0) rc = run_insert(b, p, refusal);
        if (rc == 0 && *refusal == 0) rc = origin_insert(b, p);
        if (rc == 0 && *refusal == 0) rc = tags_put(b, p);
    } else if (p->what == PLAN_RUN) {
        rc = task_guard(b->c, p, refusal, b->err);
        if (rc == 0 && *refusal == 0) rc = run_move(b, p, refusal);
        if (rc == 0 && *refusal == 0) b->runs_open -= plan_ends_run(p);
    }
    if (rc != 0 || *refusal != 0) return rc;
    rc = events_insert(b, p);
    if (rc == 0 && b->hooks && p->events_nr > 0)
        rc = hook_move_put(b->c, p, b->now_ms, &b->hook_moved, b->err);
    if (rc == 0 && p->what != PLAN_SIDE && !(p->create && p->create->fork)) rc = usage_count(b, p);
    if (rc == 0) rc = rows_put(b, p);
    if (rc == 0 && p->has_idem) rc = idem_put(b->c, p, b->now_ms, b->err);
    return rc;
}

/* ------------------------------------------------------------------------------ batches */
static int counters_add(struct batch *b) {
    if (b->runs == 0 && b->runs_open == 0 && b->events == 0) return 0;
    struct query q;
    query_begin(&q, b->c, SQL_COUNTERS_ADD);
    bind_int(&q, b->runs);
    bind_int(&q, b->runs_open);
    bind_int(&q, b->events);
    return query_run(&q, b->err);
}

/* STORE-16: leave a record of the runs with new events for other hosts. */
static int peers_notify(struct batch *b, struct plan **plans, size_t n, const int *rcs) {
    if (b->events == 0 || !b->s->joined || !store_has_peers(b->s)) return 0;
    struct moved_run *v = mem_array(n, sizeof *v);
    size_t moved = 0;
    if (!v) return wopr_error_set(b->err, WOPR_E_NO_MEMORY, "no memory to tell other hosts");
    for (size_t i = 0; i < n; i++) {
        const struct plan *p = plans[i];
        if (rcs[i] != 0 || p->idem_hit || p->events_nr == 0) continue;
        v[moved++] = (struct moved_run){p->run_no, p->base_seq + (int64_t)p->events_nr};
    }
    int rc = moved > 0 ? moves_put(b->s, v, moved, b->err) : 0;
    mem_free(v);
    return rc;
}

/* One transaction over n plans.  A failure leaves nothing behind (SYNC_FAILED: the outcome is
 * unknown). */
static int batch_commit(struct store *s, struct plan **plans, size_t n, bool whole, int *rcs,
                        struct wopr_error *err) {
    struct batch b = {.s = s, .c = s->writer, .now_ms = clock_wall_ms(), .err = err};
    struct wal_head before;
    int rc = store_alive(s, err);
    if (rc == 0) rc = tx_begin(b.c, err);
    if (rc == 0) {
        memo_plans_begin(b.c, &before);
        rc = hooks_any(b.c, &b.hooks, err);
        for (size_t i = 0; rc == 0 && i < n; i++) {
            rc = plan_write(&b, plans[i], &rcs[i]);
            if (rc == 0 && whole && rcs[i] != 0)
                rc = wopr_error_set(err, rcs[i], "plan %zu is refused: %s", i,
                                    wopr_err_text(rcs[i]));
        }
        if (rc == 0) rc = counters_add(&b);
        if (rc == 0) rc = usages_write(&b.usages, b.c, err);
        if (rc == 0) rc = peers_notify(&b, plans, n, rcs);
        rc = tx_end(b.c, rc, err);
        memo_plans_end(b.c, &before, rc == 0);
    }
    usages_free(&b.usages);
    if (rc == 0 && b.hook_moved && s->hook_wake) s->hook_wake(s->hook_ctx);
    if (rc == 0) return 0;
    holder_forget(s);
    for (size_t i = 0; i < n; i++) {
        plan_outputs_reset(plans[i]);
        rcs[i] = plans[i]->failed ? plans[i]->failed : rc;
    }
    if (n == 1 && err && !plans[0]->failed) plans[0]->error = *err; /* for the log of the host */
    return rc;
}

/* After a batch failed: each plan alone, so that one poisonous plan cannot fail its neighbours. */
static int batch_singly(struct store *s, struct plan **plans, size_t n, int *rcs,
                        struct wopr_error *err) {
    for (size_t i = 0; i < n; i++) {
        if (plans[i]->idem_hit) { /* clear the answer, which may have been rolled back */
            plans[i]->idem_hit = false;
            continue;
        }
        int rc = batch_commit(s, &plans[i], 1, false, &rcs[i], err);
        if (rc != WOPR_E_SYNC_FAILED && rc != WOPR_E_BUSY) continue;
        for (size_t j = i + 1; j < n; j++) rcs[j] = plans[j]->failed ? plans[j]->failed : rc;
        break; /* the others would fail alike */
    }
    return 0;
}

int store_apply_whole(struct store *s, struct plan **plans, size_t n, struct wopr_error *err) {
    int *rcs = mem_array(n, sizeof *rcs);
    if (!rcs) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a batch");
    pthread_mutex_lock(&s->write_lock);
    int rc = s->writer ? batch_commit(s, plans, n, true, rcs, err)
                       : wopr_error_set(err, WOPR_E_CONFIG, "the database was opened read-only");
    pthread_mutex_unlock(&s->write_lock);
    mem_free(rcs);
    return rc;
}

int store_apply(struct store *s, struct plan **plans, size_t n, int *rcs, struct wopr_error *err) {
    if (!s->writer) {
        for (size_t i = 0; i < n; i++) rcs[i] = WOPR_E_CONFIG;
        return wopr_error_set(err, WOPR_E_CONFIG, "database %s was opened read-only", s->path);
    }
    pthread_mutex_lock(&s->write_lock);
    int rc = batch_commit(s, plans, n, false, rcs, err);
    if (rc != 0 && rc != WOPR_E_SYNC_FAILED && rc != WOPR_E_BUSY && n > 1)
        rc = batch_singly(s, plans, n, rcs, err);
    pthread_mutex_unlock(&s->write_lock);
    struct wopr_error
        ignored; /* the batch is durable; a failed checkpoint shows at the next call */
    if (rc == 0 &&
        atomic_load_explicit(&s->wal_pages, memory_order_relaxed) > STORE_WAL_MUST_PAGES &&
        store_checkpoint(s, &ignored) != 0)
        return 0;
    return rc;
}
