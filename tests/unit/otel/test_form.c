/*
 * test_form.c: one description of a request in both forms of OTLP.  The bytes are what protoc 3.21
 * makes of the same message with the published opentelemetry-proto; the JSON follows the mapping in
 * its specification: ids in hexadecimal, enumerations as numbers, 64-bit integers as texts.
 */
#include "codec/bytes.h"
#include "otel/span.h"

#include <criterion/criterion.h>

static const char PROTOBUF[] =
    "0af5010a180a160a0c736572766963652e6e616d6512060a04776f707212d8010a0d0a04776f70721205302e312e30"
    "12c6010a105b8efff798038103d269b633813fc60c1208eee19b7ec3c1b1742208eee19b7ec3c1b1732a0b6f70656e"
    "776f702e72756e300339004859e3faeb6f15410012f41efbeb6f154a0b0a017312060a0422c3a9224a100a0169120b"
    "18ffffffffffffffefff014a070a0162120210014a070a0166120210004a0e0a0164120921d7868a71fe26543f4a11"
    "0a0161120c2a0a0a030a01780a030a01796a1c0a105b8efff798038103d269b633813fc60d1208eee19b7ec3c1b175"
    "7a0b120774696d656f75741802";

static const char JSON[] =
    "{\"resourceSpans\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":"
    "{\"stringValue\":\"wopr\"}}]},\"scopeSpans\":[{\"scope\":{\"name\":\"wopr\",\"version\":"
    "\"0.1.0\"},\"spans\":[{\"traceId\":\"5b8efff798038103d269b633813fc60c\",\"spanId\":"
    "\"eee19b7ec3c1b174\",\"parentSpanId\":\"eee19b7ec3c1b173\",\"name\":\"openwop.run\",\"kind\":"
    "3,"
    "\"startTimeUnixNano\":\"1544712660000000000\",\"endTimeUnixNano\":\"1544712661000000000\","
    "\"attributes\":[{\"key\":\"s\",\"value\":{\"stringValue\":\"\\\"\xc3\xa9\\\"\"}},{\"key\":"
    "\"i\","
    "\"value\":{\"intValue\":\"-9007199254740993\"}},{\"key\":\"b\",\"value\":{\"boolValue\":true}}"
    ","
    "{\"key\":\"f\",\"value\":{\"boolValue\":false}},{\"key\":\"d\",\"value\":{\"doubleValue\":"
    "0.00123}},{\"key\":\"a\",\"value\":{\"arrayValue\":{\"values\":[{\"stringValue\":\"x\"},"
    "{\"stringValue\":\"y\"}]}}}],\"links\":[{\"traceId\":\"5b8efff798038103d269b633813fc60d\","
    "\"spanId\":\"eee19b7ec3c1b175\"}],\"status\":{\"message\":\"timeout\",\"code\":2}}]}]}]}";

static void sample(struct span *s) {
    static const struct str LIST[] = {{"x", 1}, {"y", 1}};
    static const uint8_t TRACE[] = {0x5b, 0x8e, 0xff, 0xf7, 0x98, 0x03, 0x81, 0x03,
                                    0xd2, 0x69, 0xb6, 0x33, 0x81, 0x3f, 0xc6, 0x0c};
    static const uint8_t ID[] = {0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x74};
    *s = (struct span){.has_parent = true,
                       .name = STR("openwop.run"),
                       .kind = SPAN_CLIENT,
                       .start_ms = 1544712660000,
                       .end_ms = 1544712661000,
                       .has_link = true,
                       .status = SPAN_ERROR,
                       .message = STR("timeout")};
    memcpy(s->trace, TRACE, sizeof s->trace);
    memcpy(s->link_trace, TRACE, sizeof s->link_trace);
    memcpy(s->id, ID, sizeof s->id);
    memcpy(s->parent, ID, sizeof s->parent);
    memcpy(s->link_id, ID, sizeof s->link_id);
    s->link_trace[15]++;
    s->parent[7]--;
    s->link_id[7]++;
    span_str(s, "s", STR("\"\xc3\xa9\""));
    span_str(s, "left out", STR(""));
    span_int(s, "i", -9007199254740993);
    span_bool(s, "b", true);
    span_bool(s, "f", false);
    span_attr(s, (struct attr){.key = STR("d"), .type = ATTR_DOUBLE, .d = 0.00123});
    span_attr(s, (struct attr){.key = STR("a"), .type = ATTR_STRS, .v = LIST, .n = 2});
}

