/* pack_registry_publish.c: public scenario pack-registry-publish, whose 25 placeholders are
 * requests here (PACK-37 to PACK-41, PACK-54, PACK-55; 10.6). */
#include "suite.h"

#include "codec/bytes.h"
#include "packs/archive.h"

#include <stdio.h>
#include <unistd.h>

SCENARIO(pack_registry_publish);

#define GZIP "Content-Type: application/gzip"

/* A name that no other test publishes under, and a tarball for it. */
static const char *name_new(void) {
    static unsigned nr;
    return fmt("community.conformance-%lld-%d.t%u", (long long)now_ms(), (int)getpid(), nr++);
}

static const char *manifest_of(const char *name, const char *version) {
    return fmt("{\"name\":\"%s\",\"version\":\"%s\",\"engines\":{\"openwop\":\">=1.0.0 <2.0.0\"},"
               "\"nodes\":[{\"typeId\":\"%s.echo\",\"version\":\"1.0.0\",\"category\":\"data\","
               "\"role\":\"pure\"}],\"runtime\":{\"language\":\"wasm\",\"entry\":\"dist/e.wasm\"}}",
               name, version, name);
}

static struct str tar_of(const char *manifest, const char *file, struct str bytes) {
    struct archive_item items[] = {{STR("pack.json"), str_c(manifest)}, {str_c(file), bytes}};
    struct buf gz;
    buf_init(&gz, 16u << 20);
    cr_assert_eq(archive_write(items, manifest ? 2 : 0, &gz, NULL), 0);
    struct str out = arena_str(test_arena(), buf_str(&gz));
    buf_fini(&gz);
    return out;
}

static struct str good(const char *name, const char *version) {
    return tar_of(manifest_of(name, version), "dist/e.wasm", STR("\0asm\1\0\0\0"));
}

static struct reply put(const char *name, const char *version, struct str bytes, const char *line) {
    const char *const lines[] = {line ? line : GZIP, line ? GZIP : NULL, NULL};
    bool typed = line && strncmp(line, "Content-Type", 12) == 0;
    const char *const only[] = {line, NULL};
    return ask_bytes("PUT", fmt("/v1/packs/%s/-/%s.tgz", name, version), bytes,
                     typed ? only : lines);
}

static void need_publish(void) {
    struct reply r = put(name_new(), "not-semver", STR("x"), NULL);
    if (r.status == 403) cr_skip_test("the credential may not publish packs");
    if (r.status == 404 || r.status == 405 || r.status == 501)
        cr_skip_test("PUT of a pack answers %ld: nothing can be published", r.status);
}

/* codes: those that mean it, with blanks between. */
static void expect_code(const char *what, const struct reply *r, long status, const char *codes) {
    struct str code = text_or_none(r->json, "error");
    cr_expect_eq(r->status, status, "%s: %ld " STR_FMT, what, r->status, STR_ARG(r->body));
    cr_expect(code.n > 0 && strstr(fmt(" %s ", codes), fmt(" " STR_FMT " ", STR_ARG(code))),
              "%s: " STR_FMT ", not %s", what, STR_ARG(code), codes);
    if (r->status >= 400) expect_envelope(r);
}

Test(pack_registry_publish, names_versions_and_bodies_are_judged_first) {
    const char *n = name_new();
    struct reply r;
    need_publish();
    r = put("evil.conformance.x", "1.0.0", good("evil.conformance.x", "1.0.0"), NULL);
    expect_code("unknown scope", &r, 400, "invalid_pack_scope");
    r = put("local.conformance.x", "1.0.0", good("local.conformance.x", "1.0.0"), NULL);
    expect_code("local", &r, 400, "invalid_pack_scope");
    r = put("Bad%20Name", "1.0.0", good(n, "1.0.0"), NULL);
    expect_code("name", &r, 400, "invalid_pack_name");
    r = put(n, "1.0", good(n, "1.0.0"), NULL);
    expect_code("version", &r, 400, "invalid_version");
    r = put(n, "1.0.0", STR("{}"), "Content-Type: application/json");
    expect_code("JSON", &r, 400, "invalid_body");
    r = put(n, "1.0.0", STR(""), NULL);
    expect_code("empty", &r, 400, "invalid_body");
    r = put(n, "1.0.0", good(n, "1.0.0"), "X-Pack-Sha256: sha256-AAAA");
    expect_code("digest", &r, 400, "pack_integrity_failure");
    r = ask("GET", fmt("/v1/packs/%s", n), NULL, NO_AUTH);
    cr_expect_eq(r.status, 404, "PACK-55: nothing is left of what was refused");
}

