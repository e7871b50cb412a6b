/*
 * test_growth.c: what a task costs to check and to play does not grow with the number of tasks,
 * whatever ties them together; documents may have 10,000 of them (WS-9).
 */
#include "base/buf.h"
#include "support/growth.h"
#include "workspec/interpret.h"
#include "workspec/validate.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <malloc.h>

struct shape {
    unsigned at_once; /* tasks of a quarter of an hour, each with a performer of its own */
    bool chain;       /* a task waits for the one before it of its performer */
    bool one_first;   /* all wait for the first one */
    bool one_stock;   /* all change the same object */
    bool own_stock;   /* each has an object of its own, which it makes and consumes */
    bool plays;       /* measured is the play, not the check */
};

static void task_put(struct buf *b, const struct shape *s, unsigned i) {
    unsigned quarter = i / s->at_once;
    buf_addf(b,
             "%s{\"id\":\"t%u\",\"actor_id\":\"p%u\",\"start\":{\"day\":%u,\"time\":"
             "\"%02u:%02u\"},\"duration\":15,\"interactions\":[",
             i == 0 ? "" : ",", i, i % s->at_once, quarter / 96 + 1, quarter % 96 / 4,
             quarter % 4 * 15);
    const char *comma = "";
    if (s->one_stock) {
        buf_addf(b, "{\"target_id\":\"stock\",\"property_changes\":{\"quantity\":{\"delta\":%d}}}",
                 i % 2 == 0 ? 1 : -1);
        comma = ",";
    }
    if (s->own_stock)
        buf_addf(b,
                 "%s{\"target_id\":\"s%u\",\"property_changes\":{\"quantity\":{\"from\":1,\"to\":"
                 "2}}}",
                 comma, i);
    buf_addz(b, "]");
    if (s->chain && i >= s->at_once) buf_addf(b, ",\"depends_on\":[\"t%u\"]", i - s->at_once);
    if (s->one_first && i >= s->at_once) buf_addz(b, ",\"depends_on\":[\"t0\"]");
    buf_addc(b, '}');
}

static void document_put(struct buf *b, const struct shape *s, unsigned tasks) {
    buf_addz(b, "{\"simulation\":{\"schema_version\":\"2.0\",\"meta\":{\"title\":\"T\","
                "\"description\":\"D\",\"domain\":\"M\"},\"config\":{\"time_unit\":\"minutes\","
                "\"start_time\":\"00:00\",\"end_time\":\"23:00\",\"currency\":\"EUR\",\"locale\":"
                "\"en-IE\"},\"world\":{\"objects\":[{\"id\":\"stock\",\"type\":\"product\","
                "\"name\":\"S\",\"properties\":{\"quantity\":100}}");
    for (unsigned i = 0; i < s->at_once; i++)
        buf_addf(b,
                 ",{\"id\":\"p%u\",\"type\":\"equipment\",\"name\":\"P\",\"properties\":{\"state\":"
                 "\"free\"}}",
                 i);
    for (unsigned i = 0; s->own_stock && i < tasks; i++)
        buf_addf(b,
                 ",{\"id\":\"s%u\",\"type\":\"product\",\"name\":\"S\",\"properties\":{"
                 "\"quantity\":1}}",
                 i);
    buf_addz(b, "]},\"process\":{\"tasks\":[");
    for (unsigned i = 0; i < tasks; i++) task_put(b, s, i);
    buf_addz(b, "]}}}");
}

static void plan_play(const struct ws_plan *p, struct arena *a) {
    struct ws_world *w = ws_world_new(p, a);
    struct ws_steps steps = {.plan = p};
    struct ws_outcome out = {.failure = {.kind = WS_F_NONE}};
    struct ws_step st;
    cr_assert_not_null(w);
    while (ws_next_step(&steps, &st)) {
        if (st.ends) ws_end(w, st.task, st.vt, &out);
        else ws_begin(w, st.task, st.vt, &out);
        cr_assert_eq(out.failure.kind, WS_F_NONE, "task %u", (unsigned)st.task);
    }
}

static uint64_t document_cost(void *ctx, unsigned tasks) {
    const struct shape *s = ctx;
    const struct ws_options o = {.profile = WS_HOST};
    struct wopr_error err = {0};
    struct arena *a = arena_new(SIZE_MAX / 2);
    struct ws_doc doc;
    struct ws_report r;
    struct ws_plan p;
    struct buf b;
    cr_assert_not_null(a);
    buf_init(&b, SIZE_MAX / 2);
    document_put(&b, s, tasks);
    uint64_t from = cpu_time_us();
    cr_assert_eq(ws_parse(buf_str(&b), WS_JSON, &WS_LIMITS_DEFAULT, a, &doc, &err), 0, "%s",
                 err.message);
    ws_report_init(&r, a);
    cr_assert_eq(ws_validate(&doc, &o, &r, &err), 0, "%s", err.message);
    cr_assert(ws_report_ok(&r), "%.*s %.*s", r.nr ? (int)r.v[0].instance.n : 0,
              r.nr ? r.v[0].instance.p : "", r.nr ? (int)r.v[0].context.n : 0,
              r.nr ? r.v[0].context.p : "");
    ws_report_fini(&r);
    uint64_t checked = cpu_time_us() - from;
    if (s->plays) {
        cr_assert_eq(ws_compile(&doc, NULL, a, &p, &err), 0, "%s", err.message);
        from = cpu_time_us();
        plan_play(&p, a);
    }
    uint64_t played = cpu_time_us() - from;
    buf_fini(&b);
    arena_free(a);
    return s->plays ? played : checked;
}

static void expect_no_square(struct shape s) {
    char told[512];
    for (int i = 0; i < 2; i++) {
        s.plays = i == 1;
        struct growth g = {document_cost, &s, 2000, 8000, GROWTH_FACTOR, 2000};
        cr_expect(growth_holds(&g, told, sizeof told), "%s: %s", s.plays ? "played" : "checked",
                  told);
    }
}

/* Memory that was used once stays with the process: on some machines a fresh page costs more than
 * what is done with it, and only the larger size would need any. */
static void memory_keep(void) {
    (void)mallopt(M_MMAP_THRESHOLD, 16 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
}
TestSuite(workspec_growth, .init = memory_keep);

Test(workspec_growth, tasks_of_one_performer) {
    expect_no_square((struct shape){.at_once = 1, .chain = true, .one_stock = true});
}

Test(workspec_growth, tasks_of_many_performers) {
    expect_no_square((struct shape){.at_once = 50, .chain = true, .one_stock = true});
}

Test(workspec_growth, all_tasks_at_once) {
    expect_no_square((struct shape){.at_once = 4000, .one_stock = true});
}

Test(workspec_growth, all_wait_for_the_first) {
    expect_no_square((struct shape){.at_once = 50, .one_first = true});
}

Test(workspec_growth, each_has_an_object_of_its_own) {
    expect_no_square((struct shape){.at_once = 10, .own_stock = true});
}
