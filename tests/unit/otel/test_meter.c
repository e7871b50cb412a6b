/*
 * test_meter.c: numbers by their labels, their bounds, and the message that tells them (OBS-9,
 * OBS-12).  The protobuf form is read back by tests/otel.
 */
#include "otel/meter.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct meters *m;
static struct buf b;
static void up(void) {
    m = meters_new(1000);
    cr_assert_not_null(m);
    buf_init(&b, 4 * 1024 * 1024);
}
static void down(void) {
    meters_free(m);
    buf_fini(&b);
}
TestSuite(meter, .init = up, .fini = down);

static struct str told(enum form_kind kind) {
    const struct speaker who = {.version = STR("1")};
    struct form f;
    buf_fini(&b);
    buf_init(&b, 4 * 1024 * 1024);
    form_init(&f, kind, &b);
    meters_request(&f, &who, m, 2000);
    cr_assert(!buf_failed(&b));
    return buf_str(&b);
}

static bool says(const char *part) {
    struct str text = told(FORM_JSON);
    for (size_t i = 0; i + strlen(part) <= text.n; i++)
        if (memcmp(text.p + i, part, strlen(part)) == 0) return true;
    return false;
}

Test(meter, a_level_goes_down_and_is_no_monotonic_sum) {
    const struct meter_label a = {"openwop.tenant_id", STR("a")},
                             z = {"openwop.tenant_id", STR("z")};
    meter_add(m, METER_RUN_ACTIVE, 7, &a, 1);
    meter_add(m, METER_RUN_ACTIVE, 9, &z, 1);
    meter_zero(m, METER_RUN_ACTIVE); /* what is said again is not z's */
    meter_add(m, METER_RUN_ACTIVE, 5, &a, 1);
    cr_expect(says("\"stringValue\":\"a\"}}],\"startTimeUnixNano\":\"1000000000\","
                   "\"timeUnixNano\":\"2000000000\",\"asInt\":\"5\""));
    cr_expect(says("\"stringValue\":\"z\"}}],\"startTimeUnixNano\":\"1000000000\","
                   "\"timeUnixNano\":\"2000000000\",\"asInt\":\"0\""));
    cr_expect(says("\"aggregationTemporality\":2}"), "without isMonotonic");
}

Test(meter, a_sum_a_gauge_and_a_histogram_in_the_json_form) {
    const struct meter_label kind = {"openwop.cap_kind", STR("steps")};
    const struct meter_label of[] = {{"provider", STR("x")}, {"openwop.run_status", STR("error")}};
    meter_add(m, METER_CAP_EXCEEDED, 1, &kind, 1);
    meter_add(m, METER_CAP_EXCEEDED, 1, &kind, 1);
    meter_add(m, METER_QUEUE_DEPTH, 7, NULL, 0);
    meter_add(m, METER_QUEUE_DEPTH, 5, NULL, 0);
    meter_add(m, METER_ACTIVITY_DURATION, 0.01, of, 2); /* a bound belongs to what is below it */
    meter_add(m, METER_ACTIVITY_DURATION, 1000, of, 2);
    cr_expect_eq(meters_series(m), 3);
    cr_expect(says("{\"name\":\"openwop.cap.exceeded\",\"description\":\"Limits that runs met.\","
                   "\"unit\":\"1\",\"sum\":{\"dataPoints\":[{\"attributes\":[{\"key\":"
                   "\"openwop.cap_kind\",\"value\":{\"stringValue\":\"steps\"}}],"
                   "\"startTimeUnixNano\":\"1000000000\",\"timeUnixNano\":\"2000000000\",\"asInt\":"
                   "\"2\"}],\"aggregationTemporality\":2,\"isMonotonic\":true}}"));
    cr_expect(says("\"gauge\":{\"dataPoints\":[{\"startTimeUnixNano\":\"1000000000\","
                   "\"timeUnixNano\":\"2000000000\",\"asInt\":\"5\"}]}}"));
    cr_expect(
        says("\"count\":\"2\",\"sum\":1000.01,\"bucketCounts\":[\"1\",\"0\",\"0\",\"0\",\"0\","
             "\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"0\",\"1\"],\"explicitBounds\":[0.01,"),
        "%s", told(FORM_JSON).p);
}

