/*
 * workflow.h: compiled workflows (WR-184 to WR-187).  Layer: workrail.  Pure, immutable once read.
 */
#ifndef WOPR_WORKRAIL_WORKFLOW_H
#define WOPR_WORKRAIL_WORKFLOW_H

#include "workrail/snapshot.h"

struct wr_item { /* of an order */
    int loop;    /* 0 a step, 1 a loop */
    struct str id;
    size_t at; /* position in steps or loops */
};
struct wr_items {
    struct wr_item *v;
    size_t nr;
};
enum wr_need { WR_REQUIRED, WR_PREFERRED, WR_DISABLED };
enum wr_origin { WR_AUTHORED, WR_TEMPLATE, WR_FEATURE };
struct wr_function {
    struct str name, definition;
};
struct wr_functions {
    struct wr_function *v;
    size_t nr;
};
struct wr_ref_used {
    struct str ref_id, content_hash;
    int64_t bytes;
};
struct wr_step {
    struct str id, title, prompt, agent_role;
    bool confirm, notes_optional;
    struct str blocks;        /* promptBlocks as authored: JSON object */
    struct str contract_ref;  /* p NULL: none */
    struct str hints;         /* JSON, with a contract */
    struct str criteria;      /* JSON: validationCriteria */
    struct str run_condition; /* JSON */
    struct wr_texts function_refs;
    struct wr_functions functions;
    struct {
        struct wr_ref_used *v;
        size_t nr;
    } refs;
    int origin; /* enum wr_origin */
    struct str origin_id;
};
struct wr_loop {
    struct str id, title, condition_id;
    int64_t max_iterations;
    struct wr_items body;
    struct wr_functions functions;
    size_t condition; /* position */
};
enum wr_condition_kind { WR_ALWAYS_TRUE, WR_ALWAYS_FALSE, WR_LOOP_CONTROL };
struct wr_condition {
    struct str id, contract_ref;
    int kind; /* enum wr_condition_kind */
};
struct wr_contract {
    struct str ref, artifact_kind, schema, example; /* the latter two JSON */
    struct wr_texts requirements;
};
struct wr_feature {
    struct str id, config; /* config: JSON, may be absent */
};
struct wr_workflow {
    struct str id, name, description, version, agent_role;
    int recommended_autonomy, recommended_risk; /* -1: none */
    int needs[WR_CAPABILITIES];                 /* enum wr_need, -1: none */
    struct {
        struct wr_feature *v;
        size_t nr;
    } features;
    struct {
        struct wr_contract *v;
        size_t nr;
    } contracts;
    struct wr_items order;
    struct {
        struct wr_step *v;
        size_t nr;
    } steps;
    struct {
        struct wr_loop *v;
        size_t nr;
    } loops;
    struct {
        struct wr_condition *v;
        size_t nr;
    } conditions;
    struct wr_functions functions;
    struct str warnings; /* JSON array */
    struct str bytes;    /* canonical */
    struct wr_digest hash;
};
/* The compiled form of schemaVersion 1; all of it is of a, or borrows bytes.  Checks that order,
 * bodies, conditions and contracts refer to what there is.  SCHEMA_UNKNOWN_VERSION also for the
 * foreign shapes of WR-187: inspectable, not executable. */
MUST_CHECK int wr_workflow_read(struct str bytes, struct arena *a, struct wr_workflow *out,
                                struct wr_fault *f);
/* Fill bytes and hash. */
MUST_CHECK int wr_workflow_seal(struct wr_workflow *w, struct arena *a, struct wr_fault *f);
/* WR_NO_AT when there is none. */
#define WR_NO_AT SIZE_MAX
size_t wr_workflow_step(const struct wr_workflow *w, struct str step_id);
size_t wr_workflow_loop(const struct wr_workflow *w, struct str loop_id);
size_t wr_workflow_contract(const struct wr_workflow *w, struct str ref);

#endif
