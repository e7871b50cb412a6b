/*
 * test_checkpoints.c: long runs from outside: what streams show, what verification says and what
 * answers do does not depend on checkpoints of the fold (SSE-17, SSE-27, STORE-39).
 */
#include "harness.h"

#include <sqlite3.h>

enum { PIECES = 600, FAR = 900 };

static struct server sv;
static const char *run;

static void answer(const char *node) {
    struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s/interrupts/%s", run, node),
                         "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
}

/* p streams, g waits; answered: q streams, h waits. */
static void up(void) {
    static const char *const put[] = {"workflow", "put",
                                      WOPR_SOURCE_DIR "/tests/integration/long-gates.json", NULL};
    struct str out = STR_NONE, err = STR_NONE;
    struct buf b;
    server_start(&sv, NULL);
    cr_assert_eq(program(&sv, put, &out, &err), 0, STR_FMT, STR_ARG(err));
    buf_init(&b, 1u << 20);
    buf_addz(&b,
             "\"configurable\":{\"mockProvider\":{\"id\":\"stream-text\",\"config\":{\"tokens\":[");
    for (int i = 0; i < PIECES; i++) buf_addf(&b, "%s\"t%d \"", i > 0 ? "," : "", i);
    buf_addz(&b, "]}}}");
    run = create_run(&sv, "long-gates", b.p);
    buf_fini(&b);
    (void)wait_status(&sv, run, "waiting-approval");
    answer("g");
    for (int64_t end = now_ms() + WAIT_MS;;) {
        struct str snap = wait_status(&sv, run, "waiting-approval");
        if (str_eqc(text_at(snap, "currentNodeId"), "h")) break;
        cr_assert_lt(now_ms(), end);
    }
}
static void down(void) { server_end(&sv); }
TestSuite(checkpoints, .init = up, .fini = down, .timeout = 300);

static int64_t sql(const char *text) {
    sqlite3 *db;
    cr_assert_eq(sqlite3_open(sv.db, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, WAIT_MS);
    cr_assert_eq(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    int64_t n = sqlite3_total_changes(db);
    sqlite3_close(db);
    return n;
}

static struct str far_frame(void) {
    const char *const h[] = {fmt("Last-Event-ID: %d", FAR), NULL};
    struct stream st = stream(&sv, fmt("/v1/runs/%s/events?streamMode=values", run), h, WAIT_MS, 1);
    cr_assert_eq(st.n, 1u);
    return st.v[0].data;
}

Test(checkpoints, a_far_cursor_shows_the_same_state_with_and_without_them /* SSE-27 */) {
    struct str with = far_frame();
    cr_expect_eq(int_at(with, "atSeq"), FAR);
    cr_expect(str_eqc(text_at(with, "status"), "running"));
    cr_expect_geq(sql("DELETE FROM run_checkpoints"), 1);
    struct str without = far_frame();
    cr_expect(str_eq(with, without), STR_FMT "\n" STR_FMT, STR_ARG(with), STR_ARG(without));
}

Test(checkpoints, verification_finds_damaged_ones_and_the_run_goes_on /* STORE-39 */) {
    static const char *const verify[] = {"verify", NULL};
    struct str out = STR_NONE;
    cr_expect_eq(server_stop(&sv), 0);
    cr_expect_eq(program(&sv, verify, &out, NULL), 0, STR_FMT, STR_ARG(out));
    cr_expect_geq(sql("UPDATE run_checkpoints SET image = zeroblob(200)"), 1);
    cr_expect_neq(program(&sv, verify, &out, NULL), 0);
    cr_expect_not_null(strstr(out.p, "damaged checkpoint"), STR_FMT, STR_ARG(out));
    server_again(&sv);
    answer("h");
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    cr_expect_geq(sql("DELETE FROM run_checkpoints"), 1);
    cr_expect_eq(server_stop(&sv), 0);
    cr_expect_eq(program(&sv, verify, &out, NULL), 0, STR_FMT, STR_ARG(out));
}