/* n bytes that do not compress. */
static struct str noise(size_t n) {
    char *p = arena_alloc(test_arena(), n);
    uint64_t x = 88172645463325252u;
    cr_assert_not_null(p);
    for (size_t i = 0; i < n; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        p[i] = (char)x;
    }
    return str_n(p, n);
}

static struct str zeros(size_t n) {
    char *p = arena_alloc(test_arena(), n);
    cr_assert_not_null(p);
    return str_n(p, n);
}

/* The manifest, and n bytes more that mean nothing. */
static const char *blank_after(const char *m, size_t n) {
    size_t len = strlen(m);
    char *p = arena_alloc(test_arena(), len + n + 1);
    cr_assert_not_null(p);
    memset(p, ' ', len + n);
    memcpy(p, m, len);
    return p;
}

Test(pack_registry_publish, each_fault_of_a_tarball_has_its_code) {
    const char *n = name_new(), *m = manifest_of(n, "1.0.0");
    struct str ok = good(n, "1.0.0");
    struct reply r;
    need_publish();
    r = put(n, "1.0.0", STR("this is no gzip"), NULL);
    expect_code("gunzip", &r, 400, "tarball_gunzip_failed");
    r = put(n, "1.0.0", str_n(ok.p, ok.n - 9), NULL);
    expect_code("cut", &r, 400, "tarball_gunzip_failed");
    r = put(n, "1.0.0", tar_of(m, "zeros", zeros(60u << 20)), NULL);
    expect_code("bomb", &r, 400, "tarball_too_large");
    r = put(n, "1.0.0", tar_of("{}", "x", STR("x")), NULL);
    cr_expect_eq(r.status, 400);
    struct archive_item other = {STR("other.json"), STR("{}")};
    struct buf gz;
    buf_init(&gz, 1 << 20);
    cr_assert_eq(archive_write(&other, 1, &gz, NULL), 0);
    r = put(n, "1.0.0", buf_str(&gz), NULL);
    expect_code("no manifest", &r, 400, "tarball_manifest_missing missing_manifest");
    buf_fini(&gz);
    r = put(n, "1.0.0", tar_of(blank_after(m, 256u << 10), "x", STR("x")), NULL);
    expect_code("large manifest", &r, 400, "tarball_manifest_too_large");
    r = put(n, "1.0.0", tar_of("nonsense", "x", STR("x")), NULL);
    expect_code("manifest", &r, 400, "tarball_manifest_not_json");
    r = put(n, "1.0.0", tar_of(m, "dist/other.wasm", STR("x")), NULL);
    expect_code("entry", &r, 400, "tarball_entry_missing");
    r = put(n, "1.0.0", tar_of(m, "dist/e.wasm", noise((5u << 20) + 1)), NULL);
    expect_code("large entry", &r, 400, "tarball_entry_too_large");
}

/* The good tarball, inflated, changed and compressed again would need zlib here: raw blocks. */
static struct str raw_tar(const char *entry, char type) {
    static char tar[1536 + 1024];
    char *h = tar;
    unsigned sum = 0;
    memset(tar, 0, sizeof tar);
    snprintf(h, 100, "%s", entry);
    memcpy(h + 100, "0000644", 8);
    memcpy(h + 124, "00000000000", 12);
    h[156] = type;
    memcpy(h + 257,
           "ustar\0"
           "00",
           8);
    memset(h + 148, ' ', 8);
    for (int i = 0; i < 512; i++) sum += (unsigned char)h[i];
    for (int i = 5; i >= 0; i--, sum >>= 3) h[148 + i] = (char)('0' + (sum & 7));
    h[154] = '\0';
    return str_n(tar, 512 + 1024);
}

