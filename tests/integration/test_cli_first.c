/*
 * test_cli_first.c: the first hour on the command line: an example, what nodes there are, put it on
 * a host, start it and see how it ends; keys that are found by themselves.
 */
#include "interrupt_kit.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct server sv;
static struct str out, err;
static void up(void) {
    server_start(&sv, NULL);
    setenv("WOPR_URL", sv.base, 1);
    setenv("WOPR_API_KEY", TEST_KEY, 1);
}
static void down(void) { server_end(&sv); }
TestSuite(cli_first, .init = up, .fini = down, .timeout = 300);

#define RUN(...)        program(&sv, (const char *const[]){__VA_ARGS__, NULL}, &out, &err)
#define SAYS(text)      cr_expect_not_null(strstr(out.p, text), "%s: " STR_FMT, text, STR_ARG(out))
#define COMPLAINS(text) cr_expect_not_null(strstr(err.p, text), "%s: " STR_FMT, text, STR_ARG(err))

static const char *file_of(const char *name, const char *text) {
    const char *path = fmt("%s/%s", sv.dir, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static struct str line_of(struct str text) {
    struct str line = text, rest;
    (void)str_cut(text, '\n', &line, &rest);
    return line;
}

/* --- examples and node types --- */

Test(cli_first, every_template_is_written_checked_and_stored) {
    cr_assert_eq(RUN("init", "--list"), 0, STR_FMT, STR_ARG(err));
    struct str rest = out, line;
    unsigned n = 0;
    while (str_cut(rest, '\n', &line, &rest)) {
        struct str name, says;
        cr_assert(str_cut(line, ' ', &name, &says) && str_trim(says).n > 10, STR_FMT,
                  STR_ARG(line));
        const char *id = arena_cstr(test_arena(), name), *path = fmt("%s/%s.json", sv.dir, id);
        struct str kept = rest;
        cr_assert_eq(RUN("init", id, "--out", path), 0, STR_FMT, STR_ARG(err));
        cr_expect_eq(RUN("workflow", "check", path), 0, "%s", id);
        cr_expect_eq(err.n, 0u, "%s: " STR_FMT, id, STR_ARG(err));
        cr_expect_eq(RUN("workflow", "put", path), 0, STR_FMT, STR_ARG(err));
        SAYS(": created");
        rest = kept;
        n++;
    }
    cr_expect_geq(n, 10u);
}

Test(cli_first, init_overwrites_nothing_unless_told) {
    const char *path = file_of("hello.json", "mine");
    cr_expect_eq(RUN("init", "--out", path), 1);
    COMPLAINS("--force overwrites it");
    cr_expect_eq(RUN("init", "--out", path, "--force"), 0);
    cr_expect_eq(RUN("init", "helo"), 2);
    COMPLAINS("did you mean hello?");
}

Test(cli_first, the_page_of_node_types_is_current) {
    static char page[256 * 1024];
    FILE *f = fopen(WOPR_SOURCE_DIR "/docs/nodes.md", "r");
    cr_assert_not_null(f);
    size_t n = fread(page, 1, sizeof page, f);
    fclose(f);
    cr_assert_eq(RUN("nodes", "--markdown"), 0, STR_FMT, STR_ARG(err));
    cr_expect(str_eq(out, str_n(page, n)), "run: wopr nodes --markdown >docs/nodes.md");
}

Test(cli_first, node_types_are_listed_and_one_is_explained) {
    cr_assert_eq(RUN("nodes"), 0);
    SAYS("core.delay ");
    SAYS("vendor.wopr.http");
    cr_assert_eq(RUN("nodes", "core.delay"), 0);
    SAYS("number 0..31536000000; default 0");
    SAYS("\"typeId\": \"core.delay\"");
    cr_assert_eq(RUN("nodes", "core.delay", "--json"), 0);
    cr_expect(str_eqc(text_at(line_of(out), "typeId"), "core.delay"));
    cr_expect_eq(RUN("nodes", "core.dealy"), 1);
    COMPLAINS("did you mean core.delay?");
}

/* --- runs --- */

Test(cli_first, a_run_is_started_and_its_end_is_the_exit_status) {
    cr_assert_eq(RUN("runs", "start", "conformance-noop"), 0, STR_FMT, STR_ARG(err));
    cr_expect(str_starts(out, STR("run_")), STR_FMT, STR_ARG(out));
    wait_terminal(&sv, arena_cstr(test_arena(), line_of(out)));
    cr_expect_eq(RUN("runs", "start", "conformance-noop", "--wait"), 0);
    SAYS("completed\n");
    cr_expect_eq(RUN("runs", "start", "conformance-failure", "--wait"), 3);
    SAYS("failed\n");
    cr_expect_eq(RUN("runs", "start", "conformance-cancellable", "--input", "delayMs=60000",
                     "--wait", "--timeout", "1"),
                 5);
    COMPLAINS("it goes on");
    cr_expect_eq(RUN("runs", "start", "no-such-workflow"), 1);
    cr_expect_eq(RUN("runs", "start"), 2);
    cr_expect_eq(RUN("runs", "start", "conformance-noop", "--input", "x"), 2);
    COMPLAINS("NAME=VALUE");
}

Test(cli_first, a_cancelled_run_has_an_exit_status_of_its_own_and_many_are_cancelled_at_once) {
    const char *other = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":60000}");
    pid_t waiting = fork();
    if (waiting == 0)
        _exit(RUN("runs", "start", "conformance-cancellable", "--input", "delayMs=60000", "--tag",
                  "mine", "--wait"));
    for (int i = 0; i < 3; i++)
        (void)create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":60000}");
    bool there = false;
    for (int i = 0; i < WAIT_MS / 50 && !there; i++) {
        there = at(ask(&sv, "GET", "/v1/runs?tag=mine", NULL, NULL).body, "runs.0").n > 0;
        if (!there) nap_ms(50);
    }
    cr_assert(there);
    cr_expect_eq(RUN("runs", "bulk-cancel"), 2);
    COMPLAINS("say which");
    cr_assert_eq(RUN("runs", "bulk-cancel", "--workflow", "conformance-cancellable"), 0, STR_FMT,
                 STR_ARG(err));
    unsigned lines = 0;
    for (size_t i = 0; i < out.n; i++) lines += out.p[i] == '\n';
    cr_expect_eq(lines, 4u, STR_FMT, STR_ARG(out));
    int status;
    waitpid(waiting, &status, 0);
    cr_expect_eq(WEXITSTATUS(status), 4);
    struct str snapshot = ask(&sv, "GET", fmt("/v1/runs/%s", other), NULL, NULL).body;
    cr_expect_not(str_eqc(text_at(snapshot, "status"), "cancelled"), "it is of another workflow");
    cr_expect_eq(RUN("runs", "bulk-cancel", other, "run_none"), 1, "one is not there");
    wait_status(&sv, other, "cancelled");
}

