/* test_fair.c: tenants take turns, have shares, and runs that only wait give up their states
 * (queue.c). */
#include "engine/upkeep.h"
#include "engine/waits.h"
#include "engine_world.h"

#include "base/clock.h"
#include "base/mem.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define T2 STR("t2")

static void create_begin(struct call *c, struct workflow *wf, struct str tenant,
                         const char *inputs) {
    struct wopr_error err = {0};
    call_init(c, ENGINE_CREATE, STR_NONE);
    c->cmd.tenant = tenant;
    c->cmd.create.wf = wf;
    c->cmd.create.inputs_accepted = arena_str(c->cmd.arena, str_c(inputs));
    cr_assert_eq(run_inputs_check(c->cmd.create.inputs_accepted, wf, c->cmd.arena,
                                  &c->cmd.create.inputs, &err),
                 0, "%s", err.message);
    cr_assert_eq(run_options_load(STR_NONE, STR_NONE, STR_NONE, &RUN_LIMITS_DEFAULT, c->cmd.arena,
                                  &c->cmd.create.options, &err),
                 0);
    call_send(c);
}

static int create_rc(struct workflow *wf, struct str tenant, const char *inputs,
                     struct wopr_error *err) {
    struct call c;
    create_begin(&c, wf, tenant, inputs);
    call_wait(&c);
    int rc = c.cmd.result.rc;
    *err = c.cmd.result.err;
    call_fini(&c);
    return rc;
}

/* --- turns --- */

enum { TENANTS = 5, EXECS = 200, ROUNDS = 20000 };
static const char *const NAMES[TENANTS] = {"a", "b", "c", "d", "e"};

Test(fair_queue, every_tenant_that_waits_is_next_after_each_other_one_at_most /* S7, root 4 */) {
    static struct run_exec *re[EXECS];
    static int64_t put_at[EXECS], takes[QUEUE_NR], last_put[QUEUE_NR][TENANTS];
    struct engine *e = MEM_NEW(struct engine);
    int64_t clock = 0, in[QUEUE_NR][TENANTS] = {{0}}, head_since[QUEUE_NR][TENANTS] = {{0}};
    enum queue at[EXECS];
    e->queue.tenants = map_new();
    e->waits = WAIT_KINDS;
    e->runs.by_id = map_new();
    e->cfg.bounds.state_bytes_max = SIZE_MAX / 2;
    for (int i = 0; i < QUEUE_NR; i++) list_init(&e->queue.turns[i]);
    list_init(&e->states.resting);
    srand(7);
    for (int i = 0; i < EXECS; i++) {
        char id[16];
        snprintf(id, sizeof id, "run_%d", i);
        re[i] = exec_new(e, str_c(id), EXEC_NEW);
        /* The first tenant has most of them. */
        cr_assert_eq(tenant_join_locked(e, re[i], str_c(NAMES[i < 150 ? 0 : i % TENANTS])), 0);
        re[i]->run_no = i;
    }
    for (int round = 0; round < ROUNDS; round++) {
        int i = rand() % EXECS;
        if (!re[i]->seat.queued && rand() % 3 > 0) {
            enum queue q = rand() % 4 == 0 ? QUEUE_FRESH : QUEUE_RUNS;
            int t = re[i]->seat.tenant->name[0] - 'a';
            queue_put_locked(re[i], q);
            at[i] = q;
            put_at[i] = ++clock;
            if (in[q][t]++ == 0) head_since[q][t] = takes[q];
            continue;
        }
        if (e->queue.ready_nr == 0) continue;
        struct run_exec *x = queue_take_locked(e, false);
        int n = (int)x->run_no, t = x->seat.tenant->name[0] - 'a';
        enum queue q = at[n];
        x->seat.queued = false;
        cr_assert_gt(put_at[n], last_put[q][t], "in the order they came");
        last_put[q][t] = put_at[n];
        cr_assert_lt(takes[q]++ - head_since[q][t], TENANTS, "tenant %d waited", t);
        in[q][t]--;
        head_since[q][t] = takes[q];
    }
    while (e->queue.ready_nr > 0) queue_take_locked(e, false)->seat.queued = false;
    for (int i = 0; i < EXECS; i++) tenant_leave_locked(e, re[i]);
    cr_expect_eq(map_count(e->queue.tenants), 0u);
    for (int i = 0; i < EXECS; i++) exec_free(re[i]);
    tenants_free(e);
    map_free(e->runs.by_id);
    mem_free(e);
}

