/*
 * test_durability.c: kill -9, restart, resume; graceful shutdown; damaged databases.  STORE-*,
 * EVT-32, PROF-21, IDEM-15.
 */
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(durability, .init = up, .fini = down, .timeout = 400);

static unsigned count(struct str hay, const char *needle) {
    unsigned n = 0;
    for (const char *p = hay.p; (p = strstr(p, needle)) != NULL; p += strlen(needle)) n++;
    return n;
}

static void expect_clean_database(void) {
    static const char *const args[] = {"verify", NULL};
    struct str out = STR_NONE, err = STR_NONE;
    int rc = program(&sv, args, &out, &err);
    cr_expect_eq(rc, 0, STR_FMT STR_FMT, STR_ARG(out), STR_ARG(err));
}

Test(durability, a_killed_host_continues_the_stream_and_the_run /* the README's tour */) {
    const char *run = create_run(&sv, "slow-pipeline", "\"inputs\":{\"delayMs\":1500}");
    struct stream before =
        stream(&sv, fmt("/v1/runs/%s/events?streamMode=debug", run), NULL, 700, 0);
    cr_assert_geq(before.n, 5u, STR_FMT, STR_ARG(before.raw));
    server_kill(&sv);
    server_again(&sv);
    struct str last = before.v[before.n - 1].id;
    const char *const h[] = {fmt("Last-Event-ID: " STR_FMT, STR_ARG(last)), NULL};
    struct stream after =
        stream(&sv, fmt("/v1/runs/%s/events?streamMode=debug", run), h, WAIT_MS, 0);
    cr_assert_eq(after.status, 200);
    cr_expect(after.closed_by_server);
    for (size_t i = 0; i < after.n; i++) {
        uint64_t got = 0, base = 0;
        cr_assert(str_u64(after.v[i].id, &got) && str_u64(last, &base));
        cr_expect_eq(got, base + 1 + i, "the next sequence, no gap, nothing twice");
    }
    struct str snap = wait_terminal(&sv, run), types = types_of(events_of(&sv, run));
    cr_expect(str_eqc(text_at(snap, "status"), "completed"));
    cr_expect(str_eqc(text_at(snap, "variables.stage"), "finished"));
    cr_expect_eq(count(types, "node.started:wait"), 1u, STR_FMT, STR_ARG(types));
    cr_expect_eq(count(types, "node.completed:prepare"), 1u);
    cr_expect_not_null(strstr(types.p, "lease.lost lease.acquired workflow.restored run.resumed"),
                       "EVT-32: " STR_FMT, STR_ARG(types));
    expect_clean_database();
}

Test(durability, acknowledged_runs_survive_many_kills /* HTTP-15, EVT-2, IDEM-15 */) {
    enum { ROUNDS = 6, RUNS = 40 };
    const char *ids[ROUNDS * RUNS];
    size_t n = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < RUNS; i++)
            ids[n++] = create_run(&sv, i % 3 == 0 ? "conformance-delay" : "conformance-multi-node",
                                  i % 3 == 0 ? "\"inputs\":{\"delayMs\":30}" : NULL);
        server_kill(&sv);
        server_again(&sv);
    }
    for (size_t i = 0; i < n; i++) {
        struct str snap = wait_terminal(&sv, ids[i]), ev = events_of(&sv, ids[i]);
        struct json_elements l;
        cr_expect(str_eqc(text_at(snap, "status"), "completed"));
        cr_assert_eq(json_elements(ev, test_arena(), &l, NULL), 0);
        for (size_t k = 0; k < l.n; k++) cr_expect_eq(int_at(l.v[k], "sequence"), (int64_t)k);
        struct str types = types_of(ev);
        cr_expect_eq(count(types, "node.completed:a") + count(types, "node.completed:wait"), 1u,
                     STR_FMT, STR_ARG(types));
    }
    expect_clean_database();
}

Test(durability, a_paused_run_stays_paused_over_a_restart /* RUN-17 */) {
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":1000}");
    wait_status(&sv, run, "running");
    cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s:pause", run), "{}", NULL).status, 202);
    wait_status(&sv, run, "paused");
    server_kill(&sv);
    server_again(&sv);
    nap_ms(1200);
    cr_expect(str_eqc(text_at(wait_status(&sv, run, "paused"), "status"), "paused"));
    cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s:resume", run), "{}", NULL).status, 202);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    expect_clean_database();
}

Test(durability, a_graceful_stop_ends_streams_and_the_next_host_goes_on /* STORE-36, SSE-25 */) {
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":1500}");
    wait_status(&sv, run, "running");
    cr_expect_eq(server_stop(&sv), 0);
    server_again(&sv);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    cr_expect_eq(count(types_of(events_of(&sv, run)), "node.started:wait"), 1u);
}

Test(durability, a_host_that_wants_its_file_alone_is_refused_beside_another /* LOCKED */) {
    static const char *const args[] = {"serve",      "--exclusive", "--port", "0",
                                       "--ops-port", "-1",          NULL};
    struct str err;
    cr_expect_eq(program(&sv, args, NULL, &err), 1);
    cr_expect_not_null(strstr(err.p, "wopr:"), STR_FMT, STR_ARG(err));
}

static void overwrite(const char *path, long offset, const char *bytes, size_t n) {
    FILE *f = fopen(path, "r+b");
    cr_assert_not_null(f);
    cr_assert_eq(fseek(f, offset, SEEK_SET), 0);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

Test(durability, a_damaged_file_is_refused_with_a_message /* corrupt file */) {
    struct str err;
    static const char *const args[] = {"serve", "--port", "0", "--ops-port", "-1", NULL};
    wait_terminal(&sv, create_run(&sv, "conformance-noop", NULL));
    cr_assert_eq(server_stop(&sv), 0);
    overwrite(sv.db, 0, "this is no database file", 24);
    cr_expect_eq(program(&sv, args, NULL, &err), 1);
    cr_expect_not_null(strstr(err.p, "w.db"), "the message names the file: " STR_FMT, STR_ARG(err));
}
