/*
 * test_operations.c: what an operator does: keys, seeds, listings, the second listener; and the
 * answers that need rows no node type of this host writes yet.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(operations, .init = up, .fini = down, .timeout = 300);

static int run(struct str *out, struct str *err, const char *const *args) {
    return program(&sv, args, out, err);
}
#define RUN(out, err, ...) run((out), (err), (const char *const[]){__VA_ARGS__, NULL})

static long status_with(struct str key, const char *method, const char *path, const char *body) {
    const char *const headers[] = {fmt("Authorization: Bearer " STR_FMT, STR_ARG(key)), NULL};
    return ask(&sv, method, path, body, headers).status;
}

static struct str first_line(struct str s) {
    struct str line, rest;
    return str_cut(s, '\n', &line, &rest) ? line : s;
}

Test(operations, keys_are_made_listed_and_revoked_beside_the_host /* AUTH-1, AUTH-5, AUTH-6 */) {
    struct str out = STR_NONE, err = STR_NONE, id, line;
    const char *noop = "{\"workflowId\":\"conformance-noop\"}";
    cr_assert_eq(RUN(&out, &err, "keys", "create", "--scopes", "runs:create,runs:read", "--label",
                     "dashboard", "--expires-days", "2"),
                 0, STR_FMT, STR_ARG(err));
    struct str key = first_line(out);
    cr_expect(str_starts(key, STR("hk_")) && !str_starts(key, STR("hk_test_")));
    cr_expect_not_null(strstr(err.p, "cannot be shown again"));
    cr_assert(str_cut(str_n(key.p + 3, key.n - 3), '_', &id, &line));
    cr_expect_eq(status_with(key, "POST", "/v1/runs", noop), 201);
    cr_expect_eq(status_with(key, "GET", "/v1/workflows/conformance-noop", NULL), 403,
                 "a scope it does not have");
    cr_assert_eq(RUN(&out, &err, "keys", "create", "--test", "--no-expiry"), 0);
    struct str test_key = first_line(out);
    cr_expect(str_starts(test_key, STR("hk_test_")));
    cr_assert_eq(RUN(&out, &err, "keys", "list"), 0);
    const char *row = strstr(out.p, fmt(STR_FMT, STR_ARG(id)));
    cr_assert_not_null(row, STR_FMT, STR_ARG(out));
    cr_expect_not_null(strstr(row, "active   live"));
    cr_expect_not_null(strstr(row, "runs:create"));
    cr_expect_not_null(strstr(fmt(STR_FMT, STR_ARG(first_line(str_c(row)))), "dashboard"),
                       "the label it was given");
    cr_expect_null(strstr(out.p, fmt(STR_FMT, STR_ARG(key))), "only ids are listed");
    cr_assert_eq(RUN(&out, &err, "keys", "revoke", fmt(STR_FMT, STR_ARG(id))), 0);
    cr_expect_eq(status_with(key, "POST", "/v1/runs", noop), 401, "from the next request on");
    cr_expect_eq(status_with(test_key, "POST", "/v1/runs", noop), 201);
    cr_assert_eq(RUN(&out, &err, "keys", "list"), 0);
    row = strstr(out.p, fmt(STR_FMT, STR_ARG(id)));
    cr_expect(row != NULL && strstr(row, "revoked  live") != NULL, STR_FMT, STR_ARG(out));
}

Test(operations, wrong_key_commands_say_what_would_be_right) {
    struct str err = STR_NONE;
    cr_expect_eq(
        RUN(NULL, &err, "keys", "create", "--no-expiry", "--scopes", "runs:create,nonsense"), 2);
    cr_expect_not_null(strstr(err.p, "runs:read"), "the scopes are listed: " STR_FMT, STR_ARG(err));
    cr_expect_eq(RUN(NULL, &err, "keys", "create", "--expires-days", "0"), 2);
    cr_expect_not_null(strstr(err.p, "1..36500"));
    cr_expect_eq(RUN(NULL, &err, "keys", "create", "--expires-days", "soon"), 2);
    cr_expect_eq(RUN(NULL, &err, "keys", "forget"), 2);
    cr_expect_not_null(strstr(err.p, "usage: wopr keys"));
    cr_expect_eq(RUN(NULL, &err, "keys", "revoke", "no-such-key"), 1);
    cr_expect_gt(err.n, 0);
}

