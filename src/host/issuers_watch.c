/* issuers_watch.c: see issuers_watch.h. */
#include "host/issuers_watch.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "codec/jwk.h"

#include <stdio.h>
#include <string.h>

enum {
    SOURCES_MAX = 16,
    ASK_TIMEOUT_MS = 10000,
    WANTED_MS = 60000,
    RETRY_MS = 1000, /* doubled by each failure */
    RETRY_MS_MAX = 60000,
    LOOK_ARENA_BYTES = 256 * 1024
};

/* One question; it belongs to egress until it is answered, then to the thread. */
struct question {
    struct list link; /* in answered */
    struct issuers_watch *watch;
    struct str name, url; /* in its arena */
    struct arena *arena;
    struct str jwks;
    bool ok;
    char why[160];
};
struct source {
    struct str name, url; /* in the arena of the sources */
    struct keys_due due;
    bool asked; /* and not answered yet */
};
struct issuers_watch {
    struct issuers_file file;
    struct http_issuers *issuers;
    struct egress *egress;
    pthread_t thread;
    bool running;
    struct source v[SOURCES_MAX]; /* the thread's */
    size_t n;
    struct arena *arena; /* the thread's */
    pthread_mutex_t mu;
    pthread_cond_t cond;
    bool stopping, look;              /* (mu) */
    struct list answered;             /* (mu) */
    struct issuers_watch_stats stats; /* (mu) */
};

int64_t keys_due_ms(const struct keys_due *d) {
    if (d->asked_ms == 0) return 0;
    int64_t wait_ms = d->wanted && WANTED_MS < d->refresh_ms ? WANTED_MS : d->refresh_ms;
    if (d->failures > 0) {
        unsigned doubled = d->failures < 7 ? d->failures - 1 : 6;
        int64_t retry_ms = (int64_t)RETRY_MS << doubled;
        if (retry_ms > RETRY_MS_MAX) retry_ms = RETRY_MS_MAX;
        if (retry_ms < wait_ms) wait_ms = retry_ms;
    }
    return d->asked_ms + wait_ms;
}

/* --- the sources --- */

static const struct source *source_find(const struct source *v, size_t n, struct str name,
                                        struct str url) {
    for (size_t i = 0; i < n; i++)
        if (str_eq(v[i].name, name) && str_eq(v[i].url, url)) return &v[i];
    return NULL;
}

/* What the issuers say now, with what is known of those that were there before. */
static void sources_look(struct issuers_watch *w) {
    struct arena *a = arena_new(LOOK_ARENA_BYTES);
    struct issuers_watch_stats s = {0};
    struct source v[SOURCES_MAX] = {0};
    struct http_issuer_source is;
    size_t n = 0;
    for (size_t i = 0; a && n < SOURCES_MAX && http_issuer_source_at(w->issuers, i, a, &is); i++) {
        if (is.url.n == 0) continue;
        const struct source *old = source_find(w->v, w->n, is.name, is.url);
        if (old) v[n] = *old;
        v[n].name = is.name;
        v[n].url = is.url;
        v[n].due.refresh_ms = is.refresh_ms;
        v[n].due.wanted = is.wanted;
        if (is.age_ms < 0 || s.oldest_ms < 0) s.oldest_ms = -1;
        else if (is.age_ms > s.oldest_ms) s.oldest_ms = is.age_ms;
        n++;
    }
    if (!a || arena_failed(a)) { /* the next look may have the memory */
        arena_free(a);
        return;
    }
    arena_free(w->arena);
    w->arena = a;
    memcpy(w->v, v, sizeof v);
    w->n = n;
    pthread_mutex_lock(&w->mu);
    w->stats.oldest_ms = s.oldest_ms;
    w->stats.sources = n;
    pthread_mutex_unlock(&w->mu);
}

