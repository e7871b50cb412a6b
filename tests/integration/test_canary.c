/*
 * test_canary.c: a sensitive value that a run works with shows up nowhere: no answer, stream,
 * command or log line, and in no byte of the files (OBS-71, CHAN-24, SSE-17, SSE-18).
 */
#include "harness.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#define CANARY "c4n4ry-5h0w5-up-n0wh3r3"

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(canary, .init = up, .fini = down, .timeout = 300);

#define PORT(name, type, more) "\"" name "\":{\"type\":\"" type "\"," more "}"
#define OF_K(port)             PORT(port, "variable", "\"variableName\":\"k\"")
#define SIZE_OF(port, what)    PORT(port, "expression", "\"expression\":\"size(" what ")\"")

static const char *node(const char *id, const char *type, const char *config, const char *inputs,
                        const char *sensitivity) {
    return fmt("{\"id\":\"%s\",\"typeId\":\"%s\",\"name\":\"%s\",\"position\":{\"x\":0,\"y\":0},"
               "\"config\":{%s},\"inputs\":{%s},\"outputSensitivity\":{%s}}",
               id, type, id, config, inputs, sensitivity);
}

/* Nodes one after the other. */
static const char *chain(const char *id, const char *const *nodes, const char *const *ids,
                         const char *rest, const char *mode) {
    const char *list = "", *edges = "";
    for (size_t i = 0; nodes[i]; i++) {
        list = fmt("%s%s%s", list, i > 0 ? "," : "", nodes[i]);
        if (i > 0)
            edges = fmt("%s%s{\"id\":\"e%zu\",\"sourceNodeId\":\"%s\",\"targetNodeId\":\"%s\"}",
                        edges, i > 1 ? "," : "", i, ids[i - 1], ids[i]);
    }
    return fmt(
        "{\"id\":\"%s\",\"name\":\"%s\",\"version\":\"1\",\"nodes\":[%s],\"edges\":[%s],"
        "\"triggers\":[],\"settings\":{},\"metadata\":{\"complianceConfig\":{\"maskingMode\":"
        "\"%s\"}},%s}",
        id, id, list, edges, mode, rest);
}

/* The value goes through a port, a channel, plain copies, a log line, a gate and a child. */
static const char *parent_text(const char *mode) {
    const char *const ids[] = {"s", "w", "p", "get", "l", "g", "sub", "m", NULL};
    const char *const nodes[] = {
        node("s", "core.identity", "", OF_K("v"), "\"v\":true"),
        node("w", "core.channelWrite", "\"channelName\":\"c\"", OF_K("value"), ""),
        node("p", "core.setVariable", "\"name\":\"plain\"", OF_K("value"), ""),
        node("get", "core.getVariable", "\"name\":\"k\"", "", ""),
        node("l", "vendor.wopr.log", "",
             PORT("message", "expression", "\"expression\":\"'it is ' + variables.k\""), ""),
        node("g", "core.approvalGate", "", "", "\"comment\":true"),
        node("sub", "core.subWorkflow",
             "\"workflowId\":\"canary-child\",\"inputMapping\":{\"p\":\"k\"},"
             "\"outputMapping\":{\"back\":\"p\"}",
             "", ""),
        node("m", "core.identity", "",
             SIZE_OF("a", "variables.k") "," SIZE_OF("b", "channels.c[0]") "," SIZE_OF(
                 "c", "variables.plain") "," SIZE_OF("d", "variables.back"),
             ""),
        NULL};
    return chain("canary", nodes, ids,
                 "\"variables\":[{\"name\":\"k\",\"type\":\"string\",\"sensitive\":true}],"
                 "\"channels\":{\"c\":{\"reducer\":\"append\",\"sensitive\":true}}",
                 mode);
}

static const char *child_text(const char *mode) {
    const char *const ids[] = {"i", NULL};
    const char *const nodes[] = {
        node("i", "core.identity", "", PORT("v", "variable", "\"variableName\":\"p\""), ""), NULL};
    return chain("canary-child", nodes, ids, "\"variables\":[{\"name\":\"p\",\"type\":\"string\"}]",
                 mode);
}

static void workflow_put(const char *text) {
    const char *path = fmt("%s/workflow.json", sv.dir);
    const char *const args[] = {"workflow", "put", path, NULL};
    struct str out, err;
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    cr_assert_eq(program(&sv, args, &out, &err), 0, STR_FMT, STR_ARG(err));
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
    struct reply snapshot = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    if (str_eqc(text_at(snapshot.body, "status"), "completed")) { /* else it would wait */
        (void)program(&sv, tail, &out, &err);
        clean("tail", out);
    }
    (void)program(&sv, show, &out, &err);
    clean("runs show", out);
}

static void canary_run(const char *mode) {
    workflow_put(child_text(mode));
    workflow_put(parent_text(mode));
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

/* --- another host goes on --- */

/* F3: a balancer asks the one host for the run and gives the answer to the other.  No failure. */
static void other_host(const char *mode, bool killed) {
    static const char *const hosts[] = {"--claim-ttl-ms", "2000", "--heartbeat-ms", "500", NULL};
    struct server b;
    server_end(&sv);
    server_start(&sv, hosts);
    server_beside(&b, &sv, hosts);
    workflow_put(child_text(mode));
    workflow_put(parent_text(mode));
    const char *run = create_run(&sv, "canary", "\"inputs\":{\"k\":\"" CANARY "\"}");
    wait_status(&sv, run, "waiting-approval");
    if (killed) server_kill(&sv);
    struct reply r =
        ask(&b, "POST", fmt("/v1/runs/%s/interrupts/g", run),
            "{\"resumeValue\":{\"action\":\"accept\",\"comment\":\"" CANARY "\"}}", NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    struct str end = wait_terminal(&b, run);
    cr_assert(str_eqc(text_at(end, "status"), "completed"), STR_FMT, STR_ARG(end));
    for (size_t i = 0; i < 4; i++)
        cr_expect_eq(int_at(end, fmt("nodeStates.m.outputs.%c", "abcd"[i])),
                     (int64_t)strlen(CANARY), "%s: " STR_FMT, mode, STR_ARG(end));
    clean("events", events_of(&b, run));
    cr_assert_eq(server_stop(&b), 0);
    clean("log of the other host", server_log(&b));
    if (killed) server_again(&sv);
    cr_assert_eq(server_stop(&sv), 0);
    files_clean();
    server_again(&sv);
}

Test(canary, the_host_that_gets_the_answer_reads_the_values_masked /* F3 */) {
    other_host("mask", false);
}
Test(canary, the_host_that_gets_the_answer_reads_the_values_left_out /* F3 */) {
    other_host("omit", false);
}
Test(canary, the_host_that_takes_a_dead_ones_run_reads_the_values_hashed /* F3 */) {
    other_host("hash", true);
}

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

/* A database of schema version 12 kept the values clear, of ended runs too: see
 * old/sensitive-0012.sh. */
Test(canary, clear_values_of_an_older_program_are_sealed_or_removed) {
    static const char *const args[] = {"--retention-days", "3650", NULL};
    static const char *const verify[] = {"verify", NULL};
    struct str out, err;
    int waiting = 0;
    cr_assert_eq(server_stop(&sv), 0);
    server_restore(&sv, "sensitive-0012.sql");
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
