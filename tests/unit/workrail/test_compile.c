/*
 * test_compile.c: sources and their compiled form (V-WF, V-PI, section 8).
 */
#include "base/fs.h"
#include "kit.h"
#include "workrail/prompt.h"

static struct wr_problems problems;
static struct wr_fault fault;

static struct wr_workflow compiled(const char *source) {
    struct wr_workflow w = {0};
    cr_assert_eq(wr_compile(str_c(source), WR_PROJECT, kit_a, &w, &problems, &fault), 0, "%s %s",
                 fault.e.pointer, fault.e.message);
    return w;
}

/* The first problem, "pointer: message". */
static const char *wrong(const char *source) {
    struct wr_workflow w;
    if (wr_compile(str_c(source), WR_PROJECT, kit_a, &w, &problems, &fault) == 0) return "compiles";
    cr_assert_eq(fault.code, WR_COMPILE_ERROR, "%s", wr_code_name(fault.code));
    return arena_printf(kit_a, STR_FMT ": " STR_FMT, STR_ARG(problems.v[0].pointer),
                        STR_ARG(problems.v[0].message))
        .p;
}
static void wrong_with(const char *source, const char *where, const char *part) {
    const char *has = wrong(source);
    cr_expect(strncmp(has, where, strlen(where)) == 0 && strstr(has, part) != NULL, "%s\ngives %s",
              source, has);
}

Test(workrail_compile, v_wf_1_to_4_hashes_wr_184, .init = kit_up, .fini = kit_down) {
    for (int i = 1; i <= 4; i++) {
        const char *id = kit_id("WF", i);
        struct str line = kit_line(id), again;
        struct wr_fault f = {0};
        struct wr_workflow w;
        cr_assert_eq(wr_canonical(line, &JSON_LIMITS_STORED, kit_a, &again, &f), 0);
        kit_same(id, again, line);
        cr_expect_eq((int64_t)line.n, kit_number(id, 0));
        kit_hash(id, line, kit_code(id, 1, 0));
        int rc = wr_workflow_read(line, kit_a, &w, &f);
        if (i == 4) {
            cr_assert_eq(rc, 0, "%s: %s %s", id, f.e.pointer, f.e.message);
            kit_same(id, str_c(w.hash.s + 7), kit_code(id, 1, 0));
            cr_assert_eq(wr_workflow_seal(&w, kit_a, &f), 0);
            kit_same(id, w.bytes, line);
        } else {
            cr_expect_eq(f.code, WR_SCHEMA_UNKNOWN_VERSION, "%s is of a foreign shape", id);
        }
    }
}

Test(workrail_compile, the_example_compiles_to_v_wf_4, .init = kit_up, .fini = kit_down) {
    struct buf file;
    struct wr_workflow w;
    cr_assert_eq(
        fs_read(WOPR_SOURCE_DIR "/docs/examples/workrail/auth-review.json", KIT_FILE_MAX, &file),
        FS_READ_OK);
    cr_assert_eq(wr_compile(buf_str(&file), WR_PROJECT, kit_a, &w, &problems, &fault), 0, "%s %s",
                 fault.e.pointer, fault.e.message);
    kit_same("V-WF-4", w.bytes, kit_line("V-WF-4"));
    kit_same("V-WF-4", str_c(w.hash.s + 7), kit_code("V-WF-4", 1, 0));
    cr_expect_eq(problems.nr, 0);
    buf_fini(&file);
}

static void section(const char *id, const char *step) {
    struct wr_workflow w;
    struct buf b;
    buf_init(&b, 4096);
    cr_assert_eq(wr_workflow_read(kit_line("V-WF-4"), kit_a, &w, &fault), 0);
    cr_assert_eq(
        wr_prompt_requirements(&w, &w.steps.v[wr_workflow_step(&w, str_c(step))], kit_a, &b), 0);
    cr_expect_eq((int64_t)b.len, kit_number(id, 1), "%s has %zu bytes", id, b.len);
    kit_hash(id, buf_str(&b), kit_code(id, 2, 0));
    buf_fini(&b);
}

