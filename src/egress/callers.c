/*
 * callers.c: the rows of callers.def.
 */
#include "egress/callers.h"

const struct egress_caller_row *egress_caller_row(enum egress_caller c) {
    static const struct egress_caller_row ROWS[] = {
#define EGRESS_CALLER(id, label, answer, timeout, redirects, replay, repeats)                      \
    [EGRESS_CALLER_##id] = {label, answer, timeout, redirects, EGRESS_REPLAY_##replay, repeats},
#include "egress/callers.def"
#undef EGRESS_CALLER
    };
    return c > EGRESS_CALLER_NONE && c < EGRESS_CALLERS_END ? &ROWS[c] : NULL;
}
