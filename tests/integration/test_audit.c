/*
 * test_audit.c: the audit log of a live host: what is in it, what is not, and that it is whole
 * after kills and from several hosts (AUD-1 to AUD-11, AUTH-13).
 */
#include "harness.h"

#include <stdio.h>

static struct server sv;
static const char *const AUDITED[] = {"--audit-log", "all", "--audit-checkpoint-entries", "5",
                                      NULL};
static void up(void) { server_start(&sv, AUDITED); }
static void down(void) { server_end(&sv); }
TestSuite(audit, .init = up, .fini = down, .timeout = 300);

static bool holds(struct str text, const char *what) {
    struct str w = str_c(what);
    for (size_t i = 0; i + w.n <= text.n; i++)
        if (memcmp(text.p + i, w.p, w.n) == 0) return true;
    return false;
}

static struct str report(const char *query) {
    struct reply r = ask(&sv, "GET", fmt("/v1/audit/verify%s", query), NULL, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    return r.body;
}

/* Reads it all with the command, which asks no host. */
static int verified(struct str *out) {
    static const char *const ARGS[] = {"verify", "--audit", NULL};
    struct str err;
    return program(&sv, ARGS, out, &err);
}

/* All entries, one a line, out of the file. */
static struct str entries(void) {
    const char *const args[] = {"audit", NULL};
    struct str out, err;
    cr_assert_eq(program(&sv, args, &out, &err), 0, STR_FMT, STR_ARG(err));
    return out;
}

static size_t lines_with(struct str text, const char *a, const char *b) {
    struct str line, rest = text;
    size_t n = 0;
    while (str_cut(rest, '\n', &line, &rest)) n += holds(line, a) && holds(line, b);
    return n;
}

/* All of them, as soon as n hold both texts: those about requests come a moment after the
 * answer. */
static struct str entries_until(size_t n, const char *a, const char *b) {
    struct str all = entries();
    for (int64_t end = now_ms() + WAIT_MS; lines_with(all, a, b) < n && now_ms() < end; nap_ms(20))
        all = entries();
    cr_assert_geq(lines_with(all, a, b), n, "%s, %s: " STR_FMT, a, b, STR_ARG(all));
    return all;
}

Test(audit, says_who_did_what /* AUD-3 AUTH-13 */) {
    const char *run = create_run(&sv, "conformance-approval", NULL);
    (void)wait_status(&sv, run, "waiting-approval");
    struct reply r =
        ask(&sv, "POST", fmt("/v1/runs/%s/approvals/gate", run), "{\"action\":\"accept\"}", NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    (void)wait_terminal(&sv, run);
    const char *fork = fork_run(&sv, run, "branch", 2);
    (void)wait_status(&sv, fork, "waiting-approval");
    (void)ask(&sv, "POST", fmt("/v1/runs/%s/cancel", fork), "{}", NULL);
    (void)wait_status(&sv, fork, "cancelled");
    struct str all = entries_until(4, "http.request", "\"method\":\"POST\"");
    cr_expect_eq(lines_with(all, "\"type\":\"run.created\"", run), 1u, STR_FMT, STR_ARG(all));
    cr_expect_eq(lines_with(all, "\"type\":\"interrupt.resolved\"", run), 1u);
    cr_expect_eq(lines_with(all, "\"type\":\"run.forked\"", fork), 1u);
    cr_expect_eq(lines_with(all, "\"type\":\"run.cancelled\"", fork), 1u);
    cr_expect_eq(lines_with(all, "\"type\":\"http.request\"", "\"method\":\"POST\""), 4u);
    cr_expect_gt(lines_with(all, "\"type\":\"http.request\"", "\"method\":\"GET\""), 0u);
    cr_expect_eq(lines_with(all, "\"type\":\"run.created\"", "\"keyId\":\"cfg"), 1u);
    cr_expect_not(holds(all, sv.key), "a credential");
}

Test(audit, the_use_of_a_key_is_told_once_an_hour /* AUTH-20 */) {
    static const char *const SECOND[] = {"keys", "create", "--no-expiry", NULL};
    struct str out, err;
    for (int i = 0; i < 5; i++) cr_assert_eq(ask(&sv, "GET", "/v1/runs", NULL, NULL).status, 200);
    cr_assert_eq(program(&sv, SECOND, &out, &err), 0, STR_FMT, STR_ARG(err));
    struct str text = str_n(out.p, strcspn(out.p, "\n")), id = {0};
    const char *const with[] = {fmt("Authorization: Bearer " STR_FMT, STR_ARG(text)), NULL};
    for (int i = 0; i < 5; i++) cr_assert_eq(ask(&sv, "GET", "/v1/runs", NULL, with).status, 200);
    struct str all = entries_until(2, "\"type\":\"key.used\"", "");
    cr_expect_eq(lines_with(all, "\"type\":\"key.used\"", ""), 2u, STR_FMT, STR_ARG(all));
    cr_expect_eq(lines_with(all, "\"type\":\"key.used\"", "\"keyId\":\"cfg"), 1u);
    cr_assert(str_cut(str_n(text.p + 3, text.n - 3), '_', &id, &(struct str){0}));
    cr_expect_eq(lines_with(all, "\"type\":\"key.used\"", fmt(STR_FMT, STR_ARG(id))), 1u);
    cr_expect_not(holds(all, fmt(STR_FMT, STR_ARG(text))), "a credential");
    struct reply r = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL);
    cr_expect(holds(at(r.body, "auth.profiles"), "\"openwop-auth-api-key-rotation\""));
    cr_expect_eq(int_at(r.body, "auth.rotation.minGraceSeconds"), 86400);
}

Test(audit, webhooks_come_and_go_with_their_entries /* AUD-3, HOOK-1, HOOK-16 */) {
    static const char BODY[] = "{\"url\":\"https://example.com/h\",\"events\":[\"run.completed\"]}";
    static const char *const ONCE[] = {"Idempotency-Key: hook-once", NULL};
    struct reply r = ask(&sv, "POST", "/v1/webhooks", BODY, ONCE);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *id = fmt(STR_FMT, STR_ARG(text_at(r.body, "webhookId")));
    struct str secret = text_at(r.body, "secret");
    cr_assert_eq(ask(&sv, "POST", "/v1/webhooks", BODY, ONCE).status, 201);
    cr_assert_eq(ask(&sv, "DELETE", "/v1/webhooks/wh_none", NULL, NULL).status, 404);
    cr_assert_eq(ask(&sv, "DELETE", fmt("/v1/webhooks/%s", id), NULL, NULL).status, 204);
    struct str all = entries();
    cr_expect_eq(lines_with(all, "\"type\":\"webhook.registered\"", ""), 1u, STR_FMT, STR_ARG(all));
    cr_expect_eq(lines_with(all, "\"type\":\"webhook.registered\"", id), 1u);
    cr_expect_eq(lines_with(all, "\"type\":\"webhook.removed\"", ""), 1u);
    cr_expect_eq(lines_with(all, "\"type\":\"webhook.removed\"", id), 1u);
    cr_expect_eq(lines_with(all, "\"type\":\"webhook.", "\"keyId\":\"cfg"), 2u);
    cr_expect_not(holds(all, fmt(STR_FMT, STR_ARG(secret))), "a secret");
    (void)report("");
}

/* The command writes beside the running host, into the same chain. */
Test(audit, memory_that_an_operator_deletes_is_told /* AUD-3, MEM-3 */) {
    static const char REF[] = "conformance/agent-memory-roundtrip";
    const char *run = create_run(&sv, "conformance-agent-memory-roundtrip", NULL);
    struct str snap = wait_status(&sv, run, "completed"), out, err;
    const char *id = fmt(STR_FMT, STR_ARG(text_at(snap, "variables.memoryReadback.id")));
    const char *const del[] = {"memory", "delete", REF, id, "--test", NULL};
    cr_assert_eq(program(&sv, del, &out, &err), 0, STR_FMT, STR_ARG(err));
    cr_assert_eq(program(&sv, del, &out, &err), 1, "it is gone");
    (void)create_run(&sv, "conformance-noop", NULL);
    struct str all = entries_until(2, "http.request", "\"method\":\"POST\"");
    cr_expect_eq(lines_with(all, "\"type\":\"memory.deleted\"", ""), 1u, STR_FMT, STR_ARG(all));
    cr_expect_eq(lines_with(all, "\"type\":\"memory.deleted\"", id), 1u);
    cr_expect_eq(lines_with(all, "\"type\":\"memory.deleted\"", REF), 1u);
    cr_expect_not(holds(all, "likes tea"), "a content");
    cr_expect_eq(verified(&out), 0, STR_FMT, STR_ARG(out));
}

/* The value is in no entry, only whose it is and its name. */
Test(audit, credentials_that_an_operator_sets_and_deletes_are_told /* AUD-3, NODE-5 */) {
    const char *value = fmt("%s/value", sv.dir);
    FILE *f = fopen(value, "w");
    cr_assert_not_null(f);
    fputs("hk-audit-canary-0123456789\n", f);
    fclose(f);
    struct str out;
    const char *const commands[] = {"set openai-main --provider openai --subject ada",
                                    "set plain --test", "delete plain --test", "delete none"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *line =
            fmt("'%s' secrets %s --db '%s' <'%s'", WOPR_PROGRAM, commands[i], sv.db, value);
        cr_expect_eq(system(line) == 0, i < 3, "%s", line);
    }
    (void)create_run(&sv, "conformance-noop", NULL);
    struct str all = entries_until(1, "http.request", "\"method\":\"POST\"");
    cr_expect_eq(lines_with(all, "\"type\":\"secret.set\"", ""), 2u, STR_FMT, STR_ARG(all));
    cr_expect_eq(lines_with(all, "\"type\":\"secret.set\"", "\"subject\":\"ada\""), 1u);
    cr_expect_eq(lines_with(all, "\"type\":\"secret.set\"", "\"provider\":\"openai\""), 1u);
    cr_expect_eq(lines_with(all, "\"type\":\"secret.deleted\"", "\"name\":\"plain\""), 1u);
    cr_expect_eq(lines_with(all, "\"type\":\"secret.deleted\"", ""), 1u);
    cr_expect_not(holds(all, "audit-canary"), "a value");
    cr_expect_eq(verified(&out), 0, STR_FMT, STR_ARG(out));
}

/* By commands on the file and by requests: the digest of what was stored, once for each change. */
Test(audit, agents_and_workflows_that_change_are_told /* AUD-3, AGT-40 */) {
    static const char AGENT[] = WOPR_SOURCE_DIR "/docs/examples/agents/clerk.json";
    static const char FLOW[] = WOPR_SOURCE_DIR "/docs/examples/hello.json";
    static const char *const COMMANDS[][4] = {{"agents", "put", AGENT, NULL},
                                              {"agents", "put", AGENT, NULL},
                                              {"agents", "delete", "local.desk.clerk", NULL},
                                              {"workflow", "put", FLOW, NULL},
                                              {"workflow", "put", FLOW, NULL},
                                              {"workflow", "delete", "hello", NULL}};
    struct str out, err;
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++)
        cr_assert_eq(program(&sv, COMMANDS[i], &out, &err), 0, STR_FMT STR_FMT, STR_ARG(out),
                     STR_ARG(err));
    struct str all = entries();
    static const char *const TYPES[] = {"agent.stored", "agent.deleted", "workflow.stored",
                                        "workflow.deleted"};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        cr_expect_eq(lines_with(all, fmt("\"type\":\"%s\"", TYPES[i]), ""), 1u, "%s: " STR_FMT,
                     TYPES[i], STR_ARG(all));
    cr_expect_eq(lines_with(all, "\"type\":\"agent.stored\"", "\"sha256\":\""), 1u);
    cr_expect_eq(lines_with(all, "\"type\":\"workflow.deleted\"", "\"hello\""), 1u);
    cr_expect_eq(verified(&out), 0, STR_FMT, STR_ARG(out));
}

