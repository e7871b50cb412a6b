/*
 * test_interrupts.c: interrupts from outside (INT-9 to INT-34, RUN-34 to RUN-38): the error table
 * row by row, every kind of gate, restarts, timeouts.  Public scenarios: interrupt-approval,
 * interrupt-clarification, approval-payload, interrupt-quorum-resolution,
 * interrupt-external-event-correlation, interrupt-auth-required-resume.
 */
#include "interrupt_kit.h"

#include <sqlite3.h>

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(interrupts, .init = up, .fini = down, .timeout = 300);

static void expect_types(const char *run, const char *want) {
    struct str got = types_of(events_of(&sv, run));
    cr_expect(str_eqc(got, want), "\n got " STR_FMT "\nwant %s", STR_ARG(got), want);
}

static void expect_status(const char *run, const char *want) {
    struct str got = text_at(snapshot_of(&sv, run), "status");
    cr_expect(str_eqc(got, want), STR_FMT, STR_ARG(got));
}

Test(interrupts, approval_from_request_to_end /* EVT-26, EVT-27, INT-9, INT-13, INT-14 */) {
    struct str snap;
    const char *run = waiting(&sv, "conformance-approval", "waiting-approval", &snap);
    cr_expect(str_eqc(text_at(snap, "currentNodeId"), "gate"));
    cr_expect(str_eqc(text_at(snap, "interrupt.nodeId"), "gate"));
    cr_expect(str_eqc(text_at(snap, "interrupt.kind"), "approval"));
    cr_expect(str_eqc(text_at(snap, "interrupt.key"), fmt("%s:gate:0", run)), "INT-3");
    cr_expect_eq(text_at(snap, "interrupt.requestedAt").n, 24u);
    cr_expect_null(at(snap, "interrupt.expiresAt").p, "no deadline, no expiry");
    struct str id = text_at(snap, "interrupt.interruptId"), ev = events_of(&sv, run);
    expect_types(run, "run.started node.started:gate interrupt.requested:gate "
                      "approval.requested:gate node.suspended:gate");
    cr_expect(str_eq(text_at(ev, "4.payload.interruptId"), id));
    cr_expect(str_eqc(text_at(ev, "2.payload.kind"), "approval"));
    struct reply r = resolve(&sv, run, "gate", ACCEPT);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.body, "runId"), run));
    cr_expect(str_eqc(text_at(r.body, "nodeId"), "gate"));
    cr_expect(text_at(r.body, "status").n > 0);
    snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "completed"));
    cr_expect_null(at(snap, "interrupt").p, "nothing is waited for any more");
    expect_types(run,
                 "run.started node.started:gate interrupt.requested:gate approval.requested:gate "
                 "node.suspended:gate interrupt.resolved:gate approval.received:gate "
                 "node.resumed:gate node.completed:gate run.completed");
    cr_expect(text_at(events_of(&sv, run), "6.payload.decidedBy").n > 0, "INT-23");
}

Test(interrupts, bodies_that_are_refused_change_nothing /* INT-17 400, INT-20, INT-22, ERR-6 */) {
    static const struct {
        const char *body, *says;
    } BAD[] = {{"{}", "resumeValue"},
               {"{\"resumevalue\":{\"action\":\"accept\"}}", "resumevalue"},
               {"{\"resumeValue\":{\"action\":\"accept\"},\"extra\":1}", "extra"},
               {"{\"resumeValue\":null}", NULL},
               {"{\"resumeValue\":\"accept\"}", NULL},
               {"{\"resumeValue\":{}}", NULL},
               {"{\"resumeValue\":{\"action\":\"maybe\"}}", "action"},
               {"{\"resumeValue\":{\"action\":\"refine\"}}", "action"},
               {"{\"resumeValue\":{\"action\":\"timeout\"}}", "action"},
               {"{\"resumeValue\":{\"action\":\"cancelled\"}}", "action"}};
    const char *run = approval(&sv);
    struct str before = events_of(&sv, run);
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct reply r = resolve(&sv, run, "gate", BAD[i].body);
        expect_error(&r, 400, "validation_error");
        if (BAD[i].says)
            cr_expect_not_null(strstr(r.body.p, BAD[i].says), "%s: " STR_FMT, BAD[i].body,
                               STR_ARG(r.body));
    }
    struct reply r = resolve(&sv, run, "gate", "[1]");
    cr_expect_eq(r.status, 400);
    r = resolve(&sv, run, "gate", "{\"resumeValue\":");
    expect_error(&r, 400, "validation_error");
    cr_expect(str_eq(events_of(&sv, run), before), "the log is as it was");
    expect_status(run, "waiting-approval");
    cr_expect_eq(resolve(&sv, run, "gate", ACCEPT).status, 200, "still open");
}

