/*
 * test_packs.c: the registry of the real program over HTTP: publish checks in their order, first
 * claims, marks, signatures, keys, and kill -9 in the middle (PACK-3, PACK-30 to PACK-55; CHK-23 to
 * CHK-26).
 */
#include "interrupt_kit.h"
#include "pack_kit.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NAME  "vendor.acme.tools"
#define OTHER "other-tenant"

static struct server sv;
static void up(void) {
    static const char *const ARGS[] = {"--audit-log", "all", "--address-rate", "10000", NULL};
    server_start(&sv, ARGS);
}
static void down(void) { server_end(&sv); }
TestSuite(packs, .init = up, .fini = down, .timeout = 120);

static struct reply put(const char *name, const char *version, struct str bytes,
                        const char *lines) {
    return pack_put(&sv, TEST_KEY, name, fmt("%s.tgz", version), bytes, lines);
}
static struct reply get(const char *path) {
    return ask(&sv, "GET", fmt("/v1/packs/%s", path), NULL, NO_BEARER);
}
static void publish(const char *name, const char *version) {
    struct reply r = put(name, version, pack_tarball(name, version, ""), AS_GZIP);
    cr_assert_eq(r.status, 201, "%ld " STR_FMT, r.status, STR_ARG(r.body));
}

Test(packs, a_published_pack_is_there_for_everybody /* PACK-33 to PACK-37, PACK-46, CHK-24 */) {
    struct str bytes = pack_tarball(NAME, "1.0.0", "");
    cr_expect_eq(put(NAME, "1.0.0", bytes, AS_GZIP).status, 201);
    cr_expect_eq(put(NAME, "1.0.0", bytes, AS_GZIP).status, 200, "the same bytes again");
    struct reply r = put(NAME, "1.0.0", pack_tarball(NAME, "1.0.0", ",\"author\":\"a\""), AS_GZIP);
    expect_error(&r, 409, "conflict");
    publish(NAME, "1.1.0");
    publish(NAME, "2.0.0-rc.1");
    r = get(NAME);
    cr_assert_eq(r.status, 200);
    cr_expect(str_eqc(text_at(r.body, "name"), NAME));
    cr_expect(str_eqc(text_at(r.body, "latest"), "1.1.0"), "no prerelease");
    cr_expect(str_eq(get(NAME "/index.json").body, r.body));
    r = get(NAME "/-/1.0.0.tgz");
    cr_expect(r.status == 200 && str_eq(r.body, bytes), "the bytes as they were");
    cr_expect(str_eqc(header(&r, "Content-Type"), "application/tar+gzip"));
    struct sha256 d = sha256_of(bytes);
    struct buf sri;
    buf_init(&sri, 64);
    pack_sri(&d, &sri);
    cr_expect(str_eqc(header(&r, "ETag"), fmt("\"%s\"", sri.p)));
    r = get(NAME "/-/1.0.0.json");
    cr_expect(str_eqc(text_at(r.body, "tarballSha256"), sri.p));
    cr_expect(str_eqc(text_at(r.body, "runtime.language"), "wasm"), "the manifest is there, too");
    buf_fini(&sri);
    r = get("-/search?q=Echoes%20DEMO");
    cr_expect(str_eqc(text_at(r.body, "results.0.name"), NAME));
    cr_expect(str_eqc(at(get("-/search?q=nothing").body, "results"), "[]"));
    cr_expect_eq(get("-/search?q=").status, 200);
}

