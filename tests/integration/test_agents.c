/*
 * test_agents.c: agents of the workspace over the wire of the real program: put, pin, run, change,
 * fork, replay, kill; tenants, bounds, races, commands (AGT-9, AGT-31, AGT-40 to AGT-46).
 */
#include "interrupt_kit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(agents, .init = up, .fini = down, .timeout = 600);

#define BASE "/v1/host/wopr/agents"
#define ID   "vendor.acme.desk.judge"

static bool holds(struct str text, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= text.n; i++)
        if (memcmp(text.p + i, part, n) == 0) return true;
    return false;
}

static const char *definition(const char *id, const char *rest) {
    return fmt("{\"manifest\":{\"agentId\":\"%s\",\"persona\":\"Judge\",\"modelClass\":"
               "\"reasoning\",\"systemPrompt\":\"Decide.\"%s}}",
               id, rest);
}

static const char *threshold(const char *id, const char *least) {
    return definition(id, fmt(",\"confidence\":{\"defaultThreshold\":%s}", least));
}

static struct reply put(const char *id, const char *text, const char *query) {
    return ask(&sv, "PUT", fmt(BASE "/%s%s", id, query), text, NULL);
}

static int64_t put_ok(const char *id, const char *text) {
    struct reply r = put(id, text, "");
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    return int_at(r.body, "revision");
}

