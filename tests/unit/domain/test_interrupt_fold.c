/* test_interrupt_fold.c: interrupts in the state of a run, and votes as a property of the log
 * (INT-2, INT-3, INT-12, INT-28..30, EVT-26..30, EVT-39). */
#include "domain/interrupt.h"
#include "fold_world.h"

#define RID FW_RUN_ID

static struct fold_world w;
static void up(void) {
    fw_up(&w, FW_PARALLEL, NULL);
    fw_start(&w);
}
static void down(void) { fw_down(&w); }
TestSuite(intr_fold, .init = up, .fini = down);

static void ask(const char *node, const char *key, const char *id, const char *kind) {
    char text[512];
    snprintf(text, sizeof text, "{\"kind\":\"%s\",\"key\":\"%s\",\"data\":{},\"timeoutMs\":9000}",
             kind, key);
    fw_take(&w, EV_INTERRUPT_REQUESTED, node, text);
    snprintf(text, sizeof text,
             "{\"nodeId\":\"%s\",\"interruptId\":\"%s\",\"kind\":\"%s\",\"key\":\"%s\"}", node, id,
             kind, key);
    fw_take(&w, EV_NODE_SUSPENDED, node, text);
}
static void begin(const char *node) {
    char text[128];
    snprintf(text, sizeof text, "{\"nodeId\":\"%s\",\"typeId\":\"t.t\",\"attempt\":0}", node);
    fw_take(&w, EV_NODE_STARTED, node, text);
}

Test(intr_fold, asked_answered_and_kept /* INT-2, EVT-26, EVT-27 */) {
    begin("a");
    ask("a", "k0", "int_0", "approval");
    cr_expect_eq(w.s->status, RUN_WAITING_APPROVAL);
    cr_expect_eq(w.s->current_node, 0);
    struct intr_state *i = run_state_intr(w.s, STR("k0"));
    cr_assert_not_null(i);
    cr_expect(i == run_state_intr_by_id(w.s, STR("int_0")) && i == run_state_intr_open(w.s, 0));
    cr_expect_eq(i->phase, INTR_OPEN);
    cr_expect_eq(i->timeout_ms, 9000);
    cr_expect_eq(i->requested_seq, 2);
    fw_take(&w, EV_INTERRUPT_RESOLVED, "a",
            "{\"nodeId\":\"a\",\"interruptId\":\"int_0\",\"resumeValue\":{\"action\":\"accept\"},"
            "\"resolvedBy\":\"ann\"}");
    fw_take(&w, EV_NODE_RESUMED, "a", "{\"nodeId\":\"a\",\"interruptId\":\"int_0\"}");
    i = run_state_intr(w.s, STR("k0"));
    cr_expect_eq(i->phase, INTR_RESOLVED);
    cr_expect(str_eqc(text_str(&i->value), "{\"action\":\"accept\"}"));
    cr_expect(str_eqc(text_str(&i->action), "accept") && str_eqc(text_str(&i->decided_by), "ann"));
    cr_expect_null(run_state_intr_open(w.s, 0));
    cr_expect_eq(w.s->status, RUN_RUNNING);
    cr_expect_eq(w.s->current_node, -1);
    cr_expect_eq(fw_event(&w, EV_INTERRUPT_RESOLVED, "a",
                          "{\"nodeId\":\"a\",\"interruptId\":\"int_0\",\"resumeValue\":1}"),
                 WOPR_E_CORRUPT, "answered once");
}

Test(intr_fold, a_key_is_asked_once_and_of_a_node /* INT-2 */) {
    begin("a");
    ask("a", "k0", "int_0", "approval");
    begin("b");
    cr_expect_eq(fw_event(&w, EV_INTERRUPT_REQUESTED, "b",
                          "{\"kind\":\"custom\",\"key\":\"k0\",\"data\":{}}"),
                 WOPR_E_CORRUPT);
}

Test(intr_fold, nonsense_is_no_interrupt /* GEN-5 */) {
    begin("a");
    static const char *const bad[] = {
        "{\"kind\":\"custom\",\"data\":{}}", "{\"key\":\"k\",\"data\":{}}",
        "{\"kind\":\"maybe\",\"key\":\"k\",\"data\":{}}",
        "{\"kind\":\"custom\",\"key\":\"k\",\"data\":{},\"timeoutMs\":-4}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_expect_eq(fw_event(&w, EV_INTERRUPT_REQUESTED, "a", bad[i]), WOPR_E_CORRUPT, "%s",
                     bad[i]);
    cr_expect_eq(w.s->interrupts.n, 0u);
}

