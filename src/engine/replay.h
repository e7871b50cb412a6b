/*
 * replay.h: a run led along the log of its source: logical time, recorded answers, divergence.
 * Layer: engine, not for others.
 * Once open, the rest of the engine sees a replay as the timeline of its exec (timeline.h).  Each
 * function does nothing for a run that is no replay.
 */
#ifndef WOPR_ENGINE_REPLAY_H
#define WOPR_ENGINE_REPLAY_H

#include "engine/timeline.h"

MUST_CHECK int replay_open(struct run_exec *re); /* before the fold; 0 or NO_MEMORY */
/* An event of the replay's own log, while it is folded. */
MUST_CHECK int replay_follow(struct run_exec *re, const struct event *e, struct wopr_error *err);
/* Where it is in its source, for a checkpoint of its state; and back there, before the rest of the
 * log is folded. */
void replay_mark(const struct run_exec *re, struct state_aside *out);
void replay_resume(struct run_exec *re, const struct state_aside *mark);
/* After the fold: what the source, and what it was forked from, recorded of the outside; its pins;
 * whose ids they are (FORK-12, FORK-14). */
MUST_CHECK int replay_begin(struct step *st, struct wopr_error *err);
void replay_warn(struct step *st); /* FORK-21 */

#endif
