/*
 * task_serve.c: what workers ask for without a run: claims and heartbeats in groups, claims that
 * wait.
 *
 *     engine_task_op --> ops ---- one job, one commit ----> done()
 *     task_wait -------> key (tenant, mode, type) <------- tasks_announce, _foreign, _tick
 *
 * A key is there as long as a claim waits for it.  Nothing here grows with the number of tasks.
 */
#include "engine/task_serve.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/clear.h"
#include "engine/job.h"
#include "engine/submit.h"
#include "engine/task_type.h"

#define TICK_BUSY_MS   500u /* while leases run or claims wait */
#define TICK_IDLE_MS   10000u
#define TICK_KEYS_MAX  512u /* types looked at in one tick; the others have the next ones */
#define TICK_ARENA_MAX (8u * 1024 * 1024)
#define LOST_PAGE      100u
#define LOST_AGAIN_MS  10000u
#define CLOCK_BACK_MS  1000
#define OPS_WEIGHT_MAX 128u /* tasks that claims and heartbeats of one transaction are about */

struct task_key {        /* what claims wait for */
    struct list link;    /* in hub.keys: looked at in turns */
    struct list waiting; /* struct wait_entry, longest waiting first */
    bool test_mode;
    size_t tenant_n;
    struct str key; /* mode, tenant, 0, type; owned, behind the struct */
};
struct wait_entry {
    struct list link; /* in key.waiting */
    struct task_key *key;
    struct task_wait *wait;
};
struct task_wait {
    struct engine *e;
    void (*wake)(void *ctx); /* (mu) NULL: not armed */
    void *ctx;
    bool woken; /* (mu) */
    size_t entries_nr;
    struct wait_entry entries[];
};
struct task_hub {
    pthread_mutex_t mu;
    struct map *by_key;        /* (mu) -> struct task_key */
    struct list keys;          /* (mu) */
    size_t waits_nr;           /* (mu) */
    struct list turns;         /* (mu) of engine_task_op.turn: ops that wait for the job */
    bool posted;               /* (mu) */
    size_t turn;               /* of the job alone: which type a claim begins with */
    bool expiring;             /* (mu) a job for leases is under way */
    bool leases;               /* (mu) some task is leased, as far as is known */
    bool busy;                 /* (mu) the timer thread looks often */
    uint64_t tick_ms, lost_ms; /* of the timer thread: when it looks again */
    _Atomic bool kicked;       /* it looks now */
    _Atomic bool lost;         /* a lease was the last of its task */
    _Atomic unsigned telling;  /* runs that are being told so */
    int64_t lost_after;        /* of the timer thread: runs up to here were told */
    int64_t wall_ahead_ms;     /* of the timer thread: wall clock less monotonic clock */
    bool clocked;              /* of the timer thread: wall_ahead_ms is known */
    _Atomic uint64_t claims, claimed, leases_lost, late;
    struct metric_hist ready_ns;
};

int task_hub_new(struct engine *e) {
    struct task_hub *h = MEM_NEW(struct task_hub);
    if (!h) return WOPR_E_NO_MEMORY;
    (void)pthread_mutex_init(&h->mu, NULL);
    list_init(&h->keys);
    list_init(&h->turns);
    h->leases = true; /* of an earlier process, maybe */
    h->lost = true;
    h->by_key = map_new();
    e->tasks = h;
    return h->by_key ? 0 : WOPR_E_NO_MEMORY;
}

void task_hub_free(struct engine *e) {
    struct task_hub *h = e->tasks;
    if (!h) return;
    map_free(h->by_key);
    (void)pthread_mutex_destroy(&h->mu);
    mem_free(h);
    e->tasks = NULL;
}

void task_late(struct engine *e) { e->tasks->late++; }

void engine_task_stats(struct engine *e, struct engine_task_stats *out) {
    struct task_hub *h = e->tasks;
    *out = (struct engine_task_stats){.claims = h->claims,
                                      .claimed = h->claimed,
                                      .leases_lost = h->leases_lost,
                                      .late_answers = h->late};
    metric_read(&h->ready_ns, &out->ready_ns);
    pthread_mutex_lock(&h->mu);
    out->waiting = h->waits_nr;
    pthread_mutex_unlock(&h->mu);
}

