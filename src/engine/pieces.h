/*
 * pieces.h: what a request reads as it comes, as chunks of the run's log (EVT-34, SSE-19).  Layer:
 * engine, not for others.
 *
 * How much of a text is in the log is recorded in the request's row, in the plan of the chunk
 * itself: {"streamed":bytes,"streamAttempt":n}, as the outcome of a claim and later as members of
 * the outcome.  A text that begins again (after a crash, in another attempt) has restarted:true in
 * the meta of its first chunk: what came before it counts for nothing.  "streamAgain" says so of a
 * request that was sent again after some of its text was shown.
 */
#ifndef WOPR_ENGINE_PIECES_H
#define WOPR_ENGINE_PIECES_H

#include "engine/emit.h"

#define PIECES_GAP_MS 100 /* one commit in this time, however fast the peer is */

struct pieces_mark {
    size_t streamed; /* bytes of the text that are in the log */
    int32_t attempt; /* of the attempt that has them */
    bool again;      /* an earlier text of this request is in the log, too */
};
struct pieces_mark pieces_mark_read(struct str outcome);
/* The outcome, {} when empty, with the mark in it; in a.  STR_NONE: no memory. */
struct str pieces_mark_add(struct str outcome, struct pieces_mark m, struct arena *a);

/* How much of a text that goes on may be shown: to the end of a word, so that what a redactor looks
 * for is not cut in two, or all of it when there is much. */
size_t pieces_ready(struct str text);
/* text as chunks of the node.  false: the attempt has failed, or the plan is lost. */
MUST_CHECK bool pieces_emit(struct step *st, int node, struct str text, struct str model,
                            bool restarted);

#endif
