/*
 * test_agent_loop.c: vendor.wopr.agent by its calls alone, with a model that follows a script: what
 * it does in many entries and in one, its bounds, its allow-list (AGT-9, AGT-20..25).
 */
#include "codec/json.h"
#include "nodes/nodes.h"

#include <criterion/criterion.h>

enum { TURNS = 8, EFFECTS = 64, ENTRIES = 64 };

static struct arena *a;
static struct ai_providers *models;

static int no_key(void *ctx, struct str file, struct str env, struct arena *to, struct str *key,
                  struct wopr_error *err) {
    (void)ctx, (void)file, (void)env, (void)to, (void)err;
    *key = STR_NONE;
    return 0;
}

static void up(void) {
    struct wopr_error err;
    a = arena_new(16u << 20);
    cr_assert_eq(
        ai_providers_new(STR("{\"providers\":[{\"name\":\"m\",\"style\":\"openai\",\"url\":"
                             "\"https://m.test\",\"model\":\"x\",\"prices\":{\"*\":{"
                             "\"input\":1000000,\"output\":1000000}}}]}"),
                         no_key, NULL, &models, &err),
        0, "%s", err.message);
}

static void down(void) {
    ai_providers_free(models);
    arena_free(a);
}
TestSuite(agent_loop, .init = up, .fini = down, .timeout = 60);

#define SAYS(text)                                                                                 \
    "{\"model\":\"x\",\"choices\":[{\"message\":{\"content\":\"" text                              \
    "\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5}}"
#define WANTS(text, calls)                                                                         \
    "{\"model\":\"x\",\"choices\":[{\"message\":{\"content\":\"" text "\",\"tool_calls\":[" calls  \
    "]},\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":10,"                       \
    "\"completion_tokens\":5}}"
#define CALLS(id, name, arguments)                                                                 \
    "{\"id\":\"" id "\",\"type\":\"function\",\"function\":{\"name\":\"" name                      \
    "\",\"arguments\":\"" arguments "\"}}"

struct play {
    const char *says[TURNS]; /* answers of the model; the last one again and again */
    struct node_answer answers[TURNS * 16];
    size_t answers_nr;
    struct node_effect made[EFFECTS];
    size_t made_nr;
    struct node_result end;
    unsigned asked;                                /* requests that were made */
    const char *configurable, *run_ref, *node_ref; /* of the run; NULL: none */
};

static void enter(struct play *p, const char *config, int done) {
    static struct wf_node def;
    static struct workflow wf;
    static struct node_state state;
    static struct run_state run;
    def = (struct wf_node){.id = STR("n"), .agent = STR("{\"agentId\":\"core.test.one\"}")};
    wf = (struct workflow){.nodes = &def, .nodes_nr = 1};
    state = (struct node_state){.status = NODE_RUNNING};
    run = (struct run_state){.wf = &wf, .nodes = &state};
    run.meta.configurable = str_c(p->configurable ? p->configurable : "");
    run.options.credential_ref = str_c(p->run_ref ? p->run_ref : "");
    def.credentials_ref = str_c(p->node_ref ? p->node_ref : "");
    struct node_call call = {.a = a,
                             .run = &run,
                             .def = &def,
                             .config = str_c(config),
                             .inputs = STR("{}"),
                             .effects_done = done,
                             .answers = p->answers,
                             .answers_nr = p->answers_nr,
                             .type_ctx = models};
    p->end = (struct node_result){0};
    call.replaying = p->run_ref || p->node_ref; /* nobody here has a credential to give */
    exec_agent(&call, &p->end);
}

static void keep(struct play *p) {
    for (size_t i = 0; i < p->end.effects_nr; i++) {
        cr_assert_lt(p->made_nr, (size_t)EFFECTS);
        p->made[p->made_nr++] = p->end.effects[i];
    }
}

/* One entry after each answer, as the engine does. */
static void play(struct play *p, const char *config) {
    for (int n = 0; n < ENTRIES; n++) {
        enter(p, config, (int)p->made_nr);
        keep(p);
        if (p->end.outcome != NODE_OUT_CALL) return;
        size_t turn = p->end.request_ordinal;
        while (turn > 0 && (turn >= TURNS || !p->says[turn])) turn--;
        p->answers[p->answers_nr++] = (struct node_answer){.ordinal = p->end.request_ordinal,
                                                           .status = 200,
                                                           .duration_ms = 7,
                                                           .body = str_c(p->says[turn])};
        p->asked++;
    }
    cr_assert_fail("no end");
}