static void request_of(enum form_kind kind, size_t spans_nr, struct buf *out) {
    const struct attr service = {.key = STR("service.name"), .type = ATTR_STR, .s = STR("wopr")};
    const struct speaker who = {&service, 1, STR("0.1.0")};
    struct str items[3];
    struct span s;
    struct form f;
    struct buf one;
    sample(&s);
    buf_init(&one, 1 << 20);
    form_init(&f, kind, &one);
    span_write(&f, &s);
    cr_assert_not(buf_failed(&one));
    for (size_t i = 0; i < spans_nr; i++) items[i] = buf_str(&one);
    buf_init(out, 1 << 20);
    form_init(&f, kind, out);
    spans_request(&f, &who, items, spans_nr);
    cr_assert_not(buf_failed(out));
    buf_fini(&one);
}

Test(otel_form, protobuf_is_what_the_published_schema_makes) {
    struct buf b, hex;
    request_of(FORM_PROTOBUF, 1, &b);
    buf_init(&hex, 1 << 20);
    hex_encode(&hex, buf_str(&b));
    cr_expect(str_eqc(buf_str(&hex), PROTOBUF), STR_FMT, STR_ARG(buf_str(&hex)));
    buf_fini(&hex);
    buf_fini(&b);
}

Test(otel_form, json_follows_the_mapping_of_otlp /* OBS-9 */) {
    struct buf b;
    request_of(FORM_JSON, 1, &b);
    cr_expect(str_eqc(buf_str(&b), JSON), STR_FMT, STR_ARG(buf_str(&b)));
    buf_fini(&b);
}

Test(otel_form, several_spans_are_a_list_in_both_forms) {
    struct buf json, bytes;
    struct wopr_error err;
    request_of(FORM_JSON, 3, &json);
    cr_expect_eq(json_check(buf_str(&json), &JSON_LIMITS_DEFAULT, &err), 0, "%s", err.message);
    request_of(FORM_PROTOBUF, 3, &bytes);
    /* 198 bytes and their head of 3 for each further span; lengths need no further byte. */
    cr_expect_eq(bytes.len, (sizeof PROTOBUF - 1) / 2 + 2 * (198 + 3));
    buf_fini(&json);
    buf_fini(&bytes);
}

Test(otel_form, attributes_beyond_the_bound_are_left_out) {
    struct span s = {.name = STR("n")};
    for (int i = 0; i < 2 * SPAN_ATTRS_MAX; i++) span_int(&s, "i", i);
    cr_expect_eq(s.attrs_nr, SPAN_ATTRS_MAX);
}

Test(otel_form, a_buffer_that_is_too_small_fails_and_does_not_overrun) {
    struct span s;
    struct form f;
    struct buf b;
    sample(&s);
    for (size_t max = 0; max < 220; max++) {
        buf_init(&b, max);
        form_init(&f, FORM_PROTOBUF, &b);
        span_write(&f, &s);
        cr_expect_eq(buf_failed(&b), max < 198, "%zu", max);
        buf_fini(&b);
    }
}

Test(otel_form, numbers_that_metrics_need_have_their_form) {
    const uint64_t counts[] = {0, 1, UINT64_MAX};
    const double bounds[] = {0.5, 1};
    struct form f;
    struct buf b, hex;
    buf_init(&b, 4096);
    buf_init(&hex, 4096);
    form_init(&f, FORM_JSON, &b);
    form_begin(&f);
    form_fixed64s(&f, 6, "bucketCounts", counts, 3);
    form_doubles(&f, 7, "explicitBounds", bounds, 2);
    form_end(&f);
    cr_expect(str_eqc(buf_str(&b), "{\"bucketCounts\":[\"0\",\"1\",\"18446744073709551615\"],"
                                   "\"explicitBounds\":[0.5,1]}"),
              STR_FMT, STR_ARG(buf_str(&b)));
    buf_reset(&b);
    form_init(&f, FORM_PROTOBUF, &b);
    form_fixed64s(&f, 6, "bucketCounts", counts, 3);
    form_doubles(&f, 7, "explicitBounds", bounds, 2);
    hex_encode(&hex, buf_str(&b));
    cr_expect(str_eqc(buf_str(&hex), "321800000000000000000100000000000000ffffffffffffffff"
                                     "3a10000000000000e03f000000000000f03f"),
              STR_FMT, STR_ARG(buf_str(&hex)));
    buf_fini(&b);
    buf_fini(&hex);
}
