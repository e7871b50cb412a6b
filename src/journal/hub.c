/*
 * hub.c: topics and the thread that fills them and wakes their readers.  However many readers a run
 * has, the committer only hands a commit over; waking happens here, outside of every lock.
 */
#include "base/mem.h"
#include "base/thread.h"
#include "journal/journal_int.h"

static unsigned present_slot(int64_t run_no) {
    uint64_t x = (uint64_t)run_no * 0x9e3779b97f4a7c15u;
    return (unsigned)(x >> 40) & (JOURNAL_PRESENCE_SLOTS - 1);
}

static struct str topic_key(const int64_t *run_no) {
    return str_n((const char *)run_no, sizeof *run_no);
}

/* ------------------------------------------------------------------------------ life of topics */
static struct topic *topic_new(struct journal *j, int64_t run_no) {
    struct topic *t = MEM_NEW(struct topic);
    if (!t) return NULL;
    t->journal = j;
    t->run_no = run_no;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->woken, NULL);
    list_init(&t->work);
    list_init(&t->armed);
    list_init(&t->waiting);
    list_init(&t->waking);
    list_init(&t->poke);
    return t;
}

static void ring_pop(struct topic *t) {
    struct commit *c = t->ring[t->head % t->cap];
    t->head++;
    t->bytes -= c->bytes;
    atomic_fetch_sub_explicit(&t->journal->hub.backlog_bytes, c->bytes, memory_order_relaxed);
    commit_unref(c);
}

static void topic_free(struct topic *t) {
    while (t->head < t->tail) ring_pop(t);
    mem_free(t->ring);
    mem_free(t->run_id);
    pthread_cond_destroy(&t->woken);
    pthread_mutex_destroy(&t->lock);
    mem_free(t);
}

/* Under map_lock. */
static struct topic *topic_make(struct journal *j, int64_t run_no) {
    struct topic *t = topic_new(j, run_no);
    if (!t) return NULL;
    if (map_put(j->hub.topics, topic_key(&run_no), t, NULL) != 0) {
        topic_free(t);
        return NULL;
    }
    /* Before the caller reads the store: a commit that misses this count is one that read will see.
     */
    atomic_fetch_add(&j->hub.present[present_slot(run_no)], 1);
    if (map_count(j->hub.topics) == 1 && j->hub.on_first) j->hub.on_first(j->hub.on_first_ctx);
    return t;
}

static bool topic_name(struct topic *t, struct str run_id) {
    if (run_id.n == 0 || t->run_id) return true;
    t->run_id = mem_strndup(run_id.p, run_id.n);
    t->run_id_n = run_id.n;
    return t->run_id != NULL;
}

static void topic_drop(struct topic *t) { /* under map_lock, when the last reference is gone */
    (void)map_del(t->journal->hub.topics, topic_key(&t->run_no));
    atomic_fetch_sub(&t->journal->hub.present[present_slot(t->run_no)], 1);
}

struct topic *topic_get(struct journal *j, int64_t run_no, struct str run_id) {
    pthread_mutex_lock(&j->hub.map_lock);
    struct topic *t = map_get(j->hub.topics, topic_key(&run_no));
    if (!t) t = topic_make(j, run_no);
    if (t && topic_name(t, run_id)) {
        t->refs++;
    } else if (t) {
        if (t->refs == 0) {
            topic_drop(t);
            topic_free(t);
        }
        t = NULL;
    }
    pthread_mutex_unlock(&j->hub.map_lock);
    return t;
}

void topic_put(struct topic *t) {
    pthread_mutex_t *map_lock = &t->journal->hub.map_lock;
    pthread_mutex_lock(map_lock);
    bool last = --t->refs == 0;
    if (last) topic_drop(t);
    pthread_mutex_unlock(map_lock);
    if (last) topic_free(t);
}

struct topic *topic_find(struct journal *j, int64_t run_no) {
    pthread_mutex_lock(&j->hub.map_lock);
    struct topic *t = map_get(j->hub.topics, topic_key(&run_no));
    if (t) t->refs++;
    pthread_mutex_unlock(&j->hub.map_lock);
    return t;
}

/* ------------------------------------------------------------------------------ the ring; under
 * t->lock */
static bool ring_grow(struct topic *t) {
    size_t cap = t->cap ? t->cap * 2 : 4;
    struct commit **v = mem_array(cap, sizeof(struct commit *));
    if (!v) return false;
    for (uint64_t i = t->head; i < t->tail; i++) v[i % cap] = t->ring[i % t->cap];
    mem_free(t->ring);
    t->ring = v;
    t->cap = cap;
    return true;
}

