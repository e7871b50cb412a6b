/*
 * marks.c: cursors, dead letters and breakers on their way to the store: one write at a time, all
 * subscriptions that changed in one transaction.  A crash loses the marks of the last moments;
 * their events are delivered again (at least once).
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "hooks/hooks_int.h"

#include <stdio.h>

enum { MARKS_MAX = 1024, DEADS_HELD_MAX = 256, WRITE_EVERY_MS = 50, WRITE_AGAIN_MS = 1000 };
#define DAY_MS ((int64_t)86400 * 1000)

struct hook_work { /* a write */
    struct hooks *h;
    struct hook_mark *v;
    size_t n;
    struct callback_mark *calls; /* texts owned */
    size_t calls_nr;
    int64_t epoch;
    int rc, calls_rc;
    struct wopr_error err;
};

static void work_free(struct hook_work *w) {
    for (size_t i = 0; i < w->n; i++) {
        hook_deads_free((struct hook_dead *)(uintptr_t)w->v[i].deads, w->v[i].deads_nr);
        mem_free((void *)(uintptr_t)w->v[i].deads);
        mem_free((void *)(uintptr_t)w->v[i].state.last_error.p);
    }
    for (size_t i = 0; i < w->calls_nr; i++) {
        mem_free((void *)(uintptr_t)w->calls[i].interrupt_id.p);
        mem_free((void *)(uintptr_t)w->calls[i].error.p);
    }
    mem_free(w->calls);
    mem_free(w->v);
    mem_free(w);
}

/* Without memory for its row it is only counted. */
void marks_dead(struct hooks *h, struct hook *k, const struct hook_send *of, int64_t attempts,
                int status, const char *why) {
    int64_t now_ms = clock_wall_ms();
    struct hook_dead *last = k->deads_nr > 0 ? &k->deads[k->deads_nr - 1] : NULL;
    if (last && of->run_id[0] == '\0' && last->run_id.n == 0 && last->run_no == of->run_no &&
        last->until_seq <= of->seq) { /* another commit of a run that is gone */
        last->until_seq = of->until_seq;
        return;
    }
    k->dead++;
    h->stat_dead++;
    hook_dirty(h, k);
    h->pressing = true;
    if (k->deads_nr >= DEADS_HELD_MAX || VEC_ROOM(k->deads, k->deads_nr, k->deads_cap, 4) != 0)
        return;
    size_t id_n = strlen(of->run_id), why_n = strlen(why);
    char *id = id_n > 0 ? mem_strndup(of->run_id, id_n) : NULL, *text = mem_strndup(why, why_n);
    if (!text) {
        mem_free(id);
        return;
    }
    k->deads[k->deads_nr++] = (struct hook_dead){
        .run_no = of->run_no,
        .run_id = str_n(id, id ? id_n : 0),
        .seq = of->seq,
        .until_seq = of->until_seq,
        .event_type = of->kind == EV_UNKNOWN ? STR_NONE : str_c(event_name(of->kind)),
        .attempts = attempts,
        .status = status,
        .reason = str_n(text, why_n),
        .dead_ms = now_ms,
        .expires_ms = now_ms + h->cfg.dead_days * DAY_MS};
}

/* What of it changed goes into m; its increments begin again at 0. */
static void mark_take(struct hook *k, struct hook_mark *m) {
    size_t n = strlen(k->last_error);
    char *text = n > 0 ? mem_strndup(k->last_error, n) : NULL;
    *m = (struct hook_mark){.hook_no = k->row.hook_no,
                            .state = {.next_move = k->next_move,
                                      .next_seq = k->next_seq,
                                      .attempts = k->pulse.attempts,
                                      .next_attempt_ms = k->pulse.next_ms,
                                      .failures = k->pulse.failures,
                                      .open_until_ms = k->pulse.open_until_ms,
                                      .delivered = k->delivered,
                                      .dead = k->dead,
                                      .dropped = k->dropped,
                                      .last_status = k->last_status,
                                      .last_ms = k->last_ms,
                                      .last_error = str_n(text, text ? n : 0)},
                            .failed = k->failed,
                            .woken_from = k->woken_from,
                            .woken_to = k->woken_to,
                            .deads = k->deads,
                            .deads_nr = k->deads_nr};
    k->marked_move = k->next_move;
    k->delivered = k->dead = k->dropped = k->failed = 0;
    k->woken_from = k->woken_to = 0;
    k->deads = NULL;
    k->deads_nr = k->deads_cap = 0;
}

/* Without memory it stays dirty, and is not sent again before it is written. */
static bool call_mark_take(struct hook *k, struct callback_mark *m) {
    size_t n = strlen(k->last_error);
    char *id = mem_strndup(k->row.webhook_id.p, k->row.webhook_id.n);
    char *text = n > 0 ? mem_strndup(k->last_error, n) : NULL;
    if (!id) {
        mem_free(text);
        return false;
    }
    *m = (struct callback_mark){.interrupt_id = str_n(id, k->row.webhook_id.n),
                                .state = k->call->state,
                                .attempts = k->pulse.attempts,
                                .next_ms = k->pulse.next_ms,
                                .status = k->last_status,
                                .last_ms = k->last_ms,
                                .error = str_n(text, text ? n : 0)};
    k->call->marking = true;
    return true;
}

/* false: no memory, k is dirty again. */
static bool work_take(struct hooks *h, struct hook_work *w, struct hook *k) {
    if (!k->call) mark_take(k, &w->v[w->n++]);
    else if (call_mark_take(k, &w->calls[w->calls_nr])) w->calls_nr++;
    else {
        hook_dirty(h, k);
        return false;
    }
    return true;
}

