/* redaction.c: public scenario redaction (GEN-6, OPT-8, OBS-76: the snapshot may echo a reference,
 * an event may not). */
#include "suite.h"

SCENARIO(redaction);

Test(redaction, document_secrets_block_is_complete) {
    bool on = false;
    need_member("secrets");
    struct str doc = document();
    cr_assert(json_bool(at(doc, "secrets.supported"), &on));
    if (!on) cr_skip("secrets.supported is false");
    struct json_elements l = list_at(doc, "secrets.scopes");
    cr_expect_gt(l.n, 0u);
    for (size_t i = 0; i < l.n; i++) {
        struct str s = json_string(l.v[i], test_arena());
        cr_expect(str_eqc(s, "tenant") || str_eqc(s, "user") || str_eqc(s, "run"));
    }
    cr_expect(str_eqc(text_at(doc, "secrets.resolution"), "host-managed"));
}

Test(redaction, document_byok_is_a_subset_of_the_providers) {
    need_member("aiProviders.byok");
    struct str doc = document();
    struct json_elements l = list_at(doc, "aiProviders.byok");
    for (size_t i = 0; i < l.n; i++) {
        const char *p = arena_cstr(test_arena(), json_string(l.v[i], test_arena()));
        cr_expect(list_has(at(doc, "aiProviders.supported"), p), "%s", p);
    }
}

static void expect_credential_not_echoed(const char *token) {
    known_run();
    const char *const h[] = {fmt("Authorization: Bearer %s", token), NULL};
    struct reply r =
        ask("POST", "/v1/runs",
            "{\"workflowId\":\"conformance-noop\",\"tenantId\":\"conformance-tenant\"}", h);
    cr_expect_eq(r.status, 401, "an unknown credential: %ld", r.status);
    expect_no_canary(r.body, "the answer to a bad credential");
    expect_no_canary(r.headers, "the headers of that answer");
}

Test(redaction, a_token_is_not_echoed) { expect_credential_not_echoed(CANARY_JWT); }
Test(redaction, a_credential_reference_is_not_echoed) { expect_credential_not_echoed(CANARY_CRED); }
Test(redaction, the_marker_is_not_echoed) {
    expect_credential_not_echoed("marker-direct-" CANARY_MARKER);
}

static void expect_reference_stays_out(const char *tenant) {
    bool complete = false;
    int64_t seen = 0;
    struct reply r = ask("POST", "/v1/runs",
                         fmt("{\"workflowId\":\"conformance-noop\"%s,\"configurable\":{\"ai\":"
                             "{\"credentialRef\":\"%s\"}}}",
                             tenant, CANARY_CRED),
                         NULL);
    if (r.status != 201)
        cr_skip("a run with configurable.ai.credentialRef%s is refused: %ld",
                *tenant != '\0' ? " in conformance-tenant" : "", r.status);
    expect_no_canary(r.body, "the answer to create");
    const char *run = arena_cstr(test_arena(), text_at(r.json, "runId"));
    for (int i = 0; i < 5 && !complete; i++) {
        r = ask("GET",
                run_path(run, fmt("/events/poll?lastSequence=%lld&timeout=5", (long long)seen)),
                NULL, NULL);
        cr_assert_eq(r.status, 200);
        expect_no_canary(r.body, "the event log");
        struct json_elements ev = list_at(r.json, "events");
        if (ev.n > 0) seen = int_at(ev.v[ev.n - 1], "sequence");
        cr_assert(json_bool(at(r.json, "isComplete"), &complete));
    }
    cr_expect(complete, "isComplete never became true");
    wait_terminal(run, lifecycle_ms());
    expect_no_canary(stream(run, "?streamMode=debug", NULL, 15000).raw, "the debug stream");
}

Test(redaction, a_credential_reference_never_reaches_the_log) {
    need_fixture("conformance-noop");
    need_flag("secrets.supported");
    expect_reference_stays_out(",\"tenantId\":\"conformance-tenant\"");
}

/* Ours: a host without a secret store must not store the reference in clear either. */
Test(redaction, an_unused_credential_reference_never_reaches_the_log) {
    need_fixture("conformance-noop");
    expect_reference_stays_out("");
}
