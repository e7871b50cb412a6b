/*
 * test_fork_outstanding.c: forks of runs that have asked somebody outside and have no answer at the
 * cut: a worker (WRK-22) or a server (D57, FORK-12).  Kinds of flows times what is outstanding, at
 * every sequence, while the source still waits and when it has ended: two replays tell the same and
 * call nobody; a branch asks by itself.
 */
#include "fork_kit.h"
#include "outside_kit.h"
#include "worker_kit.h"

#include "base/buf.h"
#include "codec/json.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WORKER_TYPE "acme.outside"

static void up(void) {
    outside_up();
    worker_type_put(WORKER_TYPE);
}

TestSuite(engine_fork_outstanding, .init = up, .fini = outside_down, .timeout = 400);

/* --- flows: OUT(n) asks somebody outside --- */

enum asked { A_WORKER, A_SERVER, ASKED_NR };
static const char *const ASKED_NAMES[] = {"a worker", "a server"};

#define OUT(id)  NODE(id, "@type@", "@config@", "")
#define NOOP(id) NODE(id, "core.noop", "", "")
#define GATE(id) NODE(id, "core.approvalGate", "", "")
#define OUT_OF_TIME                                                                                \
    "{\"id\":\"n\",\"typeId\":\"@type@\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"           \
    "\"config\":{@config@},\"inputs\":{},\"settings\":{\"timeoutMs\":20}}"
#define IF_DONE(x) ",\"condition\":{\"type\":\"equals\",\"left\":\"output.done\",\"right\":" x "}"

enum act { LEFT_ALONE, CANCELLED, TIMED_OUT, PAUSED, KILLED };
static const struct flow {
    const char *name, *nodes, *edges, *settings;
    enum act act;    /* while the first is outstanding */
    bool races;      /* a branch may be answered in time, or not be cancelled */
    unsigned beside; /* nodes that complete while the first is outstanding */
} FLOWS[] = {
    {.name = "a chain",
     .nodes = NOOP("a") "," OUT("n") "," NOOP("z"),
     .edges = EDGE("1", "a", "n", "") "," EDGE("2", "n", "z", "")},
    {.name = "one after the other",
     .nodes = OUT("n") "," OUT("m"),
     .edges = EDGE("1", "n", "m", "")},
    {.name = "two at once",
     .nodes = OUT("n") "," OUT("m") "," NOOP("z"),
     .edges = EDGE("1", "n", "z", "") "," EDGE("2", "m", "z", "")},
    {.name = "beside a gate", .nodes = OUT("n") "," GATE("g")},
    {.name = "after a gate", .nodes = GATE("g") "," OUT("n"), .edges = EDGE("1", "g", "n", "")},
    {.name = "a loop over items",
     .nodes = NODE("l", "core.loop", "\"items\":[1,2]", "") "," OUT("n") "," NOOP("z"),
     .edges = EDGE("1", "l", "n", IF_DONE("false")) "," EDGE("2", "n", "l", "") "," EDGE(
         "3", "l", "z", IF_DONE("true"))},
    {.name = "a loopback",
     .nodes = OUT("n") "," NOOP("z"),
     .edges = EDGE("1", "n", "z", "") "," EDGE("2", "z", "n", ""),
     .settings = "\"maxLoopbackIterations\":1"},
    {.name = "beside a failure that is retried",
     .nodes = OUT("n") "," NODE("f", "test.flaky", "\"failures\":1", ""),
     .settings = "\"maxRetries\":1,\"retryDelayMs\":1",
     .beside = 1},
    {.name = "in a child",
     .nodes = NODE("s", "core.subWorkflow", "\"workflowId\":\"@child@\"", "")},
    {.name = "out of time", .nodes = OUT_OF_TIME "," GATE("g"), .act = TIMED_OUT, .races = true},
    {.name = "cancelled", .nodes = OUT("n"), .act = CANCELLED, .races = true},
    {.name = "paused",
     .nodes = OUT("n") "," NOOP("z"),
     .edges = EDGE("1", "n", "z", ""),
     .act = PAUSED},
    {.name = "killed", .nodes = OUT("n") "," OUT("m"), .act = KILLED},
};
enum { FLOWS_NR = sizeof FLOWS / sizeof *FLOWS };

