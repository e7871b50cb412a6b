/*
 * test_sensitive_random.c: canaries in random workflows (OBS-71, CHAN-24, FORK-21): copies by
 * ports, variables, channels, log lines, artifacts, errors, gates, answers, workers and children,
 * forks of forks and replays of replays at random cuts, hosts that die, calls that fail.  Whatever
 * happens, no log, view or byte of the files holds a clear value, runs go on, and nothing stays
 * sealed for runs that have ended.
 *
 * WOPR_TEST_SEED=n: one seed; WOPR_TEST_ROUNDS=n: rounds of each test.
 */
#include "engine_world.h"

#include "base/fault.h"
#include "codec/json.h"
#include "domain/interrupt.h"
#include "fork_kit.h"
#include "store/interrupts.h"
#include "support/sampled.h"
#include "worker_kit.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#define WORKS  "acme.rand"
#define CANARY "0nly-1n-the-1nputs"
#define ANSWER "0nly-1n-an-answ3r"

enum { NODES_MAX = 9, RUNS_MAX = 12 };

static void up(void) {
    world_virtual_time();
    world_up();
}
TestSuite(sensitive_random, .init = up, .fini = world_down, .timeout = 300);

static unsigned seeded, state;
static void seed(unsigned preset) {
    const char *asked = getenv("WOPR_TEST_SEED");
    seeded = state = asked ? (unsigned)strtoul(asked, NULL, 10) : preset;
}
static unsigned some(unsigned n) { return (unsigned)rand_r(&state) % n; }
static unsigned rounds(unsigned preset) {
    const char *asked = getenv("WOPR_TEST_ROUNDS");
    return asked ? (unsigned)strtoul(asked, NULL, 10) : sampled(preset);
}

/* --- where nothing may be --- */

static bool occurs(const char *p, size_t n, const char *word) {
    size_t w = strlen(word);
    for (size_t i = 0; i + w <= n; i++)
        if (p[i] == word[0] && memcmp(p + i, word, w) == 0) return true;
    return false;
}

static void absent(struct str where, const char *what, struct str run) {
    static const char *const words[] = {CANARY, ANSWER};
    for (size_t i = 0; i < 2; i++)
        cr_assert_not(occurs(where.p, where.n, words[i]), "seed %u: %s of " STR_FMT ": %.600s\n%s",
                      seeded, what, STR_ARG(run), where.p, world_story(run));
}

static void shows_nothing(struct str run) {
    struct event_list l = world_events(run);
    struct run_view v = world_view(run);
    struct interrupt_list open;
    struct wopr_error err;
    for (size_t i = 0; i < l.n; i++) absent(l.v[i].payload, event_name(l.v[i].kind), run);
    for (size_t i = 0; i < v.vars_nr; i++) absent(v.vars[i].value, "a variable", run);
    absent(v.error, "the error", run);
    absent(v.outputs, "the outputs", run);
    for (size_t i = 0; i < v.chans_nr; i++) absent(v.chans[i].value, "a channel", run);
    cr_assert_eq(
        store_interrupts_of_run(W.store, world_head(run).run_no, STR_NONE, false, W.a, &open, &err),
        0);
    for (size_t i = 0; i < open.n; i++) {
        absent(open.v[i].payload, "a question", run);
        absent(open.v[i].resume_value, "an answer", run);
    }
}

static void files_hold_nothing(void) {
    struct dirent *x;
    DIR *d = opendir(W.dir);
    cr_assert_not_null(d);
    while ((x = readdir(d)) != NULL) {
        char path[544];
        struct buf b;
        if (x->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", W.dir, x->d_name);
        FILE *f = fopen(path, "rb");
        if (!f) continue;
        buf_init(&b, 256u << 20);
        char part[65536];
        for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;) buf_add(&b, part, n);
        fclose(f);
        cr_assert_not(occurs(b.p, b.len, CANARY) || occurs(b.p, b.len, ANSWER),
                      "seed %u: %s holds a clear value", seeded, x->d_name);
        buf_fini(&b);
    }
    closedir(d);
}

/* --- random workflows --- */

#define OF_VAR(port, name)  "\"" port "\":{\"type\":\"variable\",\"variableName\":\"" name "\"}"
#define OF_EXPR(port, text) "\"" port "\":{\"type\":\"expression\",\"expression\":\"" text "\"}"
#define AT                  "\"position\":{\"x\":0,\"y\":0}"

static const char *source_text(void) {
    static const char *const texts[] = {"variables.v", "'<' + variables.v + '>'", "variables.w",
                                        "variables.p + variables.v", "variables.p"};
    return texts[some(sizeof texts / sizeof *texts)];
}

