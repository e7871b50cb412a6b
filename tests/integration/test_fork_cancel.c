/*
 * test_fork_cancel.c: a cancel sent right behind the fork that it is meant for (RUN-17, FORK-20).
 */
#include "interrupt_kit.h"

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(fork_cancel, .init = up, .fini = down, .timeout = 300);

Test(fork_cancel, cancelling_a_fresh_replay_takes_effect /* S11 */) {
    const char *source = approval(&sv);
    for (int i = 0; i < 200; i++) {
        struct reply r = ask(&sv, "POST", fmt("/v1/runs/%s:fork", source),
                             "{\"mode\":\"replay\",\"fromSeq\":0}", NULL);
        cr_assert_eq(r.status, 201);
        const char *fork = fmt(STR_FMT, STR_ARG(text_at(r.body, "runId")));
        r = ask(&sv, "POST", fmt("/v1/runs/%s/cancel", fork), "{}", NULL);
        cr_assert(r.status == 200 || r.status == 202, "round %d: %ld " STR_FMT, i, r.status,
                  STR_ARG(r.body));
        struct str end = wait_terminal(&sv, fork);
        cr_expect(str_eqc(text_at(end, "status"), "cancelled"), STR_FMT, STR_ARG(end));
    }
    struct str log = server_log(&sv);
    cr_expect_null(strstr(log.p, "not possible in this status"));
}
