/*
 * workflow.c: see workflow.h: the shape of WR-186, and whether its parts fit together.
 */
#include "workrail/workflow.h"

#include "base/map.h"
#include "workrail/event_shape.h"

#define AT(member)       offsetof(struct wr_workflow, member)
#define IN(type, member) offsetof(struct type, member)
#define TAG(name)                                                                                  \
    { name, WF_TAG, 0, 0, NULL, 0, 0 }
#define CONST(name, text)                                                                          \
    { name, WF_CONST, 0, 0, text, 0, 0 }
#define TEXT(name, flags, at)                                                                      \
    { name, WF_TEXT, flags, at, NULL, 1, 0 }
#define WORD(name, at)                                                                             \
    { name, WF_WORD, 0, at, NULL, 0, 0 }
#define STEP_ID(name, at)                                                                          \
    { name, WF_STEP, 0, at, NULL, 0, 0 }
#define ENUM(name, flags, at, names)                                                               \
    { name, WF_ENUM, flags, at, &(names), 0, 0 }
#define LIST(name, flags, at, shape)                                                               \
    { name, WF_LIST, flags, at, &(shape), 0, 0 }

static const struct wr_field FUNCTION_FIELDS[] = {
    {"definition", WF_TEXT, 0, IN(wr_function, definition), NULL, 0, 0},
    TEXT("name", 0, IN(wr_function, name)),
};
static const struct wr_shape FUNCTION = WR_SHAPE(FUNCTION_FIELDS, struct wr_function);

static const char *const ITEM_KINDS[] = {"step", "loop"};
static const struct wr_field ITEM_STEP_FIELDS[] = {TAG("kind"), STEP_ID("stepId", IN(wr_item, id))};
static const struct wr_field ITEM_LOOP_FIELDS[] = {TAG("kind"), WORD("loopId", IN(wr_item, id))};
static const struct wr_shape ITEM_STEP = WR_SHAPE(ITEM_STEP_FIELDS, struct wr_item),
                             ITEM_LOOP = WR_SHAPE(ITEM_LOOP_FIELDS, struct wr_item);
static const struct wr_shape *const ITEM_SHAPES[] = {&ITEM_STEP, &ITEM_LOOP};
static const struct wr_union ITEM_UNION = {"kind", WR_NAMES(ITEM_KINDS), ITEM_SHAPES,
                                           IN(wr_item, loop)};
static const struct wr_shape ITEM = {.size = sizeof(struct wr_item), .variants = &ITEM_UNION};

/* --- steps --- */

static const struct wr_field REF_FIELDS[] = {
    {"bytes", WF_INT, 0, IN(wr_ref_used, bytes), NULL, 0, 0},
    {"refContentHash", WF_DIGEST, 0, IN(wr_ref_used, content_hash), NULL, 0, 0},
    TEXT("refId", 0, IN(wr_ref_used, ref_id)),
};
static const struct wr_shape REF = WR_SHAPE(REF_FIELDS, struct wr_ref_used);
static const struct wr_field OUTPUT_FIELDS[] = {
    TEXT("contractRef", 0, IN(wr_step, contract_ref)),
    {"hints", WF_JSON, WF_OPT, IN(wr_step, hints), NULL, 0, 0},
};
static const struct wr_shape OUTPUT = WR_SHAPE(OUTPUT_FIELDS, struct wr_step);
static const char *const ORIGINS[] = {"authored", "template_injected", "feature_injected"};
static const struct wr_names ORIGIN_NAMES = WR_NAMES(ORIGINS);
static const struct wr_field PROVENANCE_FIELDS[] = {
    TEXT("originId", WF_OPT, IN(wr_step, origin_id)),
    ENUM("source", 0, IN(wr_step, origin), ORIGIN_NAMES),
};
static const struct wr_shape PROVENANCE = WR_SHAPE(PROVENANCE_FIELDS, struct wr_step);
static const struct wr_field STEP_FIELDS[] = {
    TEXT("agentRole", WF_OPT, IN(wr_step, agent_role)),
    LIST("functionDefinitions", WF_OPT, IN(wr_step, functions), FUNCTION),
    {"functionReferences", WF_TEXTS, WF_OPT, IN(wr_step, function_refs), NULL, 1, 0},
    {"notesOptional", WF_FLAG, WF_OPT, IN(wr_step, notes_optional), NULL, 0, 0},
    {"output", WF_SHAPE, WF_OPT, 0, &OUTPUT, 0, 0},
    TEXT("prompt", 0, IN(wr_step, prompt)),
    {"promptBlocks", WF_OBJECT, WF_OPT, IN(wr_step, blocks), NULL, 0, 0},
    {"provenance", WF_SHAPE, 0, 0, &PROVENANCE, 0, 0},
    LIST("refs", WF_OPT, IN(wr_step, refs), REF),
    {"requireConfirmation", WF_BOOL, 0, IN(wr_step, confirm), NULL, 0, 0},
    {"runCondition", WF_OBJECT, WF_OPT, IN(wr_step, run_condition), NULL, 0, 0},
    STEP_ID("stepId", IN(wr_step, id)),
    TEXT("title", 0, IN(wr_step, title)),
    {"validationCriteria", WF_JSON, WF_OPT, IN(wr_step, criteria), NULL, 0, 0},
};
static const struct wr_shape STEP = WR_SHAPE(STEP_FIELDS, struct wr_step);

