/*
 * lint.h: what in a definition will not do what its author means, all of it at once.  Layer: domain
 * (pure).  The compiler (workflow.h) says whether a definition is accepted, and stops at the first
 * reason; this looks for more, also in what is accepted, and needs no executor.  workflow_check
 * does both: "wopr workflow check" and POST /v1/host/wopr/workflows:check are calls of it.
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
    bool error;                 /* cannot work, or is surely misspelt; else it is only strange */
    char pointer[LINT_POINTER]; /* RFC 6901; a longer one ends with its last whole segment */
    char text[LINT_TEXT];       /* what, and the remedy */
    struct str value;           /* raw JSON that stands there; empty when longer than
                                   LINT_VALUE_MAX bytes, or when nothing does */
    const struct str *choices;  /* what may stand there */
    size_t choices_nr;
    struct str nearest; /* what was probably meant; empty: nothing is near */
};
/* What f points to lives for the call only. */
typedef void lint_fn(void *ctx, const struct lint_finding *f);
/* text: checked JSON.  A finding for each place; at most LINT_MAX.  Errors: NO_MEMORY. */
#define LINT_MAX 200
MUST_CHECK int workflow_lint(struct str text, const struct wf_types *types, lint_fn *each,
                             void *ctx, struct wopr_error *err);

struct lint_summary {
    unsigned errors, warnings;
    struct workflow *wf; /* compiled; NULL when the compiler refuses it.  The caller's */
};
/* All that workflow_lint finds, and what the compiler refuses unless a finding says so already.
 * text: checked JSON.  0, also for a definition with errors; TOO_BIG, NO_MEMORY. */
MUST_CHECK int workflow_check(struct str text, const struct wf_env *env,
                              const struct wf_types *types, lint_fn *each, void *ctx,
                              struct lint_summary *out, struct wopr_error *err);
/* The finding as a JSON object: severity, path, message, and value, choices, nearest where known.
 */
void lint_finding_render(const struct lint_finding *f, struct jw *w);

#endif
