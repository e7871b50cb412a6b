/*
 * context.h: what a caller remembers beside the steps: bounds and merging (7.5, 9.4).
 * Layer: workrail.  Pure.
 */
#ifndef WOPR_WORKRAIL_CONTEXT_H
#define WOPR_WORKRAIL_CONTEXT_H

#include "workrail/text.h"

/* raw: text of any JSON value, checked (json_check with more depth than WR_CONTEXT_DEPTH_MAX).
 * out: its canonical form.  VALIDATION_ERROR with details.kind (WR-230). */
MUST_CHECK int wr_context_check(struct str raw, struct arena *a, struct str *out,
                                struct wr_fault *f);
/* stored (STR_NONE: none yet) with delta, both canonical (WR-172).  changed: out is not what was
 * stored.  VALIDATION_ERROR: a forbidden key, or the result exceeds its budget. */
MUST_CHECK int wr_context_merge(struct str stored, struct str delta, struct arena *a,
                                struct str *out, bool *changed, struct wr_fault *f);

#endif