/* The timer thread looks more often from now on. */
static void hub_busy(struct engine *e, bool leases) {
    struct task_hub *h = e->tasks;
    pthread_mutex_lock(&h->mu);
    bool was = h->busy;
    h->busy = true;
    h->leases = h->leases || leases;
    pthread_mutex_unlock(&h->mu);
    if (was) return;
    h->kicked = true;
    pthread_mutex_lock(&e->mu);
    e->upkeep.kicked = true;
    pthread_cond_signal(&e->tick);
    pthread_mutex_unlock(&e->mu);
}

/* --- claims that wait --- */

static size_t key_bytes(struct str tenant, struct str type) { return tenant.n + type.n + 2; }

static void key_write(char *to, struct str tenant, bool test_mode, struct str type) {
    to[0] = test_mode ? 't' : 'l';
    if (tenant.n > 0) memcpy(to + 1, tenant.p, tenant.n);
    to[1 + tenant.n] = '\0';
    if (type.n > 0) memcpy(to + 2 + tenant.n, type.p, type.n);
}

static struct str key_tenant(const struct task_key *k) { return str_n(k->key.p + 1, k->tenant_n); }

static struct str key_type(const struct task_key *k) {
    return str_n(k->key.p + 2 + k->tenant_n, k->key.n - 2 - k->tenant_n);
}

static struct task_key *key_new(struct str tenant, bool test_mode, struct str type) {
    size_t n = key_bytes(tenant, type);
    struct task_key *k = mem_zalloc(sizeof *k + n);
    if (!k) return NULL;
    char *text = (char *)(k + 1);
    key_write(text, tenant, test_mode, type);
    k->key = str_n(text, n);
    k->tenant_n = tenant.n;
    k->test_mode = test_mode;
    list_init(&k->link);
    list_init(&k->waiting);
    return k;
}

static int entry_join_locked(struct task_hub *h, struct wait_entry *w, struct task_key *fresh,
                             bool *used) {
    struct task_key *k = map_get(h->by_key, fresh->key);
    *used = !k;
    if (!k) {
        int rc = map_put(h->by_key, fresh->key, fresh, NULL);
        if (rc != 0) return rc;
        list_add_tail(&h->keys, &fresh->link);
        k = fresh;
    }
    w->key = k;
    list_add_tail(&k->waiting, &w->link);
    return 0;
}

static void entry_leave_locked(struct task_hub *h, struct wait_entry *w) {
    struct task_key *k = w->key;
    if (!k) return;
    list_del(&w->link);
    if (!list_empty(&k->waiting)) return;
    (void)map_del(h->by_key, k->key);
    list_del(&k->link);
    mem_free(k);
}

int task_wait_new(struct engine *e, const struct task_queue *q, struct task_wait **out,
                  struct wopr_error *err) {
    struct task_hub *h = e->tasks;
    struct task_wait *w = mem_zalloc(sizeof *w + q->types_nr * sizeof *w->entries);
    int rc = w ? 0 : WOPR_E_NO_MEMORY;
    if (w) w->e = e;
    for (size_t i = 0; rc == 0 && i < q->types_nr; i++) {
        struct task_key *fresh = key_new(q->tenant, q->test_mode, q->types[i]);
        bool used = false;
        w->entries[i].wait = w;
        pthread_mutex_lock(&h->mu);
        rc = fresh ? entry_join_locked(h, &w->entries[i], fresh, &used) : WOPR_E_NO_MEMORY;
        if (i == 0 && rc == 0) h->waits_nr++;
        if (rc == 0) w->entries_nr++;
        pthread_mutex_unlock(&h->mu);
        if (!used) mem_free(fresh);
    }
    if (rc != 0) {
        task_wait_free(w);
        return wopr_error_set(err, rc, "no memory to wait for tasks");
    }
    hub_busy(e, false);
    *out = w;
    return 0;
}

void task_wait_begin(struct task_wait *w) {
    pthread_mutex_lock(&w->e->tasks->mu);
    w->woken = false;
    pthread_mutex_unlock(&w->e->tasks->mu);
}

