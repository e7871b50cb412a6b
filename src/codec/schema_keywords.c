/*
 * schema_keywords.c: the keywords of 2020-12 as tables.  Layer: codec.
 */
#include "codec/schema_rules.h"

#define CORE  SCHEMA_VOC_CORE
#define APPLY SCHEMA_VOC_APPLICATOR
#define VALID SCHEMA_VOC_VALIDATION
#define REST  SCHEMA_VOC_UNEVALUATED

/* In the order of evaluation: what is cheap and final first, what needs annotations last.
 * names, vocabulary, instances, compile, eval (NULL: only the argument is checked) */
const struct schema_rule SCHEMA_RULES[] = {
    {{"$defs"}, CORE, 0, schema_compile_defs, NULL},
    {{"definitions"}, CORE, 0, schema_compile_defs, NULL},
    {{"type"}, VALID, SCHEMA_ANY, schema_compile_type, schema_eval_type},
    {{"const"}, VALID, SCHEMA_ANY, schema_compile_const, schema_eval_values},
    {{"enum"}, VALID, SCHEMA_ANY, schema_compile_enum, schema_eval_values},
    {{"maximum"}, VALID, SCHEMA_NUMBER, schema_compile_number, schema_eval_bound},
    {{"exclusiveMaximum"}, VALID, SCHEMA_NUMBER, schema_compile_number, schema_eval_bound},
    {{"minimum"}, VALID, SCHEMA_NUMBER, schema_compile_number, schema_eval_bound},
    {{"exclusiveMinimum"}, VALID, SCHEMA_NUMBER, schema_compile_number, schema_eval_bound},
    {{"multipleOf"}, VALID, SCHEMA_NUMBER, schema_compile_multiple, schema_eval_multiple},
    {{"maxLength"}, VALID, SCHEMA_STRING, schema_compile_count, schema_eval_length},
    {{"minLength"}, VALID, SCHEMA_STRING, schema_compile_count, schema_eval_length},
    {{"pattern"}, VALID, SCHEMA_STRING, schema_compile_pattern, schema_eval_pattern},
    {{"format"}, SCHEMA_VOC_FORMAT, SCHEMA_STRING, schema_compile_format, schema_eval_format},
    {{"maxItems"}, VALID, SCHEMA_ARRAY, schema_compile_count, schema_eval_size},
    {{"minItems"}, VALID, SCHEMA_ARRAY, schema_compile_count, schema_eval_size},
    {{"maxProperties"}, VALID, SCHEMA_OBJECT, schema_compile_count, schema_eval_size},
    {{"minProperties"}, VALID, SCHEMA_OBJECT, schema_compile_count, schema_eval_size},
    {{"required"}, VALID, SCHEMA_OBJECT, schema_compile_required, schema_eval_required},
    {{"dependentRequired"},
     VALID,
     SCHEMA_OBJECT,
     schema_compile_dep_required,
     schema_eval_dep_required},
    {{"uniqueItems"}, VALID, SCHEMA_ARRAY, schema_compile_unique, schema_eval_unique},
    {{"propertyNames"}, APPLY, SCHEMA_OBJECT, schema_compile_node, schema_eval_names},
    {{"properties", "patternProperties", "additionalProperties"},
     APPLY,
     SCHEMA_OBJECT,
     schema_compile_members,
     schema_eval_members},
    {{"prefixItems", "items"}, APPLY, SCHEMA_ARRAY, schema_compile_items, schema_eval_items},
    {{"contains"}, APPLY, SCHEMA_ARRAY, schema_compile_contains, schema_eval_contains},
    {{"$ref"}, CORE, SCHEMA_ANY, schema_compile_ref, schema_eval_ref},
    {{"$dynamicRef"}, CORE, SCHEMA_ANY, schema_compile_dynref, schema_eval_dynref},
    {{"allOf"}, APPLY, SCHEMA_ANY, schema_compile_nodes, schema_eval_all},
    {{"anyOf"}, APPLY, SCHEMA_ANY, schema_compile_nodes, schema_eval_any},
    {{"oneOf"}, APPLY, SCHEMA_ANY, schema_compile_nodes, schema_eval_one},
    {{"not"}, APPLY, SCHEMA_ANY, schema_compile_node, schema_eval_not},
    {{"if", "then", "else"}, APPLY, SCHEMA_ANY, schema_compile_if, schema_eval_if},
    {{"dependentSchemas"},
     APPLY,
     SCHEMA_OBJECT,
     schema_compile_dep_schemas,
     schema_eval_dep_schemas},
    {{"unevaluatedItems"}, REST, SCHEMA_ARRAY, schema_compile_tracking, schema_eval_rest_items},
    {{"unevaluatedProperties"},
     REST,
     SCHEMA_OBJECT,
     schema_compile_tracking,
     schema_eval_rest_members},
};
const size_t SCHEMA_RULE_NR = sizeof SCHEMA_RULES / sizeof *SCHEMA_RULES;