#define STEP1         "{\"id\":\"s1\",\"title\":\"One\",\"prompt\":\"Do it.\"}"
#define WITH(members) "{\"id\":\"project.x\"," members "}"
#define STEPS(list)   WITH("\"steps\":[" list "]")

Test(workrail_compile, v_pi_1_to_3_prompts_wr_196_wr_204_wr_205, .init = kit_up, .fini = kit_down) {
    section("V-PI-1", "report");
    section("V-PI-2", "decide");
    struct wr_workflow w = compiled(STEPS(
        "{\"id\":\"s1\",\"title\":\"One\",\"promptBlocks\":{\"verify\":[\"Cause named\"],"
        "\"goal\":\"Find the cause.\",\"constraints\":[\"Read only\"],\"procedure\":[\"Look\","
        "\"Note\"],\"outputRequired\":{\"notes\":\"what you saw\"}}}"));
    cr_expect_eq((int64_t)w.steps.v[0].prompt.n, kit_number("V-PI-3", 1));
    kit_hash("V-PI-3", w.steps.v[0].prompt, kit_code("V-PI-3", 2, 0));
}

Test(workrail_compile, a_prompt_has_role_text_requirements_and_footer_wr_203, .init = kit_up,
     .fini = kit_down) {
    struct wr_workflow w = compiled(
        WITH("\"agentRole\":\"You review.\\n\\nSecond paragraph.\",\"steps\":[{\"id\":\"s1\","
             "\"title\":\"One\",\"prompt\":\"Do it.\",\"validationCriteria\":[{\"type\":\"regex\","
             "\"pattern\":\"^ok\",\"flags\":\"i\"},{\"type\":\"length\",\"min\":1,\"max\":9}]}]"));
    struct str text;
    cr_assert_eq(wr_prompt_text(&w, &w.steps.v[0], STR("## Recovery Context"), kit_a, &text), 0);
    kit_same("WR-203", text,
             STR("You review.\n\nDo it.\n\n**OUTPUT REQUIREMENTS:**\n- Must match pattern: ^ok "
                 "(flags: i)\n- Length: \xE2\x89\xA5"
                 "1 chars, \xE2\x89\xA4"
                 "9 chars\n\n"
                 "## Recovery Context\n\n" WR_FOOTER));
    cr_expect(sizeof WR_FOOTER <= 400, "WR-206");
}

#define CRITERION(schema)                                                                          \
    STEPS("{\"id\":\"s1\",\"title\":\"t\",\"prompt\":\"p\",\"validationCriteria\":{\"type\":"      \
          "\"schema\",\"schema\":" schema "}}")

Test(workrail_compile, a_schema_that_ends_on_nothing_is_refused_wr_131, .init = kit_up,
     .fini = kit_down) {
    static const char AT[] = "/steps/0/validationCriteria";
    wrong_with(CRITERION("{\"$ref\":\"#\"}"), AT, "leads back to itself");
    wrong_with(CRITERION("{\"allOf\":[{\"type\":\"object\"},{\"$ref\":\"#\"}]}"), AT, "leads back");
    wrong_with(CRITERION("{\"$defs\":{\"a\":{\"not\":{\"$ref\":\"#/$defs/b\"}},\"b\":{\"if\":true,"
                         "\"then\":{\"$ref\":\"#/$defs/a\"}}},\"properties\":{\"x\":{\"$ref\":"
                         "\"#/$defs/a\"}}}"),
               AT, "leads back");
    wrong_with(CRITERION("{\"$anchor\":\"me\",\"dependentSchemas\":{\"x\":{\"$ref\":\"#me\"}}}"),
               AT, "leads back");
    /* A tree is a schema that refers to itself for what is inside. */
    (void)compiled(CRITERION("{\"properties\":{\"children\":{\"items\":{\"$ref\":\"#\"}}}}"));
    (void)compiled(CRITERION("{\"$defs\":{\"n\":{\"type\":\"string\"}},\"anyOf\":[{\"$ref\":"
                             "\"#/$defs/n\"},{\"not\":{\"$ref\":\"#/$defs/n\"}}]}"));
}

