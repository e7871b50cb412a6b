/*
 * farewell.h: the last word to another system when a run ends before it did.  Layer: engine, not
 * for others.
 */
#ifndef WOPR_ENGINE_FAREWELL_H
#define WOPR_ENGINE_FAREWELL_H

#include "engine/emit.h"

/* The plan that ended the run has landed: enter the executors of NODE_FAREWELL types whose nodes
 * did not complete, and send what they ask for.  Nothing is recorded and no answer waited for: a
 * host that dies just then says nothing.  A replay says nothing either. */
void farewell_send(struct step *st);

#endif
