/*
 * test_basics.c: discovery, errors, auth, routes.
 * Public scenarios: discovery, errors, auth, route-coverage, version-negotiation,
 * runtime-capabilities, profileDerivation (predicates).
 */
#include "harness.h"

#include <stdio.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(basics, .init = up, .fini = down, .timeout = 300);

static const char *const NO_AUTH[] = {"Authorization:", NULL};

Test(basics,
     discovery_is_public_cached_and_stable /* CAP-1, CAP-3, CAP-30, HTTP-16, AUTH-15, D3 */) {
    struct reply r = ask(&sv, "GET", "/.well-known/openwop", NULL, NO_AUTH);
    cr_assert_eq(r.status, 200);
    cr_expect(str_eqc(header(&r, "Content-Type"), "application/json"));
    cr_expect(header(&r, "Cache-Control").n > 0);
    struct str tag = header(&r, "Capabilities-Etag"), etag = header(&r, "ETag");
    cr_expect(tag.n > 2 && etag.n > 2);
    cr_expect(str_starts(text_at(r.body, "protocolVersion"), STR("1.")));
    cr_expect_eq(json_type_of(at(r.body, "supportedEnvelopes")), JSON_ARRAY);
    cr_expect_eq(json_type_of(at(r.body, "schemaVersions")), JSON_OBJECT);
    cr_expect_eq(int_at(r.body, "limits.clarificationRounds"), 3);
    cr_expect_eq(int_at(r.body, "limits.schemaRounds"), 2);
    cr_expect_eq(int_at(r.body, "limits.envelopesPerTurn"), 5);
    cr_expect_eq(int_at(r.body, "limits.maxNodeExecutions"), 100);
    cr_expect(at(r.body, "limits.idempotencyAckTimeoutSec").p == NULL, "CON-39");
    cr_expect_null(strstr(r.body.p, "\"edit\""), "CAP-4");
    const char *if_none[] = {"Authorization: Bearer nonsense",
                             fmt("If-None-Match: " STR_FMT, STR_ARG(etag)), NULL};
    struct reply again = ask(&sv, "GET", "/.well-known/openwop", NULL, if_none);
    cr_expect_eq(again.status, 304, "a bad credential is ignored and the tag honoured");
    cr_expect(str_eq(header(&again, "Capabilities-Etag"), tag));
    cr_expect_eq(ask(&sv, "HEAD", "/.well-known/openwop", NULL, NO_AUTH).status, 200);
}

Test(basics, only_runnable_fixtures_are_advertised /* CAP-23, FIX-3 */) {
    static const char *const want[] = {"conformance-noop",
                                       "conformance-identity",
                                       "conformance-delay",
                                       "conformance-failure",
                                       "conformance-multi-node",
                                       "conformance-idempotent",
                                       "conformance-cancellable",
                                       "conformance-capability-missing",
                                       "conformance-cap-breach",
                                       "conformance-channel-ttl",
                                       "conformance-version-fold",
                                       "conformance-stream-text",
                                       "conformance-configurable-schema",
                                       "conformance-append-ordering"};
    struct reply r = ask(&sv, "GET", "/.well-known/openwop", NULL, NO_AUTH);
    struct str list = at(r.body, "fixtures");
    struct json_elements l;
    cr_assert_eq(json_elements(list, test_arena(), &l, NULL), 0);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        cr_expect_not_null(strstr(list.p, fmt("\"%s\"", want[i])), "%s is missing", want[i]);
    for (size_t i = 0; i < l.n; i++) { /* every advertised id is accepted */
        const char *body = fmt("{\"workflowId\":" STR_FMT
                               ",\"inputs\":{\"nonce\":\"n\",\"payload\":{},\"delayMs\":1}}",
                               STR_ARG(l.v[i]));
        struct reply c = ask(&sv, "POST", "/v1/runs", body, NULL);
        cr_expect_eq(c.status, 201, STR_FMT ": %ld " STR_FMT, STR_ARG(l.v[i]), c.status,
                     STR_ARG(c.body));
    }
    /* seeded, but what it needs is not configured here: stored and served, and not advertised */
    cr_expect_eq(ask(&sv, "GET", "/v1/workflows/conformance-mcp-tool-roundtrip", NULL, NULL).status,
                 200);
    cr_expect_null(strstr(list.p, "\"conformance-mcp-tool-roundtrip\""));
    cr_expect_not_null(strstr(list.p, "\"conformance-wasm-pack-roundtrip\""), "FIX-52");
}

