/*
 * schema_rules.h: the table of keywords, and the two functions of each: compile its argument, apply
 * it to an instance.  Layer: codec, private to schema*.c.
 */
#ifndef WOPR_CODEC_SCHEMA_RULES_H
#define WOPR_CODEC_SCHEMA_RULES_H

#include "codec/schema_build.h"
#include "codec/schema_run.h"

struct schema_rule {
    const char *names[4]; /* any of them in a schema makes the keyword */
    unsigned vocabulary;
    unsigned types; /* instances it looks at */
    int (*compile)(struct schema_build *b, struct schema_node *n, struct schema_kw *kw);
    int (*eval)(struct schema_run *r, const struct schema_kw *kw, const struct schema_spot *s);
};
extern const struct schema_rule SCHEMA_RULES[];
extern const size_t SCHEMA_RULE_NR;
enum schema_nesting { SCHEMA_NEST_ONE, SCHEMA_NEST_LIST, SCHEMA_NEST_MAP };
struct schema_nest {
    const char *name;
    enum schema_nesting how;
};
extern const struct schema_nest SCHEMA_NESTS[]; /* keywords that hold subschemas; NULL name ends */
int schema_check_annotations(struct schema_build *b, const struct schema_node *n);

/* --- schema_compile_assert.c, schema_compile_apply.c: arguments of keywords --- */
#define SCHEMA_COMPILE(name)                                                                       \
    int schema_compile_##name(struct schema_build *b, struct schema_node *n, struct schema_kw *kw)
SCHEMA_COMPILE(type);
SCHEMA_COMPILE(enum);
SCHEMA_COMPILE(const);
SCHEMA_COMPILE(number);
SCHEMA_COMPILE(multiple);
SCHEMA_COMPILE(count);
SCHEMA_COMPILE(pattern);
SCHEMA_COMPILE(format);
SCHEMA_COMPILE(unique);
SCHEMA_COMPILE(required);
SCHEMA_COMPILE(dep_required);
SCHEMA_COMPILE(node);
SCHEMA_COMPILE(nodes);
SCHEMA_COMPILE(defs);
SCHEMA_COMPILE(items);
SCHEMA_COMPILE(contains);
SCHEMA_COMPILE(members);
SCHEMA_COMPILE(if);
SCHEMA_COMPILE(dep_schemas);
SCHEMA_COMPILE(ref);
SCHEMA_COMPILE(dynref);
SCHEMA_COMPILE(tracking);

/* --- schema_eval_assert.c, schema_eval_apply.c: keywords at run time --- */
#define SCHEMA_EVAL(name)                                                                          \
    int schema_eval_##name(struct schema_run *r, const struct schema_kw *kw,                       \
                           const struct schema_spot *s)
SCHEMA_EVAL(type);
SCHEMA_EVAL(values);
SCHEMA_EVAL(bound);
SCHEMA_EVAL(multiple);
SCHEMA_EVAL(length);
SCHEMA_EVAL(pattern);
SCHEMA_EVAL(format);
SCHEMA_EVAL(size);
SCHEMA_EVAL(unique);
SCHEMA_EVAL(required);
SCHEMA_EVAL(dep_required);
SCHEMA_EVAL(items);
SCHEMA_EVAL(contains);
SCHEMA_EVAL(members);
SCHEMA_EVAL(names);
SCHEMA_EVAL(ref);
SCHEMA_EVAL(dynref);
SCHEMA_EVAL(all);
SCHEMA_EVAL(any);
SCHEMA_EVAL(one);
SCHEMA_EVAL(not );
SCHEMA_EVAL(if);
SCHEMA_EVAL(dep_schemas);
SCHEMA_EVAL(rest_items);
SCHEMA_EVAL(rest_members);

#endif
