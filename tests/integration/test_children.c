/*
 * test_children.c: sub-workflows through the real program: who shows what, kill -9 in between,
 * cancel within 5 s, pause.  WF-45..50, INT-41, RUN-12, RUN-20, RUN-23.
 */
#include "harness.h"

#include <stdio.h>

#define CANCEL_MS WAIT_MS /* of a run of ten minutes */

static struct server sv;
static void up(void) {
    static const char *const args[] = {"--seed", WOPR_SOURCE_DIR "/tests/integration/children",
                                       NULL};
    server_start(&sv, args);
}
static void down(void) { server_end(&sv); }
TestSuite(children, .init = up, .fini = down, .timeout = 300);

static void expect_clean_database(void) {
    static const char *const args[] = {"verify", NULL};
    struct str out = STR_NONE, err = STR_NONE;
    int rc = program(&sv, args, &out, &err);
    cr_expect_eq(rc, 0, STR_FMT STR_FMT, STR_ARG(out), STR_ARG(err));
}

static const char *start(int delay_ms) {
    return create_run(&sv, "root", fmt("\"inputs\":{\"delayMs\":%d}", delay_ms));
}

/* The n-th child as the parent's snapshot lists it; NULL while there is none. */
static const char *child_of(const char *run) {
    struct str snap = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).body;
    struct str id = at(snap, "childRuns.0.runId");
    return id.p ? fmt(STR_FMT, STR_ARG(json_string(id, test_arena()))) : NULL;
}

static const char *wait_child(const char *run) {
    int64_t until = now_ms() + WAIT_MS;
    const char *child = NULL;
    while (!child && now_ms() < until) {
        child = child_of(run);
        if (!child) nap_ms(5);
    }
    cr_assert_not_null(child, "%s has no child", run);
    return child;
}

static size_t children_nr(const char *run) {
    struct json_elements l;
    struct str body = ask(&sv, "GET", fmt("/v1/runs?parentRunId=%s", run), NULL, NULL).body;
    cr_assert_eq(json_elements(at(body, "runs"), test_arena(), &l, NULL), 0, STR_FMT,
                 STR_ARG(body));
    for (size_t i = 0; i < l.n; i++) cr_expect(str_eqc(text_at(l.v[i], "parentRunId"), run));
    return l.n;
}

Test(children, links_show_on_both_sides /* WF-46, NODE-25 */) {
    const char *root = start(300), *middle = wait_child(root), *leaf = wait_child(middle);
    struct str snap = wait_terminal(&sv, root);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    cr_expect(str_eqc(text_at(snap, "variables.answer"), "from the leaf"));
    cr_expect(str_eqc(text_at(snap, "childRuns.0.runId"), middle));
    cr_expect(str_eqc(text_at(snap, "childRuns.0.status"), "completed"));
    cr_expect_null(at(snap, "childDepth").p);
    snap = wait_terminal(&sv, leaf);
    cr_expect(str_eqc(text_at(snap, "parentRunId"), middle));
    cr_expect(str_eqc(text_at(snap, "parentNodeId"), "down"));
    cr_expect_eq(int_at(snap, "childDepth"), 2);
    cr_expect_eq(children_nr(root), 1u);
    cr_expect_eq(children_nr(leaf), 0u);
    expect_clean_database();
}

Test(children, values_show_them_as_a_snapshot_does /* SSE-17, F21 */) {
    const char *root = start(50);
    struct str snap = wait_terminal(&sv, root);
    struct stream st =
        stream(&sv, fmt("/v1/runs/%s/events?streamMode=values", root), NULL, WAIT_MS, 0);
    cr_assert_gt(st.n, 1u);
    cr_assert_gt(at(snap, "childRuns").n, 2u);
    cr_expect(str_eq(at(st.v[st.n - 1].data, "childRuns"), at(snap, "childRuns")), STR_FMT,
              STR_ARG(st.v[st.n - 1].data));
    cr_expect_null(at(st.v[0].data, "childRuns").p, "none when the run began");
}

