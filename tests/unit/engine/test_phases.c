/* test_phases.c: phases of an exec: the edges of the table and the rules behind them (phase.c). */
#include "base/mem.h"
#include "engine/child_link.h"
#include "engine_world.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>

/* What may follow each phase, as it is drawn in phase.c. */
static const char *const FOLLOWS[EXEC_PHASE_NR] = {
    [EXEC_FORKING] = " lookup loading live",
    [EXEC_NEW] = " creating lookup",
    [EXEC_CREATING] = " lookup live",
    [EXEC_LOOKUP] = " lookup leasing asking",
    [EXEC_LEASING] = " lookup loading",
    [EXEC_ASKING] = " lookup",
    [EXEC_GIVING] = " lookup loading live",
    [EXEC_LOADING] = " lookup giving loading ending live",
    [EXEC_ENDING] = " lookup",
    [EXEC_LIVE] = " lookup giving loading",
};

Test(exec_phases, the_edges_are_those_of_the_drawing) {
    for (int from = 0; from < EXEC_PHASE_NR; from++) {
        char got[128] = "";
        size_t n = 0;
        for (int to = 0; to < EXEC_PHASE_NR; to++)
            if (exec_may_move((enum exec_phase)from, (enum exec_phase)to))
                n += (size_t)snprintf(got + n, sizeof got - n, " %s",
                                      exec_phase_name((enum exec_phase)to));
        cr_expect_str_eq(got, FOLLOWS[from], "%s:%s", exec_phase_name((enum exec_phase)from), got);
    }
}

Test(exec_phases, every_phase_but_the_first_two_is_reached) {
    for (int to = 0; to < EXEC_PHASE_NR; to++) {
        bool reached = to == EXEC_FORKING || to == EXEC_NEW;
        for (int from = 0; from < EXEC_PHASE_NR; from++)
            reached = reached || exec_may_move((enum exec_phase)from, (enum exec_phase)to);
        cr_expect(reached, "%s", exec_phase_name((enum exec_phase)to));
    }
}

static struct run_exec *in_phase(enum exec_phase p) {
    struct run_exec *re = exec_new(NULL, STR("run_x"), p);
    cr_assert_not_null(re);
    return re;
}

Test(exec_phases, a_rule_that_is_broken_has_a_name) {
    struct run_exec *re = in_phase(EXEC_LIVE);
    cr_expect_eq(strncmp(exec_broken(re), "P2:", 3), 0);
    re->run_no = 7;
    cr_expect_eq(strncmp(exec_broken(re), "P4:", 3), 0);
    re->phase = EXEC_LOADING;
    cr_expect_null(exec_broken(re));
    re->seat.inflight = true;
    cr_expect_eq(strncmp(exec_broken(re), "P1:", 3), 0);
    re->seat.inflight = false;
    re->phase = EXEC_ASKING;
    cr_expect_eq(strncmp(exec_broken(re), "P7:", 3), 0);
    re->phase = EXEC_CREATING;
    cr_expect_eq(strncmp(exec_broken(re), "P6:", 3), 0);
    re->phase = EXEC_LOOKUP;
    cr_expect_null(exec_broken(re));
    mem_free(re);
}

Test(exec_phases, a_move_along_an_edge_goes_there) {
    struct run_exec *re = in_phase(EXEC_LOOKUP);
    re->run_no = 7;
    exec_move(re, EXEC_LEASING);
    exec_move(re, EXEC_LOADING);
    cr_expect_eq(re->phase, EXEC_LOADING);
    mem_free(re);
}

Test(exec_phases, a_move_without_an_edge_stops_the_process, .signal = SIGABRT) {
    struct run_exec *re = in_phase(EXEC_LOOKUP);
    re->run_no = 7;
    exec_move(re, EXEC_LOADING);
}

Test(exec_phases, a_move_that_breaks_a_rule_stops_the_process, .signal = SIGABRT) {
    exec_move(in_phase(EXEC_LOOKUP), EXEC_LEASING); /* of a run without a number */
}

Test(child_phases, the_edges_are_those_of_the_drawing) {
    static const char *const NEXT[CHILD_PHASE_NR] = {
        [CHILD_WANTED] = "01100",   [CHILD_ASKED] = "10111",     [CHILD_WAITING] = "10010",
        [CHILD_UNWANTED] = "00001", [CHILD_FORGOTTEN] = "00000",
    };
    for (int from = 0; from < CHILD_PHASE_NR; from++)
        for (int to = 0; to < CHILD_PHASE_NR; to++)
            cr_expect_eq(child_may_move((enum child_phase)from, (enum child_phase)to),
                         NEXT[from][to] == '1', "%d to %d", from, to);
}
