/*
 * test_fork.c: forks over HTTP: every seeded fixture at every sequence, the table of refusals,
 * links, keys, nothing sent twice, kill -9 in between.  FORK-1 to FORK-17, RUN-31 to RUN-33.
 */
#include "harness.h"

#include "interrupt_kit.h"
#include "peer.h"
#include "support/sampled.h"

#include <stdio.h>

static struct server sv;
static struct peer *peer;
static const char *const ALLOW[] = {"--egress-allow", "127.0.0.1", NULL};
static void up(void) {
    peer = peer_start();
    server_start(&sv, ALLOW);
}
static void down(void) {
    peer_hold(peer, false);
    server_end(&sv);
    peer_stop(peer);
}
TestSuite(fork, .init = up, .fini = down, .timeout = 400);

static const char *fork_of(const char *run, const char *mode, int64_t seq) {
    return fork_run(&sv, run, mode, seq);
}

/* What two replays must share from a sequence on: type, node, payload, time. */
static const char *tail_of(const char *run, int64_t from) {
    struct json_elements v = elements_of(events_of(&sv, run));
    struct buf b;
    buf_init(&b, 1u << 22);
    for (size_t i = (size_t)from; i < v.n; i++) {
        struct str node = at(v.v[i], "nodeId");
        buf_addf(&b, STR_FMT " " STR_FMT " " STR_FMT "\n", STR_ARG(text_at(v.v[i], "type")),
                 STR_ARG(node), STR_ARG(text_at(v.v[i], "timestamp")));
    }
    const char *out = fmt("%s", b.p ? b.p : "");
    buf_fini(&b);
    return out;
}

static void same_prefix(const char *run, const char *copy, int64_t n) {
    struct json_elements a = elements_of(events_of(&sv, run)),
                         b = elements_of(events_of(&sv, copy));
    for (int64_t i = 0; i < n; i++) {
        static const char *const keys[] = {"sequence", "type",          "payload",      "timestamp",
                                           "nodeId",   "schemaVersion", "engineVersion"};
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            cr_expect(str_eq(at(a.v[i], keys[k]), at(b.v[i], keys[k])), "%s of %lld", keys[k],
                      (long long)i);
        cr_expect_not(str_eq(at(a.v[i], "eventId"), at(b.v[i], "eventId")));
    }
}

static void clean(void) {
    static const char *const args[] = {"verify", NULL};
    struct str out = STR_NONE, err = STR_NONE;
    cr_expect_eq(program(&sv, args, &out, &err), 0, STR_FMT STR_FMT, STR_ARG(out), STR_ARG(err));
}

/* --- every seeded fixture --- */

