/*
 * test_verify_rows.c: rows of tasks, sealed values and webhooks, made by the real program and then
 * changed behind its back: "wopr verify" finds each, and nothing on the sound file.
 */
#include "harness.h"
#include "receiver.h"
#include "support/sampled.h"

#include <sqlite3.h>
#include <stdio.h>

static struct server sv;
static struct receiver *rx;
static const char *const ARGS[] = {
    "--egress-allow", "127.0.0.1", "--webhook-retry-ms", "60000", "--retention-days", "3650", NULL};
static void up(void) {
    rx = receiver_start(0);
    server_start(&sv, ARGS);
}
static void down(void) {
    server_end(&sv);
    receiver_stop(rx);
}
TestSuite(verify_rows, .init = up, .fini = down, .timeout = 300);

#define NODE(id, type, inputs)                                                                     \
    "{\"id\":\"" id "\",\"typeId\":\"" type "\",\"name\":\"N\",\"position\":{\"x\":0,\"y\":0},"    \
    "\"config\":{\"name\":\"v\"},\"inputs\":{" inputs "}}"

static void put(const char *id, const char *nodes, const char *variables) {
    const char *path = fmt("%s/%s.json", sv.dir, id);
    const char *const args[] = {"workflow", "put", path, NULL};
    struct str out = STR_NONE, err = STR_NONE;
    FILE *f = fopen(path, "w");
    cr_assert_not_null(f);
    fprintf(f,
            "{\"id\":\"%s\",\"name\":\"W\",\"version\":\"1\",\"nodes\":[%s],\"edges\":[],"
            "\"triggers\":[],\"variables\":[%s],\"metadata\":{},\"settings\":{}}",
            id, nodes, variables);
    fclose(f);
    cr_assert_eq(program(&sv, args, &out, &err), 0, STR_FMT STR_FMT, STR_ARG(out), STR_ARG(err));
}

static struct reply post(const char *path, const char *body, long want) {
    struct reply r = ask(&sv, "POST", path, body, NULL);
    cr_assert_eq(r.status, want, "%s: " STR_FMT, path, STR_ARG(r.body));
    return r;
}

static int verify(struct str *out) {
    static const char *const args[] = {"verify", NULL};
    struct str err = STR_NONE;
    int rc = program(&sv, args, out, &err);
    cr_assert(rc == 0 || rc == 1, STR_FMT, STR_ARG(err));
    return rc;
}

static sqlite3 *opened(void) {
    sqlite3 *db = NULL;
    cr_assert_eq(sqlite3_open(sv.db, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, "PRAGMA ignore_check_constraints = ON", NULL, NULL, NULL), 0);
    return db;
}

static void copy_of(const char *from, const char *to) {
    sqlite3 *a = NULL, *b = NULL;
    (void)remove(to);
    (void)remove(fmt("%s-wal", to));
    (void)remove(fmt("%s-shm", to));
    cr_assert_eq(sqlite3_open(from, &a), SQLITE_OK);
    cr_assert_eq(sqlite3_open(to, &b), SQLITE_OK);
    sqlite3_backup *copy = sqlite3_backup_init(b, "main", a, "main");
    cr_assert_eq(sqlite3_backup_step(copy, -1), SQLITE_DONE);
    cr_assert_eq(sqlite3_backup_finish(copy), SQLITE_OK);
    sqlite3_close(a);
    sqlite3_close(b);
}

/* Each statement alone, on the file as the host left it. */
static void expect_found(const char *const *rows, size_t n) {
    struct str out = STR_NONE;
    const char *saved = fmt("%s.sound", sv.db);
    cr_assert_eq(server_stop(&sv), 0);
    cr_expect_eq(verify(&out), 0, STR_FMT, STR_ARG(out));
    copy_of(sv.db, saved);
    for (size_t i = 0; i < n; i++) {
        if (!sampled_in((unsigned)i)) continue;
        copy_of(saved, sv.db);
        sqlite3 *db = opened();
        char *why = NULL;
        int rc = sqlite3_exec(db, rows[i], NULL, NULL, &why);
        cr_assert_eq(rc, SQLITE_OK, "%s: %s", rows[i], why);
        cr_expect_gt(sqlite3_changes(db), 0, "changed nothing: %s", rows[i]);
        sqlite3_close(db);
        cr_expect_eq(verify(&out), 1, "not found: %s", rows[i]);
    }
    copy_of(saved, sv.db);
    server_again(&sv);
}
#define EXPECT_FOUND(rows) expect_found(rows, sizeof(rows) / sizeof *(rows))

