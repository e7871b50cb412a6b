/*
 * tools.c: see tools.h.  One row for each tool; the schemas are said once, here, and the committed
 * reference is compared with them (WR-214).
 */
#include "rail/tools.h"

#include "base/mem.h"
#include "codec/jobj.h"
#include "domain/scope.h"
#include "rail/rail_int.h"

enum { SUBJECT_MAX = 4096 };

/* --- parts of schemas --- */
#define TEXT          "{\"type\":\"string\",\"minLength\":1}"
#define SCHEMA_OBJECT "\"type\":\"object\",\"additionalProperties\":false"
#define WORKSPACE     "\"workspacePath\":" TEXT
#define ANCHORS                                                                                    \
    "\"anchors\":{" SCHEMA_OBJECT ",\"description\":\"Where the work is; a value that is none is " \
    "not recorded.\",\"properties\":{\"gitBranch\":" TEXT ",\"gitHeadSha\":" TEXT                  \
    ",\"repoRootHash\":" TEXT ",\"repoRoot\":" TEXT "}}"
#define PREFERENCES                                                                                \
    "\"preferences\":{" SCHEMA_OBJECT ",\"properties\":{\"autonomy\":{\"enum\":[\"guided\","       \
    "\"full_auto_stop_on_user_deps\",\"full_auto_never_stop\"]},\"riskPolicy\":{\"enum\":["        \
    "\"conservative\",\"balanced\",\"aggressive\"]}}}"
#define OUTPUT                                                                                     \
    "\"output\":{" SCHEMA_OBJECT ",\"properties\":{\"notesMarkdown\":" TEXT                        \
    ",\"artifacts\":{\"type\":\"array\",\"maxItems\":32,\"items\":{\"type\":\"object\"}}}}"
#define CONTEXT "\"context\":{\"type\":\"object\"}"
#define NEXT_CALL                                                                                  \
    "\"nextCall\":{\"type\":[\"object\",\"null\"],\"required\":[\"tool\",\"params\"],"             \
    "\"properties\":{\"tool\":{\"const\":\"continue_workflow\"},\"params\":{\"type\":\"object\"}}" \
    "}"
#define STEP_REPLY                                                                                 \
    "\"stateToken\":" TEXT ",\"ackToken\":" TEXT ",\"checkpointToken\":" TEXT                      \
    ",\"isComplete\":{\"type\":\"boolean\"},\"pending\":{\"type\":[\"object\",\"null\"],"          \
    "\"required\":[\"stepId\",\"title\",\"prompt\",\"requireConfirmation\"],\"properties\":{"      \
    "\"stepId\":" TEXT ",\"title\":{\"type\":\"string\"},\"prompt\":{\"type\":\"string\"},"        \
    "\"requireConfirmation\":{\"type\":\"boolean\"}}},\"preferences\":{\"type\":\"object\","       \
    "\"required\":[\"autonomy\",\"riskPolicy\"]},\"nextIntent\":{\"enum\":["                       \
    "\"perform_pending_then_continue\",\"await_user_confirmation\",\"rehydrate_only\","            \
    "\"complete\"]}," NEXT_CALL ",\"warnings\":{\"type\":\"array\"},\"session\":{"                 \
    "\"type\":\"object\",\"required\":[\"sessionId\",\"runId\",\"workflowId\"]}"
#define STEP_REQUIRED                                                                              \
    "\"stateToken\",\"isComplete\",\"pending\",\"preferences\",\"nextIntent\",\"nextCall\","       \
    "\"session\""

#define OPAQUE " Tokens are opaque: send them back unchanged. Do not predict later steps."

static int tool_handle(struct mcp_call *call);

