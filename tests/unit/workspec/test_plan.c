/* test_plan.c: plans of documents (section 3, vectors C-1 to C-5, C-8, C-9), zones, pictures. */
#include "kit.h"
#include "workspec/schedule.h"

static struct arena *a;
static void up(void) { a = arena_new(WS_ARENA_BYTES_MAX); }
static void down(void) { arena_free(a); }
TestSuite(workspec_plan, .init = up, .fini = down);

/* A world with one zone, where it is five hours earlier, and four in summer. */
static bool new_york(void *ctx, struct str name, int64_t utc_ms, int32_t *offset_s) {
    (void)ctx;
    *offset_s = utc_ms % (365 * WS_DAY_MS) > 180 * WS_DAY_MS ? -4 * 3600 : -5 * 3600;
    return str_eqc(name, "America/New_York");
}
static const struct ws_zones ZONES = {.offset = new_york};

static struct ws_plan plan_of(struct str text) {
    struct wopr_error err = {0};
    struct ws_plan p;
    struct ws_doc doc = kit_parse(a, text, WS_JSON);
    cr_assert_eq(ws_compile(&doc, &ZONES, a, &p, &err), 0, "%s", err.message);
    return p;
}

static struct ws_report report_of(struct str text) {
    struct ws_doc doc = kit_parse(a, text, WS_JSON);
    return kit_validate(a, &doc, &ZONES, WS_HOST);
}

static bool only(const struct ws_report *r, enum ws_code code, const char *context) {
    return r->nr == 1 && r->v[0].code == code && str_eqc(r->v[0].context, context);
}

#define C1_TASKS                                                                                   \
    "{\"id\":\"t1\",\"actor_id\":\"a\",\"start\":\"09:00\",\"duration\":30},"                      \
    "{\"id\":\"t2\",\"actor_id\":\"b\",\"start\":\"09:00\",\"duration\":120},"                     \
    "{\"id\":\"t3\",\"actor_id\":\"m\",\"start\":\"09:00\",\"duration\":60},"                      \
    "{\"id\":\"t4\",\"actor_id\":\"w\",\"start\":\"%s\",\"duration\":10,"                          \
    "\"depends_on\":{\"all\":[\"t1\"],\"any\":[\"t2\",\"t3\",\"t2\"]}}"

Test(workspec_plan, c_1_all_and_the_earliest_of_any_ws_56_ws_58) {
    struct str good = arena_printf(a, C1_TASKS, "10:00"),
               early = arena_printf(a, C1_TASKS, "09:45");
    struct ws_report r = report_of(kit_document(a, KIT_CONFIG, good.p));
    cr_expect_eq(r.nr, 0);
    struct ws_plan p = plan_of(kit_document(a, KIT_CONFIG, good.p));
    cr_expect(p.v[3].all_nr == 1 && p.v[3].all[0] == 0);
    cr_expect(p.v[3].any_nr == 2 && p.v[3].any[0] == 1 && p.v[3].any[1] == 2, "each once");
    r = report_of(kit_document(a, KIT_CONFIG, early.p));
    cr_expect(only(&r, WS_R66,
                   "{\"task_id\":\"t4\",\"start_minutes\":585,\"required_end_minutes\":600}"));
}

#define TASK(id, actor, start)                                                                     \
    "{\"id\":\"" id "\",\"actor_id\":\"" actor "\",\"start\":" start ",\"duration\":30}"

/* A stored text that no validator has seen (WS-58): its run would wait for ever. */
Test(workspec_plan, tasks_that_wait_for_each_other_are_no_plan_ws_58) {
    static const struct {
        const char *first, *second; /* what the tasks depend on */
        bool good;
    } ROWS[] = {{"[\"t1\"]", "[]", false},
                {"[\"t2\"]", "[\"t1\"]", false},
                {"{\"any\":[\"t2\",\"t3\"]}", "{\"all\":[\"t1\"]}", false},
                {"[\"t2\",\"t3\"]", "[\"t3\"]", true},
                {"[\"nobody\"]", "[\"t3\"]", true}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        struct str tasks =
            arena_printf(a,
                         "{\"id\":\"t1\",\"actor_id\":\"a\",\"start\":\"11:00\",\"duration\":30,"
                         "\"depends_on\":%s},"
                         "{\"id\":\"t2\",\"actor_id\":\"b\",\"start\":\"10:00\",\"duration\":30,"
                         "\"depends_on\":%s},"
                         "{\"id\":\"t3\",\"actor_id\":\"m\",\"start\":\"09:00\",\"duration\":30}",
                         ROWS[i].first, ROWS[i].second);
        struct ws_doc doc = kit_parse(a, kit_document(a, KIT_CONFIG, tasks.p), WS_JSON);
        struct wopr_error err = {0};
        struct ws_plan p;
        cr_expect_eq(ws_compile(&doc, &ZONES, a, &p, &err), ROWS[i].good ? 0 : WOPR_E_VALIDATION,
                     "%zu: %s", i, err.message);
        if (!ROWS[i].good) cr_expect_str_eq(err.pointer, "/simulation/process/tasks");
    }
}