Test(basics, openapi_describes_the_mounted_routes /* RUN-47, HTTP-4 */) {
    struct reply r = ask(&sv, "GET", "/v1/openapi.json", NULL, NO_AUTH);
    cr_assert_eq(r.status, 200);
    cr_expect(str_eqc(header(&r, "Cache-Control"), "public, max-age=300"), "HTTP-16");
    cr_expect(str_starts(text_at(r.body, "openapi"), STR("3.1")));
    cr_expect_not_null(at(r.body, "paths").p);
    cr_expect_not_null(strstr(r.body.p, "\"/v1/runs/{runId}:pause\""));
    cr_expect_not_null(strstr(r.body.p, "\"createRun\""));
    cr_expect_null(strstr(r.body.p, "\"/v1/agents\""), "not mounted, so not described");
}

Test(basics, errors_are_the_closed_envelope /* ERR-1, HTTP-2, HTTP-3, HTTP-13, suite errors */) {
    struct reply r =
        ask(&sv, "GET", "/v1/runs/openwop-conformance-this-run-id-does-not-exist", NULL, NULL);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "POST", "/v1/runs", "{}", NULL);
    expect_error(&r, 400, "validation_error");
    cr_expect_eq(json_type_of(at(r.body, "details.fields")), JSON_ARRAY, "ERR-6: " STR_FMT,
                 STR_ARG(r.body));
    r = ask(&sv, "GET", "/runs", NULL, NULL);
    expect_error(&r, 400, "validation_error");
    r = ask(&sv, "GET", "/v2/runs", NULL, NULL);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "GET", "/v1/nothing-here", NULL, NULL);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "DELETE", "/v1/runs", NULL, NULL);
    expect_error(&r, 405, "method_not_allowed");
    cr_expect_not_null(strstr(header(&r, "Allow").p, "POST"));
    r = ask(&sv, "GET", fmt("/v1/runs/%0*d", 200, 7), NULL, NULL);
    expect_error(&r, 404, "not_found"); /* HTTP-5 */
    r = ask(&sv, "GET", "/v1/runs/%zz", NULL, NULL);
    expect_error(&r, 404, "not_found");
    cr_expect_eq(ask(&sv, "OPTIONS", "/v1/runs", NULL, NULL).status, 204);
}

Test(basics, route_coverage /* suite route-coverage; RUN-42, RUN-43 */) {
    struct reply r = ask(&sv, "GET", "/v1/workflows/conformance-noop", NULL, NULL);
    cr_assert_eq(r.status, 200);
    cr_expect(str_eqc(text_at(r.body, "id"), "conformance-noop"));
    cr_expect_eq(json_type_of(at(r.body, "nodes")), JSON_ARRAY);
    struct buf file;
    buf_init(&file, 1 << 20);
    FILE *f = fopen(WOPR_SOURCE_DIR "/conformance/fixtures/conformance-noop.json", "rb");
    cr_assert_not_null(f);
    for (int ch; (ch = fgetc(f)) != EOF;) buf_addc(&file, (char)ch);
    fclose(f);
    cr_expect(json_equal(r.body, buf_str(&file), test_arena()), "served untransformed");
    buf_fini(&file);
    r = ask(&sv, "GET", "/v1/workflows/openwop-conformance-missing-workflow", NULL, NULL);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "GET", "/v1/runs/missing-run/artifacts/missing-artifact", NULL, NULL);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "POST", "/v1/webhooks",
            "{\"url\":\"not-a-valid-url\",\"events\":[\"run.completed\"]}", NULL);
    cr_expect(r.status >= 400 && r.status < 500);
    expect_error(&r, r.status, text_at(r.body, "error").p);
    r = ask(&sv, "DELETE", "/v1/webhooks/openwop-conformance-missing-webhook", NULL, NULL);
    expect_error(&r, 404, "not_found");
}