/* A workflow of one core.identity that decides with the confidence 0.5. */
static void workflow_put(const char *name, const char *pin) {
    const char *text =
        fmt("{\"id\":\"%s\",\"name\":\"W\",\"version\":\"1\",\"nodes\":[{\"id\":\"n\",\"typeId\":"
            "\"core.identity\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},\"config\":{"
            "\"mockConfidence\":0.5},\"inputs\":{\"tag\":{\"type\":\"variable\",\"variableName\":"
            "\"tag\"}},\"agent\":%s}],\"edges\":[],\"triggers\":[],\"settings\":{},\"variables\":[{"
            "\"name\":\"tag\",\"type\":\"string\",\"defaultValue\":\"x\"}],\"metadata\":{}}",
            name, pin);
    struct reply r = ask(&sv, "PUT", fmt("/v1/host/wopr/workflows/%s", name), text, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
}

static const char *set_of(const char *run) {
    struct str events = events_of(&sv, run);
    return fmt(STR_FMT, STR_ARG(at(elements_of(events).v[0], "payload.agentSet")));
}

static struct str agents_of(const char *run) {
    struct reply r = ask(&sv, "GET", fmt("/v1/host/wopr/runs/%s/agents", run), NULL, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    return r.body;
}

static void verify(void) {
    struct str out, err;
    const char *const args[] = {"verify", NULL};
    int rc = program(&sv, args, &out, &err);
    cr_expect_eq(rc, 0, STR_FMT STR_FMT, STR_ARG(out), STR_ARG(err));
}

static void ratify(const char *run) {
    struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s/interrupts/n", run),
                         "{\"resumeValue\":{\"action\":\"accept\"}}", NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
}

Test(agents, a_run_goes_by_what_was_stored_when_it_started /* AGT-31, AGT-46 */) {
    workflow_put("w", "{\"agentId\":\"" ID "\"}");
    const char *bare = create_run(&sv, "w", NULL); /* no manifest: 0.7 */
    wait_status(&sv, bare, "waiting-approval");
    cr_expect_str_eq(set_of(bare), "");
    cr_expect_eq(put_ok(ID, threshold(ID, "0.4")), 2); /* 1: the fixture's */
    const char *calm = create_run(&sv, "w", NULL);
    wait_status(&sv, calm, "completed");
    cr_expect_eq(put_ok(ID, threshold(ID, "0.6")), 3);
    const char *anxious = create_run(&sv, "w", NULL);
    struct str snap = wait_status(&sv, anxious, "waiting-approval");
    cr_expect(str_eqc(at(snap, "interrupt.data.threshold"), "0.6"), STR_FMT, STR_ARG(snap));
    cr_expect_str_neq(set_of(calm), set_of(anxious));
    cr_expect(holds(agents_of(calm), "0.4") && holds(agents_of(anxious), "0.6"));
    cr_expect(str_eqc(text_at(agents_of(calm), "agentSet"), "") ||
              strstr(set_of(calm), arena_cstr(test_arena(), text_at(agents_of(calm), "agentSet"))));
    /* configurable.escalationThreshold counts before the manifest's */
    const char *own = create_run(&sv, "w", "\"configurable\":{\"escalationThreshold\":0.45}");
    wait_status(&sv, own, "completed");
    /* forks and replays of the old run go by its set */
    cr_expect_eq(ask(&sv, "DELETE", BASE "/" ID, NULL, NULL).status, 200);
    const char *modes[] = {"replay", "branch"};
    for (size_t i = 0; i < 2; i++) {
        const char *again = fork_run(&sv, calm, modes[i], 0);
        wait_status(&sv, again, "completed");
        cr_expect_str_eq(set_of(again), set_of(calm));
        const char *third = fork_run(&sv, again, modes[i], 0); /* a fork of a fork */
        wait_status(&sv, third, "completed");
        cr_expect_str_eq(set_of(third), set_of(calm));
        again = fork_run(&sv, calm, "branch", 1);
        wait_status(&sv, again, "completed");
        cr_expect(str_eq(at(agents_of(again), "agents"), at(agents_of(calm), "agents")));
    }
    cr_expect_not(holds(types_of(events_of(&sv, calm)), "replay.diverged"));
    ratify(anxious);
    wait_status(&sv, anxious, "completed");
    wait_status(&sv, create_run(&sv, "w", NULL), "waiting-approval"); /* deleted: 0.7 again */
    verify();
}

Test(agents, a_kill_between_put_run_and_change_changes_nothing /* AGT-46, STORE-38 */) {
    workflow_put("w", "{\"agentId\":\"" ID "\"}");
    put_ok(ID, threshold(ID, "0.4"));
    server_kill(&sv);
    server_again(&sv);
    wait_status(&sv, create_run(&sv, "w", NULL), "completed");
    put_ok(ID, threshold(ID, "0.6"));
    const char *run = create_run(&sv, "w", NULL);
    wait_status(&sv, run, "waiting-approval");
    const char *set = set_of(run);
    put_ok(ID, definition(ID, ",\"handoff\":{}"));
    server_kill(&sv);
    server_again(&sv);
    wait_status(&sv, run, "waiting-approval");
    ratify(run);
    wait_status(&sv, run, "completed");
    cr_expect_str_eq(set_of(run), set);
    cr_expect(holds(agents_of(run), "0.6"));
    const char *again = fork_run(&sv, run, "replay", 0);
    wait_status(&sv, again, "completed");
    cr_expect_str_eq(set_of(again), set);
    verify();
}

Test(agents, an_agent_of_this_workspace_must_exist /* AGT-41, NODE-18 */) {
    workflow_put("w", "{\"agentId\":\"local.desk.judge\"}");
    struct reply r = ask(&sv, "GET", "/v1/workflows/w", NULL, NULL);
    r = ask(&sv, "POST", "/v1/host/wopr/workflows:check", arena_cstr(test_arena(), r.body), NULL);
    cr_expect(holds(r.body, "/nodes/0/agent/agentId") && holds(r.body, "\"errors\":0"), STR_FMT,
              STR_ARG(r.body));
    r = ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"w\"}", NULL);
    expect_error(&r, 400, "validation_error");
    cr_expect(holds(r.body, "unknown_agent") && holds(r.body, "local.desk.judge") &&
                  holds(r.body, "wopr agents put"),
              STR_FMT, STR_ARG(r.body));
    put_ok("local.desk.judge", threshold("local.desk.judge", "0.1"));
    r = ask(&sv, "GET", "/v1/workflows/w", NULL, NULL);
    r = ask(&sv, "POST", "/v1/host/wopr/workflows:check", arena_cstr(test_arena(), r.body), NULL);
    cr_expect_not(holds(r.body, "agent"), STR_FMT, STR_ARG(r.body));
    wait_status(&sv, create_run(&sv, "w", NULL), "completed");
    /* other tiers may be agents of packs, or of nobody: FIX-31 */
    workflow_put("v", "{\"agentId\":\"vendor.nobody.x.y\"}");
    wait_status(&sv, create_run(&sv, "v", NULL), "waiting-approval");
    /* the source of a pin counts, and the pin is shown as it is (AGT-6) */
    workflow_put("u", "{\"agentId\":\"host:me\",\"sourceManifestId\":\"local.desk.judge\"}");
    struct str snap = wait_status(&sv, create_run(&sv, "u", NULL), "completed");
    cr_expect(str_eqc(at(snap, "agent"),
                      "{\"agentId\":\"host:me\",\"sourceManifestId\":\"local.desk.judge\"}"));
}

Test(agents, a_child_run_finds_its_own_agents /* AGT-46, WF-48 */) {
    static const char PARENT[] =
        "{\"id\":\"p\",\"name\":\"P\",\"version\":\"1\",\"nodes\":[{\"id\":\"c\",\"typeId\":"
        "\"core.subWorkflow\",\"name\":\"C\",\"position\":{\"x\":0,\"y\":0},\"config\":{"
        "\"workflowId\":\"w\",\"waitForCompletion\":true},\"inputs\":{}}],\"edges\":[],"
        "\"triggers\":[],\"settings\":{},\"variables\":[],\"metadata\":{}}";
    workflow_put("w", "{\"agentId\":\"local.desk.judge\"}");
    struct reply r = ask(&sv, "PUT", "/v1/host/wopr/workflows/p", PARENT, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    struct str snap = wait_status(&sv, create_run(&sv, "p", NULL), "failed");
    cr_expect(str_eqc(text_at(snap, "error.code"), "child_failed") &&
                  holds(text_at(snap, "error.message"), "local.desk.judge"),
              STR_FMT, STR_ARG(snap));
    put_ok("local.desk.judge", threshold("local.desk.judge", "0.1"));
    const char *run = create_run(&sv, "p", NULL);
    snap = wait_status(&sv, run, "completed");
    const char *child = arena_cstr(test_arena(), text_at(snap, "childRuns.0.runId"));
    cr_expect(holds(agents_of(child), "0.1"));
    cr_expect(str_eqc(at(agents_of(run), "agents"), "{}"));
    verify();
}

Test(agents, what_is_handed_over_fits_its_schemas /* AGT-40 */) {
    static const char FILES[] =
        "{\"manifest\":{\"agentId\":\"" ID "\",\"persona\":\"J\",\"modelClass\":\"general\","
        "\"systemPrompt\":\"S\",\"confidence\":{\"defaultThreshold\":0},\"handoff\":{\"%s\":"
        "\"s.json\"}},\"files\":{\"s.json\":\"{\\\"properties\\\":{\\\"tag\\\":{\\\"type\\\":"
        "\\\"%s\\\"}}}\"}}";
    workflow_put("w", "{\"agentId\":\"" ID "\"}");
    put_ok(ID, fmt(FILES, "taskSchemaRef", "string"));
    wait_status(&sv, create_run(&sv, "w", NULL), "completed");
    put_ok(ID, fmt(FILES, "taskSchemaRef", "number"));
    const char *run = create_run(&sv, "w", NULL);
    struct str snap = wait_status(&sv, run, "failed");
    cr_expect(str_eqc(text_at(snap, "error.code"), "handoff_task_invalid"), STR_FMT, STR_ARG(snap));
    wait_status(&sv, fork_run(&sv, run, "replay", 0), "failed");
    put_ok(ID, fmt(FILES, "returnSchemaRef", "string"));
    wait_status(&sv, create_run(&sv, "w", NULL), "completed");
    put_ok(ID, fmt(FILES, "returnSchemaRef", "number"));
    snap = wait_status(&sv, create_run(&sv, "w", NULL), "failed");
    cr_expect(str_eqc(text_at(snap, "error.code"), "handoff_return_invalid"), STR_FMT,
              STR_ARG(snap));
    cr_expect_not(holds(text_at(snap, "error.message"), "\"x\""), "no value is quoted");
}

Test(agents, what_is_wrong_is_said_all_at_once_with_its_place /* AGT-40 to AGT-44 */) {
    const char *bad = "{\"manifest\":{\"agentId\":\"core.chat\",\"modelClass\":\"chat\","
                      "\"systemPromptRef\":\"x\",\"colour\":1}}";
    struct reply r = ask(&sv, "POST", BASE ":check", bad, NULL);
    cr_assert_eq(r.status, 200);
    cr_expect_eq(int_at(r.body, "errors"), 5, STR_FMT, STR_ARG(r.body));
    static const char *const PATHS[] = {"/manifest/agentId", "/manifest/persona",
                                        "/manifest/modelClass", "/manifest/systemPromptRef",
                                        "/manifest/colour"};
    for (size_t i = 0; i < 5; i++) cr_expect(holds(r.body, PATHS[i]), "%s", PATHS[i]);
    r = put("core.chat", bad, "");
    expect_error(&r, 400, "validation_error");
    cr_expect(holds(r.body, "/manifest/agentId") && holds(r.body, "agents:check"), STR_FMT,
              STR_ARG(r.body));
    r = put("core.other.id", definition(ID, ""), "");
    expect_error(&r, 400, "validation_error");
    cr_expect(str_eqc(at(r.body, "details.fields.0.path"), "\"manifest.agentId\""));
    r = ask(&sv, "GET", BASE "/" ID, NULL, NULL);
    expect_error(&r, 404, "not_found");
}

Test(agents, foreign_tenants_and_live_keys_see_nothing /* AUTH-8, CTI-1 */) {
    const char *const beta[] = {key_with(&sv, "all", "beta"), NULL};
    put_ok(ID, threshold(ID, "0.4"));
    workflow_put("w", "{\"agentId\":\"" ID "\"}");
    const char *run = create_run(&sv, "w", NULL);
    wait_status(&sv, run, "completed");
    struct reply r = ask(&sv, "GET", BASE "/" ID, NULL, beta);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "DELETE", BASE "/" ID, NULL, beta);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "GET", fmt("/v1/host/wopr/runs/%s/agents", run), NULL, beta);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "GET", BASE, NULL, beta);
    cr_expect(str_eqc(at(r.body, "agents"), "[]"), STR_FMT, STR_ARG(r.body));
    r = ask(&sv, "GET", "/v1/packs/export", NULL, beta);
    cr_expect(str_eqc(at(r.body, "manifests"), "[]"), STR_FMT, STR_ARG(r.body));
    const char *const reader[] = {key_with(&sv, "runs:read", "default"), NULL};
    r = put(ID, threshold(ID, "0.4"), "");
    cr_expect_eq(r.status, 200);
    r = ask(&sv, "PUT", BASE "/" ID, threshold(ID, "0.5"), reader);
    expect_error(&r, 403, "forbidden");
    r = ask(&sv, "GET", BASE, NULL, reader);
    expect_error(&r, 403, "forbidden");
}

