/*
 * The two documents that are built at start, and the operation table behind them.
 */
#include "base/embed.h"
#include "base/mem.h"
#include "codec/schema.h"
#include "unit/wire/described.h"
#include "wire/v1/wire_int.h"

#include <criterion/criterion.h>

static const char *const RUNTIME[] = {"chat.sendPrompt", NULL};
static const char *const FIXTURES[] = {"conformance-noop", "conformance-identity", NULL};
static struct v1 *v;
static struct wopr_error err;
static struct arena *a;

static struct v1_config config(void) {
    return (struct v1_config){.version = "0.1.0",
                              .vendor = "wopr",
                              .limits = RUN_LIMITS_DEFAULT,
                              .runtime_capabilities = RUNTIME,
                              .idem_retention_s = 86400,
                              .max_run_duration_sec = 86400,
                              .body_max = 1048576,
                              .ticket_lifetime_ms = 60000,
                              .interrupt_token_ms = 1800000,
                              .external_event_retention_s = 2592000,
                              .fixtures = FIXTURES};
}

static void up(void) {
    struct v1_config c = config();
    a = arena_new(1 << 22);
    cr_assert_eq(v1_new(&c, NULL, NULL, &v, &err), 0, "%s", err.message);
}
static void down(void) {
    v1_free(v);
    arena_free(a);
}
TestSuite(wire_documents, .init = up, .fini = down);

Test(wire_documents, discovery_is_valid_against_the_published_schema /* CAP-1 */) {
    const struct embed_file *f = embed_find("api/schemas/capabilities.schema.json");
    struct schema_set *set = schema_set_new(true);
    const struct schema *schema;
    struct schema_issue issue = {0};
    cr_assert_not_null(f);
    cr_assert_eq(schema_set_add(set, STR("caps"), embed_text(f), &err), 0);
    cr_assert_eq(schema_compile(set, STR("caps"), &schema, &err), 0);
    cr_expect_eq(schema_validate_text(schema, v->discovery, &issue), 0, "%s: %s", issue.instance,
                 issue.reason);
    schema_set_free(set);
}

static struct str at(const char *path) { return json_path_get(v->discovery, str_c(path), a); }

Test(wire_documents,
     discovery_says_what_this_build_does /* CAP-6 to CAP-48 PROF-2 PROF-4 PROF-10 */) {
    static const struct {
        const char *path, *raw;
    } HAS[] = {
        {"protocolVersion", "\"1.0\""},
        {"engineVersion", "1"},
        {"eventLogSchemaVersion", "2"},
        {"minClientVersion", "\"1.0\""},
        {"supportedTransports", "[\"rest\"]"},
        {"supportedEnvelopes", "[\"clarification.request\"]"},
        {"schemaVersions", "{\"clarification.request\":1}"},
        {"limits", "{\"clarificationRounds\":3,\"schemaRounds\":2,\"envelopesPerTurn\":5,"
                   "\"maxNodeExecutions\":100}"},
        {"implementation", "{\"name\":\"wopr\",\"version\":\"0.1.0\",\"vendor\":\"wopr\"}"},
        {"runtimeCapabilities", "[\"chat.sendPrompt\"]"},
        {"fixtures", "[\"conformance-noop\",\"conformance-identity\"]"},
        {"configurable.recursionLimit", "{\"type\":\"number\",\"min\":1}"},
        {"testing.testKeyPrefix", "\"hk_test_\""},
        {"testing.mockProviders", "[\"stream-text\",\"tool-calls\",\"error\",\"usage-only\"]"},
        {"idempotency.crossRegion", "\"single-region\""},
        {"idempotency.layer1RetentionSeconds", "86400"},
        {"idempotency.layer2RetentionSeconds", "1209600"}, /* CAP-40 IDEM-18 */
        {"runs.pauseResume.drainPolicies", "[\"immediate\",\"drain-current-node\"]"},
        {"extensions.limits.maxRequestBodyBytes", "1048576"},
        {"extensions.interrupts.profiles",
         "[\"openwop-interrupt-quorum\",\"openwop-interrupt-external-event\","
         "\"openwop-interrupt-auth-required\"]"},
        {"extensions.interrupts.signedCallbackTokens", "true"},
        {"extensions.interrupts.externalEventRetentionSeconds", "2592000"},
        {"capabilities.idempotency.crossRegion", "\"single-region\""},
        {"agents.orchestrator", "true"},
        {"agents.reasoningEvents", "false"}, /* AGT-12: no type here reasons */
        {"orchestrator.supported", "true"},
        {"dispatch.askUserRoutings", "[\"clarification\",\"auto\"]"},
        {"replay", "{\"supported\":true,\"modes\":[\"replay\",\"branch\"]}"}}; /* FORK-7 */
    static const char *const LACKS[] = {"secrets",           "aiProviders", "webhooks",
                                        "debugBundle",       "auth",        "conversationPrimitive",
                                        "capabilities.auth", "profiles",    "mcp",
                                        "compliance"};
    for (size_t i = 0; i < sizeof HAS / sizeof HAS[0]; i++)
        cr_expect(str_eqc(at(HAS[i].path), HAS[i].raw), "%s: " STR_FMT, HAS[i].path,
                  STR_ARG(at(HAS[i].path)));
    for (size_t i = 0; i < sizeof LACKS / sizeof LACKS[0]; i++)
        cr_expect_null(at(LACKS[i]).p, "%s", LACKS[i]);
}

