/* test_versions.c: engine versions, pinned changes, ageing channels and triggers through the real
 * program (VER-3, VER-7, VER-10 to VER-12, EVT-33, CHAN-17, CHAN-20). */
#include "harness.h"

#include <sqlite3.h>
#include <stdio.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(versions, .init = up, .fini = down, .timeout = 300);

static void put(const char *file) {
    const char *const args[] = {"workflow", "put",
                                fmt("%s/tests/integration/%s", WOPR_SOURCE_DIR, file), NULL};
    struct str out = STR_NONE;
    cr_assert_eq(program(&sv, args, &out, NULL), 0, STR_FMT, STR_ARG(out));
}

static struct reply create_forced(const char *version, const char *key) {
    const char *const h[] = {fmt("X-Force-Engine-Version:%s", version), key, NULL};
    return ask(&sv, "POST", "/v1/runs", "{\"workflowId\":\"conformance-version-fold\"}", h);
}

/* Every event and every snapshot of the run names the version, as a string. */
static void expect_shown(const char *run, const char *version) {
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    cr_assert_eq(r.status, 200);
    cr_expect(str_eqc(at(r.body, "engineVersion"), fmt("\"%s\"", version)));
    struct json_elements ev;
    cr_assert_eq(json_elements(events_of(&sv, run), test_arena(), &ev, NULL), 0);
    cr_assert_gt(ev.n, 0u);
    for (size_t i = 0; i < ev.n; i++)
        cr_expect(str_eqc(at(ev.v[i], "engineVersion"), fmt("\"%s\"", version)));
    static const char *const modes[] = {"debug", "updates", "values"};
    for (size_t m = 0; m < 3; m++) {
        struct stream s =
            stream(&sv, fmt("/v1/runs/%s/events?streamMode=%s", run, modes[m]), NULL, WAIT_MS, 0);
        cr_assert_gt(s.n, 0u, "%s", modes[m]);
        for (size_t i = 0; i < s.n; i++)
            cr_expect(str_eqc(at(s.v[i].data, "engineVersion"), fmt("\"%s\"", version)),
                      "%s: " STR_FMT, modes[m], STR_ARG(s.v[i].data));
    }
    r = ask(&sv, "GET", "/v1/runs?workflowId=conformance-version-fold&limit=1", NULL, NULL);
    cr_expect(str_eqc(text_at(r.body, "runs.0.runId"), run));
    cr_expect(str_eqc(at(r.body, "runs.0.engineVersion"), fmt("\"%s\"", version)));
}

Test(versions, a_forced_version_is_shown_everywhere_and_stays_readable /* VER-10..12 */) {
    const char *runs[3];
    struct reply doc = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL);
    cr_expect(str_eqc(at(doc.body, "testing.forceEngineVersionRange"), "{\"min\":0,\"max\":2}"));
    for (int v = 0; v < 3; v++) {
        struct reply r = create_forced(fmt(" %d", v), NULL);
        cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
        runs[v] = text_at(r.body, "runId").p;
        cr_expect(str_eqc(text_at(wait_terminal(&sv, runs[v]), "status"), "completed"));
        expect_shown(runs[v], fmt("%d", v));
    }
    server_kill(&sv);
    server_again(&sv); /* the row keeps the true writer's version */
    for (int v = 0; v < 3; v++) {
        struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s", runs[v]), NULL, NULL);
        cr_expect_eq(r.status, 200);
        cr_expect(str_eqc(text_at(r.body, "engineVersion"), fmt("%d", v)));
    }
}

Test(versions, what_may_be_forced_and_by_whom /* VER-10 */) {
    static const struct {
        const char *value, *code;
    } BAD[] = {{" 3", "unsupported_force_engine_version"},
               {" 99999999999999999999999", "unsupported_force_engine_version"},
               {" 4294967296", "unsupported_force_engine_version"},
               {" -1", "validation_error"},
               {" 1.0", "validation_error"},
               {" one", "validation_error"}};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct reply r = create_forced(BAD[i].value, NULL);
        expect_error(&r, 400, BAD[i].code);
        if (strcmp(BAD[i].code, "validation_error") == 0) continue;
        cr_expect_eq(int_at(r.body, "details.supported.min"), 0);
        cr_expect_eq(int_at(r.body, "details.supported.max"), 2);
    }
    static const char *const live[] = {"keys", "create", "--no-expiry", "--scopes", "all", NULL};
    struct str out = STR_NONE;
    cr_assert_eq(program(&sv, live, &out, NULL), 0);
    const char *key =
        fmt("Authorization: Bearer " STR_FMT, STR_ARG(str_trim(str_n(out.p, out.n - 1))));
    static const char *const values[] = {" 1", " 99", " nonsense"}; /* before the value is read */
    for (size_t i = 0; i < 3; i++) {
        struct reply r = create_forced(values[i], key);
        expect_error(&r, 403, "force_engine_version_forbidden");
    }
}

