/*
 * schedule.c: see schedule.h.  An instant is: all completions due at it, then what became possible
 * by them or by the time, at most one start for each performer that is free.
 */
#include "workspec/schedule.h"
#include "base/vec.h"

#include <stdlib.h>

enum task_state { TASK_AHEAD, TASK_RUNNING, TASK_DONE };
struct due_end {
    int64_t at, planned;
    uint32_t task;
};
struct task_now {
    enum task_state state;
    bool arrived, answered, any_done;
    size_t all_left;
    uint32_t who;
};
struct performer {
    uint32_t *waiting; /* a heap, the most urgent first */
    size_t nr, cap;
    bool busy, looked; /* looked: it is on the list of those to look at */
};
struct start_key {
    int64_t planned;
    uint32_t task;
};
struct ws_schedule {
    const struct ws_plan *plan;
    const bool *asks;
    enum ws_clock clock;
    struct arena *a;
    struct task_now *task;
    struct performer *who;
    size_t *first;        /* of the dependents of a task; first[nr] is the end */
    uint32_t *after;      /* dependents: twice the task, and 1 when it is one of any */
    struct due_end *ends; /* a heap by (at, planned, task) */
    size_t ends_nr;
    size_t arrivals; /* of plan->starts that have come */
    size_t unanswered;
    uint32_t *look;           /* performers to look at */
    struct start_key *starts; /* tasks that start at this instant */
    size_t look_nr, starts_nr, starts_next;
    int64_t instant;
};

/* --- heaps --- */

static bool end_before(const struct due_end *a, const struct due_end *b) {
    if (a->at != b->at) return a->at < b->at;
    if (a->planned != b->planned) return a->planned < b->planned;
    return a->task < b->task;
}

static void ends_push(struct ws_schedule *s, struct due_end e) {
    size_t i = s->ends_nr++;
    for (; i > 0 && end_before(&e, &s->ends[(i - 1) / 2]); i = (i - 1) / 2)
        s->ends[i] = s->ends[(i - 1) / 2];
    s->ends[i] = e;
}

static struct due_end ends_pop(struct ws_schedule *s) {
    struct due_end first = s->ends[0], last = s->ends[--s->ends_nr];
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < s->ends_nr; i = k) {
        if (k + 1 < s->ends_nr && end_before(&s->ends[k + 1], &s->ends[k])) k++;
        if (!end_before(&s->ends[k], &last)) break;
        s->ends[i] = s->ends[k];
    }
    s->ends[i] = last;
    return first;
}

static bool start_before(const struct ws_plan *p, uint32_t a, uint32_t b) {
    if (p->v[a].start_ms != p->v[b].start_ms) return p->v[a].start_ms < p->v[b].start_ms;
    return a < b;
}

/* WS-63 */
static bool more_urgent(const struct ws_plan *p, uint32_t a, uint32_t b) {
    if (p->v[a].priority != p->v[b].priority) return p->v[a].priority > p->v[b].priority;
    return start_before(p, a, b);
}

static bool waiting_push(struct ws_schedule *s, struct performer *w, uint32_t task) {
    if (VEC_ROOM_IN(s->a, w->waiting, w->nr, w->cap, 4) != 0) return false;
    size_t i = w->nr++;
    for (; i > 0 && more_urgent(s->plan, task, w->waiting[(i - 1) / 2]); i = (i - 1) / 2)
        w->waiting[i] = w->waiting[(i - 1) / 2];
    w->waiting[i] = task;
    return true;
}

static uint32_t waiting_pop(struct ws_schedule *s, struct performer *w) {
    uint32_t first = w->waiting[0], last = w->waiting[--w->nr];
    size_t i = 0;
    for (size_t k; (k = 2 * i + 1) < w->nr; i = k) {
        if (k + 1 < w->nr && more_urgent(s->plan, w->waiting[k + 1], w->waiting[k])) k++;
        if (!more_urgent(s->plan, w->waiting[k], last)) break;
        w->waiting[i] = w->waiting[k];
    }
    w->waiting[i] = last;
    return first;
}

