/*
 * test_generated.c: agents that do anything at all, by a seed that is printed.
 *  - a repeated attempt or checkpoint adds nothing and gives the same bytes (WR-140, WR-144);
 *  - reading adds nothing (WR-122); no call but those that say so is refused;
 *  - the log read from its bytes folds to the same projections (R4 of DESIGN.md);
 *  - a node sees the context of its own branch, and the interpreter's states obey WR-91.
 */
#include "rail.h"
#include "support/sampled.h"

static struct rail r;
static uint64_t random_state;
static uint64_t minted;

static unsigned dice(unsigned sides) { /* xorshift64* */
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (unsigned)((random_state * UINT64_C(2685821657736338717)) >> 33) % sides;
}
static void minted_bytes(void *ctx, uint8_t out[WR_ID_BYTES]) {
    (void)ctx;
    memset(out, 0, WR_ID_BYTES);
    minted++;
    memcpy(out, &minted, sizeof minted);
}

static const char SOURCE[] =
    "{\"id\":\"project.any\",\"recommendedAutonomy\":\"guided\",\"conditions\":[{\"conditionId\":"
    "\"c\",\"kind\":\"loop_control\"},{\"conditionId\":\"t\",\"kind\":\"always_true\"}],\"steps\":["
    "{\"id\":\"a\",\"title\":\"A\",\"prompt\":\"p\"},"
    "{\"type\":\"loop\",\"loopId\":\"outer\",\"while\":{\"kind\":\"condition_ref\",\"conditionId\":"
    "\"t\"},\"maxIterations\":2,\"body\":[{\"id\":\"b\",\"title\":\"B\",\"prompt\":\"p\","
    "\"notesOptional\":true},{\"type\":\"loop\",\"loopId\":\"inner\",\"while\":{\"kind\":"
    "\"condition_ref\",\"conditionId\":\"c\"},\"maxIterations\":3,\"body\":[{\"id\":\"d\","
    "\"title\":"
    "\"D\",\"prompt\":\"p\",\"output\":{\"contractRef\":\"wr.contracts.loop_control\"}}]}]},"
    "{\"id\":\"e\",\"title\":\"E\",\"prompt\":\"p\",\"runCondition\":{\"var\":\"n\",\"gte\":3},"
    "\"validationCriteria\":{\"type\":\"length\",\"min\":3}}]}";

static const char *const OUTPUTS[] = {
    "",
    RAIL_NOTES,
    ",\"output\":{\"notesMarkdown\":\"ab\"}",
    ",\"output\":{\"notesMarkdown\":\"n\",\"artifacts\":[{\"kind\":\"wr.loop_control\","
    "\"decision\":\"stop\"}]}",
    ",\"output\":{\"artifacts\":[{\"kind\":\"wr.loop_control\",\"decision\":\"continue\"},{"
    "\"kind\":"
    "\"own\",\"x\":1}]}",
    ",\"output\":{\"artifacts\":[{\"kind\":\"wr.user_only_dependency\",\"reason\":"
    "\"needs_user_choice\",\"summary\":\"which\"}]}",
    RAIL_NOTES ",\"context\":{\"n\":3}",
    RAIL_NOTES ",\"context\":{\"n\":null,\"m\":[1]}",
    RAIL_NOTES ",\"preferences\":{\"autonomy\":\"full_auto_never_stop\"}",
    RAIL_NOTES ",\"preferences\":{\"autonomy\":\"guided\",\"riskPolicy\":\"aggressive\"}",
    RAIL_NOTES ",\"anchors\":{\"gitBranch\":\"main\",\"repoRoot\":\"/r\"}"};

enum { REPLIES_MAX = 128, CALLS = 90 };
struct seen { /* a call that was accepted, and what it answered */
    struct str state, ack, chk, reply;
};
static struct seen seen[REPLIES_MAX];
static size_t seen_nr;

static void remember(struct str state, struct str ack, struct str chk) {
    if (seen_nr < REPLIES_MAX) seen[seen_nr++] = (struct seen){state, ack, chk, r.reply};
}

