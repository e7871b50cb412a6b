/*
 * seed_document.h: files of a seed folder that are WorkSpec documents, NAME.workspec.json and
 * NAME.workspec.yaml (.yml), for workflows called NAME.  Layer: host.
 */
#ifndef WOPR_HOST_SEED_DOCUMENT_H
#define WOPR_HOST_SEED_DOCUMENT_H

#include "base/arena.h"
#include "base/error.h"

bool seed_is_document(struct str name);
/* What is stored of one, in a.  VALIDATION, SYNTAX, TOO_BIG: it is none that runs, and why. */
MUST_CHECK int seed_document(struct str name, struct str bytes, struct arena *a, struct str *stored,
                             struct wopr_error *err);

#endif
