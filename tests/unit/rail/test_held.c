/* Sessions that are held in memory from call to call (held.h): what one call costs, and that what
 * is held is never more than what is stored. */
#include "rail/rail_int.h"
#include "support/growth.h"
#include "unit/rail/calls.h"

static struct calls c;
static bool damaged; /* the test has changed the file */
static void up(void) { calls_up(&c); }
static void down(void) {
    if (!damaged) cr_expect_eq(kit_verify(&c.k), 0, "the database is as it should be");
    calls_down(&c);
}
#define HELD(name) Test(rail_held, name, .init = up, .fini = down, .timeout = 300)

/* A call whose memory goes with it, as over MCP. */
static bool call_small(struct rail *r, enum wr_tool tool, struct str args, struct str *json) {
    struct arena *a = arena_new(64u << 20);
    int rc = rail_call(r, &c.who, tool, args, a, json, &c.f);
    if (rc == 0) *json = arena_str(c.a, *json);
    arena_free(a);
    return rc == 0;
}

static struct str state_args(struct str state) {
    return arena_printf(c.a, "{\"stateToken\":\"" STR_FMT "\"}", STR_ARG(state));
}

/* --- what a call costs --- */

/* The step is looked at, and what was done is saved with it: a node, as often as one likes. */
static void checkpoint(struct rail *r, struct str state, unsigned i) {
    struct str json;
    cr_assert(call_small(r, WR_TOOL_CONTINUE, state_args(state), &json), "%s", c.f.e.message);
    struct str token = json_string(json_get(json, "checkpointToken"), c.a);
    struct str args = arena_printf(
        c.a, "{\"checkpointToken\":\"" STR_FMT "\",\"output\":{\"notesMarkdown\":\"Note %u.\"}}",
        STR_ARG(token), i);
    cr_assert(call_small(r, WR_TOOL_CHECKPOINT, args, &json), "%s", c.f.e.message);
}

struct hosts {
    struct rail *v[2];
    unsigned nr;
};

static uint64_t session_cost(void *ctx, unsigned size) {
    const struct hosts *h = ctx;
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str state = calls_get(&c, "stateToken");
    uint64_t from = cpu_time_us();
    for (unsigned i = 0; i < size; i++) checkpoint(h->v[i % h->nr], state, i);
    return cpu_time_us() - from;
}

static void expect_linear(struct hosts *h) {
    char told[512];
    const struct growth g = {session_cost, h, 100, 400, GROWTH_FACTOR, 0};
    cr_expect(growth_holds(&g, told, sizeof told), "%s", told);
}

HELD(four_times_the_session_costs_about_four_times) {
    struct hosts one = {{c.rail}, 1};
    expect_linear(&one);
}

HELD(also_when_two_processes_take_turns /* WR-73 */) {
    struct store *other = kit_other(&c.k);
    struct hosts both = {{c.rail}, 2};
    calls_rail(&c, other, &both.v[1]);
    expect_linear(&both);
    rail_free(both.v[1]);
    store_close(other);
}

/* Looking at a session leaves nothing behind in it. */
HELD(a_session_that_is_only_looked_at_does_not_grow) {
    struct str json;
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str args = state_args(calls_get(&c, "stateToken"));
    cr_assert(call_small(c.rail, WR_TOOL_CONTINUE, args, &json));
    size_t bytes = held_bytes(&c.rail->held, STR_NONE);
    cr_expect_gt(bytes, 0);
    for (int i = 0; i < 50; i++) cr_assert(call_small(c.rail, WR_TOOL_CONTINUE, args, &json));
    cr_expect_eq(held_bytes(&c.rail->held, STR_NONE), bytes);
}

/* --- bounds --- */

static void rail_small(size_t bytes_max) {
    const struct rail_config cfg = {.store = c.k.s,
                                    .vault = c.vault,
                                    .rules = c.rules,
                                    .checkpoints = true,
                                    .resume = true,
                                    .held_bytes_max = bytes_max};
    rail_free(c.rail);
    cr_assert_eq(rail_new(&cfg, &c.rail, &c.k.err), 0);
    cr_assert_eq(rail_workflow_add(c.rail, str_c(CALLS_SOURCE), WR_PROJECT, STR("x.json"), &c.f),
                 0);
}