static struct str member(const struct play *p, size_t i, const char *key) {
    return i < p->made_nr ? json_get(p->made[i].value, key) : STR_NONE;
}

#define KEEP "\"tools\":[{\"name\":\"keep\",\"node\":{\"typeId\":\"core.identity\"}}]"

Test(agent_loop, many_entries_and_one_do_the_same /* AGT-25, AGT-27 */) {
    const char *config = "{\"prompt\":\"p\"," KEEP "}";
    struct play p = {.says = {WANTS("first", CALLS("1", "keep", "{\\\"n\\\":1}")),
                              WANTS("", CALLS("2", "keep", "{}") "," CALLS("", "none", "{}")),
                              SAYS("end")}};
    play(&p, config);
    cr_assert_eq(p.end.outcome, NODE_OUT_DONE, STR_FMT, STR_ARG(p.end.error_message));
    cr_expect(str_eqc(json_get(p.end.outputs, "text"), "\"end\""));
    cr_expect(str_eqc(json_get(p.end.outputs, "turns"), "3"));
    cr_expect_eq(p.asked, 3u);
    static const enum node_effect_kind WANT[] = {
        EFFECT_CHUNK,         EFFECT_REASONED,    EFFECT_TOOL_CALLED,   EFFECT_TOOL_RETURNED,
        EFFECT_CHUNK,         EFFECT_TOOL_CALLED, EFFECT_TOOL_RETURNED, EFFECT_TOOL_CALLED,
        EFFECT_TOOL_RETURNED, EFFECT_CHUNK};
    cr_assert_eq(p.made_nr, sizeof WANT / sizeof *WANT);
    for (size_t i = 0; i < p.made_nr; i++) cr_expect_eq(p.made[i].kind, WANT[i], "effect %zu", i);
    cr_expect(str_eq(member(&p, 2, "callId"), member(&p, 3, "callId")));
    cr_expect_not(str_eq(member(&p, 2, "callId"), member(&p, 5, "callId")));
    cr_expect(str_eqc(member(&p, 3, "outcome"), "{\"n\":1}"));
    cr_expect(str_eqc(json_get(member(&p, 8, "error"), "code"), "\"tool_not_allowed\""));
    for (size_t done = 0; done <= p.made_nr; done++) { /* cut anywhere */
        enter(&p, config, (int)done);
        cr_expect_eq(p.end.outcome, NODE_OUT_DONE);
        cr_assert_eq(p.end.effects_nr, p.made_nr - done);
        for (size_t i = 0; i < p.end.effects_nr; i++)
            cr_expect(str_eq(p.end.effects[i].value, p.made[done + i].value), "%zu of %zu", i,
                      done);
    }
}

Test(agent_loop, each_bound_has_a_code_of_its_own) {
    static const struct {
        const char *more, *code;
        unsigned asked;
    } CASES[] = {
        {"\"maxTurns\":1", "agent_turns_exceeded", 1},
        {"\"maxTurns\":5", "agent_turns_exceeded", 5},
        {"\"maxToolCalls\":0", "agent_tool_calls_exceeded", 1},
        {"\"maxTotalTokens\":15", "agent_tokens_exceeded", 1},
        {"\"maxTotalTokens\":16", "agent_tokens_exceeded", 2},
        {"\"maxCostUsd\":30", "agent_cost_exceeded", 2},
        {"\"maxWorkMs\":14", "agent_time_exceeded", 2},
        {"\"maxWorkMs\":15", "agent_time_exceeded", 3},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct play p = {.says = {WANTS("", CALLS("1", "keep", "{}"))}};
        struct str config = arena_printf(a, "{\"prompt\":\"p\"," KEEP ",%s}", CASES[i].more);
        play(&p, arena_cstr(a, config));
        cr_expect(str_eqc(p.end.error_code, CASES[i].code), "%s: " STR_FMT, CASES[i].more,
                  STR_ARG(p.end.error_code));
        cr_expect_eq(p.asked, CASES[i].asked, "%s: %u turns", CASES[i].more, p.asked);
        cr_expect_not(p.end.retryable);
    }
}

