/*
 * test_agent_manifest.c: manifests of agents: what is wrong with them, all at once and with a
 * remedy (AGT-40 to AGT-44), what pins mean, and the sets of runs (AGT-46).
 */
#include "domain/agent_manifest.h"
#include "domain/published.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct arena *a;
static void up(void) { a = arena_new(64u << 20); }
static void down(void) { arena_free(a); }
TestSuite(agent_manifest, .init = up, .fini = down);

#define HEAD                                                                                       \
    "\"agentId\":\"vendor.acme.desk.tier1\",\"persona\":\"P\","                                    \
    "\"modelClass\":\"general\""
#define GOOD                  HEAD ",\"systemPrompt\":\"S\""
#define DEF(manifest)         "{\"manifest\":{" manifest "}}"
#define WITH(files, manifest) "{\"manifest\":{" manifest "},\"files\":{" files "}}"

struct found {
    char pointers[8192], texts[8192];
    unsigned n;
};
static void take(void *ctx, const struct lint_finding *f) {
    struct found *all = ctx;
    size_t n = strlen(all->pointers), k = strlen(all->texts);
    all->n++;
    cr_expect(f->text[0] != '\0');
    (void)snprintf(all->pointers + n, sizeof all->pointers - n, "%s%s%s", n > 0 ? " " : "",
                   f->error ? "" : "?", f->pointer);
    (void)snprintf(all->texts + k, sizeof all->texts - k, "%s\n", f->text);
}

static const struct agent_rules RULES = {.long_term = true};

static struct agent_judgement judge_by(const struct agent_rules *rules, const char *text,
                                       struct found *all) {
    struct agent_judgement sum;
    struct wopr_error err = {0};
    *all = (struct found){0};
    cr_assert_eq(json_check(str_c(text), &JSON_LIMITS_DEFAULT, &err), 0, "%s: %s", err.message,
                 text);
    cr_assert_eq(agent_judge(str_c(text), rules, take, all, a, &sum, &err), 0);
    return sum;
}

