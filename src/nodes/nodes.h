/*
 * nodes.h: the node types this host brings along.  Layer: nodes.  One function per type, one table
 * (table.c) that registers them; an executor decides by its call only and returns effects as data
 * (engine/node.h).
 */
#ifndef WOPR_NODES_NODES_H
#define WOPR_NODES_NODES_H

#include "domain/traits.h"
#include "domain/types.h"
#include "engine/node.h"

/* Register every core type, and the conformance-only ones when conformance (NODE-23, NODE-62).
 * Call once at start.  Errors: EXISTS, NO_MEMORY. */
MUST_CHECK int nodes_register_core(struct node_registry *r, bool conformance,
                                   struct wopr_error *err);

/* --- ai_provider.c: the models that prompts may ask --- */
/* The credential of a provider, from the file or the environment variable that its row names (one
 * of them is empty), into a.  A code with a message that names file or variable. */
typedef int ai_key_fn(void *ctx, struct str file, struct str env, struct arena *a, struct str *key,
                      struct wopr_error *err);
/* {"providers":[{"name","style":"openai"|"anthropic","url","model","keyFile"|"keyEnv","byok",
 * "modelClasses","maxTokens","maxTokensMember",
 * "prices":{"MODEL":{"input","output","cacheRead","cacheWrite"}}}],
 * "policies":[{"provider","mode","tenants","allowedModels"}],"policyErrorCode"}; prices are USD per
 * million tokens.  key NULL: credentials are left out.  Errors: CONFIG, SYNTAX with the
 * member, NO_MEMORY. */
struct ai_providers;
MUST_CHECK int ai_providers_new(struct str text, ai_key_fn *key, void *ctx,
                                struct ai_providers **out, struct wopr_error *err);
void ai_providers_free(struct ai_providers *p);          /* takes NULL; after the engine */
size_t ai_providers_count(const struct ai_providers *p); /* takes NULL */
struct str ai_providers_name(const struct ai_providers *p, size_t i);
struct str ai_providers_url(const struct ai_providers *p, size_t i);
/* Classes of models that any of them is named for: bits of AGENT_CLASSES; takes NULL. */
unsigned ai_providers_classes(const struct ai_providers *p);
bool ai_providers_byok(const struct ai_providers *p, size_t i); /* runs bring credentials */
/* The code of a denial by a policy (CAP-38); p NULL: there are no policies. */
struct str ai_providers_policy_code(const struct ai_providers *p);

/* The same with what the host gives its executors (ai, borrowed, or NULL), and without the types
 * that have one of these traits (domain/traits.h). */
MUST_CHECK int nodes_register(struct node_registry *r, bool conformance, unsigned without,
                              struct ai_providers *ai, struct wopr_error *err);

/* For struct wf_env: what no run could do with this config (INT-6).  NULL = nothing. */
const char *nodes_config_wrong(struct str type_id, struct str config);
/* The same on a host that holds no conversations (DISP-3). */
const char *nodes_config_wrong_silent(struct str type_id, struct str config);

/* The executor of a type of ours that an agent may call as a tool: it reads its call only and ends
 * at once.  NULL: it is none. */
node_fn *nodes_local_tool(struct str type_id);

/* Is a type of ours registered in r that has one of these traits (domain/traits.h)? */
bool nodes_any(const struct node_registry *r, unsigned traits);

/* --- catalog.c: what is known of the registered types (types.json) --- */
/* One row for each type of r, those of this binary first and in the order of types.json; of others
 * (embedding) only the id is known.  Read-only afterwards.  Errors: NO_MEMORY. */
struct node_catalog;
MUST_CHECK int node_catalog_new(const struct node_registry *r, struct node_catalog **out,
                                struct wopr_error *err);
void node_catalog_free(struct node_catalog *c); /* takes NULL */
/* For the checker of definitions and for lists; lives as long as c. */
struct wf_types node_catalog_types(struct node_catalog *c);

/* The executors of types.def. */
#define NODE_TYPE(id, executor, ...) node_fn executor;
#include "nodes/types.def"
#undef NODE_TYPE
/* gates.c: the config check of core.interrupt. */
const char *interrupt_config_wrong(struct str config);
/* mcp.c: config.mcp of core.ai.callPrompt: is it there, is it right, what it does (NODE-59). */
bool mcp_asked(const struct node_call *call);
const char *mcp_config_wrong(struct str config);
node_fn exec_mcp;
/* gates.c: an InterruptPayload that somebody else made, as a question.  kind: one of those of
 * core.interrupt.  false: out is filled (validation_error). */
bool interrupt_prompt(const struct node_call *call, struct node_result *out, struct str payload,
                      struct node_prompt *q);
/* wasm.c: a type of a pack, executed in the sandbox; its registration has a wasm_type as ctx, which
 * the registrar owns. */
struct wasm_type {
    const char *type_id, *digest;      /* the digest of its module (sandbox_keep) */
    uint64_t memory_max;               /* bytes that the manifest asks for; 0: none */
    int time_ms;                       /* of one invocation, 1..600000 */
    const struct node_secret *secrets; /* that its nodes require; they get references (CAP-36) */
    size_t secrets_nr;
};
node_fn exec_wasm;
/* conversation.c: that of core.conversationGate. */
const char *conversation_config_wrong(struct str config);
/* A conversation of one exchange, for a node that asks its user (DISP-7): the prompt is the first
 * turn, of the agent.  true: *said is what came out, raw, the content of the turn that answered;
 * false: out asks or fails. */
bool conversation_once(const struct node_call *call, struct node_result *out, struct str prompt,
                       struct str agent, struct str *said);
/* orchestrate.c: those of core.orchestrator.supervisor and core.dispatch. */
const char *supervisor_config_wrong(struct str config);
const char *dispatch_config_wrong(struct str config);
/* core.dispatch of a host without conversations (CONV-1): auto asks a clarification. */
node_fn exec_dispatch_silent;
/* agent_config.c: that of vendor.wopr.agent. */
const char *agent_config_wrong(struct str config);
/* a2a.c: that of core.a2a.invoke. */
const char *a2a_config_wrong(struct str config);
/* http_request.c: that of vendor.wopr.http. */
const char *http_config_wrong(struct str config);

/* secret.c: credential_required, with the name of the one that is missing (NODE-5). */
void node_credential_missing(const struct node_call *call, struct str id, struct node_result *out);

/* --- args.c: reading ports and config --- */
/* Raw value of an argument: the input port wins over config; STR_NONE when neither has it. */
struct str node_arg(const struct node_call *call, const char *key);
/* The same as a string; false when it is absent or no string. */
bool node_arg_string(const struct node_call *call, const char *key, struct str *out);
/* validation_error, not retried (NODE-18). */
void node_invalid(struct node_result *out, const char *message);
/* out_of_memory, to be retried. */
void node_no_memory(struct node_result *out);

#endif
