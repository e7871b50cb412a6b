/*
 * The error table of major 1 against 10-http-core 3.3, and the closed envelope.
 */
#include "base/embed.h"
#include "codec/schema.h"
#include "wire/v1/wire_int.h"

#include <criterion/criterion.h>
#include <stdio.h>

/* 10-http-core 3.3 restated: what each neutral failure must look like to a client. */
static const struct {
    int code, status;
    const char *wire;
} CATALOGUE[] = {{WOPR_E_SYNTAX, 400, "validation_error"},
                 {WOPR_E_VALIDATION, 400, "validation_error"},
                 {WOPR_E_TOO_BIG, 400, "validation_error"},
                 {WOPR_E_STREAM_MODE, 400, "unsupported_stream_mode"},
                 {WOPR_E_MOCK_UNSUPPORTED, 400, "unsupported_mock_provider"},
                 {WOPR_E_FORCE_VERSION_RANGE, 400, "unsupported_force_engine_version"},
                 {WOPR_E_UNAUTHENTICATED, 401, "unauthenticated"},
                 {WOPR_E_KEY_EXPIRED, 401, "key_expired"},
                 {WOPR_E_KEY_REVOKED, 401, "key_revoked"},
                 {WOPR_E_FORBIDDEN, 403, "forbidden"},
                 {WOPR_E_MOCK_FORBIDDEN, 403, "mock_provider_forbidden"},
                 {WOPR_E_FORCE_VERSION_FORBIDDEN, 403, "force_engine_version_forbidden"},
                 {WOPR_E_MODEL_CLASS, 400, "unsupported_model_class"},
                 {WOPR_E_CREDENTIAL_FORBIDDEN, 403, "credential_forbidden"},
                 {WOPR_E_NOT_FOUND, 404, "not_found"},
                 {WOPR_E_METHOD, 405, "method_not_allowed"},
                 {WOPR_E_VERSION_UNSUPPORTED, 406, "protocol_version_unsupported"},
                 {WOPR_E_RUN_ALREADY_ACTIVE, 409, "run_already_active"},
                 {WOPR_E_IDEM_IN_FLIGHT, 409, "idempotency_in_flight"},
                 {WOPR_E_IDEM_CONFLICT, 409, "idempotency_key_conflict"},
                 {WOPR_E_CONFLICT, 409, "conflict"},
                 {WOPR_E_RUN_TERMINAL, 409, "conflict"},
                 {WOPR_E_EXISTS, 409, "conflict"},
                 {WOPR_E_VERSION_MISMATCH, 409, "engine_version_mismatch"},
                 {WOPR_E_EXPIRED, 410, "run_expired"},
                 {WOPR_E_BODY_TOO_LARGE, 413, "payload_too_large"},
                 {WOPR_E_MEDIA_TYPE, 415, "unsupported_media_type"},
                 {WOPR_E_QUOTA, 429, "rate_limited"},
                 {WOPR_E_RATE_LIMITED, 429, "rate_limited"},
                 {WOPR_E_INTERNAL, 500, "internal_error"},
                 {WOPR_E_IO, 500, "internal_error"},
                 {WOPR_E_SYNC_FAILED, 500, "internal_error"},
                 {WOPR_E_CORRUPT, 500, "internal_error"},
                 {WOPR_E_SCHEMA_NEWER, 500, "internal_error"},
                 {WOPR_E_CONFIG, 500, "internal_error"},
                 {WOPR_E_PAYLOAD_INVALID, 500, "internal_error"},
                 {WOPR_E_NOT_IMPLEMENTED, 501, "not_implemented"},
                 {WOPR_E_UNAVAILABLE, 503, "service_unavailable"},
                 {WOPR_E_NO_MEMORY, 503, "service_unavailable"},
                 {WOPR_E_BUSY, 503, "service_unavailable"},
                 {WOPR_E_DISK_FULL, 503, "service_unavailable"},
                 {WOPR_E_STALE, 503, "service_unavailable"},
                 {WOPR_E_FENCED, 503, "service_unavailable"},
                 {WOPR_E_LOCKED, 503, "service_unavailable"},
                 {WOPR_E_CLOSED, 503, "service_unavailable"},
                 {WOPR_E_INTERRUPT_NOT_FOUND, 404, "interrupt_not_found"},
                 {WOPR_E_INTERRUPT_RESOLVED, 409, "interrupt_already_resolved"},
                 {WOPR_E_INTERRUPT_EXPIRED, 410, "interrupt_expired"},
                 {WOPR_E_INTERRUPT_CANCELLED, 422, "interrupt_cancelled"},
                 {WOPR_E_INTERRUPT_GONE, 410, "interrupt_cancelled"},
                 {WOPR_E_TASK_LOST, 409, "task_lease_lost"},
                 {WOPR_E_CORRELATION_MISMATCH, 422, "correlation_mismatch"},
                 {WOPR_E_EVENTS_EXPIRED, 410, "events_expired"},
                 {WOPR_E_SEQUENCE_NOT_FOUND, 422, "sequence_not_found"},
                 {WOPR_E_EGRESS_REFUSED, 400, "validation_error"},
                 {WOPR_E_UNREACHABLE, 503, "service_unavailable"},
                 {WOPR_E_TIMEOUT, 503, "service_unavailable"},
                 {WOPR_E_TARGET_TOO_LONG, 414, "validation_error"},
                 {WOPR_E_HEAD_TOO_LARGE, 431, "validation_error"},
                 {WOPR_E_HEAD_TIMEOUT, 408, "validation_error"},
                 {WOPR_E_CODING_UNKNOWN, 501, "not_implemented"},
                 {WOPR_E_HTTP_VERSION, 505, "not_implemented"},
                 {WOPR_E_PACK_NAME, 400, "invalid_pack_name"},
                 {WOPR_E_PACK_SCOPE, 400, "invalid_pack_scope"},
                 {WOPR_E_PACK_VERSION, 400, "invalid_version"},
                 {WOPR_E_PACK_BODY, 400, "invalid_body"},
                 {WOPR_E_PACK_NOT_FOUND, 404, "pack_not_found"},
                 {WOPR_E_PACK_NO_SIGNATURE, 404, "signature_not_available"},
                 {WOPR_E_PACK_INTEGRITY, 400, "pack_integrity_failure"},
                 {WOPR_E_PACK_GUNZIP, 400, "tarball_gunzip_failed"},
                 {WOPR_E_PACK_TOO_LARGE, 400, "tarball_too_large"},
                 {WOPR_E_PACK_TAR, 400, "tarball_tar_parse_failed"},
                 {WOPR_E_PACK_PATH, 400, "tarball_path_traversal"},
                 {WOPR_E_PACK_NO_MANIFEST, 400, "tarball_manifest_missing"},
                 {WOPR_E_PACK_MANIFEST_LARGE, 400, "tarball_manifest_too_large"},
                 {WOPR_E_PACK_MANIFEST_JSON, 400, "tarball_manifest_not_json"},
                 {WOPR_E_PACK_MANIFEST, 400, "invalid_manifest"},
                 {WOPR_E_PACK_ENGINES, 400, "invalid_engines_range"},
                 {WOPR_E_PACK_NAME_OTHER, 400, "manifest_name_mismatch"},
                 {WOPR_E_PACK_VERSION_OTHER, 400, "manifest_version_mismatch"},
                 {WOPR_E_PACK_RUNTIME, 400, "unsupported_runtime"},
                 {WOPR_E_PACK_NO_ENTRY, 400, "tarball_entry_missing"},
                 {WOPR_E_PACK_ENTRY_LARGE, 400, "tarball_entry_too_large"},
                 {WOPR_E_PACK_REF, 400, "schema_ref_missing"},
                 {WOPR_E_PACK_SIGNATURE, 400, "signature_invalid"},
                 {WOPR_E_PACK_KEY, 400, "signature_unknown_key"},
                 {WOPR_E_PACK_ROTATION, 400, "rotation_proof_invalid"},
                 {WOPR_E_PACK_WINDOW, 400, "unpublish_window_expired"},
                 {WOPR_E_PACK_NOT_APPROVED, 403, "pack_not_approved"},
                 {WOPR_E_PACK_LOAD, 400, "pack_load_failure"}};
