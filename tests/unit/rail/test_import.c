/* Export and import (V-PR-15, WR-239 to WR-243), and what is found again (V-RR). */
#include "base/fs.h"
#include "journal/journal.h"
#include "unit/rail/calls.h"

static struct calls c, d; /* where a session is from, and where it goes to */
static void up(void) {
    calls_up(&c);
    calls_up(&d);
}
static void down(void) {
    cr_expect_eq(kit_verify(&d.k), 0, "the database is as it should be");
    calls_down(&d);
    calls_down(&c);
}
#define IMPORT(name) Test(rail_import, name, .init = up, .fini = down)

static struct str exported(struct calls *from, struct str id) {
    const struct rail_export x = {
        .tenant = from->who.tenant, .session_id = id, .artifacts = true, .version = "test"};
    struct str json;
    int rc = rail_bundle_export(from->rail, &x, from->a, &json, &from->f);
    cr_assert_eq(rc, 0, "%s", from->f.e.message);
    return json;
}

static int imported(struct calls *to, struct str json, bool rename, struct rail_imported *out) {
    const struct rail_import x = {.who = to->who, .rename = rename};
    return rail_bundle_import(to->rail, &x, json, to->a, out, &to->f);
}

/* A session with a block, a branch, a checkpoint and an end; *state0 and *ack0: of its start. */
static struct str session_played(struct calls *c1, struct str *state0, struct str *ack0) {
    calls_fine(c1, "start",
               calls_start(c1, ",\"context\":{\"goal\":\"Fix it\",\"n\":[1,2]}"
                               ",\"anchors\":{\"gitBranch\":\"feature/login\"}"));
    struct str id = calls_get(c1, "session.sessionId");
    *state0 = calls_get(c1, "stateToken");
    *ack0 = calls_get(c1, "ackToken");
    calls_fine(c1, "fresh", calls_continue(c1, *state0, STR_NONE, ""));
    struct str fresh = calls_get(c1, "ackToken"), chk = calls_get(c1, "checkpointToken");
    calls_fine(c1, "triage", calls_continue(c1, *state0, *ack0, CALLS_NOTES));
    struct str state1 = calls_get(c1, "stateToken"), ack1 = calls_get(c1, "ackToken");
    calls_fine(c1, "branch", calls_continue(c1, *state0, fresh, CALLS_NOTES));
    calls_fine(
        c1, "chk",
        calls_tool(c1, WR_TOOL_CHECKPOINT,
                   arena_printf(c1->a, "{\"checkpointToken\":\"" STR_FMT "\"}", STR_ARG(chk))));
    calls_fine(
        c1, "inspect",
        calls_continue(c1, state1, ack1, ",\"context\":{\"n\":null,\"m\":true}" CALLS_NOTES));
    calls_fine(c1, "blocked", calls_next(c1, CALLS_NOTES));
    calls_fine(c1, "decide", calls_next(c1, CALLS_CONTROL("stop")));
    calls_fine(c1, "report", calls_next(c1, CALLS_REPORT));
    return id;
}

static struct str session_member(struct str bundle) { return json_get(bundle, "session"); }

IMPORT(v_pr_15_a_session_moves_to_another_host) {
    struct str state0, ack0, id = session_played(&c, &state0, &ack0);
    struct str bundle = exported(&c, id), run = STR_NONE;
    struct rail_imported got;
    cr_assert_eq(imported(&d, bundle, false, &got), 0, "%s", d.f.e.message);
    cr_expect(got.fresh && !got.renamed && str_eq(got.session_id, id));
    cr_expect_eq(calls_replays(&d, id), calls_replays(&c, id));
    cr_expect(str_eq(session_member(exported(&d, id)), session_member(bundle)),
              "WR-242: the same bytes");

    /* its runs are the same, event by event */
    struct rail_session s = calls_session(&c, id);
    for (size_t i = 0; i < s.events_nr; i++)
        if (s.events[i].kind == WR_RUN_STARTED) run = s.events[i].run_id;
    cr_expect(str_eq(calls_log(&c, run), calls_log(&d, run)), STR_FMT "\n" STR_FMT,
              STR_ARG(calls_log(&c, run)), STR_ARG(calls_log(&d, run)));
    cr_expect_eq(calls_run(&d, run).status, calls_run(&c, run).status);
    rail_session_fini(&s);

    /* tokens of the other host are void here; a fresh one comes from resume */
    cr_expect_eq(calls_continue(&d, state0, STR_NONE, ""), WR_TOKEN_BAD_SIGNATURE);
    calls_fine(&d, "resume", calls_tool(&d, WR_TOOL_RESUME, STR("{\"query\":\"done\"}")));
    struct str state = calls_get(&d, "candidates.0.stateToken");
    calls_fine(&d, "rehydrate", calls_continue(&d, state, STR_NONE, ""));
    cr_expect(str_eq(calls_get(&d, "session.sessionId"), id));

    /* the same again is no second one */
    cr_assert_eq(imported(&d, bundle, false, &got), 0, "%s", d.f.e.message);
    cr_expect_not(got.fresh);
}