static const struct mcp_tool ROWS[WR_TOOLS] = {
    [WR_TOOL_LIST] =
        {.name = "list_workflows",
         .title = "List workflows",
         .description = "Lists the workflows that can be started here, with the id that "
                        "start_workflow takes. Reads only." OPAQUE,
         .input = "{" SCHEMA_OBJECT ",\"properties\":{" WORKSPACE "}}",
         .output = "{\"type\":\"object\",\"required\":[\"workflows\"],\"properties\":{"
                   "\"workflows\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
                   "\"workflowId\",\"name\",\"description\",\"version\",\"kind\",\"workflowHash\","
                   "\"idStatus\",\"sourceKind\"]}}}}",
         .scopes = SCOPE_RUNS_READ,
         .flags = MCP_READS | MCP_REPEATS | MCP_MAY_BLOCK | MCP_JUDGES,
         .handler = tool_handle},
    [WR_TOOL_INSPECT] =
        {.name = "inspect_workflow",
         .title = "Inspect a workflow",
         .description = "Shows one workflow: its steps by title, loops and contracts, and in mode "
                        "preview the prompt of the first step. Reads only, starts nothing." OPAQUE,
         .input = "{" SCHEMA_OBJECT ",\"required\":[\"workflowId\"],\"properties\":{"
                  "\"workflowId\":" TEXT ",\"mode\":{\"enum\":[\"metadata\",\"preview\"],"
                  "\"default\":\"preview\"}," WORKSPACE "}}",
         .output = "{\"type\":\"object\",\"required\":[\"workflowId\",\"workflowHash\",\"mode\","
                   "\"compiled\"],\"properties\":{\"workflowId\":" TEXT ",\"workflowHash\":" TEXT
                   ",\"mode\":{\"enum\":[\"metadata\",\"preview\"]},\"compiled\":{"
                   "\"type\":\"object\"},\"firstStep\":{\"type\":\"object\"}}}",
         .scopes = SCOPE_RUNS_READ,
         .flags = MCP_READS | MCP_REPEATS | MCP_MAY_BLOCK | MCP_JUDGES,
         .handler = tool_handle},
    [WR_TOOL_START] =
        {.name = "start_workflow",
         .title = "Start a workflow",
         .description =
             "Begins a run of a workflow and returns its first step in pending.prompt. Do only "
             "that step, then call continue_workflow as nextCall says. Each call begins a new "
             "session. context: facts for the run, at most 256 KiB; it is stored in clear, so put "
             "no secrets into it." OPAQUE,
         .input = "{" SCHEMA_OBJECT ",\"required\":[\"workflowId\"],\"properties\":{"
                  "\"workflowId\":" TEXT "," CONTEXT "," WORKSPACE "," ANCHORS "," PREFERENCES "}}",
         .output = "{\"type\":\"object\",\"required\":[" STEP_REQUIRED
                   "],\"properties\":{" STEP_REPLY "}}",
         .scopes = SCOPE_RUNS_CREATE,
         .flags = MCP_MAY_BLOCK | MCP_JUDGES,
         .handler = tool_handle},
    [WR_TOOL_CONTINUE] =
        {.name = "continue_workflow",
         .title = "Continue a workflow",
         .description =
             "With ackToken it reports that the pending step is done and returns the next one: "
             "output.notesMarkdown is a fresh recap of this step alone, 10 to 30 lines. Without "
             "ackToken it returns the same step again and changes nothing: that is how a lost chat "
             "is picked up, and nextIntent rehydrate_only says that it was one, not that it should "
             "be called again. kind blocked: read blockers, mend the output, and send it again "
             "with retryAckToken. The same call again gives the same answer." OPAQUE,
         .input = "{" SCHEMA_OBJECT ",\"required\":[\"stateToken\"],\"properties\":{"
                  "\"stateToken\":" TEXT ",\"ackToken\":" TEXT
                  ",\"intent\":{\"enum\":[\"advance\",\"rehydrate\"]}," CONTEXT "," OUTPUT
                  "," WORKSPACE "," ANCHORS "," PREFERENCES "}}",
         .output = "{\"type\":\"object\",\"required\":[\"kind\"," STEP_REQUIRED
                   "],\"properties\":{\"kind\":{\"enum\":[\"ok\",\"blocked\"]}," STEP_REPLY
                   ",\"blockers\":{\"type\":\"object\"},\"retryable\":{\"type\":\"boolean\"},"
                   "\"retryAckToken\":" TEXT ",\"validation\":{\"type\":\"object\"}}}",
         .scopes = SCOPE_RUNS_CREATE,
         .flags = MCP_REPEATS | MCP_MAY_BLOCK | MCP_JUDGES,
         .handler = tool_handle},
    [WR_TOOL_CHECKPOINT] =
        {.name = "checkpoint_workflow",
         .title = "Save notes without moving on",
         .description = "Records work in the middle of a step without ending it; go on with the "
                        "stateToken of the answer. The same call again changes nothing." OPAQUE,
         .input = "{" SCHEMA_OBJECT ",\"required\":[\"checkpointToken\"],\"properties\":{"
                  "\"checkpointToken\":" TEXT ",\"stateToken\":" TEXT "," OUTPUT "}}",
         .output = "{\"type\":\"object\",\"required\":[\"checkpointNodeId\",\"stateToken\","
                   "\"nextCall\"],\"properties\":{\"checkpointNodeId\":" TEXT
                   ",\"stateToken\":" TEXT "," NEXT_CALL "}}",
         .scopes = SCOPE_RUNS_CREATE,
         .flags = MCP_REPEATS | MCP_MAY_BLOCK | MCP_JUDGES,
         .handler = tool_handle},
    [WR_TOOL_RESUME] =
        {.name = "resume_session",
         .title = "Find earlier work",
         .description =
             "Finds earlier sessions when no token is at hand, the best match first: by commit, by "
             "branch, by words of the notes, by workflow, then the last changed. Pass the "
             "stateToken of the one you mean to continue_workflow. Reads only." OPAQUE,
         .input =
             "{" SCHEMA_OBJECT ",\"properties\":{\"query\":{\"type\":\"string\","
             "\"maxLength\":256},\"gitBranch\":{\"type\":\"string\",\"maxLength\":256},"
             "\"gitHeadSha\":{\"type\":\"string\",\"pattern\":\"^([0-9a-f]{40})?$\"}," WORKSPACE
             "}}",
         .output = "{\"type\":\"object\",\"required\":[\"candidates\",\"totalEligible\"],"
                   "\"properties\":{\"candidates\":{\"type\":\"array\",\"maxItems\":5,\"items\":{"
                   "\"type\":\"object\",\"required\":[\"sessionId\",\"runId\",\"stateToken\","
                   "\"snippet\",\"whyMatched\"]}},\"totalEligible\":{\"type\":\"integer\"}}}",
         .scopes = SCOPE_RUNS_READ,
         .flags = MCP_READS | MCP_REPEATS | MCP_MAY_BLOCK | MCP_JUDGES,
         .handler = tool_handle},
};

