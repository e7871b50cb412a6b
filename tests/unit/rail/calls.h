/*
 * calls.h: a database with a vault, a rail on it, and calls of its tools.
 */
#ifndef WOPR_TESTS_UNIT_RAIL_CALLS_H
#define WOPR_TESTS_UNIT_RAIL_CALLS_H

#include "journal/journal.h"
#include "rail/bundle.h"
#include "rail/rail.h"
#include "rail/shown.h"
#include "store/interrupts.h"
#include "store/run_lists.h"
#include "store/vault.h"
#include "unit/store/kit.h"

/* The workflow V-WF-4, as an author writes it. */
static const char CALLS_SOURCE[] =
    "{\"id\":\"project.auth_review\",\"name\":\"Auth review\",\"description\":\"Review an "
    "authentication change\",\"version\":\"1.0.0\",\"conditions\":[{\"conditionId\":\"more_work\","
    "\"kind\":\"loop_control\",\"contractRef\":\"wr.contracts.loop_control\",\"continueWhen\":"
    "\"continue\"}],\"steps\":[{\"id\":\"triage\",\"title\":\"Triage\",\"prompt\":\"Read the "
    "change "
    "and note the "
    "risk.\"},{\"type\":\"loop\",\"loopId\":\"investigation_pass\",\"while\":{\"kind\":"
    "\"condition_ref\",\"conditionId\":\"more_work\"},\"maxIterations\":3,\"body\":[{\"id\":"
    "\"inspect\",\"title\":\"Inspect\",\"prompt\":\"Inspect one open "
    "question.\"},{\"id\":\"decide\","
    "\"title\":\"Decide\",\"prompt\":\"Decide whether another pass is needed.\",\"output\":{"
    "\"contractRef\":\"wr.contracts.loop_control\"}}]},{\"id\":\"report\",\"title\":\"Report\","
    "\"prompt\":\"Write the report.\",\"requireConfirmation\":true,\"validationCriteria\":{\"and\":"
    "[{\"type\":\"contains\",\"value\":\"## Findings\"},{\"type\":\"length\",\"min\":40}]}}]}";

#define CALLS_NOTES ",\"output\":{\"notesMarkdown\":\"Done.\"}"
#define CALLS_CONTROL(decision)                                                                    \
    ",\"output\":{\"notesMarkdown\":\"Decided.\",\"artifacts\":[{\"kind\":\"wr.loop_control\","    \
    "\"loopId\":\"investigation_pass\",\"decision\":\"" decision "\"}]}"
#define CALLS_REPORT                                                                               \
    ",\"output\":{\"notesMarkdown\":\"## Findings\\nNothing that would stop the change was "       \
    "found.\"}"

struct calls {
    struct kit k;
    struct vault *vault;
    struct payload_rules *rules;
    struct rail *rail;
    struct rail_caller who;
    struct arena *a;
    struct wr_fault f;
    struct str reply;
};

static const struct seal_secret CALLS_KEK = {{7}};

/* j NULL: it commits by itself. */
KIT_UNUSED static void calls_rail_on(struct calls *c, struct store *s, struct journal *j,
                                     struct rail **out) {
    const struct rail_config cfg = {.store = s,
                                    .journal = j,
                                    .vault = c->vault,
                                    .rules = c->rules,
                                    .checkpoints = true,
                                    .resume = true};
    cr_assert_eq(rail_new(&cfg, out, &c->k.err), 0, "%s", c->k.err.message);
    int rc =
        rail_workflow_add(*out, str_c(CALLS_SOURCE), WR_PROJECT, STR("auth_review.json"), &c->f);
    cr_assert_eq(rc, 0, "%s at %s", c->f.e.message, c->f.e.pointer);
}

KIT_UNUSED static void calls_rail(struct calls *c, struct store *s, struct rail **out) {
    calls_rail_on(c, s, NULL, out);
}