/* pointers: of the findings, warnings with a question mark; "" is the whole definition */
static const struct {
    const char *text, *pointers;
} TABLE[] = {
    {DEF(GOOD), NULL},
    {WITH("", GOOD), NULL},
    {DEF(GOOD ",\"label\":\"L\",\"description\":\"\",\"toolAllowlist\":[\"mcp:a\",\"openwop:x\","
              "\"wopr.host:ask\"],\"memoryShape\":{\"longTerm\":true,\"scratchpad\":false},"
              "\"confidence\":{\"defaultThreshold\":1},\"handoff\":{}"),
     NULL},
    {WITH("\"p/s.md\":\"Be kind.\"", HEAD ",\"systemPromptRef\":\"p/s.md\""), NULL},
    {WITH("\"t\":\"{\\\"type\\\":\\\"object\\\"}\",\"r\":\"true\"",
          GOOD ",\"handoff\":{\"taskSchemaRef\":\"t\",\"returnSchemaRef\":\"r\"}"),
     NULL},
    {"[]", ""},
    {"{}", "/manifest"},
    {"{\"manifest\":[]}", "/manifest"},
    {"{\"manifest\":{" GOOD "},\"more\":1}", "/more"},
    {"{\"manifest\":{" GOOD "},\"files\":[]}", "/files"},
    /* all at once */
    {DEF("\"persona\":\"\",\"modelClass\":\"chat\",\"colour\":1,\"label\":\"\""),
     "/manifest/colour /manifest/agentId /manifest/persona /manifest/modelClass /manifest "
     "/manifest/label"},
    {DEF(""), "/manifest/agentId /manifest/persona /manifest/modelClass /manifest"},
    {DEF("\"agentId\":1,\"persona\":2,\"modelClass\":3,\"systemPrompt\":4,\"toolAllowlist\":5,"
         "\"memoryShape\":6,\"confidence\":7,\"handoff\":8,\"label\":9,\"description\":10"),
     "/manifest/agentId /manifest/persona /manifest/modelClass /manifest/systemPrompt "
     "/manifest/toolAllowlist /manifest/memoryShape /manifest/confidence /manifest/handoff "
     "/manifest/label /manifest/description"},
    /* AGT-40 */
    {DEF(HEAD), "/manifest"},
    {DEF(HEAD ",\"systemPrompt\":\"\""), "/manifest/systemPrompt"},
    {WITH("\"s\":\"S\"", GOOD ",\"systemPromptRef\":\"s\""), "/manifest/systemPromptRef"},
    {DEF(HEAD ",\"systemPromptRef\":\"s\""), "/manifest/systemPromptRef"},
    {WITH("\"s\":\"\"", HEAD ",\"systemPromptRef\":\"s\""), "/manifest/systemPromptRef"},
    {WITH("\"../s\":\"S\"", HEAD ",\"systemPromptRef\":\"../s\""),
     "/manifest/systemPromptRef /files/..~1s"},
    {DEF(HEAD ",\"systemPromptRef\":\"/etc/s\""), "/manifest/systemPromptRef"},
    {DEF(HEAD ",\"systemPromptRef\":\"a//s\""), "/manifest/systemPromptRef"},
    {DEF(HEAD ",\"systemPromptRef\":\"http://x/s\""), "/manifest/systemPromptRef"},
    {WITH("\"s\":1", HEAD ",\"systemPromptRef\":\"s\""), "/files/s"},
    {WITH("\"left\":\"S\"", GOOD), "/files/left"},
    {DEF(GOOD ",\"toolAllowlist\":[\"search\",\"mcp:\",\":x\",\"acme:x\",\"a.b:x\"]"),
     "?/manifest/toolAllowlist/0 ?/manifest/toolAllowlist/1 ?/manifest/toolAllowlist/2 "
     "?/manifest/toolAllowlist/3"},
    {DEF(GOOD ",\"toolAllowlist\":[\"\",1]"),
     "/manifest/toolAllowlist/0 /manifest/toolAllowlist/1"},
    {DEF(GOOD ",\"memoryShape\":{\"longterm\":true,\"scratchpad\":1}"),
     "/manifest/memoryShape/longterm /manifest/memoryShape/scratchpad"},
    {DEF(GOOD ",\"confidence\":{\"defaultThreshold\":1.01}"),
     "/manifest/confidence/defaultThreshold"},
    {DEF(GOOD ",\"confidence\":{\"defaultThreshold\":-1e-9}"),
     "/manifest/confidence/defaultThreshold"},
    {DEF(GOOD ",\"confidence\":{\"defaultThreshold\":1e400}"),
     "/manifest/confidence/defaultThreshold"},
    {DEF(GOOD ",\"confidence\":{\"defaultThreshold\":\"1\",\"least\":0}"),
     "/manifest/confidence/least /manifest/confidence/defaultThreshold"},
    {DEF(GOOD ",\"handoff\":{\"taskSchemaRef\":\"t\"}"), "/manifest/handoff/taskSchemaRef"},
    {WITH("\"t\":\"{\"", GOOD ",\"handoff\":{\"taskSchemaRef\":\"t\"}"),
     "/manifest/handoff/taskSchemaRef"},
    {WITH("\"t\":\"{\\\"type\\\":7}\"", GOOD ",\"handoff\":{\"taskSchemaRef\":\"t\"}"),
     "/manifest/handoff/taskSchemaRef"},
    {WITH("\"t\":\"{\\\"$ref\\\":\\\"https://x.test/y\\\"}\"",
          GOOD ",\"handoff\":{\"returnSchemaRef\":\"t\"}"),
     "/manifest/handoff/returnSchemaRef"},
};

Test(agent_manifest, each_mistake_is_told_at_its_place /* AGT-40 */) {
    struct found all;
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++) {
        struct agent_judgement sum = judge_by(&RULES, TABLE[i].text, &all);
        const char *want = TABLE[i].pointers ? TABLE[i].pointers : "";
        cr_expect_str_eq(all.pointers, want, "%s:\n%s", TABLE[i].text, all.texts);
        cr_expect_eq(all.n > 0, TABLE[i].pointers != NULL, "%s", TABLE[i].text);
        cr_expect_eq(sum.errors + sum.warnings, all.n);
    }
}

