/*
 * test_judge.c: manifests, and tarballs as packs: each code of 10.6 by a crafted one (PACK-10 to
 * PACK-18, PACK-23, PACK-54, CHK-23).
 */
#include "base/fault.h"
#include "unit/packs/kit.h"

static struct buf tar, gz;
static struct arena *a;
static struct manifest_rules *rules;
static struct wopr_error err;
static void up(void) {
    buf_init(&tar, 64 << 20);
    buf_init(&gz, 64 << 20);
    a = arena_new(PACK_ARENA_MAX);
    cr_assert_eq(manifest_rules_new(&rules, &err), 0, "%s", err.message);
}
static void down(void) {
    buf_fini(&tar);
    buf_fini(&gz);
    arena_free(a);
    manifest_rules_free(rules);
}
TestSuite(judge, .init = up, .fini = down);

static struct pack_judged judged;
static int judge_as(struct str tgz, const char *name, const char *version) {
    const struct pack_expect e = {.name = str_c(name), .version = str_c(version), .entry = true};
    memset(&err, 0, sizeof err);
    int rc = pack_judge(rules, tgz, &e, a, &judged, &err);
    cr_expect_eq(rc, err.code, "%s", err.message);
    return rc;
}
static int judge(struct str tgz) { return judge_as(tgz, PACK_NAME, "1.2.3"); }

Test(judge, a_good_pack_is_read /* PACK-10, PACK-20 */) {
    struct pack_types types;
    cr_assert_eq(judge(pack_of(&tar, &gz, PACK_JSON)), 0, "%s", err.message);
    const struct pack_manifest *m = &judged.manifest;
    cr_expect(str_eqc(m->name, PACK_NAME) && str_eqc(m->version, "1.2.3"));
    cr_expect(str_eqc(m->entry, "dist/echo.wasm"), "the './' of an entry is dropped");
    cr_expect_eq(m->language, PACK_LANG_WASM);
    cr_expect_eq(judged.entry.n, 8u);
    cr_expect_eq(judged.files, 3u);
    cr_expect(str_eqc(judged.warnings, "[]"));
    cr_assert_eq(manifest_types(m, a, &types, &err), 0);
    cr_expect(types.n == 1 && str_eqc(types.v[0], PACK_NAME ".echo"));
    struct sha256 d = sha256_of(buf_str(&gz));
    cr_expect(sha256_eq(&d, &judged.digest));
}

/* The manifest with one text in the place of another. */
static struct str changed(const char *from, const char *to) {
    static char text[8192];
    const char *at = strstr(PACK_JSON, from);
    cr_assert_not_null(at, "%s", from);
    int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - PACK_JSON), PACK_JSON, to,
                     at + strlen(from));
    cr_assert(n > 0 && (size_t)n < sizeof text);
    return pack_of(&tar, &gz, text);
}

