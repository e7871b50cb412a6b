/* cap_breach.c: public scenario cap-breach (EVT-25, CAP-34, CON-12). */
#include "suite.h"

SCENARIO(cap_breach);

static const char *breached_run(void) {
    need_fixture("conformance-cap-breach");
    const char *run =
        create_run("conformance-cap-breach", "\"configurable\":{\"recursionLimit\":3}");
    struct str snap = wait_terminal(run, lifecycle_ms());
    cr_assert(str_eqc(text_at(snap, "status"), "failed"), STR_FMT, STR_ARG(snap));
    cr_expect(str_eqc(text_at(snap, "error.code"), "recursion_limit_exceeded"));
    cr_expect(text_at(snap, "error.message").n > 0);
    return run;
}

Test(cap_breach, the_breach_names_kind_limit_observed_and_node) {
    struct json_elements ev = poll_events(breached_run(), "?lastSequence=0&timeout=1");
    cr_assert_eq(count_of(ev, "cap.breached"), 1u);
    struct str cap = first_of(ev, "cap.breached");
    cr_expect(str_eqc(text_at(cap, "payload.kind"), "node-executions"));
    cr_expect_eq(int_at(cap, "payload.limit"), 3);
    cr_expect_gt(int_at(cap, "payload.observed"), 3);
    cr_expect(text_at(cap, "payload.nodeId").n > 0);
}

Test(cap_breach, the_breach_comes_before_the_failure_and_its_node_never_starts) {
    struct json_elements ev = poll_events(breached_run(), "?lastSequence=0&timeout=1");
    struct str cap = first_of(ev, "cap.breached"), failed = first_of(ev, "run.failed");
    cr_assert(cap.p != NULL && failed.p != NULL);
    cr_expect_lt(int_at(cap, "sequence"), int_at(failed, "sequence"));
    size_t started = count_of(ev, "node.started");
    cr_expect(started >= 1 && started <= 3, "%zu nodes started", started);
}
