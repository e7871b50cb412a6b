/*
 * committer.c: the one writing thread of a host: takes what has gathered, commits it at once, tells
 * (group commit).
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "log/log_int.h"

/* ------------------------------------------------------------------------------ queue */
static struct str tenant_of(const struct plan *p) {
    return p->what == PLAN_CREATE && p->create ? p->create->meta.tenant : p->tenant;
}

static void entry_weigh(struct wopr_log *l, struct entry *e) {
    const struct plan *p = e->plan;
    if (!p) return;
    struct str tenant = tenant_of(p);
    size_t used = arena_used(p->arena);
    e->bytes = used > LOG_PLAN_BYTES_MIN ? used : LOG_PLAN_BYTES_MIN;
    if (p->what == PLAN_CREATE && p->create && p->create->fork)
        e->bytes += (size_t)p->create->fork->bytes;
    if (tenant.n > 0) e->share = &l->shares[str_hash(tenant, 0) & (LOG_SHARE_SLOTS - 1)];
}

static bool over(size_t has, size_t more, size_t max) { return has > 0 && has + more > max; }

/* Whatever its size, a plan fits an empty queue. */
static bool queue_full(const struct wopr_log *l, const struct entry *e) {
    size_t nr = l->cfg.queue_max, bytes = l->cfg.queue_bytes_max;
    if (l->q_len == nr || over(l->q_bytes, e->bytes, bytes)) return true;
    const struct share *s = e->share;
    return s && (over(s->nr, 1, nr - nr / 4) || over(s->bytes, e->bytes, bytes - bytes / 4));
}

static void queue_weigh(struct wopr_log *l, const struct entry *e, bool in) {
    size_t one = in ? 1 : (size_t)-1, bytes = in ? e->bytes : (size_t)0 - e->bytes;
    l->q_bytes += bytes;
    if (!e->share) return;
    e->share->nr += one;
    e->share->bytes += bytes;
}

static int queue_push(struct wopr_log *l, struct entry *e) {
    int rc = 0;
    entry_weigh(l, e);
    pthread_mutex_lock(&l->q_lock);
    if (l->stopping) {
        rc = WOPR_E_CLOSED;
    } else if (queue_full(l, e)) {
        rc = WOPR_E_UNAVAILABLE;
    } else {
        l->ring[(l->q_head + l->q_len) % l->cfg.queue_max] = *e;
        queue_weigh(l, e, true);
        if (++l->q_len > l->q_len_max) l->q_len_max = l->q_len;
        if (l->q_asleep) pthread_cond_signal(&l->q_ready);
    }
    pthread_mutex_unlock(&l->q_lock);
    if (rc == WOPR_E_UNAVAILABLE) count_full(l);
    return rc;
}

int log_append(struct wopr_log *l, struct plan *p, log_done_fn *done, void *ctx) {
    if (p->failed) return p->failed;
    return queue_push(l, &(struct entry){.plan = p, .done = done, .ctx = ctx});
}

int log_append_to(struct wopr_log *l, struct plan *p, log_landed_fn *landed, void *owner,
                  void *ctx) {
    if (p->failed) return p->failed;
    return queue_push(l, &(struct entry){.plan = p, .landed = landed, .owner = owner, .ctx = ctx});
}

int log_side(struct wopr_log *l, void (*fn)(void *ctx, struct store *s), void *ctx) {
    return queue_push(l, &(struct entry){.side = fn, .ctx = ctx});
}

/* Wait, then move a run of plans, or one side job, into l->batch.  0: stopping and nothing is left.
 */
static size_t queue_take(struct wopr_log *l) {
    size_t n = 0, bytes = 0;
    pthread_mutex_lock(&l->q_lock);
    while (l->q_len == 0 && !l->stopping) {
        l->q_asleep = true;
        pthread_cond_wait(&l->q_ready, &l->q_lock);
        l->q_asleep = false;
    }
    while (l->q_len > 0 && n < l->cfg.batch_max && bytes < LOG_BATCH_BYTES_MAX) {
        struct entry *e = &l->ring[l->q_head];
        if (e->side && n > 0) break;
        l->batch[n++] = *e;
        l->q_head = (l->q_head + 1) % l->cfg.queue_max;
        l->q_len--;
        queue_weigh(l, e, false);
        if (e->side) break;
        bytes += e->bytes;
    }
    pthread_mutex_unlock(&l->q_lock);
    return n;
}

/* ------------------------------------------------------------------------------ committing */
/* The n entries of l->batch, with l->rcs: singly, or together where neighbours have one owner. */
static void give_back(struct wopr_log *l, size_t n) {
    const struct entry *b = l->batch;
    for (size_t i = 0, k = 0; i < n; i++) {
        if (b[i].done) {
            b[i].done(b[i].ctx, b[i].plan, l->rcs[i]);
        } else if (!b[i].landed) {
            plan_unref(b[i].plan);
        } else {
            l->landed[k++] = (struct log_landed){b[i].plan, b[i].ctx, l->rcs[i]};
            bool more = i + 1 < n && b[i + 1].landed == b[i].landed && b[i + 1].owner == b[i].owner;
            if (more) continue;
            b[i].landed(b[i].owner, l->landed, k);
            k = 0;
        }
    }
}

static void publish(struct wopr_log *l, size_t n) {
    struct commit *first = NULL, *last = NULL;
    bool lost = false;
    for (size_t i = 0; i < n; i++) {
        struct plan *p = l->plans[i];
        if (l->rcs[i] != 0 || p->idem_hit || p->events_nr == 0 || !hub_listens(l, p->run_no))
            continue;
        struct commit *c = commit_new(p);
        if (!c) {
            lost = true;
            continue;
        }
        if (last) last->next = c;
        else first = c;
        last = c;
    }
    hub_send(l, first, last, lost);
}

