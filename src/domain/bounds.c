/*
 * bounds.c: see bounds.h.  Relations between bounds, so that whatever one part admits the next one
 * accepts.
 */
#include "domain/bounds.h"

const struct bound_row BOUND_ROWS[] = {
#define BOUND(name, type, value, unit, asked, what, beyond)                                        \
    {#name, (int64_t)(value), BOUND_BY_##asked},
#include "domain/bounds.def"
#undef BOUND
    {NULL, 0, BOUND_BY_FOLD},
};

enum { /* static assertions need integer constant expressions */
       KIB = 1024,
#define BOUND(name, type, value, unit, asked, what, beyond)                                        \
    K_##name = (int)((value) < INT32_MAX ? (value) : (value) / KIB),
#include "domain/bounds.def"
#undef BOUND
       NAMES_OF_CALLERS = 3, /* of a node: votes, questions, answers */
       STEP_EVENTS = 4096    /* of a step before it ends its run, and of the end itself */
};

/* Declared values fit a run, values of a run fit the fold, and any run has room for those of
 * callers. */
_Static_assert(K_WF_VARS_MAX <= K_RUN_VARS_MAX, "declared variables fit a run");
_Static_assert(K_WF_CHANS_MAX <= K_RUN_CHANS_MAX, "declared channels fit a run");
_Static_assert(K_RUN_CHANS_MAX + NAMES_OF_CALLERS * K_WF_NODES_MAX <= K_STATE_CHANS_MAX,
               "callers have room");
_Static_assert(2 * K_CONVERSATION_ANSWER_MAX + 16384 <= K_EVENT_PAYLOAD_MAX,
               "a turn that is taken fits each of its events, and outputs that show it twice");
_Static_assert(K_WF_RETRY_MS_MAX <= K_STATE_DELAY_MS_MAX, "a retry folds");
/* Each node of a run ends by an event (cancelled or skipped) in the commit that ends the run. */
_Static_assert(K_WF_NODES_MAX + STEP_EVENTS <= K_PLAN_EVENTS_MAX, "the end of a run is one commit");
/* All values of a run, shown and clear, and the events of a step. */
_Static_assert(2 * K_RUN_VALUE_MAX + 16 * K_EVENT_PAYLOAD_MAX <= K_PLAN_BYTES_MAX,
               "what a run may hold fits a commit");
/* The fold repeats the work of the check, and also reads names and votes. */
_Static_assert(K_RUN_WRITE_SCRATCH_MAX * 2 <= K_STATE_SCRATCH_MAX, "what was checked folds");
_Static_assert(2 * K_SCOPE_BYTES_MAX <= K_PORTS_BYTES_MAX, "inputs show all of a run");
