/*
 * test_bundle.c: the debug bundle of runs in every state: its shape, its cap, what it may not hold,
 * and that the command gives what the route gives (DBG-1 to DBG-11, RUN-46, CAP-44, CON-38).
 */
#include "codec/schema.h"
#include "harness.h"

#include <stdio.h>

#define CAP    65536
#define CANARY "cred_CANARY-0123456789abcdef"

static struct server sv;
static const struct schema *shape;
static struct schema_set *set;

static struct str file_read(const char *path) {
    struct buf b;
    char part[4096];
    FILE *f = fopen(path, "r");
    cr_assert_not_null(f, "%s", path);
    buf_init(&b, 1u << 20);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_add(&b, part, n);
    fclose(f);
    struct str text = arena_str(test_arena(), buf_str(&b));
    buf_fini(&b);
    return text;
}

static void up(void) {
    struct wopr_error err = {0};
    server_start(&sv, NULL);
    set = schema_set_new(true);
    struct str text = file_read(WOPR_SOURCE_DIR "/api/schemas/debug-bundle.schema.json");
    cr_assert_eq(schema_set_add(set, STR("bundle"), text, &err), 0, "%s", err.message);
    cr_assert_eq(schema_compile(set, STR("bundle"), &shape, &err), 0, "%s", err.message);
}
static void down(void) {
    schema_set_free(set);
    server_end(&sv);
}
TestSuite(bundle, .init = up, .fini = down, .timeout = 300);

static void restart_with(const char *const *args) {
    cr_assert_eq(server_stop(&sv), 0);
    sv.args = args;
    server_again(&sv);
}

static void expect_shape(struct str body) {
    struct schema_issue issue = {{0}, {0}, {0}};
    struct wopr_error err = {0};
    cr_assert_eq(json_check(body, &JSON_LIMITS_STORED, &err), 0, "%s: " STR_FMT, err.message,
                 STR_ARG(body));
    cr_expect_eq(schema_validate_text(shape, body, &issue), 0, "%s at %s: " STR_FMT, issue.reason,
                 issue.instance, STR_ARG(body));
}

static struct str bundle_of(const char *run) {
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s/debug-bundle", run), NULL, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(header(&r, "Cache-Control"), "no-store"));
    expect_shape(r.body);
    return r.body;
}

static void expect_text(struct str json, const char *path, const char *want) {
    struct str is = text_at(json, path);
    cr_expect(str_eqc(is, want), "%s is " STR_FMT ", not %s", path, STR_ARG(is), want);
}

/* The events are those of the poll, byte for byte, and counted (DBG-5, DBG-6). */
static void expect_whole(struct str bundle, const char *run) {
    struct str events = at(bundle, "events"), polled = events_of(&sv, run);
    cr_expect(str_eq(events, polled), STR_FMT "\nis not\n" STR_FMT, STR_ARG(events),
              STR_ARG(polled));
    cr_expect_eq(int_at(bundle, "metrics.eventCount"), (int64_t)elements_of(events).n);
    cr_expect(str_eqc(at(bundle, "truncated"), "false"));
    cr_expect_null(at(bundle, "truncatedReason").p);
}

static bool holds(struct str text, const char *what) {
    struct str w = str_c(what);
    for (size_t i = 0; i + w.n <= text.n; i++)
        if (memcmp(text.p + i, w.p, w.n) == 0) return true;
    return false;
}

Test(bundle, tells_of_a_completed_run_what_the_other_routes_tell /* DBG-2 DBG-4 CAP-11 */) {
    const char *run = create_run(&sv, "conformance-noop", NULL);
    struct str snapshot = wait_terminal(&sv, run), b = bundle_of(run);
    struct str found = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL).body;
    cr_expect(str_eqc(at(found, "debugBundle.supported"), "true"));
    struct str host = at(b, "host"), self = at(found, "implementation");
    cr_expect(str_eq(host, self), STR_FMT " is not " STR_FMT, STR_ARG(host), STR_ARG(self));
    expect_text(b, "bundleVersion", "1.0");
    expect_text(b, "run.runId", run);
    expect_text(b, "run.status", "completed");
    expect_text(b, "runStatus", "completed");
    expect_text(b, "redactionMode", "mask");
    cr_expect(str_eqc(at(b, "redactionApplied"), "true"));
    cr_expect(str_eq(at(b, "run.endedAt"), at(snapshot, "completedAt")));
    cr_expect(str_eq(at(b, "run.nodeStates"), at(snapshot, "nodeStates")));
    cr_expect(str_eqc(at(b, "run.error"), "null"));
    cr_expect_eq(int_at(b, "metrics.nodeCount"), 1);
    cr_expect(str_eqc(at(b, "spans"), "[]"));
    expect_whole(b, run);
}

