/*
 * archive_write.c: tarballs that depend on names and contents only: sorted, owned by nobody, with
 * the time 0 and one mode.  Names that the old header cannot hold are pax records.
 */
#include "codec/gzip.h"
#include "packs/archive.h"
#include "packs/name.h"

#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 512, NAME_FIELD = 100, UNPACKED_MAX = 64 * 1024 * 1024 };

static int item_cmp(const void *x, const void *y) {
    const struct archive_item *a = x, *b = y;
    return str_cmp(a->name, b->name);
}

static void octal_put(char *p, size_t n, uint64_t v) {
    p[n - 1] = '\0';
    for (size_t i = n - 1; i-- > 0; v >>= 3) p[i] = (char)('0' + (v & 7));
}

static void header_put(struct buf *b, struct str name, char type, uint64_t size, unsigned mode) {
    char h[BLOCK] = {0};
    unsigned sum = 0;
    memcpy(h, name.p, name.n < NAME_FIELD ? name.n : NAME_FIELD);
    octal_put(h + 100, 8, mode);
    octal_put(h + 108, 8, 0);
    octal_put(h + 116, 8, 0);
    octal_put(h + 124, 12, size);
    octal_put(h + 136, 12, 0);
    h[156] = type;
    memcpy(h + 257, "ustar", 6);
    memcpy(h + 263, "00", 2);
    memset(h + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++) sum += (unsigned char)h[i];
    octal_put(h + 148, 7, sum);
    buf_add(b, h, sizeof h);
}

static void data_put(struct buf *b, struct str s) {
    static const char ZERO[BLOCK];
    buf_adds(b, s);
    if (s.n % BLOCK != 0) buf_add(b, ZERO, BLOCK - s.n % BLOCK);
}

/* "LENGTH path=NAME\n", where LENGTH counts itself. */
static void pax_put(struct buf *b, struct str name) {
    char record[PACK_FILE_NAME_MAX + 32];
    size_t rest = sizeof " path=\n" - 1 + name.n, len = rest + 1;
    while ((size_t)snprintf(NULL, 0, "%zu", len) + rest != len) len++;
    int n = snprintf(record, sizeof record, "%zu path=" STR_FMT "\n", len, STR_ARG(name));
    ASSERT(n > 0 && (size_t)n == len && len < sizeof record);
    header_put(b, STR("pax"), 'x', len, 0644);
    data_put(b, str_n(record, len));
}

static int item_put(struct buf *b, const struct archive_item *it, struct wopr_error *err) {
    struct str clean;
    if (!pack_file_name(it->name, &clean) || clean.n == 0 || clean.n != it->name.n)
        return wopr_error_set(err, WOPR_E_PACK_PATH,
                              "a file name is not a clean relative path, or is too long");
    if (clean.n > NAME_FIELD) pax_put(b, clean);
    header_put(b, clean, '0', it->bytes.n, 0644);
    data_put(b, it->bytes);
    return 0;
}

int archive_write(struct archive_item *items, size_t n, struct buf *out, struct wopr_error *err) {
    static const char END[2 * BLOCK];
    struct buf tar;
    int rc = 0;
    buf_init(&tar, UNPACKED_MAX);
    if (n > 0) qsort(items, n, sizeof *items, item_cmp);
    for (size_t i = 0; rc == 0 && i < n; i++) rc = item_put(&tar, &items[i], err);
    buf_add(&tar, END, sizeof END);
    if (rc == 0 && buf_failed(&tar))
        rc = wopr_error_set(err, buf_over(&tar) ? WOPR_E_PACK_TOO_LARGE : WOPR_E_NO_MEMORY,
                            "the files of the pack are too large together, or memory is short");
    if (rc == 0) rc = gzip(buf_str(&tar), out, err);
    buf_fini(&tar);
    return rc;
}
