/* interrupt_parent_child.c: public scenario interrupt-parent-child-cascade (INT-12, INT-41..44,
 * NODE-50, NODE-53; CHK-11 of 30-nodes). */
#include "suite.h"

#define PARENT "conformance-interrupt-parent-child-cancel"
#define CHILD  "conformance-interrupt-parent-child-cancel-child"
enum { SUSPEND_MS = 15000, CASCADE_MS = 10000 };

SCENARIO(interrupt_parent_child);

struct pair {
    const char *parent, *child;
};

/* A parent that shows what its child waits for. */
static struct pair waiting_pair(void) {
    struct pair p;
    need_fixture(PARENT);
    need_fixture(CHILD);
    p.parent = create_run(PARENT, NULL);
    struct str snap = wait_status(p.parent, "waiting-approval", SUSPEND_MS);
    struct json_elements kids = list_at(snap, "childRuns");
    cr_assert_eq(kids.n, 1u);
    p.child = fmt(STR_FMT, STR_ARG(text_at(kids.v[0], "runId")));
    wait_status(p.child, "waiting-approval", SUSPEND_MS);
    return p;
}

static void cancel(const char *run) {
    struct reply r =
        ask("POST", run_path(run, "/cancel"), "{\"reason\":\"conformance-test-cascade\"}", NULL);
    cr_assert(r.status >= 200 && r.status < 300, "%ld " STR_FMT, r.status, STR_ARG(r.body));
}

Test(interrupt_parent_child, a_cancel_reaches_the_child) {
    struct pair p = waiting_pair();
    cancel(p.parent);
    wait_status(p.parent, "cancelled", CASCADE_MS);
    struct str down = wait_status(p.child, "cancelled", CASCADE_MS);
    cr_expect(str_eqc(text_at(down, "parentRunId"), p.parent));
    struct json_elements up = json_events(p.parent), ev = json_events(p.child);
    struct str last = first_of(ev, "run.cancelled"), end = first_of(up, "run.cancelled");
    cr_expect(str_eqc(text_at(last, "payload.reason"), "parent-cancelled"));
    cr_expect(str_cmp(text_at(last, "timestamp"), text_at(end, "timestamp")) <= 0,
              "the child ends first (INT-42)");
    cancel(p.parent); /* idempotent */
    cancel(p.child);
}

Test(interrupt_parent_child, a_late_answer_meets_a_void_interrupt) {
    struct pair p = waiting_pair();
    cancel(p.parent);
    wait_status(p.child, "cancelled", CASCADE_MS);
    struct reply r = ask("POST", run_path(p.child, "/interrupts/child-gate"),
                         "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
    cr_expect(r.status == 410 || r.status == 409 || r.status == 404, "%ld " STR_FMT, r.status,
              STR_ARG(r.body));
    expect_envelope(&r);
}

Test(interrupt_parent_child, the_parent_is_not_the_address_of_the_interrupt /* INT-51 */) {
    struct pair p = waiting_pair();
    struct reply r = ask("POST", run_path(p.parent, "/interrupts/spawn-child"),
                         "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
    cr_expect_eq(r.status, 404, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    cancel(p.parent);
    wait_status(p.child, "cancelled", CASCADE_MS);
}

Test(interrupt_parent_child, an_answer_to_the_child_sets_the_parent_going /* NODE-50 */) {
    struct pair p = waiting_pair();
    struct reply r = ask("POST", run_path(p.child, "/interrupts/child-gate"),
                         "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
    cr_assert_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    wait_status(p.child, "completed", lifecycle_ms());
    wait_status(p.parent, "completed", lifecycle_ms());
    struct json_elements ev = json_events(p.parent);
    struct str sus = first_of(ev, "node.suspended");
    cr_expect(str_eqc(text_at(sus, "payload.reason"), "child-suspended")); /* EVT-39 */
    cr_expect(str_eqc(text_at(sus, "payload.childRunId"), p.child));
    cr_expect_eq(count_of(ev, "node.resumed"), 1u);
    cr_expect_eq(count_of(ev, "interrupt.requested"), 0u);
}
