/*
 * packs.c: the packs that all have installed for the rows about modules: the kit of tests/sandbox,
 * and a module whose calls eat the memory of its worker.
 */
#include "attack.h"
#include "base/fs.h"
#include "packs/archive.h"
#include "support/made_module.h"

#include <stdio.h>
#include <unistd.h>

#define KIT   "vendor.test.kit"
#define EATER "vendor.test.eater"
/* An instrumented worker has no bound of addresses. */
enum { MODULE_BYTES_MAX = 1 << 20, EATER_LOCALS = ATTACK_SLOW ? 100 : 49000 };

static const char *const KIT_TYPES[] = {"echo",   "reads",   "writes",        "asks",   "suspends",
                                        "fails",  "draws",   "spins",         "fills",  "grows",
                                        "recurs", "outside", "outsideImport", "noJson", "noOutcome",
                                        "huge",   "counts",  "floods",        "judged"};

static void manifest_write(struct buf *b, const char *pack, const char *const *types, size_t n) {
    buf_addf(b,
             "{\"name\":\"%s\",\"version\":\"1.0.0\",\"engines\":{\"openwop\":\"^1\"},\"runtime\":{"
             "\"language\":\"wasm\",\"entry\":\"m.wasm\"},\"nodes\":[",
             pack);
    for (size_t i = 0; i < n; i++)
        buf_addf(b,
                 "%s{\"typeId\":\"%s.%s\",\"version\":\"1.0.0\",\"category\":\"data\",\"role\":"
                 "\"pure\"}",
                 i > 0 ? "," : "", pack, types[i]);
    buf_addz(b, "]}");
}

static bool tarball_put(const char *path, const char *pack, const char *const *types, size_t n,
                        struct str module) {
    struct buf manifest, gz;
    buf_init(&manifest, MODULE_BYTES_MAX);
    buf_init(&gz, MODULE_BYTES_MAX);
    manifest_write(&manifest, pack, types, n);
    struct archive_item items[] = {{STR("pack.json"), buf_str(&manifest)}, {STR("m.wasm"), module}};
    FILE *f = archive_write(items, 2, &gz, NULL) == 0 ? fopen(path, "wb") : NULL;
    bool ok = f && fwrite(gz.p, 1, gz.len, f) == gz.len;
    if (f) ok = fclose(f) == 0 && ok;
    buf_fini(&manifest);
    buf_fini(&gz);
    return ok;
}

static bool pack_install(const struct host *h, const char *binary, const char *pack,
                         const char *const *types, size_t n, struct str module) {
    char path[256], out[256];
    snprintf(path, sizeof path, "%s/pack.tgz", h->dir);
    snprintf(out, sizeof out, "%s/install", h->dir);
    const char *argv[] = {binary, "packs",    "install",      path,   "--db",
                          h->db,  "--shared", "--pack-trust", "open", NULL};
    return tarball_put(path, pack, types, n, module) && run_to_end(argv, out, out) == 0;
}

bool packs_install(const struct host *h, const char *binary) {
    static const char *const IT[] = {"it"};
    const struct made eater = {.pack = EATER, .deep = true, .locals = EATER_LOCALS};
    struct buf module;
    if (fs_read(WOPR_MODULES "/kit.wasm", MODULE_BYTES_MAX, &module) != FS_READ_OK) return false;
    bool ok = pack_install(h, binary, KIT, KIT_TYPES, sizeof KIT_TYPES / sizeof *KIT_TYPES,
                           buf_str(&module));
    buf_reset(&module);
    made_write(&eater, &module);
    ok = ok && pack_install(h, binary, EATER, IT, 1, buf_str(&module));
    buf_fini(&module);
    return ok;
}
