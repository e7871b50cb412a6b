/* test_oracle_loops.c: random programs of loops in loops, repetitions, branches side by side,
 * retries, and programs that writes to channels start.  How often each node runs follows from the
 * program alone, by multiplication (30-nodes 2.4, WF-11 to WF-13, CHAN-20, CHAN-21, EVT-23); each
 * is also replayed and branched at a random cut (FORK-15). */
#include "oracle_kit.h"

TestSuite(engine_oracle, .init = world_up, .fini = world_down);

enum { NODES_MAX = 64, TRIGGERS = 2, STARTS_MAX = 95 /* EVT-25 */, DEPTH_MAX = 3 };

struct program {
    uint32_t seed;
    struct buf nodes, edges, channels, triggers;
    unsigned nodes_nr, edges_nr, counters_nr, starts;
    struct want {
        unsigned starts, completed, rounds; /* rounds: of a loop, plus one; else 0 */
    } want[NODES_MAX];
    unsigned writes[TRIGGERS]; /* to the channel of each trigger */
    int part;                  /* -1: the main program, else the trigger's whose program it is */
};
struct piece { /* of a program: nodes and edges with one way in and one way out */
    unsigned first, last;
};

static unsigned node_add(struct program *p, const char *type, const char *config, unsigned times,
                         unsigned attempts) {
    unsigned n = p->nodes_nr++;
    if (n >= NODES_MAX) return 0; /* the program is thrown away */
    buf_addf(&p->nodes,
             "%s{\"id\":\"n%u\",\"typeId\":\"%s\",\"name\":\"n\",\"position\":{\"x\":0,\"y\":0},"
             "\"config\":{%s},\"inputs\":{},\"settings\":{\"maxRetries\":1,\"retryDelayMs\":1}}",
             n ? "," : "", n, type, config);
    p->want[n] = (struct want){.starts = times * attempts, .completed = times};
    p->starts += times * attempts;
    return n;
}

static void edge_ruled(struct program *p, unsigned from, unsigned to, const char *expression,
                       const char *rule) {
    buf_addf(&p->edges, "%s{\"id\":\"e%u\",\"sourceNodeId\":\"n%u\",\"targetNodeId\":\"n%u\"",
             p->edges_nr ? "," : "", p->edges_nr, from, to);
    if (expression)
        buf_addf(&p->edges, ",\"condition\":{\"type\":\"expression\",\"expression\":\"%s\"}",
                 expression);
    if (rule) buf_addf(&p->edges, ",\"triggerRule\":\"%s\"", rule);
    buf_addz(&p->edges, "}");
    p->edges_nr++;
}

static void edge_add(struct program *p, unsigned from, unsigned to, const char *expression) {
    edge_ruled(p, from, to, expression, NULL);
}

static struct piece sequence(struct program *p, unsigned depth, unsigned times);

static struct piece single(struct program *p, unsigned times) {
    char config[96];
    unsigned kind = dice(&p->seed, 5), n;
    int channel = (int)dice(&p->seed, TRIGGERS);
    if (kind == 0) {
        n = node_add(p, "test.flaky", "\"failures\":1", times, 2);
    } else if (kind == 1 && channel > p->part) { /* chains of firings have an end */
        snprintf(config, sizeof config, "\"channelName\":\"t%d\",\"value\":1", channel);
        n = node_add(p, "core.channelWrite", config, times, 1);
        p->writes[channel] += times;
    } else {
        n = node_add(p, "core.noop", "", times, 1);
    }
    return (struct piece){n, n};
}

/* The end of a body that fails at times: the next item follows all the same. */
static void body_close(struct program *p, unsigned last, unsigned head, unsigned times) {
    static const char *const RULES[] = {"any_failed", "all_complete"};
    unsigned kind = dice(&p->seed, 4);
    if (kind < 2) {
        unsigned fails = node_add(p, "core.fail", "", times, 1);
        if (fails < NODES_MAX) p->want[fails].completed = 0;
        edge_add(p, last, fails, NULL);
        last = fails;
    }
    edge_ruled(p, last, head, NULL, kind < 2 ? RULES[kind] : kind == 2 ? RULES[1] : NULL);
}