Test(agent_manifest, what_is_good_is_good_for_the_published_schema /* AGT-40, AGT-45 */) {
    struct wopr_error err = {0};
    const struct schema *s = NULL;
    struct schema_set *set = published_set_new();
    struct found all;
    unsigned good = 0, bad = 0;
    cr_assert_not_null(set);
    cr_assert_eq(schema_compile(set, STR(PUBLISHED_URI "agent-manifest.schema.json"), &s, &err), 0,
                 "%s", err.message);
    for (size_t i = 0; i < sizeof TABLE / sizeof *TABLE; i++) {
        struct str m = json_get(str_c(TABLE[i].text), "manifest");
        struct schema_issue issue = {.reason = ""};
        if (m.n == 0) continue;
        bool fits = schema_validate_text(s, m, &issue) == 0;
        if (judge_by(&RULES, TABLE[i].text, &all).errors == 0)
            cr_expect(fits, "%s: %s %s", TABLE[i].text, issue.instance, issue.reason);
        good += fits;
        bad += !fits;
    }
    cr_expect(good > 10 && bad > 10, "%u %u", good, bad);
    schema_set_free(set);
}

Test(agent_manifest, ids_have_a_tier_and_two_more_parts /* AGT-3, AGT-41 */) {
    static const char *const GOODS[] = {"core.a.b", "vendor.acme.x.y", "local.team.aB_-9",
                                        "private.h-1.x", "community.a.b.c.d.e"};
    static const char *const BADS[] = {"",           "core",       "core.chat", "host:x",
                                       "core..b",    "core.a.",    "core.A.b",  "core.a.B",
                                       "Core.a.b",   "tier.a.b",   "core.9a.b", "core.a.b c",
                                       "core.a b.c", "core.a.b\n", ".core.a.b"};
    for (size_t i = 0; i < sizeof GOODS / sizeof *GOODS; i++)
        cr_expect(agent_id_ok(str_c(GOODS[i])), "%s", GOODS[i]);
    for (size_t i = 0; i < sizeof BADS / sizeof *BADS; i++)
        cr_expect_not(agent_id_ok(str_c(BADS[i])), "%s", BADS[i]);
    char id[258] = "core.a.";
    memset(id + 7, 'x', 249);
    cr_expect(agent_id_ok(str_n(id, 256)));
    id[256] = 'x';
    cr_expect_not(agent_id_ok(str_n(id, 257)));
}

Test(agent_manifest,
     classes_are_projected_and_refused_where_the_host_has_none /* AGT-42, AGT-43 */) {
    static const char *const HAS[] = {"chat", NULL};
    const struct agent_rules rules = {.long_term = true, .model_classes = HAS};
    struct found all;
    struct agent_judgement sum = judge_by(&rules, DEF(GOOD), &all); /* general: chat */
    cr_expect(sum.errors == 0 && !sum.class_unsupported);
    static const char CODING[] =
        DEF("\"agentId\":\"core.a.b\",\"persona\":\"P\",\"modelClass\":\"coding\","
            "\"systemPrompt\":\"S\"");
    sum = judge_by(&rules, CODING, &all);
    cr_expect(sum.errors == 1 && sum.class_unsupported);
    cr_expect_not_null(strstr(all.texts, "class code"), "%s", all.texts);
    sum = judge_by(&RULES, CODING, &all);
    cr_expect(sum.errors == 0 && !sum.class_unsupported, "none are advertised");
    cr_expect_str_eq(agent_model_class(STR("research")), "retrieval");
    cr_expect_null(agent_model_class(STR("chat")));
}

Test(agent_manifest, long_term_memory_is_named_where_it_is_missing /* AGT-44 */) {
    const struct agent_rules none = {.long_term = false};
    struct found all;
    (void)judge_by(&none, DEF(GOOD ",\"memoryShape\":{\"longTerm\":true}"), &all);
    cr_expect_str_eq(all.pointers, "/manifest/memoryShape/longTerm");
    cr_expect_not_null(strstr(all.texts, "agents.memoryBackends"), "%s", all.texts);
    (void)judge_by(&none, DEF(GOOD ",\"memoryShape\":{\"longTerm\":false}"), &all);
    cr_expect_eq(all.n, 0u);
}

Test(agent_manifest, an_agent_of_a_pack_has_its_name /* PACK-17 */) {
    const struct agent_rules pack = {.long_term = true, .pack = STR("vendor.acme.desk")};
    const struct agent_rules other = {.long_term = true, .pack = STR("vendor.acme")};
    struct found all;
    cr_expect_eq(judge_by(&pack, DEF(GOOD), &all).errors, 0u, "%s", all.texts);
    cr_expect_eq(judge_by(&other, DEF(GOOD), &all).errors, 1u);
    cr_expect_str_eq(all.pointers, "/manifest/agentId");
}

