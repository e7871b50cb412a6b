/*
 * What a cut in the middle could leave without WAL recovery: rows and pages changed behind our
 * back.  host_verify ('wopr verify') finds each of them.  The triggers are taken away for the
 * change and put back with their text, so that only the damage is left to be found.
 */
#include "faults/world.h"

#include "base/buf.h"
#include "base/clock.h"
#include "store/upkeep.h"
#include "support/sampled.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENDED_EVENTS = 14, TRIGGERS_MAX = 16, PAGE = 4096 };

static void prepare(void) {
    world_up();
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    cr_assert_eq(world_workflow(), 0, "%s", W.err.message);
    world_runs(1, STEPS); /* run 1 has ended, 2 and 3 are open */
    world_runs(1, 3);
    world_runs(1, 4);
    cr_assert_eq(world_findings(true), 0);
    world_close();
    world_save();
}

TestSuite(damage, .init = prepare, .fini = world_down, .timeout = 600);

/* ------------------------------------------------------------------------------ rows */
struct trigger {
    char *name, *sql;
};

static void exec(sqlite3 *db, const char *sql) {
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), 0, "%s: %s", sql, sqlite3_errmsg(db));
}

static size_t triggers_away(sqlite3 *db, struct trigger *v) {
    size_t n = 0;
    sqlite3_stmt *st = NULL;
    cr_assert_eq(sqlite3_prepare_v2(db,
                                    "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'",
                                    -1, &st, NULL),
                 0);
    while (sqlite3_step(st) == SQLITE_ROW && n < TRIGGERS_MAX) {
        v[n].name = sqlite3_mprintf("DROP TRIGGER %s", sqlite3_column_text(st, 0));
        v[n++].sql = sqlite3_mprintf("%s", sqlite3_column_text(st, 1));
    }
    sqlite3_finalize(st);
    for (size_t i = 0; i < n; i++) exec(db, v[i].name);
    return n;
}

/* true when the statement changed anything. */
static bool damage(const char *sql) {
    sqlite3 *db = NULL;
    struct trigger v[TRIGGERS_MAX];
    world_load();
    cr_assert_eq(sqlite3_open(W.path, &db), 0);
    exec(db, "PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints "
             "= ON");
    size_t n = triggers_away(db, v);
    int rc = sqlite3_exec(db, sql, NULL, NULL, NULL);
    cr_assert(rc == 0 || rc == SQLITE_CONSTRAINT, "%s: %s", sql, sqlite3_errmsg(db));
    bool changed = rc == 0 && sqlite3_changes(db) > 0;
    for (size_t i = 0; i < n; i++) {
        exec(db, v[i].sql);
        sqlite3_free(v[i].name);
        sqlite3_free(v[i].sql);
    }
    cr_assert_eq(sqlite3_close(db), 0);
    return changed;
}

/* A start that refuses the file as damaged has found it too. */
static bool found(void) {
    int rc = world_open();
    cr_assert(rc == 0 || rc == WOPR_E_CORRUPT, "%s: %s", wopr_err_name(rc), W.err.message);
    bool seen = rc != 0;
    if (rc == 0) {
        int64_t n = world_findings(false);
        seen = n > 0 || (n < 0 && W.err.code == WOPR_E_CORRUPT);
    }
    world_close();
    return seen;
}

static void expect_found(const char *sql) {
    cr_assert(damage(sql), "changed nothing: %s", sql);
    cr_expect(found(), "not found: %s", sql);
}

