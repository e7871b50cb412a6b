/* interrupt_race.c: public scenario interruptRace (INT-18, RUN-21, RUN-22). */
#include "suite.h"

SCENARIO(interrupt_race);

static bool one_of(long status, const long *v, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (v[i] == status) return true;
    return false;
}

static void race_once(void) {
    static const long cancels[] = {200, 202, 409}, resolves[] = {200, 202, 400, 404, 409};
    static const char *const bodies[] = {"{\"reason\":\"interrupt-race-test\"}",
                                         "{\"action\":\"accept\"}"};
    const char *run = create_run("conformance-approval", NULL);
    wait_status(run, "waiting-approval", lifecycle_ms());
    const char *const paths[] = {run_path(run, "/cancel"), run_path(run, "/approvals/gate")};
    struct reply r[2];
    ask_at_once(2, paths, bodies, r);
    cr_expect(one_of(r[0].status, cancels, COUNT(cancels)), "cancel: %ld", r[0].status);
    cr_expect(one_of(r[1].status, resolves, COUNT(resolves)), "resolve: %ld " STR_FMT, r[1].status,
              STR_ARG(r[1].body));
    bool cancelled = r[0].status <= 202, resolved = r[1].status <= 202;
    cr_expect(cancelled || resolved, "one of the two decides");
    struct str status = text_at(wait_terminal(run, 30000), "status");
    if (cancelled && !resolved && r[1].status != 404)
        cr_expect(str_eqc(status, "cancelled"), STR_FMT, STR_ARG(status));
}

Test(interrupt_race, cancel_against_resolve_has_one_winner) {
    need_fixture("conformance-approval");
    if (!list_has(at(discovery(), "supportedEnvelopes"), "clarification.request"))
        cr_skip("clarification.request is not in supportedEnvelopes");
    for (int i = 0; i < 10; i++) race_once();
}

Test(interrupt_race, of_many_answers_one_is_taken) {
    enum { N = 16 };
    static const char *bodies[N];
    const char *paths[N];
    struct reply r[N];
    need_fixture("conformance-approval");
    const char *run = create_run("conformance-approval", NULL);
    wait_status(run, "waiting-approval", lifecycle_ms());
    for (int i = 0; i < N; i++) {
        paths[i] = run_path(run, "/interrupts/gate");
        bodies[i] = "{\"resumeValue\":{\"action\":\"accept\"}}";
    }
    ask_at_once(N, paths, bodies, r);
    int won = 0;
    for (int i = 0; i < N; i++) {
        won += r[i].status == 200;
        cr_expect(r[i].status == 200 || r[i].status == 409, "%ld " STR_FMT, r[i].status,
                  STR_ARG(r[i].body));
    }
    cr_expect_eq(won, 1, "%d answers were taken", won);
    wait_terminal(run, lifecycle_ms());
    cr_expect_eq(count_of(poll_events(run, "?timeout=1"), "interrupt.resolved"), 1u);
}

Test(interrupt_race, cancelling_an_ended_run_changes_nothing) {
    need_fixture("conformance-noop");
    const char *run = create_run("conformance-noop", NULL);
    struct str before = text_at(wait_terminal(run, lifecycle_ms()), "status");
    struct reply r = ask("POST", run_path(run, "/cancel"), "{}", NULL);
    cr_expect_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    cr_expect(str_eq(text_at(snapshot(run), "status"), before));
}