/* A core.loop of some rounds around a body. */
static struct piece loop(struct program *p, unsigned depth, unsigned times) {
    char config[64];
    unsigned rounds = dice(&p->seed, 4);
    snprintf(config, sizeof config, "\"maxIterations\":%u", rounds);
    unsigned head = node_add(p, "core.loop", config, times * (rounds + 1), 1);
    if (head < NODES_MAX) p->want[head].rounds = rounds + 1;
    struct piece body = sequence(p, depth - 1, times * rounds);
    unsigned out = node_add(p, "core.noop", "", times, 1);
    edge_add(p, head, body.first, "output.done == false");
    body_close(p, body.last, head, times * rounds);
    edge_add(p, head, out, "output.done == true");
    return (struct piece){head, out};
}

/* A body that is done again until its counter is a multiple of some number. */
static struct piece repetition(struct program *p, unsigned depth, unsigned times) {
    char text[96];
    unsigned rounds = 1 + dice(&p->seed, 3), c = p->counters_nr++;
    unsigned head = node_add(p, "core.noop", "", times * rounds, 1);
    struct piece body = sequence(p, depth - 1, times * rounds);
    snprintf(text, sizeof text, "\"channelName\":\"c%u\",\"value\":1", c);
    unsigned tail = node_add(p, "core.channelWrite", text, times * rounds, 1);
    unsigned out = node_add(p, "core.noop", "", times, 1);
    buf_addf(&p->channels, ",\"c%u\":{\"reducer\":\"counter\"}", c);
    edge_add(p, head, body.first, NULL);
    edge_add(p, body.last, tail, NULL);
    snprintf(text, sizeof text, "channels.c%u %% %u != 0", c, rounds);
    edge_add(p, tail, head, text);
    snprintf(text, sizeof text, "channels.c%u %% %u == 0", c, rounds);
    edge_add(p, tail, out, text);
    return (struct piece){head, out};
}

static struct piece side_by_side(struct program *p, unsigned depth, unsigned times) {
    unsigned fork = node_add(p, "core.noop", "", times, 1);
    struct piece a = sequence(p, depth - 1, times), b = sequence(p, depth - 1, times);
    unsigned join = node_add(p, "core.noop", "", times, 1);
    edge_add(p, fork, a.first, NULL);
    edge_add(p, fork, b.first, NULL);
    edge_add(p, a.last, join, NULL);
    edge_add(p, b.last, join, NULL);
    return (struct piece){fork, join};
}

static struct piece sequence(struct program *p, unsigned depth, unsigned times) {
    struct piece whole = {0, 0};
    unsigned n = 1 + dice(&p->seed, depth > 1 ? 3 : 2);
    for (unsigned i = 0; i < n && p->nodes_nr < NODES_MAX; i++) {
        unsigned kind = depth > 0 ? dice(&p->seed, 6) : 5;
        struct piece next = kind < 2    ? loop(p, depth, times)
                            : kind == 2 ? repetition(p, depth, times)
                            : kind == 3 ? side_by_side(p, depth, times)
                                        : single(p, times);
        if (i == 0) whole = next;
        else edge_add(p, whole.last, next.first, NULL);
        whole.last = next.last;
    }
    return whole;
}

/* The main program, and behind it one for each trigger, run as often as its channel is written. */
static void program_make(struct program *p, uint32_t seed) {
    *p = (struct program){.seed = seed, .part = -1};
    buf_init(&p->nodes, 1 << 16);
    buf_init(&p->edges, 1 << 16);
    buf_init(&p->channels, 1 << 12);
    buf_init(&p->triggers, 1 << 12);
    buf_addz(&p->channels, "\"z\":{\"reducer\":\"append\"}");
    (void)sequence(p, DEPTH_MAX, 1);
    for (p->part = 0; p->part < TRIGGERS; p->part++) {
        buf_addf(&p->channels, ",\"t%d\":{\"reducer\":\"append\"}", p->part);
        if (p->writes[p->part] == 0) continue;
        struct piece of = sequence(p, DEPTH_MAX - 1, p->writes[p->part]);
        buf_addf(&p->triggers,
                 "%s{\"id\":\"t%d\",\"type\":\"channel-write\",\"nodeId\":\"n%u\",\"config\":{"
                 "\"channel\":\"t%d\"}}",
                 p->triggers.len > 0 ? "," : "", p->part, of.first, p->part);
    }
}

