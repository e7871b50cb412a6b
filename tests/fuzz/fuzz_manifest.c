/*
 * fuzz_manifest.c: a manifest of any bytes is read or refused with a code of the table, and what is
 * read has a good name, version, range and clean references, and the types that it names (PACK-10
 * to PACK-18); what its nodes require and what tools they are is read or refused, too (PACK-13,
 * WASM-13).
 */
#include "nodes/pack_types.h"
#include "packs/semver.h"

enum { FUZZ_BYTES_MAX = 16384, ARENA_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct manifest_rules *rules;

static void check_types(const struct pack_manifest *m, const struct pack_types *named,
                        struct arena *a) {
    struct pack_types_made made = {0};
    struct wopr_error err = {0};
    const struct sandbox_limits limits = {1 << 20, 1000, 1};
    struct str first = named->n > 0 ? named->v[0] : STR("vendor.none.at.all");
    struct str report = arena_printf(a, "{\"pack\":\"" STR_FMT "\",\"types\":[\"" STR_FMT "\"]}",
                                     STR_ARG(m->name), STR_ARG(first));
    int rc = pack_types_wasm(m, report, "0", limits, a, &made, &err);
    ASSERT(rc == 0 || rc == WOPR_E_PACK_LOAD);
    ASSERT(rc != 0 || (made.n == 1 && named->n > 0 && str_eqc(first, made.v[0].type_id)));
    made = (struct pack_types_made){0};
    rc = pack_types_remote(m, a, &made, &err);
    ASSERT(rc == 0 || rc == WOPR_E_PACK_LOAD);
    ASSERT(rc != 0 || (made.n == named->n && str_starts(made.server, STR("http"))));
    for (size_t i = 0; rc == 0 && i < made.n; i++)
        for (size_t k = 0; k < made.v[i].secrets_nr; k++)
            ASSERT(made.v[i].secrets[k].id.n > 0 && made.v[i].secrets[k].scope.n > 0);
}

static void check_manifest(struct str s, struct arena *a) {
    struct pack_manifest m;
    struct wopr_error err = {0};
    struct semver v;
    struct semver_range r;
    struct pack_types types;
    int rc = manifest_read(rules, s, a, &m, &err);
    ASSERT(rc == err.code);
    ASSERT(rc == 0 || rc == WOPR_E_PACK_MANIFEST_JSON || rc == WOPR_E_PACK_MANIFEST ||
           rc == WOPR_E_PACK_ENGINES || rc == WOPR_E_PACK_RUNTIME || rc == WOPR_E_PACK_REF);
    if (rc != 0) return;
    ASSERT(pack_name_ok(m.name) && semver_parse(m.version, &v));
    ASSERT(semver_range_parse(m.engines, &r));
    ASSERT(manifest_types(&m, a, &types, &err) == 0);
    check_types(&m, &types, a);
    for (size_t i = 0; i < m.refs_nr; i++) {
        struct str clean;
        ASSERT(pack_file_name(m.refs[i].path, &clean) && str_eq(clean, m.refs[i].path));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len > FUZZ_BYTES_MAX) return 0;
    if (!rules) ASSERT(manifest_rules_new(&rules, NULL) == 0);
    struct arena *a = arena_new(ARENA_BYTES);
    ASSERT(a != NULL);
    check_manifest(str_n((const char *)data, len), a);
    arena_free(a);
    return 0;
}
