/* failure_path.c: public scenario failure-path (EVT-22, RUN-18, NODE-35). */
#include "suite.h"

SCENARIO(failure_path);

Test(failure_path, a_failed_run_has_an_error_and_the_events_of_it) {
    need_fixture("conformance-failure");
    const char *run = create_run("conformance-failure", NULL);
    struct str snap = wait_terminal(run, lifecycle_ms());
    cr_assert(str_eqc(text_at(snap, "status"), "failed"), STR_FMT, STR_ARG(snap));
    cr_expect(text_at(snap, "error.code").n > 0 && text_at(snap, "error.message").n > 0);
    struct json_elements ev = poll_events(run, "?timeout=1");
    cr_expect_eq(count_of(ev, "node.failed"), 1u);
    cr_expect_eq(count_of(ev, "run.failed"), 1u);
    cr_expect_lt(int_at(first_of(ev, "node.failed"), "sequence"),
                 int_at(first_of(ev, "run.failed"), "sequence"));
}