/* Why nothing of a batch could be stored; 0 when something was, or was refused for its own sake. */
static int storage_failure(const struct wopr_log *l, int rc, size_t n) {
    if (rc != 0) return rc;
    int why = 0;
    for (size_t i = 0; i < n; i++) {
        if (l->rcs[i] == 0) return 0;
        if (l->rcs[i] == WOPR_E_DISK_FULL || l->rcs[i] == WOPR_E_IO) why = l->rcs[i];
    }
    return why;
}

static void commit_batch(struct wopr_log *l, size_t n) {
    struct wopr_error err;
    wopr_error_clear(&err);
    for (size_t i = 0; i < n; i++) l->plans[i] = l->batch[i].plan;
    uint64_t t0 = clock_mono_ns();
    int rc = store_apply(l->store, l->plans, n, l->rcs, &err);
    count_batch(l, n, clock_mono_ns() - t0);
    int why = storage_failure(l, rc, n);
    if (why != 0) count_failed(l, why, rc != 0 ? err.message : wopr_err_text(why));
    else atomic_store(&l->counters.failing, 0);
    publish(l, n);
    give_back(l, n);
    /* After the answers, so that nobody waits for the checkpoint's syncs. */
    t0 = clock_mono_ns();
    rc = store_checkpoint(l->store, &err);
    count_checkpoint(l, clock_mono_ns() - t0);
    if (rc != 0) log_warn("checkpoint failed", "code", wopr_err_name(rc), "reason", err.message);
}

static void *committer_main(void *log) {
    thread_name("wopr-commit");
    struct wopr_log *l = log;
    size_t n;
    while ((n = queue_take(l)) > 0) {
        if (l->batch[0].side) l->batch[0].side(l->batch[0].ctx, l->store);
        else commit_batch(l, n);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------ life */
static size_t or_default(size_t v, size_t dflt) { return v > 0 ? v : dflt; }

int wopr_log_new(struct store *s, const struct log_config *cfg, struct wopr_log **out,
                 struct wopr_error *err) {
    struct wopr_log *l = MEM_NEW(struct wopr_log);
    if (!l) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the log");
    l->store = s;
    l->cfg.queue_max = or_default(cfg ? cfg->queue_max : 0, LOG_QUEUE_DEFAULT);
    l->cfg.queue_bytes_max = or_default(cfg ? cfg->queue_bytes_max : 0, LOG_QUEUE_BYTES_DEFAULT);
    l->cfg.batch_max = or_default(cfg ? cfg->batch_max : 0, LOG_BATCH_DEFAULT);
    if (l->cfg.batch_max > LOG_BATCH_MAX) l->cfg.batch_max = LOG_BATCH_MAX;
    l->cfg.topic_bytes_max = or_default(cfg ? cfg->topic_bytes_max : 0, LOG_TOPIC_BYTES_DEFAULT);
    l->cfg.slow_commit_ms = cfg ? cfg->slow_commit_ms : 0;
    pthread_mutex_init(&l->q_lock, NULL);
    pthread_cond_init(&l->q_ready, NULL);
    l->ring = mem_array(l->cfg.queue_max, sizeof *l->ring);
    l->batch = mem_array(l->cfg.batch_max, sizeof *l->batch);
    l->plans = mem_array(l->cfg.batch_max, sizeof *l->plans);
    l->rcs = mem_array(l->cfg.batch_max, sizeof *l->rcs);
    l->landed = mem_array(l->cfg.batch_max, sizeof *l->landed);
    int rc = l->ring && l->batch && l->plans && l->rcs && l->landed
                 ? hub_init(l, err)
                 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the queue of the log");
    if (rc != 0) {
        wopr_log_free(l);
        return rc;
    }
    *out = l;
    return 0;
}

int wopr_log_start(struct wopr_log *l, struct wopr_error *err) {
    if (pthread_create(&l->hub.thread, NULL, hub_main, l) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start the hub thread");
    if (pthread_create(&l->committer, NULL, committer_main, l) != 0) {
        hub_stop(l);
        pthread_join(l->hub.thread, NULL);
        l->stopped = true;
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start the committer thread");
    }
    l->started = true;
    return 0;
}

void wopr_log_stop(struct wopr_log *l) {
    if (l->stopped) return;
    l->stopped = true;
    pthread_mutex_lock(&l->q_lock);
    l->stopping = true;
    pthread_cond_signal(&l->q_ready);
    pthread_mutex_unlock(&l->q_lock);
    if (l->started) {
        pthread_join(l->committer, NULL);
        hub_stop(l);
        pthread_join(l->hub.thread, NULL);
        return;
    }
    for (size_t n; (n = queue_take(l)) > 0;) { /* never started: nothing was committed */
        if (l->batch[0].side) continue;
        for (size_t i = 0; i < n; i++) l->rcs[i] = WOPR_E_CLOSED;
        give_back(l, n);
    }
    atomic_store(&l->hub.closing, true);
}

void wopr_log_free(struct wopr_log *l) {
    if (!l) return;
    if (l->hub.topics) {
        wopr_log_stop(l);
        hub_fini(l);
    }
    pthread_mutex_destroy(&l->q_lock);
    pthread_cond_destroy(&l->q_ready);
    mem_free(l->ring);
    mem_free(l->batch);
    mem_free(l->plans);
    mem_free(l->rcs);
    mem_free(l->landed);
    mem_free(l);
}

struct store *wopr_log_store(struct wopr_log *l) {
    return l->store;
}
