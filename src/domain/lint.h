/*
 * lint.h: what in a definition will not do what its author means, all of it at once.  Layer: domain
 * (pure).  The compiler (workflow.h) says whether a definition is accepted, and stops at the first
 * reason; this looks for more, also in what is accepted, and needs no executor.
 */
#ifndef WOPR_DOMAIN_LINT_H
#define WOPR_DOMAIN_LINT_H

#include "codec/json.h"

/* A node type: its config members and those that it cannot do without, names with blanks between
 * them ("*": anything goes).  Input ports may give them as well. */
struct lint_type {
    const char *type_id, *config, *needs;
};
struct lint_finding {
    bool error; /* cannot work, or is surely misspelt; else it is only strange */
    char pointer[192];
    char text[320]; /* what, and the remedy */
};
typedef void lint_fn(void *ctx, const struct lint_finding *f);
/* text: checked JSON.  types: ends with a NULL type_id.  A finding for each place, in the order of
 * the text; at most LINT_MAX.  Errors: NO_MEMORY. */
#define LINT_MAX 200
MUST_CHECK int workflow_lint(struct str text, const struct lint_type *types, lint_fn *each,
                             void *ctx, struct wopr_error *err);

#endif