Test(workspec_plan, c_2_forms_of_starts_on_one_timeline_ws_60) {
    const char *config = ",\"time_unit\":\"minutes\",\"start_time\":\"2026-02-03T08:00:00Z\","
                         "\"end_time\":\"2026-02-05T18:00:00Z\"";
    struct str text = kit_document(
        a, config,
        TASK("t1", "a", "\"09:00\"") "," TASK("t2", "b", "{\"day\":2,\"time\":\"00:30\"}") "," TASK(
            "t3", "m",
            "\"2026-02-03T12:00:00+"
            "02:00\""));
    struct ws_plan p = plan_of(text);
    char date[WS_DATE_SIZE];
    ws_date_format(p.anchor_days, date);
    cr_expect(p.anchored && strcmp(date, "2026-02-03") == 0 && p.offset_min == 0);
    cr_expect_eq(p.origin_ms, 28800000);
    cr_expect(p.v[0].start_ms == 32400000 && p.v[1].start_ms == 88200000 &&
              p.v[2].start_ms == 36000000);
    struct ws_report r = report_of(text);
    cr_expect_eq(r.nr, 0, "no H22: the first day is certain");
}

Test(workspec_plan, c_3_an_anchor_from_the_earliest_date_h22) {
    struct str text = kit_document(
        a, ",\"time_unit\":\"minutes\",\"start_time\":\"08:00\",\"end_time\":\"19:00\"",
        TASK("t1", "a", "\"2026-02-04T23:30:00Z\"") "," TASK(
            "t2", "b", "{\"day\":2,\"time\":\"00:15\"}") "," TASK("t3", "m",
                                                                  "\"2026-02-03T01:00:00Z"
                                                                  "\""));
    struct ws_plan p = plan_of(text);
    char date[WS_DATE_SIZE];
    ws_date_format(p.anchor_days, date);
    cr_expect_str_eq(date, "2026-02-03");
    cr_expect(p.v[0].start_ms == 171000000 && p.v[1].start_ms == 87300000 &&
              p.v[2].start_ms == 3600000);
    cr_expect_eq(p.origin_ms, 3600000);
    struct ws_report r = report_of(text);
    cr_expect(only(&r, WS_H22, "{\"anchor_date\":\"2026-02-03\"}"));
}

Test(workspec_plan, c_4_the_offset_of_a_zone_ws_59) {
    struct str text = kit_document(a, KIT_CONFIG ",\"timezone\":\"America/New_York\"",
                                   TASK("t1", "a", "\"2026-02-03T00:30:00Z\""));
    struct ws_plan p = plan_of(text);
    char date[WS_DATE_SIZE];
    ws_date_format(p.anchor_days, date);
    cr_expect_str_eq(date, "2026-02-02");
    cr_expect(p.offset_min == -300 && p.v[0].start_ms == 70200000);
}

Test(workspec_plan, c_4_with_the_zones_of_this_machine_ws_3) {
    struct ws_system_zones *system = ws_system_zones_new();
    struct ws_zones z = ws_system_zones(system);
    const int64_t winter = INT64_C(1769990400000), summer = INT64_C(1785542400000); /* 2026 */
    static const char *const BAD[] = {
        "../../../etc/passwd", "America/New_York/", "",         "/etc/passwd",
        "posixrules/../UTC",   "america/new_york",  "tzdata.zi"};
    int32_t s = 1;
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
        cr_expect_not(z.offset(z.ctx, str_c(BAD[i]), winter, &s), "%s", BAD[i]);
    if (z.offset(z.ctx, STR("America/New_York"), winter, &s)) {
        cr_expect_eq(s, -5 * 3600);
        cr_expect(z.offset(z.ctx, STR("America/New_York"), summer, &s) && s == -4 * 3600);
        cr_expect(z.offset(z.ctx, STR("Asia/Kolkata"), winter, &s) && s == 19800);
        cr_expect(z.offset(z.ctx, STR("US/Eastern"), winter, &s) && s == -5 * 3600, "a link");
    } else {
        fprintf(stderr, "skipped: this machine has no zone data\n");
    }
    ws_system_zones_free(system);
}

