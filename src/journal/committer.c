/*
 * committer.c: the one writing thread of a host: takes what has gathered, commits it at once, tells
 * (group commit).
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "journal/journal_int.h"

/* ------------------------------------------------------------------------------ queue */
static struct str tenant_of(const struct plan *p) {
    return p->what == PLAN_CREATE && p->create ? p->create->meta.tenant : p->tenant;
}

static void entry_weigh(struct journal *j, struct entry *e) {
    const struct plan *p = e->plan;
    if (!p) return;
    struct str tenant = tenant_of(p);
    size_t used = arena_used(p->arena);
    e->bytes = used > JOURNAL_PLAN_BYTES_MIN ? used : JOURNAL_PLAN_BYTES_MIN;
    if (p->what == PLAN_CREATE && p->create && p->create->fork)
        e->bytes += (size_t)p->create->fork->bytes;
    if (tenant.n > 0) e->share = &j->shares[str_hash(tenant, 0) & (JOURNAL_SHARE_SLOTS - 1)];
}

static bool over(size_t has, size_t more, size_t max) { return has > 0 && has + more > max; }

/* Whatever its size, a plan fits an empty queue. */
static bool queue_full(const struct journal *j, const struct entry *e) {
    size_t nr = j->cfg.queue_max, bytes = j->cfg.queue_bytes_max;
    if (j->q_len == nr || over(j->q_bytes, e->bytes, bytes)) return true;
    const struct share *s = e->share;
    return s && (over(s->nr, 1, nr - nr / 4) || over(s->bytes, e->bytes, bytes - bytes / 4));
}

static void queue_weigh(struct journal *j, const struct entry *e, bool in) {
    size_t one = in ? 1 : (size_t)-1, bytes = in ? e->bytes : (size_t)0 - e->bytes;
    j->q_bytes += bytes;
    if (!e->share) return;
    e->share->nr += one;
    e->share->bytes += bytes;
}

static int queue_push(struct journal *j, struct entry *e) {
    int rc = 0;
    entry_weigh(j, e);
    pthread_mutex_lock(&j->q_lock);
    if (j->stopping) {
        rc = WOPR_E_CLOSED;
    } else if (queue_full(j, e)) {
        rc = WOPR_E_UNAVAILABLE;
    } else {
        j->ring[(j->q_head + j->q_len) % j->cfg.queue_max] = *e;
        queue_weigh(j, e, true);
        if (++j->q_len > j->q_len_max) j->q_len_max = j->q_len;
        if (j->q_asleep) pthread_cond_signal(&j->q_ready);
    }
    pthread_mutex_unlock(&j->q_lock);
    if (rc == WOPR_E_UNAVAILABLE) count_full(j);
    return rc;
}

int journal_append(struct journal *j, struct plan *p, journal_done_fn *done, void *ctx) {
    if (p->failed) return p->failed;
    return queue_push(j, &(struct entry){.plan = p, .done = done, .ctx = ctx});
}

int journal_append_to(struct journal *j, struct plan *p, journal_landed_fn *landed, void *owner,
                      void *ctx) {
    if (p->failed) return p->failed;
    return queue_push(j, &(struct entry){.plan = p, .landed = landed, .owner = owner, .ctx = ctx});
}

int journal_side(struct journal *j, void (*fn)(void *ctx, struct store *s), void *ctx) {
    return queue_push(j, &(struct entry){.side = fn, .ctx = ctx});
}

/* Wait, then move a run of plans, or one side job, into j->batch.  0: stopping and nothing is left.
 */
static size_t queue_take(struct journal *j) {
    size_t n = 0, bytes = 0;
    pthread_mutex_lock(&j->q_lock);
    while (j->q_len == 0 && !j->stopping) {
        j->q_asleep = true;
        pthread_cond_wait(&j->q_ready, &j->q_lock);
        j->q_asleep = false;
    }
    while (j->q_len > 0 && n < j->cfg.batch_max && bytes < JOURNAL_BATCH_BYTES_MAX) {
        struct entry *e = &j->ring[j->q_head];
        if (e->side && n > 0) break;
        j->batch[n++] = *e;
        j->q_head = (j->q_head + 1) % j->cfg.queue_max;
        j->q_len--;
        queue_weigh(j, e, false);
        if (e->side) break;
        bytes += e->bytes;
    }
    pthread_mutex_unlock(&j->q_lock);
    return n;
}

/* ------------------------------------------------------------------------------ committing */
/* The n entries of j->batch, with j->rcs: singly, or together where neighbours have one owner. */
static void give_back(struct journal *j, size_t n) {
    const struct entry *b = j->batch;
    for (size_t i = 0, k = 0; i < n; i++) {
        if (b[i].done) {
            b[i].done(b[i].ctx, b[i].plan, j->rcs[i]);
        } else if (!b[i].landed) {
            plan_unref(b[i].plan);
        } else {
            j->landed[k++] = (struct journal_landed){b[i].plan, b[i].ctx, j->rcs[i]};
            bool more = i + 1 < n && b[i + 1].landed == b[i].landed && b[i + 1].owner == b[i].owner;
            if (more) continue;
            b[i].landed(b[i].owner, j->landed, k);
            k = 0;
        }
    }
}

static void publish(struct journal *j, size_t n) {
    struct commit *first = NULL, *last = NULL;
    bool lost = false;
    unsigned views_nr = atomic_load_explicit(&j->views_nr, memory_order_relaxed);
    for (size_t i = 0; i < n; i++) {
        struct plan *p = j->plans[i];
        if (j->rcs[i] != 0 || p->idem_hit || p->events_nr == 0 || !hub_listens(j, p->run_no))
            continue;
        struct commit *c = commit_new(p, views_nr);
        if (!c) {
            lost = true;
            continue;
        }
        if (last) last->next = c;
        else first = c;
        last = c;
    }
    hub_send(j, first, last, lost);
}