static void serve(const char *type) {
    post("/v1/host/wopr/worker-types", fmt("{\"typeId\":\"%s\"}", type), 200);
}

Test(verify_rows, of_tasks /* WRK-10 to WRK-14 */) {
    static const char *const ROWS[] = {
        "UPDATE worker_tasks SET run_no = 77 WHERE state = 0",
        "UPDATE worker_tasks SET tenant = 'other' WHERE state = 0",
        "UPDATE worker_tasks SET test_mode = 1 - test_mode WHERE state = 1",
        "UPDATE worker_tasks SET type_id = 'acme.b' WHERE state = 0",
        "UPDATE worker_tasks SET node_id = 'nobody' WHERE state = 0",
        "UPDATE worker_tasks SET attempt = 3 WHERE state = 0",
        "UPDATE worker_tasks SET task_id = 'task_0123456789abcdef0123456789abcdef' WHERE state = 1",
        "UPDATE worker_tasks SET invocation_id = 'inv' WHERE state = 1",
        "UPDATE worker_tasks SET state = 5 WHERE state = 0",
        "UPDATE worker_tasks SET state = 9 WHERE state = 1",
        "UPDATE worker_tasks SET state = 1 WHERE state = 0",
        "UPDATE worker_tasks SET state = 0, ended_ms = NULL WHERE state = 5",
        "UPDATE worker_tasks SET ended_ms = NULL WHERE state = 5",
        "UPDATE worker_tasks SET ended_ms = 5 WHERE state = 0",
        "UPDATE worker_tasks SET body = NULL WHERE state = 0",
        "UPDATE worker_tasks SET body = substr(body, 2) WHERE state = 0",
        "UPDATE worker_tasks SET body = '[' || substr(body, 2) WHERE state = 0",
        "UPDATE worker_tasks SET body = '{}' WHERE state = 5",
        "UPDATE worker_tasks SET bytes = bytes + 1 WHERE state = 1",
        "UPDATE worker_tasks SET sealed_at = -16 WHERE state = 0",
        "UPDATE worker_tasks SET epoch = 0 WHERE state = 1",
        "UPDATE worker_tasks SET epoch = -1 WHERE state = 0",
        "UPDATE worker_tasks SET lost = 5 WHERE state = 0",
        "UPDATE worker_tasks SET lease_until = 0 WHERE state = 1",
        "UPDATE worker_tasks SET lease_ms = -1 WHERE state = 1",
        "UPDATE worker_tasks SET word = 'x' WHERE state = 0",
        "UPDATE worker_tasks SET emitted = -1 WHERE state = 1",
        "UPDATE worker_tasks SET ready_ms = 0 WHERE state = 0",
        "UPDATE tenant_usage SET bytes = bytes + 7",
    };
    serve("acme.a");
    serve("acme.b");
    put("ready", NODE("n", "acme.a", "") "," NODE("m", "core.noop", ""), "");
    put("leased", NODE("n", "acme.b", ""), "");
    const char *ready = NULL;
    for (int i = 0; i < 3; i++) { /* one completed, one leased, one ready */
        const char *run = create_run(&sv, i == 2 ? "ready" : "leased", NULL);
        if (i == 2) ready = run;
        struct str t = STR_NONE;
        for (int64_t end = now_ms() + WAIT_MS; i < 2 && !t.p && now_ms() < end;) {
            struct reply r =
                post("/v1/host/wopr/tasks:claim",
                     "{\"types\":[\"acme.b\"],\"waitMs\":2000,\"leaseMs\":600000}", 200);
            struct json_elements l = elements_of(at(r.body, "tasks"));
            if (l.n > 0) t = l.v[0];
        }
        if (i > 0) continue;
        post(fmt("/v1/host/wopr/tasks/" STR_FMT ":complete", STR_ARG(text_at(t, "taskId"))),
             "{\"epoch\":1,\"output\":{}}", 200);
        wait_terminal(&sv, run);
    }
    wait_status(&sv, ready, "running");
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(20))
        if (strstr(types_of(events_of(&sv, ready)).p, "node.completed:m")) break;
    EXPECT_FOUND(ROWS);
}