Test(interrupts, who_may_resolve /* INT-17 401, 403; INT-27, AUTH-7, AUTH-8 */) {
    const char *run = approval(&sv), *path = fmt("/v1/runs/%s/interrupts/gate", run);
    struct reply r = ask(&sv, "POST", path, ACCEPT, NO_BEARER);
    expect_error(&r, 401, "unauthenticated");
    const char *const poor[] = {key_with(&sv, "runs:create,runs:read", "default"), NULL};
    r = ask(&sv, "POST", path, ACCEPT, poor);
    expect_error(&r, 403, "forbidden");
    cr_expect(str_eqc(text_at(r.body, "details.scopeRequired"), "approvals:respond"));
    const char *const foreign[] = {key_with(&sv, "all", "another"), NULL};
    r = ask(&sv, "POST", path, ACCEPT, foreign);
    expect_error(&r, 404, "interrupt_not_found");
    struct reply unknown = resolve(&sv, "no-such-run", "gate", ACCEPT);
    cr_expect(str_eq(unknown.body, r.body), "foreign and absent look the same");
    const char *const enough[] = {key_with(&sv, "approvals:respond", "default"), NULL};
    r = ask(&sv, "POST", path, ACCEPT, enough);
    cr_expect_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    wait_terminal(&sv, run);
}

Test(interrupts, an_approvers_list_is_enforced /* INT-27, D49 */) {
    put_gate(&sv, "listed", GATE_ACTIONS ",\"approversList\":[\"somebody-else\"]");
    const char *run = waiting(&sv, "listed", "waiting-approval", NULL);
    struct reply r = resolve(&sv, run, "gate", ACCEPT);
    expect_error(&r, 403, "forbidden");
    expect_status(run, "waiting-approval");
    cr_expect_null(at(snapshot_of(&sv, run), "interrupt.interruptToken").p,
                   "a token is nobody on the list");
}

Test(interrupts, not_found /* INT-17 404, RUN-35 */) {
    const char *run = approval(&sv);
    struct reply r = resolve(&sv, run, "no-such-node", ACCEPT);
    expect_error(&r, 404, "interrupt_not_found");
    r = resolve(&sv, "no-such-run", "gate", ACCEPT);
    expect_error(&r, 404, "interrupt_not_found");
    const char *done = create_run(&sv, "conformance-noop", NULL);
    wait_terminal(&sv, done);
    r = resolve(&sv, done, "noop", ACCEPT);
    expect_error(&r, 404, "interrupt_not_found");
}

Test(interrupts, already_resolved_on_every_surface /* INT-17 409, INT-19 */) {
    const char *run = approval(&sv);
    struct str token = token_of(&sv, run);
    cr_assert_eq(resolve(&sv, run, "gate", ACCEPT).status, 200);
    wait_terminal(&sv, run);
    struct reply r = resolve(&sv, run, "gate", ACCEPT);
    expect_error(&r, 409, "interrupt_already_resolved");
    r = by_token(&sv, "POST", token, ACCEPT);
    expect_error(&r, 409, "interrupt_already_resolved");
    r = by_token(&sv, "GET", token, NULL);
    expect_error(&r, 409, "interrupt_already_resolved");
    r = ask(&sv, "POST", fmt("/v1/runs/%s/approvals/gate", run), "{\"action\":\"accept\"}", NULL);
    expect_error(&r, 409, "interrupt_already_resolved");
}