Test(meter, an_empty_label_is_left_out_and_labels_are_told_apart) {
    const struct meter_label ab[] = {{"k", STR("a")}, {"l", STR("b")}},
                             none[] = {{"k", STR("a")}, {"l", STR("")}},
                             other[] = {{"k", STR("")}, {"l", STR("a")}};
    meter_add(m, METER_NODE_ATTEMPTS, 1, ab, 2);
    meter_add(m, METER_NODE_ATTEMPTS, 1, none, 2);
    meter_add(m, METER_NODE_ATTEMPTS, 1, other, 2);
    cr_expect_eq(meters_series(m), 3);
    cr_expect(says("\"attributes\":[{\"key\":\"l\",\"value\":{\"stringValue\":\"a\"}}]"));
    cr_expect(!says("\"stringValue\":\"\""));
}

Test(meter, more_series_than_there_is_room_for_are_counted_as_one) {
    char text[32];
    for (int i = 0; i < METER_SERIES_MAX + 500; i++) {
        int n = snprintf(text, sizeof text, "workflow-%d", i);
        const struct meter_label l = {"openwop.workflow_id", str_n(text, (size_t)n)};
        meter_add(m, METER_RUN_CREATED, 1, &l, 1);
        meter_add(m, METER_RUN_CREATED, 1, &l, 1);
    }
    cr_expect_eq(meters_series(m), METER_SERIES_MAX + 1);
    cr_expect(says("{\"attributes\":[{\"key\":\"otel.metric.overflow\",\"value\":{\"stringValue\":"
                   "\"true\"}}],\"startTimeUnixNano\":\"1000000000\",\"timeUnixNano\":"
                   "\"2000000000\",\"asInt\":\"1000\"}"));
}

/* The longest labels of all metrics fill one message, which egress still takes. */
Test(meter, whatever_the_labels_one_message_holds_all_of_it) {
    char text[3000];
    for (int i = 0; i < METER_NR * METER_SERIES_MAX; i++) {
        struct meter_label l[METER_LABELS_MAX];
        memset(text, '"', sizeof text);
        snprintf(text, sizeof text, "%d", i);
        text[strlen(text)] = '"';
        for (int j = 0; j < METER_LABELS_MAX; j++)
            l[j] = (struct meter_label){"openwop.workflow_id", str_n(text, sizeof text)};
        meter_add(m, (enum meter_id)(i % METER_NR), 1, l, METER_LABELS_MAX);
    }
    cr_expect_leq(meters_series(m), METER_KEYS_MAX / 1000 + METER_NR);
    cr_expect_lt(told(FORM_JSON).n, 4u * 1024 * 1024);
    cr_expect_lt(told(FORM_PROTOBUF).n, 4u * 1024 * 1024);
}

Test(meter, many_short_labels_fit_as_well) {
    char text[16];
    for (int i = 0; i < METER_SERIES_MAX; i++)
        for (int id = 0; id < METER_NR; id++) {
            int n = snprintf(text, sizeof text, "%d", i);
            const struct meter_label l = {"openwop.workflow_id", str_n(text, (size_t)n)};
            meter_add(m, (enum meter_id)id, 1e-9 * i, &l, 1);
        }
    cr_expect_eq(meters_series(m), METER_NR * METER_SERIES_MAX);
    cr_expect_lt(told(FORM_JSON).n, 4u * 1024 * 1024);
}

/* A value that is cut stays text: two bytes a character, and the cut falls into one. */
Test(meter, a_long_value_is_cut_between_characters) {
    char text[601];
    for (int i = 0; i < 600; i += 2) memcpy(text + 1 + i, "\xc3\xa9", 2);
    text[0] = 'x';
    const struct meter_label l = {"k", str_n(text, sizeof text)};
    meter_add(m, METER_RUN_CREATED, 1, &l, 1);
    cr_expect(utf8_valid(told(FORM_JSON)));
}