Test(agents, what_is_exported_is_what_was_put /* AGT-45, E31, FIX-36 */) {
    put_ok(ID, definition(ID, ",\"toolAllowlist\":[\"mcp:x\"]"));
    struct reply r = ask(&sv, "GET", "/v1/packs/export", NULL, NULL);
    cr_assert_eq(r.status, 200);
    struct json_elements l = elements_of(at(r.body, "manifests"));
    cr_assert_eq(l.n, 2u, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(l.v[0], "agentId"), "core.conformance.exportable-agent"));
    cr_expect(
        str_eqc(l.v[1], arena_cstr(test_arena(), at(str_c(definition(ID, ",\"toolAllowlist\":["
                                                                         "\"mcp:x\"]")),
                                                    "manifest"))));
    r = ask(&sv, "GET", "/v1/packs/export?limit=1", NULL, NULL);
    cr_expect_eq(elements_of(at(r.body, "manifests")).n, 1u);
    r = ask(&sv, "GET",
            fmt("/v1/packs/export?limit=1&after=" STR_FMT, STR_ARG(text_at(r.body, "nextAfter"))),
            NULL, NULL);
    cr_expect(str_eqc(text_at(elements_of(at(r.body, "manifests")).v[0], "agentId"), ID));
    cr_expect_null(at(r.body, "nextAfter").p);
}