/* A request never asks for more than the bounds leave. */
Test(agent_loop, the_last_turn_gets_what_is_left) {
    struct play p = {.says = {WANTS("", CALLS("1", "keep", "{}")), SAYS("end")}};
    const char *config = "{\"prompt\":\"p\",\"maxTotalTokens\":40,\"maxWorkMs\":1000," KEEP "}";
    enter(&p, config, 0);
    cr_expect(str_eqc(json_get(p.end.request.body, "max_tokens"), "40"));
    cr_expect_eq(p.end.request.timeout_ms, 1000);
    p.answers[p.answers_nr++] = (struct node_answer){
        .ordinal = 0, .status = 200, .duration_ms = 900, .body = str_c(p.says[0])};
    enter(&p, config, 0);
    cr_expect_eq(p.end.request_ordinal, 1u);
    cr_expect(str_eqc(json_get(p.end.request.body, "max_tokens"), "25"));
    cr_expect_eq(p.end.request.timeout_ms, 100);
}

Test(agent_loop, nothing_that_is_not_allowed_is_offered_or_called /* AGT-9 */) {
    static const char *const LISTS[] = {"[]", "[\"openwop:core.noop\"]", "[\"core.identity\"]",
                                        "[\"OPENWOP:CORE.IDENTITY\"]"};
    for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++) {
        struct play p = {.says = {WANTS("", CALLS("1", "keep", "{}")), SAYS("end")}};
        struct str config =
            arena_printf(a, "{\"prompt\":\"p\"," KEEP ",\"toolAllowlist\":%s}", LISTS[i]);
        enter(&p, arena_cstr(a, config), 0);
        cr_expect_eq(json_get(p.end.request.body, "tools").n, 0u, "%s", LISTS[i]);
        p.made_nr = 0;
        play(&p, arena_cstr(a, config));
        cr_expect_eq(p.end.outcome, NODE_OUT_DONE);
        cr_expect(str_eqc(json_get(member(&p, 2, "error"), "code"), "\"tool_not_allowed\""), "%s",
                  LISTS[i]);
    }
}

Test(agent_loop, an_answer_that_does_not_fit_is_sent_back) {
    const char *config = "{\"prompt\":\"p\",\"schemaRounds\":1,\"outputSchema\":{\"type\":"
                         "\"object\",\"required\":[\"n\"]}}";
    struct play good = {.says = {SAYS("{}"), SAYS("{\\\"n\\\":1}")}}, bad = {.says = {SAYS("[]")}};
    play(&good, config);
    cr_expect(str_eqc(json_get(good.end.outputs, "output"), "{\"n\":1}"));
    cr_expect_eq(good.made[1].kind, EFFECT_LOG);
    cr_expect_eq(good.made[good.made_nr - 1].kind, EFFECT_DECIDED);
    play(&bad, config);
    cr_expect(str_eqc(bad.end.error_code, "agent_output_invalid"));
    cr_expect_eq(bad.asked, 2u);
}

/* --- what is shown of the reasoning --- */

#define FULL "{\"reasoningVerbosity\":\"full\"}"

/* The model thinks for n copies of part, then calls a tool; what the log gets of it. */
static struct str thought_shown(struct play *p, const char *part, size_t n) {
    size_t each = strlen(part);
    char *text = arena_alloc(a, n * each + 1);
    cr_assert_not_null(text);
    for (size_t i = 0; i < n; i++) memcpy(text + i * each, part, each);
    text[n * each] = 0;
    struct str body = arena_printf(a, WANTS("%s", CALLS("1", "keep", "{}")), text);
    cr_assert_not_null(body.p);
    p->says[0] = body.p;
    p->says[1] = SAYS("end");
    play(p, "{\"prompt\":\"p\"," KEEP "}");
    cr_assert_eq(p->end.outcome, NODE_OUT_DONE, STR_FMT, STR_ARG(p->end.error_message));
    for (size_t i = 0; i < p->made_nr; i++)
        if (p->made[i].kind == EFFECT_REASONED) return p->made[i].value;
    cr_assert_fail("nothing is shown");
    return STR_NONE;
}

static int64_t tokens_of(struct str reasoned) {
    int64_t n = -1;
    (void)json_int(json_get(reasoned, "tokenCount"), &n);
    return n;
}

