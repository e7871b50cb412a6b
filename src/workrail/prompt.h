/*
 * prompt.h: the text that an agent reads (8.3).  Layer: workrail.  Pure, deterministic; no step but
 * the pending one is named.
 */
#ifndef WOPR_WORKRAIL_PROMPT_H
#define WOPR_WORKRAIL_PROMPT_H

#include "workrail/workflow.h"

#define WR_FOOTER "Do only this step. The next step is unknown until continue_workflow returns it."
/* What the step's output must be (WR-204, WR-205), with the blank line before it; appended,
 * nothing when nothing is asked. */
MUST_CHECK int wr_prompt_requirements(const struct wr_workflow *w, const struct wr_step *s,
                                      struct arena *a, struct buf *out);
/* The whole (WR-203).  recovery: may be empty. */
MUST_CHECK int wr_prompt_text(const struct wr_workflow *w, const struct wr_step *s,
                              struct str recovery, struct arena *a, struct str *out);
/* Functions that the step sees (WR-207), in their order; path: the loops around it. */
MUST_CHECK int wr_prompt_functions(const struct wr_workflow *w, const struct wr_step_at *at,
                                   struct arena *a, struct wr_functions *out);
/* "function name(...)" and its definition. */
void wr_function_write(struct buf *b, const struct wr_function *f);

#endif
