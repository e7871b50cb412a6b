/*
 * pins.c: see pins.h.
 */
#include "packs/pins.h"
#include "base/vec.h"
#include "packs/semver.h"
#include "packs/signing.h"

#include <stdio.h>

bool pack_engines_ok(struct str range) {
    struct semver_range r;
    struct semver v;
    return semver_range_parse(range, &r) && semver_parse(STR(PACK_PROTOCOL_VERSION), &v) &&
           semver_range_has(&r, &v);
}

static bool manifest_language(struct str manifest, struct arena *a, enum pack_language *out) {
    struct str name = json_string(json_get(json_get(manifest, "runtime"), "language"), a);
    for (int i = 0; i < PACK_LANG_NR; i++)
        if (str_eqc(name, pack_language_name((enum pack_language)i))) {
            *out = (enum pack_language)i;
            return true;
        }
    return false;
}

/* --- pins --- */

static int pin_bad(struct wopr_error *err, int code, const char *at, const char *what) {
    return wopr_error_at(err, code, at, "%s at %s", what, at);
}

static bool integrity_is(struct str integrity, const struct sha256 *digest) {
    struct sha256 d;
    return pack_sri_read(integrity, &d) && sha256_eq(&d, digest);
}

/* Of this version: the bytes that are meant, else any (both the tenant and all may have it). */
static const struct pack_install *install_find(const struct pack_installs *all, struct str name,
                                               struct str version, struct str integrity) {
    const struct pack_install *found = NULL;
    for (size_t i = 0; i < all->n; i++) {
        const struct pack_install *p = &all->v[i];
        if (!str_eq(p->name, name) || !str_eq(p->version, version)) continue;
        if (integrity.n > 0 && integrity_is(integrity, &p->digest)) return p;
        found = p;
    }
    return found;
}

bool pack_pin_takes(struct str pin, struct str version, const struct sha256 *digest,
                    struct arena *a) {
    struct str integrity = json_string(json_get(pin, "integrity"), a);
    return str_eq(json_string(json_get(pin, "version"), a), version) &&
           (integrity.n == 0 || integrity_is(integrity, digest));
}

static int pin_resolve(const struct pack_install *p, struct str integrity, unsigned languages,
                       const char *at, struct arena *a, struct wopr_error *err) {
    enum pack_language l;
    if (p == NULL)
        return pin_bad(err, WOPR_E_PACK_LOAD, at,
                       "the pack is not installed here in this version (wopr packs install)");
    if (integrity.n > 0 && !integrity_is(integrity, &p->digest))
        return pin_bad(err, WOPR_E_PACK_INTEGRITY, at,
                       "the pack that is installed has another digest than the pin");
    struct json_elements nodes = {NULL, 0};
    struct str raw = json_get(p->manifest, "nodes");
    if (raw.n > 0 && json_elements(raw, a, &nodes, err) != 0) return err->code;
    if (nodes.n == 0) return 0; /* agents: the host interprets them */
    if (manifest_language(p->manifest, a, &l) && (languages & 1u << l)) return 0;
    return pin_bad(err, WOPR_E_PACK_RUNTIME, at,
                   "this host does not execute the language of the pack");
}

static int pin_check(const struct pack_installs *all, const struct json_member *m,
                     unsigned languages, struct arena *a, struct wopr_error *err) {
    struct str version = json_string(json_get(m->raw, "version"), a);
    struct str raw = json_get(m->raw, "integrity"), integrity = json_string(raw, a);
    struct semver v;
    char at[PACK_NAME_MAX + 16];
    if (!pack_name_ok(m->key))
        return pin_bad(err, WOPR_E_VALIDATION, "/packs", "a member is not the name of a pack");
    (void)snprintf(at, sizeof at, "/packs/" STR_FMT, STR_ARG(m->key));
    if (json_type_of(m->raw) != JSON_OBJECT || !semver_parse(version, &v))
        return pin_bad(err, WOPR_E_VALIDATION, at,
                       "a pin is {\"version\": \"1.4.2\", \"integrity\": \"sha256-...\"}, with a "
                       "version and no range");
    if (raw.n > 0 && integrity.n == 0)
        return pin_bad(err, WOPR_E_VALIDATION, at, "integrity is sha256- and base64");
    return pin_resolve(install_find(all, m->key, version, integrity), integrity, languages, at, a,
                       err);
}

