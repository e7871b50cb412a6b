/*
 * twin_kit.h: two hosts in one process on one file, each with a store, a log and an engine of its
 * own, in virtual time.
 */
#ifndef WOPR_TESTS_TWIN_KIT_H
#define WOPR_TESTS_TWIN_KIT_H

#include "unit/engine/engine_world.h"

struct twin {
    struct store *store;
    struct journal *journal;
    struct engine *engine; /* NULL: the host is down */
    char holder[32];
};
extern struct twin TWINS[2];

void twins_up(void);      /* Criterion .init; the test is at the first */
void twins_down(void);    /* .fini */
void twin_be(unsigned i); /* what W does is done at this host */
void twin_up(unsigned i);
void twin_down(unsigned i, bool release); /* release false: as after a kill */

#endif
