/*
 * expr_int.h: the syntax tree shared by expr.c (parser) and expr_eval.c, and the hook by which the
 * workflow compiler has literal patterns compiled once.  Layer: domain (pure), private to this
 * folder.
 */
#ifndef WOPR_DOMAIN_EXPR_INT_H
#define WOPR_DOMAIN_EXPR_INT_H

#include "domain/workflow.h"

#define EXPR_BYTES_MAX 4096 /* WF-10 */
#define EXPR_DEPTH_MAX 64   /* WF-10: of the tree and of the parser's recursion */

enum expr_op {
    EXPR_LITERAL,
    EXPR_PATH,
    EXPR_NOT,
    EXPR_NEG,
    EXPR_OR,
    EXPR_AND,
    EXPR_EQ,
    EXPR_NE,
    EXPR_LT,
    EXPR_LE,
    EXPR_GT,
    EXPR_GE,
    EXPR_ADD,
    EXPR_SUB,
    EXPR_MUL,
    EXPR_DIV,
    EXPR_MOD,
    EXPR_CONTAINS,
    EXPR_SIZE,
    EXPR_MATCHES
};
struct expr {
    enum expr_op op;
    unsigned depth;     /* 1 for a leaf */
    struct str raw;     /* LITERAL: JSON text.  PATH: RFC 6901 pointer below the root */
    struct str root;    /* PATH: root name */
    struct expr *a, *b; /* operands or arguments, left to right */
    /* MATCHES with a literal pattern: {"pattern":...}, set by the compiler; NULL = compile when
     * evaluated */
    const struct schema *rx;
};
/* What is at a place; *bytes: of the text of its root. */
struct str expr_find(const struct expr_scope *s, const struct expr_place *at, struct arena *a,
                     size_t *bytes);
/* Call each for every matches() whose pattern is a string literal; each may set node->rx.
 * Stops at the first non-zero result and returns it. */
int expr_patterns(struct expr *e, int (*each)(void *ctx, struct expr *node), void *ctx);
/* The JSON text {"pattern":<raw string>} in the arena; STR_NONE when memory is short. */
struct str expr_pattern_schema(struct str raw_pattern, struct arena *a);
/* WF-9.  0 with *holds, or NO_MEMORY: an evaluation error is false, short memory is not. */
bool expr_spend(uint64_t *steps, size_t bytes); /* false: none are left */
MUST_CHECK int cond_eval(const struct wf_cond *c, const struct expr_scope *s, struct arena *a,
                         bool *holds);
/* null, false, 0 and "" are false, all else is true. */
bool expr_truthy(struct str raw);
/* WF-9: substring of a string, element of an array, key of an object; nothing is in null.  Linear
 * in the bytes of x.  VALIDATION when the types do not fit, NO_MEMORY. */
MUST_CHECK int expr_contains(struct str x, struct str y, struct arena *a, bool *found,
                             struct wopr_error *err);

#endif
