/*
 * test_canary.c: a sensitive value that a run works with shows up nowhere: no answer, stream, command,
 * log line or metric, and in no byte of the files (OBS-71, CHAN-24, SSE-17, SSE-18).
 */
#include "harness.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#define CANARY "c4n4ry-5h0w5-up-n0wh3r3"
#define DIGEST "sha256:" /* what mode hash shows of it */

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(canary, .init = up, .fini = down, .timeout = 240);

#define PORT(name, type, more) "\"" name "\":{\"type\":\"" type "\"," more "}"
#define NODE(id, type, config, inputs, more)                                                       \
    "{\"id\":\"" id "\",\"typeId\":\"" type "\",\"name\":\"" id                                    \
    "\",\"position\":{\"x\":0,\"y\":0},\"config\":{" config "},\"inputs\":{" inputs "}" more "}"
#define OF_K(port) PORT(port, "variable", "\"variableName\":\"k\"")
#define EDGE(from, to)                                                                             \
    "{\"id\":\"" from to "\",\"sourceNodeId\":\"" from "\",\"targetNodeId\":\"" to "\"}"

/* The value goes through a variable, a port, a channel, plain copies, a log line, a child, a gate. */
static void workflows_put(const char *mode) {
    const char *folder = fmt("%s/wf", sv.dir);
    cr_assert_eq(system(fmt("mkdir -p '%s'", folder)), 0);
    const char *meta = fmt("\"metadata\":{\"complianceConfig\":{\"maskingMode\":\"%s\"}}", mode);
    const char *texts[] = {
        fmt("{\"id\":\"canary\",\"name\":\"c\",\"version\":\"1\",\"nodes\":[%s],\"edges\":[%s],"
            "\"triggers\":[],\"settings\":{},%s,\"variables\":[{\"name\":\"k\",\"type\":\"string\","
            "\"sensitive\":true}],\"channels\":{\"c\":{\"reducer\":\"append\",\"sensitive\":true}}"
            "}",
            NODE("s", "core.identity", "", OF_K("v"), ",\"outputSensitivity\":{\"v\":true}") "," NODE(
                "w", "core.channelWrite", "\"channelName\":\"c\"", OF_K("value"),
                "") "," NODE("p", "core.setVariable", "\"name\":\"plain\"", OF_K("value"),
                             "") "," NODE("get", "core.getVariable", "\"name\":\"k\"", "",
                                          "") "," NODE("l", "vendor.wopr.log", "",
                                                       PORT("message", "expression",
                                                            "\"expression\":\"'it is ' + "
                                                            "variables.k\""),
                                                       "") "," NODE("g", "core.approvalGate", "",
                                                                    "",
                                                                    ",\"outputSensitivity\":{"
                                                                    "\"comment\":"
                                                                    "true}") "," NODE("sub",
                                                                                      "core."
                                                                                      "subWorkflow",
                                                                                      "\"workflowId"
                                                                                      "\":"
                                                                                      "\"canary-"
                                                                                      "child\","
                                                                                      "\"inputMappi"
                                                                                      "ng\":{"
                                                                                      "\"p\":\"k\"}"
                                                                                      ","
                                                                                      "\"outputMapp"
                                                                                      "ing\":{"
                                                                                      "\"back\":"
                                                                                      "\"p\"}",
                                                                                      "",
                                                                                      "") "," NODE("m",
                                                                                                   "core."
                                                                                                   "identit"
                                                                                                   "y",
                                                                                                   "",
                                                                                                   PORT("a", "expression", "\"expression\":\"size(variables.k)\"") "," PORT(
                                                                                                       "b",
                                                                                                       "expr"
                                                                                                       "essi"
                                                                                                       "on",
                                                                                                       "\"ex"
                                                                                                       "pres"
                                                                                                       "sion"
                                                                                                       "\":"
                                                                                                       "\"si"
                                                                                                       "ze("
                                                                                                       "chan"
                                                                                                       "nels"
                                                                                                       ".c["
                                                                                                       "0])"
                                                                                                       "\"") "," PORT("c",
                                                                                                                      "expression",
                                                                                                                      "\"expression\":\"size(variables.plain)\"") "," PORT("d",
                                                                                                                                                                           "expression",
                                                                                                                                                                           "\"expression\":\"size(variables.back)\""),
                                                                                                   ""),
            EDGE("s", "w") "," EDGE("w", "p") "," EDGE("p", "get") "," EDGE("get", "l") "," EDGE(
                "l", "g") "," EDGE("g", "sub") "," EDGE("sub", "m"),
            meta),
        fmt("{\"id\":\"canary-child\",\"name\":\"c\",\"version\":\"1\",\"nodes\":[%s],\"edges\":[],"
            "\"triggers\":[],\"settings\":{},%s,\"variables\":[{\"name\":\"p\",\"type\":\"string\"}"
            "]}",
            NODE("i", "core.identity", "", PORT("v", "variable", "\"variableName\":\"p\""), ""),
            meta)};
    for (size_t i = 0; i < 2; i++) {
        const char *path = fmt("%s/%zu.json", folder, i);
        FILE *f = fopen(path, "w");
        cr_assert_not_null(f);
        fputs(texts[i], f);
        fclose(f);
        const char *const args[] = {"workflow", "put", path, NULL};
        struct str out, err;
        cr_assert_eq(program(&sv, args, &out, &err), 0, STR_FMT, STR_ARG(err));
    }
}

