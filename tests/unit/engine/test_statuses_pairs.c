/*
 * test_statuses_pairs.c: two commands of different kinds that arrive before either took effect,
 * at runs and replays in every status, and the cancel of all runs at once, children and parents
 * alike (RUN-25, INT-42).  No answer is a 5xx, a cancel always ends its run, no event is emitted in
 * a state that the table forbids, and every run ends.  WOPR_ORACLE_ROUNDS: that many samples.
 */
#include "oracle_kit.h"
#include "statuses_kit.h"

#include <criterion/criterion.h>

static void up_alone(void) { /* one worker, which worker_hold() keeps */
    W.cfg.workers = 1;
    world_virtual_time();
    world_up();
}
TestSuite(engine_statuses_pairs, .init = up_alone, .fini = world_down, .timeout = 600);

enum { AT_ONCE = 48, SAMPLED = 3 }; /* runs of one batch; of the pairs of a shape every nth */

static size_t WAITED; /* runs that had both commands before them */

/* The one worker is inside a node until it is let go; what is sent meanwhile waits together. */
static void worker_hold(void) {
    (void)world_start(world_def("held", NODE("h", "test.hold", "", ""), 0, 0, 0, 0), NULL);
    cr_assert_eq(world_wait_sem(&HOLD_HELD), 0);
}

static bool pairs_with(const struct order *a, const struct order *b) {
    static const char *const ALONE[] = {"create again", "answer nothing", "answer by id",
                                        "ask",          "ask of a task",  "replay at the end"};
    for (size_t i = 0; i < sizeof ALONE / sizeof *ALONE; i++)
        if (strcmp(a->name, ALONE[i]) == 0 || strcmp(b->name, ALONE[i]) == 0) return false;
    return a != b;
}

static void pair_answered(const struct subject *x, const struct order *second, struct call c[2]) {
    bool cancels = x->order->op == ENGINE_CANCEL || second->op == ENGINE_CANCEL;
    enum run_status now = world_head(x->run).status;
    for (int k = 0; k < 2; k++) {
        answered(x, &c[k], k == 0 ? x->order->name : second->name);
        if (c[k].cmd.op == ENGINE_CANCEL) cr_expect_eq(c[k].cmd.result.rc, 0, "%s", label(x));
        call_fini(&c[k]);
    }
    cr_expect(!cancels || run_status_final(now), "%s, then %s", label(x), second->name);
}

static void pairs_send(struct subject *x, const struct order *const *second, size_t n) {
    static struct call of[AT_ONCE][2];
    worker_hold();
    for (size_t i = 0; i < n; i++) {
        order_fill(&of[i][0], &x[i], x[i].order);
        order_fill(&of[i][1], &x[i], second[i]);
        for (int k = 0; k < 2; k++) call_send(&of[i][k]);
    }
    for (size_t i = 0; i < n; i++) {
        int was[2];
        for (int k = 0; k < 2; k++) cr_assert_eq(sem_getvalue(&of[i][k].done, &was[k]), 0);
        WAITED += was[0] == 0 && was[1] == 0;
    }
    sem_post(&HOLD_GO);
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++) call_wait(&of[i][k]);
        pair_answered(&x[i], second[i], of[i]);
    }
}

/* A second command of another kind comes before the first has taken effect: both are answered, and
 * the log is one that the table allows; at runs and replays of every shape. */
static void pairs_product(unsigned first) {
    const struct order *second[AT_ONCE];
    unsigned nr = first;
    WAITED = 0;
    size_t sent = 0;
    SUBJECTS = ARENA_ARRAY(W.a, struct subject, (size_t)SHAPES_NR * 2 * ORDERS_NR * ORDERS_NR);
    for (int i = 0; i < SHAPES_NR * 2 * ORDERS_NR * ORDERS_NR; i++) {
        const struct shape *s = &SHAPES[i / (2 * ORDERS_NR * ORDERS_NR)];
        const struct order *a = &ORDERS[i / ORDERS_NR % ORDERS_NR], *b = &ORDERS[i % ORDERS_NR];
        bool replays = i / (ORDERS_NR * ORDERS_NR) % 2 == 1;
        if (s->at_once || !pairs_with(a, b) || nr++ % SAMPLED != 0) continue;
        struct subject *x = &SUBJECTS[SUBJECTS_NR++];
        *x = (struct subject){
            .shape = s, .lineage = replays ? REPLAY : PLAIN, .order = a, .key = ++KEYS};
        subject_make(x);
        second[SUBJECTS_NR - 1 - sent] = b;
        if (SUBJECTS_NR - sent < AT_ONCE) continue;
        pairs_send(&SUBJECTS[sent], second, AT_ONCE);
        sent = SUBJECTS_NR;
    }
    pairs_send(&SUBJECTS[sent], second, SUBJECTS_NR - sent);
    cr_assert_gt(WAITED, SUBJECTS_NR / 2, "%zu of %zu", WAITED, SUBJECTS_NR);
}

Test(engine_statuses_pairs, two_commands_before_either_took_effect /* RUN-25 */) {
    statuses_children_put();
    for (unsigned i = 0, n = oracle_rounds(1); i < n; i++) {
        SUBJECTS_NR = 0;
        pairs_product(i);
        all_end("two at once");
        all_whole();
        nothing_left();
    }
}

/* As "runs bulk-cancel --all" does: every run that goes on, parents and their children alike. */
static struct call BULK[SHAPES_NR * LINEAGES_NR * 3];
static size_t BULK_NR;

static void bulk_send(struct str run, const char *why) {
    (void)why;
    cr_assert_lt(BULK_NR, sizeof BULK / sizeof *BULK);
    call_init(&BULK[BULK_NR], ENGINE_CANCEL, run);
    call_send(&BULK[BULK_NR++]);
}

Test(engine_statuses_pairs, all_that_goes_on_is_cancelled_at_once /* RUN-25, INT-42 */) {
    statuses_children_put();
    SUBJECTS = ARENA_ARRAY(W.a, struct subject, (size_t)SHAPES_NR * LINEAGES_NR);
    for (int i = 0; i < SHAPES_NR * LINEAGES_NR; i++) {
        const struct shape *s = &SHAPES[i / LINEAGES_NR];
        if (s->at_once) continue;
        struct subject *x = &SUBJECTS[SUBJECTS_NR++];
        *x = (struct subject){
            .shape = s, .lineage = (enum lineage)(i % LINEAGES_NR), .order = ORDERS, .key = ++KEYS};
        subject_make(x);
    }
    worker_hold();
    (void)each_open(bulk_send, "bulk");
    sem_post(&HOLD_GO);
    for (size_t i = 0; i < BULK_NR; i++) {
        call_wait(&BULK[i]);
        cr_expect_eq(BULK[i].cmd.result.rc, 0, "%s", BULK[i].cmd.result.err.message);
        cr_expect(run_status_final(world_head(BULK[i].cmd.run_id).status));
        call_fini(&BULK[i]);
    }
    cr_assert_gt(BULK_NR, 100u);
    all_whole();
    nothing_left();
}
