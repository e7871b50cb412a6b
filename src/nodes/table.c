/*
 * table.c: the one table of built-in node types (WF-30, NODE-1).  Types of later work (
 * sub-workflows, conversation, orchestrator, A2A) have no row: workflows that use them are refused
 * at registration (NODE-3).
 */
#include "nodes/nodes.h"

/* NODE-62: no host may provide it. */
static const char *const NEVER[] = {"conformance.never-provided", NULL};

static const struct node_type TYPES[] = {
    /* type                      executor             requires, conformance only, context */
    {"core.noop", exec_noop, NULL, false, NULL},  /* NODE-30 */
    {"core.start", exec_pass, NULL, false, NULL}, /* 30-nodes 2.4 */
    {"core.end", exec_pass, NULL, false, NULL},
    {"core.conditional", exec_pass, NULL, false, NULL},
    {"core.parallel", exec_pass, NULL, false, NULL},
    {"core.merge", exec_pass, NULL, false, NULL},
    {"core.loop", exec_loop, NULL, false, NULL},
    {"core.identity", exec_identity, NULL, false, NULL}, /* NODE-31 */
    {"core.delay", exec_delay, NULL, false, NULL},       /* NODE-33, 34 */
    {"core.fail", exec_fail, NULL, false, NULL},         /* NODE-35 */
    {"core.setVariable", exec_set_variable, NULL, false, NULL},
    {"core.getVariable", exec_get_variable, NULL, false, NULL},
    {"core.channelWrite", exec_channel_write, NULL, false, NULL},           /* NODE-56..58 */
    {"core.ai.callPrompt", exec_call_prompt, NULL, false, NULL},            /* NODE-59..61 */
    {"vendor.wopr.log", exec_log, NULL, false, NULL},                       /* PROF-30 */
    {"core.approvalGate", exec_approval_gate, NULL, false, NULL},           /* NODE-36..41 */
    {"core.clarificationGate", exec_clarification_gate, NULL, false, NULL}, /* NODE-42, 43 */
    {"core.interrupt", exec_interrupt, NULL, false, NULL},                  /* NODE-44..47 */
    {"vendor.wopr.http", exec_http, NULL, false, NULL},                     /* STORE-42 */
    {"conformance.requiresMissing", exec_noop, NEVER, true, NULL},          /* NODE-62 */
};

int nodes_register_core(struct node_registry *r, bool conformance, struct wopr_error *err) {
    for (size_t i = 0; i < sizeof TYPES / sizeof TYPES[0]; i++) {
        if (TYPES[i].conformance_only && !conformance) continue;
        int rc = node_registry_add(r, &TYPES[i], err);
        if (rc != 0) return rc;
    }
    return 0;
}
