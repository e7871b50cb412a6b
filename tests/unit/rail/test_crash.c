/* An append is there whole or not at all: killed at each statement, without power at each write,
 * with another process at the same session (WR-58, WR-66, WR-67, V-PR-11). */
#include "faults/fault_vfs.h"
#include "store/sqlite/sql.h"
#include "support/sampled.h"
#include "unit/rail/calls.h"

#include <signal.h>
#include <sys/wait.h>

enum { EVENTS_BEFORE = 4, EVENTS_AFTER = 9, CUTS_MAX = 400, STATEMENTS_MAX = 400 };

static struct calls c;
static struct str session, state0, ack0;

static void session_begin(void) {
    calls_fine(&c, "start", calls_start(&c, ""));
    session = calls_get(&c, "session.sessionId");
    state0 = calls_get(&c, "stateToken");
    ack0 = calls_get(&c, "ackToken");
}

/* What is there is all of the append or nothing of it, and the same call ends it. */
static void expect_whole(const char *where, int n) {
    size_t events = calls_events(&c, session);
    cr_assert(events == EVENTS_BEFORE || events == EVENTS_AFTER, "%s %d: %zu events", where, n,
              events);
    cr_expect_eq(calls_replays(&c, session), 1, "%s %d", where, n);
    calls_fine(&c, "V-PR-11", calls_continue(&c, state0, ack0, CALLS_NOTES));
    cr_expect_eq(calls_events(&c, session), EVENTS_AFTER, "%s %d", where, n);
    cr_expect_eq(calls_replays(&c, session), 1, "%s %d", where, n);
}

/* --- kill -9 --- */
static int statements_left;
static int on_statement(unsigned type, void *ctx, void *p, void *x) {
    (void)type, (void)ctx, (void)p, (void)x;
    if (--statements_left == 0) kill(getpid(), SIGKILL);
    return 0;
}

/* true: the child got to its end, so it has fewer statements. */
static bool killed_at(int n) {
    int status = 0;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct str json;
        struct str args =
            arena_printf(c.a, "{\"stateToken\":\"" STR_FMT "\",\"ackToken\":\"" STR_FMT "\"%s}",
                         STR_ARG(state0), STR_ARG(ack0), CALLS_NOTES);
        struct store *s = kit_other(&c.k);
        struct rail *r;
        calls_rail(&c, s, &r);
        statements_left = n;
        sqlite3_trace_v2(s->writer->db, SQLITE_TRACE_STMT, on_statement, NULL);
        _exit(rail_call(r, &c.who, WR_TOOL_CONTINUE, args, c.a, &json, &c.f) == 0 ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) return false;
    cr_assert_eq(WEXITSTATUS(status), 0, "statement %d", n);
    return true;
}

Test(rail_crash, killed_at_each_statement_of_an_append, .timeout = 120) {
    int n = 1;
    for (bool over = false; !over; n += (int)sampled_every()) {
        cr_assert_lt(n, STATEMENTS_MAX);
        calls_up(&c);
        session_begin();
        over = killed_at(n);
        cr_expect_eq(calls_events(&c, session), over ? EVENTS_AFTER : EVENTS_BEFORE, "statement %d",
                     n);
        expect_whole("statement", n);
        calls_down(&c);
    }
    cr_expect_gt(n, 15, "an append has some statements: %d", n);
}

/* --- power --- */
static void store_up(void) {
    const struct store_config cfg = {.path = c.k.path, .sync = STORE_SYNC_FULL, .vfs = FAULT_VFS};
    bool replaced;
    int rc = store_open(&cfg, &c.k.s, &c.k.err);
    cr_assert_eq(rc, 0, "%s", c.k.err.message);
    cr_assert_eq(vault_new(c.k.s, &CALLS_KEK, 1, &c.vault, &replaced, &c.k.err), 0);
    calls_rail(&c, c.k.s, &c.rail);
}

static void store_down(void) {
    rail_free(c.rail);
    vault_free(c.vault);
    kit_close(&c.k);
}

