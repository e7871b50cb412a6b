/*
 * test_cli_host.c: the operator's view of runs and interrupts: commands that ask a running host,
 * and their counterparts on the file (INT-47).
 */
#include "interrupt_kit.h"

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(cli_host, .init = up, .fini = down, .timeout = 300);

static struct str out, err;

#define OPERATE(...) program_on(&sv, NULL, (const char *const[]){__VA_ARGS__, NULL}, &out, &err)
#define ON_FILE(...) program(&sv, (const char *const[]){__VA_ARGS__, NULL}, &out, &err)

Test(cli_host, runs_are_paused_resumed_and_cancelled) {
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":20000}");
    wait_status(&sv, run, "running");
    cr_assert_eq(OPERATE("runs", "pause", run, "--reason", "lunch"), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "paused"), STR_FMT, STR_ARG(out));
    wait_status(&sv, run, "paused");
    cr_expect_not_null(strstr(events_of(&sv, run).p, "\"reason\":\"lunch\""));
    cr_expect_eq(OPERATE("runs", "pause", run), 1, "a second time");
    cr_expect_not_null(strstr(err.p, "conflict"), STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(err.p, "runStatus"), "with the details: " STR_FMT, STR_ARG(err));
    cr_assert_eq(OPERATE("runs", "resume", run, "--json"), 0, STR_FMT, STR_ARG(err));
    cr_expect(str_eqc(text_at(str_trim(str_n(out.p, out.n - 1)), "status"), "running"));
    cr_assert_eq(OPERATE("runs", "cancel", run, "--reason", "enough"), 0, STR_FMT, STR_ARG(err));
    wait_status(&sv, run, "cancelled");
    cr_assert_eq(ON_FILE("runs", "events", run, "--test"), 0, STR_FMT, STR_ARG(err));
    struct str rest = out, line;
    int64_t n = 0;
    while (str_cut(rest, '\n', &line, &rest)) cr_expect_eq(int_at(line, "sequence"), n++);
    cr_expect_geq(n, 5);
    cr_assert_eq(ON_FILE("runs", "events", run, "--test", "--from", "2"), 0);
    cr_expect_eq(int_at(str_n(out.p, (size_t)(strchr(out.p, '\n') - out.p)), "sequence"), 2);
    cr_assert_eq(ON_FILE("runs", "list", "--json", "--status", "cancelled"), 0);
    cr_expect(str_eqc(text_at(str_n(out.p, out.n - 1), "runId"), run), STR_FMT, STR_ARG(out));
}

Test(cli_host, interrupts_are_listed_shown_and_resolved) {
    const char *run = approval(&sv);
    cr_assert_eq(ON_FILE("interrupts", "list", "--json"), 0, STR_FMT, STR_ARG(err));
    struct str row = str_n(out.p, out.n - 1);
    cr_expect(str_eqc(text_at(row, "runId"), run) && str_eqc(text_at(row, "nodeId"), "gate"));
    cr_expect(str_eqc(text_at(row, "state"), "pending"));
    cr_expect(int_at(row, "ageMs") >= 0);
    cr_assert_eq(ON_FILE("interrupts", "list"), 0);
    cr_expect_not_null(strstr(out.p, run));
    cr_assert_eq(ON_FILE("interrupts", "list", "--kind", "clarification", "--json"), 0);
    cr_expect_eq(out.n, 0u, STR_FMT, STR_ARG(out));
    cr_assert_eq(ON_FILE("interrupts", "list", "--run", run, "--json"), 0);
    cr_expect_gt(out.n, 0u);
    cr_assert_eq(ON_FILE("interrupts", "show", run, "--test"), 0, STR_FMT, STR_ARG(err));
    row = str_n(out.p, out.n - 1);
    cr_expect(str_eqc(text_at(row, "payload.kind"), "approval"));
    cr_expect_null(strstr(out.p, "ow2."), "never a token");
    cr_expect_eq(OPERATE("interrupts", "resolve", run, "gate", "--action", "maybe"), 1);
    cr_expect_not_null(strstr(err.p, "validation_error"), STR_FMT, STR_ARG(err));
    cr_assert_eq(
        OPERATE("interrupts", "resolve", run, "gate", "--action", "accept", "--comment", "fine"), 0,
        STR_FMT, STR_ARG(err));
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    cr_expect_eq(OPERATE("interrupts", "resolve", run, "gate", "--action", "accept"), 1);
    cr_expect_not_null(strstr(err.p, "interrupt_already_resolved"), STR_FMT, STR_ARG(err));
    cr_assert_eq(ON_FILE("interrupts", "show", run, "gate", "--test"), 0);
    row = str_n(out.p, out.n - 1);
    cr_expect(str_eqc(text_at(row, "state"), "resumed"), STR_FMT, STR_ARG(row));
    cr_expect(text_at(row, "resolvedBy").n > 0);
    run = waiting(&sv, "conformance-clarification", "waiting-input", NULL);
    cr_assert_eq(OPERATE("interrupts", "resolve", run, "ask", "--value",
                         "{\"answers\":{\"q1\":\"blue\"}}", "--json"),
                 0, STR_FMT, STR_ARG(err));
    cr_expect(str_eqc(text_at(str_n(out.p, out.n - 1), "nodeId"), "ask"));
    wait_terminal(&sv, run);
}