Test(damage, every_changed_row_of_a_projection_is_found /* EVT-41, EVT-44 */) {
    static const char *const rows[] = {
        "UPDATE runs SET status = 8 WHERE run_no = 1",
        "UPDATE runs SET status = 1 WHERE run_no = 1",
        "UPDATE runs SET status = 7 WHERE run_no = 2",
        "UPDATE runs SET status = 0 WHERE run_no = 2",
        "UPDATE runs SET next_seq = next_seq + 1 WHERE run_no = 1",
        "UPDATE runs SET next_seq = next_seq - 1 WHERE run_no = 2",
        "UPDATE runs SET next_seq = 0 WHERE run_no = 3",
        "UPDATE runs SET outputs = '{}' WHERE run_no = 1",
        "UPDATE runs SET outputs = NULL WHERE run_no = 1",
        "UPDATE runs SET error = '{\"code\":\"x\",\"message\":\"y\"}' WHERE run_no = 1",
        "UPDATE runs SET current_node = 'a' WHERE run_no = 3",
        "UPDATE runs SET started_ms = started_ms + 1 WHERE run_no = 1",
        "UPDATE runs SET started_ms = NULL WHERE run_no = 2",
        "UPDATE runs SET completed_ms = completed_ms + 1 WHERE run_no = 1",
        "UPDATE runs SET completed_ms = NULL WHERE run_no = 1",
        "UPDATE runs SET completed_ms = 5 WHERE run_no = 2",
        "UPDATE runs SET workflow_id = 'other' WHERE run_no = 2",
        "DELETE FROM runs WHERE run_no = 1",
        "DELETE FROM runs WHERE run_no = 3",
        "DELETE FROM run_origins WHERE run_no = 1",
        "UPDATE run_origins SET workflow_hash = zeroblob(32) WHERE run_no = 1",
        "DELETE FROM workflow_texts",
        "UPDATE workflow_texts SET text = substr(text, 1, 100)",
        "UPDATE workflow_texts SET text = replace(text, '\"name\":\"b\"', '\"name\":\"q\"')",
        "UPDATE node_states SET state = replace(state, 'completed', 'failed') WHERE run_no = 1",
        "UPDATE node_states SET state = substr(state, 1, 9) WHERE run_no = 2",
        "UPDATE node_states SET node_id = 'z' WHERE run_no = 2 AND node_id = 'a'",
        "DELETE FROM node_states WHERE run_no = 1 AND node_id = 'a'",
        "DELETE FROM node_states WHERE run_no = 3",
        "UPDATE node_states SET run_no = 9 WHERE run_no = 3 AND node_id = 'b'",
        "UPDATE run_vars SET shown = '3' WHERE run_no = 1 AND name = 'x'",
        "UPDATE run_vars SET shown = '\"other\"' WHERE run_no = 1 AND name = 'word'",
        "UPDATE run_vars SET name = 'y' WHERE run_no = 2 AND name = 'x'",
        "DELETE FROM run_vars WHERE run_no = 1 AND name = 'x'",
        "DELETE FROM run_vars WHERE run_no = 2",
        "UPDATE run_vars SET run_no = 9 WHERE run_no = 3",
        "UPDATE run_channels SET value = '8' WHERE run_no = 1 AND name = 'sum'",
        "UPDATE run_channels SET value = '8' WHERE run_no = 1 AND name = 'list' AND seq >= 0",
        "DELETE FROM run_channels WHERE run_no = 1 AND name = 'sum'",
        "DELETE FROM run_channels WHERE run_no = 1 AND name = 'list' AND seq > 6",
        "UPDATE run_channels SET run_no = 9 WHERE run_no = 3",
        "UPDATE timers SET run_no = 9",
        "UPDATE timers SET run_no = 1",
        ("INSERT INTO interrupts (interrupt_id, run_no, node_id, key, kind, payload, requested_ms,"
         " requested_seq) VALUES ('int_1', 2, 'a', 'k', 'custom', '{}', 1, 1)"),
        "UPDATE sqlite_sequence SET seq = 1 WHERE name = 'runs'",
        "DELETE FROM sqlite_sequence",
        "UPDATE tenant_usage SET events = events + 1 WHERE tenant = ''",
        "UPDATE tenant_usage SET runs_open = 0 WHERE tenant = ''",
        "DELETE FROM tenant_usage WHERE tenant = ''",
    };
    struct buf b;
    buf_init(&b, 4096);
    cr_assert(damage("INSERT INTO timers VALUES (2, 1, 'a', 5, 5)"));
    cr_assert_not(found(), "a timer is no damage");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!world_plays((unsigned)i)) continue;
        buf_reset(&b); /* a timer, so that there is one to damage */
        buf_addf(&b, "INSERT INTO timers VALUES (2, 1, 'a', 5, 5); %s", rows[i]);
        expect_found(b.p);
    }
    buf_fini(&b);
}

