/* test_packs.c: the registry in the store: what a publish writes is all there or nothing, whichever
 * call fails; names have one owner; bytes are there as long as something needs them (PACK-3,
 * PACK-38 to PACK-41, PACK-55; P1 to P5 of store/packs.h). */
#include "kit_old.h"

#include "base/fault.h"
#include "store/packs.h"

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(store_packs, .init = up, .fini = down);

#define NS "vendor.acme"
static struct pack_actor actor(const char *tenant, int64_t now) {
    return (struct pack_actor){str_c(tenant), STR("key"), now};
}

static struct pack_publish pack(const char *name, const char *version, const char *bytes) {
    static const struct str WORDS[] = {{"tools", 5}, {"echo", 4}};
    return (struct pack_publish){.release = {.name = str_c(name),
                                             .version = str_c(version),
                                             .digest = sha256_of(str_c(bytes)),
                                             .bytes = (int64_t)strlen(bytes),
                                             .manifest = STR("{}"),
                                             .warnings = STR("[]"),
                                             .published_ms = 1000,
                                             .published_by = STR("key")},
                                 .tarball = str_c(bytes),
                                 .namespace = STR(NS),
                                 .description = STR("d"),
                                 .words = WORDS,
                                 .words_nr = 2,
                                 .newest = true};
}

static int publish(const char *tenant, const char *version, const char *bytes, bool *fresh) {
    struct pack_publish p = pack(NS ".tools", version, bytes);
    struct pack_actor who = actor(tenant, 1000);
    return store_pack_publish(w.s, &p, &who, fresh, &w.err);
}

static bool blob_there(const char *bytes) {
    struct sha256 d = sha256_of(str_c(bytes));
    struct buf b;
    buf_init(&b, 1024);
    int rc = store_pack_blob(w.s, &d, &b, &w.err);
    bool same = rc == 0 && str_eqc(buf_str(&b), bytes);
    buf_fini(&b);
    return same;
}

static int found(const char *word) {
    struct pack_names names;
    struct str next, words[] = {str_c(word)};
    cr_assert_eq(
        store_pack_search(w.s, words, *word ? 1 : 0, STR_NONE, 10, w.a, &names, &next, &w.err), 0);
    return (int)names.n;
}

static int mark(enum pack_mark kind, const char *text, const struct pack_actor *who) {
    struct str t = str_c(text);
    return store_pack_mark(w.s, STR(NS ".tools"), STR("1.0.0"), STR(NS), kind, &t, who, w.a,
                           &w.err);
}

static size_t history(void) {
    struct pack_events e;
    cr_assert_eq(store_pack_history(w.s, STR(NS ".tools"), w.a, &e, &w.err), 0);
    return e.n;
}

Test(store_packs, a_version_is_written_once_and_belongs_to_one /* P1, P3, PACK-3 */) {
    bool fresh = false;
    cr_assert_eq(publish("acme", "1.0.0", "a", &fresh), 0, "%s", w.err.message);
    cr_expect(fresh);
    cr_assert_eq(publish("acme", "1.0.0", "a", &fresh), 0);
    cr_expect_not(fresh);
    cr_expect_eq(publish("acme", "1.0.0", "b", &fresh), WOPR_E_CONFLICT);
    cr_expect_eq(publish("other", "1.1.0", "c", &fresh), WOPR_E_FORBIDDEN);
    cr_expect_not(blob_there("b") || blob_there("c"));
    cr_expect_eq(history(), 1u);
    cr_expect_eq(found("tools"), 1);
    cr_expect_eq(found("nothing"), 0);
    cr_expect_eq(found(""), 1);
}

