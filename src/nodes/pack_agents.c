/* pack_agents.c: see pack_agents.h. */
#include "nodes/pack_agents.h"

#include "base/map.h"
#include "base/mem.h"
#include "domain/agent_manifest.h"
#include "packs/agents.h"
#include "packs/judge.h"
#include "packs/pins.h"
#include "packs/semver.h"
#include "packs/signing.h"
#include "store/packs.h"

#include <pthread.h>
#include <stdio.h>

#define KEPT_BYTES_MAX ((size_t)16 * 1024 * 1024)
#define KEY_BYTES      (64u + 1 + AGENT_ID_MAX)

struct pack_agents {
    struct store *store;
    pthread_mutex_t mu;   /* of what is kept */
    pthread_mutex_t load; /* one pack is read at a time */
    struct map *kept;     /* "<digest of the pack> <id>" -> struct kept */
    size_t bytes;
};
struct kept {
    struct str text;
    char bytes[];
};

int pack_agents_new(struct store *store, struct pack_agents **out, struct wopr_error *err) {
    struct pack_agents *p = MEM_NEW(struct pack_agents);
    *out = NULL;
    if (p) p->kept = map_new();
    if (!p || !p->kept) {
        mem_free(p);
        return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the agents of packs");
    }
    p->store = store;
    pthread_mutex_init(&p->mu, NULL);
    pthread_mutex_init(&p->load, NULL);
    *out = p;
    return 0;
}

static void kept_free(struct map *m) {
    size_t it = 0;
    void *v;
    while (m && map_next(m, &it, NULL, &v)) mem_free(v);
    map_free(m);
}

void pack_agents_free(struct pack_agents *p) {
    if (!p) return;
    kept_free(p->kept);
    pthread_mutex_destroy(&p->mu);
    pthread_mutex_destroy(&p->load);
    mem_free(p);
}

/* --- what is kept --- */

static bool kept_find(struct pack_agents *p, struct str key, struct arena *a, struct str *out) {
    pthread_mutex_lock(&p->mu);
    const struct kept *k = map_get(p->kept, key);
    if (k) *out = arena_str(a, k->text);
    pthread_mutex_unlock(&p->mu);
    return k != NULL;
}

/* Best effort: what is not kept is read again. */
static void kept_add(struct pack_agents *p, struct str key, struct str text) {
    struct kept *k = mem_alloc(sizeof *k + text.n);
    struct map *fresh = NULL;
    void *old = NULL;
    if (!k) return;
    memcpy(k->bytes, text.p, text.n);
    k->text = str_n(k->bytes, text.n);
    pthread_mutex_lock(&p->mu);
    if (p->bytes + text.n > KEPT_BYTES_MAX) fresh = map_new();
    if (fresh) {
        kept_free(p->kept);
        p->kept = fresh;
        p->bytes = 0;
    }
    if (p->bytes + text.n > KEPT_BYTES_MAX || map_put(p->kept, key, k, &old) != 0) mem_free(k);
    else p->bytes += text.n;
    if (old) p->bytes -= ((struct kept *)old)->text.n;
    mem_free(old);
    pthread_mutex_unlock(&p->mu);
}

/* --- which pack it is --- */

/* "vendor.acme.support.tier1" is of vendor.acme.support. */
static struct str pack_of(struct str agent_id) {
    struct str name, word;
    return str_cut_last(agent_id, '.', &name, &word) && pack_name_ok(name) ? name : STR_NONE;
}

static const struct pack_install *pack_agents_newest(const struct pack_installs *all) {
    const struct pack_install *best = NULL;
    struct semver v, most;
    for (size_t i = 0; i < all->n; i++) {
        if (!semver_parse(all->v[i].version, &v)) continue;
        if (best && semver_cmp(&v, &most) <= 0) continue;
        best = &all->v[i];
        most = v;
    }
    return best;
}

/* What the workflow's own pin says; *out NULL: it has none for this pack. */
static int pack_agents_pinned(const struct pack_installs *all, struct str name, struct str pins,
                              struct arena *a, const struct pack_install **out,
                              struct wopr_error *err) {
    const char *key = arena_cstr(a, name);
    struct str pin = key ? json_get(pins, key) : STR_NONE;
    struct str version = json_string(json_get(pin, "version"), a);
    struct str integrity = json_string(json_get(pin, "integrity"), a);
    struct sha256 d;
    *out = NULL;
    if (pin.n == 0) return 0;
    for (size_t i = 0; i < all->n && !*out; i++)
        if (str_eq(all->v[i].version, version)) *out = &all->v[i];
    if (!*out)
        return wopr_error_set(err, WOPR_E_PACK_LOAD,
                              "the workflow is made for version " STR_FMT " of the pack " STR_FMT
                              ", which is not installed here (wopr packs install)",
                              STR_ARG(version), STR_ARG(name));
    if (integrity.n == 0 || (pack_sri_read(integrity, &d) && sha256_eq(&d, &(*out)->digest)))
        return 0;
    return wopr_error_set(err, WOPR_E_PACK_INTEGRITY,
                          "the pack " STR_FMT
                          " that is installed has another digest than the workflow says",
                          STR_ARG(name));
}