static void node_add(struct buf *b, int i) {
    const char *x = source_text(),
               *open = some(4) == 0 ? ",\"outputSensitivity\":{\"x\":true}" : "";
    buf_addf(b, "%s{\"id\":\"n%d\",\"name\":\"n\"," AT, i > 0 ? "," : "", i);
    switch (some(13)) {
    case 9:
        buf_addf(b, ",\"typeId\":\"test.tell\",\"config\":{},\"inputs\":{" OF_EXPR("x", "%s") "}",
                 x);
        break;
    case 10: /* the second attempt succeeds, or the run ends with the error */
        buf_addf(b,
                 ",\"typeId\":\"test.complain\",\"config\":{},\"settings\":{\"maxRetries\":%u,"
                 "\"retryDelayMs\":1},"
                 "\"inputs\":{" OF_EXPR("x", "%s") "}",
                 some(6) > 0, x);
        break;
    case 11:
    case 12: /* the answer of a question of its worker is sensitive */
        buf_addf(b,
                 ",\"typeId\":\"" WORKS "\",\"config\":{},\"inputs\":{" OF_EXPR(
                     "x", "%s") "},\"outputSensitivity\":{\"comment\":true%s}",
                 x, some(4) == 0 ? ",\"x\":true" : "");
        break;
    case 0:
    case 1:
        buf_addf(
            b, ",\"typeId\":\"core.identity\",\"config\":{},\"inputs\":{" OF_EXPR("x", "%s") "}%s",
            x, open);
        break;
    case 2:
        buf_addf(
            b,
            ",\"typeId\":\"core.setVariable\",\"config\":{\"name\":\"p\"},\"inputs\":{" OF_EXPR(
                "value", "%s") "}",
            x);
        break;
    case 3:
        buf_addf(b,
                 ",\"typeId\":\"core.channelWrite\",\"config\":{\"channelName\":\"%s\"},\"inputs\":"
                 "{" OF_EXPR("value", "%s") "}",
                 some(2) ? "c" : "d", x);
        break;
    case 4:
        buf_addz(b, ",\"typeId\":\"vendor.wopr.log\",\"config\":{},\"inputs\":{" OF_EXPR(
                        "message", "'it is ' + variables.v") "}");
        break;
    case 5:
    case 6:
        buf_addf(b, ",\"typeId\":\"core.approvalGate\",\"config\":{},\"inputs\":{},"
                    "\"outputSensitivity\":{\"comment\":true}");
        break;
    case 7:
        buf_addz(b,
                 ",\"typeId\":\"core.subWorkflow\",\"config\":{\"workflowId\":\"child\","
                 "\"inputMapping\":{\"p\":\"v\"},\"outputMapping\":{\"w\":\"p\"}},\"inputs\":{}");
        break;
    default:
        buf_addz(b, ",\"typeId\":\"core.delay\",\"config\":{\"ms\":5},\"inputs\":{}");
    }
    buf_addc(b, '}');
}

static struct str random_def(unsigned no) {
    static const char *const modes[] = {"mask", "hash", "omit"};
    struct buf b;
    int n = 3 + (int)some(NODES_MAX - 2);
    buf_init(&b, 1 << 20);
    buf_addf(&b, "{\"id\":\"r%u\",\"name\":\"r\",\"version\":\"1\",\"nodes\":[", no);
    for (int i = 0; i < n; i++) node_add(&b, i);
    buf_addz(&b, "],\"edges\":[");
    for (int i = 1; i < n; i++)
        buf_addf(&b, "%s{\"id\":\"e%d\",\"sourceNodeId\":\"n%d\",\"targetNodeId\":\"n%d\"}",
                 i > 1 ? "," : "", i, (int)some(3) == 0 && i > 1 ? i - 2 : i - 1, i);
    buf_addf(&b,
             "],\"triggers\":[],\"settings\":{},\"metadata\":{\"complianceConfig\":{\"maskingMode\""
             ":\"%s\"}},\"variables\":[{\"name\":\"v\",\"type\":\"string\",\"sensitive\":true},"
             "{\"name\":\"w\",\"type\":\"string\",\"defaultValue\":\"-\"},{\"name\":\"p\","
             "\"type\":\"string\",\"defaultValue\":\"-\"}],\"channels\":{\"c\":{\"reducer\":"
             "\"append\",\"sensitive\":true},\"d\":{\"reducer\":\"append\"}}}",
             modes[some(3)]);
    struct str text = arena_str(W.a, buf_str(&b));
    buf_fini(&b);
    return text;
}

