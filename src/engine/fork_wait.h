/*
 * fork_wait.h: interrupts of forks and replays.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_FORK_WAIT_H
#define WOPR_ENGINE_FORK_WAIT_H

#include "engine/emit.h"

/* Make rows and timers of a question that is open at the cut. */
void fork_wait_open(struct run_exec *re, struct plan *p, const struct intr_state *i);
/* Of all questions, in the plan that makes the fork. */
void fork_waits_open(struct step *st, struct plan *p);
/* If the cut split the events of one commit, emit the rest as the source has it. */
void fork_group(struct step *st, enum ev_kind cut, int node);
/* The same where the log of a replay's source ends, because that had not begun itself.  false: it
 * ends between two commits. */
bool replay_group(struct step *st);
/* The source's next event answers a node that waits, or ends its waiting: emits it again. */
bool replay_answers_wait(struct step *st, const struct event *g, int node);
/* That is so, and nothing was emitted yet. */
bool replay_goes_on_answering(struct step *st, const struct event *g, int node);
/* The source has an answer to the question, wherever in its log. */
bool replay_has_answer(struct step *st, const struct intr_state *i);
/* The source's next event cancels a node, but the source continued: it is a branch that was cut
 * between that and the end. true: emitted again. */
bool replay_repeats_cancel(struct step *st, const struct event *g);
/* Use any recorded answer to an open question; for replays that have left their source's order. */
bool replay_finds_answer(struct step *st);
/* The source's log ends within an answer: emit the rest of it.  false: it does not. */
bool replay_ends_answer(struct step *st);

#endif