Test(wire_documents, mirrored_blocks_are_equal_to_the_top_level_ones /* CAP-3 CON-1 */) {
    struct json_members m;
    cr_assert_eq(json_members(at("capabilities"), a, &m, &err), 0);
    cr_expect_gt(m.n, 3);
    for (size_t i = 0; i < m.n; i++)
        cr_expect(str_eq(m.v[i].raw,
                         json_get(v->discovery, m.v[i].key.p ? arena_cstr(a, m.v[i].key) : "")));
}

Test(wire_documents, the_cascade_is_advertised_under_both_names_or_not_at_all /* INT-44 */) {
    struct v1_config c = config();
    struct v1 *other;
    c.cascade = true;
    c.interrupt_auth_required = true;
    cr_assert_eq(v1_new(&c, NULL, NULL, &other, &err), 0);
    cr_expect_not_null(strstr(other->discovery.p, "\"openwop-interrupt-cascade-cancel\""));
    cr_expect_not_null(strstr(other->discovery.p, "\"openwop-interrupt-parent-child\""));
    cr_expect_not_null(strstr(other->discovery.p, "\"signedCallbackTokens\":false"), "INT-40");
    cr_expect_null(strstr(v->discovery.p, "parent-child"));
    cr_expect_null(strstr(v->discovery.p, "cascade-cancel"));
    v1_free(other);
}

Test(wire_documents, webhooks_are_advertised_when_the_host_delivers_them /* CAP-41 HOOK-14 */) {
    static char delivers; /* only its address is looked at */
    struct v1_config c = config();
    struct v1 *other;
    c.hooks = (struct hooks *)(void *)&delivers;
    cr_assert_eq(v1_new(&c, NULL, NULL, &other, &err), 0);
    const char *block = strstr(
        other->discovery.p, "\"webhooks\":{\"supported\":true,\"signatureAlgorithms\":[\"v1\"]}");
    cr_assert_not_null(block);
    cr_expect_not_null(strstr(block + 1, "\"webhooks\":{"), "mirrored");
    v1_free(other);
}

Test(wire_documents, layer_2_promises_no_more_than_runs_are_kept /* CAP-40 IDEM-18 */) {
    struct v1_config c = config();
    struct v1 *other;
    c.external_event_retention_s = 7 * 86400;
    cr_assert_eq(v1_new(&c, NULL, NULL, &other, &err), 0);
    cr_expect_not_null(strstr(other->discovery.p, "\"layer2RetentionSeconds\":604800"));
    v1_free(other);
}

Test(wire_documents, the_word_edit_occurs_nowhere_in_discovery /* CAP-4 INT-11 */) {
    cr_expect_null(strstr(v->discovery.p, "\"edit\""));
}

