/*
 * issuers_live.c: the table of issuers and their keys while both may be replaced; see issuers.h.
 * One lock guards pointers and counts, never a check: what was replaced is freed by its last user.
 */
#include "base/clock.h"
#include "base/mem.h"
#include "http/issuers.h"

int http_issuers_new(struct str text, const struct http_issuer_files *files,
                     struct http_issuers **out, struct wopr_error *err) {
    struct http_issuers *s = MEM_NEW(struct http_issuers);
    if (!s) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the issuers");
    int rc = issuer_table_read(text, files, &s->table, err);
    if (rc != 0) {
        mem_free(s);
        return rc;
    }
    pthread_mutex_init(&s->mu, NULL);
    pthread_mutex_init(&s->seen_mu, NULL);
    *out = s;
    return 0;
}

void http_issuers_free(struct http_issuers *s) {
    if (!s) return;
    issuer_table_free(s->table);
    pthread_mutex_destroy(&s->mu);
    pthread_mutex_destroy(&s->seen_mu);
    mem_free(s->seen);
    mem_free(s);
}

/* --- held by those who check --- */

struct issuer_table *issuers_hold(struct http_issuers *s) {
    pthread_mutex_lock(&s->mu);
    struct issuer_table *t = s->table;
    t->refs++;
    pthread_mutex_unlock(&s->mu);
    return t;
}

/* The last one frees it under the lock, which its keys' counts need. */
static void table_drop_locked(struct issuer_table *t) {
    if (--t->refs == 0) issuer_table_free(t);
}

void issuers_drop(struct http_issuers *s, struct issuer_table *t) {
    pthread_mutex_lock(&s->mu);
    table_drop_locked(t);
    pthread_mutex_unlock(&s->mu);
}

static bool keys_believed(const struct issuer *is) {
    const struct issuer_keys *k = is->keys;
    return k && (is->keys_url.n == 0 || clock_mono_ms() - k->came_ms <= (uint64_t)is->outage_ms);
}

struct issuer_keys *issuer_keys_hold(struct http_issuers *s, const struct issuer *is) {
    pthread_mutex_lock(&s->mu);
    struct issuer_keys *k = keys_believed(is) ? is->keys : NULL;
    if (k) k->refs++;
    pthread_mutex_unlock(&s->mu);
    return k;
}

void issuer_keys_drop(struct http_issuers *s, struct issuer_keys *k) {
    pthread_mutex_lock(&s->mu);
    bool last = --k->refs == 0;
    pthread_mutex_unlock(&s->mu);
    if (!last) return;
    jwk_set_free(k->set);
    mem_free(k);
}

void issuer_keys_want(struct http_issuers *s, struct issuer *is) {
    if (is->keys_url.n == 0) return;
    pthread_mutex_lock(&s->mu);
    if (!is->wanted && s->wanted) s->wanted(s->wanted_ctx);
    is->wanted = true;
    pthread_mutex_unlock(&s->mu);
}

void http_issuers_wanted(struct http_issuers *s, void (*fn)(void *ctx), void *ctx) {
    pthread_mutex_lock(&s->mu);
    s->wanted = fn;
    s->wanted_ctx = ctx;
    pthread_mutex_unlock(&s->mu);
}

/* --- shown --- */

bool http_issuer_at(const struct http_issuers *s, size_t i, struct http_issuer_shown *out) {
    if (!s || i >= s->table->n) return false;
    const struct issuer *is = &s->table->v[i];
    *out = (struct http_issuer_shown){is->url, is->audiences.v[0], is->users};
    return true;
}

bool http_issuer_source_at(struct http_issuers *s, size_t i, struct arena *a,
                           struct http_issuer_source *out) {
    pthread_mutex_lock(&s->mu);
    bool there = i < s->table->n;
    if (there) {
        const struct issuer *is = &s->table->v[i];
        int64_t age_ms = is->keys ? (int64_t)(clock_mono_ms() - is->keys->came_ms) : -1;
        *out = (struct http_issuer_source){arena_str(a, is->name), arena_str(a, is->keys_url),
                                           is->refresh_ms, age_ms, is->wanted};
    }
    pthread_mutex_unlock(&s->mu);
    return there;
}

/* --- replaced --- */

static struct issuer *source_find(struct issuer_table *t, struct str name, struct str url) {
    for (size_t i = 0; i < t->n; i++)
        if (t->v[i].keys_url.n > 0 && str_eq(t->v[i].name, name) && str_eq(t->v[i].keys_url, url))
            return &t->v[i];
    return NULL;
}

static void keys_inherit(struct issuer_table *from, struct issuer_table *to) {
    for (size_t i = 0; i < to->n; i++) {
        struct issuer *is = &to->v[i], *old = source_find(from, is->name, is->keys_url);
        if (!old || !old->keys) continue;
        is->keys = old->keys;
        is->keys->refs++;
    }
}

int http_issuers_read(struct http_issuers *s, struct str text,
                      const struct http_issuer_files *files, struct wopr_error *err) {
    struct issuer_table *t;
    int rc = issuer_table_read(text, files, &t, err);
    if (rc != 0) return rc;
    pthread_mutex_lock(&s->mu);
    struct issuer_table *old = s->table;
    keys_inherit(old, t);
    s->table = t;
    table_drop_locked(old);
    pthread_mutex_unlock(&s->mu);
    return 0;
}

int http_issuer_keys_put(struct http_issuers *s, struct str name, struct str url, struct str jwks,
                         struct wopr_error *err) {
    struct issuer_keys *k = MEM_NEW(struct issuer_keys), *old = NULL;
    if (!k) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the keys of an issuer");
    int rc = jwk_set_read(jwks, &k->set, err);
    if (rc != 0) {
        mem_free(k);
        return rc;
    }
    k->refs = 1;
    k->no = issuer_keys_number();
    k->came_ms = clock_mono_ms();
    pthread_mutex_lock(&s->mu);
    struct issuer *is = source_find(s->table, name, url);
    if (is) {
        old = is->keys;
        is->keys = k;
        is->wanted = false;
    }
    pthread_mutex_unlock(&s->mu);
    if (!is) old = k;
    if (old) issuer_keys_drop(s, old);
    return is ? 0 : wopr_error_set(err, WOPR_E_NOT_FOUND, "there is no such issuer any more");
}