/* Takes over the reference. */
static void ring_push(struct topic *t, struct commit *c) {
    if (t->live == 0 || (t->tail - t->head == t->cap && !ring_grow(t))) {
        t->lost++;
        commit_unref(c);
        return;
    }
    c->untaken = t->live;
    t->ring[t->tail++ % t->cap] = c;
    t->bytes += c->bytes;
    atomic_fetch_add_explicit(&t->journal->hub.backlog_bytes, c->bytes, memory_order_relaxed);
    /* A reader that has not taken what is dropped here finds its place gone and reads the store
     * (SSE-25). */
    while (t->bytes > t->journal->cfg.topic_bytes_max && t->tail - t->head > 1) ring_pop(t);
}

static void ring_trim(struct topic *t) {
    while (t->head < t->tail && t->ring[t->head % t->cap]->untaken == 0) ring_pop(t);
    if (t->head == t->tail && t->cap > 0) { /* idle topics are many: they hold no ring */
        mem_free(t->ring);
        t->ring = NULL;
        t->cap = 0;
    }
}

uint64_t topic_join(struct topic *t) {
    t->live++;
    return t->tail;
}

void topic_leave(struct topic *t, uint64_t pos) {
    for (uint64_t i = pos < t->head ? t->head : pos; i < t->tail; i++)
        t->ring[i % t->cap]->untaken--;
    t->live--;
    ring_trim(t);
}

struct commit *topic_take(struct topic *t, uint64_t *pos) {
    struct commit *c = t->ring[*pos % t->cap];
    ++*pos;
    commit_ref(c);
    c->untaken--;
    ring_trim(t);
    return c;
}

/* ------------------------------------------------------------------------------ waking */
static void list_move_all(struct list *from, struct list *to) {
    struct list *n;
    while ((n = list_pop(from)) != NULL) list_add_tail(to, n);
}

/* Call wake for all of t->waking, a few at a time, without the lock; under t->lock at entry and
 * exit. */
static void topic_wake_all(struct topic *t) {
    struct sleeper *v[JOURNAL_WAKES_PER_LOCK];
    while (!list_empty(&t->waking)) {
        size_t n = 0;
        while (n < JOURNAL_WAKES_PER_LOCK && !list_empty(&t->waking)) {
            v[n] = LIST_ENTRY(list_pop(&t->waking), struct sleeper, link);
            v[n++]->in_wake = true;
        }
        pthread_mutex_unlock(&t->lock);
        for (size_t i = 0; i < n; i++) v[i]->wake(v[i]->ctx);
        atomic_fetch_add_explicit(&t->journal->hub.wakes, n, memory_order_relaxed);
        pthread_mutex_lock(&t->lock);
        for (size_t i = 0; i < n; i++) v[i]->in_wake = false;
        pthread_cond_broadcast(&t->woken);
    }
}

void topic_settle(struct topic *t, struct sleeper *s) {
    while (s->in_wake) pthread_cond_wait(&t->woken, &t->lock);
    list_del(&s->link);
}

void topic_pick_waiters(struct topic *t, int64_t last) {
    for (struct list *n = t->waiting.next, *next; n != &t->waiting; n = next) {
        next = n->next;
        if (LIST_ENTRY(n, struct sleeper, link)->after_seq >= last) continue;
        list_del(n);
        list_add_tail(&t->waking, n);
    }
}

/* ------------------------------------------------------------------------------ the thread */
static void work_add(struct list *work, struct topic *t) { /* takes over the reference */
    if (t->in_work) {
        topic_put(t);
        return;
    }
    t->in_work = true;
    list_add_tail(work, &t->work);
}

/* Under in_lock; takes over the references. */
static void pokes_take(struct hub *h, struct list *work) {
    struct list *n;
    while ((n = list_pop(&h->in_pokes)) != NULL) {
        struct topic *t = LIST_ENTRY(n, struct topic, poke);
        t->poked = false;
        t->in_work = true; /* work is empty between two rounds */
        list_add_tail(work, &t->work);
    }
}

static void commit_deliver(struct journal *j, struct commit *c, struct list *work) {
    struct topic *t = topic_find(j, c->run_no);
    if (!t) {
        commit_unref(c);
        return;
    }
    int64_t last = c->last;
    pthread_mutex_lock(&t->lock);
    ring_push(t, c);
    topic_pick_waiters(t, last);
    pthread_mutex_unlock(&t->lock);
    work_add(work, t);
}