#define INSTRUCTIONS                                                                               \
    "Workflows lead you step by step: start_workflow, do the pending step, continue_workflow "     \
    "with its tokens, until nextIntent is complete."

const struct mcp_set RAIL_TOOLS_DESCRIBED = {
    .tools = ROWS, .tools_nr = WR_TOOLS, .instructions = INSTRUCTIONS};

/* --- a call --- */
static struct str subject_of(const struct mcp_call *call) {
    const struct mcp_caller *who = &call->who;
    struct jobj o;
    jobj_begin(&o, SUBJECT_MAX);
    jw_kstr(&o.w, "issuer", who->subject_issuer);
    jw_kstr(&o.w, "subjectId", who->subject_id);
    jw_kstr(&o.w, "tenant", who->tenant);
    jw_kstrz(&o.w, "lane", "api-key");
    jw_kstrz(&o.w, "kind", "workload");
    return jobj_end(&o, call->arena);
}

static int fault_answer(struct mcp_call *call, const struct wr_fault *f) {
    static const enum mcp_retry RETRIES[] = {[WR_RETRY_NO] = MCP_RETRY_NOT,
                                             [WR_RETRY_NOW] = MCP_RETRY_AT_ONCE,
                                             [WR_RETRY_AFTER] = MCP_RETRY_AFTER};
    enum wr_code code = wr_code_shown(f->code);
    struct str details = f->e.details[0] ? str_c(f->e.details) : STR_NONE;
    return mcp_fail_with(call, wr_code_name(code), arena_str(call->arena, str_c(f->e.message)),
                         RETRIES[wr_code_retry(f->code)], WR_RETRY_AFTER_MS,
                         details.n > 0 ? arena_str(call->arena, details) : STR_NONE);
}

static int tool_handle(struct mcp_call *call) {
    struct rail *r = call->ctx;
    const struct rail_caller who = {.tenant = call->who.tenant,
                                    .workspace = call->who.workspace,
                                    .subject = subject_of(call),
                                    .test_mode = call->who.test_mode};
    enum wr_tool tool = WR_TOOL_LIST;
    struct wr_fault f;
    struct str json;
    while (strcmp(ROWS[tool].name, call->tool->name) != 0) tool++;
    int rc = who.subject.p ? rail_call(r, &who, tool, call->arguments, call->arena, &json, &f)
                           : wr_no_memory(&f);
    return rc == 0 ? mcp_answer(call, json) : fault_answer(call, &f);
}

/* --- the set --- */
static bool row_allowed(const struct rail *r, enum wr_tool tool) {
    if (tool == WR_TOOL_CHECKPOINT) return r->cfg.checkpoints;
    return tool != WR_TOOL_RESUME || r->cfg.resume;
}

void rail_tools_write(const struct rail *r, struct jw *w) {
    jw_array(w);
    for (enum wr_tool i = 0; i < WR_TOOLS; i++)
        if (row_allowed(r, i)) jw_strz(w, ROWS[i].name);
    jw_end_array(w);
}

const struct mcp_set *rail_tools(struct rail *r) {
    struct mcp_tool *rows = ARENA_ARRAY(r->arena, struct mcp_tool, WR_TOOLS);
    struct mcp_set *set = ARENA_NEW(r->arena, struct mcp_set);
    if (!rows || !set) return NULL;
    for (enum wr_tool i = 0; i < WR_TOOLS; i++)
        if (row_allowed(r, i)) rows[set->tools_nr++] = ROWS[i];
    set->tools = rows;
    set->ctx = r;
    set->instructions = INSTRUCTIONS;
    return set;
}