IMPORT(a_session_goes_on_where_it_is_imported) {
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str id = calls_get(&c, "session.sessionId"), run = calls_get(&c, "session.runId");
    calls_fine(&c, "triage", calls_next(&c, CALLS_NOTES));
    struct rail_imported got;
    cr_assert_eq(imported(&d, exported(&c, id), false, &got), 0, "%s", d.f.e.message);
    calls_fine(&d, "resume", calls_tool(&d, WR_TOOL_RESUME, STR("{}")));
    calls_fine(&d, "fresh",
               calls_continue(&d, calls_get(&d, "candidates.0.stateToken"), STR_NONE, ""));
    calls_fine(&d, "inspect", calls_next(&d, CALLS_NOTES));
    cr_expect(str_eqc(calls_get(&d, "pending.stepId"), "decide"));
    cr_expect_eq(calls_replays(&d, id), 1);
    cr_expect_eq(calls_run(&d, run).status, RUN_WAITING_INPUT);

    /* both have gone on, apart from each other: another session of the same id */
    calls_fine(&c, "inspect", calls_next(&c, ",\"output\":{\"notesMarkdown\":\"Otherwise.\"}"));
    struct str bundle = exported(&c, id);
    cr_expect_neq(imported(&d, bundle, false, &got), 0);
    cr_expect_eq(d.f.code, WR_PRECONDITION_FAILED, "Q-17");
    cr_assert_eq(imported(&d, bundle, true, &got), 0, "%s", d.f.e.message);
    cr_expect(got.renamed && !str_eq(got.session_id, id));
    cr_expect_eq(calls_replays(&d, got.session_id), 1);
    struct session_head h;
    cr_assert_eq(store_session_head(d.k.s, KIT_TENANT, false, got.session_id, d.a, &h, &d.k.err),
                 0);
    cr_expect(str_eq(h.imported_from, id));
    calls_fine(&d, "resume", calls_tool(&d, WR_TOOL_RESUME, STR("{\"query\":\"otherwise\"}")));
    cr_expect(str_eq(calls_get(&d, "candidates.0.sessionId"), got.session_id), STR_FMT,
              STR_ARG(d.reply));
    calls_fine(&d, "fresh",
               calls_continue(&d, calls_get(&d, "candidates.0.stateToken"), STR_NONE, ""));
    calls_fine(&d, "decide", calls_next(&d, CALLS_CONTROL("stop")));
    cr_expect_eq(calls_replays(&d, got.session_id), 1);
}

struct watched { /* what telemetry and streams of a host are shown */
    size_t plans, events;
};
static void watched_seen(void *ctx, struct plan *const *v, const int *rcs, size_t n) {
    struct watched *x = ctx;
    for (size_t i = 0; i < n; i++) {
        if (rcs[i] != 0 || v[i]->run_no == 0) continue;
        x->plans++;
        x->events += v[i]->events_nr;
    }
}

IMPORT(on_a_host_the_runs_of_an_import_are_shown_as_they_land) {
    struct str state0, ack0, id = session_played(&c, &state0, &ack0), bundle = exported(&c, id);
    const struct rail_config *before = rail_config_of(d.rail);
    struct rail_config cfg = *before;
    struct watched seen = {0};
    struct rail_imported got;
    struct rail *host;
    cr_assert_eq(journal_new(d.k.s, NULL, &cfg.journal, &d.k.err), 0);
    cr_assert_eq(journal_start(cfg.journal, &d.k.err), 0);
    journal_on_commit(cfg.journal, watched_seen, &seen);
    cr_assert_eq(rail_new(&cfg, &host, &d.k.err), 0);
    struct calls on = d;
    on.rail = host;
    cr_assert_eq(imported(&on, bundle, false, &got), 0, "%s", on.f.e.message);
    cr_expect_eq(seen.plans, 2u, "the run and its branch");
    cr_expect_eq((int64_t)seen.events, kit_number(&d.k, "SELECT count(*) FROM events"));
    struct journal_stats st;
    journal_stats(cfg.journal, &st);
    cr_expect_eq(st.events_by[EV_RUN_STARTED], 1u);
    rail_free(host);
    journal_stop(cfg.journal);
    journal_free(cfg.journal);
}

