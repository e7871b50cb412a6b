/*
 * migrate.h: documents of version 1.0 to version 2.0 (section 6).  Layer: workspec.  Pure.
 * What has no counterpart is kept as it is, for documents are open (WS-7).  The result is to be
 * validated: that there is one does not say that it is good (WS-131).
 */
#ifndef WOPR_WORKSPEC_MIGRATE_H
#define WOPR_WORKSPEC_MIGRATE_H

#include "workspec/parse.h"

/* The same document gives the same result.  A document of version 2.0 comes back with nothing
 * lost.
 * The result is of a and shares values with doc.  VALIDATION: the root is no object; NO_MEMORY.
 * */
MUST_CHECK int ws_migrate(const struct ws_doc *doc, struct arena *a, const struct ws_value **out,
                          struct wopr_error *err);

#endif