static void up_one_worker(void) {
    W.cfg.workers = 1;
    world_up();
}

Test(fair_turns, a_flood_of_one_tenant_does_not_delay_the_first_step_of_another /* S7, root 4 */,
     .init = up_one_worker, .fini = world_down) {
    enum { FLOOD = 40 };
    struct call c[FLOOD + 1], hold;
    struct workflow *busy = world_put(world_def("h", NODE("h", "test.hold", "", ""), 0, 0, 0, 0));
    struct workflow *many = world_put(world_def("n", NODE("n", "test.note", "", ""), 0, 0, 0, 0));
    struct workflow *one =
        world_put(world_def("o", NODE("o", "test.noteAtOnce", "", ""), 0, 0, 0, 0));
    create_begin(&hold, busy, STR("t1"), "{}");
    cr_assert_eq(sem_wait(&HOLD_HELD), 0); /* the only worker is inside */
    for (int i = 0; i < FLOOD; i++) create_begin(&c[i], many, STR("t1"), "{}");
    create_begin(&c[FLOOD], one, T2, "{}");
    sem_post(&HOLD_GO);
    for (int i = 0; i <= FLOOD; i++) {
        call_wait(&c[i]);
        cr_expect_eq(c[i].cmd.result.rc, 0);
        call_fini(&c[i]);
    }
    call_wait(&hold);
    call_fini(&hold);
    const char *at = strchr(SPY_NOTES, '+');
    cr_assert_not_null(at, "%s", SPY_NOTES);
    cr_expect_lt(at - SPY_NOTES, 4, "%s", SPY_NOTES);
    workflow_unref(busy);
    workflow_unref(many);
    workflow_unref(one);
}

static struct str large_inputs(struct arena *a, size_t n) {
    return arena_printf(a, "{\"x\":\"%0*d\"}", (int)n, 0);
}

Test(fair_turns, a_large_run_keeps_no_worker_from_small_ones /* S2, root 4 */,
     .init = up_one_worker, .fini = world_down) {
    struct call large, small;
    struct workflow *busy = world_put(world_def("h", NODE("h", "test.hold", "", ""), 0,
                                                "{\"name\":\"x\",\"type\":\"string\"}", 0, 0));
    struct workflow *one =
        world_put(world_def("o", NODE("o", "test.noteAtOnce", "", ""), 0, 0, 0, 0));
    struct arena *a = arena_new(4u << 20);
    create_begin(&large, busy, STR("t1"), large_inputs(a, 2 * ENGINE_LARGE_BYTES).p);
    cr_assert_eq(sem_wait(&HOLD_HELD), 0); /* a worker is inside */
    create_begin(&small, one, T2, "{}");
    call_wait(&small);
    cr_expect_eq(small.cmd.result.rc, 0);
    /* A command that is large makes the next turn of a small run a large one. */
    struct call answer;
    call_init(&answer, ENGINE_CANCEL, small.cmd.result.run_id);
    answer.cmd.tenant = T2;
    answer.cmd.bytes = 2 * ENGINE_LARGE_BYTES;
    call_send(&answer);
    struct call again;
    create_begin(&again, one, T2, "{}");
    call_wait(&again);
    cr_expect_eq(again.cmd.result.rc, 0);
    sem_post(&HOLD_GO);
    call_wait(&answer);
    call_wait(&large);
    cr_expect_eq(large.cmd.result.rc, 0);
    call_fini(&again);
    call_fini(&answer);
    call_fini(&small);
    call_fini(&large);
    arena_free(a);
    workflow_unref(busy);
    workflow_unref(one);
}

/* --- shares --- */

static void up_eight(void) {
    W.cfg.runs_active_max = 8;
    world_up();
}

Test(fair_share, one_tenant_leaves_room_for_others /* S7 */, .init = up_eight, .fini = world_down) {
    struct workflow *wf =
        world_put(world_def("w", NODE("d", "core.delay", "\"delayMs\":600000", ""), 0, 0, 0, 0));
    struct wopr_error err;
    for (int i = 0; i < 6; i++) cr_expect_eq(create_rc(wf, STR("t1"), "{}", &err), 0);
    cr_expect_eq(create_rc(wf, STR("t1"), "{}", &err), WOPR_E_QUOTA);
    cr_expect_not_null(strstr(err.message, "tenant-runs-active-max"), "%s", err.message);
    cr_expect_not_null(strstr(err.details, "\"limit\":6"), "%s", err.details);
    for (int i = 0; i < 2; i++) cr_expect_eq(create_rc(wf, T2, "{}", &err), 0);
    cr_expect_eq(create_rc(wf, T2, "{}", &err), WOPR_E_UNAVAILABLE, "the host is full");
    workflow_unref(wf);
}

