/*
 * fork_wait.h: what forks and replays do about interrupts.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_FORK_WAIT_H
#define WOPR_ENGINE_FORK_WAIT_H

#include "engine/emit.h"

/* Rows and timers of what is asked at the cut. */
void fork_wait_open(struct run_exec *re, struct plan *p, const struct intr_state *i);
void fork_waits_open(struct run_exec *re, struct plan *p);
/* The cut parted the events of one commit: emits the rest, as the source has it. */
void fork_group(struct step *st, enum ev_kind cut, int node);
/* The source's next event answers a node that waits, or ends its waiting: emits it again. */
bool replay_answers_wait(struct step *st, const struct event *g, int node);
/* The source's next event cancels a node, but the source went on: it is a branch that was cut
 * between that and the end.  true: emitted again. */
bool replay_repeats_cancel(struct step *st, const struct event *g);
/* Any recorded answer to what is asked; for replays that came off their source's order. */
bool replay_finds_answer(struct step *st);

#endif
