/*
 * condition.h: run conditions of steps, over the context (WR-104).  Layer: workrail.  Pure.
 *
 *     {"var":"name", OP:value}   OP: equals, not_equals, gt, gte, lt, lte, in
 *     {"and":[...]}  {"or":[...]}  {"not":{...}}
 *
 * Comparison is lenient: texts are trimmed and their ASCII letters lowered, "3" equals 3, "true"
 * equals true.  What cannot be compared is false, but for not_equals.
 */
#ifndef WOPR_WORKRAIL_CONDITION_H
#define WOPR_WORKRAIL_CONDITION_H

#include "workrail/text.h"

enum { WR_CONDITION_DEPTH_MAX = 16 };
/* Whether a checked text is a condition; COMPILE_ERROR with the pointer inside it. */
MUST_CHECK int wr_condition_check(struct str json, struct arena *a, struct wr_fault *f);
/* json passed the check; context: its members, sorted (json_members_sort).  NO_MEMORY. */
MUST_CHECK int wr_condition_holds(struct str json, const struct json_members *context,
                                  struct arena *a, bool *holds);

#endif
