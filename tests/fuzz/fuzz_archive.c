/*
 * fuzz_archive.c: tarballs out of any bytes (PACK-20 to PACK-23, PACK-54): one of any bytes,
 * compressed here (first byte odd) or there, is read or refused with a code of the table, and what
 * is read has clean names.
 */
#include "codec/gzip.h"
#include "packs/archive.h"
#include "packs/name.h"

enum { FUZZ_BYTES_MAX = 16384, OUT_BYTES = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len) {
    if (len < 1 || len > FUZZ_BYTES_MAX) return 0;
    check_archive(str_n((const char *)data + 1, len - 1), data[0] & 1);
    return 0;
}