/* --- loops, conditions, contracts, features --- */

static const struct wr_field WHILE_FIELDS[] = {WORD("conditionId", IN(wr_loop, condition_id)),
                                               CONST("kind", "condition_ref")};
static const struct wr_shape WHILE = WR_SHAPE(WHILE_FIELDS, struct wr_loop);
static const struct wr_field LOOP_FIELDS[] = {
    {"body", WF_LIST, 0, IN(wr_loop, body), &ITEM, 1, 0},
    LIST("functionDefinitions", WF_OPT, IN(wr_loop, functions), FUNCTION),
    WORD("loopId", IN(wr_loop, id)),
    {"maxIterations", WF_INT, 0, IN(wr_loop, max_iterations), NULL, 1, 0},
    TEXT("title", WF_OPT, IN(wr_loop, title)),
    {"while", WF_SHAPE, 0, 0, &WHILE, 0, 0},
};
static const struct wr_shape LOOP = WR_SHAPE(LOOP_FIELDS, struct wr_loop);

static const char *const CONDITIONS[] = {"always_true", "always_false", "loop_control"};
static const struct wr_field C_BARE_FIELDS[] = {WORD("conditionId", IN(wr_condition, id)),
                                                TAG("kind")};
static const struct wr_field C_CONTROL_FIELDS[] = {
    WORD("conditionId", IN(wr_condition, id)), CONST("continueWhen", "continue"),
    TEXT("contractRef", 0, IN(wr_condition, contract_ref)), TAG("kind")};
static const struct wr_shape C_BARE = WR_SHAPE(C_BARE_FIELDS, struct wr_condition),
                             C_CONTROL = WR_SHAPE(C_CONTROL_FIELDS, struct wr_condition);
static const struct wr_shape *const CONDITION_SHAPES[] = {&C_BARE, &C_BARE, &C_CONTROL};
static const struct wr_union CONDITION_UNION = {"kind", WR_NAMES(CONDITIONS), CONDITION_SHAPES,
                                                IN(wr_condition, kind)};
static const struct wr_shape CONDITION = {.size = sizeof(struct wr_condition),
                                          .variants = &CONDITION_UNION};

static const struct wr_field CONTRACT_FIELDS[] = {
    TEXT("artifactKind", 0, IN(wr_contract, artifact_kind)),
    TEXT("contractRef", 0, IN(wr_contract, ref)),
    {"example", WF_OBJECT, 0, IN(wr_contract, example), NULL, 0, 0},
    {"requirements", WF_TEXTS, 0, IN(wr_contract, requirements), NULL, 0, 0},
    {"schema", WF_OBJECT, 0, IN(wr_contract, schema), NULL, 0, 0},
};
static const struct wr_shape CONTRACT = WR_SHAPE(CONTRACT_FIELDS, struct wr_contract);
static const struct wr_field FEATURE_FIELDS[] = {
    {"config", WF_OBJECT, WF_OPT, IN(wr_feature, config), NULL, 0, 0},
    TEXT("featureId", 0, IN(wr_feature, id)),
};
static const struct wr_shape FEATURE = WR_SHAPE(FEATURE_FIELDS, struct wr_feature);

/* --- the whole --- */

