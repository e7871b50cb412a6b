/* interrupt_auth_required.c: public scenario interrupt-auth-required-resume (INT-39, INT-40).  Its
 * test with a second key overwrites its own header and cannot pass (H12.8); here the request
 * without any credential stands for it. */
#include "suite.h"

SCENARIO(interrupt_auth_required);

#define ACCEPT "{\"resumeValue\":{\"action\":\"accept\"}}"

static const char *waiting_run(void) {
    need_fixture("conformance-interrupt-auth-required");
    const char *run = create_run("conformance-interrupt-auth-required", NULL);
    wait_status(run, "waiting-approval", lifecycle_ms());
    return run;
}

Test(interrupt_auth_required, a_key_with_the_scope_resolves) {
    const char *run = waiting_run();
    struct reply r = ask("POST", run_path(run, "/interrupts/gate"), ACCEPT, NULL);
    cr_assert(r.status >= 200 && r.status < 300, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    struct str snap = wait_terminal(run, lifecycle_ms());
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
}

Test(interrupt_auth_required, nobody_resolves_without_a_credential) {
    const char *run = waiting_run();
    struct reply r = ask("POST", run_path(run, "/interrupts/gate"), ACCEPT, NO_AUTH);
    cr_expect_eq(r.status, 401, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    struct str snap = snapshot(run);
    cr_expect(str_eqc(text_at(snap, "status"), "waiting-approval"));
    struct str token = text_or_none(snap, "interrupt.interruptToken");
    if (token.p != NULL) { /* INT-40: none should be handed out; if one is, it must not work */
        r = ask("POST", fmt("/v1/interrupts/" STR_FMT, STR_ARG(token)), ACCEPT, NO_AUTH);
        cr_expect_eq(r.status, 403, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    }
    ask("POST", run_path(run, "/cancel"), "{\"reason\":\"conformance-cleanup\"}", NULL);
}