static struct str with(struct str text, const char *what, const char *by) {
    struct buf b;
    buf_init(&b, 1u << 20);
    for (size_t i = 0; i < text.n;) {
        bool here = str_starts(str_n(text.p + i, text.n - i), str_c(what));
        if (here) buf_adds(&b, str_c(by));
        else buf_addc(&b, text.p[i]);
        i += here ? strlen(what) : 1;
    }
    struct str s = arena_str(W.a, buf_str(&b));
    buf_fini(&b);
    return s;
}

static struct str asking(struct str def, enum asked whom) {
    char config[96] = "";
    if (whom == A_SERVER)
        snprintf(config, sizeof config, "\"method\":\"POST\",\"url\":\"http://127.0.0.1:%d/\"",
                 outside_port());
    def = with(def, "@type@", whom == A_WORKER ? WORKER_TYPE : "vendor.wopr.http");
    def = with(def, "@config@", config);
    return with(def, "@child@", whom == A_WORKER ? "child-of-worker" : "child-of-server");
}

/* --- driving --- */

/* Nobody answers but people; the outside does when it may. */
static void serve_once(struct str run) {
    static const struct task_says done = {.verb = TASK_COMPLETE, .output = {"{\"x\":1}", 7}};
    struct run_view v = world_view(run);
    if (atomic_load(&OUTSIDE_ANSWERS)) {
        struct task_row_list l = worker_claim(WORKER_TYPE, 16, 30000);
        for (size_t i = 0; i < l.n; i++) (void)worker_say(&l.v[i], &done, NULL);
    }
    if (v.head.status >= RUN_WAITING_APPROVAL && v.head.status <= RUN_WAITING_EXTERNAL)
        (void)world_answer(run, "g", "{\"action\":\"accept\"}", NULL);
}

static enum run_status drive(struct str run) {
    for (;;) {
        struct run_head h = world_head(run);
        if (run_status_final(h.status)) return h.status;
        serve_once(run);
        usleep(500);
    }
}

static unsigned calls_of(struct str run) {
    const char *q = arena_cstr(
        W.a,
        arena_printf(W.a,
                     "SELECT (SELECT count(*) FROM worker_tasks t, runs r WHERE t.run_no = "
                     "r.run_no AND r.run_id = '" STR_FMT "') + (SELECT count(*) FROM "
                     "effects i, runs r WHERE i.run_no = r.run_no AND r.run_id = '" STR_FMT "')",
                     STR_ARG(run), STR_ARG(run)));
    return (unsigned)world_sql_number(q);
}

/* Somebody outside has been asked and not answered. */
static unsigned outstanding(enum asked whom) {
    if (whom == A_SERVER) return atomic_load(&OUTSIDE_ASKED);
    return (unsigned)world_sql_number("SELECT count(*) FROM worker_tasks");
}

/* What went on beside the question is over: forks of one moment see one log. */
static void beside_ends(struct str run, unsigned completed) {
    int64_t before;
    do {
        before = world_head(run).next_seq;
        usleep(30000);
    } while (world_head(run).next_seq != before || world_count(run, EV_NODE_COMPLETED) < completed);
}

static struct str source_run(const struct flow *f, enum asked whom) {
    unsigned before = outstanding(whom);
    struct str run =
        world_start(asking(world_def("w", f->nodes, f->edges, 0, f->settings, 0), whom), NULL);
    while (outstanding(whom) == before && !run_status_final(world_head(run).status)) {
        serve_once(run);
        usleep(500);
    }
    if (f->act == LEFT_ALONE) beside_ends(run, f->beside);
    if (f->act == TIMED_OUT) cr_assert_eq(drive(run), RUN_FAILED, "%s", world_story(run));
    if (f->act == CANCELLED) cr_assert_eq(world_op(ENGINE_CANCEL, run, NULL), 0);
    if (f->act == PAUSED) cr_assert_eq(world_pause(run, DRAIN_IMMEDIATE), 0);
    if (f->act == KILLED) outside_crash();
    return run;
}

