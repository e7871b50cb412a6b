/*
 * replay.h: runs that follow the log of their source: logical time, recorded answers, divergence.
 * Layer: engine, not for others.  Once open, the rest of the engine sees a replay as the timeline
 * of its exec (timeline.h).  Each function does nothing for a run that is no replay.
 */
#ifndef WOPR_ENGINE_REPLAY_H
#define WOPR_ENGINE_REPLAY_H

#include "engine/timeline.h"

MUST_CHECK int replay_open(struct run_exec *re); /* before the fold; 0 or NO_MEMORY */
/* An event of the replay's own log, while it is folded. */
MUST_CHECK int replay_follow(struct run_exec *re, const struct event *e, struct wopr_error *err);
/* Save its position in the source for a checkpoint; replay_resume restores it before the rest of
 * the log is folded. */
void replay_mark(const struct run_exec *re, struct state_aside *out);
void replay_resume(struct run_exec *re, const struct state_aside *mark);
/* After the fold: read what the source and its ancestors recorded of the outside, their pins, and
 * which of them minted ids (FORK-12, FORK-14). */
MUST_CHECK int replay_begin(struct step *st, struct wopr_error *err);
void replay_warn(struct step *st); /* FORK-21 */

#endif
