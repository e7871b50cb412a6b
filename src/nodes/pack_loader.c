/* pack_loader.c: which pack has a type, and what was loaded of it; see pack_loader.h. */
#include "nodes/pack_loader.h"

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "codec/jobj.h"
#include "nodes/pack_types.h"
#include "packs/judge.h"
#include "packs/name.h"
#include "packs/pins.h"
#include "packs/semver.h"
#include "store/packs.h"

#include <stdio.h>

#define INDEX_ARENA_MAX (64u * 1024 * 1024)
#define PINS_ARENA_MAX  (16u * 1024 * 1024) /* of 256 pins, with the node types of their packs */
#define LOAD_TRIES      3                   /* of a module whose worker ends */
#define INDEX_MS        500u
#define INDEXES_MAX     1000u                /* tenants that are remembered, */
#define INDEXES_BYTES   (128u * 1024 * 1024) /* and what their indexes may take together */

struct offer { /* a type of an installed pack */
    struct str type_id, name, version;
    struct sha256 pack;
    const struct offer *next; /* of the same type */
};
struct type_index { /* what a tenant has installed */
    char *tenant;
    uint64_t made_ms;
    struct arena *a;
    struct pack_installs installs;
    struct offer *v;
    size_t n;
    struct map *by_type; /* the last offer of each */
};
struct loaded { /* a pack, by its digest; kept until the end */
    char hex[65], module[SANDBOX_DIGEST + 1];
    struct sha256 pack;
    struct str entry; /* the file with the module; set with module */
    int rc;           /* why it cannot be used */
    char why[512];
    struct arena *a;
    struct pack_types_made types;
};
struct pack_loader {
    struct store *store;
    struct sandbox *sandbox;       /* NULL: no modules */
    const struct remotes *remotes; /* NULL: whether there is a server for a pack is not looked at */
    struct manifest_rules *rules;
    pthread_mutex_t mu;     /* of the maps */
    pthread_mutex_t load;   /* one pack is loaded at a time */
    struct map *indexes;    /* by tenant */
    size_t indexes_bytes;   /* of their arenas */
    struct map *loaded;     /* by hex */
    struct loaded *loading; /* has its module, and is not among those yet; NULL: none */
};

static sandbox_source_fn module_again;

