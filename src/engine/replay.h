/*
 * replay.h: a run led along the log of its source: logical time, recorded answers, divergence.
 * Layer: engine, not for others.  All but open and close are for execs with re->replay.
 */
#ifndef WOPR_ENGINE_REPLAY_H
#define WOPR_ENGINE_REPLAY_H

#include "engine/outcome.h"

MUST_CHECK int replay_open(struct run_exec *re); /* nothing for a run that is no replay */
void replay_close(struct run_exec *re);
/* An event of the replay's own log, while it is folded. */
MUST_CHECK int replay_follow(struct run_exec *re, const struct event *e, struct wopr_error *err);
bool replay_leads(struct step *st);        /* the source has a next event; false for other runs */
bool replay_holds_timers(struct step *st); /* it leads, and does not only wait */
int64_t replay_now_ms(struct step *st);    /* its time, else the wall clock (FORK-14) */
/* Around plan_event: the time, and what differs (FORK-18 to FORK-20). */
void replay_before(struct step *st, enum ev_kind kind, struct str payload);
void replay_after(struct step *st, int64_t seq, int node);
/* Do what the source says comes next; what would otherwise wait.  true: something was done. */
bool replay_guide(struct step *st);
bool replay_force(struct step *st);
/* The executor of a node that was just started is not entered before the source's next event is one
 * of that node: it waited for something. */
bool replay_defers(struct step *st, int node);
/* FORK-12, FORK-14: what the source, and what it was forked from, recorded of the outside; its
 * pins; whose ids they are.  Nothing for other runs. */
MUST_CHECK int replay_begin(struct step *st, struct wopr_error *err);
void replay_call(struct step *st, int node, struct node_call *call); /* fills its part of it */
/* The run whose id ids of this node are made of (FORK-14): of a replay the run that made them
 * first, else the run itself. */
struct str replay_ids(const struct step *st, int node);
/* The one door for what is not answered so.  true: nothing may leave the host (D57), the attempt
 * fails with f: as it did in the source, or for want of a record. */
bool replay_effect(struct step *st, int node, struct failure *f);
void replay_warn(struct step *st); /* FORK-21 */

#endif
