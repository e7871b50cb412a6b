/*
 * Parameters, bodies as tables, validators, and the answers of commands.
 */
#include "wire/common/url.h"
#include "wire/v1/wire_int.h"

#include <criterion/criterion.h>
#include <stdio.h>

struct two {
    struct str name, list;
};
static const struct wire_member ROWS[] = {{"name", JSON_STRING, offsetof(struct two, name)},
                                          {"list", JSON_ARRAY, offsetof(struct two, list)}};
static struct arena *a;
static struct wopr_error err;

static void up(void) {
    a = arena_new(1 << 20);
    err = (struct wopr_error){0};
}
static void down(void) { arena_free(a); }
TestSuite(wire_call, .init = up, .fini = down);

static int parse(const char *body, bool closed, struct two *out) {
    *out = (struct two){0};
    const struct wire_body shape = {ROWS, 2, closed};
    return wire_body_parse(str_c(body), &shape, a, out, &err);
}

Test(wire_call, known_members_are_spread /* RUN-1 */) {
    struct two t;
    cr_assert_eq(parse("{\"list\":[1, 2],\"name\":\"a\\u0062\"}", true, &t), 0);
    cr_expect(str_eq(t.name, STR("ab")));
    cr_expect(str_eq(t.list, STR("[1, 2]")));
    cr_assert_eq(parse("{}", true, &t), 0);
    cr_expect_null(t.name.p);
    cr_assert_eq(parse("{\"name\":\"\"}", true, &t), 0);
    cr_expect_not_null(t.name.p, "present and empty is not absent");
}

Test(wire_call, a_closed_body_refuses_unknown_names_and_types /* RUN-1 RUN-24 */) {
    struct two t;
    cr_expect_eq(parse("{\"x\":1,\"name\":2,\"list\":null}", true, &t), WOPR_E_VALIDATION);
    cr_expect_str_eq(err.details,
                     "{\"fields\":[{\"path\":\"x\",\"reason\":\"unknown\"},{\"path\":\"name\","
                     "\"reason\":\"type\"},{\"path\":\"list\",\"reason\":\"type\"}]}");
    cr_expect_eq(parse("{\"x\":1,\"name\":\"y\"}", false, &t), 0); /* RUN-20: open */
    cr_expect_eq(parse("{\"x\":1,\"name\":[]}", false, &t), WOPR_E_VALIDATION);
    cr_expect_eq(parse("[]", true, &t), WOPR_E_SYNTAX);
}

Test(wire_call, the_list_of_fields_is_bounded_and_stays_json) {
    struct buf b;
    struct two t;
    buf_init(&b, 1 << 16);
    buf_addc(&b, '{');
    for (int i = 0; i < 50; i++) {
        buf_addf(&b, "%s\"", i ? "," : "");
        for (int k = 0; k < 10 + 3 * i; k++) buf_addz(&b, "\\\"");
        buf_addf(&b, "%d\":1", i);
    }
    buf_addc(&b, '}');
    cr_expect_eq(parse(b.p, true, &t), WOPR_E_VALIDATION);
    cr_expect_eq(json_check(str_c(err.details), &JSON_LIMITS_DEFAULT, NULL), 0, "%s", err.details);
    cr_expect_gt(strlen(err.details), 20);
    buf_fini(&b);
}

static struct http_param query[1];
static const struct http_call WITH_QUERY = {.query = query, .query_nr = 1};

Test(wire_call, integers_in_queries_have_bounds /* SSE-31 SSE-36 RUN-41 */) {
    static const struct {
        const char *text;
        int rc;
        int64_t v;
    } CASES[] = {{"0", 0, 0},
                 {"5000", 0, 5000},
                 {"5001", WOPR_E_VALIDATION, -7},
                 {"99999", WOPR_E_VALIDATION, -7},
                 {"-1", WOPR_E_VALIDATION, -7},
                 {"1.5", WOPR_E_VALIDATION, -7},
                 {"", WOPR_E_VALIDATION, -7},
                 {" 1", WOPR_E_VALIDATION, -7},
                 {"18446744073709551616", WOPR_E_VALIDATION, -7}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        int64_t v = -7;
        query[0] = (struct http_param){STR("bufferMs"), str_c(CASES[i].text)};
        cr_expect_eq(wire_int_param(&WITH_QUERY, "bufferMs", 0, 5000, 1, &v, &err), CASES[i].rc,
                     "%s", CASES[i].text);
        cr_expect_eq(v, CASES[i].v, "%s", CASES[i].text);
        if (CASES[i].rc != 0)
            cr_expect_str_eq(err.details,
                             "{\"parameter\":\"bufferMs\",\"minimum\":0,\"maximum\":5000}");
    }
    int64_t v = 0;
    cr_expect_eq(wire_int_param(&WITH_QUERY, "timeout", 1, 60, 30, &v, &err), 0);
    cr_expect_eq(v, 30);
}

