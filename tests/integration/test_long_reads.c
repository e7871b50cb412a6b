/*
 * test_long_reads.c: which reads leave the thread of their connection, counted by the host itself
 * (wopr_http_reads_total): large ones and those that evaluate conditions; small ones stay.
 * HTTP-11 step 2, SSE-17, SSE-36.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT = 300000 };

static struct server sv;
static const char *const ARGS[] = {"--ops-port", "0", NULL};

static void put(const char *id, const char *edge, const char *variables) {
    const char *path = fmt("%s/%s.json", sv.dir, id);
    const char *const args[] = {"workflow", "put", path, NULL};
    struct str out = STR_NONE, err = STR_NONE;
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f,
            "{\"id\":\"%s\",\"name\":\"L\",\"version\":\"1\",\"nodes\":["
            "{\"id\":\"a\",\"typeId\":\"core.noop\",\"name\":\"A\",\"position\":{\"x\":0,\"y\":0},"
            "\"config\":{},\"inputs\":{}},"
            "{\"id\":\"b\",\"typeId\":\"core.noop\",\"name\":\"B\",\"position\":{\"x\":1,\"y\":0},"
            "\"config\":{},\"inputs\":{}}],\"edges\":[{\"id\":\"e\",\"sourceNodeId\":\"a\","
            "\"targetNodeId\":\"b\"%s}],\"triggers\":[],\"metadata\":{},\"settings\":{},"
            "\"variables\":[%s]}",
            id, edge, variables);
    fclose(f);
    cr_assert_eq(program(&sv, args, &out, &err), 0, STR_FMT, STR_ARG(err));
}

static void up(void) {
    server_start(&sv, ARGS);
    put("plain", "", "");
    put("asks", ",\"condition\":{\"type\":\"expression\",\"expression\":\"variables.n > 1\"}",
        "{\"name\":\"n\",\"type\":\"number\",\"defaultValue\":2}");
    put("large", "", "{\"name\":\"x\",\"type\":\"string\",\"defaultValue\":\"\"}");
}
static void down(void) { server_end(&sv); }
TestSuite(long_reads, .init = up, .fini = down, .timeout = 300);

static long reads(void) {
    static const char *const NO_AUTH[] = {"Authorization:", NULL};
    struct server ops = sv;
    snprintf(ops.base, sizeof ops.base, "http://127.0.0.1:%d", sv.ops_port);
    struct reply r = ask(&ops, "GET", "/metrics", NULL, NO_AUTH);
    cr_assert_eq(r.status, 200);
    const char *at = strstr(r.body.p, "\nwopr_http_reads_total ");
    cr_assert_not_null(at);
    return strtol(at + sizeof "\nwopr_http_reads_total", NULL, 10);
}

static const char *ended(const char *workflow, const char *extras) {
    const char *run = create_run(&sv, workflow, extras);
    (void)wait_terminal(&sv, run);
    return run;
}
static struct stream values(const char *run, const char *query) {
    struct stream st =
        stream(&sv, fmt("/v1/runs/%s/events?streamMode=values%s", run, query), NULL, WAIT_MS, 0);
    cr_assert_eq(st.status, 200);
    cr_expect(st.closed_by_server);
    return st;
}
/* The last frame shows what the snapshot shows. */
static void expect_end(const struct stream *st, const char *run) {
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    cr_assert_gt(st->n, 0);
    struct str data = st->v[st->n - 1].data;
    cr_expect(str_eq(at(data, "variables"), at(r.body, "variables")));
    cr_expect(str_eq(at(data, "nodeStates"), at(r.body, "nodeStates")));
    cr_expect(str_eqc(text_at(data, "status"), "completed"));
}

Test(long_reads, small_reads_stay_where_they_are) {
    const char *run = ended("plain", NULL);
    long before = reads();
    struct stream st = values(run, "");
    expect_end(&st, run);
    st = values(run, "&lastEventId=1");
    expect_end(&st, run);
    cr_expect_eq(ask(&sv, "GET", fmt("/v1/runs/%s/events/poll", run), NULL, NULL).status, 200);
    cr_expect_eq(ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).status, 200);
    cr_expect_eq(reads(), before);
}

Test(long_reads, a_fold_with_conditions_leaves_the_thread_of_its_connection /* F7 */) {
    const char *run = ended("asks", NULL);
    long before = reads();
    struct stream st = values(run, "");
    expect_end(&st, run);
    cr_expect_gt(reads(), before);
}

Test(long_reads, megabytes_are_rendered_elsewhere_however_few_the_events /* S6, SSE-36 */) {
    static const char *const TAILS[] = {"", "/events/poll?timeout=1", "/events?streamMode=values"};
    char *x = arena_alloc(test_arena(), TEXT + 1);
    memset(x, 'q', TEXT);
    x[TEXT] = '\0';
    const char *run = ended("large", arena_printf(test_arena(), "\"inputs\":{\"x\":\"%s\"}", x).p);
    const char *const runs[] = {run, fork_run(&sv, run, "branch", 3)};
    (void)wait_terminal(&sv, runs[1]);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof TAILS / sizeof *TAILS; k++) {
            static const char *const SSE[] = {"Accept: text/event-stream", NULL};
            long before = reads();
            struct reply r =
                ask(&sv, "GET", fmt("/v1/runs/%s%s", runs[i], TAILS[k]), NULL, k == 2 ? SSE : NULL);
            cr_expect_eq(r.status, 200);
            cr_expect_gt(r.body.n, TEXT);
            cr_expect_gt(reads(), before, "%s of %s", TAILS[k], i == 0 ? "a run" : "its fork");
        }
}

/* The definition of a run is compiled when it is asked for the first time, however small: by a
 * stream or a creation. */
Test(long_reads, a_definition_that_is_not_compiled_yet_is_compiled_elsewhere /* SSE-17, RUN-2 */) {
    const char *run = ended("plain", NULL);
    server_stop(&sv);
    server_again(&sv);
    long before = reads();
    struct stream st = values(run, "");
    expect_end(&st, run);
    cr_expect_gt(reads(), before, "by a stream");
    before = reads();
    (void)ended("plain", NULL); /* the stream's would do, but for what creations check besides */
    (void)ended("asks", NULL);
    cr_expect_gt(reads(), before, "by a creation");
    before = reads();
    st = values(run, "");
    (void)ended("asks", NULL);
    cr_expect_eq(reads(), before, "compiled already");
}
