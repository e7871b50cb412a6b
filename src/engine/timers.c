/*
 * timers.c: deadlines of runs.  A durable timer is a row with a wall-clock time and, while its exec
 * is in memory, an entry of one heap ordered by the monotonic clock, so that setting the clock
 * moves no armed timer.  The timer thread (upkeep.c) sleeps until the first deadline in the heap.
 */
#include "engine/timers.h"

#include "base/clock.h"
#include "base/mem.h"

/* b may be negative: a replay sets deadlines that have passed by its source's time. */
static int64_t clamp_add(int64_t a, int64_t b) {
    return b > 0 && a > INT64_MAX - b ? INT64_MAX : a + b;
}

/* --- by node: a run may have as many timers as nodes --- */

enum { TIMERS_FEW = 16 }; /* so many are looked through */

static void timer_index(struct exec_timer *t) {
    struct exec_timer **of = &t->re->timers.of[t->node + 1];
    t->next_of = *of;
    *of = t;
}

static void timer_unindex(struct exec_timer *t) {
    struct exec_timer **at = t->re->timers.of ? &t->re->timers.of[t->node + 1] : NULL;
    while (at && *at && *at != t) at = &(*at)->next_of;
    if (at && *at) *at = t->next_of;
}

/* Without memory for it they are looked through, as before. */
static void timers_index(struct run_exec *re) {
    if (re->timers.of || !re->wf || re->timers.nr < TIMERS_FEW) return;
    re->timers.of = mem_array(re->wf->nodes_nr + 1, sizeof(struct exec_timer *));
    for (struct list *l = re->timers.all.next; re->timers.of && l != &re->timers.all; l = l->next)
        timer_index(LIST_ENTRY(l, struct exec_timer, link));
}

/* --- fired ones, by their time: as many at once when a host comes back after them --- */

static void fired_add_locked(struct exec_timer *t) {
    struct exec_timers *all = &t->re->timers;
    t->fired = true;
    all->fired_nr++;
    if (!all->due) return;
    int rc = heap_add(all->due, &t->heap, t->fire_at_ms);
    ASSERT(rc == 0); /* there is room for all timers of the run */
}

static void fired_remove_locked(struct exec_timer *t) {
    struct exec_timers *all = &t->re->timers;
    t->fired = false;
    all->fired_nr--;
    if (all->due) heap_remove(all->due, &t->heap);
}

static void fired_end(struct run_exec *re) {
    if (re->timers.due) heap_fini(re->timers.due);
    mem_free(re->timers.due);
    re->timers.due = NULL;
}

/* Room for all timers of a run that has many, before one more can fire.  Without memory for it they
 * are looked through. */
static void fired_room_locked(struct run_exec *re) {
    struct exec_timers *all = &re->timers;
    if (all->nr < TIMERS_FEW) return;
    bool begins = !all->due;
    if (begins) all->due = MEM_NEW(struct heap);
    if (!all->due || heap_reserve(all->due, all->nr) != 0) {
        fired_end(re);
        return;
    }
    for (struct list *l = all->all.next; begins && l != &all->all; l = l->next) {
        struct exec_timer *t = LIST_ENTRY(l, struct exec_timer, link);
        int rc = t->fired ? heap_add(all->due, &t->heap, t->fire_at_ms) : 0;
        ASSERT(rc == 0);
    }
}

static struct exec_timer *timer_find_of(const struct run_exec *re, int kind, int node) {
    struct exec_timer *t = re->timers.of[node + 1];
    while (t && t->kind != kind) t = t->next_of;
    return t;
}

struct exec_timer *timer_find(struct run_exec *re, int kind, int node) {
    if (re->timers.of) return timer_find_of(re, kind, node);
    for (struct list *l = re->timers.all.next; l != &re->timers.all; l = l->next) {
        struct exec_timer *t = LIST_ENTRY(l, struct exec_timer, link);
        if (t->kind == kind && t->node == node) return t;
    }
    return NULL;
}

static void unheap_locked(struct engine *e, struct exec_timer *t) {
    if (t->fired) fired_remove_locked(t);
    else if (t->heap.pos != 0) heap_remove(&e->timers, &t->heap);
}

