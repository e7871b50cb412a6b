/*
 * names.c: the look-ups and their threads, see names.h.
 */
#include "egress/names.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/net.h"
#include "base/thread.h"
#include "egress/lane.h"

#include <pthread.h>
#include <stdio.h>

#define THREADS_MAX        32u
#define TENANT_THREADS_MAX 4u
#define KEPT_MS            60000u
#define KEPT_MAX           1024u
#define WAITING_MAX        SIZE_MAX /* unbounded here: each belongs to a queued request */

enum lookup_state { LOOKUP_QUEUED, LOOKUP_RUNNING, LOOKUP_KEPT };
struct lookup {
    struct list link; /* QUEUED: in the queue of its tenant; KEPT: in names.kept */
    struct list waits;
    struct lane *lane; /* of the tenant that asked first */
    enum lookup_state state;
    uint64_t until_ms;
    int rc;
    struct str key; /* in names.by_key; owned */
    char host[NAME_CHARS_MAX + 1], text[NAME_TEXT_MAX];
};
struct names {
    pthread_mutex_t mu;
    pthread_cond_t work;
    egress_lookup_fn *lookup;
    void (*wake)(void *ctx);
    void *ctx;
    struct map *by_key; /* tenant, 0, host */
    struct lanes queue;
    struct list kept, answered; /* kept: oldest first */
    size_t kept_nr;
    unsigned threads_nr, idle_nr, refs; /* refs: the owner and the threads */
    bool closed;
};

/* --- the C library --- */

int names_lookup_system(const char *host, char *out, size_t size) {
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *all;
    size_t n = 0;
    if (net_lookup(host, NULL, &hints, &all) != 0) return -1;
    for (const struct addrinfo *a = all; a; a = a->ai_next) {
        char text[NI_MAXHOST];
        bool six = a->ai_family == AF_INET6;
        if (!six && a->ai_family != AF_INET) continue;
        if (!net_address_text(a->ai_addr, a->ai_addrlen, text, sizeof text)) continue;
        int more = snprintf(out + n, size - n, six ? "%s[%s]" : "%s%s", n > 0 ? "," : "", text);
        if (more < 0 || (size_t)more >= size - n) break;
        n += (size_t)more;
    }
    out[n] = '\0';
    freeaddrinfo(all);
    return n > 0 ? 0 : -1;
}

/* --- one look-up; the lock is held --- */

static void lookup_free(struct names *n, struct lookup *l) {
    (void)map_del(n->by_key, l->key);
    mem_free((char *)l->key.p);
    mem_free(l);
}

static void kept_drop(struct names *n, struct lookup *l) {
    list_del(&l->link);
    n->kept_nr--;
    lookup_free(n, l);
}

static void kept_expire(struct names *n) {
    uint64_t now_ms = clock_mono_ms();
    while (!list_empty(&n->kept)) {
        struct lookup *l = LIST_ENTRY(n->kept.next, struct lookup, link);
        if (l->until_ms > now_ms && n->kept_nr <= KEPT_MAX) return;
        kept_drop(n, l);
    }
}

static void wait_answer(struct names *n, const struct lookup *l, struct name_wait *w) {
    w->of = NULL;
    w->answered = true;
    w->rc = l->rc;
    if (l->rc == 0) memcpy(w->text, l->text, sizeof w->text);
    list_add_tail(&n->answered, &w->link);
}

/* Keep good answers only: a name without an address may have one at the next attempt. */
static void lookup_finish(struct names *n, struct lookup *l) {
    struct list *w;
    lane_leave(&n->queue, l->lane);
    while ((w = list_pop(&l->waits)) != NULL)
        wait_answer(n, l, LIST_ENTRY(w, struct name_wait, link));
    if (l->rc != 0 || n->closed) {
        lookup_free(n, l);
        return;
    }
    l->state = LOOKUP_KEPT;
    l->until_ms = clock_mono_ms() + KEPT_MS;
    list_add_tail(&n->kept, &l->link);
    n->kept_nr++;
    kept_expire(n);
}

/* --- threads --- */

static void names_unref(struct names *n) { /* unlocks */
    bool last = --n->refs == 0;
    pthread_mutex_unlock(&n->mu);
    if (!last) return;
    pthread_cond_destroy(&n->work);
    pthread_mutex_destroy(&n->mu);
    lanes_fini(&n->queue);
    map_free(n->by_key);
    mem_free(n);
}

static void lookup_run(struct names *n, struct lookup *l) {
    char host[NAME_CHARS_MAX + 1], text[NAME_TEXT_MAX];
    memcpy(host, l->host, sizeof host);
    l->state = LOOKUP_RUNNING;
    pthread_mutex_unlock(&n->mu);
    int rc = n->lookup(host, text, sizeof text);
    pthread_mutex_lock(&n->mu);
    l->rc = rc == 0 ? 0 : WOPR_E_UNREACHABLE;
    if (rc == 0) memcpy(l->text, text, sizeof l->text);
    lookup_finish(n, l);
    if (!n->closed) n->wake(n->ctx);
}

static void *names_main(void *arg) {
    struct names *n = arg;
    thread_name("names");
    pthread_mutex_lock(&n->mu);
    while (!n->closed) {
        struct list *next = lane_take(&n->queue);
        if (next) {
            lookup_run(n, LIST_ENTRY(next, struct lookup, link));
            continue;
        }
        n->idle_nr++;
        pthread_cond_wait(&n->work, &n->mu);
        n->idle_nr--;
    }
    names_unref(n);
    return NULL;
}