static bool holds(struct str text) {
    const struct str w = STR(CANARY);
    for (size_t i = 0; i + w.n <= text.n; i++)
        if (memcmp(text.p + i, w.p, w.n) == 0) return true;
    return false;
}

static void clean(const char *what, struct str text) {
    cr_expect_not(holds(text), "%s: " STR_FMT, what, STR_ARG(text));
}

static void files_clean(void) {
    struct dirent *x;
    DIR *d = opendir(sv.dir);
    cr_assert_not_null(d);
    while ((x = readdir(d)) != NULL) {
        const char *path = fmt("%s/%s", sv.dir, x->d_name);
        FILE *f = x->d_name[0] == '.' || x->d_type == DT_DIR ? NULL : fopen(path, "rb");
        if (!f) continue;
        struct buf b;
        char part[65536];
        buf_init(&b, 256u << 20);
        for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_add(&b, part, n);
        fclose(f);
        cr_expect_not(holds(buf_str(&b)), "%s holds it", x->d_name);
        buf_fini(&b);
    }
    closedir(d);
}

static void answers_clean(const char *run) {
    static const char *const modes[] = {"updates", "values", "messages", "debug"};
    clean("snapshot", ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).body);
    clean("events", events_of(&sv, run));
    clean("interrupts", ask(&sv, "GET", fmt("/v1/interrupts?runId=%s", run), NULL, NULL).body);
    clean("list", ask(&sv, "GET", "/v1/runs", NULL, NULL).body);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        clean(
            modes[i],
            stream(&sv, fmt("/v1/runs/%s/events?streamMode=%s", run, modes[i]), NULL, 1500, 0).raw);
    const char *const tail[] = {"tail", run, "--json", NULL}, *const show[] = {"runs", "show", run,
                                                                               NULL};
    struct str out, err;
    if (int_at(ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).body, "eventLogSchemaVersion") >
            0 &&
        str_eqc(text_at(ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).body, "status"),
                "completed")) {
        (void)program(&sv, tail, &out, &err);
        clean("tail", out);
    }
    (void)program(&sv, show, &out, &err);
    clean("runs show", out);
}

