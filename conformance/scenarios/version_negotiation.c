/* version_negotiation.c: public scenario version-negotiation (EVT-1 to EVT-3, SSE-36, SSE-40). */
#include "suite.h"

SCENARIO(version_negotiation);

static const char *ended_run(void) {
    need_fixture("conformance-noop");
    const char *run = create_run("conformance-noop", NULL);
    wait_terminal(run, lifecycle_ms());
    return run;
}

Test(version_negotiation, document_names_the_protocol_version) {
    cr_expect(text_at(document(), "protocolVersion").n > 0);
}

Test(version_negotiation, every_event_has_the_required_members) {
    static const char *const strings[] = {"eventId", "runId", "type", "timestamp"};
    struct json_elements ev = poll_events(ended_run(), "?lastSequence=0&timeout=1");
    cr_assert_gt(ev.n, 0u);
    for (size_t i = 0; i < ev.n; i++) {
        for (size_t k = 0; k < COUNT(strings); k++) cr_expect(text_at(ev.v[i], strings[k]).n > 0);
        cr_expect_not_null(at(ev.v[i], "payload").p);
        cr_expect_geq(int_at(ev.v[i], "sequence"), 0);
    }
}

Test(version_negotiation, sequences_rise) {
    struct json_elements ev = poll_events(ended_run(), "?lastSequence=0&timeout=1");
    cr_assert_gt(ev.n, 0u);
    for (size_t i = 1; i < ev.n; i++)
        cr_expect_gt(int_at(ev.v[i], "sequence"), int_at(ev.v[i - 1], "sequence"));
}

Test(version_negotiation, beyond_the_end_there_is_nothing) {
    struct reply r =
        ask("GET", run_path(ended_run(), "/events/poll?lastSequence=99999&timeout=1"), NULL, NULL);
    bool complete = false;
    cr_assert_eq(r.status, 200, "%ld", r.status);
    cr_expect_eq(list_at(r.json, "events").n, 0u);
    cr_expect(json_bool(at(r.json, "isComplete"), &complete) && complete);
}
