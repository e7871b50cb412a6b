/* interrupt_approval.c: public scenario interrupt-approval (INT-14, INT-20, INT-22, RUN-35). */
#include "suite.h"

SCENARIO(interrupt_approval);

static const char *waiting_run(void) {
    need_fixture("conformance-approval");
    const char *run = create_run("conformance-approval", NULL);
    struct str snap = wait_status(run, "waiting-approval", lifecycle_ms());
    cr_assert(str_eqc(text_at(snap, "currentNodeId"), "gate"), STR_FMT, STR_ARG(snap));
    return run;
}

static void clean_up(const char *run) {
    ask("POST", run_path(run, "/cancel"), "{\"reason\":\"conformance-cleanup\"}", NULL);
}

Test(interrupt_approval, accept_completes_the_run) {
    const char *run = waiting_run();
    struct reply r = ask("POST", run_path(run, "/interrupts/gate"),
                         "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
    cr_assert_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    struct str snap = wait_terminal(run, lifecycle_ms());
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    struct json_elements ev = poll_events(run, "?timeout=1");
    cr_expect_eq(count_of(ev, "interrupt.requested"), 1u);
    cr_expect_eq(count_of(ev, "interrupt.resolved"), 1u);
    cr_expect_eq(count_of(ev, "node.suspended"), 1u);
    cr_expect_eq(count_of(ev, "node.resumed"), 1u);
}

Test(interrupt_approval, an_action_that_was_not_offered_is_refused_and_changes_nothing) {
    const char *run = waiting_run();
    size_t before = json_events(run).n;
    struct reply r = ask("POST", run_path(run, "/interrupts/gate"),
                         "{\"resumeValue\":{\"action\":\"maybe\"}}", NULL);
    cr_expect(r.status == 400 || r.status == 422, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(snapshot(run), "status"), "waiting-approval"));
    cr_expect_eq(json_events(run).n, before, "a refused answer is not in the log (INT-20)");
    clean_up(run);
}

Test(interrupt_approval, a_node_without_an_interrupt_is_not_found) {
    const char *run = waiting_run();
    struct reply r = ask("POST", run_path(run, "/interrupts/no-such-node"),
                         "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
    cr_expect_eq(r.status, 404, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(snapshot(run), "status"), "waiting-approval"));
    clean_up(run);
}
