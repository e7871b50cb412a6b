/*
 * test_hardening.c: what other users of the machine, and browsers, get to see of a host.
 */
#include "harness.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(hardening, .init = up, .fini = down, .timeout = 300);

static const char *proc_text(const char *name) {
    static char text[8192];
    FILE *f = fopen(fmt("/proc/%ld/%s", (long)sv.pid, name), "r");
    cr_assert_not_null(f, "%s", name);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    return text;
}

/* The soft limit, as text. */
static const char *core_limit(void) {
    const char *row = strstr(proc_text("limits"), "Max core file size");
    cr_assert_not_null(row);
    row += strlen("Max core file size");
    row += strspn(row, " ");
    return fmt("%.*s", (int)strcspn(row, " "), row);
}

static uid_t owner(void) {
    struct stat st;
    cr_assert_eq(stat(fmt("/proc/%ld/environ", (long)sv.pid), &st), 0);
    return st.st_uid;
}

Test(hardening, a_host_leaves_no_core_and_takes_no_debugger) {
    static const char *const open_args[] = {"--core-dumps", NULL};
    cr_expect_str_eq(core_limit(), "0");
    cr_expect_eq(owner(), 0, "the kernel keeps its memory and environment from its own user");
    cr_assert_eq(server_stop(&sv), 0);
    sv.args = open_args;
    server_again(&sv);
    cr_expect_eq(owner(), geteuid(), "unless it is asked for");
}

Test(hardening, operators_answers_keep_their_content_type_too) {
    struct server ops = sv;
    snprintf(ops.base, sizeof ops.base, "http://127.0.0.1:%d", sv.ops_port);
    static const char *const PATHS[] = {"/healthz", "/readyz", "/metrics", "/none"};
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
        struct reply r = ask(&ops, "GET", PATHS[i], NULL, NULL);
        cr_expect(str_eqc(header(&r, "X-Content-Type-Options"), "nosniff"), "%s", PATHS[i]);
    }
}

Test(hardening, a_strangers_host_header_reaches_no_stored_answer) {
    const char *const h[] = {"Host: evil.example", "Idempotency-Key: k1", NULL};
    const char *const again[] = {"Idempotency-Key: k1", NULL};
    const char *body = "{\"workflowId\":\"conformance-noop\"}";
    struct reply r = ask(&sv, "POST", "/v1/runs", body, h);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    cr_expect_null(strstr(r.body.p, "evil.example"), STR_FMT, STR_ARG(r.body));
    cr_expect(str_starts(text_at(r.body, "eventsUrl"), str_c(sv.base)), STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "POST", "/v1/runs", body, again);
    cr_expect_null(strstr(r.body.p, "evil.example"), STR_FMT, STR_ARG(r.body));
}
