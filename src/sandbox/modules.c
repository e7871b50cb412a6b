/*
 * modules.c: the modules that are kept, and the bytes of those that were used last.  Whoever needs
 * bytes that were given up reads them from the source, one at a time, and does not believe it.
 */
#include "base/map.h"
#include "base/mem.h"
#include "codec/bytes.h"
#include "sandbox/sandbox_int.h"

bool modules_init(struct modules *ms) {
    list_init(&ms->here);
    pthread_mutex_init(&ms->reading, NULL);
    ms->by_digest = map_new();
    return ms->by_digest != NULL;
}

void modules_fini(struct modules *ms) {
    size_t it = 0;
    void *v;
    while (ms->by_digest && map_next(ms->by_digest, &it, NULL, &v)) {
        struct module *m = v;
        mem_free(m->bytes);
        mem_free(m);
    }
    map_free(ms->by_digest);
    pthread_mutex_destroy(&ms->reading);
}

/* --- bytes; the mutex is held --- */

static void module_empty(struct modules *ms, struct module *m) {
    if (!m->bytes) return;
    list_del(&m->here);
    ms->bytes -= m->n;
    mem_free(m->bytes);
    m->bytes = NULL;
}

/* Room for n bytes more, as far as modules can give theirs up.  One that its owner has dropped
 * cannot: the source may not have it any more, and it ends with its last job. */
static void modules_room(struct modules *ms, size_t n) {
    struct list *l = ms->here.next, *next;
    if (!ms->source) return;
    for (; l != &ms->here && ms->bytes + n > SANDBOX_BYTES_MAX; l = next) {
        struct module *m = LIST_ENTRY(l, struct module, here);
        next = l->next;
        if (m->sent == 0 && m->kept > 0) module_empty(ms, m);
    }
}

static void module_fill(struct modules *ms, struct module *m, char *bytes, size_t n) {
    modules_room(ms, n);
    m->bytes = bytes;
    m->n = n;
    ms->bytes += n;
    list_add_tail(&ms->here, &m->here);
}

static void module_touch(struct modules *ms, struct module *m) {
    if (!m->bytes) return;
    list_del(&m->here);
    list_add_tail(&ms->here, &m->here);
}

/* --- modules; the mutex is held --- */

static struct module *module_new(struct modules *ms, const char *digest) {
    struct module *m = MEM_NEW(struct module);
    if (!m) return NULL;
    list_init(&m->here);
    memcpy(m->digest, digest, sizeof m->digest);
    if (map_put(ms->by_digest, str_c(m->digest), m, NULL) == 0) return m;
    mem_free(m);
    return NULL;
}

static void module_end(struct modules *ms, struct module *m) {
    if (m->kept > 0 || m->lent > 0) return;
    (void)map_del(ms->by_digest, str_c(m->digest));
    module_empty(ms, m);
    mem_free(m);
}

struct module *module_lend(struct modules *ms, struct str digest) {
    struct module *m = map_get(ms->by_digest, digest);
    if (!m) return NULL;
    m->lent++;
    module_touch(ms, m);
    return m;
}

void module_return(struct modules *ms, struct module *m) {
    m->lent--;
    module_end(ms, m);
}

/* --- keeping --- */

int sandbox_keep(struct sandbox *s, struct str bytes, char digest[SANDBOX_DIGEST + 1],
                 struct wopr_error *err) {
    if (bytes.n > SANDBOX_MODULE_MAX)
        return wopr_error_set(err, WOPR_E_TOO_BIG, "a module has at most 16 MiB");
    struct modules *ms = &s->modules;
    struct sha256 d = sha256_of(bytes);
    char *own = mem_strndup(bytes.p, bytes.n);
    sha256_hex(&d, digest);
    pthread_mutex_lock(&s->mu);
    struct module *m = map_get(ms->by_digest, str_c(digest));
    if (!m && own) m = module_new(ms, digest);
    if (m && !m->bytes && own) {
        module_fill(ms, m, own, bytes.n);
        own = NULL;
    }
    bool ok = m && m->bytes;
    if (ok) {
        m->kept++;
        module_touch(ms, m);
    }
    pthread_mutex_unlock(&s->mu);
    mem_free(own);
    return ok ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a module");
}