static void session_hold(struct str tenant) {
    c.who.tenant = tenant;
    calls_fine(&c, "start", calls_start(&c, ""));
    calls_fine(&c, "look", calls_continue(&c, calls_get(&c, "stateToken"), STR_NONE, ""));
}

HELD(a_tenant_with_many_sessions_takes_nothing_from_one_with_few) {
    enum { MAX = 512 * 1024 };
    rail_small(MAX);
    session_hold(STR("tenant-b"));
    size_t few = held_bytes(&c.rail->held, STR("tenant-b"));
    cr_assert_gt(few, 0);
    for (int i = 0; i < 60; i++) session_hold(STR("tenant-c"));
    cr_expect_leq(held_bytes(&c.rail->held, STR("tenant-c")), MAX / 2);
    cr_expect_gt(held_bytes(&c.rail->held, STR("tenant-c")), MAX / 4, "and it has what it may");
    for (int i = 0; i < 60; i++) session_hold(STR("tenant-d"));
    cr_expect_leq(held_bytes(&c.rail->held, STR_NONE), MAX);
    cr_expect_eq(held_bytes(&c.rail->held, STR("tenant-b")), few);
    c.who.tenant = KIT_TENANT;
}

HELD(what_is_too_large_to_be_held_is_read_each_time) {
    rail_small(4096);
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str session = calls_get(&c, "session.sessionId");
    calls_fine(&c, "one", calls_next(&c, CALLS_NOTES));
    calls_fine(&c, "two", calls_next(&c, CALLS_NOTES));
    cr_expect_eq(held_bytes(&c.rail->held, STR_NONE), 0);
    cr_expect_eq(calls_replays(&c, session), 1);
}

/* --- what another process did meanwhile --- */

static struct str session, state0;

static void session_begin(void) {
    calls_fine(&c, "start", calls_start(&c, ""));
    session = calls_get(&c, "session.sessionId");
    state0 = calls_get(&c, "stateToken");
    calls_fine(&c, "look", calls_continue(&c, state0, STR_NONE, ""));
    cr_assert_gt(held_bytes(&c.rail->held, STR_NONE), 0);
}

static void expect_unknown(const char *what) {
    cr_expect_eq(calls_continue(&c, state0, STR_NONE, ""), WR_TOKEN_UNKNOWN_NODE, "%s", what);
    cr_expect_eq(held_bytes(&c.rail->held, STR_NONE), 0, "%s", what);
}

static void session_remove(struct store *s) {
    bool more = true;
    while (more) cr_assert_eq(store_session_delete(s, session, &more, &c.k.err), 0);
}

HELD(a_session_that_was_removed_is_gone) {
    struct store *other = kit_other(&c.k);
    session_begin();
    session_remove(other);
    expect_unknown("removed by another process");
    store_close(other);
}

static struct str exported(struct rail *r) {
    const struct rail_export x = {
        .tenant = c.who.tenant, .session_id = session, .artifacts = true, .version = "test"};
    struct str json;
    cr_assert_eq(rail_bundle_export(r, &x, c.a, &json, &c.f), 0, "%s", c.f.e.message);
    return json;
}

/* The same id, and as many events, but another history: that of a host it was moved to. */
HELD(a_session_that_was_imported_again_is_read_anew) {
    struct store *other = kit_other(&c.k);
    struct rail *theirs;
    struct rail_imported got;
    calls_rail(&c, other, &theirs);
    session_begin();
    struct str ack = calls_get(&c, "ackToken"), bundle = exported(theirs);
    calls_fine(&c, "here", calls_continue(&c, state0, ack, CALLS_NOTES));
    struct str here = calls_get(&c, "stateToken");
    session_remove(other);
    const struct rail_import in = {.who = c.who};
    cr_assert_eq(rail_bundle_import(theirs, &in, bundle, c.a, &got, &c.f), 0, "%s", c.f.e.message);
    cr_assert(str_eq(got.session_id, session) && !got.renamed);
    struct rail *mine = c.rail;
    c.rail = theirs;
    calls_fine(&c, "there", calls_continue(&c, state0, STR_NONE, ""));
    calls_fine(&c, "there", calls_next(&c, CALLS_NOTES));
    c.rail = mine;
    cr_expect_eq(calls_continue(&c, here, STR_NONE, ""), WR_TOKEN_UNKNOWN_NODE,
                 "the step that was made here is of a session that is gone");
    calls_fine(&c, "it goes on", calls_continue(&c, state0, STR_NONE, ""));
    cr_expect_eq(calls_events(&c, session), 9);
    rail_free(theirs);
    store_close(other);
}