static void world_up(void) {
    memset(&c, 0, sizeof c);
    kit_dir(&c.k);
    c.a = arena_new(256u << 20);
    cr_assert_eq(payload_rules_new(&c.rules, &c.k.err), 0);
    c.who = (struct rail_caller){
        .tenant = KIT_TENANT, .workspace = STR("ws"), .subject = STR("{\"kind\":\"workload\"}")};
    store_up();
}

static void world_down(void) {
    store_down();
    payload_rules_free(c.rules);
    arena_free(c.a);
    kit_down(&c.k);
}

/* true: the append was over before the nth write. */
static bool cut_at(int n, enum power_keep keep) {
    session_begin();
    store_down();
    power_on((uint64_t)n);
    store_up();
    power_cut_at((uint64_t)n);
    bool told = calls_continue(&c, state0, ack0, CALLS_NOTES) == WR_FINE, cut = power_is_cut();
    store_down();
    power_restore(keep);
    power_off();
    store_up();
    size_t events = calls_events(&c, session);
    if (told) cr_expect_eq(events, EVENTS_AFTER, "write %d: what was answered is durable", n);
    expect_whole("write", n);
    return !cut;
}

Test(rail_crash, without_power_at_each_write_of_an_append, .timeout = 120) {
    fault_vfs_register();
    world_up();
    for (enum power_keep keep = 0; keep < POWER_KEEP_NR; keep++) {
        int n = 1;
        for (bool over = false; !over; n += (int)sampled_every()) {
            cr_assert_lt(n, CUTS_MAX);
            over = cut_at(n, keep);
        }
    }
    cr_expect_eq(kit_verify(&c.k), 0);
    world_down();
}

/* --- another process at each statement of a call --- */
static struct {
    struct rail *rail;
    struct str args;
    int left; /* statements until it calls */
    enum wr_code code;
} theirs;

static int they_call(unsigned type, void *ctx, void *p, void *x) {
    struct wr_fault f = {.code = WR_FINE};
    struct str json;
    (void)type, (void)ctx, (void)p, (void)x;
    if (--theirs.left != 0) return 0;
    if (rail_call(theirs.rail, &c.who, WR_TOOL_CONTINUE, theirs.args, c.a, &json, &f) != 0)
        theirs.code = f.code;
    return 0;
}

static struct str advance_args(struct str ack, const char *notes) {
    return arena_printf(c.a,
                        "{\"stateToken\":\"" STR_FMT "\",\"ackToken\":\"" STR_FMT
                        "\",\"output\":{\"notesMarkdown\":\"%s\"}}",
                        STR_ARG(state0), STR_ARG(ack), notes);
}

/* My call, theirs at its nth reading statement; true: it has fewer. */
static bool met_at(int n, bool held) {
    struct store *s = kit_other(&c.k);
    struct conn *reader;
    struct str mine;
    calls_rail(&c, s, &theirs.rail);
    session_begin();
    mine = advance_args(ack0, "Mine.");
    calls_fine(&c, "look", calls_continue(&c, state0, STR_NONE, ""));
    theirs.args = advance_args(calls_get(&c, "ackToken"), "Theirs.");
    theirs.left = n;
    theirs.code = WR_FINE;
    if (!held) { /* as after a restart */
        rail_free(c.rail);
        calls_rail(&c, c.k.s, &c.rail);
    }
    cr_assert_eq(conn_reader(c.k.s, &reader, &c.k.err), 0);
    sqlite3_trace_v2(reader->db, SQLITE_TRACE_STMT, they_call, NULL);
    enum wr_code code = calls_tool(&c, WR_TOOL_CONTINUE, mine);
    sqlite3_trace_v2(reader->db, 0, NULL, NULL);
    bool over = theirs.left > 0;
    cr_expect(code == WR_FINE || code == WR_TOKEN_SESSION_LOCKED, "statement %d: %s: %s", n,
              wr_code_name(code), c.f.e.message);
    cr_expect_eq(theirs.code, WR_FINE, "statement %d: %s", n, wr_code_name(theirs.code));
    if (code != WR_FINE) calls_fine(&c, "again", calls_tool(&c, WR_TOOL_CONTINUE, mine));
    if (over) calls_fine(&c, "theirs", calls_tool(&c, WR_TOOL_CONTINUE, theirs.args));
    cr_expect_eq(calls_events(&c, session), EVENTS_AFTER + 5, "statement %d", n);
    cr_expect_eq(calls_replays(&c, session), 2, "statement %d: a run, and a branch", n);
    rail_free(theirs.rail);
    store_close(s);
    return over;
}

