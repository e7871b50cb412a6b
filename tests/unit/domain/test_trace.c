/* test_trace.c: the trace of a run and the ids of its spans (HTTP-12, OBS-1 to OBS-3, OBS-6). */
#include "domain/trace.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define CALLER "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"

static struct traceparent self(const struct trace_ctx *c) {
    return trace_format(c, c->parent, c->sampled);
}

Test(trace, a_callers_context_is_kept) {
    struct trace_ctx c;
    trace_of_run(STR(CALLER "1"), STR("run_1"), &c);
    cr_expect(c.has_parent && c.sampled);
    cr_expect_str_eq(self(&c).text, CALLER "1");
    trace_of_run(STR(CALLER "0"), STR("run_1"), &c);
    cr_expect(c.has_parent && !c.sampled);
    cr_expect_str_eq(self(&c).text, CALLER "0");
}

Test(trace, without_a_caller_the_run_id_decides_and_nothing_else) {
    struct trace_ctx x, y, z;
    trace_of_run(STR_NONE, STR("run_1"), &x);
    trace_of_run(STR_NONE, STR("run_1"), &y);
    trace_of_run(STR_NONE, STR("run_2"), &z);
    cr_expect_not(x.has_parent);
    cr_expect_arr_eq(x.trace, y.trace, sizeof x.trace);
    cr_expect_arr_neq(x.trace, z.trace, sizeof x.trace);
}

Test(trace, ids_of_different_things_differ) {
    uint8_t v[7][SPAN_ID_BYTES];
    trace_span_run(STR("r"), v[0]);
    trace_span_node(STR("r"), STR("n"), 0, v[1]);
    trace_span_node(STR("r"), STR("n"), 1, v[2]);
    trace_span_node(STR("rn"), STR(""), 0, v[3]);
    trace_span_attempt(STR("r"), STR("n"), 0, v[4]);
    trace_span_request(STR("r"), v[5]);
    trace_span_interrupt(STR("r"), v[6]);
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < i; k++) cr_expect_arr_neq(v[i], v[k], SPAN_ID_BYTES, "%d %d", i, k);
}

Test(trace, a_parents_decision_holds_only_where_it_is_asked) {
    struct trace_policy p = {.on = true, .parent_based = true, .root = TRACE_NEVER};
    struct trace_ctx root, yes, no;
    trace_of_run(STR_NONE, STR("r"), &root);
    trace_of_run(STR(CALLER "1"), STR("r"), &yes);
    trace_of_run(STR(CALLER "0"), STR("r"), &no);
    cr_expect(trace_sampled(&p, &yes) && !trace_sampled(&p, &no) && !trace_sampled(&p, &root));
    p.root = TRACE_ALWAYS;
    cr_expect(trace_sampled(&p, &yes) && !trace_sampled(&p, &no) && trace_sampled(&p, &root));
    p.parent_based = false;
    cr_expect(trace_sampled(&p, &no));
    p.on = false;
    cr_expect_not(trace_sampled(&p, &yes));
}

Test(trace, a_ratio_takes_its_part_of_the_runs_and_is_nested) {
    struct trace_policy tenth = {.on = true, .root = TRACE_RATIO, .ratio = 0.1}, half = tenth,
                        all = tenth, none = tenth;
    int took = 0;
    half.ratio = 0.5;
    all.ratio = 1;
    none.ratio = 0;
    for (int i = 0; i < 10000; i++) {
        char id[32];
        struct trace_ctx c;
        int n = snprintf(id, sizeof id, "run_%d", i);
        trace_of_run(STR_NONE, str_n(id, (size_t)n), &c);
        took += trace_sampled(&tenth, &c);
        cr_assert(!trace_sampled(&tenth, &c) || trace_sampled(&half, &c));
        cr_assert(trace_sampled(&all, &c) && !trace_sampled(&none, &c));
    }
    cr_expect(took > 850 && took < 1150, "%d", took); /* five sigmas; ids are fixed */
}

Test(trace, others_are_told_of_what_is_recorded) {
    struct trace_policy on = {.on = true, .parent_based = true, .root = TRACE_ALWAYS},
                        off = {.on = false};
    uint8_t span[SPAN_ID_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct traceparent t;
    cr_expect_not(trace_onward(&off, STR_NONE, STR("r"), span, &t));
    cr_assert(trace_onward(&off, STR(CALLER "1"), STR("r"), span, &t));
    cr_expect_str_eq(t.text, CALLER "1"); /* passed on as it came */
    cr_assert(trace_onward(&on, STR(CALLER "0"), STR("r"), span, &t));
    cr_expect_str_eq(t.text, CALLER "0"); /* not recorded: no span of ours is named */
    cr_assert(trace_onward(&on, STR(CALLER "1"), STR("r"), span, &t));
    cr_expect_str_eq(t.text, "00-4bf92f3577b34da6a3ce929d0e0e4736-0102030405060708-01");
    cr_assert(trace_onward(&on, STR_NONE, STR("r"), span, &t));
    cr_expect_str_eq(t.text + 35, "-0102030405060708-01");
}

/* OBS-1: one text, in which the traceparent alone decides. */
Test(trace, what_vendors_add_goes_on_beside_it) {
    const struct trace_policy off = {.on = false};
    struct arena *a = arena_new(4096);
    struct str parent = STR("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    struct str both = trace_context(parent, STR("a=1,b=2"), a), run = STR("run_1");
    struct trace_ctx alone, with;
    struct traceparent t;
    uint8_t span[SPAN_ID_BYTES];
    trace_span_run(run, span);
    trace_of_run(parent, run, &alone);
    trace_of_run(both, run, &with);
    cr_expect_eq(memcmp(alone.trace, with.trace, sizeof with.trace), 0);
    cr_expect_eq(memcmp(alone.parent, with.parent, sizeof with.parent), 0);
    cr_expect(with.has_parent && with.sampled);
    cr_expect(str_eqc(trace_state(both), "a=1,b=2"));
    cr_expect_eq(trace_state(parent).n, 0u);
    cr_expect_eq(trace_context(STR_NONE, STR("a=1"), a).n, 0u,
                 "without a traceparent it is nothing");
    cr_expect_eq(trace_context(parent, STR_NONE, a).n, parent.n);
    cr_assert(trace_onward(&off, both, run, span, &t));
    cr_expect(str_eq(str_c(t.text), parent));
    arena_free(a);
}
