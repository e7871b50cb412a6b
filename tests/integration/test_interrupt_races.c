/*
 * test_interrupt_races.c: many answers, cancels and time-outs at the same moment, over real HTTP
 * (INT-18, RUN-22, STORE-10): exactly one decides, the log tells one story.
 */
#include "interrupt_kit.h"

#include <pthread.h>

enum { CROWD = 24, ROUNDS = 12 };

static struct server sv;
static void up(void) { server_start(&sv, NULL); }
static void down(void) { server_end(&sv); }
TestSuite(interrupt_races, .init = up, .fini = down, .timeout = 300);

struct shot {
    const char *bytes;
    size_t n;
    long status;
    pthread_t thread;
    pthread_barrier_t *start;
};

static void *fire(void *arg) {
    struct shot *s = arg;
    char answer[4096];
    pthread_barrier_wait(s->start);
    s->status = exchange(&sv, s->bytes, s->n, answer, sizeof answer);
    return NULL;
}

static struct shot post(const char *path, const char *body, bool bearer) {
    const char *text = fmt("POST %s HTTP/1.1\r\nHost: h\r\n%s%s%sContent-Type: application/json\r\n"
                           "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                           path, bearer ? "Authorization: Bearer " : "", bearer ? sv.key : "",
                           bearer ? "\r\n" : "", strlen(body), body);
    return (struct shot){.bytes = text, .n = strlen(text)};
}

static void fire_all(struct shot *v, unsigned n) {
    pthread_barrier_t start;
    cr_assert_eq(pthread_barrier_init(&start, NULL, n), 0);
    for (unsigned i = 0; i < n; i++) {
        v[i].start = &start;
        cr_assert_eq(pthread_create(&v[i].thread, NULL, fire, &v[i]), 0);
    }
    for (unsigned i = 0; i < n; i++) pthread_join(v[i].thread, NULL);
    pthread_barrier_destroy(&start);
}

static unsigned times(const char *run, const char *type) {
    unsigned n = 0;
    struct str types = types_of(events_of(&sv, run));
    for (const char *p = types.p; (p = strstr(p, type)) != NULL; p += strlen(type)) n++;
    return n;
}

static void expect_sound_log(const char *run) {
    struct json_elements l;
    cr_assert_eq(json_elements(events_of(&sv, run), test_arena(), &l, NULL), 0);
    for (size_t i = 0; i < l.n; i++) cr_expect_eq(int_at(l.v[i], "sequence"), (int64_t)i);
    cr_expect_eq(times(run, "interrupt.requested"), 1u);
    cr_expect_leq(times(run, "interrupt.resolved"), 1u);
    cr_expect_eq(
        times(run, "run.completed") + times(run, "run.failed") + times(run, "run.cancelled"), 1u);
}

Test(interrupt_races, of_a_crowd_one_wins_and_the_rest_is_told /* INT-18 */) {
    struct shot v[CROWD];
    for (int round = 0; round < 4; round++) {
        const char *run = approval(&sv);
        const char *path = fmt("/v1/runs/%s/interrupts/gate", run);
        const char *open = fmt("/v1/interrupts/" STR_FMT, STR_ARG(token_of(&sv, run)));
        for (int i = 0; i < CROWD; i++)
            v[i] = i % 3 == 0 ? post(open, i % 2 ? ACCEPT : REJECT, false)
                              : post(path, i % 2 ? ACCEPT : REJECT, true);
        fire_all(v, CROWD);
        unsigned won = 0, lost = 0;
        bool accepted = false;
        for (int i = 0; i < CROWD; i++) {
            won += v[i].status == 200;
            lost += v[i].status == 409;
            if (v[i].status == 200) accepted = i % 2 == 1;
        }
        cr_expect_eq(won, 1u, "%u won", won);
        cr_expect_eq(lost, CROWD - 1u, "%u were told 409", lost);
        struct str status = text_at(wait_terminal(&sv, run), "status");
        cr_expect(str_eqc(status, accepted ? "completed" : "failed"),
                  "what the winner said happens: " STR_FMT, STR_ARG(status));
        cr_expect_eq(times(run, "interrupt.resolved"), 1u);
        expect_sound_log(run);
    }
}

