/*
 * state_at.h: the state of a run at a sequence of a log (FORK-8).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_STATE_AT_H
#define WOPR_ENGINE_STATE_AT_H

#include "engine/exec.h"

/* Bring the state of re, which is new or was brought on its way by earlier calls, to the
 * sequence `cut` of the log of run_no: what it is after the events before the cut.  A call does a
 * turn's share of it, of conditions what the pace admits; *there: the state is at the cut.  page:
 * reset for each page that is read.  NOT_FOUND: the log ends before the cut (it was removed
 * meanwhile). */
MUST_CHECK int state_at(struct run_exec *re, int64_t run_no, int64_t cut,
                        const struct run_pace *pace, struct arena *page, bool *there,
                        struct wopr_error *err);

#endif