Test(agents, discovery_says_what_there_is /* NODE-80, NODE-81, AGT-12, AGT-13 */) {
    struct reply r = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL);
    cr_expect(str_eqc(at(r.body, "extensions.agentManifests.path"), "\"" BASE "\""), STR_FMT,
              STR_ARG(r.body));
    cr_expect(str_eqc(at(r.body, "agents.supported"), "true"));
}

Test(agents, a_host_that_shows_memory_refs_has_the_memory /* AGT-4, AGT-6 */) {
    struct reply r = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL);
    cr_expect(str_eqc(at(r.body, "agents.memoryBackends"), "[\"long-term\"]"));
    workflow_put("w", "{\"agentId\":\"host:me\",\"memoryRef\":\"desk/notes\"}");
    const char *run = create_run(&sv, "w", "\"configurable\":{\"escalationThreshold\":0}");
    struct str snap = wait_status(&sv, run, "completed");
    cr_expect(str_eqc(text_at(snap, "agent.memoryRef"), "desk/notes"), STR_FMT, STR_ARG(snap));
}

/* --- races --- */

enum { WRITERS = 8 };
static char request[WRITERS][2048];
static long answered[WRITERS];

static void *writer(void *arg) {
    size_t i = (size_t)(uintptr_t)arg;
    char answer[8192];
    answered[i] = exchange(&sv, request[i], strlen(request[i]), answer, sizeof answer);
    return NULL;
}

