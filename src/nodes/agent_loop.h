/*
 * agent_loop.h: vendor.wopr.agent, a model that calls tools until it has an answer (AGT-9,
 * AGT-20..33).  Layer: nodes, not for others.
 *
 * The executor is entered from the start after each answer, and goes the same way again with what
 * the log holds: answers of models and tools (node_invoke), of people (node_interrupt).  Each entry
 * makes all effects anew, and agent_effects_new leaves those that the log has out.
 */
#ifndef WOPR_NODES_AGENT_LOOP_H
#define WOPR_NODES_AGENT_LOOP_H

#include "nodes/agent.h"
#include "nodes/ai.h"

#define AGENT_TURNS_MAX   64u /* questions to the model */
#define AGENT_CALLS_MAX   64u /* calls of tools */
#define AGENT_TOOLS_MAX   64u
#define AGENT_SERVERS_MAX 8u
#define AGENT_ROUNDS_MAX  8u
#define AGENT_SCHEMA_MAX  (64u * 1024)

enum agent_tool_kind { AGENT_TOOL_MCP, AGENT_TOOL_ASK, AGENT_TOOL_NODE };
struct agent_tool {
    enum agent_tool_kind kind;
    struct str name;  /* for the model */
    struct str shown; /* "mcp:echo": in events and allow-lists (AGT-9) */
    struct str description, parameters;
    bool allowed;
    /* --- by kind --- */
    struct str server, tool; /* MCP; server empty: the first */
    bool repeatable;
    int64_t timeout_ms;         /* MCP, ask; 0: none said */
    struct str type_id, config; /* node */
    /* --- at work --- */
    const struct remote *remote;
    unsigned server_nth;
};
struct agent_config {
    struct agent_tool *tools;
    size_t tools_nr;
    int64_t turns_max, calls_max, tokens_max, ms_max, rounds; /* tokens, ms: 0 = no bound */
    double usd_max;                                           /* 0 = no bound */
    struct str schema;                                        /* of the answer, or empty */
    struct str returns; /* another one, of the manifest, or empty */
};
/* agent_config.c.  NULL, or what is wrong with it (a literal, or arena text). */
const char *agent_config_read(struct str config, struct arena *a, struct agent_config *out);
/* What the manifest of the node's pin says beside it: tools that it does not allow are none
 * (AGT-9), and the answer fits its schema. */
void agent_config_narrow(struct agent_config *c, const struct agent *g, struct arena *a);
/* What both wire styles take as the name of a function. */
bool agent_tool_name_fits(struct str name);

/* --- agent_tools.c --- */
struct agent_desk { /* what calls of tools need */
    const struct node_call *call;
    struct node_result *out;
    struct agent_config *config;
    const struct remote *servers[AGENT_SERVERS_MAX];
    unsigned servers_nr, calls, asked; /* calls, questions to people so far */
    int64_t ms;                        /* that others took */
};
/* Asks the MCP servers what the tools are like.  false: *d->out asks or fails. */
bool agent_tools_open(struct agent_desk *d);
/* One call, with its events: *said is what the model is told.  false: *d->out asks or fails. */
bool agent_tool_call(struct agent_desk *d, const struct ai_tool_call *c, struct str *said);
/* Ordinals of node_invoke: turns first. */
int64_t agent_answer_ms(const struct node_call *call, unsigned ordinal);

/* Leaves in out what the log does not hold yet. */
void agent_effects_new(const struct node_call *call, struct node_result *out);

#endif