Test(bundle, spells_every_status_as_its_schema_does /* DBG-3 CX-36 */) {
    static const struct {
        const char *workflow, *is, *shown;
    } ROWS[] = {
        {"conformance-approval", "waiting-approval", "waiting-approval"},
        {"conformance-clarification", "waiting-input", "waiting-clarification"},
        {"conformance-interrupt-external-event", "waiting-external", "waiting-clarification"},
        {"conformance-failure", "failed", "failed"}};
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        const char *run = create_run(&sv, ROWS[i].workflow, NULL);
        (void)wait_status(&sv, run, ROWS[i].is);
        struct str b = bundle_of(run);
        expect_text(b, "runStatus", ROWS[i].is);
        expect_text(b, "run.status", ROWS[i].shown);
        expect_whole(b, run);
        cr_expect_eq(at(b, "run.error.code").p != NULL, strcmp(ROWS[i].is, "failed") == 0);
        cr_expect_not(holds(b, "interruptToken"));
    }
    const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":60000}");
    struct reply r =
        ask(&sv, "POST", fmt("/v1/runs/%s:pause", run), "{\"drainPolicy\":\"immediate\"}", NULL);
    cr_assert_eq(r.status / 100, 2, STR_FMT, STR_ARG(r.body));
    (void)wait_status(&sv, run, "paused");
    expect_text(bundle_of(run), "run.status", "running");
    expect_text(bundle_of(run), "runStatus", "paused");
    (void)ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run), "{}", NULL);
    (void)wait_status(&sv, run, "cancelled");
    expect_text(bundle_of(run), "run.status", "cancelled");
}

Test(bundle, of_a_fork_holds_the_log_that_the_fork_shows /* DBG-5 FORK-9 */) {
    const char *run = create_run(&sv, "conformance-multi-node", NULL);
    (void)wait_terminal(&sv, run);
    const char *fork = fork_run(&sv, run, "replay", 4);
    (void)wait_terminal(&sv, fork);
    expect_whole(bundle_of(fork), fork);
}

Test(bundle, hides_what_is_shaped_like_a_credential /* DBG-9 OBS-75 CON-38 */) {
    static const char BODY[] = "\"inputs\":{\"userField\":\"" CANARY "\"},"
                               "\"configurable\":{\"ai\":{\"credentialRef\":\"" CANARY "\"}},"
                               "\"metadata\":{\"note\":\"" CANARY "\"}";
    const char *run = create_run(&sv, "conformance-noop", BODY);
    (void)wait_terminal(&sv, run);
    cr_expect_not(holds(bundle_of(run), "CANARY"));
}

Test(bundle, is_nobody_elses /* DBG-10 AUTH-6 */) {
    const char *run = create_run(&sv, "conformance-noop", NULL);
    const char *path = fmt("/v1/runs/%s/debug-bundle", run);
    static const char *const NO_AUTH[] = {"Authorization:", NULL};
    const char *const other[] = {"keys",     "create",    "--tenant",    "other",
                                 "--scopes", "runs:read", "--no-expiry", NULL};
    struct str out, err;
    struct reply r = ask(&sv, "GET", path, NULL, NO_AUTH);
    expect_error(&r, 401, "unauthenticated");
    cr_assert_eq(program(&sv, other, &out, &err), 0, STR_FMT, STR_ARG(err));
    size_t end = 0;
    while (end < out.n && out.p[end] != '\n' && out.p[end] != ' ') end++;
    const char *const theirs[] = {fmt("Authorization: Bearer %.*s", (int)end, out.p), NULL};
    r = ask(&sv, "GET", path, NULL, theirs);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "GET", "/v1/runs/no-such-run/debug-bundle", NULL, NULL);
    expect_error(&r, 404, "not_found");
}