#define FUNCTION(name) "{\"name\":\"" name "\",\"definition\":\"d\"}"
#define REFERRING(id, refs, more)                                                                  \
    "{\"id\":\"" id "\",\"title\":\"t\",\"prompt\":\"p\",\"functionReferences\":[" refs "]" more "}"
#define LOOP_OF(id, functions, body)                                                               \
    "{\"type\":\"loop\",\"loopId\":\"" id "\",\"maxIterations\":2,\"while\":{\"kind\":"            \
    "\"condition_ref\",\"conditionId\":\"c\"},\"functionDefinitions\":[" functions                 \
    "],\"body\":[" body "]}"
#define SIGHT(list)                                                                                \
    WITH("\"conditions\":[{\"conditionId\":\"c\",\"kind\":\"always_true\"}],"                      \
         "\"functionDefinitions\":[" FUNCTION("outer") "],\"steps\":[" list "]")

Test(workrail_compile, a_function_that_is_not_in_sight_is_refused_wr_207, .init = kit_up,
     .fini = kit_down) {
    wrong_with(SIGHT(REFERRING("a", "\"outer\",\"outr\"", "")), "/steps/0/functionReferences/1",
               "outr; did you mean outer?");
    (void)compiled(SIGHT(
        REFERRING("a", "\"outer\",\"own\"", ",\"functionDefinitions\":[" FUNCTION("own") "]")));
    (void)compiled(
        SIGHT(LOOP_OF("l", FUNCTION("round"), REFERRING("a", "\"round\",\"outer\"", ""))));
    wrong_with(SIGHT(LOOP_OF("l", FUNCTION("round"), STEP1) "," REFERRING("a", "\"round\"", "")),
               "/steps/1/functionReferences/0", "round");
    wrong_with(SIGHT(LOOP_OF("k", FUNCTION("one"),
                             LOOP_OF("m", FUNCTION("two"),
                                     REFERRING("a", "\"one\",\"two\"",
                                               ""))) "," LOOP_OF("n", FUNCTION("three"),
                                                                 REFERRING("b", "\"two\"", ""))),
               "/steps/1/body/0/functionReferences/0", "two");
}

Test(workrail_compile, what_is_wrong_is_told_with_its_place, .init = kit_up, .fini = kit_down) {
    wrong_with("{", "", "");
    wrong_with("[]", ": ", "object");
    wrong_with("{\"steps\":[" STEP1 "]}", ": ", "id is missing");
    wrong_with("{\"id\":\"a.b.c\",\"steps\":[" STEP1 "]}", "/id", "exactly one dot");
    wrong_with("{\"id\":\"wr.mine\",\"steps\":[" STEP1 "]}", "/id", "kept for");
    wrong_with(WITH("\"steps\":[]"), ": ", "steps");
    wrong_with(STEPS("{\"id\":\"S 1\",\"title\":\"t\",\"prompt\":\"p\"}"), "/steps/0/id", "a-z");
    wrong_with(STEPS("{\"id\":\"a.b\",\"title\":\"t\",\"prompt\":\"p\"}"), "/steps/0/id", "a-z");
    wrong_with(STEPS(STEP1 "," STEP1), "/steps/1", "twice");
    wrong_with(STEPS("{\"id\":\"s\",\"title\":\"t\"}"), "/steps/0", "either prompt");
    wrong_with(STEPS("{\"id\":\"s\",\"title\":\"t\",\"prompt\":\"p\",\"promptBlocks\":{}}"),
               "/steps/0", "either prompt");
    wrong_with(STEPS("{\"id\":\"s\",\"title\":\"t\",\"promptBlocks\":{\"goal\":\"\"}}"), "/steps/0",
               "empty");
    wrong_with(STEPS("{\"id\":\"s\",\"title\":\"t\",\"prompt\":\"p\",\"titel\":1}"), "/steps/0",
               "did you mean title");
    wrong_with(STEPS("{\"id\":\"s\",\"title\":\"t\",\"prompt\":\"p\",\"guidance\":[]}"), "/steps/0",
               "guidance is a feature of other releases");
    wrong_with(WITH("\"metaGuidance\":[],\"steps\":[" STEP1 "]"), ": ",
               "metaGuidance is a feature of other releases");
    wrong_with(STEPS("{\"id\":\"s\",\"title\":\"t\",\"prompt\":\"p\",\"output\":{\"contractRef\":"
                     "\"wr.contracts.loop_contrl\"}}"),
               "/steps/0", "did you mean wr.contracts.loop_control");
    wrong_with(STEPS("{\"id\":\"s\",\"title\":\"t\",\"prompt\":\"p\",\"output\":{\"contractRef\":"
                     "\"wr.contracts.loop_control\"},\"outputContract\":{\"contractRef\":"
                     "\"wr.contracts.user_only_dependency\"}}"),
               "/steps/0", "different contracts");
    wrong_with(STEPS("{\"id\":\"s\",\"title\":\"t\",\"prompt\":\"use {{wr.bindings.x}}\"}"),
               "/steps/0", "unresolved");
}

