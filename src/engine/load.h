/*
 * load.h: brings runs into memory: look up, lease, fold.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_LOAD_H
#define WOPR_ENGINE_LOAD_H

#include "engine/emit.h"

enum turn load_lookup(struct step *st);
enum turn load_leased(struct step *st, int rc);
enum turn load_fold(struct step *st);

#endif