Test(verify_rows, of_webhooks /* HOOK-1 to HOOK-15, D31 */) {
    static const char *const ROWS[] = {
        "UPDATE webhooks SET hook_no = 50",
        "UPDATE webhooks SET tenant = ''",
        "UPDATE webhooks SET test_mode = 7",
        "UPDATE webhooks SET created_major = 9",
        "UPDATE webhooks SET url = 'nothing'",
        "UPDATE webhooks SET kinds = 0",
        "UPDATE webhooks SET events = '[\"'",
        "UPDATE webhooks SET events = '[\"run.failed\"]'",
        "UPDATE webhooks SET tags = '[\"x'",
        "UPDATE webhooks SET secret_key_no = 99",
        "UPDATE webhooks SET secret_box = zeroblob(length(secret_box))",
        "UPDATE webhooks SET webhook_id = 'wh_other'",
        "UPDATE webhooks SET fingerprint = '00000000'",
        "UPDATE webhooks SET created_ms = 0",
        "UPDATE webhooks SET idem_key = x'00'",
        "UPDATE webhooks SET stopped = 4",
        "DELETE FROM webhooks",
        "UPDATE webhook_states SET hook_no = 50",
        "UPDATE webhook_states SET next_move = 0",
        "UPDATE webhook_states SET next_move = 1000",
        "UPDATE webhook_states SET next_seq = 1000",
        "UPDATE webhook_states SET next_seq = -1",
        "UPDATE webhook_states SET attempts = -1",
        "UPDATE webhook_states SET failures = failures_total + 1",
        "UPDATE webhook_states SET failures_total = -1",
        "UPDATE webhook_states SET delivered = -1",
        "UPDATE webhook_states SET last_status = -4",
        "DELETE FROM webhook_states",
        "INSERT INTO webhook_failures VALUES (1, 100, 5)",
        "INSERT INTO webhook_failures VALUES (50, 1, 5)",
        "UPDATE webhook_moves SET tenant = 'other' WHERE move_no = (SELECT max(move_no) FROM "
        "webhook_moves)",
        "UPDATE webhook_moves SET test_mode = 1 - test_mode",
        "UPDATE webhook_moves SET run_no = 77",
        "UPDATE webhook_moves SET from_seq = until_seq",
        "UPDATE webhook_moves SET from_seq = from_seq - 1",
        "UPDATE webhook_moves SET until_seq = until_seq + 1",
        "UPDATE webhook_moves SET kinds = 0",
        "UPDATE webhook_moves SET at_ms = 0",
        ("INSERT INTO webhook_moves SELECT move_no + 100, tenant, test_mode, run_no, from_seq,"
         " until_seq, kinds, at_ms, hook_no FROM webhook_moves"),
        "INSERT INTO webhook_dead VALUES (1, 50, 1, NULL, 1, 2, NULL, 1, 0, 'x', 1, 2)",
        "INSERT INTO webhook_dead VALUES (1, 1, 1, 'run_x', 1, 2, NULL, 1, 0, 'x', 1, 2)",
        "INSERT INTO webhook_dead VALUES (1, 1, 1, NULL, 3, 2, NULL, 1, 0, 'x', 1, 2)",
        "DELETE FROM webhook_lease",
        "UPDATE webhook_lease SET epoch = -1",
    };
    receiver_stop(rx); /* nothing is delivered: what is to be sent stays */
    post("/v1/webhooks",
         "{\"url\":\"http://127.0.0.1:9/hook\",\"events\":[\"run.started\",\"run.completed\"]}",
         201);
    wait_terminal(&sv, create_run(&sv, "conformance-noop", NULL));
    rx = receiver_start(0);
    EXPECT_FOUND(ROWS);
}