Test(store_packs, what_is_unpublished_never_returns_and_leaves_no_bytes /* P2, P4, PACK-38 */) {
    struct pack_actor acme = actor("acme", 2000);
    struct str n = STR(NS ".tools"), v = STR("1.0.0");
    struct pack_install i = {.tenant = STR("t"),
                             .name = n,
                             .version = v,
                             .digest = sha256_of(STR("a")),
                             .manifest = STR("{}"),
                             .origin = STR("registry"),
                             .installed_by = STR("x")};
    bool fresh;
    cr_assert_eq(publish("acme", "1.0.0", "a", &fresh), 0);
    cr_assert_eq(store_pack_install(w.s, &i, STR("a"), &fresh, &w.err), 0);
    cr_expect_eq(store_pack_unpublish(w.s, n, v, STR(NS), 1001, NULL, &acme, &w.err),
                 WOPR_E_PACK_WINDOW);
    cr_expect_eq(store_pack_unpublish(w.s, n, v, STR(NS), 1000, NULL, &acme, &w.err), 0);
    cr_expect_eq(store_pack_unpublish(w.s, n, v, STR(NS), 1000, NULL, &acme, &w.err),
                 WOPR_E_PACK_NOT_FOUND);
    cr_expect_eq(publish("acme", "1.0.0", "a", &fresh), WOPR_E_CONFLICT, "not even the same bytes");
    cr_expect_eq(found("tools"), 0);
    cr_expect(blob_there("a"), "an install needs them");
    cr_expect_eq(store_pack_uninstall(w.s, STR("t"), n, v, &acme, &w.err), 0);
    cr_expect(blob_there("a"), "and runs that began with it");
    cr_expect_eq(publish("acme", "1.0.1", "b", &fresh), 0);
    cr_expect_eq(found("tools"), 1);
    i.version = STR("1.0.1");
    i.digest = sha256_of(STR("b"));
    cr_assert_eq(store_pack_install(w.s, &i, STR("b"), &fresh, &w.err), 0);
    cr_expect_eq(store_pack_uninstall(w.s, STR("t"), n, i.version, &acme, &w.err), 0);
    cr_expect_eq(store_pack_unpublish(w.s, n, i.version, STR(NS), 1000, NULL, &acme, &w.err), 0);
    cr_expect(blob_there("b"), "also when the registry loses it later");
    cr_expect_eq(publish("acme", "1.0.2", "c", &fresh), 0);
    cr_expect_eq(store_pack_unpublish(w.s, n, STR("1.0.2"), STR(NS), 1000, NULL, &acme, &w.err), 0);
    cr_expect_not(blob_there("c"), "what was never installed leaves nothing");
}

Test(store_packs, marks_and_keys_are_those_of_the_owner /* PACK-39 to PACK-43 */) {
    struct pack_actor acme = actor("acme", 2000), other = actor("other", 2000);
    struct str n = STR(NS ".tools");
    struct pack_key first = {.namespace = STR(NS), .kid = STR("k1"), .from_ms = 1};
    struct pack_key next = {
        .namespace = STR(NS), .kid = STR("k2"), .from_ms = 500, .rotated_from = STR("k1")};
    struct pack_keys keys;
    bool fresh;
    cr_assert_eq(publish("acme", "1.0.0", "a", &fresh), 0);
    cr_expect_eq(mark(PACK_MARK_YANK, "{}", &other), WOPR_E_FORBIDDEN);
    cr_expect_eq(mark(PACK_MARK_YANK, "{}", &acme), 0);
    cr_expect_eq(mark(PACK_MARK_DEPRECATION, "", &acme), 0);
    cr_expect_eq(history(), 2u, "what changed nothing is no entry");
    cr_expect_eq(store_pack_key_add(w.s, &first, n, &other, &w.err), WOPR_E_FORBIDDEN);
    cr_expect_eq(store_pack_key_add(w.s, &first, n, &acme, &w.err), 0);
    cr_expect_eq(store_pack_key_add(w.s, &next, n, &acme, &w.err), WOPR_E_EXISTS);
    cr_expect_eq(store_pack_key_rotate(w.s, &next, n, &other, &w.err), WOPR_E_FORBIDDEN);
    cr_expect_eq(store_pack_key_rotate(w.s, &next, n, &acme, &w.err), 0);
    cr_expect_eq(store_pack_key_rotate(w.s, &next, n, &acme, &w.err), WOPR_E_NOT_FOUND);
    cr_assert_eq(store_pack_keys(w.s, STR(NS), w.a, &keys, &w.err), 0);
    cr_assert_eq(keys.n, 2u);
    cr_expect_eq(keys.v[0].until_ms, 2000, "never before now: what it signed stays good");
    cr_expect_eq(store_pack_key_revoke(w.s, STR(NS), STR("k2"), n, &acme, &w.err), 0);
    cr_expect_eq(store_pack_key_revoke(w.s, STR(NS), STR("k2"), n, &acme, &w.err),
                 WOPR_E_NOT_FOUND);
}

