/*
 * table.c: the one table of built-in node types (WF-30, NODE-1).  Types of later work
 * (conversation, orchestrator, A2A) have no row: workflows that use them are refused at
 * registration (NODE-3).
 */
#include "nodes/nodes.h"

/* NODE-62: no host may provide it. */
static const char *const NEVER[] = {"conformance.never-provided", NULL};

static const struct node_type TYPES[] = {
    /* type                      executor             requires, flags, context */
    {"core.noop", exec_noop, NULL, NODE_AT_ONCE, NULL},  /* NODE-30 */
    {"core.start", exec_pass, NULL, NODE_AT_ONCE, NULL}, /* 30-nodes 2.4 */
    {"core.end", exec_pass, NULL, NODE_AT_ONCE, NULL},
    {"core.conditional", exec_pass, NULL, NODE_AT_ONCE, NULL},
    {"core.parallel", exec_pass, NULL, NODE_AT_ONCE, NULL},
    {"core.merge", exec_pass, NULL, NODE_AT_ONCE, NULL},
    {"core.loop", exec_loop, NULL, NODE_AT_ONCE, NULL},
    {"core.identity", exec_identity, NULL, NODE_AT_ONCE, NULL}, /* NODE-31 */
    {"core.delay", exec_delay, NULL, NODE_AT_ONCE, NULL},       /* NODE-33, 34 */
    {"core.fail", exec_fail, NULL, NODE_AT_ONCE, NULL},         /* NODE-35 */
    {"core.setVariable", exec_set_variable, NULL, NODE_AT_ONCE, NULL},
    {"core.getVariable", exec_get_variable, NULL, NODE_AT_ONCE, NULL},
    {"core.channelWrite", exec_channel_write, NULL, NODE_AT_ONCE, NULL},       /* NODE-56..58 */
    {"core.ai.callPrompt", exec_call_prompt, NULL, 0, NULL},                   /* NODE-59..61 */
    {"core.subWorkflow", exec_sub_workflow, NULL, NODE_AT_ONCE, NULL},         /* NODE-48..53 */
    {"core.control.subWorkflow", exec_sub_workflow, NULL, NODE_AT_ONCE, NULL}, /* */
    {"vendor.wopr.log", exec_log, NULL, NODE_AT_ONCE, NULL},                   /* PROF-30 */
    {"core.approvalGate", exec_approval_gate, NULL, 0, NULL},                  /* NODE-36..41 */
    {"core.clarificationGate", exec_clarification_gate, NULL, 0, NULL},        /* NODE-42, 43 */
    {"core.interrupt", exec_interrupt, NULL, 0, NULL},                         /* NODE-44..47 */
    {"vendor.wopr.http", exec_http, NULL, 0, NULL},                            /* STORE-42 */
    {"vendor.wopr.version", exec_version, NULL, NODE_AT_ONCE, NULL},           /* VER-7 */
    {"conformance.requiresMissing", exec_noop, NEVER, NODE_CONFORMANCE, NULL}, /* NODE-62 */
};

int nodes_register_core(struct node_registry *r, bool conformance, struct wopr_error *err) {
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        if ((TYPES[i].flags & NODE_CONFORMANCE) != 0 && !conformance) continue;
        int rc = node_registry_add(r, &TYPES[i], err);
        if (rc != 0) return rc;
    }
    return 0;
}
