/*
 * manifest.c: see manifest.h.  First the published schema, then what it cannot say: ranges, names
 * that are one to a reader, agents of this pack, references that stay inside.
 */
#include "packs/manifest.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "codec/fold.h"
#include "domain/published.h"
#include "packs/semver.h"

#include <stdio.h>

#define MANIFEST_URI PUBLISHED_URI "node-pack-manifest.schema.json"

static const struct json_limits LIMITS = {PACK_MANIFEST_BYTES_MAX, 64};
static const char *const LANGUAGES[PACK_LANG_NR] = {"javascript", "python", "go", "wasm", "remote"};

const char *pack_language_name(enum pack_language l) { return LANGUAGES[l]; }

struct manifest_rules {
    struct schema_set *set;
    const struct schema *schema;
};

int manifest_rules_new(struct manifest_rules **out, struct wopr_error *err) {
    struct manifest_rules *r = MEM_NEW(struct manifest_rules);
    if (r) r->set = published_set_new();
    int rc = r && r->set ? schema_compile(r->set, STR(MANIFEST_URI), &r->schema, err)
                         : wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory for a schema");
    if (rc != 0) manifest_rules_free(r);
    else *out = r;
    return rc;
}

void manifest_rules_free(struct manifest_rules *r) {
    if (r) schema_set_free(r->set);
    mem_free(r);
}

/* --- the schema --- */

static int no_memory(struct wopr_error *err) {
    return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to read the manifest");
}

static bool language_read(struct str name, enum pack_language *out) {
    for (int i = 0; i < PACK_LANG_NR; i++)
        if (str_eqc(name, LANGUAGES[i])) {
            *out = (enum pack_language)i;
            return true;
        }
    return false;
}

/* PACK-14: runtime.wasm is the one member beyond the schema, of packs for that runtime: the text
 * without it, or the text itself. */
static struct str wasm_block_drop(struct str text, struct arena *a) {
    struct str runtime = json_get(text, "runtime");
    struct str block = json_get(runtime, "wasm");
    struct json_members all, own;
    struct buf b;
    if (block.n == 0 || json_type_of(block) != JSON_OBJECT ||
        !str_eqc(json_string(json_get(runtime, "language"), a), "wasm"))
        return text;
    if (json_members(text, a, &all, NULL) != 0 || json_members(runtime, a, &own, NULL) != 0)
        return STR_NONE;
    buf_init(&b, 2 * PACK_MANIFEST_BYTES_MAX);
    struct jw w;
    jw_init(&w, &b);
    jw_object(&w);
    for (size_t i = 0; i < all.n; i++) {
        jw_key_str(&w, all.v[i].key);
        if (!str_eqc(all.v[i].key, "runtime")) {
            jw_raw(&w, all.v[i].raw);
            continue;
        }
        jw_object(&w);
        for (size_t k = 0; k < own.n; k++) {
            if (str_eqc(own.v[k].key, "wasm")) continue;
            jw_key_str(&w, own.v[k].key);
            jw_raw(&w, own.v[k].raw);
        }
        jw_end_object(&w);
    }
    jw_end_object(&w);
    struct str out = buf_failed(&b) ? STR_NONE : arena_str(a, buf_str(&b));
    buf_fini(&b);
    return out;
}

static int place_bad(struct wopr_error *err, const char *at, const char *what) {
    return wopr_error_at(err, WOPR_E_PACK_MANIFEST, at, "pack.json%s%s: %s", *at ? " at " : "", at,
                         what);
}

static int engines_bad(struct wopr_error *err) {
    return wopr_error_at(err, WOPR_E_PACK_ENGINES, "/engines/openwop",
                         "pack.json must name the protocol versions it works with as a range, "
                         "like \">=1.0.0 <2.0.0\", in engines.openwop");
}

/* The schema says no; two of its reasons have codes of their own. */
static int schema_refuse(struct str text, const struct schema_issue *issue, struct arena *a,
                         struct wopr_error *err) {
    enum pack_language l;
    struct str engines = json_get(json_get(text, "engines"), "openwop");
    struct str language = json_get(json_get(text, "runtime"), "language");
    if (engines.n == 0 || json_type_of(engines) != JSON_STRING) return engines_bad(err);
    if (language.n > 0 && json_type_of(language) == JSON_STRING &&
        !language_read(json_string(language, a), &l))
        return wopr_error_at(
            err, WOPR_E_PACK_RUNTIME, "/runtime/language",
            "runtime.language must be one of javascript, python, go, wasm, remote");
    return place_bad(err, issue->instance, issue->reason);
}

static int schema_check(const struct manifest_rules *r, struct str text, struct arena *a,
                        struct wopr_error *err) {
    struct schema_issue issue = {{0}, {0}, {0}};
    struct str strict = wasm_block_drop(text, a);
    if (strict.n == 0) return no_memory(err);
    int rc = schema_validate_text(r->schema, strict, &issue);
    if (rc == WOPR_E_NO_MEMORY) return no_memory(err);
    if (rc == WOPR_E_TOO_BIG) return place_bad(err, "", "it is too large to be checked");
    return rc == 0 ? 0 : schema_refuse(text, &issue, a, err);
}