Test(wire_documents, the_etag_moves_only_with_the_content /* CAP-30 */) {
    static const char *const OTHER[] = {"conformance-noop", NULL};
    struct v1_config c = config();
    struct v1 *same, *other;
    cr_assert_eq(v1_new(&c, NULL, NULL, &same, &err), 0);
    c.fixtures = OTHER;
    cr_assert_eq(v1_new(&c, NULL, NULL, &other, &err), 0);
    cr_expect(str_eq(same->capabilities_etag, v->capabilities_etag));
    cr_expect(str_eq(same->discovery_etag, v->discovery_etag));
    cr_expect_not(str_eq(other->capabilities_etag, v->capabilities_etag));
    cr_expect_eq(v->capabilities_etag.n, 22);
    cr_expect(str_starts(v->capabilities_etag, STR("\"cap_")));
    v1_free(same);
    v1_free(other);
}

Test(wire_documents, without_fixtures_and_capabilities_the_lists_are_empty) {
    struct v1_config c = config();
    struct v1 *bare;
    c.fixtures = c.runtime_capabilities = NULL;
    cr_assert_eq(v1_new(&c, NULL, NULL, &bare, &err), 0);
    cr_expect(str_eq(json_get(bare->discovery, "fixtures"), STR("[]")));
    v1_free(bare);
}

/* --- operations --- */

Test(wire_documents, operations_are_unique_and_have_their_scopes /* 10-http-core 5 */) {
    static const struct {
        const char *id, *method, *pattern;
        unsigned scopes;
        bool idem;
    } TABLE[] = {{"getCapabilities", "GET", "/.well-known/openwop", 0, false},
                 {"getOpenApiSpec", "GET", "/v1/openapi.json", 0, false},
                 {"getWorkflow", "GET", "/v1/workflows/{workflowId}", SCOPE_MANIFEST_READ, false},
                 {"createRun", "POST", "/v1/runs", SCOPE_RUNS_CREATE, true},
                 {"getRun", "GET", "/v1/runs/{runId}", SCOPE_RUNS_READ, false},
                 {"streamRunEvents", "GET", "/v1/runs/{runId}/events", SCOPE_RUNS_READ, false},
                 {"pollRunEvents", "GET", "/v1/runs/{runId}/events/poll", SCOPE_RUNS_READ, false},
                 {"cancelRun", "POST", "/v1/runs/{runId}/cancel", SCOPE_RUNS_CANCEL, true},
                 {"cancelRunAlias", "POST", "/v1/runs/{runId}:cancel", SCOPE_RUNS_CANCEL, true},
                 {"pauseRun", "POST", "/v1/runs/{runId}:pause", SCOPE_RUNS_CANCEL, true},
                 {"resumeRun", "POST", "/v1/runs/{runId}:resume", SCOPE_RUNS_CANCEL, true},
                 {"resolveInterruptByRun", "POST", "/v1/runs/{runId}/interrupts/{nodeId}",
                  SCOPE_APPROVALS_RESPOND, true},
                 {"resolveApprovalAlias", "POST", "/v1/runs/{runId}/approvals/{nodeId}",
                  SCOPE_APPROVALS_RESPOND, true},
                 {"inspectInterruptByToken", "GET", "/v1/interrupts/{token}", 0, false},
                 {"resolveInterruptByToken", "POST", "/v1/interrupts/{token}", 0, true},
                 {"getArtifact", "GET", "/v1/runs/{runId}/artifacts/{artifactId}",
                  SCOPE_ARTIFACTS_READ, false}};
    const struct http_mount *w = v1_mount(v);
    for (size_t i = 0; i < sizeof TABLE / sizeof TABLE[0]; i++) {
        size_t k = 0;
        while (k < w->ops_nr && strcmp(w->ops[k].id, TABLE[i].id) != 0) k++;
        cr_assert_lt(k, w->ops_nr, "%s", TABLE[i].id);
        cr_expect_str_eq(w->ops[k].method, TABLE[i].method);
        cr_expect_str_eq(w->ops[k].pattern, TABLE[i].pattern);
        cr_expect_eq(w->ops[k].scopes, TABLE[i].scopes, "%s", TABLE[i].id);
        cr_expect_eq((w->ops[k].flags & OP_IDEMPOTENT) != 0, TABLE[i].idem);
    }
    for (size_t i = 0; i < w->ops_nr; i++) {
        cr_expect_not_null(w->ops[i].handler);
        bool by_tool = (w->ops[i].flags & OP_RESOURCE) != 0;   /* its tools have scopes */
        bool any_key = strcmp(w->ops[i].id, "getCaller") == 0; /* what the key may do */
        bool none = (w->ops[i].flags & OP_PUBLIC) != 0 || by_tool || any_key;
        cr_expect_eq(none, w->ops[i].scopes == 0, "%s", w->ops[i].id);
        bool writes = strcmp(w->ops[i].method, "POST") == 0 || strcmp(w->ops[i].method, "PUT") == 0;
        cr_expect_eq(writes, w->ops[i].body_max > 0, "%s", w->ops[i].id);
        cr_expect_leq(w->ops[i].body_max,
                      (w->ops[i].flags & OP_BYTES) != 0 ? WIRE_BODY_PACK : 1048576);
        for (size_t k = 0; k < i; k++) cr_expect_str_neq(w->ops[k].id, w->ops[i].id);
    }
    cr_assert_eq(w->headers_nr, 1u);
    cr_expect(str_eqc(w->headers[0].name, "OpenWOP-Version")); /* D3 */
    cr_expect(str_eqc(w->headers[0].value, "1.0"));
}