/* Start a thread for one more look-up unless there are enough; false: there is none at all. */
static bool thread_ready(struct names *n) {
    pthread_t thread;
    bool busy = n->queue.waiting_nr >= n->idle_nr;
    if (busy && n->threads_nr < THREADS_MAX && pthread_create(&thread, NULL, names_main, n) == 0) {
        (void)pthread_detach(thread);
        n->threads_nr++;
        n->refs++;
    }
    return n->threads_nr > 0;
}

/* --- asking --- */

static int key_of(struct str tenant, const char *host, struct str *out) {
    struct buf b;
    buf_init(&b, tenant.n + NAME_CHARS_MAX + 2);
    buf_adds(&b, tenant);
    buf_addc(&b, '\0');
    buf_addz(&b, host);
    out->p = buf_failed(&b) ? NULL : buf_take(&b, &out->n);
    buf_fini(&b);
    return out->p ? 0 : WOPR_E_NO_MEMORY;
}

/* A look-up queued for the next free thread.  Takes key on success. */
static struct lookup *lookup_new(struct names *n, struct str tenant, const char *host,
                                 struct str key) {
    struct lookup *l = thread_ready(n) ? MEM_NEW(struct lookup) : NULL;
    if (!l) return NULL;
    list_init(&l->link);
    list_init(&l->waits);
    (void)snprintf(l->host, sizeof l->host, "%s", host);
    if (map_put(n->by_key, key, l, NULL) == 0) {
        if (lane_join(&n->queue, tenant, STR_NONE, &l->link, &l->lane) == 0) {
            l->key = key;
            pthread_cond_signal(&n->work);
            return l;
        }
        (void)map_del(n->by_key, key);
    }
    mem_free(l);
    return NULL;
}

static int lookup_ask(struct names *n, struct str tenant, const char *host, struct str *key,
                      struct name_wait *w) {
    kept_expire(n);
    struct lookup *l = map_get(n->by_key, *key);
    if (!l) {
        l = lookup_new(n, tenant, host, *key);
        if (!l) return WOPR_E_NO_MEMORY;
        *key = STR_NONE;
    }
    if (l->state == LOOKUP_KEPT) {
        wait_answer(n, l, w);
        n->wake(n->ctx);
    } else {
        w->of = l;
        list_add_tail(&l->waits, &w->link);
    }
    return 0;
}

int names_ask(struct names *n, struct str tenant, const char *host, struct name_wait *w) {
    struct str key;
    list_init(&w->link);
    w->of = NULL;
    w->answered = false;
    int rc = key_of(tenant, host, &key);
    if (rc != 0) return rc;
    pthread_mutex_lock(&n->mu);
    rc = lookup_ask(n, tenant, host, &key, w);
    pthread_mutex_unlock(&n->mu);
    mem_free((char *)key.p);
    return rc;
}

/* A look-up that a thread is executing cannot be stopped and continues; a queued one without
 * waiting requests is dropped. */
void names_leave(struct names *n, struct name_wait *w) {
    pthread_mutex_lock(&n->mu);
    struct lookup *l = w->of;
    if (l || w->answered) list_del(&w->link);
    if (l && l->state == LOOKUP_QUEUED && list_empty(&l->waits)) {
        lane_quit(&n->queue, l->lane, &l->link);
        lookup_free(n, l);
    }
    w->of = NULL;
    w->answered = false;
    pthread_mutex_unlock(&n->mu);
}

struct name_wait *names_take(struct names *n) {
    pthread_mutex_lock(&n->mu);
    struct list *l = list_pop(&n->answered);
    struct name_wait *w = l ? LIST_ENTRY(l, struct name_wait, link) : NULL;
    if (w) w->answered = false;
    pthread_mutex_unlock(&n->mu);
    return w;
}

/* --- life --- */

int names_new(egress_lookup_fn *lookup, void (*wake)(void *ctx), void *ctx, struct names **out) {
    struct names *n = MEM_NEW(struct names);
    if (!n) return WOPR_E_NO_MEMORY;
    n->lookup = lookup ? lookup : names_lookup_system;
    n->wake = wake;
    n->ctx = ctx;
    n->refs = 1;
    list_init(&n->kept);
    list_init(&n->answered);
    pthread_mutex_init(&n->mu, NULL);
    pthread_cond_init(&n->work, NULL);
    n->by_key = map_new();
    int rc = lanes_init(&n->queue, TENANT_THREADS_MAX, WAITING_MAX);
    if (rc == 0 && n->by_key) {
        *out = n;
        return 0;
    }
    pthread_mutex_lock(&n->mu);
    names_unref(n);
    return WOPR_E_NO_MEMORY;
}

void names_close(struct names *n) {
    struct list *item;
    if (!n) return;
    pthread_mutex_lock(&n->mu);
    n->closed = true;
    while ((item = lane_take_any(&n->queue)) != NULL) {
        struct lookup *l = LIST_ENTRY(item, struct lookup, link);
        lane_leave(&n->queue, l->lane);
        lookup_free(n, l);
    }
    while (!list_empty(&n->kept)) kept_drop(n, LIST_ENTRY(n->kept.next, struct lookup, link));
    pthread_cond_broadcast(&n->work);
    names_unref(n);
}
