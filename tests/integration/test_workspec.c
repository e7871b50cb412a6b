/*
 * test_workspec.c: wopr workspec, black box: exit statuses and output (WS-42).
 */
#include "harness.h"

#include <stdio.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(workspec_cli, .init = up, .fini = down, .timeout = 300);

#define HEAD                                                                                       \
    "{\"simulation\":{\"schema_version\":\"2.0\",\"meta\":{\"title\":\"T\",\"description\":\"D\"," \
    "\"domain\":\"M\"},\"config\":{\"time_unit\":\"minutes\",\"start_time\":\"08:00\","            \
    "\"end_time\":\"09:00\",\"currency\":\"EUR\",\"locale\":\"en-IE\"},\"world\":{\"objects\":["   \
    "{\"id\":\"a\",\"type\":\"actor\",\"name\":\"A\",\"properties\":{\"state\":\"free\"}}]},"      \
    "\"process\":{\"tasks\":["
#define TASK "{\"id\":\"t\",\"actor_id\":\"a\",\"start\":\"08:00\",\"duration\":%s}"
#define TAIL "]}}}"

static const char *file_of(const char *name, const char *text) {
    const char *path = fmt("%s/%s", sv.dir, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static int run(struct str *out, struct str *err, const char *verb, const char *path,
               const char *option, const char *more) {
    const char *args[] = {"workspec", verb, path, option, more, NULL};
    return program(&sv, args, out, err);
}

Test(workspec_cli, statuses_tell_good_bad_and_unreadable_ws_42) {
    struct str out = STR_NONE, err = STR_NONE;
    const char *good = file_of("good.json", HEAD "{\"id\":\"t\",\"actor_id\":\"a\",\"start\":"
                                                 "\"08:00\",\"duration\":\"PT5M\"}" TAIL);
    const char *week = file_of("week.json", HEAD "{\"id\":\"t\",\"actor_id\":\"a\",\"start\":"
                                                 "\"08:00\",\"duration\":\"P1W\"}" TAIL);
    const char *bad = file_of("bad.json", HEAD "{\"id\":\"t\",\"actor_id\":\"x\",\"start\":"
                                               "\"08:00\",\"duration\":\"5m\"}" TAIL);
    const char *broken = file_of("broken.json", "{\"a\":");
    cr_expect_eq(run(&out, &err, "validate", good, NULL, NULL), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "good.json: 0 errors, 0 warnings, 0 infos"));
    cr_expect_eq(run(&out, &err, "validate", week, NULL, NULL), 0);
    cr_expect_eq(run(&out, &err, "validate", week, "--profile=reference", NULL), 1);
    cr_expect_eq(run(&out, &err, "validate", bad, NULL, NULL), 1);
    cr_expect_not_null(strstr(out.p, "bad.json:/simulation/process/tasks/0/actor_id - error: "));
    cr_expect_not_null(strstr(out.p, "(task.reference.invalid_actor)\n    "));
    cr_expect_eq(run(&out, &err, "validate", broken, NULL, NULL), 2);
    cr_expect_not_null(strstr(err.p, "not JSON: line 1, column 6"), STR_FMT, STR_ARG(err));
    cr_expect_eq(run(&out, &err, "validate", "no-such-file.json", NULL, NULL), 2);
    cr_expect_eq(run(&out, &err, "validate", good, "--profile=none", NULL), 2);
    cr_expect_eq(run(&out, &err, "validate", NULL, NULL, NULL), 2);
    cr_expect_eq(run(&out, &err, "plan", bad, NULL, NULL), 1, "what has errors has no plan");
    cr_expect(out.n == 0 && strstr(err.p, "invalid_actor") != NULL);
}

Test(workspec_cli, json_is_an_array_indented_by_two_ws_22_ws_42) {
    struct str out = STR_NONE, err = STR_NONE;
    const char *bad = file_of("bad.json", HEAD "{\"id\":\"t\",\"actor_id\":\"x\",\"start\":"
                                               "\"08:00\",\"duration\":\"5m\"}" TAIL);
    cr_expect_eq(run(&out, &err, "validate", bad, "--json", NULL), 1);
    cr_expect(str_starts(out, STR("[\n  {\n    \"type\": \"https://universalautomation.wiki/"
                                  "workspec/errors/task.reference.invalid_actor\",\n")),
              STR_FMT, STR_ARG(out));
    cr_expect(str_ends(out, STR("    ]\n  }\n]\n")), STR_FMT, STR_ARG(out));
    cr_expect_not_null(strstr(out.p, "\"instance\": \"/simulation/process/tasks/0/actor_id\""));
}

Test(workspec_cli, yaml_and_json_of_one_document_say_the_same) {
    struct str out = STR_NONE, err = STR_NONE, again = STR_NONE;
    const char *json = file_of("x.json", "{\"simulation\":{\"schema_version\":\"2.0\"}}");
    const char *yaml = file_of("x.yaml", "simulation:\n  schema_version: \"2.0\"\n");
    cr_expect_eq(run(&out, &err, "validate", json, NULL, NULL), 1);
    cr_expect_eq(run(&again, &err, "validate", yaml, NULL, NULL), 1);
    cr_expect_not_null(strstr(out.p, "(line 1, column 15)"), STR_FMT, STR_ARG(out));
    cr_expect_not_null(strstr(again.p, "(line 2, column 3)"), STR_FMT, STR_ARG(again));
    cr_expect_not_null(strstr(again.p, "x.yaml: 11 errors, 0 warnings, 0 infos"), STR_FMT,
                       STR_ARG(again));
}
