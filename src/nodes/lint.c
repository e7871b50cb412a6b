/*
 * lint.c: what a definition may say about each built-in type, for "wopr workflow check"
 * (domain/lint.h).  The executors decide; a test compares both lists of types.
 */
#include "nodes/nodes.h"

#define APPROVAL                                                                                   \
    "artifactId artifactType artifactData title description actions requiredApprovals "            \
    "approversList rejectionPolicy profile resumeSchema timeoutMs "
#define CHILD                                                                                      \
    "workflowId inputs configurable inputMapping outputMapping waitForCompletion "                 \
    "propagateCancellation onChildFailure"

const struct lint_type NODES_LINT[] = {
    {"core.noop", "*", ""},
    {"core.start", "*", ""},
    {"core.end", "*", ""},
    {"core.conditional", "*", ""},
    {"core.parallel", "*", ""},
    {"core.merge", "*", ""},
    {"core.loop", "items maxIterations", ""},
    {"core.identity", "*", ""},
    {"core.delay", "delayMs ms", ""},
    {"core.fail", "*", ""},
    {"core.setVariable", "name value", "name value"},
    {"core.getVariable", "name", "name"},
    {"core.channelWrite", "channelName value reducer ttlMs", "channelName value"},
    {"core.ai.callPrompt", "*", ""},
    {"core.subWorkflow", CHILD, "workflowId"},
    {"core.control.subWorkflow", CHILD, "workflowId"},
    {"vendor.wopr.log", "level message fields", "message"},
    {"core.approvalGate", APPROVAL, ""},
    {"core.clarificationGate", "questions contextType resumeSchema timeoutMs", ""},
    {"core.interrupt", APPROVAL "kind key data", "kind"},
    {"vendor.wopr.http", "url method headers body timeoutMs idempotencyKey", "url"},
    {"vendor.wopr.version", "changeId min max", "changeId min max"},
    {"conformance.requiresMissing", "*", ""},
    {NULL, NULL, NULL},
};