/* --- its definition --- */

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for an agent of a pack");
}

struct first_wrong {
    char text[300];
};

static void first_keep(void *ctx, const struct lint_finding *f) {
    struct first_wrong *w = ctx;
    if (f->error && !w->text[0])
        (void)snprintf(w->text, sizeof w->text, "%.80s: %.200s", f->pointer, f->text);
}

/* The same rules as for agents of a workspace; classes and capabilities are those of the install
 * (AGT-43, AGT-44). */
static int definition_judge(struct str definition, struct str pack, struct arena *a,
                            struct wopr_error *err) {
    const struct agent_rules rules = {.pack = pack, .long_term = true};
    struct agent_judgement sum;
    struct first_wrong wrong = {{0}};
    int rc = agent_judge(definition, &rules, first_keep, &wrong, a, &sum, err);
    if (rc != 0 || sum.errors == 0) return rc;
    return wopr_error_set(err, WOPR_E_PACK_LOAD,
                          "the agent " STR_FMT " of the pack " STR_FMT " cannot be used: %s",
                          STR_ARG(sum.agent_id), STR_ARG(pack), wrong.text);
}

/* work is for all that is in a tarball, a for what is left of it. */
static int definition_load(struct pack_agents *p, const struct pack_install *i, struct str id,
                           struct arena *work, struct arena *a, struct str *out,
                           struct wopr_error *err) {
    struct str manifest, text;
    struct buf tarball;
    int rc = pack_agent_find(json_get(i->manifest, "agents"), id, work, &manifest, err);
    *out = STR_NONE;
    if (rc != 0 || manifest.n == 0) return rc;
    buf_init(&tarball, PACK_TARBALL_BYTES_MAX);
    rc = store_pack_blob(p->store, &i->digest, &tarball, err);
    if (rc == 0) rc = pack_agent_definition(buf_str(&tarball), manifest, work, &text, err);
    if (rc == 0) rc = definition_judge(text, i->name, work, err);
    if (rc == 0) *out = arena_str(a, text);
    if (rc == 0 && !out->p) rc = no_memory(err);
    buf_fini(&tarball);
    return rc;
}

static int definition_get(struct pack_agents *p, const struct pack_install *i, struct str id,
                          struct arena *a, struct str *out, struct wopr_error *err) {
    char hex[65], key[KEY_BYTES + 1];
    sha256_hex(&i->digest, hex);
    (void)snprintf(key, sizeof key, "%s " STR_FMT, hex, STR_ARG(id));
    if (kept_find(p, str_c(key), a, out)) return out->p ? 0 : no_memory(err);
    struct arena *work = arena_new(PACK_ARENA_MAX);
    if (!work) return no_memory(err);
    pthread_mutex_lock(&p->load);
    int rc = definition_load(p, i, id, work, a, out, err);
    pthread_mutex_unlock(&p->load);
    arena_free(work);
    if (rc == 0 && out->n > 0) kept_add(p, str_c(key), *out);
    return rc;
}

static int of_pack(void *ctx, struct str tenant, struct str id, struct str pins, struct arena *a,
                   struct str *out, struct wopr_error *err) {
    struct pack_agents *p = ctx;
    struct pack_installs all = {NULL, 0};
    const struct pack_install *i = NULL;
    struct str name = pack_of(id);
    *out = STR_NONE;
    if (name.n == 0) return 0;
    int rc = store_pack_installs_of(p->store, tenant, name, a, &all, err);
    if (rc == 0) rc = pack_agents_pinned(&all, name, pins, a, &i, err);
    if (rc != 0) return rc;
    const bool chosen = i != NULL;
    if (!chosen) i = pack_agents_newest(&all);
    if (i) rc = definition_get(p, i, id, a, out, err);
    if (rc == 0 && chosen && out->n == 0)
        rc = wopr_error_set(err, WOPR_E_PACK_LOAD,
                            "version " STR_FMT " of the pack " STR_FMT
                            ", which the workflow is made for, has no agent " STR_FMT,
                            STR_ARG(i->version), STR_ARG(name), STR_ARG(id));
    return rc;
}

struct engine_agents pack_agents_hook(struct pack_agents *p) {
    return (struct engine_agents){.ctx = p, .of_pack = of_pack};
}
