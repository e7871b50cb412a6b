/*
 * answer_clear.h: recorded answers that hold sensitive values (OBS-71).  Layer: engine, not for
 * others.
 *
 * Executors get an answer as it came.  The invocation log shows it with the sensitive values of the
 * run replaced, as events do, and the clear one is sealed beside it for as long as the run goes on:
 * the host that goes on with the run reads that, also for a replay that began meanwhile.  After the
 * end of the run its replays are told what the log shows.
 */
#ifndef WOPR_ENGINE_ANSWER_CLEAR_H
#define WOPR_ENGINE_ANSWER_CLEAR_H

#include "engine/emit.h"

/* The outcome (answer.h) for the row of this invocation; what it leaves out is sealed with the
 * plan.  The plan fails without memory. */
struct str answer_shown(struct step *st, int node, int64_t ordinal, struct str outcome);
bool answer_is_shown(struct str outcome); /* something was left out of it */
/* The clear one of such an outcome, in a; empty: it is gone. */
MUST_CHECK int answer_clear(struct engine *e, int64_t run_no, int node, int64_t ordinal,
                            struct arena *a, struct str *out, struct wopr_error *err);

#endif