static const struct {
    const char *workflow, *extras;
    const char *answers[4]; /* bodies for the node that waits */
} FIXTURES[] = {
    {"conformance-noop", NULL, {NULL}},
    {"conformance-multi-node", NULL, {NULL}},
    {"conformance-identity", "\"inputs\":{\"payload\":{\"a\":[1,2.50]}}", {NULL}},
    {"conformance-idempotent", "\"inputs\":{\"nonce\":\"n\"}", {NULL}},
    {"conformance-failure", NULL, {NULL}},
    {"conformance-capability-missing", NULL, {NULL}},
    {"conformance-cap-breach", "\"configurable\":{\"recursionLimit\":3}", {NULL}},
    {"conformance-delay", "\"inputs\":{\"delayMs\":120}", {NULL}},
    {"conformance-cancellable", "\"inputs\":{\"delayMs\":60}", {NULL}},
    {"conformance-channel-ttl", NULL, {NULL}},
    {"conformance-message-reducer", NULL, {NULL}},
    {"conformance-version-fold", NULL, {NULL}},
    {"conformance-stream-text",
     "\"configurable\":{\"mockProvider\":{\"id\":\"stream-text\",\"config\":{\"tokens\":[\"a\","
     "\"b\",\"c\"],\"delayMsPerToken\":5}}}",
     {NULL}},
    {"conformance-approval", NULL, {ACCEPT, NULL}},
    {"conformance-clarification",
     NULL,
     {"{\"resumeValue\":{\"answers\":{\"q1\":\"blue\"}}}", NULL}},
    {"conformance-interrupt-external-event", NULL, {THE_ORDER, NULL}},
    {"conformance-interrupt-quorum",
     NULL,
     {"{\"resumeValue\":{\"action\":\"accept\",\"voter\":\"ann\"}}",
      "{\"resumeValue\":{\"action\":\"accept\",\"voter\":\"bob\"}}",
      "{\"resumeValue\":{\"action\":\"accept\",\"voter\":\"cid\"}}", NULL}},
    {"conformance-subworkflow-child", NULL, {NULL}},
    {"conformance-subworkflow-parent", NULL, {NULL}},
    /* FIX-31 to FIX-49, but for FIX-34 above and FIX-45, which no run is made of */
    {"conformance-agent-identity", NULL, {NULL}},
    {"conformance-agent-reasoning", NULL, {NULL}},
    {"conformance-agent-low-confidence", NULL, {ACCEPT, NULL}},
    {"conformance-agent-pack-install", NULL, {NULL}},
    {"conformance-agent-pack-export", NULL, {NULL}},
    {"conformance-agent-pack-provenance", NULL, {NULL}},
    {"conformance-agent-memory-roundtrip", NULL, {NULL}},
    {"conformance-agent-memory-cross-tenant", NULL, {NULL}},
    {"conformance-agent-memory-redaction", NULL, {NULL}},
    {"conformance-agent-memory-ttl", NULL, {NULL}},
    {"conformance-conversation-lifecycle", NULL, {NULL}},
    {"conformance-conversation-vs-clarification", NULL, {NULL}},
    {"conformance-conversation-replay", NULL, {NULL}},
    {"conformance-orchestrator-dispatch", NULL, {NULL}},
    {"conformance-orchestrator-terminate", NULL, {NULL}},
    {"conformance-orchestrator-low-confidence", NULL, {ACCEPT, NULL}},
    {"conformance-dispatch-loop", NULL, {NULL}},
};
enum { CORE_FIXTURES = 19, FIXTURES_NR = sizeof FIXTURES / sizeof *FIXTURES };

static const char *finished(size_t i) {
    const char *run = create_run(&sv, FIXTURES[i].workflow, FIXTURES[i].extras);
    for (int k = 0; FIXTURES[i].answers[k]; k++) {
        struct str snap = STR_NONE;
        for (int tries = 0; tries < 400; tries++) {
            snap = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).body;
            if (at(snap, "currentNodeId").p) break;
            nap_ms(20);
        }
        struct reply r = ask(
            &sv, "POST",
            fmt("/v1/runs/%s/interrupts/" STR_FMT, run, STR_ARG(text_at(snap, "currentNodeId"))),
            FIXTURES[i].answers[k], NULL);
        cr_assert_eq(r.status, 200, "%s: " STR_FMT, FIXTURES[i].workflow, STR_ARG(r.body));
    }
    (void)wait_terminal(&sv, run);
    return run;
}

static void everywhere(size_t i) {
    const char *run = finished(i);
    struct str snap = wait_terminal(&sv, run), status = text_at(snap, "status");
    size_t n = elements_of(events_of(&sv, run)).n;
    for (size_t seq = 0; seq < n; seq++) {
        const char *forks[2];
        for (int k = 0; k < 2; k++) forks[k] = fork_of(run, "replay", (int64_t)seq);
        for (int k = 0; k < 2; k++) {
            struct str s = wait_terminal(&sv, forks[k]);
            cr_expect(str_eq(text_at(s, "status"), status), "%s at %zu: " STR_FMT,
                      FIXTURES[i].workflow, seq, STR_ARG(s));
            cr_expect(str_eq(at(s, "variables"), at(snap, "variables")));
            cr_expect(str_eq(at(s, "channels"), at(snap, "channels"))); /* FORK-17 */
            same_prefix(run, forks[k], (int64_t)seq);
            struct str types = types_of(events_of(&sv, forks[k]));
            cr_expect_null(strstr(types.p, "replay.diverged"), "%s at %zu: " STR_FMT,
                           FIXTURES[i].workflow, seq, STR_ARG(types));
            cr_expect_str_eq(tail_of(forks[k], (int64_t)seq), tail_of(run, (int64_t)seq));
        }
    }
}

Test(fork, every_seeded_fixture_forks_at_every_sequence /* FORK-15, check 12 of 20-runtime */) {
    for (size_t i = 0; i < CORE_FIXTURES; i++) everywhere(i);
    clean();
}

