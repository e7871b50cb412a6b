/*
 * mcp_rows.c: the runs of this host as tools, resources and prompts of MCP: what a model reads.
 *
 * Schemas are written as JSON and made texts of by the preprocessor, which puts one blank where
 * a line ends.
 */
#include "wire/v1/mcp.h"

#define JSON_TEXT(...) #__VA_ARGS__
/* clang-format off */
#define OBJECT(properties, required) \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":" required "," \
    "\"additionalProperties\":false}"
#define ANSWER(properties, required) /* other members may be there */ \
    "{\"type\":\"object\",\"properties\":{" properties "},\"required\":" required "}"
#define AND ","

/* --- properties that several have --- */
#define RUN_ID JSON_TEXT("runId": {"type": "string", "minLength": 1, "maxLength": 128, \
    "description": "As run_start or run_list answered it."})
#define WORKFLOW_ID JSON_TEXT("workflowId": {"type": "string", "minLength": 1, "maxLength": 128})
#define INTERRUPT_ID JSON_TEXT("interruptId": {"type": "string", "minLength": 1, "maxLength": 128, \
    "description": "The question that was read; the call fails when the node asks another one."})
#define LIMIT JSON_TEXT("limit": {"type": "integer", "minimum": 1, "maximum": 200, \
    "description": "Entries per page; 50 when absent."})
#define KEY JSON_TEXT("idempotencyKey": {"type": "string", "pattern": "^[!-~]{1,255}$", \
    "description": \
    "Any text of yours; a repeated call with it gets the first answer and does nothing twice."})
#define STATUSES ["pending", "running", "paused", "waiting-approval", "waiting-input", \
    "waiting-external", "completed", "failed", "cancelled"]
#define STRINGS_(...) JSON_TEXT(__VA_ARGS__)
#define STATUS_OF_RUN "\"status\":{\"type\":\"string\",\"enum\":" STRINGS_(STATUSES) "}"
#define TEXT(name) "\"" name "\":{\"type\":\"string\"}"
#define ID(name) "\"" name "\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":128}"
#define LIST(name, properties, required) \
    "\"" name "\":{\"type\":\"array\",\"items\":" ANSWER(properties, required) "}"
/* clang-format on */