int pack_loader_new(const struct pack_loader_config *cfg, struct pack_loader **out,
                    struct wopr_error *err) {
    struct pack_loader *p = MEM_NEW(struct pack_loader);
    *out = NULL;
    if (!p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for packs");
    p->store = cfg->store;
    p->sandbox = cfg->sandbox;
    p->remotes = cfg->remotes;
    pthread_mutex_init(&p->mu, NULL);
    pthread_mutex_init(&p->load, NULL);
    p->indexes = map_new();
    p->loaded = map_new();
    if (p->indexes && p->loaded) {
        if (p->sandbox) sandbox_source(p->sandbox, module_again, p);
        *out = p;
        return 0;
    }
    pack_loader_free(p);
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for packs");
}

static void index_free(struct type_index *x) {
    if (!x) return;
    mem_free(x->tenant);
    map_free(x->by_type);
    arena_free(x->a);
    mem_free(x);
}

static void loaded_free(struct loaded *l) {
    if (!l) return;
    arena_free(l->a);
    mem_free(l);
}

void pack_loader_free(struct pack_loader *p) {
    size_t it = 0;
    void *v;
    if (!p) return;
    if (p->sandbox) sandbox_source(p->sandbox, NULL, NULL);
    while (p->indexes && map_next(p->indexes, &it, NULL, &v)) index_free(v);
    it = 0;
    while (p->loaded && map_next(p->loaded, &it, NULL, &v)) {
        struct loaded *l = v;
        if (l->module[0]) sandbox_drop(p->sandbox, l->module);
        loaded_free(l);
    }
    map_free(p->indexes);
    map_free(p->loaded);
    manifest_rules_free(p->rules);
    pthread_mutex_destroy(&p->mu);
    pthread_mutex_destroy(&p->load);
    mem_free(p);
}

/* --- what is installed --- */

static bool offers_add(struct type_index *x, const struct pack_install *i, size_t *n) {
    struct json_elements nodes = {0};
    struct str raw = json_get(i->manifest, "nodes");
    if (raw.n == 0 || json_elements(raw, x->a, &nodes, NULL) != 0) return !arena_failed(x->a);
    for (size_t k = 0; k < nodes.n; k++, (*n)++) {
        if (!x->v) continue;
        x->v[*n] = (struct offer){json_string(json_get(nodes.v[k], "typeId"), x->a), i->name,
                                  i->version, i->digest, NULL};
    }
    return !arena_failed(x->a);
}

static bool offers_index(struct type_index *x) {
    bool ok = (x->by_type = map_new()) != NULL;
    for (size_t i = 0; ok && i < x->n; i++) {
        x->v[i].next = map_get(x->by_type, x->v[i].type_id);
        ok = map_put(x->by_type, x->v[i].type_id, &x->v[i], NULL) == 0;
    }
    return ok;
}

static int index_make(struct pack_loader *p, struct str tenant, struct type_index **out,
                      struct wopr_error *err) {
    struct type_index *x = MEM_NEW(struct type_index);
    int rc = WOPR_E_NO_MEMORY;
    if (x) {
        x->made_ms = clock_mono_ms();
        x->tenant = mem_strndup(tenant.n > 0 ? tenant.p : "", tenant.n);
        x->a = arena_new(INDEX_ARENA_MAX);
    }
    if (x && x->tenant && x->a)
        rc = store_pack_installs(p->store, tenant, false, x->a, &x->installs, err);
    for (int pass = 0; rc == 0 && pass < 2; pass++) { /* count, then fill */
        size_t n = 0;
        for (size_t i = 0; rc == 0 && i < x->installs.n; i++)
            if (!offers_add(x, &x->installs.v[i], &n)) rc = WOPR_E_NO_MEMORY;
        if (rc == 0 && pass == 0) x->v = ARENA_ARRAY(x->a, struct offer, n + 1);
        if (rc == 0 && !x->v) rc = WOPR_E_NO_MEMORY;
        x->n = n;
    }
    if (rc == 0 && !offers_index(x)) rc = WOPR_E_NO_MEMORY;
    if (rc == 0) {
        *out = x;
        return 0;
    }
    index_free(x);
    return rc == WOPR_E_NO_MEMORY ? wopr_error_set(err, rc, "no memory for installed packs") : rc;
}

/* Room for one more of so many bytes: where there is none, all are forgotten. */
static bool indexes_room(struct pack_loader *p, size_t bytes) {
    if (map_count(p->indexes) < INDEXES_MAX && p->indexes_bytes + bytes <= INDEXES_BYTES)
        return true;
    struct map *empty = map_new();
    size_t it = 0;
    void *v;
    if (!empty) return false;
    while (map_next(p->indexes, &it, NULL, &v)) index_free(v);
    map_free(p->indexes);
    p->indexes = empty;
    p->indexes_bytes = 0;
    return true;
}

/* The index of a tenant, at most max_ms old, with p->mu held, which it needs for as long as it is
 * looked at. */
static int index_locked(struct pack_loader *p, struct str tenant, uint64_t max_ms,
                        struct type_index **out, struct wopr_error *err) {
    struct type_index *x = map_get(p->indexes, tenant), *fresh = NULL;
    void *old = NULL;
    *out = x;
    if (x && clock_mono_ms() - x->made_ms < max_ms) return 0;
    pthread_mutex_unlock(&p->mu); /* the store may take its time */
    int rc = index_make(p, tenant, &fresh, err);
    pthread_mutex_lock(&p->mu);
    if (rc != 0) return rc;
    if (!indexes_room(p, arena_used(fresh->a)) || map_put(p->indexes, tenant, fresh, &old) != 0) {
        index_free(fresh);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for installed packs");
    }
    p->indexes_bytes += arena_used(fresh->a);
    if (old) p->indexes_bytes -= arena_used(((struct type_index *)old)->a);
    index_free(old);
    *out = fresh;
    return 0;
}

/* --- which one it is --- */

static bool pinned_otherwise(const struct offer *o, const struct json_members *pins,
                             struct arena *a) {
    for (size_t i = 0; i < pins->n; i++)
        if (str_eq(pins->v[i].key, o->name))
            return !pack_pin_takes(pins->v[i].raw, o->version, &o->pack, a);
    return false;
}

static bool pack_loader_higher(const struct offer *a, const struct offer *b) {
    struct semver va, vb;
    return semver_parse(a->version, &va) && semver_parse(b->version, &vb) &&
           semver_cmp(&va, &vb) > 0;
}

static const struct offer *offer_find(const struct type_index *x, struct str type_id,
                                      const struct json_members *pins, struct arena *a) {
    const struct offer *best = NULL;
    for (const struct offer *o = map_get(x->by_type, type_id); o; o = o->next) {
        if (pinned_otherwise(o, pins, a)) continue;
        if (!best || pack_loader_higher(o, best)) best = o;
    }
    return best;
}

/* --- loading --- */

/* A worker may have been ended for want of memory; one that ends each time is ended by the module,
 * and nobody is to try that for ever. */
static int module_ask(struct sandbox *sandbox, const char *module, struct arena *a, struct str *out,
                      struct wopr_error *err) {
    const struct sandbox_request r = {.module = str_c(module), .message = STR("{}")};
    struct buf report;
    buf_init(&report, 1024u * 1024);
    bool ended; /* not one that could not be started, or had no room: that passes */
    int rc = sandbox_ask(sandbox, &r, &report, &ended, err);
    for (int again = 1; ended && again < LOAD_TRIES; again++)
        rc = sandbox_ask(sandbox, &r, &report, &ended, err);
    if (ended)
        rc = wopr_error_set(err, WOPR_E_PACK_LOAD,
                            "the process that loads the module of the pack ends each time");
    if (rc == 0) *out = arena_str(a, buf_str(&report));
    if (rc == 0 && !out->p) rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a pack");
    buf_fini(&report);
    return rc;
}

/* module: its digest, once it is kept; a remote pack has none. */
static int module_keep(struct sandbox *sandbox, const struct pack_judged *j,
                       char module[SANDBOX_DIGEST + 1], struct wopr_error *err) {
    if (j->manifest.language == PACK_LANG_REMOTE) return 0;
    if (j->manifest.language == PACK_LANG_WASM && sandbox)
        return sandbox_keep(sandbox, j->entry, module, err);
    return wopr_error_set(err, WOPR_E_PACK_RUNTIME,
                          "this host does not execute the language of the pack");
}

static int types_make(struct sandbox *sandbox, const struct pack_judged *j, const char *module,
                      struct arena *a, struct pack_types_made *out, struct wopr_error *err) {
    struct str report = STR_NONE;
    if (j->manifest.language == PACK_LANG_REMOTE)
        return pack_types_remote(&j->manifest, a, out, err);
    int rc = module_ask(sandbox, module, a, &report, err);
    if (rc == 0)
        rc = pack_types_wasm(&j->manifest, report, module, sandbox_limits(sandbox), a, out, err);
    return rc;
}

int pack_loader_try(struct sandbox *sandbox, const struct pack_judged *j, struct arena *a,
                    struct wopr_error *err) {
    struct pack_types_made made = {0};
    char module[SANDBOX_DIGEST + 1] = "";
    int rc = module_keep(sandbox, j, module, err);
    if (rc == 0) rc = types_make(sandbox, j, module, a, &made, err);
    if (module[0]) sandbox_drop(sandbox, module);
    return rc;
}

/* Runs that have begun go on: what is recorded is replayed without the module, and what has to be
 * executed says why it cannot. */
static void types_name(struct pack_loader *p, struct loaded *l, const struct pack_judged *j) {
    const struct sandbox_limits none = {.time_ms_max = 0};
    struct pack_types_made made = {0};
    if (j->manifest.language != PACK_LANG_WASM) return;
    if (pack_types_named(&j->manifest, l->module, p->sandbox ? sandbox_limits(p->sandbox) : none,
                         l->a, &made, NULL) == 0)
        l->types = made;
}

static int tarball_read(struct pack_loader *p, const struct sha256 *pack, struct buf *out,
                        struct wopr_error *err) {
    int rc = store_pack_blob(p->store, pack, out, err);
    if (rc == WOPR_E_CORRUPT || rc == WOPR_E_NOT_FOUND)
        return wopr_error_set(err, WOPR_E_PACK_INTEGRITY,
                              "the bytes of the installed pack are damaged in the database, or "
                              "gone from it; remove it and install it again");
    return rc;
}

/* From now on the module can be read again. */
static int loading_begin(struct pack_loader *p, struct loaded *l, const struct pack_judged *j,
                         struct wopr_error *err) {
    if (l->module[0] == '\0') return 0;
    l->entry = arena_str(l->a, j->manifest.entry);
    if (!l->entry.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a pack");
    pthread_mutex_lock(&p->mu);
    p->loading = l;
    pthread_mutex_unlock(&p->mu);
    return 0;
}

static int judged_load(struct pack_loader *p, struct loaded *l, struct wopr_error *err) {
    const struct pack_expect expect = {.entry = true, .consumed = true};
    struct pack_judged j = {0};
    struct buf tarball;
    struct arena *a = arena_new(PACK_ARENA_MAX);
    buf_init(&tarball, PACK_TARBALL_BYTES_MAX);
    int rc = a ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a pack");
    if (rc == 0 && !p->rules) rc = manifest_rules_new(&p->rules, err);
    if (rc == 0) rc = tarball_read(p, &l->pack, &tarball, err);
    if (rc == 0) rc = pack_judge(p->rules, buf_str(&tarball), &expect, a, &j, err);
    if (rc == 0) {
        rc = module_keep(p->sandbox, &j, l->module, err);
        if (rc == 0) rc = loading_begin(p, l, &j, err);
        if (rc == 0) rc = types_make(p->sandbox, &j, l->module, l->a, &l->types, err);
        if (rc == WOPR_E_PACK_LOAD || rc == WOPR_E_PACK_RUNTIME) types_name(p, l, &j);
    }
    buf_fini(&tarball);
    arena_free(a);
    return rc;
}

static struct loaded *loaded_find(struct pack_loader *p, const char *hex) {
    pthread_mutex_lock(&p->mu);
    struct loaded *l = map_get(p->loaded, str_c(hex));
    pthread_mutex_unlock(&p->mu);
    return l;
}

/* Load it, and remember what came of it, unless it may be otherwise another time: then NULL. */
static struct loaded *loaded_make(struct pack_loader *p, const struct sha256 *digest,
                                  const char *hex, struct wopr_error *why) {
    struct loaded *l = MEM_NEW(struct loaded);
    wopr_error_set(why, WOPR_E_NO_MEMORY, "no memory for a pack");
    if (!l) return NULL;
    memcpy(l->hex, hex, sizeof l->hex);
    l->pack = *digest;
    l->a = arena_new(8u * 1024 * 1024);
    l->rc = l->a ? judged_load(p, l, why) : WOPR_E_NO_MEMORY;
    if (l->rc != 0) snprintf(l->why, sizeof l->why, "%s", why->message);
    pthread_mutex_lock(&p->mu);
    bool stays = !wopr_err_passes(l->rc) && l->rc != WOPR_E_PACK_INTEGRITY; /* may be mended */
    bool kept = stays && map_put(p->loaded, str_c(l->hex), l, NULL) == 0;
    p->loading = NULL;
    pthread_mutex_unlock(&p->mu);
    if (kept) return l;
    if (l->rc == 0) wopr_error_set(why, WOPR_E_NO_MEMORY, "no memory for a pack");
    if (l->module[0]) sandbox_drop(p->sandbox, l->module);
    loaded_free(l);
    return NULL;
}

/* The pack of this digest; begun: also one that cannot be loaded, whose types are known.  Who asks
 * for one that is loaded waits for no other. */
static struct loaded *loaded_get(struct pack_loader *p, const struct sha256 *digest, bool begun,
                                 struct wopr_error *err) {
    struct wopr_error why = {0};
    char hex[65];
    sha256_hex(digest, hex);
    struct loaded *l = loaded_find(p, hex);
    if (!l) {
        pthread_mutex_lock(&p->load);
        l = loaded_find(p, hex);
        if (!l) l = loaded_make(p, digest, hex, &why);
        pthread_mutex_unlock(&p->load);
    }
    if (l && (l->rc == 0 || (begun && l->types.n > 0))) return l;
    if (l) wopr_error_set(err, l->rc, "%s", l->why);
    else wopr_error_set(err, why.code, "%s", why.message);
    return NULL;
}

/* --- for the sandbox --- */

struct module_home { /* a pack, and its file that is the module */
    struct sha256 pack;
    char entry[PACK_FILE_NAME_MAX];
    size_t entry_n;
};

/* The nth pack that has this module: of one module several versions may be made, and the bytes of
 * one of them be damaged. */
static bool module_home_find(struct pack_loader *p, const char *module, size_t nth,
                             struct module_home *out) {
    const struct loaded *found = NULL;
    size_t it = 0;
    void *v;
    pthread_mutex_lock(&p->mu);
    const struct loaded *l = p->loading;
    do {
        if (l && strcmp(l->module, module) == 0 && l->entry.n <= sizeof out->entry && nth-- == 0)
            found = l;
        l = !found && map_next(p->loaded, &it, NULL, &v) ? v : NULL;
    } while (l);
    if (found) {
        out->pack = found->pack;
        out->entry_n = found->entry.n;
        memcpy(out->entry, found->entry.p, found->entry.n);
    }
    pthread_mutex_unlock(&p->mu);
    return found != NULL;
}

/* The tarball was judged when it was loaded, and has the digest that it had. */
static int module_unpack(struct pack_loader *p, const struct module_home *home, struct buf *out,
                         struct wopr_error *err) {
    struct buf tarball;
    buf_init(&tarball, PACK_TARBALL_BYTES_MAX);
    int rc = tarball_read(p, &home->pack, &tarball, err);
    if (rc == 0)
        rc = pack_file_read(buf_str(&tarball), str_n(home->entry, home->entry_n), out, err);
    buf_fini(&tarball);
    return rc;
}

static int module_again(void *ctx, const char *module, struct buf *out, struct wopr_error *err) {
    struct pack_loader *p = ctx;
    struct module_home home;
    int rc = wopr_error_set(err, WOPR_E_PACK_LOAD, "no pack that is loaded here has the module");
    for (size_t nth = 0; module_home_find(p, module, nth, &home); nth++) {
        buf_reset(out);
        rc = module_unpack(p, &home, out, err);
        if (rc == 0 || wopr_err_passes(rc)) break;
    }
    return rc;
}

/* --- for the engine --- */

/* It can be loaded, and the tenant may use what it needs. */
static int pack_loader_usable(struct pack_loader *p, const struct sha256 *pack, struct str tenant,
                              struct wopr_error *err) {
    struct wopr_error why = {0};
    const struct loaded *l = loaded_get(p, pack, false, &why);
    if (!l) return wopr_error_set(err, why.code, "%s", why.message);
    struct str server = l->types.server;
    if (server.n == 0 || !p->remotes || remote_find(p->remotes, REMOTE_MCP, server, tenant))
        return 0;
    return wopr_error_set(err, WOPR_E_PACK_LOAD,
                          "the nodes of the pack are tools of an MCP server that the operator has "
                          "not named for this tenant (--mcp-servers); runtime.entry of the pack is "
                          "its URL");
}

/* Which installed packs have the types; the pins of the definition must hold, if need be against
 * what is installed by now.  p->mu is held. */
static int offers_choose(struct pack_loader *p, struct str tenant, struct engine_type_ask *types,
                         size_t types_nr, struct str definition, bool anew, struct arena *a,
                         struct wopr_error *err) {
    struct json_members m = {0};
    struct type_index *x = NULL;
    struct str pins = json_get(definition, "packs");
    int rc = 0, tries = pins.n > 0 ? 2 : 1;
    do {
        rc = index_locked(p, tenant, rc == 0 && !anew ? INDEX_MS : 0, &x, err);
        if (rc == 0) rc = pack_pins_hold(&x->installs, definition, PACK_LANGUAGES_HERE, a, err);
    } while (rc != 0 && !wopr_err_passes(rc) && --tries > 0);
    if (rc == 0 && pins.n > 0) rc = json_members(pins, a, &m, err);
    for (size_t i = 0; rc == 0 && i < types_nr; i++) {
        const struct offer *o = offer_find(x, types[i].type_id, &m, a);
        types[i].found = o != NULL;
        if (o) types[i].pack = o->pack;
    }
    return rc;
}

static int pack_loader_resolve(void *ctx, struct str tenant, struct engine_type_ask *types,
                               size_t types_nr, struct str definition, bool anew, size_t *wrong,
                               struct wopr_error *err) {
    struct pack_loader *p = ctx;
    struct arena *a = arena_new(PINS_ARENA_MAX);
    *wrong = 0;
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to look up a pack");
    pthread_mutex_lock(&p->mu);
    int rc = offers_choose(p, tenant, types, types_nr, definition, anew, a, err);
    pthread_mutex_unlock(&p->mu);
    arena_free(a);
    for (size_t i = 0; rc == 0 && i < types_nr; i++) {
        if (!types[i].found) continue;
        rc = pack_loader_usable(p, &types[i].pack, tenant, err);
        if (rc != 0) *wrong = i;
    }
    return rc;
}

static const struct node_type *pack_loader_type(void *ctx, const struct sha256 *pack,
                                                struct str type_id, struct wopr_error *err) {
    struct loaded *l = loaded_get(ctx, pack, true, err);
    for (size_t i = 0; l && i < l->types.n; i++)
        if (str_eqc(type_id, l->types.v[i].type_id)) return &l->types.v[i];
    if (l) wopr_error_set(err, WOPR_E_PACK_LOAD, "the pack of the run has no such type");
    return NULL;
}

bool pack_loader_has(struct pack_loader *p, struct str tenant, struct str type_id) {
    struct engine_type_ask q = {.type_id = type_id};
    struct wopr_error err = {0};
    size_t wrong;
    return pack_loader_resolve(p, tenant, &q, 1, STR_NONE, false, &wrong, &err) == 0 && q.found;
}

struct engine_modules pack_loader_modules(struct pack_loader *p) {
    return (struct engine_modules){
        .ctx = p, .resolve = pack_loader_resolve, .type = pack_loader_type};
}