void task_wait_arm(struct task_wait *w, void (*wake)(void *ctx), void *ctx) {
    pthread_mutex_lock(&w->e->tasks->mu);
    w->wake = wake;
    w->ctx = ctx;
    if (w->woken) wake(ctx);
    pthread_mutex_unlock(&w->e->tasks->mu);
}

void task_wait_disarm(struct task_wait *w) {
    pthread_mutex_lock(&w->e->tasks->mu);
    w->wake = NULL;
    pthread_mutex_unlock(&w->e->tasks->mu);
}

bool task_wait_woken(struct task_wait *w) {
    pthread_mutex_lock(&w->e->tasks->mu);
    bool woken = w->woken;
    pthread_mutex_unlock(&w->e->tasks->mu);
    return woken;
}

/* The first that is not on its way already; it goes to the end of the queue. */
static void key_wake_locked(struct task_key *k) {
    for (struct list *l = k->waiting.next; l != &k->waiting; l = l->next) {
        struct wait_entry *x = LIST_ENTRY(l, struct wait_entry, link);
        if (x->wait->woken) continue;
        x->wait->woken = true;
        list_del(&x->link);
        list_add_tail(&k->waiting, &x->link);
        if (x->wait->wake) x->wait->wake(x->wait->ctx);
        return;
    }
}

void task_wait_free(struct task_wait *w) {
    if (!w) return;
    struct task_hub *h = w->e->tasks;
    pthread_mutex_lock(&h->mu);
    if (w->entries_nr > 0) h->waits_nr--;
    for (size_t i = 0; w->woken && i < w->entries_nr; i++) key_wake_locked(w->entries[i].key);
    for (size_t i = 0; i < w->entries_nr; i++) entry_leave_locked(h, &w->entries[i]);
    pthread_mutex_unlock(&h->mu);
    mem_free(w);
}

static void queue_announce(struct task_hub *h, struct str tenant, bool test_mode, struct str type) {
    char text[512];
    size_t n = key_bytes(tenant, type);
    if (n > sizeof text) return; /* no tenant and type are so long */
    key_write(text, tenant, test_mode, type);
    pthread_mutex_lock(&h->mu);
    struct task_key *k = map_get(h->by_key, str_n(text, n));
    if (k) key_wake_locked(k);
    pthread_mutex_unlock(&h->mu);
}

void tasks_announce(struct step *st, const struct plan *p) {
    const struct run_meta *m = p->tasks_nr > 0 ? &st->exec->state->meta : NULL;
    for (size_t i = 0; i < p->tasks_nr; i++) {
        if (p->tasks[i].op == TASK_ROW_RELEASE &&
            tasks_wanted(st->engine)) /* the rows know which */
            tasks_foreign(st->engine, st->exec->run_no, st->scratch);
        if (p->tasks[i].op == TASK_ROW_OPEN)
            queue_announce(st->engine->tasks, m->tenant, m->test_mode, p->tasks[i].type_id);
    }
}

/* A copy of what the next key in turn waits for, in a.  false: none. */
static bool key_next(struct task_hub *h, struct arena *a, struct task_queue *q, struct str *type) {
    pthread_mutex_lock(&h->mu);
    struct list *l = list_pop(&h->keys);
    if (l) {
        const struct task_key *k = LIST_ENTRY(l, struct task_key, link);
        list_add_tail(&h->keys, l);
        *type = arena_str(a, key_type(k));
        *q = (struct task_queue){arena_str(a, key_tenant(k)), k->test_mode, type, 1};
    }
    pthread_mutex_unlock(&h->mu);
    return l && type->p;
}

bool tasks_wanted(struct engine *e) {
    pthread_mutex_lock(&e->tasks->mu);
    bool any = e->tasks->waits_nr > 0;
    pthread_mutex_unlock(&e->tasks->mu);
    return any;
}

void tasks_foreign(struct engine *e, int64_t run_no, struct arena *a) {
    struct task_lapse_list l = {0};
    struct wopr_error err;
    if (store_tasks_ready_of_run(e->store, run_no, a, &l, &err) != 0) return; /* the tick looks */
    for (size_t i = 0; i < l.n; i++)
        queue_announce(e->tasks, l.v[i].tenant, l.v[i].test_mode, l.v[i].type_id);
}