Test(damage, every_damaged_checkpoint_is_found) {
    static const char *const rows[] = {
        "UPDATE run_checkpoints SET image = substr(image, 1, length(image) - 1) WHERE run_no = 1",
        "UPDATE run_checkpoints SET image = zeroblob(100) WHERE run_no = 2",
        "UPDATE run_checkpoints SET seq = seq - 1 WHERE run_no = 3",
        "UPDATE run_checkpoints SET seq = seq + 1000 WHERE run_no = 1",
        "UPDATE run_checkpoints SET run_no = 9 WHERE run_no = 2",
        ("UPDATE run_checkpoints SET image = (SELECT c.image FROM run_checkpoints c"
         " WHERE c.run_no = 1 ORDER BY c.seq LIMIT 1) WHERE run_no = 3"),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) expect_found(rows[i]);
}

Test(damage, every_damaged_event_is_found /* EVT-2, EVT-3, EVT-7, EVT-12 */) {
    static const char *const changes[] = {
        "UPDATE events SET payload = substr(payload, 1, length(payload) / 2)",
        "UPDATE events SET payload = substr(payload, 1, length(payload) - 1)",
        "UPDATE events SET payload = '[' || substr(payload, 2)",
        "UPDATE events SET payload = '{' || payload",
        "UPDATE events SET payload = replace(payload, '\"', '#')",
        "UPDATE events SET payload = ''",
        "UPDATE events SET payload = '[]'",
        "UPDATE events SET payload = char(1) || payload",
        "UPDATE events SET seq = seq + 100",
        "UPDATE events SET kind = kind + 1",
        "UPDATE events SET kind = kind + 128",
        "UPDATE events SET kind = 200",
        "UPDATE events SET ts = 0",
        "UPDATE events SET ts = ts - 4294967296",
        "UPDATE events SET node_id = 'nobody' WHERE node_id NOT NULL",
        "UPDATE events SET causation_seq = 77",
        "UPDATE events SET schema_version = 0",
        "DELETE FROM events",
        "UPDATE events SET run_no = 9",
        "UPDATE events SET run_no = 3, seq = 50",
    };
    unsigned round = 0;
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        for (int seq = 0; seq < ENDED_EVENTS; seq++) {
            char sql[300];
            if ((round++ + world_today()) % world_pace() != 0)
                continue; /* of each change another event */
            bool where = strstr(changes[i], "WHERE") != NULL;
            snprintf(sql, sizeof sql, "%s %s run_no = 1 AND seq = %d", changes[i],
                     where ? "AND" : "WHERE", seq);
            if (damage(sql)) cr_expect(found(), "not found: %s", sql);
        }
}

Test(damage, lost_and_swapped_tails_are_found) {
    expect_found("DELETE FROM events WHERE run_no = 1 AND seq > 6");
    expect_found("DELETE FROM events WHERE run_no = 1");
    expect_found("DELETE FROM events");
    expect_found("DELETE FROM events WHERE run_no = 2 AND seq = 5");
    expect_found("UPDATE events SET run_no = 10 WHERE run_no = 2;"
                 "UPDATE events SET run_no = 2 WHERE run_no = 3;"
                 "UPDATE events SET run_no = 3 WHERE run_no = 10");
    expect_found("INSERT INTO events SELECT 2, 6, kind, ts, node_id, causation_seq, schema_version,"
                 " engine_version, flags, type, payload FROM events WHERE run_no = 1 AND seq = 13");
}