/* --- making --- */

static bool performers_make(struct ws_schedule *s) {
    const struct ws_plan *p = s->plan;
    struct ws_names seen;
    uint32_t nr = 0;
    ws_names_init(&seen, s->a);
    for (size_t i = 0; i < p->nr; i++) {
        struct task_now *t = &s->task[i];
        t->all_left = p->v[i].all_nr;
        if (ws_names_get(&seen, 0, p->v[i].performer, &t->who)) continue;
        t->who = nr++;
        if (!ws_names_put(&seen, 0, p->v[i].performer, t->who)) return false;
    }
    return true;
}

static bool dependents_make(struct ws_schedule *s) {
    const struct ws_plan *p = s->plan;
    size_t sum = 0;
    for (size_t i = 0; i < p->nr; i++) {
        for (size_t k = 0; k < p->v[i].all_nr; k++) s->first[p->v[i].all[k] + 2]++;
        for (size_t k = 0; k < p->v[i].any_nr; k++) s->first[p->v[i].any[k] + 2]++;
        sum += p->v[i].all_nr + p->v[i].any_nr;
    }
    s->after = ARENA_ARRAY(s->a, uint32_t, sum);
    if (s->after == NULL) return false;
    for (size_t i = 2; i <= p->nr + 1; i++) s->first[i] += s->first[i - 1];
    for (size_t i = 0; i < p->nr; i++) {
        const struct ws_entry *e = &p->v[i];
        for (size_t k = 0; k < e->all_nr; k++)
            s->after[s->first[e->all[k] + 1]++] = (uint32_t)i * 2;
        for (size_t k = 0; k < e->any_nr; k++)
            s->after[s->first[e->any[k] + 1]++] = (uint32_t)i * 2 + 1;
    }
    return true;
}

struct ws_schedule *ws_schedule_new(const struct ws_plan *p, const bool *asks, enum ws_clock clock,
                                    struct arena *a) {
    struct ws_schedule *s = ARENA_NEW(a, struct ws_schedule);
    if (s == NULL) return NULL;
    *s = (struct ws_schedule){.plan = p,
                              .asks = asks,
                              .clock = clock,
                              .a = a,
                              .task = ARENA_ARRAY(a, struct task_now, p->nr),
                              .who = ARENA_ARRAY(a, struct performer, p->nr),
                              .first = ARENA_ARRAY(a, size_t, p->nr + 2),
                              .ends = ARENA_ARRAY(a, struct due_end, p->nr),
                              .look = ARENA_ARRAY(a, uint32_t, p->nr),
                              .starts = ARENA_ARRAY(a, struct start_key, p->nr),
                              .instant = INT64_MIN};
    if (arena_failed(a) || !performers_make(s) || !dependents_make(s)) return NULL;
    return s;
}

/* --- steps --- */

static bool task_asks(const struct ws_schedule *s, uint32_t task) {
    return s->asks != NULL && s->asks[task] && !s->task[task].answered;
}

static void look_at(struct ws_schedule *s, uint32_t who) {
    if (s->who[who].looked) return;
    s->who[who].looked = true;
    s->look[s->look_nr++] = who;
}

static bool task_ready(const struct ws_schedule *s, uint32_t task) {
    const struct task_now *t = &s->task[task];
    return t->all_left == 0 && (s->plan->v[task].any_nr == 0 || t->any_done);
}

/* The task waits for its performer from now on, if nothing else is in the way. */
static void task_consider(struct ws_schedule *s, uint32_t task) {
    struct task_now *t = &s->task[task];
    if (!task_ready(s, task) || !t->arrived || t->state != TASK_AHEAD) return;
    if (waiting_push(s, &s->who[t->who], task)) look_at(s, t->who);
}