static struct reply resolve_one(const char *run, const char *node, struct str id) {
    return resolve(&sv, run, fmt("%s?interruptId=" STR_FMT, node, STR_ARG(id)), ACCEPT);
}

/* INT-14, INT-17, INT-20: who has read the first question does not answer the second. */
Test(interrupts, an_answer_to_a_question_is_for_no_other_one) {
    put_gate_again(&sv, "asks-again");
    const char *run = waiting(&sv, "asks-again", "waiting-approval", NULL);
    struct str first = question_after(&sv, run, STR_NONE);
    struct reply r = resolve_one(run, "gate", STR_NONE);
    expect_error(&r, 400, "validation_error");
    r = resolve_one(run, "gate", STR("int_of_nobody"));
    expect_error(&r, 404, "interrupt_not_found");
    r = resolve_one(run, "then", first);
    expect_error(&r, 404, "interrupt_not_found");
    cr_expect(str_eq(question_after(&sv, run, STR_NONE), first), "still open");
    r = resolve_one(run, "gate", first);
    cr_expect_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    struct str second = question_after(&sv, run, first);
    r = resolve_one(run, "gate", first);
    expect_error(&r, 409, "interrupt_already_resolved");
    cr_expect(str_eq(question_after(&sv, run, first), second), "the second is open");
    r = ask(&sv, "POST",
            fmt("/v1/runs/%s/approvals/gate?interruptId=" STR_FMT, run, STR_ARG(first)), ACCEPT,
            NULL);
    expect_error(&r, 409, "interrupt_already_resolved");
    /* The questions of a fork have ids of their own. */
    r = ask(&sv, "POST", fmt("/v1/runs/%s:fork", run), "{\"mode\":\"replay\",\"fromSeq\":0}", NULL);
    cr_assert_eq(r.status, 201, STR_FMT, STR_ARG(r.body));
    const char *fork = arena_cstr(test_arena(), text_at(r.body, "runId"));
    wait_status(&sv, fork, "waiting-approval");
    struct str its = question_after(&sv, fork, STR_NONE);
    r = resolve_one(fork, "gate", second);
    cr_expect(r.status == 404 || r.status == 409, "%ld: not the source's", r.status);
    r = resolve_one(fork, "gate", its);
    cr_expect_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eq(question_after(&sv, run, first), second), "that of the source is open");
    const char *const args[] = {
        "interrupts", "resolve", run,           "gate",
        "--action",   "accept",  "--interrupt", fmt(STR_FMT, STR_ARG(second)),
        NULL};
    struct str out = STR_NONE, err = STR_NONE;
    cr_expect_eq(program_on(&sv, NULL, args, &out, &err), 0, STR_FMT, STR_ARG(err));
    cr_expect(!str_eq(question_after(&sv, run, second), second), "it asks a third time");
    cr_expect_neq(program_on(&sv, NULL, args, &out, &err), 0, "and the second is answered");
}

Test(interrupts, cancelled_on_every_surface /* INT-17 422, CON-14, EVT-30 */) {
    const char *run = approval(&sv);
    struct str token = token_of(&sv, run);
    cr_assert_eq(ask(&sv, "POST", fmt("/v1/runs/%s/cancel", run), "{}", NULL).status, 200);
    wait_status(&sv, run, "cancelled");
    struct reply r = resolve(&sv, run, "gate", ACCEPT);
    expect_error(&r, 422, "interrupt_cancelled");
    r = by_token(&sv, "POST", token, ACCEPT);
    expect_error(&r, 422, "interrupt_cancelled");
    r = by_token(&sv, "GET", token, NULL);
    expect_error(&r, 422, "interrupt_cancelled");
    r = ask(&sv, "POST", fmt("/v1/runs/%s/approvals/gate", run), "{\"action\":\"accept\"}", NULL);
    expect_error(&r, 409, "interrupt_cancelled");
    cr_expect_null(strstr(types_of(events_of(&sv, run)).p, "interrupt.resolved"));
}