Test(operations, help_and_unknown_commands) {
    struct str out = STR_NONE, err = STR_NONE;
    static const char *const asks[] = {"--help", "-h", "help"};
    for (size_t i = 0; i < 3; i++) {
        const char *const args[] = {asks[i], NULL};
        cr_expect_eq(program(NULL, args, &out, NULL), 0);
        cr_expect(str_starts(out, STR("usage: wopr COMMAND")) && strstr(out.p, "verify") != NULL);
    }
    static const char *const version[] = {"--version", NULL}, *const unknown[] = {"fly", NULL},
                             *const none[] = {NULL};
    cr_expect_eq(program(NULL, version, &out, NULL), 0);
    cr_expect(str_starts(out, STR("wopr ")));
    cr_expect_eq(program(NULL, unknown, &out, &err), 2);
    cr_expect_not_null(strstr(err.p, "\"fly\""));
    cr_expect_eq(program(NULL, none, &out, &err), 2);
    cr_expect(out.n == 0 && str_starts(err, STR("usage:")));
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
}

Test(operations, seeding_a_folder_twice_changes_nothing /* FIX-1, WF-3 */) {
    struct str out = STR_NONE, err = STR_NONE;
    cr_assert_eq(RUN(&out, &err, "seed", WOPR_SOURCE_DIR "/docs/examples"), 0, STR_FMT,
                 STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "0 created, 0 updated"), "the host seeded them: " STR_FMT,
                       STR_ARG(out));
    cr_assert_eq(RUN(&out, &err, "seed", "--conformance"), 0);
    cr_expect_not_null(strstr(out.p, "0 created, 0 updated"), STR_FMT, STR_ARG(out));
    const char *good = fmt("%s/good", sv.dir), *bad = fmt("%s/bad", sv.dir);
    cr_assert_eq(system(fmt("mkdir -p '%s' '%s'", good, bad)), 0);
    write_file(fmt("%s/one.json", good),
               "{\"id\":\"one\",\"name\":\"One\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\","
               "\"typeId\":\"core.noop\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},"
               "\"config\":{},\"inputs\":{}}],\"edges\":[],\"triggers\":[],\"variables\":[],"
               "\"metadata\":{},\"settings\":{}}");
    write_file(fmt("%s/notes.txt", good), "not a definition");
    cr_assert_eq(RUN(&out, &err, "seed", good), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "1 created"), STR_FMT, STR_ARG(out));
    wait_terminal(&sv, create_run(&sv, "one", NULL));
    write_file(fmt("%s/broken.json", bad), "{\"id\":\"x\"");
    cr_expect_eq(RUN(&out, &err, "seed", bad), 1);
    cr_expect_not_null(strstr(err.p, "broken.json"), STR_FMT, STR_ARG(err));
    cr_expect_eq(RUN(&out, &err, "seed", fmt("%s/none", sv.dir)), 1);
    cr_expect_eq(RUN(&out, &err, "seed"), 2);
}

/* --- GET /v1/runs (docs/api-extensions.md) --- */
static struct json_elements list(const char *query) {
    struct json_elements l;
    struct reply r = ask(&sv, "GET", fmt("/v1/runs%s", query), NULL, NULL);
    cr_assert_eq(r.status, 200, "%s: " STR_FMT, query, STR_ARG(r.body));
    cr_assert_eq(json_elements(at(r.body, "runs"), test_arena(), &l, NULL), 0);
    return l;
}

