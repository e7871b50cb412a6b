/*
 * ai.h: models that nodes ask.  Layer: nodes, not for others but ai_providers_* (nodes.h).
 *
 * A provider is an address and a credential of the operator; its style says how its requests and
 * answers look on the wire.  One row of AI_STYLES (ai_provider.c) per style, one file per style.
 * Threads: providers are read-only once made; everything else belongs to one call.
 */
#ifndef WOPR_NODES_AI_H
#define WOPR_NODES_AI_H

#include "codec/jobj.h"
#include "nodes/nodes.h"

#define AI_TEXT_MAX       (384u * 1024) /* bytes of a model's text, and of all its tool calls */
#define AI_TOOL_CALLS_MAX 128u
#define AI_NAME_MAX       128u
#define AI_COUNT_MAX      INT32_MAX /* tokens of one answer */

/* Prices in 10^-12 USD per token: a dollar per million tokens is a million of these. */
struct ai_price {
    struct str model; /* "*": every other */
    int64_t input, output, cache_read, cache_write;
};
struct ai_provider {
    struct str name, url, model;
    const struct ai_style *style;
    struct str key;               /* empty: none is sent */
    unsigned classes;             /* bits of AGENT_CLASSES that it is named for (AGT-13) */
    bool byok;                    /* runs may name a credential of their own (CAP-20) */
    struct str max_tokens_member; /* of the style openai */
    int64_t max_tokens;           /* 0: the provider's own */
    struct ai_price *prices;
    size_t prices_nr;
};
/* ai_policy.c: who may ask which models (CAP-37). */
enum ai_mode { AI_OPTIONAL, AI_DISABLED, AI_REQUIRED, AI_RESTRICTED };
struct ai_policy {
    enum ai_mode mode;
    struct str provider; /* empty: each */
    struct str *tenants; /* none: each */
    struct str *allowed; /* patterns of models, of RESTRICTED */
    size_t tenants_nr, allowed_nr;
};
struct ai_providers {
    struct arena *a;
    struct ai_provider *v;
    size_t n;
    struct ai_policy *policies;
    size_t policies_nr;
    bool has_policies;
    struct str error_code; /* of a denial (CAP-38) */
};
/* Reads the members policies and errorCode, whose texts are in p->a.  CONFIG, NO_MEMORY. */
MUST_CHECK int ai_policies_read(struct ai_providers *p, struct str raw, struct str error_code,
                                struct wopr_error *err);
/* CAP-39: '*' is any number of characters, '?' is one; the whole text, and bytes count. */
bool ai_pattern_fits(struct str pattern, struct str text);
struct ai_asked {
    struct str tenant, provider, model;
    bool own_credential; /* of the run or the node */
};
/* NULL: every policy that applies admits it.  Else the reason of the first that does not, in the
 * order disabled, required, restricted; *policy is that one. */
const char *ai_policy_denies(const struct ai_providers *p, const struct ai_asked *q,
                             const struct ai_policy **policy);
/* Whether any policy is about it. */
bool ai_policy_asked(const struct ai_providers *p, const struct ai_asked *q);
bool ai_policy_requires(const struct ai_providers *p, const struct ai_asked *q);
/* NULL: no such provider.  An empty name: the first. */
const struct ai_provider *ai_provider_find(const struct ai_providers *p, struct str name);
/* The first that is named for the class, of AgentRef.  NULL: none is. */
const struct ai_provider *ai_provider_for(const struct ai_providers *p, const char *model_class);
const struct ai_price *ai_price_find(const struct ai_provider *p, struct str model);

/* --- what is asked --- */
enum ai_role { AI_SYSTEM, AI_USER, AI_ASSISTANT, AI_TOOL };
struct ai_tool_call {
    struct str id, name, arguments; /* arguments: JSON as text */
};
struct ai_message {
    enum ai_role role;
    struct str content;
    struct ai_tool_call *calls; /* of an assistant */
    size_t calls_nr;
    struct str call_id; /* of a tool's result */
};
struct ai_tool {
    struct str name, description, parameters; /* parameters: a JSON Schema, raw */
};
struct ai_prompt {
    const struct ai_provider *provider;
    struct str model;
    struct ai_message *messages; /* those of the system first */
    size_t messages_nr;
    struct ai_tool *tools;
    size_t tools_nr;
    struct str tool_choice; /* auto, none, required, or the name of a tool; empty: not said */
    bool tool_choice_named;
    int64_t max_tokens, timeout_ms;
    struct str temperature, top_p; /* raw numbers, or empty */
    struct str stop;               /* raw array of strings, or empty */
    bool stream;
    bool bounded; /* of what is streamed, a summary is shown while it comes (AGT-16) */
};
/* ai_prompt.c: from ports and config.  false: out is filled. */
bool ai_prompt_read(const struct node_call *call, const struct ai_providers *all,
                    struct ai_prompt *p, struct node_result *out);
/* The same without tools. */
bool ai_prompt_read_bare(const struct node_call *call, const struct ai_providers *all,
                         struct ai_prompt *p, struct node_result *out);