/* Run 4 is a fork of run 2, 5 of 4, and both have a step of their own; 6 is a fork of run 1. */
static void forks_make(void) {
    world_load();
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    struct world_run *a = world_fork(&W.runs[1], 2), *b, *c;
    cr_assert(a && world_apply(a) == 0, "%s", W.err.message);
    b = world_fork(a, 3);
    c = world_fork(&W.runs[0], 4);
    cr_assert(b && c && world_apply(b) == 0, "%s", W.err.message);
    cr_assert_eq(world_findings(true), 0);
    world_close();
    world_save();
}

Test(damage, damaged_references_are_found /* FORK-9 */) {
    static const char *const rows[] = {
        "DELETE FROM run_prefixes WHERE run_no = 4",
        "DELETE FROM run_prefixes WHERE run_no = 5",
        "DELETE FROM run_prefixes WHERE run_no = 6",
        "UPDATE run_prefixes SET owner_no = 77 WHERE run_no = 4",
        "UPDATE run_prefixes SET owner_no = 3 WHERE run_no = 4",
        "UPDATE run_prefixes SET owner_no = run_no WHERE run_no = 5",
        "UPDATE run_prefixes SET owner_no = 2 WHERE run_no = 5",
        "UPDATE run_prefixes SET jump_no = 3 WHERE run_no = 5",
        "UPDATE run_prefixes SET jump_no = 5 WHERE run_no = 5",
        "UPDATE run_prefixes SET depth = 7 WHERE run_no = 4",
        "UPDATE run_prefixes SET until_seq = until_seq - 1 WHERE run_no = 4",
        "UPDATE run_prefixes SET until_seq = until_seq + 1 WHERE run_no = 5",
        "UPDATE run_prefixes SET until_seq = 500 WHERE run_no = 6",
        "UPDATE run_prefixes SET run_no = 9 WHERE run_no = 6",
        "UPDATE run_origins SET fork_seq = fork_seq - 1 WHERE run_no = 5",
        "UPDATE runs SET tenant = 'tenant-b' WHERE run_no = 4",
        "UPDATE runs SET tenant = '' WHERE run_no = 1",
        "INSERT INTO run_burials VALUES (1, 'tenant-a', 0, 1)",
        "INSERT INTO run_burials VALUES (88, 'tenant-a', 0, 0)",
        "DELETE FROM runs WHERE run_no = 2",
        "DELETE FROM events WHERE run_no = 2 AND seq = 2",
        "DELETE FROM events WHERE run_no = 2",
        "DELETE FROM events WHERE run_no = 4 AND seq >= 0",
        "DELETE FROM events WHERE run_no = 1 AND seq = 7",
        ("INSERT INTO events SELECT 5, seq, kind, ts, node_id, causation_seq, schema_version,"
         " engine_version, 1, type, payload FROM events WHERE run_no = 2 AND seq = 1"),
    };
    forks_make();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (world_plays((unsigned)i)) expect_found(rows[i]);
}

/* Run 1 has ended and is removed; its fork, run 6, keeps a part of it. */
Test(damage, damage_to_what_is_kept_for_forks_is_found /* STORE-44 */) {
    static const char *const rows[] = {
        "DELETE FROM events WHERE run_no = 1 AND seq = 0",
        "DELETE FROM events WHERE run_no = 1 AND seq = 4",
        "DELETE FROM events WHERE run_no = 1",
        "DELETE FROM events WHERE run_no = 1 AND seq = (SELECT max(seq) FROM events"
        " WHERE run_no = 1)",
        "INSERT INTO events SELECT 1, seq + 1, kind, ts, node_id, causation_seq, schema_version,"
        " engine_version, 1, type, payload FROM events WHERE run_no = 1 ORDER BY seq DESC LIMIT 1",
        "DELETE FROM run_burials",
        "UPDATE run_burials SET bytes = bytes + 1",
        "UPDATE run_burials SET run_no = 2",
        "UPDATE run_burials SET tenant = 'tenant-b'",
        "UPDATE runs SET tenant = 'tenant-a' WHERE run_no = 1",
        "DELETE FROM runs WHERE run_no = 1",
    };
    int64_t n = 0, later = clock_wall_ms() + 1000;
    bool more = true;
    forks_make();
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    while (more) cr_assert_eq(store_purge_runs(W.store, later, later, 100, &n, &more, &W.err), 0);
    cr_assert_eq(world_findings(true), 0);
    world_close();
    W.runs_nr = 0;
    world_save();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) expect_found(rows[i]);
}

