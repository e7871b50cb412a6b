/*
 * kept.h: states of runs that were let go.  Layer: engine, not for others.
 * A run that waits for people leaves memory (STORE-35).  One with a long log keeps its state here
 * for a while, so that questions and answers one after the other do not load it each time.  An
 * entry is only ever a fold of the first events of a log, which do not change: a run that another
 * host moved meanwhile folds on from it.
 */
#ifndef WOPR_ENGINE_KEPT_H
#define WOPR_ENGINE_KEPT_H

#include "engine/exec.h"

#define KEPT_EVENTS_MIN 256         /* a shorter log is folded at once */
#define KEPT_MAX        64          /* states */
#define KEPT_BYTES_MAX  (16u << 20) /* of all of them */
#define KEPT_MS         30000       /* unused */

/* Takes the state of re, which is what its log folds to, if it is worth being kept. */
void kept_put(struct run_exec *re);
/* Gives re its state back, if there is one with at most next_seq events; false: there is none. */
bool kept_take(struct run_exec *re, int64_t next_seq);
void kept_sweep(struct engine *e); /* frees what was not used for KEPT_MS */
void kept_free(struct engine *e);  /* all */

#endif