Test(wire_call, validators_compare_weakly_and_in_lists /* CAP-30 */) {
    cr_expect(wire_etag_matches(STR("\"a\""), STR("\"a\"")));
    cr_expect(wire_etag_matches(STR("\"x\", W/\"a\""), STR("\"a\"")));
    cr_expect(wire_etag_matches(STR("*"), STR("\"a\"")));
    cr_expect_not(wire_etag_matches(STR("\"ab\""), STR("\"a\"")));
    cr_expect_not(wire_etag_matches(STR("a"), STR("\"a\"")));
    cr_expect_not(wire_etag_matches(STR_NONE, STR("\"a\"")));
}

Test(wire_call, callbacks_are_absolute_http_uris /* RUN-1 */) {
    static const char *const GOOD[] = {"https://example.org", "http://h:80/cb?x=1#f", "HTTP://h/",
                                       "Https://h:65535/x",   "https://[::1]:8080/",  "https://h:/",
                                       "https://[::1]/a",     "https://h/%20"};
    static const char *const BAD[] = {"",
                                      "/cb",
                                      "//h/cb",
                                      "ftp://h",
                                      "https://",
                                      "https:///a",
                                      "https://u@h/a",
                                      "https://:80",
                                      "https://h/a b",
                                      "https://h/\n",
                                      "https://h/<",
                                      "https://h:abc/",
                                      "https://h:99999/",
                                      "https://h:0/",
                                      "https://h:-1/",
                                      "https://h:80:80/",
                                      "https://[::1/a",
                                      "https://[::1]x/",
                                      "javascript:x"};
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++)
        cr_expect(wire_callback_url_valid(str_c(GOOD[i])), "%s", GOOD[i]);
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        cr_expect_not(wire_callback_url_valid(str_c(BAD[i])), "%s", BAD[i]);
}

static struct idem_response answer(enum engine_op op, struct engine_result r, bool *stored) {
    static struct http_call call;
    static struct wire_cmd wc;
    struct idem_response out = {0};
    call = (struct http_call){.arena = a, .request_id = "req-9"};
    wc = (struct wire_cmd){.call = &call, .spelling = &V1_SPELLING, .base_url = STR("http://h:1")};
    wc.cmd = (struct engine_cmd){.op = op, .run_id = STR("run_1"), .ctx = &wc};
    *stored = wire_cmd_respond(&wc.cmd, &r, &out);
    return out;
}

Test(wire_call, a_created_run_answers_with_absolute_urls /* RUN-4 */) {
    bool stored;
    struct idem_response r =
        answer(ENGINE_CREATE, (struct engine_result){.run_id = STR("run_2")}, &stored);
    cr_expect(stored);
    cr_expect_eq(r.status, 201);
    cr_expect_str_eq(r.body.p, "{\"runId\":\"run_2\",\"status\":\"pending\",\"eventsUrl\":\"http://"
                               "h:1/v1/runs/run_2/events\","
                               "\"statusUrl\":\"http://h:1/v1/runs/run_2\"}");
}

Test(wire_call, cancel_tells_the_status_of_an_ended_run_else_cancelling /* RUN-20 RUN-21 D35 */) {
    static const struct {
        enum run_status status;
        const char *shown;
    } CASES[] = {{RUN_CANCELLED, "cancelled"},
                 {RUN_CANCELLING, "cancelling"},
                 {RUN_RUNNING, "cancelling"},
                 {RUN_COMPLETED, "completed"},
                 {RUN_FAILED, "failed"}};
    char expected[96];
    bool stored;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct idem_response r =
            answer(ENGINE_CANCEL, (struct engine_result){.status = CASES[i].status}, &stored);
        snprintf(expected, sizeof expected, "{\"runId\":\"run_1\",\"status\":\"%s\"}",
                 CASES[i].shown);
        cr_expect_eq(r.status, 200);
        cr_expect_str_eq(r.body.p, expected);
    }
}