/* On the committer's thread. */
static void work_now(void *ctx, struct store *s) {
    struct hook_work *w = ctx;
    struct hooks *h = w->h;
    w->rc = w->n > 0 ? store_hook_marks(s, w->epoch, w->v, w->n, &w->err) : 0;
    w->calls_rc =
        w->calls_nr > 0 ? store_callback_marks(s, w->epoch, w->calls, w->calls_nr, &w->err) : 0;
    pthread_mutex_lock(&h->mu);
    h->landed = w;
    h->writing = false;
    pthread_cond_signal(&h->tick);
    pthread_mutex_unlock(&h->mu);
}

static void idle_collect(struct hooks *h) {
    struct str key;
    void *value;
    for (size_t it = 0; map_next(h->tenants, &it, &key, &value);) {
        struct hook_tenant *t = value;
        for (struct list *l = t->hooks.next; l != &t->hooks; l = l->next) {
            struct hook *k = LIST_ENTRY(l, struct hook, all);
            if (k->next_move != k->marked_move) hook_dirty(h, k);
        }
    }
}

static struct hook_work *work_new(struct hooks *h) {
    struct hook_work *w = MEM_NEW(struct hook_work);
    if (w) w->v = mem_array(MARKS_MAX, sizeof *w->v);
    if (w) w->calls = mem_array(HOOKS_CALLS_MAX, sizeof *w->calls);
    if (w && w->v && w->calls) {
        w->h = h;
        w->epoch = h->lease.epoch;
        return w;
    }
    if (w) work_free(w);
    return NULL;
}

void marks_write(struct hooks *h, bool all) {
    uint64_t now_ms = clock_mono_ms();
    if (all) idle_collect(h);
    if (list_empty(&h->dirty) || (!h->pressing && !all && now_ms < h->write_ms)) return;
    pthread_mutex_lock(&h->mu);
    bool busy = h->writing || h->landed;
    if (!busy) h->writing = true;
    pthread_mutex_unlock(&h->mu);
    struct hook_work *w = busy ? NULL : work_new(h);
    for (struct list *l; w && w->n < MARKS_MAX && w->calls_nr < HOOKS_CALLS_MAX &&
                         (l = list_pop(&h->dirty)) != NULL;)
        if (!work_take(h, w, LIST_ENTRY(l, struct hook, dirty))) break;
    bool posted = w && journal_side(h->journal, work_now, w) == 0;
    if (posted) {
        h->pressing = !list_empty(&h->dirty);
        h->write_ms = now_ms + WRITE_EVERY_MS;
        return;
    }
    if (busy) return;
    if (w) work_free(w); /* the host stops */
    pthread_mutex_lock(&h->mu);
    h->writing = false;
    pthread_mutex_unlock(&h->mu);
}

static struct hook *hook_of(struct hooks *h, int64_t no) {
    return map_get(h->by_no, str_n((const char *)&no, sizeof no));
}

/* Nothing was written: the increments count again, and the next write has them. */
static void mark_return(struct hooks *h, struct hook *k, struct hook_mark *m) {
    k->delivered += m->state.delivered;
    k->dead += m->state.dead;
    k->dropped += m->state.dropped;
    k->failed += m->failed;
    if (m->woken_from != 0) {
        k->woken_from = m->woken_from;
        if (k->woken_to == 0) k->woken_to = m->woken_to;
    }
    struct hook_dead *back = (struct hook_dead *)(uintptr_t)m->deads;
    while (m->deads_nr > 0 && VEC_ROOM(k->deads, k->deads_nr, k->deads_cap, 4) == 0)
        k->deads[k->deads_nr++] = back[--m->deads_nr];
    hook_dirty(h, k);
}

static void hook_stopped(struct hooks *h, struct hook *k) {
    char id[48], mark[16];
    (void)snprintf(id, sizeof id, STR_FMT, STR_ARG(k->row.webhook_id));
    (void)snprintf(mark, sizeof mark, STR_FMT, STR_ARG(k->row.fingerprint));
    log_warn("a webhook failed 100 times in seven days and is stopped; register its URL again",
             "webhook", id, "fingerprint", mark);
    hook_drop(h, k);
}

/* What came of a callback is written: the next attempt, if there is one, begins at its row. */
static void calls_landed(struct hooks *h, const struct hook_work *w) {
    for (size_t i = 0; w->epoch == h->lease.epoch && i < w->calls_nr; i++) {
        struct hook *k = map_get(h->calls, w->calls[i].interrupt_id);
        if (!k || !k->call->marking) continue;
        k->call->marking = false;
        if (w->calls_rc != 0) hook_dirty(h, k);
        else hook_drop(h, k);
    }
}

void marks_landed(struct hooks *h, struct hook_work *w) {
    calls_landed(h, w);
    if (w->rc == WOPR_E_FENCED || w->calls_rc == WOPR_E_FENCED) {
        h->lease.look_ms = 0; /* which finds that out, too */
    } else if (w->rc != 0 || w->calls_rc != 0) {
        hooks_trouble(h, "deliveries of webhooks cannot be recorded", &w->err);
        h->write_ms = clock_mono_ms() + WRITE_AGAIN_MS;
        h->pressing = false;
    }
    for (size_t i = 0; w->epoch == h->lease.epoch && i < w->n; i++) {
        struct hook *k = hook_of(h, w->v[i].hook_no);
        if (!k) continue;
        if (w->rc != 0) mark_return(h, k, &w->v[i]);
        else if (w->v[i].stopped) hook_stopped(h, k);
        else if (w->v[i].gone) hook_drop(h, k);
    }
    work_free(w);
}