Test(store_packs, a_tenant_has_room_for_so_many_bytes /* bounds by bytes */) {
    struct pack_actor acme = actor("acme", 1000), ada = actor("ada", 1000);
    static const struct {
        const char *name, *ns, *tenant;
        int code;
    } PUTS[] = {{NS ".a", NS, "acme", 0},
                {"community.acme.b", "community.acme.b", "acme", 0},
                {"community.acme.b.c", "community.acme.b.c", "ada", 0}, /* of another, below it */
                {NS ".c", NS, "acme", WOPR_E_QUOTA}};
    for (size_t i = 0; i < sizeof PUTS / sizeof *PUTS; i++) {
        char bytes[16];
        bool fresh;
        snprintf(bytes, sizeof bytes, "%08zu", i);
        struct pack_publish p = pack(PUTS[i].name, "1.0.0", bytes);
        p.namespace = str_c(PUTS[i].ns);
        p.bytes_max = 25; /* two of 8 bytes and a manifest of 2 */
        int rc = store_pack_publish(
            w.s, &p, *PUTS[i].tenant == 'a' && PUTS[i].tenant[1] == 'c' ? &acme : &ada, &fresh,
            &w.err);
        cr_expect_eq(rc, PUTS[i].code, "%s: %s", PUTS[i].name, w.err.message);
    }
    cr_expect_eq(
        store_pack_unpublish(w.s, STR(NS ".a"), STR("1.0.0"), STR(NS), 0, NULL, &acme, &w.err), 0);
    struct pack_publish p = pack(NS ".d", "1.0.0", "12345678");
    bool fresh;
    p.bytes_max = 25;
    cr_expect_eq(store_pack_publish(w.s, &p, &acme, &fresh, &w.err), 0, "there is room again");
}

Test(store_packs, bytes_that_changed_on_the_disk_are_not_handed_out /* PACK-21 */) {
    struct sha256 d = sha256_of(STR("a"));
    struct buf b;
    sqlite3 *db;
    bool fresh;
    cr_assert_eq(publish("acme", "1.0.0", "a", &fresh), 0);
    cr_assert_eq(sqlite3_open(w.path, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, "UPDATE pack_blobs SET body = x'62'", NULL, NULL, NULL),
                 SQLITE_OK);
    sqlite3_close(db);
    buf_init(&b, 1024);
    cr_expect_eq(store_pack_blob(w.s, &d, &b, &w.err), WOPR_E_CORRUPT);
    buf_fini(&b);
}

Test(store_packs, a_search_for_many_words_looks_at_a_bounded_number /* PACK-49 */) {
    struct pack_actor acme = actor("acme", 1000);
    struct pack_names names;
    struct str next, words[] = {STR("tools"), STR("echo")};
    bool fresh;
    for (int i = 0; i < 25; i++) {
        char name[64], bytes[16];
        snprintf(name, sizeof name, NS ".p%02d", i);
        snprintf(bytes, sizeof bytes, "%d", i);
        struct pack_publish p = pack(name, "1.0.0", bytes);
        cr_assert_eq(store_pack_publish(w.s, &p, &acme, &fresh, &w.err), 0);
    }
    cr_assert_eq(store_pack_search(w.s, words, 2, STR_NONE, 10, w.a, &names, &next, &w.err), 0);
    cr_expect(names.n == 10 && str_eqc(next, NS ".p09"));
    cr_assert_eq(store_pack_search(w.s, words, 2, next, 20, w.a, &names, &next, &w.err), 0);
    cr_expect(names.n == 15 && next.n == 0);
}

Test(store_packs, whichever_call_fails_a_publish_is_whole_or_not_there /* P1, PACK-55 */) {
    struct pack_key key = {.namespace = STR(NS), .kid = STR("k1"), .from_ms = 1};
    struct pack_actor acme = actor("acme", 1000);
    unsigned refused = 0;
    for (unsigned n = 1; fault_arm(1u << FAULT_MALLOC, n); n++) {
        struct pack_publish p = pack(NS ".tools", "1.0.0", "a");
        struct pack_release r;
        bool fresh = false;
        p.key = &key;
        int rc = store_pack_publish(w.s, &p, &acme, &fresh, &w.err);
        fault_disarm();
        int there = store_pack_get(w.s, STR(NS ".tools"), STR("1.0.0"), w.a, &r, &w.err);
        cr_assert_eq(there == 0, blob_there("a"), "call %u", n);
        cr_assert_eq(there == 0, found("echo") == 1, "call %u", n);
        cr_assert(rc != 0 || there == 0, "call %u", n);
        refused += rc != 0;
        if (rc == 0) { /* the next round begins with nothing */
            kit_down(&w);
            kit_up(&w);
        }
    }
    cr_expect_gt(refused, 0u);
}

