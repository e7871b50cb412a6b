/*
 * queue.c: what waits for the committer, in order of arrival, with one exception: a large plan is
 * committed alone, and while it waits, what other tenants have queued after it is committed first.
 * So no tenant waits for more than one large plan of another, and the order inside a tenant, which
 * the runs of one tree depend on, is kept. Side jobs stay where they are.
 */
#include "journal/journal_int.h"

enum {
    QUEUE_LARGE_BYTES = 128 * 1024, /* a plan that takes several times as long as an empty commit */
    QUEUE_PASSED_MAX = 8,           /* batches that may go before a large plan */
    QUEUE_KEPT_MAX = 64,            /* entries left in place by one look */
};

static struct str tenant_of(const struct plan *p) {
    return p->what == PLAN_CREATE && p->create ? p->create->meta.tenant : p->tenant;
}

static void entry_weigh(struct journal *j, struct entry *e) {
    const struct plan *p = e->plan;
    if (!p) return;
    struct str tenant = tenant_of(p);
    size_t used = arena_used(p->arena);
    e->bytes = used > JOURNAL_PLAN_BYTES_MIN ? used : JOURNAL_PLAN_BYTES_MIN;
    if (tenant.n > 0) e->share = &j->shares[str_hash(tenant, 0) & (JOURNAL_SHARE_SLOTS - 1)];
}

static bool limit_exceeded(size_t has, size_t more, size_t max) {
    return has > 0 && has + more > max;
}

/* Whatever its size, a plan fits an empty queue. */
static bool queue_full(const struct journal *j, const struct entry *e) {
    size_t nr = j->cfg.queue_max, bytes = j->cfg.queue_bytes_max;
    if (j->q_len == nr || limit_exceeded(j->q_bytes, e->bytes, bytes)) return true;
    const struct share *s = e->share;
    return s && (limit_exceeded(s->nr, 1, nr - nr / 4) ||
                 limit_exceeded(s->bytes, e->bytes, bytes - bytes / 4));
}

static void queue_weigh(struct journal *j, const struct entry *e, bool in) {
    size_t one = in ? 1 : (size_t)-1, bytes = in ? e->bytes : (size_t)0 - e->bytes;
    j->q_bytes += bytes;
    if (!e->share) return;
    e->share->nr += one;
    e->share->bytes += bytes;
}

int queue_push(struct journal *j, struct entry *e) {
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

/* What one look at the queue leaves where it is. */
struct kept {
    struct entry v[QUEUE_KEPT_MAX];
    size_t n;
};

static bool is_large(const struct entry *e) { return e->plan && e->bytes > QUEUE_LARGE_BYTES; }

/* After a kept entry of its own tenant, or one of an unknown tenant. */
static bool must_follow(const struct kept *k, const struct entry *e) {
    for (size_t i = 0; i < k->n; i++)
        if (!e->share || !k->v[i].share || k->v[i].share == e->share) return true;
    return false;
}

/* The first `looked` entries of the ring are in the batch, or kept. */
static void queue_close_up(struct journal *j, const struct kept *k, size_t looked) {
    size_t gone = looked - k->n;
    for (size_t i = 0; i < k->n; i++) j->ring[(j->q_head + gone + i) % j->cfg.queue_max] = k->v[i];
    j->q_head = (j->q_head + gone) % j->cfg.queue_max;
    j->q_len -= gone;
}

static void batch_add(struct journal *j, const struct entry *e, size_t *n) {
    j->batch[(*n)++] = *e;
    queue_weigh(j, e, false);
}

/* Under q_lock.  Never 0 when something is queued. */
static size_t batch_collect(struct journal *j) {
    struct kept kept = {.n = 0};
    size_t n = 0, bytes = 0, looked = 0;
    while (looked < j->q_len && n < j->cfg.batch_max && bytes < JOURNAL_BATCH_BYTES_MAX) {
        struct entry *e = &j->ring[(j->q_head + looked) % j->cfg.queue_max];
        if (e->side && (n > 0 || kept.n > 0)) break;
        bool keep = is_large(e) || must_follow(&kept, e);
        if (keep && (kept.n == QUEUE_KEPT_MAX || e->passed == QUEUE_PASSED_MAX)) break;
        looked++;
        if (keep) {
            kept.v[kept.n++] = *e;
            continue;
        }
        batch_add(j, e, &n);
        bytes += e->bytes;
        if (e->side) break;
    }
    for (size_t i = 0; n > 0 && i < kept.n; i++) kept.v[i].passed++;
    queue_close_up(j, &kept, looked);
    if (n > 0) return n;
    batch_add(j, &j->ring[j->q_head], &n);
    queue_close_up(j, &(struct kept){.n = 0}, 1);
    return n;
}

size_t queue_take(struct journal *j) {
    size_t n = 0;
    pthread_mutex_lock(&j->q_lock);
    while (j->q_len == 0 && !j->stopping) {
        j->q_asleep = true;
        pthread_cond_wait(&j->q_ready, &j->q_lock);
        j->q_asleep = false;
    }
    if (j->q_len > 0) n = batch_collect(j);
    pthread_mutex_unlock(&j->q_lock);
    return n;
}