Test(intr_fold, of_several_the_most_wanted_and_earliest_shows /* INT-12 */) {
    begin("a");
    begin("b");
    begin("c");
    ask("a", "k0", "int_0", "external-event");
    cr_expect_eq(w.s->status, RUN_WAITING_EXTERNAL);
    ask("c", "k1", "int_1", "approval");
    ask("b", "k2", "int_2", "approval");
    cr_expect_eq(w.s->status, RUN_WAITING_APPROVAL);
    cr_expect_eq(w.s->current_node, 2, "c asked before b");
    fw_take(&w, EV_NODE_FAILED, "c",
            "{\"nodeId\":\"c\",\"error\":{\"code\":\"interrupt_timeout\",\"message\":\"m\"}}");
    cr_expect_eq(run_state_intr(w.s, STR("k1"))->phase, INTR_ENDED, "EVT-29");
    cr_expect_eq(w.s->current_node, 1);
    fw_take(&w, EV_NODE_CANCELLED, "b", "{\"nodeId\":\"b\"}");
    cr_expect_eq(run_state_intr(w.s, STR("k2"))->phase, INTR_ENDED, "EVT-30");
    cr_expect_eq(w.s->status, RUN_WAITING_EXTERNAL);
}

Test(intr_fold, a_parent_shows_what_its_child_waits_for /* EVT-39, INT-12, INT-51 */) {
    begin("a");
    fw_take(&w, EV_NODE_SUSPENDED, "a",
            "{\"nodeId\":\"a\",\"interruptId\":\"int_of_child\",\"kind\":\"external-event\","
            "\"reason\":\"child-suspended\",\"childRunId\":\"run_2\"}");
    cr_expect_eq(w.s->status, RUN_WAITING_EXTERNAL);
    cr_expect_eq(w.s->interrupts.n, 0u, "it is not the parent's to answer");
    cr_expect_null(run_state_intr_open(w.s, 0));
    fw_take(&w, EV_NODE_RESUMED, "a", "{\"nodeId\":\"a\"}");
    cr_expect_eq(w.s->status, RUN_RUNNING);
}

Test(intr_fold, keys_count_on_over_rounds /* INT-3 */) {
    fw_down(&w);
    fw_up(&w, FW_LOOP, NULL);
    fw_start(&w);
    struct arena *a = arena_new(1u << 20);
    for (int round = 0; round < 3; round++) {
        begin("a");
        struct str key = intr_key_of(w.s, 0, 0, a);
        cr_expect(str_eq(key, arena_printf(a, RID ":a:%d", round)), STR_FMT, STR_ARG(key));
        char id[32];
        snprintf(id, sizeof id, "int_%d", round);
        ask("a", arena_cstr(a, key), id, "custom");
        cr_expect(str_eq(intr_key_of(w.s, 0, 0, a), key), "the same while it is asked");
        fw_take(&w, EV_INTERRUPT_RESOLVED, "a",
                arena_cstr(a, arena_printf(a, "{\"nodeId\":\"a\",\"interruptId\":\"%s\"}", id)));
        fw_take(&w, EV_NODE_RESUMED, "a", "{\"nodeId\":\"a\"}");
        cr_expect(str_eq(intr_key_of(w.s, 0, 0, a), key), "and for retries of the attempt");
        if (round == 2) break;
        fw_take(&w, EV_NODE_COMPLETED, "a", "{\"nodeId\":\"a\",\"outputs\":{}}");
        begin("b");
        fw_take(&w, EV_NODE_COMPLETED, "b", "{\"nodeId\":\"b\",\"outputs\":{}}");
    }
    arena_free(a);
}

/* --- votes --- */

struct ballot {
    int voter;
    bool reject;
};
#define BALLOTS_MAX 24
#define VOTERS_NR   5

static void ask_votes(const char *data) {
    char text[400];
    snprintf(text, sizeof text, "{\"kind\":\"approval\",\"key\":\"k\",\"data\":%s}", data);
    fw_take(&w, EV_INTERRUPT_REQUESTED, "a", text);
    fw_take(&w, EV_NODE_SUSPENDED, "a",
            "{\"nodeId\":\"a\",\"interruptId\":\"int_0\",\"kind\":\"approval\",\"key\":\"k\"}");
}

/* A write to the votes of node a, by any node, of any form. */
static void votes_write(const char *by, const char *value, const char *reducer) {
    char text[400];
    snprintf(text, sizeof text,
             "{\"channel\":\"_approvalVotes:a\",\"value\":%s,\"reducer\":\"%s\","
             "\"writtenAt\":\"2024-01-01T00:00:00.000Z\",\"nodeId\":\"%s\"}",
             value, reducer, by);
    fw_take(&w, EV_CHANNEL_WRITTEN, by, text);
}

static void vote_as(const char *voter, const char *action) {
    char value[128];
    snprintf(value, sizeof value, "{\"userId\":\"%s\",\"action\":\"%s\"}", voter, action);
    votes_write("a", value, "votes");
}

