/*
 * apply.c: append plans into the file (STORE-1, STORE-2, STORE-13, STORE-33).
 * A plan begins with the one statement that can refuse it: the conditional update of its run row,
 * or the insert of a new one.  A refused plan has therefore written nothing, and a batch needs no
 * savepoints.  Creations that follow each other gather, and their rows are inserted together;
 * whatever may depend on one of them (a child, the same idempotency key, a plan of another kind)
 * has them written first.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "store/append.h"
#include "store/peers.h"
#include "store/sqlite/run_rows.h"
#include "store/upkeep.h"

struct batch { /* one transaction */
    struct store *s;
    struct conn *c;
    int64_t now_ms;
    bool whole;                       /* all plans or none */
    struct plan *fresh[RUN_ROWS_MAX]; /* creations that wait to be inserted together */
    int *refusals[RUN_ROWS_MAX];      /* theirs */
    size_t fresh_nr;
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

/* A run of this plan's tenant ended or grew. */
static int usage_count(struct batch *b, struct plan *p) {
    int rc = usage_tenant(b->c, p, b->err);
    if (rc != 0) return rc;
    return usage_add(&b->usages, p->tenant, 0, -plan_ends_run(p), plan_log_bytes(p), b->err);
}

/* ------------------------------------------------------------------------------ rows of a plan */
enum { EVENTS_MANY = 16, EVENTS_SOME = 4 }; /* rows of SQL_EVENT_INSERT_16 and _4 */

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

/* The events of n plans, one after the other. */
static int events_insert(struct batch *b, struct plan *const *plans, size_t n) {
    size_t left = 0, at = 0; /* at: an event of *plans */
    int rc = 0;
    for (size_t i = 0; i < n; i++) left += plans[i]->events_nr;
    b->events += (int64_t)left;
    while (rc == 0 && left > 0) {
        size_t rows = left >= EVENTS_MANY ? EVENTS_MANY : left >= EVENTS_SOME ? EVENTS_SOME : 1;
        struct query q;
        query_begin(&q, b->c,
                    rows == EVENTS_MANY   ? SQL_EVENT_INSERT_16
                    : rows == EVENTS_SOME ? SQL_EVENT_INSERT_4
                                          : SQL_EVENT_INSERT);
        for (size_t end = left - rows; left > end; left--, at++) {
            for (; at == (*plans)->events_nr; plans++) at = 0;
            event_bind(&q, (*plans)->run_no, &(*plans)->events[at]);
        }
        rc = query_run(&q, b->err);
    }
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

/* What follows its events. */
static int plan_rest(struct batch *b, struct plan *p) {
    int rc = 0;
    if (b->hooks && p->events_nr > 0)
        rc = hook_move_put(b->c, p, b->now_ms, &b->hook_moved, b->err);
    if (rc == 0) rc = rows_put(b, p);
    if (rc == 0 && p->has_idem) rc = idem_put(b->c, p, b->now_ms, b->err);
    return rc;
}

/* ------------------------------------------------------------------------------ creations */
/* Must what gathers be written before this plan is looked at? */
static bool fresh_awaited(const struct batch *b, const struct plan *p) {
    if (p->what != PLAN_CREATE || !p->create || p->create->fork || p->create->dedup_enforce ||
        p->create->parent_run_id.n > 0 || p->session || b->whole)
        return true;
    for (size_t i = 0; p->has_idem && i < b->fresh_nr; i++)
        if (b->fresh[i]->has_idem && sha256_eq(&b->fresh[i]->idem.key, &p->idem.key)) return true;
    return false;
}

/* The tenant pays for a creation as soon as it gathers (sign 1), for the next one's room. */
static int fresh_pay(struct batch *b, const struct plan *p, int64_t sign) {
    return usage_add(&b->usages, p->create->meta.tenant, sign, sign * !plan_ends_run(p),
                     sign * plan_log_bytes(p), b->err);
}

static int fresh_follow(struct batch *b, struct plan **plans, size_t n) {
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        b->runs++;
        b->runs_open += !plan_ends_run(plans[i]);
        rc = run_tags_put(b->c, plans[i], b->err);
    }
    if (rc == 0) rc = events_insert(b, plans, n);
    for (size_t i = 0; rc == 0 && i < n; i++) rc = plan_rest(b, plans[i]);
    return rc;
}

/* Write what gathers. */
static int fresh_write(struct batch *b) {
    size_t n = b->fresh_nr, singly = 0; /* before singly: one at a time */
    int rc = 0;
    b->fresh_nr = 0;
    for (size_t at = 0; rc == 0 && at < n;) {
        size_t k = at < singly ? 1 : run_rows_fit(n - at);
        int refusal = 0;
        rc = run_rows_insert(b->s, b->c, &b->fresh[at], k, &refusal, b->err);
        if (rc == 0 && refusal != 0 && k > 1) { /* whose id is taken? */
            singly = at + k;
            continue;
        }
        if (rc == 0 && refusal != 0) {
            *b->refusals[at] = refusal;
            rc = fresh_pay(b, b->fresh[at], -1);
        } else if (rc == 0) {
            rc = fresh_follow(b, &b->fresh[at], k);
        }
        at += k;
    }
    return rc;
}

