/*
 * lint.h: findings about a definition that will not do what its author means, all of them at once.
 * Layer: domain (pure).  The compiler (workflow.h) decides whether a definition is accepted, and
 * stops at the first reason; lint also looks for mistakes in accepted ones, and needs no executor.
 * workflow_check does both, for "wopr workflow check" and POST /v1/host/wopr/workflows:check.
 *
 * The cost is linear in the text: every object is cut once, near names are tried LINT_NEAR_MAX
 * times at most, whatever the definition holds.
 */
#ifndef WOPR_DOMAIN_LINT_H
#define WOPR_DOMAIN_LINT_H

#include "codec/json.h"
#include "domain/types.h"
#include "domain/workflow.h"

enum { LINT_POINTER = 512, LINT_TEXT = 400, LINT_VALUE_MAX = 200, LINT_NEAR_MAX = 50000 };
struct lint_finding {
    bool error;                 /* cannot work, or is certainly misspelt; else only suspicious */
    char pointer[LINT_POINTER]; /* RFC 6901; a longer one ends with its last whole segment */
    char text[LINT_TEXT];       /* the mistake and the remedy */
    struct str value;           /* raw JSON at that place; empty when absent or longer than
                                 * LINT_VALUE_MAX bytes */
    const struct str *choices;  /* the allowed values */
    size_t choices_nr;
    struct str nearest; /* the closest known word; empty: none is close */
};
/* f and its texts live for the call only. */
typedef void lint_fn(void *ctx, const struct lint_finding *f);
/* text: checked JSON.  A finding for each place; at most LINT_MAX.  Errors: NO_MEMORY. */
#define LINT_MAX 200
MUST_CHECK int workflow_lint(struct str text, const struct wf_types *types, lint_fn *each,
                             void *ctx, struct wopr_error *err);

struct lint_summary {
    unsigned errors, warnings;
    struct workflow *wf; /* compiled, owned by the caller; NULL when the compiler refuses it */
};
/* All findings of workflow_lint, and the compiler's refusal unless a finding explains it. text:
 * checked JSON. 0, also for a definition with errors; TOO_BIG, NO_MEMORY. */
MUST_CHECK int workflow_check(struct str text, const struct wf_env *env,
                              const struct wf_types *types, lint_fn *each, void *ctx,
                              struct lint_summary *out, struct wopr_error *err);
/* The finding as a JSON object: severity, path, message, and value, choices, nearest where known.
 */
void lint_finding_render(const struct lint_finding *f, struct jw *w);

#endif