Test(audit, a_repetition_does_nothing_and_is_told_as_a_request /* AUD-3 IDEM-5 */) {
    static const char *const KEY[] = {"Idempotency-Key: once", NULL};
    static const char BODY[] = "{\"workflowId\":\"conformance-noop\"}";
    for (int i = 0; i < 3; i++) cr_assert_eq(ask(&sv, "POST", "/v1/runs", BODY, KEY).status, 201);
    struct str all = entries_until(3, "http.request", "\"method\":\"POST\"");
    cr_expect_eq(lines_with(all, "run.created", ""), 1u);
}

Test(audit, refused_credentials_are_told_and_missing_ones_are_not /* AUTH-13 */) {
    static const char *const NONE[] = {"Authorization:", NULL};
    static const char *const BAD[] = {"Authorization: Bearer hk_wrong_0123456789abcdefgh", NULL};
    cr_expect_eq(ask(&sv, "GET", "/v1/runs", NULL, NONE).status, 401);
    cr_expect_eq(ask(&sv, "GET", "/v1/runs", NULL, BAD).status, 401);
    struct str all = entries_until(1, "\"status\":401", "");
    cr_expect_eq(lines_with(all, "\"status\":401", ""), 1u, STR_FMT, STR_ARG(all));
    cr_expect_not(holds(all, "0123456789abcdefgh"));
}

