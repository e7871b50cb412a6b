/*
 * fuzz_pack.c: packs out of any bytes (PACK-5, PACK-20 to PACK-23, PACK-54).
 *  - an archive of any bytes, compressed here or there, is read or refused with a code of the
 *    table, and what is read has clean names, each once;
 *  - a manifest of any bytes is read or refused, and what is read has a good name, version, range;
 *  - a range of any bytes has a version or not, the same twice, and "*" has every release.
 */
#include "codec/gzip.h"
#include "packs/archive.h"
#include "packs/judge.h"
#include "packs/semver.h"

enum { FUZZ_BYTES_MAX = 16384, ARENA_BYTES = 16 << 20, OUT_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct manifest_rules *rules;

static bool wants(void *ctx, const struct archive_file *f) {
    (void)ctx;
    return f->size < OUT_BYTES;
}
static int done(void *ctx, const struct archive_file *f, struct wopr_error *err) {
    struct str clean;
    (void)ctx, (void)err;
    ASSERT(pack_file_name(f->name, &clean) && str_eq(clean, f->name) && clean.n > 0);
    ASSERT(f->bytes.p == NULL || f->bytes.n == f->size);
    return 0;
}

static void check_archive(struct str s, bool inside) {
    const struct archive_user user = {wants, done, NULL};
    struct wopr_error err = {0};
    struct buf gz;
    buf_init(&gz, OUT_BYTES);
    if (inside) ASSERT(gzip(s, &gz, NULL) == 0);
    int rc = archive_read(inside ? buf_str(&gz) : s, OUT_BYTES, &user, &err);
    ASSERT(rc == err.code);
    ASSERT(rc == 0 || rc == WOPR_E_PACK_GUNZIP || rc == WOPR_E_PACK_TOO_LARGE ||
           rc == WOPR_E_PACK_TAR || rc == WOPR_E_PACK_PATH);
    ASSERT(!inside || rc != WOPR_E_PACK_GUNZIP);
    buf_fini(&gz);
}

static void check_manifest(struct str s, struct arena *a) {
    struct pack_manifest m;
    struct wopr_error err = {0};
    struct semver v;
    struct semver_range r;
    struct pack_types types;
    int rc = manifest_read(rules, s, a, &m, &err);
    ASSERT(rc == err.code);
    if (rc != 0) return;
    ASSERT(pack_name_ok(m.name) && semver_parse(m.version, &v));
    ASSERT(semver_range_parse(m.engines, &r));
    ASSERT(manifest_types(&m, a, &types, &err) == 0);
    for (size_t i = 0; i < m.refs_nr; i++) {
        struct str clean;
        ASSERT(pack_file_name(m.refs[i].path, &clean) && str_eq(clean, m.refs[i].path));
    }
}

static void check_range(struct str s) {
    static const char *const VERSIONS[] = {"0.0.0", "1.2.3", "1.2.3-a.1", "2.0.0-0",
                                           "9007199254740991.0.0"};
    struct semver_range r, any;
    struct semver v;
    if (semver_parse(s, &v)) ASSERT(semver_cmp(&v, &v) == 0);
    bool ok = semver_range_parse(s, &r);
    ASSERT(semver_range_parse(STR("*"), &any));
    for (size_t i = 0; i < sizeof VERSIONS / sizeof *VERSIONS; i++) {
        ASSERT(semver_parse(str_c(VERSIONS[i]), &v));
        ASSERT(semver_range_has(&any, &v) == (v.pre.n == 0));
        if (ok) (void)semver_range_has(&r, &v);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 1 || len > FUZZ_BYTES_MAX) return 0;
    if (!rules) ASSERT(manifest_rules_new(&rules, NULL) == 0);
    struct arena *a = arena_new(ARENA_BYTES);
    struct str rest = str_n((const char *)data + 1, len - 1);
    ASSERT(a != NULL);
    switch (data[0] & 3) {
    case 0:
        check_archive(rest, false);
        break;
    case 1:
        check_archive(rest, true);
        break;
    case 2:
        check_manifest(rest, a);
        break;
    default:
        check_range(rest);
    }
    arena_free(a);
    return 0;
}
