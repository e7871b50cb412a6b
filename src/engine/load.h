/*
 * load.h: runs that are not in memory: look up, lease, fold.  Layer: engine, not for others.
 * Each function returns true when the turn goes on in the phase the exec is in now.
 */
#ifndef WOPR_ENGINE_LOAD_H
#define WOPR_ENGINE_LOAD_H

#include "engine/emit.h"

bool load_lookup(struct step *st);
bool load_leased(struct step *st, int rc);
bool load_fold(struct step *st);

#endif