/* Whatever was missed: another host's record was dropped, or could not be read. */
static void queues_look(struct engine *e) {
    struct task_hub *h = e->tasks;
    struct arena *a = arena_new(TICK_ARENA_MAX);
    struct task_queue q;
    struct str type;
    struct wopr_error err;
    pthread_mutex_lock(&h->mu);
    size_t n = map_count(h->by_key);
    pthread_mutex_unlock(&h->mu);
    if (n > TICK_KEYS_MAX) n = TICK_KEYS_MAX;
    for (; a && n > 0 && key_next(h, a, &q, &type); n--) {
        bool any = false;
        if (store_tasks_ready(e->store, &q, &any, &err) != 0) break;
        if (any) queue_announce(h, q.tenant, q.test_mode, type);
    }
    arena_free(a);
}

/* --- claims and heartbeats --- */

static void op_count(struct task_hub *h, const struct task_op *op, int64_t now_ms) {
    if (op->what != TASK_OP_CLAIM) {
        if (op->rc == WOPR_E_TASK_LOST) h->late++;
        return;
    }
    h->claims++;
    if (op->rc != 0) return;
    h->claimed += op->claimed.n;
    for (size_t i = 0; i < op->claimed.n; i++) {
        int64_t ms = now_ms - op->claimed.v[i].ready_ms;
        metric_observe(&h->ready_ns, &METRIC_DURATION, ms > 0 ? (uint64_t)ms * 1000000 : 0);
    }
}

static void ops_chain(struct task_hub *h, struct engine_task_op *first) {
    for (struct engine_task_op *o = first; o; o = o->next) {
        o->op.first_type = h->turn++;
        o->op.next = o->next ? &o->next->op : NULL;
    }
}

static void ops_done(struct engine *e, struct engine_task_op *first, int64_t now_ms) {
    while (first) {
        struct engine_task_op *o = first;
        first = o->next;
        op_count(e->tasks, &o->op, now_ms);
        if (o->op.rc == WOPR_E_SYNC_FAILED) engine_break(e, "task");
        o->done(o);
    }
}

static void ops_run(struct engine *e, struct store *s, void *args);

/* Behind those of its tenant; a tenant that has none is the last. */
static void op_queue_locked(struct task_hub *h, struct engine_task_op *o) {
    o->next = NULL;
    list_init(&o->turn);
    for (struct list *l = h->turns.next; l != &h->turns; l = l->next) {
        struct engine_task_op *first = LIST_ENTRY(l, struct engine_task_op, turn);
        if (!str_eq(first->op.queue.tenant, o->op.queue.tenant)) continue;
        first->end->next = o;
        first->end = o;
        return;
    }
    o->end = o;
    list_add_tail(&h->turns, &o->turn);
}

/* Of the tenant whose turn it is; NULL: none wait. */
static struct engine_task_op *op_next_locked(struct task_hub *h) {
    struct list *l = list_pop(&h->turns);
    if (!l) return NULL;
    struct engine_task_op *o = LIST_ENTRY(l, struct engine_task_op, turn), *heir = o->next;
    if (heir) {
        heir->end = o->end;
        list_add_tail(&h->turns, &heir->turn);
    }
    o->next = NULL;
    return o;
}

static size_t op_weight(const struct engine_task_op *o) {
    return o->op.what == TASK_OP_CLAIM ? o->op.max : 1;
}

/* As many as one transaction is to have.  posted: a job will look again. */
static struct engine_task_op *ops_take(struct task_hub *h, size_t weight_max) {
    struct engine_task_op *first = NULL, **end = &first, *o;
    size_t weight = 0;
    pthread_mutex_lock(&h->mu);
    while (weight < weight_max && (o = op_next_locked(h)) != NULL) {
        weight += op_weight(o);
        *end = o;
        end = &o->next;
    }
    h->posted = weight_max < SIZE_MAX && first;
    pthread_mutex_unlock(&h->mu);
    return first;
}

static void ops_refuse(struct engine *e, struct engine_task_op *first) {
    for (struct engine_task_op *o = first; o; o = o->next)
        o->op.rc = wopr_error_set(&o->op.err, WOPR_E_UNAVAILABLE,
                                  "the host is at capacity or shutting down");
    ops_done(e, first, clock_wall_ms());
}

