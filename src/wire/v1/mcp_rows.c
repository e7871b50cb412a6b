/*
 * mcp_rows.c: the runs of this host as tools, resources and prompts of MCP: what a model reads.
 *
 * JSON_TEXT makes a text of the JSON between its parentheses.
 */
#include "wire/v1/mcp.h"

#define JSON_TEXT(...) #__VA_ARGS__
#define RUN_ID                                                                                     \
    "\"runId\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":128,\"description\":\"As "       \
    "run_start or run_list answered it.\"}"
#define KEY                                                                                        \
    "\"idempotencyKey\":{\"type\":\"string\",\"pattern\":\"^[!-~]{1,255}$\",\"description\":"      \
    "\"Any text of your own for this intent. The same call with the same key gets the first "      \
    "answer again and does nothing twice, also after a lost connection.\"}"
#define LIMIT                                                                                      \
    "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":200,\"description\":\"Entries per " \
    "page; 50 when absent.\"}"
#define OBJECT(properties, required)                                                               \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required                 \
    "],\"additionalProperties\":false}"
/* Of answers: others may be there too. */
#define ANSWER(properties, required)                                                               \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":[" required "]}"

/* clang-format off */
static const struct mcp_tool TOOLS[] = {
    {"run_list_workflows", "List workflows",
     "Lists the workflows of this host that run by themselves, with id, version and hash, "
     "ordered by id. Pass nextAfter as after for the next "
     "page. Read one with run_describe_workflow before starting it.",
     OBJECT(LIMIT "," JSON_TEXT("after": {"type": "string", "minLength": 1, "maxLength": 128,
         "description": "nextAfter of the page before."}), ""),
     ANSWER(JSON_TEXT("workflows": {"type": "array", "items": {"type": "object", "properties": {
         "workflowId": {"type": "string"}, "version": {"type": "string"},
                      "hash": {"type": "string"}, "shared": {"type": "boolean"}}, "required": [
                          "workflowId"]}}, "nextAfter": {"type": "string"}), JSON_TEXT("workflows")),
     SCOPE_MANIFEST_READ, MCP_READS | MCP_REPEATS, v1_mcp_route},
    {"run_describe_workflow", "Describe a workflow",
     "Returns the definition of a workflow: its inputs, nodes and edges. The inputs say what "
     "run_start needs.",
     OBJECT(JSON_TEXT("workflowId": {"type": "string", "minLength": 1, "maxLength": 128}),
         JSON_TEXT("workflowId")),
     ANSWER(JSON_TEXT("id": {"type": "string"}, "nodes": {"type": "array"}), ""),
     SCOPE_MANIFEST_READ, MCP_READS | MCP_REPEATS, v1_mcp_route},
    {"run_start", "Start a run",
     "Starts a run of a workflow and returns its runId at once; it goes on by itself. Give "
     "an idempotencyKey, so that a repeated call starts nothing "
     "twice. Then use run_wait.",
     OBJECT(JSON_TEXT("workflowId": {"type": "string", "minLength": 1, "maxLength": 128}, "inputs":
         {"type": "object", "description": "By the names that the workflow declares."},
                      "tags": {"type": "array", "maxItems": 100, "items": {"type": "string",
                          "minLength": 1, "maxLength": 256}},
                      "metadata": {"type": "object"}, "configurable": {"type": "object",
                          "description": "Run options, like model or temperature."},
                      "scopeId": {"type": "string", "minLength": 1, "maxLength": 256}) "," KEY,
                          JSON_TEXT("workflowId")),
     ANSWER(JSON_TEXT("runId": {"type": "string"}, "status": {"type": "string"}, "eventsUrl": {
         "type": "string"}, "statusUrl": {"type": "string"},
                      "warnings": {"type": "array", "description":
                          "Inputs that the workflow does not declare; they were dropped."}),
                          JSON_TEXT("runId", "status")),
     SCOPE_RUNS_CREATE, 0, v1_mcp_route},
    {"run_status", "Read a run",
     "Returns the state of a run: status, nodes, variables, outputs, error, and what it "
     "waits for (interrupt).",
     OBJECT(RUN_ID, JSON_TEXT("runId")),
     ANSWER(JSON_TEXT("runId": {"type": "string"}, "workflowId": {"type": "string"}, "status": {
         "type": "string"}, "interrupt": {"type": "object"}),
            JSON_TEXT("runId", "status")),
     SCOPE_RUNS_READ, MCP_READS | MCP_REPEATS, v1_mcp_route},
    {"run_wait", "Wait for a run",
     "Waits until a run has ended or needs somebody (until: attention, the default) or has "
     "ended (until: ended), for timeoutSeconds at most. reason says which it was: ended, "
     "attention or timeout; after timeout call it again. Reports progress while it waits. "
     "Giving up the call leaves the run as it is.",
     OBJECT(RUN_ID "," JSON_TEXT("timeoutSeconds": {"type": "integer", "minimum": 1, "maximum": 300,
         "description": "30 when absent; at most 60 where the client takes no event stream."},
                                 "until": {"type": "string", "enum": ["attention", "ended"]}),
                                     JSON_TEXT("runId")),
     ANSWER(JSON_TEXT("runId": {"type": "string"}, "status": {"type": "string"}, "reason": {"type":
         "string", "enum": ["ended", "attention", "timeout"]},
                      "lastSequence": {"type": "integer", "description": "For run_events."}),
                          JSON_TEXT("runId", "status", "reason", "lastSequence")),
     SCOPE_RUNS_READ, MCP_READS | MCP_REPEATS, v1_mcp_wait},
    {"run_list", "List runs",
     "Lists runs, newest first, those of a status, workflow or tag if asked for. Pass "
     "nextBefore as before for the next page.",
     OBJECT(JSON_TEXT("status": {"type": "string", "enum": ["pending", "running", "paused",
         "waiting-approval", "waiting-input", "waiting-external", "completed", "failed", "cancelled"
         ]},
                      "workflowId": {"type": "string", "minLength": 1, "maxLength": 128}, "tag": {
                          "type": "string", "minLength": 1, "maxLength": 256},
                      "before": {"type": "string", "minLength": 1, "maxLength": 128}) "," LIMIT, ""
                          ),
     ANSWER(JSON_TEXT("runs": {"type": "array", "items": {"type": "object", "properties": {"runId":
         {"type": "string"}, "workflowId": {"type": "string"}, "status": {"type": "string"}},
                      "required": ["runId", "workflowId", "status"]}}, "nextBefore": {"type":
                          "string"}), JSON_TEXT("runs")),
     SCOPE_RUNS_READ, MCP_READS | MCP_REPEATS, v1_mcp_route},
    {"run_events", "Read the events of a run",
     "Returns events of a run in their order, those after afterSequence; bounded by limit "
     "and by size. Pass lastSequence as afterSequence for the next page; isComplete says "
     "that "
     "nothing will follow.",
     OBJECT(RUN_ID "," JSON_TEXT("afterSequence": {"type": "integer", "minimum": -1, "description":
         "-1, the default, is the beginning."}) "," LIMIT, JSON_TEXT("runId")),
     ANSWER(JSON_TEXT("events": {"type": "array", "items": {"type": "object"}}, "lastSequence": {
         "type": "integer"}, "isComplete": {"type": "boolean"}),
            JSON_TEXT("events", "lastSequence", "isComplete")),
     SCOPE_RUNS_READ, MCP_READS | MCP_REPEATS | MCP_MAY_BLOCK, v1_mcp_events},
    {"run_cancel", "Cancel a run",
     "Cancels a run for good: what it has done stays done, what it waits for is given up. A "
     "run that has ended keeps its status. Ask the user first.",
     OBJECT(RUN_ID "," JSON_TEXT("reason": {"type": "string", "maxLength": 4096}) "," KEY,
         JSON_TEXT("runId")),
     ANSWER(JSON_TEXT("runId": {"type": "string"}, "status": {"type": "string"}), JSON_TEXT("runId"
         , "status")),
     SCOPE_RUNS_CANCEL, MCP_DESTROYS | MCP_REPEATS, v1_mcp_route},
    {"run_list_interrupts", "List open questions",
     "Lists what runs wait for, oldest first: approvals, questions, external events. Pass "
     "nextCursor as cursor for the next page. run_status shows the question itself.",
     OBJECT(JSON_TEXT("kind": {"type": "string", "minLength": 1, "maxLength": 64}, "runId": {"type"
         : "string", "minLength": 1, "maxLength": 128},
                      "cursor": {"type": "string", "minLength": 1, "maxLength": 512}) "," LIMIT, ""
                          ),
     ANSWER(JSON_TEXT("interrupts": {"type": "array", "items": {"type": "object", "properties": {
         "interruptId": {"type": "string"}, "runId": {"type": "string"}, "nodeId": {"type": "string"
         },
                      "kind": {"type": "string"}}, "required": ["interruptId", "runId", "nodeId",
                          "kind"]}}, "nextCursor": {"type": "string"}), JSON_TEXT("interrupts")),
     SCOPE_RUNS_READ, MCP_READS | MCP_REPEATS, v1_mcp_route},
    {"run_resolve_interrupt", "Answer an open question",
     "Answers what a node of a run waits for, as the user decided: of an approval "
     "{\"action\": one of its actions}, of a clarification {\"answers\": {id: answer}}, else "
     "what its "
     "resumeSchema asks for. Without value the user is asked, if the client can. Never "
     "decide in the user's place.",
     OBJECT(RUN_ID "," JSON_TEXT("nodeId": {"type": "string", "minLength": 1, "maxLength": 128},
         "value": {"description": "The answer, of any JSON type."}) "," KEY, JSON_TEXT("runId",
         "nodeId")),
     ANSWER(JSON_TEXT("runId": {"type": "string"}, "nodeId": {"type": "string"}, "interruptId": {
         "type": "string"}, "status": {"type": "string"}), JSON_TEXT("runId", "status")),
     SCOPE_APPROVALS_RESPOND, 0, v1_mcp_resolve},
};