static const char *const NEEDS[] = {"required", "preferred", "disabled"};
static const struct wr_names NEED_NAMES = WR_NAMES(NEEDS);
static const struct wr_field NEED_FIELDS[] = {
    ENUM("delegation", WF_OPT, AT(needs[WR_DELEGATION]), NEED_NAMES),
    ENUM("web_browsing", WF_OPT, AT(needs[WR_WEB_BROWSING]), NEED_NAMES),
};
static const struct wr_shape CAPABILITIES = WR_SHAPE(NEED_FIELDS, struct wr_workflow);

static const struct wr_field WORKFLOW_FIELDS[] = {
    TEXT("agentRole", WF_OPT, AT(agent_role)),
    {"capabilities", WF_SHAPE, 0, 0, &CAPABILITIES, 0, 0},
    {"compiledWarnings", WF_JSON, 0, AT(warnings), NULL, 0, 0},
    LIST("conditions", 0, AT(conditions), CONDITION),
    LIST("contracts", 0, AT(contracts), CONTRACT),
    TEXT("description", WF_OPT, AT(description)),
    LIST("features", 0, AT(features), FEATURE),
    LIST("functionDefinitions", 0, AT(functions), FUNCTION),
    LIST("loops", 0, AT(loops), LOOP),
    TEXT("name", WF_OPT, AT(name)),
    LIST("order", 0, AT(order), ITEM),
    ENUM("recommendedAutonomy", WF_OPT, AT(recommended_autonomy), WR_AUTONOMY_NAMES),
    ENUM("recommendedRiskPolicy", WF_OPT, AT(recommended_risk), WR_RISK_NAMES),
    {"schemaVersion", WF_VERSION, 0, 0, NULL, 0, 1},
    CONST("sourceKind", "compiled_v1"),
    LIST("steps", 0, AT(steps), STEP),
    TEXT("version", WF_OPT, AT(version)),
    TEXT("workflowId", 0, AT(id)),
};
static const struct wr_shape WORKFLOW = WR_SHAPE(WORKFLOW_FIELDS, struct wr_workflow);

/* --- references --- */

static size_t at_of(const void *p) { return p == NULL ? WR_NO_AT : (size_t)(uintptr_t)p - 1; }
static void *of_at(size_t i) { return (void *)(uintptr_t)(i + 1); }

size_t wr_workflow_step(const struct wr_workflow *w, struct str step_id) {
    for (size_t i = 0; i < w->steps.nr; i++)
        if (str_eq(w->steps.v[i].id, step_id)) return i;
    return WR_NO_AT;
}
size_t wr_workflow_loop(const struct wr_workflow *w, struct str loop_id) {
    for (size_t i = 0; i < w->loops.nr; i++)
        if (str_eq(w->loops.v[i].id, loop_id)) return i;
    return WR_NO_AT;
}
size_t wr_workflow_contract(const struct wr_workflow *w, struct str ref) {
    for (size_t i = 0; i < w->contracts.nr; i++)
        if (str_eq(w->contracts.v[i].ref, ref)) return i;
    return WR_NO_AT;
}

struct linker {
    struct wr_workflow *w;
    struct map *steps, *loops; /* not placed yet */
    struct wr_fault *f;
    size_t placed;
};

static int link_wrong(struct linker *l, const char *where, const char *what) {
    return wr_fail(l->f, WR_SCHEMA_INVALID, where, "%s", what);
}

static int names_gather(struct linker *l) {
    struct wr_workflow *w = l->w;
    void *old;
    for (size_t i = 0; i < w->steps.nr; i++) {
        if (map_put(l->steps, w->steps.v[i].id, of_at(i), &old) != 0) return wr_no_memory(l->f);
        if (old != NULL) return link_wrong(l, "/steps", "a step id is there twice");
    }
    for (size_t i = 0; i < w->loops.nr; i++) {
        if (i > 0 && str_cmp(w->loops.v[i - 1].id, w->loops.v[i].id) >= 0)
            return link_wrong(l, "/loops", "the loops are not sorted, or one is there twice");
        if (map_get(l->steps, w->loops.v[i].id) != NULL)
            return link_wrong(l, "/loops", "a loop and a step share an id");
        if (map_put(l->loops, w->loops.v[i].id, of_at(i), NULL) != 0) return wr_no_memory(l->f);
    }
    return 0;
}

