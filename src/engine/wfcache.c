/*
 * wfcache.c: compiled workflows by hash.  The store's row maps an id to a hash, and a hash
 * determines the text, so an entry never grows stale.
 */
#include "engine/wfcache.h"

#include "base/mem.h"
#include "engine/registry.h"
#include "engine/task_type.h"
#include "store/workflows.h"

#define ENGINE_WF_CACHE_MAX 1024u
#define WFCACHE_ARENA_MAX   (64u * 1024 * 1024)

static struct str hash_key(const struct sha256 *h) {
    return str_n((const char *)h->b, sizeof h->b);
}

static struct workflow *cache_find(struct engine *e, const struct sha256 *hash, bool *types_known,
                                   bool *workers) {
    struct workflow *wf = NULL;
    pthread_mutex_lock(&e->wfcache.mu);
    struct wf_entry *x = map_get(e->wfcache.by_hash, hash_key(hash));
    if (x) {
        wf = workflow_ref(x->wf);
        *types_known = x->types_known;
        *workers = x->workers;
    }
    pthread_mutex_unlock(&e->wfcache.mu);
    return wf;
}

static void cache_empty_locked(struct engine *e) {
    struct str key;
    void *value;
    size_t it = 0;
    while (map_next(e->wfcache.by_hash, &it, &key, &value)) {
        workflow_unref(((struct wf_entry *)value)->wf);
        mem_free(value);
    }
    map_free(e->wfcache.by_hash);
    e->wfcache.by_hash = NULL;
}

static bool types_of_workers(struct engine *e, const struct workflow *wf) {
    bool any = false;
    for (size_t i = 0; i < wf->nodes_nr && !any; i++)
        any = !node_registry_find(e->types, wf->nodes[i].type_id);
    return any;
}

/* Keeps its own reference; without memory the workflow is compiled again next time. */
static void cache_keep(struct engine *e, const struct sha256 *hash, struct workflow *wf,
                       bool types_known) {
    pthread_mutex_lock(&e->wfcache.mu);
    struct wf_entry *x = map_get(e->wfcache.by_hash, hash_key(hash));
    if (x) {
        x->types_known |= types_known;
    } else {
        if (map_count(e->wfcache.by_hash) >= ENGINE_WF_CACHE_MAX) {
            struct map *fresh = map_new();
            if (fresh) {
                cache_empty_locked(e);
                e->wfcache.by_hash = fresh;
            }
        }
        x = MEM_NEW(struct wf_entry);
        if (x && map_count(e->wfcache.by_hash) < ENGINE_WF_CACHE_MAX &&
            map_put(e->wfcache.by_hash, hash_key(hash), x, NULL) == 0) {
            x->wf = workflow_ref(wf);
            x->types_known = types_known;
            x->workers = types_of_workers(e, wf);
        } else {
            mem_free(x);
        }
    }
    pthread_mutex_unlock(&e->wfcache.mu);
}

/* NODE-3 at creation, WRK-4: every type of the definition has an executor here, or is registered by
 * workers of the tenant. */
static int types_check(struct engine *e, struct str tenant, bool test_mode,
                       const struct workflow *wf, struct wopr_error *err) {
    if (wf->program) return 0; /* no executor is entered */
    for (size_t i = 0; i < wf->nodes_nr; i++) {
        bool known;
        struct str id = wf->nodes[i].type_id;
        int rc = task_type_known(e, tenant, test_mode, id, &known, err);
        if (rc != 0) return rc;
        if (!known) return registry_unserved(i, id, err);
    }
    return 0;
}

static int workflow_find(struct engine *e, struct str tenant, bool test_mode,
                         struct str workflow_id, bool here, struct workflow **out,
                         struct wopr_error *err) {
    struct workflow_row row;
    struct workflow *wf = NULL;
    bool types_known = false, workers = false;
    struct wf_env env = e->wf_env;
    struct arena *a = arena_new(WFCACHE_ARENA_MAX);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to look up a workflow");
    int rc = store_workflow_get(e->store, tenant, test_mode, workflow_id, a, &row, err);
    if (rc == 0) wf = cache_find(e, &row.hash, &types_known, &workers);
    env.knows_type = NULL;         /* types_check says it better */
    if (rc == 0 && !types_known) { /* new runs need a check that existing ones did not */
        workflow_unref(wf);
        wf = NULL;
        rc = here ? WOPR_E_TOO_BIG : workflow_compile(row.text, &env, &wf, err);
        if (rc == 0) cache_keep(e, &row.hash, wf, true);
        workers = true;
    }
    if (rc == 0 && workers) rc = types_check(e, tenant, test_mode, wf, err);
    arena_free(a);
    if (rc == 0) {
        *out = wf;
        return 0;
    }
    workflow_unref(wf);
    return rc;
}

int engine_workflow(struct engine *e, struct str tenant, bool test_mode, struct str workflow_id,
                    struct workflow **out, struct wopr_error *err) {
    return workflow_find(e, tenant, test_mode, workflow_id, false, out, err);
}

int engine_workflow_here(struct engine *e, struct str tenant, bool test_mode,
                         struct str workflow_id, struct workflow **out, struct wopr_error *err) {
    return workflow_find(e, tenant, test_mode, workflow_id, true, out, err);
}

/* For existing runs: a type that was removed since is reported at its node (NODE-3), not here. */
int wfcache_by_hash(struct engine *e, const struct sha256 *hash, struct arena *a,
                    struct workflow **out, struct wopr_error *err) {
    bool types_known, workers;
    struct str text;
    struct wf_env env = {
        .accepted = true, .dialects = e->wf_env.dialects, .dialects_nr = e->wf_env.dialects_nr};
    struct workflow *wf = cache_find(e, hash, &types_known, &workers);
    if (!wf) {
        int rc = store_workflow_by_hash(e->store, hash, a, &text, err);
        if (rc == 0) rc = workflow_compile(text, &env, &wf, err);
        if (rc != 0) return rc;
        cache_keep(e, hash, wf, false);
    }
    *out = wf;
    return 0;
}

void wfcache_free(struct engine *e) {
    if (e->wfcache.by_hash) cache_empty_locked(e);
}