/* A journal of the store: calls of several threads, and an engine, commit through it. */
KIT_UNUSED static struct journal *calls_journal(struct calls *c) {
    const struct journal_config cfg = {.queue_max = 0};
    struct journal *j;
    cr_assert_eq(journal_new(c->k.s, &cfg, &j, &c->k.err), 0, "%s", c->k.err.message);
    cr_assert_eq(journal_start(j, &c->k.err), 0, "%s", c->k.err.message);
    return j;
}

KIT_UNUSED static void calls_journal_end(struct journal *j) {
    journal_stop(j);
    journal_free(j);
}

KIT_UNUSED static void calls_up(struct calls *c) {
    bool replaced;
    memset(c, 0, sizeof *c);
    kit_up(&c->k);
    c->a = arena_new(256u << 20);
    cr_assert_eq(vault_new(c->k.s, &CALLS_KEK, 1, &c->vault, &replaced, &c->k.err), 0, "%s",
                 c->k.err.message);
    cr_assert_eq(payload_rules_new(&c->rules, &c->k.err), 0);
    calls_rail(c, c->k.s, &c->rail);
    c->who = (struct rail_caller){
        .tenant = KIT_TENANT, .workspace = STR("ws"), .subject = STR("{\"kind\":\"workload\"}")};
}

KIT_UNUSED static void calls_down(struct calls *c) {
    rail_free(c->rail);
    payload_rules_free(c->rules);
    vault_free(c->vault);
    arena_free(c->a);
    kit_down(&c->k);
}

KIT_UNUSED static enum wr_code calls_tool(struct calls *c, enum wr_tool tool, struct str args) {
    struct str json;
    int rc = rail_call(c->rail, &c->who, tool, args, c->a, &json, &c->f);
    if (rc != 0) {
        cr_assert_neq(c->f.code, WR_FINE);
        return c->f.code;
    }
    c->reply = json;
    return WR_FINE;
}

KIT_UNUSED static void calls_fine(struct calls *c, const char *id, enum wr_code code) {
    cr_assert_eq(code, WR_FINE, "%s: %s: %s", id, wr_code_name(code), c->f.e.message);
}

KIT_UNUSED static struct str calls_get(struct calls *c, const char *dotted) {
    struct str raw = json_path_get(c->reply, str_c(dotted), c->a);
    return raw.p != NULL && json_type_of(raw) == JSON_STRING ? json_string(raw, c->a) : raw;
}

KIT_UNUSED static enum wr_code calls_start(struct calls *c, const char *extra) {
    return calls_tool(c, WR_TOOL_START,
                      arena_printf(c->a, "{\"workflowId\":\"project.auth_review\"%s}", extra));
}

KIT_UNUSED static enum wr_code calls_continue(struct calls *c, struct str state, struct str ack,
                                              const char *extra) {
    return calls_tool(
        c, WR_TOOL_CONTINUE,
        ack.n > 0
            ? arena_printf(c->a, "{\"stateToken\":\"" STR_FMT "\",\"ackToken\":\"" STR_FMT "\"%s}",
                           STR_ARG(state), STR_ARG(ack), extra)
            : arena_printf(c->a, "{\"stateToken\":\"" STR_FMT "\"%s}", STR_ARG(state), extra));
}

/* With the tokens of the last reply. */
KIT_UNUSED static enum wr_code calls_next(struct calls *c, const char *extra) {
    return calls_continue(c, calls_get(c, "stateToken"), calls_get(c, "ackToken"), extra);
}

KIT_UNUSED static struct rail_session calls_session(struct calls *c, struct str id) {
    struct rail_session s;
    int rc = rail_session_load(c->k.s, c->who.tenant, false, id, c->a, &s, &c->f);
    cr_assert_eq(rc, 0, "%s", c->f.e.message);
    cr_assert_eq(s.health, RAIL_HEALTHY, "%s", s.why);
    return s;
}