static const struct {
    const char *from, *to;
    int code;
} MANIFESTS[] = {
    {"{\"name\"", "[{\"name\"", WOPR_E_PACK_MANIFEST_JSON},
    {"\"description\":\"Tools.\"", "\"version\":\"1.0.0\"", WOPR_E_PACK_MANIFEST_JSON},
    {"\"description\":\"Tools.\"", "\"surprise\":1", WOPR_E_PACK_MANIFEST},
    {"\"description\":\"Tools.\"", "\"keywords\":[1]", WOPR_E_PACK_MANIFEST},
    {"\"name\":\"" PACK_NAME "\"", "\"name\":\"acme\"", WOPR_E_PACK_MANIFEST},
    {"\"name\":\"" PACK_NAME "\"", "\"name\":\"vendor.acme.other\"", WOPR_E_PACK_NAME_OTHER},
    {"1.2.3", "1.2.4", WOPR_E_PACK_VERSION_OTHER},
    {"\"version\":\"1.2.3\"", "\"version\":\"1.2\"", WOPR_E_PACK_MANIFEST},
    {"\"version\":\"1.2.3\"", "\"version\":\"01.2.3\"", WOPR_E_PACK_MANIFEST},
    {"\"engines\":{\"openwop\":\">=1.0.0 <2.0.0\"},", "", WOPR_E_PACK_ENGINES},
    {"{\"openwop\":\">=1.0.0 <2.0.0\"}", "{}", WOPR_E_PACK_ENGINES},
    {">=1.0.0 <2.0.0", "newest", WOPR_E_PACK_ENGINES},
    {">=1.0.0 <2.0.0", "", WOPR_E_PACK_ENGINES},
    {"\"wasm\",\"entry\"", "\"cobol\",\"entry\"", WOPR_E_PACK_RUNTIME},
    {"./dist/echo.wasm", "dist/none.wasm", WOPR_E_PACK_NO_ENTRY},
    {"./dist/echo.wasm", "../echo.wasm", WOPR_E_PACK_MANIFEST},
    {"./dist/echo.wasm", "/dist/echo.wasm", WOPR_E_PACK_MANIFEST},
    {"schemas/in.json", "schemas/none.json", WOPR_E_PACK_REF},
    {"schemas/in.json", "../in.json", WOPR_E_PACK_REF},
    {"schemas/in.json", "/etc/passwd", WOPR_E_PACK_REF},
    {"\"description\":\"Tools.\"", "\"signing\":{\"publicKeyRef\":\"keys/k.pem\"}",
     WOPR_E_PACK_REF},
    {"\"description\":\"Tools.\"", "\"dependencies\":{\"x\":\"^1\"}", WOPR_E_PACK_MANIFEST},
    {"\"description\":\"Tools.\"", "\"dependencies\":{\"core.a.b\":\"one\"}", WOPR_E_PACK_MANIFEST},
    {"\"category\":\"data\"", "\"category\":\"examples\"", WOPR_E_PACK_MANIFEST},
    {"\"version\":\"1.0.0\",\"category\"", "\"version\":\"one\",\"category\"",
     WOPR_E_PACK_MANIFEST},
    {"\"nodes\":[",
     "\"nodes\":[{\"typeId\":\"" PACK_NAME ".Echo\",\"version\":\"1.0.0\","
     "\"category\":\"data\",\"role\":\"pure\"},",
     WOPR_E_PACK_MANIFEST},
    {"\"description\":\"Tools.\"",
     "\"agents\":[{\"agentId\":\"vendor.other.x.a\",\"persona\":\"P\",\"modelClass\":\"general\","
     "\"systemPrompt\":\"s\"}]",
     WOPR_E_PACK_MANIFEST},
    {"\"description\":\"Tools.\"",
     "\"agents\":[{\"agentId\":\"" PACK_NAME ".a\",\"persona\":\"P\",\"modelClass\":\"general\","
     "\"systemPromptRef\":\"p.md\"}]",
     WOPR_E_PACK_REF},
    {"\"description\":\"Tools.\"",
     "\"agents\":[{\"agentId\":\"" PACK_NAME ".a\",\"persona\":\"P\",\"modelClass\":\"general\","
     "\"systemPrompt\":\"s\"}]",
     0},
    {"\"format\":\"wasm\"", "\"wasm\":{\"abiVersion\":1}", 0}, /* PACK-14, X-24 */
    {"\"format\":\"wasm\"", "\"other\":{}", WOPR_E_PACK_MANIFEST},
    {"\"wasm\",\"entry\":\"./dist/echo.wasm\",\"format\":\"wasm\"",
     "\"python\",\"entry\":\"dist/echo.wasm\",\"wasm\":{}", WOPR_E_PACK_MANIFEST},
    {"\"wasm\",\"entry\":\"./dist/echo.wasm\",\"format\":\"wasm\"",
     "\"remote\",\"entry\":\"https://example.test/mcp\"", 0},
};

Test(judge, each_fault_of_a_manifest_has_its_code /* PACK-54, CHK-23 */) {
    for (size_t i = 0; i < sizeof MANIFESTS / sizeof *MANIFESTS; i++) {
        int rc = judge(changed(MANIFESTS[i].from, MANIFESTS[i].to));
        cr_expect_eq(rc, MANIFESTS[i].code, "%zu %s: %s %s", i, MANIFESTS[i].to, wopr_err_name(rc),
                     err.message);
    }
}

Test(judge, a_manifest_is_there_and_of_bounded_size /* PACK-23 */) {
    static char large[PACK_MANIFEST_BYTES_MAX + 1];
    tar_file(&tar, "sub/pack.json", STR(PACK_JSON));
    tar_end(&tar);
    cr_expect_eq(judge(tar_gz(&tar, &gz)), WOPR_E_PACK_NO_MANIFEST);
    memset(large, ' ', sizeof large);
    buf_reset(&tar);
    tar_file(&tar, "pack.json", str_n(large, sizeof large));
    tar_end(&tar);
    cr_expect_eq(judge(tar_gz(&tar, &gz)), WOPR_E_PACK_MANIFEST_LARGE);
    buf_reset(&tar);
    tar_file(&tar, "pack.json", str_n(large, sizeof large - 1));
    tar_end(&tar);
    cr_expect_eq(judge(tar_gz(&tar, &gz)), WOPR_E_PACK_MANIFEST_JSON);
}

