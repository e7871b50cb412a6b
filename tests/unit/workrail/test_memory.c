/*
 * test_memory.c: each allocation fails in turn: the call says so, nothing is half made, and the
 * same call afterwards gives what it would have given.
 */
#include "base/fault.h"
#include "rail.h"
#include "workrail/resume.h"

static struct rail r;

static const char SOURCE[] =
    "{\"id\":\"project.x\",\"features\":[\"wr.features.evidence_first\"],\"conditions\":[{"
    "\"conditionId\":\"c\",\"kind\":\"loop_control\"}],\"steps\":[{\"type\":\"loop\",\"loopId\":"
    "\"l\","
    "\"while\":{\"kind\":\"condition_ref\",\"conditionId\":\"c\"},\"maxIterations\":2,\"body\":[{"
    "\"id\":\"s\",\"title\":\"t\",\"promptBlocks\":{\"goal\":{\"kind\":\"ref\",\"refId\":"
    "\"wr.refs.read_only\"}},\"runCondition\":{\"var\":\"n\",\"in\":[1,2]},\"validationCriteria\":{"
    "\"type\":\"regex\",\"pattern\":\"o\"}}]}]}";

/* The work has an arena of its own, so that its blocks are among what fails. */
static struct arena *work;

typedef int work_fn(struct wr_fault *f);

static void each_fails(work_fn *fn, const char *what) {
    unsigned rounds = 0;
    for (unsigned nth = 1; fault_arm(1u << FAULT_MALLOC, nth); nth++, rounds++) {
        struct wr_fault f = {.code = WR_FINE};
        work = arena_new((size_t)64 << 20);
        int rc = work != NULL ? fn(&f) : WOPR_E_NO_MEMORY;
        bool fired = fault_fired();
        fault_disarm();
        cr_expect_eq(rc, fired ? WOPR_E_NO_MEMORY : 0, "%s, allocation %u: %d %s", what, nth, rc,
                     f.e.message);
        arena_free(work);
    }
    cr_expect_gt(rounds, 3, "%s takes memory", what);
}

static int compile_once(struct wr_fault *f) {
    struct wr_workflow w;
    struct wr_problems problems;
    return wr_compile(STR(SOURCE), WR_PROJECT, work, &w, &problems, f);
}

static int start_once(struct wr_fault *f) {
    struct wr_start in = {.workflow = &r.w,
                          .source_ref = STR("x"),
                          .context = STR("{\"n\":1}"),
                          .autonomy = WR_NEVER_STOP,
                          .risk = -1,
                          .anchors = {.branch = STR("main"), .root = STR("/r")}};
    struct wr_plan p;
    struct wr_started ids;
    r.o.a = work;
    int rc = wr_start_plan(&r.o, &in, &p, &ids, f);
    return rc == 0 ? wr_plan_check(&p, 0, f) : rc;
}

static struct wr_token ack;

static int advance_once(struct wr_fault *f) {
    struct str artifact = STR("{\"decision\":\"continue\",\"kind\":\"wr.loop_control\"}");
    struct wr_advance in = {.ack = ack,
                            .context = STR("{\"m\":2}"),
                            .output = {.notes = STR("good"), .artifacts = {&artifact, 1}},
                            .autonomy = WR_STOP_ON_USER_DEPS,
                            .risk = -1};
    struct wr_plan p;
    r.o.a = work;
    return wr_advance_plan(&r.o, r.s, &in, &p, f);
}

static int blocked_once(struct wr_fault *f) {
    struct wr_advance in = {
        .ack = ack, .output = {.notes = STR("bad")}, .autonomy = -1, .risk = -1};
    struct wr_plan p;
    r.o.a = work;
    return wr_advance_plan(&r.o, r.s, &in, &p, f);
}

static struct str state_text;
static int rehydrate_once(struct wr_fault *f) {
    struct wr_token t;
    struct str json;
    r.o.a = work;
    int rc = wr_token_read(&r.keys, state_text, WR_TOKEN_STATE, "stateToken", work, &t, f);
    return rc == 0 ? wr_rehydrate_reply(&r.o, r.s, &t, state_text, &json, f) : rc;
}

static int summary_once(struct wr_fault *f) {
    struct wr_summary s;
    struct wr_ranking rank;
    r.o.a = work;
    int rc = wr_summary_make(&r.o, r.s, 0, &s, f);
    if (rc == 0) rc = wr_ranking_begin(&rank, STR("good"), STR("main"), STR_NONE, work);
    return rc == 0 ? wr_ranking_offer(&rank, &s) : rc;
}

static int refold_once(struct wr_fault *f) {
    struct wr_session *s = wr_session_new(work);
    int rc = s == NULL ? WOPR_E_NO_MEMORY : 0;
    for (size_t i = 0; rc == 0 && i < r.events_nr; i++) {
        struct wr_event *e = ARENA_NEW(work, struct wr_event);
        rc = e == NULL ? WOPR_E_NO_MEMORY : wr_event_read(r.events[i]->bytes, work, e, f);
        if (rc == 0) rc = wr_session_add(s, e, f);
    }
    wr_session_free(s);
    return rc;
}

static int arguments_once(struct wr_fault *f) {
    struct wr_call call;
    return wr_call_read(
        WR_TOOL_CONTINUE,
        STR("{\"stateToken\":\"s\",\"ackToken\":\"a\",\"context\":{\"b\":1,\"a\":2},"
            "\"output\":{\"notesMarkdown\":\"n\",\"artifacts\":[{\"z\":1,\"a\":[]}]}}"),
        work, &call, f);
}

Test(workrail_memory, each_allocation_fails_in_turn, .init = kit_up, .fini = kit_down) {
    struct wr_workflow w;
    struct wr_problems problems;
    struct wr_fault f;
    each_fails(compile_once, "compile");
    each_fails(arguments_once, "arguments");
    cr_assert_eq(wr_compile(STR(SOURCE), WR_PROJECT, kit_a, &w, &problems, &f), 0);
    rail_open(&r, w.bytes);
    each_fails(start_once, "start");
    r.o.a = kit_a;
    rail_start(&r, "{\"n\":1}");
    state_text = rail_get(r.reply, "stateToken");
    cr_assert_eq(wr_token_read(&r.keys, rail_get(r.reply, "ackToken"), WR_TOKEN_ACK, "ackToken",
                               kit_a, &ack, &f),
                 0);
    each_fails(advance_once, "advance");
    each_fails(blocked_once, "blocked");
    r.o.a = kit_a;
    cr_assert_eq(rail_next(&r, ",\"output\":{\"notesMarkdown\":\"good\"}"), WR_FINE, "%s",
                 r.f.e.message);
    each_fails(rehydrate_once, "rehydrate");
    each_fails(summary_once, "summary");
    each_fails(refold_once, "refold");
    rail_close(&r);
}