Test(interrupts, the_older_alias_takes_both_forms /* INT-16, RUN-38 */) {
    static const char *const FORMS[] = {"{\"action\":\"accept\"}", ACCEPT};
    for (size_t i = 0; i < 2; i++) {
        const char *run = approval(&sv);
        struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s/approvals/gate", run), FORMS[i], NULL);
        cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
        cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    }
    const char *run = approval(&sv);
    struct reply r =
        ask(&sv, "POST", fmt("/v1/runs/%s/approvals/gate", run), "{\"action\":\"x\"}", NULL);
    expect_error(&r, 400, "validation_error");
    run = waiting(&sv, "conformance-interrupt-external-event", "waiting-external", NULL);
    r = ask(&sv, "POST", fmt("/v1/runs/%s/approvals/wait-for-external", run),
            "{\"orderId\":\"x\",\"status\":\"completed\"}", NULL);
    expect_error(&r, 400, "correlation_mismatch"); /* 422 is not in the alias's repertoire */
}

Test(interrupts, reject_fails_the_run /* INT-25 */) {
    const char *run = approval(&sv);
    cr_assert_eq(resolve(&sv, run, "gate", REJECT).status, 200);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "failed"));
    cr_expect(str_eqc(text_at(snap, "error.code"), "approval_rejected"));
}

Test(interrupts, asking_keeps_the_gate_open /* INT-21, EVT-28 */) {
    put_gate(&sv, "asks", "\"title\":\"T\",\"actions\":[\"accept\",\"ask\"]");
    const char *run = waiting(&sv, "asks", "waiting-approval", NULL);
    struct reply r =
        resolve(&sv, run, "gate", "{\"resumeValue\":{\"action\":\"ask\",\"question\":\"why?\"}}");
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(r.body, "status"), "waiting-approval"));
    cr_expect_null(strstr(types_of(events_of(&sv, run)).p, "interrupt.resolved"));
    cr_assert_eq(resolve(&sv, run, "gate", ACCEPT).status, 200);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
}

Test(interrupts, clarification /* INT-26 */) {
    static const char *const BAD[] = {"{}", "{\"answers\":{}}",
                                      "{\"answers\":{\"q1\":\"a\",\"q2\":\"b\"}}",
                                      "{\"answers\":[{\"id\":\"q9\",\"answer\":\"x\"}]}"};
    struct str snap;
    const char *run = waiting(&sv, "conformance-clarification", "waiting-input", &snap);
    cr_expect(str_eqc(text_at(snap, "currentNodeId"), "ask"));
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct reply r = resolve(&sv, run, "ask", fmt("{\"resumeValue\":%s}", BAD[i]));
        expect_error(&r, 400, "validation_error");
    }
    struct reply r = resolve(&sv, run, "ask", "{\"resumeValue\":{\"answers\":{\"q1\":\"blue\"}}}");
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    run = waiting(&sv, "conformance-clarification", "waiting-input", NULL);
    r = resolve(&sv, run, "ask",
                "{\"resumeValue\":{\"answers\":[{\"id\":\"q1\",\"answer\":\"red\"}]}}");
    cr_assert_eq(r.status, 200, "the list form: " STR_FMT, STR_ARG(r.body));
    wait_terminal(&sv, run);
    cr_expect_not_null(strstr(events_of(&sv, run).p, "\"answers\":{\"q1\":\"red\"}"),
                       "kept as a map");
}

static long vote(const char *run, const char *action, const char *voter) {
    return resolve(&sv, run, "gate",
                   fmt("{\"resumeValue\":{\"action\":\"%s\",\"voter\":\"%s\"}}", action, voter))
        .status;
}