Test(basics, credentials /* AUTH-2, AUTH-7, suite auth */) {
    const char *body = "{\"workflowId\":\"conformance-noop\"}";
    static const char *const bad[] = {"Authorization: Bearer hk_definitely_not_a_real_key_12345",
                                      "Authorization: Bearer", "Authorization: Basic abc",
                                      "Authorization: Bearer a b", NULL};
    struct reply r = ask(&sv, "POST", "/v1/runs", body, NO_AUTH);
    expect_error(&r, 401, "unauthenticated");
    cr_expect(header(&r, "WWW-Authenticate").n > 0);
    for (int i = 0; bad[i] != NULL; i++) {
        const char *const h[] = {bad[i], NULL};
        r = ask(&sv, "POST", "/v1/runs", body, h);
        expect_error(&r, 401, "unauthenticated");
        cr_expect_null(strstr(r.body.p, "hk_definitely"), "HTTP-14");
    }
    const char *const lower[] = {fmt("Authorization: bearer %s", sv.key), NULL};
    cr_expect_eq(ask(&sv, "POST", "/v1/runs", body, lower).status, 201,
                 "the scheme is case-insensitive");
}

static const char *mint(const char *scopes, const char *const *more, struct str *key_id) {
    const char *args[12] = {"keys", "create", "--scopes", scopes, "--no-expiry"};
    int n = 5;
    struct str out = STR_NONE, err = STR_NONE;
    for (; more != NULL && *more != NULL; more++) args[n++] = *more;
    cr_assert_eq(program(&sv, args, &out, &err), 0, STR_FMT, STR_ARG(err));
    if (key_id != NULL) {
        const char *p = strstr(err.p, "key id ");
        cr_assert_not_null(p);
        struct str rest = str_c(p + 7), tail;
        cr_assert(str_cut(rest, ',', key_id, &tail));
    }
    return fmt("Authorization: Bearer " STR_FMT, STR_ARG(str_trim(str_n(out.p, out.n - 1))));
}

