/*
 * parked.h: runs whose log does not fold, or allows nothing more.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_PARKED_H
#define WOPR_ENGINE_PARKED_H

#include "engine/emit.h"

/* Ends the run with run.cancelled alone, without its state; the log is not read.  Its children are
 * cancelled, its parent is notified, and its timers and questions end. */
enum turn parked_cancel(struct step *st, struct engine_cmd *cmd);
enum turn parked_cancelled(struct step *st, int rc);          /* when that has landed */
void parked_refuse(struct engine *e, struct engine_cmd *cmd); /* anything but a cancel */

#endif