static void vote(int voter, bool reject) {
    char who[16];
    snprintf(who, sizeof who, "v%d", voter);
    vote_as(who, reject ? "reject" : "accept");
}

/* The rule written down a second time, over all ballots (INT-28..30). */
static enum intr_tally expected(const struct ballot *v, size_t n, int64_t required, bool majority) {
    int64_t yes = 0, no = 0;
    for (int who = 0; who < VOTERS_NR; who++) {
        int last = -1;
        for (size_t i = 0; i < n; i++)
            if (v[i].voter == who) last = v[i].reject;
        yes += last == 0;
        no += last == 1;
    }
    if (no >= (majority ? required / 2 + 1 : 1)) return TALLY_REJECTED;
    return yes >= required ? TALLY_ACCEPTED : TALLY_OPEN;
}

static uint32_t SEED = 20260704;
static uint32_t next_random(uint32_t below) {
    SEED = SEED * 1664525u + 1013904223u;
    return (SEED >> 16) % below;
}

Test(intr_fold, a_tally_counts_the_last_vote_of_everyone /* INT-28, INT-29, INT-30 */) {
    for (int round = 0; round < 60; round++) {
        struct ballot v[BALLOTS_MAX];
        int64_t required = 1 + next_random(4), yes, no;
        bool majority = next_random(2);
        char data[100];
        fw_down(&w);
        up();
        begin("a");
        vote(0, false); /* before anybody was asked: counts for nothing */
        snprintf(data, sizeof data, "{\"requiredApprovals\":%d%s}", (int)required,
                 majority ? ",\"rejectionPolicy\":\"majority\"" : "");
        ask_votes(data);
        cr_expect_eq(intr_tally(&w.s->interrupts.v[0], &yes, &no), TALLY_OPEN);
        cr_expect(yes == 0 && no == 0);
        for (size_t n = 0; n < BALLOTS_MAX; n++) {
            v[n] = (struct ballot){(int)next_random(VOTERS_NR), next_random(3) == 0};
            vote(v[n].voter, v[n].reject);
            enum intr_tally got = intr_tally(&w.s->interrupts.v[0], &yes, &no);
            cr_expect_eq(got, expected(v, n + 1, required, majority), "round %d, vote %zu", round,
                         n);
            cr_expect_leq(yes + no, VOTERS_NR);
            enum intr_tally again = intr_tally(&w.s->interrupts.v[0], &yes, &no);
            cr_expect_eq(got, again, "counting changes nothing");
        }
    }
}

Test(intr_fold, a_repeated_vote_changes_nothing /* INT-28 */) {
    int64_t yes, no;
    begin("a");
    ask_votes("{\"requiredApprovals\":2}");
    for (int i = 0; i < 5; i++) {
        vote(1, false);
        cr_expect_eq(intr_tally(&w.s->interrupts.v[0], &yes, &no), TALLY_OPEN);
        cr_expect_eq(yes, 1);
    }
    vote(2, false);
    cr_expect_eq(intr_tally(&w.s->interrupts.v[0], &yes, &no), TALLY_ACCEPTED);
}

#define EVIL "{\"userId\":\"evil\",\"action\":\"accept\"}"

/* A log of a host that let nodes write such names folds as it is; what they wrote is no vote. */
Test(intr_fold, quorum_cannot_be_forged /* INT-27, INT-28, NODE-76 */) {
    int64_t yes, no;
    begin("a");
    votes_write("a", EVIL, "votes"); /* while it runs, before it asks */
    ask_votes("{\"requiredApprovals\":2,\"approversList\":[\"alice\",\"bob\"]}");
    const struct intr_state *i = &w.s->interrupts.v[0];
    begin("b");
    votes_write("b", EVIL, "votes");
    votes_write("b", "{\"userId\":\"alice\",\"action\":\"accept\"}", "votes");
    votes_write("b", "1", "append");
    votes_write("b", "{\"userId\":\"bob\",\"action\":\"reject\"}", "append");
    (void)intr_tally(i, &yes, &no);
    cr_expect(yes == 0 && no == 0, "%d accepts, %d rejects", (int)yes, (int)no);
    vote_as("evil", "accept"); /* not on the list: the resolution layer lets no such vote pass */
    vote_as("al\\u0069ce", "accept");
    vote_as("alice", "accept");
    vote_as("bob", "refine");
    vote_as("bob", "");
    cr_expect_eq(intr_tally(i, &yes, &no), TALLY_OPEN);
    cr_expect_eq(yes, 1, "alice, once");
    votes_write("b", "{\"userId\":\"alice\",\"action\":\"reject\"}", "votes");
    vote_as("bob", "edit-accept");
    cr_expect_eq(intr_tally(i, &yes, &no), TALLY_ACCEPTED);
    cr_expect_eq(i->votes.nr, 6, "bounded is what callers caused");
}