Test(fork,
     every_fixture_of_agents_forks_at_every_sequence /* FORK-15, AGT-27, FIX-31 to FIX-49 */) {
    for (size_t i = CORE_FIXTURES; i < FIXTURES_NR; i++) everywhere(i);
    clean();
}

/* --- request and answer --- */

Test(fork, the_answer_says_what_was_made_and_both_runs_show_it /* FORK-3 */) {
    const char *run = finished(1);
    struct reply r =
        ask(&sv, "POST", fmt("/v1/runs/%s:fork", run), "{\"mode\":\"branch\",\"fromSeq\":3}", NULL);
    cr_assert_eq(r.status, 201);
    cr_expect(str_eqc(text_at(r.body, "sourceRunId"), run));
    cr_expect(str_eqc(text_at(r.body, "mode"), "branch"));
    cr_expect(str_eqc(text_at(r.body, "status"), "pending"));
    cr_expect_eq(int_at(r.body, "fromSeq"), 3);
    const char *id = fmt(STR_FMT, STR_ARG(text_at(r.body, "runId")));
    cr_expect(str_eqc(text_at(r.body, "eventsUrl"), fmt("%s/v1/runs/%s/events", sv.base, id)));
    struct str snap = wait_terminal(&sv, id);
    cr_expect(str_eqc(text_at(snap, "fork.sourceRunId"), run));
    cr_expect_eq(int_at(snap, "fork.fromSeq"), 3);
    cr_expect(str_eqc(text_at(snap, "fork.mode"), "branch"));
    r = ask(&sv, "GET", fmt("/v1/runs?forkOf=%s", run), NULL, NULL);
    cr_expect_eq(elements_of(at(r.body, "runs")).n, 1u, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.body, "runs.0.runId"), id));
    cr_expect_null(at(wait_terminal(&sv, run), "fork").p);
    struct stream s =
        stream(&sv, fmt("/v1/runs/%s/events?streamMode=values", id), NULL, WAIT_MS, 0);
    cr_assert_gt(s.n, 0u); /* W4: the same bytes wherever a snapshot comes from */
    cr_expect(str_eqc(text_at(s.v[s.n - 1].data, "fork.mode"), "branch"));
    clean();
}

Test(fork, refusals_are_those_of_the_table /* FORK-1 to FORK-6, RUN-31 */) {
    static const struct {
        const char *body;
        long status;
        const char *code;
    } rows[] = {
        {"{\"mode\":\"replay\",\"fromSeq\":-1}", 400, "validation_error"},
        {"{\"mode\":\"replay\",\"fromSeq\":1.5}", 400, "validation_error"},
        {"{\"mode\":\"replay\",\"fromSeq\":\"1\"}", 400, "validation_error"},
        {"{\"mode\":\"replay\",\"fromSeq\":null}", 400, "validation_error"},
        {"{\"mode\":\"rerun\",\"fromSeq\":0}", 400, "validation_error"},
        {"{\"fromSeq\":0}", 400, "validation_error"},
        {"{}", 400, "validation_error"},
        {"{\"mode\":\"branch\",\"more\":1}", 400, "validation_error"},
        {"{\"mode\":\"branch\",\"runOptionsOverlay\":[]}", 400, "validation_error"},
        {"{\"mode\":\"branch\",\"runOptionsOverlay\":{\"scopeId\":\"x\"}}", 400,
         "validation_error"},
        {"{\"mode\":\"branch\",\"runOptionsOverlay\":{\"configurable\":{\"recursionLimit\":0}}}",
         400, "validation_error"},
        {"{\"mode\":\"branch\",\"runOptionsOverlay\":{\"tags\":[1]}}", 400, "validation_error"},
        {"{\"mode\":\"replay\",\"runOptionsOverlay\":{\"configurable\":{\"recursionLimit\":50}}}",
         400, "validation_error"},
        {"{\"mode\":\"replay\",\"fromSeq\":4}", 422, "sequence_not_found"},
        {"{\"mode\":\"branch\",\"fromSeq\":99999}", 422, "sequence_not_found"},
        {"{\"mode\":\"branch\",\"fromSeq\":9223372036854775807}", 422, "sequence_not_found"},
    };
    const char *run = finished(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s:fork", run), rows[i].body, NULL);
        expect_error(&r, rows[i].status, rows[i].code);
    }
    struct reply r = ask(&sv, "POST", "/v1/runs/run_none:fork", "{\"mode\":\"replay\"}", NULL);
    expect_error(&r, 404, "not_found");
    r = ask(&sv, "POST", fmt("/v1/runs/%s:fork", run),
            "{\"mode\":\"replay\",\"runOptionsOverlay\":{}}", NULL);
    cr_expect_eq(r.status, 201, "an empty overlay says nothing");
    r = ask(&sv, "GET", fmt("/v1/runs?forkOf=%s", run), NULL, NULL);
    cr_expect_eq(elements_of(at(r.body, "runs")).n, 1u, "refusals made no run");
}

