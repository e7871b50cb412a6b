/*
 * outside_kit.h: an outside for the tests of engine: an egress that may reach the loopback, and a
 * server there that counts requests and answers when it may.
 */
#ifndef WOPR_TESTS_OUTSIDE_KIT_H
#define WOPR_TESTS_OUTSIDE_KIT_H

#include "engine_world.h"

#include <stdatomic.h>

extern atomic_bool OUTSIDE_ANSWERS; /* else requests are kept waiting */
extern atomic_uint OUTSIDE_ASKED;   /* requests that were read */

void outside_up(void); /* with world_up */
void outside_down(void);
int outside_port(void);
/* The whole host is killed: what was under way comes back to nobody. */
void outside_crash(void);
unsigned outside_under_way(void); /* requests, at this moment */
/* Requests that were sent, once none is under way. */
uint64_t outside_sent(void);

#endif
