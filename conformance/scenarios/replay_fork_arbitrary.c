/* replay_fork_arbitrary.c: public scenario replay-fork-arbitrary (FORK-8, FORK-9, FORK-15). */
#include "suite.h"

SCENARIO(replay_fork_arbitrary);

static const char *source;
static int64_t cut; /* behind node.completed of b */

static void need(const char *mode) {
    need_fixture("conformance-multi-node");
    need_flag("replay.supported");
    if (!list_has(need_member("replay.modes"), mode)) cr_skip_test("the host offers no %s", mode);
    struct str snap = run_to_end("conformance-multi-node", NULL, "completed");
    source = fmt(STR_FMT, STR_ARG(text_at(snap, "runId")));
    struct json_elements ev = poll_events(source, "?lastSequence=0&timeout=1");
    cut = -1;
    for (size_t i = 0; i < ev.n; i++)
        if (str_eqc(text_at(ev.v[i], "type"), "node.completed") &&
            str_eqc(text_at(ev.v[i], "nodeId"), "b"))
            cut = int_at(ev.v[i], "sequence") + 1;
    cr_assert_gt(cut, 0);
}

static const char *forked(const char *mode, const char *more) {
    struct reply r =
        ask("POST", run_path(source, ":fork"),
            fmt("{\"fromSeq\":%lld,\"mode\":\"%s\"%s}", (long long)cut, mode, more), NULL);
    if (r.status == 501) cr_skip_test("the host implements no %s", mode);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *id = fmt(STR_FMT, STR_ARG(text_at(r.json, "runId")));
    cr_expect_str_neq(id, source);
    cr_expect(str_eqc(text_at(r.json, "sourceRunId"), source));
    cr_expect(str_eqc(text_at(r.json, "mode"), mode));
    struct str snap = wait_terminal(id, 15000);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"), STR_FMT, STR_ARG(snap));
    return id;
}

static bool same(struct str x, struct str y, const char *member) {
    return str_eq(at(x, member), at(y, member));
}

/* Of two logs from a sequence on: the same events; times and ids apart. */
static void same_tail(struct json_elements x, struct json_elements y, int64_t from) {
    cr_assert_eq(x.n, y.n);
    cr_assert_gt(x.n, (size_t)from, "a tail without events proves nothing");
    for (size_t i = 0; i < x.n; i++) {
        cr_expect_eq(int_at(x.v[i], "sequence"), (int64_t)i);
        if ((int64_t)i < from) continue;
        cr_expect(same(x.v[i], y.v[i], "type") && same(x.v[i], y.v[i], "nodeId"), "%zu", i);
        if (!str_eqc(text_at(x.v[i], "type"), "node.completed") &&
            !str_eqc(text_at(x.v[i], "type"), "run.completed")) /* these hold durations */
            cr_expect(same(x.v[i], y.v[i], "payload"), "%zu", i);
    }
}

Test(replay_fork_arbitrary, a_replay_from_the_middle_completes) {
    need("replay");
    (void)forked("replay", "");
}

Test(replay_fork_arbitrary, two_replays_have_the_same_tail_and_the_sources_beginning) {
    need("replay");
    struct json_elements s = poll_events(source, ""), a = poll_events(forked("replay", ""), ""),
                         b = poll_events(forked("replay", ""), "");
    same_tail(a, b, cut);
    same_tail(s, a, cut);
    for (size_t i = 0; i < (size_t)cut; i++) { /* FORK-9 */
        cr_expect(same(s.v[i], a.v[i], "type") && same(s.v[i], a.v[i], "payload") &&
                      same(s.v[i], a.v[i], "timestamp") && same(s.v[i], a.v[i], "sequence"),
                  "%zu", i);
        cr_expect_not(same(s.v[i], a.v[i], "eventId"), "event ids are unique");
    }
}

Test(replay_fork_arbitrary, a_branch_from_the_middle_completes) {
    need("branch");
    (void)forked("branch", ",\"runOptionsOverlay\":{}");
}
