/*
 * committer.c: the one writing thread of a host: takes what has gathered, commits it in one
 * transaction, then publishes it (group commit).
 */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "journal/journal_int.h"
#include "store/append.h"

int journal_append(struct journal *j, struct plan *p, journal_done_fn *done, void *ctx) {
    if (p->failed) return p->failed;
    return queue_push(j, &(struct entry){.plan = p, .done = done, .ctx = ctx});
}

int journal_append_to(struct journal *j, struct plan *p, journal_result_fn *landed, void *owner,
                      void *ctx) {
    if (p->failed) return p->failed;
    return queue_push(j, &(struct entry){.plan = p, .landed = landed, .owner = owner, .ctx = ctx});
}

int journal_side(struct journal *j, void (*fn)(void *ctx, struct store *s), void *ctx) {
    return queue_push(j, &(struct entry){.side = fn, .ctx = ctx});
}

/* ------------------------------------------------------------------------------ committing */
/* The n entries of j->batch, with j->rcs: singly, or together where neighbours have one owner. */
static void batch_give_back(struct journal *j, size_t n) {
    const struct entry *b = j->batch;
    for (size_t i = 0, k = 0; i < n; i++) {
        if (b[i].done) {
            b[i].done(b[i].ctx, b[i].plan, j->rcs[i]);
        } else if (!b[i].landed) {
            plan_unref(b[i].plan);
        } else {
            j->landed[k++] = (struct journal_result){b[i].plan, b[i].ctx, j->rcs[i]};
            bool more = i + 1 < n && b[i + 1].landed == b[i].landed && b[i + 1].owner == b[i].owner;
            if (more) continue;
            b[i].landed(b[i].owner, j->landed, k);
            k = 0;
        }
    }
}

static void plans_publish(struct journal *j, struct plan *const *v, const int *rcs, size_t n) {
    struct commit *first = NULL, *last = NULL;
    bool lost = false;
    unsigned views_nr = atomic_load_explicit(&j->views_nr, memory_order_relaxed);
    for (size_t i = 0; i < n; i++) {
        struct plan *p = v[i];
        if (rcs[i] != 0 || p->idem_hit || p->events_nr == 0 || !hub_listens(j, p->run_no)) continue;
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
    count_batch(j, j->plans, j->rcs, n, clock_mono_ns() - t0);
    int why = storage_failure(j, rc, n);
    if (why != 0) count_failed(j, why, rc != 0 ? err.message : wopr_err_text(why));
    else atomic_store(&j->counters.failing, 0);
    if (rc == 0 && j->seen) j->seen(j->seen_ctx, j->plans, j->rcs, n);
    plans_publish(j, j->plans, j->rcs, n);
    batch_give_back(j, n);
}

int journal_commit_whole(struct journal *j, struct plan **v, size_t n, struct wopr_error *err) {
    int *rcs = mem_array(n, sizeof *rcs); /* zeroed: a whole is committed, or nothing of it */
    if (!rcs) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a batch");
    uint64_t t0 = clock_mono_ns();
    int rc = store_apply_whole(j->store, v, n, err);
    if (rc == 0) {
        count_batch(j, v, rcs, n, clock_mono_ns() - t0);
        if (j->seen) j->seen(j->seen_ctx, v, rcs, n);
        plans_publish(j, v, rcs, n);
    } else if (rc == WOPR_E_DISK_FULL || rc == WOPR_E_IO) {
        count_failed(j, rc, err->message);
    }
    mem_free(rcs);
    return rc;
}

void journal_on_commit(struct journal *j, journal_seen_fn *seen, void *ctx) {
    j->seen_ctx = ctx;
    j->seen = seen;
}

static void *committer_main(void *log) {
    thread_name("wopr-commit");
    thread_prompt();
    struct journal *j = log;
    size_t n;
    while ((n = queue_take(j)) > 0) {
        if (j->batch[0].side) j->batch[0].side(j->batch[0].ctx, j->store);
        else commit_batch(j, n);
        copier_turn(j);
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
    copier_init(j);
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
    int rc = copier_start(j, err);
    if (rc != 0) goto no_copier;
    if (pthread_create(&j->hub.thread, NULL, hub_main, j) != 0) {
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start the hub thread");
        goto no_hub;
    }
    if (pthread_create(&j->committer, NULL, committer_main, j) != 0) {
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "cannot start the committer thread");
        goto no_committer;
    }
    j->started = true;
    return 0;
no_committer:
    j->stopped = true;
    hub_stop(j);
    pthread_join(j->hub.thread, NULL);
no_hub:
    copier_stop(j);
no_copier:
    return rc;
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
        copier_stop(j);
        hub_stop(j);
        pthread_join(j->hub.thread, NULL);
        return;
    }
    for (size_t n; (n = queue_take(j)) > 0;) { /* never started: nothing was committed */
        if (j->batch[0].side) continue;
        for (size_t i = 0; i < n; i++) j->rcs[i] = WOPR_E_CLOSED;
        batch_give_back(j, n);
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
    copier_fini(j);
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