Test(judge, an_entry_file_is_of_bounded_size /* PACK-23 */) {
    struct buf big;
    uint64_t x = 1;
    buf_init(&big, 8 << 20);
    while (big.len <= PACK_ENTRY_BYTES_MAX) { /* not to be compressed, or it were a bomb */
        x = x * 6364136223846793005u + 1442695040888963407u;
        buf_add(&big, (const char *)&x + 4, 4);
    }
    tar_file(&tar, "pack.json", STR(PACK_JSON));
    tar_file(&tar, "dist/echo.wasm", buf_str(&big));
    tar_file(&tar, "schemas/in.json", STR("{}"));
    tar_end(&tar);
    cr_expect_eq(judge(tar_gz(&tar, &gz)), WOPR_E_PACK_ENTRY_LARGE, "%s", err.message);
    buf_fini(&big);
}

Test(judge, a_schema_that_is_none_is_a_warning /* PACK-18 */) {
    static const char *const SCHEMAS[] = {"{\"type\":7}", "{\"pattern\":\"(\"}", "nonsense",
                                          "{\"$ref\":\"other.json\"}"};
    for (size_t i = 0; i < sizeof SCHEMAS / sizeof *SCHEMAS; i++) {
        buf_reset(&tar);
        tar_file(&tar, "pack.json", STR(PACK_JSON));
        tar_file(&tar, "dist/echo.wasm", STR("x"));
        tar_file(&tar, "schemas/in.json", str_c(SCHEMAS[i]));
        tar_end(&tar);
        cr_expect_eq(judge(tar_gz(&tar, &gz)), 0, "%s", err.message);
        cr_expect(judged.warnings.n > 2, "%s", SCHEMAS[i]);
    }
}

Test(judge, a_hand_off_has_a_schema_and_a_prompt_is_text /* PACK-18 */) {
    static const char AGENT[] =
        "\"agents\":[{\"agentId\":\"" PACK_NAME ".a\",\"persona\":\"P\",\"modelClass\":\"general\","
        "\"systemPromptRef\":\"p.md\",\"handoff\":{\"taskSchemaRef\":\"schemas/in.json\"}}]";
    static const struct {
        struct str prompt, schema;
        int code;
    } CASES[] = {{{"Be kind.", 8}, {"{}", 2}, 0},
                 {{"\xFF", 1}, {"{}", 2}, WOPR_E_PACK_REF},
                 {{"", 0}, {"{}", 2}, WOPR_E_PACK_REF},
                 {{"Be kind.", 8}, {"{\"type\":7}", 10}, WOPR_E_PACK_MANIFEST}};
    struct buf copy;
    buf_init(&copy, 1 << 16);
    (void)changed("\"description\":\"Tools.\"", AGENT);
    buf_addz(&copy, "");
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char text[4096];
        const char *at = strstr(PACK_JSON, "\"description\":\"Tools.\"");
        (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(at - PACK_JSON), PACK_JSON, AGENT,
                       at + sizeof "\"description\":\"Tools.\"" - 1);
        buf_reset(&tar);
        tar_file(&tar, "pack.json", str_c(text));
        tar_file(&tar, "dist/echo.wasm", STR("x"));
        tar_file(&tar, "schemas/in.json", CASES[i].schema);
        tar_file(&tar, "p.md", CASES[i].prompt);
        tar_end(&tar);
        cr_expect_eq(judge(tar_gz(&tar, &gz)), CASES[i].code, "%zu: %s", i, err.message);
    }
    buf_fini(&copy);
}

Test(judge, a_file_of_a_pack_is_read_by_its_name) {
    struct buf out;
    buf_init(&out, 1024);
    struct str tgz = pack_of(&tar, &gz, PACK_JSON);
    cr_expect_eq(pack_file_read(tgz, STR("schemas/in.json"), &out, &err), 0);
    cr_expect(str_eqc(buf_str(&out), "{\"type\":\"object\"}"));
    cr_expect_eq(pack_file_read(tgz, STR("schemas/none"), &out, &err), WOPR_E_NOT_FOUND);
    buf_fini(&out);
}

Test(judge, no_failed_allocation_makes_a_pack_bad) {
    struct str tgz = pack_of(&tar, &gz, PACK_JSON);
    const struct pack_expect e = {.entry = true};
    unsigned refused = 0;
    for (unsigned n = 1; fault_arm(1u << FAULT_MALLOC, n); n++) {
        arena_reset(a);
        int rc = pack_judge(rules, tgz, &e, a, &judged, &err);
        fault_disarm();
        cr_expect(rc == 0 || rc == WOPR_E_NO_MEMORY, "%s: %s", wopr_err_name(rc), err.message);
        refused += rc != 0;
    }
    cr_expect_gt(refused, 10u);
}
