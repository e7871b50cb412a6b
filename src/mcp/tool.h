/*
 * tool.h: what a layer offers over MCP: tables of tools, resources and prompts, and the calls of
 * them.  Layer: mcp.  Knows neither HTTP nor what a tool does.
 *
 * A layer to the right (workrail, wire/v1) fills a struct mcp_set with rows and hands it to
 * mcp_server_add (server.h) before the first message.  For each call of a row whose scopes the
 * caller has, its handler is called:
 *
 *     int start(struct mcp_call *call) {
 *         struct str id = json_string(json_get(call->arguments, "workflowId"), call->arena);
 *         ...
 *         return mcp_answer(call, object);        // or mcp_fail, mcp_fail_with, mcp_ask_user
 *     }
 *
 * Everything that a handler wants to say is an answer: a failure of the domain is mcp_fail, which
 * the client's model reads, and never an error of JSON-RPC (WR-212).  Texts given to an answer live
 * in the call's arena or are static.
 *
 * Threads: a row without MCP_MAY_BLOCK is called on a thread that serves other clients too: it must
 * be short, and ask for what takes long with MCP_PENDING.  With MCP_MAY_BLOCK it is called on a
 * thread for long work, may read and write the store and wait for a commit, and has the thread to
 * itself until it returns.  One thread at a time uses a call.
 */
#ifndef WOPR_MCP_TOOL_H
#define WOPR_MCP_TOOL_H

#include "codec/json.h"

struct mcp_call;

enum {
    MCP_DONE = 0,    /* answered */
    MCP_PENDING = 1, /* mcp_resume will be called, once: then the handler is called again with
                        phase + 1, unless an answer has been set by then */
    MCP_CARRIED = 2  /* the carrier will answer; only for rows of the carrier's own layer */
};
enum mcp_row_flags {
    /* hints for clients, shown as annotations (WR-215) */
    MCP_READS = 1,      /* readOnlyHint */
    MCP_REPEATS = 2,    /* idempotentHint: the same call again changes nothing more */
    MCP_DESTROYS = 4,   /* destructiveHint */
    MCP_OPEN_WORLD = 8, /* openWorldHint */
    /* how it is called */
    MCP_MAY_BLOCK = 16, /* on a thread for long work */
    MCP_JUDGES = 32 /* arguments are any checked object: the handler judges them itself (WR-219);
                           otherwise they are valid by the input schema when it is called */
};
enum {
    MCP_RESULT_BYTES_MAX = 512 * 1024, /* of an answer's object or text; more becomes a failure
                                          RESULT_TOO_LARGE that says to ask for less */
    MCP_ARGUMENTS_DEPTH_MAX = 64,
    MCP_PARAMS_MAX = 4 /* in the template of a resource */
};

/* --- rows --- */
struct mcp_tool {
    const char *name; /* unique in a server: ^[a-z][a-z0-9_]{0,63}$ */
    const char *title, *description;
    const char *input;  /* JSON Schema 2020-12 of an object, self-contained */
    const char *output; /* of the object given to mcp_answer; NULL = none is published */
    unsigned scopes;    /* all of these bits are needed; without them the tool is not listed, and
                           calling it is like calling one that does not exist */
    unsigned flags;     /* enum mcp_row_flags */
    int (*handler)(struct mcp_call *call);
};
/* What can be read by URI.  uri: "wopr://workflows" for one, or a template
 * "wopr://runs/{runId}": each {name} is a part without a slash, percent-decoded for the handler
 * (mcp_param).  The handler answers with mcp_answer (JSON) or mcp_answer_text. */
struct mcp_resource {
    const char *uri, *name, *title, *description;
    const char *mime; /* "application/json" */
    unsigned scopes, flags;
    int (*handler)(struct mcp_call *call);
};
struct mcp_prompt_argument {
    const char *name, *description;
    bool required;
};
/* text: what the user says to the model; {{name}} is replaced by the argument, and by nothing when
 * it was not given. */