/* The bundle of the vectors V-BU: its workflow, V-WF-2, has a form that is shown, not executed. */
IMPORT(a_session_of_a_foreign_workflow_is_here_to_be_looked_at /* WR-187 */) {
    struct buf text;
    struct rail_imported got;
    cr_assert_eq(fs_read(WOPR_SOURCE_DIR "/tests/workrail/bundle.json", 1 << 20, &text), 0);
    cr_assert_eq(imported(&d, buf_str(&text), false, &got), 0, "%s", d.f.e.message);
    buf_fini(&text);
    cr_expect_eq(calls_replays(&d, got.session_id), 1);
    calls_fine(&d, "found", calls_tool(&d, WR_TOOL_RESUME, STR("{\"query\":\"triage done\"}")));
    cr_expect(str_eqc(calls_get(&d, "totalEligible"), "1"), STR_FMT, STR_ARG(d.reply));
    struct str state = calls_get(&d, "candidates.0.stateToken");
    cr_expect_eq(calls_continue(&d, state, STR_NONE, ""), WR_SCHEMA_UNKNOWN_VERSION);
    cr_expect_eq(wr_code_shown(d.f.code), WR_PRECONDITION_FAILED, "no failure of this host");
    struct str again = exported(&d, got.session_id);
    cr_expect_gt(json_get(again, "session").n, 0);
}

IMPORT(sessions_of_one_number_are_all_in_the_pages /* WR-83, WR-247 */) {
    enum { COPIES = 9, PAGE = 2 };
    struct rail_imported got;
    struct session_filter f = {.tenant = KIT_TENANT, .max = PAGE};
    struct session_list l = {NULL, 0};
    int64_t seen = 0, before = INT64_MAX;
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str bundle = exported(&c, calls_get(&c, "session.sessionId"));
    cr_assert_eq(imported(&d, bundle, false, &got), 0, "%s", d.f.e.message);
    for (int i = 1; i < COPIES; i++) { /* other tenants, then all of one: the same number each */
        d.who.tenant = arena_printf(d.a, "tenant-%d", i);
        cr_assert_eq(imported(&d, bundle, false, &got), 0, "%s", d.f.e.message);
    }
    cr_assert_eq(kit_number(&d.k, "SELECT count(DISTINCT commit_no) FROM wr_session"), 1);
    f.any = true;
    do {
        cr_assert_eq(store_session_list(d.k.s, &f, d.a, &l, &d.k.err), 0);
        for (size_t i = 0; i < l.n; i++, seen++) {
            cr_expect_lt(l.v[i].head.session_no, before);
            before = l.v[i].head.session_no;
            f.below = (struct session_place){l.v[i].head.commit_no, before};
        }
    } while (l.n == PAGE);
    cr_expect_eq(seen, COPIES);
    f.any = false;
    f.below = (struct session_place){0, 0};
    cr_assert_eq(store_session_list(d.k.s, &f, d.a, &l, &d.k.err), 0);
    cr_expect_eq(l.n, 1u);
    f.below = (struct session_place){l.v[0].head.commit_no, l.v[0].head.session_no};
    cr_assert_eq(store_session_list(d.k.s, &f, d.a, &l, &d.k.err), 0);
    cr_expect_eq(l.n, 0u);
}

IMPORT(another_tenant_is_told_nothing_of_who_has_the_id) {
    calls_fine(&c, "start", calls_start(&c, ""));
    struct str bundle = exported(&c, calls_get(&c, "session.sessionId"));
    struct rail_imported first, second;
    cr_assert_eq(imported(&d, bundle, false, &first), 0, "%s", d.f.e.message);
    d.who.tenant = STR("tenant-b");
    cr_assert_eq(imported(&d, bundle, false, &second), 0, "%s", d.f.e.message);
    cr_expect(second.fresh && second.renamed);
    cr_expect_eq(calls_replays(&d, second.session_id), 1);
}

