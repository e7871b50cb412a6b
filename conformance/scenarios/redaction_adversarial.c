/* redaction_adversarial.c: public scenario redactionAdversarial (EVT-11, GEN-6). */
#include "suite.h"

SCENARIO(redaction_adversarial);

static void expect_input_not_logged(const char *extras) {
    need_fixture("conformance-noop");
    const char *run = create_run("conformance-noop", extras);
    wait_terminal(run, lifecycle_ms());
    struct reply r = ask("GET", run_path(run, "/events/poll"), NULL, NULL);
    cr_assert_eq(r.status, 200);
    cr_assert_gt(list_at(r.json, "events").n, 0u);
    expect_no_canary(r.body, "the event log");
}

Test(redaction_adversarial, a_key_as_input_is_not_logged) {
    expect_input_not_logged("\"inputs\":{\"userSuppliedField\":\"" CANARY_OPENAI "\"}");
}

Test(redaction_adversarial, a_key_inside_a_text_is_not_logged) {
    expect_input_not_logged("\"inputs\":{\"descriptiveText\":\"please use " CANARY_CLAUDE
                            " for this\"}");
}

Test(redaction_adversarial, a_key_of_another_shape_is_not_logged) {
    expect_input_not_logged("\"inputs\":{\"nested\":[{\"note\":\"" CANARY_GOOGLE "\"}]}");
}

Test(redaction_adversarial, a_token_as_workflow_id_is_not_echoed) {
    known_run();
    struct reply r = ask("POST", "/v1/runs",
                         "{\"workflowId\":\"nonexistent-" CANARY_JWT "\",\"inputs\":{}}", NULL);
    cr_expect(r.status == 400 || r.status == 404, "%ld", r.status);
    expect_no_canary(r.body, "the refusal");
}