struct mcp_prompt {
    const char *name, *title, *description;
    struct mcp_prompt_argument arguments[4]; /* up to the first without a name */
    const char *text;
    unsigned scopes;
};
struct mcp_set {
    const struct mcp_tool *tools;
    size_t tools_nr;
    const struct mcp_resource *resources;
    size_t resources_nr;
    const struct mcp_prompt *prompts;
    size_t prompts_nr;
    const char *instructions; /* a sentence or two for the model; may be NULL */
    void *ctx;                /* mcp_call.ctx of its rows */
};

/* --- a call --- */
struct mcp_caller {
    struct str tenant, workspace, key_id, subject_issuer, subject_id;
    unsigned scopes; /* of the key or token */
    bool test_mode;
};
enum mcp_answer_kind { MCP_NO_ANSWER, MCP_ANSWERED, MCP_FAILED, MCP_ASKS };
struct mcp_answer {
    enum mcp_answer_kind kind;
    struct str object; /* raw: structuredContent, or inputRequests of MCP_ASKS */
    struct str text;   /* a text item before it; may be empty */
    struct str state;  /* requestState of MCP_ASKS; may be empty */
};
/* Where a call came from and goes back to.  resume: from any thread. */
struct mcp_carrier {
    void (*resume)(struct mcp_call *call);
};
struct mcp_call {
    struct arena *arena;                 /* of the request */
    void *ctx;                           /* mcp_set.ctx */
    const struct mcp_tool *tool;         /* or: */
    const struct mcp_resource *resource; /* which it is; the other is NULL */
    struct mcp_caller who;
    struct str arguments; /* raw object, "{}" when absent */
    struct str uri;       /* of a resource */
    struct {
        struct str name, value;
    } params[MCP_PARAMS_MAX];
    size_t params_nr;
    /* The second round of a question (mcp_ask_user); "{}" and empty in the first.  Both are the
     * client's words: whatever they permit must be judged again. */
    struct str input_responses, request_state;
    bool may_ask;    /* the client can be asked by a form (elicitation); else mcp_ask_user fails */
    bool wants_text; /* ?render=text on the endpoint (WR-220) */
    int phase;       /* 0, then +1 after each resume */
    void *user;      /* the handler's own */
    void (*user_free)(void *user); /* called once when the call ends, also when its client has left;
                                      may be NULL */
    struct mcp_answer answer;
    const struct mcp_carrier *carrier;
    void *carried; /* the carrier's */
};

/* The value of a parameter of the resource's template, decoded; empty when there is none. */
struct str mcp_param(const struct mcp_call *call, const char *name);
/* All return MCP_DONE, so that `return mcp_answer(call, object);` works. */
/* object: a checked JSON object, which is shown as structuredContent and as a text item. */
int mcp_answer(struct mcp_call *call, struct str object);
/* The same after a text item of prose.  object may be STR_NONE: only the text. */
int mcp_answer_text(struct mcp_call *call, struct str text, struct str object);
/* isError: true.  object: {"code","message","retry","details"?} (WR-231), shown as text, and as
 * structuredContent by tools without an output schema; STR_NONE, for want of memory, becomes a
 * fixed INTERNAL_ERROR. */
int mcp_fail(struct mcp_call *call, struct str object);
/* RESULT_TOO_LARGE, as answers beyond MCP_RESULT_BYTES_MAX become by themselves. */
int mcp_fail_too_large(struct mcp_call *call);
enum mcp_retry { MCP_RETRY_NOT, MCP_RETRY_AT_ONCE, MCP_RETRY_AFTER };
/* Makes that object.  message: what is wrong, where, what to do (WR-233), cut to 512 bytes.
 * details: a raw object or STR_NONE, left out beyond 4096 bytes. */
int mcp_fail_with(struct mcp_call *call, const char *code, struct str message, enum mcp_retry retry,
                  int64_t after_ms, struct str details);
/* The client shall ask its user and call again with the answers (input_required).  requests: raw
 * object, key -> {"method":"elicitation/create","params":{...}}.  state: what the second round gets
 * back as request_state; a client can change it.  Only when call->may_ask. */
int mcp_ask_user(struct mcp_call *call, struct str requests, struct str state);
/* From any thread, once per MCP_PENDING. */
static inline void mcp_resume(struct mcp_call *call) { call->carrier->resume(call); }

#endif
