/*
 * test_workflows.c: definitions over the wire: check, put, versions, delete; runs keep theirs; who
 * may, and how much.
 */
#include "interrupt_kit.h"

#include <stdio.h>

#define WORKFLOWS "/v1/host/wopr/workflows"

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(workflows, .init = up, .fini = down, .timeout = 300);

/* One node that waits, one that says which text this is; more: further members. */
static const char *definition(const char *id, const char *says, const char *more) {
    return fmt("{\"id\":\"%s\",\"name\":\"W\",\"version\":\"1\",\"nodes\":[{\"id\":\"wait\","
               "\"typeId\":\"core.delay\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":"
               "{},\"inputs\":{\"delayMs\":{\"type\":\"variable\",\"variableName\":\"ms\"}}},"
               "{\"id\":\"say\",\"typeId\":\"core.setVariable\",\"name\":\"n\",\"position\":{\"x\":"
               "0,\"y\":0},\"config\":{\"name\":\"said\",\"value\":\"%s\"},\"inputs\":{}}],"
               "\"edges\":[{\"id\":\"e\",\"sourceNodeId\":\"wait\",\"targetNodeId\":\"say\"}],"
               "\"triggers\":[],\"variables\":[{\"name\":\"ms\",\"type\":\"number\","
               "\"defaultValue\":0},{\"name\":\"said\",\"type\":\"string\"}],\"metadata\":{},"
               "\"settings\":{%s}}",
               id, says, more);
}

static struct reply put(const char *id, const char *body) {
    return ask(&sv, "PUT", fmt(WORKFLOWS "/%s", id), body, NULL);
}

static void expect_put(const char *id, const char *body, const char *result, int revision) {
    struct reply r = put(id, body);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.body, "result"), result), STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(at(r.body, "revision"), fmt("%d", revision)), STR_FMT, STR_ARG(r.body));
}

static struct str said_by(const char *run) {
    wait_terminal(&sv, run);
    return text_at(ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).body, "variables.said");
}

Test(workflows, each_text_is_a_version_and_runs_keep_theirs /* WF-1 */) {
    expect_put("mine", definition("mine", "one", ""), "created", 1);
    expect_put("mine", definition("mine", "one", ""), "unchanged", 1);
    const char *old = create_run(&sv, "mine", "\"inputs\":{\"ms\":3000}");
    expect_put("mine", definition("mine", "two", ""), "updated", 2);
    const char *new = create_run(&sv, "mine", "\"inputs\":{}");
    cr_expect(str_eqc(said_by(new), "two"));
    struct reply r = ask(&sv, "GET", WORKFLOWS "/mine/versions", NULL, NULL);
    cr_expect(str_eqc(at(r.body, "versions.0.revision"), "2") &&
                  str_eqc(at(r.body, "versions.0.current"), "true") &&
                  str_eqc(at(r.body, "versions.1.revision"), "1"),
              STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "GET", WORKFLOWS "/mine/versions/1", NULL, NULL);
    cr_expect(str_eqc(r.body, definition("mine", "one", "")), "byte for byte: " STR_FMT,
              STR_ARG(r.body));
    r = ask(&sv, "DELETE", WORKFLOWS "/mine", NULL, NULL);
    cr_expect_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    server_kill(&sv);
    server_again(&sv);
    cr_expect(str_eqc(said_by(old), "one"), "it was deleted and the host killed in between");
    r = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"mine\"}", NULL);
    cr_expect_eq(r.status, 400, "no new runs: " STR_FMT, STR_ARG(r.body));
    cr_expect_eq(ask(&sv, "DELETE", WORKFLOWS "/mine", NULL, NULL).status, 404);
    expect_put("mine", definition("mine", "three", ""), "created", 3);
}

