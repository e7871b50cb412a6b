/*
 * Events as bytes: the RunEventDoc, frames by mode, and the parameters that choose them.
 */
#include "base/embed.h"
#include "codec/schema.h"
#include "codec/sse.h"
#include "wire/common/accept.h"
#include "wire/v1/wire_int.h"

#include <criterion/criterion.h>
#include <stdio.h>

#define RUN STR("run_01ARZ3NDEKTSV4RRFFQ69G5FAV")
#define ID  "01ARZ3NDEKTSV4RRFFQ69G5FAV"

static struct event event_of(enum ev_kind kind, int64_t seq, const char *payload) {
    return (struct event){.seq = seq,
                          .kind = kind,
                          .type = str_c(event_name(kind)),
                          .causation_seq = -1,
                          .ts_ms = 1700000000123,
                          .schema_version = 1,
                          .engine_version = 1,
                          .payload = str_c(payload)};
}

static struct buf out;
static void up(void) { buf_init(&out, 1 << 20); }
static void down(void) { buf_fini(&out); }
TestSuite(wire_events, .init = up, .fini = down);

static const char *doc(const struct event *e) {
    buf_reset(&out);
    v1_event_render(RUN, e, &out);
    return out.p;
}

static const char *view(unsigned mask, bool element, const struct event *e) {
    const struct journal_view *v = v1_view(mask, element);
    buf_reset(&out);
    v->render(v->ctx, RUN, e, &out);
    return buf_str(&out).p;
}

Test(wire_events, the_document_has_its_keys_in_order /* EVT-1 EVT-5 STORE-7 */) {
    struct event e = event_of(EV_RUN_STARTED, 0, "{\"workflowId\":\"w\"}");
    cr_expect_str_eq(
        doc(&e), "{\"eventId\":\"" ID "-0\",\"runId\":\"run_" ID "\",\"type\":\"run.started\","
                 "\"payload\":{\"workflowId\":\"w\"},\"timestamp\":\"2023-11-14T22:13:20.123Z\","
                 "\"sequence\":0,\"schemaVersion\":1,\"engineVersion\":\"1\"}");
    e = event_of(EV_NODE_COMPLETED, 12, "{\"nodeId\":\"a\"}");
    e.node_id = STR("a\"b");
    e.causation_seq = 7;
    e.engine_version = 2;
    cr_expect_str_eq(
        doc(&e), "{\"eventId\":\"" ID "-12\",\"runId\":\"run_" ID "\",\"nodeId\":\"a\\\"b\","
                 "\"type\":\"node.completed\",\"payload\":{\"nodeId\":\"a\"},"
                 "\"timestamp\":\"2023-11-14T22:13:20.123Z\",\"sequence\":12,\"schemaVersion\":1,"
                 "\"engineVersion\":\"2\",\"causationId\":\"" ID "-7\"}");
}

Test(wire_events, an_unknown_stored_type_keeps_its_name /* GEN-5 EVT-13 */) {
    struct event e = event_of(EV_UNKNOWN, 3, "{}");
    e.type = STR("vendor.thing");
    cr_expect_not_null(strstr(doc(&e), "\"type\":\"vendor.thing\""));
    cr_expect_str_eq(view(V1_UPDATES, false, &e), "");
    cr_expect_not_null(strstr(view(V1_DEBUG, false, &e), "event: vendor.thing\n"));
}

Test(wire_events, line_breaks_of_callers_become_blanks /* SSE-9 */) {
    struct event e = event_of(EV_RUN_STARTED, 0, "{\n\t\"inputs\":\r\n{\"a\":\"x\\ny\"}}");
    cr_expect_null(strchr(doc(&e), '\n'));
    cr_expect_not_null(strstr(out.p, "\"x\\ny\""));
    cr_expect_eq(json_check(buf_str(&out), &JSON_LIMITS_DEFAULT, NULL), 0);
    view(V1_DEBUG, false, &e);
    size_t lines = 0;
    for (const char *p = out.p; (p = strchr(p, '\n')) != NULL; p++) lines++;
    cr_expect_eq(lines, 4, "id, event, data, blank");
}

Test(wire_events, every_document_is_valid_against_the_published_schema /* EVT-1 */) {
    const struct embed_file *f = embed_find("api/schemas/run-event.schema.json");
    struct schema_set *set = schema_set_new(true);
    const struct schema *schema;
    struct wopr_error err;
    cr_assert_not_null(f);
    cr_assert_eq(schema_set_add(set, STR("event"), embed_text(f), &err), 0, "%s", err.message);
    cr_assert_eq(schema_compile(set, STR("event"), &schema, &err), 0, "%s", err.message);
    for (int k = 0; k < EV_NR; k++) {
        struct event e = event_of((enum ev_kind)k, k, "{}");
        struct schema_issue issue = {0};
        e.node_id = STR("n");
        e.causation_seq = 0;
        cr_expect_eq(schema_validate_text(schema, str_c(doc(&e)), &issue), 0, "%s: %s", out.p,
                     issue.reason);
    }
    schema_set_free(set);
}

