/*
 * fuzz_range.c: a range of any bytes has a version or not, the same twice, "*" has every release,
 * and an exact version is a range that has itself (PACK-2, PACK-5).
 */
#include "packs/semver.h"

enum { FUZZ_BYTES_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_range(struct str s) {
    static const char *const VERSIONS[] = {"0.0.0", "1.2.3", "1.2.3-a.1", "2.0.0-0",
                                           "9007199254740991.0.0"};
    struct semver_range r, any;
    struct semver v;
    bool ok = semver_range_parse(s, &r);
    if (semver_parse(s, &v)) {
        ASSERT(semver_cmp(&v, &v) == 0);
        ASSERT(!ok || semver_range_has(&r, &v));
    }
    ASSERT(semver_range_parse(STR("*"), &any));
    for (size_t i = 0; i < sizeof VERSIONS / sizeof *VERSIONS; i++) {
        ASSERT(semver_parse(str_c(VERSIONS[i]), &v));
        ASSERT(semver_range_has(&any, &v) == (v.pre.n == 0));
        if (ok) ASSERT(semver_range_has(&r, &v) == semver_range_has(&r, &v));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len <= FUZZ_BYTES_MAX) check_range(str_n((const char *)data, len));
    return 0;
}
