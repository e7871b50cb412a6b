/*
 * test_cli.c: the commands beside serve.
 */
#include "harness.h"

#include <stdio.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(cli, .init = up, .fini = down, .timeout = 300);

static int run(struct str *out, struct str *err, const char *a, const char *b, const char *c,
               const char *d) {
    const char *args[] = {a, b, c, d, NULL};
    return program(&sv, args, out, err);
}

Test(cli, runs_tail_and_verify_read_beside_the_host) {
    struct str out = STR_NONE, err = STR_NONE;
    const char *id = create_run(&sv, "slow-pipeline", "\"inputs\":{\"delayMs\":300}");
    cr_assert_eq(run(&out, &err, "tail", id, "--json", "--test"), 0, STR_FMT, STR_ARG(err));
    struct str rest = out, line;
    size_t n = 0;
    while (str_cut(rest, '\n', &line, &rest)) {
        cr_expect_eq(int_at(line, "sequence"), (int64_t)n);
        n++;
    }
    cr_expect(n >= 8);
    cr_assert_eq(run(&out, &err, "tail", id, "--test", NULL), 0);
    cr_expect_not_null(strstr(out.p, "node.completed"));
    cr_expect_null(strchr(out.p, '\x1b'), "colours only on a terminal");
    cr_assert_eq(run(&out, &err, "runs", "list", NULL, NULL), 0);
    cr_expect_not_null(strstr(out.p, id));
    cr_assert_eq(run(&out, &err, "runs", "show", id, "--test"), 0, STR_FMT, STR_ARG(err));
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s", id), NULL, NULL);
    cr_expect(str_eq(str_trim(str_n(out.p, out.n - 1)), r.body), "the same bytes as HTTP");
    cr_assert_eq(run(&out, &err, "verify", NULL, NULL, NULL), 0, STR_FMT, STR_ARG(out));
    cr_expect_not_null(strstr(out.p, "0 findings"));
    cr_expect_eq(run(&out, &err, "tail", "no-such-run", NULL, NULL), 1);
    cr_expect(err.n > 0);
}

Test(cli, workflow_commands_take_effect_at_once /* NODE-3, WF-3 */) {
    struct str out = STR_NONE, err = STR_NONE;
    const char *good = fmt("%s/mine.json", sv.dir), *bad = fmt("%s/bad.json", sv.dir);
    FILE *f = fopen(good, "w");
    fputs("{\"id\":\"mine\",\"name\":\"Mine\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\","
          "\"typeId\":\"core.noop\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},"
          "\"config\":{},\"inputs\":{}}],\"edges\":[],\"triggers\":[],\"variables\":[],"
          "\"metadata\":{},\"settings\":{}}",
          f);
    fclose(f);
    f = fopen(bad, "w");
    fputs("{\"id\":\"bad\",\"name\":\"Bad\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\",\"typeId\":"
          "\"core.unheardOf\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},"
          "\"config\":{},\"inputs\":{}}],\"edges\":[],\"triggers\":[],\"variables\":[],"
          "\"metadata\":{},\"settings\":{}}",
          f);
    fclose(f);
    cr_expect_eq(run(&out, &err, "workflow", "check", good, NULL), 0, STR_FMT, STR_ARG(err));
    cr_expect_eq(run(&out, &err, "workflow", "check", bad, NULL), 1);
    cr_expect_not_null(strstr(err.p, "/nodes/0"), "the message points into the file: " STR_FMT,
                       STR_ARG(err));
    cr_expect_eq(run(&out, &err, "workflow", "put", good, NULL), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "created"));
    cr_expect_eq(run(&out, &err, "workflow", "put", good, NULL), 0);
    cr_expect_not_null(strstr(out.p, "unchanged"));
    wait_terminal(&sv, create_run(&sv, "mine", NULL));
    cr_expect_eq(run(&out, &err, "workflow", "get", "mine", NULL), 0);
    cr_expect_eq(run(&out, &err, "workflow", "list", NULL, NULL), 0);
    cr_expect_not_null(strstr(out.p, "mine"));
}

Test(cli, settings_are_one_table) {
    struct str out = STR_NONE, err = STR_NONE;
    cr_assert_eq(run(&out, &err, "serve", "--help", NULL, NULL), 0);
    cr_expect_not_null(strstr(out.p, "OPENWOP_SQLITE_PATH"));
    cr_assert_eq(
        run(&out, &err, "serve", "--print-config", "--api-key=hk_secret_value", "--port=1234"), 0,
        STR_FMT, STR_ARG(err));
    cr_expect_eq(int_at(out, "port"), 1234);
    cr_expect(str_eqc(text_at(out, "api-key"), "[REDACTED]"));
    static const struct {
        const char *arg, *names;
    } bad[] = {{"--port=x", "port"},
               {"--sync=never", "sync"},
               {"--no-such-option=1", "no-such-option"},
               {"--idempotency-seconds=5", "idempotency-seconds"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        cr_expect_eq(run(&out, &err, "serve", "--print-config", bad[i].arg, NULL), 2, "%s",
                     bad[i].arg);
        cr_expect_not_null(strstr(err.p, bad[i].names), STR_FMT, STR_ARG(err));
    }
}