Test(fork, forks_belong_to_who_may_read_the_source /* FORK-1, FORK-6, AUTH-8 */) {
    const char *run = finished(0);
    static const struct {
        const char *scopes;
        const char *mode; /* --test or NULL */
        long status;
    } rows[] = {{"runs:create", "--test", 403},
                {"runs:read", "--test", 403},
                {"runs:create,runs:read", "--test", 201},
                {"runs:create,runs:read", NULL, 404}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const args[] = {"keys",         "create",     "--no-expiry", "--scopes",
                                    rows[i].scopes, rows[i].mode, NULL};
        struct str out = STR_NONE, err = STR_NONE;
        cr_assert_eq(program(&sv, args, &out, &err), 0, STR_FMT, STR_ARG(err));
        const char *at_key = strstr(out.p, "hk_");
        cr_assert_not_null(at_key);
        const char *const h[] = {
            fmt("Authorization: Bearer %.*s", (int)strcspn(at_key, " \n\r\t"), at_key), NULL};
        struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s:fork", run), "{\"mode\":\"branch\"}", h);
        cr_expect_eq(r.status, rows[i].status, "%s: " STR_FMT, rows[i].scopes, STR_ARG(r.body));
    }
}

Test(fork, a_key_makes_one_fork /* FORK-1, IDEM-5, IDEM-10 */) {
    const char *run = finished(0);
    static const char *const h[] = {"Idempotency-Key: fork-1", NULL};
    const char *path = fmt("/v1/runs/%s:fork", run);
    struct reply a = ask(&sv, "POST", path, "{\"mode\":\"branch\"}", h),
                 b = ask(&sv, "POST", path, "{\"mode\":\"branch\"}", h),
                 c = ask(&sv, "POST", path, "{\"mode\":\"replay\"}", h);
    cr_expect_eq(a.status, 201);
    cr_expect_eq(b.status, 201);
    cr_expect(str_eq(a.body, b.body));
    cr_expect(str_eqc(header(&b, "openwop-Idempotent-Replay"), "true"));
    expect_error(&c, 409, "idempotency_key_conflict");
    struct reply r = ask(&sv, "GET", fmt("/v1/runs?forkOf=%s", run), NULL, NULL);
    cr_expect_eq(elements_of(at(r.body, "runs")).n, 1u);
}

/* --- the outside --- */

Test(fork, a_replay_sends_nothing_and_a_branch_does /* FORK-12, FORK-22, D57 */) {
    static const char *const put[] = {"workflow", "put",
                                      WOPR_SOURCE_DIR "/tests/integration/outside.json", NULL};
    struct str out = STR_NONE, err = STR_NONE;
    cr_assert_eq(program(&sv, put, &out, &err), 0, STR_FMT, STR_ARG(err));
    peer_answer(peer, 1, 503); /* one failure, one retry */
    const char *run =
        create_run(&sv, "outside",
                   fmt("\"inputs\":{\"url\":\"http://127.0.0.1:%d/orders\"}", peer_port(peer)));
    struct str snap = wait_terminal(&sv, run);
    size_t n = elements_of(events_of(&sv, run)).n;
    cr_assert_eq(peer_count(peer), 2u);
    for (size_t seq = 0; seq < n; seq++) {
        const char *f = fork_of(run, "replay", (int64_t)seq);
        struct str s = wait_terminal(&sv, f);
        const char *again = fork_of(f, "replay", 0);
        cr_expect(str_eqc(text_at(s, "status"), "completed"), STR_FMT, STR_ARG(s));
        cr_expect(str_eq(at(s, "nodeStates.order.outputs"), at(snap, "nodeStates.order.outputs")));
        cr_expect_str_eq(tail_of(f, (int64_t)seq), tail_of(run, (int64_t)seq));
        s = wait_terminal(&sv, again); /* whose source made no request of its own */
        cr_expect(str_eqc(text_at(s, "status"), "completed"), STR_FMT, STR_ARG(s));
    }
    cr_expect_eq(peer_count(peer), 2u, "nothing left the host");
    (void)wait_terminal(&sv, fork_of(run, "branch", 0));
    cr_expect_eq(peer_count(peer), 3u, "a branch makes its own");
}