Test(wire_events, each_mode_admits_exactly_its_kinds /* SSE-11 SSE-16 SSE-19 SSE-21 SSE-22 */) {
    char head[96];
    for (int k = 0; k < EV_NR; k++) {
        struct event e = event_of((enum ev_kind)k, 5, "{\"nodeId\":\"n\",\"chunk\":\"c\"}");
        for (unsigned mask = 1; mask < V1_MASKS; mask++) {
            bool chunk = k == EV_OUTPUT_CHUNK && (mask & V1_MESSAGES);
            bool shown = chunk || (mask & V1_DEBUG) ||
                         ((mask & V1_UPDATES) && (event_modes(e.kind) & EV_MODE_U));
            const char *frame = view(mask, false, &e);
            cr_expect_eq(frame[0] != 0, shown, "%s in %u", event_name(e.kind), mask);
            cr_expect_eq(view(mask, true, &e)[0] != 0, shown);
            if (!shown) continue;
            frame = view(mask, false, &e);
            snprintf(head, sizeof head, "id: 5\nevent: %s\ndata: {",
                     chunk ? "ai.message.chunk" : event_name(e.kind));
            cr_expect_eq(strncmp(frame, head, strlen(head)), 0, "%s", frame);
            cr_expect_str_eq(frame + strlen(frame) - 3, "}\n\n");
        }
    }
    struct event started = event_of(EV_NODE_STARTED, 1, "{}");
    cr_expect_str_eq(view(V1_UPDATES, false, &started), ""); /* EVT-20 */
}

Test(wire_events, frames_are_those_of_the_codec /* SSE-9 SSE-10 */) {
    struct event e = event_of(EV_RUN_COMPLETED, 41, "{\"outputs\":{}}");
    struct buf expected;
    buf_init(&expected, 4096);
    doc(&e);
    sse_frame(&expected, 41, STR("run.completed"), buf_str(&out));
    cr_expect_str_eq(view(V1_UPDATES, false, &e), expected.p);
    buf_fini(&expected);
}

Test(wire_events, a_chunk_has_the_message_form /* SSE-19 SSE-34 */) {
    struct event e =
        event_of(EV_OUTPUT_CHUNK, 6,
                 "{\"nodeId\":\"ai\",\"chunk\":\"h\\u00e9\",\"meta\":{\"model\":\"m\"}}");
    cr_expect_str_eq(view(V1_MESSAGES, false, &e),
                     "id: 6\nevent: ai.message.chunk\ndata: {\"nodeId\":\"ai\",\"runId\":\"run_" ID
                     "\",\"chunk\":\"h\\u00e9\",\"isLast\":false,\"meta\":{\"model\":\"m\"}}\n\n");
    e.payload = STR("{\"nodeId\":\"ai\",\"chunk\":\"\",\"isLast\":true}");
    cr_expect_str_eq(
        view(V1_MESSAGES | V1_DEBUG, true, &e),
        "{\"type\":\"ai.message.chunk\",\"sequence\":6,\"nodeId\":\"ai\",\"runId\":\"run_" ID
        "\",\"chunk\":\"\",\"isLast\":true}");
    cr_expect_not_null(strstr(view(V1_DEBUG, false, &e), "event: output.chunk\n"));
}

Test(wire_events, views_have_distinct_slots) {
    unsigned seen = 0;
    for (unsigned mask = 1; mask < V1_MASKS; mask++)
        for (int element = 0; element < 2; element++) {
            unsigned id = v1_view(mask, element)->id;
            cr_assert_lt(id, JOURNAL_VIEWS_MAX);
            cr_expect_eq(seen & (1u << id), 0);
            seen |= 1u << id;
        }
}