static int engines_check(struct str definition, struct arena *a, struct wopr_error *err) {
    struct str raw = json_get(json_get(definition, "engines"), "openwop");
    struct semver_range r;
    struct str range = json_string(raw, a);
    if (raw.n == 0) return 0;
    if (json_type_of(raw) != JSON_STRING || !semver_range_parse(range, &r))
        return pin_bad(err, WOPR_E_PACK_ENGINES, "/engines/openwop",
                       "this is no range of protocol versions");
    if (pack_engines_ok(range)) return 0;
    return pin_bad(err, WOPR_E_PACK_LOAD, "/engines/openwop",
                   "the definition is for other protocol versions than " PACK_PROTOCOL_VERSION);
}

int pack_pins_hold(const struct pack_installs *all, struct str definition, unsigned languages,
                   struct arena *a, struct wopr_error *err) {
    struct str packs = json_get(definition, "packs");
    struct json_members pins;
    int rc = engines_check(definition, a, err);
    if (rc != 0 || packs.n == 0) return rc;
    if (json_type_of(packs) != JSON_OBJECT)
        return pin_bad(err, WOPR_E_VALIDATION, "/packs", "packs is an object of pins by name");
    rc = json_members(packs, a, &pins, err);
    if (rc == 0 && pins.n > PACK_PINS_MAX)
        rc = pin_bad(err, WOPR_E_VALIDATION, "/packs", "there are more than 256 pins");
    for (size_t i = 0; rc == 0 && i < pins.n; i++)
        rc = pin_check(all, &pins.v[i], languages, a, err);
    return rc;
}

int pack_pins_check(struct store *s, struct str definition, struct str tenant, unsigned languages,
                    struct arena *a, struct wopr_error *err) {
    struct pack_installs all = {NULL, 0};
    int rc = json_get(definition, "packs").n > 0
                 ? store_pack_installs(s, tenant, false, a, &all, err)
                 : 0;
    return rc == 0 ? pack_pins_hold(&all, definition, languages, a, err) : rc;
}

/* --- node types --- */

/* Of one name the highest version; all is in order of names. */
static size_t newest_only(struct pack_installs *all) {
    size_t n = 0;
    for (size_t i = 0; i < all->n; i++) {
        struct semver v, kept;
        if (n == 0 || !str_eq(all->v[n - 1].name, all->v[i].name)) all->v[n++] = all->v[i];
        else if (semver_parse(all->v[i].version, &v) &&
                 semver_parse(all->v[n - 1].version, &kept) && semver_cmp(&v, &kept) > 0)
            all->v[n - 1] = all->v[i];
    }
    return n;
}

static int nodes_add(const struct pack_install *p, struct arena *a, struct pack_nodes *out,
                     size_t *cap, struct wopr_error *err) {
    struct json_elements nodes = {NULL, 0};
    struct str raw = json_get(p->manifest, "nodes");
    enum pack_language language = PACK_LANG_REMOTE;
    int rc = raw.n > 0 ? json_elements(raw, a, &nodes, err) : 0;
    (void)manifest_language(p->manifest, a, &language);
    for (size_t i = 0; rc == 0 && i < nodes.n && out->n < STORE_LIST_MAX; i++) {
        struct str says = json_string(json_get(nodes.v[i], "description"), a);
        if (says.n == 0) says = json_string(json_get(nodes.v[i], "label"), a);
        if (VEC_ROOM_IN(a, out->v, out->n, *cap, 16) != 0)
            return wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to list node types");
        out->v[out->n++] =
            (struct pack_node){.type_id = json_string(json_get(nodes.v[i], "typeId"), a),
                               .summary = says,
                               .pack = p->name,
                               .version = p->version,
                               .language = language};
    }
    return rc;
}

int pack_nodes_list(struct store *s, struct str tenant, struct arena *a, struct pack_nodes *out,
                    struct wopr_error *err) {
    struct pack_installs all;
    struct pack_nodes l = {NULL, 0};
    size_t cap = 0;
    int rc = store_pack_installs(s, tenant, false, a, &all, err);
    if (rc != 0) return rc;
    all.n = newest_only(&all);
    for (size_t i = 0; rc == 0 && i < all.n; i++) rc = nodes_add(&all.v[i], a, &l, &cap, err);
    if (rc == 0 && arena_failed(a))
        rc = wopr_error_set(err, WOPR_E_NO_MEMORY, "no memory to list node types");
    if (rc == 0) *out = l;
    return rc;
}
