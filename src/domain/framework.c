/*
 * framework.c: see framework.h.
 */
#include "domain/framework.h"

static const struct chan_legacy LEGACY[] = {
    {"_approvalVotes:", true, RED_VOTES, 0, true},
    {"_askExchanges:", true, RED_APPEND, CHAN_ASK_MAX, true},
    {"_clarificationAnswers:", true, RED_MERGE, 0, true},
    {"_feedbackHistory:", true, RED_APPEND, 0, false},
    {"_loopbackCount:", true, RED_COUNTER, 0, false},
    {"_loopbackIteration:", true, RED_REPLACE, 0, false},
    {"_previousArtifact:", true, RED_REPLACE, 0, false},
    {"wfArtifactData_", true, RED_REPLACE, 0, false},
    {"_activeClarification", false, RED_REPLACE, 0, false},
};

const struct chan_legacy *chan_legacy(struct str name) {
    for (size_t i = 0; i < sizeof LEGACY / sizeof LEGACY[0]; i++) {
        struct str known = str_c(LEGACY[i].name);
        if (LEGACY[i].is_prefix ? str_starts(name, known) && name.n > known.n : str_eq(name, known))
            return &LEGACY[i];
    }
    return NULL;
}

bool name_of_callers(struct str name) {
    for (size_t i = 0; i < sizeof LEGACY / sizeof LEGACY[0]; i++)
        if (LEGACY[i].of_callers && str_starts(name, str_c(LEGACY[i].name))) return true;
    return false;
}
