/* otel_emission.c: public scenario otel-emission (OBS-4, OBS-8, OBS-9), and the two on contexts. */
#include "spans.h"
#include "suite.h"

SCENARIO(otel_emission);

Test(otel_emission, a_run_has_a_run_span_and_a_node_span) {
    need_collector();
    need_fixture("conformance-noop");
    const char *run = create_run("conformance-noop", NULL);
    (void)wait_terminal(run, lifecycle_ms());
    struct spans s = spans_wait(run, "openwop.run");
    struct str node = span_begins(&s, "openwop.node."), top = span_begins(&s, "openwop.run");
    cr_assert_not_null(top.p, "no run span");
    cr_assert_not_null(node.p, "no node span");
    cr_expect(str_eqc(span_text(top, "openwop.workflow_id"), "conformance-noop"));
    cr_expect(str_eqc(span_text(top, "openwop.run_id"), run));
    cr_expect(str_eqc(span_text(node, "openwop.run_id"), run));
    cr_expect_gt(span_text(node, "openwop.node_id").n, 0);
    cr_expect_gt(span_text(node, "openwop.node_type").n, 0);
    int64_t attempt = -1;
    cr_expect(str_i64(span_text(node, "openwop.node_attempt"), &attempt) && attempt >= 0);
}

Test(otel_emission, spans_have_the_shape_of_otlp_json /* OBS-9 */) {
    need_collector();
    need_fixture("conformance-noop");
    const char *run = create_run("conformance-noop", NULL);
    (void)wait_terminal(run, lifecycle_ms());
    struct spans s = spans_wait(run, "openwop.run");
    for (size_t i = 0; i < s.n; i++) {
        int64_t from = 0, to = 0;
        cr_expect_eq(text_at(s.v[i], "traceId").n, 32);
        cr_expect_eq(text_at(s.v[i], "spanId").n, 16);
        cr_expect(str_i64(text_at(s.v[i], "startTimeUnixNano"), &from));
        cr_expect(str_i64(text_at(s.v[i], "endTimeUnixNano"), &to));
        cr_expect(from > 0 && from <= to);
        cr_expect(is_type(s.v[i], "kind", JSON_NUMBER));
    }
}

Test(otel_emission, a_node_span_is_below_its_run_span) {
    need_collector();
    need_fixture("conformance-noop");
    const char *run = create_run("conformance-noop", NULL);
    (void)wait_terminal(run, lifecycle_ms());
    struct spans s = spans_wait(run, "openwop.run");
    struct str node = span_named(&s, "openwop.node.core.noop"), top = span_named(&s, "openwop.run");
    if (node.p == NULL) cr_skip("the host has another type for the node of conformance-noop");
    cr_expect(str_eq(text_at(node, "parentSpanId"), text_at(top, "spanId")));
    cr_expect(str_eq(text_at(node, "traceId"), text_at(top, "traceId")));
}
