/*
 * workflow.h: definition -> compiled workflow.  Layer: domain (pure).
 * A workflow is immutable after workflow_compile, shared by runs and threads, and counted
 * (workflow_ref, workflow_unref: atomic).  Everything in it lives in its own arena.
 */
#ifndef WOPR_DOMAIN_WORKFLOW_H
#define WOPR_DOMAIN_WORKFLOW_H

#include "base/arena.h"
#include "base/map.h"
#include "codec/bytes.h"
#include "codec/schema.h"
#include "domain/bounds.h"
#include "domain/traits.h"

enum wf_port_kind { PORT_STATIC, PORT_EXPRESSION, PORT_CONNECTION, PORT_VARIABLE };
struct wf_port { /* NODE-6 */
    struct str name;
    enum wf_port_kind kind;
    struct str value;      /* STATIC: raw JSON */
    struct expr *expr;     /* EXPRESSION */
    int node;              /* CONNECTION: index of the source node */
    struct str output_key; /* CONNECTION */
    struct str variable;   /* VARIABLE: name */
    bool optional;
};
struct wf_node {
    struct str id, type_id, name;
    unsigned traits;            /* enum node_trait: what its type makes it */
    struct str config;          /* raw JSON object */
    struct str settings;        /* raw JSON object or empty */
    struct str agent;           /* raw AgentRef or empty */
    struct str credentials_ref; /* decoded, or empty */
    struct wf_port *ports;
    size_t ports_nr;
    bool disabled, is_entry;
    bool dormant; /* started by channel-write triggers only */
    uint32_t max_retries;
    int64_t retry_delay_ms;    /* -1 = exponential default (WF-24) */
    int64_t timeout_ms;        /* per attempt, 0 = none */
    int *in_edges, *out_edges; /* edge indexes, definition order */
    size_t in_nr, out_nr;
    struct str *sensitive_outputs; /* outputSensitivity true ports */
    size_t sensitive_nr;
    struct str *open_outputs; /* outputSensitivity false: shown whatever they contain */
    size_t open_nr;
};
enum wf_rule {
    RULE_ALL_SUCCESS,
    RULE_ANY_SUCCESS,
    RULE_ALL_COMPLETE,
    RULE_NONE_FAILED,
    RULE_ANY_FAILED,
    RULE_NR
};
enum wf_cond_kind {
    COND_NONE,
    COND_EXPRESSION,
    COND_EQUALS,
    COND_NOT_EQUALS,
    COND_CONTAINS,
    COND_REGEX
};
struct wf_cond { /* WF-9 */
    enum wf_cond_kind kind;
    struct str left;         /* dotted path */
    struct str right;        /* raw JSON */
    struct expr *expr;       /* EXPRESSION */
    const struct schema *rx; /* REGEX: compiled as a one-keyword pattern schema (bounded PCRE2) */
};
struct wf_edge {
    struct str id;
    int src, dst; /* node indexes */
    struct str source_output, target_input;
    enum wf_rule rule;
    struct wf_cond cond;
    bool loopback; /* WF-11: target is an ancestor on the DFS stack */
};
struct wf_variable {
    struct str name;
    enum json_type type; /* JSON_STRING, NUMBER, BOOL, OBJECT, ARRAY */
    bool required, sensitive, has_default;
    struct str default_value; /* raw JSON */
};
enum reducer {
    RED_REPLACE,
    RED_APPEND,
    RED_MERGE,
    RED_COUNTER,
    RED_VOTES,
    RED_FEEDBACK,
    RED_MESSAGE,
    RED_VENDOR,
    RED_NR
};
struct wf_access { /* one side of a channel (CHAN-5): open, or listed entries only */
    bool listed;
    struct str *v; /* node ids, type ids, prefixes with *; empty: no node */
    size_t n;
};
struct wf_channel { /* CHAN, 20-runtime 5.1 */
    struct str name;
    enum reducer reducer;
    struct str reducer_name;     /* as declared */
    const struct schema *schema; /* NULL = any */
    struct str schema_text;      /* raw or empty */
    bool schema_is_array;
    bool schema_is_each; /* an array, and each of its elements is judged alone */
    int64_t schema_version, max_size, ttl_ms; /* 0 = none */
    struct str default_value;                 /* raw or empty */
    struct wf_access readers, writers;
    int64_t *compatible; /* compatibleWith (CHAN-18) */
    size_t compatible_nr;
    size_t trigger_first; /* index plus one, 0 = none; the others follow by wf_trigger.next */
    bool sensitive;
};
enum wf_from { FROM_ANY, FROM_CHILD, FROM_PARENT };
struct wf_trigger { /* an enabled channel-write trigger (CHAN-20) */
    struct str id;
    int node, channel; /* indexes */
    enum wf_from from;
    int64_t debounce_ms; /* quiet period, 0 = none */
    size_t next;         /* of the same channel, plus one; 0 = none */
};
struct program_ops; /* program.h */
struct wf_dialect;
struct workflow {
    struct arena *arena;
    _Atomic int refs;
    struct map *node_map, *var_map, *chan_map; /* name -> element, for the look-ups below */
    struct str id, version, name, text;        /* text: the definition verbatim (WF-1) */
    struct sha256 hash;                        /* of the canonical form */
    struct wf_node *nodes;
    size_t nodes_nr;
    struct wf_edge *edges;
    size_t edges_nr;
    struct wf_variable *vars;
    size_t vars_nr;
    struct wf_channel *channels;
    size_t channels_nr;
    struct wf_trigger *triggers;
    size_t triggers_nr;
    bool channel_aware;                       /* a channels block exists (CHAN-22) */
    const struct schema *configurable_schema; /* NULL when not declared (WF-2) */
    struct schema_set *schemas;               /* owns channel, configurable and regex schemas */
    bool active;                              /* isActive/status allow creation (WF-3) */
    int64_t timeout_ms;                       /* 0 = unlimited */
    int64_t max_loopback;                     /* WF-12, NODE-16 */
    bool max_loopback_explicit;
    bool has_loop;
    bool strict_inputs;                        /* settings.strictInputs (docs/api-extensions.md) */
    struct str masking_mode, compliance_class; /* metadata, may be empty */
    uint64_t *words;                           /* hashes, ascending: see workflow_says */
    size_t words_nr;
    const struct program_ops *program; /* decides what its runs do (program.h); NULL: edges do */
    void *compiled;                    /* of the program */
};
/* What the compiler needs from outside. */
struct wf_env {
    /* compiled workflow-definition.schema.json, may be NULL */
    const struct schema *definition_schema;
    /* true when an executor of this type is registered; NULL = do not check (NODE-3) */
    bool (*knows_type)(void *ctx, struct str type_id);
    /* The defect of a node's config, static text; returns NULL for none (INT-6).  May be NULL. */
    const char *(*config_wrong)(struct str type_id, struct str config);
    /* It was registered before, maybe by a host with fewer checks: admit whatever a run can handle,
     * so that existing runs continue. */
    bool accepted;
    void *ctx;
    /* Languages other than that of workflows (program.h); NULL: a text in one is refused. */
    const struct wf_dialect *dialects;
    size_t dialects_nr;
    size_t text_max; /* 0: WF_TEXT_MAX */
};
/* Check (schema, then graph rules WF-3, D14) and compile checked JSON text.  The text is copied.
 * Errors: WOPR_E_VALIDATION with err->pointer = JSON pointer into the definition; NO_MEMORY;
 * TOO_BIG. */