/* Damage after what is held is found, and named as by who reads all of it. */
HELD(damage_behind_what_is_held_is_found /* WR-75, WR-78 */) {
    damaged = true;
    session_begin();
    cr_assert_eq(kit_foreign(&c.k, "INSERT INTO wr_manifest SELECT session_no, (SELECT"
                                   " max(manifest_index) + 1 FROM wr_manifest), kind, first_index,"
                                   " last_index, event_index, snapshot_ref, committed_ms, '{}' FROM"
                                   " wr_manifest WHERE manifest_index = 0"),
                 SQLITE_OK);
    enum wr_code code = calls_continue(&c, state0, STR_NONE, "");
    cr_expect_eq(code, WR_SESSION_NOT_HEALTHY, "%s: %s", wr_code_name(code), c.f.e.message);
    cr_expect_eq(held_bytes(&c.rail->held, STR_NONE), 0);
}

/* A plan that was folded and then refused leaves nothing: the next call sees what is stored. */
HELD(what_was_refused_is_not_held) {
    const struct rail_config cfg = {
        .store = c.k.s, .vault = c.vault, .rules = c.rules, .tenant_bytes_max = 1};
    struct rail *full, *mine = c.rail;
    cr_assert_eq(rail_new(&cfg, &full, &c.k.err), 0);
    session_begin();
    struct str fresh = calls_get(&c, "ackToken");
    calls_fine(&c, "look", calls_continue(&c, state0, STR_NONE, ""));
    calls_fine(&c, "first", calls_continue(&c, state0, calls_get(&c, "ackToken"), CALLS_NOTES));
    c.rail = full;
    calls_fine(&c, "look", calls_continue(&c, state0, STR_NONE, ""));
    cr_expect_gt(held_bytes(&full->held, STR_NONE), 0);
    cr_expect_eq(calls_continue(&c, state0, fresh, CALLS_NOTES), WR_PRECONDITION_FAILED,
                 "a branch is a run, and there is no room for one");
    cr_expect_eq(held_bytes(&full->held, STR_NONE), 0);
    cr_expect_eq(calls_events(&c, session), 9);
    c.rail = mine;
    calls_fine(&c, "the same call", calls_continue(&c, state0, fresh, CALLS_NOTES));
    cr_expect_eq(calls_events(&c, session), 14);
    cr_expect_eq(calls_replays(&c, session), 2);
    rail_free(full);
}

/* What is held of one tenant is for no other, and stays when another asks. */
HELD(what_is_held_is_of_its_tenant /* WR-268 */) {
    session_begin();
    size_t bytes = held_bytes(&c.rail->held, STR_NONE);
    c.who.tenant = STR("tenant-b");
    cr_expect_eq(calls_continue(&c, state0, STR_NONE, ""), WR_TOKEN_UNKNOWN_NODE);
    c.who.tenant = KIT_TENANT;
    c.who.test_mode = true;
    cr_expect_eq(calls_continue(&c, state0, STR_NONE, ""), WR_TOKEN_UNKNOWN_NODE);
    c.who.test_mode = false;
    cr_expect_eq(held_bytes(&c.rail->held, STR_NONE), bytes);
    calls_fine(&c, "mine", calls_continue(&c, state0, STR_NONE, ""));
}

/* --- any order of calls, two processes: the runs are what their logs fold to --- */

static uint32_t dice(uint32_t *seed, uint32_t n) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 16) % n;
}