Test(workflows, what_cannot_work_is_refused_unless_it_is_forced) {
    const char *bad = definition("typo", "x", "\"strictInput\":true");
    struct reply r = put("typo", bad);
    cr_expect_eq(r.status, 400);
    cr_expect(
        str_eqc(text_at(r.body, "details.fields.0.path"), "/settings/strictInput") &&
            strstr(text_at(r.body, "details.fields.0.reason").p, "did you mean strictInputs?"),
        STR_FMT, STR_ARG(r.body));
    cr_expect_eq(ask(&sv, "GET", "/v1/workflows/typo", NULL, NULL).status, 404);
    r = ask(&sv, "POST", WORKFLOWS ":check", bad, NULL);
    cr_expect(r.status == 200 && str_eqc(at(r.body, "valid"), "false") &&
                  str_eqc(text_at(r.body, "findings.0.nearest"), "strictInputs") &&
                  str_eqc(at(r.body, "findings.0.value"), "true"),
              STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "PUT", WORKFLOWS "/typo?force=true", bad, NULL);
    cr_expect(r.status == 200 && str_eqc(text_at(r.body, "findings.0.severity"), "error"), STR_FMT,
              STR_ARG(r.body));
    r = ask(&sv, "PUT", WORKFLOWS "/typo?force=true", "{\"id\":\"typo\"}", NULL);
    cr_expect_eq(r.status, 400, "it cannot be compiled: " STR_FMT, STR_ARG(r.body));
    r = put("other", definition("typo", "x", ""));
    cr_expect(r.status == 400 && str_eqc(text_at(r.body, "details.fields.0.path"), "id"), STR_FMT,
              STR_ARG(r.body));
}

Test(workflows, a_put_needs_its_scope_and_changes_nothing_of_others /* AUTH-5, AUTH-9 */) {
    const char *reader[] = {key_with(&sv, "manifest:read,runs:create", "default"), NULL};
    const char *body = definition("conformance-noop", "own", "");
    struct reply r = ask(&sv, "PUT", WORKFLOWS "/conformance-noop", body, reader);
    cr_expect_eq(r.status, 403);
    cr_expect_eq(ask(&sv, "DELETE", WORKFLOWS "/conformance-noop", NULL, reader).status, 403);
    r = ask(&sv, "POST", WORKFLOWS ":check", body, reader);
    cr_expect_eq(r.status, 200, "to look needs no more than to read");
    const char *other[] = {key_with(&sv, "all", "tenant-b"), NULL};
    r = ask(&sv, "PUT", WORKFLOWS "/conformance-noop", body, other);
    cr_expect(r.status == 200 && str_eqc(text_at(r.body, "result"), "created"), STR_FMT,
              STR_ARG(r.body));
    r = ask(&sv, "GET", "/v1/workflows/conformance-noop", NULL, NULL);
    cr_expect_null(strstr(r.body.p, "\"own\""), "the tenant of the key has the shared one");
    r = ask(&sv, "GET", "/v1/workflows/conformance-noop", NULL, other);
    cr_expect_not_null(strstr(r.body.p, "\"own\""));
    r = ask(&sv, "DELETE", WORKFLOWS "/conformance-noop", NULL, NULL);
    cr_expect_eq(r.status, 403, "it is shared: " STR_FMT, STR_ARG(r.body));
}

Test(workflows, pages_list_each_workflow_once) {
    for (int i = 0; i < 7; i++) {
        const char *id = fmt("page-%d", i);
        expect_put(id, definition(id, "x", ""), "created", 1);
    }
    const char *after = "page";
    unsigned seen = 0;
    for (int page = 0; page < 10; page++) {
        struct reply r = ask(&sv, "GET", fmt(WORKFLOWS "?limit=3&after=%s", after), NULL, NULL);
        for (int i = 0; i < 3; i++)
            seen += str_starts(at(r.body, fmt("workflows.%d.workflowId", i)), STR("\"page-"));
        if (at(r.body, "nextAfter").n == 0) break;
        after = arena_cstr(test_arena(), text_at(r.body, "nextAfter"));
    }
    cr_expect_eq(seen, 7u);
}

Test(workflows, inputs_that_nothing_declares_are_named_in_the_answer /* EVT-11, RUN-3 */) {
    expect_put("in", definition("in", "x", ""), "created", 1);
    struct reply r =
        ask(&sv, "POST", "/v1/runs",
            "{\"workflowId\":\"in\",\"inputs\":{\"mss\":1,\"ms\":0,\"colour\":2}}", NULL);
    cr_assert_eq(r.status, 201);
    cr_expect(str_eqc(text_at(r.body, "warnings.0.path"), "inputs.mss") &&
                  str_eqc(text_at(r.body, "warnings.0.nearest"), "ms") &&
                  str_eqc(text_at(r.body, "warnings.1.path"), "inputs.colour") &&
                  str_eqc(text_at(r.body, "warnings.1.reason"), "undeclared"),
              STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"in\",\"inputs\":{\"ms\":0}}", NULL);
    cr_expect_eq(at(r.body, "warnings").n, 0u, STR_FMT, STR_ARG(r.body));
    expect_put("in", definition("in", "x", "\"strictInputs\":true"), "updated", 2);
    r = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"in\",\"inputs\":{\"mss\":1}}", NULL);
    cr_expect_eq(r.status, 400, STR_FMT, STR_ARG(r.body));
}

