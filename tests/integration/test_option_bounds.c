/*
 * test_option_bounds.c: what is accepted as options can be read, shown and verified ever after
 * (A1): bounds at creation and of what a branch joins, and files from before the bounds.
 */
#include "harness.h"
#include "interrupt_kit.h"

#include <sqlite3.h>
#include <stdio.h>

enum { KEYS_MAX = 1024, TEXT_MAX = 4 << 20 };

static struct server sv;
static void down(void) { server_end(&sv); }

/* A workflow that takes any options. */
static void up(void) {
    static const char *const any_rate[] = {"--large-body-rate", "0", NULL};
    server_start(&sv, any_rate);
    const char *path = fmt("%s/open.json", sv.dir);
    const char *const put[] = {"workflow", "put", path, NULL};
    struct str out = STR_NONE, err = STR_NONE;
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs("{\"id\":\"open\",\"name\":\"O\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\",\"typeId\":"
          "\"core.noop\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},\"config\":{},\"inputs\":{}}"
          "],\"edges\":[],\"triggers\":[],\"metadata\":{},\"settings\":{},\"variables\":[],"
          "\"configurableSchema\":{\"type\":\"object\"}}",
          f);
    fclose(f);
    cr_assert_eq(program(&sv, put, &out, &err), 0, STR_FMT, STR_ARG(err));
}
TestSuite(option_bounds, .init = up, .fini = down, .timeout = 300);

#define LONG(...) (arena_printf(test_arena(), __VA_ARGS__).p) /* beyond what fmt takes */

/* {"a0":1,"a1":1,...} */
static const char *options(char letter, int n) {
    struct buf b;
    buf_init(&b, TEXT_MAX);
    for (int i = 0; i < n; i++) buf_addf(&b, "%c\"%c%d\":1", i > 0 ? ',' : '{', letter, i);
    buf_addz(&b, "}");
    const char *text = arena_cstr(test_arena(), buf_str(&b));
    buf_fini(&b);
    cr_assert_not_null(text);
    return text;
}

static struct reply branch(const char *run, const char *configurable) {
    return ask(
        &sv, "POST", fmt("/v1/runs/%s:fork", run),
        LONG("{\"mode\":\"branch\",\"fromSeq\":0,\"runOptionsOverlay\":{\"configurable\":%s}}",
             configurable),
        NULL);
}

static void expect_refusal(const struct reply *r, const char *reason) {
    expect_error(r, 400, "validation_error");
    cr_expect(str_eqc(text_at(r->body, "details.fields.0.path"), "configurable"), STR_FMT,
              STR_ARG(r->body));
    cr_expect(str_eqc(text_at(r->body, "details.fields.0.reason"), reason), STR_FMT,
              STR_ARG(r->body));
    cr_expect_not_null(strstr(text_at(r->body, "message").p, "send fewer"));
}

static int verify(struct str *out) {
    static const char *const args[] = {"verify", NULL};
    struct str err = STR_NONE;
    return program(&sv, args, out, &err);
}

static void expect_sound(void) {
    struct str out = STR_NONE;
    cr_expect_eq(verify(&out), 0, STR_FMT, STR_ARG(out));
}