/* Put every topic to work: a commit was lost, or the journal stops. */
static void topics_all_work(struct journal *j, struct list *work) {
    size_t it = 0;
    struct str key;
    void *v;
    pthread_mutex_lock(&j->hub.map_lock);
    while (map_next(j->hub.topics, &it, &key, &v)) {
        struct topic *t = v;
        if (t->in_work) continue;
        t->refs++;
        t->in_work = true;
        list_add_tail(work, &t->work);
    }
    pthread_mutex_unlock(&j->hub.map_lock);
    for (struct list *n = work->next; n != work; n = n->next) {
        struct topic *t = LIST_ENTRY(n, struct topic, work);
        pthread_mutex_lock(&t->lock);
        t->lost++;
        topic_pick_waiters(t, INT64_MAX);
        pthread_mutex_unlock(&t->lock);
    }
}

static void work_do(struct list *work) {
    struct list *n;
    while ((n = list_pop(work)) != NULL) {
        struct topic *t = LIST_ENTRY(n, struct topic, work);
        t->in_work = false;
        pthread_mutex_lock(&t->lock);
        list_move_all(&t->armed, &t->waking);
        topic_wake_all(t);
        pthread_mutex_unlock(&t->lock);
        topic_put(t);
    }
}

void *hub_main(void *log) {
    thread_name("wopr-hub");
    thread_prompt();
    struct journal *j = log;
    struct hub *h = &j->hub;
    struct list work;
    list_init(&work);
    for (bool stop = false; !stop;) {
        pthread_mutex_lock(&h->in_lock);
        while (!h->in_first && !h->in_lost && !h->in_stop && list_empty(&h->in_pokes))
            pthread_cond_wait(&h->in_ready, &h->in_lock);
        struct commit *c = h->in_first;
        bool lost = h->in_lost;
        stop = h->in_stop && !c;
        h->in_first = h->in_last = NULL;
        h->in_lost = false;
        pokes_take(h, &work);
        pthread_mutex_unlock(&h->in_lock);
        for (struct commit *next; c; c = next) {
            next = c->next;
            commit_deliver(j, c, &work);
        }
        if (stop) atomic_store(&h->closing, true);
        if (lost || stop) topics_all_work(j, &work);
        work_do(&work);
    }
    return NULL;
}

/* ------------------------------------------------------------------------------ for the committer
 */
bool hub_listens(struct journal *j, int64_t run_no) {
    /* A read-modify-write, so that it is ordered after the commit before it (see topic_make). */
    return atomic_fetch_add(&j->hub.present[present_slot(run_no)], 0) != 0;
}

void hub_send(struct journal *j, struct commit *first, struct commit *last, bool lost) {
    struct hub *h = &j->hub;
    if (!first && !lost) return;
    pthread_mutex_lock(&h->in_lock);
    if (first) {
        if (h->in_last) h->in_last->next = first;
        else h->in_first = first;
        h->in_last = last;
    }
    h->in_lost = h->in_lost || lost;
    pthread_cond_signal(&h->in_ready);
    pthread_mutex_unlock(&h->in_lock);
}

void hub_poke(struct topic *t) {
    struct hub *h = &t->journal->hub;
    pthread_mutex_lock(&h->map_lock);
    t->refs++;
    pthread_mutex_unlock(&h->map_lock);
    pthread_mutex_lock(&h->in_lock);
    bool fresh = !t->poked;
    if (fresh) {
        t->poked = true;
        list_add_tail(&h->in_pokes, &t->poke);
        pthread_cond_signal(&h->in_ready);
    }
    pthread_mutex_unlock(&h->in_lock);
    if (!fresh) topic_put(t);
}

void hub_stop(struct journal *j) {
    pthread_mutex_lock(&j->hub.in_lock);
    j->hub.in_stop = true;
    pthread_cond_signal(&j->hub.in_ready);
    pthread_mutex_unlock(&j->hub.in_lock);
}

int hub_init(struct journal *j, struct wopr_error *err) {
    struct hub *h = &j->hub;
    h->topics = map_new();
    list_init(&h->in_pokes);
    if (!h->topics) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the topic table");
    pthread_mutex_init(&h->in_lock, NULL);
    pthread_mutex_init(&h->map_lock, NULL);
    pthread_cond_init(&h->in_ready, NULL);
    return 0;
}

void hub_fini(struct journal *j) {
    struct hub *h = &j->hub;
    if (!h->topics) return;
    struct list *n;
    while ((n = list_pop(&h->in_pokes)) != NULL) /* poked after the hub thread had ended */
        topic_put(LIST_ENTRY(n, struct topic, poke));
    ASSERT(map_count(h->topics) == 0); /* readers and waiters end before the log */
    map_free(h->topics);
    pthread_mutex_destroy(&h->in_lock);
    pthread_mutex_destroy(&h->map_lock);
    pthread_cond_destroy(&h->in_ready);
}