Test(interrupts, quorum_by_majority /* INT-28 to INT-30, H12.7 */) {
    const char *run = waiting(&sv, "conformance-interrupt-quorum", "waiting-approval", NULL);
    cr_expect_eq(vote(run, "accept", "a"), 200);
    cr_expect_eq(vote(run, "accept", "a"), 200, "once more by the same voter counts once");
    cr_expect_eq(vote(run, "accept", "b"), 200);
    expect_status(run, "waiting-approval");
    cr_expect_null(strstr(types_of(events_of(&sv, run)).p, "interrupt.resolved"));
    cr_expect_eq(vote(run, "accept", "c"), 200);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    run = waiting(&sv, "conformance-interrupt-quorum", "waiting-approval", NULL);
    cr_expect_eq(vote(run, "reject", "a"), 200);
    expect_status(run, "waiting-approval");
    cr_expect_eq(vote(run, "reject", "b"), 200);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "error.code"), "approval_rejected"), STR_FMT, STR_ARG(snap));
}

Test(interrupts, quorum_with_a_veto_ends_at_the_first_reject /* INT-29 */) {
    put_gate(&sv, "veto", GATE_ACTIONS ",\"requiredApprovals\":3");
    const char *run = waiting(&sv, "veto", "waiting-approval", NULL);
    cr_expect_eq(vote(run, "accept", "a"), 200);
    cr_expect_eq(vote(run, "reject", "b"), 200);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "error.code"), "approval_rejected"), STR_FMT, STR_ARG(snap));
}

Test(interrupts, votes_for_others_need_the_permission /* INT-30 */) {
    put_gate(&sv, "pair", GATE_ACTIONS ",\"requiredApprovals\":2");
    const char *run = waiting(&sv, "pair", "waiting-approval", NULL);
    const char *const plain[] = {key_with(&sv, "approvals:respond", "default"), NULL};
    for (int i = 0; i < 3; i++)
        ask(&sv, "POST", fmt("/v1/runs/%s/interrupts/gate", run),
            fmt("{\"resumeValue\":{\"action\":\"accept\",\"voter\":\"v%d\"}}", i), plain);
    expect_status(run, "waiting-approval");
}

Test(interrupts, external_events_match_by_subset /* INT-32, INT-33, EVT-26 */) {
    struct str snap;
    const char *run =
        waiting(&sv, "conformance-interrupt-external-event", "waiting-external", &snap);
    struct str token = text_at(snap, "interrupt.interruptToken");
    cr_expect(str_eqc(text_at(snap, "interrupt.callbackUrl"),
                      fmt("%s/v1/interrupts/" STR_FMT, sv.base, STR_ARG(token))));
    cr_expect_eq(text_at(snap, "interrupt.expiresAt").n, 24u, "the fixture has a deadline");
    struct reply r = by_token(&sv, "POST", token, ORDER("different-order"));
    expect_error(&r, 422, "correlation_mismatch");
    cr_expect(str_eqc(at(r.body, "details.mismatchedKeys"), "[\"orderId\"]"), STR_FMT,
              STR_ARG(r.body));
    expect_status(run, "waiting-external");
    r = by_token(&sv, "POST", token,
                 "{\"resumeValue\":{\"eventId\":\"e1\",\"eventPayload\":{\"orderId\":"
                 "\"fixture-order-1\",\"status\":\"completed\",\"more\":true}}}");
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    cr_expect(text_at(r.body, "interruptId").n > 0);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
    r = by_token(&sv, "POST", token,
                 "{\"resumeValue\":{\"eventId\":\"e1\",\"eventPayload\":{\"orderId\":"
                 "\"fixture-order-1\",\"status\":\"completed\",\"more\":true}}}");
    cr_expect_eq(r.status, 200, "the same event again: " STR_FMT, STR_ARG(r.body));
    r = by_token(&sv, "POST", token,
                 "{\"resumeValue\":{\"eventId\":\"e2\",\"eventPayload\":{\"orderId\":"
                 "\"fixture-order-1\",\"status\":\"completed\"}}}");
    expect_error(&r, 409, "interrupt_already_resolved");
}