Test(packs, names_and_versions_are_judged_before_anything_is_looked_up /* PACK-48, PACK-60 */) {
    static const struct {
        const char *path;
        long status;
        const char *code;
    } READS[] = {
        {"Bad%20Name/-/1.0.json", 400, "invalid_pack_name"},
        {"name%20with%20spaces/-/1.0.json", 400, "invalid_pack_name"},
        {"a/-/1.0.json", 400, "invalid_version"},
        {"not-reverse-dns/-/1.0.json", 400, "invalid_version"},
        {"probe-no-such-pack/-/0.0.0.json", 404, "pack_not_found"},
        {"community.test/-/1.0.0.json", 400, "invalid_pack_name"},
        {"private.probe.none/-/0.0.0-conformance.json", 404, "pack_not_found"},
        {"private.probe.none/-/not-a-version.json", 400, "invalid_version"},
        {"private.probe.none/-/v1.0.tgz", 400, "invalid_version"},
        {"community.no-such-pack/-/1.0.sig", 404, "signature_not_available"},
        {"private.probe.none/-/1.0.0.sig", 404, "signature_not_available"},
        {"private.probe.none", 404, "pack_not_found"},
        {"local.probe.none", 400, "invalid_pack_name"},
        {"a", 400, "invalid_pack_name"},
        {"..%2F..%2Fetc/-/1.0.0.json", 400, "invalid_pack_name"},
        {"private.probe.none/-/keychain", 404, "pack_not_found"},
        {"private.probe.none/-/1.0.0", 404, "not_found"},
    };
    for (size_t i = 0; i < sizeof READS / sizeof *READS; i++) {
        struct reply r = get(READS[i].path);
        cr_expect_eq(r.status, READS[i].status, "%s: %ld", READS[i].path, r.status);
        expect_error(&r, READS[i].status, READS[i].code);
    }
    const char *longest = fmt("core.a.%0249d", 0);
    struct reply r = get(fmt("%.7sa%s", longest, longest + 8));
    expect_error(&r, 404, "pack_not_found");
    r = get(fmt("%sx", longest));
    expect_error(&r, 400, "invalid_pack_name");
}

Test(packs,
     each_check_of_a_publish_has_its_code_and_leaves_nothing /* PACK-54, PACK-55, CHK-23 */) {
    struct str good = pack_tarball(NAME, "1.0.0", "");
    const struct {
        const char *name, *file, *lines;
        struct str bytes;
        long status;
        const char *code;
    } PUTS[] = {
        {"Bad%20Name", "1.0.0.tgz", AS_GZIP, good, 400, "invalid_pack_name"},
        {"local.acme.x", "1.0.0.tgz", AS_GZIP, good, 400, "invalid_pack_scope"},
        {"evil.acme.x", "1.0.0.tgz", AS_GZIP, good, 400, "invalid_pack_scope"},
        {"core.openwop.x", "1.0.0.tgz", AS_GZIP, good, 400, "invalid_pack_scope"},
        {NAME, "1.0.tgz", AS_GZIP, good, 400, "invalid_version"},
        {NAME, "1.0.0", AS_GZIP, good, 400, "invalid_version"},
        {NAME, "1.0.0.tgz", "Content-Type: application/json\r\n", STR("{}"), 400, "invalid_body"},
        {NAME, "1.0.0.tgz", "", good, 400, "invalid_body"},
        {NAME, "1.0.0.tgz", AS_GZIP, STR(""), 400, "invalid_body"},
        {NAME, "1.0.0.tgz", AS_GZIP "X-Pack-Sha256: sha256-x\r\n", good, 400,
         "pack_integrity_failure"},
        {NAME, "1.0.0.tgz", AS_GZIP, STR("no gzip"), 400, "tarball_gunzip_failed"},
        {NAME, "1.0.1.tgz", AS_GZIP, good, 400, "manifest_version_mismatch"},
        {"vendor.acme.others", "1.0.0.tgz", AS_GZIP, good, 400, "manifest_name_mismatch"},
        {NAME, "1.0.0.tgz", AS_GZIP, pack_tarball(NAME, "1.0.0", ",\"x\":1"), 400,
         "invalid_manifest"},
        {NAME, "1.0.0.tgz", AS_GZIP "X-Pack-Signing-Method: manual\r\n", good, 400,
         "signature_invalid"},
        {NAME, "1.0.0.tgz", AS_GZIP "X-Pack-Signing-Method: sigstore\r\n", good, 400,
         "signature_invalid"},
    };
    for (size_t i = 0; i < sizeof PUTS / sizeof *PUTS; i++) {
        struct reply r =
            pack_put(&sv, TEST_KEY, PUTS[i].name, PUTS[i].file, PUTS[i].bytes, PUTS[i].lines);
        cr_expect_eq(r.status, PUTS[i].status, "%zu: %ld " STR_FMT, i, r.status, STR_ARG(r.body));
        expect_error(&r, PUTS[i].status, PUTS[i].code);
    }
    struct reply r = pack_put(&sv, "no-key", NAME, "1.0.0.tgz", good, AS_GZIP);
    expect_error(&r, 401, "unauthenticated");
    r = pack_put(&sv, key_with(&sv, "packs:yank", OTHER) + sizeof "Authorization: Bearer " - 1,
                 NAME, "1.0.0.tgz", good, AS_GZIP);
    expect_error(&r, 403, "forbidden");
    cr_expect(str_eqc(at(get("-/search?q=demo").body, "results"), "[]"));
}