Test(workflows, a_tenant_has_so_many_bytes_and_is_told_what_to_do) {
    static const char *const ARGS[] = {"--tenant-workflow-bytes-max", "3000", NULL};
    static struct server tight;
    struct reply r = {0};
    server_start(&tight, ARGS);
    for (int i = 0; i < 10; i++) {
        const char *body = definition("much", fmt("%d", i), "");
        r = ask(&tight, "PUT", WORKFLOWS "/much", body, NULL);
        if (r.status != 200) break;
    }
    cr_expect_eq(r.status, 409, STR_FMT, STR_ARG(r.body));
    cr_expect_not_null(strstr(r.body.p, "tenant-workflow-bytes-max"));
    const char *other[] = {key_with(&tight, "all", "tenant-b"), NULL};
    r = ask(&tight, "PUT", WORKFLOWS "/much", definition("much", "b", ""), other);
    cr_expect_eq(r.status, 200, "another tenant has its own: " STR_FMT, STR_ARG(r.body));
    server_end(&tight);
}

static void register_type(const char *type) {
    struct reply r = ask(&sv, "POST", "/v1/host/wopr/worker-types",
                         fmt("{\"typeId\":\"%s\",\"description\":\"Cuts a picture.\","
                             "\"inputSchema\":{\"type\":\"object\"}}",
                             type),
                         NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
}

static const char *served_by_worker(const char *id) {
    return fmt("{\"id\":\"%s\",\"name\":\"W\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\","
               "\"typeId\":\"acme.cut\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":"
               "{},\"inputs\":{}}],\"edges\":[],\"triggers\":[],\"variables\":[],\"metadata\":{},"
               "\"settings\":{}}",
               id);
}

Test(workflows, types_of_workers_are_types_of_the_host /* WRK-4 */) {
    struct reply r = ask(&sv, "POST", WORKFLOWS ":check", served_by_worker("cuts"), NULL);
    cr_expect(r.status == 200 && str_eqc(at(r.body, "valid"), "false") &&
                  str_eqc(text_at(r.body, "findings.0.path"), "/nodes/0/typeId"),
              "nobody has the type: " STR_FMT, STR_ARG(r.body));
    cr_expect_eq(put("cuts", served_by_worker("cuts")).status, 400);
    cr_expect_eq(ask(&sv, "GET", "/v1/host/wopr/nodes/acme.cut", NULL, NULL).status, 404);
    register_type("acme.cut");
    register_type("acme.sew");
    r = ask(&sv, "POST", WORKFLOWS ":check", served_by_worker("cuts"), NULL);
    cr_expect(r.status == 200 && str_eqc(at(r.body, "valid"), "true") &&
                  str_eqc(at(r.body, "warnings"), "0"),
              STR_FMT, STR_ARG(r.body));
    expect_put("cuts", served_by_worker("cuts"), "created", 1);
    r = ask(&sv, "GET", "/v1/host/wopr/nodes/acme.cut", NULL, NULL);
    cr_expect(r.status == 200 && str_eqc(at(r.body, "worker"), "true") &&
                  str_eqc(text_at(r.body, "summary"), "Cuts a picture."),
              STR_FMT, STR_ARG(r.body));
    const char *other[] = {key_with(&sv, "all", "tenant-b"), NULL};
    r = ask(&sv, "GET", "/v1/host/wopr/nodes/acme.cut", NULL, other);
    cr_expect_eq(r.status, 404, "the type is another tenant's");
    r = ask(&sv, "POST", WORKFLOWS ":check", served_by_worker("cuts"), other);
    cr_expect(str_eqc(at(r.body, "valid"), "false"), STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "GET", "/v1/host/wopr/nodes?limit=1", NULL, NULL);
    cr_expect_not_null(strstr(r.body.p, "\"core.delay\""));
    cr_expect_not_null(strstr(r.body.p, "\"acme.cut\""));
    cr_expect(str_eqc(text_at(r.body, "nextAfter"), "acme.cut"), STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "GET", "/v1/host/wopr/nodes?limit=1&after=acme.cut", NULL, NULL);
    cr_expect(str_eqc(text_at(r.body, "nodes.0.typeId"), "acme.sew") &&
                  at(r.body, "nodes.1").n == 0 && at(r.body, "nextAfter").n == 0,
              STR_FMT, STR_ARG(r.body));
}

Test(workflows, a_put_is_for_the_revision_that_was_read) {
    struct reply r =
        ask(&sv, "PUT", WORKFLOWS "/shelf?ifRevision=1", definition("shelf", "a", ""), NULL);
    cr_expect(r.status == 409 && str_eqc(at(r.body, "details.revision"), "0"), STR_FMT,
              STR_ARG(r.body));
    r = ask(&sv, "PUT", WORKFLOWS "/shelf?ifRevision=0", definition("shelf", "a", ""), NULL);
    cr_expect(r.status == 200 && str_eqc(text_at(r.body, "result"), "created"), STR_FMT,
              STR_ARG(r.body));
    r = ask(&sv, "PUT", WORKFLOWS "/shelf?ifRevision=0", definition("shelf", "a", ""), NULL);
    cr_expect(r.status == 200 && str_eqc(text_at(r.body, "result"), "unchanged"),
              "a repeated put: " STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "PUT", WORKFLOWS "/shelf?ifRevision=1", definition("shelf", "b", ""), NULL);
    cr_expect_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "PUT", WORKFLOWS "/shelf?ifRevision=1", definition("shelf", "c", ""), NULL);
    cr_expect(r.status == 409 && str_eqc(text_at(r.body, "error"), "conflict") &&
                  str_eqc(at(r.body, "details.revision"), "2"),
              STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "GET", "/v1/workflows/shelf", NULL, NULL);
    cr_expect(str_eqc(r.body, definition("shelf", "b", "")), STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "PUT", WORKFLOWS "/shelf?ifRevision=x", definition("shelf", "c", ""), NULL);
    cr_expect(r.status == 400 && str_eqc(text_at(r.body, "details.parameter"), "ifRevision"),
              STR_FMT, STR_ARG(r.body));
}