Test(interrupts, an_interrupt_that_runs_out_fails_the_run /* EVT-29, INT-34 */) {
    put_gate(&sv, "short", GATE_ACTIONS ",\"timeoutMs\":300");
    const char *run = create_run(&sv, "short", NULL);
    struct str snap = wait_terminal(&sv, run);
    cr_expect(str_eqc(text_at(snap, "status"), "failed"));
    cr_expect(str_eqc(text_at(snap, "error.code"), "interrupt_timeout"));
    struct str types = types_of(events_of(&sv, run));
    cr_expect_null(strstr(types.p, "interrupt.resolved"), STR_FMT, STR_ARG(types));
    struct reply r = resolve(&sv, run, "gate", ACCEPT);
    cr_expect(r.status == 409 || r.status == 410, "%ld " STR_FMT, r.status, STR_ARG(r.body));
}

Test(interrupts, a_key_repeats_the_answer /* INT-14, IDEM-1, IDEM-5 */) {
    static const char *const K[] = {"Idempotency-Key: resolve-1", NULL};
    const char *run = approval(&sv), *path = fmt("/v1/runs/%s/interrupts/gate", run);
    struct reply first = ask(&sv, "POST", path, ACCEPT, K);
    cr_assert_eq(first.status, 200);
    wait_terminal(&sv, run);
    struct reply again = ask(&sv, "POST", path, ACCEPT, K);
    cr_expect_eq(again.status, 200);
    cr_expect(str_eq(first.body, again.body));
    cr_expect(str_eqc(header(&again, "openwop-Idempotent-Replay"), "true"));
    again = ask(&sv, "POST", path, REJECT, K);
    expect_error(&again, 409, "idempotency_key_conflict");
    run = approval(&sv);
    struct str token = token_of(&sv, run);
    path = fmt("/v1/interrupts/" STR_FMT, STR_ARG(token));
    const char *const both[] = {"Authorization:", "Idempotency-Key: resolve-2", NULL};
    first = ask(&sv, "POST", path, ACCEPT, both);
    cr_assert_eq(first.status, 200, STR_FMT, STR_ARG(first.body));
    wait_terminal(&sv, run);
    again = ask(&sv, "POST", path, ACCEPT, both);
    cr_expect_eq(again.status, 200, "also by token (IDEM-2)");
    cr_expect(str_eq(first.body, again.body));
}

Test(interrupts, streams_tell_and_flush_a_suspension /* SSE-32, INT-13 */) {
    const char *run = approval(&sv);
    struct stream st = stream(&sv, fmt("/v1/runs/%s/events?bufferMs=5000", run), NULL, 4000, 1);
    cr_expect_not_null(strstr(st.raw.p, "node.suspended"), STR_FMT, STR_ARG(st.raw));
    st = stream_until(&sv, fmt("/v1/runs/%s/events?streamMode=values", run),
                      "\"status\":\"waiting-approval\"");
    cr_expect_not_null(strstr(st.raw.p, "waiting-approval"), STR_FMT, STR_ARG(st.raw));
    cr_expect_not_null(strstr(st.raw.p, "\"interrupt\":{\"interruptId\":"), STR_FMT,
                       STR_ARG(st.raw));
    cr_expect_null(strstr(st.raw.p, "interruptToken"), "a stream never carries a token");
    struct str asked = at(at(events_of(&sv, run), "2"), "payload"); /* NODE-72 */
    struct str snap = ask(&sv, "GET", fmt("/v1/runs/%s", run), NULL, NULL).body;
    cr_assert_gt(at(asked, "data").n, 2u, STR_FMT, STR_ARG(asked));
    cr_expect(str_eq(at(snap, "interrupt.data"), at(asked, "data")), STR_FMT, STR_ARG(snap));
    cr_expect(str_eq(at(st.v[st.n - 1].data, "interrupt.data"), at(asked, "data")));
}