Test(cli_host, wrong_use_and_unreachable_hosts_are_told_apart) {
    cr_expect_eq(OPERATE("interrupts", "resolve", "r", "n"), 2);
    cr_expect_not_null(strstr(err.p, "--action"));
    cr_expect_eq(OPERATE("interrupts", "resolve", "r", "n", "--value", "{"), 2);
    cr_expect_eq(OPERATE("interrupts", "resolve", "r"), 2);
    cr_expect_eq(OPERATE("interrupts", "list", "--kind", "nonsense"), 2);
    cr_expect_eq(OPERATE("interrupts", "list", "--limit", "0"), 2);
    cr_expect_eq(OPERATE("runs", "cancel"), 2);
    cr_expect_eq(OPERATE("tokens", "revoke"), 2);
    cr_expect_eq(OPERATE("runs", "cancel", "no-such-run"), 1);
    cr_expect_not_null(strstr(err.p, "404"), STR_FMT, STR_ARG(err));
    cr_expect_eq(ON_FILE("interrupts", "show", "no-such-run"), 1);
    cr_expect_eq(ON_FILE("runs", "cancel", "x", "--url", sv.base), 2, "no key");
    cr_expect_not_null(strstr(err.p, "--api-key-file"), STR_FMT, STR_ARG(err));
    sv.client_key = sv.key;
    cr_expect_eq(ON_FILE("runs", "cancel", "x", "--url", "http://127.0.0.1:1"), 1);
    cr_expect_not_null(strstr(err.p, "http://127.0.0.1:1"), STR_FMT, STR_ARG(err));
    cr_expect_null(strstr(err.p, sv.key), "the key is never printed");
    static const char *const LISTS[][2] = {
        {"runs", "list"}, {"interrupts", "list"}, {"tasks", "list"}, {"webhooks", "list"}};
    for (size_t i = 0; i < sizeof LISTS / sizeof *LISTS; i++) {
        cr_expect_eq(ON_FILE(LISTS[i][0], LISTS[i][1], "--url", "http://127.0.0.1:1"), 1);
        cr_expect_eq(out.n, 0u, "no head over a list that is not there: " STR_FMT, STR_ARG(out));
    }
    cr_expect_eq(ON_FILE("runs", "cancel", "x", "--url", "gopher://x"), 1);
    cr_expect_eq(ON_FILE("runs", "cancel", "../../v1/runs", "--url", sv.base), 1,
                 "an id is one segment of the path");
    cr_expect_not_null(strstr(err.p, "404"), STR_FMT, STR_ARG(err));
}

