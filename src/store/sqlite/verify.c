/*
 * verify.c: the physical part of 'wopr verify'. Reads only; every finding is reported, none stops
 * the walk.
 */
#include "store/admin.h"
#include "store/sqlite/sql.h"

#include <stdarg.h>
#include <stdio.h>

struct walk {
    struct store *s;
    struct conn *c;
    void (*report)(void *ctx, const struct store_finding *f);
    void *ctx;
    struct wopr_error *err;
};

__attribute__((format(printf, 5, 6))) static void finding_report(const struct walk *w,
                                                                 int64_t run_no, struct str run_id,
                                                                 const char *what, const char *fmt,
                                                                 ...) {
    struct store_finding f = {.run_no = run_no, .run_id = run_id, .what = what};
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(f.text, sizeof f.text, fmt, ap);
    va_end(ap);
    w->report(w->ctx, &f);
}

static const char *col_z(sqlite3_stmt *st, int i) {
    const char *p = (const char *)sqlite3_column_text(st, i);
    return p ? p : "";
}

/* A PRAGMA that answers with rows of problems. */
static int walk_pragma(const struct walk *w, const char *sql, const char *what, const char *good) {
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(w->c->db, sql, -1, &st, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const char *text = col_z(st, 0);
        if (!good || strcmp(text, good) != 0) finding_report(w, 0, STR_NONE, what, "%s", text);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(st);
    if (rc == SQLITE_DONE) return 0;
    if (sql_neutral(rc) != WOPR_E_CORRUPT) return conn_fail(w->c, rc, w->err);
    finding_report(w, 0, STR_NONE, what, "%s", sqlite3_errstr(rc)); /* too damaged to continue */
    return 0;
}

struct log_facts { /* one row of VERIFY_LOGS */
    int64_t run_no, status, next_seq, n, first, last, terminals, terminal_seq, terminal_kind;
    int64_t own; /* the first sequence that is not inherited */
    struct str run_id;
};

static void log_check(const struct walk *w, const struct log_facts *f) {
    bool final = f->status >= STORE_FINAL_STATUS;
    int64_t end = f->n > 0 ? f->last + 1 : f->own;
    if (f->n > 0 && (f->first != f->own || f->last - f->first != f->n - 1))
        finding_report(w, f->run_no, f->run_id, "hole",
                       "%lld events cover sequences %lld to %lld; its own begin with %lld (EVT-2)",
                       (long long)f->n, (long long)f->first, (long long)f->last, (long long)f->own);
    if (f->next_seq != end)
        finding_report(w, f->run_no, f->run_id, "next_seq",
                       "the run expects %lld next, its log ends before %lld",
                       (long long)f->next_seq, (long long)end);
    if (f->terminals > 1)
        finding_report(w, f->run_no, f->run_id, "terminal", "%lld terminal events (EVT-7)",
                       (long long)f->terminals);
    if (f->terminals == 1 && f->terminal_seq != f->last)
        finding_report(w, f->run_no, f->run_id, "terminal",
                       "terminal event %lld is not the last, %lld (EVT-7)",
                       (long long)f->terminal_seq, (long long)f->last);
    if (final != (f->terminals > 0))
        finding_report(w, f->run_no, f->run_id, "status",
                       final ? "finished without a terminal event"
                             : "a terminal event, but not finished");
    else if (final && f->terminals == 1 &&
             f->status - STORE_FINAL_STATUS != f->terminal_kind - EV_RUN_COMPLETED)
        finding_report(w, f->run_no, f->run_id, "status", "status and terminal event do not agree");
}

static int walk_logs(const struct walk *w) {
    struct query q;
    int rc;
    query_begin(&q, w->c, SQL_VERIFY_LOGS);
    while ((rc = query_step(&q, w->err)) == 1) {
        struct log_facts f = {.run_no = col_int(&q, 0),
                              .run_id = str_c(col_z(q.st, 1)),
                              .status = col_int(&q, 2),
                              .next_seq = col_int(&q, 3),
                              .n = col_int(&q, 4),
                              .first = col_int(&q, 5),
                              .last = col_int(&q, 6),
                              .terminals = col_int(&q, 7),
                              .terminal_seq = col_int(&q, 8),
                              .terminal_kind = col_int(&q, 9),
                              .own = col_int(&q, 10)};
        log_check(w, &f);
    }
    return rc;
}

/* Everything that forks refer to exists, and retention keeps no more than that for them. */
static int walk_references(const struct walk *w) {
    struct query q;
    int rc;
    query_begin(&q, w->c, SQL_VERIFY_PREFIXES);
    while ((rc = query_step(&q, w->err)) == 1)
        finding_report(w, col_int(&q, 0), str_c(col_z(q.st, 1)), "reference", "%s", col_z(q.st, 2));
    if (rc != 0) return rc;
    query_begin(&q, w->c, SQL_VERIFY_BURIALS);
    while ((rc = query_step(&q, w->err)) == 1)
        finding_report(w, col_int(&q, 0), STR_NONE, "removal", "run number %lld: %s",
                       (long long)col_int(&q, 0), col_z(q.st, 1));
    return rc;
}

static int walk_orphans(const struct walk *w) {
    struct query q;
    int rc;
    query_begin(&q, w->c, SQL_VERIFY_ORPHANS);
    while ((rc = query_step(&q, w->err)) == 1)
        finding_report(w, col_int(&q, 1), STR_NONE, "orphan", "rows without those they need: %s",
                       col_z(q.st, 0));
    if (rc != 0) return rc;
    query_begin(&q, w->c, SQL_VERIFY_USAGE);
    while ((rc = query_step(&q, w->err)) == 1)
        finding_report(w, 0, STR_NONE, "usage", "what tenant %s takes does not match its runs",
                       col_z(q.st, 0));
    if (rc != 0) return rc;
    query_begin(&q, w->c, SQL_VERIFY_TASK_COUNTS);
    while ((rc = query_step(&q, w->err)) == 1)
        finding_report(w, 0, STR_NONE, "tasks", "the counts of type %s do not match its tasks",
                       col_z(q.st, 2));
    if (rc != 0) return rc;
    query_begin(&q, w->c, SQL_VERIFY_WORKFLOWS);
    while ((rc = query_step(&q, w->err)) == 1)
        finding_report(w, 0, STR_NONE, "workflows",
                       "versions of workflows of tenant %s do not match what is current, or its "
                       "bytes",
                       col_z(q.st, 0));
    if (rc != 0) return rc;
    query_begin(&q, w->c, SQL_VERIFY_COUNTERS);
    rc = query_step(&q, w->err);
    if (rc == 0 || (rc == 1 && col_int(&q, 0) == 0))
        finding_report(w, 0, STR_NONE, "counters", "the row of counters does not match the tables");
    query_end(&q);
    return rc < 0 ? rc : 0;
}

/* Ended runs have no timers, and the next run gets a new number. */
static int walk_leftovers(const struct walk *w) {
    struct query q;
    int rc;
    query_begin(&q, w->c, SQL_VERIFY_TIMERS);
    while ((rc = query_step(&q, w->err)) == 1)
        finding_report(w, col_int(&q, 0), str_c(col_z(q.st, 1)), "timers", "the run has ended");
    if (rc != 0) return rc;
    query_begin(&q, w->c, SQL_VERIFY_SEALED);
    while ((rc = query_step(&q, w->err)) == 1)
        finding_report(w, col_int(&q, 0), str_c(col_z(q.st, 1)), "sealed values", "%s",
                       col_z(q.st, 2));
    if (rc != 0) return rc;
    query_begin(&q, w->c, SQL_VERIFY_SEALED_LOG);
    while ((rc = query_step(&q, w->err)) == 1)
        finding_report(w, col_int(&q, 0), str_c(col_z(q.st, 1)), "sealed values", "%s",
                       col_z(q.st, 2));
    if (rc != 0) return rc;
    query_begin(&q, w->c, SQL_VERIFY_NUMBERS);
    rc = query_step(&q, w->err);
    if (rc == 1 && col_int(&q, 0) == 0)
        finding_report(w, 0, STR_NONE, "numbers", "run numbers would be given a second time");
    query_end(&q);
    return rc < 0 ? rc : 0;
}

/* Each row of these statements is a finding: run number or 0, an id, what is wrong. */
static int walk_facts(const struct walk *w) {
    static const struct {
        enum stmt_id id;
        const char *what;
    } FACTS[] = {{SQL_VERIFY_TASKS, "tasks"},       {SQL_VERIFY_LINEAGES, "lineage"},
                 {SQL_VERIFY_HOOKS, "webhooks"},    {SQL_VERIFY_CREDENTIALS, "credentials"},
                 {SQL_VERIFY_MEMORY, "memory"},     {SQL_VERIFY_MEMORY_USAGE, "memory"},
                 {SQL_VERIFY_AGENT_SETS, "agents"}, {SQL_VERIFY_AGENT_USAGE, "agents"},
                 {SQL_VERIFY_PACKS, "packs"},       {SQL_VERIFY_SESSIONS, "sessions"}};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof FACTS / sizeof *FACTS; i++) {
        struct query q;
        query_begin(&q, w->c, FACTS[i].id);
        while ((rc = query_step(&q, w->err)) == 1)
            finding_report(w, col_int(&q, 0), str_c(col_z(q.st, 1)), FACTS[i].what, "%s",
                           col_z(q.st, 2));
    }
    return rc;
}