Test(agents, of_writers_at_once_one_is_first /* ifRevision */) {
    int64_t revision = put_ok(ID, definition(ID, ""));
    for (int round = 0; round < 5; round++) {
        pthread_t threads[WRITERS];
        int won = 0;
        for (size_t i = 0; i < WRITERS; i++) {
            const char *body = definition(ID, fmt(",\"label\":\"%d.%zu\"", round, i));
            (void)snprintf(request[i], sizeof request[i],
                           "PUT " BASE "/" ID "?ifRevision=%lld HTTP/1.1\r\nHost: x\r\n"
                           "Authorization: Bearer " TEST_KEY "\r\nContent-Type: application/json"
                           "\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
                           (long long)revision, strlen(body), body);
            cr_assert_eq(pthread_create(&threads[i], NULL, writer, (void *)(uintptr_t)i), 0);
        }
        for (size_t i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
        for (size_t i = 0; i < WRITERS; i++) {
            cr_expect(answered[i] == 200 || answered[i] == 409, "%ld", answered[i]);
            won += answered[i] == 200;
        }
        cr_expect_eq(won, 1);
        struct reply r = ask(&sv, "GET", BASE "/" ID, NULL, NULL);
        cr_expect_eq(int_at(r.body, "revision"), revision + 1);
        revision++;
    }
    struct reply r = put(ID, definition(ID, ""), "?ifRevision=1");
    expect_error(&r, 409, "conflict");
    cr_expect_eq(int_at(r.body, "details.revision"), revision);
}

/* --- commands --- */

static struct str told(const char *const *args, bool host, int status) {
    struct str out, err;
    int rc = host ? program_on(&sv, "agents", args, &out, &err) : program(&sv, args, &out, &err);
    cr_assert_eq(rc, status, "%d: " STR_FMT STR_FMT, rc, STR_ARG(out), STR_ARG(err));
    return str_c(fmt(STR_FMT STR_FMT, STR_ARG(out), STR_ARG(err)));
}

static const char *file_write(const char *name, const char *text) {
    const char *path = fmt("%s/%s", sv.dir, name);
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(agents, operators_put_list_show_check_and_delete) {
    (void)file_write("prompt.md", "Be \"kind\".\n");
    const char *path =
        file_write("clerk.json", "{\"agentId\":\"local.desk.clerk\",\"persona\":\"Clerk\","
                                 "\"modelClass\":\"general\",\"systemPromptRef\":\"prompt.md\"}");
    const char *bad = file_write("bad.json", "{\"agentId\":\"local.desk.clerk\",\"persona\":1}");
    cr_expect(holds(told(ARGS("agents", "check", path), false, 0), "ok, local.desk.clerk"));
    cr_expect(holds(told(ARGS("agents", "check", bad), false, 1), "/manifest/persona"));
    cr_expect(holds(told(ARGS("agents", "put", path, "--test"), false, 0), "created"));
    cr_expect(holds(told(ARGS("agents", "put", path, "--test"), false, 0), "unchanged"));
    cr_expect(holds(told(ARGS("agents", "show", "local.desk.clerk", "--test"), false, 0),
                    "\"prompt.md\":\"Be \\\"kind\\\".\\n\""));
    cr_expect(holds(told(ARGS("agents", "list", "--test"), false, 0), "local.desk.clerk"));
    cr_expect_not(holds(told(ARGS("agents", "list"), false, 0), "local.desk.clerk"));
    /* the host sees what was put into its file, and the other way round */
    cr_expect(holds(told(ARGS("list"), true, 0), "local.desk.clerk"));
    cr_expect(holds(told(ARGS("check", bad), true, 1), "/manifest/persona"));
    cr_expect(holds(told(ARGS("show", "local.desk.clerk"), true, 0), "prompt.md"));
    cr_expect(
        holds(told(ARGS("delete", "local.desk.clerk", "--if-revision", "1"), true, 1), "revision"));
    cr_expect(holds(told(ARGS("delete", "local.desk.clerk"), true, 0), "deleted"));
    cr_expect(holds(told(ARGS("put", path, "--if-revision", "0"), true, 0), "created"));
    (void)told(ARGS("agents", "delete", "local.desk.clerk", "--test"), false, 0);
    (void)told(ARGS("agents", "show", "local.desk.clerk", "--test"), false, 1);
    (void)told(ARGS("agents", "show", "local.desk.clerk", "--if-revision", "x"), false, 2);
}