Test(agent_loop, who_brings_credentials_shows_no_trace /* AGT-15, AGT-16 */) {
    static const struct {
        const char *configurable, *run_ref, *node_ref, *verbosity;
        int64_t tokens;
    } CASES[] = {{FULL, NULL, NULL, "\"full\"", 600},
                 {FULL, "mine", NULL, "\"summary\"", 512},
                 {FULL, NULL, "mine", "\"summary\"", 512},
                 {NULL, NULL, NULL, "\"summary\"", 512}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct play p = {.configurable = CASES[i].configurable, .node_ref = CASES[i].node_ref};
        struct play again = p;
        p.run_ref = again.run_ref = CASES[i].run_ref;
        struct str first = thought_shown(&p, "word ", 600);
        cr_expect(str_eqc(json_get(first, "verbosity"), CASES[i].verbosity), "%zu", i);
        cr_expect_eq(tokens_of(first), CASES[i].tokens, "%zu", i);
        cr_expect_eq(json_get(first, "trace").n > 0, CASES[i].verbosity[1] == 'f', "%zu", i);
        cr_expect(str_eq(thought_shown(&again, "word ", 600), first), "and says it again");
    }
}

/* A bound on words alone is none: words are as long as their author likes, and so are blanks. */
Test(agent_loop, a_summary_is_bounded_in_bytes_too /* AGT-15 */) {
    static const char *const PARTS[] = {"x", "\xc3\xa9", "\xe6\xbc\xa2", "\xf0\x9f\x90\xbb",
                                        ("y                                          "
                                         "                                          ")};
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        struct play p = {0};
        struct str shown = thought_shown(&p, PARTS[i], 200000 / strlen(PARTS[i]));
        struct str text = json_string(json_get(shown, "reasoning"), a);
        cr_expect_gt(text.n, 32000u, "%zu", i);
        cr_expect_leq(text.n, 512u * 64, "%zu", i);
        cr_expect(utf8_valid(text), "%zu: whole characters", i);
        cr_expect_leq(tokens_of(shown), 512, "%zu", i);
    }
}

/* What does not fit its event twice is shown once, and the node does not fail of it. */
Test(agent_loop, a_trace_that_no_event_holds_is_a_summary /* AGT-15 */) {
    struct play most = {.configurable = FULL}, quotes = {.configurable = FULL};
    cr_expect(str_eqc(json_get(thought_shown(&most, "x", 390000), "verbosity"), "\"full\""));
    cr_expect(
        str_eqc(json_get(thought_shown(&quotes, "\\\"", 270000), "verbosity"), "\"summary\""));
}

/* A bound that nobody can measure is not one that is kept. */
Test(agent_loop, a_bound_that_cannot_be_measured_is_said) {
    struct play p = {
        .says = {
            "{\"model\":\"x\",\"choices\":[{\"message\":{\"content\":\"\",\"tool_calls\":[" CALLS(
                "1", "keep", "{}") "]}}]}"}};
    play(&p, "{\"prompt\":\"p\",\"maxTotalTokens\":100," KEEP "}");
    cr_expect(str_eqc(p.end.error_code, "agent_usage_unknown"));
    cr_expect_eq(p.asked, 1u);
}

#define COUNTED(usage)                                                                             \
    "{\"model\":\"x\",\"choices\":[{\"message\":{\"content\":\"\",\"tool_calls\":[" CALLS(         \
        "1", "keep", "{}") "]}}],\"usage\":" usage "}"

/* Nor is one of counts that are none: they are not 0. */
Test(agent_loop, counts_that_are_none_pass_no_bound) {
    static const char *const NONE[] = {
        COUNTED("{\"prompt_tokens\":-1,\"completion_tokens\":5}"),
        COUNTED("{\"prompt_tokens\":1,\"completion_tokens\":1.5}"),
        COUNTED("{\"prompt_tokens\":\"1\",\"completion_tokens\":5}"),
        COUNTED("{\"prompt_tokens\":2147483648,\"completion_tokens\":5}"),
        COUNTED("{\"prompt_tokens\":1e400,\"completion_tokens\":5}"),
        COUNTED("{\"prompt_tokens\":1}"),
        COUNTED("{\"completion_tokens\":1}"),
        COUNTED("{\"prompt_tokens\":1,\"completion_tokens\":5,\"prompt_tokens_details\":{"
                "\"cached_tokens\":2}}"),
        COUNTED("[]"),
        COUNTED("7"),
    };
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++) {
        struct play p = {.says = {NONE[i], SAYS("end")}}, free = p;
        play(&p, "{\"prompt\":\"p\",\"maxTotalTokens\":100," KEEP "}");
        cr_expect(str_eqc(p.end.error_code, "agent_usage_unknown"), "%s", NONE[i]);
        cr_expect_eq(p.asked, 1u, "%s", NONE[i]);
        play(&free, "{\"prompt\":\"p\"," KEEP "}");
        cr_expect_eq(free.end.outcome, NODE_OUT_DONE, "%s", NONE[i]);
        cr_expect_eq(json_get(free.end.outputs, "usage").n, 0u, "%s", NONE[i]);
    }
}