static int fresh_add(struct batch *b, struct plan *p, int *refusal, bool waits) {
    const int64_t bytes = plan_log_bytes(p);
    int rc = usage_room(&b->usages, b->c, p, bytes, refusal, b->err);
    if (rc == 0 && *refusal != 0 && b->fresh_nr > 0) { /* what gathers may yet be refused itself */
        *refusal = 0;
        rc = fresh_write(b);
        if (rc == 0) rc = usage_room(&b->usages, b->c, p, bytes, refusal, b->err);
    }
    if (rc == 0 && *refusal == 0 && p->create->dedup_enforce)
        rc = run_scope_check(b->c, p, refusal, b->err);
    if (rc == 0 && *refusal == 0) rc = fresh_pay(b, p, 1);
    if (rc != 0 || *refusal != 0) return rc;
    b->fresh[b->fresh_nr] = p;
    b->refusals[b->fresh_nr++] = refusal;
    return waits && b->fresh_nr < RUN_ROWS_MAX ? 0 : fresh_write(b);
}

/* FORK-9: the fork refers to inherited events, and its tenant pays for the copied rows. */
static int fork_create(struct batch *b, struct plan *p, int *refusal) {
    const struct plan_fork *f = p->create->fork;
    int rc = fork_source(b->c, p, b->err);
    if (rc == 0) rc = fork_admit(b->c, p, refusal, b->err);
    const int64_t bytes = f->bytes + plan_log_bytes(p); /* its own events, if the plan has any */
    if (rc == 0 && *refusal == 0) rc = usage_room(&b->usages, b->c, p, bytes, refusal, b->err);
    if (rc == 0 && *refusal == 0) rc = run_rows_insert(b->s, b->c, &p, 1, refusal, b->err);
    if (rc != 0 || *refusal != 0) return rc;
    b->runs++;
    b->runs_open += !plan_ends_run(p);
    rc = usage_add(&b->usages, p->create->meta.tenant, 1, !plan_ends_run(p), bytes, b->err);
    if (rc == 0) rc = fork_fill(b->c, p, b->err);
    return rc == 0 ? run_tags_put(b->c, p, b->err) : rc;
}

/* ------------------------------------------------------------------------------ plans */
/* What refuses a plan of any kind before it writes, or answers it (idem_hit). */
static int plan_admit(struct batch *b, struct plan *p, int *refusal) {
    plan_outputs_reset(p);
    p->idem_hit = false;
    *refusal = p->failed ? p->failed : plan_sane(p);
    if (*refusal != 0) return 0;
    if (p->has_idem) { /* before X-Dedup: a retry gets its stored answer (RUN-8) */
        int rc = idem_look(b->c, &p->idem, b->now_ms, p->arena, &p->idem_response, b->err);
        p->idem_hit = rc == 1;
        *refusal = rc == WOPR_E_IDEM_CONFLICT ? rc : 0;
        if (rc == 1 || *refusal != 0) return 0;
        if (rc < 0) return rc;
    }
    return session_guard(b->c, p, refusal, b->err); /* the one other look that may refuse */
}

static int run_plan_write(struct batch *b, struct plan *p, int *refusal) {
    int rc = task_guard(b->c, p, refusal, b->err);
    if (rc == 0 && *refusal == 0) rc = run_row_move(b->c, p, refusal, b->err);
    if (rc != 0 || *refusal != 0) return rc;
    b->runs_open -= plan_ends_run(p);
    return usage_count(b, p);
}

/* Returns a failure of the machine; a refusal of this plan alone goes to *refusal, at the latest
 * when what gathers is written. */
static int plan_write(struct batch *b, struct plan *p, int *refusal) {
    bool waits = !fresh_awaited(b, p);
    int rc = waits ? 0 : fresh_write(b);
    if (rc == 0) rc = plan_admit(b, p, refusal);
    if (rc != 0 || *refusal != 0 || p->idem_hit) return rc;
    if (p->what == PLAN_CREATE && !p->create->fork) return fresh_add(b, p, refusal, waits);
    if (p->what == PLAN_CREATE) rc = fork_create(b, p, refusal);
    else if (p->what == PLAN_RUN) rc = run_plan_write(b, p, refusal);
    if (rc != 0 || *refusal != 0) return rc;
    rc = events_insert(b, &p, 1);
    return rc == 0 ? plan_rest(b, p) : rc;
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
    struct batch b = {
        .s = s, .c = s->writer, .now_ms = clock_wall_ms(), .whole = whole, .err = err};
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
        if (rc == 0) rc = fresh_write(&b);
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
