/*
 * phase.c: which phases follow each other, and what holds in each.
 *
 *     FORKING --------commit--------.
 *     NEW ---> CREATING ---commit---+--> LIVE <---fold--- LOADING <--claimed-- LEASING
 *                                        | ^ |             ^ |                 |   ^
 *                                        | | '--reload-----' |           refused   |
 *                                        | | '--doze-------' |                 v   |
 *                                  GIVING <+-----------------'                LOOKUP <---> ASKING
 *
 *                                              LOADING --a cancel of what does not fold--> ENDING
 *
 * From every phase an exec may leave memory.  When it has mail by then, it goes to LOOKUP instead
 * (exec_drop); the drawing leaves these edges out.
 */
#include "engine/phase.h"

#include "engine/exec.h"

#define TO(p) (1u << EXEC_##p)

static const struct {
    const char *name;
    unsigned next; /* phases that may follow */
} PHASES[EXEC_PHASE_NR] = {
    [EXEC_FORKING] = {"forking", TO(LIVE) | TO(LOADING) | TO(LOOKUP)},
    [EXEC_NEW] = {"new", TO(CREATING) | TO(LOOKUP)},
    [EXEC_CREATING] = {"creating", TO(LIVE) | TO(LOOKUP)},
    [EXEC_LOOKUP] = {"lookup", TO(LEASING) | TO(ASKING) | TO(LOOKUP)},
    [EXEC_LEASING] = {"leasing", TO(LOADING) | TO(LOOKUP)},
    [EXEC_ASKING] = {"asking", TO(LOOKUP)},
    [EXEC_GIVING] = {"giving", TO(LIVE) | TO(LOADING) | TO(LOOKUP)},
    [EXEC_LOADING] = {"loading", TO(LIVE) | TO(LOADING) | TO(GIVING) | TO(LOOKUP) | TO(ENDING)},
    [EXEC_ENDING] = {"ending", TO(LOOKUP)},
    [EXEC_LIVE] = {"live", TO(LOADING) | TO(GIVING) | TO(LOOKUP)},
};

const char *exec_phase_name(enum exec_phase p) { return PHASES[p].name; }

bool exec_may_move(enum exec_phase from, enum exec_phase to) {
    return (PHASES[from].next >> to & 1u) != 0;
}

const char *exec_broken(const struct run_exec *re) {
    enum exec_phase p = re->phase;
    bool known = p != EXEC_FORKING && p != EXEC_NEW && p != EXEC_CREATING && p != EXEC_LOOKUP;
    bool planned = p == EXEC_CREATING || p == EXEC_FORKING || p == EXEC_ENDING;
    bool folded = p == EXEC_LIVE || p == EXEC_GIVING || planned;
    if (re->seat.inflight) return "P1: an exec moves with nothing in flight";
    if (known && re->run_no == 0) return "P2: only a run in the store is leased, loaded or live";
    if ((!folded || p == EXEC_ENDING) && re->state) return "P3: no state before the fold";
    if (p == EXEC_LIVE && !re->state) return "P4: a live exec has a state";
    if (!planned && re->commit.plan) return "P5: a landed plan was taken in";
    if (p == EXEC_CREATING && !(re->state && re->commit.plan && re->commit.cmd))
        return "P6: a creation has its state, its plan and its command";
    if (p == EXEC_ASKING && !re->lease.old_holder) return "P7: a request names the holder it asks";
    return NULL;
}

void exec_move(struct run_exec *re, enum exec_phase to) {
    enum exec_phase from = re->phase;
    re->phase = to;
    const char *rule = exec_may_move(from, to) ? exec_broken(re) : "P0: there is no such edge";
    if (!rule) return;
    log_error("an exec moved to a phase that it may not be in", "run", re->run_id, "from",
              exec_phase_name(from), "to", exec_phase_name(to), "rule", rule);
    ASSERT(rule == NULL);
}