enum { CATALOGUE_NR = sizeof CATALOGUE / sizeof CATALOGUE[0] };

static struct buf envelope;
static int status, retry_after;

static struct str render(const struct wopr_error *err) {
    buf_reset(&envelope);
    v1_error_envelope(err, STR("req-1"), &envelope, &status, &retry_after);
    cr_assert_eq(json_check(buf_str(&envelope), &JSON_LIMITS_DEFAULT, NULL), 0, "%s", envelope.p);
    return buf_str(&envelope);
}

static void up(void) { buf_init(&envelope, 65536); }
static void down(void) { buf_fini(&envelope); }
TestSuite(wire_errors, .init = up, .fini = down);

Test(wire_errors, every_neutral_code_has_the_row_of_the_catalogue /* ERR-3 */) {
    cr_assert_eq(CATALOGUE_NR, WOPR_ERR_NR - 1, "a neutral code is missing in the catalogue");
    for (int i = 0; i < CATALOGUE_NR; i++) {
        cr_expect_eq(v1_status_of(CATALOGUE[i].code), CATALOGUE[i].status, "%s",
                     wopr_err_name(CATALOGUE[i].code));
        cr_expect_str_eq(v1_code_of(CATALOGUE[i].code), CATALOGUE[i].wire);
        for (int k = 0; k < i; k++) cr_expect_neq(CATALOGUE[k].code, CATALOGUE[i].code);
    }
}