/* Branches, blocks, checkpoints and ends, each call by the one process or the other. */
static void session_roam(struct rail *rails[2], uint32_t seed, int calls_nr) {
    static const char *const OUTPUTS[] = {CALLS_NOTES,
                                          CALLS_CONTROL("continue"),
                                          CALLS_CONTROL("stop"),
                                          CALLS_REPORT,
                                          "",
                                          (",\"context\":{\"n\":1}" CALLS_NOTES)};
    struct str tokens[64];
    size_t n = 0;
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str id = calls_get(&c, "session.sessionId");
    tokens[n++] = calls_get(&c, "stateToken");
    for (int i = 0; i < calls_nr; i++) {
        c.rail = rails[dice(&seed, 2)];
        struct str state = tokens[dice(&seed, (uint32_t)n)];
        calls_fine(&c, "look", calls_continue(&c, state, STR_NONE, ""));
        struct str ack = calls_get(&c, "ackToken"), chk = calls_get(&c, "checkpointToken");
        if (ack.n == 0) continue; /* complete */
        if (dice(&seed, 4) == 0) {
            calls_fine(&c, "checkpoint",
                       calls_tool(&c, WR_TOOL_CHECKPOINT,
                                  arena_printf(c.a, "{\"checkpointToken\":\"" STR_FMT "\"}",
                                               STR_ARG(chk))));
            continue;
        }
        c.rail = rails[dice(&seed, 2)];
        enum wr_code code = calls_continue(&c, state, ack, OUTPUTS[dice(&seed, 6)]);
        bool refused = code == WR_PRECONDITION_FAILED || code == WR_VALIDATION_ERROR;
        cr_assert(code == WR_FINE || refused, "seed %u, call %d: %s: %s", seed, i,
                  wr_code_name(code), c.f.e.message);
        if (code == WR_FINE && n < 64) tokens[n++] = calls_get(&c, "stateToken");
    }
    (void)calls_replays(&c, id);
    struct rail_session s = calls_session(&c, id);
    rail_session_fini(&s);
}

HELD(two_processes_that_roam_a_session_leave_what_its_logs_say) {
    struct store *other = kit_other(&c.k);
    struct rail *rails[2] = {c.rail};
    calls_rail(&c, other, &rails[1]);
    for (uint32_t seed = 1; seed <= 12; seed++) session_roam(rails, seed * 7919u, 60);
    c.rail = rails[0];
    rail_free(rails[1]);
    store_close(other);
}

/* --- threads of one process at one session --- */
enum { THREADS = 4, LOOKS = 40 };

struct looker {
    pthread_t thread;
    bool writes;
    unsigned wrong, done;
};

static void *look_main(void *ctx) {
    struct looker *l = ctx;
    for (unsigned i = 0; i < LOOKS; i++) {
        struct arena *a = arena_new(16u << 20);
        struct str json,
            args = arena_printf(a, "{\"stateToken\":\"" STR_FMT "\"}", STR_ARG(state0));
        struct wr_fault f;
        int rc = rail_call(c.rail, &c.who, WR_TOOL_CONTINUE, args, a, &json, &f);
        if (rc != 0) l->wrong++;
        else if (l->writes) {
            args = arena_printf(a, "{\"checkpointToken\":" STR_FMT "}",
                                STR_ARG(json_get(json, "checkpointToken")));
            rc = rail_call(c.rail, &c.who, WR_TOOL_CHECKPOINT, args, a, &json, &f);
            if (rc == 0) l->done++;
            else if (f.code != WR_TOKEN_SESSION_LOCKED) l->wrong++;
        }
        arena_free(a);
    }
    return NULL;
}

HELD(threads_that_look_and_write_at_once_have_it_one_after_the_other) {
    struct looker v[THREADS] = {{.writes = false}};
    unsigned done = 0;
    session_begin();
    kit_close(&c.k); /* with a journal: the store has one writer */
    rail_free(c.rail);
    vault_free(c.vault);
    kit_open(&c.k);
    bool replaced;
    cr_assert_eq(vault_new(c.k.s, &CALLS_KEK, 1, &c.vault, &replaced, &c.k.err), 0);
    struct journal *j = calls_journal(&c);
    calls_rail_on(&c, c.k.s, j, &c.rail);
    for (int i = 0; i < THREADS; i++) {
        v[i].writes = i % 2 == 0;
        cr_assert_eq(pthread_create(&v[i].thread, NULL, look_main, &v[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(v[i].thread, NULL);
        cr_expect_eq(v[i].wrong, 0, "thread %d", i);
        done += v[i].done;
    }
    cr_expect_gt(done, 0);
    cr_expect_eq(calls_events(&c, session), 4 + 2 * done);
    cr_expect_eq(calls_replays(&c, session), 1);
    rail_free(c.rail);
    calls_journal_end(j);
    calls_rail(&c, c.k.s, &c.rail);
}
