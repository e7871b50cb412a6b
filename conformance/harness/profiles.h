/*
 * profiles.h: which profile each scenario belongs to, and what a discovery document claims (H3).
 */
#ifndef WOPR_CONFORMANCE_PROFILES_H
#define WOPR_CONFORMANCE_PROFILES_H

#include "base/arena.h"

#include <stdbool.h>

struct scenario {
    const char *suite;   /* Criterion suite */
    const char *name;    /* the public scenario, or "-" for one of our own */
    const char *profile; /* one of PROFILES */
};
extern const struct scenario SCENARIOS[]; /* ends with a NULL suite */
extern const char *const PROFILES[];      /* ends with NULL; the last row is no published profile */

const struct scenario *scenario_of(const char *suite); /* NULL when the table lacks it */
/* Does the document satisfy the predicate of that profile?  false for unknown names. */
bool profile_claimed(const char *profile, struct str document, struct arena *a);

#endif