Test(children, a_killed_host_finishes_what_it_began_once /* STORE-39, DISP-12 */) {
    enum { ROUNDS = 8, RUNS = 6 };
    const char *ids[ROUNDS * RUNS];
    size_t n = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < RUNS; i++) ids[n++] = start(i % 2 == 0 ? 1 : 40);
        nap_ms(round); /* not a synchronisation: another moment of death every time */
        server_kill(&sv);
        server_again(&sv);
    }
    for (size_t i = 0; i < n; i++) {
        struct str snap = wait_terminal(&sv, ids[i]);
        cr_assert(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
        cr_expect(str_eqc(text_at(snap, "variables.answer"), "from the leaf"));
        cr_assert_eq(children_nr(ids[i]), 1u, "%s", ids[i]);
        const char *middle = child_of(ids[i]);
        cr_assert_eq(children_nr(middle), 1u, "%s", middle);
        cr_expect(str_eqc(text_at(wait_terminal(&sv, child_of(middle)), "status"), "completed"));
    }
    expect_clean_database();
}

static void cancel_all(const char *root, const char *middle, const char *leaf) {
    int64_t began = now_ms();
    struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s/cancel", root), "{\"reason\":\"x\"}", NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    struct str down = wait_terminal(&sv, leaf);
    cr_expect(str_eqc(text_at(down, "status"), "cancelled"));
    cr_expect(str_eqc(text_at(wait_terminal(&sv, middle), "status"), "cancelled"));
    cr_expect(str_eqc(text_at(wait_terminal(&sv, root), "status"), "cancelled"));
    cr_expect(now_ms() - began < CANCEL_MS, "RUN-20");
    struct json_elements l;
    cr_assert_eq(json_elements(events_of(&sv, leaf), test_arena(), &l, NULL), 0);
    cr_expect(str_eqc(text_at(l.v[l.n - 1], "payload.reason"), "parent-cancelled"));
}

Test(children, a_cancel_reaches_the_leaves_in_time /* INT-41, RUN-23 */) {
    const char *root = start(600000), *middle = wait_child(root), *leaf = wait_child(middle);
    cancel_all(root, middle, leaf);
    expect_clean_database();
}

Test(children, a_cancel_after_a_kill_reaches_them_too) {
    const char *root = start(600000), *middle = wait_child(root), *leaf = wait_child(middle);
    server_kill(&sv);
    server_again(&sv);
    cancel_all(root, middle, leaf);
    expect_clean_database();
}

Test(children, a_kill_during_a_cancel_leaves_no_orphan /* INT-41 */) {
    for (int round = 0; round < 6; round++) {
        const char *root = start(600000), *middle = wait_child(root), *leaf = wait_child(middle);
        char bytes[600];
        int n =
            snprintf(bytes, sizeof bytes,
                     "POST /v1/runs/%s/cancel HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                     "Content-Length: 2\r\nConnection: close\r\n\r\n{}",
                     root, sv.key);
        (void)ask_raw(&sv, bytes, (size_t)n, round); /* answered or not: the kill decides */
        server_kill(&sv);
        server_again(&sv);
        cancel_all(root, middle, leaf);
    }
    expect_clean_database();
}

Test(children, a_pause_goes_down_and_survives_a_kill /* EVT-31 */) {
    const char *root = start(400), *middle = wait_child(root), *leaf = wait_child(middle);
    wait_status(&sv, leaf, "running");
    cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s:pause", root), "{}", NULL).status, 202);
    wait_status(&sv, middle, "paused");
    wait_status(&sv, leaf, "paused");
    server_kill(&sv);
    server_again(&sv);
    nap_ms(600);
    wait_status(&sv, leaf, "paused");
    cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s:resume", root), "{}", NULL).status, 202);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, root), "status"), "completed"));
    cr_expect(str_eqc(text_at(wait_terminal(&sv, leaf), "status"), "completed"));
    expect_clean_database();
}
