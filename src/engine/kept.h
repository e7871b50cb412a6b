/*
 * kept.h: a cache of states of runs that left memory.  Layer: engine, not for others.  A run that
 * waits for people leaves memory (STORE-35).  One with a long log keeps its state here for a while,
 * so that a series of questions and answers does not load it each time.  An entry is a fold of the
 * first events of a log, which never change: if another host has extended the log, the fold
 * continues from it.
 */
#ifndef WOPR_ENGINE_KEPT_H
#define WOPR_ENGINE_KEPT_H

#include "engine/exec.h"

#define KEPT_EVENTS_MIN 256         /* a shorter log is folded quickly */
#define KEPT_MAX        64          /* states */
#define KEPT_BYTES_MAX  (16u << 20) /* of all of them */
#define KEPT_MS         30000       /* unused */

/* Take the state of re, which equals its folded log, if it is worth keeping. */
void kept_put(struct run_exec *re);
/* Return the state to re if there is one with at most next_seq events; false: there is none. */
bool kept_take(struct run_exec *re, int64_t next_seq);
void kept_sweep(struct engine *e); /* frees entries unused for KEPT_MS */
void kept_free(struct engine *e);  /* all */

#endif