#define LOOP(id, body)                                                                             \
    "{\"type\":\"loop\",\"loopId\":\"" id "\",\"while\":{\"kind\":\"condition_ref\","              \
    "\"conditionId\":\"c\"},\"maxIterations\":2,\"body\":[" body "]}"
#define COND "\"conditions\":[{\"conditionId\":\"c\",\"kind\":\"always_true\"}],"

Test(workrail_compile, loops_conditions_and_rules_are_checked, .init = kit_up, .fini = kit_down) {
    wrong_with(STEPS(LOOP("l", STEP1)), "/conditions", "names a condition");
    wrong_with(WITH(COND "\"steps\":[" LOOP("s1", STEP1) "]"), "/steps/0", "twice");
    cr_expect_str_eq(wrong(WITH(COND "\"steps\":[" LOOP("a", LOOP("b", LOOP("c", STEP1))) "]")),
                     "compiles", "three deep (Q-5)");
    wrong_with(WITH(COND "\"steps\":[" LOOP("a", LOOP("b", LOOP("c", LOOP("d", STEP1)))) "]"),
               "/steps/0/body/0/body/0/body/0", "more than 3 deep");
    wrong_with(WITH(COND "\"steps\":[{\"type\":\"loop\",\"loopId\":\"l\",\"while\":{\"kind\":"
                         "\"condition_ref\",\"conditionId\":\"c\"},\"body\":[" STEP1 "]}]"),
               "/steps/0", "maxIterations");
    wrong_with(
        STEPS("{\"id\":\"s\",\"title\":\"t\",\"prompt\":\"p\",\"runCondition\":{\"var\":\"x\","
              "\"like\":1}}"),
        "/steps/0/runCondition", "one operator");
    wrong_with(
        STEPS("{\"id\":\"s\",\"title\":\"t\",\"prompt\":\"p\",\"validationCriteria\":[{\"type\":"
              "\"regex\",\"pattern\":\"(\"}]}"),
        "/steps/0/validationCriteria/0", "pattern");
    wrong_with(
        STEPS("{\"id\":\"s\",\"title\":\"t\",\"prompt\":\"p\",\"validationCriteria\":{\"type\":"
              "\"regex\",\"pattern\":\"a\",\"flags\":\"g\"}}"),
        "/steps/0/validationCriteria", "flags");
    wrong_with(
        STEPS(
            "{\"id\":\"s\",\"title\":\"t\",\"prompt\":\"p\",\"validationCriteria\":{\"and\":[]}}"),
        "/steps/0/validationCriteria", "empty");
    wrong_with(
        STEPS("{\"type\":\"loop\",\"id\":\"l\",\"loop\":{\"type\":\"forEach\"},\"body\":[]}"),
        "/steps/0", "loop is a feature of other releases");
    cr_expect_eq(problems.nr, 1);
    wrong_with(WITH(COND
                    "\"steps\":[{\"type\":\"loop\",\"loopId\":\"l\",\"runCondition\":{},\"while\":{"
                    "\"kind\":\"condition_ref\",\"conditionId\":\"c\"},\"maxIterations\":1,"
                    "\"body\":[" STEP1 "]}]"),
               "/steps/0", "runCondition has no place here");
    wrong_with(
        STEPS("{\"type\":\"template_call\",\"templateId\":\"wr.templates.capability_prob\"}"),
        "/steps/0", "did you mean wr.templates.capability_probe");
}