IMPORT(what_is_removed_is_gone_and_can_come_back /* WR-82 */) {
    struct str state0, ack0, id = session_played(&d, &state0, &ack0);
    struct str bundle = exported(&d, id);
    bool more = true;
    for (int i = 0; more && i < 100; i++)
        cr_assert_eq(store_session_delete(d.k.s, id, &more, &d.k.err), 0, "%s", d.k.err.message);
    cr_expect_eq(calls_continue(&d, state0, STR_NONE, ""), WR_TOKEN_UNKNOWN_NODE);
    cr_expect_eq(kit_number(&d.k, "SELECT count(*) FROM wr_blob"), 0);
    cr_expect_eq(kit_number(&d.k, "SELECT count(*) FROM wr_event"), 0);
    struct rail_imported got;
    cr_assert_eq(imported(&d, bundle, false, &got), 0, "%s", d.f.e.message);
    cr_expect(str_eq(got.session_id, id));
    cr_expect_eq(calls_replays(&d, id), 2);
    calls_fine(&d, "again", calls_continue(&d, state0, ack0, CALLS_NOTES));
}

static void down_damaged(void) {
    calls_down(&d);
    calls_down(&c);
}
Test(rail_import, what_a_session_refers_to_is_checked_against_its_digest, .init = up,
     .fini = down_damaged) { /* WR-81, WR-175, WR-239 */
    static const char *const DAMAGE[] = {"UPDATE wr_blob SET bytes = '{}' WHERE kind = 1",
                                         "DELETE FROM wr_blob WHERE kind = 2"};
    struct arena *scratch = arena_new(1 << 20);
    for (int i = 0; i < 2; i++) {
        calls_fine(&d, "start", calls_start(&d, ""));
        struct str id = calls_get(&d, "session.sessionId"), json;
        struct rail_session s = calls_session(&d, id);
        const struct rail_export x = {.tenant = d.who.tenant, .session_id = id, .version = "test"};
        cr_assert_eq(rail_session_blobs(d.k.s, &s, scratch, &d.f), 0, "%s", d.f.e.message);
        cr_assert_eq(kit_foreign(&d.k, DAMAGE[i]), SQLITE_OK);
        cr_expect_neq(rail_session_blobs(d.k.s, &s, scratch, &d.f), 0);
        cr_expect_neq(rail_bundle_export(d.rail, &x, d.a, &json, &d.f), 0);
        cr_expect_eq(d.f.code, i == 0 ? WR_SNAPSHOT_STORE_CORRUPTION_DETECTED
                                      : WR_PINNED_WORKFLOW_STORE_CORRUPTION_DETECTED);
        rail_session_fini(&s);
        if (i > 0) break;
        calls_fine(&d, "resume", calls_tool(&d, WR_TOOL_RESUME, STR("{}")));
        cr_expect(str_eqc(calls_get(&d, "candidates"), "[]"), STR_FMT, STR_ARG(d.reply));
        cr_assert_eq(kit_foreign(&d.k, "DELETE FROM wr_blob"), SQLITE_OK);
    }
    arena_free(scratch);
}

IMPORT(old_sessions_go_unless_one_is_damaged /* WR-83 */) {
    bool more = true;
    calls_fine(&d, "a", calls_start(&d, ""));
    calls_fine(&d, "b", calls_start(&d, ""));
    cr_assert_eq(kit_foreign(&d.k, "UPDATE wr_event SET kind = kind"), SQLITE_CONSTRAINT);
    cr_assert_eq(kit_foreign(&d.k, "DROP TRIGGER wr_event_stay_same; UPDATE wr_event SET bytes ="
                                   " replace(bytes, 'project', 'projekt') WHERE session_no = 2"),
                 SQLITE_OK);
    cr_assert_eq(rail_collect(d.rail, INT64_MAX, &more, &d.f), 0, "%s", d.f.e.message);
    cr_expect_eq(kit_number(&d.k, "SELECT count(*) FROM wr_session"), 2, "safe mode");
    cr_expect_not(more);
    calls_fine(&d, "resume", calls_tool(&d, WR_TOOL_RESUME, STR("{}")));
    cr_expect(str_eqc(calls_get(&d, "totalEligible"), "1"), STR_FMT, STR_ARG(d.reply));
    cr_assert_eq(kit_foreign(&d.k,
                             "UPDATE wr_event SET bytes = replace(bytes, 'projekt', 'project')"
                             "; CREATE TRIGGER wr_event_stay_same BEFORE UPDATE ON wr_event\n"
                             "BEGIN SELECT RAISE(ABORT, 'wr_event: a stored event never"
                             " changes'); END"),
                 SQLITE_OK);
    struct rail *fresh; /* it has judged today */
    rail_free(d.rail);
    calls_rail(&d, d.k.s, &fresh);
    d.rail = fresh;
    for (more = true; more;)
        cr_assert_eq(rail_collect(d.rail, INT64_MAX, &more, &d.f), 0, "%s", d.f.e.message);
    cr_expect_eq(kit_number(&d.k, "SELECT count(*) FROM wr_session"), 0);
    cr_expect_eq(kit_number(&d.k, "SELECT count(*) FROM runs WHERE kept_for <> 0"), 0,
                 "their runs are left to the retention of runs");
}

