/*
 * suspend.h: nodes that ask people (EVT-26, EVT-29).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_SUSPEND_H
#define WOPR_ENGINE_SUSPEND_H

#include "engine/waits.h"

extern const struct wait_kind WAIT_ANSWER;

/* The node's timeoutMs passed while it waited for an answer: its interrupt ends. */
void suspend_timed_out(struct step *st, int node);
/* Emit only the failure that follows; seq: of the first event of the timeout. */
void suspend_timed_out_emitted(struct step *st, int node, int64_t seq);
/* The run has ended: close its open questions. */
void suspend_close_all(struct step *st);
/* True if the run only waits for answers: it may leave memory until an answer or, for a deadline,
 * the sweep loads it. */
bool suspend_rests(const struct step *st);
bool suspend_pause_rests(const struct step *st); /* the same for a paused run */

#endif
