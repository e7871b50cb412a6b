/* test_validate.c: what the vectors leave open and the public validator was seen to do (WS-2). */
#include "kit.h"

static struct arena *a;
static void up(void) { a = arena_new(WS_ARENA_BYTES_MAX); }
static void down(void) { arena_free(a); }
TestSuite(workspec_validate, .init = up, .fini = down);

#define TASK(id, start, more)                                                                      \
    "{\"id\":\"" id "\",\"actor_id\":\"a\",\"start\":\"" start "\",\"duration\":30" more "}"

static struct ws_report reference(const char *tasks) {
    struct ws_doc doc = kit_parse(a, kit_document(a, KIT_CONFIG, tasks), WS_JSON);
    return kit_validate(a, &doc, NULL, WS_REFERENCE);
}

static bool is(const struct ws_problem *p, enum ws_code code, const char *context) {
    return p->code == code && str_eqc(p->context, context);
}

Test(workspec_validate, times_belong_to_ids_and_the_last_good_ones_count_ws_34_ws_35) {
    struct ws_report r =
        reference(TASK("t1", "09:00", "") "," TASK("t2", "09:00", "") "," TASK("t1", "9:00", ""));
    cr_assert_eq(r.nr, 3);
    cr_expect_eq(r.v[0].code, WS_R30);
    cr_expect_eq(r.v[1].code, WS_R34);
    cr_expect(is(&r.v[2], WS_R65, "{\"actor_id\":\"a\",\"task_a\":\"t1\",\"task_b\":\"t2\"}"));
    r = reference(TASK("t1", "09:00", ",\"depends_on\":[\"t2\"]") "," TASK(
        "t2", "10:00", "") "," TASK("t1", "09:00", ""));
    cr_assert_eq(r.nr, 2, "each task of the id is checked against what it depends on");
    cr_expect(str_eqc(r.v[1].instance, "/simulation/process/tasks/0/start"));
    cr_expect(is(&r.v[1], WS_R66,
                 "{\"task_id\":\"t1\",\"start_minutes\":540,\"required_end_minutes\":630}"));
}

Test(workspec_validate, a_layout_whose_ids_are_blank_names_no_location_r24) {
    static const char DOC[] =
        "{\"simulation\":{\"schema_version\":\"2.0\",\"meta\":{\"title\":\"T\",\"description\":"
        "\"D\",\"domain\":\"M\"},\"config\":{\"time_unit\":\"minutes\",\"start_time\":\"07:00\","
        "\"end_time\":\"19:00\",\"currency\":\"EUR\",\"locale\":\"en-IE\"},\"world\":{\"layout\":{"
        "\"locations\":[{\"id\":\" \",\"name\":\"N\"}]},\"objects\":[{\"id\":\"x\",\"type\":"
        "\"actor\",\"name\":\"X\",\"location\":\"moon\",\"properties\":{\"state\":\"s\"}}]},"
        "\"process\":{\"tasks\":[]}}}";
    struct ws_doc doc = kit_parse(a, str_c(DOC), WS_JSON);
    struct ws_report r = kit_validate(a, &doc, NULL, WS_REFERENCE);
    cr_expect_eq(r.nr, 0);
    r = kit_validate(a, &doc, NULL, WS_HOST);
    cr_expect(r.nr == 2 && r.v[0].code == WS_R24 && r.v[1].code == WS_H15, "H19, H15");
}
