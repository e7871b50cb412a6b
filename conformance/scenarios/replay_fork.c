/* replay_fork.c: public scenario replay-fork (FORK-1 to FORK-7, RUN-31), on a finished noop run. */
#include "suite.h"

SCENARIO(replay_fork);

static void need_mode(const char *mode) {
    need_flag("replay.supported");
    if (!list_has(need_member("replay.modes"), mode)) cr_skip_test("the host offers no %s", mode);
}

static const char *finished(void) {
    need_fixture("conformance-noop");
    struct str snap = run_to_end("conformance-noop", NULL, "completed");
    return fmt(STR_FMT, STR_ARG(text_at(snap, "runId")));
}

static struct reply fork_of(const char *run, const char *body) {
    return ask("POST", run_path(run, ":fork"), body, NULL);
}

/* 201 with the members of RUN-32; the new run ends completed. */
static void forks(const char *mode, const char *body) {
    const char *run = finished();
    struct reply r = fork_of(run, body);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    cr_expect_not(str_eqc(text_at(r.json, "runId"), run));
    cr_expect(str_eqc(text_at(r.json, "sourceRunId"), run));
    cr_expect(str_eqc(text_at(r.json, "mode"), mode));
    cr_expect_eq(int_at(r.json, "fromSeq"), 0);
    cr_expect(has(text_at(r.json, "eventsUrl"), "://"), "absolute (CX-47)");
    struct str snap = wait_terminal(fmt(STR_FMT, STR_ARG(text_at(r.json, "runId"))), 15000);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
}

Test(replay_fork, a_replay_from_the_start_completes) {
    need_mode("replay");
    forks("replay", "{\"fromSeq\":0,\"mode\":\"replay\"}");
}

Test(replay_fork, a_branch_from_the_start_completes) {
    need_mode("branch");
    forks("branch", "{\"fromSeq\":0,\"mode\":\"branch\",\"runOptionsOverlay\":{}}");
}

static void refused(const char *body, long status) {
    struct reply r = fork_of(finished(), body);
    cr_expect_eq(r.status, status, STR_FMT, STR_ARG(r.body));
    expect_envelope(&r);
}

Test(replay_fork, a_negative_sequence_is_400) {
    need_mode("branch");
    refused("{\"fromSeq\":-1,\"mode\":\"branch\"}", 400);
}

Test(replay_fork, a_sequence_that_does_not_exist_is_422) {
    need_mode("branch");
    refused("{\"fromSeq\":99999,\"mode\":\"branch\"}", 422);
}

Test(replay_fork, a_replay_takes_no_overlay) {
    need_mode("replay");
    refused("{\"fromSeq\":0,\"mode\":\"replay\",\"runOptionsOverlay\":{\"configurable\":{"
            "\"recursionLimit\":50}}}",
            400);
}

Test(replay_fork, an_unknown_source_is_404_or_403) {
    need_mode("branch");
    (void)known_run();
    struct reply r =
        fork_of("openwop-conformance-no-such-run-id", "{\"fromSeq\":0,\"mode\":\"branch\"}");
    cr_expect(r.status == 404 || r.status == 403, "%ld", r.status);
    expect_envelope(&r);
}

/* Ours: what the public scenario does not look at. */
Test(replay_fork, an_unknown_mode_and_an_unknown_member_are_400) {
    need_mode("branch");
    refused("{\"fromSeq\":0,\"mode\":\"rerun\"}", 400);
    refused("{\"fromSeq\":0,\"mode\":\"branch\",\"else\":1}", 400);
}