Test(cli_first, inputs_come_from_options_over_a_file_and_typos_are_named) {
    const char *path = WOPR_SOURCE_DIR "/docs/examples/router.json";
    cr_assert_eq(RUN("workflow", "put", path), 0, STR_FMT, STR_ARG(err));
    const char *inputs = file_of("inputs.json", "{\"amount\": 5}");
    cr_assert_eq(RUN("runs", "start", "router", "--inputs", inputs, "--follow"), 0, STR_FMT,
                 STR_ARG(err));
    SAYS("\"express\"");
    SAYS("= run.completed");
    cr_assert_eq(RUN("runs", "start", "router", "--inputs", inputs, "--input", "amount=500",
                     "--input", "amuont=1", "--follow", "--json"),
                 0, STR_FMT, STR_ARG(err));
    SAYS("\"review\"");
    COMPLAINS("inputs.amuont is not declared by the workflow and is dropped; did you mean amount?");
    cr_expect_eq(RUN("runs", "start", "router", "--input", "amount=many"), 1, "a text");
    COMPLAINS("wrong_type");
}

/* --- workflows of a host --- */

Test(cli_first, workflows_of_a_host_are_managed_by_the_same_verbs) {
    const char *path = file_of(
        "w.json", "{\"id\":\"w\",\"name\":\"W\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\","
                  "\"typeId\":\"core.noop\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},"
                  "\"config\":{},\"inputs\":{}}],\"edges\":[],\"triggers\":[],\"variables\":[],"
                  "\"metadata\":{},\"settings\":{\"timeuot\":5}}");
    cr_expect_eq(RUN("workflow", "check", path), 1);
    COMPLAINS(
        "error at /settings/timeuot = 5: \"timeuot\" means nothing here; did you mean timeout?");
    cr_expect_eq(RUN("workflow", "put", path), 1);
    cr_expect_eq(RUN("workflow", "get", "w"), 1);
    cr_expect_eq(RUN("workflow", "put", path, "--force"), 0, STR_FMT, STR_ARG(err));
    SAYS("w.json: created");
    cr_expect_eq(RUN("workflow", "get", "w"), 0);
    SAYS("\"timeuot\":5");
    cr_expect_eq(RUN("workflow", "list"), 0);
    SAYS("w                ");
    cr_expect_eq(RUN("workflow", "versions", "w"), 0);
    SAYS("1        1 ");
    cr_expect_eq(RUN("workflow", "get", "w", "--revision", "1"), 0);
    cr_expect_eq(RUN("workflow", "delete", "w"), 0);
    cr_expect_eq(RUN("workflow", "versions", "w"), 1);
}

/* --- keys --- */

Test(cli_first, the_key_is_found_by_itself) {
    unsetenv("WOPR_API_KEY");
    cr_expect_eq(RUN("runs", "start", "conformance-noop"), 2);
    COMPLAINS("WOPR_API_KEY");
    (void)file_of("dev-api-key", TEST_KEY "\n");
    cr_expect_eq(RUN("runs", "start", "conformance-noop"), 0, STR_FMT, STR_ARG(err));
    setenv("WOPR_API_KEY", "hk_test_wrong", 1);
    cr_expect_eq(RUN("runs", "start", "conformance-noop"), 1, "the environment wins");
    COMPLAINS("401");
}

/* A package's settings name a file that only root reads. */
Test(cli_first, the_key_of_the_environment_counts_before_the_file_of_settings) {
    setenv("WOPR_CONFIG", file_of("settings.json", "{\"api-key-file\":\"no-such-keys\"}"), 1);
    cr_expect_eq(RUN("runs", "start", "conformance-noop"), 0, STR_FMT, STR_ARG(err));
    cr_expect_eq(RUN("runs", "start", "conformance-noop", "--api-key-file", "named-keys"), 1);
    COMPLAINS("named-keys");
    unsetenv("WOPR_API_KEY");
    cr_expect_eq(RUN("runs", "start", "conformance-noop"), 1);
    COMPLAINS("no-such-keys");
    unsetenv("WOPR_CONFIG");
}