/* The others are the next job, so that plans have their turn in between. */
static void ops_post(struct engine *e) {
    struct task_hub *h = e->tasks;
    pthread_mutex_lock(&h->mu);
    bool post = !list_empty(&h->turns) && !h->posted;
    if (post) h->posted = true;
    pthread_mutex_unlock(&h->mu);
    if (!post || job_post(e, ops_run, NULL, 0)) return;
    ops_refuse(e, ops_take(h, SIZE_MAX)); /* what comes from now on is posted anew */
}

static void ops_run(struct engine *e, struct store *s, void *args) {
    struct task_hub *h = e->tasks;
    struct engine_task_op *first = ops_take(h, OPS_WEIGHT_MAX);
    int64_t now_ms = clock_wall_ms();
    (void)args;
    ops_chain(h, first);
    if (first) store_task_ops(s, &first->op, now_ms);
    if (first) hub_busy(e, true);
    ops_done(e, first, now_ms);
    pthread_mutex_lock(&h->mu);
    h->posted = false;
    pthread_mutex_unlock(&h->mu);
    ops_post(e);
}

void engine_task_op(struct engine *e, struct engine_task_op *o) {
    struct task_hub *h = e->tasks;
    o->next = NULL;
    o->op.rc = 0;
    if (engine_is_broken(e) || engine_is_stopping(e)) {
        ops_refuse(e, o);
        return;
    }
    pthread_mutex_lock(&h->mu);
    op_queue_locked(h, o);
    pthread_mutex_unlock(&h->mu);
    ops_post(e);
}

int engine_task_body(struct engine *e, const struct task_row *t, struct arena *a, struct str *body,
                     struct wopr_error *err) {
    *body = t->body;
    if (t->sealed_at == 0) return 0;
    return clear_box(e, t->run_id, &t->box, a, body, err);
}

/* --- leases that run out --- */

static void leases_expire(struct engine *e, struct store *s, void *args) {
    struct task_hub *h = e->tasks;
    struct arena *a = arena_new(TICK_ARENA_MAX);
    struct task_lapse_list l = {0};
    struct wopr_error err = {0};
    (void)args;
    int rc =
        a ? store_tasks_expire(s, clock_wall_ms(), TASK_LEASES_MAX, a, &l, &err) : WOPR_E_NO_MEMORY;
    if (rc != 0) log_warn("leases of tasks could not be ended", "why", err.message);
    if (rc == WOPR_E_SYNC_FAILED) engine_break(e, "task lease");
    for (size_t i = 0; i < l.n; i++) {
        h->leases_lost++;
        if (l.v[i].state == TROW_LOST) h->lost = true;
        if (l.v[i].state == TROW_READY)
            queue_announce(h, l.v[i].tenant, l.v[i].test_mode, l.v[i].type_id);
    }
    pthread_mutex_lock(&h->mu);
    h->expiring = false;
    pthread_mutex_unlock(&h->mu);
    arena_free(a);
}

struct give_up { /* tells a run that its task is lost */
    struct engine_cmd cmd;
    struct arena *a;
    struct engine *engine;
};

static bool give_up_respond(struct engine_cmd *cmd, const struct engine_result *r,
                            struct idem_response *out) {
    (void)cmd, (void)r;
    *out = (struct idem_response){0};
    return false;
}

static void give_up_done(struct engine_cmd *cmd) {
    struct give_up *g = cmd->ctx;
    struct engine *e = g->engine;
    arena_free(g->a);
    e->tasks->telling--;
}

static void give_up_send(struct engine *e, const struct task_row *t) {
    struct arena *a = arena_new(TICK_ARENA_MAX);
    struct give_up *g = a ? ARENA_NEW(a, struct give_up) : NULL;
    if (g)
        *g = (struct give_up){
            .a = a,
            .engine = e,
            .cmd = {.op = ENGINE_TASK,
                    .arena = a,
                    .tenant = arena_str(a, t->tenant),
                    .test_mode = t->test_mode,
                    .from_run = true,
                    .run_id = arena_str(a, t->run_id),
                    .task = {.task_id = arena_str(a, t->task_id), .says = {.verb = TASK_GIVE_UP}},
                    .respond = give_up_respond,
                    .done = give_up_done,
                    .ctx = g}};
    if (!g || arena_failed(a)) {
        arena_free(a);
        return;
    }
    e->tasks->telling++;
    submit_command(e, &g->cmd);
}