Test(operations, runs_are_listed_newest_first_in_pages_and_by_filter) {
    const char *ids[5];
    for (int i = 0; i < 4; i++) {
        ids[i] = create_run(&sv, i == 1 ? "conformance-failure" : "conformance-noop",
                            i == 2 ? "\"tags\":[\"red\",\"blue\"]" : NULL);
        wait_terminal(&sv, ids[i]);
    }
    ids[4] = create_run(&sv, "conformance-cancellable", NULL);
    wait_status(&sv, ids[4], "running");
    struct json_elements l = list("");
    cr_assert_eq(l.n, 5);
    for (size_t i = 0; i < 5; i++) cr_expect(str_eqc(text_at(l.v[i], "runId"), ids[4 - i]));
    cr_expect_eq(list("?status=completed").n, 3);
    cr_expect_eq(list("?status=failed").n, 1);
    cr_expect_eq(list("?status=running&workflowId=conformance-cancellable").n, 1);
    cr_expect_eq(list("?workflowId=conformance-noop").n, 3);
    cr_expect_eq(list("?workflowId=nothing").n, 0);
    l = list("?tag=blue");
    cr_assert_eq(l.n, 1);
    cr_expect(str_eqc(text_at(l.v[0], "runId"), ids[2]));
    struct reply r = ask(&sv, "GET", "/v1/runs?limit=2", NULL, NULL);
    cr_expect(str_eqc(text_at(r.body, "nextBefore"), ids[3]));
    l = list(fmt("?limit=2&before=%s", ids[3]));
    cr_assert_eq(l.n, 2);
    cr_expect(str_eqc(text_at(l.v[0], "runId"), ids[2]));
    r = ask(&sv, "GET", fmt("/v1/runs?limit=2&before=%s", ids[1]), NULL, NULL);
    cr_expect(at(r.body, "nextBefore").p == NULL, "the last page");
    static const char *const wrong[] = {"?status=sleeping", "?status=cancelling", "?before=none",
                                        "?before=",         "?limit=0",           "?limit=x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        r = ask(&sv, "GET", fmt("/v1/runs%s", wrong[i]), NULL, NULL);
        expect_error(&r, 400, "validation_error");
    }
    ask(&sv, "POST", fmt("/v1/runs/%s/cancel", ids[4]), "{}", NULL);
}

/* No node type writes artifacts yet: a row is put beside the running host. */
Test(operations, an_artifact_is_given_out_to_its_tenant_only /* E15, RUN-43, AUTH-8 */) {
    struct str out = STR_NONE;
    const char *id = create_run(&sv, "conformance-noop", NULL);
    wait_terminal(&sv, id);
    cr_assert_eq(
        system(fmt("sqlite3 -cmd '.timeout 5000' '%s' \"INSERT INTO artifacts SELECT run_no,"
                   " 'art-1', 'report', 'n', '2', NULL, '{\\\"a\\\":[1]}', 1, 0 FROM runs"
                   " WHERE run_id = '%s'\"",
                   sv.db, id)),
        0);
    const char *path = fmt("/v1/runs/%s/artifacts/art-1", id);
    struct reply r = ask(&sv, "GET", path, NULL, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.body, "artifactId"), "art-1"));
    cr_expect(str_eqc(text_at(r.body, "artifactType"), "report"));
    cr_expect(str_eqc(text_at(r.body, "runId"), id));
    cr_expect(str_eqc(text_at(r.body, "version"), "2"));
    cr_expect(str_eqc(at(r.body, "body"), "{\"a\":[1]}"), STR_FMT, STR_ARG(r.body));
    cr_expect(at(r.body, "summary").p == NULL);
    r = ask(&sv, "GET", fmt("/v1/runs/%s/artifacts/art-2", id), NULL, NULL);
    expect_error(&r, 404, "not_found");
    cr_assert_eq(RUN(&out, NULL, "keys", "create", "--test", "--no-expiry", "--scopes", "all",
                     "--tenant", "other"),
                 0);
    cr_expect_eq(status_with(first_line(out), "GET", path, NULL), 404);
}

Test(operations, the_second_listener_answers_nothing_else /* HTTP-2 */) {
    struct server ops = sv;
    static const char *const none[] = {"Authorization:", NULL};
    snprintf(ops.base, sizeof ops.base, "http://127.0.0.1:%d", sv.ops_port);
    cr_expect_eq(ask(&ops, "GET", "/v1/runs", NULL, none).status, 404);
    cr_expect_eq(ask(&ops, "GET", "/", NULL, none).status, 404);
    cr_expect_eq(ask(&ops, "HEAD", "/metrics", NULL, none).status, 200);
    struct reply r = ask(&ops, "POST", "/healthz", "{\"a\":1}", none);
    cr_expect_eq(r.status, 405);
    cr_expect(str_eqc(header(&r, "Allow"), "GET, HEAD"));
    cr_expect_eq(ask(&ops, "DELETE", "/metrics", NULL, none).status, 405);
}
