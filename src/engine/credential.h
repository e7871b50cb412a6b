/*
 * credential.h: credentials while an executor has them.  Layer: engine.
 */
#ifndef WOPR_ENGINE_CREDENTIAL_H
#define WOPR_ENGINE_CREDENTIAL_H

#include "engine/core.h"

#define CREDENTIAL_LOANS_MAX 8

struct credential_loans { /* what lies clear in the scratch of a turn */
    struct step *step;
    struct str v[CREDENTIAL_LOANS_MAX];
    size_t n;
};
void loans_begin(struct credential_loans *l, struct step *st);
void loans_end(struct credential_loans *l); /* overwrites them */

#endif