Test(wire_events, stream_modes_parse_by_the_table /* SSE-5 SSE-6 SSE-7 */) {
    static const struct {
        const char *text;
        int rc;
        unsigned mask;
        bool values;
    } CASES[] = {{"updates", 0, V1_UPDATES, false},
                 {"messages", 0, V1_MESSAGES, false},
                 {"debug", 0, V1_DEBUG, false},
                 {"values", 0, 0, true},
                 {"values,values", 0, 0, true},
                 {"updates,messages", 0, V1_UPDATES | V1_MESSAGES, false},
                 {"debug,updates,debug", 0, V1_UPDATES | V1_DEBUG, false},
                 {"messages,updates,debug", 0, 7, false},
                 {"", WOPR_E_STREAM_MODE, 0, false},
                 {"bogus", WOPR_E_STREAM_MODE, 0, false},
                 {"updates,", WOPR_E_STREAM_MODE, 0, false},
                 {",updates", WOPR_E_STREAM_MODE, 0, false},
                 {"updates,,debug", WOPR_E_STREAM_MODE, 0, false},
                 {"updates,bogus", WOPR_E_STREAM_MODE, 0, false},
                 {"values,updates", WOPR_E_STREAM_MODE, 0, false},
                 {"debug,values", WOPR_E_STREAM_MODE, 0, false},
                 {"Updates", WOPR_E_STREAM_MODE, 0, false},
                 {"updates, debug", WOPR_E_STREAM_MODE, 0, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct v1_mode m = {0};
        struct wopr_error err = {0};
        cr_expect_eq(v1_mode_parse(str_c(CASES[i].text), &m, &err), CASES[i].rc, "%s",
                     CASES[i].text);
        cr_expect_eq(m.mask, CASES[i].mask, "%s", CASES[i].text);
        cr_expect_eq(m.values, CASES[i].values, "%s", CASES[i].text);
        if (CASES[i].rc != 0)
            cr_expect_str_eq(err.details,
                             "{\"supported\":[\"values\",\"updates\",\"messages\",\"debug\"]}");
    }
}

Test(wire_events, resume_positions_parse_by_the_table /* SSE-28 */) {
    static const struct {
        const char *text;
        int rc;
        int64_t seq;
    } CASES[] = {{"0", 0, 0},
                 {"42", 0, 42},
                 {"007", 0, 7},
                 {ID "-9", 0, 9},
                 {ID "-99", 0, 99},
                 {"99999999999999999999999", 0, INT64_C(9007199254740991)}, /* past any end */
                 {ID "-100", WOPR_E_VALIDATION, 0},                         /* never was */
                 {ID "-9223372036854775807", WOPR_E_VALIDATION, 0},
                 {"", WOPR_E_VALIDATION, 0},
                 {"-1", WOPR_E_VALIDATION, 0},
                 {"1.5", WOPR_E_VALIDATION, 0},
                 {"abc", WOPR_E_VALIDATION, 0},
                 {ID, WOPR_E_VALIDATION, 0},
                 {"01ARZ3NDEKTSV4RRFFQ69G5FAX-9", WOPR_E_VALIDATION, 0}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        int64_t seq = 0;
        struct wopr_error err = {0};
        cr_expect_eq(v1_cursor_parse(RUN, 100, str_c(CASES[i].text), true, &seq, &err), CASES[i].rc,
                     "%s", CASES[i].text);
        cr_expect_eq(seq, CASES[i].seq, "%s", CASES[i].text);
        if (CASES[i].rc == 0) continue;
        cr_expect_str_eq(err.details, "{\"header\":\"Last-Event-ID\"}");
        (void)!v1_cursor_parse(RUN, 100, str_c(CASES[i].text), false, &seq, &err);
        cr_expect_str_eq(err.details, "{\"parameter\":\"lastEventId\"}");
    }
}

Test(wire_events, json_is_sent_only_to_those_who_ask_for_nothing_else /* HTTP-20 SSE-3 */) {
    static const struct {
        const char *accept;
        bool json;
    } CASES[] = {{"application/json", true},
                 {"Application/JSON; q=0.9, */*", true},
                 {"text/html, application/json;charset=utf-8", true},
                 {"text/html,\tapplication/json ", true},
                 {"application/json;q=1, text/event-stream;q=0", true},
                 {"application/json, text/event-stream; Q=0.000", true},
                 {"application/json;x=\"a,b;q=0\"", true},
                 {"application/json, text/event-stream", false},
                 {"application/json, text/event-stream;q=0.1", false},
                 {"application/json;q=0", false},
                 {"application/json;q=0.0, */*", false},
                 {"application/jsonl", false},
                 {"application/json-seq", false},
                 {"application/json-patch+json, */*", false},
                 {"x-application/json", false},
                 {"text/plain;note=\"application/json, application/json\"", false},
                 {"text/plain;note=\"open, application/json", false},
                 {"text/event-stream", false},
                 {"*/*", false},
                 {"text/html", false},
                 {",,;,", false},
                 {"", false}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        cr_expect_eq(wire_accept_json(str_c(CASES[i].accept)), CASES[i].json, "%s",
                     CASES[i].accept);
    cr_expect_not(wire_accept_json(STR_NONE));
}