static void written_by(const char *run, int version) {
    sqlite3 *db = NULL;
    char *sql =
        sqlite3_mprintf("UPDATE runs SET engine_version = %d WHERE run_id = %Q", version, run);
    cr_assert_eq(sqlite3_open(sv.db, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_changes(db), 1);
    sqlite3_free(sql);
    sqlite3_close(db);
}

Test(versions, a_newer_engines_run_is_refused_and_left_alone /* VER-3, EVT-6 */) {
    const char *run = create_run(&sv, "conformance-cancellable", "\"inputs\":{\"delayMs\":60000}");
    const char *other = create_run(&sv, "conformance-noop", NULL);
    wait_status(&sv, run, "running");
    wait_terminal(&sv, other);
    server_kill(&sv);
    written_by(run, 2);
    server_again(&sv);
    const struct {
        const char *method, *path, *body;
    } ASKS[] = {
        {"GET", fmt("/v1/runs/%s", run), NULL},
        {"GET", fmt("/v1/runs/%s/events", run), NULL},
        {"GET", fmt("/v1/runs/%s/events/poll?timeout=1", run), NULL},
        {"POST", fmt("/v1/runs/%s/cancel", run), "{}"},
        {"POST", fmt("/v1/runs/%s:pause", run), "{}"},
        {"POST", fmt("/v1/runs/%s:resume", run), "{}"},
    };
    for (size_t i = 0; i < sizeof ASKS / sizeof *ASKS; i++) {
        struct reply r = ask(&sv, ASKS[i].method, ASKS[i].path, ASKS[i].body, NULL);
        expect_error(&r, 409, "engine_version_mismatch");
        cr_expect(str_eqc(text_at(r.body, "details.runId"), run), "%s", ASKS[i].path);
        cr_expect_eq(int_at(r.body, "details.persistedVersion"), 2);
        cr_expect_eq(int_at(r.body, "details.currentVersion"), 1);
    }
    cr_expect_eq(ask(&sv, "GET", fmt("/v1/runs/%s", other), NULL, NULL).status, 200);
    server_kill(&sv);
    written_by(run, 1); /* untouched meanwhile: the next host goes on with it */
    server_again(&sv);
    struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run), "{}", NULL);
    cr_expect_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
}

Test(versions, a_pin_survives_a_killed_host_and_binds_it /* VER-7, EVT-33 */) {
    put("versioned.json");
    const char *run = create_run(&sv, "versioned", NULL);
    wait_status(&sv, run, "running");
    while (!strstr(types_of(events_of(&sv, run)).p, "node.started:wait")) nap_ms(5);
    server_kill(&sv);
    server_again(&sv);
    struct str snap = wait_terminal(&sv, run), ev = events_of(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "failed"));
    cr_expect(str_eqc(text_at(snap, "error.code"), "version_out_of_range"), STR_FMT, STR_ARG(snap));
    cr_expect_eq(int_at(snap, "error.details.pinnedVersion"), 2);
    cr_expect_eq(int_at(snap, "error.details.currentMin"), 3);
    cr_expect_eq(int_at(snap, "error.details.currentMax"), 7);
    cr_expect(str_eqc(text_at(snap, "error.details.changeId"), "tax"));
    cr_expect(str_eqc(text_at(snap, "error.details.runId"), run));
    cr_expect_eq(int_at(snap, "nodeStates.first.outputs.version"), 2);
    cr_expect_eq(int_at(snap, "nodeStates.again.outputs.version"), 2);
    cr_expect(str_eqc(at(ev, "2.type"), "\"version.pinned\""));
    cr_expect(
        str_eqc(at(ev, "2.payload"), "{\"changeId\":\"tax\",\"version\":2,\"nodeId\":\"first\"}"),
        STR_FMT, STR_ARG(at(ev, "2.payload")));
    const char *types = types_of(ev).p, *pin = strstr(types, "version.pinned");
    cr_assert_not_null(pin);
    cr_expect_null(strstr(pin + 1, "version.pinned"), "%s", types);
    static const char *const verify[] = {"verify", NULL};
    struct str out = STR_NONE;
    cr_expect_eq(program(&sv, verify, &out, NULL), 0, STR_FMT, STR_ARG(out));
}

static struct str news(const char *run) {
    struct reply r = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL);
    cr_assert_eq(r.status, 200);
    cr_expect(str_eqc(at(r.body, "channels.kept"), "[2]"));
    return at(r.body, "channels.news");
}

Test(versions, entries_age_in_the_snapshot_of_a_live_run /* CHAN-16, CHAN-17, CHAN-20 */) {
    put("ageing.json");
    const char *run = create_run(&sv, "ageing", NULL);
    int64_t until = now_ms() + WAIT_MS;
    while (!strstr(types_of(events_of(&sv, run)).p, "node.completed:told")) {
        cr_assert_lt(now_ms(), until);
        nap_ms(5);
    }
    while (!str_eqc(news(run), "[]")) { /* no write in between */
        cr_assert_lt(now_ms(), until);
        nap_ms(20);
    }
    struct str ev = events_of(&sv, run);
    cr_expect_eq(ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run), "{}", NULL).status, 200);
    wait_terminal(&sv, run);
    cr_expect(str_eqc(news(run), "[]"), "what was gone does not come back");
    int64_t write_seq = -1;
    for (int i = 0; at(ev, fmt("%d", i)).p; i++) {
        struct str e = at(ev, fmt("%d", i)), type = text_at(e, "type");
        if (str_eqc(type, "channel.written") && write_seq < 0) write_seq = i;
        if (!str_eqc(type, "node.started") || !str_eqc(text_at(e, "nodeId"), "told")) continue;
        cr_expect(str_eq(text_at(e, "causationId"),
                         text_at(at(ev, fmt("%d", (int)write_seq)), "eventId")));
    }
    cr_expect_geq(write_seq, 0);
}
