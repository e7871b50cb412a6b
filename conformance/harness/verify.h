/*
 * verify.h: every body seen is checked against the published schemas (api/schemas).
 * Called by the client for each answer, so no scenario can forget it.  A violation is an
 * expectation of the running test that fails, with the pointer into the body and the rule.  Names
 * the host may add (event types, statuses) are tolerated as GEN-5 asks of any reader: of an event
 * of unknown type only the common fields are judged.
 */
#ifndef WOPR_CONFORMANCE_VERIFY_H
#define WOPR_CONFORMANCE_VERIFY_H

#include "suite.h"

void verify_reply(const char *method, const char *path, const struct reply *r);
void verify_frame(const char *run, const struct frame *f);
/* Is json valid against a schema file of api/schemas, e.g. "capabilities.schema.json"?  why: at
 * least VERIFY_WHY bytes, filled when not. */
#define VERIFY_WHY 640
bool verify_against(const char *schema_file, struct str json, char *why);
/* As above for text that is not yet known to be JSON. */
bool verify_json(struct str text);

#endif