Test(interrupts, waiting_survives_kill_and_restart /* STORE-9, INT-2 */) {
    const char *a = approval(&sv);
    const char *b = waiting(&sv, "conformance-interrupt-external-event", "waiting-external", NULL);
    const char *c = waiting(&sv, "conformance-interrupt-quorum", "waiting-approval", NULL);
    struct str token = token_of(&sv, b), before = events_of(&sv, a);
    cr_expect_eq(vote(c, "accept", "x"), 200);
    server_kill(&sv);
    server_again(&sv);
    expect_status(a, "waiting-approval");
    cr_expect_eq(resolve(&sv, a, "gate", ACCEPT).status, 200);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, a), "status"), "completed"));
    struct str after = types_of(events_of(&sv, a));
    const char *first = strstr(after.p, "interrupt.requested");
    cr_assert_not_null(first);
    cr_expect_null(strstr(first + 1, "interrupt.requested"), "asked once: " STR_FMT,
                   STR_ARG(after));
    cr_expect(before.n > 0);
    cr_expect_eq(by_token(&sv, "POST", token, THE_ORDER).status, 200, "its token still works");
    wait_terminal(&sv, b);
    cr_expect_eq(vote(c, "accept", "y"), 200);
    cr_expect_eq(vote(c, "accept", "z"), 200);
    cr_expect(str_eqc(text_at(wait_terminal(&sv, c), "status"), "completed"),
              "the vote before the kill counts");
    static const char *const verify[] = {"verify", NULL};
    cr_expect_not_null(strstr(wopr(&sv, verify).p, "0 findings"));
}

static void change(const char *sql) {
    sqlite3 *db = NULL;
    cr_assert_eq(sqlite3_open(sv.db, &db), SQLITE_OK);
    cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK, "%s", sqlite3_errmsg(db));
    cr_assert_gt(sqlite3_changes(db), 0, "%s", sql);
    sqlite3_close(db);
}

Test(interrupts, verification_compares_the_rows_with_the_log /* STORE-8, EVT-41 */) {
    static const char *const verify[] = {"verify", NULL};
    static const char *const changes[][2] = {
        {"UPDATE interrupts SET state = 1 WHERE state = 0",
         "UPDATE interrupts SET state = 0 WHERE resume_value IS NULL"},
        {"DELETE FROM interrupts WHERE state = 0", NULL},
    };
    const char *answered = approval(&sv);
    approval(&sv);
    cr_expect_eq(resolve(&sv, answered, "gate", ACCEPT).status, 200);
    wait_terminal(&sv, answered);
    server_kill(&sv);
    struct str out = STR_NONE;
    cr_expect_eq(program(&sv, verify, &out, NULL), 0, STR_FMT, STR_ARG(out));
    for (size_t i = 0; i < 2; i++) {
        change(changes[i][0]);
        cr_expect_neq(program(&sv, verify, &out, NULL), 0, "%s", changes[i][0]);
        cr_expect_not_null(strstr(out.p, "the pending interrupts differ"), STR_FMT, STR_ARG(out));
        if (changes[i][1]) change(changes[i][1]);
    }
    server_again(&sv);
}

Test(interrupts, discovery_says_what_works /* INT-11, INT-49, CAP-23, PROF-2 */) {
    static const char *const FIXTURES[] = {
        "conformance-approval", "conformance-clarification", "conformance-interrupt-quorum",
        "conformance-interrupt-external-event", "conformance-interrupt-auth-required"};
    struct reply r = ask(&sv, "GET", "/.well-known/openwop", NULL, NULL);
    cr_assert_eq(r.status, 200);
    for (size_t i = 0; i < sizeof FIXTURES / sizeof *FIXTURES; i++)
        cr_expect_not_null(strstr(at(r.body, "fixtures").p, FIXTURES[i]), "%s", FIXTURES[i]);
    cr_expect(str_eqc(at(r.body, "supportedEnvelopes"), "[\"clarification.request\"]"));
    cr_expect_eq(json_type_of(at(r.body, "extensions.interrupts.profiles")), JSON_ARRAY);
    cr_expect(str_eqc(at(r.body, "extensions.interrupts.signedCallbackTokens"), "true"));
    cr_expect(int_at(r.body, "extensions.interrupts.externalEventRetentionSeconds") > 0);
    cr_expect_null(strstr(r.body.p, "\"edit\""));
    r = ask(&sv, "GET", "/v1/openapi.json", NULL, NULL);
    cr_expect_not_null(strstr(r.body.p, "resolveInterruptByRun"));
    cr_expect_not_null(strstr(r.body.p, "inspectInterruptByToken"));
    cr_expect_not_null(strstr(r.body.p, "resolveInterruptByToken"));
}

