/*
 * suspend.h: nodes that ask people (EVT-26, EVT-29).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_SUSPEND_H
#define WOPR_ENGINE_SUSPEND_H

#include "engine/waits.h"

extern const struct wait_kind WAIT_ANSWER;

void suspend_timed_out(struct step *st, int node);
/* Only the failure that follows; seq: of the first event of the timeout. */
void suspend_timed_out_emitted(struct step *st, int node, int64_t seq);
/* The run ended: its open questions are closed. */
void suspend_close_all(struct step *st);
/* The run sleeps and waits for answers only: it leaves memory, and is loaded again by an answer or,
 * for a deadline, by the sweep. */
bool suspend_rests(const struct step *st);
bool suspend_pause_rests(const struct step *st); /* the same of a paused run */

#endif
