/*
 * mcp_fixtures.c: tools, resources and prompts that the conformance program of MCP drives; on hosts
 * with the conformance fixtures only (tests/mcp/run.py).
 */
#include "codec/jobj.h"
#include "wire/v1/mcp.h"

#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"
#define FORM(key, message, field, type)                                                            \
    "{\"" key "\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":"   \
    "\"" message "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"" field            \
    "\":{\"type\":\"" type "\"}},\"required\":[\"" field "\"]}}}}"

static int text_fixture(struct mcp_call *call) {
    return mcp_answer_text(call, STR("This is a simple text response for testing."), STR_NONE);
}

static int error_fixture(struct mcp_call *call) {
    return mcp_fail_with(call, "PRECONDITION_FAILED",
                         STR("This tool intentionally returns an error for testing"), MCP_RETRY_NOT,
                         0, STR_NONE);
}

/* What the user said to the question key, raw; empty: nothing that was accepted. */
static struct str mcp_fixtures_said(const struct mcp_call *call, const char *key) {
    struct str answer = json_get(call->input_responses, key);
    bool accepted = str_eqc(json_get(answer, "action"), "\"accept\"");
    return accepted ? json_get(answer, "content") : STR_NONE;
}

static int name_fixture(struct mcp_call *call) {
    struct str raw = json_get(mcp_fixtures_said(call, "user_name"), "name");
    struct str name = json_string(raw, call->arena);
    if (name.n == 0)
        return mcp_ask_user(call, STR(FORM("user_name", "What is your name?", "name", "string")),
                            STR_NONE);
    return mcp_answer_text(call, arena_printf(call->arena, "Hello, " STR_FMT "!", STR_ARG(name)),
                           STR_NONE);
}

static int state_fixture(struct mcp_call *call) {
    if (mcp_fixtures_said(call, "confirm").n == 0 || !str_eqc(call->request_state, "confirming"))
        return mcp_ask_user(call, STR(FORM("confirm", "Please confirm", "ok", "boolean")),
                            STR("confirming"));
    return mcp_answer_text(call, STR("state-ok"), STR_NONE);
}

static int rounds_fixture(struct mcp_call *call) {
    if (str_eqc(call->request_state, "round-2") && mcp_fixtures_said(call, "step2").n > 0)
        return mcp_answer_text(call, STR("Both steps were answered."), STR_NONE);
    if (str_eqc(call->request_state, "round-1") && mcp_fixtures_said(call, "step1").n > 0)
        return mcp_ask_user(
            call, STR(FORM("step2", "Step 2: What is your favorite color?", "color", "string")),
            STR("round-2"));
    return mcp_ask_user(call, STR(FORM("step1", "Step 1: What is your name?", "name", "string")),
                        STR("round-1"));
}

static const struct mcp_tool TOOLS[] = {
    {"test_simple_text", "Fixture", "A text.", NO_ARGUMENTS, NULL, 0, MCP_READS, text_fixture},
    {"test_error_handling", "Fixture", "A failure.", NO_ARGUMENTS, NULL, 0, MCP_READS,
     error_fixture},
    {"test_input_required_result_elicitation", "Fixture", "One question.", NO_ARGUMENTS, NULL, 0,
     MCP_READS, name_fixture},
    {"test_input_required_result_request_state", "Fixture", "A question with state.", NO_ARGUMENTS,
     NULL, 0, MCP_READS, state_fixture},
    {"test_input_required_result_multi_round", "Fixture", "Two questions.", NO_ARGUMENTS, NULL, 0,
     MCP_READS, rounds_fixture},
};

static int static_fixture(struct mcp_call *call) {
    return mcp_answer_text(call, STR("This is the content of the static text resource."), STR_NONE);
}

static int template_fixture(struct mcp_call *call) {
    struct str id = mcp_param(call, "id");
    struct jobj o;
    jobj_begin(&o, 16 * 1024);
    jw_kstr(&o.w, "id", id);
    jw_kbool(&o.w, "templateTest", true);
    jw_kstr(&o.w, "data", arena_printf(call->arena, "Data for ID: " STR_FMT, STR_ARG(id)));
    return mcp_answer(call, jobj_end(&o, call->arena));
}

static const struct mcp_resource RESOURCES[] = {
    {"test://static-text", "static-text", "Fixture", "A text.", "text/plain", 0, 0, static_fixture},
    {"test://template/{id}/data", "template-data", "Fixture", "By id.", "application/json", 0, 0,
     template_fixture},
};
static const struct mcp_prompt PROMPTS[] = {
    {"test_simple_prompt",
     "Fixture",
     "A text.",
     {{NULL, NULL, false}},
     "This is a simple prompt for testing.",
     0},
    {"test_prompt_with_arguments",
     "Fixture",
     "A text with arguments.",
     {{"arg1", "First.", true}, {"arg2", "Second.", true}},
     "Prompt with arguments: arg1='{{arg1}}', arg2='{{arg2}}'",
     0},
};

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
const struct mcp_set V1_MCP_FIXTURES = {.tools = TOOLS,
                                        .tools_nr = COUNT(TOOLS),
                                        .resources = RESOURCES,
                                        .resources_nr = COUNT(RESOURCES),
                                        .prompts = PROMPTS,
                                        .prompts_nr = COUNT(PROMPTS)};
