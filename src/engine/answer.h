/*
 * answer.h: outcomes of requests as text.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_ANSWER_H
#define WOPR_ENGINE_ANSWER_H

#include "egress/egress.h"
#include "engine/node.h"

/* secret: bytes that are left out of the text, or empty. */
void outcome_render(const struct egress_response *r, struct str secret, int64_t duration_ms,
                    struct buf *out);
/* Of an answer that its reader refuses. */
void outcome_refused(const char *code, const char *message, struct str secret, struct buf *out);
/* Of a request that may have been executed and is not sent again. */
void outcome_unknown(struct buf *out);
void outcome_parse(struct str outcome, struct arena *a, struct node_answer *out);

#endif