/* How many of the tenant's runs are in memory. */
static size_t active_of(struct str tenant) {
    pthread_mutex_lock(&W.engine->mu);
    const struct tenant *t = map_get(W.engine->queue.tenants, tenant);
    size_t n = t ? t->active : 0;
    pthread_mutex_unlock(&W.engine->mu);
    return n;
}

Test(fair_share, after_a_restart_who_exceeds_its_share_does_not_hide_the_runs_of_others /* S7 */,
     .init = world_up, .fini = world_down, .timeout = 300) {
    enum { MANY = ENGINE_SWEEP_SKIPS_MAX + 100 };
    struct workflow *wf =
        world_put(world_def("w", NODE("d", "core.delay", "\"delayMs\":3600000", ""), 0, 0, 0, 0));
    struct wopr_error err;
    for (int i = 0; i < MANY; i++) cr_assert_eq(create_rc(wf, STR("t1"), "{}", &err), 0);
    cr_assert_eq(create_rc(wf, T2, "{}", &err), 0);
    world_engine_stop();
    W.cfg.bounds.tenant_runs_active_max = 2;
    world_engine_start();
    for (uint64_t end = clock_mono_ms() + 60000; active_of(T2) == 0 && clock_mono_ms() < end;)
        sched_yield();
    cr_expect_eq(active_of(T2), 1u);
    cr_expect_leq(active_of(STR("t1")), 2u);
    workflow_unref(wf);
}

/* --- states --- */

static void up_little_memory(void) {
    W.cfg.bounds.state_bytes_max = 300000;
    world_virtual_time();
    world_up();
}

static const char *big_inputs(void) {
    static char text[40100];
    size_t n = (size_t)snprintf(text, sizeof text, "{\"x\":\"");
    memset(text + n, 'v', 40000);
    memcpy(text + n + 40000, "\"}", 3);
    return text;
}

static struct workflow *sleeper(void) {
    return world_put(world_def(
        "w",
        NODE("d", "core.delay", "\"delayMs\":3600000", "") "," NODE(
            "n", "core.identity", "", "\"x\":{\"type\":\"variable\",\"variableName\":\"x\"}"),
        EDGE("e", "d", "n", ""), "{\"name\":\"x\",\"type\":\"string\"}", 0, 0));
}

static struct engine_stats stats(void) {
    struct engine_stats s;
    engine_stats(W.engine, &s);
    return s;
}

Test(fair_memory, states_of_runs_that_only_wait_are_dropped_and_read_again /* S6 */,
     .init = up_little_memory, .fini = world_down) {
    enum { N = 30 };
    struct workflow *wf = sleeper();
    struct str r[N];
    for (int i = 0; i < N; i++) {
        r[i] = world_create(wf, big_inputs(), NULL);
        world_wait_event(r[i], EV_NODE_STARTED, 1);
        while (stats().state_bytes > 290000) sched_yield(); /* the turn that drops one */
    }
    cr_expect_eq(stats().runs_active, (uint64_t)N);
    cr_expect_gt(stats().states_dropped, 15u);
    cr_expect_eq(world_pause(r[0], DRAIN_IMMEDIATE), 0, "a command finds its run");
    cr_expect_eq(world_op(ENGINE_RESUME, r[0], NULL), 0);
    cr_expect_eq(world_op(ENGINE_CANCEL, r[1], NULL), 0);
    world_time_skip(3599000);
    cr_expect_eq(world_count(r[5], EV_NODE_COMPLETED), 0u);
    world_time_skip(2000);
    for (int i = 0; i < N; i++) {
        cr_expect_eq(world_wait_final(r[i]), i == 1 ? RUN_CANCELLED : RUN_COMPLETED);
        world_check_log(r[i]);
        if (i > 1)
            EXPECT_STR(world_story(r[i]), "run.started node.started(d) node.completed(d) "
                                          "node.started(n) node.completed(n) run.completed");
    }
    workflow_unref(wf);
}

