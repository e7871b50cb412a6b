/* module_type.c: see module_type.h. */
#include "engine/module_type.h"

#include "base/map.h"
#include "codec/bytes.h"
#include "codec/ident.h"
#include "codec/jobj.h"
#include "engine/registry.h"
#include "store/tasks.h"

#include <stdio.h>

#define MODULES_MAX    (256u * 1024)
#define TYPE_ARENA_MAX (4u * 1024 * 1024)

static bool packs_there(const struct engine *e) { return e->cfg.modules.resolve != NULL; }

int module_type_known(struct engine *e, struct str tenant, struct str type_id, bool anew,
                      bool *known, struct wopr_error *err) {
    const struct engine_modules *m = &e->cfg.modules;
    struct engine_type_ask q = {.type_id = type_id};
    size_t wrong;
    int rc = packs_there(e) ? m->resolve(m->ctx, tenant, &q, 1, STR_NONE, anew, &wrong, err) : 0;
    *known = rc == 0 && q.found;
    return rc;
}

int worker_type_known(struct engine *e, struct str tenant, bool test_mode, struct str type_id,
                      bool *known, struct wopr_error *err) {
    struct worker_type t;
    struct arena *a = arena_new(TYPE_ARENA_MAX);
    if (!a) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to look up a type");
    int rc = store_worker_type_get(e->store, tenant, test_mode, type_id, a, &t, err);
    arena_free(a);
    *known = rc == 0;
    return rc == WOPR_E_NOT_FOUND ? 0 : rc;
}

/* The types that no executor of this program has, each at its first node: a definition may have ten
 * thousand nodes, of as many types. */
struct strangers {
    struct engine_type_ask *v;
    size_t *at; /* nodes */
    size_t n;
};

static bool stranger_add(struct strangers *l, struct map **seen, const struct workflow *wf,
                         size_t i, struct arena *a) {
    struct str id = wf->nodes[i].type_id;
    if (!*seen) { /* most definitions have none */
        *seen = map_new();
        l->v = ARENA_ARRAY(a, struct engine_type_ask, wf->nodes_nr);
        l->at = ARENA_ARRAY(a, size_t, wf->nodes_nr);
        if (!*seen || !l->v || !l->at) return false;
    }
    if (map_get(*seen, id)) return true;
    l->v[l->n] = (struct engine_type_ask){.type_id = id};
    l->at[l->n++] = i;
    return map_put(*seen, id, &wf->nodes[i], NULL) == 0;
}

static int strangers_of(const struct workflow *wf, const struct node_registry *types,
                        struct arena *a, struct strangers *out, struct wopr_error *err) {
    struct map *seen = NULL;
    bool ok = true;
    *out = (struct strangers){.n = 0};
    for (size_t i = 0; ok && i < wf->nodes_nr; i++)
        if (!node_registry_find(types, wf->nodes[i].type_id))
            ok = stranger_add(out, &seen, wf, i, a);
    map_free(seen);
    return ok ? 0 : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to look up packs");
}

/* The members of a definition that choose packs, so that a long one is searched once.  .p NULL: no
 * memory. */
static struct str pins_of(const struct workflow *wf, struct arena *a) {
    struct str packs = json_get(wf->text, "packs"), engines = json_get(wf->text, "engines");
    struct jobj o;
    if (packs.n == 0 && engines.n == 0) return STR("");
    jobj_begin(&o, JSON_LIMITS_STORED.bytes_max);
    jw_kraw_opt(&o.w, "packs", packs);
    jw_kraw_opt(&o.w, "engines", engines);
    return jobj_end(&o, a);
}