Test(wire_call, pause_and_resume_are_accepted_with_their_time /* RUN-24 RUN-29 */) {
    bool stored;
    struct idem_response r =
        answer(ENGINE_PAUSE, (struct engine_result){.at_ms = 1700000000000}, &stored);
    cr_expect_eq(r.status, 202);
    cr_expect_str_eq(
        r.body.p,
        "{\"runId\":\"run_1\",\"status\":\"paused\",\"pausedAt\":\"2023-11-14T22:13:20.000Z\"}");
    r = answer(ENGINE_RESUME, (struct engine_result){.at_ms = 1700000000000}, &stored);
    cr_expect_str_eq(
        r.body.p,
        "{\"runId\":\"run_1\",\"status\":\"running\",\"resumedAt\":\"2023-11-14T22:13:20.000Z\"}");
}

Test(wire_call, a_conflict_names_the_status_and_when_it_was_paused /* RUN-27 3.2 */) {
    bool stored;
    struct engine_result res = {
        .rc = WOPR_E_CONFLICT, .status = RUN_PAUSED, .at_ms = 1700000000000};
    wopr_error_set(&res.err, WOPR_E_CONFLICT, "the run is paused");
    struct idem_response r = answer(ENGINE_PAUSE, res, &stored);
    cr_expect(stored);
    cr_expect_eq(r.status, 409);
    cr_expect_str_eq(r.body.p,
                     "{\"error\":\"conflict\",\"message\":\"the run is paused\",\"details\":"
                     "{\"runStatus\":\"paused\",\"pausedAt\":\"2023-11-14T22:13:20.000Z\"}}");
    res.status = RUN_WAITING_APPROVAL;
    res.at_ms = 0;
    r = answer(ENGINE_RESUME, res, &stored);
    cr_expect_not_null(strstr(r.body.p, "{\"runStatus\":\"waiting-approval\"}"));
}

Test(wire_call, a_dedup_conflict_is_replayed_only_until_its_wait_is_over /* RUN-7 IDEM-9 */) {
    bool stored;
    struct engine_result res = {
        .rc = WOPR_E_RUN_ALREADY_ACTIVE, .active_run_id = STR("run_7"), .retry_after_s = 9};
    struct idem_response r = answer(ENGINE_CREATE, res, &stored);
    cr_expect_eq(r.status, 409);
    cr_expect_eq(r.retry_after_s, 9);
    cr_expect_gt(r.transient_until_ms, 0);
    cr_expect_not_null(
        strstr(r.body.p, "\"activeRunId\":\"run_7\",\"activeHost\":\"cloud\",\"retryAfter\":9"));
}

Test(wire_call, what_is_never_stored /* IDEM-8 */) {
    static const struct {
        int rc;
        bool stored;
    } CASES[] = {{WOPR_E_VALIDATION, false},     {WOPR_E_UNAUTHENTICATED, false},
                 {WOPR_E_FORBIDDEN, false},      {WOPR_E_MOCK_FORBIDDEN, false},
                 {WOPR_E_IDEM_IN_FLIGHT, false}, {WOPR_E_IDEM_CONFLICT, false},
                 {WOPR_E_UNAVAILABLE, false},    {WOPR_E_SYNC_FAILED, false},
                 {WOPR_E_CONFLICT, true},        {WOPR_E_NOT_FOUND, true},
                 {WOPR_E_INTERNAL, true},        {WOPR_E_PAYLOAD_INVALID, true}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        bool stored;
        struct idem_response r =
            answer(ENGINE_CREATE, (struct engine_result){.rc = CASES[i].rc}, &stored);
        cr_expect_eq(stored, CASES[i].stored, "%s", wopr_err_name(CASES[i].rc));
        cr_expect_eq(r.transient_until_ms > 0, r.status >= 500 || r.retry_after_s > 0);
    }
}

Test(wire_call, a_row_of_a_newer_engine_is_refused_with_its_numbers /* VER-3 */) {
    struct run_head h = {.run_id = STR("run_1"), .engine_version = CURRENT_ENGINE_VERSION};
    cr_expect_eq(wire_head_check(&h, &err), 0);
    h.engine_version = 0; /* unversioned rows are legacy and readable (VER-2) */
    cr_expect_eq(wire_head_check(&h, &err), 0);
    h.engine_version = CURRENT_ENGINE_VERSION + 1;
    cr_expect_eq(wire_head_check(&h, &err), WOPR_E_VERSION_MISMATCH);
    cr_expect_str_eq(err.details,
                     "{\"runId\":\"run_1\",\"persistedVersion\":2,\"currentVersion\":1}");
}