/* --- what is answered --- */
enum ai_finish { AI_STOP, AI_LENGTH, AI_TOOL_CALLS, AI_FILTERED };
const char *ai_finish_name(enum ai_finish f);
struct ai_usage {
    bool known;                      /* both, and each a number that can be believed */
    bool wrong;                      /* one of them was no count: none is believed */
    bool input_said, output_said;    /* they may come in parts */
    int64_t input, output;           /* input: all of it, */
    int64_t cache_read, cache_write; /* of which from, and into, a cache */
};
struct ai_answer {
    struct str text, model;
    struct ai_tool_call calls[AI_TOOL_CALLS_MAX];
    size_t calls_nr;
    enum ai_finish finish;
    struct ai_usage usage;
};

/* --- an answer as it comes (ai_stream.c) --- */
struct ai_stream;
/* Text of the model.  false: the answer is too long, or no memory; the stream knows. */
bool ai_stream_text(struct ai_stream *s, struct str text);
/* Part of the index-th tool call: what is empty says nothing, arguments are appended. */
bool ai_stream_call(struct ai_stream *s, int64_t index, struct str id, struct str name,
                    struct str arguments);
void ai_stream_model(struct ai_stream *s, struct str model);
void ai_stream_finish(struct ai_stream *s, enum ai_finish f);
struct ai_usage *ai_stream_usage(struct ai_stream *s);
void ai_stream_whole(struct ai_stream *s); /* the answer has ended */
void ai_stream_wrong(struct ai_stream *s, const char *code, struct str message);
extern const struct node_stream_ops AI_OPENAI_STREAM, AI_ANTHROPIC_STREAM;
/* The recorded form of a streamed answer.  A provider cannot say it: a body of its own that looks
 * like it is refused (ai_stream.c), and what was not streamed is not read as one. */
bool ai_is_recorded(struct str body);
/* NULL, or what is wrong with it. */
const char *ai_recorded_read(struct str body, struct arena *a, struct ai_answer *out);

/* One row per wire style. */
struct ai_style {
    const char *name, *path;                /* path: after the provider's url */
    const char *key_header, *key_prefix;    /* the header of the credential */
    const char *extra_header, *extra_value; /* one more that each request has, or NULL */
    const char *provider_key;               /* of the invocation log */
    void (*body)(const struct ai_prompt *p, struct arena *a, struct jw *w);
    /* A whole answer of status 200.  NULL, or what is wrong with it. */
    const char *(*read)(struct str body, struct arena *a, struct ai_answer *out);
    /* One event of a stream; data is a checked JSON object, a is the event's.  NULL, or what is
     * wrong with it. */
    const char *(*event)(struct ai_stream *s, struct str data, struct arena *a);
    const char *end_mark; /* data that is no JSON and ends a stream, or NULL */
    const struct node_stream_ops *stream;
};
extern const struct ai_style AI_OPENAI, AI_ANTHROPIC;

/* --- ai_answer.c: outputs, usage and cost --- */
struct str ai_outputs(const struct node_call *call, const struct ai_prompt *p,
                      const struct ai_answer *ans);
/* Members of the open object: toolCalls, unless there are none. */
void ai_calls_write(const struct ai_answer *ans, struct jw *w);
struct str ai_usage_json(const struct ai_usage *u, struct arena *a); /* STR_NONE: not known */
/* Its cost, of the prices of the operator (domain/cost.h). */
struct str ai_cost(const struct node_call *call, const struct ai_prompt *p,
                   const struct ai_answer *ans, int64_t duration_ms);
/* The cost of one answer in 10^-12 USD.  false: its tokens or their prices are not known. */
bool ai_priced(const struct ai_prompt *p, const struct ai_answer *ans, int64_t *pico);
/* The meta of the chunk that ends the answer. */
struct str ai_meta(const struct node_call *call, const struct ai_answer *ans, bool restarted);
/* A count of tokens.  Absent or null: true, and *out is as it was.  false: it is there and no whole
 * number from 0 to AI_COUNT_MAX. */
bool ai_count(struct str object, const char *key, int64_t *out);
/* Counts of an answer, or what one event of a stream says of them; what is -1 is not said.  A wrong
 * count (ok is false) is not 0: bounds that need it then fail, they do not pass. */
void ai_usage_take(struct ai_usage *u, bool ok, const struct ai_usage *said);
/* Text of a JSON member, "" when it is null or absent; false: it is something else. */
bool ai_text(struct str raw, struct arena *a, struct str *out);

/* ai_access.c: may this run ask, and with whose credential?  Before anything is sent; where the
 * answer to the ordinal-th request is known, and in a replay, nothing is asked and *key is empty.
 * false: out is filled. */
bool ai_access(const struct node_call *call, const struct ai_providers *all,
               const struct ai_prompt *p, unsigned ordinal, struct str *key,
               struct node_result *out);

/* ai_call.c: ask the provider; the node is one prompt. */
void ai_call(const struct node_call *call, struct node_result *out);
/* One prompt as the ordinal-th request of the activation (node_invoke).  false: out asks or fails,
 * and the executor returns.  The chunk that ends the answer is for ai_chunk_put. */
bool ai_ask(const struct node_call *call, const struct ai_providers *all, const struct ai_prompt *p,
            unsigned ordinal, const struct node_answer **raw, struct ai_answer **ans,
            struct node_result *out);
/* What of the text the log does not hold yet, as the chunk that ends it.  false: no memory. */
bool ai_chunk_put(const struct node_call *call, const struct node_answer *raw,
                  const struct ai_answer *ans, struct node_result *out);

#endif
