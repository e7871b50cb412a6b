/*
 * collector.h: a receiver of OTLP/HTTP in JSON, as the public suite has one (40 H6), in a process
 * of its own, so that tests of any process may ask it: GET /?<run id> answers with an array of the
 * bodies that name the run.
 */
#ifndef WOPR_CONFORMANCE_COLLECTOR_H
#define WOPR_CONFORMANCE_COLLECTOR_H

#include "door.h"

/* port 0: any.  false with a line on stderr. */
bool collector_start(struct doors *c, int port);

#endif
