/*
 * kit.h: tarballs for the tests of packs, good ones and raw ones.
 */
#ifndef WOPR_TEST_PACKS_KIT_H
#define WOPR_TEST_PACKS_KIT_H

#include "codec/gzip.h"
#include "packs/archive.h"
#include "packs/judge.h"

#include <criterion/criterion.h>
#include <stdio.h>

static inline void tar_block(struct buf *b, const char *name, char type, uint64_t size) {
    char h[512] = {0};
    unsigned sum = 0;
    size_t n = strlen(name);
    memcpy(h, name, n < 100 ? n : 100);
    memcpy(h + 100, "0000644", 8);
    for (int i = 10; i >= 0; i--, size >>= 3) h[124 + i] = (char)('0' + (size & 7));
    h[156] = type;
    memcpy(h + 257,
           "ustar\0"
           "00",
           8);
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++) sum += (unsigned char)h[i];
    for (int i = 5; i >= 0; i--, sum >>= 3) h[148 + i] = (char)('0' + (sum & 7));
    h[154] = '\0';
    buf_add(b, h, sizeof h);
}
static inline void tar_data(struct buf *b, struct str s) {
    static const char ZERO[512];
    buf_adds(b, s);
    if (s.n % 512) buf_add(b, ZERO, 512 - s.n % 512);
}
static inline void tar_file(struct buf *b, const char *name, struct str s) {
    tar_block(b, name, '0', s.n);
    tar_data(b, s);
}
static inline void tar_end(struct buf *b) {
    static const char ZERO[1024];
    buf_add(b, ZERO, sizeof ZERO);
}
static inline struct str tar_gz(struct buf *tar, struct buf *gz) {
    struct wopr_error err = {0};
    buf_reset(gz);
    cr_assert_eq(gzip(buf_str(tar), gz, &err), 0, "%s", err.message);
    return buf_str(gz);
}

#define PACK_NAME "vendor.acme.tools"
#define PACK_JSON                                                                                  \
    "{\"name\":\"" PACK_NAME                                                                       \
    "\",\"version\":\"1.2.3\",\"engines\":{\"openwop\":\">=1.0.0 <2.0.0\"},"                       \
    "\"description\":\"Tools.\",\"nodes\":[{\"typeId\":\"" PACK_NAME                               \
    ".echo\",\"version\":\"1.0.0\","                                                               \
    "\"category\":\"data\",\"role\":\"pure\",\"inputSchemaRef\":\"schemas/in.json\"}],"            \
    "\"runtime\":{\"language\":\"wasm\",\"entry\":\"./dist/echo.wasm\",\"format\":\"wasm\"}}"

/* The tarball of a good pack, but with this manifest. */
static inline struct str pack_of(struct buf *tar, struct buf *gz, const char *manifest) {
    buf_reset(tar);
    tar_block(tar, "./", '5', 0);
    tar_file(tar, "./pack.json", str_c(manifest));
    tar_file(tar, "./dist/echo.wasm", STR("\0asm\1\0\0\0"));
    tar_file(tar, "./schemas/in.json", STR("{\"type\":\"object\"}"));
    tar_end(tar);
    return tar_gz(tar, gz);
}

#endif