/* Each step and each loop has one place, so bodies cannot form a circle; depth by the tables. */
static int items_link(struct linker *l, struct wr_items *items, unsigned depth) {
    for (size_t i = 0; i < items->nr; i++) {
        struct wr_item *item = &items->v[i];
        item->at = at_of(map_del(item->loop ? l->loops : l->steps, item->id));
        if (item->at == WR_NO_AT)
            return link_wrong(l, "/order", "an item names nothing, or what has a place already");
        l->placed++;
        if (!item->loop) continue;
        if (depth == WR_LOOP_DEPTH_MAX)
            return link_wrong(l, "/loops", "loops are nested more than 3 deep");
        int rc = items_link(l, &l->w->loops.v[item->at].body, depth + 1);
        if (rc != 0) return rc;
    }
    return 0;
}

static int conditions_link(struct linker *l) {
    struct wr_workflow *w = l->w;
    for (size_t i = 0; i < w->conditions.nr; i++) {
        if (i > 0 && str_cmp(w->conditions.v[i - 1].id, w->conditions.v[i].id) >= 0)
            return link_wrong(l, "/conditions", "the conditions are not sorted by their ids");
        if (w->conditions.v[i].kind == WR_LOOP_CONTROL &&
            wr_workflow_contract(w, w->conditions.v[i].contract_ref) == WR_NO_AT)
            return link_wrong(l, "/conditions", "a condition names no contract of the workflow");
    }
    for (size_t i = 0; i < w->loops.nr; i++) {
        size_t k = 0;
        while (k < w->conditions.nr && !str_eq(w->conditions.v[k].id, w->loops.v[i].condition_id))
            k++;
        if (k == w->conditions.nr) return link_wrong(l, "/loops", "a loop names no condition");
        w->loops.v[i].condition = k;
    }
    for (size_t i = 0; i < w->steps.nr; i++)
        if (w->steps.v[i].contract_ref.p != NULL &&
            wr_workflow_contract(w, w->steps.v[i].contract_ref) == WR_NO_AT)
            return link_wrong(l, "/steps", "a step names no contract of the workflow");
    return 0;
}

static int workflow_link(struct wr_workflow *w, struct wr_fault *f) {
    struct linker l = {.w = w, .steps = map_new(), .loops = map_new(), .f = f};
    int rc = l.steps == NULL || l.loops == NULL ? wr_no_memory(f) : names_gather(&l);
    if (rc == 0) rc = items_link(&l, &w->order, 0);
    if (rc == 0 && l.placed != w->steps.nr + w->loops.nr)
        rc = link_wrong(&l, "/order", "a step or loop has no place");
    if (rc == 0) rc = conditions_link(&l);
    if (rc == 0 && json_type_of(w->warnings) != JSON_ARRAY)
        rc = link_wrong(&l, "/compiledWarnings", "not a list");
    map_free(l.steps);
    map_free(l.loops);
    return rc;
}

static int foreign_check(struct str bytes, struct arena *a, struct wr_fault *f) {
    struct str kind = json_string(json_get(bytes, "sourceKind"), a);
    if (kind.p == NULL || str_eqc(kind, "compiled_v1")) return 0;
    return wr_fail(f, WR_SCHEMA_UNKNOWN_VERSION, "/sourceKind",
                   "workflows of this kind can be looked at, not executed");
}

int wr_workflow_read(struct str bytes, struct arena *a, struct wr_workflow *out,
                     struct wr_fault *f) {
    struct wr_workflow w = {0};
    struct wr_fault own;
    if (f == NULL) f = &own;
    int rc = wr_fail_as(f, WR_SCHEMA_INVALID, json_check(bytes, &JSON_LIMITS_STORED, &f->e));
    if (rc == 0) rc = foreign_check(bytes, a, f);
    if (rc == 0) rc = wr_document_read(&WORKFLOW, bytes, &JSON_LIMITS_STORED, a, &w, f);
    if (rc == 0) rc = workflow_link(&w, f);
    if (rc != 0) return rc;
    w.bytes = bytes;
    w.hash = wr_digest_of(bytes);
    *out = w;
    return 0;
}

int wr_workflow_seal(struct wr_workflow *w, struct arena *a, struct wr_fault *f) {
    int rc = wr_document_write(&WORKFLOW, w, a, &w->bytes, f);
    if (rc == 0) rc = workflow_link(w, f);
    if (rc == 0) w->hash = wr_digest_of(w->bytes);
    return rc;
}