Test(fork, a_replay_without_a_recorded_answer_fails_closed /* FORK-12, D57 */) {
    static const char *const put[] = {"workflow", "put",
                                      WOPR_SOURCE_DIR "/tests/integration/outside.json", NULL};
    struct str out = STR_NONE, err = STR_NONE;
    cr_assert_eq(program(&sv, put, &out, &err), 0, STR_FMT, STR_ARG(err));
    peer_hold(peer, true);
    const char *run =
        create_run(&sv, "outside",
                   fmt("\"inputs\":{\"url\":\"http://127.0.0.1:%d/orders\"}", peer_port(peer)));
    cr_assert(peer_wait(peer, 1)); /* the source waits for an answer nobody has yet */
    struct str snap = wait_terminal(&sv, fork_of(run, "replay", 0));
    cr_expect(str_eqc(text_at(snap, "status"), "failed"));
    cr_expect(str_eqc(text_at(snap, "error.code"), "replay_source_missing"), STR_FMT,
              STR_ARG(snap));
    cr_expect_eq(peer_count(peer), 1u);
    peer_hold(peer, false);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
}

/* --- kill -9 --- */

Test(fork, a_killed_host_leaves_whole_forks_or_none /* FORK-9, HTTP-15 */) {
    enum { TOKENS = 6000, ROUNDS = 8 };
    struct buf b;
    buf_init(&b, 1u << 20);
    for (int i = 0; i < TOKENS; i++) buf_addf(&b, "%s\"t%d\"", i ? "," : "", i);
    struct str extras = arena_printf(
        test_arena(),
        "\"configurable\":{\"mockProvider\":{\"id\":\"stream-text\",\"config\":{\"tokens\":[%s]}}}",
        b.p);
    const char *run = create_run(&sv, "conformance-stream-text", extras.p);
    buf_fini(&b);
    (void)wait_terminal(&sv, run);
    const char *answered[ROUNDS * 4];
    size_t n = 0;
    for (int round = 0; round < (int)sampled(ROUNDS); round++) {
        /* A request whose answer nobody waits for, cut off at another place each time. */
        const char *body = "{\"mode\":\"replay\",\"fromSeq\":6000}";
        const char *raw =
            fmt("POST /v1/runs/%s:fork HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                "%s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                run, sv.key, strlen(body), body);
        for (int i = 0; i < 3; i++) {
            struct reply r = ask_raw(&sv, raw, strlen(raw), 15 * (round + 1));
            struct str id = r.body.n > 0 ? at(r.body, "runId") : STR_NONE;
            if (r.status == 201 && id.p)
                answered[n++] = fmt(STR_FMT, STR_ARG(text_at(r.body, "runId")));
        }
        server_kill(&sv);
        server_again(&sv);
        clean();
    }
    for (size_t i = 0; i < n; i++) {
        struct str s = wait_terminal(&sv, answered[i]);
        cr_expect(str_eqc(text_at(s, "status"), "completed"), STR_FMT, STR_ARG(s));
    }
    struct reply r = ask(&sv, "GET", fmt("/v1/runs?limit=200&forkOf=%s", run), NULL, NULL);
    struct json_elements l = elements_of(at(r.body, "runs"));
    cr_expect_geq(l.n, n, "what was answered is there");
    for (size_t i = 0; i < l.n; i++) {
        const char *id = fmt(STR_FMT, STR_ARG(text_at(l.v[i], "runId")));
        struct str s = wait_terminal(&sv, id), types = types_of(events_of(&sv, id));
        cr_expect(str_eqc(text_at(s, "status"), "completed"), STR_FMT, STR_ARG(s));
        cr_expect_null(strstr(types.p, "replay.diverged"));
    }
    clean();
}