static void task_end(struct ws_schedule *s, uint32_t task) {
    struct task_now *t = &s->task[task];
    t->state = TASK_DONE;
    s->who[t->who].busy = false;
    look_at(s, t->who);
    for (size_t k = s->first[task]; k < s->first[task + 1]; k++) {
        uint32_t next = s->after[k] / 2;
        struct task_now *n = &s->task[next];
        bool was = task_ready(s, next);
        if (s->after[k] % 2 == 1) n->any_done = true;
        else n->all_left--;
        if (!was) task_consider(s, next);
    }
}

static void task_start(struct ws_schedule *s, uint32_t task) {
    const struct ws_entry *e = &s->plan->v[task];
    s->task[task].state = TASK_RUNNING;
    if (s->clock == WS_REAL && task_asks(s, task)) s->unanswered++;
    else ends_push(s, (struct due_end){s->instant + e->duration_ms, e->end_ms, task});
}

bool ws_schedule_answer(struct ws_schedule *s, uint32_t task, int64_t at) {
    if (s->task[task].state != TASK_RUNNING || !task_asks(s, task)) return false;
    s->task[task].answered = true;
    if (s->clock == WS_VIRTUAL) return true;
    s->unanswered--;
    if (at < s->instant) at = s->instant;
    ends_push(s, (struct due_end){at, s->plan->v[task].end_ms, task});
    return true;
}

static void arrivals_take(struct ws_schedule *s) {
    const struct ws_plan *p = s->plan;
    while (s->arrivals < p->nr && p->v[p->starts[s->arrivals]].start_ms <= s->instant) {
        uint32_t task = p->starts[s->arrivals++];
        s->task[task].arrived = true;
        task_consider(s, task);
    }
}

static int by_planned(const void *x, const void *y) {
    const struct start_key *a = x, *b = y;
    if (a->planned != b->planned) return a->planned < b->planned ? -1 : 1;
    return (a->task > b->task) - (a->task < b->task);
}

/* The most urgent task of each performer that is free. */
static void starts_collect(struct ws_schedule *s) {
    s->starts_nr = s->starts_next = 0;
    for (size_t k = 0; k < s->look_nr; k++) {
        struct performer *w = &s->who[s->look[k]];
        w->looked = false;
        if (w->busy || w->nr == 0) continue;
        w->busy = true;
        uint32_t task = waiting_pop(s, w);
        s->starts[s->starts_nr++] = (struct start_key){s->plan->v[task].start_ms, task};
    }
    s->look_nr = 0;
    if (s->starts_nr > 1) qsort(s->starts, s->starts_nr, sizeof *s->starts, by_planned);
}

static int64_t next_instant(const struct ws_schedule *s) {
    const struct ws_plan *p = s->plan;
    int64_t next = s->ends_nr > 0 ? s->ends[0].at : INT64_MAX;
    if (s->arrivals < p->nr && p->v[p->starts[s->arrivals]].start_ms < next)
        next = p->v[p->starts[s->arrivals]].start_ms;
    return next;
}

enum ws_next ws_schedule_next(struct ws_schedule *s, int64_t now, struct ws_step *out) {
    for (;;) {
        if (s->starts_next < s->starts_nr) {
            uint32_t task = s->starts[s->starts_next++].task;
            *out = (struct ws_step){false, task, s->instant};
            task_start(s, task);
            return WS_NEXT_STEP;
        }
        if (s->ends_nr > 0 && s->ends[0].at <= s->instant) {
            *out = (struct ws_step){true, s->ends[0].task, s->ends[0].at};
            if (task_asks(s, out->task)) return WS_NEXT_BLOCKED;
            (void)ends_pop(s);
            task_end(s, out->task);
            return WS_NEXT_STEP;
        }
        arrivals_take(s);
        if (s->look_nr > 0) {
            starts_collect(s);
            continue;
        }
        int64_t next = next_instant(s);
        *out = (struct ws_step){.vt = next};
        if (next == INT64_MAX) return s->unanswered > 0 ? WS_NEXT_BLOCKED : WS_NEXT_DONE;
        if (s->clock == WS_REAL && next > now) return WS_NEXT_LATER;
        s->instant = next;
    }
}