/* No damage: what an older program removed without a word about it. */
static int walk_guessed(const struct walk *w) {
    struct query q;
    int rc;
    query_begin(&q, w->c, SQL_VERIFY_GUESSED);
    while ((rc = query_step(&q, w->err)) == 1) {
        struct store_finding f = {.run_no = col_int(&q, 0),
                                  .run_id = str_c(col_z(q.st, 1)),
                                  .what = "note",
                                  .is_note = true,
                                  .text = "an older program removed this fork and kept nothing of"
                                          " where it was cut from; replays of its forks may say"
                                          " that they diverge"};
        w->report(w->ctx, &f);
    }
    return rc;
}

/* Every trigger, index and table exists with the text that the migrations gave it. */
static int walk_schema(const struct walk *w) {
    sqlite3 *ref = NULL;
    sqlite3_stmt *want = NULL, *have = NULL;
    int rc = sqlite3_open_v2(":memory:", &ref, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK && schema_create(ref, w->err) != 0) rc = SQLITE_ERROR;
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(ref,
                                "SELECT type, name, sql FROM sqlite_schema WHERE sql NOT NULL"
                                " AND name NOT LIKE 'sqlite%'",
                                -1, &want, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(w->c->db,
                                "SELECT 1 FROM sqlite_schema WHERE type = ? AND name = ?"
                                " AND sql = ?",
                                -1, &have, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(want)) == SQLITE_ROW) {
        for (int i = 0; i < 3; i++)
            sqlite3_bind_text(have, i + 1, col_z(want, i), -1, SQLITE_STATIC);
        if (sqlite3_step(have) != SQLITE_ROW)
            finding_report(w, 0, STR_NONE, "schema", "%s %s is missing or changed", col_z(want, 0),
                           col_z(want, 1));
        sqlite3_reset(have);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(want);
    sqlite3_finalize(have);
    sqlite3_close(ref);
    return rc == SQLITE_DONE ? 0 : conn_fail(w->c, rc, w->err);
}

static int walk_pages(const struct walk *w) {
    return walk_pragma(w, "PRAGMA integrity_check", "integrity", "ok");
}

static int walk_foreign_keys(const struct walk *w) {
    return walk_pragma(w, "PRAGMA foreign_key_check", "foreign key", NULL);
}

/* One that meets what cannot be read is a finding and stops none of the others. */
static int walk_each(const struct walk *w) {
    static const struct {
        int (*walk)(const struct walk *w);
        const char *what;
    } WALKS[] = {{walk_pages, "integrity"},      {walk_foreign_keys, "foreign key"},
                 {walk_schema, "schema"},        {walk_logs, "logs"},
                 {walk_references, "reference"}, {walk_orphans, "orphan"},
                 {walk_leftovers, "leftovers"},  {walk_facts, "facts"},
                 {walk_guessed, "lineage"}};
    for (size_t i = 0; i < sizeof WALKS / sizeof *WALKS; i++) {
        int rc = WALKS[i].walk(w);
        if (rc != 0 && wopr_err_class(rc) == ERR_RETRY) return rc;
        if (rc != 0)
            finding_report(w, 0, STR_NONE, WALKS[i].what, "this check cannot be finished: %s",
                           w->err->message);
    }
    return 0;
}

int store_verify(struct store *s, void (*report)(void *ctx, const struct store_finding *f),
                 void *ctx, struct wopr_error *err) {
    struct walk w = {.s = s, .report = report, .ctx = ctx, .err = err};
    int rc = conn_reader(s, &w.c, err);
    return rc == 0 ? walk_each(&w) : rc;
}
