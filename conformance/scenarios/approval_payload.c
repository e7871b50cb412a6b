/* approval_payload.c: public scenario approval-payload: its test that meets a host (INT-11), and
 * its tables of constants against what a host really sends (INT-9, INT-10, INT-21). */
#include "suite.h"

SCENARIO(approval_payload);

Test(approval_payload, document_does_not_use_the_legacy_action_name) {
    cr_expect_not(has(document(), "\"edit\""));
}

static void only_from(struct str list, const char *const *allowed, size_t n) {
    struct json_elements l = list_at(list, "");
    cr_expect(l.n > 0);
    for (size_t i = 0; i < l.n; i++) {
        bool found = false;
        for (size_t k = 0; k < n; k++)
            found = found || str_eqc(json_string(l.v[i], test_arena()), allowed[k]);
        cr_expect(found, STR_FMT, STR_ARG(l.v[i]));
    }
}

Test(approval_payload, a_request_offers_only_known_actions) {
    static const char *const resume[] = {"accept", "reject", "refine", "edit-accept", "ask"};
    static const char *const shown[] = {"accept", "reject", "refine", "edit", "ask"};
    need_fixture("conformance-approval");
    const char *run = create_run("conformance-approval", NULL);
    wait_status(run, "waiting-approval", lifecycle_ms());
    struct json_elements ev = poll_events(run, "?timeout=1");
    struct str asked = first_of(ev, "interrupt.requested");
    cr_assert_not_null(asked.p, "no interrupt.requested");
    cr_expect(str_eqc(text_at(asked, "payload.kind"), "approval"));
    cr_expect(text_at(asked, "payload.key").n > 0);
    cr_expect(text_at(asked, "payload.data.title").n > 0);
    cr_expect(text_at(asked, "payload.data.artifactId").n > 0);
    cr_expect(text_at(asked, "payload.data.artifactType").n > 0);
    only_from(at(asked, "payload.data.actions"), resume, COUNT(resume));
    struct str companion = first_of(ev, "approval.requested"); /* INT-10: SHOULD */
    if (companion.p != NULL && at(companion, "payload.actions").p != NULL)
        only_from(at(companion, "payload.actions"), shown, COUNT(shown));
    ask("POST", run_path(run, "/cancel"), "{\"reason\":\"conformance-cleanup\"}", NULL);
}