static void change(const char *sql) {
    sqlite3 *db = NULL;
    cr_assert_eq(sqlite3_open(sv.db, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_gt(sqlite3_changes(db), 0);
    sqlite3_close(db);
}

static struct reply create(const char *configurable) {
    return ask(&sv, "POST", "/v1/runs",
               LONG("{\"workflowId\":\"open\",\"configurable\":%s}", configurable), NULL);
}

Test(option_bounds, as_many_options_as_allowed_are_shown_and_one_more_is_refused /* OPT-5, A1 */) {
    struct reply r = create(options('a', KEYS_MAX + 1));
    expect_refusal(&r, "too_many");
    cr_expect_eq(int_at(r.body, "details.max"), KEYS_MAX);
    const char *run = create_run(&sv, "open", LONG("\"configurable\":%s", options('a', KEYS_MAX)));
    cr_expect_eq(int_at(wait_terminal(&sv, run), "configurable.a1023"), 1);
    r = create(LONG("{\"a\":\"%0300000d\"}", 0));
    expect_refusal(&r, "too_long");
    expect_sound();
}

Test(option_bounds, what_a_branch_joins_keeps_to_the_same_bounds /* FORK-23, OPT-13, A1 */) {
    const char *run = create_run(&sv, "open", LONG("\"configurable\":%s", options('a', KEYS_MAX)));
    wait_terminal(&sv, run);
    struct reply r = branch(run, "{\"b0\":1}");
    expect_refusal(&r, "too_many");
    r = branch(run, options('b', 20000));
    expect_refusal(&r, "too_many");
    r = branch(run, "{\"a0\":2}");
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    struct str snap = wait_terminal(&sv, fmt(STR_FMT, STR_ARG(text_at(r.body, "runId"))));
    cr_expect_eq(int_at(snap, "configurable.a0"), 2);
    cr_expect_eq(int_at(snap, "configurable.a1023"), 1);
    expect_sound();
}

Test(option_bounds, a_run_from_before_the_bounds_is_shown_and_verified /* RUN-13, A1 */) {
    const char *run = create_run(&sv, "open", NULL);
    wait_terminal(&sv, run);
    server_kill(&sv);
    change(LONG("UPDATE run_origins SET configurable = '{\"ai.credentialRef\":\"cred-1\",%s'",
                options('a', 100000) + 1));
    server_again(&sv);
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect_eq(int_at(r.body, "configurable.a99999"), 1);
    cr_expect_not_null(strstr(r.body.p, "\"ai.credentialRef\":\"[REDACTED]\""));
    cr_expect_null(strstr(r.body.p, "cred-1"));
    expect_sound();
}

Test(option_bounds, verification_goes_on_behind_a_run_that_it_cannot_read /* STORE-8, A1 */) {
    const char *runs[3];
    struct str out = STR_NONE;
    for (int i = 0; i < 3; i++) wait_terminal(&sv, runs[i] = create_run(&sv, "open", NULL));
    server_kill(&sv);
    change("UPDATE run_origins SET inputs = '['");
    cr_expect_eq(verify(&out), 1);
    for (int i = 0; i < 3; i++)
        cr_expect_not_null(strstr(out.p, fmt("%s: the run cannot be checked: ", runs[i])), STR_FMT,
                           STR_ARG(out));
    cr_expect_not_null(strstr(out.p, "3 runs checked, 3 findings"), STR_FMT, STR_ARG(out));
    server_again(&sv);
}

/* Tags as long as they may be: a page of 200 such runs would take more than any answer may. */
Test(option_bounds, a_list_of_runs_with_long_tags_comes_in_pages /* OPT-11, RUN-41 */) {
    enum { RUNS = 45, TAGS = 100, CHARS = 256, PAGE_MAX = 10 << 20 };
    struct buf b;
    buf_init(&b, TEXT_MAX);
    buf_addz(&b, "\"tags\":[");
    for (int i = 0; i < TAGS; i++) {
        buf_addz(&b, i > 0 ? ",\"" : "\"");
        for (int k = 0; k < CHARS; k++) buf_addz(&b, "\\ud83d\\ude00");
        buf_addc(&b, '"');
    }
    buf_addz(&b, "]");
    for (int i = 0; i < RUNS; i++) create_run(&sv, "open", b.p);
    buf_fini(&b);
    size_t seen = 0;
    const char *before = "";
    for (int page = 0; page < RUNS; page++) {
        struct json_elements l;
        struct reply r = ask(&sv, "GET", fmt("/v1/runs?limit=200%s", before), NULL, NULL);
        cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
        cr_expect_lt(r.body.n, (size_t)PAGE_MAX);
        cr_assert_eq(json_elements(at(r.body, "runs"), test_arena(), &l, NULL), 0);
        seen += l.n;
        if (!at(r.body, "nextBefore").p) break;
        before = fmt("&before=" STR_FMT, STR_ARG(text_at(r.body, "nextBefore")));
    }
    cr_expect_eq(seen, (size_t)RUNS);
}