/* --- the oracle --- */

/* Two replays at a cut of a source that has not ended: what they lack fails them alike. */
static void replays_of_waiting(const char *what, struct str source, int64_t cut) {
    struct str r[2];
    for (int i = 0; i < 2; i++) r[i] = fork_run(source, FORK_REPLAY, cut);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(drive(r[i]), RUN_FAILED, "%s at %d: %s", what, (int)cut, world_story(r[i]));
        struct str code = json_get(world_view(r[i]).error, "code");
        cr_expect(str_eqc(code, "\"replay_source_missing\""), "%s at %d: " STR_FMT, what, (int)cut,
                  STR_ARG(code));
        cr_expect_eq(world_count(r[i], EV_REPLAY_DIVERGED), 0, "%s at %d: %s", what, (int)cut,
                     world_story(r[i]));
        cr_expect_eq(calls_of(r[i]), 0u, "%s at %d: a replay calls nobody", what, (int)cut);
        fork_same_prefix(source, r[i], cut);
        world_check_log(r[i]);
    }
    cr_expect_str_eq(world_story(r[0]), world_story(r[1]), "%s at %d: %s and %s", what, (int)cut,
                     world_story(r[0]), world_story(r[1]));
}

static void branch_ends(const struct flow *f, const char *what, struct str branch, int64_t cut,
                        enum run_status end) {
    enum run_status s = drive(branch);
    cr_expect(f->races || s == end, "%s at %d: %s", what, (int)cut, world_story(branch));
    world_check_log(branch);
}

static void every_cut(const struct flow *f, enum asked whom) {
    const char *what =
        arena_cstr(W.a, arena_printf(W.a, "%s, %s outstanding", f->name, ASKED_NAMES[whom]));
    atomic_store(&OUTSIDE_ANSWERS, false);
    struct str source = source_run(f, whom);
    int64_t waiting = world_head(source).next_seq;
    struct str *branches = ARENA_ARRAY(W.a, struct str, (size_t)waiting);
    bool waits = !run_status_final(world_head(source).status);
    for (int64_t cut = 0; cut < waiting && waits; cut++) {
        branches[cut] = fork_run(source, FORK_BRANCH, cut);
        replays_of_waiting(what, source, cut);
    }
    atomic_store(&OUTSIDE_ANSWERS, true);
    if (f->act == PAUSED) cr_assert_eq(world_op(ENGINE_RESUME, source, NULL), 0);
    enum run_status end = drive(source);
    for (int64_t cut = 0; cut < waiting && waits; cut++)
        branch_ends(f, what, branches[cut], cut, end);
    uint64_t sent = outside_sent();
    for (int64_t cut = 0; cut < world_head(source).next_seq; cut++)
        fork_replays_equal(source, cut, end);
    cr_expect_eq(outside_sent(), sent, "%s: a replay calls nobody", what);
    cr_expect_eq(worker_claim(WORKER_TYPE, 1, 30000).n, 0u, "%s: a replay has no task", what);
    for (int64_t cut = 0; cut < world_head(source).next_seq; cut++)
        branch_ends(f, what, fork_run(source, FORK_BRANCH, cut), cut, end);
}

static void every_flow(enum asked whom) {
    workflow_unref(world_put(asking(world_def("@child@", OUT("c"), 0, 0, 0, 0), whom)));
    for (int i = 0; i < FLOWS_NR; i++) every_cut(&FLOWS[i], whom);
}

Test(engine_fork_outstanding, a_task_of_a_worker_at_every_cut /* WRK-22, FORK-15 */) {
    every_flow(A_WORKER);
}

Test(engine_fork_outstanding, a_request_at_every_cut /* FORK-12, FORK-15, D57 */) {
    every_flow(A_SERVER);
}