/* Why nothing of a batch could be stored; 0 when something was, or was refused for its own sake. */
static int storage_failure(const struct journal *j, int rc, size_t n) {
    if (rc != 0) return rc;
    int why = 0;
    for (size_t i = 0; i < n; i++) {
        if (j->rcs[i] == 0) return 0;
        if (j->rcs[i] == WOPR_E_DISK_FULL || j->rcs[i] == WOPR_E_IO) why = j->rcs[i];
    }
    return why;
}

static void commit_batch(struct journal *j, size_t n) {
    struct wopr_error err;
    wopr_error_clear(&err);
    for (size_t i = 0; i < n; i++) j->plans[i] = j->batch[i].plan;
    uint64_t t0 = clock_mono_ns();
    int rc = store_apply(j->store, j->plans, n, j->rcs, &err);
    count_batch(j, n, clock_mono_ns() - t0);
    int why = storage_failure(j, rc, n);
    if (why != 0) count_failed(j, why, rc != 0 ? err.message : wopr_err_text(why));
    else atomic_store(&j->counters.failing, 0);
    publish(j, n);
    give_back(j, n);
    /* After the answers, so that nobody waits for the checkpoint's syncs. */
    t0 = clock_mono_ns();
    rc = store_checkpoint(j->store, &err);
    count_checkpoint(j, clock_mono_ns() - t0);
    if (rc != 0) log_warn("checkpoint failed", "code", wopr_err_name(rc), "reason", err.message);
}

static void *committer_main(void *log) {
    thread_name("wopr-commit");
    struct journal *j = log;
    size_t n;
    while ((n = queue_take(j)) > 0) {
        if (j->batch[0].side) j->batch[0].side(j->batch[0].ctx, j->store);
        else commit_batch(j, n);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------ life */
static size_t or_default(size_t v, size_t dflt) { return v > 0 ? v : dflt; }

int journal_new(struct store *s, const struct journal_config *cfg, struct journal **out,
                struct wopr_error *err) {
    struct journal *j = MEM_NEW(struct journal);
    if (!j) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the log");
    j->store = s;
    j->cfg.queue_max = or_default(cfg ? cfg->queue_max : 0, JOURNAL_QUEUE_DEFAULT);
    j->cfg.queue_bytes_max =
        or_default(cfg ? cfg->queue_bytes_max : 0, JOURNAL_QUEUE_BYTES_DEFAULT);
    j->cfg.batch_max = or_default(cfg ? cfg->batch_max : 0, JOURNAL_BATCH_DEFAULT);
    if (j->cfg.batch_max > JOURNAL_BATCH_MAX) j->cfg.batch_max = JOURNAL_BATCH_MAX;
    j->cfg.topic_bytes_max =
        or_default(cfg ? cfg->topic_bytes_max : 0, JOURNAL_TOPIC_BYTES_DEFAULT);
    j->cfg.slow_commit_ms = cfg ? cfg->slow_commit_ms : 0;
    pthread_mutex_init(&j->q_lock, NULL);
    pthread_cond_init(&j->q_ready, NULL);
    j->ring = mem_array(j->cfg.queue_max, sizeof *j->ring);
    j->batch = mem_array(j->cfg.batch_max, sizeof *j->batch);
    j->plans = mem_array(j->cfg.batch_max, sizeof *j->plans);
    j->rcs = mem_array(j->cfg.batch_max, sizeof *j->rcs);
    j->landed = mem_array(j->cfg.batch_max, sizeof *j->landed);
    int rc = j->ring && j->batch && j->plans && j->rcs && j->landed
                 ? hub_init(j, err)
                 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the queue of the log");
    if (rc != 0) {
        journal_free(j);
        return rc;
    }
    *out = j;
    return 0;
}

int journal_start(struct journal *j, struct wopr_error *err) {
    if (pthread_create(&j->hub.thread, NULL, hub_main, j) != 0)
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start the hub thread");
    if (pthread_create(&j->committer, NULL, committer_main, j) != 0) {
        hub_stop(j);
        pthread_join(j->hub.thread, NULL);
        j->stopped = true;
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start the committer thread");
    }
    j->started = true;
    return 0;
}

void journal_stop(struct journal *j) {
    if (j->stopped) return;
    j->stopped = true;
    pthread_mutex_lock(&j->q_lock);
    j->stopping = true;
    pthread_cond_signal(&j->q_ready);
    pthread_mutex_unlock(&j->q_lock);
    if (j->started) {
        pthread_join(j->committer, NULL);
        hub_stop(j);
        pthread_join(j->hub.thread, NULL);
        return;
    }
    for (size_t n; (n = queue_take(j)) > 0;) { /* never started: nothing was committed */
        if (j->batch[0].side) continue;
        for (size_t i = 0; i < n; i++) j->rcs[i] = WOPR_E_CLOSED;
        give_back(j, n);
    }
    atomic_store(&j->hub.closing, true);
}

void journal_free(struct journal *j) {
    if (!j) return;
    if (j->hub.topics) {
        journal_stop(j);
        hub_fini(j);
    }
    pthread_mutex_destroy(&j->q_lock);
    pthread_cond_destroy(&j->q_ready);
    mem_free(j->ring);
    mem_free(j->batch);
    mem_free(j->plans);
    mem_free(j->rcs);
    mem_free(j->landed);
    mem_free(j);
}

struct store *journal_store(struct journal *j) {
    return j->store;
}
