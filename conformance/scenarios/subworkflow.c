/* subworkflow.c: public scenario subworkflow (WF-45..47, RUN-12; CHK-8 of 30-nodes). */
#include "suite.h"

#define PARENT "conformance-subworkflow-parent"
#define CHILD  "conformance-subworkflow-child"

SCENARIO(subworkflow);

static void gate(void) {
    need_fixture(PARENT);
    need_fixture(CHILD);
}

static struct str completed_of(struct json_elements ev, const char *node) {
    for (size_t i = 0; i < ev.n; i++)
        if (str_eqc(text_at(ev.v[i], "type"), "node.completed") &&
            str_eqc(text_or_none(ev.v[i], "nodeId"), node))
            return ev.v[i];
    cr_assert_fail("no node.completed of %s", node);
    return STR_NONE;
}

Test(subworkflow, a_variable_of_the_child_reaches_the_parent) {
    gate();
    struct str snap = run_to_end(PARENT, NULL, "completed");
    cr_expect(str_eqc(text_at(snap, "variables.childOutcome"), "child-completed"), STR_FMT,
              STR_ARG(snap));
}

Test(subworkflow, the_child_is_a_run_that_knows_its_parent) {
    gate();
    const char *parent = create_run(PARENT, NULL);
    struct str up = wait_status(parent, "completed", lifecycle_ms());
    struct str done = completed_of(poll_events(parent, "?timeout=1"), "subwf-call");
    cr_expect(str_eqc(text_at(done, "payload.outputs.childStatus"), "completed"));
    const char *child = fmt(STR_FMT, STR_ARG(text_at(done, "payload.outputs.childRunId")));
    struct str down = snapshot(child);
    cr_expect(str_eqc(text_at(down, "status"), "completed"));
    cr_expect(str_eqc(text_at(down, "parentRunId"), parent));
    cr_expect(str_eqc(text_at(down, "parentNodeId"), "subwf-call"));
    struct json_elements kids = list_at(up, "childRuns");
    cr_assert_eq(kids.n, 1u);
    cr_expect(str_eqc(text_at(kids.v[0], "runId"), child));
    cr_expect(str_eqc(text_at(kids.v[0], "status"), "completed"));
}

/* CHK-8: neither log tells of the other's nodes. */
Test(subworkflow, parent_and_child_keep_to_their_own_logs) {
    static const char *const up[] = {"parent-start", "subwf-call", "parent-end"};
    static const char *const down[] = {"child-n1", "child-n2"};
    gate();
    const char *parent = create_run(PARENT, NULL);
    wait_status(parent, "completed", lifecycle_ms());
    struct json_elements ev = json_events(parent);
    struct str done = completed_of(ev, "subwf-call");
    for (size_t i = 0; i < COUNT(up); i++) completed_of(ev, up[i]);
    for (size_t i = 0; i < ev.n; i++)
        for (size_t k = 0; k < COUNT(down); k++)
            cr_expect_not(str_eqc(text_or_none(ev.v[i], "nodeId"), down[k]));
    ev = json_events(fmt(STR_FMT, STR_ARG(text_at(done, "payload.outputs.childRunId"))));
    for (size_t i = 0; i < COUNT(down); i++) completed_of(ev, down[i]);
    for (size_t i = 0; i < ev.n; i++)
        for (size_t k = 0; k < COUNT(up); k++)
            cr_expect_not(str_eqc(text_or_none(ev.v[i], "nodeId"), up[k]));
}
