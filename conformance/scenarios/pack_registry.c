/* pack_registry.c: public scenario pack-registry (PACK-32 to PACK-36, PACK-42, PACK-46, PACK-47).
 * Nothing here sends a credential. */
#include "suite.h"

#include "codec/bytes.h"

SCENARIO(pack_registry);

static struct reply get(const char *path) {
    return ask("GET", fmt("/v1/packs/%s", path), NULL, NO_AUTH);
}

/* A host without one answers text, or an object without either member. */
static void need_registry(void) {
    struct reply r = ask_unjudged("/v1/packs/-/search?q=", NO_AUTH);
    if (!r.json.p || (!json_get(r.json, "results").p && !json_get(r.json, "error").p))
        cr_skip_test("no pack registry");
}

static void expect_code(const char *path, long status) {
    struct reply r = get(path);
    cr_expect_eq(r.status, status, "%s: %ld", path, r.status);
    cr_expect_gt(text_at(r.json, "error").n, 0u, "%s", path);
}

Test(pack_registry, what_is_not_there_or_cannot_be_has_its_status) {
    const char *none = fmt("private.conformance-probe.does-not-exist-%lld", (long long)now_ms());
    need_registry();
    expect_code(none, 404);
    expect_code(fmt("%s/-/0.0.0-conformance.json", none), 404);
    expect_code(fmt("%s/-/0.0.0-conformance.sig", none), 404);
    expect_code(fmt("%s/-/not-a-version.json", none), 400);
    expect_code("not-reverse-dns/-/1.0.json", 400);
}

static bool name_ok(struct str name) {
    static const char *const SCOPES[] = {"core.", "vendor.", "community.", "private."};
    size_t dots = 0;
    bool scoped = false;
    for (size_t i = 0; i < COUNT(SCOPES); i++)
        scoped = scoped || str_starts(name, str_c(SCOPES[i]));
    for (size_t i = 0; i < name.n; i++) dots += name.p[i] == '.';
    return scoped && dots >= 2;
}

static void expect_tarball(struct str release) {
    struct buf sri;
    struct str url = text_at(release, "tarballUrl");
    const char *path = strstr(url.p, "/v1/packs/");
    cr_assert_not_null(path, STR_FMT, STR_ARG(url));
    struct reply r = ask("GET", path, NULL, NO_AUTH);
    cr_assert_eq(r.status, 200);
    struct sha256 d = sha256_of(r.body);
    buf_init(&sri, 64);
    buf_addz(&sri, "sha256-");
    base64_encode(&sri, str_n((const char *)d.b, sizeof d.b));
    cr_expect(str_eqc(text_at(release, "tarballSha256"), sri.p), "PACK-21");
    cr_expect(str_eqc(header(&r, "ETag"), fmt("\"%s\"", sri.p)), "PACK-35");
    cr_expect(str_eqc(header(&r, "Content-Type"), "application/tar+gzip"));
    buf_fini(&sri);
}

static void expect_catalog(struct str name) {
    struct reply r = get(fmt(STR_FMT, STR_ARG(name)));
    struct json_members versions;
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(name));
    cr_expect(str_eq(text_at(r.json, "name"), name));
    cr_assert(is_type(r.json, "versions", JSON_OBJECT));
    cr_assert_eq(json_members(at(r.json, "versions"), test_arena(), &versions, NULL), 0);
    for (size_t i = 0; i < versions.n; i++) {
        size_t dots = 0;
        for (size_t k = 0; k < versions.v[i].key.n && versions.v[i].key.p[k] != '-'; k++)
            dots += versions.v[i].key.p[k] == '.';
        cr_expect_eq(dots, 2u, STR_FMT, STR_ARG(versions.v[i].key));
        if (i == 0) expect_tarball(versions.v[i].raw);
    }
}

Test(pack_registry, what_search_finds_can_be_read) {
    need_registry();
    struct reply r = get("-/search?q=");
    cr_assert(r.status == 200 || r.status == 400);
    if (r.status == 400) cr_skip_test("the registry wants words to search for");
    struct json_elements found = list_at(r.json, "results");
    for (size_t i = 0; i < found.n && i < 3; i++) {
        struct str name = text_at(found.v[i], "name");
        cr_expect(name_ok(name), STR_FMT, STR_ARG(name));
        expect_catalog(name);
    }
    if (found.n == 0) cr_skip_test("the catalog is empty");
    struct str name = text_at(found.v[0], "name");
    r = get(fmt(STR_FMT "/-/keychain", STR_ARG(name)));
    cr_expect(r.status == 200 || r.status == 404);
    if (r.status != 200) return;
    struct json_elements keys = list_at(r.json, "keys");
    for (size_t i = 0; i < keys.n; i++)
        cr_expect(text_at(keys.v[i], "kid").n > 0 && text_at(keys.v[i], "algorithm").n > 0 &&
                  text_at(keys.v[i], "publicKey").n > 0);
}