Test(store_packs, who_says_the_same_again_is_told_when_it_was_said /* PACK-39, PACK-40 */) {
    struct pack_actor acme = actor("acme", 2000);
    bool fresh;
    cr_assert_eq(publish("acme", "1.0.0", "a", &fresh), 0);
    struct str text = STR("{\"reason\":\"x\",\"advisoryUrl\":\"u\",\"yankedAt\":\"1\"}");
    struct str again = STR("{\"reason\":\"x\",\"advisoryUrl\":\"u\",\"yankedAt\":\"2\"}"),
               first = text;
    for (int i = 0; i < 2; i++) {
        struct str *t = i == 0 ? &text : &again;
        cr_assert_eq(store_pack_mark(w.s, STR(NS ".tools"), STR("1.0.0"), STR(NS), PACK_MARK_YANK,
                                     t, &acme, w.a, &w.err),
                     0);
        cr_expect(str_eq(*t, first), "%d", i);
    }
    cr_expect_eq(history(), 2u);
    cr_expect_eq(mark(PACK_MARK_YANK, "{\"reason\":\"x\"}", &acme), 0);
    cr_expect_eq(history(), 3u, "without its page it says something else");
}

Test(store_packs, a_name_has_so_many_versions_and_words_about_them /* PACK-46 */) {
    struct pack_actor acme = actor("acme", 2000);
    struct pack_release r;
    sqlite3 *db;
    bool fresh;
    cr_assert_eq(publish("acme", "1.0.0", "a", &fresh), 0);
    cr_assert_eq(sqlite3_open(w.path, &db), SQLITE_OK);
    old_exec(db, "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4094)"
                 " INSERT INTO pack_versions (name, version, sha256, bytes, over_manifest,"
                 " published_ms, published_by, yank) SELECT '" NS ".tools', '2.0.' || i,"
                 " zeroblob(32), 0, 0, 1, 'key', '" /* 512 bytes each */
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' FROM n");
    sqlite3_close(db);
    cr_expect_eq(publish("acme", "1.0.1", "b", &fresh), 0, "%s", w.err.message);
    cr_expect_eq(publish("acme", "1.0.2", "c", &fresh), WOPR_E_CONFLICT);
    cr_expect_not(blob_there("c"));
    char longer[2200];
    memset(longer, ' ', sizeof longer);
    longer[0] = '{', longer[sizeof longer - 2] = '}', longer[sizeof longer - 1] = '\0';
    cr_expect_eq(mark(PACK_MARK_YANK, longer, &acme), WOPR_E_CONFLICT, "no room for many words");
    cr_assert_eq(store_pack_get(w.s, STR(NS ".tools"), STR("1.0.0"), w.a, &r, &w.err), 0);
    cr_expect_eq(r.yank.n, 0u);
    cr_expect_eq(mark(PACK_MARK_YANK, "{\"reason\":\"leaks\"}", &acme), 0, "but for a few");
}

Test(store_packs, a_key_that_is_revoked_meanwhile_signed_nothing /* PACK-26 */) {
    struct pack_actor acme = actor("acme", 2000);
    struct pack_key first = {.namespace = STR(NS), .kid = STR("k1"), .from_ms = 1};
    struct pack_key next = {.namespace = STR(NS), .kid = STR("k2"), .from_ms = 3};
    struct str n = STR(NS ".tools");
    bool fresh;
    struct pack_publish p = pack(NS ".tools", "1.0.0", "a");
    p.release.kid = STR("k1");
    p.key = &first;
    cr_assert_eq(store_pack_publish(w.s, &p, &acme, &fresh, &w.err), 0, "%s", w.err.message);
    p = pack(NS ".tools", "1.1.0", "b");
    p.release.kid = STR("k1");
    cr_assert_eq(store_pack_key_revoke(w.s, STR(NS), STR("k1"), n, &acme, &w.err), 0);
    cr_expect_eq(store_pack_publish(w.s, &p, &acme, &fresh, &w.err), WOPR_E_PACK_SIGNATURE);
    cr_expect_not(blob_there("b"));
    p.key = &first;
    cr_expect_eq(store_pack_publish(w.s, &p, &acme, &fresh, &w.err), WOPR_E_EXISTS, "nor again");
    p.key = &next;
    p.release.kid = STR("k2");
    cr_expect_eq(store_pack_publish(w.s, &p, &acme, &fresh, &w.err), 0, "all were revoked");
    p = pack(NS ".tools", "1.2.0", "c");
    p.release.kid = STR("k3");
    p.key = &(struct pack_key){.namespace = STR(NS), .kid = STR("k3"), .from_ms = 4};
    cr_expect_eq(store_pack_publish(w.s, &p, &acme, &fresh, &w.err), WOPR_E_CONFLICT, "only then");
}

/* The manifest of so many bytes; installs of a tenant, numbered. */
static int install(const char *tenant, unsigned i, size_t bytes, const char *body) {
    char version[32];
    snprintf(version, sizeof version, "1.0.%u", i);
    char *manifest = arena_alloc(w.a, bytes);
    memset(manifest, ' ', bytes);
    const struct pack_install row = {.tenant = str_c(tenant),
                                     .name = STR(NS ".tools"),
                                     .version = arena_str(w.a, str_c(version)),
                                     .digest = sha256_of(str_c(body)),
                                     .manifest = str_n(manifest, bytes),
                                     .origin = STR("file"),
                                     .installed_by = STR("x")};
    bool fresh;
    return store_pack_install(w.s, &row, str_c(body), &fresh, &w.err);
}

Test(store_packs, a_tenant_sees_so_many_bytes_of_manifests /* bounds by bytes */) {
    enum { MIB = 1024 * 1024 };
    for (unsigned i = 0; i < 7; i++) cr_assert_eq(install("", i, MIB, "a"), 0, "%s", w.err.message);
    for (unsigned i = 7; i < 16; i++) cr_assert_eq(install("ada", i, MIB, "a"), 0);
    cr_expect_eq(install("ada", 16, MIB, "a"), WOPR_E_CONFLICT, "its own and those of all");
    cr_expect_eq(install("", 16, MIB, "a"), WOPR_E_CONFLICT, "ada would see it, too");
    cr_expect_eq(install("bob", 16, MIB, "a"), 0, "another tenant has room");
    struct pack_actor who = actor("ada", 1);
    cr_assert_eq(
        store_pack_uninstall(w.s, STR("ada"), STR(NS ".tools"), STR("1.0.7"), &who, &w.err), 0);
    cr_expect_eq(install("", 17, MIB, "a"), 0, "there is room again: %s", w.err.message);
}

Test(store_packs, of_a_version_a_tenant_sees_one_set_of_bytes /* PACK-63 */) {
    cr_assert_eq(install("ada", 0, 2, "a"), 0);
    cr_expect_eq(install("", 0, 2, "b"), WOPR_E_CONFLICT, "for all, beside that of one");
    cr_expect_eq(install("bob", 0, 2, "b"), 0, "another tenant's is its own");
    cr_expect_eq(install("", 1, 2, "a"), 0);
    cr_expect_eq(install("ada", 1, 2, "b"), WOPR_E_CONFLICT, "of one, beside that for all");
    cr_expect_eq(install("ada", 1, 2, "a"), 0);
}

Test(store_packs, a_file_of_before_keeps_its_packs /* migration 0050 */) {
    struct pack_actor acme = actor("acme", 2000);
    struct pack_release r;
    struct pack_publish p = pack(NS ".more", "1.0.0", "12345678");
    sqlite3 *db;
    bool fresh;
    kit_close(&w);
    kit_old(&w, 49);
    cr_assert_eq(sqlite3_open(w.path, &db), SQLITE_OK);
    old_exec(db,
             "INSERT INTO pack_owners VALUES ('" NS "', 'acme', 1);"
             "INSERT INTO packs VALUES ('" NS ".tools', 'd', 1);"
             "INSERT INTO pack_blobs VALUES (zeroblob(32), x'78');"
             "INSERT INTO pack_versions (name, version, sha256, bytes, manifest, warnings,"
             " over_manifest, published_ms, published_by, removed_ms) VALUES"
             " ('" NS
             ".tools', '1.0.0', zeroblob(32), 10, '{\"a\":\"\xc3\xa4\"}', '[1]', 0, 1, 'k', NULL),"
             " ('" NS ".tools', '1.0.1', zeroblob(32), 10, '{}', '[]', 0, 1, 'k', 5)");
    sqlite3_close(db);
    kit_open(&w);
    cr_assert_eq(store_pack_get(w.s, STR(NS ".tools"), STR("1.0.0"), w.a, &r, &w.err), 0);
    cr_expect(str_eqc(r.manifest, "{\"a\":\"\xc3\xa4\"}") && str_eqc(r.warnings, "[1]"));
    p.bytes_max = 29; /* 10 and 10 of before, 8 and 2 now */
    cr_expect_eq(store_pack_publish(w.s, &p, &acme, &fresh, &w.err), WOPR_E_QUOTA);
    p.bytes_max = 30;
    cr_expect_eq(store_pack_publish(w.s, &p, &acme, &fresh, &w.err), 0, "%s", w.err.message);
    cr_expect_eq(publish("acme", "1.0.1", "b", &fresh), WOPR_E_CONFLICT, "it was unpublished");
}