Test(packs, a_name_belongs_to_whom_publishes_first /* PACK-3 */) {
    const char *theirs = key_with(&sv, "packs:publish,packs:yank", OTHER);
    publish(NAME, "1.0.0");
    struct reply r = pack_put(&sv, theirs + sizeof "Authorization: Bearer " - 1, "vendor.acme.more",
                              "1.0.0.tgz", pack_tarball("vendor.acme.more", "1.0.0", ""), AS_GZIP);
    expect_error(&r, 403, "forbidden");
    r = pack_put(&sv, theirs + sizeof "Authorization: Bearer " - 1, "community.ada.x", "1.0.0.tgz",
                 pack_tarball("community.ada.x", "1.0.0", ""), AS_GZIP);
    cr_expect_eq(r.status, 201);
    r = put("community.ada.x", "1.0.1", pack_tarball("community.ada.x", "1.0.1", ""), AS_GZIP);
    expect_error(&r, 403, "forbidden");
    publish("community.ada.y", "1.0.0"); /* another name is another claim */
    const char *const LINE[] = {theirs, NULL};
    r = ask(&sv, "POST", "/v1/packs/" NAME "/-/1.0.0/yank", "{\"reason\":\"x\"}", LINE);
    expect_error(&r, 403, "forbidden");
}

Test(packs, marks_come_and_go_and_say_who /* PACK-39 to PACK-41, PACK-50, PACK-51, CHK-25 */) {
    publish(NAME, "1.0.0");
    publish(NAME, "1.1.0");
    const char *one = "/v1/packs/" NAME "/-/1.1.0";
    struct reply r = ask(&sv, "POST", fmt("%s/yank", one), "{}", NULL);
    expect_error(&r, 400, "validation_error");
    r = ask(&sv, "POST", fmt("%s/yank", one),
            "{\"reason\":\"leaks\",\"advisoryUrl\":\"https://a.example/1\"}", NULL);
    cr_expect_eq(r.status, 200);
    r = get(NAME);
    cr_expect(str_eqc(text_at(r.body, "latest"), "1.0.0"), "yanked ones are no latest");
    cr_expect_eq(get(NAME "/-/1.1.0.tgz").status, 200, "still served");
    r = get(NAME "/-/1.1.0.json");
    cr_expect(str_eqc(text_at(r.body, "yanked.reason"), "leaks"));
    cr_expect_eq(ask(&sv, "DELETE", fmt("%s/yank", one), NULL, NULL).status, 200);
    cr_expect_null(at(get(NAME "/-/1.1.0.json").body, "yanked").p);
    r = ask(&sv, "POST", fmt("%s/deprecate", one),
            "{\"reason\":\"old\",\"supersededBy\":\"" NAME "@2.0.0\"}", NULL);
    cr_expect(str_eqc(text_at(r.body, "deprecation.reason"), "old"));
    r = ask(&sv, "POST", fmt("%s/deprecate", one), "{\"reason\":\"older\"}", NULL);
    cr_expect(str_eqc(text_at(get(NAME "/-/1.1.0.json").body, "deprecation.reason"), "older"));
    cr_expect(str_eqc(text_at(get(NAME).body, "latest"), "1.0.0"), "one that is not deprecated");
    cr_expect_eq(ask(&sv, "DELETE", fmt("%s/deprecate", one), NULL, NULL).status, 200);
    cr_expect(str_eqc(text_at(get(NAME).body, "latest"), "1.1.0"));
    r = ask(&sv, "POST", "/v1/packs/" NAME "/-/9.0.0/yank", "{\"reason\":\"x\"}", NULL);
    expect_error(&r, 404, "pack_not_found");
}

