/*
 * test_large_inputs.c: runs that were accepted with large inputs, many of them, are taken up again
 * by the next host: nothing that reads several runs holds all their inputs at once (STORE-38).
 */
#include "harness.h"

#include "support/sampled.h"

#include <sqlite3.h>
#include <stdio.h>

enum {
    TEXT = 900000,
    RUNS = 90, /* together more than the 64 MiB of any arena of the engine */
    DEPTH = 80
};

/* No second look at the runs within the time of a test. */
static const char *const SLOW[] = {
    "--claim-ttl-ms", "600000", "--heartbeat-ms", "300000", "--large-body-rate", "0", NULL};
static struct server sv;
static const char *text; /* TEXT bytes */

static void put_with(const char *id, const char *nodes, const char *edges, const char *variables) {
    const char *path = fmt("%s/%s.json", sv.dir, id);
    const char *const args[] = {"workflow", "put", path, NULL};
    struct str out = STR_NONE, err = STR_NONE;
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f,
            "{\"id\":\"%s\",\"name\":\"L\",\"version\":\"1\",\"nodes\":[%s],\"edges\":[%s],"
            "\"triggers\":[],\"metadata\":{},\"settings\":{},\"variables\":[%s]}",
            id, nodes, edges, variables);
    fclose(f);
    cr_assert_eq(program(&sv, args, &out, &err), 0, STR_FMT, STR_ARG(err));
}

#define NODE(id, type, config, inputs)                                                             \
    "{\"id\":\"" id "\",\"typeId\":\"" type                                                        \
    "\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":{" config "},\"inputs\":{" inputs \
    "}}"
#define WAIT                                                                                       \
    NODE("wait", "core.delay", "", "\"delayMs\":{\"type\":\"variable\",\"variableName\":\"ms\"}")

static void up(void) {
    char *p = arena_alloc(test_arena(), TEXT + 1);
    memset(p, 'q', TEXT);
    text = p;
    server_start(&sv, SLOW);
    put_with("large", WAIT, "",
             "{\"name\":\"x\",\"type\":\"string\",\"defaultValue\":\"\"},{\"name\":\"ms\","
             "\"type\":\"number\",\"defaultValue\":0}");
}
static void down(void) { server_end(&sv); }
TestSuite(large_inputs, .init = up, .fini = down, .timeout = 300);

static const char *create(const char *workflow, int ms) {
    const char *body =
        arena_printf(test_arena(), "\"inputs\":{\"x\":\"%s\",\"ms\":%d}", text, ms).p;
    return create_run(&sv, workflow, body);
}

static void expect_completed(const char *run) {
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"), "%s", run);
}

Test(large_inputs, the_next_host_takes_up_all_runs_at_its_first_look /* STORE-38 */) {
    const char *runs[RUNS];
    const int n = (int)sampled(RUNS);
    for (int i = 0; i < n; i++) runs[i] = create("large", 4000);
    server_kill(&sv);
    server_again(&sv);
    for (int i = 0; i < n; i++) expect_completed(runs[i]);
}

Test(large_inputs, a_fork_of_forks_of_forks_can_be_replayed /* FORK-9, FORK-22 */) {
    const char *run = create("large", 0);
    const int depth = (int)sampled(DEPTH);
    expect_completed(run);
    for (int i = 0; i <= depth; i++) {
        const char *mode = i < depth ? "branch" : "replay";
        struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s:fork", run),
                             fmt("{\"mode\":\"%s\",\"fromSeq\":0}", mode), NULL);
        cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
        run = fmt(STR_FMT, STR_ARG(text_at(r.body, "runId")));
        expect_completed(run);
    }
}

/* --- what would have grown beyond what can be shown or taken up --- */

enum { FAILING = 60, MESSAGE = 100000, SNAPSHOT_MAX = 3 << 20, WORKFLOW_MAX = 1 << 20 };

Test(large_inputs, a_branch_of_branches_keeps_its_inputs_within_their_bound /* FORK-23, RUN-3 */) {
    struct buf b;
    struct reply r = {0};
    buf_init(&b, WORKFLOW_MAX);
    for (int i = 0; i < 12; i++)
        buf_addf(&b, "%s{\"name\":\"v%d\",\"type\":\"string\",\"defaultValue\":\"\"}",
                 i > 0 ? "," : "", i);
    put_with("wide", NODE("n", "core.noop", "", ""), "", b.p);
    buf_fini(&b);
    const char *run = create_run(&sv, "wide", NULL);
    int made = 0;
    for (; made < 12; made++) {
        const char *body = arena_printf(test_arena(),
                                        "{\"mode\":\"branch\",\"fromSeq\":0,"
                                        "\"runOptionsOverlay\":{\"inputs\":{\"v%d\":\"%s\"}}}",
                                        made, text)
                               .p;
        r = ask(&sv, "POST", fmt("/v1/runs/%s:fork", run), body, NULL);
        if (r.status != 201) break;
        run = fmt(STR_FMT, STR_ARG(text_at(r.body, "runId")));
        expect_completed(run);
    }
    expect_error(&r, 400, "validation_error");
    cr_expect(str_eqc(text_at(r.body, "details.fields.0.path"), "inputs"));
    cr_expect_eq(made, 6);
}