/* The file and the host show the same; the host needs no file. */
Test(cli_host, lists_and_runs_are_shown_over_an_address_too) {
    const char *run = create_run(&sv, "conformance-noop", "\"inputs\":{},\"tags\":[\"far\"]");
    struct str file_events, line, rest;
    wait_terminal(&sv, run);
    cr_assert_eq(ON_FILE("runs", "events", run), 0, STR_FMT, STR_ARG(err));
    file_events = out;
    cr_assert_eq(OPERATE("runs", "events", run), 0, STR_FMT, STR_ARG(err));
    cr_expect(str_eq(out, file_events), STR_FMT "\nbut the file " STR_FMT, STR_ARG(out),
              STR_ARG(file_events));
    cr_assert_eq(OPERATE("runs", "events", run, "--from", "1"), 0, STR_FMT, STR_ARG(err));
    (void)str_cut(file_events, '\n', &line, &rest);
    cr_expect(str_eq(out, rest), STR_FMT, STR_ARG(out));
    cr_assert_eq(OPERATE("runs", "show", run), 0, STR_FMT, STR_ARG(err));
    cr_expect(str_eqc(text_at(str_n(out.p, out.n - 1), "status"), "completed"));
    cr_assert_eq(OPERATE("tail", run), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "run.completed"), STR_FMT, STR_ARG(out));
    for (int i = 0; i < 2; i++)
        wait_terminal(&sv, create_run(&sv, "conformance-noop", "\"tags\":[\"far\"]"));
    cr_assert_eq(OPERATE("runs", "list", "--tag", "far", "--json", "--limit", "2"), 0, STR_FMT,
                 STR_ARG(err));
    rest = out;
    size_t n = 0;
    while (str_cut(rest, '\n', &line, &rest)) n += text_at(line, "runId").n > 0;
    cr_expect_eq(n, 2u, STR_FMT, STR_ARG(out));
    cr_assert_eq(OPERATE("runs", "list", "--tag", "far"), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, run), STR_FMT, STR_ARG(out));
    cr_assert_eq(OPERATE("runs", "list", "--tag", "none"), 0, STR_FMT, STR_ARG(err));
    cr_expect_null(strstr(out.p, "run_"), STR_FMT, STR_ARG(out));
    run = approval(&sv);
    cr_assert_eq(OPERATE("interrupts", "list", "--kind", "approval"), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, run), STR_FMT, STR_ARG(out));
    cr_expect_eq(OPERATE("interrupts", "show", run), 2, "not from the file of another host");
    cr_expect_eq(OPERATE("runs", "show", "no-such-run"), 1);
    cr_expect_not_null(strstr(err.p, "404"), STR_FMT, STR_ARG(err));
}

Test(cli_host, nodes_lists_what_a_host_and_its_workers_serve) {
    struct reply r = ask(&sv, "POST", "/v1/host/wopr/worker-types",
                         "{\"typeId\":\"acme.cut\",\"outputSchema\":{\"type\":\"object\"}}", NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_assert_eq(OPERATE("nodes"), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "core.delay "));
    cr_expect_not_null(strstr(out.p, "acme.cut "), STR_FMT, STR_ARG(out));
    cr_assert_eq(OPERATE("nodes", "acme.cut"), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "output (JSON Schema)"), STR_FMT, STR_ARG(out));
    cr_assert_eq(OPERATE("nodes", "core.delay"), 0, STR_FMT, STR_ARG(err));
    struct str remote = out;
    cr_assert_eq(program(NULL, (const char *const[]){"nodes", "core.delay", NULL}, &out, &err), 0);
    cr_expect(str_eq(out, remote), STR_FMT "\nbut " STR_FMT, STR_ARG(remote), STR_ARG(out));
    cr_expect_eq(OPERATE("nodes", "acme.cot"), 1);
    cr_expect_not_null(strstr(err.p, "did you mean acme.cut?"), STR_FMT, STR_ARG(err));
}

/* A type that this program does not have is a mistake only if nobody else can have it. */
Test(cli_host, check_without_a_host_knows_that_workers_may_have_a_type /* WRK-4 */) {
    static const char *const CHECK[] = {
        "workflow", "check", WOPR_SOURCE_DIR "/clients/python/examples/quote.json", NULL};
    cr_expect_eq(program(NULL, CHECK, &out, &err), 0, STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(err.p, "warning at /nodes/0/typeId = \"acme.price\""), STR_FMT,
                       STR_ARG(err));
    cr_expect_not_null(strstr(err.p, "--url"), "the remedy: " STR_FMT, STR_ARG(err));
    cr_expect_not_null(strstr(out.p, "ok, quote version"), STR_FMT, STR_ARG(out));
    cr_expect_eq(program_on(&sv, NULL, CHECK, &out, &err), 1,
                 "the host was asked, and no worker is there");
    cr_expect_not_null(strstr(err.p, "no worker has registered it"), STR_FMT, STR_ARG(err));
    cr_expect_eq(ON_FILE("workflow", "put", CHECK[2]), 1, "the file knows its workers");
    cr_expect_not_null(strstr(err.p, "no worker has registered it"), STR_FMT, STR_ARG(err));
    struct reply r =
        ask(&sv, "POST", "/v1/host/wopr/worker-types", "{\"typeId\":\"acme.price\"}", NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect_eq(program_on(&sv, NULL, CHECK, &out, &err), 0, STR_FMT, STR_ARG(err));
    cr_expect_eq(err.n, 0u, STR_FMT, STR_ARG(err));
    cr_expect_eq(ON_FILE("workflow", "put", CHECK[2]), 0, STR_FMT, STR_ARG(err));
}
