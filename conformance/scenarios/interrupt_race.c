/* interrupt_race.c: public scenario interruptRace, its second test (RUN-21).  The race itself waits
 * for approval gates. */
#include "suite.h"

SCENARIO(interrupt_race);

Test(interrupt_race, cancelling_an_ended_run_changes_nothing) {
    need_fixture("conformance-noop");
    const char *run = create_run("conformance-noop", NULL);
    struct str before = text_at(wait_terminal(run, lifecycle_ms()), "status");
    struct reply r = ask("POST", run_path(run, "/cancel"), "{}", NULL);
    cr_expect_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    cr_expect(str_eq(text_at(snapshot(run), "status"), before));
}