Test(large_inputs, errors_of_many_nodes_leave_a_run_that_can_be_shown /* RUN-10, S7 */) {
    static const char *const more[] = {"--max-node-executions", "400", "--run-state-bytes-max",
                                       "2097152", NULL};
    struct buf nodes, edges;
    server_end(&sv);
    server_start(&sv, more);
    buf_init(&nodes, WORKFLOW_MAX);
    buf_init(&edges, WORKFLOW_MAX);
    for (int i = 0; i < FAILING; i++) {
        buf_addf(&nodes, NODE("n%d", "core.ai.callPrompt", "\"prompt\":\"p\"", "") ",", i);
        buf_addf(&edges,
                 "%s{\"id\":\"e%d\",\"sourceNodeId\":\"n%d\",\"targetNodeId\":\"end\","
                 "\"triggerRule\":\"any_failed\"}",
                 i > 0 ? "," : "", i, i);
    }
    buf_addz(&nodes, NODE("end", "core.end", "", ""));
    put_with("failing", nodes.p, edges.p, "");
    buf_fini(&nodes);
    buf_fini(&edges);
    const char *run = create_run(&sv, "failing",
                                 arena_printf(test_arena(),
                                              "\"configurable\":{\"mockProvider\":{\"id\":"
                                              "\"error\",\"config\":{\"code\":\"c\",\"message\":"
                                              "\"%.*s\",\"retryable\":false}}}",
                                              MESSAGE, text)
                                     .p);
    struct str snap = wait_terminal(&sv, run);
    cr_expect_lt(snap.n, (size_t)SNAPSHOT_MAX);
    cr_expect_eq(at(snap, "nodeStates.n0.error.message").n, (size_t)MESSAGE + 2);
    cr_expect_not_null(strstr(snap.p, "run-state-bytes-max"));
}

Test(large_inputs, a_workflow_that_no_run_could_hold_is_refused /* WF-17, CHAN-1 */) {
    struct buf b;
    buf_init(&b, WORKFLOW_MAX);
    buf_addz(&b, "{\"id\":\"many\",\"name\":\"M\",\"version\":\"1\",\"nodes\":[" NODE(
                     "n", "core.noop", "", "") "],\"edges\":[],\"triggers\":[],\"metadata\":{},"
                                               "\"settings\":{},\"variables\":[],\"channels\":{");
    for (int i = 0; i <= 4096; i++)
        buf_addf(&b, "%s\"c%d\":{\"reducer\":\"replace\"}", i > 0 ? "," : "", i);
    buf_addz(&b, "}}");
    const char *path = fmt("%s/many.json", sv.dir);
    const char *const args[] = {"workflow", "put", path, NULL};
    struct str out = STR_NONE, err = STR_NONE;
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(b.p, f);
    fclose(f);
    buf_fini(&b);
    cr_expect_eq(program(&sv, args, &out, &err), 1);
    cr_expect_not_null(strstr(err.p, "4097 elements and may have 4096"), STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(err.p, "/channels"), STR_FMT, STR_ARG(err));
}

/* As a host left it that let a run hold more values: a lasting answer, not "try again", and the
 * other runs are checked (EVT-41). */
Test(large_inputs, large_channel) {
    static const char *const FORMAT =
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) INSERT INTO "
        "run_channels (run_no, name, seq, declared, is_list, ts, value) SELECT run_no, 'big', i, 1,"
        " 1, 1, '\"' || printf('%%.*c', 1000000, 'x') || '\"' FROM n, runs WHERE run_id = %Q";
    const char *before = create_run(&sv, "conformance-noop", NULL);
    const char *run = create_run(&sv, "conformance-noop", NULL);
    wait_terminal(&sv, before);
    wait_terminal(&sv, run);
    server_kill(&sv);
    sqlite3 *db = NULL;
    char *sql = sqlite3_mprintf(FORMAT, 79, run);
    cr_assert_eq(sqlite3_open(sv.db, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_free(sql);
    sqlite3_close(db);
    server_again(&sv);
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    expect_error(&r, 400, "validation_error");
    cr_expect_not_null(strstr(r.body.p, "read its events"), STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "GET", fmt("/v1/runs/%s/events/poll?timeout=1", run), NULL, NULL);
    cr_expect_eq(r.status, 200);
    static const char *const verify[] = {"verify", NULL};
    struct str out = STR_NONE, err = STR_NONE;
    cr_expect_eq(program(&sv, verify, &out, &err), 1);
    cr_expect_not_null(strstr(out.p, run), "the run is named: " STR_FMT, STR_ARG(out));
    cr_expect_null(strstr(out.p, before), STR_FMT, STR_ARG(out));
    cr_expect_not_null(strstr(out.p, "2 runs"), "both were looked at: " STR_FMT, STR_ARG(out));
}
