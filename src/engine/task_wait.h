/*
 * task_wait.h: the wait of nodes that workers execute (WRK-10 to WRK-13).  Layer: engine, not for
 * others.
 */
#ifndef WOPR_ENGINE_TASK_WAIT_H
#define WOPR_ENGINE_TASK_WAIT_H

#include "engine/waits.h"

extern const struct wait_kind WAIT_TASK;

#endif