Test(wire_errors, a_code_nobody_knows_is_an_internal_error) {
    cr_expect_eq(v1_status_of(0), 500);
    cr_expect_eq(v1_status_of(-9999), 500);
    cr_expect_eq(v1_status_of(7), 500);
    cr_expect_str_eq(v1_code_of(-(int)WOPR_ERR_NR), "internal_error");
}

Test(wire_errors, every_envelope_is_valid_against_the_published_schema /* ERR-1 */) {
    const struct embed_file *f = embed_find("api/schemas/error-envelope.schema.json");
    struct schema_set *set = schema_set_new(false);
    const struct schema *schema;
    struct wopr_error err;
    cr_assert_not_null(f);
    cr_assert_eq(schema_set_add(set, STR("envelope"), embed_text(f), &err), 0);
    cr_assert_eq(schema_compile(set, STR("envelope"), &schema, &err), 0);
    for (int i = 0; i < CATALOGUE_NR; i++) {
        struct schema_issue issue = {0};
        wopr_error_at(&err, CATALOGUE[i].code, "/a~1b/c", "why");
        struct str body = render(&err);
        cr_expect_eq(schema_validate_text(schema, body, &issue), 0, "%s: %s", envelope.p,
                     issue.reason);
        cr_expect_eq(status, CATALOGUE[i].status);
        bool later = status == 429 || status == 503 ||
                     CATALOGUE[i].code == WOPR_E_RUN_ALREADY_ACTIVE ||
                     CATALOGUE[i].code == WOPR_E_IDEM_IN_FLIGHT;
        cr_expect_eq(retry_after > 0, later, "%s", envelope.p); /* 2.2 */
    }
    schema_set_free(set);
}

Test(wire_errors, a_5xx_carries_the_request_id_and_nothing_internal /* ERR-4 ERR-5 */) {
    struct wopr_error err;
    for (int i = 0; i < CATALOGUE_NR; i++) {
        if (CATALOGUE[i].status < 500) continue;
        wopr_error_at(&err, CATALOGUE[i].code, "/secret", "SELECT * FROM runs: disk I/O error");
        wopr_error_details(&err, "{\"file\":\"/var/lib/x.db\"}");
        struct str body = render(&err);
        cr_expect_null(strstr(body.p, "SELECT"));
        cr_expect_null(strstr(body.p, "/var/lib"));
        cr_expect_null(strstr(body.p, "secret"));
        cr_expect_not_null(strstr(body.p, "\"correlationId\":\"req-1\""), "%s", body.p);
    }
}

Test(wire_errors, a_pointer_becomes_a_field_path /* ERR-6 */) {
    struct wopr_error err;
    wopr_error_at(&err, WOPR_E_VALIDATION, "/configurable/ai~1x~0y", "out of range");
    cr_expect_str_eq(render(&err).p,
                     "{\"error\":\"validation_error\",\"message\":\"out of range\",\"details\":"
                     "{\"fields\":[{\"path\":\"configurable.ai/x~y\",\"reason\":\"invalid\"}]}}");
}

Test(wire_errors, fields_of_the_failing_layer_are_kept_as_they_are) {
    struct wopr_error err;
    wopr_error_at(&err, WOPR_E_VALIDATION, "/x", "m");
    wopr_error_details(&err, " {\"fields\":[{\"path\":\"a\",\"reason\":\"type\"}],\"max\":2} ");
    cr_expect_str_eq(render(&err).p,
                     "{\"error\":\"validation_error\",\"message\":\"m\",\"details\":"
                     "{\"fields\":[{\"path\":\"a\",\"reason\":\"type\"}],\"max\":2}}");
}

