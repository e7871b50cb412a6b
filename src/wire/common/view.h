/*
 * view.h: the view of a run, from its folded state or from its stored rows.  Layer: wire/common.
 * Both give equal views of the same log (EVT-41), apart from run_view.interrupt, whose text each
 * major spells.
 */
#ifndef WOPR_WIRE_COMMON_VIEW_H
#define WOPR_WIRE_COMMON_VIEW_H

#include "wire/common/wire.h"

/* The view of a folded state at now_ms, interrupt left empty; its texts are borrowed from s and o,
 * or in a. */
MUST_CHECK int wire_view_of_state(const struct run_state *s, const struct run_origin *o,
                                  int64_t now_ms, struct arena *a, struct run_view *out,
                                  struct wopr_error *err);
/* CHAN-17: drop the channel entries of a stored view that have expired at now_ms or, when the run
 * has ended, at its end. */
MUST_CHECK int wire_view_expire(struct run_view *view, int64_t now_ms, struct arena *a,
                                struct wopr_error *err);

#endif
