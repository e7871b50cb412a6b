/*
 * rounds.h: the nth call of an operation fails, for every n until a round meets no fault.  A scene
 * is what is tried; the ways to fail are rows of TRIALS (rounds.c).  After each round the file is
 * opened again: the code says what happened, the ledger holds (world.h), host_verify finds nothing.
 */
#ifndef WOPR_TESTS_ROUNDS_H
#define WOPR_TESTS_ROUNDS_H

#include "faults/world.h"

struct scene {
    const char *name;
    bool (*opened)(void);  /* before the fault is armed; NULL: act opens (or not) by itself */
    void (*dropped)(void); /* gives back what opened made when no act follows; may be NULL */
    int (*act)(void);      /* 0 or the code of what failed; closes nothing */
    void (*restart)(void); /* after the reopening, what a host that starts does; may be NULL */
    void (*check)(int rc); /* then; may be NULL */
    unsigned stride;       /* of allocations, which are many */
    bool no_memory_trial;  /* the act allocates for the test itself */
    bool writes_are_many;  /* so that they are sampled as well */
    unsigned every;        /* of the rounds after the first few only every nth; 0 = all */
};

bool scene_open(void); /* for scenes that are opened and no more */
/* On the files that world_save has set aside. */
void scene_play(const struct scene *sc);
/* On what `before` makes. */
void scene_play_new(const struct scene *sc, void (*before)(void));

#endif