Test(audit, the_route_answers_as_documented /* AUD-8 AUD-9 AUD-10 */) {
    struct str found = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL).body;
    static const char *const PLACES[] = {"auth", "capabilities.auth", "extensions.auth"};
    for (size_t i = 0; i < 3; i++) {
        struct str a = at(found, PLACES[i]);
        cr_assert_not_null(a.p, "%s", PLACES[i]);
        cr_expect(holds(at(a, "profiles"), "openwop-audit-log-integrity"));
        cr_expect(str_eqc(at(a, "auditLogIntegrity.hashChain"), "true"));
        cr_expect(holds(at(a, "auditLogIntegrity.checkpointPublicKey"), "\"MCowBQYDK2VwAyEA"));
        cr_expect_eq(int_at(a, "auditLogIntegrity.checkpointIntervalEntries"), 5);
    }
    for (int i = 0; i < 6; i++) (void)ask(&sv, "GET", "/v1/runs", NULL, NULL);
    struct str body = report("?fromSeq=0&toSeq=100");
    for (int64_t end = now_ms() + WAIT_MS;
         elements_of(at(body, "checkpoints")).n == 0 && now_ms() < end; nap_ms(20))
        body = report("?fromSeq=0&toSeq=100");
    cr_expect(str_eqc(at(body, "chainValid"), "true"), STR_FMT, STR_ARG(body));
    cr_expect(str_eqc(at(body, "anomalies"), "[]"));
    cr_expect_gt(elements_of(at(body, "checkpoints")).n, 0u);
    cr_expect_eq(int_at(body, "fromSeq"), 0);
    cr_expect_geq(int_at(body, "toSeq"), 5);
    static const char *const WRONG[] = {"?fromSeq=-1", "?toSeq=x", "?fromSeq=5&toSeq=4"};
    for (size_t i = 0; i < 3; i++) {
        struct reply r = ask(&sv, "GET", fmt("/v1/audit/verify%s", WRONG[i]), NULL, NULL);
        expect_error(&r, 400, "validation_error");
    }
    const char *const args[] = {"keys", "create", "--scopes", "runs:read", "--no-expiry", NULL};
    struct str key, err;
    cr_assert_eq(program(&sv, args, &key, &err), 0);
    const char *const weak[] = {fmt("Authorization: Bearer %.*s", (int)key.n - 1, key.p), NULL};
    struct reply r = ask(&sv, "GET", "/v1/audit/verify", NULL, weak);
    expect_error(&r, 403, "forbidden");
    (void)entries_until(1, "key.created", "");
}