Test(agent_manifest, bounds_are_of_characters_and_of_bytes) {
    char big[AGENT_DEFINITION_MAX + 4096];
    struct found all;
    struct agent_judgement sum;
    for (int more = 0; more < 2; more++) { /* persona: 200 characters of two bytes */
        char persona[512] = "";
        for (int i = 0; i < 200 + more; i++) memcpy(persona + 2 * i, "\xc3\xa9", 3);
        (void)snprintf(big, sizeof big,
                       "{\"manifest\":{\"agentId\":\"core.a.b\",\"persona\":\"%s\",\"modelClass\":"
                       "\"general\",\"systemPrompt\":\"S\"}}",
                       persona);
        cr_expect_eq(judge_by(&RULES, big, &all).errors, (unsigned)more);
    }
    size_t n = (size_t)snprintf(big, sizeof big, "{\"manifest\":{" GOOD ",\"toolAllowlist\":[");
    for (int i = 0; i < 257; i++)
        n += (size_t)snprintf(big + n, sizeof big - n, "%s\"mcp:%d\"", i > 0 ? "," : "", i);
    (void)snprintf(big + n, sizeof big - n, "]}}");
    (void)judge_by(&RULES, big, &all);
    cr_expect_str_eq(all.pointers, "/manifest/toolAllowlist");
    n = (size_t)snprintf(big, sizeof big, "{\"manifest\":{" HEAD ",\"systemPrompt\":\"");
    memset(big + n, 'x', AGENT_FILE_MAX);
    (void)snprintf(big + n + AGENT_FILE_MAX, sizeof big - n - AGENT_FILE_MAX, "\"}}");
    (void)judge_by(&RULES, big, &all);
    cr_expect_str_eq(all.pointers, "/manifest/systemPrompt");
    memset(big + n, 'x', AGENT_DEFINITION_MAX);
    (void)snprintf(big + n + AGENT_DEFINITION_MAX, sizeof big - n - AGENT_DEFINITION_MAX, "\"}}");
    sum = judge_by(&RULES, big, &all);
    cr_expect(sum.errors == 1 && all.pointers[0] == '\0', "%s", all.pointers);
}

Test(agent_manifest, more_findings_than_are_told_are_counted) {
    char text[16384];
    struct found all;
    size_t n = (size_t)snprintf(text, sizeof text, "{\"manifest\":{" GOOD);
    for (int i = 0; i < 300; i++) n += (size_t)snprintf(text + n, sizeof text - n, ",\"x%d\":1", i);
    (void)snprintf(text + n, sizeof text - n, "}}");
    struct agent_judgement sum = judge_by(&RULES, text, &all);
    cr_expect_eq(sum.errors, 300u);
    cr_expect_eq(all.n, (unsigned)LINT_MAX);
}

/* --- pins and sets --- */

static struct agent_member member(const char *id, const char *definition) {
    struct agent_member m = {.id = str_c(id), .definition = str_c(definition)};
    struct wopr_error err;
    cr_assert_eq(agent_digest(m.definition, &m.digest, &err), 0);
    return m;
}

Test(agent_manifest, a_pin_means_its_source_before_itself /* AGT-3, AGT-6 */) {
    cr_expect(str_eqc(agent_of_pin(STR("{\"agentId\":\"core.a.b\"}"), a), "core.a.b"));
    cr_expect(str_eqc(agent_of_pin(STR("{\"agentId\":\"host:x\",\"sourceManifestId\":"
                                       "\"core.a.b\"}"),
                                   a),
                      "core.a.b"));
    cr_expect_eq(agent_of_pin(STR("{\"agentId\":\"host:x\"}"), a).n, 0u);
    cr_expect_eq(agent_of_pin(STR("{}"), a).n, 0u);
    cr_expect_eq(agent_of_pin(STR_NONE, a).n, 0u);
    cr_expect(agent_must_exist(STR("local.team.x")) && !agent_must_exist(STR("vendor.a.b")));
}

