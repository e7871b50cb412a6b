/* interrupt_quorum.c: public scenario interrupt-quorum-resolution (INT-28 to INT-30, H12.7). */
#include "suite.h"

SCENARIO(interrupt_quorum);

static const char *waiting_run(void) {
    need_fixture("conformance-interrupt-quorum");
    const char *run = create_run("conformance-interrupt-quorum", NULL);
    wait_status(run, "waiting-approval", lifecycle_ms());
    return run;
}

static long vote(const char *run, const char *action, int voter) {
    struct reply r =
        ask("POST", run_path(run, "/interrupts/gate"),
            fmt("{\"resumeValue\":{\"action\":\"%s\",\"voter\":\"approver-%d\"}}", action, voter),
            NULL);
    return r.status;
}

static void partial(const char *run, const char *action, int voter) {
    long status = vote(run, action, voter);
    cr_assert(status >= 200 && status < 300, "vote of approver-%d: %ld", voter, status);
    cr_expect(str_eqc(text_at(snapshot(run), "status"), "waiting-approval"),
              "a partial vote resumes nothing");
}

Test(interrupt_quorum, the_third_accept_decides) {
    const char *run = waiting_run();
    partial(run, "accept", 1);
    partial(run, "accept", 2);
    long status = vote(run, "accept", 3);
    cr_assert(status >= 200 && status < 300, "%ld", status);
    struct str snap = wait_terminal(run, lifecycle_ms());
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_expect_eq(count_of(poll_events(run, "?timeout=1"), "interrupt.resolved"), 1u);
}

Test(interrupt_quorum, a_majority_of_rejects_fails_the_run) {
    const char *run = waiting_run();
    partial(run, "reject", 1);
    vote(run, "reject", 2);
    struct str snap = wait_terminal(run, lifecycle_ms());
    cr_expect(str_eqc(text_at(snap, "status"), "failed"), STR_FMT, STR_ARG(snap));
}

Test(interrupt_quorum, one_voter_counts_once) {
    const char *run = waiting_run();
    for (int i = 0; i < 4; i++) partial(run, "accept", 1);
    ask("POST", run_path(run, "/cancel"), "{\"reason\":\"conformance-cleanup\"}", NULL);
}
