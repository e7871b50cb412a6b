/*
 * state_at.h: the state of a run at a sequence of a log (FORK-8).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_STATE_AT_H
#define WOPR_ENGINE_STATE_AT_H

#include "engine/exec.h"

/* Bring the state of re, which is new or was advanced by earlier calls, to the sequence `cut` of
 * the log of run_no: the state after the events before the cut.  A call does one turn's share, with
 * conditions as the pace allows; *there: the cut is reached. page: reset for each page.  NOT_FOUND:
 * the log ends before the cut (it was removed meanwhile). */
MUST_CHECK int state_at(struct run_exec *re, int64_t run_no, int64_t cut,
                        const struct run_pace *pace, struct arena *page, bool *there,
                        struct wopr_error *err);

#endif