/* The heap key of a wall-clock time: never early, hence one more millisecond for both roundings.  A
 * timer restored from its row waits no longer than its full length, however wrong the clock of the
 * host that set it was. */
static int64_t mono_deadline(const struct exec_timer *t) {
    int64_t left = t->fire_at_ms - clock_wall_ms();
    if (t->restored && left > t->remaining_ms) left = t->remaining_ms;
    int64_t now = (int64_t)clock_mono_ms();
    return left <= 0 ? now : clamp_add(now, clamp_add(left, 1));
}

static int heap_in(struct run_exec *re, struct exec_timer *t) {
    struct engine *e = re->engine;
    int64_t key = mono_deadline(t);
    pthread_mutex_lock(&e->mu);
    struct heap_node *first = heap_min(&e->timers);
    bool sooner = !first || key < first->key;
    unheap_locked(e, t);
    fired_room_locked(re);
    int rc = heap_add(&e->timers, &t->heap, key);
    if (rc == 0 && sooner) pthread_cond_signal(&e->tick);
    pthread_mutex_unlock(&e->mu);
    return rc;
}

static struct exec_timer *timer_new(struct run_exec *re, int kind, int node, bool durable) {
    struct exec_timer *t = MEM_NEW(struct exec_timer);
    if (!t) return NULL;
    t->re = re;
    t->kind = kind;
    t->node = node;
    t->durable = durable;
    list_add_tail(&re->timers.all, &t->link);
    re->timers.nr++;
    if (re->timers.of) timer_index(t);
    else timers_index(re);
    return t;
}

int timer_arm(struct run_exec *re, int kind, int node, int64_t fire_at_ms, bool durable) {
    struct exec_timer *t = timer_find(re, kind, node);
    if (!t && !(t = timer_new(re, kind, node, durable))) return WOPR_E_NO_MEMORY;
    t->fire_at_ms = fire_at_ms;
    t->stopped = t->restored = false;
    return heap_in(re, t);
}

int timer_restore(struct run_exec *re, const struct timer_row *row, int node) {
    struct exec_timer *t = timer_new(re, (int)row->kind, node, true);
    if (!t) return WOPR_E_NO_MEMORY;
    t->fire_at_ms = row->fire_at_ms;
    t->remaining_ms = row->remaining_ms > 0 ? row->remaining_ms : 0;
    t->stopped = row->fire_at_ms < 0;
    t->restored = !t->stopped;
    return t->stopped ? 0 : heap_in(re, t);
}

int timers_load(struct step *st, struct wopr_error *err) {
    struct run_exec *re = st->exec;
    struct timer_row_list rows;
    int rc = store_timers(st->engine->store, re->run_no, st->scratch, &rows, err);
    for (size_t i = 0; rc == 0 && i < rows.n; i++) {
        const struct timer_row *t = &rows.v[i];
        int node = t->node_id.n > 0 ? workflow_node_index(re->wf, t->node_id) : -1;
        if (node < 0) continue; /* not one of this workflow */
        if (timer_restore(re, t, node) != 0)
            rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a timer");
    }
    return rc;
}

static void timer_free(struct exec_timer *t) {
    struct engine *e = t->re->engine;
    pthread_mutex_lock(&e->mu);
    unheap_locked(e, t);
    pthread_mutex_unlock(&e->mu);
    timer_unindex(t);
    list_del(&t->link);
    t->re->timers.nr--;
    mem_free(t);
}

void timer_drop(struct run_exec *re, int kind, int node) {
    struct exec_timer *t = timer_find(re, kind, node);
    if (t) timer_free(t);
}

void timers_drop_all(struct run_exec *re) {
    while (!list_empty(&re->timers.all))
        timer_free(LIST_ENTRY(re->timers.all.next, struct exec_timer, link));
    mem_free(re->timers.of);
    re->timers.of = NULL;
    fired_end(re);
}

bool timer_take_fired(struct run_exec *re, struct exec_timer *t) {
    pthread_mutex_lock(&re->engine->mu);
    bool fired = t->fired;
    if (fired) fired_remove_locked(t);
    pthread_mutex_unlock(&re->engine->mu);
    return fired;
}