/* In one stored block: gzip without compressing. */
static struct str stored(struct str s) {
    struct buf b;
    uint32_t crc = 0xFFFFFFFFu;
    buf_init(&b, 1 << 20);
    buf_add(&b, "\x1f\x8b\x08\0\0\0\0\0\0\xff\x01", 11);
    const unsigned char len[4] = {(unsigned char)s.n, (unsigned char)(s.n >> 8),
                                  (unsigned char)~s.n, (unsigned char)(~s.n >> 8)};
    buf_add(&b, len, 4);
    buf_adds(&b, s);
    for (size_t i = 0; i < s.n; i++) {
        crc ^= (unsigned char)s.p[i];
        for (int k = 0; k < 8; k++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    crc = ~crc;
    for (int i = 0; i < 4; i++) buf_addc(&b, (char)(crc >> 8 * i));
    for (int i = 0; i < 4; i++) buf_addc(&b, (char)((uint32_t)s.n >> 8 * i));
    struct str out = arena_str(test_arena(), buf_str(&b));
    buf_fini(&b);
    return out;
}

Test(pack_registry_publish, hostile_entries_are_refused) {
    static const struct {
        const char *entry;
        char type;
    } BAD[] = {{"../../etc/passwd", '0'},
               {"/etc/passwd", '0'},
               {"a/../../b", '0'},
               {"link", '2'},
               {"hard", '1'},
               {"device", '3'}};
    const char *n = name_new();
    need_publish();
    for (size_t i = 0; i < COUNT(BAD); i++) {
        struct reply r = put(n, "1.0.0", stored(raw_tar(BAD[i].entry, BAD[i].type)), NULL);
        expect_code(BAD[i].entry, &r, 400, "tarball_path_traversal unsafe_paths");
    }
    struct str broken = raw_tar("x", '0');
    ((char *)(uintptr_t)broken.p)[0] = 'y'; /* the checksum is wrong now */
    struct reply r = put(n, "1.0.0", stored(broken), NULL);
    expect_code("checksum", &r, 400, "tarball_tar_parse_failed");
}

static struct str manifest_with(const char *m, const char *from, const char *to) {
    const char *at_ = strstr(m, from);
    cr_assert_not_null(at_);
    return tar_of(fmt("%.*s%s%s", (int)(at_ - m), m, to, at_ + strlen(from)), "dist/e.wasm",
                  STR("x"));
}

Test(pack_registry_publish, a_manifest_is_valid_and_that_of_the_url) {
    const char *n = name_new(), *m = manifest_of(n, "1.0.0");
    struct reply r;
    need_publish();
    r = put(n, "1.0.0", manifest_with(m, "\"role\":\"pure\"", "\"rule\":1"), NULL);
    expect_code("schema", &r, 400, "invalid_manifest");
    r = put(n, "1.0.0", good(name_new(), "1.0.0"), NULL);
    expect_code("name", &r, 400, "manifest_name_mismatch manifest_mismatch manifest_path_mismatch");
    r = put(n, "1.0.0", good(n, "1.0.1"), NULL);
    expect_code("version", &r, 400,
                "manifest_version_mismatch manifest_mismatch manifest_path_mismatch");
    r = put(n, "1.0.0", manifest_with(m, ">=1.0.0 <2.0.0", "newest"), NULL);
    expect_code("engines", &r, 400, "invalid_engines_range");
    r = put(n, "1.0.0", manifest_with(m, "\"wasm\"", "\"cobol\""), NULL);
    expect_code("runtime", &r, 400, "unsupported_runtime");
    r = put(
        n, "1.0.0",
        manifest_with(m, "\"role\":\"pure\"", "\"role\":\"pure\",\"inputSchemaRef\":\"none.json\""),
        NULL);
    expect_code("reference", &r, 400, "schema_ref_missing");
    r = put(n, "1.0.0", good(n, "1.0.0"), "X-Pack-Signing-Method: manual");
    expect_code("signature", &r, 400, "signature_invalid");
}

Test(pack_registry_publish, a_version_is_published_once_and_stays_as_it_is) {
    const char *n = name_new();
    struct str bytes = good(n, "1.0.0");
    need_publish();
    cr_expect_eq(put(n, "1.0.0", bytes, NULL).status, 201);
    cr_expect_eq(put(n, "1.0.0", bytes, NULL).status, 200, "the same bytes");
    struct reply r = put(
        n, "1.0.0",
        manifest_with(manifest_of(n, "1.0.0"), "{\"name\"", "{\"author\":\"x\",\"name\""), NULL);
    expect_code("other bytes", &r, 409, "conflict version_conflict");
    r = ask("GET", fmt("/v1/packs/%s/-/1.0.0.sig", n), NULL, NO_AUTH);
    expect_code("unsigned", &r, 404, "signature_not_available");
    r = ask("POST", fmt("/v1/packs/%s/-/1.0.0/yank", n), "{\"reason\":\"conformance\"}", NULL);
    if (r.status == 403) cr_skip_test("the credential may not yank packs");
    cr_expect_eq(r.status, 200);
    r = ask("GET", fmt("/v1/packs/%s/-/1.0.0.tgz", n), NULL, NO_AUTH);
    cr_expect(r.status == 200 && str_eq(r.body, bytes), "PACK-51: still served");
    r = ask("GET", fmt("/v1/packs/%s/-/1.0.0.sig", n), NULL, NO_AUTH);
    expect_code("yanked", &r, 404, "signature_not_available");
    r = ask("DELETE", fmt("/v1/packs/%s/-/1.0.0", n), NULL, NULL);
    cr_expect(r.status == 200 || r.status == 204, "within 72 hours: %ld", r.status);
    cr_expect_eq(ask("GET", fmt("/v1/packs/%s/-/1.0.0.tgz", n), NULL, NO_AUTH).status, 404);
}
