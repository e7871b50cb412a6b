/*
 * criteria.h: what a step's notes must satisfy (WR-131).  Layer: workrail.  Pure.
 *
 *     {"type":"contains","value":"..."}  {"type":"regex","pattern":"...","flags":"im"}
 *     {"type":"length","min":n,"max":n}  {"type":"schema","schema":{...}}
 *     each with "message"?; lists and {"and":[...]}, {"or":[...]}, {"not":rule}
 */
#ifndef WOPR_WORKRAIL_CRITERIA_H
#define WOPR_WORKRAIL_CRITERIA_H

#include "workrail/text.h"

enum { WR_CRITERIA_DEPTH_MAX = 16, WR_CRITERIA_RULES_MAX = 100 };
/* COMPILE_ERROR with the pointer inside it. */
MUST_CHECK int wr_criteria_check(struct str json, struct arena *a, struct wr_fault *f);
/* json passed the check.  issues: of all rules that do not hold, in their order; none: satisfied.
 * VALIDATION_ERROR: a rule could not be evaluated (a pattern beyond its bounds). */
MUST_CHECK int wr_criteria_judge(struct str json, struct str notes, struct arena *a,
                                 struct wr_texts *issues, struct wr_fault *f);
/* The lines that a prompt shows (WR-204): the first five. */
MUST_CHECK int wr_criteria_lines(struct str json, struct arena *a, struct wr_texts *out);
bool wr_criteria_one_contains(struct str json, struct arena *a); /* WR-200 */

#endif