Test(bundle, keeps_the_longest_prefix_of_events_that_fits /* DBG-11 */) {
    static const char *const ARGS[] = {"--debug-bundle-bytes", "65536", NULL};
    restart_with(ARGS);
    char *big = arena_alloc(test_arena(), 9001);
    memset(big, 'x', 9000), big[9000] = '\0';
    const char *run = create_run(&sv, "conformance-delay", "\"inputs\":{\"delayMs\":600000}");
    (void)wait_status(&sv, run, "running");
    for (unsigned i = 0; i < 10; i++) { /* paused and resumed: two events each, with a reason */
        (void)ask(&sv, "POST", fmt("/v1/runs/%s:pause", run),
                  fmt("{\"reason\":\"%.4000s\",\"drainPolicy\":\"immediate\"}", big), NULL);
        (void)wait_status(&sv, run, "paused");
        (void)ask(&sv, "POST", fmt("/v1/runs/%s:resume", run), fmt("{\"reason\":\"%.4000s\"}", big),
                  NULL);
        (void)wait_status(&sv, run, "running");
    }
    struct str b = bundle_of(run);
    struct json_elements kept = elements_of(at(b, "events")),
                         all = elements_of(events_of(&sv, run));
    cr_expect_leq(b.n, (size_t)CAP);
    cr_assert_lt(kept.n, all.n);
    cr_expect_gt(b.n + all.v[kept.n].n + 512, (size_t)CAP, "one more would have fitted");
    for (size_t i = 0; i < kept.n; i++) cr_expect(str_eq(kept.v[i], all.v[i]), "event %zu", i);
    cr_expect_eq(int_at(b, "metrics.eventCount"), (int64_t)kept.n);
    cr_expect(str_eqc(at(b, "truncated"), "true"));
    expect_text(b, "truncatedReason", "events_truncated_to_size_cap");
}

Test(bundle, leaves_a_state_out_that_would_fill_it /* DBG-11 */) {
    static const char *const ARGS[] = {"--debug-bundle-bytes", "65536", NULL};
    restart_with(ARGS);
    struct buf more;
    buf_init(&more, CAP);
    buf_addz(&more, "\"inputs\":{\"payload\":{\"t\":\"");
    while (more.len < 50000) buf_addc(&more, 'x');
    buf_addz(&more, "\"}}");
    const char *run = create_run(&sv, "conformance-identity", more.p);
    buf_fini(&more);
    (void)wait_terminal(&sv, run);
    struct str b = bundle_of(run);
    cr_expect_leq(b.n, (size_t)CAP);
    cr_expect_null(at(b, "run.variables").p);
    cr_expect_null(at(b, "run.inputs").p);
    cr_expect(str_eqc(at(b, "truncated"), "true"));
}

Test(bundle, is_not_there_when_the_host_gives_none /* DBG-1 RUN-46 */) {
    static const char *const ARGS[] = {"--debug-bundle-bytes", "0", NULL};
    const char *run = create_run(&sv, "conformance-noop", NULL);
    (void)wait_terminal(&sv, run);
    restart_with(ARGS);
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s/debug-bundle", run), NULL, NULL);
    expect_error(&r, 404, "not_found");
    struct str found = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL).body;
    cr_expect_null(at(found, "debugBundle").p);
}

/* From generatedAt's value on both texts are equal. */
static struct str without_time(struct str b) {
    const size_t at_most = 64;
    size_t i = 0;
    while (i < b.n && i < at_most && b.p[i] != 'Z') i++;
    while (b.n > 0 && b.p[b.n - 1] == '\n') b.n--;
    return str_n(b.p + i, b.n - i);
}

Test(bundle, is_printed_by_the_command_from_the_file_and_from_a_host /* DBG-1 */) {
    const char *run = create_run(&sv, "conformance-multi-node", NULL);
    (void)wait_terminal(&sv, run);
    const char *const file[] = {"bundle", run, NULL};
    const char *const remote[] = {"bundle", run, "--url", sv.base, NULL};
    const char *const missing[] = {"bundle", "no-such-run", NULL};
    struct str served = without_time(bundle_of(run)), out, err;
    cr_assert_eq(program(&sv, file, &out, &err), 0, STR_FMT, STR_ARG(err));
    cr_expect(str_eq(without_time(out), served), STR_FMT, STR_ARG(out));
    sv.client_key = sv.key;
    cr_assert_eq(program(&sv, remote, &out, &err), 0, STR_FMT, STR_ARG(err));
    cr_expect(str_eq(without_time(out), served), STR_FMT, STR_ARG(out));
    cr_expect_eq(program(&sv, missing, &out, &err), 1);
    cr_expect(holds(err, "no-such-run") || holds(err, "no such run"), STR_FMT, STR_ARG(err));
}