static void program_free(struct program *p) {
    buf_fini(&p->nodes);
    buf_fini(&p->edges);
    buf_fini(&p->channels);
    buf_fini(&p->triggers);
}

static struct str program_text(const struct program *p) {
    return arena_printf(W.a,
                        "{\"id\":\"w\",\"name\":\"w\",\"version\":\"1\",\"nodes\":[%s],\"edges\":["
                        "%s],\"variables\":[],\"metadata\":{},\"channels\":{%s},\"triggers\":[%s],"
                        "\"settings\":{\"maxLoopbackIterations\":1000}}",
                        p->nodes.p, p->edges.len > 0 ? p->edges.p : "", p->channels.p,
                        p->triggers.len > 0 ? p->triggers.p : "");
}

/* Each entry of a loop tells 0, 1, ... done, whatever entered it. */
static void rounds_check(struct str run, struct str id, unsigned rounds, uint32_t seed) {
    struct event_list l = world_events(run);
    int64_t index = -1;
    unsigned nr = 0;
    for (size_t i = 0; i < l.n; i++) {
        if (l.v[i].kind != EV_NODE_COMPLETED || !str_eq(l.v[i].node_id, id)) continue;
        struct str out = json_get(l.v[i].payload, "outputs");
        bool over = nr % rounds == rounds - 1;
        cr_expect(json_int(json_get(out, "index"), &index) && index == (int64_t)(nr % rounds),
                  "seed %u: " STR_FMT " said " STR_FMT, seed, STR_ARG(id), STR_ARG(out));
        cr_expect(str_eqc(json_get(out, "done"), over ? "true" : "false"));
        nr++;
    }
}

static void counts_check(const struct program *p, struct str run, uint32_t seed,
                         const char *which) {
    cr_expect_eq(world_wait_final(run), RUN_COMPLETED, "seed %u, %s: %s\n%s", seed, which,
                 world_story(run), program_text(p).p);
    for (unsigned i = 0; i < p->nodes_nr; i++) {
        struct str id = arena_printf(W.a, "n%u", i);
        unsigned starts = oracle_count(run, EV_NODE_STARTED, id),
                 completed = oracle_count(run, EV_NODE_COMPLETED, id);
        cr_assert(starts == p->want[i].starts && completed == p->want[i].completed,
                  "seed %u, %s: n%u ran %u (%u) times, not %u (%u)\n%s\n%s", seed, which, i,
                  completed, starts, p->want[i].completed, p->want[i].starts, world_story(run),
                  program_text(p).p);
        if (p->want[i].rounds > 0) rounds_check(run, id, p->want[i].rounds, seed);
    }
    world_check_log(run);
}

Test(engine_oracle, programs_of_loops_run_as_often_as_they_say) {
    unsigned rounds = oracle_rounds(60), tried = 0, deep = 0;
    for (unsigned i = 0; i < rounds; tried++) {
        struct program p;
        uint32_t seed = oracle_seed(tried), cut = seed;
        program_make(&p, seed);
        if (p.nodes_nr < NODES_MAX && p.starts <= STARTS_MAX && p.starts > 6) {
            struct str run = world_start(program_text(&p), NULL);
            counts_check(&p, run, seed, "run");
            int64_t at = (int64_t)dice(&cut, (uint32_t)world_head(run).next_seq);
            fork_replays_equal(run, at, RUN_COMPLETED);
            counts_check(&p, fork_run(run, FORK_BRANCH, at), seed, "branch");
            deep += p.counters_nr > 0 && p.triggers.len > 0;
            i++;
        }
        program_free(&p);
        arena_reset(W.a);
    }
    cr_expect(rounds < 60 || deep > 3, "only %u programs with repetitions and triggers", deep);
}