Test(rail_crash, another_process_appends_at_each_statement_of_a_call, .timeout = 120) {
    for (int held = 0; held < 2; held++) {
        int n = 1;
        for (bool over = false; !over; n += (int)sampled_every()) {
            cr_assert_lt(n, STATEMENTS_MAX);
            calls_up(&c);
            over = met_at(n, held != 0);
            calls_down(&c);
        }
        cr_expect_gt(n, 10, "a call reads some times: %d", n);
    }
}

/* --- two processes, one session --- */
enum { CALLS_EACH = 12, TRIES_MAX = 10000 };

/* The same call until the other process is not in the way, as TOKEN_SESSION_LOCKED asks for. */
static bool call_until_free(struct rail *r, enum wr_tool tool, struct str args, struct str *json) {
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        struct arena *a = arena_new(64u << 20);
        int rc = a ? rail_call(r, &c.who, tool, args, a, json, &c.f) : WOPR_E_NO_MEMORY;
        if (rc == 0) *json = arena_str(c.a, *json);
        arena_free(a);
        if (rc == 0) return true;
        if (c.f.code != WR_TOKEN_SESSION_LOCKED) {
            fprintf(stderr, "a writer: %s: %s\n", wr_code_name(c.f.code), c.f.e.message);
            return false;
        }
        clock_sleep_ms(1);
    }
    fprintf(stderr, "a writer: the other was in the way %d times\n", (int)TRIES_MAX);
    return false;
}

static struct str token_of(struct str json, const char *name) {
    return json_string(json_get(json, name), c.a);
}

/* Each time the first step again with an acknowledgement of its own: a branch. */
static int writer(const char *notes) {
    struct store *s = kit_other(&c.k);
    struct rail *r;
    calls_rail(&c, s, &r);
    struct str look = arena_printf(c.a, "{\"stateToken\":\"" STR_FMT "\"}", STR_ARG(state0)), json;
    for (int i = 0; i < CALLS_EACH; i++) {
        if (!call_until_free(r, WR_TOOL_CONTINUE, look, &json)) return 2;
        struct str ack = token_of(json, "ackToken");
        struct str args = arena_printf(c.a,
                                       "{\"stateToken\":\"" STR_FMT "\",\"ackToken\":\"" STR_FMT
                                       "\",\"output\":{\"notesMarkdown\":\"%s %d\"}}",
                                       STR_ARG(state0), STR_ARG(ack), notes, i);
        struct str again;
        if (!call_until_free(r, WR_TOOL_CONTINUE, args, &json)) return 3;
        if (!call_until_free(r, WR_TOOL_CONTINUE, args, &again) || !str_eq(json, again)) return 4;
    }
    rail_free(r);
    store_close(s);
    return 0;
}

Test(rail_crash, two_processes_write_to_one_session_at_a_time, .timeout = 120) {
    static const char *const NOTES[] = {"first", "second"};
    pid_t pids[2];
    calls_up(&c);
    session_begin();
    for (int i = 0; i < 2; i++) {
        pids[i] = fork();
        cr_assert_geq(pids[i], 0);
        if (pids[i] == 0) _exit(writer(NOTES[i]));
    }
    for (int i = 0; i < 2; i++) {
        int status = 0;
        cr_assert_eq(waitpid(pids[i], &status, 0), pids[i]);
        cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "writer %d ends with %d", i,
                  WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    }
    struct rail_session s = calls_session(&c, session); /* and healthy: in order, no key twice */
    size_t advances = 0;
    for (size_t i = 0; i < s.events_nr; i++) advances += s.events[i].kind == WR_ADVANCE_RECORDED;
    rail_session_fini(&s);
    cr_expect_eq(advances, 2 * CALLS_EACH, "each call is there once: %zu", advances);
    size_t runs = calls_replays(&c, session);
    cr_expect_eq(runs, 2 * CALLS_EACH, "one run for each branch: %zu", runs);
    cr_expect_eq(kit_verify(&c.k), 0);
    calls_down(&c);
}