Test(wire_errors, broken_details_are_dropped_whole) {
    struct wopr_error err;
    wopr_error_set(&err, WOPR_E_FORBIDDEN, "m");
    wopr_error_details(&err, "{\"a\":");
    cr_expect_str_eq(render(&err).p, "{\"error\":\"forbidden\",\"message\":\"m\"}");
    wopr_error_details(&err, "[1]");
    cr_expect_str_eq(render(&err).p, "{\"error\":\"forbidden\",\"message\":\"m\"}");
}

Test(wire_errors, an_error_without_a_message_still_has_one /* ERR-1 */) {
    struct wopr_error err = {.code = WOPR_E_MEDIA_TYPE};
    struct str m = json_get(render(&err), "message");
    cr_expect_gt(m.n, 2);
}

Test(wire_errors, absent_and_foreign_resources_answer_alike /* HTTP-13 */) {
    struct wopr_error err;
    char first[512];
    wopr_error_set(&err, WOPR_E_NOT_FOUND, "no such run");
    snprintf(first, sizeof first, "%s", render(&err).p);
    wopr_error_set(&err, WOPR_E_NOT_FOUND, "the run belongs to another tenant");
    cr_expect_str_eq(render(&err).p, first);
}

Test(wire_errors, rate_limit_details_agree_with_the_header /* ERR-8 */) {
    struct wopr_error err;
    wopr_error_set(&err, WOPR_E_RATE_LIMITED, "slow down");
    wopr_error_details(
        &err, "{\"retryAfterMs\":1500,\"scope\":\"route\",\"limit\":50,\"observedRate\":70}");
    struct str d = json_get(render(&err), "details");
    cr_expect_eq(retry_after, 2);
    cr_expect_str_eq(str_c(d.p).p,
                     "{\"retryAfterMs\":1500,\"scope\":\"route\",\"limit\":50,\"observedRate\":70,"
                     "\"retryAfterSeconds\":2,\"window\":1,\"current\":70}}");
    wopr_error_details(&err, "{}");
    d = json_get(render(&err), "details");
    cr_expect_eq(retry_after, 1);
    cr_expect(str_eq(json_get(d, "scope"), STR("\"key\"")));
}

Test(wire_errors, unavailable_tells_the_same_wait_twice /* ERR-9 ERR-10 */) {
    struct wopr_error err;
    int64_t s = 0;
    wopr_error_set(&err, WOPR_E_UNAVAILABLE, "full");
    wopr_error_details(&err, "{\"retryAfter\":7,\"queue\":8192}");
    struct str d = json_get(render(&err), "details");
    cr_expect_eq(retry_after, 7);
    cr_expect(json_int(json_get(d, "retryAfter"), &s) && s == 7);
    cr_expect_null(json_get(d, "queue").p);
    wopr_error_details(&err, "{\"retryAfter\":-3}");
    (void)render(&err);
    cr_expect_eq(retry_after, 1);
}

Test(wire_errors, an_active_run_conflict_names_run_host_and_wait /* 3.2 */) {
    struct wopr_error err;
    wopr_error_set(&err, WOPR_E_RUN_ALREADY_ACTIVE, "busy");
    wopr_error_details(&err, "{\"activeRunId\":\"run_1\",\"retryAfter\":12}");
    struct str d = json_get(render(&err), "details");
    cr_expect_eq(retry_after, 12);
    cr_expect(str_eq(json_get(d, "activeRunId"), STR("\"run_1\"")));
    cr_expect(str_eq(json_get(d, "activeHost"), STR("\"cloud\"")));
}

Test(wire_errors, out_of_arena_gives_the_fixed_body) {
    struct http_call c = {.arena = arena_new(16)};
    struct wopr_error err;
    struct str body;
    wopr_error_set(&err, WOPR_E_NOT_FOUND, "x");
    v1_error_body(&c, &err, &status, &body, &retry_after);
    cr_expect_eq(status, 503);
    cr_expect_eq(retry_after, 1);
    cr_expect_eq(json_check(body, &JSON_LIMITS_DEFAULT, NULL), 0);
    arena_free(c.arena);
}