static void files_look(struct issuers_watch *w) {
    static struct log_gate gate;
    struct wopr_error err = {0};
    uint64_t held_back;
    if (!issuers_file_changed(&w->file)) return;
    int rc = issuers_file_read(&w->file, &w->issuers, &err);
    if (rc == 0) log_info("the issuers were read again", "file", w->file.path);
    else if (log_gate_pass(&gate, &held_back))
        log_warn("the issuers were not read again, the ones before stay in force", "why",
                 err.message);
}

/* --- questions --- */

static void question_free(struct question *q) {
    if (q) arena_free(q->arena);
}

/* On the egress thread. */
static void question_answered(void *ctx, const struct egress_response *r) {
    struct question *q = ctx;
    struct issuers_watch *w = q->watch;
    q->ok = r->rc == 0 && r->status == 200;
    if (q->ok) q->jwks = arena_str(q->arena, r->body);
    else if (r->rc != 0) snprintf(q->why, sizeof q->why, "%s", r->message);
    else snprintf(q->why, sizeof q->why, "it answered %d", r->status);
    pthread_mutex_lock(&w->mu);
    list_add_tail(&w->answered, &q->link);
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->mu);
}

static struct question *question_new(struct issuers_watch *w, const struct source *s) {
    struct arena *a = arena_new(LOOK_ARENA_BYTES + EGRESS_URL_MAX + JWK_SET_BYTES_MAX);
    struct question *q = a ? ARENA_NEW(a, struct question) : NULL;
    if (!q) {
        arena_free(a);
        return NULL;
    }
    *q = (struct question){.watch = w, .arena = a};
    q->name = arena_str(a, s->name);
    q->url = arena_str(a, s->url);
    list_init(&q->link);
    return q;
}

static void source_failed(struct issuers_watch *w, struct source *s, const char *why) {
    s->due.failures++;
    s->asked = false;
    char name[40];
    snprintf(name, sizeof name, STR_FMT, STR_ARG(s->name));
    log_warn("the keys of an issuer could not be fetched", "issuer", name, "why", why);
    pthread_mutex_lock(&w->mu);
    w->stats.failed++;
    pthread_mutex_unlock(&w->mu);
}

static void source_ask(struct issuers_watch *w, struct source *s, int64_t now_ms) {
    static const struct egress_header accept = {{"Accept", 6},
                                                {"application/jwk-set+json, application/json", 42}};
    struct wopr_error err = {0};
    struct question *q = question_new(w, s);
    s->due.asked_ms = now_ms;
    s->asked = true;
    if (!q || arena_failed(q->arena)) {
        question_free(q);
        source_failed(w, s, "no memory for the question");
        return;
    }
    const struct egress_request r = {.caller = EGRESS_CALLER_ISSUER,
                                     .method = STR("GET"),
                                     .url = q->url,
                                     .headers = &accept,
                                     .headers_nr = 1,
                                     .timeout_ms = ASK_TIMEOUT_MS};
    if (egress_submit(w->egress, &r, question_answered, q, &err) == 0) return;
    question_free(q);
    source_failed(w, s, err.message);
}

static void answer_take(struct issuers_watch *w, struct question *q) {
    struct wopr_error err = {0};
    struct source *s = (struct source *)(uintptr_t)source_find(w->v, w->n, q->name, q->url);
    int rc = 0;
    if (q->ok && !q->jwks.p) rc = wopr_error_set(&err, WOPR_E_NO_MEMORY, "no memory for its keys");
    else if (q->ok) rc = http_issuer_keys_put(w->issuers, q->name, q->url, q->jwks, &err);
    if (s && (!q->ok || rc != 0)) {
        source_failed(w, s, q->ok ? err.message : q->why);
    } else if (s) {
        s->asked = false;
        s->due.failures = 0;
        pthread_mutex_lock(&w->mu);
        w->stats.fetched++;
        pthread_mutex_unlock(&w->mu);
    }
    question_free(q);
}

/* --- the thread --- */

static struct question *answer_pop(struct issuers_watch *w) {
    pthread_mutex_lock(&w->mu);
    struct list *l = list_pop(&w->answered);
    pthread_mutex_unlock(&w->mu);
    return l ? LIST_ENTRY(l, struct question, link) : NULL;
}