Test(audit, a_host_without_it_says_so /* AUD-10 */) {
    cr_assert_eq(server_stop(&sv), 0);
    sv.args = NULL;
    server_again(&sv);
    struct reply r = ask(&sv, "GET", "/v1/audit/verify", NULL, NULL);
    expect_error(&r, 404, "not_found");
    cr_expect_null(at(ask(&sv, "GET", "/.well-known/openwop", NULL, NULL).body, "auth").p);
}

Test(audit, a_token_in_a_path_is_no_entry /* AUTH-14 GEN-6 */) {
    const char *run = create_run(&sv, "conformance-approval", NULL);
    struct str snapshot = wait_status(&sv, run, "waiting-approval");
    const char *token = arena_cstr(test_arena(), text_at(snapshot, "interrupt.interruptToken"));
    struct reply r = ask(&sv, "POST", fmt("/v1/interrupts/%s", token),
                         "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    struct str all = entries_until(1, "/v1/interrupts/{token}", "http.request");
    cr_expect_not(holds(all, token));
    cr_expect_eq(lines_with(all, "interrupt.resolved", run), 1u);
}

/* The run is there exactly if its entry is: both are one transaction. */
Test(audit, after_kills_every_run_has_its_entry_and_the_chain_is_whole /* AUD-1 AUD-2 */) {
    static const char BODY[] = "{\"workflowId\":\"conformance-noop\"}";
    struct str out, all, runs;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 40; i++) (void)ask(&sv, "POST", "/v1/runs", BODY, NULL);
        server_kill(&sv);
        server_again(&sv);
    }
    runs = ask(&sv, "GET", "/v1/runs?limit=200", NULL, NULL).body;
    all = entries();
    struct json_elements l = elements_of(at(runs, "runs"));
    cr_expect_geq(l.n, 160u);
    for (size_t i = 0; i < l.n; i++) {
        const char *id = arena_cstr(test_arena(), text_at(l.v[i], "runId"));
        cr_expect_eq(lines_with(all, "run.created", id), 1u, "%s", id);
    }
    cr_expect_eq(lines_with(all, "run.created", ""), l.n);
    cr_expect_eq(verified(&out), 0, STR_FMT, STR_ARG(out));
}

Test(audit, two_hosts_write_one_chain /* AUD-2 */) {
    struct server other;
    struct str out;
    server_beside(&other, &sv, AUDITED);
    for (int i = 0; i < 20; i++) {
        (void)create_run(&sv, "conformance-noop", NULL);
        (void)create_run(&other, "conformance-noop", NULL);
    }
    server_kill(&other);
    (void)create_run(&sv, "conformance-noop", NULL);
    cr_expect_eq(server_stop(&sv), 0);
    cr_expect_eq(verified(&out), 0, STR_FMT, STR_ARG(out));
    cr_expect(holds(out, "the chain is whole"));
}