void sandbox_drop(struct sandbox *s, const char *digest) {
    pthread_mutex_lock(&s->mu);
    struct module *m = map_get(s->modules.by_digest, str_c(digest));
    if (m && m->kept > 0) {
        m->kept--;
        module_end(&s->modules, m);
    }
    pthread_mutex_unlock(&s->mu);
}

void sandbox_source(struct sandbox *s, sandbox_source_fn *fn, void *ctx) {
    pthread_mutex_lock(&s->modules.reading);
    pthread_mutex_lock(&s->mu);
    s->modules.source = fn;
    s->modules.source_ctx = ctx;
    modules_room(&s->modules, 0);
    pthread_mutex_unlock(&s->mu);
    pthread_mutex_unlock(&s->modules.reading);
}

/* --- sending --- */

static void module_send(struct module *m, struct str *bytes) {
    m->sent++;
    *bytes = str_n(m->bytes, m->n);
}

/* Has it its bytes?  Then they are held.  *stopping: nothing is read any more. */
static bool module_take(struct sandbox *s, struct module *m, struct str *bytes, bool *stopping) {
    pthread_mutex_lock(&s->mu);
    bool here = m->bytes != NULL;
    *stopping = s->stopping;
    if (here) module_send(m, bytes);
    pthread_mutex_unlock(&s->mu);
    return here;
}

/* What the source has, as bytes of their own. */
static int source_ask(const struct modules *ms, const struct module *m, char **out, size_t *n,
                      struct wopr_error *err) {
    char hex[SANDBOX_DIGEST + 1];
    struct buf b;
    buf_init(&b, SANDBOX_MODULE_MAX);
    int rc = ms->source(ms->source_ctx, m->digest, &b, err);
    if (rc == 0 && buf_failed(&b))
        rc = wopr_error_set(err, buf_over(&b) ? WOPR_E_PACK_INTEGRITY : WOPR_E_NO_MEMORY,
                            "no room for the bytes of a module");
    if (rc == 0) {
        struct sha256 d = sha256_of(buf_str(&b));
        sha256_hex(&d, hex);
        if (strcmp(hex, m->digest) != 0)
            rc = wopr_error_set(err, WOPR_E_PACK_INTEGRITY,
                                "the module that was read again is another one than was loaded; "
                                "remove its pack and install it again");
    }
    if (rc == 0) {
        *n = b.len;
        *out = mem_strndup(b.p ? b.p : "", b.len); /* as long as it is: a buffer doubles */
        if (!*out) rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a module");
    }
    buf_fini(&b);
    return rc;
}

/* reading is held, so the source stays. */
static int module_read(struct sandbox *s, struct module *m, struct str *bytes,
                       struct wopr_error *err) {
    char *own = NULL;
    size_t n = 0;
    if (!s->modules.source)
        return wopr_error_set(err, WOPR_E_UNAVAILABLE,
                              "the module is not in memory, and nothing to read it from is there");
    int rc = source_ask(&s->modules, m, &own, &n, err);
    if (rc != 0) return rc;
    pthread_mutex_lock(&s->mu);
    s->modules.read_nr++;
    if (!m->bytes) { /* it may have been kept again meanwhile */
        module_fill(&s->modules, m, own, n);
        own = NULL;
    }
    module_send(m, bytes);
    pthread_mutex_unlock(&s->mu);
    mem_free(own);
    return 0;
}

int module_hold(struct sandbox *s, struct module *m, struct str *bytes, struct wopr_error *err) {
    bool stopping;
    if (module_take(s, m, bytes, &stopping)) return 0;
    pthread_mutex_lock(&s->modules.reading);
    int rc = 0;
    if (!module_take(s, m, bytes, &stopping))
        rc = stopping ? wopr_error_set(err, WOPR_E_CLOSED, "the host is stopping")
                      : module_read(s, m, bytes, err);
    pthread_mutex_unlock(&s->modules.reading);
    return rc;
}

void module_let(struct sandbox *s, struct module *m) {
    pthread_mutex_lock(&s->mu);
    m->sent--;
    modules_room(&s->modules, 0); /* while many were sent there was none */
    pthread_mutex_unlock(&s->mu);
}