struct exec_timer *timer_first_fired(struct run_exec *re) {
    struct exec_timer *first = NULL;
    pthread_mutex_lock(&re->engine->mu);
    struct heap_node *n = re->timers.due ? heap_min(re->timers.due) : NULL;
    if (n) first = LIST_ENTRY(n, struct exec_timer, heap);
    for (struct list *l = re->timers.all.next;
         !re->timers.due && re->timers.fired_nr > 0 && l != &re->timers.all; l = l->next) {
        struct exec_timer *t = LIST_ENTRY(l, struct exec_timer, link);
        if (t->fired && (!first || t->fire_at_ms < first->fire_at_ms)) first = t;
    }
    pthread_mutex_unlock(&re->engine->mu);
    return first;
}

void timers_fire_due_locked(struct engine *e, uint64_t now_ms) {
    struct heap_node *n;
    while ((n = heap_min(&e->timers)) != NULL && n->key <= (int64_t)now_ms) {
        (void)heap_pop(&e->timers);
        struct exec_timer *t = LIST_ENTRY(n, struct exec_timer, heap);
        fired_add_locked(t);
        exec_wake_locked(t->re);
    }
}

/* --- with the row in the plan --- */

static struct str timer_node_id(const struct step *st, int node) {
    return node >= 0 ? st->state->wf->nodes[node].id : STR_NONE;
}

void step_timer_set(struct step *st, enum timer_kind kind, int node, int64_t delay_ms) {
    int64_t fire_at_ms = clamp_add(st->now_ms, delay_ms);
    plan_timer_set(st->plan, kind, timer_node_id(st, node), fire_at_ms,
                   delay_ms > 0 ? delay_ms : 0);
    if (timer_arm(st->exec, (int)kind, node, fire_at_ms, true) != 0)
        plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a timer");
}

void step_timer_clear(struct step *st, enum timer_kind kind, int node) {
    struct exec_timer *t = timer_find(st->exec, (int)kind, node);
    if (!t) return;
    plan_timer_clear(st->plan, kind, timer_node_id(st, node));
    timer_free(t);
}

void step_timeout_arm(struct step *st, int node) {
    int64_t ms = st->state->wf->nodes[node].timeout_ms;
    if (ms > 0 && !timer_find(st->exec, TIMER_NODE_TIMEOUT, node))
        step_timer_set(st, TIMER_NODE_TIMEOUT, node, ms);
}

void step_timers_stop(struct step *st) {
    for (struct list *l = st->exec->timers.all.next, *next; l != &st->exec->timers.all; l = next) {
        struct exec_timer *t = LIST_ENTRY(l, struct exec_timer, link);
        next = l->next;
        if (!t->durable) { /* the run's own deadlines are computed when it falls asleep */
            timer_free(t);
            continue;
        }
        if (t->stopped) continue;
        int64_t left = t->fire_at_ms - st->now_ms;
        t->remaining_ms = left > 0 ? left : 0;
        t->stopped = true;
        pthread_mutex_lock(&st->engine->mu);
        unheap_locked(st->engine, t);
        pthread_mutex_unlock(&st->engine->mu);
        plan_timer_set(st->plan, (enum timer_kind)t->kind, timer_node_id(st, t->node), -1,
                       t->remaining_ms);
    }
}

void step_timers_resume(struct step *st) {
    for (struct list *l = st->exec->timers.all.next; l != &st->exec->timers.all; l = l->next) {
        struct exec_timer *t = LIST_ENTRY(l, struct exec_timer, link);
        if (!t->stopped) continue;
        t->fire_at_ms = clamp_add(st->now_ms, t->remaining_ms);
        t->stopped = t->restored = false;
        plan_timer_set(st->plan, (enum timer_kind)t->kind, timer_node_id(st, t->node),
                       t->fire_at_ms, t->remaining_ms);
        if (heap_in(st->exec, t) != 0)
            plan_fail(st->plan, WOPR_E_NO_MEMORY, "no memory for a timer");
    }
}

void step_timers_clear(struct step *st) {
    while (!list_empty(&st->exec->timers.all)) {
        struct exec_timer *t = LIST_ENTRY(st->exec->timers.all.next, struct exec_timer, link);
        if (t->durable)
            plan_timer_clear(st->plan, (enum timer_kind)t->kind, timer_node_id(st, t->node));
        timer_free(t);
    }
}