/* --- what the schema cannot say --- */

struct reading {
    struct pack_manifest *m;
    struct arena *a;
    struct map *ids; /* folded type and agent ids */
    size_t refs_cap;
    struct wopr_error *err;
};

static int id_once(struct reading *r, struct str id, const char *at) {
    void *old = NULL;
    struct str folded = fold_name(id, r->a);
    if (folded.p == NULL) return no_memory(r->err);
    int rc = map_put(r->ids, folded, r, &old);
    if (rc != 0) return no_memory(r->err);
    return old == NULL ? 0
                       : place_bad(r->err, at,
                                   "the id occurs twice, or differs in case only from "
                                   "another one");
}

static int ref_path(struct reading *r, struct str raw, const char *at, struct str *out) {
    struct str path = json_string(raw, r->a), clean;
    if (path.p == NULL && arena_failed(r->a)) return no_memory(r->err);
    if (!pack_file_name(path, &clean) || clean.n == 0 || clean.p + clean.n != path.p + path.n)
        return wopr_error_at(r->err, WOPR_E_PACK_REF, at,
                             "pack.json at %s: the reference must be a clean path to a file in the "
                             "tarball",
                             at);
    *out = clean;
    return 0;
}

static int ref_add(struct reading *r, struct str object, const char *member,
                   enum pack_ref_kind kind, const char *at) {
    struct pack_manifest *m = r->m;
    struct str raw = json_get(object, member), path;
    char place[160];
    if (raw.n == 0) return 0;
    (void)snprintf(place, sizeof place, "%s/%s", at, member);
    int rc = ref_path(r, raw, place, &path);
    if (rc != 0) return rc;
    if (m->refs_nr == PACK_REFS_MAX)
        return place_bad(r->err, place, "the manifest refers to more than 1024 files");
    if (VEC_ROOM_IN(r->a, m->refs, m->refs_nr, r->refs_cap, 16) != 0) return no_memory(r->err);
    m->refs[m->refs_nr++] = (struct pack_ref){kind, path};
    return 0;
}

static int node_read(struct reading *r, struct str node, const char *at) {
    static const struct {
        const char *member;
        enum pack_ref_kind kind;
    } REFS[] = {{"configSchemaRef", PACK_REF_SCHEMA},
                {"inputSchemaRef", PACK_REF_SCHEMA},
                {"outputSchemaRef", PACK_REF_SCHEMA},
                {"envelopeContractRef", PACK_REF_JSON}};
    int rc = id_once(r, json_string(json_get(node, "typeId"), r->a), at);
    for (size_t i = 0; rc == 0 && i < sizeof REFS / sizeof *REFS; i++)
        rc = ref_add(r, node, REFS[i].member, REFS[i].kind, at);
    struct semver v;
    if (rc == 0 && !semver_parse(json_string(json_get(node, "version"), r->a), &v))
        rc = place_bad(r->err, at, "the version of the node is no semantic version");
    return rc;
}

/* PACK-17: NAME.word */
static bool agent_id_ok(struct str id, struct str pack) {
    if (id.n <= pack.n + 1 || !str_starts(id, pack) || id.p[pack.n] != '.') return false;
    return memchr(id.p + pack.n + 1, '.', id.n - pack.n - 1) == NULL;
}

static int agent_read(struct reading *r, struct str agent, const char *at) {
    struct str id = json_string(json_get(agent, "agentId"), r->a);
    struct str handoff = json_get(agent, "handoff");
    char inside[144];
    if (!agent_id_ok(id, r->m->name))
        return place_bad(r->err, at, "agentId must be the name of the pack, a dot and one word");
    (void)snprintf(inside, sizeof inside, "%s/handoff", at);
    int rc = id_once(r, id, at);
    if (rc == 0) rc = ref_add(r, agent, "systemPromptRef", PACK_REF_TEXT, at);
    if (rc == 0 && handoff.n > 0)
        rc = ref_add(r, handoff, "taskSchemaRef", PACK_REF_HANDOFF, inside);
    if (rc == 0 && handoff.n > 0)
        rc = ref_add(r, handoff, "returnSchemaRef", PACK_REF_HANDOFF, inside);
    return rc;
}

static int list_read(struct reading *r, struct str list, const char *name,
                     int (*read)(struct reading *r, struct str item, const char *at)) {
    struct json_elements all;
    char at[96];
    if (list.n == 0) return 0;
    int rc = json_elements(list, r->a, &all, r->err);
    for (size_t i = 0; rc == 0 && i < all.n; i++) {
        (void)snprintf(at, sizeof at, "/%s/%zu", name, i);
        rc = read(r, all.v[i], at);
    }
    return rc;
}