Test(verify_rows, of_sealed_values /* OBS-71, CHAN-24 */) {
    static const char *const ROWS[] = {
        "DELETE FROM sealed WHERE seq >= 0",
        "DELETE FROM sealed WHERE seq = -1",
        "DELETE FROM sealed WHERE seq <= -16",
        "UPDATE sealed SET run_no = 77",
        "UPDATE sealed SET seq = seq + 1 WHERE seq >= 0",
        "UPDATE sealed SET seq = seq - 1 WHERE seq <= -16",
        "UPDATE sealed SET key_no = 99",
        "UPDATE sealed SET box = zeroblob(length(box)) WHERE seq >= 0",
        "UPDATE sealed SET box = zeroblob(length(box)) WHERE seq = -1",
        "UPDATE sealed SET box = zeroblob(length(box)) WHERE seq <= -16",
        "UPDATE sealed SET box = substr(box, 1, length(box) - 1) WHERE seq >= 0",
        "UPDATE sealed SET box = (SELECT s.box FROM sealed s WHERE s.seq >= 0) WHERE seq = -1",
        "INSERT INTO sealed SELECT run_no, 1, key_no, box FROM sealed WHERE seq = -1",
        "INSERT INTO sealed SELECT run_no, -400, key_no, box FROM sealed WHERE seq = -1",
        "INSERT INTO sealed_rests VALUES (77)",
        "DELETE FROM seal_keys",
        "UPDATE seal_keys SET wrapped = zeroblob(length(wrapped))",
    };
    serve("acme.a");
    put("secret",
        NODE("s", "core.setVariable",
             "\"value\":{\"type\":\"variable\",\"variableName\":\"k\"}") "," NODE("n", "acme.a",
                                                                                  "\"v\":{\"type\":"
                                                                                  "\"variable\","
                                                                                  "\"variableName\""
                                                                                  ":\"k\"}"),
        "{\"name\":\"k\",\"type\":\"string\",\"sensitive\":true},"
        "{\"name\":\"v\",\"type\":\"string\",\"sensitive\":true}");
    const char *run = create_run(&sv, "secret", "\"inputs\":{\"k\":\"CANARY-verify-rows\"}");
    wait_status(&sv, run, "running");
    for (int64_t end = now_ms() + WAIT_MS; now_ms() < end; nap_ms(20))
        if (strstr(types_of(events_of(&sv, run)).p, "node.completed:s")) break;
    EXPECT_FOUND(ROWS);
}

Test(verify_rows, of_memory /* MEM-7, MEM-12 */) {
#define KEY          "(SELECT max(key_no) FROM seal_keys)"
#define COUNTED      "INSERT INTO memory_usage VALUES ('t', 0, 'r', 1, 9), ('t', 0, '', 1, 9); "
#define ENTRY(times) "INSERT INTO memory_entries VALUES (1, 't', 0, 'r', 'e', 1, " times
    static const char *const ROWS[] = {
        COUNTED ENTRY("5, NULL, NULL, " KEY ", zeroblob(60), 9)"), /* found by opening it alone */
        COUNTED ENTRY("5, 6, NULL, 99, zeroblob(60), 9)"),
        COUNTED ENTRY("5, 5, NULL, " KEY ", zeroblob(60), 9)"),
        ENTRY("5, 6, NULL, " KEY ", zeroblob(60), 9)"),
        "INSERT INTO memory_usage VALUES ('t', 0, 'r', 1, 9)",
    };
    EXPECT_FOUND(ROWS);
}

/* An open task whose row was lost, or is held though its run goes on, follows from the log. */
Test(verify_rows, a_lost_row_of_an_open_task_is_made_again) {
    static const char *const LOSE[] = {"DELETE FROM worker_tasks",
                                       "UPDATE worker_tasks SET state = 2"};
    serve("acme.a");
    put("one", NODE("n", "acme.a", ""), "");
    for (size_t i = 0; i < 2; i++) {
        const char *run = create_run(&sv, "one", NULL);
        wait_status(&sv, run, "running");
        cr_assert_eq(server_stop(&sv), 0);
        sqlite3 *db = opened();
        cr_assert_eq(sqlite3_exec(db, LOSE[i], NULL, NULL, NULL), 0);
        sqlite3_close(db);
        server_again(&sv);
        struct json_elements l = {.n = 0};
        for (int64_t end = now_ms() + WAIT_MS; l.n == 0 && now_ms() < end;)
            l = elements_of(at(
                post("/v1/host/wopr/tasks:claim", "{\"types\":[\"acme.a\"],\"waitMs\":1000}", 200)
                    .body,
                "tasks"));
        cr_assert_eq(l.n, 1u, "%s", LOSE[i]);
        post(fmt("/v1/host/wopr/tasks/" STR_FMT ":complete", STR_ARG(text_at(l.v[0], "taskId"))),
             fmt("{\"epoch\":%lld,\"output\":{}}", (long long)int_at(l.v[0], "epoch")), 200);
        cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    }
}
