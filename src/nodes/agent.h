/*
 * agent.h: what executors of agents share: reasoning within the verbosity of the run, calls of
 * tools, decisions and their escalation to people (AGT-14, AGT-15, AGT-20..33).  Layer: nodes.
 */
#ifndef WOPR_NODES_AGENT_H
#define WOPR_NODES_AGENT_H

#include "domain/agent_manifest.h"
#include "nodes/nodes.h"

/* The manifest of the node's pin, as of the run's start (AGT-46).  false: it has none, or
 * memory is short (arena_failed). */
bool agent_manifest_of(const struct node_call *call, struct agent *g);

/* AGT-16: of what the model thinks only a summary is public: a credential of the tenant or of the
 * user is named by the run, or by a node of its workflow.  Not whether one was given: replays are
 * given none, and must say the same. */
bool agent_withholds(const struct node_call *call);

/* AGT-20: a trace of reasoning, as much of it as the run wants.  false: no memory, out says so. */
bool agent_reason(const struct node_call *call, struct node_result *out, struct str text);
/* AGT-21, AGT-22: the nth call of a tool by this attempt, and what it returned: outcome is raw
 * JSON, as are the inputs.  Both follow from the log, so a call that is made again has its id. */
bool agent_tool_called(const struct node_call *call, struct node_result *out, unsigned nth,
                       struct str tool, struct str inputs);
bool agent_tool_returned(const struct node_call *call, struct node_result *out, unsigned nth,
                         struct str tool, struct str outcome);
/* The same for a call that had no outcome: code is the host's, message may quote the tool. */
bool agent_tool_failed(const struct node_call *call, struct node_result *out, unsigned nth,
                       struct str tool, struct str code, struct str message);
/* AGT-23: reason may be NULL. */
bool agent_hand_off(const struct node_call *call, struct node_result *out, struct str to,
                    const char *reason);

struct agent_decision {
    struct str decision;      /* raw */
    struct str confidence;    /* raw number or empty: no signal */
    struct str resume_schema; /* what people may ratify instead, or empty: anything */
    unsigned asked;           /* questions of this activation before it (node_interrupt) */
    bool silent; /* agent.decided is emitted only while the decision is held (ORCH-10) */
};
/* AGT-24, AGT-30..33: true: *settled is the decision, the agent's own or the one that a person
 * ratified.  false: out asks, or the node has failed; the executor returns at once. */
bool agent_settle(const struct node_call *call, struct node_result *out,
                  const struct agent_decision *d, struct str *settled);

/* agent_script.c: what the conformance fixtures let core.identity do (NODE-32).  false: nothing. */
bool agent_script(const struct node_call *call, struct node_result *out);

/* agent_memory.c: the same of memory (MEM-30 to MEM-33). */
void agent_memory(const struct node_call *call, struct node_result *out, struct str action);

/* NULL, or why raw is none of the decisions of ORCH-3. */
const char *decision_wrong(struct str raw, struct arena *a);

#endif
