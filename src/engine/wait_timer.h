/*
 * wait_timer.h: nodes that wait for a time.  Layer: engine, not for others.
 */
#ifndef WOPR_ENGINE_WAIT_TIMER_H
#define WOPR_ENGINE_WAIT_TIMER_H

#include "engine/waits.h"

extern const struct wait_kind WAIT_TIMER;

#endif