/* clang-format off */
static const struct mcp_tool TOOLS[] = {
    {"run_list_workflows", "List workflows",
     "Lists the workflows of this host that run by themselves, with id, version and hash, "
     "ordered by id. Pass nextAfter as after for the next page. Read one with "
     "run_describe_workflow before starting it.",
     OBJECT(LIMIT AND ID("after"), "[]"),
     ANSWER(LIST("workflows", TEXT("workflowId") AND TEXT("version") AND TEXT("hash"),
                 JSON_TEXT(["workflowId"])) AND TEXT("nextAfter"), JSON_TEXT(["workflows"])),
     SCOPE_MANIFEST_READ, MCP_READS | MCP_REPEATS, v1_mcp_route},
    {"run_describe_workflow", "Describe a workflow",
     "Returns the definition of a workflow: its inputs, nodes and edges. The inputs say what "
     "run_start needs.",
     OBJECT(WORKFLOW_ID, JSON_TEXT(["workflowId"])),
     ANSWER(TEXT("id") AND JSON_TEXT("nodes": {"type": "array"}), "[]"),
     SCOPE_MANIFEST_READ, MCP_READS | MCP_REPEATS, v1_mcp_route},
    {"run_start", "Start a run",
     "Starts a run of a workflow and returns its runId at once; it goes on by itself. Give "
     "an idempotencyKey, so that a repeated call starts nothing twice. Then use run_wait.",
     OBJECT(WORKFLOW_ID AND JSON_TEXT(
              "inputs": {"type": "object", "description": "By the names that it declares."},
              "tags": {"type": "array", "maxItems": 100,
                       "items": {"type": "string", "minLength": 1, "maxLength": 256}},
              "metadata": {"type": "object"},
              "configurable": {"type": "object", "description": "Run options, like model."},
              "scopeId": {"type": "string", "minLength": 1, "maxLength": 256}) AND KEY,
              JSON_TEXT(["workflowId"])),
     ANSWER(TEXT("runId") AND TEXT("status") AND TEXT("eventsUrl") AND TEXT("statusUrl") AND
              JSON_TEXT("warnings": {"type": "array", "description": "Inputs that were dropped."}),
              JSON_TEXT(["runId", "status"])),
     SCOPE_RUNS_CREATE, 0, v1_mcp_route},
    {"run_status", "Read a run",
     "Returns the state of a run: status, nodes, variables, outputs, error, and what it "
     "waits for (interrupt).",
     OBJECT(RUN_ID, JSON_TEXT(["runId"])),
     ANSWER(TEXT("runId") AND TEXT("workflowId") AND STATUS_OF_RUN AND
              JSON_TEXT("interrupt": {"type": "object"}), JSON_TEXT(["runId", "status"])),
     SCOPE_RUNS_READ, MCP_READS | MCP_REPEATS, v1_mcp_route},
    {"run_wait", "Wait for a run",
     "Waits until a run has ended or needs somebody (until: attention, the default) or has "
     "ended (until: ended), for timeoutSeconds at most. reason says which it was: ended, "
     "attention or timeout; after timeout call it again. Reports progress while it waits. "
     "Giving up the call leaves the run as it is.",
     OBJECT(RUN_ID AND JSON_TEXT("timeoutSeconds": {"type": "integer", "minimum": 1,
              "maximum": 300, "description": "30 when absent; at most 60 without an event stream."},
              "until": {"type": "string", "enum": ["attention", "ended"]}), JSON_TEXT(["runId"])),
     ANSWER(TEXT("runId") AND STATUS_OF_RUN AND JSON_TEXT(
              "reason": {"type": "string", "enum": ["ended", "attention", "timeout"]},
              "lastSequence": {"type": "integer", "description": "For run_events."}),
              JSON_TEXT(["runId", "status", "reason", "lastSequence"])),
     SCOPE_RUNS_READ, MCP_READS | MCP_REPEATS, v1_mcp_wait},
    {"run_list", "List runs",
     "Lists runs, newest first, those of a status, workflow or tag if asked for. Pass "
     "nextBefore as before for the next page.",
     OBJECT(STATUS_OF_RUN AND WORKFLOW_ID AND ID("before") AND LIMIT AND
              JSON_TEXT("tag": {"type": "string", "minLength": 1, "maxLength": 256}), "[]"),
     ANSWER(LIST("runs", TEXT("runId") AND TEXT("workflowId") AND STATUS_OF_RUN,
                 JSON_TEXT(["runId", "workflowId", "status"])) AND TEXT("nextBefore"),
              JSON_TEXT(["runs"])),
     SCOPE_RUNS_READ, MCP_READS | MCP_REPEATS, v1_mcp_route},
    {"run_events", "Read the events of a run",
     "Returns events of a run in their order, those after afterSequence; bounded by limit "
     "and by size. Pass lastSequence as afterSequence for the next page; isComplete says "
     "that nothing will follow.",
     OBJECT(RUN_ID AND LIMIT AND JSON_TEXT("afterSequence": {"type": "integer", "minimum": -1,
              "description": "-1, the default, is the beginning."}), JSON_TEXT(["runId"])),
     ANSWER(JSON_TEXT("events": {"type": "array", "items": {"type": "object"}},
              "lastSequence": {"type": "integer"}, "isComplete": {"type": "boolean"}),
              JSON_TEXT(["events", "lastSequence", "isComplete"])),
     SCOPE_RUNS_READ, MCP_READS | MCP_REPEATS | MCP_MAY_BLOCK, v1_mcp_events},
    {"run_cancel", "Cancel a run",
     "Cancels a run for good: what it has done stays done, what it waits for is given up. A "
     "run that has ended keeps its status. Ask the user first.",
     OBJECT(RUN_ID AND JSON_TEXT("reason": {"type": "string", "maxLength": 4096}) AND KEY,
              JSON_TEXT(["runId"])),
     ANSWER(TEXT("runId") AND TEXT("status"), JSON_TEXT(["runId", "status"])),
     SCOPE_RUNS_CANCEL, MCP_DESTROYS | MCP_REPEATS, v1_mcp_route},
    {"run_list_interrupts", "List open questions",
     "Lists what runs wait for, oldest first: approvals, questions, external events. Pass "
     "nextCursor as cursor for the next page. run_status shows the question itself.",
     OBJECT(RUN_ID AND LIMIT AND JSON_TEXT(
              "kind": {"type": "string", "minLength": 1, "maxLength": 64},
              "cursor": {"type": "string", "minLength": 1, "maxLength": 512}), "[]"),
     ANSWER(LIST("interrupts",
                 TEXT("interruptId") AND TEXT("runId") AND TEXT("nodeId") AND TEXT("kind"),
                 JSON_TEXT(["interruptId", "runId", "nodeId", "kind"])) AND TEXT("nextCursor"),
              JSON_TEXT(["interrupts"])),
     SCOPE_RUNS_READ, MCP_READS | MCP_REPEATS, v1_mcp_route},
    {"run_resolve_interrupt", "Answer an open question",
     "Answers what a node of a run waits for, as the user decided: of an approval "
     "{\"action\": one of its actions}, of a clarification {\"answers\": {id: answer}}, else "
     "what its resumeSchema asks for. Without value the user is asked, if the client can. "
     "Never decide in the user's place.",
     OBJECT(RUN_ID AND ID("nodeId") AND INTERRUPT_ID AND
              JSON_TEXT("value": {"description": "The answer."}) AND KEY,
              JSON_TEXT(["runId", "nodeId"])),
     ANSWER(TEXT("runId") AND TEXT("nodeId") AND TEXT("interruptId") AND TEXT("status"),
              JSON_TEXT(["runId", "status"])),
     SCOPE_APPROVALS_RESPOND, 0, v1_mcp_resolve},
};

