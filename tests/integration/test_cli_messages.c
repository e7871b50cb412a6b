/*
 * test_cli_messages.c: what the commands say: usage, what was probably meant, which file or run is
 * wrong; and that text of others is shown, not obeyed.
 */
#include "harness.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct server sv;
static struct str out, err;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(cli_messages, .init = up, .fini = down, .timeout = 300);

#define RUN(...)    program(&sv, (const char *const[]){__VA_ARGS__, NULL}, &out, &err)
#define BARE(...)   program(NULL, (const char *const[]){__VA_ARGS__, NULL}, &out, &err)
#define SAYS(what)  cr_expect_not_null(strstr(err.p, what), "%s in: " STR_FMT, what, STR_ARG(err))
#define SHOWS(what) cr_expect_not_null(strstr(out.p, what), "%s in: " STR_FMT, what, STR_ARG(out))

static const char *write_file(const char *name, const char *text) {
    const char *path = fmt("%s/%s", sv.dir, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

Test(cli_messages, every_command_explains_itself) {
    static const char *const ROWS[][3] = {{"keys", NULL, "usage: wopr keys create"},
                                          {"keys", "create", "--no-expiry"},
                                          {"tokens", NULL, "wopr tokens rotate"},
                                          {"workflow", NULL, "wopr workflow check"},
                                          {"workflow", "put", "--shared"},
                                          {"runs", NULL, "wopr runs list"},
                                          {"runs", "cancel", "--reason"},
                                          {"interrupts", NULL, "wopr interrupts show"},
                                          {"interrupts", "resolve", "--action"},
                                          {"tail", NULL, "usage: wopr tail RUN_ID"},
                                          {"verify", NULL, "usage: wopr verify"},
                                          {"seed", NULL, "usage: wopr seed"},
                                          {"version", NULL, "usage: wopr version"},
                                          {"serve", NULL, "usage: wopr serve"}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const char *verb = ROWS[i][1];
        int rc = verb != NULL ? BARE(ROWS[i][0], verb, "--help") : BARE(ROWS[i][0], "--help");
        cr_expect_eq(rc, 0, "%s: %d", ROWS[i][0], rc);
        SHOWS(ROWS[i][2]);
        cr_expect_eq(err.n, 0u, STR_FMT, STR_ARG(err));
    }
    cr_expect_eq(BARE("runs", "-h"), 0);
    cr_expect_eq(BARE("help", "runs"), 0);
    SHOWS("wopr runs list");
}

Test(cli_messages, slips_are_answered_with_what_was_meant) {
    cr_expect_eq(BARE("serv"), 2);
    SAYS("did you mean serve?");
    cr_expect_eq(BARE("runs", "lsit"), 2);
    SAYS("did you mean list?");
    cr_expect_eq(RUN("runs", "list", "--statsu", "failed"), 2);
    SAYS("did you mean --status?");
    cr_expect_eq(RUN("runs", "list", "--tenat", "x"), 2);
    SAYS("did you mean --tenant?");
    cr_expect_eq(BARE("serve", "--prot=1"), 2);
    SAYS("did you mean --port?");
    cr_expect_eq(RUN("runs", "cancel", "run_x", "--url"), 2);
    SAYS("--url needs a value");
    cr_expect_eq(BARE("frobnicate"), 2);
    cr_expect_null(strstr(err.p, "did you mean"), "nothing is close: " STR_FMT, STR_ARG(err));
}

Test(cli_messages, settings_of_a_file_are_named) {
    const char *path = write_file("c.json", "{\"prot\": 8080}");
    cr_expect_eq(BARE("serve", "--print-config", "--config", path), 2);
    SAYS("\"prot\"");
    SAYS("did you mean port?");
    SAYS(path);
    cr_expect_eq(BARE("serve", "--print-config", "--cors-origins", "http://a.example/path"), 2);
    SAYS("without a path");
    cr_expect_eq(BARE("serve", "--print-config", "--cors-origins", "a.example"), 2);
    cr_expect_eq(BARE("serve", "--print-config", "--cors-origins", "http://a.example,*"), 0);
    cr_expect_eq(BARE("serve", "--print-config", "--port", "99999"), 2);
    cr_expect_null(strstr(err.p, "(at port)"), "said already: " STR_FMT, STR_ARG(err));
}

Test(cli_messages, variables_that_are_nearly_ours_are_warned_about) {
    setenv("WOPR_EGRES", "false", 1);
    setenv("OPENWOP_API_KYE", "x", 1);
    setenv("WOPR_SOMETHING_OF_OTHERS", "x", 1);
    cr_expect_eq(BARE("serve", "--print-config"), 0);
    SAYS("WOPR_EGRES is none of ours; did you mean WOPR_EGRESS?");
    SAYS("did you mean OPENWOP_API_KEY?");
    cr_expect_null(strstr(err.p, "SOMETHING"), STR_FMT, STR_ARG(err));
}

Test(cli_messages, no_rate_is_so_large_that_it_means_none) {
    static const char *const RATES[] = {"--auth-failure-rate", "--key-rate", "--address-burst"};
    for (size_t i = 0; i < sizeof RATES / sizeof *RATES; i++) {
        cr_expect_neq(BARE("serve", RATES[i], "4294967296", "--print-config"), 0, "%s", RATES[i]);
        SAYS("0..1000000000");
    }
}

Test(cli_messages, an_address_of_others_is_no_port_in_use) {
    cr_expect_eq(RUN("serve", "--port", "0", "--ops-port", "-1", "--host", "192.0.2.1"), 1);
    SAYS("192.0.2.1");
    SAYS("an address of this machine");
    cr_expect_null(strstr(err.p, "another process"), STR_FMT, STR_ARG(err));
    const char *port = fmt("%d", sv.port);
    cr_expect_eq(RUN("serve", "--port", port, "--ops-port", "-1"), 1);
    SAYS("another process");
}

Test(cli_messages, a_bad_tls_file_is_named) {
    const char *cert = write_file("c.pem", "no certificate"), *key = write_file("k.pem", "no key");
    cr_expect_eq(
        RUN("serve", "--port", "0", "--ops-port", "-1", "--tls-cert", cert, "--tls-key", key), 1);
    SAYS(cert);
    cr_expect_eq(RUN("serve", "--port", "0", "--ops-port", "-1", "--tls-cert", cert, "--tls-key",
                     "/no/such/file"),
                 1);
    SAYS("/no/such/file");
}

Test(cli_messages, databases_and_runs_are_named) {
    const char *none = fmt("%s/none.db", sv.dir);
    static const char *const READERS[][3] = {{"runs", "list", NULL},
                                             {"keys", "list", NULL},
                                             {"tail", "run_1", NULL},
                                             {"interrupts", "list", NULL},
                                             {"verify", NULL, NULL}};
    for (size_t i = 0; i < sizeof READERS / sizeof *READERS; i++) {
        const char *a = READERS[i][0], *b = READERS[i][1];
        cr_expect_eq(b != NULL ? BARE(a, b, "--db", none) : BARE(a, "--db", none), 1);
        SAYS(none);
        SAYS("wopr serve");
    }
    const char *const LOOKS[] = {"show", "events"};
    for (size_t i = 0; i < 2; i++) {
        cr_expect_eq(RUN("runs", LOOKS[i], "no-such-run"), 1);
        SAYS("no-such-run");
        SAYS(sv.db);
    }
    cr_expect_eq(RUN("tail", "no-such-run"), 1);
    SAYS("no-such-run");
    SAYS(sv.db);
    const char *junk = write_file("junk.db", "this is not a database, only a text of some length");
    cr_expect_eq(BARE("verify", "--db", junk), 1);
    SAYS(junk);
    cr_expect_null(strstr(err.p, "wopr verify"), "that is what was just run: " STR_FMT,
                   STR_ARG(err));
}

Test(cli_messages, a_test_run_is_found_by_its_id_alone) {
    const char *run = create_run(&sv, "conformance-noop", NULL);
    wait_terminal(&sv, run);
    cr_expect_eq(RUN("runs", "show", run), 0, STR_FMT, STR_ARG(err));
    cr_expect_eq(RUN("runs", "events", run), 0, STR_FMT, STR_ARG(err));
    cr_expect_eq(RUN("tail", run), 0, STR_FMT, STR_ARG(err));
    cr_expect_eq(RUN("interrupts", "show", run), 1);
    SAYS("nothing was ever asked");
    cr_expect_eq(RUN("runs", "list"), 0);
    const char *row = strstr(out.p, run);
    cr_assert_not_null(row);
    cr_expect_not_null(strstr(row, " test\n"), STR_FMT, STR_ARG(out));
    cr_expect_eq(RUN("runs", "list", "--json"), 0);
    SHOWS("\"test\":true");
}

static void expect_harmless(void) {
    for (size_t k = 0; k < out.n; k++) {
        unsigned char ch = (unsigned char)out.p[k];
        cr_expect(ch == '\n' || (ch >= 0x20 && ch != 0x7f), "byte %02x", ch);
        cr_expect(ch != 0xc2 || (unsigned char)out.p[k + 1] >= 0xa0, "a C1 control");
    }
    cr_expect_null(strstr(out.p, "\xe2\x80\xae"));
}

/* Everything the commands print of this run; text: must be in the first two, the events. */
static void expect_shown(const char *run, const char *text) {
    cr_assert_eq(RUN("tail", run), 0);
    SHOWS(text);
    expect_harmless();
    cr_assert_eq(RUN("runs", "events", run), 0);
    SHOWS(text);
    expect_harmless();
    cr_assert_eq(RUN("runs", "show", run), 0);
    expect_harmless();
    cr_assert_eq(RUN("tail", run, "--json"), 0);
    expect_harmless();
}

Test(cli_messages, text_of_others_does_not_drive_the_terminal) {
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":20000}");
    wait_status(&sv, run, "running");
    struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run),
                         "{\"reason\":\"\xc2\x9b"
                         "2J\x7f \xe2\x80\xae end\\u001b]0;x\\r\"}",
                         NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    wait_terminal(&sv, run);
    expect_shown(run, "\\u009b2J\\u007f \\u202e end");
    run = create_run(&sv, "conformance-stream-text",
                     "\"configurable\":{\"mockProvider\":{\"id\":\"error\",\"config\":{\"message\":"
                     "\"\\u001b]0;owned\\u0007\\r   9.000s = run.completed\"}}}");
    wait_terminal(&sv, run);
    expect_shown(run, "\\u001b]0;owned\\u0007");
    cr_expect_eq(RUN("tail", "x\x1b[2J"), 1);
    cr_expect_null(strchr(err.p, '\x1b'), STR_FMT, STR_ARG(err));
}

