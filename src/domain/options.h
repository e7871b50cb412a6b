/*
 * options.h: what a caller asks of a new run, checked.  Layer: domain (pure).  OPT-*, RUN-1..3,
 * WF-17.
 */
#ifndef WOPR_DOMAIN_OPTIONS_H
#define WOPR_DOMAIN_OPTIONS_H

#include "domain/bounds.h"
#include "domain/workflow.h"

/* AGT-15: words of reasoning that a run shows which does not ask for more. */
#define AGENT_TOKENS_MAX 512

struct run_limits {              /* one table, rendered to discovery too (D42) */
    int64_t max_node_executions; /* CAP-9, default 100 */
    int64_t clarification_rounds, schema_rounds, envelopes_per_turn; /* 3, 2, 5 */
    int64_t max_run_duration_sec;                                    /* 86400 */
    size_t metadata_bytes_max;                                       /* 8192 */
    unsigned metadata_depth_max;                                     /* 4 */
    size_t metadata_text_max; /* 65536: the same including formatting blanks */
    size_t tags_text_max;     /* 327680: the longest tags, every character escaped */
    size_t configurable_bytes_max, configurable_keys_max; /* 262144, 1024 */
    size_t tags_max, tag_chars_max;                       /* 100, 256 */
    const char *const *ai_providers;   /* that runs may name, NULL-terminated; NULL: none */
    const char *const *byok_providers; /* of these, that take a credential of the run */
};
extern const struct run_limits RUN_LIMITS_DEFAULT;

enum mock_kind { MOCK_NONE, MOCK_STREAM_TEXT, MOCK_TOOL_CALLS, MOCK_ERROR, MOCK_USAGE_ONLY };
/* Raw texts are borrowed from the request (or the stored row). Empty str = absent. */
struct run_options {
    struct str configurable, tags, metadata; /* raw JSON as sent (D33) */
    int64_t recursion_limit;                 /* effective: min(asked, limit); never 0 */
    enum mock_kind mock;
    struct str mock_config; /* raw object or empty */
    struct str
        credential_ref; /* ai.credentialRef decoded or empty; masked wherever shown (RUN-13) */
    struct str ai_provider, ai_model; /* ai.provider; ai.model, else model; decoded or empty */
};
struct options_env {
    const struct run_limits *limits;
    bool test_key; /* the caller's key is a test key */
};
/* OPT-1..12: bounds (of a branch those of the joined options, too), reserved keys,
 * configurableSchema of wf (replaces OPT-4 when present).  Order: 403 before 400 for mocks (OPT-9).
 * Errors: VALIDATION (err->details has "fields"), MOCK_FORBIDDEN, MOCK_UNSUPPORTED,
 * CREDENTIAL_FORBIDDEN, NO_MEMORY. */
MUST_CHECK int run_options_check(struct str configurable, struct str tags, struct str metadata,
                                 const struct workflow *wf, const struct options_env *env,
                                 struct arena *a, struct run_options *out, struct wopr_error *err);
/* Parse the stored texts again (already checked at creation); never refuses for bounds. */
MUST_CHECK int run_options_load(struct str configurable, struct str tags, struct str metadata,
                                const struct run_limits *limits, struct arena *a,
                                struct run_options *out, struct wopr_error *err);
/* Snapshot form of configurable: ai.credentialRef (both spellings) replaced by "[REDACTED]"
 * (RUN-13). */
MUST_CHECK int configurable_masked(struct str configurable, struct buf *out,
                                   struct wopr_error *err);

/* FORK-23, on checked texts: the members of base, each replaced by over's of the same name, then
 * those that only over has; the tags of both without repetition. base may be empty.  Elements that
 * are not strings are kept for the check that follows. 0 or NO_MEMORY. */
MUST_CHECK int overlay_object(struct str base, struct str over, struct arena *a, struct str *out,
                              struct wopr_error *err);
MUST_CHECK int overlay_tags(struct str base, struct str over, struct arena *a, struct str *out,
                            struct wopr_error *err);
/* Initial variables: declared defaults overlaid by declared inputs; undeclared input names are
 * dropped (RUN-3, WF-17, EVT-11).  Wrong type or a missing required value: VALIDATION
 * with fields. */
struct var_init {
    struct str name, value; /* raw JSON */
    struct str shown;       /* set by run_inputs_mask; empty: omitted */
    bool sensitive;
    bool from_input;
    bool inherited; /* sensitive where it comes from: masked whatever the mode of this workflow */
};
struct run_needs {             /* what a run will take, at least; 0: not known */
    int64_t events, log_bytes; /* log_bytes: as event_bytes() counts */
    int64_t state_bytes;       /* of its values, with the largest event on its way into them */
};
struct input_stray {          /* an input that the workflow does not declare, and drops */
    struct str name, nearest; /* nearest: the declared one that was probably meant, or empty */
};
enum { INPUT_STRAYS_MAX = 8, INPUT_STRAY_BYTES = 64 }; /* kept; of longer names none is */
struct var_inits {
    struct var_init *v;
    size_t n;
    struct input_stray *strays;
    size_t strays_nr;
    struct run_needs needs; /* of a program */
    struct str accepted; /* of a program: raw object of the inputs as they are kept; else p NULL */
};
/* The first value of each variable, of inputs (raw object or empty) or its default.  Errors:
 * VALIDATION with a pointer and details, NO_MEMORY. */
MUST_CHECK int run_inputs_check(struct str inputs, const struct workflow *wf, struct arena *a,
                                struct var_inits *out, struct wopr_error *err);

/* The declared inputs among them as one raw object, in declaration order (RUN-3). */
MUST_CHECK int run_inputs_render(const struct var_inits *inits, struct arena *a, struct str *out,
                                 struct wopr_error *err);

/* OBS-75: credential-shaped parts of the string values in JSON text replaced by [REDACTED]. Appends
 * to out. known: extra exact secrets of the run, may be empty. */
MUST_CHECK int redact_json(struct str json, struct str known, struct buf *out,
                           struct wopr_error *err);
/* The same for plain text; true when something was replaced.  Without memory out has failed. */
bool redact_text(struct str text, struct str known, struct buf *out);
/* OBS-72 masking of one whole value: mode "mask" (default), "omit" (gives STR_NONE), "hash",
 * "passthrough". */
#define MASK_TEXT "\"[REDACTED]\""
/* Does the mode mask at all?  Empty: the default, mask (OBS-73). */
bool mask_masks(struct str mode);
/* The mode for a value that is sensitive elsewhere: what an author lets pass is his own only. */
struct str mask_inherited(struct str mode);
/* Split the inputs of a new run into what it shows and what it must seal: all declared inputs with
 * the sensitive ones masked, and an object of the clear sensitive ones; empty when nothing is
 * masked.  Also sets `shown` of each initial value. */
MUST_CHECK int run_inputs_mask(struct var_inits *inits, struct str mode, struct arena *a,
                               struct str *shown, struct str *clear, struct wopr_error *err);
MUST_CHECK int mask_value(struct str mode, struct str json, struct arena *a, struct str *out,
                          struct wopr_error *err);

#endif