/* Rows stay lost until their runs have taken that in, so a crash forgets none.  One page at a time:
 * the next one when the runs of this one have answered. */
static void lost_tell(struct engine *e, uint64_t now_ms) {
    struct task_hub *h = e->tasks;
    struct task_row_list l = {0};
    struct wopr_error err = {0};
    if (h->telling > 0) return;
    struct arena *a = arena_new(TICK_ARENA_MAX);
    h->lost = false;
    if (!a || store_tasks_lost(e->store, h->lost_after, LOST_PAGE, a, &l, &err) != 0) l.n = 0;
    bool more = l.n == LOST_PAGE;
    h->lost_after = more ? l.v[l.n - 1].run_no : 0;
    h->lost_ms = now_ms + (more ? TICK_BUSY_MS : LOST_AGAIN_MS);
    for (size_t i = 0; i < l.n; i++) give_up_send(e, &l.v[i]);
    arena_free(a);
}

static void leases_look(struct engine *e) {
    struct task_hub *h = e->tasks;
    struct wopr_error err;
    bool any = false;
    pthread_mutex_lock(&h->mu);
    bool busy = h->expiring || !h->leases;
    pthread_mutex_unlock(&h->mu);
    if (busy || store_tasks_lapsed(e->store, clock_wall_ms(), &any, &err) != 0 || !any) return;
    pthread_mutex_lock(&h->mu);
    h->expiring = true;
    pthread_mutex_unlock(&h->mu);
    if (job_post(e, leases_expire, NULL, 0)) return;
    pthread_mutex_lock(&h->mu);
    h->expiring = false;
    pthread_mutex_unlock(&h->mu);
}

static void leases_clamp(struct engine *e, struct store *s, void *args) {
    struct wopr_error err = {0};
    (void)args;
    int rc = store_tasks_clamp(s, clock_wall_ms(), &err);
    if (rc != 0) log_warn("leases of tasks could not be shortened", "why", err.message);
    if (rc == WOPR_E_SYNC_FAILED) engine_break(e, "task lease");
}

/* Leases end by the wall clock.  When that was set back, now or before we started, they would end
 * late by as much: none lasts longer than its length from now. */
static void clock_look(struct engine *e, uint64_t now_ms) {
    struct task_hub *h = e->tasks;
    int64_t ahead_ms = clock_wall_ms() - (int64_t)now_ms;
    bool back = !h->clocked || ahead_ms < h->wall_ahead_ms - CLOCK_BACK_MS;
    if (back && !job_post(e, leases_clamp, NULL, 0)) return;
    if (back || ahead_ms > h->wall_ahead_ms) h->wall_ahead_ms = ahead_ms;
    h->clocked = true;
}

/* Leases of all hosts on the file: any of them ends those that run out. */
static bool leases_any(struct engine *e) {
    struct wopr_error err;
    bool any = true;
    return store_tasks_lapsed(e->store, INT64_MAX, &any, &err) != 0 || any;
}

uint64_t tasks_tick(struct engine *e, uint64_t now_ms) {
    struct task_hub *h = e->tasks;
    if (!h->kicked && now_ms < h->tick_ms) return h->tick_ms;
    h->kicked = false;
    bool leases = leases_any(e);
    pthread_mutex_lock(&h->mu);
    bool waits = h->waits_nr > 0, busy = waits || leases;
    h->leases = leases;
    h->busy = busy;
    pthread_mutex_unlock(&h->mu);
    if (!engine_is_broken(e) && leases) clock_look(e, now_ms);
    if (!engine_is_broken(e)) leases_look(e);
    if (waits) queues_look(e);
    if (h->lost || now_ms >= h->lost_ms) lost_tell(e, now_ms);
    h->tick_ms = now_ms + (busy ? TICK_BUSY_MS : TICK_IDLE_MS);
    return h->tick_ms;
}
