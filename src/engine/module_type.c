/* module_type.c: see module_type.h. */
#include "engine/module_type.h"

#include "codec/bytes.h"
#include "codec/ident.h"
#include "codec/jobj.h"
#include "engine/registry.h"

#include <stdio.h>

#define MODULES_MAX (256u * 1024)

static bool packs_there(const struct engine *e) { return e->cfg.modules.resolve != NULL; }

static int module_type_resolve(struct engine *e, struct str tenant, struct str type_id,
                               struct str definition, bool anew, struct sha256 *pack, bool *found,
                               struct wopr_error *err) {
    const struct engine_modules *m = &e->cfg.modules;
    *found = false;
    return packs_there(e) ? m->resolve(m->ctx, tenant, type_id, definition, anew, pack, found, err)
                          : 0;
}

int module_type_known(struct engine *e, struct str tenant, struct str type_id, bool anew,
                      bool *known, struct wopr_error *err) {
    struct sha256 pack;
    return module_type_resolve(e, tenant, type_id, STR_NONE, anew, &pack, known, err);
}

static bool seen_before(const struct workflow *wf, size_t at) {
    for (size_t i = 0; i < at; i++)
        if (str_eq(wf->nodes[i].type_id, wf->nodes[at].type_id)) return true;
    return false;
}

static int module_add(struct step *st, const struct engine_cmd *cmd, struct str type_id,
                      struct str pins, struct jobj *o, struct wopr_error *err) {
    struct sha256 pack;
    char hex[65];
    bool found;
    int rc = module_type_resolve(st->engine, cmd->tenant, type_id, pins, false, &pack, &found, err);
    if (rc != 0 || !found) return rc;
    sha256_hex(&pack, hex);
    jw_key_str(&o->w, type_id);
    jw_strz(&o->w, hex);
    return 0;
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

int engine_modules_check(const struct engine_modules *m, const struct node_registry *types,
                         struct str tenant, const struct workflow *wf, struct arena *a,
                         struct wopr_error *err) {
    char at[48];
    bool anew = true; /* once for all */
    struct str pins = pins_of(wf, a);
    if (!pins.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to look up packs");
    for (size_t i = 0; i < wf->nodes_nr; i++) {
        struct sha256 pack;
        struct wopr_error why = {0};
        bool found;
        if (node_registry_find(types, wf->nodes[i].type_id) || seen_before(wf, i)) continue;
        int rc = m->resolve(m->ctx, tenant, wf->nodes[i].type_id, pins, anew, &pack, &found, &why);
        anew = false;
        if (rc == 0) continue;
        (void)snprintf(at, sizeof at, "/nodes/%zu/typeId", i);
        return wopr_error_at(err, rc, why.pointer[0] ? why.pointer : at, "%s", why.message);
    }
    return 0;
}

int engine_packs_check(struct engine *e, struct str tenant, const struct workflow *wf,
                       struct arena *a, struct wopr_error *err) {
    return packs_there(e) ? engine_modules_check(&e->cfg.modules, e->types, tenant, wf, a, err) : 0;
}

int module_types_resolve(struct step *st, const struct engine_cmd *cmd, struct str *out,
                         struct wopr_error *err) {
    const struct workflow *wf = st->exec->wf;
    struct jobj o;
    size_t others = 0;
    int rc = 0;
    *out = STR_NONE;
    for (size_t i = 0; packs_there(st->engine) && !wf->program && i < wf->nodes_nr; i++)
        others += !node_registry_find(st->engine->types, wf->nodes[i].type_id);
    if (others == 0) return 0;
    struct str pins = pins_of(wf, st->scratch);
    if (!pins.p) return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the packs of a run");
    jobj_begin(&o, MODULES_MAX);
    for (size_t i = 0; rc == 0 && i < wf->nodes_nr; i++)
        if (!node_registry_find(st->engine->types, wf->nodes[i].type_id) && !seen_before(wf, i))
            rc = module_add(st, cmd, wf->nodes[i].type_id, pins, &o, err);
    if (rc != 0) {
        jobj_drop(&o);
        return rc;
    }
    *out = jobj_end(&o, st->scratch);
    if (out->n == 2) *out = STR_NONE; /* all are types of workers */
    else if (!out->p)
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for the packs of a run");
    return rc;
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