static void child_put(void) {
    workflow_unref(world_put(
        world_def("child",
                  "{\"id\":\"g\",\"name\":\"g\",\"typeId\":\"core.approvalGate\",\"config\":{}," AT
                  ",\"inputs\":{}},{\"id\":\"i\",\"name\":\"i\",\"typeId\":\"core.identity\","
                  "\"config\":{}," AT ",\"inputs\":{" OF_VAR("x", "p") "}}",
                  EDGE("e", "g", "i", ""), "{\"name\":\"p\",\"type\":\"string\"}", 0, 0)));
}

/* --- what is done to them --- */

static unsigned fired;
static struct forest {
    struct str id[RUNS_MAX];
    size_t n;
} all;

static void add(struct str id) {
    for (size_t i = 0; i < all.n; i++)
        if (str_eq(all.id[i], id)) return;
    if (all.n < RUNS_MAX) all.id[all.n++] = arena_str(W.a, id);
}

/* What a run asks first, empty: nothing. */
static struct str asks(struct str run) {
    struct interrupt_list open;
    struct wopr_error err;
    cr_assert_eq(
        store_interrupts_of_run(W.store, world_head(run).run_no, STR_NONE, true, W.a, &open, &err),
        0);
    return open.n > 0 ? open.v[0].node_id : STR_NONE;
}

static void answer_prepare(struct call *c, struct str run, struct str node, bool child) {
    call_init(c, ENGINE_RESOLVE, run);
    c->cmd.resolve.node_id = node;
    c->cmd.resolve.value = child ? STR("{\"action\":\"accept\"}")
                                 : STR("{\"action\":\"accept\",\"comment\":\"" ANSWER "\"}");
    c->cmd.resolve.may_delegate = true;
}

static void answer_once(struct str run, bool child) {
    struct str node = asks(run);
    struct call c;
    if (node.n == 0) return;
    answer_prepare(&c, run, node, child);
    call_do(&c);
    call_fini(&c);
}

/* A worker gives back what it was given, wherever it may. */
static void worker_once(void) {
    const struct task_chunk chunk[] = {{.text = STR("it is " CANARY), .is_last = -1}};
    const struct task_says says[] = {
        {.verb = TASK_COMPLETE, .output = STR("{\"x\":\"" CANARY "\"}")},
        {.verb = TASK_COMPLETE, .output = STR("{\"x\":[\"<" CANARY ">\"]}")},
        {.verb = TASK_FAIL,
         .code = STR(CANARY),
         .message = STR("no " CANARY),
         .details = STR("{\"was\":\"" CANARY "\"}")},
        {.verb = TASK_ASK,
         .kind = STR("approval"),
         .data = STR("{\"artifactId\":\"a\",\"artifactType\":\"x\",\"title\":\"" CANARY
                     "?\",\"actions\":[\"accept\",\"reject\"]}")},
        {.verb = TASK_EMIT, .chunks = chunk, .chunks_nr = 1, .progress_message = STR("at " CANARY)},
    };
    struct task_row_list got = worker_claim(WORKS, 4, 1000);
    for (size_t i = 0; i < got.n; i++)
        (void)worker_say(&got.v[i], &says[some(sizeof says / sizeof *says)], NULL);
}

/* Until it has ended, whatever it or its children ask. */
static void settle(struct str run) {
    for (int i = 0; i < 30000 && !run_status_final(world_head(run).status); i++) {
        struct run_view v = world_view(run);
        for (size_t k = 0; k < v.children.n; k++) answer_once(v.children.v[k].run_id, true);
        answer_once(run, false);
        worker_once();
        world_time_skip(20);
        if (i > 20) usleep(1000); /* a host loads it */
    }
    cr_assert(run_status_final(world_head(run).status), "seed %u: " STR_FMT " is %d: %s", seeded,
              STR_ARG(run), (int)world_head(run).status, world_story(run));
}

static void fork_some(void) {
    struct str from = all.id[some((unsigned)all.n)], run;
    struct wopr_error err;
    int64_t last = world_head(from).next_seq - 1;
    if (all.n == RUNS_MAX || last < 1) return;
    int rc = fork_try(from, some(2) ? FORK_BRANCH : FORK_REPLAY, (int64_t)some((unsigned)last + 1),
                      (struct fork_overlay){.tags = STR_NONE}, &run, &err);
    cr_assert(rc == 0 || rc == WOPR_E_CONFLICT, "seed %u: %d %s", seeded, rc, err.message);
    if (rc == 0) add(run);
}

static void children_add(void) {
    for (size_t i = 0; i < all.n; i++) {
        struct run_view v = world_view(all.id[i]);
        for (size_t k = 0; k < v.children.n; k++) shows_nothing(v.children.v[k].run_id);
        shows_nothing(all.id[i]);
    }
}

