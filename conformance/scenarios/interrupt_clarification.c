/* interrupt_clarification.c: public scenario interrupt-clarification (INT-26). */
#include "suite.h"

SCENARIO(interrupt_clarification);

static const char *asking_run(void) {
    need_fixture("conformance-clarification");
    const char *run = create_run("conformance-clarification", NULL);
    struct str snap = wait_status(run, "waiting-input", lifecycle_ms());
    cr_assert(str_eqc(text_at(snap, "currentNodeId"), "ask"), STR_FMT, STR_ARG(snap));
    return run;
}

Test(interrupt_clarification, an_answer_to_every_question_completes_the_run) {
    const char *run = asking_run();
    struct reply r = ask("POST", run_path(run, "/interrupts/ask"),
                         "{\"resumeValue\":{\"answers\":{\"q1\":\"blue\"}}}", NULL);
    cr_assert_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    struct str snap = wait_terminal(run, lifecycle_ms());
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    struct str resolved = first_of(poll_events(run, "?timeout=1"), "interrupt.resolved");
    cr_expect(has(resolved, "blue"), "the answer is in the log: " STR_FMT, STR_ARG(resolved));
}

Test(interrupt_clarification, an_unanswered_question_keeps_the_run_waiting) {
    const char *run = asking_run();
    struct reply r =
        ask("POST", run_path(run, "/interrupts/ask"), "{\"resumeValue\":{\"answers\":{}}}", NULL);
    cr_expect(r.status == 400 || r.status == 422, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(snapshot(run), "status"), "waiting-input"));
    ask("POST", run_path(run, "/cancel"), "{\"reason\":\"conformance-cleanup\"}", NULL);
}