Test(agent_manifest, a_set_says_what_its_agents_are /* AGT-9, AGT-31, AGT-46 */) {
    struct wopr_error err;
    struct agent_set set;
    struct agent g;
    struct agent_member v[2] = {
        member("core.a.b", WITH("\"p\":\"From \\\"p\\\".\",\"t\":\"true\",\"r\":\"{}\"",
                                "\"agentId\":\"core.a.b\",\"persona\":\"P\",\"modelClass\":"
                                "\"coding\",\"systemPromptRef\":\"p\",\"handoff\":{"
                                "\"taskSchemaRef\":\"t\",\"returnSchemaRef\":\"r\"},"
                                "\"toolAllowlist\":[\"mcp:se\\u0061rch\"],\"confidence\":{"
                                "\"defaultThreshold\":0.25}")),
        member("vendor.acme.desk.tier1", DEF(GOOD))};
    cr_assert_eq(agent_set_make(v, 2, a, &set, &err), 0);
    cr_assert(agent_find(set.text, STR("{\"agentId\":\"core.a.b\"}"), a, &g));
    cr_expect(str_eqc(g.system_prompt, "From \"p\"."));
    cr_expect(str_eqc(g.threshold, "0.25"));
    cr_expect_str_eq(g.model_class, "code");
    cr_expect(str_eqc(g.task_schema, "true") && str_eqc(g.return_schema, "{}"));
    cr_expect(agent_allows(&g, STR("mcp:search"), a) && !agent_allows(&g, STR("mcp:other"), a));
    cr_expect(agent_allows_name(&g, STR("search"), a) && !agent_allows_name(&g, STR("mcp"), a));
    cr_assert(agent_find(set.text, STR("{\"agentId\":\"vendor.acme.desk.tier1\"}"), a, &g));
    cr_expect(str_eqc(g.system_prompt, "S") && g.threshold.n == 0 && g.task_schema.n == 0);
    cr_expect_not(agent_allows(&g, STR("mcp:search"), a), "absent: nothing (AGT-9)");
    cr_expect_not(agent_find(set.text, STR("{\"agentId\":\"core.a.c\"}"), a, &g));
    cr_expect_not(agent_find(STR_NONE, STR("{\"agentId\":\"core.a.b\"}"), a, &g));
}

Test(agent_manifest, the_digest_of_a_set_is_that_of_its_canonical_definitions /* AGT-46 */) {
    struct wopr_error err;
    struct agent_set one, two, none;
    struct str again;
    struct agent_member v[2] = {member("core.a.b", DEF(GOOD)),
                                member("core.a.c", "{\"files\":{},\"manifest\":{\"x\":1.0}}")};
    struct agent_member w[2] = {member("core.a.b", DEF(GOOD)),
                                member("core.a.c", "{ \"manifest\": {\"x\":1},\n\"files\":{} }")};
    cr_assert_eq(agent_set_make(v, 2, a, &one, &err), 0);
    cr_assert_eq(agent_set_make(w, 2, a, &two, &err), 0);
    cr_expect(str_eq(one.digest, two.digest));
    cr_expect_eq(one.digest.n, AGENT_SET_DIGEST_LEN);
    cr_assert_eq(agent_set_digest(two.text, a, &again, &err), 0);
    cr_expect(str_eq(one.digest, again));
    cr_assert_eq(agent_set_make(v, 1, a, &two, &err), 0);
    cr_expect_not(str_eq(one.digest, two.digest));
    cr_assert_eq(agent_set_make(v, 0, a, &none, &err), 0);
    cr_expect(none.text.n == 0 && none.digest.n == 0);
}

Test(agent_manifest, a_run_has_a_bounded_number_of_agents) {
    static struct agent_member v[AGENT_SET_MAX + 1];
    static char large[AGENT_DEFINITION_MAX];
    struct wopr_error err;
    struct agent_set set;
    for (size_t i = 0; i <= AGENT_SET_MAX; i++)
        v[i] = (struct agent_member){.id = arena_printf(a, "core.a.b%03zu", i),
                                     .definition = STR("{}")};
    cr_expect_eq(agent_set_make(v, AGENT_SET_MAX, a, &set, &err), 0);
    cr_expect_eq(agent_set_make(v, AGENT_SET_MAX + 1, a, &set, &err), WOPR_E_TOO_BIG);
    memset(large, ' ', sizeof large);
    large[0] = '{';
    large[sizeof large - 1] = '}';
    for (size_t i = 0; i < 5; i++) v[i].definition = str_n(large, sizeof large);
    cr_expect_eq(agent_set_make(v, 4, a, &set, &err), 0);
    cr_expect_eq(agent_set_make(v, 5, a, &set, &err), WOPR_E_TOO_BIG);
}