Test(workrail_compile, features_refs_probes_and_warnings_wr_188_to_wr_202, .init = kit_up,
     .fini = kit_down) {
    struct wr_workflow w = compiled(
        WITH("\"capabilities\":{\"web_browsing\":\"required\"},\"features\":["
             "\"wr.features.evidence_first\",\"wr.features.delegation_guidance\","
             "\"wr.features.evidence_first\"],\"steps\":[{\"id\":\"s1\",\"title\":\"t\","
             "\"promptBlocks\":{\"goal\":{\"kind\":\"ref\",\"refId\":\"wr.refs.read_only\"}},"
             "\"validationCriteria\":{\"type\":\"contains\",\"value\":\"DONE\"}},"
             "{\"type\":\"template_call\",\"id\":\"again\",\"templateId\":"
             "\"wr.templates.capability_probe\",\"params\":{\"capability\":\"delegation\"}}]"));
    cr_assert_eq(w.steps.nr, 3);
    kit_same("WR-202", w.steps.v[0].id, STR("wr_probe_web_browsing"));
    cr_expect_eq(w.steps.v[0].origin, WR_TEMPLATE);
    kit_same("Q-3", w.steps.v[2].id, STR("again.probe_delegation"));
    cr_assert_eq(w.features.nr, 2);
    kit_same("WR-188", w.features.v[0].id, STR("wr.features.delegation_guidance"));
    kit_same("WR-197", w.steps.v[1].refs.v[0].ref_id, STR("wr.refs.read_only"));
    const char *prompt = arena_cstr(kit_a, w.steps.v[1].prompt);
    cr_expect(strstr(prompt, "## Goal\nChange nothing") != NULL, "%s", prompt);
    cr_expect(strstr(prompt, "- Where a helper") < strstr(prompt, "- Every claim"), "%s", prompt);
    kit_same("WR-200", w.warnings, STR("[{\"code\":\"flag_only_validation\",\"stepId\":\"s1\"}]"));
    cr_expect(problems.nr == 1 && problems.v[0].warning);
    cr_expect_eq(w.contracts.nr, 1);
    struct wr_workflow legacy = compiled("{\"id\":\"old-one\",\"steps\":[" STEP1 "]}");
    kit_same("WR-192", legacy.warnings, STR("[{\"code\":\"legacy_workflow_id\"}]"));
}

static bool always(void *ctx, struct str id) {
    (void)ctx;
    (void)id;
    return true;
}

Test(workrail_compile, ids_are_suggested_wr_193, .init = kit_up, .fini = kit_down) {
    kit_same("WR-193", wr_workflow_id_suggest(STR("My-Flow"), WR_USER, STR("x"), NULL, NULL, kit_a),
             STR("user.my_flow"));
    kit_same("WR-193",
             wr_workflow_id_suggest(STR("flow"), WR_PLUGIN, STR("{}"), always, NULL, kit_a),
             STR("repo.flow_4413"));
}

Test(workrail_compile, the_same_source_has_the_same_bytes_wr_191, .init = kit_up,
     .fini = kit_down) {
    struct wr_workflow one = compiled(WITH("\"name\":\"N\",\"steps\":[" STEP1 "]")),
                       two = compiled("{\"steps\" : [" STEP1
                                      "], \"name\":\"N\",\n\"id\":\"project.x\"}");
    kit_same("WR-191", one.bytes, two.bytes);
    struct wr_workflow sorted = compiled(STEPS(
        "{\"id\":\"s\",\"title\":\"t\",\"prompt\":\"p\",\"validationCriteria\":{\"type\":"
        "\"schema\",\"schema\":{\"required\":[\"b\",\"a\"],\"properties\":{\"a\":{\"enum\":[\"y\","
        "\"x\"]}}}}}"));
    kit_same("WR-189", sorted.steps.v[0].criteria,
             STR("{\"schema\":{\"properties\":{\"a\":{\"enum\":[\"x\",\"y\"]}},\"required\":[\"a\","
                 "\"b\"]},\"type\":\"schema\"}"));
}