const struct schema_nest SCHEMA_NESTS[] = {
    {"$defs", SCHEMA_NEST_MAP},
    {"definitions", SCHEMA_NEST_MAP},
    {"properties", SCHEMA_NEST_MAP},
    {"patternProperties", SCHEMA_NEST_MAP},
    {"dependentSchemas", SCHEMA_NEST_MAP},
    {"allOf", SCHEMA_NEST_LIST},
    {"anyOf", SCHEMA_NEST_LIST},
    {"oneOf", SCHEMA_NEST_LIST},
    {"prefixItems", SCHEMA_NEST_LIST},
    {"items", SCHEMA_NEST_ONE},
    {"contains", SCHEMA_NEST_ONE},
    {"additionalProperties", SCHEMA_NEST_ONE},
    {"propertyNames", SCHEMA_NEST_ONE},
    {"not", SCHEMA_NEST_ONE},
    {"if", SCHEMA_NEST_ONE},
    {"then", SCHEMA_NEST_ONE},
    {"else", SCHEMA_NEST_ONE},
    {"unevaluatedItems", SCHEMA_NEST_ONE},
    {"unevaluatedProperties", SCHEMA_NEST_ONE},
    {"contentSchema", SCHEMA_NEST_ONE},
    {NULL, SCHEMA_NEST_ONE},
};

/* Keywords that assert nothing, but whose values the metaschema restricts. */
static const struct {
    const char *name;
    unsigned vocabulary, types;
    const char *must;
} ANNOTATIONS[] = {
    {"$comment", CORE, SCHEMA_STRING, "must be a string"},
    {"$schema", CORE, SCHEMA_STRING, "must be a string"},
    {"$vocabulary", CORE, SCHEMA_OBJECT, "must be an object"},
    {"title", SCHEMA_VOC_META_DATA, SCHEMA_STRING, "must be a string"},
    {"description", SCHEMA_VOC_META_DATA, SCHEMA_STRING, "must be a string"},
    {"deprecated", SCHEMA_VOC_META_DATA, SCHEMA_BOOL, "must be a boolean"},
    {"readOnly", SCHEMA_VOC_META_DATA, SCHEMA_BOOL, "must be a boolean"},
    {"writeOnly", SCHEMA_VOC_META_DATA, SCHEMA_BOOL, "must be a boolean"},
    {"examples", SCHEMA_VOC_META_DATA, SCHEMA_ARRAY, "must be an array"},
    {"format", SCHEMA_VOC_FORMAT, SCHEMA_STRING, "must be a string"},
    {"contentEncoding", SCHEMA_VOC_CONTENT, SCHEMA_STRING, "must be a string"},
    {"contentMediaType", SCHEMA_VOC_CONTENT, SCHEMA_STRING, "must be a string"},
    {"contentSchema", SCHEMA_VOC_CONTENT, SCHEMA_OBJECT | SCHEMA_BOOL, "must be a schema"},
};

int schema_check_annotations(struct schema_build *b, const struct schema_node *n) {
    for (size_t i = 0; i < sizeof ANNOTATIONS / sizeof *ANNOTATIONS; i++) {
        struct json_object *v = NULL;
        if ((ANNOTATIONS[i].vocabulary & n->res->vocabularies) == 0 ||
            !json_object_object_get_ex(n->json, ANNOTATIONS[i].name, &v))
            continue;
        if ((schema_type_of(v) & ANNOTATIONS[i].types) == 0)
            return schema_bad(b, n, ANNOTATIONS[i].name, ANNOTATIONS[i].must);
    }
    return 0;
}