static void canary_run(const char *mode) {
    workflows_put(mode);
    const char *run = create_run(&sv, "canary", "\"inputs\":{\"k\":\"" CANARY "\"}");
    (void)wait_status(&sv, run, "waiting-approval");
    answers_clean(run);
    files_clean();
    server_kill(&sv);
    server_again(&sv);
    struct reply r =
        ask(&sv, "POST", fmt("/v1/runs/%s/interrupts/g", run),
            "{\"resumeValue\":{\"action\":\"accept\",\"comment\":\"" CANARY "\"}}", NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    struct str end = wait_terminal(&sv, run);
    cr_assert(str_eqc(text_at(end, "status"), "completed"), STR_FMT, STR_ARG(end));
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(int_at(end, fmt("nodeStates.m.outputs.%c", "abcd"[i])),
                     (int64_t)strlen(CANARY), "clear inside, also after a kill: " STR_FMT,
                     STR_ARG(end));
    answers_clean(run);
    clean("child", events_of(&sv, arena_cstr(test_arena(), text_at(end, "childRuns.0.runId"))));
    files_clean();
    const char *const verify[] = {"verify", NULL};
    struct str out, err;
    cr_expect_eq(program(&sv, verify, &out, &err), 0, STR_FMT, STR_ARG(out));
    clean("log of the host", server_log(&sv));
    files_clean(); /* the WAL is in the file now */
    server_again(&sv);
}

Test(canary, a_sensitive_value_shows_up_nowhere_masked) { canary_run("mask"); }
Test(canary, a_sensitive_value_shows_up_nowhere_hashed) { canary_run("hash"); }
Test(canary, a_sensitive_value_shows_up_nowhere_left_out) { canary_run("omit"); }

/* --- files of older programs --- */

#define OLD_CANARY "CANARY-old-file-9"

static bool file_holds_old(void) {
    struct buf b;
    char part[65536];
    bool found = false;
    FILE *f = fopen(sv.db, "rb");
    cr_assert_not_null(f);
    buf_init(&b, 256u << 20);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_add(&b, part, n);
    fclose(f);
    for (size_t i = 0; i + strlen(OLD_CANARY) <= b.len && !found; i++)
        found = memcmp(b.p + i, OLD_CANARY, strlen(OLD_CANARY)) == 0;
    buf_fini(&b);
    return found;
}

static void old_file_restore(void) {
    struct buf sql;
    char part[4096];
    sqlite3 *db;
    FILE *f = fopen(WOPR_SOURCE_DIR "/tests/integration/old/sensitive-0012.sql", "r");
    cr_assert_not_null(f);
    buf_init(&sql, 1u << 22);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_add(&sql, part, n);
    fclose(f);
    buf_addz(&sql, "PRAGMA application_id = 1464815698;");
    buf_addc(&sql, '\0');
    cr_assert_eq(remove(sv.db), 0);
    cr_assert_eq(sqlite3_open(sv.db, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql.p, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    buf_fini(&sql);
}

/* A database of schema version 12 kept the values clear, of ended runs too (old/sensitive-0012.sh). */
Test(canary, clear_values_of_an_older_program_are_sealed_or_removed) {
    static const char *const args[] = {"--retention-days", "3650", NULL};
    static const char *const verify[] = {"verify", NULL};
    struct str out, err;
    int waiting = 0;
    cr_assert_eq(server_stop(&sv), 0);
    old_file_restore();
    cr_assert(file_holds_old());
    sv.args = args;
    server_again(&sv);
    struct json_elements runs;
    struct reply r = ask(&sv, "GET", "/v1/runs", NULL, NULL);
    cr_assert_eq(json_elements(at(r.body, "runs"), test_arena(), &runs, NULL), 0);
    cr_assert_eq(runs.n, 4);
    for (size_t i = 0; i < runs.n; i++) {
        const char *id = arena_cstr(test_arena(), text_at(runs.v[i], "runId"));
        if (!str_eqc(text_at(runs.v[i], "status"), "completed")) {
            waiting++;
            r = ask(&sv, "POST", fmt("/v1/runs/%s/interrupts/g", id),
                    "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
            cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
        }
        struct str end = wait_terminal(&sv, id);
        cr_expect_eq(int_at(end, "nodeStates.m.outputs.n"), (int64_t)strlen(OLD_CANARY), STR_FMT,
                     STR_ARG(end));
        cr_expect_eq(int_at(end, "nodeStates.m.outputs.k"), (int64_t)strlen(OLD_CANARY));
    }
    cr_expect_eq(waiting, 2);
    cr_expect_eq(program(&sv, verify, &out, &err), 0, STR_FMT, STR_ARG(out));
    cr_assert_eq(server_stop(&sv), 0);
    cr_expect_not(file_holds_old(), "the file still holds a clear value");
    server_again(&sv);
}
