/* otel_trace_propagation.c: public scenario otel-trace-propagation (HTTP-12, OBS-1, OBS-3). */
#include "spans.h"
#include "suite.h"

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define CALLER "00f067aa0ba902b7"

SCENARIO(otel_trace_propagation);

static struct spans spans_with(const char *traceparent) {
    const char *const headers[] = {fmt("traceparent: %s", traceparent), NULL};
    need_collector();
    need_fixture("conformance-noop");
    struct reply r = ask("POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", headers);
    cr_assert_eq(r.status, 201);
    struct str id = text_at(r.json, "runId");
    const char *run = fmt(STR_FMT, STR_ARG(id));
    (void)wait_terminal(run, lifecycle_ms());
    return spans_wait(run, "openwop.run");
}

Test(otel_trace_propagation, all_spans_of_a_run_share_the_callers_trace) {
    struct spans s = spans_with("00-" TRACE "-" CALLER "-01");
    for (size_t i = 0; i < s.n; i++)
        cr_expect(str_eq_nocase(text_at(s.v[i], "traceId"), STR(TRACE)));
    cr_expect(str_eqc(text_at(span_named(&s, "openwop.run"), "parentSpanId"), CALLER));
}

Test(otel_trace_propagation, a_bad_context_is_ignored /* OBS-3 */) {
    struct spans s = spans_with("00-" TRACE "-0000000000000000-01");
    cr_expect_not(str_eq_nocase(text_at(span_named(&s, "openwop.run"), "traceId"), STR(TRACE)));
    cr_expect_null(at(span_named(&s, "openwop.run"), "parentSpanId").p);
}