/* --- OpenAPI --- */

static struct str operation(const struct http_op *op) {
    return described_operation(v->openapi, op);
}

Test(wire_documents, openapi_describes_every_mounted_route_and_no_other /* RUN-47 D7 */) {
    const struct http_mount *w = v1_mount(v);
    struct json_members paths, methods;
    size_t described = 0;
    cr_assert_eq(json_check(v->openapi, &JSON_LIMITS_STORED, &err), 0, "%s", err.message);
    cr_expect(str_eq(json_get(v->openapi, "openapi"), STR("\"3.1.0\"")));
    cr_assert_eq(json_members(json_get(v->openapi, "paths"), a, &paths, &err), 0);
    for (size_t i = 0; i < paths.n; i++) {
        cr_assert_eq(json_members(paths.v[i].raw, a, &methods, &err), 0);
        described += methods.n;
    }
    cr_expect_eq(described, w->ops_nr);
    for (size_t i = 0; i < w->ops_nr; i++) {
        struct str o = operation(&w->ops[i]);
        cr_assert_not_null(o.p, "%s", w->ops[i].pattern);
        cr_expect(str_eqc(json_string(json_get(o, "operationId"), a), w->ops[i].id));
        cr_expect_eq(json_get(o, "requestBody").p != NULL, w->ops[i].body_max > 0);
        cr_expect_not_null(json_get(o, "responses").p);
        cr_expect_eq(str_eq(json_get(o, "security"), STR("[]")),
                     (w->ops[i].flags & OP_PUBLIC) != 0);
        bool keyed = strstr(arena_cstr(a, json_get(o, "parameters")), "Idempotency-Key") != NULL;
        cr_expect_eq(keyed, (w->ops[i].flags & OP_IDEMPOTENT) != 0, "%s", w->ops[i].id);
    }
}

Test(wire_documents, path_parameters_are_declared_once_each) {
    const struct http_mount *w = v1_mount(v);
    for (size_t i = 0; i < w->ops_nr; i++) {
        struct json_elements params;
        size_t in_path = 0, braces = 0;
        cr_assert_eq(json_elements(json_get(operation(&w->ops[i]), "parameters"), a, &params, &err),
                     0);
        for (size_t k = 0; k < params.n; k++) {
            if (!str_eq(json_get(params.v[k], "in"), STR("\"path\""))) continue;
            struct str name = json_string(json_get(params.v[k], "name"), a);
            struct str braced = arena_printf(a, "{" STR_FMT "}", STR_ARG(name));
            cr_expect_not_null(strstr(w->ops[i].pattern, braced.p));
            cr_expect(str_eq(json_get(params.v[k], "required"), STR("true")));
            in_path++;
        }
        for (const char *p = w->ops[i].pattern; *p; p++) braces += *p == '{';
        cr_expect_eq(in_path, braces, "%s", w->ops[i].pattern);
    }
}

Test(wire_documents, every_local_reference_of_openapi_resolves) {
    const char *p = v->openapi.p;
    size_t refs = 0;
    while ((p = strstr(p, "\"$ref\":\"#/components/")) != NULL) {
        p += strlen("\"$ref\":\"#");
        struct str pointer = str_n(p, (size_t)(strchr(p, '"') - p));
        cr_expect_not_null(json_pointer_get(v->openapi, pointer, a).p, STR_FMT, STR_ARG(pointer));
        refs++;
    }
    cr_expect_gt(refs, 20);
}