/* "advance_recorded node_created" of the events from an index on. */
KIT_UNUSED static struct str calls_kinds(struct calls *c, struct str id, size_t from) {
    struct rail_session s = calls_session(c, id);
    struct str out = STR("");
    for (size_t i = from; i < s.events_nr; i++)
        out = arena_printf(c->a, STR_FMT "%s%s", STR_ARG(out), i > from ? " " : "",
                           wr_kind_name((enum wr_kind)s.events[i].kind));
    rail_session_fini(&s);
    return out;
}

KIT_UNUSED static size_t calls_events(struct calls *c, struct str id) {
    struct rail_session s = calls_session(c, id);
    size_t n = s.events_nr;
    rail_session_fini(&s);
    return n;
}

KIT_UNUSED static struct run_head calls_run(struct calls *c, struct str run_id) {
    struct run_head h;
    int rc = store_run_head(c->k.s, c->who.tenant, false, run_id, c->a, &h, &c->k.err);
    cr_assert_eq(rc, 0, STR_FMT ": %s", STR_ARG(run_id), c->k.err.message);
    return h;
}

/* Kinds of the events of a run: "run.started node.started". */
KIT_UNUSED static struct str calls_log(struct calls *c, struct str run_id) {
    struct run_head h = calls_run(c, run_id);
    struct event_list l;
    struct str out = STR("");
    cr_assert_eq(store_events(c->k.s, h.run_no, 0, 10000, 64u << 20, c->a, &l, &c->k.err), 0);
    cr_assert_eq((int64_t)l.n, h.next_seq);
    for (size_t i = 0; i < l.n; i++)
        out = arena_printf(c->a, STR_FMT "%s%s", STR_ARG(out), i > 0 ? " " : "",
                           event_name(l.v[i].kind));
    return out;
}

/* The log of each run that shows the session folds, and its rows are what it folds to. */
KIT_UNUSED static size_t calls_replays(struct calls *c, struct str session_id) {
    struct session_head h;
    struct session_runs runs;
    cr_assert_eq(store_session_head(c->k.s, c->who.tenant, false, session_id, c->a, &h, &c->k.err),
                 0);
    cr_assert_eq(store_session_runs(c->k.s, h.session_no, c->a, &runs, &c->k.err), 0);
    for (size_t i = 0; i < runs.n; i++) {
        const struct rail_shown_at at = {.run_no = runs.v[i].run_no, .until = INT64_MAX};
        struct rail_shown shown;
        struct interrupt_list open;
        size_t asks = 0;
        int rc = rail_shown_load(c->k.s, &at, c->a, &shown, &c->k.err);
        cr_assert_eq(rc, 0, STR_FMT ": %s", STR_ARG(runs.v[i].run_id), c->k.err.message);
        cr_expect_null(run_state_broken(shown.state), "%s", run_state_broken(shown.state));
        cr_expect_eq(shown.state->status, runs.v[i].status);
        cr_assert_eq(
            store_interrupts_of_run(c->k.s, at.run_no, STR_NONE, true, c->a, &open, &c->k.err), 0);
        for (size_t n = 0; n < shown.state->interrupts.n; n++)
            asks += shown.state->interrupts.v[n].phase == INTR_OPEN;
        cr_expect_eq(open.n, asks, STR_FMT ": %zu open rows, %zu in the log",
                     STR_ARG(runs.v[i].run_id), open.n, asks);
        struct run_view v;
        size_t seen = 0;
        cr_assert_eq(
            store_run_view(c->k.s, c->who.tenant, false, runs.v[i].run_id, c->a, &v, &c->k.err), 0);
        for (size_t n = 0; n < shown.wf->nodes_nr; n++)
            seen += shown.state->nodes[n].status != NODE_PENDING;
        cr_expect_eq(v.nodes_nr, seen, STR_FMT ": %zu rows of nodes, %zu in the log",
                     STR_ARG(runs.v[i].run_id), v.nodes_nr, seen);
        cr_expect_eq(v.vars_nr, shown.state->variables.n, STR_FMT ": variables",
                     STR_ARG(runs.v[i].run_id));
        rail_shown_fini(&shown);
    }
    return runs.n;
}

#endif
