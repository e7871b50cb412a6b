/*
 * remember.h: what one entry of an executor does to long-term memory (node_memory_*, node.h), until
 * its step takes it over.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_REMEMBER_H
#define WOPR_ENGINE_REMEMBER_H

#include "engine/emit.h"

struct remember_op;
struct remember {
    struct step *step;
    int node;
    struct remember_op *first, **end; /* in the scratch of the turn */
};
void remember_begin(struct remember *m, struct step *st, int node);
/* Results and entries become rows of the step's plan. */
void remember_apply(struct remember *m);

#endif