/* Providers refuse a conversation with two calls of one id, or a name that no tool could have. */
Test(agent_loop, what_goes_back_has_ids_and_names_of_its_own) {
    struct play p = {.says = {WANTS("", CALLS("x", "keep", "{}") "," CALLS(
                                            "x", "a b", "{}") "," CALLS("call_1_1", "keep", "{}")),
                              WANTS("", CALLS("x", "keep", "{}")), SAYS("end")}};
    const char *config = "{\"prompt\":\"p\"," KEEP "}";
    play(&p, config);
    cr_assert_eq(p.end.outcome, NODE_OUT_DONE);
    p.answers_nr = 2;
    enter(&p, config, 0);
    struct str messages = json_get(p.end.request.body, "messages");
    static const char *const WANT[] = {"1.tool_calls.0.id",
                                       "x",
                                       "1.tool_calls.1.id",
                                       "call_1_1",
                                       "2.tool_call_id",
                                       "x",
                                       "3.tool_call_id",
                                       "call_1_1",
                                       "5.tool_calls.0.id",
                                       "call_2_0",
                                       "6.tool_call_id",
                                       "call_2_0",
                                       "1.tool_calls.1.function.name",
                                       "unknown_tool",
                                       "1.tool_calls.2.id",
                                       "call_1_2"};
    for (size_t i = 0; i < sizeof WANT / sizeof *WANT; i += 2) {
        struct str got = json_string(json_path_get(messages, str_c(WANT[i]), a), a);
        cr_expect(str_eqc(got, WANT[i + 1]), "%s: " STR_FMT, WANT[i], STR_ARG(got));
    }
}

/* What the author of a tool has set is not the model's (AGT-9). */
Test(agent_loop, arguments_do_not_replace_a_tools_configuration) {
    struct play p = {.says = {WANTS("", CALLS("1", "set", "{\\\"name\\\":\\\"b\\\"}") "," CALLS(
                                            "2", "set", "{\\\"value\\\":7}")),
                              SAYS("end")}};
    play(&p, "{\"prompt\":\"p\",\"tools\":[{\"name\":\"set\",\"node\":{\"typeId\":"
             "\"core.setVariable\",\"config\":{\"name\":\"a\"}}}]}");
    cr_assert_eq(p.end.outcome, NODE_OUT_DONE, STR_FMT, STR_ARG(p.end.error_message));
    size_t set = 0;
    for (size_t i = 0; i < p.made_nr; i++)
        if (p.made[i].kind == EFFECT_VARIABLE) {
            cr_expect(str_eqc(p.made[i].name, "a"));
            set++;
        }
    cr_expect_eq(set, 1u);
    cr_expect(str_eqc(json_get(member(&p, 2, "error"), "code"), "\"tool_arguments_invalid\""));
}

/* However a configuration is cut or bent, it is judged in bounds. */
Test(agent_loop, bent_configurations_are_judged) {
    static const char GOOD[] =
        "{\"prompt\":\"p\",\"tools\":[{\"mcp\":{\"tool\":\"t\",\"server\":\"s\",\"timeoutMs\":5}},"
        "{\"ask\":{}},{\"name\":\"k\",\"node\":{\"typeId\":\"core.setVariable\",\"config\":{"
        "\"name\":\"v\"}}}],\"toolAllowlist\":[\"mcp:t\"],\"maxCostUsd\":1.5,\"outputSchema\":{"
        "\"type\":\"object\"}}";
    cr_expect_null(nodes_config_wrong(STR("vendor.wopr.agent"), STR(GOOD)));
    size_t odd = 0;
    for (size_t i = 0; i < sizeof GOOD - 1; i++)
        for (size_t k = 0; k < 6; k++) {
            char bent[sizeof GOOD];
            memcpy(bent, GOOD, sizeof GOOD);
            bent[i] = "\"{[09\\"[k];
            struct str s = str_n(bent, sizeof GOOD - 1);
            if (json_check(s, &JSON_LIMITS_DEFAULT, NULL) != 0) continue; /* nobody stores it */
            odd += nodes_config_wrong(STR("vendor.wopr.agent"), s) != NULL;
        }
    cr_expect_gt(odd, 0u);
}