/* Asks what is due; when the next is. */
static int64_t sources_ask(struct issuers_watch *w) {
    int64_t next_ms = INT64_MAX;
    for (size_t i = 0; i < w->n; i++) {
        struct source *s = &w->v[i];
        int64_t now_ms = (int64_t)clock_mono_ms(), due_ms = keys_due_ms(&s->due);
        if (s->asked) continue;
        if (due_ms <= now_ms) source_ask(w, s, now_ms);
        else if (due_ms < next_ms) next_ms = due_ms;
    }
    return next_ms;
}

/* Until then, an answer, or a key that is wanted; false: the end. */
static bool watch_wait(struct issuers_watch *w, int64_t until_ms) {
    struct timespec at = {until_ms / 1000, until_ms % 1000 * 1000000};
    pthread_mutex_lock(&w->mu);
    while (!w->stopping && !w->look && list_empty(&w->answered))
        if (pthread_cond_timedwait(&w->cond, &w->mu, &at) != 0) break;
    w->look = false;
    bool on = !w->stopping;
    pthread_mutex_unlock(&w->mu);
    return on;
}

static void *watch_main(void *arg) {
    struct issuers_watch *w = arg;
    int64_t files_ms = (int64_t)clock_mono_ms() + WATCH_FILES_MS, next_ms;
    thread_name("wopr-issuers");
    do {
        if ((int64_t)clock_mono_ms() >= files_ms) {
            files_look(w);
            files_ms = (int64_t)clock_mono_ms() + WATCH_FILES_MS;
        }
        sources_look(w);
        for (struct question *q; (q = answer_pop(w)) != NULL;) answer_take(w, q);
        next_ms = sources_ask(w);
    } while (watch_wait(w, next_ms < files_ms ? next_ms : files_ms));
    return NULL;
}

static void watch_wake(void *ctx) {
    struct issuers_watch *w = ctx;
    pthread_mutex_lock(&w->mu);
    w->look = true;
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->mu);
}

/* --- life --- */

int issuers_watch_new(struct issuers_file *f, struct http_issuers *issuers, struct egress *e,
                      struct issuers_watch **out, struct wopr_error *err) {
    struct issuers_watch *w = MEM_NEW(struct issuers_watch);
    if (!w || clock_cond_init(&w->cond) != 0) {
        mem_free(w);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to watch the issuers");
    }
    pthread_mutex_init(&w->mu, NULL);
    list_init(&w->answered);
    w->file = *f;
    w->issuers = issuers;
    w->egress = e;
    *out = w;
    return 0;
}

int issuers_watch_start(struct issuers_watch *w, struct wopr_error *err) {
    http_issuers_wanted(w->issuers, watch_wake, w);
    w->running = pthread_create(&w->thread, NULL, watch_main, w) == 0;
    return w->running ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no thread for the issuers");
}

void issuers_watch_stop(struct issuers_watch *w) {
    if (!w || !w->running) return;
    http_issuers_wanted(w->issuers, NULL, NULL);
    pthread_mutex_lock(&w->mu);
    w->stopping = true;
    pthread_cond_signal(&w->cond);
    pthread_mutex_unlock(&w->mu);
    pthread_join(w->thread, NULL);
    w->running = false;
}

void issuers_watch_free(struct issuers_watch *w) {
    if (!w) return;
    issuers_watch_stop(w);
    for (struct question *q; (q = answer_pop(w)) != NULL;) question_free(q);
    issuers_file_fini(&w->file);
    arena_free(w->arena);
    pthread_cond_destroy(&w->cond);
    pthread_mutex_destroy(&w->mu);
    mem_free(w);
}

void issuers_watch_stats(struct issuers_watch *w, struct issuers_watch_stats *out) {
    pthread_mutex_lock(&w->mu);
    *out = w->stats;
    pthread_mutex_unlock(&w->mu);
}