static const struct mcp_resource RESOURCES[] = {
    {"wopr://workflows", "workflows", "Workflows of this host",
     "The workflows that can be started, by id: the first 200.",
     "application/json", SCOPE_MANIFEST_READ, 0, v1_mcp_route},
    {"wopr://workflows/{workflowId}", "workflow", "A workflow",
     "The definition of a workflow.",
     "application/json", SCOPE_MANIFEST_READ, 0, v1_mcp_route},
    {"wopr://runs", "runs", "Recent runs",
     "The latest 50 runs, newest first.",
     "application/json", SCOPE_RUNS_READ, 0, v1_mcp_route},
    {"wopr://runs/{runId}", "run", "A run",
     "The state of a run: status, nodes, variables, outputs, what it waits for.",
     "application/json", SCOPE_RUNS_READ, 0, v1_mcp_route},
    {"wopr://interrupts", "interrupts", "Open questions",
     "What runs wait for, oldest first: the first 50.",
     "application/json", SCOPE_RUNS_READ, 0, v1_mcp_route},
};

static const struct mcp_prompt PROMPTS[] = {
    {"run_workflow", "Run a workflow", "Start a workflow and see it through.",
     {{"workflowId", "Which one; leave it out to choose from the list.", false},
      {"goal", "What it is for.", false}},
     "Run the workflow {{workflowId}} on this host. Goal: {{goal}}\n"
     "\n"
     "1. When no workflow is named, call run_list_workflows and propose one.\n"
     "2. Call run_describe_workflow and ask me for inputs that you do not know.\n"
     "3. Call run_start with an idempotencyKey of your own, then run_wait.\n"
     "4. When the reason is attention, call run_status, show me the question as it is, and "
     "answer it with run_resolve_interrupt as I decide. Then wait again.\n"
     "5. At the end tell me the status and the outputs, or the error.",
     SCOPE_RUNS_CREATE | SCOPE_RUNS_READ | SCOPE_MANIFEST_READ},
    {"review_open_questions", "Review open questions",
     "Go through what runs wait for, one by one.",
     {{"kind", "Only of this kind, for instance approval.", false}},
     "Call run_list_interrupts (kind: {{kind}}; leave it out when empty). For each one, "
     "oldest first: read the run with run_status, tell me in two sentences what is asked and "
     "by which workflow, and wait for my decision. Answer with run_resolve_interrupt only "
     "what I decided.",
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
