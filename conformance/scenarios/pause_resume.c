/* pause_resume.c: public scenario pause-resume (RUN-24 to RUN-30, WF-44).  It sends delaySeconds,
 * which no fixture knows and every host must tolerate; we add delayMs, so that the run ends soon.
 */
#include "suite.h"

SCENARIO(pause_resume);

static const char *running_run(const char *delay) {
    const char *id = has_fixture("conformance-cancellable") ? "conformance-cancellable"
                     : has_fixture("conformance-delay")     ? "conformance-delay"
                                                            : NULL;
    if (id == NULL) cr_skip("neither conformance-cancellable nor conformance-delay is advertised");
    const char *run = create_run(id, fmt("\"inputs\":{\"delaySeconds\":30,\"delayMs\":%s}", delay));
    wait_status(run, "running", 10000);
    return run;
}

static void need_route(const struct reply *r) {
    if (r->status == 404) cr_skip("the host has no :pause and :resume (404 on a run it knows)");
}

Test(pause_resume, a_paused_run_goes_on_after_resume) {
    const char *run = running_run("4000");
    struct reply r =
        ask("POST", run_path(run, ":pause"),
            "{\"reason\":\"conformance-test\",\"drainPolicy\":\"drain-current-node\"}", NULL);
    need_route(&r);
    cr_assert_eq(r.status, 202, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    wait_status(run, "paused", 10000);
    r = ask("POST", run_path(run, ":resume"), "{\"reason\":\"conformance-test\"}", NULL);
    cr_assert_eq(r.status, 202, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    struct str status = text_at(wait_terminal(run, 60000), "status");
    cr_expect(str_eqc(status, "completed") || str_eqc(status, "cancelled"), STR_FMT,
              STR_ARG(status));
    struct json_elements ev = poll_events(run, "?timeout=1");
    cr_expect_eq(count_of(ev, "run.paused"), 1u);
    cr_expect_eq(count_of(ev, "run.resumed"), 1u);
    cr_expect_eq(count_of(ev, "node.completed"), 1u, "the node ran once");
}

Test(pause_resume, resuming_a_running_run_is_a_conflict) {
    const char *run = running_run("20000");
    struct reply r = ask("POST", run_path(run, ":resume"), "{}", NULL);
    need_route(&r);
    cr_expect_eq(r.status, 409, "%ld", r.status);
    cr_expect(str_eqc(text_at(r.json, "error"), "conflict"));
    cr_expect(text_at(r.json, "details.runStatus").n > 0);
    ask("POST", run_path(run, "/cancel"), "{\"reason\":\"conformance-cleanup\"}", NULL);
}

Test(pause_resume, pausing_an_ended_run_is_a_conflict) {
    const char *run = known_run();
    wait_terminal(run, lifecycle_ms());
    struct reply r = ask("POST", run_path(run, ":pause"), "{}", NULL);
    need_route(&r);
    cr_expect_eq(r.status, 409, "%ld", r.status);
    cr_expect(str_eqc(text_at(r.json, "error"), "conflict"));
}