/* --- resume --- */
static struct str candidates(struct calls *x, const char *args) {
    struct json_elements l;
    struct str out = STR("");
    calls_fine(x, args, calls_tool(x, WR_TOOL_RESUME, str_c(args)));
    cr_assert_eq(json_elements(json_get(x->reply, "candidates"), x->a, &l, NULL), 0);
    for (size_t i = 0; i < l.n; i++)
        out = arena_printf(x->a, STR_FMT STR_FMT, STR_ARG(out),
                           STR_ARG(json_string(json_get(l.v[i], "snippet"), x->a)));
    return out;
}

#define H1 "1111111111111111111111111111111111111111"
#define H2 "2222222222222222222222222222222222222222"

static void session_made(const char *anchors, const char *note) {
    char extra[256];
    calls_fine(&c, "start", calls_start(&c, anchors));
    snprintf(extra, sizeof extra, ",\"output\":{\"notesMarkdown\":\"%s\"}", note);
    calls_fine(&c, "notes", calls_next(&c, extra));
}

/* Snippets name the sessions: A to D, the last changed last. */
static void sessions_made(void) {
    session_made(",\"anchors\":{\"gitHeadSha\":\"" H1 "\",\"gitBranch\":\"main\"}",
                 "A fixed login redirect");
    session_made(",\"anchors\":{\"gitHeadSha\":\"" H1 "\",\"gitBranch\":\"feature/login\"}", "C");
    session_made(",\"anchors\":{\"gitHeadSha\":\"" H2 "\",\"gitBranch\":\"feature/login-fix\"}",
                 "B oauth token refresh");
    session_made("", "D login oauth notes");
}

static void expect_order(const char *id, const char *args, const char *want) {
    struct str has = candidates(&c, args);
    char first[8] = "";
    size_t n = 0;
    for (size_t i = 0; i < has.n && n + 1 < sizeof first; i++)
        if (has.p[i] >= 'A' && has.p[i] <= 'D' &&
            (i + 1 == has.n || has.p[i + 1] == ' ' || (has.p[i + 1] >= 'A' && has.p[i + 1] <= 'D')))
            first[n++] = has.p[i];
    cr_expect_str_eq(first, want, "%s: %s from " STR_FMT, id, first, STR_ARG(has));
}

IMPORT(v_rr_ranking_is_that_of_the_contract_here_and_elsewhere) {
    static const struct {
        const char *id, *args, *order;
    } ROWS[] = {{"V-RR-1", "{\"gitHeadSha\":\"" H1 "\"}", "CADB"},
                {"V-RR-2", "{\"gitBranch\":\"feature/login\"}", "BCDA"},
                {"V-RR-3", "{\"query\":\"oauth login\"}", "DBCA"},
                {"V-RR-5", "{\"query\":\"\\u2026\"}", "DBCA"},
                {"V-RR-7", "{\"gitBranch\":\"feature/login-fix-2\"}", "BCDA"},
                {"V-RR-8", "{\"query\":\"LOGIN\"}", "DABC"},
                {"V-RR-11", "{\"query\":\"log\"}", "DBCA"},
                {"V-RR-12", "{}", "DBCA"}};
    sessions_made();
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        expect_order(ROWS[i].id, ROWS[i].args, ROWS[i].order);
    /* imported in another order, they are found in the same */
    struct session_list l;
    const struct session_filter f = {.tenant = KIT_TENANT, .max = 10};
    struct rail_imported got;
    cr_assert_eq(store_session_list(c.k.s, &f, c.a, &l, &c.k.err), 0);
    cr_assert_eq(l.n, 4);
    static const size_t ORDER[] = {2, 0, 3, 1};
    for (size_t i = 0; i < 4; i++)
        cr_assert_eq(imported(&d, exported(&c, l.v[ORDER[i]].head.session_id), false, &got), 0,
                     "%s", d.f.e.message);
    struct calls keep = c;
    c = d;
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++)
        expect_order(ROWS[i].id, ROWS[i].args, ROWS[i].order);
    d = c;
    c = keep;
}