/* --- the operator's list (INT-47, STORE-9) --- */

static struct str listed(const char *query) {
    struct reply r = ask(&sv, "GET", fmt("/v1/host/wopr/interrupts%s", query), NULL, NULL);
    cr_assert_eq(r.status, 200, STR_FMT, STR_ARG(r.body));
    return r.body;
}

static size_t length_of(struct str list) {
    struct json_elements l;
    cr_assert_eq(json_elements(at(list, "interrupts"), test_arena(), &l, NULL), 0);
    return l.n;
}

Test(interrupts, the_operator_sees_what_is_pending /* INT-47 */) {
    const char *a = approval(&sv), *b = approval(&sv);
    const char *c = waiting(&sv, "conformance-clarification", "waiting-input", NULL);
    struct str all = listed("");
    cr_expect_eq(length_of(all), 3u, STR_FMT, STR_ARG(all));
    cr_expect_null(strstr(all.p, "oken"), "no tokens in a list");
    struct str one = listed(fmt("?runId=%s", c));
    cr_assert_eq(length_of(one), 1u);
    struct str item = at(one, "interrupts.0");
    cr_expect(str_eqc(text_at(item, "runId"), c) && str_eqc(text_at(item, "nodeId"), "ask"));
    cr_expect(str_eqc(text_at(item, "kind"), "clarification"));
    cr_expect_eq(text_at(item, "requestedAt").n, 24u);
    cr_expect(int_at(item, "ageMs") >= 0);
    cr_expect(
        str_eqc(text_at(item, "resolveUrl"), fmt("%s/v1/runs/%s/interrupts/ask", sv.base, c)));
    cr_expect_eq(length_of(listed("?kind=approval")), 2u);
    cr_expect_eq(length_of(listed("?kind=external-event")), 0u);
    cr_expect_eq(length_of(listed("?ownerUserId=nobody")), 0u);
    static const char *const keys[] = {"keys", "list", NULL};
    struct str head, rows = wopr(&sv, keys), owner;
    cr_assert(str_cut(rows, '\n', &head, &rows) && str_cut(rows, ' ', &owner, &rows));
    cr_expect_eq(length_of(listed(fmt("?ownerUserId=" STR_FMT, STR_ARG(owner)))), 3u,
                 "who created the runs: the only key there is");
    struct str first = listed("?limit=2");
    cr_expect_eq(length_of(first), 2u);
    struct str cursor = text_at(first, "nextCursor");
    struct str rest = listed(fmt("?limit=2&cursor=" STR_FMT, STR_ARG(cursor)));
    cr_expect_eq(length_of(rest), 1u);
    cr_expect_null(at(rest, "nextCursor").p, "the last page");
    cr_expect_neq(str_eq(text_at(rest, "interrupts.0.runId"), text_at(first, "interrupts.0.runId")),
                  true);
    cr_assert_eq(resolve(&sv, a, "gate", ACCEPT).status, 200);
    wait_terminal(&sv, a);
    cr_expect_eq(length_of(listed("")), 2u);
    const char *const foreign[] = {key_with(&sv, "all", "another"), NULL};
    struct reply r = ask(&sv, "GET", "/v1/host/wopr/interrupts", NULL, foreign);
    cr_expect(str_eqc(r.body, "{\"interrupts\":[]}"), STR_FMT, STR_ARG(r.body));
    static const char *const bad[] = {"limit=0", "limit=x", "kind=nonsense", "cursor=%20",
                                      "cursor=abc"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        r = ask(&sv, "GET", fmt("/v1/host/wopr/interrupts?%s", bad[i]), NULL, NULL);
        expect_error(&r, 400, "validation_error");
        cr_expect_not_null(at(r.body, "details.parameter").p, "%s", bad[i]);
    }
    cr_expect(b != NULL);
}