static int64_t counted(const char *name, const char *result) {
    const char *want = fmt("%s{result=\"%s\"} ", name, result);
    static const char *const NO_AUTH[] = {"Authorization:", NULL};
    struct server ops = sv;
    (void)snprintf(ops.base, sizeof ops.base, "http://127.0.0.1:%d", sv.ops_port);
    struct reply r = ask(&ops, "GET", "/metrics", NULL, NO_AUTH);
    const char *at = strstr(r.body.p, want);
    return at == NULL ? -1 : strtoll(at + strlen(want), NULL, 10);
}

Test(workflows, puts_and_checks_are_counted) {
    static const char put_total[] = "wopr_workflow_puts_total";
    static const char *const RESULTS[] = {"created",  "updated", "unchanged",
                                          "conflict", "refused", "deleted"};
    (void)ask(&sv, "POST", WORKFLOWS ":check", definition("m", "a", ""), NULL);
    (void)ask(&sv, "POST", WORKFLOWS ":check", "{\"id\":\"m\"}", NULL);
    expect_put("m", definition("m", "a", ""), "created", 1);
    expect_put("m", definition("m", "a", ""), "unchanged", 1);
    expect_put("m", definition("m", "b", ""), "updated", 2);
    (void)ask(&sv, "PUT", WORKFLOWS "/m?ifRevision=1", definition("m", "c", ""), NULL);
    (void)put("m", "{\"id\":\"m\"}");
    cr_expect_eq(ask(&sv, "DELETE", WORKFLOWS "/m", NULL, NULL).status, 200);
    for (size_t i = 0; i < sizeof RESULTS / sizeof *RESULTS; i++)
        cr_expect_eq(counted(put_total, RESULTS[i]), 1, "%s: %lld", RESULTS[i],
                     (long long)counted(put_total, RESULTS[i]));
    cr_expect_eq(counted("wopr_workflow_checks_total", "good"), 1);
    cr_expect_eq(counted("wopr_workflow_checks_total", "errors"), 1);
}
