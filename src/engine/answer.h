/*
 * answer.h: outcomes of requests as text.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_ANSWER_H
#define WOPR_ENGINE_ANSWER_H

#include "egress/egress.h"
#include "engine/node.h"

void outcome_render(const struct egress_response *r, struct buf *out);
/* Of a request that may have been executed and is not sent again. */
void outcome_unknown(struct buf *out);
void outcome_parse(struct str outcome, struct arena *a, struct node_answer *out);

#endif
