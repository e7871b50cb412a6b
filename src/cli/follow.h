/* follow.h: events as lines of a terminal, for wopr tail and wopr runs start --follow.  Layer: cli.
 */
#ifndef WOPR_CLI_FOLLOW_H
#define WOPR_CLI_FOLLOW_H

#include "domain/event.h"

struct follow {
    bool tint;          /* colours: stdout is a terminal */
    int64_t started_ms; /* of the first event that was shown */
    unsigned nodes_ended;
};
/* One line to stdout; texts of the run are made safe.  Scratch memory in a. */
void follow_print(struct follow *t, const struct event *e, struct arena *a);

#endif
