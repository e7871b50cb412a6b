/*
 * pack_kit.h: tarballs of packs, and publishing them over the wire.
 */
#ifndef WOPR_TEST_PACK_KIT_H
#define WOPR_TEST_PACK_KIT_H

#include "harness.h"
#include "packs/archive.h"
#include "packs/signing.h"

#include <stdio.h>

/* A pack of one node type; more: members for the manifest, with a comma in front. */
__attribute__((unused)) static struct str pack_tarball(const char *name, const char *version,
                                                       const char *more) {
    struct wopr_error err = {0};
    struct buf gz;
    const char *manifest =
        fmt("{\"name\":\"%s\",\"version\":\"%s\",\"description\":\"Echoes for tests.\","
            "\"keywords\":[\"demo\"],\"engines\":{\"openwop\":\">=1.0.0 <2.0.0\"},"
            "\"nodes\":[{\"typeId\":\"%s.echo\",\"version\":\"1.0.0\",\"category\":\"data\","
            "\"role\":\"pure\"}],\"runtime\":{\"language\":\"wasm\",\"entry\":\"dist/e.wasm\"}%s}",
            name, version, name, more);
    struct archive_item items[] = {{STR("pack.json"), str_c(manifest)},
                                   {STR("dist/e.wasm"), STR("\0asm\1\0\0\0")}};
    buf_init(&gz, 1 << 20);
    cr_assert_eq(archive_write(items, 2, &gz, &err), 0, "%s", err.message);
    struct str out = arena_str(test_arena(), buf_str(&gz));
    buf_fini(&gz);
    return out;
}

/* PUT the bytes; lines: headers with their "\r\n", the content type among them. */
__attribute__((unused)) static struct reply pack_put(const struct server *s, const char *key,
                                                     const char *name, const char *file,
                                                     struct str bytes, const char *lines) {
    struct buf b;
    buf_init(&b, 16u << 20);
    buf_addf(&b,
             "PUT /v1/packs/%s/-/%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%s"
             "Connection: close\r\nContent-Length: %zu\r\n\r\n",
             name, file, key, lines, bytes.n);
    buf_adds(&b, bytes);
    struct reply r = ask_raw(s, b.p, b.len, WAIT_MS);
    buf_fini(&b);
    return r;
}
#define AS_GZIP "Content-Type: application/gzip\r\n"

#endif