static const struct mcp_resource RESOURCES[] = {
    {"wopr://workflows", "workflows", "Workflows of this host",
        "The workflows that can be started, by id: the first 200.", "application/json",
        SCOPE_MANIFEST_READ, 0, v1_mcp_route},
    {"wopr://workflows/{workflowId}", "workflow", "A workflow", "The definition of a workflow.",
        "application/json", SCOPE_MANIFEST_READ, 0, v1_mcp_route},
    {"wopr://runs", "runs", "Recent runs", "The latest 50 runs, newest first.", "application/json",
        SCOPE_RUNS_READ, 0, v1_mcp_route},
    {"wopr://runs/{runId}", "run", "A run",
        "The state of a run: status, nodes, variables, outputs, what it waits for.",
        "application/json", SCOPE_RUNS_READ, 0, v1_mcp_route},
    {"wopr://interrupts", "interrupts", "Open questions",
        "What runs wait for, oldest first: the first 50.", "application/json", SCOPE_RUNS_READ, 0,
        v1_mcp_route},
};

static const struct mcp_prompt PROMPTS[] = {
    {"run_workflow", "Run a workflow", "Start a workflow and see it through.",
     {{"workflowId", "Which one; leave it out to choose from the list.", false}, {"goal",
         "What it is for.", false}, {NULL, NULL, false}, {NULL, NULL, false}},
     "Run the workflow {{workflowId}} on this host. Goal: {{goal}}\n\n"
     "1. When no workflow is named, call run_list_workflows and propose one.\n"
     "2. Call run_describe_workflow and ask me for inputs that you do not know.\n"
     "3. Call run_start with an idempotencyKey of your own, then run_wait.\n"
     "4. When the reason is attention, call run_status, show me the question as it is, and "
     "answer it with run_resolve_interrupt as I decide. Then wait again.\n"
     "5. At the end tell me the status and the outputs, or the error.",
     SCOPE_RUNS_CREATE | SCOPE_RUNS_READ | SCOPE_MANIFEST_READ},
    {"review_open_questions", "Review open questions", "Go through what runs wait for, one by one.",
     {{"kind", "Only of this kind, for instance approval.", false}, {NULL, NULL, false}, {NULL,
         NULL, false}, {NULL, NULL, false}},
     "Call run_list_interrupts (kind: {{kind}}; leave it out when empty). For each one, "
     "oldest first: read the run with run_status, tell me in two sentences what is asked and "
     "by which "
     "workflow, and wait for my decision. Answer with run_resolve_interrupt only what I decided.",
     SCOPE_RUNS_READ | SCOPE_APPROVALS_RESPOND},
};
/* clang-format on */

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
const struct mcp_set V1_MCP_RUNS = {
    .tools = TOOLS,
    .tools_nr = COUNT(TOOLS),
    .resources = RESOURCES,
    .resources_nr = COUNT(RESOURCES),
    .prompts = PROMPTS,
    .prompts_nr = COUNT(PROMPTS),
    .instructions = "The run_ tools start, watch and answer runs of workflows that this host "
                    "executes by itself; what people must decide is theirs to decide."};
