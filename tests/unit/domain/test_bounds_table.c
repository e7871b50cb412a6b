/* test_bounds_table.c: the table of bounds holds together (bounds.def). */
#include "domain/bounds.h"
#include "domain/framework.h"

#include <criterion/criterion.h>
#include <string.h>

Test(bounds_table, every_bound_has_a_name_of_its_own_and_a_value) {
    size_t n = 0, by[BOUND_BY_FOLD + 1] = {0};
    for (; BOUND_ROWS[n].name; n++) {
        cr_expect_gt(BOUND_ROWS[n].value, 0, "%s", BOUND_ROWS[n].name);
        by[BOUND_ROWS[n].asked]++;
        for (size_t k = 0; k < n; k++)
            cr_expect_neq(strcmp(BOUND_ROWS[n].name, BOUND_ROWS[k].name), 0);
    }
    cr_expect_gt(n, 30u);
    for (size_t i = 0; i <= BOUND_BY_FOLD; i++) cr_expect_gt(by[i], 0u);
}

/* INT-27: whatever begins like it, since a part of a name could be completed by a node's id. */
Test(bounds_table, names_of_callers_are_told_by_their_beginning) {
    static const struct {
        const char *name;
        bool of_callers;
    } ROWS[] = {
        {"_approvalVotes:g", true},        {"_approvalVotes:", true},   {"_askExchanges:x", true},
        {"_clarificationAnswers:q", true}, {"_approvalVote", false},    {"approvalVotes:g", false},
        {"_feedbackHistory:g", false},     {"wfArtifactData_x", false}, {"", false},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++)
        cr_expect_eq(name_of_callers(str_c(ROWS[i].name)), ROWS[i].of_callers, "%s", ROWS[i].name);
}