Test(packs, unpublishing_has_its_time_and_a_version_never_returns /* PACK-38 */) {
    publish(NAME, "1.0.0");
    publish(NAME, "1.1.0");
    cr_assert_eq(system(fmt("sqlite3 -cmd '.timeout 5000' '%s' \"UPDATE pack_versions SET"
                            " published_ms = published_ms - 73 * 3600000 WHERE version ="
                            " '1.1.0'\"",
                            sv.db)),
                 0);
    struct reply r = ask(&sv, "DELETE", "/v1/packs/" NAME "/-/1.1.0", NULL, NULL);
    expect_error(&r, 400, "unpublish_window_expired");
    cr_expect_eq(ask(&sv, "DELETE", "/v1/packs/" NAME "/-/1.0.0", NULL, NULL).status, 200);
    r = ask(&sv, "DELETE", "/v1/packs/" NAME "/-/1.0.0", NULL, NULL);
    expect_error(&r, 404, "pack_not_found");
    r = get(NAME "/-/1.0.0.tgz");
    expect_error(&r, 404, "pack_not_found");
    r = put(NAME, "1.0.0", pack_tarball(NAME, "1.0.0", ""), AS_GZIP);
    expect_error(&r, 409, "conflict");
    cr_expect_eq(get(NAME).status, 200);
}

/* --- signatures --- */

static struct ed25519_key key_of(uint8_t seed) {
    struct ed25519_key k;
    uint8_t secret[32] = {seed};
    cr_assert_eq(ed25519_from_secret(secret, &k, NULL), 0);
    return k;
}
static const char *base64(const void *p, size_t n) {
    struct buf b;
    buf_init(&b, 4096);
    base64_encode(&b, str_n(p, n));
    const char *out = fmt("%s", b.p);
    buf_fini(&b);
    return out;
}
static const char *public_of(const struct ed25519_key *k) {
    struct buf b;
    buf_init(&b, 4096);
    pack_key_text(k->pub, &b);
    const char *out = fmt("%s", b.p);
    buf_fini(&b);
    return out;
}
static const char *signed_by(const struct ed25519_key *k, struct str text) {
    uint8_t sig[64];
    cr_assert_eq(ed25519_sign(k, text, sig, NULL), 0);
    return base64(sig, sizeof sig);
}
static struct reply put_signed(const char *version, const struct ed25519_key *k,
                               const struct ed25519_key *shown) {
    struct str bytes = pack_tarball(NAME, version, "");
    return put(NAME, version, bytes,
               fmt(AS_GZIP "X-Pack-Signing-Method: manual\r\nX-Pack-Signature: %s\r\n"
                           "X-Pack-Public-Key: %s\r\n",
                   signed_by(k, bytes), public_of(shown)));
}

Test(packs,
     a_signature_is_by_a_key_of_the_namespace_or_nothing_is_stored /* PACK-24 to PACK-27 */) {
    struct ed25519_key first = key_of(1), wrong = key_of(2);
    struct reply r = put_signed("1.0.0", &wrong, &first);
    expect_error(&r, 400, "signature_invalid");
    r = get(NAME "/-/keychain");
    expect_error(&r, 404, "pack_not_found");
    r = put_signed("1.0.0", &first, &first);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(at(r.body, "signed"), "true"));
    r = get(NAME "/-/1.0.0.sig");
    cr_expect_eq(r.body.n, 64u);
    cr_expect(ed25519_verify(first.pub, get(NAME "/-/1.0.0.tgz").body, (const uint8_t *)r.body.p));
    r = put_signed("1.1.0", &wrong, &wrong);
    expect_error(&r, 400, "signature_invalid"); /* a key that comes along is none any more */
    cr_expect_eq(put(NAME, "1.1.0", pack_tarball(NAME, "1.1.0", ""), AS_GZIP).status, 201);
    r = get(NAME "/-/1.1.0.sig");
    expect_error(&r, 404, "signature_not_available");
    cr_expect_eq(
        ask(&sv, "POST", "/v1/packs/" NAME "/-/1.0.0/yank", "{\"reason\":\"x\"}", NULL).status,
        200);
    r = get(NAME "/-/1.0.0.sig");
    expect_error(&r, 404, "signature_not_available");
}

