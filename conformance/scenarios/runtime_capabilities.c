/* runtime_capabilities.c: public scenario runtime-capabilities (CAP-18, EVT-24). */
#include "suite.h"

SCENARIO(runtime_capabilities);

Test(runtime_capabilities, document_lists_each_capability_once) {
    need_member("runtimeCapabilities");
    struct str doc = document();
    struct json_elements l = list_at(doc, "runtimeCapabilities");
    for (size_t i = 0; i < l.n; i++) {
        cr_expect(json_string(l.v[i], test_arena()).n > 0);
        for (size_t k = 0; k < i; k++) cr_expect_not(str_eq(l.v[i], l.v[k]));
    }
    cr_expect_not(list_has(at(doc, "runtimeCapabilities"), "conformance.never-provided"));
}

Test(runtime_capabilities, a_node_whose_needs_are_not_met_never_runs) {
    need_fixture("conformance-capability-missing");
    const char *run = create_run("conformance-capability-missing", NULL);
    struct str snap = wait_terminal(run, lifecycle_ms());
    cr_assert(str_eqc(text_at(snap, "status"), "failed"));
    cr_expect(str_eqc(text_at(snap, "error.code"), "capability_not_provided"));
    cr_expect(has(text_at(snap, "error.message"), "conformance.never-provided"));
    struct json_elements ev = poll_events(run, "?timeout=1");
    cr_expect_eq(count_of(ev, "node.completed"), 0u);
    cr_expect_eq(count_of(ev, "node.failed"), 1u);
    cr_expect_eq(count_of(ev, "run.failed"), 1u);
}
