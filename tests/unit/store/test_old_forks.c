/*
 * test_old_forks.c: migration 0013 on files of schema version 12 (STORE-15): forks with copies of
 * their prefixes stay as they are, half-made ones go, removals go on, artifacts learn their events.
 */
#include "domain/event.h"
#include "store/runs.h"
#include "store/upkeep.h"
#include "unit/store/kit.h"
#include "unit/store/kit_old.h"

static struct kit w;
static void up(void) { kit_up(&w); }
static void down(void) { kit_down(&w); }
TestSuite(store_old_forks, .init = up, .fini = down);

/* Run 1 has six events, of which two tell of artifacts. */
static void source_make(void) {
    static const char *const payloads[] = {"{\"artifactId\":\"x\"}", "{\"artifactId\":\"y\"}"};
    int64_t no = kit_run(&w, "run_source", 2);
    struct plan *p = kit_append(no, 2, 4, false);
    for (int i = 0; i < 2; i++) {
        struct str id = json_string(json_get(str_c(payloads[i]), "artifactId"), p->arena);
        const struct plan_artifact art = {
            .artifact_id = id, .artifact_type = STR("t"), .body = STR("{\"a\":\"0123456789\"}")};
        p->events[2 * i].kind = EV_ARTIFACT_CREATED;
        p->events[2 * i].payload = str_c(payloads[i]);
        plan_artifact(p, &art);
    }
    cr_assert_eq(kit_apply(&w, p), 0);
    cr_assert_eq(no, 1);
}

/* As version 12 wrote a copy of run 1 before sequence 5: whole, half made, being removed. */
static void copy_make(int no, const char *tenant, int status) {
    char sql[2400];
    snprintf(
        sql, sizeof sql,
        "BEGIN; INSERT INTO runs SELECT %d, 'run_' || %d, '%s', test_mode, workflow_id, scope_id,"
        " era, engine_version, shown_engine_version, 1, created_ms, NULL, 1, NULL, 1, 5,"
        " current_node, started_ms, iif(%d >= 7, 5, NULL), paused_ms, error, outputs, agent,"
        " (SELECT sum(64 + length(payload) + ifnull(length(node_id), 0)) FROM events"
        "  WHERE run_no = 1 AND seq < 5) FROM runs WHERE run_no = 1;"
        "INSERT INTO run_origins (run_no, workspace, workflow_hash, recursion_limit, fork_run_id,"
        " fork_seq, fork_mode, fork_run_no, fork_base) SELECT %d, workspace, workflow_hash,"
        " recursion_limit, 'run_source', 5, 1, 1, 6 FROM run_origins WHERE run_no = 1;"
        "INSERT INTO events SELECT %d, seq, kind, ts, node_id, causation_seq, schema_version,"
        " engine_version, 1, type, payload FROM events WHERE run_no = 1 AND seq < 5;"
        "INSERT INTO artifacts SELECT %d, artifact_id, artifact_type, node_id, version, summary,"
        " body, created_ms FROM artifacts WHERE run_no = 1;"
        "INSERT INTO node_states VALUES (%d, 'n', '{}');"
        "UPDATE runs SET status = %d WHERE run_no = %d;"
        "UPDATE counters SET runs = runs + 1, runs_open = runs_open + (%d < 7), events = events + "
        "5;"
        "UPDATE tenant_usage SET runs = runs + 1, runs_open = runs_open + 1, bytes = bytes +"
        " (SELECT log_bytes FROM runs WHERE run_no = %d) WHERE tenant = '%s'; COMMIT",
        no, no, tenant, status, no, no, no, no, status, no, status, no, tenant);
    cr_assert_eq(kit_foreign(&w, sql), SQLITE_OK);
}

Test(store_old_forks, a_file_of_version_12_is_read_as_it_is) {
    struct store_counts n;
    struct event_list l;
    struct tenant_usage u;
    source_make();
    kit_close(&w);
    kit_old(&w, 12);
    copy_make(2, "tenant-a", 1);
    copy_make(3, "", 1); /* half made */
    copy_make(4, "", 7); /* being removed */
    kit_open(&w);
    cr_assert_eq(store_count(w.s, &n, &w.err), 0);
    cr_expect(n.runs == 3 && n.runs_open == 2, "the half-made one is gone");
    cr_expect_eq(kit_count_events(&w, 2), 5);
    cr_expect_eq(kit_count_events(&w, 3), 0);
    cr_assert_eq(store_events(w.s, 2, 0, 9, 1 << 20, w.a, &l, &w.err), 0);
    cr_expect_eq(l.v[4].flags, EVENT_INHERITED);
    cr_expect_eq(kit_purge(&w, 0, 1, 100), 1, "the removal goes on");
    cr_assert_eq(store_tenant_usage(w.s, KIT_TENANT, &u, &w.err), 0);
    cr_expect_eq(u.runs, 2);
    cr_expect_eq(kit_verify(&w), 0);
    /* forks of the copy refer to it, and get the artifacts told before their cuts */
    cr_assert_eq(kit_apply(&w, kit_fork("run_f", 2, "run_2", 4)), 0);
    cr_expect_eq(kit_count_events(&w, 5), 4);
    struct plan_artifact art;
    cr_expect_eq(
        store_artifact_get(w.s, KIT_TENANT, false, STR("run_f"), STR("x"), w.a, &art, &w.err), 0);
    cr_expect_eq(
        store_artifact_get(w.s, KIT_TENANT, false, STR("run_f"), STR("y"), w.a, &art, &w.err),
        WOPR_E_NOT_FOUND);
    cr_expect_eq(kit_verify(&w), 0);
}
