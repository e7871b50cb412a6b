/*
 * test_timers.c: timers of one run in memory: they fire in the order of their times, whatever the
 * order in which the heap gave them out, and many of them cost as much each as few do.
 */
#include "engine/core.h"
#include "engine/exec.h"
#include "engine/timers.h"

#include "base/clock.h"
#include "support/growth.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static struct engine E;
static struct run_exec RUN;

static void up(void) {
    pthread_mutex_init(&E.mu, NULL);
    pthread_cond_init(&E.tick, NULL);
    heap_init(&E.timers);
    list_init(&RUN.timers.all);
    RUN.engine = &E;
    RUN.seat.queued = true; /* no worker is to be woken */
}

static void down(void) {
    timers_drop_all(&RUN);
    heap_fini(&E.timers);
    pthread_cond_destroy(&E.tick);
    pthread_mutex_destroy(&E.mu);
}
TestSuite(engine_timers, .init = up, .fini = down, .timeout = 300);

static void fire(uint64_t now_ms) {
    pthread_mutex_lock(&E.mu);
    timers_fire_due_locked(&E, now_ms);
    pthread_mutex_unlock(&E.mu);
}

/* Overdue timers, as a host that was down finds them: all are due at once, in no order. */
static void restore(unsigned n, unsigned *seed) {
    for (unsigned i = 0; i < n; i++) {
        const struct timer_row row = {
            .kind = TIMER_NODE_WAIT, .fire_at_ms = 1000 + rand_r(seed) % 100000, .remaining_ms = 1};
        cr_assert_eq(timer_restore(&RUN, &row, (int)i), 0);
    }
    fire(clock_mono_ms() + 10);
    cr_assert_eq(RUN.timers.fired_nr, n);
}

static void take_all(void) {
    int64_t last_ms = 0;
    unsigned n = 0;
    for (struct exec_timer *t; (t = timer_first_fired(&RUN)) != NULL; n++) {
        cr_assert_geq(t->fire_at_ms, last_ms);
        last_ms = t->fire_at_ms;
        cr_assert(timer_take_fired(&RUN, t));
        cr_assert_not(timer_take_fired(&RUN, t));
    }
    cr_assert_eq(RUN.timers.fired_nr, 0u);
}

Test(engine_timers, overdue_ones_fire_by_their_times /* STORE-38 */) {
    unsigned seed = 5;
    for (unsigned n = 1; n < 200; n += 7) {
        restore(n, &seed);
        take_all();
        timers_drop_all(&RUN);
    }
}

/* Armed, fired, taken, dropped and armed again in any order: beside a list of what must be. */
Test(engine_timers, any_order_of_calls_keeps_the_count_and_the_order /* STORE-38 */) {
    enum { NODES = 64, STEPS = 20000 };
    static int64_t at_ms[NODES]; /* 0: none; below 0: fired */
    unsigned seed = 11;
    for (int k = 0; k < STEPS; k++) {
        int node = rand_r(&seed) % NODES, fired = 0;
        int64_t first_ms = INT64_MAX;
        switch (rand_r(&seed) % 4) {
        case 0: {
            bool due = rand_r(&seed) % 2 == 0;
            at_ms[node] = due ? 1 + rand_r(&seed) % 1000 : clock_wall_ms() + 3600000;
            cr_assert_eq(timer_arm(&RUN, TIMER_NODE_WAIT, node, at_ms[node], true), 0);
            break;
        }
        case 1:
            timer_drop(&RUN, TIMER_NODE_WAIT, node);
            at_ms[node] = 0;
            break;
        case 2:
            fire(clock_mono_ms());
            for (int i = 0; i < NODES; i++)
                if (at_ms[i] > 0 && at_ms[i] <= 1000) at_ms[i] = -at_ms[i];
            break;
        default: {
            struct exec_timer *t = timer_first_fired(&RUN);
            if (!t) break;
            int of = t->node;
            cr_assert(timer_take_fired(&RUN, t));
            timer_drop(&RUN, TIMER_NODE_WAIT, of);
            at_ms[of] = 0;
        }
        }
        for (int i = 0; i < NODES; i++) {
            fired += at_ms[i] < 0;
            if (at_ms[i] < 0 && -at_ms[i] < first_ms) first_ms = -at_ms[i];
        }
        struct exec_timer *t = timer_first_fired(&RUN);
        cr_assert_eq(RUN.timers.fired_nr, (unsigned)fired, "step %d", k);
        cr_assert_eq(t ? t->fire_at_ms : INT64_MAX, first_ms, "step %d", k);
    }
}

enum { PARTS = 16, PART = 2500 };

/* PARTS times PART timers, of which `together` are there at a time. */
static uint64_t firing_us(void *ctx, unsigned together) {
    unsigned seed = 3;
    uint64_t begin = cpu_time_us();
    (void)ctx;
    for (unsigned done = 0; done < PARTS * PART; done += together) {
        restore((int)together, &seed);
        take_all();
        timers_drop_all(&RUN);
    }
    return cpu_time_us() - begin;
}

/* As many timers at once, and in sixteen parts: a scan at each fire costs sixteen times more. */
Test(engine_timers, many_cost_as_much_each_as_few) {
    const struct growth g = {firing_us, NULL, PART, PARTS * PART, 6, 60000};
    char told[512];
    cr_expect(growth_holds(&g, told, sizeof told), "%s", told);
}
