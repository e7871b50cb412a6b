/* interrupt_external_event.c: public scenario interrupt-external-event-correlation (INT-13, INT-15,
 * INT-33, H12.2).  Ours sends no bearer on the token route: the token alone must do (AUTH-14). */
#include "suite.h"

SCENARIO(interrupt_external_event);

#define EVENT(order)                                                                               \
    "{\"resumeValue\":{\"orderId\":\"" order "\",\"status\":\"completed\","                        \
    "\"externalReference\":\"conformance-test-123\"}}"

/* From interruptToken, or the last segment of callbackUrl. */
static const char *token_path(struct str snap) {
    struct str token = text_or_none(snap, "interrupt.interruptToken"), head, url;
    if (token.p != NULL) return fmt("/v1/interrupts/" STR_FMT, STR_ARG(token));
    url = text_at(snap, "interrupt.callbackUrl");
    cr_assert(has(url, "/v1/interrupts/"), STR_FMT, STR_ARG(url));
    cr_assert(str_cut_last(url, '/', &head, &token));
    return fmt("/v1/interrupts/" STR_FMT, STR_ARG(token));
}

static const char *waiting_run(const char **path) {
    need_fixture("conformance-interrupt-external-event");
    const char *run = create_run("conformance-interrupt-external-event", NULL);
    *path = token_path(wait_status(run, "waiting-external", lifecycle_ms()));
    return run;
}

Test(interrupt_external_event, the_expected_event_resumes_the_run) {
    const char *path, *run = waiting_run(&path);
    struct reply r = ask("GET", path, NULL, NO_AUTH);
    cr_assert_eq(r.status, 200, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.json, "kind"), "external-event"), "looking does not resolve");
    r = ask("POST", path, EVENT("fixture-order-1"), NO_AUTH);
    cr_assert(r.status >= 200 && r.status < 300, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    struct str snap = wait_terminal(run, lifecycle_ms());
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
}

Test(interrupt_external_event, another_event_is_refused_and_the_run_keeps_waiting) {
    const char *path, *run = waiting_run(&path);
    struct reply r = ask("POST", path, EVENT("different-order"), NO_AUTH);
    cr_expect(r.status == 422 || r.status == 400, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    struct str status = text_at(snapshot(run), "status");
    cr_expect(str_starts(status, STR("waiting-")), STR_FMT, STR_ARG(status));
    r = ask("POST", path, EVENT("fixture-order-1"), NO_AUTH);
    cr_expect(r.status >= 200 && r.status < 300, "a refused event does not use up the token: %ld",
              r.status);
    wait_terminal(run, lifecycle_ms());
}

Test(interrupt_external_event, a_changed_token_opens_nothing) {
    const char *path, *run = waiting_run(&path);
    char *bad = arena_cstr(test_arena(), str_c(path));
    size_t n = strlen(bad);
    for (size_t i = n - 8; i < n - 4; i++) bad[i] = bad[i] == 'A' ? 'B' : 'A';
    struct reply r = ask("GET", bad, NULL, NO_AUTH);
    cr_expect(r.status == 404 || r.status == 401, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    r = ask("POST", bad, EVENT("fixture-order-1"), NO_AUTH);
    cr_expect(r.status == 404 || r.status == 401, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    cr_expect(str_starts(text_at(snapshot(run), "status"), STR("waiting-")));
    ask("POST", run_path(run, "/cancel"), "{\"reason\":\"conformance-cleanup\"}", NULL);
}
