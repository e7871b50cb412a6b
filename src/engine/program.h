/*
 * program.h: runs whose next event a program decides (domain/program.h).  Layer: engine, not for
 * others.
 */
#ifndef WOPR_ENGINE_PROGRAM_H
#define WOPR_ENGINE_PROGRAM_H

#include "engine/waits.h"

/* What sched_next and executors are for other runs: emits what the program says is next, all that
 * belongs to one commit.  true: there may be more to do. */
bool program_act(struct step *st);
/* The question of node was not answered in time: the program takes back what node did, and fails
 * it. */
void program_timed_out(struct step *st, int node);
/* The log has said that the question of node was not answered in time, and was cut there. */
bool program_late(const struct step *st, int node);
/* Nodes of a program wait for it alone: no executor is entered. */
extern const struct wait_kind WAIT_PROGRAM;

#endif