Test(damage, a_missing_trigger_or_index_is_found) {
    static const char *const objects[] = {"DROP INDEX runs_ended", "DROP INDEX runs_open",
                                          "DROP INDEX idempotency_by_expiry", "DROP TABLE timers",
                                          "DROP TABLE webhook_failures"};
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
        (void)damage(objects[i]);
        cr_expect(found(), "not found: %s", objects[i]);
    }
}

/* ------------------------------------------------------------------------------ pages */
static off_t file_size(void) {
    struct stat st;
    cr_assert_eq(stat(W.path, &st), 0);
    return st.st_size;
}

Test(damage, a_file_cut_at_any_page_is_found) {
    world_load();
    off_t pages = file_size() / PAGE;
    cr_assert_gt(pages, 20);
    for (off_t n = 1; n < pages; n++) {
        if (!world_plays((unsigned)n)) continue;
        world_load();
        cr_assert_eq(truncate(W.path, n * PAGE), 0);
        cr_expect(found(), "%d of %d pages", (int)n, (int)pages);
    }
}

static uint32_t word_at(int fd, off_t at) {
    unsigned char b[4];
    cr_assert_eq(pread(fd, b, sizeof b, at), (ssize_t)sizeof b);
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* A leaf of SQLite's list of free pages (file format, 1.5), of which no byte means anything, or the
 * last trunk of that list without leaves, which begins with zeros already.  Pages
 * count from 1. */
static bool page_holds_nothing(uint32_t page) {
    bool nothing = false;
    int fd = open(W.path, O_RDONLY);
    cr_assert_geq(fd, 0);
    for (uint32_t trunk = word_at(fd, 32); trunk != 0;) {
        off_t at = (off_t)(trunk - 1) * PAGE;
        bool empty = word_at(fd, at) == 0 && word_at(fd, at + 4) == 0;
        nothing = nothing || (trunk == page && empty);
        for (uint32_t i = word_at(fd, at + 4); i > 0; i--)
            nothing = nothing || word_at(fd, at + 4 + 4 * (off_t)i) == page;
        trunk = word_at(fd, at);
    }
    close(fd);
    return nothing;
}

Test(damage, a_page_of_zeros_is_found_wherever_it_is) {
    static const char zeros[PAGE];
    world_load();
    off_t pages = file_size() / PAGE;
    for (off_t n = 1; n < pages; n++) {
        if (!world_plays((unsigned)n)) continue;
        world_load();
        if (page_holds_nothing((uint32_t)n + 1)) continue;
        int fd = open(W.path, O_WRONLY);
        cr_assert(fd >= 0 && pwrite(fd, zeros, PAGE, n * PAGE) == PAGE);
        close(fd);
        cr_expect(found(), "page %d of %d", (int)n + 1, (int)pages);
    }
}

Test(damage, whatever_the_bytes_are_verification_ends_with_a_code) {
    world_load();
    off_t size = file_size();
    for (int i = (int)world_today(); i < 300; i += (int)world_pace()) {
        world_load();
        int fd = open(W.path, O_RDWR);
        cr_assert(fd >= 0);
        for (uint64_t k = 1 + world_chance(8); k > 0; k--) {
            char c;
            off_t at = (off_t)world_chance((uint64_t)size);
            cr_assert_eq(pread(fd, &c, 1, at), 1);
            c = (char)(c ^ (1 << world_chance(8)));
            cr_assert_eq(pwrite(fd, &c, 1, at), 1);
        }
        close(fd);
        int rc = world_open();
        if (rc == 0) (void)world_findings(false); /* a flipped letter of a text is no finding */
        else cr_expect(rc != WOPR_E_INTERNAL && W.err.message[0] != '\0', "%s", W.err.message);
        world_close();
    }
}

/* ------------------------------------------------------------------------------ going on */
static int64_t RUNS_SEEN;
static bool ABOUT_3; /* a finding names run 3 */

static void note(void *ctx, const char *line) {
    ABOUT_3 = ABOUT_3 || strstr(line, (const char *)ctx) != NULL;
}

/* Run 3 is damaged as well, in a way that only its log shows; what is wrong with others before it
 * hides that of none. */
static void goes_on(const char *sql) {
    char id[64], all[1024];
    snprintf(id, sizeof id, "%s", W.runs[2].id);
    snprintf(all, sizeof all, "%s; UPDATE node_states SET state = '{}' WHERE run_no = 3", sql);
    cr_assert(damage(all), "%s", sql);
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    int64_t findings = 0;
    ABOUT_3 = false;
    int rc = host_verify(W.store, NULL, note, id, &RUNS_SEEN, &findings, &W.err);
    cr_expect_eq(rc, 0, "%s: %s", sql, W.err.message);
    cr_expect_gt(findings, 1, "%s", sql);
    cr_expect(ABOUT_3, "%s: nothing is said of the other damaged run", sql);
    cr_expect_eq(RUNS_SEEN, 3, "%s", sql);
    world_close();
}

Test(damage, what_is_wrong_with_one_run_hides_nothing_of_others) {
    goes_on("UPDATE run_origins SET tags = '[\"x' WHERE run_no = 1");
    goes_on("UPDATE run_origins SET workflow_hash = x'00' WHERE run_no = 1");
    goes_on("UPDATE events SET payload = '{' WHERE run_no = 1 AND seq = 3");
    goes_on("DELETE FROM run_origins WHERE run_no = 1");
    goes_on("UPDATE runs SET tenant = 'other' WHERE run_no = 1");
}

static void count_skips(void *ctx, const char *line) {
    *(int *)ctx += strncmp(line, "the list of runs: cannot be read", 32) == 0;
}

/* Pages of the tables that the list of runs reads: those on the others are looked at. */
Test(damage, runs_on_other_pages_are_looked_at) {
    enum { MANY = 120 };
    static const char zeros[PAGE];
    int skips = 0, partly = 0;
    cr_assert_eq(world_open(), 0, "%s", W.err.message);
    world_runs(MANY, 1);
    world_close();
    world_save();
    off_t pages = file_size() / PAGE;
    for (off_t n = 1; n < pages; n++) {
        int64_t findings = 0, seen = 0;
        int skipped = 0;
        if (!world_plays((unsigned)n)) continue;
        world_load();
        int fd = open(W.path, O_WRONLY);
        cr_assert(fd >= 0 && pwrite(fd, zeros, PAGE, n * PAGE) == PAGE);
        close(fd);
        if (world_open() == 0) {
            int rc = host_verify(W.store, NULL, count_skips, &skipped, &seen, &findings, &W.err);
            cr_expect(rc == 0 || rc == WOPR_E_CORRUPT, "page %d: %s", (int)n, W.err.message);
            skips += skipped;
            partly += skipped > 0 && seen > MANY / 2;
        }
        world_close();
    }
    if (sampled_every() > 1) return; /* a part of the pages need not meet each kind */
    cr_expect_gt(skips, 0);
    cr_expect_gt(partly, 2, "%d of %d", partly, skips);
}
