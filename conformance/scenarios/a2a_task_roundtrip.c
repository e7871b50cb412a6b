/* a2a_task_roundtrip.c: public scenario a2a-task-roundtrip (A2A-4 to A2A-7). */
#include "suite.h"

SCENARIO(a2a_task_roundtrip);

#define FIXTURE "conformance-a2a-task-roundtrip"

static const char *peer(void) {
    const char *url = env("OPENWOP_A2A_FAKE_PEER_URL");
    if (url == NULL) cr_skip("no fake A2A agent: OPENWOP_A2A_FAKE_PEER is not set");
    return url;
}

static void force(const char *state) {
    cr_assert_eq(ask_base(peer(), "FORCE", fmt("/%s", state), NULL, NO_AUTH).status, 200);
}

static size_t tasks_given(void) {
    struct reply r = ask_base(peer(), "LOOK", "/", NULL, NO_AUTH);
    struct json_elements l = {.n = 0};
    size_t n = 0;
    cr_assert(r.status == 200 && json_elements(r.body, test_arena(), &l, NULL) == 0);
    for (size_t i = 0; i < l.n; i++) n += str_eqc(json_string(l.v[i], test_arena()), "POST /tasks");
    return n;
}

Test(a2a_task_roundtrip, offline_the_agent_has_a_card_and_takes_tasks) {
    struct reply r = ask_base(peer(), "GET", "/agent.json", NULL, NO_AUTH);
    cr_assert_eq(r.status, 200);
    cr_expect_gt(text_at(r.json, "protocolVersion").n, 0u);
    cr_expect_gt(list_at(r.json, "skills").n, 0u);
}

/* One test: what is forced holds for the next task of anybody. */
Test(a2a_task_roundtrip, states_of_a_task_are_those_of_the_run) {
    (void)peer();
    need_fixture(FIXTURE);
    size_t before = tasks_given();
    force("AUTH_REQUIRED");
    const char *run = create_run(FIXTURE, "\"inputs\":{\"driftScenario\":\"auth-required\"}");
    struct str snap = wait_status(run, "waiting-input", 15000);
    cr_expect(str_eqc(text_or_none(snap, "interrupt.metadata.subkind"), "auth"), STR_FMT,
              STR_ARG(snap)); /* A2A-7, beyond the public scenario */
    struct reply r =
        ask("POST", run_path(run, "/cancel"), "{\"reason\":\"conformance-cleanup\"}", NULL);
    cr_expect_eq(r.status, 200);
    (void)wait_terminal(run, 15000);
    force("REJECTED");
    run = create_run(FIXTURE, "\"inputs\":{\"driftScenario\":\"rejected\"}");
    snap = wait_terminal(run, 15000);
    cr_expect(str_eqc(text_at(snap, "status"), "failed"), STR_FMT, STR_ARG(snap));
    cr_expect(has(snap, "rejected"), STR_FMT, STR_ARG(snap));
    force("COMPLETED");
    run = create_run(FIXTURE, "\"inputs\":{\"driftScenario\":\"happy-path\"}");
    snap = wait_terminal(run, 15000);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_expect_eq(tasks_given() - before, 3u, "exactly one task for each run");
}
