/*
 * packs_seed.c: see packs_seed.h.
 */
#include "host/packs_seed.h"
#include "base/clock.h"
#include "base/embed.h"
#include "base/log.h"
#include "packs/archive.h"
#include "packs/judge.h"
#include "packs/registry.h"

enum { WORDS_MAX = 32, INSTALLS_BYTES = 32 * 1024 * 1024 };

#define OWNER STR("conformance") /* of the scope core, which no tenant can claim */

static const struct {
    const char *manifest, *file, *name; /* file, by this name in the pack, or NULL */
    bool published;
} PACKS[] = {
    {"conformance/packs/agent-pack/pack.json", NULL, NULL, true},
    /* in a namespace of others: installed alone */
    {"examples/packs/hello/pack.json", "examples/packs/hello/hello.wasm", "hello.wasm", false}};

static int pack_publish(struct store *s, const struct pack_judged *j, struct str tarball,
                        struct arena *a, struct wopr_error *err) {
    const struct pack_actor who = {OWNER, STR("seed"), clock_wall_ms()};
    struct str *words = ARENA_ARRAY(a, struct str, WORDS_MAX);
    bool fresh;
    if (!words) return wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
    size_t n = registry_words(j->manifest.description, a, words, 0, WORDS_MAX - 1);
    words[n++] = j->manifest.name;
    const struct pack_publish p = {.release = {.name = j->manifest.name,
                                               .version = j->manifest.version,
                                               .digest = j->digest,
                                               .bytes = (int64_t)tarball.n,
                                               .manifest = j->manifest.text,
                                               .warnings = j->warnings,
                                               .published_ms = who.now_ms,
                                               .published_by = who.key_id},
                                   .tarball = tarball,
                                   .namespace = pack_namespace(j->manifest.name),
                                   .description = j->manifest.description,
                                   .words = words,
                                   .words_nr = n,
                                   .newest = true};
    return store_pack_publish(s, &p, &who, &fresh, err);
}

static int pack_install(struct store *s, const struct pack_judged *j, struct str tarball,
                        struct wopr_error *err) {
    bool fresh;
    const struct pack_install i = {.tenant = STR(""),
                                   .name = j->manifest.name,
                                   .version = j->manifest.version,
                                   .digest = j->digest,
                                   .manifest = j->manifest.text,
                                   .origin = STR("registry"),
                                   .installed_ms = clock_wall_ms(),
                                   .installed_by = STR("seed")};
    return store_pack_install(s, &i, tarball, &fresh, err);
}

static int pack_place(struct store *s, const struct manifest_rules *rules, size_t which,
                      struct buf *gz, struct arena *a, struct wopr_error *err) {
    static const struct pack_expect ANY = {.entry = false};
    const struct embed_file *manifest = embed_find(PACKS[which].manifest),
                            *file = PACKS[which].file ? embed_find(PACKS[which].file) : NULL;
    ASSERT(manifest != NULL && (file != NULL || !PACKS[which].file));
    struct archive_item items[2] = {{STR("pack.json"), embed_text(manifest)}};
    if (file) items[1] = (struct archive_item){str_c(PACKS[which].name), embed_text(file)};
    struct pack_judged j;
    struct sha256 old;
    bool removed;
    int rc = archive_write(items, file ? 2 : 1, gz, err);
    if (rc == 0) rc = pack_judge(rules, buf_str(gz), &ANY, a, &j, err);
    if (rc != 0) return rc;
    if (PACKS[which].published)
        rc = store_pack_seen(s, j.manifest.name, j.manifest.version, &old, &removed, NULL);
    if (rc == WOPR_E_PACK_NOT_FOUND) rc = pack_publish(s, &j, buf_str(gz), a, err);
    if (rc == 0) rc = pack_install(s, &j, buf_str(gz), err);
    if (rc != WOPR_E_CONFLICT) return rc;
    log_warn("a pack of the conformance fixtures is there with other bytes, and stays", "pack",
             PACKS[which].manifest);
    return 0;
}

int seed_packs(struct store *s, struct wopr_error *err) {
    struct manifest_rules *rules = NULL;
    int rc = manifest_rules_new(&rules, err);
    for (size_t i = 0; rc == 0 && i < sizeof PACKS / sizeof *PACKS; i++) {
        struct arena *a = arena_new(PACK_ARENA_MAX);
        struct buf gz;
        buf_init(&gz, PACK_TARBALL_BYTES_MAX);
        rc = a ? pack_place(s, rules, i, &gz, a, err)
               : wopr_error_set(err, WOPR_E_NO_MEMORY, "out of memory");
        buf_fini(&gz);
        arena_free(a);
    }
    manifest_rules_free(rules);
    return rc;
}

bool pack_is_shared(struct store *s, struct str name) {
    struct pack_installs all;
    struct arena *a = arena_new(INSTALLS_BYTES);
    bool found = false;
    if (a && store_pack_installs(s, STR(""), false, a, &all, NULL) == 0)
        for (size_t i = 0; i < all.n; i++) found = found || str_eq(all.v[i].name, name);
    arena_free(a);
    return found;
}
