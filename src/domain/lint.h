/*
 * lint.h: findings about a definition that will not do what its author means, all of them at once.
 * Layer: domain (pure).  The compiler (workflow.h) decides whether a definition is accepted, and
 * stops at the first reason; lint also looks for mistakes in accepted ones, and needs no executor.
 */
#ifndef WOPR_DOMAIN_LINT_H
#define WOPR_DOMAIN_LINT_H

#include "codec/json.h"

/* A node type: its config members and the required ones, names separated by blanks ("*": any).
 * Input ports may supply them as well. */
struct lint_type {
    const char *type_id, *config, *needs;
};
struct lint_finding {
    bool error; /* cannot work, or is certainly misspelt; else only suspicious */
    char pointer[192];
    char text[320]; /* the mistake and the remedy */
};
typedef void lint_fn(void *ctx, const struct lint_finding *f);
/* text: checked JSON.  types: ends with a NULL type_id.  A finding for each place, in the order of
 * the text; at most LINT_MAX.  Errors: NO_MEMORY. */
#define LINT_MAX 200
MUST_CHECK int workflow_lint(struct str text, const struct lint_type *types, lint_fn *each,
                             void *ctx, struct wopr_error *err);

#endif