static struct reply rotate(const struct ed25519_key *old, const struct ed25519_key *next,
                           const char *kid, const char *from) {
    const char *text = fmt("%s%s%s", kid, public_of(next), from);
    return ask(&sv, "POST", "/v1/packs/" NAME "/-/keychain/rotate",
               fmt("{\"kid\":\"%s\",\"publicKey\":\"%s\",\"validFrom\":\"%s\",\"rotationProof\":"
                   "\"%s\"}",
                   kid, public_of(next), from, signed_by(old, str_c(text))),
               NULL);
}

Test(packs, a_key_is_replaced_by_one_that_it_signed /* PACK-42, PACK-43, PACK-53 */) {
    struct ed25519_key first = key_of(1), second = key_of(2), third = key_of(3);
    cr_assert_eq(put_signed("1.0.0", &first, &first).status, 201);
    char from[32];
    time_t now = time(NULL);
    struct tm tm;
    cr_assert_not_null(gmtime_r(&now, &tm));
    now += 1;
    cr_assert_gt(strftime(from, sizeof from, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm)), 0);
    struct reply r = rotate(&third, &second, "k2", from);
    expect_error(&r, 400, "rotation_proof_invalid");
    r = rotate(&first, &second, "k2", "2001-01-01T00:00:00Z");
    expect_error(&r, 400, "validation_error");
    r = rotate(&first, &second, "k2", from);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    r = get(NAME "/-/keychain");
    cr_expect(str_eqc(text_at(r.body, "namespace"), "vendor.acme"));
    cr_expect(str_eqc(text_at(r.body, "keys.0.rotatedTo"), "k2"));
    cr_expect(str_eqc(text_at(r.body, "keys.1.kid"), "k2"));
    while (time(NULL) <= now) usleep(50000);
    r = put_signed("1.1.0", &first, &first);
    expect_error(&r, 400, "signature_invalid");
    cr_expect_eq(put_signed("1.1.0", &second, &first).status, 201);
    cr_expect_eq(get(NAME "/-/1.0.0.sig").status, 200, "what the old key signed stays good");
}

Test(packs, changes_are_entries_of_the_audit_log /* AUD-3 */) {
    publish(NAME, "1.0.0");
    cr_expect_eq(
        ask(&sv, "POST", "/v1/packs/" NAME "/-/1.0.0/yank", "{\"reason\":\"x\"}", NULL).status,
        200);
    cr_assert_eq(system(fmt("test $(sqlite3 '%s' \"SELECT count(*) FROM audit_entries WHERE type IN"
                            " ('pack.published', 'pack.yanked')\") = 2",
                            sv.db)),
                 0);
    cr_assert_eq(
        system(fmt("test $(sqlite3 '%s' \"SELECT count(*) FROM pack_history WHERE name = '" NAME
                   "'\") = 2",
                   sv.db)),
        0);
}

Test(packs, a_kill_in_the_middle_leaves_all_of_a_version_or_nothing /* PACK-55 */) {
    for (int round = 0; round < 12; round++) {
        const char *version = fmt("1.0.%d", round);
        struct str bytes = pack_tarball(NAME, version, "");
        struct buf b;
        buf_init(&b, 1 << 20);
        buf_addf(&b,
                 "PUT /v1/packs/" NAME "/-/%s.tgz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s"
                 "\r\n" AS_GZIP "Content-Length: %zu\r\n\r\n",
                 version, TEST_KEY, bytes.n);
        buf_adds(&b, bytes);
        struct reply r = ask_raw(&sv, b.p, b.len, round); /* answered or not: the kill decides */
        buf_fini(&b);
        server_kill(&sv);
        server_again(&sv);
        struct reply tgz = get(fmt(NAME "/-/%s.tgz", version));
        struct reply json = get(fmt(NAME "/-/%s.json", version));
        cr_expect_eq(tgz.status, json.status, "round %d", round);
        cr_expect(r.status != 201 || tgz.status == 200, "acknowledged, and gone");
        if (tgz.status == 200) cr_expect(str_eq(tgz.body, bytes));
        cr_expect_eq(put(NAME, version, bytes, AS_GZIP).status, tgz.status == 200 ? 200 : 201);
    }
    struct str out;
    server_kill(&sv);
    static const char *const VERIFY[] = {"verify", NULL};
    cr_expect_eq(program(&sv, VERIFY, &out, NULL), 0, STR_FMT, STR_ARG(out));
    server_again(&sv);
}