MUST_CHECK int workflow_compile(struct str text, const struct wf_env *env, struct workflow **out,
                                struct wopr_error *err);
struct workflow *workflow_ref(struct workflow *w);
void workflow_unref(struct workflow *w);                               /* takes NULL */
int workflow_node_index(const struct workflow *w, struct str node_id); /* -1 when absent */
/* Gives a node another id: of a workflow of one user, whose nodes are named while its run goes on
 * (rail/shown.h).  Not for one that is shared, or with nodes that others refer to by their ids.
 * NO_MEMORY: nothing is changed. */
MUST_CHECK int workflow_node_name(struct workflow *w, size_t node, struct str id);
const struct wf_variable *workflow_variable(const struct workflow *w, struct str name);
const struct wf_channel *workflow_channel(const struct workflow *w, struct str name);
/* Is word, of WF_WORD_MAX bytes at most, a string, name or number of the definition, or quoted in
 * an expression?  The default of a sensitive variable or channel is none. */
#define WF_WORD_MAX 24u
/* Does its definition say this word?  Then it is no secret by its text. */
bool workflow_says(const struct workflow *w, struct str word);
/* "append"; as definitions and events spell it. */
const char *reducer_name(enum reducer r);
/* CHAN-5: the node's id or a pattern of its type is listed, or the side is open. */
bool channel_admits(const struct wf_access *side, const struct wf_node *n);

/* --- expressions (WF-10) --- */
struct expr; /* immutable, in the arena it was parsed into */
MUST_CHECK int expr_parse(struct str text, struct arena *a, struct expr **out,
                          struct wopr_error *err);
/* Root names of paths: status, output, value, variables, channels, inputs, config. */
struct expr_place {
    struct str root, path; /* path: below it, may be empty */
    bool dotted;           /* else RFC 6901 */
};
struct expr_scope {
    /* Raw JSON for the root, STR_NONE when absent (reads as null). */
    struct str (*lookup)(void *ctx, struct str root, struct arena *a);
    /* Or, instead: raw JSON at a place, as json_pointer_get or json_path_get finds it in the text
     * of the root; *bytes: of that text. */
    struct str (*find)(void *ctx, const struct expr_place *at, struct arena *a, size_t *bytes);
    void *ctx;
    /* Steps left, NULL: EXPR_STEPS_MAX.  One for a step of a pattern, or EXPR_STEP_BYTES read. */
    uint64_t *steps;
};
#define EXPR_STEP_BYTES 64u
/* Evaluate to raw JSON in the arena.  WOPR_E_VALIDATION on a type error and when the steps are
 * spent (WF-10: a condition is then false). */
MUST_CHECK int expr_eval(const struct expr *e, const struct expr_scope *s, struct arena *a,
                         struct str *out, struct wopr_error *err);

#endif
