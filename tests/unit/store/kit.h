/*
 * kit.h: a database in a folder of its own and plans built by hand, for the tests of store/ and
 * log/.
 */
#ifndef WOPR_TESTS_STORE_KIT_H
#define WOPR_TESTS_STORE_KIT_H

#include "base/clock.h"
#include "store/admin.h"
#include "store/append.h"
#include "store/events.h"
#include "store/sqlite/sqlite.h"
#include "store/upkeep.h"
#include "support/folder.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KIT_TENANT STR("tenant-a")
#define KIT_UNUSED __attribute__((unused))

struct kit {
    char dir[256], path[300];
    struct store *s;
    struct arena *a;
    struct wopr_error err;
};

KIT_UNUSED static struct store_config kit_config(struct kit *k) {
    return (struct store_config){.path = k->path, .sync = STORE_SYNC_OFF};
}
KIT_UNUSED static void kit_dir(struct kit *k) {
    memset(k, 0, sizeof *k);
    cr_assert(folder_make(k->dir, sizeof k->dir, "store"));
    snprintf(k->path, sizeof k->path, "%s/w.db", k->dir);
    k->a = arena_new(64u << 20);
    cr_assert_not_null(k->a);
}
KIT_UNUSED static void kit_open(struct kit *k) {
    struct store_config cfg = kit_config(k);
    int rc = store_open(&cfg, &k->s, &k->err);
    cr_assert_eq(rc, 0, "%s", k->err.message);
}
/* A second store on the same file: another process, or the command line beside a host. */
KIT_UNUSED static struct store *kit_other(struct kit *k) {
    struct store_config cfg = kit_config(k);
    struct store *other;
    cr_assert_eq(store_open(&cfg, &other, &k->err), 0, "%s", k->err.message);
    return other;
}
KIT_UNUSED static void kit_up(struct kit *k) {
    kit_dir(k);
    kit_open(k);
}
KIT_UNUSED static void kit_close(struct kit *k) {
    store_close(k->s);
    k->s = NULL;
}
KIT_UNUSED static void kit_down(struct kit *k) {
    kit_close(k);
    arena_free(k->a);
    DIR *d = opendir(k->dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char name[600];
        snprintf(name, sizeof name, "%s/%s", k->dir, e->d_name);
        if (e->d_name[0] != '.') unlink(name);
    }
    if (d) closedir(d);
    rmdir(k->dir);
}