Test(cli_messages, workflow_check_tells_everything_at_once) {
    const char *path = write_file(
        "typo.json",
        "{\"id\":\"t\",\"name\":\"T\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\",\"typeId\":"
        "\"core.setVariable\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},\"config\":{\"vaule\":"
        "1},"
        "\"inputs\":{},\"settings\":{\"maxRetry\":3}}],\"edges\":[],\"triggers\":[],\"variables\":["
        "],"
        "\"metadata\":{},\"settings\":{}}");
    cr_expect_eq(BARE("workflow", "check", path), 1);
    SAYS("/nodes/0/config/vaule = 1: ");
    SAYS("did you mean value?");
    SAYS("\"name\" is needed here or as an input");
    SAYS("did you mean maxRetries?");
    cr_expect_eq(RUN("workflow", "put", path), 1, "it cannot work");
    cr_expect_eq(RUN("workflow", "get", "t"), 1, "nothing was stored");
    cr_expect_eq(RUN("workflow", "put", path, "--force"), 0, "the contract accepts it");
    SAYS("\"name\" is needed here or as an input");
    const char *const good = WOPR_SOURCE_DIR "/docs/examples/purchase.json";
    cr_expect_eq(BARE("workflow", "check", good), 0, STR_FMT, STR_ARG(err));
    cr_expect_eq(err.n, 0u, STR_FMT, STR_ARG(err));
}