static int strangers_resolve(const struct engine_modules *m, struct str tenant,
                             const struct workflow *wf, struct strangers *all, bool anew,
                             struct arena *a, size_t *wrong, struct wopr_error *err) {
    struct str pins = pins_of(wf, a);
    *wrong = 0;
    if (!pins.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to look up packs");
    return m->resolve(m->ctx, tenant, all->v, all->n, pins, anew, wrong, err);
}

int engine_modules_check(const struct engine_modules *m, const struct node_registry *types,
                         struct str tenant, const struct workflow *wf, struct arena *a,
                         struct wopr_error *err) {
    struct wopr_error why = {0};
    struct strangers all;
    char at[48];
    size_t wrong;
    int rc = strangers_of(wf, types, a, &all, err);
    if (rc != 0 || all.n == 0) return rc;
    rc = strangers_resolve(m, tenant, wf, &all, true, a, &wrong, &why);
    if (rc == 0) return 0;
    (void)snprintf(at, sizeof at, "/nodes/%zu/typeId", all.at[wrong]);
    return wopr_error_at(err, rc, why.pointer[0] ? why.pointer : at, "%s", why.message);
}

int engine_packs_check(struct engine *e, struct str tenant, const struct workflow *wf,
                       struct arena *a, struct wopr_error *err) {
    return packs_there(e) ? engine_modules_check(&e->cfg.modules, e->types, tenant, wf, a, err) : 0;
}

/* {type: digest} of those that were found. */
static int strangers_write(const struct strangers *all, struct arena *a, struct str *out,
                           struct wopr_error *err) {
    struct jobj o;
    char hex[65];
    jobj_begin(&o, MODULES_MAX);
    for (size_t i = 0; i < all->n; i++) {
        if (!all->v[i].found) continue;
        sha256_hex(&all->v[i].pack, hex);
        jw_key_str(&o.w, all->v[i].type_id);
        jw_strz(&o.w, hex);
    }
    *out = jobj_end(&o, a);
    if (out->n == 2) *out = STR_NONE; /* all are types of workers */
    else if (!out->p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a run's packs");
    return 0;
}

/* *at: the first that neither a pack has nor workers serve; all->n: there is none. */
static int strangers_lost(struct engine *e, const struct engine_cmd *cmd,
                          const struct strangers *all, size_t *at, struct wopr_error *err) {
    for (*at = 0; *at < all->n; ++*at) {
        bool known = all->v[*at].found;
        int rc = known ? 0
                       : worker_type_known(e, cmd->tenant, cmd->test_mode, all->v[*at].type_id,
                                           &known, err);
        if (rc != 0) return rc;
        if (!known) break;
    }
    return 0;
}

/* As was seen a moment ago, and if that leaves a type to no one, as is installed now.  One look
 * finds all that it finds: a pin on its bytes, which stay, holds whatever is removed afterwards. */
static int strangers_place(struct step *st, const struct engine_cmd *cmd, struct strangers *all,
                           struct wopr_error *err) {
    const struct engine_modules *m = &st->engine->cfg.modules;
    const struct workflow *wf = st->exec->wf;
    size_t wrong, lost = 0;
    int rc = 0;
    for (int anew = 0; rc == 0 && anew < 2 && lost < all->n; anew++) {
        rc = strangers_resolve(m, cmd->tenant, wf, all, anew, st->scratch, &wrong, err);
        if (rc == 0) rc = strangers_lost(st->engine, cmd, all, &lost, err);
    }
    if (rc != 0 || lost == all->n) return rc;
    return registry_unserved(all->at[lost], all->v[lost].type_id, err);
}

int module_types_resolve(struct step *st, const struct engine_cmd *cmd, struct str *out,
                         struct wopr_error *err) {
    const struct workflow *wf = st->exec->wf;
    struct strangers all;
    *out = STR_NONE;
    if (!packs_there(st->engine) || wf->program) return 0;
    int rc = strangers_of(wf, st->engine->types, st->scratch, &all, err);
    if (rc != 0 || all.n == 0) return rc;
    rc = strangers_place(st, cmd, &all, err);
    return rc == 0 ? strangers_write(&all, st->scratch, out, err) : rc;
}

static struct str digest_of(const struct step *st, int node) {
    struct str all = st->state->meta.modules;
    char key[ID_TYPE_MAX + 1];
    struct str id = st->state->wf->nodes[node].type_id;
    if (all.n == 0 || id.n > ID_TYPE_MAX) return STR_NONE;
    memcpy(key, id.p, id.n);
    key[id.n] = '\0';
    struct str raw = json_get(all, key);
    return raw.n == 66 ? str_n(raw.p + 1, 64) : STR_NONE;
}

bool module_type_is(const struct step *st, int node) { return digest_of(st, node).n > 0; }

const struct node_type *module_type_of(struct step *st, int node) {
    const struct engine_modules *m = &st->engine->cfg.modules;
    struct str hex = digest_of(st, node);
    struct wopr_error err = {0};
    struct sha256 pack;
    struct buf b;
    if (hex.n == 0 || !m->type) return NULL;
    buf_init(&b, sizeof pack);
    bool right = hex_decode(hex, &b, NULL) == 0 && b.len == sizeof pack;
    if (right) memcpy(&pack, b.p, sizeof pack);
    buf_fini(&b);
    if (!right) return NULL;
    const struct node_type *t = m->type(m->ctx, &pack, st->state->wf->nodes[node].type_id, &err);
    if (!t && wopr_err_class(err.code) == ERR_RETRY)
        plan_fail(st->plan, err.code, "%s", err.message);
    return t;
}
