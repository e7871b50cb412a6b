/* x_dedup.c: ours: X-Dedup: enforce allows one active run per scopeId (RUN-7, RUN-8). */
#include "suite.h"

SCENARIO(x_dedup);

static const char *const ENFORCE[] = {"X-Dedup: enforce", NULL};

Test(x_dedup, a_second_active_run_of_a_scope_is_refused) {
    need_fixture("conformance-cancellable");
    const char *body =
        fmt("{\"workflowId\":\"conformance-cancellable\",\"scopeId\":\"conformance-%lld\","
            "\"inputs\":{\"delayMs\":20000}}",
            (long long)now_ms());
    struct reply r = ask("POST", "/v1/runs", body, ENFORCE);
    cr_assert_eq(r.status, 201, "%ld " STR_FMT, r.status, STR_ARG(r.body));
    const char *run = arena_cstr(test_arena(), text_at(r.json, "runId"));
    r = ask("POST", "/v1/runs", body, ENFORCE);
    cr_expect_eq(r.status, 409, "%ld", r.status);
    cr_expect(str_eqc(text_at(r.json, "error"), "run_already_active"));
    cr_expect(str_eqc(text_at(r.json, "details.activeRunId"), run));
    cr_expect(header(&r, "Retry-After").n > 0);
    ask("POST", run_path(run, "/cancel"), "{}", NULL);
    wait_status(run, "cancelled", 5000);
    r = ask("POST", "/v1/runs", body, ENFORCE);
    cr_assert_eq(r.status, 201, "the scope is free after the end: %ld", r.status);
    ask("POST", run_path(arena_cstr(test_arena(), text_at(r.json, "runId")), "/cancel"), "{}",
        NULL);
}

Test(x_dedup, a_scope_is_needed) {
    known_run();
    struct reply r = ask("POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", ENFORCE);
    cr_assert_eq(r.status, 400, "%ld", r.status);
    cr_expect(str_eqc(text_at(r.json, "error"), "validation_error"));
}
