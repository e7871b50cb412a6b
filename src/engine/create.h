/*
 * create.h: how runs come into being.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_CREATE_H
#define WOPR_ENGINE_CREATE_H

#include "engine/emit.h"

enum turn create_turn(struct step *st); /* phase NEW: build, take the first step, send */
enum turn create_landed(struct step *st, int rc);

#endif