Test(workspec_plan, c_5_order_of_steps_ws_64) {
    struct ws_plan p = plan_of(
        kit_document(a, KIT_CONFIG,
                     "{\"id\":\"t1\",\"actor_id\":\"a\",\"start\":\"09:00\",\"duration\":30},"
                     "{\"id\":\"t2\",\"actor_id\":\"b\",\"start\":\"09:30\",\"duration\":10},"
                     "{\"id\":\"t3\",\"actor_id\":\"m\",\"start\":\"09:00\",\"duration\":30},"
                     "{\"id\":\"t4\",\"actor_id\":\"a\",\"start\":\"09:30\",\"duration\":30}"));
    static const struct ws_step WANT[] = {
        {false, 0, 32400000}, {false, 2, 32400000}, {true, 0, 34200000}, {true, 2, 34200000},
        {false, 1, 34200000}, {false, 3, 34200000}, {true, 1, 34800000}, {true, 3, 36000000}};
    struct ws_steps steps = {.plan = &p};
    struct ws_step s;
    for (size_t i = 0; i < sizeof WANT / sizeof *WANT; i++) {
        cr_assert(ws_next_step(&steps, &s));
        cr_expect(s.ends == WANT[i].ends && s.task == WANT[i].task && s.vt == WANT[i].vt, "%zu", i);
    }
    cr_expect_not(ws_next_step(&steps, &s));
}

#define C6_TASKS                                                                                   \
    "{\"id\":\"t1\",\"actor_id\":\"a\",\"start\":\"09:00\",\"duration\":30},"                      \
    "{\"id\":\"t2\",\"actor_id\":\"a\",\"start\":\"09:30\",\"duration\":20,\"priority\":\"low\"}," \
    "{\"id\":\"t3\",\"actor_id\":\"a\",\"start\":\"10:00\",\"duration\":30,"                       \
    "\"priority\":\"critical\"},"                                                                  \
    "{\"id\":\"t4\",\"actor_id\":\"m\",\"start\":\"09:30\",\"duration\":10,"                       \
    "\"depends_on\":[\"t1\"]}"
#define CLOCK(h, m) ((int64_t)(h)*3600000 + (int64_t)(m)*60000)

static void expect_steps(struct ws_schedule *s, int64_t now, const struct ws_step *want, size_t nr,
                         enum ws_next then, int64_t until) {
    struct ws_step out;
    for (size_t i = 0; i < nr; i++) {
        cr_assert_eq(ws_schedule_next(s, now, &out), WS_NEXT_STEP, "step %zu", i);
        cr_expect(out.ends == want[i].ends && out.task == want[i].task && out.vt == want[i].vt,
                  "step %zu: %d of task %u at %lld", i, out.ends, out.task, (long long)out.vt);
    }
    cr_assert_eq(ws_schedule_next(s, now, &out), then);
    if (then == WS_NEXT_LATER) cr_expect_eq(out.vt, until);
}

Test(workspec_plan, c_6_a_person_who_is_late_ws_63_ws_112_ws_118) {
    static const bool ASKS[] = {true, false, false, false};
    static const struct ws_step FIRST[] = {{false, 0, CLOCK(9, 0)}};
    static const struct ws_step THEN[] = {{true, 0, CLOCK(10, 10)},  {false, 3, CLOCK(10, 10)},
                                          {false, 2, CLOCK(10, 10)}, {true, 3, CLOCK(10, 20)},
                                          {true, 2, CLOCK(10, 40)},  {false, 1, CLOCK(10, 40)},
                                          {true, 1, CLOCK(11, 0)}};
    struct ws_plan p = plan_of(kit_document(a, KIT_CONFIG, C6_TASKS));
    struct ws_schedule *s = ws_schedule_new(&p, ASKS, WS_REAL, a);
    expect_steps(s, CLOCK(8, 59), NULL, 0, WS_NEXT_LATER, CLOCK(9, 0));
    expect_steps(s, CLOCK(9, 10), FIRST, 1, WS_NEXT_LATER, CLOCK(9, 30));
    expect_steps(s, CLOCK(10, 9), NULL, 0, WS_NEXT_BLOCKED, 0);
    cr_expect_not(ws_schedule_answer(s, 1, CLOCK(10, 9)), "it has not begun, and asks nobody");
    cr_expect(ws_schedule_answer(s, 0, CLOCK(10, 10)));
    cr_expect_not(ws_schedule_answer(s, 0, CLOCK(10, 11)), "once");
    expect_steps(s, CLOCK(10, 10), THEN, 3, WS_NEXT_LATER, CLOCK(10, 20));
    expect_steps(s, CLOCK(23, 0), THEN + 3, 4, WS_NEXT_DONE, 0);
}

