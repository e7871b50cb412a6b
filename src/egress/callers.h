/*
 * callers.h: who sends something out, as rows of callers.def.  Layer: egress.
 */
#ifndef WOPR_EGRESS_CALLERS_H
#define WOPR_EGRESS_CALLERS_H

#include <stddef.h>

enum egress_caller {
    EGRESS_CALLER_NONE, /* of a request that names nobody: it is refused */
#define EGRESS_CALLER(id, ...) EGRESS_CALLER_##id,
#include "egress/callers.def"
#undef EGRESS_CALLER
    EGRESS_CALLERS_END
};
enum egress_replay { EGRESS_REPLAY_NEVER, EGRESS_REPLAY_SENT };
struct egress_caller_row {
    const char *label;
    size_t answer_max;
    int timeout_ms_max;
    unsigned redirects_max;
    enum egress_replay in_replay;
    const char *repeats;
};
/* NULL: there is no such row. */
const struct egress_caller_row *egress_caller_row(enum egress_caller c);

#endif