static void replay_one(void) {
    const struct seen *s = &seen[dice((unsigned)seen_nr)];
    size_t before = r.events_nr;
    enum wr_code code = s->chk.p != NULL   ? rail_checkpoint(&r, s->chk, "")
                        : s->ack.p != NULL ? rail_continue(&r, s->state, s->ack, OUTPUTS[dice(11)])
                                           : WR_FINE;
    if (s->ack.p == NULL && s->chk.p == NULL) return;
    cr_assert_eq(r.events_nr, before, "a repeated call appends");
    if (code == WR_VALIDATION_ERROR) return; /* the arguments of the repetition */
    cr_assert_eq(code, WR_FINE, "%s: %s", wr_code_name(code), r.f.e.message);
    kit_same("a repeated call", r.reply, s->reply);
}

/* Tokens of some earlier reply. */
static struct str some(const char *member) {
    return rail_get(seen[dice((unsigned)seen_nr)].reply, member);
}

static void call_one(void) {
    struct str state = some("stateToken");
    size_t before = r.events_nr;
    if (state.p == NULL) return;
    cr_assert_eq(rail_continue(&r, state, STR_NONE, ""), WR_FINE, "%s", r.f.e.message);
    cr_assert_eq(r.events_nr, before, "a rehydrate appends (WR-122)");
    struct str ack = rail_get(r.reply, "ackToken"), chk = rail_get(r.reply, "checkpointToken");
    if (ack.p == NULL) return;
    if (dice(6) == 0) {
        cr_assert_eq(rail_checkpoint(&r, chk, dice(2) ? RAIL_NOTES : ""), WR_FINE, "%s",
                     r.f.e.message);
        remember(STR_NONE, STR_NONE, chk);
        return;
    }
    before = r.events_nr;
    enum wr_code code = rail_continue(&r, state, ack, OUTPUTS[dice(11)]);
    if (code == WR_FINE) remember(state, ack, STR_NONE);
    else {
        cr_assert_eq(r.events_nr, before, "a refused call appends");
        cr_assert(code == WR_VALIDATION_ERROR || code == WR_TOKEN_SCOPE_MISMATCH ||
                      code == WR_PRECONDITION_FAILED,
                  "%s: %s", wr_code_name(code), r.f.e.message);
    }
}

/* The same projections out of the bytes alone. */
static void refold(void) {
    struct wr_session *s = wr_session_new(kit_a);
    struct wr_tip one, two;
    struct wr_fault f;
    for (size_t i = 0; i < r.events_nr; i++) {
        struct wr_event *e = ARENA_NEW(kit_a, struct wr_event);
        cr_assert_eq(wr_event_read(r.events[i]->bytes, kit_a, e, &f), 0, "%s", f.e.message);
        cr_assert_eq(wr_session_add(s, e, &f), 0, "%s", f.e.message);
    }
    cr_assert_eq(wr_run_tips(s, 0, kit_a, NULL, NULL, &one), 0);
    cr_assert_eq(wr_run_tips(r.s, 0, kit_a, NULL, NULL, &two), 0);
    cr_assert(one.node == two.node && one.score == two.score);
    for (size_t i = 0; i < s->nodes_nr; i++) {
        cr_assert(str_eq(wr_node_context(s, i), wr_node_context(r.s, i)));
        cr_assert_eq(s->nodes[i].activity, r.s->nodes[i].activity);
        size_t up = s->nodes[i].parent;
        if (up != WR_NO_NODE && s->nodes[i].context == NULL)
            cr_assert(str_eq(wr_node_context(s, i), wr_node_context(s, up)), "of its branch");
    }
    wr_session_free(s);
}

static void live(uint64_t seed) {
    struct wr_problems problems;
    struct wr_workflow w;
    random_state = seed;
    minted = seed << 20;
    seen_nr = 0;
    cr_assert_eq(wr_compile(STR(SOURCE), WR_PROJECT, kit_a, &w, &problems, &r.f), 0, "%s",
                 r.f.e.message);
    rail_open(&r, w.bytes);
    r.mint = (struct wr_minter){minted_bytes, NULL};
    rail_start(&r, dice(2) ? "{\"n\":1}" : NULL);
    remember(STR_NONE, STR_NONE, STR_NONE);
    for (int i = 0; i < CALLS; i++) {
        call_one();
        if (dice(3) == 0) replay_one();
    }
    refold();
    rail_close(&r);
}

Test(workrail_generated, whatever_an_agent_does_facts_stay_facts, .init = kit_up,
     .fini = kit_down) {
    const unsigned lives = sampled(12);
    for (unsigned i = 0; i < lives; i++) {
        printf("seed %u\n", i + 1);
        live((uint64_t)i + 1);
        kit_down();
        kit_up();
    }
}
