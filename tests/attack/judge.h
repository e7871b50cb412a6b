/* judge.h: one row: quiet, attacked, afterwards, stopped, verified; and what is said about it. */
#ifndef WOPR_TESTS_ATTACK_JUDGE_H
#define WOPR_TESTS_ATTACK_JUDGE_H

#include "attack.h"

#include <stdio.h>

struct plan {
    const char *binary, *json_path;
    bool slow;        /* an instrumented host: neither memory nor times are judged */
    bool full, bench; /* bench: a Markdown table of quiet against attacked, and the bound of 5 */
    FILE *json;
};
enum outcome { HELD, FAILED, SKIPPED, LATE_ONLY /* within judge.c */ };

void judge_begin(struct plan *p);
enum outcome judge_one(struct plan *p, const struct attack *row);
void judge_end(struct plan *p);

#endif