/* n events from base_seq; the last is run.completed when ends. */
KIT_UNUSED static void kit_events(struct plan *p, size_t n, bool ends, size_t payload_n) {
    char *text = arena_alloc(p->arena, payload_n + 16);
    memset(text, 'x', payload_n + 16);
    memcpy(text, "{\"k\":\"", 6);
    size_t len = payload_n < 8 ? 8 : payload_n;
    memcpy(text + len - 2, "\"}", 2);
    p->events = ARENA_ARRAY(p->arena, struct event, n ? n : 1);
    p->events_nr = p->events_cap = n;
    for (size_t i = 0; i < n; i++)
        p->events[i] =
            (struct event){.seq = p->base_seq + (int64_t)i,
                           .kind = ends && i + 1 == n ? EV_RUN_COMPLETED : EV_LOG_APPENDED,
                           .node_id = STR("n1"),
                           .causation_seq = -1,
                           .ts_ms = 1700000000000 + p->base_seq + (int64_t)i,
                           .schema_version = 1,
                           .engine_version = 1,
                           .payload = str_n(text, len)};
    for (size_t i = 0; i < n; i++) p->events[i].type = str_c(event_name(p->events[i].kind));
}
KIT_UNUSED static struct plan *kit_create(const char *run_id, size_t events) {
    struct plan *p = plan_new();
    cr_assert_not_null(p);
    p->what = PLAN_CREATE;
    p->run_id = arena_str(p->arena, str_c(run_id));
    p->epoch = 1;
    p->create = ARENA_NEW(p->arena, struct run_row_new);
    p->create->meta = (struct run_meta){.run_id = p->run_id,
                                        .workflow_id = STR("wf"),
                                        .tenant = KIT_TENANT,
                                        .workspace = STR("ws"),
                                        .subject = STR("{\"kind\":\"service\"}"),
                                        .inputs = STR("{\"a\":1}"),
                                        .tags = STR("[\"blue\",\"t2\"]"),
                                        .transport = STR("rest"),
                                        .shown_engine_version = 1,
                                        .created_ms = 1700000000000,
                                        .recursion_limit = 25};
    p->create->holder = STR("host-1");
    p->create->lease_until_ms = 1000;
    kit_events(p, events, false, 40);
    return p;
}
KIT_UNUSED static struct plan *kit_append(int64_t run_no, int64_t base, size_t events, bool ends) {
    struct plan *p = plan_new();
    cr_assert_not_null(p);
    p->what = PLAN_RUN;
    p->run_no = run_no;
    p->base_seq = base;
    p->epoch = 1;
    if (ends) {
        p->has_update = true;
        p->update = (struct run_row_update){.status = RUN_COMPLETED,
                                            .started_ms = 5,
                                            .completed_ms = 1700000000500,
                                            .outputs = STR("{}")};
    }
    kit_events(p, events, ends, 40);
    return p;
}
/* A fork at a cut, with no rows but its own. */
KIT_UNUSED static struct plan *kit_fork(const char *run_id, int64_t source_no, const char *source,
                                        int64_t cut) {
    struct plan *p = kit_create(run_id, 0);
    struct plan_fork *f = p->create->fork = ARENA_NEW(p->arena, struct plan_fork);
    *f = (struct plan_fork){.link = {.mode = FORK_REPLAY,
                                     .source_run_id = arena_str(p->arena, str_c(source)),
                                     .source_run_no = source_no,
                                     .from_seq = cut,
                                     .base_seq = cut,
                                     .cut_ms = 77},
                            .prefix_bytes = 100 * cut};
    p->base_seq = cut;
    p->has_update = true;
    p->update = (struct run_row_update){.status = RUN_RUNNING, .started_ms = 5};
    return p;
}
/* Apply one plan and give it back; the outcome. */
KIT_UNUSED static int kit_apply(struct kit *k, struct plan *p) {
    int rc = WOPR_E_INTERNAL;
    int all = store_apply(k->s, &p, 1, &rc, &k->err);
    cr_assert(all == 0 || all == rc);
    plan_unref(p);
    return rc;
}
/* A fresh run with events in its log; its number. */
KIT_UNUSED static int64_t kit_run(struct kit *k, const char *run_id, size_t events) {
    struct plan *p = plan_ref(kit_create(run_id, events));
    int rc = kit_apply(k, p);
    cr_assert_eq(rc, 0, "%s: %s", wopr_err_name(rc), k->err.message);
    int64_t no = p->run_no;
    plan_unref(p);
    cr_assert_gt(no, 0);
    return no;
}
KIT_UNUSED static int64_t kit_count_events(struct kit *k, int64_t run_no) {
    struct event_list l;
    int64_t n = 0;
    do {
        arena_reset(k->a);
        int rc = store_events(k->s, run_no, n, 1000, 1u << 30, k->a, &l, &k->err);
        cr_assert_eq(rc, 0, "%s", k->err.message);
        for (size_t i = 0; i < l.n; i++) cr_assert_eq(l.v[i].seq, n + (int64_t)i);
        n += (int64_t)l.n;
    } while (l.n > 0);
    return n;
}
KIT_UNUSED static void kit_finding(void *ctx, const struct store_finding *f) {
    *(int *)ctx += !f->is_note;
}
/* SQL by a program that opens the file and knows nothing of us; what it leaves open is rolled back.
 */
KIT_UNUSED static int kit_foreign(struct kit *k, const char *sql) {
    sqlite3 *db;
    cr_assert_eq(sqlite3_open_v2(k->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, "PRAGMA recursive_triggers = ON", NULL, NULL, NULL), SQLITE_OK);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    sqlite3_close(db);
    return rc;
}
/* The number that a query of the same kind gives. */
KIT_UNUSED static int64_t kit_number(struct kit *k, const char *sql) {
    sqlite3 *db;
    sqlite3_stmt *st = NULL;
    cr_assert_eq(sqlite3_open_v2(k->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    cr_assert_eq(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_eq(sqlite3_step(st), SQLITE_ROW);
    int64_t n = sqlite3_column_int64(st, 0);
    sqlite3_finalize(st);
    sqlite3_close(db);
    return n;
}
/* Retention to its end, at most max runs: a call ends when its time is over. */
KIT_UNUSED static int64_t kit_purge(struct kit *k, int64_t before_ms, int64_t now_ms,
                                    unsigned max) {
    int64_t n, all = 0;
    bool more = true;
    while (more && all < max) {
        cr_assert_eq(store_purge_runs(k->s, before_ms, now_ms, max, &n, &more, &k->err), 0, "%s",
                     k->err.message);
        all += n;
    }
    return all;
}

/* Number of findings of a verification. */
KIT_UNUSED static int kit_verify(struct kit *k) {
    int n = 0;
    int rc = store_verify(k->s, kit_finding, &n, &k->err);
    cr_assert_eq(rc, 0, "%s", k->err.message);
    return n;
}

#endif
