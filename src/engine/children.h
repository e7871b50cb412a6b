/*
 * children.h: runs that nodes wait for (WF-45..51).  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_CHILDREN_H
#define WOPR_ENGINE_CHILDREN_H

#include "engine/waits.h"

#define ENGINE_CHILD_DEPTH_MAX   10   /* WF-48 */
#define ENGINE_CHILDREN_OPEN_MAX 128u /* unfinished children of one run (WF-51) */
#define ENGINE_CHILDREN_PAGE     256u
#define ENGINE_CHILD_AGAIN_MS    250 /* until a refused command to a child is tried again */

extern const struct wait_kind WAIT_CHILD;

bool children_wanted(const struct run_exec *re); /* the next turn creates one */
/* After the fold: restore the links to children and parent from log and store. */
MUST_CHECK int children_load(struct step *st, struct wopr_error *err);

#endif