Test(interrupt_races, cancel_against_resolve /* INT-18, RUN-22 */) {
    unsigned cancelled = 0;
    for (int round = 0; round < ROUNDS; round++) {
        const char *run = approval(&sv);
        struct shot v[] = {post(fmt("/v1/runs/%s/cancel", run), "{}", true),
                           post(round % 2 ? fmt("/v1/runs/%s/approvals/gate", run)
                                          : fmt("/v1/runs/%s/interrupts/gate", run),
                                ACCEPT, true)};
        fire_all(v, 2);
        cr_expect(v[0].status == 200 || v[0].status == 409, "cancel: %ld", v[0].status);
        cr_expect(v[1].status == 200 || v[1].status == 409 ||
                      (v[1].status == 422 && round % 2 == 0),
                  "resolve: %ld", v[1].status);
        cr_expect(v[0].status == 200 || v[1].status == 200);
        struct str status = text_at(wait_terminal(&sv, run), "status");
        if (v[1].status != 200) {
            cr_expect(str_eqc(status, "cancelled"), STR_FMT, STR_ARG(status));
            cr_expect_eq(times(run, "interrupt.resolved"), 0u);
            cancelled++;
        }
        expect_sound_log(run);
    }
    cr_expect_leq(cancelled, (unsigned)ROUNDS);
}

Test(interrupt_races, votes_at_once_decide_once /* INT-28 */) {
    enum { VOTERS = 8 };
    for (int round = 0; round < 3; round++) {
        const char *run = waiting(&sv, "conformance-interrupt-quorum", "waiting-approval", NULL);
        const char *path = fmt("/v1/runs/%s/interrupts/gate", run);
        struct shot v[VOTERS];
        for (int i = 0; i < VOTERS; i++)
            v[i] = post(path, fmt("{\"resumeValue\":{\"action\":\"accept\",\"voter\":\"v%d\"}}", i),
                        true);
        fire_all(v, VOTERS);
        unsigned taken = 0;
        for (int i = 0; i < VOTERS; i++) {
            taken += v[i].status == 200;
            cr_expect(v[i].status == 200 || v[i].status == 409, "%ld", v[i].status);
        }
        cr_expect_eq(taken, 3u, "three votes decide, %u were taken", taken);
        cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
        cr_expect_eq(times(run, "interrupt.resolved"), 1u);
        expect_sound_log(run);
    }
}

Test(interrupt_races, an_answer_against_the_deadline /* EVT-29, STORE-10 */) {
    put_gate(&sv, "tick", GATE_ACTIONS ",\"timeoutMs\":120");
    for (int round = 0; round < ROUNDS; round++) {
        const char *run = create_run(&sv, "tick", NULL);
        struct shot v[4];
        for (int i = 0; i < 4; i++)
            v[i] = post(fmt("/v1/runs/%s/interrupts/gate", run), ACCEPT, true);
        nap_ms(90 + 5 * round);
        fire_all(v, 4);
        unsigned won = 0;
        for (int i = 0; i < 4; i++) won += v[i].status == 200;
        struct str snap = wait_terminal(&sv, run);
        cr_expect_leq(won, 1u);
        cr_expect(str_eqc(text_at(snap, "status"), won ? "completed" : "failed"), STR_FMT,
                  STR_ARG(snap));
        expect_sound_log(run);
    }
}

Test(interrupt_races, kill_while_a_crowd_answers /* INT-2: the log decides */) {
    for (int round = 0; round < 3; round++) {
        const char *run = approval(&sv);
        const char *path = fmt("/v1/runs/%s/interrupts/gate", run);
        struct shot v[8];
        pthread_barrier_t start;
        cr_assert_eq(pthread_barrier_init(&start, NULL, 9), 0);
        for (int i = 0; i < 8; i++) {
            v[i] = post(path, ACCEPT, true);
            v[i].start = &start;
            cr_assert_eq(pthread_create(&v[i].thread, NULL, fire, &v[i]), 0);
        }
        pthread_barrier_wait(&start);
        server_kill(&sv);
        unsigned told = 0;
        for (int i = 0; i < 8; i++) {
            pthread_join(v[i].thread, NULL);
            told += v[i].status == 200;
        }
        pthread_barrier_destroy(&start);
        cr_expect_leq(told, 1u);
        server_again(&sv);
        struct reply r = resolve(&sv, run, "gate", ACCEPT);
        cr_expect(r.status == 200 || r.status == 409, "%ld", r.status);
        if (told) cr_expect_eq(r.status, 409, "what was acknowledged is durable");
        cr_expect(str_eqc(text_at(wait_terminal(&sv, run), "status"), "completed"));
        cr_expect_eq(times(run, "interrupt.resolved"), 1u);
        expect_sound_log(run);
    }
}