Test(fair_memory, creations_wait_when_nothing_can_be_dropped /* S6, ERR-9 */,
     .init = up_little_memory, .fini = world_down) {
    struct workflow *wf = world_put(world_def("w", NODE("d", "core.delay", "\"delayMs\":500", ""),
                                              0, "{\"name\":\"x\",\"type\":\"string\"}", 0, 0));
    struct wopr_error err;
    int rc = 0, n = 0;
    world_time_stop(true);
    while (n < 50 && (rc = create_rc(wf, STR("t1"), big_inputs(), &err)) == 0) n++;
    cr_expect_eq(rc, WOPR_E_UNAVAILABLE, "%d were let in", n);
    cr_expect(n >= 3 && n < 12, "%d", n);
    world_time_stop(false);
    world_time_skip(1000);
    while (stats().runs_active > 0) sched_yield();
    cr_expect_eq(stats().state_bytes, 0u);
    cr_expect_eq(create_rc(wf, STR("t1"), big_inputs(), &err), 0);
    workflow_unref(wf);
}

/* --- forks --- */

static struct run_exec *some_fork(void) {
    pthread_mutex_lock(&W.engine->mu);
    struct str key;
    struct run_exec *found = NULL;
    void *value;
    size_t it = 0;
    while (!found && map_next(W.engine->runs.by_id, &it, &key, &value)) {
        struct run_exec *re = value;
        if (re->phase == EXEC_FORKING) found = re;
    }
    pthread_mutex_unlock(&W.engine->mu);
    return found;
}

Test(fair_forks, of_one_tenant_copy_two_at_a_time_and_wait_in_a_bounded_line /* S7 */,
     .init = up_one_worker, .fini = world_down) {
    enum { N = ENGINE_FORKS_MAX + ENGINE_FORKS_WAITING_MAX };
    static struct call c[N + 1];
    struct call hold;
    struct str source =
        world_start(world_def("w", NODE("a", "core.noop", "", ""), 0, 0, 0, 0), NULL);
    cr_assert_eq(world_wait_final(source), RUN_COMPLETED);
    struct workflow *busy = world_put(world_def("h", NODE("h", "test.hold", "", ""), 0, 0, 0, 0));
    create_begin(&hold, busy, T2, "{}");
    cr_assert_eq(sem_wait(&HOLD_HELD), 0);
    for (int i = 0; i <= N; i++) {
        call_init(&c[i], ENGINE_FORK, source);
        c[i].cmd.fork.mode = FORK_BRANCH;
        c[i].cmd.fork.from_seq = 2;
        call_send(&c[i]);
    }
    struct run_exec *re = some_fork();
    cr_assert_not_null(re);
    cr_expect_eq(re->seat.tenant->forking, (size_t)ENGINE_FORKS_MAX);
    cr_expect_eq(re->seat.tenant->forks_nr, (size_t)ENGINE_FORKS_WAITING_MAX);
    sem_post(&HOLD_GO);
    for (int i = 0; i <= N; i++) {
        call_wait(&c[i]);
        cr_expect_eq(c[i].cmd.result.rc, i < N ? 0 : WOPR_E_QUOTA, "fork %d", i);
        if (i == N) { /* ERR-8: what the envelope and Retry-After are made of */
            struct str d = str_c(c[i].cmd.result.err.details);
            cr_expect(str_eqc(json_get(d, "scope"), "\"tenant\""), STR_FMT, STR_ARG(d));
            cr_expect(str_eqc(json_get(d, "limit"), "64"), STR_FMT, STR_ARG(d));
            cr_expect(str_eqc(json_get(d, "retryAfterMs"), "1000"), STR_FMT, STR_ARG(d));
        }
        call_fini(&c[i]);
    }
    call_wait(&hold);
    call_fini(&hold);
    workflow_unref(busy);
}

Test(fair_forks, that_wait_are_answered_when_the_host_stops /* HTTP drain */, .init = up_one_worker,
     .fini = world_down) {
    enum { N = 10 };
    struct call c[N];
    struct str source =
        world_start(world_def("w", NODE("a", "core.noop", "", ""), 0, 0, 0, 0), NULL);
    cr_assert_eq(world_wait_final(source), RUN_COMPLETED);
    for (int i = 0; i < N; i++) {
        call_init(&c[i], ENGINE_FORK, source);
        c[i].cmd.fork.mode = FORK_BRANCH;
        c[i].cmd.fork.from_seq = 2;
        call_send(&c[i]);
    }
    world_engine_stop();
    for (int i = 0; i < N; i++) {
        call_wait(&c[i]);
        int rc = c[i].cmd.result.rc;
        cr_expect(rc == 0 || rc == WOPR_E_UNAVAILABLE, "%s", wopr_err_name(rc));
        call_fini(&c[i]);
    }
    world_engine_start();
}
