/*
 * test_wire.c: small promises of the wire: where an error points, what it repeats, which values
 * are refused and which are not, and the ids of an exchange.
 */
#include "interrupt_kit.h"

#include <stdlib.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(wire, .init = up, .fini = down, .timeout = 300);

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NOOP       "{\"workflowId\":\"conformance-noop\"}"

static struct reply create_with(const char *members) {
    return ask(&sv, "POST", "/v1/runs", fmt("{\"workflowId\":\"conformance-noop\"%s}", members),
               NULL);
}

Test(wire, the_bare_address_says_where_to_begin /* F10 HTTP-2 HTTP-18 */) {
    struct reply r = ask(&sv, "GET", "/", NULL, NO_BEARER);
    cr_assert_eq(r.status, 200);
    cr_expect_eq(ask(&sv, "GET", text_at(r.body, "discovery").p, NULL, NO_BEARER).status, 200);
    cr_expect_eq(ask(&sv, "GET", text_at(r.body, "openapi").p, NULL, NO_BEARER).status, 200);
    cr_expect_eq(ask(&sv, "HEAD", "/", NULL, NO_BEARER).status, 200);
    r = ask(&sv, "POST", "/", "{}", NULL);
    expect_error(&r, 405, "method_not_allowed");
}

Test(wire, an_unversioned_path_shows_its_first_word_with_dots /* F10 HTTP-2 HTTP-14 */) {
    static const char *const CASES[][2] = {{"/index.html", "/index.html"},
                                           {"/favicon.ico", "/favicon.ico"},
                                           {"/foo/bar.txt", "/foo"},
                                           {"/runs/run_01SECRET", "/runs"},
                                           {"/hk_test_secret", "/"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct reply r = ask(&sv, "GET", CASES[i][0], NULL, NO_BEARER);
        expect_error(&r, 400, "validation_error");
        cr_expect(str_eqc(text_at(r.body, "details.path"), CASES[i][1]), STR_FMT, STR_ARG(r.body));
    }
}

Test(wire, an_answer_names_the_request_that_the_log_has /* F14 HTTP-12 AUTH-13 ERR-4 */) {
    static const char *const ARGS[] = {"--log-level", "info", NULL};
    static struct server told;
    server_start(&told, ARGS);
    struct reply r = ask(&told, "POST", "/v1/runs", NOOP, NULL);
    struct str id = header(&r, "X-Request-Id");
    cr_assert_eq(r.status, 201);
    cr_assert_gt(id.n, 8);
    const char *want = fmt("\"requestId\":\"" STR_FMT "\"", STR_ARG(id));
    struct reply other = ask(&told, "POST", "/v1/runs", NOOP, NULL);
    cr_expect_not(str_eq(header(&other, "X-Request-Id"), id));
    cr_expect_not_null(strstr(server_log(&told).p, want), "%s", want);
    server_end(&told);
}

Test(wire, streams_have_the_ids_too /* F14 SSE-13 */) {
    const char *run = create_run(&sv, "conformance-noop", NULL);
    wait_terminal(&sv, run);
    struct stream s = stream(&sv, fmt("/v1/runs/%s/events", run), NULL, WAIT_MS, 0);
    struct reply r = {.headers = s.headers};
    cr_expect_not_null(header(&r, "X-Request-Id").p);
    cr_expect_eq(header(&r, "traceparent").n, 55u);
}

/* --- where an error points --- */

Test(wire, a_bad_resume_value_is_placed_once /* F8 ERR-6 INT-14 INT-16 */) {
    struct str snap;
    const char *run = waiting(&sv, "conformance-approval", "waiting-approval", &snap);
    const char *node = text_at(snap, "interrupt.nodeId").p;
    struct reply r = resolve(&sv, run, node, "{\"resumeValue\":{\"action\":\"no-such\"}}");
    expect_error(&r, 400, "validation_error");
    cr_expect(str_eqc(text_at(r.body, "details.fields.0.path"), "resumeValue.action"), STR_FMT,
              STR_ARG(r.body));
    r = resolve(&sv, run, node, "{\"resumeValue\":7}");
    cr_expect(str_starts(text_at(r.body, "details.fields.0.path"), STR("resumeValue")));
    cr_expect_null(strstr(r.body.p, "resumeValue.resumeValue"), STR_FMT, STR_ARG(r.body));
    const char *alias = fmt("/v1/runs/%s/approvals/%s", run, node);
    r = ask(&sv, "POST", alias, "{\"action\":\"no-such\"}", NULL); /* the body is the value */
    cr_expect(str_eqc(text_at(r.body, "details.fields.0.path"), "action"), STR_FMT,
              STR_ARG(r.body));
}

Test(wire, a_refused_mock_provider_is_told_what_there_is /* 10-http-core 3.2 OPT-9 */) {
    struct reply r = create_with(",\"configurable\":{\"mockProvider\":{\"id\":\"no-such\"}}");
    expect_error(&r, 400, "unsupported_mock_provider");
    cr_expect(str_eqc(text_at(r.body, "details.requestedProvider"), "no-such"));
    cr_expect(str_eqc(text_at(r.body, "details.supportedProviders.0"), "stream-text"));
    r = create_with(",\"configurable\":{\"mockProvider\":{\"id\":\"No Such\"}}");
    cr_expect_null(at(r.body, "details.requestedProvider").p, "HTTP-14");
    const char *const keys[] = {"keys",           "create", "--scopes", "runs:create",
                                "--expires-days", "1",      NULL};
    const char *live = fmt("Authorization: Bearer " STR_FMT, STR_ARG(wopr(&sv, keys)));
    r = ask(&sv, "POST", "/v1/runs",
            "{\"workflowId\":\"conformance-noop\",\"configurable\":{\"mockProvider\":{\"id\":"
            "\"stream-text\"}}}",
            LINES(live));
    expect_error(&r, 403, "mock_provider_forbidden");
    cr_expect_eq(json_type_of(at(r.body, "details.supportedProviders")), JSON_ARRAY);
}

Test(wire, a_forced_version_is_repeated_as_it_was_sent /* VER-10 */) {
    struct reply r =
        ask(&sv, "POST", "/v1/runs", NOOP, LINES("X-Force-Engine-Version: 0099999999999999999999"));
    expect_error(&r, 400, "unsupported_force_engine_version");
    cr_expect(str_eqc(at(r.body, "details.requested"), "99999999999999999999"), STR_FMT,
              STR_ARG(r.body));
}

Test(wire, a_token_of_any_length_names_no_interrupt /* INT-37 HTTP-5 */) {
    static const int LENGTHS[] = {10, 2048, 2049, 3000};
    for (size_t i = 0; i < sizeof LENGTHS / sizeof LENGTHS[0]; i++) {
        const char *path = fmt("/v1/interrupts/%0*d", LENGTHS[i], 7);
        struct reply r = ask(&sv, "GET", path, NULL, NO_BEARER);
        expect_error(&r, 404, "interrupt_not_found");
        r = ask(&sv, "POST", path, ACCEPT, NO_BEARER);
        expect_error(&r, 404, "interrupt_not_found");
    }
}

/* --- values --- */

Test(wire, empty_filters_are_refused /* E35 */) {
    static const char *const NAMES[] = {"tag",    "workflowId", "forkOf", "parentRunId",
                                        "status", "before",     "limit"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        struct reply r = ask(&sv, "GET", fmt("/v1/runs?%s=", NAMES[i]), NULL, NULL);
        expect_error(&r, 400, "validation_error");
        cr_expect(str_eqc(text_at(r.body, "details.parameter"), NAMES[i]));
    }
}

Test(wire, a_fork_from_beyond_every_log_is_422 /* RUN-31 FORK-2 */) {
    static const char *const BEYOND[] = {"9223372036854775807", "9223372036854775808",
                                         "99999999999999999999999", "1e30"};
    const char *run = create_run(&sv, "conformance-noop", NULL);
    wait_terminal(&sv, run);
    const char *path = fmt("/v1/runs/%s:fork", run);
    for (size_t i = 0; i < sizeof BEYOND / sizeof BEYOND[0]; i++) {
        struct reply r =
            ask(&sv, "POST", path, fmt("{\"mode\":\"branch\",\"fromSeq\":%s}", BEYOND[i]), NULL);
        expect_error(&r, 422, "sequence_not_found");
        cr_expect(str_eqc(text_at(r.body, "details.sourceRunId"), run));
    }
    struct reply r = ask(&sv, "POST", path, "{\"mode\":\"branch\",\"fromSeq\":1.5}", NULL);
    expect_error(&r, 400, "validation_error");
    r = ask(&sv, "POST", path, "{\"mode\":\"branch\",\"fromSeq\":-1e30}", NULL);
    expect_error(&r, 400, "validation_error");
}

Test(wire, a_recursion_limit_above_all_bounds_is_clamped /* CON-8 OPT-6 */) {
    struct reply r = create_with(",\"configurable\":{\"recursionLimit\":1000000000000000000000}");
    cr_expect_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    cr_expect(
        str_eqc(text_at(wait_terminal(&sv, text_at(r.body, "runId").p), "status"), "completed"));
}

Test(wire, an_empty_dedup_header_is_refused /* RUN-7 */) {
    struct reply r = ask(&sv, "POST", "/v1/runs", NOOP, LINES("X-Dedup;")); /* curl: empty */
    expect_error(&r, 400, "validation_error");
    cr_expect(str_eqc(text_at(r.body, "details.header"), "X-Dedup"));
}

Test(wire, metadata_is_measured_without_its_layout /* OPT-12 */) {
    struct reply r = create_with(fmt(",\"metadata\":{%*s\"k\":1}", 1500, "\n"));
    cr_expect_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    char *text = arena_alloc(test_arena(), 40000);
    snprintf(text, 40000, "{\"workflowId\":\"conformance-noop\",\"metadata\":{%*s\"k\":1}}", 9000,
             "\n");
    cr_expect_eq(ask(&sv, "POST", "/v1/runs", text, NULL).status, 201);
    snprintf(text, 40000, "{\"workflowId\":\"conformance-noop\",\"metadata\":{\"k\":\"%*s\"}}",
             9000, "x");
    r = ask(&sv, "POST", "/v1/runs", text, NULL);
    expect_error(&r, 400, "validation_error");
}

Test(wire, callbacks_have_a_scheme_in_any_case_and_a_port_that_exists /* RUN-1 RFC 3986 3.1 */) {
    static const struct {
        const char *url;
        long status;
    } CASES[] = {{"HTTPS://example.org/x", 201},
                 {"https://example.org:443/x", 201},
                 {"https://example.org:0/x", 400},
                 {"https://example.org:abc/x", 400},
                 {"https://example.org:99999/x", 400}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct reply r = create_with(fmt(",\"callbackUrl\":\"%s\"", CASES[i].url));
        cr_expect_eq(r.status, CASES[i].status, "%s: %ld", CASES[i].url, r.status);
    }
}

Test(wire, discovery_tells_how_long_outcomes_are_kept /* CAP-40 IDEM-18 */) {
    struct reply r = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL);
    cr_expect_eq(int_at(r.body, "idempotency.layer2RetentionSeconds"), 1209600);
}