Test(workspec_plan, c_7_the_virtual_clock_waits_for_people_but_not_longer_ws_118) {
    static const bool ASKS[] = {true, false, false, false};
    static const struct ws_step FIRST[] = {{false, 0, CLOCK(9, 0)}};
    static const struct ws_step THEN[] = {{true, 0, CLOCK(9, 30)},  {false, 1, CLOCK(9, 30)},
                                          {false, 3, CLOCK(9, 30)}, {true, 3, CLOCK(9, 40)},
                                          {true, 1, CLOCK(9, 50)},  {false, 2, CLOCK(10, 0)},
                                          {true, 2, CLOCK(10, 30)}};
    struct ws_plan p = plan_of(kit_document(a, KIT_CONFIG, C6_TASKS));
    struct ws_schedule *s = ws_schedule_new(&p, ASKS, WS_VIRTUAL, a);
    expect_steps(s, 0, FIRST, 1, WS_NEXT_BLOCKED, 0);
    cr_expect(ws_schedule_answer(s, 0, CLOCK(10, 10)));
    expect_steps(s, 0, THEN, 7, WS_NEXT_DONE, 0);
}

Test(workspec_plan, an_early_answer_lets_nobody_start_before_the_plan_ws_118) {
    static const bool ASKS[] = {true, false, false, false};
    static const struct ws_step FIRST[] = {{false, 0, CLOCK(9, 0)}, {true, 0, CLOCK(9, 5)}};
    struct ws_plan p = plan_of(kit_document(a, KIT_CONFIG, C6_TASKS));
    struct ws_schedule *s = ws_schedule_new(&p, ASKS, WS_REAL, a);
    expect_steps(s, CLOCK(9, 1), FIRST, 1, WS_NEXT_LATER, CLOCK(9, 30));
    cr_expect(ws_schedule_answer(s, 0, CLOCK(9, 5)));
    expect_steps(s, CLOCK(9, 6), FIRST + 1, 1, WS_NEXT_LATER, CLOCK(9, 30));
}

Test(workspec_plan, c_8_ids_of_nodes_ws_97) {
    char id[251];
    memset(id, 'a', 250);
    id[250] = '\0';
    struct str task = arena_printf(
        a, "{\"id\":\"%s\",\"actor_id\":\"a\",\"start\":\"09:00\",\"duration\":30}", id);
    struct ws_plan p = plan_of(kit_document(a, KIT_CONFIG, task.p));
    struct str want = arena_printf(a, "%.103s-3f3e35e0a775d9b1d5ec2ecc", id);
    cr_expect(str_eq(p.v[0].node_id, want), STR_FMT, STR_ARG(p.v[0].node_id));
    cr_expect_eq(p.v[0].node_id.n, WS_NODE_ID_MAX);
}

Test(workspec_plan, c_9_equal_plans_of_different_bytes_ws_45) {
    struct ws_plan x = plan_of(
        kit_document(a, ",\"time_unit\":\"hours\",\"start_time\":\"07:00\",\"end_time\":\"19:00\"",
                     "{\"id\":\"t\",\"actor_id\":\"a\",\"start\":\"09:00\",\"duration\":2}"));
    struct ws_plan y =
        plan_of(kit_document(a, KIT_CONFIG,
                             "{\"id\":\"t\",\"actor_id\":\"a\",\"start\":\"09:00\",\"duration\":"
                             "\"PT2H\"}"));
    cr_expect_not(sha256_eq(&x.document_sha, &y.document_sha));
    cr_expect(sha256_eq(&x.plan_sha, &y.plan_sha));
}

Test(workspec_plan, pictures_show_each_task_and_escape_names) {
    struct ws_plan p = plan_of(
        kit_document(a, KIT_CONFIG,
                     "{\"id\":\"x\",\"actor_id\":\"<b&\\\"\",\"start\":\"09:00\",\"duration\":30},"
                     "{\"id\":\"y\",\"actor_id\":\"m\",\"start\":{\"day\":2,\"time\":\"00:00:30\"},"
                     "\"duration\":\"1s\",\"depends_on\":[\"x\"]}"));
    struct buf b;
    buf_init(&b, 1 << 20);
    ws_draw_text(&b, &p, 78);
    cr_expect(strstr(b.p, "    day 2 00:00:30 - day 2 00:00:31  y, after x") != NULL, "%s", b.p);
    buf_reset(&b);
    ws_draw_svg(&b, &p);
    cr_expect(strstr(b.p, "&lt;b&amp;&quot;") != NULL && strstr(b.p, "<b&") == NULL);
    buf_reset(&b);
    p = plan_of(kit_document(a, KIT_CONFIG, ""));
    ws_draw_text(&b, &p, 78);
    cr_expect(strstr(b.p, "0 tasks, 0 performers") != NULL, "%s", b.p);
    buf_fini(&b);
}