static void ends_clean(void) {
    for (size_t i = 0; i < all.n; i++) settle(all.id[i]);
    for (size_t i = 0; i < all.n; i++) { /* detached or left behind */
        struct run_view v = world_view(all.id[i]);
        for (size_t k = 0; k < v.children.n; k++) settle(v.children.v[k].run_id);
    }
    children_add();
    for (size_t i = 0; i < all.n; i++) world_check_log(all.id[i]);
    cr_expect_eq(world_sql_number("SELECT count(*) FROM sealed"), 0, "seed %u", seeded);
    cr_expect_eq(world_sql_number("SELECT count(*) FROM sealed_holds"), 0, "seed %u", seeded);
    cr_expect_eq(world_sql_number("SELECT count(*) FROM run_checkpoints WHERE key_no > 0"), 0);
    files_hold_nothing();
}

static void begin(unsigned preset) {
    seed(preset);
    all.n = 0;
    add(world_start(random_def(preset), "{\"v\":\"" CANARY "\"}"));
}

Test(sensitive_random, forks_of_forks_of_random_workflows_show_no_clear_value) {
    child_put();
    worker_type_put(WORKS);
    for (unsigned round = 0, n = rounds(24); round < n; round++) {
        begin(20261122u + round);
        for (unsigned i = 0; i < 10; i++) {
            struct str run = all.id[some((unsigned)all.n)];
            world_time_skip(some(3) * 10);
            if (some(2) == 0) fork_some();
            else answer_once(run, false);
            if (some(3) == 0) worker_once();
            if (some(8) == 0) {
                world_engine_crash();
                world_engine_start();
            }
        }
        files_hold_nothing(); /* while it goes on, too */
        ends_clean();
    }
}

/* Its row is read by callers, and stays when the run has ended. */
Test(sensitive_random, the_row_of_an_artifact_says_what_its_event_says /* OBS-71, RUN-43 */) {
    seed(1);
    struct str r =
        world_start(world_def("a", NODE("n", "test.tell", "", OF_VAR("x", "v")), 0,
                              "{\"name\":\"v\",\"type\":\"string\",\"sensitive\":true}", 0, 0),
                    "{\"v\":\"" CANARY "\"}");
    cr_assert_eq(world_wait_final(r), RUN_COMPLETED);
    cr_expect_eq(
        world_sql_number("SELECT count(*) FROM artifacts WHERE summary = 'it is [REDACTED]'"
                         " AND artifact_id = 'n/[REDACTED]' AND version = 'v [REDACTED]'"
                         " AND artifact_type = '[REDACTED]'"),
        1);
    shows_nothing(r);
    files_hold_nothing();
}

/* Codes are words that nodes and workers choose: one that is a value is masked as any text. */
Test(sensitive_random, a_value_that_is_given_as_the_code_of_an_error_is_masked /* OBS-71 */) {
    seed(2);
    struct str r =
        world_start(world_def("c", NODE("n", "test.complain", "", OF_VAR("x", "v")), 0,
                              "{\"name\":\"v\",\"type\":\"string\",\"sensitive\":true}", 0, 0),
                    "{\"v\":\"" CANARY "\"}");
    cr_assert_eq(world_wait_final(r), RUN_FAILED);
    shows_nothing(r);
    files_hold_nothing();
}

/* A fork or an answer while the nth call fails: it is done, or refused with a reason. */
static void step_failing(void) {
    static const unsigned sites[] = {FAULT_MALLOC, FAULT_WRITE, FAULT_MALLOC};
    struct str run = all.id[some((unsigned)all.n)], node = asks(run);
    int64_t last = world_head(run).next_seq - 1;
    struct call c;
    bool forks = node.n == 0 || some(2) == 0;
    world_time_skip(some(3) * 10);
    if (forks && (last < 1 || all.n == RUNS_MAX)) return;
    if (forks) {
        call_init(&c, ENGINE_FORK, run);
        c.cmd.fork.from_seq = (int64_t)some((unsigned)last + 1);
        c.cmd.fork.mode = some(2) ? FORK_BRANCH : FORK_REPLAY;
    } else {
        answer_prepare(&c, run, node, false);
    }
    (void)fault_arm(1u << sites[some(3)], 1 + some(some(2) ? 400 : 60));
    call_do(&c);
    fired += fault_fired();
    fault_disarm();
    if (forks && c.cmd.result.rc == 0) add(c.cmd.result.run_id);
    call_fini(&c);
}

/* The nth call fails, of memory or disk, while runs are forked, answered and ended. */
Test(sensitive_random, whichever_call_fails_nothing_is_lost_and_nothing_shows) {
    child_put();
    worker_type_put(WORKS);
    for (unsigned round = 0, n = rounds(40); round < n; round++) {
        begin(777u + round);
        for (unsigned i = 0; i < 6; i++) step_failing();
        ends_clean();
    }
    cr_expect_gt(4 * fired, rounds(40), "%u calls failed", fired);
}
