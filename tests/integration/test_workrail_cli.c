/*
 * test_workrail_cli.c: wopr workrail, black box: exit statuses and output.
 */
#include "codec/bytes.h"
#include "harness.h"

#include <stdio.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(workrail_cli, .init = up, .fini = down, .timeout = 300);

#define STEP "{\"id\":\"s\",\"title\":\"T\",\"prompt\":\"P\"}"
#define GOOD "{\"id\":\"project.x\",\"steps\":[" STEP "]}"

static const char *file_of(const char *name, const char *text) {
    const char *path = fmt("%s/%s", sv.dir, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static int run(struct str *out, struct str *err, const char *verb, const char *path,
               const char *more) {
    const char *args[] = {"workrail", verb, path, more, NULL};
    return program(&sv, args, out, err);
}

Test(workrail_cli, statuses_tell_good_bad_and_unreadable) {
    struct str out = STR_NONE, err = STR_NONE;
    const char *good = file_of("good.json", GOOD), *broken = file_of("broken.json", "{\"id\":");
    const char *old = file_of("old.json", "{\"id\":\"old\",\"steps\":[" STEP "]}");
    const char *bad = file_of("bad.json", "{\"id\":\"wr.x\",\"steps\":[" STEP "," STEP "]}");
    cr_expect_eq(run(&out, &err, "check", good, NULL), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "good.json: 0 errors, 0 warnings"));
    cr_expect_eq(run(&out, &err, "check", old, NULL), 0);
    cr_expect_not_null(strstr(out.p, "legacy_workflow_id"));
    cr_expect_not_null(strstr(out.p, "0 errors, 1 warning\n"));
    cr_expect_eq(run(&out, &err, "check", bad, good), 1);
    cr_expect_not_null(strstr(out.p, "bad.json:/id - error: "));
    cr_expect_not_null(strstr(out.p, "bad.json:/steps/1 - error: "));
    cr_expect_not_null(strstr(out.p, "good.json: 0 errors"));
    cr_expect_eq(run(&out, &err, "check", broken, NULL), 1);
    cr_expect_eq(run(&out, &err, "check", "no-such-file.json", NULL), 2);
    cr_expect_eq(run(&out, &err, "check", NULL, NULL), 2);
    cr_expect_eq(run(&out, &err, "compile", bad, NULL), 1);
    cr_expect(out.n == 0 && strstr(err.p, "kept for") != NULL, "no output of what is wrong");
}

Test(workrail_cli, the_hash_is_that_of_the_compiled_bytes) {
    struct str out = STR_NONE, err = STR_NONE;
    const char *good = file_of("good.json", GOOD);
    cr_assert_eq(run(&out, &err, "compile", good, NULL), 0, STR_FMT, STR_ARG(err));
    cr_assert(out.n > 1 && out.p[out.n - 1] == '\n');
    struct sha256 sum = sha256_of(str_n(out.p, out.n - 1));
    char hex[65];
    sha256_hex(&sum, hex);
    cr_assert_eq(run(&out, &err, "hash", good, NULL), 0);
    cr_expect_not_null(strstr(out.p, hex), STR_FMT, STR_ARG(out));
    cr_expect_not_null(strstr(out.p, "project.x\n"));
    cr_assert_eq(run(&out, &err, "check", good, "--json"), 0);
    cr_expect_not_null(strstr(out.p, hex), STR_FMT, STR_ARG(out));
    cr_assert_eq(run(&out, &err, "builtins", NULL, NULL), 0);
    cr_expect_not_null(strstr(out.p, "\"wr.contracts.loop_control\""));
}