Test(basics, each_route_needs_its_scope /* AUTH-5, AUTH-6, AUTH-7 */) {
    static const struct {
        const char *method, *path, *body, *scope;
    } rows[] = {
        {"GET", "/v1/workflows/conformance-noop", NULL, "manifest:read"},
        {"POST", "/v1/runs", "{\"workflowId\":\"conformance-noop\"}", "runs:create"},
        {"GET", "/v1/runs/x", NULL, "runs:read"},
        {"GET", "/v1/runs/x/events", NULL, "runs:read"},
        {"GET", "/v1/runs/x/events/poll", NULL, "runs:read"},
        {"POST", "/v1/runs/x/cancel", "{}", "runs:cancel"},
        {"POST", "/v1/runs/x:pause", "{}", "runs:cancel"},
        {"POST", "/v1/runs/x:resume", "{}", "runs:cancel"},
        {"GET", "/v1/runs/x/artifacts/y", NULL, "artifacts:read"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const without[] = {
            mint(strcmp(rows[i].scope, "audit:read") == 0 ? "runs:read" : "audit:read", NULL, NULL),
            NULL};
        const char *const with[] = {mint(rows[i].scope, NULL, NULL), NULL};
        struct reply r = ask(&sv, rows[i].method, rows[i].path, rows[i].body, without);
        expect_error(&r, 403, "forbidden");
        cr_expect(str_eqc(text_at(r.body, "details.scopeRequired"), rows[i].scope));
        r = ask(&sv, rows[i].method, rows[i].path, rows[i].body, with);
        cr_expect(r.status != 403 && r.status != 401, "%s %s: %ld", rows[i].method, rows[i].path,
                  r.status);
    }
}

Test(basics, revoked_expired_and_foreign_keys /* AUTH-2, AUTH-8, AUTH-9, AUTH-10, HTTP-13 */) {
    static const char *const other[] = {"--tenant", "other", "--test", NULL};
    static const char *const live[] = {NULL};
    struct str id;
    const char *const key[] = {mint("all", live, &id), NULL};
    cr_expect_eq(ask(&sv, "GET", "/v1/workflows/conformance-noop", NULL, key).status, 200);
    const char *const revoke[] = {"keys", "revoke", fmt(STR_FMT, STR_ARG(id)), NULL};
    cr_assert_eq(program(&sv, revoke, NULL, NULL), 0);
    struct reply r = ask(&sv, "GET", "/v1/workflows/conformance-noop", NULL, key);
    expect_error(&r, 401, "key_revoked");
    const char *run = create_run(&sv, "conformance-noop", NULL);
    wait_terminal(&sv, run);
    const char *const foreign[] = {mint("all", other, NULL), NULL};
    const char *const live_key[] = {mint("all", NULL, NULL), NULL};
    struct reply gone = ask(&sv, "GET", "/v1/runs/run_00000000000000000000000000", NULL, NULL);
    const char *paths[] = {fmt("/v1/runs/%s", run), fmt("/v1/runs/%s/events", run),
                           fmt("/v1/runs/%s/events/poll", run)};
    for (size_t i = 0; i < 3; i++) {
        r = ask(&sv, "GET", paths[i], NULL, foreign);
        expect_error(&r, 404, "not_found");
        cr_expect(str_eq(r.body, gone.body), "indistinguishable from absent");
        r = ask(&sv, "GET", paths[i], NULL, live_key);
        expect_error(&r, 404, "not_found"); /* a live key does not see test data */
    }
    r = ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run), "{}", foreign);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "POST", "/v1/runs",
            "{\"workflowId\":\"conformance-noop\",\"tenantId\":\"somebody-else\"}", NULL);
    expect_error(&r, 403, "forbidden");
    cr_expect_eq(ask(&sv, "POST", "/v1/runs",
                     "{\"workflowId\":\"conformance-noop\",\"tenantId\":\"default\"}", NULL)
                     .status,
                 201);
}

Test(basics, version_header /* D2, D3, VER-8 */) {
    static const char *const two[] = {"OpenWOP-Version: 2.0", NULL}, *const one[] = {
                                                                         "OpenWOP-Version: 1.0",
                                                                         NULL};
    struct reply r = ask(&sv, "GET", "/v1/workflows/conformance-noop", NULL, one);
    cr_expect_eq(r.status, 200);
    cr_expect(str_eqc(header(&r, "OpenWOP-Version"), "1.0"));
    r = ask(&sv, "GET", "/v1/workflows/conformance-noop", NULL, two);
    cr_expect_eq(r.status, 406);
    cr_expect_not_null(at(r.body, "details.protocolVersions").p);
}

Test(basics, operations_listener_answers /* healthz, readyz, metrics */) {
    struct server ops = sv;
    cr_assert(sv.ops_port > 0);
    snprintf(ops.base, sizeof ops.base, "http://127.0.0.1:%d", sv.ops_port);
    wait_terminal(&sv, create_run(&sv, "conformance-noop", NULL));
    cr_expect_eq(ask(&ops, "GET", "/healthz", NULL, NO_AUTH).status, 200);
    cr_expect_eq(ask(&ops, "GET", "/readyz", NULL, NO_AUTH).status, 200);
    struct reply r = ask(&ops, "GET", "/metrics", NULL, NO_AUTH);
    cr_assert_eq(r.status, 200);
    cr_expect_not_null(strstr(r.body.p, "wopr_runs_ended_total{status=\"completed\"} 1\n"), STR_FMT,
                       STR_ARG(r.body));
    cr_expect_eq(ask(&sv, "GET", "/metrics", NULL, NULL).status, 400,
                 "not on the protocol port (HTTP-2)");
}