static int dependencies_check(struct reading *r) {
    struct json_members all;
    struct semver_range range;
    if (r->m->dependencies.n == 0) return 0;
    if (json_members(r->m->dependencies, r->a, &all, r->err) != 0) return no_memory(r->err);
    for (size_t i = 0; i < all.n; i++)
        if (!pack_name_ok(all.v[i].key) ||
            !semver_range_parse(json_string(all.v[i].raw, r->a), &range))
            return place_bad(r->err, "/dependencies",
                             "a member is not the name of a pack with a "
                             "range of its versions");
    return 0;
}

static int signing_read(struct reading *r, struct str signing) {
    struct pack_manifest *m = r->m;
    int rc = 0;
    if (signing.n == 0) return 0;
    m->sigstore = str_eqc(json_string(json_get(signing, "method"), r->a), "sigstore");
    struct str key = json_get(signing, "publicKeyRef"), sig = json_get(signing, "signatureRef");
    if (key.n > 0) rc = ref_path(r, key, "/signing/publicKeyRef", &m->key_ref);
    if (rc == 0 && key.n > 0) rc = ref_add(r, signing, "publicKeyRef", PACK_REF_FILE, "/signing");
    if (rc == 0 && sig.n > 0) rc = ref_path(r, sig, "/signing/signatureRef", &m->sig_ref);
    if (rc == 0 && sig.n > 0) rc = ref_add(r, signing, "signatureRef", PACK_REF_FILE, "/signing");
    return rc;
}

static int runtime_read(struct reading *r, struct str runtime) {
    struct pack_manifest *m = r->m;
    struct str raw = json_get(runtime, "entry");
    if (!language_read(json_string(json_get(runtime, "language"), r->a), &m->language))
        return no_memory(r->err);
    if (m->language == PACK_LANG_REMOTE) {
        m->entry = json_string(raw, r->a);
        return 0;
    }
    int rc = ref_path(r, raw, "/runtime/entry", &m->entry);
    return rc == WOPR_E_PACK_REF
               ? place_bad(r->err, "/runtime/entry", "it must be a clean path in the tarball")
               : rc;
}

static int fields_read(struct reading *r) {
    struct pack_manifest *m = r->m;
    struct str text = m->text;
    struct semver v;
    struct semver_range range;
    m->name = json_string(json_get(text, "name"), r->a);
    m->version = json_string(json_get(text, "version"), r->a);
    m->description = json_string(json_get(text, "description"), r->a);
    m->keywords = json_get(text, "keywords");
    m->nodes = json_get(text, "nodes");
    m->agents = json_get(text, "agents");
    m->dependencies = json_get(text, "dependencies");
    m->engines = json_string(json_get(json_get(text, "engines"), "openwop"), r->a);
    if (arena_failed(r->a)) return no_memory(r->err);
    if (!semver_parse(m->version, &v))
        return place_bad(r->err, "/version", "it is no semantic version like 1.0.0");
    int rc = list_read(r, m->nodes, "nodes", node_read);
    if (rc == 0) rc = list_read(r, m->agents, "agents", agent_read);
    if (rc == 0) rc = dependencies_check(r);
    if (rc == 0) rc = runtime_read(r, json_get(text, "runtime"));
    if (rc == 0 && m->engines.n > 0 && !semver_range_parse(m->engines, &range))
        rc = engines_bad(r->err);
    if (rc == 0 && m->engines.n == 0) rc = engines_bad(r->err);
    return rc == 0 ? signing_read(r, json_get(text, "signing")) : rc;
}

int manifest_read(const struct manifest_rules *rules, struct str text, struct arena *a,
                  struct pack_manifest *out, struct wopr_error *err) {
    struct pack_manifest m = {.text = text};
    struct wopr_error why = {0};
    int rc = json_check(text, &LIMITS, &why);
    if (rc == WOPR_E_NO_MEMORY) return no_memory(err);
    if (rc != 0 || json_type_of(text) != JSON_OBJECT)
        return wopr_error_set(err, WOPR_E_PACK_MANIFEST_JSON, "pack.json is no JSON object: %s",
                              rc != 0 ? why.message : "it is another kind of value");
    rc = schema_check(rules, text, a, err);
    if (rc != 0) return rc;
    struct reading r = {.m = &m, .a = a, .ids = map_new(), .err = err};
    rc = r.ids ? fields_read(&r) : no_memory(err);
    map_free(r.ids);
    if (rc == 0 && arena_failed(a)) rc = no_memory(err);
    if (rc == 0) *out = m;
    return rc;
}

int manifest_types(const struct pack_manifest *m, struct arena *a, struct pack_types *out,
                   struct wopr_error *err) {
    struct json_elements all = {NULL, 0};
    int rc = m->nodes.n > 0 ? json_elements(m->nodes, a, &all, err) : 0;
    if (rc != 0) return rc;
    struct str *v = ARENA_ARRAY(a, struct str, all.n);
    for (size_t i = 0; v && i < all.n; i++) v[i] = json_string(json_get(all.v[i], "typeId"), a);
    if (arena_failed(a)) return no_memory(err);
    *out = (struct pack_types){v, all.n};
    return 0;
}
